"""One of two namespaces is upgraded and goes back: its block pool does, the other's does not."""

from __future__ import annotations

import pytest

from howdah.cli.main import main
from howdah.config import Configuration
from howdah.formats.version import NamenodeVersion
from howdah.namenode.server.process import upgrading
from howdah.storage.layout import StorageDirectory
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.replicas import found_below
from tests.support.started import started

TIMEOUT_S = 60.0

pytestmark = pytest.mark.req("FS-044", "FS-045", "FS-046")


def write(cluster: MiniCluster, nameservice: str, path: str, *, adds: bool = False) -> None:
    with cluster.connect(nameservice=nameservice) as fs:
        with fs.append(path) if adds else fs.create(path, replication=1) as out:
            out.write(f"{nameservice}{path}".encode())


def read(cluster: MiniCluster, nameservice: str, path: str) -> str:
    with cluster.connect(nameservice=nameservice) as fs, fs.open(path) as file:
        return file.read().decode()


def pools_with_a_past(cluster: MiniCluster) -> list[str]:
    """Block pools that keep what was before an upgrade."""
    volume = cluster.data_dirs("datanode0")[0] / "current"
    return [path.parent.name for path in found_below(volume, "BP-*/previous")]


def test_one_namespace_is_upgraded_and_goes_back_while_the_other_goes_on() -> None:
    with MiniCluster(datanodes=1, nameservices=["a", "b"]) as cluster:
        first = Configuration(
            {"dfs.namenode.name.dir": (cluster.dir / "namenode0" / "name").as_uri()}
        )
        for nameservice in "ab":
            for path in ("/kept", "/longer"):
                write(cluster, nameservice, path)
        cluster.stop("datanode0")
        cluster.stop("namenode0")
        upgrading.upgrade(first)
        cluster.start("namenode0")
        cluster.start("datanode0")
        cluster.wait_ready()

        (pool,) = pools_with_a_past(cluster)
        storage = StorageDirectory(cluster.data_dirs("namenode0")[0])
        assert pool == storage.read_version(NamenodeVersion).block_pool_id
        for nameservice in "ab":
            write(cluster, nameservice, "/longer", adds=True)
            write(cluster, nameservice, "/new")
            assert read(cluster, nameservice, "/longer") == f"{nameservice}/longer" * 2

        cluster.stop("datanode0")
        cluster.stop("namenode0")
        upgrading.roll_back(first)
        cluster.start("namenode0")
        with started(cluster, "datanode0", "datanode", "-rollback"):
            command = ["fsck", "--conf", str(cluster.conf_dir), "hdfs://a/"]
            wait_until(lambda: main(command) == 0, TIMEOUT_S, "all blocks are reported")
            assert [read(cluster, "a", path) for path in ("/kept", "/longer")] == [
                "a/kept",
                "a/longer",
            ]
            with cluster.connect(nameservice="a") as fs:
                assert not fs.exists("/new")
            assert read(cluster, "b", "/longer") == "b/longer" * 2
            assert read(cluster, "b", "/new") == "b/new"
        assert pools_with_a_past(cluster) == []
