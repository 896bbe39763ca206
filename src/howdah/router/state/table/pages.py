"""Listings of several destinations and of mount points as one (pure).

Each destination lists up to a page of names, in the order of their bytes, and says how many
are left. Names behind the last one of a page that is not the end are held back, so that the
next page, which starts after the last name of this one, misses none. A mount point hides a
directory of the same name.

Hadoop's namenodes compare bytes as signed numbers, ours as unsigned ones. The next page is what
a destination has behind a name in its own order, so its pages are merged in that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some entries of a listing by their names, in order, and how many names are behind them."""

    entries: Sequence[tuple[bytes, T]]
    remaining: int = 0


def merged(pages: Iterable[Page[T]], mounts: Mapping[bytes, T], start_after: bytes) -> Page[T]:
    """Merge all pages into one. The first of several entries with one name counts."""
    pages = list(pages)
    if len(pages) == 1 and not mounts:
        return pages[0]
    place = _place_of_names(pages, start_after)
    ends = [page.entries[-1][0] for page in pages if page.remaining and page.entries]
    end = min(map(place, ends), default=None)
    entries: dict[bytes, T] = {}
    remaining = 0
    for page in pages:
        remaining += page.remaining
        for name, entry in page.entries:
            if end is not None and place(name) > end:
                remaining += 1
            else:
                entries.setdefault(name, entry)
    for name, entry in mounts.items():
        if place(name) <= place(start_after):
            continue
        if end is not None and place(name) > end:
            remaining += 1
        else:
            entries[name] = entry
    return Page(sorted(entries.items(), key=lambda item: place(item[0])), remaining)


def _place_of_names(pages: Iterable[Page[T]], start_after: bytes) -> Callable[[bytes], bytes]:
    """What is in order as the names of these pages are: the names, or as signed numbers."""
    for page in pages:
        last = start_after
        for name, _ in page.entries:
            if name < last:
                return _signed
            last = name
    return bytes


_SIGN: Final = bytes(number ^ 0x80 for number in range(256))


def _signed(name: bytes) -> bytes:
    return name.translate(_SIGN)
