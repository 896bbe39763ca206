"""What a journal is: the two protocols that everything in this room speaks (pure).

`Journal` is written (JournalManager with its EditLogOutputStream in Hadoop), `SegmentSource`
is read (the other half of JournalManager, with EditLogInputStream). They are apart because
the reader is not always the writer: a standby reads what the active writes, and changes
nothing there.

| journal | Hadoop's | how |
|---|---|---|
| a directory | FileJournalManager | `directory_journal` |
| a set of journals | JournalSet | `journal_set` |
| a quorum of journal nodes | QuorumJournalManager | these protocols are made for it |

The calls come in this order, from one thread; docs/how-it-works/journal.md has the steps:

    [truncate_to] -> begin_segment -> append* make_durable confirm_segment
                                   -> (append* make_durable)* -> end_segment -> begin_segment …

Between two of them `lend` and `take_back` may come, where the files are written without them.
To roll is to end a segment and begin the next one. A journal that raises OSError has failed.
It gets no call but `close` until it begins a segment again.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from howdah.formats.edits.segment_scan import Source
from howdah.namenode.state.edit_log.segment_selection import SegmentCopy


@dataclass(frozen=True, slots=True)
class Batch:
    """Encoded records of consecutive transactions."""

    first_txid: int
    count: int
    records: bytes

    @property
    def last_txid(self) -> int:
        return self.first_txid + self.count - 1


class SegmentFile(Protocol):
    """An open segment that somebody else writes for a while: `storage`'s SegmentWriter."""

    @property
    def path(self) -> Path: ...

    def lend(self) -> tuple[int, int, int, int] | None:
        """Its descriptor, one past the page cache or -1, how many bytes are durable, and for
        how many there is space; None while some are not."""
        ...

    def take_back(self, written_bytes: int, allocated_bytes: int) -> None: ...

    def has_failed(self, error: OSError) -> None:
        """It could not be written or synced: the next sync raises this."""
        ...


class Journal(Protocol):
    """A log that can be written. It has at most one segment that is unfinished."""

    @property
    def name(self) -> str:
        """For messages: a path, an address."""
        ...

    @property
    def epoch(self) -> int | None:
        """The epoch in which this journal takes edits: a writer of an older epoch is refused.
        None for a journal without epochs, such as a directory. There the storage lock says
        who may write, to processes that see the lock."""
        ...

    def begin_segment(self, first_txid: int) -> None:
        """Begin a segment, durably but for its first record. Raises OSError."""
        ...

    def append(self, batch: Batch) -> None:
        """Take records for the next `make_durable`. Raises no OSError: the edits are applied
        already, and a journal that has failed says so where that can be answered for."""
        ...

    def make_durable(self) -> None:
        """Return when everything that was appended is durable. Raises OSError."""
        ...

    def confirm_segment(self, first_txid: int) -> None:
        """Note durably that the log has reached this transaction, the first of the open
        segment, which is durable in every journal that has to have it. Raises OSError."""
        ...

    def end_segment(self, last_txid: int) -> None:
        """Make the rest durable, and name the segment after its last transaction. Raises
        OSError."""
        ...

    def lend(self) -> list[SegmentFile] | None:
        """The open segments, all durable, to be written without this journal until `take_back`;
        None where more belongs to it than files of this machine. Between an `append` and its
        `make_durable` there is nothing to lend."""
        ...

    def take_back(self, durable_txid: int) -> None:
        """Every segment that was lent has the transactions up to this one, or has failed."""
        ...

    def truncate_to(self, last_txid: int) -> None:
        """Mend what a crash left, when it is decided that the log ends with `last_txid`. An
        unfinished segment is finished; later transactions are no part of the log any more.

        Only the one who is going to write calls this, before the first segment begins.
        Raises OSError; CorruptEditLog for a damaged segment, which is left as it is.
        """
        ...

    def close(self) -> None:
        """Give up files and connections. An unfinished segment stays unfinished."""
        ...


class SegmentSource(Protocol):
    """A journal that can be read at any time. Reading changes nothing, takes no lock, and
    does not disturb the writer."""

    @property
    def name(self) -> str:
        """Different for each source of a log."""
        ...

    def segments(self, *, scans: bool) -> Sequence[SegmentCopy]:
        """The segments that it holds. With `scans`, unfinished ones are read to learn how far
        they reach; that makes sense while nobody writes. Raises OSError."""
        ...

    def open(self, copy: SegmentCopy, skip_bytes: int = 0) -> AbstractContextManager[Source]:
        """The bytes of a segment, without the first `skip_bytes` behind its header. Raises
        OSError; FileNotFoundError if it has another name by now, or was purged."""
        ...
