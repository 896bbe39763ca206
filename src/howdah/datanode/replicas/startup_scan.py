"""Reads what is on a volume at the start, whatever a crash has left there.

BlockPoolSlice in Hadoop.

A replica becomes final by two renames, meta file first, and is reopened for an
append by the same two in the other order, so a finalized block file never stands
without its checksums. A crash in between leaves the pair apart, and both
directories are read before anything is judged:

    block file in      meta file in       then
    finalized          finalized          FINALIZED
    rbw                rbw                RWR, up to the first chunk that isn't good; RBW
                                          where a restart file says so, and it isn't late
    rbw                finalized          FINALIZED, the block file is moved
    finalized          rbw                FINALIZED, the meta file is moved (Hadoop's order)
    finalized          nowhere            quarantine: it must not be served
    rbw                nowhere            quarantine
    both               both               the newer pair counts, the other goes to the quarantine
    nowhere            anywhere           quarantine
    tmp                tmp                deleted: a copy that wasn't completed

A file beside them whose name ends in `.copy` was to take the place of the one that it was
made of, and is deleted.

A block whose files can't be read is left out, and a volume that can't be read, or can't
prove itself after that, has failed: the others serve.

Of two replicas of one block the newer, then the longer, stays, then the one on a disk; the
other goes to the quarantine, or is deleted if it is in memory. Nothing that may be the only copy
of somebody's bytes is deleted. What was saved of memory (`saved_copies`) is finalized first.

The checksums of finalized replicas are not verified here: that takes long, and
readers and the block scanner do it. Those of a replica that was being written are all
verified: after a power cut it may lack pages in its middle, and a recovery takes
every byte that is reported for good.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

from howdah import errors
from howdah.datanode.memory import saved_copies
from howdah.datanode.state.replicas.replicas import Replica, ReplicaMap
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.state.volumes import block_files
from howdah.datanode.volumes.volumes import Volume, VolumeSet
from howdah.protocol.data_transfer.checksum import ChecksumSpec, crc, verify_chunks
from howdah.protocol.data_transfer.meta_header import META_HEADER_BYTES, decode_meta_header
from howdah.runtime import disk
from howdah.runtime.atomic_files import fsync_directory

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Found:
    """The files of one block id in one directory kind."""

    block_paths: list[str] = field(default_factory=list)
    metas: list[tuple[int, str]] = field(default_factory=list)
    """(generation stamp, path)"""


def pools_on(volume: Volume) -> list[str]:
    """The block pools that have a directory on this volume. `OSError` if that can't be read."""
    current = f"{volume.path}/{block_files.CURRENT}"
    try:
        names = os.listdir(current)
    except FileNotFoundError:
        return []
    return sorted(
        name for name in names if name.startswith("BP-") and os.path.isdir(f"{current}/{name}")
    )


def scan_all(volumes: VolumeSet, replicas: ReplicaMap) -> None:
    """Add what the volumes hold to `replicas`, and count their bytes. Volumes that can't be
    read have failed afterwards."""
    pools: set[str] = set()
    for volume in volumes.working():
        try:
            pools.update(pools_on(volume))
        except OSError as error:
            _remove_volume(volume, f"its scan failed: {error}", replicas)
    for pool_id in sorted(pools):
        scan_pool(volumes, pool_id, replicas)


def scan_pool(volumes: VolumeSet, pool_id: str, replicas: ReplicaMap) -> None:
    """Add what the volumes hold of the pool to `replicas`, and count its bytes."""
    replicas.add_pool(pool_id)
    now_ms = time.time_ns() // 1_000_000
    for volume in volumes.working():
        try:
            unread = _scan_volume(volumes, volume, pool_id, replicas, now_ms)
            trouble = volume.probe(()) if unread else None
        except OSError as error:
            trouble = error
        if trouble is not None:
            _remove_volume(volume, f"its scan failed: {trouble}", replicas)


def _scan_volume(
    volumes: VolumeSet, volume: Volume, pool_id: str, replicas: ReplicaMap, now_ms: int
) -> int:
    """Scan a volume; return how many files could not be read, or cleaned up. `OSError` where a
    directory cannot be read."""
    unread = _clear_tmp(volume, pool_id)
    try:
        _recover_saved(volume, pool_id)
    except OSError as error:
        # The next start has another try. What is in `finalized` needs none of it.
        unread += 1
        log.error("copies of replicas in memory stay apart on %s: %s", volume, error)
    awaited = _take_restart_files(volume, pool_id, now_ms)
    finalized = _read(volume.finalized_path(pool_id), deep=True)
    rbw = _read(volume.rbw_path(pool_id), deep=False)
    unsynced: set[str] = set()
    for block_id in finalized.keys() | rbw.keys():
        closed_files, open_files = finalized.get(block_id), rbw.get(block_id)
        try:
            if closed_files is not None and open_files is None:
                plain = _ordinary_replica(volume, pool_id, block_id, closed_files, replicas)
                if plain is not None:
                    replicas.add(pool_id, plain)
                    continue
            scan = _BlockScan(volume, pool_id, block_id, closed_files, open_files, unsynced)
            replica = scan.settle()
            unread += scan.failures
            if replica is not None:
                if replica.state is ReplicaState.RWR and block_id in awaited:
                    replica.take_back()
                unread += _admit(volumes, volume, pool_id, replica, replicas)
        except OSError as error:
            unread += 1
            log.error("block %d of %s on %s cannot be read: %s", block_id, pool_id, volume, error)
    # Once for all blocks: there may be a hundred thousand of them.
    sync_names(*sorted(unsynced))
    return unread


def _recover_saved(volume: Volume, pool_id: str) -> None:
    if volume.is_transient:
        return
    aside = saved_copies.recover(volume, pool_id)
    if aside:
        quarantine(volume, pool_id, aside, "its block has a newer replica, or it has no sums")
    saved_copies.end_recovery(volume, pool_id)


def _remove_volume(volume: Volume, reason: str, replicas: ReplicaMap) -> None:
    lost = replicas.of_volume(volume.storage_id)
    for pool_id, replica in lost:
        replicas.remove(pool_id, replica.block_id)
    volume.failure = reason
    log.error("volume %s has failed with %d replicas: %s", volume, len(lost), reason)


def _ordinary_replica(
    volume: Volume, pool_id: str, block_id: int, files: _Found, replicas: ReplicaMap
) -> Replica | None:
    """Return the replica of a pair that needs nothing done to it, as nearly all of a million
    are."""
    if len(files.block_paths) != 1 or len(files.metas) != 1:
        return None
    path = files.block_paths[0]
    generation_stamp, meta = files.metas[0]
    directory = f"{volume.finalized_directory(pool_id, block_id)}/"
    if not path.startswith(directory) or not meta.startswith(directory):
        return None
    if replicas.find(pool_id, block_id) is not None:
        return None
    length = os.stat(path).st_size
    volume.count(pool_id, length + os.stat(meta).st_size)
    return Replica(block_id, generation_stamp, ReplicaState.FINALIZED, volume.storage_id, length)


def _admit(
    volumes: VolumeSet, scanned: Volume, pool_id: str, replica: Replica, replicas: ReplicaMap
) -> int:
    """Keep the better one of this replica and the one that is known, whatever becomes of the
    other's files. Return how many steps failed on the volume that is `scanned`."""
    existing = replicas.find(pool_id, replica.block_id)
    if existing is None:
        scanned.count(pool_id, _files_bytes(scanned, pool_id, replica))
        replicas.add(pool_id, replica)
        return 0

    def rank(candidate: Replica) -> tuple[int, bool, int, bool]:
        return _rank(volumes, candidate)

    loser = min(existing, replica, key=rank)
    loser_volume = volumes[loser.volume_id]
    if loser is existing:
        scanned.count(pool_id, _files_bytes(scanned, pool_id, replica))
        replicas.remove(pool_id, loser.block_id)
        replicas.add(pool_id, replica)
    winner = replica if loser is existing else existing
    try:
        if loser is existing:
            loser_volume.count(pool_id, -_files_bytes(loser_volume, pool_id, loser))
        _clear_away(volumes, pool_id, loser, winner)
    except OSError as error:
        log.error("%r stays on %s beside %r: %s", loser, loser_volume, winner, error)
        if loser_volume is scanned:
            return 1
        trouble = loser_volume.probe(())
        if trouble is not None:
            _remove_volume(loser_volume, f"its scan failed: {trouble}", replicas)
    return 0


def _clear_away(volumes: VolumeSet, pool_id: str, loser: Replica, winner: Replica) -> None:
    volume = volumes[loser.volume_id]
    block_file, meta_file = replica_paths(volume, pool_id, loser)
    if volume.is_transient and not volumes[winner.volume_id].is_transient:
        # It takes memory, and a disk has as much of it.
        log.info("deleting %r in memory: %r is on a disk", loser, winner)
        os.unlink(block_file)
        os.unlink(meta_file)
    else:
        # The meta file goes first, as the scan of a later start judges it then.
        quarantine(volume, pool_id, [meta_file, block_file], "another volume has a better replica")


def _rank(volumes: VolumeSet, replica: Replica) -> tuple[int, bool, int, bool]:
    return (
        replica.generation_stamp,
        replica.state is ReplicaState.FINALIZED,
        replica.length_bytes,
        not volumes[replica.volume_id].is_transient,
    )


def replica_paths(volume: Volume, pool_id: str, replica: Replica) -> tuple[str, str]:
    """(block file, meta file) of a replica, by its state."""
    match replica.stored_as:
        case ReplicaState.FINALIZED:
            directory = volume.finalized_directory(pool_id, replica.block_id)
        case ReplicaState.TEMPORARY:
            directory = volume.tmp_path(pool_id)
        case _:
            directory = volume.rbw_path(pool_id)
    return (
        f"{directory}/{block_files.block_file_name(replica.block_id)}",
        f"{directory}/{block_files.meta_file_name(replica.block_id, replica.generation_stamp)}",
    )


def _files_bytes(volume: Volume, pool_id: str, replica: Replica) -> int:
    return sum(os.stat(path).st_size for path in replica_paths(volume, pool_id, replica))


def quarantine(volume: Volume, pool_id: str, paths: list[str], why: str) -> None:
    """Move files aside, where nobody serves or reports them, durably, and say why."""
    sync_names(*move_aside(volume, pool_id, paths, why))


def move_aside(volume: Volume, pool_id: str, paths: list[str], why: str) -> tuple[str, ...]:
    """Move files into the quarantine and return the directories to sync, the quarantine first."""
    directory = volume.quarantine_path(pool_id)
    disk.make_directory(Path(directory))
    for path in paths:
        target = f"{directory}/{os.path.basename(path)}"
        suffix = 0
        while os.path.exists(target):
            suffix += 1
            target = f"{directory}/{os.path.basename(path)}.{suffix}"
        os.rename(path, target)
        log.warning("moved %s to %s: %s", path, target, why)
    return tuple(dict.fromkeys((directory, *(os.path.dirname(path) for path in paths))))


def sync_names(*directories: str) -> None:
    """What was renamed into the first of these is there after a power cut, and then gone from the
    others."""
    for directory in dict.fromkeys(directories):
        fsync_directory(Path(directory))


def _clear_tmp(volume: Volume, pool_id: str) -> int:
    """How many entries could not be removed. Nobody reads what is there."""
    path = volume.tmp_path(pool_id)
    failures = 0
    if not os.path.isdir(path):
        return failures
    for entry in os.scandir(path):
        try:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)
        except OSError as error:
            failures += 1
            log.error("%s, which is left over, cannot be removed: %s", entry.path, error)
    return failures


def _take_restart_files(volume: Volume, pool_id: str, now_ms: int) -> set[int]:
    """The blocks whose writers wait for this datanode; their restart files are used up."""
    directory = os.path.dirname(volume.rbw_path(pool_id))
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return set()
    awaited = set()
    for name in names:
        block_id = block_files.parse_restart_file_name(name)
        if block_id is not None:
            path = f"{directory}/{name}"
            try:
                with open(path, "rb") as file:
                    if block_files.decode_restart_file(file.read(64)) > now_ms:
                        awaited.add(block_id)
                os.unlink(path)
            except OSError as error:
                # Its replica waits for a recovery at worst, as after any other end.
                log.error("%s cannot be read, or removed: %s", path, error)
    return awaited


def _read(path: str, *, deep: bool) -> dict[int, _Found]:
    """Return the block and meta files in a directory, and, if `deep`, below it."""
    by_id: dict[int, _Found] = {}
    directories = [path]
    while directories:
        try:
            entries = os.scandir(directories.pop())
        except FileNotFoundError:
            continue
        with entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if deep:
                        directories.append(entry.path)
                else:
                    _note(entry, by_id)
    return by_id


def _note(entry: os.DirEntry[str], by_id: dict[int, _Found]) -> None:
    name = entry.name
    if name.endswith(block_files.COPY_SUFFIX) and _is_of_a_block(name):
        # A process that died made it. What it is a copy of is there, whole.
        try:
            os.unlink(entry.path)
            log.info("deleted %s, a copy that was not completed", entry.path)
        except OSError as error:
            log.error("%s, a copy that was not completed, stays: %s", entry.path, error)
        return
    if name.endswith(".meta"):
        meta = block_files.parse_meta_file_name(name)
        if meta is not None:
            by_id.setdefault(meta[0], _Found()).metas.append((meta[1], entry.path))
            return
    else:
        block_id = block_files.parse_block_file_name(name)
        if block_id is not None:
            by_id.setdefault(block_id, _Found()).block_paths.append(entry.path)
            return
    log.warning("%s is neither a block nor a meta file; it is left alone", entry.path)


def _is_of_a_block(name: str) -> bool:
    plain = name.removesuffix(block_files.COPY_SUFFIX)
    parsed = block_files.parse_block_file_name(plain), block_files.parse_meta_file_name(plain)
    return parsed != (None, None)


class _BlockScan:
    """Settles the files of one block of one pool on one volume."""

    def __init__(
        self,
        volume: Volume,
        pool_id: str,
        block_id: int,
        finalized: _Found | None,
        rbw: _Found | None,
        unsynced: set[str],
    ) -> None:
        """`unsynced` gets the directories whose names have to be synced before the replica counts
        as being there."""
        self.volume = volume
        self.pool_id = pool_id
        self.block_id = block_id
        self.finalized = finalized or _Found()
        self.rbw = rbw or _Found()
        self._unsynced = unsynced
        self.failures = 0
        """Files that could not be moved aside. What makes a replica is one all the same."""

    def settle(self) -> Replica | None:
        """The replica that these files make, after they were put right; None if none."""
        self._keep_newest_meta()
        if self.finalized.block_paths:
            if self.finalized.metas:
                newer = self._waiting() if self._rbw_is_newer() else None
                if newer is not None:
                    self._aside(self.finalized, "the block has a newer replica")
                    return newer
                self._aside(self.rbw, "the block is finalized")
                return self._final(self.finalized.block_paths[0], self.finalized.metas[0][0])
            if self.rbw.metas and not self.rbw.block_paths:
                return self._undo_reopen()
        if self.rbw.block_paths:
            if self.rbw.metas:
                self._aside(self.finalized, "no block file is beside it")
                return self._waiting()
            if self.finalized.metas:
                return self._complete_finalize()
        self._aside(self.finalized, "block and meta file are not both there")
        self._aside(self.rbw, "block and meta file are not both there")
        return None

    def _rbw_is_newer(self) -> bool:
        """Whether there is a pair of a newer stamp than the final one's, which was to be gone: the
        disk did not let it be deleted."""
        rbw = self.rbw
        return bool(rbw.block_paths and rbw.metas) and (
            rbw.metas[0][0] > self.finalized.metas[0][0]
        )

    def _aside(self, files: _Found, why: str) -> None:
        self._quarantine([*files.block_paths, *(path for _, path in files.metas)], why)

    def _quarantine(self, paths: list[str], why: str) -> None:
        for path in paths:
            try:
                self._unsynced.update(move_aside(self.volume, self.pool_id, [path], why))
            except OSError as error:
                self.failures += 1
                log.error("%s stays where it is, though %s: %s", path, why, error)

    def _keep_newest_meta(self) -> None:
        for files in (self.finalized, self.rbw):
            files.metas.sort(reverse=True)
            if len(files.metas) > 1 or len(files.block_paths) > 1:
                extra = [path for _, path in files.metas[1:]] + files.block_paths[1:]
                self._quarantine(extra, "the block has newer files")
                del files.metas[1:], files.block_paths[1:]

    def _final(self, path: str, generation_stamp: int) -> Replica:
        directory = self.volume.finalized_directory(self.pool_id, self.block_id)
        if os.path.dirname(path) != directory:
            # Older layouts cut the id otherwise; the file moves to where it is looked for.
            disk.make_directory(Path(directory))
            meta = self.finalized.metas[0][1]
            os.rename(meta, f"{directory}/{os.path.basename(meta)}")
            moved = f"{directory}/{os.path.basename(path)}"
            os.rename(path, moved)
            sync_names(directory, os.path.dirname(meta), os.path.dirname(path))
            log.info("moved %s to %s, where this layout has it", path, moved)
            path = moved
        return Replica(
            self.block_id,
            generation_stamp,
            ReplicaState.FINALIZED,
            self.volume.storage_id,
            os.stat(path).st_size,
        )

    def _complete_finalize(self) -> Replica:
        generation_stamp, meta = self.finalized.metas[0]
        path = f"{os.path.dirname(meta)}/{block_files.block_file_name(self.block_id)}"
        os.rename(self.rbw.block_paths[0], path)
        sync_names(os.path.dirname(path), os.path.dirname(self.rbw.block_paths[0]))
        log.info("completed the finalizing of %s", path)
        return self._final(path, generation_stamp)

    def _undo_reopen(self) -> Replica:
        # Nothing was appended yet. The stamp stays the new one, which is the only
        # trace of the old one's successor.
        generation_stamp, meta = self.rbw.metas[0]
        path = self.finalized.block_paths[0]
        target = f"{os.path.dirname(path)}/{os.path.basename(meta)}"
        os.rename(meta, target)
        sync_names(os.path.dirname(target), os.path.dirname(meta))
        self.finalized.metas.append((generation_stamp, target))
        log.info("undid the reopening of %s", path)
        return self._final(path, generation_stamp)

    def _waiting(self) -> Replica | None:
        generation_stamp, meta = self.rbw.metas[0]
        path = self.rbw.block_paths[0]
        try:
            length, last_sum = good_length(path, meta)
        except errors.ChecksumMismatch as error:
            self._aside(self.rbw, error.message)
            self.rbw = _Found()
            return None
        return Replica(
            self.block_id,
            generation_stamp,
            ReplicaState.RWR,
            self.volume.storage_id,
            length,
            last_sum,
        )


_VERIFY_BYTES = 4 * 1024 * 1024
"""Data that is verified at once."""


def good_length(path: str, meta_path: str) -> tuple[int, bytes]:
    """(bytes whose checksums hold, checksum of the partial last chunk) of an open replica.

    Data is written before its checksums, so the last checksum may be that of
    fewer bytes than the chunk has: the longest prefix that it fits is good, and
    with it every byte that was acknowledged.
    """
    with open(path, "rb") as block_file, open(meta_path, "rb") as meta_file:
        spec = decode_meta_header(meta_file.read(META_HEADER_BYTES))
        data_bytes = os.fstat(block_file.fileno()).st_size
        if spec.sum_bytes == 0:
            return data_bytes, b""
        good = 0
        step = max(_VERIFY_BYTES // spec.bytes_per_checksum, 1) * spec.bytes_per_checksum
        while data := block_file.read(min(step, data_bytes)):
            sums = meta_file.read(spec.sums_length(len(data)))
            chunks = min(spec.chunks(len(data)), len(sums) // spec.sum_bytes)
            data, sums = data[: chunks * spec.bytes_per_checksum], sums[: chunks * spec.sum_bytes]
            bad = verify_chunks(spec, data, sums)
            if bad < 0:
                good += len(data)
                continue
            last_sum = sums[bad * spec.sum_bytes :][: spec.sum_bytes]
            part = data[bad * spec.bytes_per_checksum :][: spec.bytes_per_checksum]
            prefix = _good_prefix(spec, part, last_sum)
            good += bad * spec.bytes_per_checksum + prefix
            return good, last_sum if prefix else b""
        if good % spec.bytes_per_checksum == 0:
            return good, b""
        meta_file.seek(block_files.sums_offset(spec, good // spec.bytes_per_checksum))
        return good, meta_file.read(spec.sum_bytes)


def _good_prefix(spec: ChecksumSpec, data: bytes, sum_bytes: bytes) -> int:
    """The longest part of one chunk, from its start, that the checksum fits; it isn't all."""
    expected = int.from_bytes(sum_bytes, "big")
    value, good = 0, 0
    for index in range(len(data)):
        value = crc(spec.type, data[index : index + 1], value)
        if value == expected:
            good = index + 1
    return good
