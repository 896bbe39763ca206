"""Which reads a vectored read comes down to (pure).

Mirrors the rules of Hadoop's vectored reads: ranges are sorted, and those that lie
close to each other become one read, for a gap that is read for nothing costs less than
another request. A merged read stays below a limit, so that a long row of ranges is
still read by several threads side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from howdah.options import FileRange


@dataclass(frozen=True, slots=True)
class MergeRules:
    """`min_seek_bytes`: gaps below it are read over. `max_merged_bytes`: what one read
    may grow to by merging; 0 merges nothing. A single range may be larger."""

    min_seek_bytes: int
    max_merged_bytes: int


# What Hadoop's filesystems do unless they say otherwise.
DEFAULT_RULES = MergeRules(4 * 1024, 1024 * 1024)


@dataclass(frozen=True, slots=True)
class MergedRead:
    """One read; `parts` are the indices of the ranges that it serves."""

    offset: int
    length: int
    parts: tuple[int, ...]

    @property
    def end(self) -> int:
        return self.offset + self.length


def merge(ranges: Sequence[FileRange], rules: MergeRules) -> list[MergedRead]:
    """Return the reads, by offset; `ranges` were checked and do not overlap. Empty ones need
    none."""
    order = sorted(
        (index for index, file_range in enumerate(ranges) if file_range.length),
        key=lambda index: ranges[index].offset,
    )
    merged: list[MergedRead] = []
    for index in order:
        wanted = ranges[index]
        last = merged[-1] if merged else None
        if (
            last is not None
            and wanted.offset - last.end < rules.min_seek_bytes
            and wanted.end - last.offset <= rules.max_merged_bytes
        ):
            merged[-1] = MergedRead(last.offset, wanted.end - last.offset, (*last.parts, index))
        else:
            merged.append(MergedRead(wanted.offset, wanted.length, (index,)))
    return merged
