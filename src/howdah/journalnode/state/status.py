"""What a journal says of itself, for pages and monitoring (pure)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from howdah.formats.version import JournalVersion
from howdah.runtime.metrics.histogram import Times
from howdah.runtime.metrics.quantiles import Quantiles

INTERVALS_S: Final = (60, 300, 3600)
"""Of which percentiles are told, as Hadoop's JournalMetrics does."""


@dataclass(slots=True)
class JournalMetrics:
    """What the pages show, since the start. Changed with the journal's lock held."""

    batches_written: int = 0
    transactions_written: int = 0
    bytes_written: int = 0
    batches_written_lagging: int = 0
    segments_synced: int = 0
    cache_misses: int = 0
    missed_transactions: int = 0
    """How many transactions before the oldest in memory were asked for, in all misses."""
    empty_answers: int = 0
    transactions_told: int = 0
    bytes_told: int = 0
    """By `getJournaledEdits`."""
    syncs: Times = field(default_factory=Times)
    """Writing a batch and having it on the disk."""
    latencies: tuple[Quantiles, ...] = ()
    """Of the same, in microseconds, by interval."""
    last_write_ms: int = 0
    """By the clock on the wall; 0 if nothing was written."""

    def synced(self, ns: int, now_s: float) -> None:
        self.syncs.add(ns)
        for latency in self.latencies:
            latency.add(ns // 1000, now_s)

    def count_edits(self, count: int, length_bytes: int) -> None:
        self.empty_answers += not count
        self.transactions_told += count
        self.bytes_told += length_bytes


@dataclass(frozen=True, slots=True)
class Status:
    """Where a journal stands; `trouble` says why it cannot be used."""

    journal_id: str
    promised_epoch: int = 0
    writer_epoch: int = 0
    committed_txid: int = 0
    highest_txid: int = 0
    missing_count: int = 0
    """Transactions that journal sync is to bring."""
    is_joining: bool = False
    """It has no vote yet."""
    trouble: str = ""
    version: JournalVersion | None = None
