"""What one input stream has read, and from where."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

from howdah.client.reading.readers import ReadSource
from howdah.client.statistics import Count, Tally


@dataclass(frozen=True, slots=True)
class ReadStatistics:
    """Counts of one stream since it was opened.

    As Hadoop's client counts: every byte is either remote or local, and those that
    came past the datanode are among the local ones. `retries` are replicas that
    failed and were replaced by another, or tried again.
    """

    total_bytes: int = 0
    remote_bytes: int = 0
    local_bytes: int = 0
    short_circuit_bytes: int = 0
    hedged_reads: int = 0
    hedged_wins: int = 0
    retries: int = 0


_SOURCES: Final = len(ReadSource)


class ReadCounter:
    """The counts while they grow. Thread-safe."""

    def __init__(self, tally: Tally | None = None) -> None:
        """`tally` is that of the client, in which all streams count."""
        self._tally = tally or Tally()
        self._lock = threading.Lock()
        self._bytes = [0] * _SOURCES
        self._hedged_reads = 0
        self._hedged_wins = 0
        self._retries = 0

    def forked(self) -> None:
        """A child's copy has a lock of its own."""
        self._lock = threading.Lock()

    def read(self, source: ReadSource, count: int) -> None:
        self._tally.add(Count.BYTES_READ, count)
        with self._lock:
            self._bytes[source] += count

    def hedged(self) -> None:
        """A second replica was asked because the first one is slow."""
        with self._lock:
            self._hedged_reads += 1

    def hedge_won(self) -> None:
        """It was the faster one."""
        with self._lock:
            self._hedged_wins += 1

    def retried(self) -> None:
        with self._lock:
            self._retries += 1

    def snapshot(self) -> ReadStatistics:
        with self._lock:
            past_datanode = self._bytes[ReadSource.SHORT_CIRCUIT]
            local = self._bytes[ReadSource.LOCAL] + past_datanode
            remote = self._bytes[ReadSource.REMOTE]
            return ReadStatistics(
                total_bytes=local + remote,
                remote_bytes=remote,
                local_bytes=local,
                short_circuit_bytes=past_datanode,
                hedged_reads=self._hedged_reads,
                hedged_wins=self._hedged_wins,
                retries=self._retries,
            )
