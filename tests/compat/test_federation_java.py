"""Several namespaces over the same datanodes, and who is whose: four nameservices in one start.

The namenodes of a and b are ours, those of c and d are Hadoop's. One datanode is ours and the
other one is Hadoop's, and each serves all four.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from howdah.formats.version import NamenodeVersion
from howdah.local.layout import Layout
from howdah.storage.layout import StorageDirectory
from howdah.testing.waiting import wait_until
from tests.support.hadoop.mixed import MixedCluster
from tests.support.replicas import found_below

pytestmark = [pytest.mark.timeout(400), pytest.mark.req("FS-043", "FS-046")]

OURS, HADOOPS = "ab", "cd"
DATANODES = {"datanode0": "ours", "datanode1": "Hadoop's"}
PATIENCE_S = 90.0
CONF = {
    "dfs.heartbeat.interval": 1,
    "dfs.namenode.heartbeat.recheck-interval": 500,
    "dfs.namenode.redundancy.interval.seconds": 1,
    "ipc.client.connect.max.retries": 1,
}


@pytest.fixture(scope="module")
def cluster(
    hadoop_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MixedCluster]:
    directory = tmp_path_factory.mktemp("federation")
    with MixedCluster(
        hadoop_classpath,
        ["namenode2", "namenode3", "datanode1"],
        namenodes=1,
        nameservices=["a", "b", "c", "d"],
        datanodes=2,
        conf=CONF,
        dir=directory,
    ) as cluster:
        yield cluster


def content(nameservice: str) -> bytes:
    return nameservice.encode() * 10_000


def pool_of(cluster: MixedCluster, nameservice: str) -> str:
    (namenode,) = cluster.namenodes_of(nameservice)
    storage = StorageDirectory(cluster.data_dirs(namenode)[0])
    return storage.read_version(NamenodeVersion).block_pool_id


def has_replica(cluster: MixedCluster, datanode: str, nameservice: str) -> bool:
    pool = cluster.data_dirs(datanode)[0] / "current" / pool_of(cluster, nameservice) / "current"
    blocks = (path for path in found_below(pool, "**/blk_*") if not path.name.endswith(".meta"))
    return content(nameservice) in [path.read_bytes() for path in blocks]


def write(cluster: MixedCluster, nameservice: str) -> None:
    with cluster.connect(nameservice=nameservice) as fs:
        wait_until(
            lambda: len(fs.datanode_report("live")) == 2, PATIENCE_S, "both datanodes are there"
        )
        with fs.create("/file", replication=2) as out:
            out.write(content(nameservice))


@pytest.mark.parametrize("nameservices", [OURS, HADOOPS], ids=["our namenodes", "Hadoop's"])
def test_datanodes_of_both_kinds_serve_two_namenodes(
    cluster: MixedCluster, nameservices: str
) -> None:
    for name in nameservices:
        write(cluster, name)
    for name in nameservices:
        for datanode, whose in DATANODES.items():
            wait_until(
                partial(has_replica, cluster, datanode, name),
                PATIENCE_S,
                f"{datanode}, which is {whose}, has the file of {name}",
            )
        with cluster.connect(nameservice=name) as fs, fs.open("/file") as source:
            assert source.read() == content(name)


def test_hadoops_client_and_tools_know_all_nameservices(
    cluster: MixedCluster, hadoop_run: Callable[..., str], tmp_path: Path
) -> None:
    local = tmp_path / "local"
    local.write_bytes(b"by Java")
    files = [f"-conf\t{cluster.conf_dir}/{name}-site.xml" for name in ("core", "hdfs")]
    layout = Layout.load(cluster.dir)
    assert layout is not None
    places = [f"127.0.0.1:{layout.datanode(name).ipc_port}" for name in DATANODES]
    running = pool_of(cluster, "a")
    commands = []
    for name in OURS + HADOOPS:
        commands.append(f"dfs {{}} -put {local} hdfs://{name}/java")
        commands.append(f"dfs {{}} -cat hdfs://{name}/java")
    commands.append("dfs {} -cp hdfs://a/java hdfs://c/copied")
    commands.append("getconf {} -nnRpcAddresses")
    commands += [f"dfsadmin {{}} -refreshNamenodes {place}" for place in places]
    commands += [f"dfsadmin {{}} -deleteBlockPool {place} {running}" for place in places]
    lines = [
        "\t".join("\t".join(files) if word == "{}" else word for word in command.split())
        for command in commands
    ]
    answered = hadoop_run(Path(__file__).with_name("AdminCommands.java"), *lines, cwd=tmp_path)
    told = [part.split("\2") for part in answered.split("\1")[1:]]
    by_command = dict(zip(commands, told, strict=True))
    wrong = {c: t for c, t in by_command.items() if t[0] != "0" and "delete" not in c}
    assert not wrong
    for name in OURS + HADOOPS:
        assert by_command[f"dfs {{}} -cat hdfs://{name}/java"][1] == "by Java"
    listed = by_command["getconf {} -nnRpcAddresses"][1].split()
    assert [place.rpartition(":")[2] for place in listed] == [
        node.rpc.rpartition(":")[2] for node in layout.namenodes
    ]
    # The same refusal from both kinds of datanodes, in the same words.
    ours, theirs = (
        by_command[f"dfsadmin {{}} -deleteBlockPool {place} {running}"] for place in places
    )
    assert ours[0] == theirs[0] == "255"
    assert "The block pool is still running. First do a refreshNamenodes" in ours[2]
    assert ours[2].splitlines()[-1] == theirs[2].splitlines()[-1]
    with cluster.connect(nameservice="c") as fs, fs.open("/copied") as source:
        assert source.read() == b"by Java"
