"""Whether a file is copied, and why (pure; `canSkip` of Hadoop's CopyMapper).

Without `-update` and `-overwrite` a file that exists at the target is skipped, as in Hadoop.
With `-update` a file is skipped only if there is evidence that it is the same:

1. Lengths differ, or block sizes where these are preserved: it is copied.
2. Both are empty: it is skipped.
3. Both have a checksum of the same algorithm: the checksums decide. They are composite CRCs
   unless configured otherwise, and these do not depend on block sizes.
4. No checksums to compare, or `-skipcrccheck`: it is skipped if the target was modified last. So
   a file that was changed after it was copied is copied again, even with the same length. A
   source without a modification time (0) is copied, and so is one that a snapshot report names,
   as a file that is restored is older than the one that it replaces.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

from howdah.copy.options import Attribute, Options


class Action(enum.Enum):
    SKIP = "skip"
    COPY = "copy"
    APPEND = "append"


class Reason(enum.Enum):
    """Why a file is copied or not, in the words of logs and dry runs."""

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
    NO_TIME = "the source has no modification time"
    REPORTED = "changed between the snapshots"
    PREFIX = "the target is the beginning of the source"


@dataclass(frozen=True, slots=True)
class FileVersion:
    """The properties of a file that are compared."""

    length: int
    modification_time_ms: int
    block_size: int


@dataclass(frozen=True, slots=True)
class Decision:
    action: Action
    reason: Reason


Checksums = Callable[[int | None], bool | None]
"""Compares the checksum of the source's first bytes (all if None) with that of the target;
None if they cannot be compared."""


def decide(
    source: FileVersion, target: FileVersion | None, options: Options, checksums: Checksums
) -> Decision:
    """Decide what to do with a file. `checksums` is called only if it is needed."""
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
    if options.by_snapshots or not options.compares_times:
        return Decision(Action.COPY, Reason.REPORTED)
    if source.modification_time_ms <= 0:
        return Decision(Action.COPY, Reason.NO_TIME)
    if source.modification_time_ms > target.modification_time_ms:
        return Decision(Action.COPY, Reason.NEWER)
    return Decision(Action.SKIP, Reason.NOT_NEWER)
