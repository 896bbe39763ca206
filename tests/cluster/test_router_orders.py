"""Where a router makes new files at mount points with several destinations.

The datanodes of all clusters are on loopback addresses of their own: 127.0.0.11 is that of the
first one of both clusters, 127.0.0.12 and 127.0.0.13 are those of west alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from howdah.cli.router import admin as routeradmin
from howdah.fs.api import FileSystem
from howdah.router.state.table.mount_table import Destination, MountEntry, Order
from howdah.router.state.table.ordering import hashed
from howdah.router.store.factory import store_at
from howdah.testing import MiniCluster
from tests.support.routers import Routers
from tests.support.routing.sources import calls_from

pytestmark = [pytest.mark.req("LM-020"), pytest.mark.timeout(180)]

FILES = 10


def entry(source: str, order: Order, *names: str) -> MountEntry:
    places = tuple(Destination(name, f"/orders{source}") for name in names)
    return MountEntry(source, places, order)


ENTRIES = (
    entry("/local", Order.LOCAL, "east", "west"),
    entry("/hash", Order.HASH, "east", "west"),
    entry("/space", Order.SPACE, "east", "west"),
)


@pytest.fixture(scope="module")
def clusters() -> Iterator[dict[str, MiniCluster]]:
    conf = {"dfs.replication": 1}
    with contextlib.ExitStack() as stack:
        yield {
            name: stack.enter_context(MiniCluster(datanodes=number, conf=conf))
            for name, number in (("east", 1), ("west", 3))
        }


@pytest.fixture(scope="module")
def routers(
    clusters: dict[str, MiniCluster], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Routers]:
    directory = tmp_path_factory.mktemp("routers")
    period = {"dfs.federation.router.router-resolver.update-period": "1s"}
    with Routers(directory, clusters, period) as found:
        store = store_at(directory / "store")
        store.prepare()
        for each in ENTRIES:
            store.add_mount(each)
        for cluster in clusters.values():
            with cluster.connect() as fs:
                for each in ENTRIES:
                    fs.mkdirs(f"/orders{each.source}")
        found.start()
        yield found


def made_at(clusters: dict[str, MiniCluster], fs: FileSystem, directory: str) -> dict[str, str]:
    """Some files that are made through the router, and the nameservice of each."""
    found: dict[str, str] = {}
    paths = [f"{directory}/{number}" for number in range(FILES)]
    for path in paths:
        fs.write_bytes(path, path.encode())
        assert fs.read_bytes(path) == path.encode()
    for name, cluster in clusters.items():
        with cluster.connect() as direct:
            for path in paths:
                if direct.exists(f"/orders{path}"):
                    assert path not in found
                    found[path] = name
    return found


@pytest.mark.parametrize(
    ("source", "nameservice"), [("127.0.0.12", "west"), ("127.0.0.11", "east")]
)
def test_local_is_the_nameservice_with_a_datanode_on_the_callers_machine(
    clusters: dict[str, MiniCluster],
    routers: Routers,
    capsys: pytest.CaptureFixture[str],
    source: str,
    nameservice: str,
) -> None:
    """Of two such nameservices it is the one that was written down first."""
    with calls_from(source):
        with routers.connect() as fs:
            found = made_at(clusters, fs, f"/local/{source}")
        assert set(found.values()) == {nameservice}
        assert len(found) == FILES
        capsys.readouterr()
        for number in range(4):
            command = ["-getDestination", f"/local/new-{number}"]
            assert routeradmin.main(command, routers.admin_conf()) == 0
            assert capsys.readouterr().out == f"Destination: {nameservice}\n"


def test_local_is_where_a_namenode_is_for_a_caller_on_the_routers_machine(
    clusters: dict[str, MiniCluster], routers: Routers
) -> None:
    with routers.connect() as fs:
        assert set(made_at(clusters, fs, "/local/loopback").values()) == {"east"}


def test_a_mount_point_that_becomes_local_asks_for_datanodes(
    clusters: dict[str, MiniCluster],
    routers: Routers,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for cluster in clusters.values():
        with cluster.connect() as fs:
            fs.mkdirs("/orders/late")
    conf = routers.admin_conf()
    add = ["-add", "/late", "east,west", "/orders/late", "-order", "LOCAL"]
    assert routeradmin.main(add, conf) == 0
    capsys.readouterr()
    with calls_from("127.0.0.13"):
        assert routeradmin.main(["-getDestination", "/late/file"], conf) == 0
    assert capsys.readouterr().out == "Destination: west\n"


def test_hash_goes_by_the_name_below_the_mount_point(
    clusters: dict[str, MiniCluster], routers: Routers
) -> None:
    with routers.connect() as fs:
        found = made_at(clusters, fs, "/hash")
        below = made_at(clusters, fs, "/hash/directory")
    assert found == {path: hashed(path, clusters) for path in found}
    assert set(found.values()) == {"east", "west"}
    assert set(below.values()) == {hashed("/hash/directory", clusters)}


def test_space_is_the_nameservice_with_most_that_is_free(
    clusters: dict[str, MiniCluster], routers: Routers
) -> None:
    """Each of the three datanodes of west has as much as the one of east."""
    with routers.connect() as fs:
        assert set(made_at(clusters, fs, "/space/files").values()) == {"west"}
