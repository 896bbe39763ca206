"""Collects how long peers and disks take, and says at intervals which of them are slow (shell).

DataNodePeerMetrics, DataNodeDiskMetrics and ProfilingFileIoEvents in Hadoop.

A *peer* is the last datanode of a pipeline, as the one before it sees it: how long it takes to
pass a packet on. Those further in front would measure the whole rest of the pipeline.

A *disk* is measured in three ways: calls that change names (while the volume's turn is held),
writes of data and checksums, and reads of checksums. The data of a read goes from the page cache
to the socket in one call, which waits for the reader: that says nothing of the disk.

Whatever is measured costs two looks at the clock and a lock; without a meter it costs one
comparison.
"""

from __future__ import annotations

import enum
import logging
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from howdah.config import keys
from howdah.config.settings import setting
from howdah.datanode.state.latency.outliers import Outlier, outliers
from howdah.datanode.state.latency.volume_metrics import VolumeWork
from howdah.datanode.state.latency.window import RollingMeans
from howdah.datanode.state.messages import OutliersFound, SlowDisk, SlowPeer

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LatencySettings:
    """What is measured, and what counts as slow. Defaults are Hadoop's."""

    measures_peers: bool = setting(keys.DFS_DATANODE_PEER_STATS_ENABLED)
    sampled_percent: int = 0
    """Of reads and writes; 0: disks are not measured at all."""
    interval_s: float = setting(keys.DFS_DATANODE_OUTLIERS_REPORT_INTERVAL)
    """Between two reports."""
    least_samples: int = setting(keys.DFS_DATANODE_PEER_METRICS_MIN_OUTLIER_DETECTION_SAMPLES)
    """Of a peer, before it is compared with others."""
    least_peers: int = setting(keys.DFS_DATANODE_MIN_OUTLIER_DETECTION_NODES)
    peer_floor_ms: float = setting(keys.DFS_DATANODE_SLOWPEER_LOW_THRESHOLD_MS)
    least_disks: int = setting(keys.DFS_DATANODE_MIN_OUTLIER_DETECTION_DISKS)
    disk_floor_ms: float = setting(keys.DFS_DATANODE_SLOWDISK_LOW_THRESHOLD_MS)


class PeerMeter:
    """How long other datanodes take to take packets. Any thread may add."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._means = RollingMeans()

    def add(self, peer: str, seconds: float, packets: int) -> None:
        """`packets` were passed on in that time."""
        with self._lock:
            self._means.add(peer, seconds * 1000, packets, self._clock())

    def means(self, least_samples: int) -> dict[str, float]:
        with self._lock:
            return self._means.means(least_samples, self._clock())


class DiskOp(enum.Enum):
    """What a disk does, by the names of Hadoop's reports."""

    METADATA = enum.auto()
    READ = enum.auto()
    WRITE = enum.auto()


_FIGURE_OF = {
    DiskOp.METADATA: VolumeWork.METADATA,
    DiskOp.READ: VolumeWork.READ,
    DiskOp.WRITE: VolumeWork.WRITE,
}


class DiskMeter:
    """How long one disk takes. Any thread may add."""

    def __init__(
        self,
        sampled_percent: int,
        count: Callable[[int, int], None] = lambda number, change: None,
    ) -> None:
        """`count` adds to a word of the volume's figures (`volume_figures`)."""
        self._part = sampled_percent / 100
        self._count = count
        self._lock = threading.Lock()
        self._sums: dict[DiskOp, tuple[float, int]] = {}

    def is_sampled(self) -> bool:
        """Whether this read or write is to be measured."""
        return self._part >= 1 or random.random() < self._part

    def add(self, operation: DiskOp, seconds: float) -> None:
        with self._lock:
            total, count = self._sums.get(operation, (0.0, 0))
            self._sums[operation] = total + seconds, count + 1
        self._figure(_FIGURE_OF[operation], seconds)

    def synced(self, seconds: float) -> None:
        """What a writer asked to be on the disk is there. Disks are not compared by this: it
        depends on how much was written before."""
        self._figure(VolumeWork.SYNC, seconds)

    def _figure(self, work: VolumeWork, seconds: float) -> None:
        self._count(2 * work, 1)
        self._count(2 * work + 1, round(seconds * 1e9))

    def take_means(self) -> dict[DiskOp, float]:
        """Milliseconds an operation since this was asked last."""
        with self._lock:
            sums, self._sums = self._sums, {}
        return {operation: 1000 * total / count for operation, (total, count) in sums.items()}


def slow_peers(means_ms: Mapping[str, float], settings: LatencySettings) -> tuple[SlowPeer, ...]:
    by_name = outliers(means_ms, least=settings.least_peers, floor_ms=settings.peer_floor_ms)
    return tuple(
        SlowPeer(name, outlier.mean_ms, outlier.median_ms, outlier.deviation_ms, outlier.limit_ms)
        for name, outlier in by_name.items()
    )


def slow_disks(
    disks: Mapping[tuple[str, str], Mapping[DiskOp, float]], settings: LatencySettings
) -> tuple[SlowDisk, ...]:
    """Return the disks that are slow. `disks` are named by (storage type, directory), and have the
    means of what they did. Disks of one type are compared with each other."""
    groups: dict[tuple[str, DiskOp], dict[str, float]] = defaultdict(dict)
    for (kind, path), means in disks.items():
        for operation in DiskOp:
            groups[kind, operation][path] = means.get(operation, 0.0)
    slow: dict[str, dict[DiskOp, Outlier]] = defaultdict(dict)
    for (_, operation), group in groups.items():
        by_path = outliers(group, least=settings.least_disks, floor_ms=settings.disk_floor_ms)
        for path, outlier in by_path.items():
            slow[path][operation] = outlier

    def mean_ms(path: str, operation: DiskOp) -> float | None:
        outlier = slow[path].get(operation)
        return None if outlier is None else outlier.mean_ms

    return tuple(
        SlowDisk(path, *(mean_ms(path, o) for o in (DiskOp.METADATA, DiskOp.READ, DiskOp.WRITE)))
        for path in slow
    )


class OutlierReports:
    """Looks at the meters at intervals, and tells the control process what is slow."""

    def __init__(
        self,
        settings: LatencySettings,
        peers: PeerMeter | None,
        disks: Callable[[], Mapping[tuple[str, str], Mapping[DiskOp, float]]],
        tell: Callable[[OutliersFound], None],
    ) -> None:
        """`disks` gives what `slow_disks` takes."""
        self._settings = settings
        self._peers = peers
        self._disks = disks
        self._tell = tell

    def start(self) -> None:
        if self._peers is not None or self._settings.sampled_percent > 0:
            threading.Thread(target=self._run, name="outliers", daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(self._settings.interval_s)
            try:
                self.refresh()
            except Exception:
                # The only thread for these; the next look may do better.
                log.exception("looking for slow peers and disks failed on a defect")

    def refresh(self) -> None:
        """Find what is slow now, once."""
        settings = self._settings
        means = {} if self._peers is None else self._peers.means(settings.least_samples)
        slow = OutliersFound(slow_peers(means, settings), slow_disks(self._disks(), settings))
        for peer in slow.peers:
            log.warning(
                "datanode %s is slow: it takes a packet in %.1f ms, others in %.1f ms (slow is "
                "above %.1f ms); the namenode is told",
                peer.name,
                peer.mean_ms,
                peer.median_ms,
                peer.limit_ms,
            )
        for disk in slow.disks:
            log.warning(
                "the disk of %s is slower than the others of its type: %s; the namenode is told",
                disk.path,
                ", ".join(f"{name} {mean:.1f} ms" for name, mean in disk.means()),
            )
        if slow.peers or slow.disks:
            self._tell(slow)
