"""Whether a file has to be copied, and why (pure).

Without `-update` and `-overwrite` whatever is at the target stays, as in Hadoop. With
`-update` a file is left out only if there is a reason to believe that it is the same:

1. Another length, or another block size where that is preserved: not the same.
2. Both empty: the same.
3. Checksums of one kind: they decide. They are composite CRCs unless configured
   otherwise, which don't depend on block sizes.
4. No checksums to compare, or `-skipcrccheck`: the same if the target was changed last,
   so a file that is changed after it was copied is copied again, whatever its length.
   A source of which nobody knows when it was changed (time 0) is copied, and so is one
   that a report on snapshots names: what is put back is older than what it replaces.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

from howdah.spark.copy.options import Attribute, Options


class Action(enum.Enum):
    SKIP = "skip"
    COPY = "copy"
    APPEND = "append"


class Reason(enum.Enum):
    """Why a file is copied or not, as it is told."""

    ABSENT = "not at the target"
    EXISTS = "exists at the target"
    OVERWRITE = "overwritten as asked for"
    LENGTH = "lengths differ"
    BLOCK_SIZE = "block sizes differ"
    EMPTY = "both are empty"
    CHECKSUM_EQUAL = "checksums are equal"
    CHECKSUM_DIFFERS = "checksums differ"
    NOT_NEWER = "lengths are equal, and the source is not newer"
    NEWER = "the source is newer"
    UNTOLD = "nothing tells whether it has changed"
    REPORTED = "changed between the snapshots"
    PREFIX = "the target is the beginning of the source"


@dataclass(frozen=True, slots=True)
class FileVersion:
    """What is compared of a file."""

    length: int
    modification_time_ms: int
    block_size: int


@dataclass(frozen=True, slots=True)
class Decision:
    action: Action
    reason: Reason


Checksums = Callable[[int | None], bool | None]
"""Compares the checksum of the source's first bytes (of all if None) with the target's:
None if they can't be compared."""


def decide(
    source: FileVersion, target: FileVersion | None, options: Options, checksums: Checksums
) -> Decision:
    """What to do with a file; `checksums` is called only where it matters."""
    if target is None:
        return Decision(Action.COPY, Reason.ABSENT)
    if options.overwrite:
        return Decision(Action.COPY, Reason.OVERWRITE)
    if not options.update:
        return Decision(Action.SKIP, Reason.EXISTS)
    if source.length != target.length:
        longer = options.append and 0 < target.length < source.length
        if longer and checksums(target.length):
            return Decision(Action.APPEND, Reason.PREFIX)
        return Decision(Action.COPY, Reason.LENGTH)
    if source.length == 0:
        return Decision(Action.SKIP, Reason.EMPTY)
    if Attribute.BLOCK_SIZE in options.preserve and source.block_size != target.block_size:
        return Decision(Action.COPY, Reason.BLOCK_SIZE)
    equal = None if options.skip_crc else checksums(None)
    if equal is not None:
        return (
            Decision(Action.SKIP, Reason.CHECKSUM_EQUAL)
            if equal
            else Decision(Action.COPY, Reason.CHECKSUM_DIFFERS)
        )
    if options.by_snapshots:
        return Decision(Action.COPY, Reason.REPORTED)
    if source.modification_time_ms <= 0:
        return Decision(Action.COPY, Reason.UNTOLD)
    if source.modification_time_ms > target.modification_time_ms:
        return Decision(Action.COPY, Reason.NEWER)
    return Decision(Action.SKIP, Reason.NOT_NEWER)
