"""Listings of several destinations and of mount points as one (pure).

Each destination lists up to a page of names, in the order of their bytes, and says how many
are left. Names behind the last one of a page that is not the end are held back, so that the
next page, which starts after the last name of this one, misses none. A mount point hides a
directory of the same name.

Hadoop's namenodes compare bytes as signed numbers, ours as unsigned ones. The next page is what
a destination has behind a name in its own order, so its pages are merged in that. Which one it is
the names of a page tell as a rule. Where each page has names of one kind alone, they do not, and
the destination is asked.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some entries of a listing by their names, in order, and how many names are behind them."""

    entries: Sequence[tuple[bytes, T]]
    remaining: int = 0


class NameOrder(enum.Enum):
    """How a namenode compares the bytes of names."""

    UNSIGNED = enum.auto()
    """As howdah's do."""
    SIGNED = enum.auto()
    """As Hadoop's do."""

    def sort_key(self, name: bytes) -> bytes:
        """Return what sorts as names do in this order."""
        return name if self is NameOrder.UNSIGNED else name.translate(_SIGN)


def order_seen(
    pages: Sequence[Page[T]], mounts: Collection[bytes], start_after: bytes
) -> NameOrder | None:
    """The order that the names of the pages are in; None where they do not tell, and it matters.

    Pages that are in both orders do not tell. That matters if the names of all of them together
    would not be in both, and some of these may be held back or have been listed.
    """
    is_unsigned = False
    for page in pages:
        names = [start_after, *(name for name, _ in page.entries)]
        if not _is_in(NameOrder.UNSIGNED, names):
            return NameOrder.SIGNED
        is_unsigned = is_unsigned or not _is_in(NameOrder.SIGNED, names)
    is_whole = not (any(page.remaining for page in pages) or (mounts and start_after))
    if is_unsigned or is_whole:
        return NameOrder.UNSIGNED
    whole = sorted({start_after, *mounts, *(name for page in pages for name, _ in page.entries)})
    return NameOrder.UNSIGNED if _is_in(NameOrder.SIGNED, whole) else None


def _is_in(order: NameOrder, names: Sequence[bytes]) -> bool:
    places = [order.sort_key(name) for name in names]
    return all(before <= after for before, after in pairwise(places))


def merged(
    pages: Iterable[Page[T]],
    mounts: Mapping[bytes, T],
    start_after: bytes,
    order: NameOrder | None = None,
) -> Page[T]:
    """Merge all pages into one. The first of several entries with one name counts. `order` is that
    of the pages, where it is known; else what they show."""
    pages = list(pages)
    if len(pages) == 1 and not mounts:
        return pages[0]
    place = (order or order_seen(pages, mounts, start_after) or NameOrder.UNSIGNED).sort_key
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


_SIGN: Final = bytes(number ^ 0x80 for number in range(256))
