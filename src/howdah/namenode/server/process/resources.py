"""Whether the disks of the edits directories have room (shell: asks the file systems).

Hadoop: NameNodeResourceChecker, NameNodeResourcePolicy. A namenode without room for its log
says that it is not well, so that a failover controller gives its role to another, and is in
safe mode while it is the active one (`Namesystem.note_room`). Rules:

1. A volume has room while more than `dfs.namenode.resource.du.reserved` bytes are free. One
   that cannot be asked has none.
2. Each volume that holds a required edits directory, or that
   `dfs.namenode.resource.checked.volumes` names, needs room.
3. Of the others `dfs.namenode.resource.checked.volumes.minimum` need it.
4. A check that does not return, as on a mount whose server is gone, is trouble after
   `HANGS_MS`: an edit would hang there, too. The time counts from when a thread began the check.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from howdah.config import Configuration, keys
from howdah.namenode.service.ha.stall_detection import ObservedTime
from howdah.runtime import background_threads
from howdah.runtime.metrics.histogram import Times

log = logging.getLogger(__name__)

HANGS_MS: Final = 10_000


def free_bytes(path: Path) -> int | None:
    """Return what is free for this user at a path; None where that cannot be asked."""
    try:
        stats = os.statvfs(path)
    except OSError as error:
        log.warning("the room at %s is not known: %s", path, error)
        return None
    return stats.f_bavail * stats.f_frsize


class Resources:
    """Checks the volumes at intervals, on a thread, as a mount may hang."""

    def __init__(
        self,
        directories: Iterable[Path],
        required: Iterable[Path],
        *,
        reserved_bytes: int,
        minimum: int,
        interval_ms: int,
        now_ms: Callable[[], int],
        free: Callable[[Path], int | None] = free_bytes,
    ) -> None:
        self._required = list(dict.fromkeys(required))
        self._others = [path for path in dict.fromkeys(directories) if path not in self._required]
        self._reserved_bytes = reserved_bytes
        self._minimum = minimum
        self._interval_ms = interval_ms
        self._now_ms = now_ms
        self._free = free
        self._next_ms = 0
        self._is_checking = False
        self._is_begun = False
        self._waited = ObservedTime()
        self.check_times = Times()
        self.trouble = ""
        """Where there is no room; empty while there is enough."""

    @classmethod
    def of(cls, conf: Configuration, now_ms: Callable[[], int]) -> Resources:
        required = [
            *conf.get(keys.DFS_NAMENODE_EDITS_DIR_REQUIRED),
            *conf.get(keys.DFS_NAMENODE_RESOURCE_CHECKED_VOLUMES),
        ]
        directories = conf.get(keys.DFS_NAMENODE_EDITS_DIR)
        return cls(
            directories,
            required,
            reserved_bytes=conf.get(keys.DFS_NAMENODE_RESOURCE_DU_RESERVED),
            minimum=conf.get(keys.DFS_NAMENODE_RESOURCE_CHECKED_VOLUMES_MINIMUM),
            interval_ms=round(1000 * conf.get(keys.DFS_NAMENODE_RESOURCE_CHECK_INTERVAL)),
            now_ms=now_ms,
        )

    def tick(self) -> None:
        """Start a check when it is due. While one hangs, no second one starts."""
        now_ms = self._now_ms()
        if self._is_checking:
            if self._is_begun and self._waited.advance(now_ms) >= HANGS_MS:
                self._set_trouble(
                    "the edits directories do not say how much room they have: one of "
                    f"{_listed([*self._required, *self._others])} hangs"
                )
            return
        if now_ms < self._next_ms:
            return
        self._is_begun = False
        check = background_threads.pooled(self._timed_check, "the check of the edits directories")
        self._is_checking = True
        self._waited.reset()
        check.add_done_callback(self._end_check)

    def _timed_check(self) -> str:
        self._is_begun = True  # Until now it may have waited for a thread.
        began_ns = time.perf_counter_ns()
        trouble = self.check()
        self.check_times.add(time.perf_counter_ns() - began_ns)
        return trouble

    def check(self) -> str:
        """Return where there is no room, by the rules; empty if there is enough."""
        full = [path for path in self._required if not self._has_room(path)]
        if full:
            return f"less than {self._reserved_bytes} bytes are free at {_listed(full)}"
        full = [path for path in self._others if not self._has_room(path)]
        if self._others and len(self._others) - len(full) < min(self._minimum, len(self._others)):
            return f"less than {self._reserved_bytes} bytes are free at {_listed(full)}"
        return ""

    def _has_room(self, path: Path) -> bool:
        free = self._free(path)
        return free is not None and free > self._reserved_bytes

    def _end_check(self, check: asyncio.Future[str]) -> None:
        self._is_checking = False
        self._next_ms = self._now_ms() + self._interval_ms
        try:
            self._set_trouble(check.result())
        except background_threads.NoThread as error:
            # What the check before found stays true for all that is known.
            log.error("%s; the next check is in %d s", error, self._interval_ms // 1000)

    def _set_trouble(self, trouble: str) -> None:
        if trouble and trouble != self.trouble:
            log.error("The NameNode has no resources available: %s", trouble)
        elif self.trouble and not trouble:
            log.info("there is room for the edit log again")
        self.trouble = trouble


def _listed(paths: Iterable[Path]) -> str:
    return ", ".join(map(str, paths))
