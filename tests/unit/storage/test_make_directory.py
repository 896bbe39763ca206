"""A directory that was made is there after a power cut, and so is all that is in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from howdah.config import Configuration
from howdah.journalnode.election_service import Elections
from howdah.namenode.process.format import format_namenode
from howdah.proto import election_pb2
from howdah.router.store.files import FileRecords
from howdah.rpc.service import Caller
from howdah.storage import disk
from howdah.storage.layout import StorageDirectory
from howdah.testing.internal.journal_writer import VERSION, journal_at


class Names:
    """The directories of which a power cut would take the name: made, and the one above them
    not synced since."""

    def __init__(self) -> None:
        self.unsynced: set[Path] = set()
        self._found: set[Path] = set()

    def enter(self, operation: disk.Operation, path: Path) -> None:
        if operation is disk.Operation.MAKE_DIRECTORY:
            self._found = {each for each in (path, *path.parents) if each.exists()}

    def leave(self, operation: disk.Operation, path: Path) -> None:
        if operation is disk.Operation.MAKE_DIRECTORY:
            self.unsynced |= {each for each in (path, *path.parents) if each not in self._found}
        if operation is disk.Operation.SYNC:
            self.unsynced -= {each for each in self.unsynced if each.parent == path}

    def room(self, path: Path, length_bytes: int) -> int:
        return length_bytes


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    found = Names()
    monkeypatch.setattr(disk, "gate", found)
    return found


def test_each_directory_above_is_synced(tmp_path: Path, names: Names) -> None:
    disk.make_directory(tmp_path / "a" / "b" / "c", 0o700)
    assert not names.unsynced
    assert (tmp_path / "a" / "b" / "c").stat().st_mode & 0o777 == 0o700


def test_what_is_there_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise AssertionError(f"{path} was synced")

    monkeypatch.setattr(disk, "sync_directory", refuse)
    disk.make_directory(tmp_path)
    disk.make_directory(Path("/"))


def test_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    for path in (tmp_path / "a", tmp_path / "a" / "b"):
        with pytest.raises(FileExistsError, match=str(tmp_path / "a")):
            disk.make_directory(path)


def _format(place: Path) -> None:
    name, edits = (place / "deep" / each for each in ("name", "edits"))
    conf = {"dfs.namenode.name.dir": name.as_uri(), "dfs.namenode.edits.dir": edits.as_uri()}
    format_namenode(Configuration(conf))


def _create(place: Path) -> None:
    StorageDirectory(place / "deep" / "data").create()


def _format_journal(place: Path) -> None:
    journal = journal_at(place / "deep" / "ns1")
    journal.format(VERSION, force=False)
    journal.close()


def _promise(place: Path) -> None:
    request = election_pb2.AcquireRequestProto(
        electionId="ns1", holder="nn1", term=1, ttlMillis=1000, content=b""
    )
    Elections(place / "deep" / "elections").acquire(
        request, Caller("root", b"", 0, 0, "127.0.0.1", 0)
    )


def _prepare(place: Path) -> None:
    FileRecords(place / "deep" / "store").prepare(["routers", "mounts"])


@pytest.mark.req("FS-030")
@pytest.mark.parametrize("make", [_format, _create, _format_journal, _promise, _prepare])
def test_what_is_promised_does_not_vanish_with_a_directory_above_it(
    tmp_path: Path, names: Names, make: Callable[[Path], None]
) -> None:
    make(tmp_path)
    assert not names.unsynced
