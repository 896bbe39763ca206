"""The names of a mirror's snapshots (pure).

    howdah-mirror-0123abcd-20260102T030405.678Z

The middle names the pair of directories, in whichever direction it is mirrored; the end is a time,
so names sort as the snapshots were made. A snapshot has the same name on both sides, and a name is
given once. At the target there are two more kinds, which readers ignore:

* `NAME.unchecked` was taken when all was copied, and is compared before it gets its name.
* `NAME.reverted` was taken when the target was reverted to NAME, and replaces NAME.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

PREFIX: Final = "howdah-mirror-"
DIVERGED: Final = "howdah-diverged-"
"""Of snapshots that keep what a target had before it was reverted."""
UNCHECKED: Final = ".unchecked"
REVERTED: Final = ".reverted"
_KEY_CHARS: Final = 8
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FORM: Final = re.compile(
    re.escape(PREFIX)
    + r"(?P<key>[0-9a-f]{8})-(?P<time>\d{8}T\d{6}\.\d{3})Z"
    + rf"(?P<end>|{re.escape(UNCHECKED)}|{re.escape(REVERTED)})"
)
_TIME_FORM: Final = "%Y%m%dT%H%M%S.%f"


def key_of(one: str, other: str) -> str:
    """The key of a pair of directories: equal in both directions."""
    text = "\0".join(sorted((one, other)))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:_KEY_CHARS]


def name_at(key: str, time_ms: int) -> str:
    """The name of a snapshot that is made at a time.

    >>> name_at("0123abcd", 1_767_323_045_678)
    'howdah-mirror-0123abcd-20260102T030405.678Z'
    """
    return f"{PREFIX}{key}-{_time_text(time_ms)}"


def diverged_name_at(key: str, time_ms: int) -> str:
    """The name of a snapshot that keeps what a target had before it was reverted."""
    return f"{DIVERGED}{key}-{_time_text(time_ms)}"


def time_ms_of(name: str) -> int:
    """The time in a snapshot's name.

    >>> time_ms_of(name_at("0123abcd", 1_767_323_045_678))
    1767323045678
    """
    found = _FORM.fullmatch(name)
    assert found is not None, f"{name} is not the name of a mirror's snapshot"
    made = datetime.strptime(found["time"], _TIME_FORM).replace(tzinfo=UTC)
    return (made - _EPOCH) // timedelta(milliseconds=1)


def next_name(key: str, now_ms: int, given: Iterable[str]) -> str:
    """A name that sorts behind all that were given, also if the clock went back."""
    newest_ms = max((time_ms_of(name) for name in given), default=0)
    return name_at(key, max(now_ms, newest_ms + 1))


def own(names: Iterable[str], key: str, end: str = "") -> tuple[str, ...]:
    """Those of a directory's snapshots that are this mirror's, sorted, without their `end`.

    >>> own(["other", name_at("0123abcd", 0) + UNCHECKED], "0123abcd", UNCHECKED)
    ('howdah-mirror-0123abcd-19700101T000000.000Z',)
    """
    found = []
    for name in names:
        match = _FORM.fullmatch(name)
        if match is not None and (match["key"], match["end"]) == (key, end):
            found.append(name.removesuffix(end))
    return tuple(sorted(found))


def _time_text(time_ms: int) -> str:
    made = _EPOCH + timedelta(milliseconds=time_ms)
    return f"{made:%Y%m%dT%H%M%S}.{time_ms % 1000:03}Z"
