"""What the log is that the namenodes of a nameservice share: two protocols (pure).

Hadoop: the shared journals of FSEditLog (initSharedJournalsForRead, initJournalsForWrite) with
what JournalManager and EditLogTailer ask of them.

One namenode writes it, the active; the others follow. Of a directory it is
`shared_directory`, of a quorum of journal nodes the room `quorum`. Every method may wait for
disks or the network, and belongs on a thread beside the loop.

    who                          calls
    ---------------------------  --------------------------------------------------------
    a start                      edits(unfinished=False)
    a standby, now and then      edits(unfinished=…)
    a new namenode               edits(unfinished=True), keeps
    who becomes active           take_over, edits(unfinished=False), then the `SharedJournal`
    the active, with an image    purge_before
    a rollback, before a start   take_over, discard_from
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from howdah.formats.edits.edits import LoggedEdit
from howdah.formats.version import NamenodeVersion
from howdah.namenode.state.edit_log.journal import Journal, SegmentSource


@dataclass(frozen=True, slots=True)
class NodeReport:
    """How one journal node does, for people. `out_of_sync` is why it gets nothing until the
    next segment; None while it follows. `silent` is why it counts as silent; empty while it
    answers."""

    node: str
    acknowledged_txid: int
    queued_bytes: int
    out_of_sync: str | None
    silent: str = ""


@dataclass(frozen=True, slots=True)
class Silence:
    """Which journal nodes do not answer, and why, for people. With `is_certain` so many failed at
    the last request that no majority is left; otherwise they may only be slow."""

    reasons: str
    is_certain: bool


class SharedJournal(Journal, Protocol):
    """The shared log as its one writer has it. Times are milliseconds of the clock that goes
    on while the machine sleeps (CLOCK_BOOTTIME)."""

    @property
    def lost(self) -> str | None:
        """Why this writer is one no more, as far as is known; None while it is. Asked on the
        loop: it waits for nothing."""
        ...

    @property
    def wants_segment(self) -> bool:
        """Whether a part of it that was left out is back, and takes part in the next segment:
        then it is time to roll. Asked on the loop."""
        ...

    def lease_until_ms(self) -> int | None:
        """Until then nobody else can have become the writer. None where no such promise can
        be had, as of a directory. Asked on the loop, for every answer."""
        ...

    def proved_at_ms(self) -> int:
        """The latest time of which it is known that nobody else had become the writer by then,
        also when the lease has ended since. Asked on the loop."""
        ...

    def seen_txid(self) -> int:
        """A transaction that this log had reached by its own account: one that ends before has
        lost its tail. 0 where it gives none, as a quorum, which decides its end by itself.
        Raises OSError."""
        ...

    def silence(self) -> Silence | None:
        """Return which journal nodes do not answer; None where all do, and for a directory. Call it
        on the loop."""
        ...

    def reports(self) -> Sequence[NodeReport]:
        """How each journal node does; of a directory there are none. Asked on the loop."""
        ...

    def serve_from_ms(self) -> int:
        """Before that the former writer may believe that it still is one: nothing is served.
        0 where there is no need to wait."""
        ...


class SharedLog(Protocol):
    """The log as all namenodes have it. Raises OSError where it cannot be had."""

    @property
    def name(self) -> str:
        """The address, for messages."""
        ...

    def edits(self, from_txid: int, *, unfinished: bool) -> Iterator[LoggedEdit]:
        """Every durable edit once, in order, to the last one that is known now. `unfinished`
        says whether the segment that is being written counts.

        Nothing is written, and the writer notices nothing. Raises CorruptEditLog for a gap
        or damage.
        """
        ...

    def keeps(self, first_txid: int, last_txid: int) -> bool:
        """Whether all of these are in one segment, though `edits` may not give them yet, since
        nobody knows whether the next writer will have them. For who does not read them, but wants
        to know that none is lost."""
        ...

    def source(self) -> SegmentSource:
        """The segments, for whoever wants them as files."""
        ...

    def take_over(self) -> SharedJournal:
        """Become the one writer: from here on no former writer gets an edit into the log, as
        far as the kind of log can promise that. All segments are finished then, and what is
        in them is the log."""
        ...

    def purge_before(self, txid: int) -> None:
        """Segments of transactions before this one may go. For the writer alone."""
        ...

    def discard_from(self, txid: int) -> None:
        """Give up every segment from this transaction on: a rolling upgrade is rolled back.
        Nobody writes the log meanwhile. Raises OSError unless all of it is given up."""
        ...

    def is_formatted(self) -> bool:
        """Whether there is anything of a filesystem."""
        ...

    def format(self, version: NamenodeVersion) -> None:
        """Make it the empty log of this filesystem; what it held is lost."""
        ...

    def close(self) -> None:
        """Give up files and connections."""
        ...
