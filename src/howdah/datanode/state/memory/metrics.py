"""What is counted of replicas in memory, under the names of Hadoop's DataNodeMetrics (pure)."""

from __future__ import annotations

import enum


class Figure(enum.IntEnum):
    """Numbered as they lie in the memory that both processes see; all only grow."""

    RamDiskBlocksWrite = 0
    """New replicas that went to memory."""
    RamDiskBlocksWriteFallback = 1
    """Those that a client wanted there, and that went to a disk."""
    RamDiskBytesWrite = 2
    """Bytes of replicas that were finalized in memory."""
    RamDiskBlocksReadHits = 3
    RamDiskBlocksEvicted = 4
    RamDiskBlocksEvictedWithoutRead = 5
    RamDiskBlocksEvictionWindowMs = 6
    """The sum of the times between the making of a replica and its eviction."""
    RamDiskBlocksLazyPersisted = 7
    RamDiskBytesLazyPersisted = 8
    RamDiskBlocksLazyPersistWindowMs = 9
    """The sum of the times between the making of a replica and its copy on a disk."""
    RamDiskBlocksDeletedBeforeLazyPersisted = 10


_MEANS = {
    Figure.RamDiskBlocksEvictionWindowMs: Figure.RamDiskBlocksEvicted,
    Figure.RamDiskBlocksLazyPersistWindowMs: Figure.RamDiskBlocksLazyPersisted,
}


def attributes(values: dict[Figure, int]) -> dict[str, object]:
    """As `/jmx` shows them: of a sum of times their number and mean."""
    shown: dict[str, object] = {}
    for figure, value in values.items():
        of = _MEANS.get(figure)
        if of is None:
            shown[figure.name] = value
        else:
            count = values[of]
            shown[f"{figure.name}NumOps"] = count
            shown[f"{figure.name}AvgTime"] = value / count if count else 0.0
    return shown
