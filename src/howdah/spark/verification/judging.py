"""What the replicas of one block say together (pure).

Each replica was read by itself. Those that don't match their own checksums are corrupt.
Of those that do, all have to have the same bytes; where they haven't, the larger half
is believed, and where there is no larger half nobody is: the block is in doubt, and
no replica of it may be given up.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from howdah.transfer.checksum import ChecksumType, combine


class Verdict(enum.StrEnum):
    """What is said of a replica, or of a block that has none."""

    SOUND = "sound"
    CORRUPT = "corrupt"
    """Its bytes don't match its checksums."""
    DIFFERENT = "different"
    """It matches its checksums, but most others have other bytes."""
    DOUBTFUL = "doubtful"
    """Replicas differ, and nobody can say which is right."""
    UNREADABLE = "unreadable"
    """Its datanode can't be reached, or hasn't got it."""
    MISSING = "missing"
    """No datanode is known to have a replica of the block."""


BAD = frozenset((Verdict.CORRUPT, Verdict.DIFFERENT))
"""Those that the namenode may be told of."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Of the replicas of one block, in the order in which they were given; and the CRC
    of the block's bytes, None where there is no saying."""

    verdicts: tuple[Verdict, ...]
    crc: int | None


def judge(states: Sequence[str], crcs: Sequence[int | None]) -> Judgement:
    """Compare replicas: their states as they were read, and the CRCs of the sound ones.

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


def file_crc(parts: Sequence[tuple[int, int, int | None]], length: int) -> int | None:
    """The CRC-32C of a file's bytes from those of its blocks; None if it isn't known of all.

    `parts` are offset, length and CRC of its blocks, in any order.
    """
    at = total = 0
    for offset, size, crc in sorted(parts, key=lambda part: part[0]):
        if offset != at or crc is None:
            return None
        total = combine(ChecksumType.CRC32C, total, crc, size)
        at += size
    return total if at == length else None
