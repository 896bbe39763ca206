"""The sums of a listing (pure)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums of a listing."""

    files: int = 0
    directories: int = 0
    bytes: int = 0
    largest_bytes: int = 0
    missing: int = 0
    rounds: int = 0

    @property
    def has_entries(self) -> bool:
        """Whether there is anything to copy, even an empty directory."""
        return self.files + self.directories > 0
