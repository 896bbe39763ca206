"""Compares what is on the volumes with what is in memory, now and then (shell).

DirectoryScanner in Hadoop. The control process reads the directories, a volume after the other or
several at a time, and asks its inventory; what differs goes to the data process, which looks
again and acts (`replicas.reconciler`). Only finalized replicas are compared: those that are
being written or copied have owners. A volume that cannot be read has to prove itself.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, Protocol

from howdah.datanode.settings import ScanSettings
from howdah.datanode.state.messages import CheckVolumes, Command, Reconcile
from howdah.datanode.state.scanners.comparison import (
    Difference,
    Files,
    InMemory,
    Kind,
    ScanPace,
    compare,
    note,
    summary,
)
from howdah.datanode.volumes.volumes import Volume

log = logging.getLogger(__name__)

BATCH: Final = 500
"""Differences in one message."""


class Memory(Protocol):
    """What the control process knows of replicas."""

    def finalized_by_directory(self, pool_id: str, storage_id: str) -> dict[str, array[int]]:
        """The ids of the finalized replicas on the volume, by the directory they belong in."""

    def in_memory(
        self, pool_id: str, block_ids: Iterable[int], storage_id: str
    ) -> dict[int, InMemory]:
        """Of those of these replicas that there are."""


class DirectoryScanner:
    """Compares the directories of one datanode with its memory."""

    def __init__(
        self,
        settings: ScanSettings,
        volumes: Callable[[], Sequence[Volume]],
        memory: Memory,
        command: Callable[[Command], None],
    ) -> None:
        """`volumes` says which ones work."""
        self._settings = settings
        self._volumes = volumes
        self._memory = memory
        self._command = command
        self._changed = threading.Condition()
        self._pools: list[str] = []
        self._stopping = False
        self.scans = 0
        """How many have come to their end."""
        self.ended_ms = 0
        """When the last one did; 0: none has."""

    @property
    def enabled(self) -> bool:
        return self._settings.directory_interval_s > 0

    def start(self) -> None:
        if self.enabled:
            threading.Thread(target=self._run, name="directory scanner", daemon=True).start()

    def stop(self) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def pool_served(self, pool_id: str) -> None:
        """The directories of this pool are there."""
        with self._changed:
            if pool_id not in self._pools:
                self._pools.append(pool_id)

    def pool_left(self, pool_id: str) -> None:
        """Nobody serves this pool any more."""
        with self._changed:
            if pool_id in self._pools:
                self._pools.remove(pool_id)

    def _run(self) -> None:
        # Datanodes that are started together shall not read all their directories together.
        self._wait(random.random() * self._settings.directory_interval_s)
        while not self._stopping:
            started_s = time.monotonic()
            try:
                self.scan()
            except Exception:
                # The only thread for this, and the next comparison may succeed.
                log.exception("comparing disk and memory failed on a defect")
            took_s = time.monotonic() - started_s
            self._wait(max(self._settings.directory_interval_s - took_s, 0.0))

    def _wait(self, seconds: float) -> None:
        deadline_s = time.monotonic() + seconds
        with self._changed:
            while not self._stopping and (left_s := deadline_s - time.monotonic()) > 0:
                self._changed.wait(left_s)

    def scan(self) -> None:
        """Compare everything, and have what differs looked at."""
        with self._changed:
            pools = list(self._pools)
        for pool_id in pools:
            volumes = self._volumes()
            with ThreadPoolExecutor(self._settings.directory_threads) as executor:
                results = executor.map(partial(self._scan_volume, pool_id), volumes)
                by_volume = list(zip(volumes, results, strict=True))
            if self._stopping:
                return
            self._report(pool_id, by_volume)
        self.scans += 1
        self.ended_ms = time.time_ns() // 1_000_000

    def _report(
        self, pool_id: str, by_volume: Sequence[tuple[Volume, tuple[int, list[Difference]]]]
    ) -> None:
        total = sum(count for _, (count, _) in by_volume)
        kinds = Counter(
            difference.kind for _, (_, differences) in by_volume for difference in differences
        )
        level = logging.WARNING if kinds else logging.INFO
        log.log(level, "BlockPool %s %s", pool_id, summary(total, kinds))
        # Last those that are missing: an operator may have moved them to another volume.
        for are_missing in (False, True):
            for volume, (_, differences) in by_volume:
                chosen = merged(
                    difference
                    for difference in differences
                    if (difference.kind is Kind.MISSING_BLOCK and not difference.strays)
                    is are_missing
                )
                for start in range(0, len(chosen), BATCH):
                    batch = tuple(chosen[start : start + BATCH])
                    self._command(Reconcile(pool_id, volume.storage_id, batch))

    def _scan_volume(self, pool_id: str, volume: Volume) -> tuple[int, list[Difference]]:
        """Return (replicas on the disk, differences); nothing of a volume that cannot be read."""
        pace = ScanPace(self._settings.directory_limit_ms_per_s)
        expected = self._memory.finalized_by_directory(pool_id, volume.storage_id)
        top = volume.finalized_path(pool_id)
        total, differences = 0, []
        try:
            os.stat(volume.rbw_path(pool_id))
            started_s = time.monotonic()
            for directory, blocks in _directories(top):
                ids = expected.pop(directory, array("q"))
                total += sum(1 for files in blocks.values() if files.lengths)
                differences += self._compare(pool_id, volume, directory, blocks, ids)
                self._wait(pace.pause_ms((time.monotonic() - started_s) * 1000) / 1000)
                started_s = time.monotonic()
                if self._stopping:
                    return 0, []
        except OSError as error:
            log.error("the directories of %s cannot be read: %s", volume, error)
            self._command(CheckVolumes())
            return 0, []
        for directory, ids in expected.items():
            differences += self._compare(pool_id, volume, directory, {}, ids)
        return total, differences

    def _compare(
        self,
        pool_id: str,
        volume: Volume,
        directory: str,
        blocks: Mapping[int, Files],
        expected: Iterable[int],
    ) -> list[Difference]:
        ids = {*blocks, *expected}
        if not ids:
            return []
        memory = self._memory.in_memory(pool_id, ids, volume.storage_id)
        return compare(directory, blocks, expected, memory)


def merged(differences: Iterable[Difference]) -> list[tuple[int, tuple[str, ...]]]:
    """One for each block, with all its strays."""
    strays: dict[int, tuple[str, ...]] = {}
    for difference in differences:
        strays[difference.block_id] = strays.get(difference.block_id, ()) + difference.strays
    return list(strays.items())


def _directories(top: str) -> Iterator[tuple[str, dict[int, Files]]]:
    """Yield (name below `top`, files of blocks) of each directory. Raises `OSError`, also where
    `top` itself is missing; a directory below may be gone meanwhile."""
    names = [""]
    while names:
        name = names.pop()
        blocks: dict[int, Files] = {}
        try:
            entries = os.scandir(f"{top}/{name}" if name else top)
        except FileNotFoundError:
            if not name:
                raise
            continue
        with entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    names.append(f"{name}/{entry.name}" if name else entry.name)
                    continue
                try:
                    is_meta = entry.name.endswith(".meta")
                    length = 0 if is_meta else entry.stat(follow_symlinks=False).st_size
                except FileNotFoundError:
                    continue
                note(blocks, entry.name, entry.path, length)
        yield name, blocks
