"""How fast bytes arrive on disks that belong to nobody else."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable

from harness import MB

from howdah.testing import MiniCluster
from tests.support.small_disks import MIB

_SAMPLE_S = 0.002


class Arrivals:
    """Watches how much is on the disks of the targets."""

    def __init__(self, cluster: MiniCluster, targets: Iterable[str]) -> None:
        self._paths = [path for name in targets for path in cluster.data_dirs(name)]
        self._samples = [(time.perf_counter(), self._used_bytes())]
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _used_bytes(self) -> int:
        used = 0
        for path in self._paths:
            disk = os.statvfs(path)
            used += (disk.f_blocks - disk.f_bfree) * disk.f_frsize
        return used

    def _watch(self) -> None:
        while not self._stopped.wait(_SAMPLE_S):
            self._samples.append((time.perf_counter(), self._used_bytes()))

    def mb_per_s(self) -> float:
        """Over the time in which bytes arrived."""
        self._stopped.set()
        self._thread.join()
        before, after = self._samples[0][1], max(used for _, used in self._samples)
        begun = max(at for at, used in self._samples if used <= before + MIB)
        ended = min(at for at, used in self._samples if used >= after - MIB)
        return (after - before) / (ended - begun) / MB
