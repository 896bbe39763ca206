"""What the replicas of one block say together (pure).

Each replica was read by itself. A replica that does not match its own checksums is corrupt. The
others must have the same bytes. If they do not, the majority is right; if there is no majority,
the replicas are doubtful, and none of them may be given up.

The internal blocks of an erasure coded group were compared as they were read
(`howdah.client.reading.group_check`).
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from howdah.protocol.data_transfer.checksum import ChecksumType, combine


class Verdict(enum.StrEnum):
    """The verdict on a replica, or on a block without replicas."""

    SOUND = "sound"
    CORRUPT = "corrupt"
    """Its bytes don't match its checksums."""
    DIFFERENT = "different"
    """It matches its checksums, but the majority has other bytes; or it does not fit the other
    internal blocks of its group."""
    DOUBTFUL = "doubtful"
    """Replicas differ, and there is no majority; or internal blocks do not fit each other."""
    UNREADABLE = "unreadable"
    """Its datanode cannot be reached, or does not have it."""
    MISSING = "missing"
    """The namenode knows no replica of the block, or of the internal block."""


BAD = frozenset((Verdict.CORRUPT, Verdict.DIFFERENT))
"""Verdicts that may be reported to the namenode."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdicts on the replicas of one block, in their order, and the CRC of the block's
    bytes; None if it is unknown."""

    verdicts: tuple[Verdict, ...]
    crc: int | None


def judge(states: Sequence[str], crcs: Sequence[int | None]) -> Judgement:
    """Compare replicas by their states and the CRCs of the sound ones.

    >>> judge(["sound", "sound", "sound"], [5, 7, 5]).verdicts[1].value
    'different'
    """
    votes = Counter(crc for crc in crcs if crc is not None)
    ranked = votes.most_common(2)
    believed = None
    if len(ranked) == 1 or (len(ranked) == 2 and ranked[0][1] > ranked[1][1]):
        believed = ranked[0][0]
    verdicts = []
    for state, crc in zip(states, crcs, strict=True):
        if state != Verdict.SOUND:
            verdicts.append(Verdict(state))
        elif believed is None:
            verdicts.append(Verdict.DOUBTFUL)
        else:
            verdicts.append(Verdict.SOUND if crc == believed else Verdict.DIFFERENT)
    return Judgement(tuple(verdicts), believed)


def judge_group(states: Sequence[str], crcs: Sequence[int | None]) -> Judgement:
    """Take over what reading an erasure coded group has shown; each reading has the CRC of the
    group's data.

    >>> judge_group(["sound", "missing", "different"], [5, 5, 5]).verdicts[2].value
    'different'
    """
    return Judgement(tuple(Verdict(state) for state in states), crcs[0])


def file_crc(parts: Sequence[tuple[int, int, int | None]], length: int) -> int | None:
    """The CRC-32C of a file from those of its blocks; None if one is unknown.

    `parts` are offset, length and CRC of its blocks, in any order.
    """
    at = total = 0
    for offset, size, crc in sorted(parts, key=lambda part: part[0]):
        if offset != at or crc is None:
            return None
        total = combine(ChecksumType.CRC32C, total, crc, size)
        at += size
    return total if at == length else None
