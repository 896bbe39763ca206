"""A crash at every write, sync and rename of a journal's files, with the process alone or with
the power (FS-061): what was acknowledged is there, and nothing is half done."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from howdah.journalnode.journal import Journal
from howdah.journalnode.journal_storage import Sink
from howdah.journalnode.state.journal_state import SegmentState
from howdah.storage.segments import Segment, SegmentWriter, read_segment
from tests.support.journal_writer import VERSION, Writer, journal_at, segment_bytes
from tests.support.power_cut import Disk

Fact = Callable[[Path, Journal], None]


@pytest.fixture(autouse=True)
def _small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = dict(SegmentWriter.__init__.__kwdefaults__ or {})
    monkeypatch.setattr(
        SegmentWriter.__init__, "__kwdefaults__", {**defaults, "preallocation_bytes": 256}
    )


def contents(root: Path) -> dict[int, bytes]:
    """By transaction, the operand of each record that the journal's segments have."""
    found: dict[int, bytes] = {}
    for path in sorted((root / "current").glob("edits_*")):
        name = path.name.removeprefix("edits_")
        if name.startswith("inprogress_") and name.removeprefix("inprogress_").isdigit():
            segment = Segment(int(name.removeprefix("inprogress_")), None, path)
        elif name.replace("-", "").isdigit():
            first, last = (int(part) for part in name.split("-"))
            segment = Segment(first, last, path)
        else:
            continue
        for placed in read_segment(segment):
            found[placed.logged.txid] = repr(placed.logged.edit).encode()
    return found


def holds(first_txid: int, last_txid: int, history: int = 0) -> Fact:
    def check(root: Path, journal: Journal) -> None:
        found = contents(root)
        for txid in range(first_txid, last_txid + 1):
            assert str(1000 * history + txid).encode() in found[txid], txid

    return check


def promised(epoch: int) -> Fact:
    def check(root: Path, journal: Journal) -> None:
        assert journal.promised_epoch >= epoch

    return check


def accepted(first_txid: int, last_txid: int, epoch: int) -> Fact:
    """Or finished, which is the same."""

    def check(root: Path, journal: Journal) -> None:
        prepared = journal.prepare_recovery(Writer(journal, 88).info(), first_txid)
        assert prepared.segment is not None
        assert prepared.segment.last_txid == last_txid
        assert prepared.accepted_epoch == (epoch if prepared.segment.in_progress else None)

    return check


def never_half_accepted(root: Path, journal: Journal) -> None:
    """The segment that was fetched comes with its decision."""
    prepared = journal.prepare_recovery(Writer(journal, 89).info(), 7)
    if prepared.segment is not None and prepared.segment.last_txid == 10:
        assert prepared.accepted_epoch == (2 if prepared.segment.in_progress else None)


def finished(first_txid: int, last_txid: int) -> Fact:
    def check(root: Path, journal: Journal) -> None:
        segments, _ = journal.manifest(first_txid, in_progress_ok=False)
        assert SegmentState(first_txid, last_txid, False) in segments

    return check


def fetched(url: str, sink: Sink) -> None:
    sink(segment_bytes(7, 10, history=2))


def test_what_was_acknowledged_outlives_a_cut_at_any_moment(tmp_path: Path) -> None:
    base = tmp_path / "disk"
    root = base / "ns1"
    journal = journal_at(root, fetched)
    root.parent.mkdir()
    journal.format(VERSION, force=False)
    facts: list[Fact] = []
    with Disk(base) as disk:
        disk.armed = True

        def know(*new: Fact) -> None:
            facts.extend(new)
            disk.label = len(facts)

        know()
        first = Writer(journal, 1)
        first.promise()
        know(promised(1))
        first.start(1)
        first.write(1, 1, 3)
        know(holds(1, 3))
        first.write(1, 4, 5, committed=5)  # it lags: a majority has them without this node
        # The node is started once more, and the writer goes on where it was.
        journal.close()
        journal = journal_at(root, fetched)
        first.target = journal
        first.write(1, 6, 6)
        know(holds(1, 6))
        first.finish(1, 6)
        know(finished(1, 6))
        first.start(7)
        first.write(7, 7, 7, history=2)
        know(holds(7, 7, history=2))
        first.write(7, 8, 9, history=3)  # and no majority takes these
        second = Writer(journal, 2)
        second.promise()
        know(promised(2))
        journal.accept_recovery(second.info(), SegmentState(7, 10, True), "http://b")
        know(accepted(7, 10, 2), holds(7, 10, history=2))
        second.finish(7, 10)
        know(finished(7, 10))
        second.start(11)
        second.write(11, 11, 12, committed=10)
        know(holds(11, 12))
        disk.cut_now()
        images = list(disk.labelled_images(tmp_path / "cuts"))
    journal.close()
    assert len(images) > 100, "every operation was cut"
    for image, path in images:
        again = journal_at(path / "ns1")
        try:
            for fact in facts[: int(str(image.label))]:
                fact(path / "ns1", again)
            never_half_accepted(path / "ns1", again)
            writer = Writer(again, 99)
            writer.promise()
            assert again.promised_epoch == 99
            assert not list((path / "ns1" / "current").glob("*.epoch=*")), "nothing is half done"
        except BaseException as error:
            raise AssertionError(f"{image.when}, {image.label} facts: {error!r}") from error
        finally:
            again.close()
        shutil.rmtree(path)


def test_an_upgrade_is_whole_or_undone_after_a_cut_at_any_moment(tmp_path: Path) -> None:
    base = tmp_path / "disk"
    root = base / "ns1"
    journal = journal_at(root)
    root.parent.mkdir()
    journal.format(VERSION, force=False)
    writer = Writer(journal, 3)
    writer.promise()
    writer.start(1)
    writer.write(1, 1, 3)
    writer.finish(1, 3)
    with Disk(base) as disk:
        disk.armed = True
        journal.pre_upgrade()
        journal.upgrade(1234, -67)
        disk.label = "upgraded"
        disk.cut_now()
        images = list(disk.labelled_images(tmp_path / "cuts"))
    journal.close()
    assert len(images) > 10
    for image, path in images:
        again = journal_at(path / "ns1")
        try:
            version = again.version()
            assert version.ctime_ms in ((1234,) if image.label else (0, 1234))
            assert again.promised_epoch == 3
            holds(1, 3)(path / "ns1", again)
        except BaseException as error:
            raise AssertionError(f"{image.when}: {error!r}") from error
        finally:
            again.close()
        shutil.rmtree(path)
