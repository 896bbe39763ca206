"""The journal when disks fail: what is not on a disk is never called durable."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from howdah.config import Configuration
from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.namenode.journal import directory_restore
from howdah.namenode.journal.directories import DirectorySet, directory_set
from howdah.namenode.journal.directory_restore import Restorations
from howdah.namenode.journal.edit_log import EditLog
from howdah.namenode.journal.segment_files import copy_missing
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.server.process.loading import load
from howdah.runtime import disk
from howdah.storage.layout import StorageDirectory
from howdah.storage.segments import list_segments, read_segment, recover_segment
from howdah.testing.waiting import wait_until

WAIT_S = 60.0


class Watcher:
    """Takes down what the journal says, and waits for it."""

    def __init__(self) -> None:
        self.durable_txid = 0
        self.failures: list[str] = []
        self._changed = threading.Condition()

    def durable(self, txid: int) -> None:
        with self._changed:
            assert txid > self.durable_txid, "durability never goes back"
            self.durable_txid = txid
            self._changed.notify_all()

    def failed(self, why: str) -> None:
        with self._changed:
            self.failures.append(why)
            self._changed.notify_all()

    def wait(self, condition: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, WAIT_S)


class Disks:
    """Syncs of the directories named in `broken` fail, or stand still while `gate` is shut."""

    def __init__(self) -> None:
        self.broken: dict[str, int] = {}
        self.gate = threading.Event()
        self.gate.set()
        self.waiting = threading.Event()
        self._fdatasync = os.fdatasync
        self._fsync = os.fsync

    def fdatasync(self, descriptor: int) -> None:
        self._check(descriptor)
        self._fdatasync(descriptor)

    def fsync(self, descriptor: int) -> None:
        self._check(descriptor)
        self._fsync(descriptor)

    def _check(self, descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        if not self.gate.is_set():
            self.waiting.set()
            assert self.gate.wait(WAIT_S)
        for name, number in self.broken.items():
            if f"/{name}/" in path:
                raise OSError(number, os.strerror(number), path)


@pytest.fixture
def disks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disks]:
    disks = Disks()
    monkeypatch.setattr(disk, "_fdatasync", disks.fdatasync)
    monkeypatch.setattr(os, "fsync", disks.fsync)
    yield disks
    disks.gate.set()


@pytest.fixture
def directories(tmp_path: Path) -> list[Path]:
    found = [tmp_path / name / "current" for name in ("a", "b")]
    for directory in found:
        directory.mkdir(parents=True)
    return found


class Opened(EditLog):
    """The log of some directories, with what is behind it."""

    def __init__(self, journals: DirectorySet, watcher: Watcher) -> None:
        self.journals = journals
        super().__init__(journals, 0, on_durable=watcher.durable, on_failure=watcher.failed)

    @property
    def restorations(self) -> Restorations:
        restorer = self.journals._restorer
        assert isinstance(restorer, Restorations)
        return restorer


def opened(
    directories: list[Path],
    watcher: Watcher,
    *,
    required: Sequence[Path] = (),
    minimum: int = 1,
    restores: bool = False,
) -> Opened:
    journals = directory_set(directories, required=required, minimum=minimum, restores=restores)
    return Opened(journals, watcher)


def write(journal: Opened, count: int = 1) -> int:
    first = journal.last_txid + 1
    journal.append(
        [
            encode_record(txid, edits.SetGenstampV2Op(1000 + txid))
            for txid in range(first, first + count)
        ]
    )
    return journal.last_txid


def transactions(directory: Path) -> list[int]:
    """Those of the only segment in the directory, as a start would read them."""
    (segment,) = list_segments(directory)
    if segment.in_progress:
        finished, _ = recover_segment(segment)
        assert finished is not None
        segment = finished
    return [placed.logged.txid for placed in read_segment(segment)]


@pytest.mark.req("FS-030")
def test_durable_edits_are_in_every_directory(directories: list[Path]) -> None:
    watcher = Watcher()
    journal = opened(directories, watcher)
    last = write(journal, 20)
    watcher.wait(lambda: watcher.durable_txid == last)
    for directory in directories:
        assert transactions(directory) == list(range(1, last + 1))


def test_orderly_end_names_the_segment_after_its_last_transaction(directories: list[Path]) -> None:
    watcher = Watcher()
    journal = opened(directories, watcher)
    write(journal, 3)
    journal.close()
    assert journal.durable_txid == 5
    for directory in directories:
        (segment,) = list_segments(directory)
        assert (segment.first_txid, segment.last_txid) == (1, 5)


def test_edits_appended_during_a_sync_are_not_called_durable_by_it(
    directories: list[Path], disks: Disks
) -> None:
    watcher = Watcher()
    journal = opened(directories, watcher)
    disks.gate.clear()
    first = write(journal)
    assert disks.waiting.wait(WAIT_S)
    second = write(journal)
    assert watcher.durable_txid < first
    disks.gate.set()
    watcher.wait(lambda: watcher.durable_txid == second)
    journal.close()


@pytest.mark.req("FS-030")
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_directory_that_fails_is_dropped_and_the_other_goes_on(
    directories: list[Path], disks: Disks, number: int
) -> None:
    watcher = Watcher()
    journal = opened(directories, watcher)
    before = write(journal)
    watcher.wait(lambda: watcher.durable_txid == before)
    disks.broken["a"] = number
    after = write(journal, 5)
    watcher.wait(lambda: watcher.durable_txid == after)
    write(journal)
    journal.close()
    assert not watcher.failures
    assert transactions(directories[1])[:after] == list(range(1, after + 1))
    assert list_segments(directories[0])[0].in_progress


def test_last_directory_that_fails_is_told_and_nothing_is_durable_from_then_on(
    directories: list[Path], disks: Disks
) -> None:
    watcher = Watcher()
    journal = opened(directories, watcher)
    before = write(journal)
    watcher.wait(lambda: watcher.durable_txid == before)
    disks.broken.update(a=errno.EIO, b=errno.ENOSPC)
    write(journal)
    watcher.wait(lambda: bool(watcher.failures))
    write(journal)
    assert watcher.durable_txid == before
    (why,) = watcher.failures
    assert why.startswith("no edits directory is left that can be written: ")
    assert all(str(directory) in why for directory in directories)
    with pytest.raises(OSError, match="no edits directory"):
        journal.close()


def test_edits_that_come_while_a_directory_is_failing_reach_the_other(
    directories: list[Path], disks: Disks
) -> None:
    """A failed writer refuses records before it is dropped; they must not be lost elsewhere."""
    watcher = Watcher()
    journal = opened(directories, watcher)
    last = write(journal)
    watcher.wait(lambda: watcher.durable_txid == last)
    broken = journal.journals._working[0]._writer
    assert broken is not None
    broken._failure = OSError(errno.EIO, "the sync that failed just now")
    last = write(journal, 3)
    watcher.wait(lambda: watcher.durable_txid == last)
    journal.close()
    assert transactions(directories[1]) == list(range(1, last + 2))


def test_directory_that_fails_at_the_end_does_not_keep_the_other_from_its_name(
    directories: list[Path], disks: Disks
) -> None:
    watcher = Watcher()
    journal = opened(directories, watcher)
    last = write(journal)
    watcher.wait(lambda: watcher.durable_txid == last)
    disks.broken["a"] = errno.EIO
    journal.close()
    assert list_segments(directories[1])[0].last_txid == last + 1


def test_defect_in_the_journals_thread_is_a_failure_and_no_silence(
    directories: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = Watcher()
    journal = opened(directories, watcher)

    def broken(descriptor: int) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(disk, "_fdatasync", broken)
    write(journal)
    watcher.wait(lambda: bool(watcher.failures))
    assert "a defect" in watcher.failures[0]


def test_journal_that_cannot_begin_anywhere_raises_and_leaves_no_file_open(
    directories: list[Path], disks: Disks
) -> None:
    open_before = set(os.listdir("/proc/self/fd"))
    disks.broken.update(a=errno.EIO, b=errno.EIO)
    with pytest.raises(OSError, match="no edits directory is left"):
        opened(directories, Watcher())
    wait_until(lambda: set(os.listdir("/proc/self/fd")) == open_before)


# Directories that are required, that fail, and that come back.


def formatted(*roots: Path) -> list[Path]:
    format_namenode(
        Configuration({"dfs.namenode.name.dir": ",".join(root.as_uri() for root in roots)})
    )
    return [root / "current" for root in roots]


def states(journal: Opened) -> list[bool]:
    return [found.failure is None for found in journal.journals.states()]


@pytest.mark.req("FS-030")
@pytest.mark.parametrize("name", ["a", "b"])
def test_directory_that_cannot_begin_is_dropped_and_the_other_serves(
    directories: list[Path], disks: Disks, name: str
) -> None:
    watcher = Watcher()
    disks.broken[name] = errno.EIO
    journal = opened(directories, watcher)
    last = write(journal)
    watcher.wait(lambda: watcher.durable_txid == last)
    journal.close()
    assert states(journal) == [name != "a", name != "b"]


@pytest.mark.req("FS-030")
def test_required_directory_that_fails_ends_it_though_another_works(
    directories: list[Path], disks: Disks
) -> None:
    watcher = Watcher()
    journal = opened(directories, watcher, required=directories[:1])
    before = write(journal)
    watcher.wait(lambda: watcher.durable_txid == before)
    disks.broken["a"] = errno.EIO
    write(journal)
    watcher.wait(lambda: bool(watcher.failures))
    assert f"the required edits directory {directories[0].parent} failed" in watcher.failures[0]
    assert watcher.durable_txid == before


def test_fewer_directories_than_the_minimum_end_it(directories: list[Path], disks: Disks) -> None:
    watcher = Watcher()
    journal = opened(directories, watcher, minimum=2)
    disks.broken["b"] = errno.ENOSPC
    write(journal)
    watcher.wait(lambda: bool(watcher.failures))
    assert "only 1 edits directories are left that can be written" in watcher.failures[0]


def test_roll_ends_the_segment_and_begins_the_next_everywhere(directories: list[Path]) -> None:
    watcher = Watcher()
    journal = opened(directories, watcher)
    write(journal, 3)
    assert journal.roll() == 6
    last = write(journal, 2)
    watcher.wait(lambda: watcher.durable_txid == last)
    journal.close()
    for directory in directories:
        found = [(s.first_txid, s.last_txid) for s in list_segments(directory)]
        assert found == [(1, 5), (6, last + 1)]
        assert StorageDirectory(directory.parent).read_seen_txid() == 6


@pytest.mark.req("FS-030")
@pytest.mark.parametrize("restores", [True, False])
def test_directory_that_works_again_joins_at_the_next_roll_if_that_was_asked_for(
    tmp_path: Path, disks: Disks, restores: bool
) -> None:
    directories = formatted(tmp_path / "a", tmp_path / "b")
    watcher = Watcher()
    journal = opened(directories, watcher)
    disks.broken["a"] = errno.EIO
    last = write(journal)
    watcher.wait(lambda: watcher.durable_txid == last)
    assert states(journal) == [False, True]
    disks.broken.clear()
    journal.journals.restores = restores
    let_join_in(journal, watcher)
    last = write(journal, 4)
    watcher.wait(lambda: watcher.durable_txid == last)
    assert journal.restorations.wait(WAIT_S)
    assert states(journal) == [restores, True]
    journal.close()
    assert names(directories[0], restores) == names(directories[1], restores)


def let_join_in(journal: Opened, watcher: Watcher, meanwhile: int = 1) -> None:
    """A roll, edits while directories are restored beside it, and the next roll."""
    for count in (meanwhile, 0):
        journal.roll()
        if count:
            write(journal, count)
        watcher.wait(lambda: watcher.durable_txid == journal.last_txid)
        assert journal.restorations.wait(WAIT_S)


@pytest.mark.req("FS-030")
@pytest.mark.parametrize("empty", [True, False])
def test_no_answer_waits_for_a_directory_that_is_restored(
    tmp_path: Path, disks: Disks, monkeypatch: pytest.MonkeyPatch, empty: bool
) -> None:
    """Though its mount hangs: edits become durable elsewhere, and the end comes in order."""
    directories = formatted(tmp_path / "a", tmp_path / "b")
    watcher = Watcher()
    journal = opened(directories, watcher, restores=True)
    disks.broken["a"] = errno.EIO
    last = write(journal)
    watcher.wait(lambda: watcher.durable_txid == last)
    disks.broken.clear()
    if empty:
        shutil.rmtree(tmp_path / "a")
        (tmp_path / "a").mkdir()
    hanging, over = threading.Event(), threading.Event()

    def hang(*_: object) -> None:
        hanging.set()
        over.wait(WAIT_S)

    monkeypatch.setattr(directory_restore, "copy_missing", hang)
    for _ in range(2):
        journal.roll()
        write(journal)
        watcher.wait(lambda: watcher.durable_txid == journal.last_txid)
    assert hanging.wait(WAIT_S)
    assert not over.is_set()
    assert states(journal) == [False, True]
    journal.close()
    over.set()
    assert journal.restorations.wait(WAIT_S)


def test_what_was_written_while_a_directory_was_restored_is_copied_once_it_takes_part(
    tmp_path: Path, disks: Disks, monkeypatch: pytest.MonkeyPatch
) -> None:
    directories = formatted(tmp_path / "a", tmp_path / "b")
    watcher = Watcher()
    journal = opened(directories, watcher, restores=True)
    disks.broken["a"] = errno.EIO
    last = write(journal)
    watcher.wait(lambda: watcher.durable_txid == last)
    disks.broken.clear()
    last = write(journal, 3)
    journal.roll()
    assert watcher.durable_txid <= journal.last_txid
    watcher.wait(lambda: watcher.durable_txid == journal.last_txid)
    assert journal.restorations.wait(WAIT_S)
    write(journal, 7)
    broken = threading.Event()

    def fail_once(source: Path, directory: Path) -> None:
        if not broken.is_set():
            broken.set()
            raise OSError(errno.ENOSPC, "no space")
        copy_missing(source, directory)

    monkeypatch.setattr(directory_restore, "copy_missing", fail_once)
    journal.roll()
    watcher.wait(lambda: watcher.durable_txid == journal.last_txid)
    assert journal.restorations.wait(WAIT_S)
    assert "no space" in (journal.journals.states()[0].failure or "")
    journal.roll()
    watcher.wait(lambda: watcher.durable_txid == journal.last_txid)
    assert journal.restorations.wait(WAIT_S)
    assert states(journal) == [True, True]
    journal.close()
    assert names(directories[0], True) == names(directories[1], True)


def names(directory: Path, wanted: bool) -> list[str]:
    return [segment.path.name for segment in list_segments(directory)] if wanted else []


@pytest.mark.req("FS-030")
def test_directory_that_comes_back_as_an_empty_disk_is_one_to_start_from(
    tmp_path: Path, disks: Disks
) -> None:
    directories = formatted(tmp_path / "a", tmp_path / "b")
    watcher = Watcher()
    journal = opened(directories, watcher, restores=True)
    disks.broken["a"] = errno.EIO
    last = write(journal)
    watcher.wait(lambda: watcher.durable_txid == last)
    disks.broken.clear()
    shutil.rmtree(tmp_path / "a")
    (tmp_path / "a").mkdir()
    let_join_in(journal, watcher)
    last = write(journal, 2)
    watcher.wait(lambda: watcher.durable_txid == last)
    journal.close()
    loaded = load([tmp_path / "a"], [tmp_path / "a"])
    for lock in loaded.locks:
        lock.release()
    assert loaded.last_txid == last + 1


def test_directory_that_still_fails_stays_out_and_harms_nobody(
    tmp_path: Path, disks: Disks
) -> None:
    directories = formatted(tmp_path / "a", tmp_path / "b")
    watcher = Watcher()
    journal = opened(directories, watcher, restores=True)
    disks.broken["a"] = errno.EIO
    write(journal)
    let_join_in(journal, watcher)
    last = write(journal)
    watcher.wait(lambda: watcher.durable_txid == last)
    assert states(journal) == [False, True]
    assert str(tmp_path / "a") in (journal.journals.states()[0].failure or "")
    journal.close()


def test_directory_that_comes_back_as_another_filesystem_stays_out(
    tmp_path: Path, disks: Disks
) -> None:
    directories = formatted(tmp_path / "a", tmp_path / "b")
    watcher = Watcher()
    journal = opened(directories, watcher, restores=True)
    disks.broken["a"] = errno.EIO
    last = write(journal)
    watcher.wait(lambda: watcher.durable_txid == last)
    disks.broken.clear()
    shutil.rmtree(tmp_path / "a")
    formatted(tmp_path / "a")
    let_join_in(journal, watcher)
    last = write(journal)
    watcher.wait(lambda: watcher.durable_txid == last)
    assert "another filesystem" in (journal.journals.states()[0].failure or "")
    journal.close()


def test_a_defect_in_the_thread_that_writes_is_told_as_a_failure(
    directories: list[Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(journal: Opened) -> bool:
        raise RuntimeError("a defect")

    monkeypatch.setattr(EditLog, "_write_batch", fails)
    watcher = Watcher()
    journal = opened(directories, watcher)
    watcher.wait(lambda: bool(watcher.failures))
    assert "RuntimeError: a defect" in watcher.failures[0]
    assert "failed on a defect" in caplog.text
    journal.close()
