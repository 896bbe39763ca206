"""Other clients beside ours on Apache's HDFS in secure mode: Hadoop's own, and hdfs-native.

Each copies what ours wrote, and ours reads the copy.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from howdah.testing.spark import FS_SHELL
from tests.support.hadoop.java import hadoop_java
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.secured_hadoop import AES, SecuredHadoop

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

DATA = random.Random(37).randbytes((1 << 20) + 300_000)
CASES = [
    pytest.param("authentication", "", id="authentication"),
    pytest.param("integrity", "", id="integrity"),
    pytest.param("privacy", AES, id="privacy-aes"),
    pytest.param("privacy", "", id="privacy"),
]
_RUN_S = 120

COPY = """
import json, sys
import hdfs_native
uri, conf, source, target = json.load(sys.stdin)
client = hdfs_native.Client(uri, conf)
with client.read(source) as reader:
    data = reader.read()
with client.create(target, hdfs_native.WriteOptions(overwrite=True)) as out:
    out.write(data)
"""


def copy_by_java(
    hadoop: SecuredHadoop, jars: str, conf: Mapping[str, str], source: str, target: str
) -> None:
    kdc = hadoop.kdc
    options = [f"-Djava.security.krb5.conf={kdc.configuration}"]
    settings = [word for name, value in conf.items() for word in ("-D", f"{name}={value}")]
    environment = {
        **os.environ,
        "KRB5KEYTAB": str(kdc.keytab("alice")),
        "KRB5PRINCIPAL": f"alice@{REALM}",
    }
    command = hadoop_java(jars, hadoop.conf_dir, options=options)
    done = subprocess.run(
        [*command, FS_SHELL, *settings, "-cp", "-f", source, target],
        env=environment,
        capture_output=True,
        text=True,
        timeout=_RUN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def copy_by_native(
    hadoop: SecuredHadoop, conf: Mapping[str, str], source: str, target: str, cache: Path
) -> None:
    hadoop.kdc.kinit("alice", cache)
    done = subprocess.run(
        [sys.executable, "-c", COPY],
        input=json.dumps([hadoop.uri, dict(conf), source, target]),
        env={**os.environ, "KRB5CCNAME": f"FILE:{cache}"},
        capture_output=True,
        text=True,
        timeout=_RUN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("protection", "suites"), CASES)
def test_hadoops_client_and_ours_read_what_the_other_wrote(
    hadoop: SecuredHadoop, hadoop_classpath: str, protection: str, suites: str
) -> None:
    chosen = {"rpc": protection, "data": protection, "suites": suites}
    source, target = "/user/alice/for-java", "/user/alice/by-java"
    with hadoop.connect("alice", None, **chosen) as fs:
        fs.write_bytes(source, DATA)
        copy_by_java(hadoop, hadoop_classpath, hadoop.client_conf(**chosen), source, target)
        assert fs.read_bytes(target) == DATA
        assert fs.get_file_status(target).owner == "alice"


def test_hdfs_native_and_ours_read_what_the_other_wrote(
    hadoop: SecuredHadoop, tmp_path: Path
) -> None:
    """It takes the highest protection that is offered: privacy."""
    pytest.importorskip("hdfs_native", reason="hdfs-native is not installed")
    source, target = "/user/alice/for-native", "/user/alice/by-native"
    with hadoop.connect(rpc="privacy", data="privacy", suites=AES) as fs:
        fs.write_bytes(source, DATA)
        copy_by_native(hadoop, hadoop.client_conf(), source, target, tmp_path / "cache")
        assert fs.read_bytes(target) == DATA
        assert fs.get_file_status(target).owner == "alice"


@pytest.mark.torture
@pytest.mark.parametrize(("protection", "suites"), CASES)
def test_all_clients_work_where_one_protection_alone_is_offered(
    kdc: Kdc, hadoop_classpath: str, tmp_path: Path, protection: str, suites: str
) -> None:
    pytest.importorskip("hdfs_native", reason="hdfs-native is not installed")
    conf = {
        "hadoop.rpc.protection": protection,
        "dfs.data.transfer.protection": protection,
        "dfs.encrypt.data.transfer.cipher.suites": suites,
    }
    cluster = SecuredHadoop(tmp_path / "cluster", hadoop_classpath, kdc, conf)
    source = "/user/alice/source"
    chosen = {"rpc": protection, "data": protection, "suites": suites}
    try:
        with cluster.connect("alice", None, **chosen) as fs:
            fs.write_bytes(source, DATA)
            mine = cluster.client_conf(**chosen)
            copy_by_java(cluster, hadoop_classpath, mine, source, f"{source}-java")
            copy_by_native(cluster, mine, source, f"{source}-native", tmp_path / "cache")
            for name in ("java", "native"):
                assert fs.read_bytes(f"{source}-{name}") == DATA
    finally:
        cluster.close()
