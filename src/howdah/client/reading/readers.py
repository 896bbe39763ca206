"""What a stream asks of whoever reads a replica for it, however the bytes come.

BlockReader and BlockReaderFactory in Hadoop.

`ReadRequest` is one range of one replica. A `ReplicaReader` yields it once, in order,
checked. There are several ways to one: over a connection to the datanode
(`howdah.client.reading.block_reader`), or straight from the files of a datanode on this
machine. Each way is a `ReaderFactory`, which gives a reader or, where it doesn't
apply, None; the stream asks the local way first.
"""

from __future__ import annotations

import enum
import threading
from dataclasses import dataclass
from typing import Protocol

from howdah import errors
from howdah.client.state.blocks import LocatedBlock
from howdah.native.records import quickly_made
from howdah.protocol.data_transfer.blocks import DatanodeAddress
from howdah.protocol.data_transfer.op_requests import NO_HINTS, CachingHints
from howdah.runtime.tracing.span import NOTHING, Span


class ReadSource(enum.IntEnum):
    """Where the bytes of a reader come from, for the statistics of the stream."""

    REMOTE = 0
    LOCAL = 1
    """A datanode on this machine, over a connection."""
    SHORT_CIRCUIT = 2
    """The files of a datanode on this machine."""


class ReadCancelled(errors.HowdahError, OSError):
    """Nobody wants the answer any more: somebody else was faster, or the stream is closed."""


class Interruptible(Protocol):
    """A connection, or one that is being made."""

    def shutdown(self) -> None:
        """Wake up whoever waits for it, from any thread."""


class Cancellation:
    """Ends an exchange from another thread, at whatever point it is. Thread-safe.

    Who waits tells `watch` each connection before it waits for it, also one that is only
    being made, and `release` when the connection is no longer its own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._connection: Interruptible | None = None
        self.is_answered = False
        """Whether the far end has said something; set by who reads."""

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled

    def watch(self, connection: Interruptible) -> None:
        """`connection` is what the read waits for now; raises if it is over already."""
        with self._lock:
            self._check()
            self._connection = connection

    def release(self) -> None:
        """The connection belongs to somebody else now, or is closed."""
        with self._lock:
            self._connection = None

    def check(self) -> None:
        """`ReadCancelled` if the read is over."""
        with self._lock:
            self._check()

    def _check(self) -> None:
        if self._cancelled:
            raise ReadCancelled("it is not wanted any more")

    def cancel(self) -> None:
        """Wake up whoever reads; what it reads from now on fails."""
        with self._lock:
            self._cancelled = True
            if self._connection is not None:
                self._connection.shutdown()


class OpenRead:
    """One of `OpenReads`, as long as the context lasts."""

    __slots__ = ("_all", "_own")

    def __init__(self, reads: OpenReads, own: Cancellation) -> None:
        self._all = reads
        self._own = own

    def __enter__(self) -> Cancellation:
        self._all.enter(self._own)
        return self._own

    def __exit__(self, *_: object) -> None:
        self._all.remove(self._own)


class OpenReads:
    """The positioned reads of a stream that are under way, which end with it. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: set[Cancellation] = set()
        self._cancelled = False

    def begin(self, cancellation: Cancellation | None = None) -> OpenRead:
        """Within, the read may be cancelled; `ReadCancelled` if all are already."""
        return OpenRead(self, Cancellation() if cancellation is None else cancellation)

    def enter(self, read: Cancellation) -> None:
        with self._lock:
            if self._cancelled:
                raise ReadCancelled("the stream is closed")
            self._under_way.add(read)

    def remove(self, read: Cancellation) -> None:
        with self._lock:
            self._under_way.discard(read)

    def cancel(self) -> None:
        """End what is under way, and whatever would begin."""
        with self._lock:
            self._cancelled = True
            under_way = list(self._under_way)
        for read in under_way:
            read.cancel()


@quickly_made
@dataclass(frozen=True, slots=True)
class ReadRequest:
    """The bytes `[offset, offset + length_bytes)` of the replica of `block` at `node`.

    `keep`: the connection may serve another read afterwards.
    """

    path: str
    block: LocatedBlock
    node: DatanodeAddress
    offset: int
    length_bytes: int
    client_name: str
    hints: CachingHints = NO_HINTS
    keep: bool = True
    cancellation: Cancellation | None = None
    span: Span = NOTHING
    """That of the stream in a trace."""


class ReplicaReader(Protocol):
    """Yields the bytes of a request, once, in order. One thread at a time."""

    @property
    def node(self) -> DatanodeAddress: ...
    @property
    def source(self) -> ReadSource: ...
    @property
    def position(self) -> int:
        """The offset within the block of the next byte."""

    @property
    def remaining(self) -> int:
        """Bytes of the range that were not read yet."""

    def read_into(self, buffer: memoryview) -> int:
        """At least one byte of the range, unless it is at its end or `buffer` is empty.

        `errors.ChecksumMismatch` for a corrupt replica; any other error of howdah or of
        the system means that this replica can't be read now.
        """

    def view(self, count: int) -> memoryview | None:
        """The next `count` bytes as read-only memory that lasts, and go on behind them.

        None where this way shows no bytes where they are: `read_into` reads them.
        """

    def skip(self, count: int) -> None:
        """Go forward by `count` bytes, which must be within the range."""

    def close(self) -> None:
        """Let go of everything; safe to repeat."""


class ReaderFactory(Protocol):
    """One way to read replicas. Thread-safe."""

    def open(self, request: ReadRequest) -> ReplicaReader | None:
        """A reader; None where this way doesn't lead to the replica.

        An error means that the replica can't be read from its node now.
        """
