"""A set of journals: what is acknowledged is in all that count, whoever fails, and when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.namenode.state.edit_log.journal import Batch, Journal, SegmentFile
from howdah.namenode.state.edit_log.journal_set import JournalSet, Member


@dataclass(eq=False)
class Disk:
    """A journal in memory, which fails at the steps that are named."""

    name: str
    fails_at: set[int] = field(default_factory=set)
    epoch: int | None = None
    durable: list[int] = field(default_factory=list)
    segments: list[tuple[int, int | None]] = field(default_factory=list)
    is_open: bool = False
    confirmed_txid: int = 0
    steps: int = 0
    _pending: list[int] = field(default_factory=list)
    _failed: bool = False

    def _step(self) -> None:
        assert not self._failed, "one that failed is left alone"
        self.steps += 1
        if self.steps in self.fails_at:
            self._failed = True
            raise OSError(5, f"{self.name} is broken")

    def begin_segment(self, first_txid: int) -> None:
        assert not self.is_open
        self._step()
        self.is_open = True
        self.segments.append((first_txid, None))

    def append(self, batch: Batch) -> None:
        assert self.is_open
        self._pending += range(batch.first_txid, batch.last_txid + 1)

    def make_durable(self) -> None:
        assert self.is_open
        self._step()
        self.durable += self._pending
        self._pending.clear()

    def confirm_segment(self, first_txid: int) -> None:
        assert first_txid in self.durable, "the record comes first"
        self._step()
        self.confirmed_txid = first_txid

    def end_segment(self, last_txid: int) -> None:
        self.make_durable()
        assert self.durable[-1] == last_txid
        self.is_open = False
        self.segments[-1] = (self.segments[-1][0], last_txid)

    def lend(self) -> list[SegmentFile] | None:
        return None

    def take_back(self, durable_txid: int) -> None:
        raise AssertionError("nothing was lent")

    def truncate_to(self, last_txid: int) -> None:
        self._step()
        self.durable = [txid for txid in self.durable if txid <= last_txid]

    def close(self) -> None:
        self.is_open = False
        self._pending.clear()

    def repair(self, durable: list[int]) -> None:
        self._failed = False
        self.durable = list(durable)


class Repairs:
    """A restorer that needs no time. Those in `hopeless` never get whole."""

    def __init__(self) -> None:
        self.ready: list[Disk] = []
        self.partial: list[Disk] = []
        self.hopeless: set[str] = set()
        self.is_closed = False

    def begin(self, lost: Disk, source: Disk, before_txid: int) -> None:
        assert source not in self.partial
        if lost.name not in self.hopeless:
            lost.repair([txid for txid in source.durable if txid < before_txid])
            self.ready.append(lost)

    def take_ready(self) -> list[Disk]:
        ready, self.ready = self.ready, []
        self.partial += ready
        return ready

    def incomplete(self) -> list[Disk]:
        return list(self.partial)

    def complete(self, joined: Disk, source: Disk, before_txid: int) -> None:
        older = [txid for txid in source.durable if txid < before_txid]
        joined.durable = older + [txid for txid in joined.durable if txid >= before_txid]
        self.partial.remove(joined)

    def dropped(self, lost: Disk) -> None:
        if lost in self.partial:
            self.partial.remove(lost)

    def failures(self) -> dict[Disk, str]:
        return dict.fromkeys(self.partial, "it lacks older segments")

    def close(self) -> None:
        self.is_closed = True


class Log:
    """Whoever writes to a set of journals, and remembers what was acknowledged."""

    def __init__(self, journals: JournalSet[Disk]) -> None:
        self.journals = journals
        self.next_txid = 1
        self.acknowledged: list[int] = []

    def begin(self) -> None:
        self.journals.begin_segment(self.next_txid)
        self.write(1)

    def write(self, number: int) -> None:
        self.journals.append(Batch(self.next_txid, number, b""))
        written = list(range(self.next_txid, self.next_txid + number))
        self.next_txid += number
        self.journals.make_durable()
        self.acknowledged += written

    def roll(self) -> None:
        self.journals.append(Batch(self.next_txid, 1, b""))
        self.next_txid += 1
        self.journals.end_segment(self.next_txid - 1)
        self.acknowledged.append(self.next_txid - 1)
        self.begin()


def disks(names: str = "abc") -> list[Disk]:
    return [Disk(name) for name in names]


def live(log: Log) -> None:
    log.begin()
    log.write(1)
    log.roll()
    log.write(1)


def working(journals: JournalSet[Disk]) -> str:
    return "".join(s.journal.name for s in journals.states() if s.failure is None)


def test_a_set_of_journals_is_a_journal() -> None:
    journal: Journal = JournalSet([Member(disk) for disk in disks()])
    assert journal.name == "a, b, c"


@pytest.mark.req("FS-030")
@given(
    st.lists(st.sets(st.integers(1, 12), max_size=2), min_size=1, max_size=4),
    st.data(),
)
def test_what_is_acknowledged_is_in_every_journal_that_is_required_or_remains(
    failing: list[set[int]], data: st.DataObject
) -> None:
    found = [Disk(f"disk{n}", steps) for n, steps in zip(count(), failing, strict=False)]
    required = [data.draw(st.booleans(), label=f"{disk.name} is required") for disk in found]
    minimum = data.draw(st.integers(1, len(found)), label="minimum")
    repairs = Repairs() if data.draw(st.booleans(), label="restores") else None
    journals = JournalSet(
        [Member(disk, need) for disk, need in zip(found, required, strict=True)],
        minimum=minimum,
        restorer=repairs,
        restores=repairs is not None,
    )
    log = Log(journals)
    acts = data.draw(st.lists(st.sampled_from([log.roll, lambda: log.write(2)]), max_size=10))
    stopped = False
    every: list[Callable[[], object]] = [log.begin, *acts]
    for act in every:
        try:
            act()
        except OSError:
            stopped = True
            break
        states = journals.states()
        lacking = repairs.partial if repairs is not None else []
        left = [s.journal for s in states if s.failure is None]
        assert len(left) + len(lacking) >= minimum
        for state in states:
            if state.required:
                assert state.failure is None or state.journal in lacking
        for disk in left:
            assert disk.durable == log.acknowledged
    if stopped:
        # It stopped for a reason, and what was acknowledged before is where it has to be.
        lost = [
            disk for disk in found if disk._failed or disk in (repairs.ready if repairs else [])
        ]
        needed = [disk for disk, need in zip(found, required, strict=True) if need]
        assert len(found) - len(lost) < minimum or any(disk in lost for disk in needed)
    for disk in found:
        beginning = log.acknowledged[: len(disk.durable)]
        if repairs is None or disk not in repairs.partial:
            # One that was dropped has the beginning of the log, and never another log.
            assert disk.durable[: len(log.acknowledged)] == beginning
        elif disk.durable[: len(log.acknowledged)] != beginning:
            # It joined in again, and the last one with what it lacks failed in that moment: the
            # two of them have everything.
            assert any(set(log.acknowledged) <= {*disk.durable, *other.durable} for other in found)
    journals.close()
    assert not any(disk.is_open for disk in found)


@pytest.mark.parametrize("step", range(1, 6))
def test_all_that_fail_at_once_end_it(step: int) -> None:
    found = disks()
    log = Log(JournalSet([Member(disk) for disk in found], kind=("directory", "directories")))
    for disk in found:
        disk.fails_at = {step}
    with pytest.raises(OSError, match=r"no directory is left that can be written: .*a is broken"):
        live(log)


def test_a_required_journal_that_fails_is_named_with_its_reason() -> None:
    first, second = disks("ab")
    log = Log(JournalSet([Member(first, required=True), Member(second)]))
    log.begin()
    first.fails_at = {first.steps + 1}
    with pytest.raises(OSError, match=r"the required journal a failed: .*a is broken"):
        log.write(1)


def test_fewer_than_the_minimum_are_named() -> None:
    found = disks()
    log = Log(JournalSet([Member(disk) for disk in found], minimum=3))
    log.begin()
    found[1].fails_at = {found[1].steps + 1}
    with pytest.raises(OSError, match=r"only 2 journals are left .* and 3 have to be: .*b is"):
        log.write(1)


@pytest.mark.req("FS-030")
def test_a_journal_that_was_made_whole_joins_in_when_the_next_segment_begins() -> None:
    found = disks("ab")
    repairs = Repairs()
    journals = JournalSet([Member(d) for d in found], restorer=repairs, restores=True)
    log = Log(journals)
    log.begin()
    found[0].fails_at = {found[0].steps + 1}
    log.write(1)
    assert working(journals) == "b"
    log.roll()
    assert working(journals) == "b", "it is whole, and takes no part yet"
    log.write(2)
    assert found[0].durable != found[1].durable
    log.roll()
    assert working(journals) == "ab"
    assert found[0].durable == found[1].durable == log.acknowledged


def test_it_is_said_that_no_journal_is_left_with_the_whole_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    found = disks("ab")
    repairs = Repairs()
    journals = JournalSet([Member(d) for d in found], restorer=repairs, restores=True)
    found[0].fails_at = {1}
    log = Log(journals)
    log.begin()
    log.roll()
    assert "whole log" not in caplog.text, "b has it, and is all that is left"
    # It ends its segment, and fails as the one begins that a takes part in.
    found[1].fails_at = {found[1].steps + 2}
    log.roll()
    assert working(journals) == "", "a lacks what came between"
    assert "no journal is left that has the whole log: a lack" in caplog.text
    assert set(found[0].durable) | set(found[1].durable) == set(log.acknowledged)


def test_a_journal_is_not_restored_unless_that_was_asked_for() -> None:
    found = disks("ab")
    repairs = Repairs()
    journals = JournalSet([Member(d) for d in found], restorer=repairs)
    log = Log(journals)
    log.begin()
    found[0].fails_at = {found[0].steps + 1}
    log.write(1)
    log.roll()
    assert repairs.ready == []
    journals.restores = True
    log.write(1)
    assert repairs.ready == [], "it waits for a roll"
    log.roll()
    assert repairs.ready == [found[0]]


def test_a_journal_that_stays_broken_is_told_as_failing() -> None:
    found = disks("ab")
    repairs = Repairs()
    repairs.hopeless.add("a")
    journals = JournalSet([Member(d) for d in found], restorer=repairs, restores=True)
    found[0].fails_at = {1}
    log = Log(journals)
    log.begin()
    log.roll()
    log.roll()
    assert [state.failure for state in journals.states()] == ["[Errno 5] a is broken", None]
    journals.close()
    assert repairs.is_closed


def test_members_that_work_are_truncated_to_the_decided_end() -> None:
    found = disks()
    for disk in found:
        disk.durable = [1, 2, 3]
    found[1].fails_at = {1}
    journals = JournalSet([Member(disk) for disk in found])
    journals.truncate_to(2)
    assert [disk.durable for disk in found] == [[1, 2], [1, 2, 3], [1, 2]]
    assert working(journals) == "ac"


def test_the_epoch_of_a_set_is_that_of_the_members_that_know_one() -> None:
    local, quorum = disks("ab")
    assert JournalSet([Member(local)]).epoch is None
    quorum.epoch = 7
    assert JournalSet([Member(local), Member(quorum, required=True)]).epoch == 7


def test_a_set_within_a_set_fails_as_one_and_is_not_missed_unless_it_is_required() -> None:
    quorum, *local = disks("qab")
    inner = JournalSet([Member(disk) for disk in local])
    outer: JournalSet[Disk | JournalSet[Disk]] = JournalSet(
        [Member(quorum, required=True), Member(inner)]
    )
    outer.begin_segment(1)
    outer.append(Batch(1, 1, b""))
    outer.make_durable()
    for disk in local:
        disk.fails_at = {disk.steps + 1}
    outer.append(Batch(2, 1, b""))
    outer.make_durable()
    assert quorum.durable == [1, 2]
    failure = outer.states()[1].failure
    assert failure is not None
    assert "no journal is left" in failure
