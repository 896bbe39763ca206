"""What erasure coding is: a name that files have from their creation on, by their directory.

A file that is coded has groups for blocks, which take more than they are long: their last stripe
has parity as long as its first cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from howdah.model.entries import ROOT, Entry, Refused, parent_of

REPLICATION = "replication"
"""Set on a directory in whose files are replicated, whatever is above."""


@dataclass(frozen=True, slots=True)
class Coding:
    """So many cells are a stripe, with so many of parity."""

    data: int
    parity: int
    cell_bytes: int

    def space(self, length_bytes: int) -> int:
        """What a group of that length takes."""
        stripe = self.data * self.cell_bytes
        parity = length_bytes // stripe * self.cell_bytes
        parity += min(length_bytes % stripe, self.cell_bytes)
        return length_bytes + self.parity * parity

    def space_of_open(self, block_size_bytes: int) -> int:
        """What a group counts for that is being written."""
        return (self.data + self.parity) * block_size_bytes


def coding_of_new(entries: Mapping[str, Entry], directory: str) -> str:
    """Return how a file is coded that is made in a directory: as the nearest one that says it."""
    while not entries[directory].coding and directory != ROOT:
        directory = parent_of(directory)
    name = entries[directory].coding
    return "" if name == REPLICATION else name


class Codings:
    """A part of `ModelNamespace`: giving codings to directories."""

    entries: dict[str, Entry]
    codings: Mapping[str, Coding]
    enabled: frozenset[str]

    def _existing(self, path: str) -> Entry:
        raise NotImplementedError

    def set_coding(self, path: str, name: str) -> None:
        if name != REPLICATION and name not in self.enabled:
            raise Refused("not enabled")
        entry = self._existing(path)
        if not entry.is_directory:
            raise Refused("a file")
        self.entries[path] = replace(entry, coding=name)

    def unset_coding(self, path: str) -> None:
        entry = self._existing(path)
        if not entry.is_directory:
            raise Refused("a file")
        if not entry.coding:
            raise Refused("not coded")
        self.entries[path] = replace(entry, coding="")
