"""A directory that was made is there after a power cut, and so is all that is in it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from howdah.config import Configuration
from howdah.datanode.memory import saved_copies
from howdah.datanode.replicas import trash
from howdah.datanode.state.volumes import block_files
from howdah.datanode.volumes.volumes import Volume
from howdah.journalnode.election_service import Elections
from howdah.namenode.server.process.format import format_namenode
from howdah.proto import election_pb2
from howdah.protocol.rpc.call import Caller
from howdah.router.store.files import FileRecords
from howdah.runtime import disk
from howdah.storage.layout import StorageDirectory
from tests.support.journal_writer import VERSION, journal_at

POOL = "BP-7-127.0.0.1-1"


class Names:
    """The directories below `root` of which a power cut would take the name, however they were
    made: the one above them was not synced since."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._durable: set[Path] = set()

    def enter(self, operation: disk.Operation, path: Path) -> None:
        pass

    def leave(self, operation: disk.Operation, path: Path) -> None:
        if operation is disk.Operation.SYNC and path.is_dir():
            self._durable.update(path.iterdir())

    def room(self, path: Path, length_bytes: int) -> int:
        return length_bytes

    @property
    def unsynced(self) -> set[Path]:
        return {each for each in self._root.rglob("*") if each.is_dir()} - self._durable


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Names:
    found = Names(tmp_path)
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


def _make_pool(place: Path) -> None:
    """Again, after a process that died when it had made all and synced nothing."""
    volume = Volume(str(place), "DS-0")
    for path in volume.finalized_path(POOL), volume.rbw_path(POOL), volume.tmp_path(POOL):
        os.makedirs(path)
    volume.make_pool_directories(POOL)


def _restore_deleted(place: Path) -> None:
    _restore(place, block_files.TRASH)


def _restore_reopened(place: Path) -> None:
    _restore(place, trash.REOPENED)


def _restore(place: Path, kept: str) -> None:
    volume = Volume(str(place), "DS-0")
    volume.make_pool_directories(POOL)
    pool = Path(volume.pool_path(POOL))
    directory = pool / kept / "finalized" / "subdir3" / "subdir7"
    directory.mkdir(parents=True)
    for name in ("blk_1", "blk_1_1001.meta"):
        (directory / name).write_bytes(b"")
    assert trash.restore(pool) == 1
    assert (pool / block_files.CURRENT / "finalized" / "subdir3" / "subdir7" / "blk_1").exists()


def _recover_saved(place: Path) -> None:
    volume = Volume(str(place), "DS-0")
    volume.make_pool_directories(POOL)
    directory = Path(volume.lazy_persist_path(POOL))
    directory.mkdir()
    disk.sync_directory(directory.parent)
    for name in ("blk_1", "blk_1_1001.meta"):
        (directory / name).write_bytes(b"")
    assert saved_copies.recover(volume, POOL) == []


@pytest.mark.req("FS-030")
@pytest.mark.parametrize(
    "make",
    [
        *(_format, _create, _format_journal, _promise, _prepare),
        *(_make_pool, _restore_deleted, _restore_reopened, _recover_saved),
    ],
)
def test_what_is_promised_does_not_vanish_with_a_directory_above_it(
    tmp_path: Path, names: Names, make: Callable[[Path], None]
) -> None:
    make(tmp_path)
    assert not names.unsynced
