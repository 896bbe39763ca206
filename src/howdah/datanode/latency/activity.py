"""What a datanode has done since its start, and how long it took (shell: it reads a clock).

DataNodeMetrics in Hadoop. Each figure is a word of memory that both processes see, and that one
of them writes: the data process, or for what namenodes are told the control process, which shows
them. A write adds to numbers of its own and passes them on once a second, so
that a packet costs two looks at the clock and no lock.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Iterable
from typing import Final

FIRST: Final = 16
"""The words before are those of `memory.figures`."""
_PASS_ON_NS: Final = 1_000_000_000


class Work(enum.IntEnum):
    """What takes time: each has a number and nanoseconds, in two words."""

    ReadBlockOp = 0
    WriteBlockOp = 1
    BlockChecksumOp = 2
    CopyBlockOp = 3
    ReplaceBlockOp = 4
    DiskWrite = 5
    """Writing the packets that came together, with their checksums."""
    Fsync = 6
    """What a writer asked to be on the disk."""
    MirrorSend = 7
    """Passing packets on to the next datanode of a pipeline."""
    Heartbeats = 8
    BlockReports = 9
    IncrementalBlockReports = 10
    CacheReports = 11
    Lifelines = 12
    PacketSend = 13
    """Sending packets to those who read, with the waits for them."""


class Count(enum.IntEnum):
    """What only grows: one word each."""

    BytesRead = 0
    BytesWritten = 1
    BlocksRead = 2
    BlocksWritten = 3
    BlocksReplicated = 4
    BlocksRemoved = 5
    ControlBytesRead = 6
    """Of replicas that the control process reads from their files, for those who ask over HTTP."""
    ControlBlocksRead = 7
    ReadsFromLocalClient = 8
    """Of clients on this machine, and of others; what is told to be remote is of others."""
    ReadsFromRemoteClient = 9
    RemoteBytesRead = 10
    WritesFromLocalClient = 11
    WritesFromRemoteClient = 12
    RemoteBytesWritten = 13
    PacketsReceived = 14
    DatanodeNetworkErrors = 15
    """Operations that the far end broke off, or did not go on with, and datanodes to which packets
    could not be passed on."""
    VolumeFailures = 16
    BlocksCached = 17
    BlocksUncached = 18


_FIRST_COUNT: Final = FIRST + 2 * len(Work)
WORDS: Final = _FIRST_COUNT + len(Count)
_OF_CONTROL: Final = {
    Count.BytesRead: Count.ControlBytesRead,
    Count.BlocksRead: Count.ControlBlocksRead,
}
SHOWN: Final = tuple(counter for counter in Count if counter not in _OF_CONTROL.values())
"""What both processes have done, by the name that users know."""


class Activity:
    """Adds to the counts. Any thread may do so."""

    def __init__(
        self,
        add: Callable[[int, int], None] = lambda number, change: None,
        add_all: Callable[[Iterable[tuple[int, int]]], None] = lambda changes: None,
    ) -> None:
        """`add` changes a word, on any thread, and `add_all` several at once."""
        self._add = add
        self._add_all = add_all

    def took(self, work: Work, ns: int, number: int = 1) -> None:
        """So much was done in so many nanoseconds."""
        first = FIRST + 2 * work
        self._add(first, number)
        self._add(first + 1, ns)

    def count(self, counter: Count, change: int = 1) -> None:
        self._add(_FIRST_COUNT + counter, change)

    def sent(self, length_bytes: int, packets: int, ns: int, *, is_local: bool) -> None:
        """A read was answered by so many packets, for a client on this machine or not."""
        packet_send = FIRST + 2 * Work.PacketSend
        changes = [
            (_FIRST_COUNT + Count.BytesRead, length_bytes),
            (_FIRST_COUNT + Count.BlocksRead, 1),
            (packet_send, packets),
            (packet_send + 1, ns),
        ]
        if is_local:
            changes.append((_FIRST_COUNT + Count.ReadsFromLocalClient, 1))
        else:
            changes.append((_FIRST_COUNT + Count.ReadsFromRemoteClient, 1))
            changes.append((_FIRST_COUNT + Count.RemoteBytesRead, length_bytes))
        self._add_all(changes)

    def received(self, length_bytes: int, *, is_local: bool) -> None:
        """A write came to its end."""
        if is_local:
            self._add(_FIRST_COUNT + Count.WritesFromLocalClient, 1)
        else:
            self._add(_FIRST_COUNT + Count.WritesFromRemoteClient, 1)
            self._add(_FIRST_COUNT + Count.RemoteBytesWritten, length_bytes)


class Tally:
    """What one thread does often, on its way to the figures."""

    __slots__ = (
        "_activity",
        "_bytes",
        "_number",
        "_of_bytes",
        "_passed_on_ns",
        "_total_ns",
        "_work",
    )

    def __init__(self, activity: Activity, work: Work, of_bytes: Count | None = None) -> None:
        self._activity = activity
        self._work = work
        self._of_bytes = of_bytes
        self._number = self._total_ns = self._bytes = 0
        self._passed_on_ns = time.perf_counter_ns()

    def add(self, began_ns: int, length_bytes: int = 0) -> None:
        """One more ends now."""
        now_ns = time.perf_counter_ns()
        self._number += 1
        self._total_ns += now_ns - began_ns
        self._bytes += length_bytes
        if now_ns - self._passed_on_ns > _PASS_ON_NS:
            self._passed_on_ns = now_ns
            self.pass_on()

    def pass_on(self) -> None:
        """Have the figures include everything up to now."""
        if self._number:
            self._activity.took(self._work, self._total_ns, self._number)
        if self._of_bytes is not None and self._bytes:
            self._activity.count(self._of_bytes, self._bytes)
        self._number = self._total_ns = self._bytes = 0


def read_work(figure: Callable[[int], int], work: Work) -> tuple[int, int]:
    """How often, and nanoseconds. `figure` reads a word."""
    first = FIRST + 2 * work
    return figure(first), figure(first + 1)


def read_count(figure: Callable[[int], int], counter: Count) -> int:
    """Return the count of both processes together, where the control process has a word of its
    own."""
    own = figure(_FIRST_COUNT + counter)
    return own + figure(_FIRST_COUNT + _OF_CONTROL[counter]) if counter in _OF_CONTROL else own
