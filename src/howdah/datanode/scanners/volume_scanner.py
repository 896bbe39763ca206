"""Verifies the finalized replicas of the volumes, in the background, a thread a volume (shell).

BlockScanner and VolumeScanner in Hadoop; `volume_schedule` decides. The threads live in the
control process: beside the data path one busy thread would cost nearly all of its speed.

A replica is read as it was when it was opened. If it does not fit its checksums, or cannot be
read, the data process looks at that place again (`Recheck`), since the replica may have been
appended to, recovered or deleted meanwhile. The data process tells of the damage, if there is
some. A block file that is missing is left to the comparison of disk and memory.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

from howdah import errors
from howdah.datanode.replicas.open_replica import OpenReplica
from howdah.datanode.replicas.startup_scan import replica_paths
from howdah.datanode.settings import ScanSettings
from howdah.datanode.state.messages import CheckVolumes, Command, Recheck
from howdah.datanode.state.replicas.replicas import Replica
from howdah.datanode.state.scanners import cursor as cursors
from howdah.datanode.state.scanners.cursor import Cursor
from howdah.datanode.state.scanners.volume_schedule import (
    Advance,
    Figures,
    Rest,
    Verify,
    VolumeSchedule,
)
from howdah.datanode.volumes.volumes import Volume
from howdah.protocol.data_transfer.blocks import ExtendedBlock
from howdah.runtime.atomic_files import replace_file

log = logging.getLogger(__name__)

_LISTING_IS_FRESH_S: Final = 900.0
"""As long as Hadoop believes a listing."""
_LONGEST_WAIT_S: Final = 3600.0
STOP_TIMEOUT_S: Final = 2.0


class Lookup(Protocol):
    def __call__(self, pool_id: str, block_id: int, storage_id: str) -> Replica | None:
        """The finalized replica of the block on this volume."""


class VolumeScanner:
    """Verifies the replicas of one volume."""

    def __init__(
        self,
        volume: Volume,
        settings: ScanSettings,
        lookup: Lookup,
        command: Callable[[Command], None],
    ) -> None:
        self.volume = volume
        self._lookup = lookup
        self._command = command
        self._schedule = VolumeSchedule(
            max(round(settings.period_s * 1000), 1),
            settings.bytes_per_second,
            round(settings.cursor_save_s * 1000),
        )
        self._changed = threading.Condition()
        self._stopping = False
        self._listed: tuple[str, tuple[str, ...], float, list[str]] | None = None
        self._thread = threading.Thread(
            target=self._run, name=f"verification of {volume.path}", daemon=True
        )

    # --- from other threads ---

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def join(self, timeout_s: float) -> None:
        self._thread.join(timeout_s)

    def add_pool(self, pool_id: str) -> None:
        """Verify the replicas of this pool, too, from where its cursor is."""
        cursor = self._read_cursor(pool_id)
        with self._changed:
            self._schedule.add_pool(pool_id, cursor, _wall_ms())
            self._changed.notify_all()

    def remove_pool(self, pool_id: str) -> None:
        with self._changed:
            self._schedule.remove_pool(pool_id)
            self._changed.notify_all()

    def suspect(self, block: ExtendedBlock) -> None:
        with self._changed:
            if self._schedule.suspect(block.pool_id, block.block_id, _now_ms()):
                self._changed.notify_all()

    def figures(self) -> tuple[Figures, int]:
        """And the bytes that were verified within the last hour."""
        with self._changed:
            bytes_in_last_hour = self._schedule.bytes_in_last_hour(_now_ms())
            return replace(self._schedule.figures), bytes_in_last_hour

    # --- the thread ---

    def _run(self) -> None:
        try:
            while self._goes_on:
                try:
                    self._step()
                except Exception:
                    # The only thread of this volume; what comes after the replica may be read.
                    log.exception("the verification of %s failed on a defect", self.volume)
                    self._wait(_LONGEST_WAIT_S)
            if self.volume.failure is None:
                self._save(stopping=True)
        except OSError as error:
            log.warning("the place of the verification of %s is not saved: %s", self.volume, error)

    @property
    def _goes_on(self) -> bool:
        return not self._stopping and self.volume.failure is None

    def _step(self) -> None:
        with self._changed:
            step = self._schedule.next(_now_ms(), _wall_ms())
            if isinstance(step, Rest):
                self._changed.wait(min(step.for_ms / 1000, _LONGEST_WAIT_S))
                return
        match step:
            case Verify(pool_id, block_id):
                self._verify(pool_id, block_id)
            case Advance(pool_id, cursor):
                self._advance(pool_id, cursor)
        self._save()

    def _wait(self, seconds: float) -> None:
        with self._changed:
            if self._goes_on:
                self._changed.wait(seconds)

    def _advance(self, pool_id: str, cursor: Cursor) -> None:
        try:
            following = cursors.following(cursor, lambda below: self._names(pool_id, below))
        except OSError as error:
            log.error("the verification of %s on %s ends early: %s", pool_id, self.volume, error)
            self._command(CheckVolumes())
            following = replace(cursor, directory=None, subdirectory=None, entry=None, at_end=True)
        try:
            if following.block_id is not None:
                self._verify(pool_id, following.block_id)
        finally:
            # After a defect, too: it would be met for ever, and nothing behind it verified.
            if self._goes_on:
                with self._changed:
                    self._schedule.moved(pool_id, following)

    def _names(self, pool_id: str, below: tuple[str, ...]) -> list[str]:
        """What a directory below `finalized` has; the last one that was asked for is kept."""
        kept, now_s = self._listed, time.monotonic()
        if kept and kept[:2] == (pool_id, below) and now_s - kept[2] < _LISTING_IS_FRESH_S:
            return kept[3]
        try:
            names = os.listdir("/".join((self.volume.finalized_path(pool_id), *below)))
        except FileNotFoundError:
            names = []
        # Of the directories above nothing is kept: a round begins there, and is to see all.
        self._listed = (pool_id, below, now_s, names) if len(below) == 2 else None
        return names

    def _verify(self, pool_id: str, block_id: int) -> None:
        replica = self._lookup(pool_id, block_id, self.volume.storage_id)
        if replica is None:
            return
        block = replica.as_block(pool_id)
        damaged: tuple[int, int] | None = None
        try:
            paths = replica_paths(self.volume, pool_id, replica)
            with OpenReplica.of(replica, self.volume, paths) as opened:
                damaged = self._read(block, opened)
        except FileNotFoundError as error:
            # It has been renamed or deleted, or the comparison of disk and memory finds it.
            log.info("not verified: %s is not there", error.filename)
            return
        except errors.ReplicaNotFound:
            return
        except (OSError, errors.ChecksumMismatch) as error:
            log.warning("%r on %s cannot be opened: %s", replica, self.volume, error)
            damaged = 0, 0
        with self._changed:
            if damaged is None:
                self._schedule.verified(str(block))
            else:
                self._schedule.failed(str(block))
        if damaged is not None:
            self._command(Recheck(block, *damaged))

    def _read(self, block: ExtendedBlock, opened: OpenReplica) -> tuple[int, int] | None:
        """From where to where it is damaged, or None. `ReplicaNotFound` if it is gone before all
        of it was read, or nobody wants to know any more."""
        chunk = opened.checksum.bytes_per_checksum
        step = max(self._schedule.piece_bytes // chunk, 1) * chunk
        for start in range(0, opened.length_bytes, step):
            stop = min(start + step, opened.length_bytes)
            try:
                damaged = opened.damaged_between(start, stop)
            except OSError as error:
                log.warning("bytes %d to %d of %s: %s", start, stop, block, error)
                return start, stop
            if damaged is not None:
                return damaged, min(damaged + chunk, opened.length_bytes)
            # Nobody reads it because it was verified.
            os.posix_fadvise(opened.block_fd, start, stop - start, os.POSIX_FADV_DONTNEED)
            with self._changed:
                pause_s = self._schedule.read(stop - start, _now_ms())
            self._wait_out(pause_s)
            if not self._goes_on or not self._is_there(block):
                raise errors.ReplicaNotFound(f"{block} is not verified to its end")
        return None

    def _wait_out(self, seconds: float) -> None:
        deadline_s = time.monotonic() + seconds
        with self._changed:
            while self._goes_on and (left_s := deadline_s - time.monotonic()) > 0:
                self._changed.wait(min(left_s, _LONGEST_WAIT_S))

    def _is_there(self, block: ExtendedBlock) -> bool:
        replica = self._lookup(block.pool_id, block.block_id, self.volume.storage_id)
        return replica is not None and replica.generation_stamp == block.generation_stamp

    # --- its place ---

    def _cursor_path(self, pool_id: str) -> Path:
        return Path(self.volume.pool_path(pool_id), cursors.FILE_NAME)

    def _read_cursor(self, pool_id: str) -> Cursor | None:
        path = self._cursor_path(pool_id)
        try:
            with path.open("rb") as file:
                return cursors.decode(file.read(cursors.MAX_BYTES + 1))
        except FileNotFoundError:
            return None
        except (OSError, errors.MalformedText) as error:
            log.warning("%s cannot be read, the verification begins anew: %s", path, error)
            return None

    def _save(self, *, stopping: bool = False) -> None:
        with self._changed:
            due = self._schedule.to_save(_wall_ms(), stopping=stopping)
        for pool_id, cursor in due:
            try:
                replace_file(self._cursor_path(pool_id), cursors.encode(cursor))
            except OSError as error:
                log.warning("cannot save where the verification is: %s", error)


class VolumeScanners:
    """Of all volumes. Any thread may call any method."""

    def __init__(
        self, settings: ScanSettings, lookup: Lookup, command: Callable[[Command], None]
    ) -> None:
        self._settings = settings
        self._lookup = lookup
        self._command = command
        self._lock = threading.Lock()
        self._pools: list[str] = []
        self._scanners: dict[str, VolumeScanner] = {}

    @property
    def enabled(self) -> bool:
        return self._settings.period_s > 0 and self._settings.bytes_per_second > 0

    def add(self, volume: Volume) -> None:
        """Begin to verify what is on the volume."""
        if not self.enabled:
            return
        scanner = VolumeScanner(volume, self._settings, self._lookup, self._command)
        with self._lock:
            assert volume.storage_id not in self._scanners, f"{volume} is verified already"
            self._scanners[volume.storage_id] = scanner
            for pool_id in self._pools:
                scanner.add_pool(pool_id)
        try:
            scanner.start()
        except BaseException:
            self.remove(volume.storage_id)
            raise

    def remove(self, storage_id: str) -> None:
        """Leave the volume alone, if it was verified."""
        with self._lock:
            scanner = self._scanners.pop(storage_id, None)
        if scanner is not None:
            scanner.stop()

    def pool_served(self, pool_id: str) -> None:
        """The directories of this pool are there."""
        with self._lock:
            if pool_id in self._pools:
                return
            self._pools.append(pool_id)
            for scanner in self._scanners.values():
                scanner.add_pool(pool_id)

    def pool_left(self, pool_id: str) -> None:
        """Nobody serves this pool any more."""
        with self._lock:
            if pool_id in self._pools:
                self._pools.remove(pool_id)
            for scanner in self._scanners.values():
                scanner.remove_pool(pool_id)

    def suspect(self, block: ExtendedBlock, storage_id: str) -> None:
        """An error was met at this replica: it is verified soon."""
        with self._lock:
            scanner = self._scanners.get(storage_id)
        if scanner is not None:
            scanner.suspect(block)

    def stop(self) -> None:
        """Save where they are. A disk that hangs is not waited for."""
        with self._lock:
            scanners = list(self._scanners.values())
        for scanner in scanners:
            scanner.stop()
        deadline_s = time.monotonic() + STOP_TIMEOUT_S
        for scanner in scanners:
            scanner.join(max(deadline_s - time.monotonic(), 0.0))

    def figures(self) -> dict[str, tuple[Figures, int]]:
        """By the path of the volume."""
        with self._lock:
            scanners = list(self._scanners.values())
        return {scanner.volume.path: scanner.figures() for scanner in scanners}


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
