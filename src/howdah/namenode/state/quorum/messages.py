"""What a writer asks of a journal node, and what it is answered (pure). Hadoop:
QJournalProtocol, RequestInfo.

Every request but `GetState` and `NewEpoch` carries a `Stamp`: the epoch that was promised to
the writer, a number that rises with each request to that node, and the last transaction that
is known to be on a majority.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

MAX_NUMBER: Final = (1 << 63) - 1
"""Of an epoch and of a transaction id: Java's long."""


@dataclass(frozen=True, slots=True)
class SegmentState:
    """One node's segment. Hadoop: SegmentStateProto."""

    first_txid: int
    last_txid: int
    in_progress: bool


@dataclass(frozen=True, slots=True)
class Stamp:
    """Hadoop: RequestInfo. So long as `lease_ms` after the answer the writer may serve, or one
    before it may."""

    epoch: int
    serial: int
    committed_txid: int | None
    lease_ms: int = 0


# What is asked.


@dataclass(frozen=True, slots=True)
class GetState:
    """Which epoch has been promised? Answered by a `NodeState`."""


@dataclass(frozen=True, slots=True)
class NewEpoch:
    """Take nothing any more of writers with older epochs. Answered by a `Promise`."""

    epoch: int


@dataclass(frozen=True, slots=True)
class PrepareRecovery:
    """What is known of this segment's end? Answered by a `Prepared`."""

    segment_txid: int


@dataclass(frozen=True, slots=True)
class AcceptRecovery:
    """Have the segment as it is said here, from `from_url` if it is different."""

    segment: SegmentState
    from_url: str


@dataclass(frozen=True, slots=True)
class StartSegment:
    first_txid: int


@dataclass(frozen=True, slots=True)
class SendEdits:
    """Encoded records of consecutive transactions, durable when it is answered."""

    segment_txid: int
    first_txid: int
    count: int
    records: bytes

    @property
    def last_txid(self) -> int:
        return self.first_txid + self.count - 1

    @property
    def begins_segment(self) -> bool:
        return self.first_txid == self.segment_txid


@dataclass(frozen=True, slots=True)
class FinalizeSegment:
    first_txid: int
    last_txid: int


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Is the epoch still the one that was promised last? With `resigns`, nothing follows."""

    resigns: bool = False


@dataclass(frozen=True, slots=True)
class Purge:
    """Segments that end before `min_txid` may go."""

    min_txid: int


Request: TypeAlias = (
    GetState
    | NewEpoch
    | PrepareRecovery
    | AcceptRecovery
    | StartSegment
    | SendEdits
    | FinalizeSegment
    | Heartbeat
    | Purge
)

# What is answered; None to what has no answer of its own.


@dataclass(frozen=True, slots=True)
class NodeState:
    promised_epoch: int


@dataclass(frozen=True, slots=True)
class Promise:
    """`last_segment_txid` is of the segment that begins last; None where there is none.
    `lease_left_ms` says how long a writer of an older epoch may still serve; None where the
    node does not say (Hadoop's)."""

    last_segment_txid: int | None
    lease_left_ms: int | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """`segment` is what was accepted in `accepted_epoch`, if that is there; else what the
    node has, None if nothing. `url` is where others fetch it."""

    segment: SegmentState | None
    accepted_epoch: int | None
    writer_epoch: int
    committed_txid: int | None
    url: str


Answer: TypeAlias = NodeState | Promise | Prepared | None
