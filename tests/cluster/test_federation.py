"""Several namespaces over the same datanodes (federation), by what users see of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.testing import MiniCluster

pytestmark = pytest.mark.req("FS-043", "FS-044", "FS-046")


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=2, nameservices=["a", "b"]) as cluster:
        yield cluster


def write(cluster: MiniCluster, nameservice: str, path: str, data: bytes) -> None:
    with cluster.connect(nameservice=nameservice) as fs, fs.create(path, overwrite=True) as out:
        out.write(data)


def read(cluster: MiniCluster, nameservice: str, path: str) -> bytes:
    with cluster.connect(nameservice=nameservice) as fs, fs.open(path) as source:
        return bytes(source.read())


def run(cluster: MiniCluster, *words: str, code: int = 0) -> str:
    """What `howdah` prints for a client of the cluster."""
    environment = {**os.environ, "HADOOP_CONF_DIR": str(cluster.conf_dir)}
    done = subprocess.run(
        [sys.executable, "-m", "howdah", *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def pools(volume: Path) -> list[str]:
    return sorted(path.name for path in (volume / "current").glob("BP-*"))


def test_namespaces_are_apart_and_every_datanode_has_a_block_pool_of_each(
    cluster: MiniCluster,
) -> None:
    for name in "ab":
        write(cluster, name, "/apart", name.encode() * 1000)
    for name in "ab":
        assert read(cluster, name, "/apart") == name.encode() * 1000
    assert cluster.uri_of("b") == "hdfs://b"
    found = {tuple(pools(cluster.data_dirs(f"datanode{number}")[0])) for number in range(2)}
    assert len(found) == 1
    (both,) = found
    assert len(both) == 2
    for name in both:
        volume = cluster.data_dirs("datanode0")[0]
        assert f"blockpoolID={name}" in (volume / "current" / name / "current/VERSION").read_text()


def test_the_command_line_goes_to_the_namespace_of_a_uri(cluster: MiniCluster) -> None:
    write(cluster, "b", "/only-b", b"content")
    assert "/only-b" in run(cluster, "dfs", "-ls", "-C", "hdfs://b/")
    assert "/only-b" not in run(cluster, "dfs", "-ls", "-C", "/")
    assert "Live datanodes (2):" in run(cluster, "dfsadmin", "-fs", "hdfs://b", "-report")
    assert "is HEALTHY" in run(cluster, "fsck", "hdfs://b/only-b")


def test_getconf_names_all_namenodes(cluster: MiniCluster) -> None:
    addresses = [cluster.process(f"namenode{number}").addresses["rpc"] for number in range(2)]
    assert run(cluster, "getconf", "-nnRpcAddresses").split() == addresses
    assert run(cluster, "getconf", "-namenodes").split() == ["127.0.0.1", "127.0.0.1"]


def test_a_cluster_that_is_up_may_have_several_nameservices(tmp_path: Path) -> None:
    def howdah(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "howdah", *words, "--dir", str(tmp_path / "c")],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    try:
        facts = json.loads(howdah("up", "--nameservices", "2", "--datanodes", "1", "--json"))
        assert facts["uris"] == ["hdfs://ns1", "hdfs://ns2"]
        assert facts["uri"] == "hdfs://ns1"
        assert "hdfs://ns1  hdfs://ns2  in " in howdah("status")
    finally:
        howdah("down")
