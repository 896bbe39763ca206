"""What a journal says of itself, for pages and monitoring (pure)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Figures:
    """What the pages show, since the start."""

    batches_written: int = 0
    transactions_written: int = 0
    bytes_written: int = 0
    batches_written_lagging: int = 0
    segments_synced: int = 0
    cache_misses: int = 0
    last_write_ms: int = 0
    """By the clock on the wall; 0 if nothing was written."""


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
