"""Which of several destinations comes first (pure). Hadoop: the resolvers in resolver.order.

The first destination is where a new file is made, and where a file is looked for first. The
hash is Hadoop's: a ring with a hundred points for each nameservice, by MD5, so that Hadoop's
routers and these find the same first destination. Names of files that are to be renamed
(`._COPYING_`, `_temporary/…`) hash as what they will be called.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from howdah.router.state.table.mount_table import Location, Order, Resolution

POINTS: Final = 100
"""Of each nameservice on the ring."""

_UUID: Final = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_ATTEMPT: Final = r"attempt_\d+_\d{4}_._\d{6}_\d{2}"
_TEMPORARY: Final = re.compile(
    "|".join(
        (
            r"(.+)\.COPYING$",
            r"(.+)\._COPYING_.*$",
            r"(.+)\.tmp$",
            r"_temp/(.+)$",
            rf"_temporary/(.+)\.{_UUID}$",
            rf"(.*)_temporary/\d/_temporary/{_ATTEMPT}/(.+)$",
        )
    )
)


def final_name(path: str) -> str:
    """Return the final name of a file that has a temporary one.

    >>> final_name("/data/a.csv._COPYING_")
    '/data/a.csv'
    """
    match = _TEMPORARY.search(path)
    if match is None:
        return path
    return "".join(group for group in match.groups() if group) or path


@lru_cache(1024)
def _ring(nameservices: frozenset[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    points = {
        _digest(f"{nameservice}/{n}"): nameservice
        for nameservice in nameservices
        for n in range(POINTS)
    }
    hashes = tuple(sorted(points))
    return hashes, tuple(points[digest] for digest in hashes)


def _digest(text: str) -> str:
    return hashlib.md5(text.encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()


def hashed(item: str, nameservices: Iterable[str]) -> str:
    """The nameservice whose point on the ring is the item's, or the next one."""
    hashes, owners = _ring(frozenset(nameservices))
    return owners[bisect_left(hashes, _digest(item)) % len(owners)]


def first_level(path: str, source: str) -> str:
    """The path up to the name right below the mount point."""
    rest = path[len(source.rstrip("/")) :].lstrip("/")
    name = rest.partition("/")[0]
    return f"{source.rstrip('/')}/{name}" if name else source


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What orders go by, besides the path: `draw` is by chance, in [0, 1)."""

    draw: float = 0.0
    near: Sequence[frozenset[str]] = ()
    """Nameservices with a server on the caller's machine, the nearest group first."""
    available_bytes: Mapping[str, int] = field(default_factory=dict)


def first_nameservice(resolution: Resolution, around: Surroundings) -> str:
    """The nameservice that the order of the entry puts first."""
    names = list(dict.fromkeys(location.nameservice for location in resolution.locations))
    entry = resolution.entry
    if entry is None or len(names) == 1:
        return names[0]
    match entry.order:
        case Order.HASH:
            return hashed(final_name(first_level(resolution.path, entry.source)), names)
        case Order.HASH_ALL:
            return hashed(final_name(resolution.path), names)
        case Order.RANDOM:
            return names[int(around.draw * len(names))]
        case Order.SPACE:
            return max(names, key=lambda name: around.available_bytes.get(name, -1))
        case Order.LOCAL:
            local = [name for group in around.near for name in names if name in group]
            return local[0] if local else names[int(around.draw * len(names))]
        case Order.LEADER_FOLLOWER:
            return names[0]


def ordered(resolution: Resolution, around: Surroundings) -> tuple[Location, ...]:
    """The locations with the first one in front; the others stay as they were written."""
    locations = resolution.locations
    if len(locations) < 2:
        return locations
    first = first_nameservice(resolution, around)
    front = [location for location in locations if location.nameservice == first]
    return (*front, *(location for location in locations if location.nameservice != first))
