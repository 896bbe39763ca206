"""Tables through a router: of all namespaces behind it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from howdah import errors
from howdah.router.state.table.mount_table import Destination, MountEntry
from howdah.router.store.factory import store_at
from howdah.spark.tables.catalog import open_table
from howdah.spark.tables.table import Home
from howdah.testing import MiniCluster
from tests.support.routers import Routers
from tests.support.tables.frames import Row, rows_of

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A router over two namespaces."""
    directory = tmp_path_factory.mktemp("router")
    with MiniCluster(datanodes=1) as east, MiniCluster(datanodes=1) as west:
        for cluster, top in ((east, "/e"), (west, "/w")):
            with cluster.connect() as fs:
                for number in range(3):
                    with fs.create(f"{top}/d{number}/f", replication=1) as out:
                        out.write(b"x" * number)
                fs.allow_snapshot(f"{top}/d1")
                fs.create_snapshot(f"{top}/d1", "s1")
        with Routers(directory, {"east": east, "west": west}) as routers:
            store = store_at(directory / "store")
            store.prepare()
            store.add_mount(MountEntry("/e", (Destination("east", "/e"),)))
            store.add_mount(MountEntry("/w", (Destination("west", "/w"),)))
            yield routers.start()


def rows(uri: str, name: str, path: str) -> dict[str, Row]:
    found = rows_of(open_table(name, {"path": uri + path}, Home(())))
    assert len({row["path"] for row in found}) == len(found)
    return {row["path"]: row for row in found}


def test_namespaces_behind_a_router_are_one_table(uri: str) -> None:
    found = rows(uri, "howdah.namespace", "/")
    files = {f"{top}/d{number}/f": number for top in ("/e", "/w") for number in range(3)}
    assert {path: row["length"] for path, row in found.items() if row["type"] == "file"} == files
    assert found["/e/d1"]["snapshot_names"] == found["/w/d1"]["snapshot_names"] == ["s1"]


def test_replicas_behind_a_router_are_rows(uri: str) -> None:
    found = rows(uri, "howdah.blocks", "/w")
    assert {path: row["health"] for path, row in found.items()} == {
        "/w/d1/f": "healthy",
        "/w/d2/f": "healthy",
    }


def test_a_router_has_no_changes(uri: str) -> None:
    with pytest.raises(errors.HowdahError, match="getEditsFromTxid"):
        open_table("howdah.changes", {"path": uri}, Home(())).parts()
