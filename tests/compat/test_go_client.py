"""colinmarc/hdfs, a client in Go, against our servers: `go/main.go` is the judge.

It reads five bytes before it looks at the length of a datanode's answer, asks with a
protocol version and fields of its own, and waits where the Java client is patient in
other ways. Skipped where Go is not installed or its modules cannot be fetched.
"""

from __future__ import annotations

import getpass
import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from howdah.testing import MiniCluster

_SOURCE = Path(__file__).with_name("go")
_CACHE = Path(__file__).parents[2] / ".cache"
_BUILD_TIMEOUT_S = 300
_RUN_TIMEOUT_S = 100


@pytest.fixture(scope="session")
def judge() -> Path:
    """The program, built; it is kept for the next time, as Hadoop's jars are."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is not installed")
    digest = hashlib.sha256()
    for path in sorted(_SOURCE.iterdir()):
        digest.update(path.read_bytes())
    program = _CACHE / f"go-judge-{digest.hexdigest()[:16]}"
    if not program.exists():
        command = [go, "build", "-o", str(program), "."]
        try:
            built = subprocess.run(
                command,
                cwd=_SOURCE,
                capture_output=True,
                text=True,
                timeout=_BUILD_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            pytest.skip(f"Go did not build the client within {_BUILD_TIMEOUT_S} s")
        if built.returncode:
            # A defect of the judge itself is no reason to skip.
            assert "main.go:" not in built.stderr, built.stderr
            pytest.skip(f"Go cannot fetch the client: {built.stderr[-300:]}")
    return program


def test_a_go_client_writes_appends_reads_and_clears_up(
    howdah_cluster: MiniCluster, judge: Path
) -> None:
    address = howdah_cluster.uri.removeprefix("hdfs://")
    judged = subprocess.run(
        [judge, address, getpass.getuser()],
        capture_output=True,
        text=True,
        timeout=_RUN_TIMEOUT_S,
        check=False,
    )
    assert (judged.stdout, judged.stderr) == ("ok\n", "")


def test_a_client_without_erasure_coding_is_refused_by_name(judge: Path) -> None:
    """It would take a group for a block with the id of the group's first one."""
    conf = {"dfs.namenode.ec.system.default.policy": "XOR-2-1-1024k"}
    with MiniCluster(datanodes=3, conf=conf) as cluster:
        with cluster.connect() as fs:
            fs.mkdirs("/coded")
            fs.set_erasure_coding_policy("/coded", "XOR-2-1-1024k")
            with fs.create("/coded/long") as out:
                out.write(bytes(3 << 20))
        judged = subprocess.run(
            [
                judge,
                cluster.uri.removeprefix("hdfs://"),
                *(getpass.getuser(), "/coded/long", "/coded/new"),
            ],
            capture_output=True,
            text=True,
            timeout=_RUN_TIMEOUT_S,
            check=False,
        )
    assert judged.stderr == ""
    read, written = judged.stdout.splitlines()
    assert read.startswith("read 0 bytes: ")
    assert "internal block of an erasure coded group" in read
    assert "the client cannot write erasure coded files" in written
