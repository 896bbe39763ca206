"""What reading a replica, or an internal block of an erasure coded group, has shown (pure)."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from howdah import errors


class ReplicaState(enum.Enum):
    """What was found of a replica. The values are what reports say."""

    SOUND = "sound"
    CORRUPT = "corrupt"
    """Its bytes don't match its checksums."""
    UNREADABLE = "unreadable"
    """Its datanode can't be reached, hasn't got it, or ended early."""
    DIFFERENT = "different"
    """Its bytes match its checksums, but do not fit the other internal blocks of the group."""
    DOUBTFUL = "doubtful"
    """The internal blocks of the group do not fit each other, and too few are left to know which
    ones are wrong."""
    MISSING = "missing"
    """The namenode knows no node that has this internal block."""


@dataclass(frozen=True, slots=True)
class ReplicaFinding:
    """What one reading showed: `crc` is the CRC-32C of all its bytes, None unless SOUND."""

    state: ReplicaState
    crc: int | None = None
    message: str = ""


def failed_reading(error: errors.HowdahError | OSError) -> ReplicaFinding:
    """Return what an error says of the replica that was read."""
    if isinstance(error, errors.ChecksumMismatch):
        return ReplicaFinding(ReplicaState.CORRUPT, None, str(error))
    return ReplicaFinding(ReplicaState.UNREADABLE, None, str(error))
