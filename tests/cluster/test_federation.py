"""Several namespaces over the same datanodes (federation), by what users see of them."""

from __future__ import annotations

import getpass
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.errors import HowdahError
from howdah.fs.hdfs.administration import DatanodeAdministration
from howdah.storage.layout import StorageDirectory
from howdah.storage.version import NamenodeVersion
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

pytestmark = pytest.mark.req("FS-043", "FS-044", "FS-046")


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    conf = {"dfs.client.retry.window.base": "10"}
    with MiniCluster(datanodes=2, nameservices=["a", "b"], conf=conf) as cluster:
        yield cluster


def write(cluster: MiniCluster, nameservice: str, path: str, data: bytes) -> None:
    with cluster.connect(nameservice=nameservice) as fs, fs.create(path, overwrite=True) as out:
        out.write(data)


def read(cluster: MiniCluster, nameservice: str, path: str) -> bytes:
    with cluster.connect(nameservice=nameservice) as fs, fs.open(path) as source:
        return bytes(source.read())


def run(cluster: MiniCluster, *words: str, code: int = 0) -> str:
    """What `howdah` prints for a client of the cluster; what goes wrong, where it does."""
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
    return done.stderr if code else done.stdout


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


# --- namenodes that are down, and namespaces that come and go ---


def ipc_of(cluster: MiniCluster, name: str) -> str:
    return cluster.process(name).addresses["ipc"]


def only(cluster: MiniCluster, datanode: str, *nameservices: str) -> None:
    """Have the files of a datanode's configuration name these nameservices."""
    path = cluster.dir / datanode / "conf" / "hdfs-site.xml"
    pattern = r"(<name>dfs\.nameservices</name>\s*<value>)[^<]*"
    text, count = re.subn(pattern, rf"\g<1>{','.join(nameservices)}", path.read_text())
    assert count == 1
    path.write_text(text)


def refresh(cluster: MiniCluster, datanode: str, *nameservices: str) -> None:
    only(cluster, datanode, *nameservices)
    host, _, port = ipc_of(cluster, datanode).rpartition(":")
    administration = DatanodeAdministration((host, int(port)), getpass.getuser())
    try:
        administration.refresh_namenodes()
    finally:
        administration.close()


def pool_of(cluster: MiniCluster, namenode: str) -> str:
    storage = StorageDirectory(cluster.data_dirs(namenode)[0])
    return storage.read_version(NamenodeVersion).block_pool_id


@pytest.mark.req("FS-045")
def test_while_a_namenode_is_down_the_other_namespace_is_served_and_its_pool_is_kept(
    cluster: MiniCluster,
) -> None:
    for name in "ab":
        write(cluster, name, "/kept", name.encode() * 1000)
    with cluster.connect(nameservice="a") as fs, fs.create("/through", overwrite=True) as out:
        out.write(b"before")
        out.hflush()
        cluster.kill("namenode1")
        out.write(b" and after")
    assert read(cluster, "a", "/through") == b"before and after"
    cluster.restart("datanode0")
    write(cluster, "a", "/meanwhile", b"served")
    assert read(cluster, "a", "/meanwhile") == b"served"
    # Nobody has said since which pool belongs to b: none is deleted, though it be forced.
    pool = pool_of(cluster, "namenode1")
    place = ipc_of(cluster, "datanode0")
    refused = run(cluster, "dfsadmin", "-deleteBlockPool", place, pool, "force", code=255)
    assert "no namenode of nameservice b has said yet" in refused
    assert pool in pools(cluster.data_dirs("datanode0")[0])
    cluster.restart("namenode1")
    assert read(cluster, "b", "/kept") == b"b" * 1000


def test_a_namespace_is_taken_from_running_datanodes_and_given_back(cluster: MiniCluster) -> None:
    for name in "ab":
        write(cluster, name, "/stays", name.encode() * 1000)
    before = [cluster.process(name).pid for name in ("datanode0", "datanode1")]
    pool, volume = pool_of(cluster, "namenode1"), cluster.data_dirs("datanode0")[0]
    place = ipc_of(cluster, "datanode0")
    running = run(cluster, "dfsadmin", "-deleteBlockPool", place, pool, code=255)
    assert "The block pool is still running. First do a refreshNamenodes" in running
    only(cluster, "datanode0", "a")
    assert run(cluster, "dfsadmin", "-refreshNamenodes", place) == ""
    refresh(cluster, "datanode1", "a")
    with pytest.raises(HowdahError):
        read(cluster, "b", "/stays")
    assert read(cluster, "a", "/stays") == b"a" * 1000
    assert pool in pools(volume)
    with_blocks = run(cluster, "dfsadmin", "-deleteBlockPool", place, pool, code=255)
    assert "Cannot delete block pool, it contains some block files" in with_blocks
    # Given back to both, and nothing of it was lost.
    for name in ("datanode0", "datanode1"):
        refresh(cluster, name, "a", "b")
    assert read(cluster, "b", "/stays") == b"b" * 1000
    write(cluster, "b", "/more", b"more")
    # Taken from one of them for good: its pool goes, and the other one's repairs nothing there.
    refresh(cluster, "datanode0", "a")
    assert run(cluster, "dfsadmin", "-deleteBlockPool", place, pool, "force") == ""
    assert pool not in pools(volume)
    assert read(cluster, "a", "/stays") == b"a" * 1000
    assert read(cluster, "b", "/stays") == b"b" * 1000
    # An empty pool, once it is served again, gets what it lacks.
    refresh(cluster, "datanode0", "a", "b")
    current = volume / "current" / pool / "current"
    wait_until(lambda: len(list(current.glob("finalized/*/*/blk_*.meta"))) >= 1, 60)
    assert [cluster.process(name).pid for name in ("datanode0", "datanode1")] == before


def test_a_datanode_keeps_its_namenodes_when_the_configuration_is_wrong(
    cluster: MiniCluster,
) -> None:
    place = ipc_of(cluster, "datanode1")
    only(cluster, "datanode1", "a", "nowhere")
    wrong = run(cluster, "dfsadmin", "-refreshNamenodes", place, code=255)
    assert "no address of namenode nowhere" in wrong
    only(cluster, "datanode1", "a", "b")
    for name in "ab":
        write(cluster, name, "/still", b"served")
        assert read(cluster, name, "/still") == b"served"
