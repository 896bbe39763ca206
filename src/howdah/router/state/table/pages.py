"""Listings of several destinations and of mount points as one (pure).

Each destination lists up to a page of names, in the order of their bytes, and says how many
are left. Names behind the last one of a page that is not the end are held back, so that the
next page, which starts after the last name of this one, misses none. A mount point hides a
directory of the same name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some entries of a listing by their names, in order, and how many names are behind them."""

    entries: Sequence[tuple[bytes, T]]
    remaining: int = 0


def merged(pages: Iterable[Page[T]], mounts: Mapping[bytes, T], start_after: bytes) -> Page[T]:
    """Merge all pages into one. The first of several entries with one name counts."""
    pages = list(pages)
    ends = [page.entries[-1][0] for page in pages if page.remaining and page.entries]
    end = min(ends, default=None)
    entries: dict[bytes, T] = {}
    remaining = 0
    for page in pages:
        remaining += page.remaining
        for name, entry in page.entries:
            if end is not None and name > end:
                remaining += 1
            else:
                entries.setdefault(name, entry)
    for name, entry in mounts.items():
        if name <= start_after:
            continue
        if end is not None and name > end:
            remaining += 1
        else:
            entries[name] = entry
    return Page(sorted(entries.items(), key=lambda item: item[0]), remaining)
