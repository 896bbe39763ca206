"""A router over two clusters: our client sees one tree."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.router.state_store import StateStore
from howdah.router.table.mount_table import Destination, MountEntry, Order
from howdah.testing import MiniCluster
from howdah.testing.internal.routers import Routers

pytestmark = [pytest.mark.req("LM-020"), pytest.mark.timeout(180)]

ENTRIES = (
    MountEntry("/east", (Destination("east", "/router/e"),), owner="eve", group="staff"),
    MountEntry("/west", (Destination("west", "/router/w"),)),
    MountEntry("/deep/er/mount", (Destination("west", "/router/deep"),)),
    MountEntry("/east/inner", (Destination("west", "/router/inner"),)),
    MountEntry("/fixed", (Destination("east", "/router/fixed"),), read_only=True),
    MountEntry(
        "/both",
        (Destination("east", "/router/both"), Destination("west", "/router/both")),
        Order.HASH_ALL,
    ),
    MountEntry(
        "/hashed", (Destination("east", "/router/hashed"), Destination("west", "/router/hashed"))
    ),
)


@pytest.fixture(scope="module")
def west() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=1, conf={"dfs.replication": 1}) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def routers(
    howdah_cluster: MiniCluster, west: MiniCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Routers]:
    directory = tmp_path_factory.mktemp("routers")
    with Routers(directory, {"east": howdah_cluster, "west": west}) as found:
        store = StateStore(directory / "store")
        store.prepare()
        for entry in ENTRIES:
            store.add_mount(entry)
            for each in entry.destinations:
                cluster = howdah_cluster if each.nameservice == "east" else west
                with cluster.connect() as fs:
                    fs.mkdirs(each.path)
        found.start()
        yield found
    with howdah_cluster.connect() as fs:
        fs.delete("/router", recursive=True)


@pytest.fixture(scope="module")
def fs(routers: Routers) -> Iterator[FileSystem]:
    with routers.connect() as found:
        yield found


def names(fs: FileSystem, path: str) -> list[str]:
    return [each.path.rpartition("/")[2] for each in fs.list_status(path)]


def test_a_file_is_written_and_read_through_the_router(
    fs: FileSystem, howdah_cluster: MiniCluster, west: MiniCluster
) -> None:
    for mount, cluster, below in (("east", howdah_cluster, "e"), ("west", west, "w")):
        data = mount.encode() * 100_000
        with fs.create(f"/{mount}/file", overwrite=True) as out:
            out.write(data)
        with fs.open(f"/{mount}/file") as file:
            assert file.read() == data
        with cluster.connect() as direct, direct.open(f"/router/{below}/file") as file:
            assert file.read() == data


def test_the_root_lists_mount_points_and_ways_to_them(fs: FileSystem) -> None:
    assert names(fs, "/") == ["both", "deep", "east", "fixed", "hashed", "west"]
    assert names(fs, "/deep") == ["er"]
    assert names(fs, "/deep/er") == ["mount"]
    assert fs.get_file_status("/deep/er").is_directory


def test_a_mount_point_within_another_is_listed_with_what_is_there(fs: FileSystem) -> None:
    fs.mkdirs("/east/real")
    assert {"inner", "real"} <= set(names(fs, "/east"))


def test_an_error_names_the_path_of_the_router_and_keeps_its_class(fs: FileSystem) -> None:
    with pytest.raises(FileNotFoundError, match="/east/absent") as raised:
        fs.open("/east/absent")
    assert "/router/e" not in str(raised.value)
    with pytest.raises(errors.NoLocation, match="/nowhere"):
        fs.get_file_status("/nowhere")


def test_a_rename_stays_within_a_nameservice(fs: FileSystem) -> None:
    fs.write_bytes("/west/one", b"1")
    fs.rename("/west/one", "/deep/er/mount/two")
    assert fs.read_bytes("/deep/er/mount/two") == b"1"
    with pytest.raises(OSError, match="no eligible destination in the same namespace"):
        fs.rename("/deep/er/mount/two", "/east/two")
    assert fs.exists("/deep/er/mount/two")


@pytest.mark.parametrize("path", ["/east", "/deep", "/deep/er/mount"])
def test_mount_points_and_ways_to_them_are_not_removed(fs: FileSystem, path: str) -> None:
    with pytest.raises((PermissionError, errors.NoLocation)):
        fs.delete(path, recursive=True)
    assert fs.exists(path)


def test_a_read_only_mount_point_refuses_writes(fs: FileSystem) -> None:
    with pytest.raises(PermissionError, match="read only mount point"):
        fs.write_bytes("/fixed/file", b"")
    assert names(fs, "/fixed") == []


def test_files_of_one_directory_are_spread_and_listed_as_one(
    fs: FileSystem, howdah_cluster: MiniCluster, west: MiniCluster
) -> None:
    wanted = [f"f{number:02}" for number in range(12)]
    for name in wanted:
        fs.write_bytes(f"/both/dir/{name}", name.encode())
    assert names(fs, "/both/dir") == wanted
    with howdah_cluster.connect() as one, west.connect() as other:
        parts = names(one, "/router/both/dir"), names(other, "/router/both/dir")
    assert sorted(parts[0] + parts[1]) == wanted
    assert all(parts)
    assert [fs.read_bytes(f"/both/dir/{name}") for name in wanted] == [
        name.encode() for name in wanted
    ]
    summary = fs.content_summary("/both/dir")
    assert summary.file_count == 12
    assert fs.delete("/both/dir", recursive=True)
    assert not fs.exists("/both/dir")
    assert names(fs, "/both") == []


def test_a_directory_of_a_hashed_mount_point_is_in_one_nameservice(
    fs: FileSystem, howdah_cluster: MiniCluster, west: MiniCluster
) -> None:
    fs.write_bytes("/hashed/a/b/c", b"x")
    with howdah_cluster.connect() as one, west.connect() as other:
        assert [each.exists("/router/hashed/a") for each in (one, other)].count(True) == 1
    fs.rename("/hashed/a/b/c", "/hashed/a/d")
    assert fs.read_bytes("/hashed/a/d") == b"x"
