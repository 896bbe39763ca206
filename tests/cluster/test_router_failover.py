"""Routers and namenodes that are killed, while a writer writes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from howdah.config import Configuration
from howdah.fs.api import FileSystem
from howdah.fs.registry import connect
from howdah.router.state.table.mount_table import Destination, MountEntry
from howdah.router.store.factory import store_at
from howdah.testing import MiniCluster
from tests.support.routers import Routers

pytestmark = [pytest.mark.req("LM-020"), pytest.mark.timeout(240)]

PIECE = bytes(range(256)) * 256
ONE_MOUNT = MountEntry("/m", (Destination("east", "/routed"),))
PROVIDER = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    conf = {"dfs.replication": 1, "dfs.blocksize": 1 << 20}
    with MiniCluster(datanodes=1, namenodes=2, conf=conf) as found:
        yield found


@pytest.fixture(scope="module")
def routers(cluster: MiniCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Routers]:
    directory = tmp_path_factory.mktemp("routers")
    with Routers(directory, {"east": cluster}) as found:
        store = store_at(directory / "store")
        store.prepare()
        store.add_mount(ONE_MOUNT)
        with cluster.connect() as fs:
            fs.mkdirs("/routed")
        found.start("r1")
        found.start("r2")
        yield found


@pytest.fixture
def fs(routers: Routers) -> Iterator[FileSystem]:
    """A client that knows both routers, as it knows the namenodes of a nameservice."""
    values = {
        "dfs.nameservices": "fed",
        "dfs.ha.namenodes.fed": "r1,r2",
        "dfs.namenode.rpc-address.fed.r1": routers.addresses["r1"],
        "dfs.namenode.rpc-address.fed.r2": routers.addresses["r2"],
        "dfs.client.failover.proxy.provider.fed": PROVIDER,
        "dfs.replication": "1",
        "dfs.blocksize": str(1 << 20),
    }
    with connect("hdfs://fed", conf=Configuration(values)) as found:
        yield found


def test_the_active_namenode_is_killed_and_a_writer_goes_on(
    fs: FileSystem, cluster: MiniCluster
) -> None:
    old = cluster.active()
    with fs.create("/m/over-namenodes") as out:
        for number in range(40):
            out.write(PIECE)
            if number == 10:
                out.hflush()
                cluster.kill(old)
    assert fs.read_bytes("/m/over-namenodes") == PIECE * 40
    assert cluster.active(but=old)
    fs.rename("/m/over-namenodes", "/m/renamed")
    assert not fs.exists("/m/over-namenodes")
    cluster.restart(old)


def test_a_router_is_killed_and_a_writer_goes_on_through_the_other(
    fs: FileSystem, routers: Routers
) -> None:
    with fs.create("/m/over-routers") as out:
        for number in range(40):
            out.write(PIECE)
            if number in (10, 25):
                out.hflush()
                name = "r1" if number == 10 else "r2"
                other = {"r1": "r2", "r2": "r1"}[name]
                assert other in routers.addresses
                routers.kill(name)
                if number == 10:
                    # What the client knows of the first is out of date after this.
                    routers.values["dfs.federation.router.rpc-address"] = routers.addresses["r1"]
                    routers.start("r1")
    assert fs.read_bytes("/m/over-routers") == PIECE * 40
    fs.append("/m/over-routers").close()
    assert fs.delete("/m/over-routers")
