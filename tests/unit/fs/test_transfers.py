"""Whole files and trees: `put`, `get`, `copy`, `move`, and who is told of their bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path as LocalPath
from typing import Any

import pytest

import howdah
from howdah import Path, errors
from howdah.config import Configuration
from howdah.fs import transfers
from howdah.fs.api import FileSystem
from howdah.fs.memory import filesystem as memory
from howdah.fs.memory.filesystem import MemoryFileSystem
from howdah.fs.objects.filesystem import ObjectFileSystem
from howdah.fs.objects.settings import settings_of
from howdah.fs.objects.store import ObjectStore
from howdah.fs.objects.tuning import Tuning
from howdah.fs.status import FileStatus
from tests.support.objects.in_memory import InMemoryStore

TREE = {"a": b"1", "b/[x]*": b"22", "b/c/é": b"333", "b/c/empty": b""}


@pytest.fixture
def fs() -> Iterator[FileSystem]:
    with howdah.connect("mem://transfers/") as found:
        found.mkdirs("/d")
        yield found
    memory.forget("transfers")
    memory.forget("other")


@pytest.fixture
def local(tmp_path: LocalPath) -> LocalPath:
    """A directory of this machine."""
    top = tmp_path / "local"
    for name, content in TREE.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(content)
    return top


def plant(top: Path) -> None:
    for name, content in TREE.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(content)


def content_of(top: Path | LocalPath) -> dict[str, bytes]:
    if isinstance(top, Path):
        return {str(p.relative_to(top)): p.read_bytes() for p in top.rglob("*") if p.is_file()}
    return {str(p.relative_to(top)): p.read_bytes() for p in top.rglob("*") if p.is_file()}


# --- where things go ---------------------------------------------------------------------


def test_a_file_is_put_under_a_name_or_into_a_directory(fs: FileSystem, local: LocalPath) -> None:
    assert fs.put(local / "a", "/d/new") == "/d/new"
    assert fs.put(str(local / "a"), "/d") == "/d/a"
    assert fs.put(local / "a", "/e/") == "/e/a"
    assert fs.put(local / "a") == f"{fs.home_directory()}/a"
    assert {fs.read_bytes(path) for path in ("/d/new", "/d/a", "/e/a")} == {b"1"}


def test_a_file_is_got_under_a_name_or_into_a_directory(
    fs: FileSystem, tmp_path: LocalPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs.write_bytes("/d/a:b", b"1")
    monkeypatch.chdir(tmp_path)
    assert fs.get("/d/a:b", tmp_path / "new") == str(tmp_path / "new")
    assert fs.get("/d/a:b") == str(tmp_path / "a:b")
    assert fs.get("/d/a:b", "sub" + os.sep) == str(tmp_path / "sub" / "a:b")
    assert (tmp_path / "sub" / "a:b").read_bytes() == b"1"
    assert not list(tmp_path.glob(".*"))  # no checksum files


def test_trees_are_carried_whole(fs: FileSystem, local: LocalPath, tmp_path: LocalPath) -> None:
    assert fs.put(local, "/d/tree", recursive=True) == "/d/tree"
    assert content_of(fs.path("/d/tree")) == TREE
    assert fs.put(local, "/d/", recursive=True) == "/d/local"
    assert fs.copy("/d/tree", "/d/copy", recursive=True) == "/d/copy"
    assert content_of(fs.path("/d/copy")) == TREE
    assert fs.get("/d/tree", tmp_path / "back", recursive=True) == str(tmp_path / "back")
    assert content_of(tmp_path / "back") == TREE
    assert fs.get("/d/copy/b/c", tmp_path / "back", recursive=True) == str(tmp_path / "back" / "c")


def test_a_directory_is_copied_only_if_that_is_asked_for(fs: FileSystem, local: LocalPath) -> None:
    with pytest.raises(IsADirectoryError, match="recursive=True"):
        fs.put(local, "/d")
    with pytest.raises(IsADirectoryError, match="recursive=True"):
        fs.copy("/d", "/e")
    with pytest.raises(IsADirectoryError):
        fs.get("/d", local)


def test_what_is_not_there_is_not_copied(fs: FileSystem, tmp_path: LocalPath) -> None:
    with pytest.raises(FileNotFoundError):
        fs.put(tmp_path / "none", "/d")
    with pytest.raises(FileNotFoundError):
        fs.get("/none", tmp_path)
    with pytest.raises(FileNotFoundError):
        fs.copy("/none", "/d")
    with pytest.raises(FileNotFoundError):
        fs.move("/none", "/d")
    assert list(fs.path("/d").iterdir()) == list(tmp_path.iterdir()) == []


def test_nothing_is_copied_onto_or_into_itself(fs: FileSystem) -> None:
    plant(fs.path("/d"))
    with pytest.raises(errors.IllegalArgument, match="the same file"):
        fs.copy("/d/a", "/d")
    with pytest.raises(errors.IllegalArgument, match="cannot be copied there"):
        fs.copy("/d/b", "/d/b/c/new", recursive=True)
    assert content_of(fs.path("/d")) == TREE


def test_a_file_is_replaced_or_kept(fs: FileSystem, local: LocalPath) -> None:
    fs.write_bytes("/d/a", b"old")
    with pytest.raises(FileExistsError):
        fs.put(local / "a", "/d/a", overwrite=False)
    assert fs.read_bytes("/d/a") == b"old"
    fs.put(local / "a", "/d/a")
    assert fs.read_bytes("/d/a") == b"1"
    fs.mkdirs("/d/x/a")
    with pytest.raises(IsADirectoryError):
        fs.put(local / "a", "/d/x")


def test_what_is_made_while_a_tree_is_moved_is_not_deleted(
    fs: FileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(Path("mem://other/tree"))
    with howdah.connect("mem://other/") as source:
        rename = fs.rename

        def late(*args: Any, **options: Any) -> None:
            rename(*args, **options)
            if args[1] == "/d/tree/b/c/é":
                source.write_bytes("/tree/b/c/a", b"late")

        monkeypatch.setattr(fs, "rename", late)
        with pytest.raises(errors.DirectoryNotEmpty):
            transfers.move(source, "/tree", fs, "/d/tree")
        assert content_of(Path.of(fs, "/d/tree")) == TREE
        assert content_of(Path.of(source, "/tree")) == {"b/c/a": b"late"}


def test_what_is_written_to_while_it_is_moved_is_not_deleted(
    fs: FileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    with howdah.connect("mem://other/") as source:
        plant(Path.of(source, "/tree"))
        source.write_bytes("/log", b"one")
        rename = fs.rename
        writer = []

        def late(*args: Any, **options: Any) -> None:
            rename(*args, **options)
            if args[1] == "/d/tree/b/c/é":
                with source.append("/tree/a") as out:
                    out.write(b" and more")
                writer.append(source.append("/tree/b/[x]*"))
            if args[1] == "/d/log":
                with source.append("/log") as out:
                    out.write(b" two")

        monkeypatch.setattr(fs, "rename", late)
        with pytest.raises(errors.FileChanged, match="/log was written to while it was copied"):
            transfers.move(source, "/log", fs, "/d/log")
        assert source.read_bytes("/log") == b"one two"
        with pytest.raises(errors.DirectoryNotEmpty):
            transfers.move(source, "/tree", fs, "/d/tree")
        assert content_of(Path.of(fs, "/d/tree")) == TREE
        writer[0].close()
        assert content_of(Path.of(source, "/tree")) == {"a": b"1 and more", "b/[x]*": b"22"}


@pytest.mark.parametrize(
    "error",
    [errors.UnsupportedOperation(), errors.IllegalArgument("op"), errors.PathNotFound("/f")],
)
def test_a_file_of_which_nobody_knows_whether_it_is_open_is_moved(
    fs: FileSystem, error: errors.HowdahError, monkeypatch: pytest.MonkeyPatch
) -> None:
    with howdah.connect("mem://other/") as source:
        source.write_bytes("/f", b"1")

        def is_file_closed(path: Any) -> bool:
            raise error

        monkeypatch.setattr(source, "is_file_closed", is_file_closed)
        transfers.move(source, "/f", fs, "/d/f")
        assert fs.read_bytes("/d/f") == b"1"
        assert not source.exists("/f")


def test_a_file_that_somebody_deletes_while_it_is_moved_is_moved(
    fs: FileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    with howdah.connect("mem://other/") as source:
        source.write_bytes("/f", b"1")
        rename = fs.rename

        def late(*args: Any, **options: Any) -> None:
            rename(*args, **options)
            source.delete("/f")

        monkeypatch.setattr(fs, "rename", late)
        transfers.move(source, "/f", fs, "/d/f")
        assert fs.read_bytes("/d/f") == b"1"


def test_an_object_that_is_replaced_while_its_directory_is_moved_stays(
    fs: FileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Bucket("b", Configuration()) as bucket:
        bucket.write_bytes("/d/f", b"1")
        rename = fs.rename

        def late(*args: Any, **options: Any) -> None:
            rename(*args, **options)
            bucket.write_bytes("/d/f", b"2")

        monkeypatch.setattr(fs, "rename", late)
        with pytest.raises(errors.DirectoryNotEmpty, match="/d/f was replaced while /d was copied"):
            transfers.move(bucket, "/d", fs, "/moved")
        assert bucket.read_bytes("/d/f") == b"2"


class ByAnotherAddress(MemoryFileSystem):
    """The same files, as by another address of a namenode."""

    @property
    def uri(self) -> str:
        return "mem://also-transfers"


def test_a_file_that_is_moved_onto_itself_by_another_address_stays(fs: FileSystem) -> None:
    fs.write_bytes("/d/f", b"all there is")
    with pytest.raises(errors.IllegalArgument, match="the same file"):
        transfers.move(fs, "/d/f", ByAnotherAddress("transfers"), "/d/f")
    assert fs.read_bytes("/d/f") == b"all there is"
    transfers.move(fs, "/d/f", ByAnotherAddress("transfers"), "/d/g")
    assert fs.read_bytes("/d/g") == b"all there is"
    assert not fs.exists("/d/f")


def test_things_are_moved(fs: FileSystem) -> None:
    plant(fs.path("/d"))
    assert fs.move("/d/a", "/d/new") == "/d/new"
    assert fs.move("/d/new", "/d/b") == "/d/b/new"
    assert fs.move("/d/b", "/e") == "/e"
    assert fs.exists("/e/new")
    assert not fs.exists("/d/b")
    fs.write_bytes("/d/a", b"old")
    with pytest.raises(FileExistsError):
        fs.move("/e/new", "/d/a", overwrite=False)
    fs.move("/e/new", "/d/a")
    assert fs.read_bytes("/d/a") == b"1"


def test_between_filesystems_it_is_a_copy_and_a_deletion(
    fs: FileSystem, tmp_path: LocalPath
) -> None:
    plant(fs.path("/d"))
    other = Path("mem://other/top")
    assert fs.path("/d").copy(other) == other
    assert content_of(other) == TREE
    assert fs.path("/d/a").copy_into(other / "b") == other / "b" / "a"
    with pytest.raises(FileExistsError):
        fs.path("/d").copy(other)
    here = Path(f"file://{tmp_path}/moved")
    assert other.move(here) == here
    assert not other.exists()
    assert content_of(here) == TREE | {"b/a": b"1"}
    other.mkdir()
    assert (here / "a").move_into(other) == other / "a"
    assert not (here / "a").exists()
    assert fs.path("/d/a").copy("/d/same-filesystem").read_bytes() == b"1"


def test_between_mount_points_it_is_a_copy_and_a_deletion() -> None:
    table = "fs.viewfs.mounttable.all.link./"
    conf = howdah.Configuration({f"{table}m": "mem://transfers/", f"{table}n": "mem://other/"})
    with howdah.connect("viewfs://all/", conf=conf) as view:
        plant(view.path("/m/d"))
        assert view.move("/m/d", "/n/e") == "/n/e"
        assert content_of(Path("mem://other/e")) == TREE
        assert not view.exists("/m/d")


# --- who sees what -------------------------------------------------------------------------


def test_nobody_sees_half_a_file(
    fs: FileSystem, local: LocalPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfers, "PIECE_BYTES", 4096)
    (local / "big").write_bytes(bytes(10_000))
    fs.write_bytes("/d/big", b"old")
    seen = []

    def look(_: int) -> None:
        seen.append((fs.read_bytes("/d/big"), len(fs.ls("/d"))))

    fs.put(local / "big", "/d", callback=look)
    assert seen == [(b"old", 2)] * 3
    assert fs.ls("/d") == ["/d/big"]
    assert fs.stat("/d/big").length == 10_000


class Stop(Exception):
    """Raised by a callback."""


def test_a_copy_that_fails_leaves_nothing(
    fs: FileSystem, local: LocalPath, tmp_path: LocalPath
) -> None:
    def stop(_: int) -> None:
        raise Stop

    fs.write_bytes("/d/a", b"old")
    with pytest.raises(Stop):
        fs.put(local / "a", "/d", callback=stop)
    assert fs.ls("/d") == ["/d/a"]
    assert fs.read_bytes("/d/a") == b"old"
    into = tmp_path / "into"
    into.mkdir()
    with pytest.raises(Stop):
        fs.get("/d/a", into, callback=stop)
    assert list(into.iterdir()) == []


def test_what_cannot_be_removed_either_is_said(
    fs: FileSystem, local: LocalPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> bool:
        raise errors.AccessDenied("not yours")

    monkeypatch.setattr(MemoryFileSystem, "rename", refuse)
    monkeypatch.setattr(MemoryFileSystem, "delete", refuse)
    with pytest.raises(PermissionError) as raised:
        fs.put(local / "a", "/d")
    assert "failed as well: not yours" in "".join(raised.value.__notes__)


def test_a_local_file_with_checksums_is_replaced_with_them(
    fs: FileSystem, tmp_path: LocalPath
) -> None:
    """Else the old checksums would be held against the new file."""
    (Path(f"file://{tmp_path}") / "a").write_text("old")
    assert (tmp_path / ".a.crc").exists()
    fs.write_bytes("/d/a", b"new content")
    fs.get("/d/a", tmp_path)
    assert (Path(f"file://{tmp_path}") / "a").read_text() == "new content"


@pytest.mark.parametrize("name", ["..", ".", "a/../../b", "", "a\0b"])
def test_a_name_that_leads_elsewhere_is_refused(
    fs: FileSystem, tmp_path: LocalPath, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    hostile = FileStatus(f"/d/{name}", 1, False, 1, 1, 0, 0, 0o644, "o", "g")
    monkeypatch.setattr(MemoryFileSystem, "list_status_iter", lambda *_: iter([hostile]))
    if "/" in name:
        monkeypatch.setattr(FileStatus, "name", name)
    with pytest.raises(errors.InvalidPath, match="no name of a file"):
        fs.get("/d", tmp_path / "new", recursive=True)


def test_links_are_followed_but_not_round_in_circles(fs: FileSystem, local: LocalPath) -> None:
    (local / "link").symlink_to("b")
    (local / "file-link").symlink_to("a")
    fs.put(local, "/d/tree", recursive=True)
    below = {f"link/{name.removeprefix('b/')}": TREE[name] for name in TREE if name[0] == "b"}
    assert content_of(fs.path("/d/tree")) == TREE | below | {"file-link": b"1"}
    (local / "b" / "round").symlink_to("..")
    with pytest.raises(errors.LinkLoop):
        fs.put(local, "/d/round", recursive=True)


def test_a_pipe_in_a_tree_is_refused(fs: FileSystem, local: LocalPath) -> None:
    os.mkfifo(local / "pipe")
    with pytest.raises(errors.UnsupportedOperation, match="pipe"):
        fs.put(local, "/d/tree", recursive=True)


# --- who is told --------------------------------------------------------------------------


def test_a_function_is_told_the_bytes(fs: FileSystem, local: LocalPath) -> None:
    told: list[int] = []
    fs.put(local, "/d/tree", recursive=True, callback=told.append)
    assert sorted(told) == [1, 2, 3]
    told.clear()
    fs.copy("/d/tree", "/d/copy", recursive=True, callback=told.append)
    assert sum(told) == 6


class Bar:
    """What tqdm's bars have."""

    def __init__(self, total: int | None = None) -> None:
        self.total = total
        self.n = 0

    def update(self, count: int) -> None:
        self.n += count


@pytest.mark.parametrize("total", [None, 100])
def test_a_bar_is_told_the_bytes_and_the_whole(
    fs: FileSystem, local: LocalPath, total: int | None
) -> None:
    bar = Bar(total)
    fs.put(local, "/d/tree", recursive=True, callback=bar)
    assert (bar.n, bar.total) == (6, total or 6)


def test_a_callback_of_fsspec_is_told(
    fs: FileSystem, local: LocalPath, tmp_path: LocalPath
) -> None:
    callbacks = pytest.importorskip("fsspec.callbacks")
    for name, callback in (("1", callbacks.Callback()), ("2", callbacks.NoOpCallback())):
        fs.put(local, f"/d/{name}", recursive=True, callback=callback)
    callback = callbacks.Callback()
    fs.get("/d/1", tmp_path / "back", recursive=True, callback=callback)
    assert (callback.size, callback.value) == (6, 6)


def test_a_bar_of_tqdm_is_told(fs: FileSystem, local: LocalPath) -> None:
    tqdm: Any = pytest.importorskip("tqdm")
    with tqdm.tqdm(disable=None, file=open(os.devnull, "w")) as bar:
        fs.put(local / "a", "/d", callback=bar)
        fs.put(local / "a", "/d", callback=bar.update)
        assert bar.n == 2 or bar.disable


def test_what_is_no_callback_is_refused(fs: FileSystem, local: LocalPath) -> None:
    with pytest.raises(TypeError, match="a callback is a function"):
        fs.put(local / "a", "/d", callback=3)


class Bucket(ObjectFileSystem):
    """Files of a store in memory."""

    scheme = "bucket"

    def _opened(self, authority: str, conf: Configuration) -> tuple[ObjectStore, Tuning]:
        self.store = InMemoryStore()
        return self.store, settings_of(conf, "b")


@pytest.mark.parametrize("hidden", ["d//x", "d/../x", "d/f/x", "d/e//"])
def test_objects_that_no_path_names_are_not_lost_by_a_move(fs: FileSystem, hidden: str) -> None:
    """They are in no listing, and go with their directory."""
    with Bucket("b", Configuration()) as bucket:
        for key in ("d/", "d/f", "d/e/g"):
            bucket.store.put(key, b"" if key.endswith("/") else b"1", exclusive=False, writer=None)
        bucket.store.put(hidden, b"2", exclusive=False, writer=None)
        if hidden.endswith("/"):
            # A marker has no content that could be lost.
            transfers.move(bucket, "/d", fs, "/moved")
            assert not bucket.exists("/d")
        else:
            with pytest.raises(errors.DirectoryNotEmpty, match="of which 2 were copied to /moved"):
                transfers.move(bucket, "/d", fs, "/moved")
            assert bucket.store.data(hidden) == b"2"
        assert fs.read_bytes("/moved/f") == fs.read_bytes("/moved/e/g") == b"1"


def test_a_file_that_ends_early_is_not_copied_nor_moved(
    fs: FileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = howdah.connect("mem://other/")
    source.write_bytes("/f", b"12345")
    fs.write_bytes("/d/f", b"old")
    real = MemoryFileSystem._open_input

    def cut(self: MemoryFileSystem, path: str, *more: Any) -> Any:
        if path == "/f":
            self.write_bytes(path, b"12")
        return real(self, path, *more)

    monkeypatch.setattr(MemoryFileSystem, "_open_input", cut)
    with pytest.raises(errors.EndOfFile, match="ended after 2 bytes of 5"):
        transfers.move(source, "/f", fs, "/d/f")
    assert fs.ls("/d") == ["/d/f"]
    assert fs.read_bytes("/d/f") == b"old"
    assert source.exists("/f")


@pytest.mark.parametrize(
    "name", ["n" * 255, "é" * 127 + "n", "n" + "é" * 127, "n" * 250 + "\udcff"]
)
def test_a_name_as_long_as_names_may_be_is_copied(
    fs: FileSystem, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it is written under another name first."""
    fs.write_bytes("/d/f", b"1")
    made: list[str] = []
    create = fs.create

    def noted(path: Any, **options: Any) -> Any:
        made.append(os.path.basename(path))
        return create(path, **options)

    monkeypatch.setattr(fs, "create", noted)
    fs.copy("/d/f", f"/d/{name}")
    assert fs.read_bytes(f"/d/{name}") == b"1"
    (temporary,) = made
    assert len(os.fsencode(temporary)) <= 255
    assert name.startswith(temporary.partition("._COPYING_.")[0])
    assert len(os.fsencode(temporary)) > 250
