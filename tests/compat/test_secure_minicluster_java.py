"""Hadoop's client on `MiniCluster(secure=True)`, by the environment that the cluster gives it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from howdah.testing import MiniCluster, NoKdc
from tests.support.hadoop.java import hadoop_java

pytestmark = pytest.mark.timeout(300)


def test_javas_shell_is_the_user_of_the_environment(hadoop_classpath: str, tmp_path: Path) -> None:
    try:
        made = MiniCluster(datanodes=1, secure=True)
    except NoKdc as missing:
        pytest.skip(missing.message)
    with made as cluster:

        def shell(user: str | None, *arguments: str) -> subprocess.CompletedProcess[str]:
            command = hadoop_java(hadoop_classpath, cluster.conf_dir)
            return subprocess.run(
                [*command, "org.apache.hadoop.fs.FsShell", *arguments],
                env=os.environ | cluster.environment(user),
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )

        local = tmp_path / "local"
        local.write_bytes(b"content")
        put = shell("alice", "-put", str(local), "by-java")
        assert put.returncode == 0, put.stderr
        with cluster.connect("alice") as fs:
            assert fs.read_bytes("/user/alice/by-java") == b"content"
        nobody = shell(None, "-ls", "/")
        assert nobody.returncode != 0
        assert "Client cannot authenticate via" in nobody.stderr
