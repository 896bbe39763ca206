"""How files of a bucket are written and read, whatever protocol its store speaks."""

from __future__ import annotations

from dataclasses import dataclass

from howdah.fs.objects.read_plan import Manner
from howdah.fs.objects.retrying import RetryRules


@dataclass(frozen=True, slots=True)
class Tuning:
    """Sizes in bytes. The settings of each kind of store are one of these."""

    bucket: str
    connections: int
    connect_timeout_s: float
    read_timeout_s: float
    """A time-out of 0 is for ever."""
    retries: RetryRules
    page_keys: int
    delete_keys: int
    threads: int
    active_parts: int
    part_bytes: int
    copy_part_bytes: int
    copy_threshold_bytes: int
    """What is larger is copied in parts."""
    readahead_bytes: int
    vectored_gap_bytes: int
    vectored_read_bytes: int
    detects_changes: bool
    warns_of_changes: bool
    by_version: bool
    with_checksums: bool
    manner: Manner = Manner.LEARNT
    """How files are read."""
    looks_at_create: bool = True
    """Whether the store is asked what is there before a file is written."""

    @property
    def is_compared_by_store(self) -> bool:
        """Whether each request says which object it means, so that the store compares; else
        its answers are compared."""
        return self.detects_changes and not self.warns_of_changes

    @property
    def needs_version(self) -> bool:
        """Whether a file without a version is not opened."""
        return False
