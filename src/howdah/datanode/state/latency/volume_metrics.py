"""What has been measured of each volume since the start, in words that both processes see (pure).

Hadoop: DataNodeVolumeMetrics. As there, nothing is counted unless reads and writes are sampled
(`dfs.datanode.fileio.profiling.sampling.percentage`), and then what was sampled.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Final

from howdah.runtime.metrics.histogram import Rates


class VolumeWork(enum.IntEnum):
    """Each has a number and nanoseconds, in two words."""

    METADATA = 0
    READ = 1
    WRITE = 2
    SYNC = 3


WORDS: Final = 2 * len(VolumeWork)
_RATES: Final = {
    "MetadataOperationRate": (VolumeWork.METADATA,),
    "DataFileIoRate": (VolumeWork.READ, VolumeWork.WRITE, VolumeWork.SYNC),
    "ReadIoRate": (VolumeWork.READ,),
    "WriteIoRate": (VolumeWork.WRITE,),
    "SyncIoRate": (VolumeWork.SYNC,),
}
"""Hadoop's names, and what they sum up. Times are in milliseconds."""


def attributes(
    path: str, number: int, figure: Callable[[int], int], rates: Rates, now_ns: int
) -> dict[str, object]:
    """Return the attributes of the bean of the volume at `path`, whose number no other has had.
    `figure` reads a word of it."""
    bean: dict[str, object] = {"tag.Context": "dfs", "tag.VolumeName": path}
    for name, works in _RATES.items():
        count = sum(figure(2 * work) for work in works)
        total_ns = sum(figure(2 * work + 1) for work in works)
        mean_ns = rates.mean_ns(f"volume {number} {name}", count, total_ns, now_ns)
        bean[f"{name}NumOps"] = count
        bean[f"{name}AvgTime"] = mean_ns / 1e6
    bean["TotalMetadataOperations"] = bean["MetadataOperationRateNumOps"]
    bean["TotalDataFileIos"] = bean["DataFileIoRateNumOps"]
    return bean
