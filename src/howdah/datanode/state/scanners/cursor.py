"""Where on a volume the verification of a block pool is: `scanner.cursor` (pure).

FsVolumeImpl.BlockIteratorImpl in Hadoop. The file is JSON, beside the VERSION's `current` of
the block pool's directory, and has Hadoop's fields: a datanode of either kind goes on where
the other one was. Block files are visited in the order of their directories' names and then
of their own, compared as text. So a block that comes into a directory that is done is
verified in the next round, and one that goes is no obstacle.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from howdah import errors
from howdah.datanode.state.volumes import block_files

FILE_NAME: Final = "scanner.cursor"
MAX_BYTES: Final = 4096
_DIRECTORY = re.compile(r"subdir\d{1,10}")

Listing = Callable[[tuple[str, ...]], Iterable[str]]
"""The names in a directory below `finalized`; none where it is gone. May raise `OSError`."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """The block file that was visited last. Times are Unix milliseconds."""

    round_began_ms: int
    saved_ms: int
    directory: str | None = None
    subdirectory: str | None = None
    entry: str | None = None
    at_end: bool = False

    @property
    def block_id(self) -> int | None:
        return None if self.entry is None else block_files.parse_block_file_name(self.entry)

    def rewound(self, now_ms: int) -> Cursor:
        """A new round begins."""
        return Cursor(now_ms, self.saved_ms)


def following(cursor: Cursor, listing: Listing) -> Cursor:
    """At the next block file, or at the end. Raises what `listing` does."""
    directory, subdirectory, entry = cursor.directory, cursor.subdirectory, cursor.entry
    while True:
        if directory is not None and subdirectory is not None:
            names = [name for name in listing((directory, subdirectory)) if _is_block(name)]
            entry = _next(names, entry)
            if entry is not None:
                return replace(cursor, directory=directory, subdirectory=subdirectory, entry=entry)
        if directory is not None:
            names = [name for name in listing((directory,)) if _DIRECTORY.fullmatch(name)]
            subdirectory = _next(names, subdirectory)
            if subdirectory is not None:
                continue
        directory = _next([name for name in listing(()) if _DIRECTORY.fullmatch(name)], directory)
        if directory is None:
            return replace(cursor, directory=None, subdirectory=None, entry=None, at_end=True)


def _is_block(name: str) -> bool:
    return block_files.parse_block_file_name(name) is not None


def _next(names: Iterable[str], before: str | None) -> str | None:
    ordered = sorted(names)
    index = 0 if before is None else bisect_right(ordered, before)
    return ordered[index] if index < len(ordered) else None


def encode(cursor: Cursor) -> bytes:
    fields = {
        "lastSavedMs": cursor.saved_ms,
        "iterStartMs": cursor.round_began_ms,
        "curFinalizedDir": cursor.directory,
        "curFinalizedSubDir": cursor.subdirectory,
        "curEntry": cursor.entry,
        "atEnd": cursor.at_end,
    }
    return json.dumps(fields, indent=2).encode() + b"\n"


def decode(data: bytes) -> Cursor:
    """`MalformedText` for what is no cursor: the verification begins anew then."""
    try:
        fields = json.loads(data[: MAX_BYTES + 1]) if len(data) <= MAX_BYTES else None
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise errors.MalformedText(f"no cursor: {data[:80]!r}")
    return Cursor(
        _time(fields, "iterStartMs"),
        _time(fields, "lastSavedMs"),
        _name(fields, "curFinalizedDir", _is_directory),
        _name(fields, "curFinalizedSubDir", _is_directory),
        _name(fields, "curEntry", _is_block),
        fields.get("atEnd") is True,
    )


def _is_directory(name: str) -> bool:
    # They become parts of a path.
    return _DIRECTORY.fullmatch(name) is not None


def _time(fields: dict[str, object], name: str) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise errors.MalformedText(f"no cursor: {name} is {value!r:.80}")
    return value


def _name(fields: dict[str, object], name: str, is_right: Callable[[str], bool]) -> str | None:
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not is_right(value):
        raise errors.MalformedText(f"no cursor: {name} is {value!r:.80}")
    return value
