"""The log is read without a trace, and no further than it is durable."""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.formats.edits.segment_scan import PlacedEdit
from howdah.namenode.journal import log_reader
from howdah.namenode.journal.directories import directory_set
from howdah.namenode.journal.directory_journal import DirectoryJournal, DirectorySource
from howdah.namenode.journal.edit_log import EditLog
from howdah.namenode.journal.log_reader import LogReader, StoredLog
from howdah.namenode.state.edit_log.journal import Batch, Journal, SegmentSource
from howdah.namenode.state.edit_log.segment_selection import SegmentCopy
from howdah.runtime import disk
from howdah.runtime.disk import Operation
from howdah.storage.layout import StorageDirectory
from howdah.storage.segments import SegmentWriter, list_segments

WAIT_S = 20.0


def record(txid: int) -> bytes:
    return encode_record(txid, edits.SetGenstampV2Op(1000 + txid))


def segment(current: Path, first: int, count: int, *, finish: bool = True) -> None:
    journal = DirectoryJournal(current)
    journal.begin_segment(first)
    for txid in range(first, first + count):
        journal.append(Batch(txid, 1, record(txid)))
    journal.make_durable()
    if finish:
        journal.end_segment(first + count - 1)
    journal.close()


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    """Two directories with 1 to 5 and 6 to 10 finished, and 11 to 14 unfinished."""
    found = [tmp_path / name / "current" for name in ("a", "b")]
    for current in found:
        current.mkdir(parents=True)
        segment(current, 1, 5)
        segment(current, 6, 5)
        segment(current, 11, 4, finish=False)
    return found


def sources(roots: list[Path]) -> list[DirectorySource]:
    return [DirectorySource(root) for root in roots]


def stored(roots: list[Path], from_txid: int = 1) -> list[int]:
    return txids(StoredLog(sources(roots), from_txid).edits())


def txids(found: Iterator[tuple[SegmentCopy, PlacedEdit]]) -> list[int]:
    read = []
    for _, placed in found:
        logged = placed.logged
        assert logged.edit == edits.SetGenstampV2Op(1000 + logged.txid), "no garbage"
        read.append(logged.txid)
    return read


def reader(roots: list[Path]) -> LogReader:
    return LogReader(lambda: sources(roots))


def tear(root: Path, data: bytes = b"\3\0\0") -> None:
    """A write that did not get to the disk whole, behind the last record."""
    path = list_segments(root)[-1].path
    path.write_bytes(path.read_bytes().rstrip(b"\xff") + data + b"\xff" * 100)


def flip(root: Path, number: int, at: int) -> None:
    path = list_segments(root)[number].path
    data = bytearray(path.read_bytes())
    data[at] ^= 0x40
    path.write_bytes(data)


class NothingChanges:
    """Fails whatever would change a disk through the seam of the metadata path."""

    def enter(self, operation: Operation, path: Path) -> None:
        raise AssertionError(f"{operation} of {path} by a reader")

    def leave(self, operation: Operation, path: Path) -> None: ...

    def room(self, path: Path, length_bytes: int) -> int:
        raise AssertionError(f"a reader writes {path}")


@pytest.fixture
def untouched(roots: list[Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever the test does leaves no trace: no byte, no name, no time, no lock."""

    def look() -> dict[str, tuple[int, ...] | bytes]:
        found: dict[str, tuple[int, ...] | bytes] = {}
        for path in sorted(roots[0].parents[1].rglob("*")):
            facts = path.stat()
            found[f"facts of {path}"] = (
                *(facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns),
                *(facts.st_mode, facts.st_nlink),
            )
            if path.is_file():
                found[str(path)] = path.read_bytes()
        return found

    def no_lock(*_: object) -> None:
        raise AssertionError("a reader takes a lock")

    for root in roots:
        tear(root)
    before = look()
    with monkeypatch.context() as patched:
        patched.setattr(disk, "gate", NothingChanges())
        patched.setattr(fcntl, "lockf", no_lock)
        patched.setattr(fcntl, "flock", no_lock)
        yield
    assert look() == before


# Without a trace.


def test_directories_are_journals_and_sources(tmp_path: Path) -> None:
    journal: Journal = DirectoryJournal(tmp_path / "current")
    source: SegmentSource = DirectorySource(tmp_path / "current")
    assert (journal.epoch, journal.name) == (None, str(tmp_path))
    assert source.name == str(tmp_path / "current")


@pytest.mark.usefixtures("untouched")
def test_a_stored_log_is_read_to_its_last_whole_record_without_a_trace(roots: list[Path]) -> None:
    assert stored(roots) == list(range(1, 15))


@pytest.mark.usefixtures("untouched")
def test_a_log_that_is_written_is_read_without_a_trace(roots: list[Path]) -> None:
    assert txids(reader(roots).edits(3, 13)) == list(range(3, 14))


@pytest.mark.usefixtures("untouched")
def test_finished_segments_are_read_without_a_trace(roots: list[Path]) -> None:
    assert txids(reader(roots).edits(3, None)) == list(range(3, 11))


def test_who_reads_needs_no_leave_to_write(roots: list[Path]) -> None:
    for root in roots:
        for path in root.iterdir():
            path.chmod(0o400)
        root.chmod(0o500)
    try:
        assert stored(roots) == list(range(1, 15))
        assert txids(reader(roots).edits(1, 14)) == list(range(1, 15))
    finally:
        for root in roots:
            root.chmod(0o700)


def test_a_log_is_read_while_its_directories_are_locked(roots: list[Path]) -> None:
    locks = [StorageDirectory(root.parent).lock() for root in roots]
    assert txids(reader(roots).edits(1, 14)) == list(range(1, 15))
    for root in roots:
        assert StorageDirectory(root.parent).is_locked_here(), "reading does not give it up"
    for lock in locks:
        lock.release()


# What is found.


def test_a_damaged_copy_is_left_at_the_transaction_where_it_breaks_off(roots: list[Path]) -> None:
    flip(roots[0], 1, 60)
    flip(roots[1], 0, 60)
    log = StoredLog(sources(roots), 1)
    assert txids(log.edits()) == list(range(1, 15))
    damaged = {(Path(copy.path).parent, copy.first_txid) for copy in log.damaged}
    assert damaged == {(roots[0], 6)}, "the second one of the first segment was never needed"
    assert {first: Path(copy.path).parent for first, copy in log.sound.items()} == {
        1: roots[0],
        6: roots[1],
        11: roots[0],
    }


@pytest.mark.req("LM-009")
def test_damage_in_all_copies_is_an_error_and_no_end(roots: list[Path]) -> None:
    for root in roots:
        flip(root, 1, 60)
    reads: tuple[Callable[[], object], ...] = (
        lambda: stored(roots),
        lambda: txids(reader(roots).edits(1, 14)),
    )
    for read in reads:
        with pytest.raises(errors.CorruptEditLog, match=r"edits_.*6-.*10 is damaged at offset"):
            read()


def test_damage_in_an_unfinished_copy_is_known_before_anything_is_read(roots: list[Path]) -> None:
    flip(roots[0], 2, 30)
    log = StoredLog(sources(roots), 1)
    assert [Path(copy.path).parent for copy in log.damaged] == [roots[0]]
    assert txids(log.edits()) == list(range(1, 15))


def test_the_directory_that_reaches_furthest_decides_where_the_log_ends(roots: list[Path]) -> None:
    tear(roots[0])
    writer = roots[1] / "edits_inprogress_0000000000000000011"
    data = writer.read_bytes().rstrip(b"\xff")
    writer.write_bytes(data + record(15) + b"\xff" * 50)
    assert stored(roots) == list(range(1, 16))


# While somebody writes.


def test_no_byte_behind_the_durable_transaction_is_looked_at(roots: list[Path]) -> None:
    """It may be half written: a record behind a hole is no damage to who reads before it."""
    for root in roots:
        tear(root, b"\xff" * 40 + record(16))
    assert txids(reader(roots).edits(1, 14)) == list(range(1, 15))
    with pytest.raises(errors.CorruptEditLog, match="goes on with transaction 16"):
        stored(roots)


def test_reading_goes_on_where_it_ended(roots: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    read = reader(roots)
    assert txids(read.edits(1, 12)) == list(range(1, 13))
    skipped: list[int] = []
    real = DirectorySource.open

    def opened(source: DirectorySource, copy: SegmentCopy, skip_bytes: int = 0) -> object:
        skipped.append(skip_bytes)
        return real(source, copy, skip_bytes)

    monkeypatch.setattr(DirectorySource, "open", opened)
    assert txids(read.edits(13, 14)) == [13, 14]
    (skip,) = skipped
    assert skip == len(record(11)), "transaction 12 is looked at again"


def test_a_place_that_is_remembered_and_wrong_is_forgotten(roots: list[Path]) -> None:
    """The log was rolled back, and went on in another way."""
    read = reader(roots)
    assert txids(read.edits(1, 12)) == list(range(1, 13))
    for root in roots:
        list_segments(root)[-1].path.unlink()
        writer = SegmentWriter(root, 11)
        longer = edits.MkdirOp(7, "/a", 0, edits.Permission("u", "g", 0o755))
        writer.append(encode_record(11, longer))
        for txid in (12, 13):
            writer.append(record(txid))
        writer.sync()
        writer.close()
    assert txids(read.edits(13, 13)) == [13]


def test_a_segment_that_gets_its_name_while_it_is_looked_for_is_found(
    roots: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = DirectorySource.segments
    listed: list[int] = []

    def segments(source: DirectorySource, *, scans: bool) -> list[SegmentCopy]:
        found = real(source, scans=scans)
        listed.append(len(found))
        if len(listed) == len(roots):
            for root in roots:
                DirectoryJournal(root).truncate_to(14)
        return found

    monkeypatch.setattr(DirectorySource, "segments", segments)
    assert txids(reader(roots).edits(1, 14)) == list(range(1, 15))
    assert len(listed) == 2 * len(roots)


def test_a_directory_that_cannot_be_listed_is_done_without(roots: list[Path]) -> None:
    shutil.rmtree(roots[0])
    assert txids(reader(roots).edits(1, 14)) == list(range(1, 15))
    shutil.rmtree(roots[1])
    with pytest.raises(FileNotFoundError):
        txids(reader(roots).edits(1, 14))


def test_what_was_purged_is_an_error_unless_the_oldest_will_do(roots: list[Path]) -> None:
    for root in roots:
        list_segments(root)[0].path.unlink()
    with pytest.raises(errors.CorruptEditLog, match="no transactions 2 to 5"):
        txids(reader(roots).edits(2, 14))
    assert txids(reader(roots).edits(2, 14, or_oldest=True)) == list(range(6, 15))


def test_a_copy_that_was_dropped_is_left_for_the_one_that_goes_on(roots: list[Path]) -> None:
    """The first directory failed at 14, and nobody could tell it."""
    journal = DirectoryJournal(roots[1])
    journal.truncate_to(14)
    journal.begin_segment(15)
    journal.append(Batch(15, 1, record(15)))
    journal.make_durable()
    journal.close()
    assert txids(reader(roots).edits(1, 15)) == list(range(1, 16))
    with pytest.raises(errors.CorruptEditLog, match="no transaction 15"):
        txids(reader(roots[:1]).edits(1, 15))


@pytest.mark.req("FS-030")
def test_who_reads_beside_the_one_who_writes_sees_what_is_durable_and_nothing_else(
    tmp_path: Path,
) -> None:
    """Edits of all lengths, rolls, and a reader that asks all the time."""
    roots = [tmp_path / name / "current" for name in ("a", "b")]
    for root in roots:
        root.mkdir(parents=True)
    durable = [1]
    failures: list[str] = []
    log = EditLog(directory_set(roots), 0, on_durable=durable.append, on_failure=failures.append)
    written: dict[int, edits.Edit] = {}
    done = threading.Event()

    def write() -> None:
        try:
            for n in range(400):
                if n % 67 == 66:
                    log.roll()
                    continue
                edit = edits.MkdirOp(n, "/" + "d" * (n * 37 % 5000), n, OWNER)
                txid = log.last_txid + 1
                written[txid] = edit
                log.append([encode_record(txid, edit)])
                if n % 10 == 0:
                    wait_for(partial(is_durable, txid))
        finally:
            done.set()

    def is_durable(txid: int) -> bool:
        return durable[-1] >= txid

    def wait_for(condition: Callable[[], bool]) -> None:
        for _ in range(int(WAIT_S / 0.001)):
            if condition():
                return
            threading.Event().wait(0.001)
        raise AssertionError("nothing becomes durable")

    writer = threading.Thread(target=write)
    writer.start()
    read = reader(roots)
    whole = reader(roots)
    next_txid, rounds = 1, 0
    while True:
        over = done.is_set()
        to_txid = durable[-1]
        found = [placed.logged for _, placed in read.edits(next_txid, to_txid)]
        assert [logged.txid for logged in found] == list(range(next_txid, to_txid + 1))
        assert all(logged.edit == written.get(logged.txid, logged.edit) for logged in found)
        named = [placed.logged.txid for _, placed in whole.edits(1, None)]
        assert named == list(range(1, len(named) + 1))
        next_txid, rounds = to_txid + 1, rounds + 1
        if over and to_txid >= max(written):
            break
    writer.join()
    log.close()
    assert not failures
    assert rounds > 1
    assert [placed.logged.txid for _, placed in whole.edits(1, None)][-1] == log.last_txid


OWNER = edits.Permission("root", "supergroup", 0o755)


# The directory that is written.


def test_a_log_is_truncated_to_an_end_that_was_decided_elsewhere(roots: list[Path]) -> None:
    for end in (14, 13, 11, 10, 8, 5):
        DirectoryJournal(roots[0]).truncate_to(end)
        assert stored(roots[:1]) == list(range(1, end + 1))
        assert all(found.last_txid is not None for found in list_segments(roots[0]))


def test_what_is_truncated_is_kept_under_another_name(roots: list[Path]) -> None:
    before = {path.name: path.read_bytes() for path in roots[0].iterdir()}
    DirectoryJournal(roots[0]).truncate_to(8)
    for name in ("edits_0000000000000000006-0000000000000000010", f"edits_inprogress_{11:019d}"):
        assert (roots[0] / f"{name}.stale").read_bytes() == before[name]


def test_truncating_again_after_a_crash_comes_to_the_same_end(
    roots: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Crash(BaseException):
        pass

    changes = 0
    for at in range(1, 30):
        root = roots[0].parent.with_name(f"crash{at}") / "current"
        shutil.copytree(roots[0], root)
        changes = 0

        class Gate:
            def enter(self, operation: Operation, path: Path) -> None:
                nonlocal changes
                changes += 1
                if changes == at:  # noqa: B023 - used in this round alone
                    raise Crash

            def leave(self, operation: Operation, path: Path) -> None: ...

            def room(self, path: Path, length_bytes: int) -> int:
                return length_bytes

        with monkeypatch.context() as patched:
            patched.setattr(disk, "gate", Gate())
            try:
                DirectoryJournal(root).truncate_to(8)
            except Crash:
                pass
            else:
                break
        DirectoryJournal(root).truncate_to(8)
        assert stored([root]) == list(range(1, 9))
    assert 5 < changes < at, "every change was the last one once"


def test_an_unfinished_segment_that_another_directory_gave_whole_is_set_aside(
    roots: list[Path],
) -> None:
    DirectoryJournal(roots[1]).truncate_to(14)
    name = list_segments(roots[1])[-1].path.name
    shutil.copy(roots[1] / name, roots[0] / name)
    DirectoryJournal(roots[0]).truncate_to(14)
    assert stored(roots[:1]) == list(range(1, 15))
    assert (roots[0] / f"edits_inprogress_{11:019d}.stale").exists()


def test_a_damaged_segment_is_named_and_the_others_are_truncated(roots: list[Path]) -> None:
    flip(roots[0], 2, 30)
    with pytest.raises(errors.CorruptEditLog, match="inprogress"):
        DirectoryJournal(roots[0]).truncate_to(8)
    assert [s.last_txid for s in list_segments(roots[0])] == [5, 8, None]


def test_a_segment_is_begun_once(roots: list[Path]) -> None:
    with pytest.raises(errors.InconsistentStorage, match="recover it first"):
        DirectoryJournal(roots[0]).begin_segment(11)


def test_nothing_is_made_durable_where_no_segment_is_open(tmp_path: Path) -> None:
    with pytest.raises(errors.ClosedStream, match=str(tmp_path)):
        DirectoryJournal(tmp_path / "current").make_durable()
    assert not os.listdir(tmp_path)


def test_sources_of_which_none_can_be_listed_are_an_error_and_no_warnings(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A standby reads again and again, and says it once itself."""

    class Away:
        def __init__(self, name: str) -> None:
            self.name = name

        def segments(self, *, scans: bool) -> list[SegmentCopy]:
            raise OSError("down")

    away: dict[str, SegmentSource] = {
        name: Away(name)  # type: ignore[misc]
        for name in ("jn1", "jn2")
    }
    with pytest.raises(OSError, match="down"):
        log_reader._listed(away)
    assert caplog.text == ""
