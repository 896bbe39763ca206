"""The edit log speaks to any journal in the order that the protocol says."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from operator import contains

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.namenode.journal.edit_log import EditLog, LogFigures
from howdah.namenode.state.edit_log.journal import Batch, Journal, SegmentFile

WAIT_S = 20.0


class Recording:
    """A journal that holds every call against the protocol."""

    name = "recording"
    epoch = None

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.durable: list[int] = []
        self.segments: list[tuple[int, int | None]] = []
        self.fails_at: str | None = None
        self.is_closed = False
        self._is_open = False
        self._pending: list[int] = []

    def _called(self, call: str) -> None:
        assert not self.is_closed
        self.calls.append(call)
        if call == self.fails_at:
            raise OSError(None, f"{call} fails")

    def begin_segment(self, first_txid: int) -> None:
        self._called("begin")
        assert not self._is_open
        last = [*self.durable, *self._pending][-1:]
        assert last in ([], [first_txid - 1])
        self._is_open = True
        self.segments.append((first_txid, None))

    def append(self, batch: Batch) -> None:
        self._called("append")
        assert self._is_open
        assert batch.records
        self._pending += range(batch.first_txid, batch.last_txid + 1)

    def make_durable(self) -> None:
        self._called("durable")
        assert self._is_open
        self.durable += self._pending
        self._pending.clear()

    def confirm_segment(self, first_txid: int) -> None:
        self._called("confirm")
        assert first_txid == self.segments[-1][0]
        assert first_txid in self.durable, "it is confirmed when its first record is durable"

    def end_segment(self, last_txid: int) -> None:
        self._called("end")
        assert self._is_open
        self.durable += self._pending
        self._pending.clear()
        assert self.durable[-1] == last_txid
        self._is_open = False
        self.segments[-1] = (self.segments[-1][0], last_txid)

    def lend(self) -> list[SegmentFile] | None:
        return None

    def take_back(self, durable_txid: int) -> None:
        raise AssertionError("nothing was lent")

    def truncate_to(self, last_txid: int) -> None:
        raise AssertionError("mending comes before the log is opened")

    def close(self) -> None:
        self.is_closed = True


class Told:
    """What the log says, from its thread."""

    def __init__(self) -> None:
        self.durable: list[int] = []
        self.failures: list[str] = []
        self._changed = threading.Condition()

    def on_durable(self, txid: int) -> None:
        with self._changed:
            self.durable.append(txid)
            self._changed.notify_all()

    def on_failure(self, why: str) -> None:
        with self._changed:
            self.failures.append(why)
            self._changed.notify_all()

    def wait(self, condition: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, WAIT_S)


def opened(journal: Recording, told: Told, last_txid: int = 0) -> EditLog:
    protocol: Journal = journal
    return EditLog(protocol, last_txid, on_durable=told.on_durable, on_failure=told.on_failure)


def append(log: EditLog, count: int) -> None:
    first = log.last_txid + 1
    log.append(
        [encode_record(txid, edits.SetGenstampV2Op(txid)) for txid in range(first, first + count)]
    )


@settings(max_examples=50)
@given(st.integers(0, 100), st.lists(st.integers(0, 4), max_size=20))
def test_every_transaction_is_durable_once_and_in_order_whatever_is_batched(
    last_txid: int, acts: list[int]
) -> None:
    """0 rolls; another number appends so many edits."""
    journal, told = Recording(), Told()
    log = opened(journal, told, last_txid)
    rolled = [last_txid + 1]
    for count in acts:
        if count:
            append(log, count)
        else:
            rolled.append(log.roll())
    log.close()
    assert journal.durable == list(range(last_txid + 1, log.last_txid + 1))
    assert log.durable_txid == log.last_txid
    assert [first for first, _ in journal.segments] == rolled
    ends = [last for _, last in journal.segments]
    assert ends == [*(first - 1 for first in rolled[1:]), log.last_txid]
    assert told.durable == sorted(set(told.durable))
    assert journal.is_closed
    assert not told.failures


def test_a_transaction_is_called_durable_after_the_journal_has_made_it_so() -> None:
    journal, told = Recording(), Told()
    log = opened(journal, told)
    append(log, 3)
    told.wait(lambda: told.durable == [4])
    assert journal.durable == [1, 2, 3, 4]
    log.abandon()
    assert journal.segments == [(1, None)], "as if the process had died"


@pytest.mark.parametrize("step", ["durable", "end", "begin"])
def test_a_journal_that_fails_is_told_once_and_nothing_is_durable_afterwards(step: str) -> None:
    journal, told = Recording(), Told()
    log = opened(journal, told)
    append(log, 1)
    told.wait(lambda: told.durable == [2])
    journal.fails_at = step
    log.roll()
    told.wait(lambda: bool(told.failures))
    append(log, 1)
    assert told.failures == [f"{step} fails"]
    assert told.durable == [2]
    log.abandon()


@pytest.mark.parametrize("step", ["begin", "durable"])
def test_a_journal_that_cannot_begin_is_closed_and_raises(step: str) -> None:
    journal = Recording()
    journal.fails_at = step
    with pytest.raises(OSError, match=f"{step} fails"):
        opened(journal, Told())
    assert journal.is_closed


@pytest.mark.req("FS-260")
def test_edits_and_syncs_are_counted_from_log_to_log() -> None:
    figures = LogFigures()
    for last_txid in (0, 5):
        journal, told = Recording(), Told()
        log = EditLog(
            journal,
            last_txid,
            on_durable=told.on_durable,
            on_failure=told.on_failure,
            figures=figures,
        )
        append(log, 3)
        last = log.last_txid
        told.wait(partial(contains, told.durable, last))
        log.close()
    # Three edits and the end of the segment in each; the beginning is written with the opening.
    assert figures.transactions == 8
    assert figures.syncs.count == sum(figures.syncs.buckets) == 4
