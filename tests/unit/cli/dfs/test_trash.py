"""Paths of the trash, and what is moved there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from howdah import errors
from howdah.cli.dfs.commands import remove
from howdah.client.namenode import NamenodeProxy
from howdah.config import Configuration
from howdah.fs import trash
from howdah.fs.registry import connect
from howdah.fs.status import ServerDefaults
from howdah.fs.trash import Moved, Trash
from howdah.protocol import trash_names
from tests.unit.cli.conftest import Dfs

NOW_S = 1_600_000_000.5
NOW_MS = 1_600_000_000_500
HOUR_S = 3600.0
CURRENT = "/user/me/.Trash/Current"


def test_a_deleted_path_keeps_its_directories_in_the_trash() -> None:
    assert trash.place_of("/user/me/.Trash", "/a/b") == f"{CURRENT}/a/b"


def test_checkpoints_are_named_by_the_local_time() -> None:
    name = trash_names.checkpoint_name(NOW_S)
    assert len(name) == 12
    assert trash_names.checkpoint_time_s(name) == int(NOW_S)
    assert trash_names.checkpoint_time_s(trash_names.checkpoint_name(NOW_S, 3)) == int(NOW_S)


@pytest.mark.parametrize("name", ["Current", "", "12345", "209913321111", "20x012131415", "mine"])
def test_other_names_are_no_checkpoints(name: str) -> None:
    assert trash_names.checkpoint_time_s(name) is None


def test_checkpoints_without_seconds_are_known_as_well() -> None:
    assert trash_names.checkpoint_time_s("2001020304") is not None


@pytest.fixture
def bin_(fs: Any) -> Trash:
    return Trash(fs, now=lambda: NOW_S)


def test_what_is_moved_can_be_found_in_the_trash(fs: Any, bin_: Trash) -> None:
    fs.fill("/a/b", b"x")
    assert bin_.move("/a/b") == Moved("/a/b", f"{CURRENT}/a/b")
    assert fs.contents == {f"{CURRENT}/a/b": b"x"}


def test_the_trash_is_for_its_owner_alone(fs: Any, bin_: Trash) -> None:
    fs.fill("/a/b", b"x")
    bin_.move("/a/b")
    assert fs.entries[CURRENT].permission == 0o700
    assert fs.entries["/user/me/.Trash"].permission == 0o700


def test_a_second_file_of_a_name_gets_the_time_added(fs: Any, bin_: Trash) -> None:
    for content in (b"1", b"2"):
        fs.fill("/a", content)
        moved = bin_.move("/a")
    assert moved == Moved("/a", f"{CURRENT}/a{NOW_MS}")
    assert fs.contents == {f"{CURRENT}/a": b"1", f"{CURRENT}/a{NOW_MS}": b"2"}


def test_a_file_in_the_way_of_a_directory_stays_what_it_was(fs: Any, bin_: Trash) -> None:
    fs.fill(f"{CURRENT}/a", b"a file")
    fs.fill("/a/b", b"x")
    assert bin_.move("/a/b") == Moved("/a/b", f"{CURRENT}/a{NOW_MS}/b")
    assert fs.contents[f"{CURRENT}/a"] == b"a file"


def test_many_files_of_a_name_may_come_in_one_millisecond(fs: Any, bin_: Trash) -> None:
    found = []
    for _ in range(4):
        fs.fill("/a/b", b"x")
        moved = bin_.move("/a/b")
        assert moved is not None
        found.append(moved.target)
    assert found == [f"{CURRENT}/a/b", *(f"{CURRENT}/a/b{NOW_MS + each}" for each in range(3))]


def test_what_is_in_the_trash_is_not_moved_to_it(fs: Any, bin_: Trash) -> None:
    fs.fill(f"{CURRENT}/a", b"")
    assert bin_.move(f"{CURRENT}/a") is None
    assert bin_.move("/user/me/.Trash") is None


@pytest.mark.parametrize("path", ["/", "/user", "/user/me"])
def test_what_contains_the_trash_cannot_be_moved_to_it(bin_: Trash, path: str) -> None:
    with pytest.raises(errors.IllegalArgument, match="as it contains the trash"):
        bin_.move(path)


def test_a_name_that_looks_like_the_trash_is_no_trash(fs: Any, bin_: Trash) -> None:
    fs.fill("/user/me/.Trashy", b"")
    assert bin_.move("/user/me/.Trashy") is not None


def test_a_checkpoint_closes_the_current_trash(fs: Any, bin_: Trash) -> None:
    fs.fill(f"{CURRENT}/a", b"x")
    made = bin_.checkpoint()
    assert made == f"/user/me/.Trash/{trash_names.checkpoint_name(NOW_S)}"
    assert fs.contents == {f"{made}/a": b"x"}


def test_checkpoints_in_one_second_are_numbered(fs: Any, bin_: Trash) -> None:
    made = []
    for _ in range(3):
        fs.fill(f"{CURRENT}/a", b"")
        made.append(bin_.checkpoint())
    name = f"/user/me/.Trash/{trash_names.checkpoint_name(NOW_S)}"
    assert made == [name, f"{name}-1", f"{name}-2"]


def test_there_is_no_checkpoint_of_nothing(bin_: Trash) -> None:
    assert bin_.checkpoint() is None


def test_only_old_checkpoints_are_deleted(fs: Any, bin_: Trash) -> None:
    old = f"/user/me/.Trash/{trash_names.checkpoint_name(NOW_S - 2 * HOUR_S)}"
    young = f"/user/me/.Trash/{trash_names.checkpoint_name(NOW_S - HOUR_S / 2)}"
    for path in (f"{old}/a", f"{young}/b", f"{CURRENT}/c", "/user/me/.Trash/mine/d"):
        fs.fill(path, b"")
    assert bin_.expunge(HOUR_S) == [old]
    assert set(fs.contents) == {f"{young}/b", f"{CURRENT}/c", "/user/me/.Trash/mine/d"}


def test_nothing_is_deleted_where_there_is_no_trash(bin_: Trash) -> None:
    assert bin_.expunge(0) == []


def test_a_name_taken_meanwhile_is_tried_again(fs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fs.fill("/a", b"x")
    times = iter([1.0, 2.0, 3.0])
    rename = fs.rename

    def race(src: str, dst: str) -> None:
        if dst == f"{CURRENT}/a":
            fs.fill(dst, b"someone else's")
        rename(src, dst)

    monkeypatch.setattr(fs, "rename", race)
    moved = Trash(fs, now=lambda: next(times)).move("/a")
    assert moved == Moved("/a", f"{CURRENT}/a1000")


@pytest.mark.parametrize("scheme", ["hdfs", "webhdfs", "viewfs"])
def test_a_move_to_the_trash_says_so_to_the_namenode(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The namenode holds it against the permissions of a delete: whoever empties the trash may
    delete everything."""
    asked: list[tuple[str, Any]] = []

    def call(self: Any, method: str, request: Any, response: Any, *more: Any, **other: Any) -> Any:
        asked.append((method, request))
        return response()

    monkeypatch.setattr(NamenodeProxy, "call", call)
    conf = Configuration({"fs.viewfs.mounttable.v.link./x": "hdfs://127.0.0.1:1/"})
    authority = "v" if scheme == "viewfs" else "127.0.0.1:1"
    with connect(f"{scheme}://{authority}/", conf=conf) as fs:
        fs.rename_to_trash("/x/a", "/x/.Trash/Current/a")
        fs.rename("/x/b", "/x/c")
    renames = [request for method, request in asked if method == "rename2"]
    assert [each.moveToTrash for each in renames] == [True, False]


def test_a_filesystem_without_such_a_rename_renames(fs: Any, bin_: Trash) -> None:
    fs.fill("/a", b"x")
    bin_.move("/a")
    assert fs.calls[-1] == f"rename /a {CURRENT}/a"


@pytest.fixture
def of_hdfs(fs: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Files with a zone and a snapshottable directory, in which there is trash."""

    def defaults(path: str | None = None) -> ServerDefaults:
        return ServerDefaults(1 << 20, 512, "CRC32C", 3, 65536, 4096, 60, True, True)

    def directory(path: str) -> Any:
        return SimpleNamespace(path=path)

    monkeypatch.setattr(remove, "HdfsFileSystem", type(fs))
    fs.user = "me"
    fs.server_defaults = defaults
    fs.list_encryption_zones = lambda: iter([directory("/zone"), directory("/empty")])
    fs.list_snapshottable_directories = lambda: [directory("/snaps"), directory("/zone")]
    for top in ("/user/me/.Trash", "/zone/.Trash/me", "/snaps/.Trash/me", "/zone/.Trash/eve"):
        fs.fill(f"{top}/Current/a", b"x")
        fs.fill(f"{top}/200102030405/b", b"x")
    return fs


@pytest.mark.parametrize("is_immediate", [False, True])
def test_all_trashes_of_the_user_are_expunged(of_hdfs: Any, dfs: Dfs, is_immediate: bool) -> None:
    assert dfs("-expunge", *["-immediate"] * is_immediate).code == 0
    left = {path.rpartition("/.Trash/")[0]: path for path in of_hdfs.contents if "eve" not in path}
    names = set() if is_immediate else {"/user/me", "/zone", "/snaps"}
    assert set(left) == names
    assert all(path.endswith("/a") and "Current" not in path for path in left.values())
    others = [path for path in of_hdfs.contents if "eve" in path]
    assert others == ["/zone/.Trash/eve/Current/a", "/zone/.Trash/eve/200102030405/b"]


def test_who_may_not_list_zones_is_told_and_his_other_trashes_are_expunged(
    of_hdfs: Any, dfs: Dfs
) -> None:
    def denied() -> Any:
        raise errors.AccessDenied("Superuser privilege is required")

    of_hdfs.list_encryption_zones = denied
    of_hdfs.list_snapshottable_directories = list
    done = dfs("-expunge", "-immediate")
    assert done.code == 0
    assert "Trash in encryption zones is left as it is: Superuser privilege" in done.err
    assert not any(path.startswith("/user/me") for path in of_hdfs.contents)
    assert any(path.startswith("/zone/.Trash/me") for path in of_hdfs.contents)
