"""Which volume gets a new replica, by Hadoop's policies (pure).

RoundRobinVolumeChoosingPolicy: each in turn that has room, with `additional_bytes` to spare.

AvailableSpaceVolumeChoosingPolicy: while all are about equally empty, each in turn. Otherwise
those within `threshold_bytes` of the fullest are the low ones, the others the high ones. A
replica goes to a high one with a probability that makes every high volume `fraction` to
`1 - fraction` times as likely as a low one; and always if no low one has room for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

ROUND_ROBIN: Final = (
    "org.apache.hadoop.hdfs.server.datanode.fsdataset.RoundRobinVolumeChoosingPolicy"
)
AVAILABLE_SPACE: Final = (
    "org.apache.hadoop.hdfs.server.datanode.fsdataset.AvailableSpaceVolumeChoosingPolicy"
)


@dataclass(frozen=True, slots=True)
class ChoosingPolicy:
    by_space: bool = False
    additional_bytes: int = 0
    """What must be left when a replica has been given its room; in turn only."""
    threshold_bytes: int = 10 << 30
    fraction: float = 0.75

    def has_room(self, remaining_bytes: int, needed_bytes: int) -> bool:
        spare_bytes = 0 if self.by_space else self.additional_bytes
        return remaining_bytes - spare_bytes >= max(needed_bytes, 1)


@dataclass(frozen=True, slots=True)
class Group:
    """Volumes of which one is chosen in turn; `name` tells groups with turns of their own."""

    name: str
    members: tuple[int, ...]


def group(
    policy: ChoosingPolicy, remaining_bytes: Sequence[int], needed_bytes: int, dice: float
) -> Group:
    """Of volumes with so much left; `dice` is in [0, 1). The group has one with room for
    `needed_bytes` if there is one at all."""
    everybody = Group("all", tuple(range(len(remaining_bytes))))
    if not policy.by_space or not remaining_bytes:
        return everybody
    least, most = min(remaining_bytes), max(remaining_bytes)
    if most - least < policy.threshold_bytes:
        return everybody
    limit = least + policy.threshold_bytes
    low = tuple(n for n, left in enumerate(remaining_bytes) if left <= limit)
    high = tuple(n for n, left in enumerate(remaining_bytes) if left > limit)
    if not high:
        return everybody
    weight = policy.fraction * len(high)
    probability = weight / (weight + (1 - policy.fraction) * len(low))
    most_of_low = max(remaining_bytes[n] for n in low)
    if not policy.has_room(most_of_low, needed_bytes) or dice < probability:
        return Group("high", high)
    return Group("low", low)
