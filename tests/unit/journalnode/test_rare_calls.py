"""Calls that come once in a year, at any moment: no promise is broken, and no acknowledged
transaction is lost but by the call that is there to lose it."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from howdah import errors
from howdah.journalnode.journal import Journal
from howdah.journalnode.state.acceptor import RequestInfo
from howdah.journalnode.state.journal_state import SegmentState
from howdah.storage.segments import Segment, read_segment
from tests.support.journal_writer import VERSION, Writer, journal_at, no_fetching, records

LEASE_MS = 1000
NEW_LAYOUT = -67


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = journal_at(tmp_path / "ns1")
    made.format(VERSION, force=False)
    yield made
    made.close()


def writing(journal: Journal) -> Writer:
    """Three transactions of a segment that is open."""
    writer = Writer(journal, 3)
    writer.promise()
    writer.start(1)
    writer.write(1, 1, 3)
    return writer


def upgraded(journal: Journal) -> None:
    journal.pre_upgrade()
    journal.upgrade(1234, NEW_LAYOUT)


def upgraded_and_rolled_back(journal: Journal) -> None:
    upgraded(journal)
    journal.roll_back()


CHANGES_NOTHING: dict[str, Callable[[Journal], object]] = {
    "finalize with nothing to finalize": lambda journal: journal.finalize(),
    "roll back with nothing to go back to": lambda journal: journal.roll_back(),
    "can roll back": lambda journal: journal.can_roll_back(-66),
    "end an upgrade that was not begun": lambda journal: journal.upgrade(1, NEW_LAYOUT),
    "format without force": lambda journal: journal.format(VERSION, force=False),
    "join": lambda journal: journal.join(VERSION, 1),
    "an older epoch": lambda journal: journal.new_epoch(VERSION, 2),
    "the list of segments": lambda journal: journal.manifest(1, in_progress_ok=True),
    "edits in memory": lambda journal: journal.edits(1, 100),
    "discard from the middle of a segment": lambda journal: journal.discard_segments(2),
    "discard what is not there yet": lambda journal: journal.discard_segments(50),
    "purge nothing": lambda journal: journal.purge(RequestInfo(3, 90), 0),
}


@pytest.mark.req("FS-061")
@pytest.mark.parametrize("call", CHANGES_NOTHING.values(), ids=CHANGES_NOTHING)
def test_a_call_that_changes_nothing_leaves_the_open_segment_to_its_writer(
    journal: Journal, call: Callable[[Journal], object]
) -> None:
    writer = writing(journal)
    with contextlib.suppress(errors.HowdahError):
        call(journal)
    writer.serial = 100
    writer.write(1, 4, 5)
    writer.finish(1, 5)


@pytest.mark.req("FS-061")
def test_an_upgrade_is_finalized_while_the_next_segment_is_written(journal: Journal) -> None:
    upgraded(journal)
    writer = writing(journal)
    assert journal.can_roll_back(-66)
    journal.finalize()
    writer.write(1, 4, 5)
    assert not journal.can_roll_back(-66)
    with pytest.raises(errors.InconsistentStorage, match="no upgrade"):
        journal.upgrade(5678, NEW_LAYOUT)
    writer.write(1, 6, 6)


@pytest.mark.req("FS-061")
@pytest.mark.parametrize("ends", [upgraded, lambda journal: journal.pre_upgrade()])
def test_an_upgrade_under_a_writer_costs_the_writer_and_no_transaction(
    journal: Journal, ends: Callable[[Journal], None]
) -> None:
    writer = writing(journal)
    ends(journal)
    with pytest.raises(errors.HowdahError):
        writer.write(1, 4, 4)
    journal.roll_back()
    heir = Writer(journal, 4)
    heir.promise()
    assert journal.prepare_recovery(heir.info(), 1).segment == SegmentState(1, 3, True)


@pytest.mark.req("FS-061")
def test_what_was_put_away_stays_as_it_was(journal: Journal) -> None:
    writing(journal)
    upgraded(journal)
    heir = Writer(journal, 4)
    heir.promise()
    journal.accept_recovery(heir.info(), SegmentState(1, 3, True), "")
    heir.finish(1, 3)
    heir.start(4)
    heir.write(4, 4, 9)
    kept = journal.root / "previous" / "edits_inprogress_0000000000000000001"
    assert [p.logged.txid for p in read_segment(Segment(1, None, kept))] == [1, 2, 3]


@pytest.mark.req("FS-072", "LM-016")
@pytest.mark.parametrize(
    "calls",
    [upgraded, upgraded_and_rolled_back],
    ids=["upgrade", "upgrade and rollback"],
)
def test_a_lease_outlives_an_upgrade(tmp_path: Path, calls: Callable[[Journal], object]) -> None:
    """Or the next writer would serve beside the former one."""
    journal = Journal("ns1", tmp_path / "ns1", no_fetching, 1 << 20, clock_ms=lambda: 5000)
    journal.format(VERSION, force=False)
    journal.new_epoch(VERSION, 1)
    journal.heartbeat(RequestInfo(1, 1, lease_ms=LEASE_MS), resigns=False)
    calls(journal)
    assert journal.new_epoch(VERSION, 2).lease_left_ms >= LEASE_MS
    journal.close()


@pytest.mark.req("LM-016")
def test_a_longer_lease_since_the_upgrade_outlives_its_rollback(tmp_path: Path) -> None:
    journal = Journal("ns1", tmp_path / "ns1", no_fetching, 1 << 20, clock_ms=lambda: 5000)
    journal.format(VERSION, force=False)
    upgraded(journal)
    journal.new_epoch(VERSION, 1)
    journal.heartbeat(RequestInfo(1, 1, lease_ms=LEASE_MS), resigns=False)
    journal.roll_back()
    assert journal.new_epoch(VERSION, 2).lease_left_ms >= LEASE_MS
    journal.close()


@pytest.mark.req("FS-061")
def test_a_journal_in_the_middle_of_an_upgrade_is_not_free_to_be_formatted(
    journal: Journal,
) -> None:
    writing(journal)
    journal.pre_upgrade()
    assert journal.is_formatted()
    with pytest.raises(errors.InconsistentStorage, match="not empty"):
        journal.format(VERSION, force=False)
    journal.pre_upgrade()
    journal.upgrade(1234, NEW_LAYOUT)
    assert journal.manifest(1, in_progress_ok=True)[0] == [SegmentState(1, 3, True)]


@pytest.mark.req("FS-061")
@pytest.mark.parametrize("call", ["finalize", "roll_back"])
def test_an_upgrade_that_was_only_begun_is_given_up(journal: Journal, call: str) -> None:
    writing(journal)
    journal.pre_upgrade()
    getattr(journal, call)()
    assert journal.manifest(1, in_progress_ok=True)[0] == [SegmentState(1, 3, True)]


@pytest.mark.req("FS-061")
@pytest.mark.parametrize(("committed", "known"), [(None, None), (2, 2), (3, 3)])
def test_nothing_is_called_committed_because_it_is_given_up(
    journal: Journal, committed: int | None, known: int | None
) -> None:
    writer = writing(journal)
    journal.heartbeat(writer.info(committed), resigns=False)
    journal.discard_segments(50)
    assert journal.manifest(1, in_progress_ok=True)[1] == known


class RareCalls(RuleBasedStateMachine):
    """Writers follow each other at one node, and administrators call what they like."""

    @initialize()
    def format(self) -> None:
        self.stack = contextlib.ExitStack()
        self.root = Path(self.stack.enter_context(tempfile.TemporaryDirectory())) / "ns1"
        self.now_ms = 0
        self.promised = 0
        self.epoch = 0
        self.serial = 0
        self.open_txid: int | None = None
        self.next_txid = 1
        self.kept: set[int] = set()
        """Transactions that were acknowledged, and that nobody has given up."""
        self.previous: tuple[set[int], int] | None = None
        """What there was before the upgrade, and the transaction that followed."""
        self.begun: tuple[set[int], int] | None = None
        self.lease_until_ms = 0
        self.opened()
        self.journal.format(VERSION, force=False)

    def opened(self) -> None:
        self.journal = Journal("ns1", self.root, no_fetching, 1 << 20, clock_ms=lambda: self.now_ms)

    def teardown(self) -> None:
        if hasattr(self, "stack"):
            self.journal.close()
            self.stack.close()

    def info(self) -> RequestInfo:
        self.serial += 1
        self.lease_until_ms = self.now_ms + LEASE_MS
        return RequestInfo(self.epoch, self.serial, lease_ms=LEASE_MS)

    def cut_off(self) -> None:
        self.open_txid = None

    is_whole = precondition(lambda self: self.begun is None)
    is_written = precondition(lambda self: self.open_txid is not None)

    @rule(pause_ms=st.integers(1, 700))
    def wait(self, pause_ms: int) -> None:
        self.now_ms += pause_ms

    @is_whole
    @rule()
    def take_over(self) -> None:
        """A writer recovers what there is, and begins a segment."""
        left_ms = self.journal.new_epoch(VERSION, self.promised + 1).lease_left_ms
        assert left_ms >= self.lease_until_ms - self.now_ms, "the former one may still serve"
        self.promised = self.epoch = self.promised + 1
        self.serial = 0
        found = self.journal.manifest(1, in_progress_ok=True)[0]
        if found and found[-1].in_progress:
            segment = self.journal.prepare_recovery(self.info(), found[-1].first_txid).segment
            assert segment is not None
            self.journal.accept_recovery(self.info(), segment, "")
            self.journal.finalize_segment(self.info(), segment.first_txid, segment.last_txid)
        self.next_txid = max(self.kept, default=self.next_txid - 1) + 1
        self.journal.start_segment(self.info(), self.next_txid, -66)
        self.open_txid = self.next_txid

    @is_written
    @rule(count=st.integers(1, 3))
    def write(self, count: int) -> None:
        assert self.open_txid is not None
        first, last = self.next_txid, self.next_txid + count - 1
        self.journal.journal(self.info(), self.open_txid, first, count, records(first, last))
        self.kept |= set(range(first, last + 1))
        self.next_txid = last + 1

    @is_written
    @rule()
    def finish(self) -> None:
        assert self.open_txid is not None
        if self.next_txid > self.open_txid:
            self.journal.finalize_segment(self.info(), self.open_txid, self.next_txid - 1)
            self.open_txid = None

    @rule()
    def restart(self) -> None:
        self.journal.close()
        self.cut_off()
        if self.begun is not None:
            self.kept, self.next_txid = self.begun
            self.begun = None
        self.opened()
        self.journal.promised_epoch  # noqa: B018 - it is loaded

    @rule()
    def format_without_force(self) -> None:
        assert self.journal.is_formatted()
        with pytest.raises(errors.InconsistentStorage, match="not empty"):
            self.journal.format(VERSION, force=False)

    @rule()
    def pre_upgrade(self) -> None:
        if self.previous is not None:
            with pytest.raises(errors.InconsistentStorage, match="finalize or roll back"):
                self.journal.pre_upgrade()
            return
        self.journal.pre_upgrade()
        self.cut_off()
        self.begun = set(self.kept), self.next_txid

    @rule()
    def upgrade(self) -> None:
        if self.begun is None:
            with pytest.raises(errors.InconsistentStorage, match="no upgrade"):
                self.journal.upgrade(self.now_ms, NEW_LAYOUT)
            return
        self.journal.upgrade(self.now_ms, NEW_LAYOUT)
        self.previous, self.begun = self.begun, None

    @rule()
    def finalize(self) -> None:
        self.journal.finalize()
        self.previous = self.begun = None

    @rule()
    def roll_back(self) -> None:
        assert self.journal.can_roll_back(-66 if self.previous else NEW_LAYOUT) is bool(
            self.previous
        )
        self.journal.roll_back()
        self.begun = None
        if self.previous is not None:
            self.kept, self.next_txid = self.previous
            self.previous = None
            self.cut_off()

    @is_whole
    @rule(from_txid=st.integers(1, 40))
    def discard(self, from_txid: int) -> None:
        with contextlib.suppress(errors.RemoteError):  # In the middle of a segment.
            self.journal.discard_segments(from_txid)
            if self.open_txid is not None and self.open_txid >= from_txid:
                self.cut_off()
            self.kept = {txid for txid in self.kept if txid < from_txid}

    @invariant()
    def nothing_is_lost(self) -> None:
        if not hasattr(self, "journal") or self.begun is not None:
            return
        found, committed = self.journal.manifest(1, in_progress_ok=True)
        have = {txid for each in found for txid in range(each.first_txid, each.last_txid + 1)}
        assert have >= self.kept
        assert committed is None
        assert self.journal.promised_epoch == self.promised


TestRareCalls = RareCalls.TestCase
TestRareCalls.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
