"""Brings the map and the files of one block together again where they differ (shell).

`reconciliation` decides. Everything is looked at anew while nobody changes files of the
volumes that it is about, since writers and deletions have gone on since the difference was
seen: most differences are gone by then.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from stat import S_ISREG

from howdah import errors
from howdah.datanode.replicas.short_circuit import ShortCircuitRegistry
from howdah.datanode.replicas.startup_scan import quarantine, replica_paths, sync_names
from howdah.datanode.state.messages import (
    CorruptFound,
    Event,
    ReplicaDeleted,
    ReplicaReceived,
    ReplicaSuspect,
)
from howdah.datanode.state.replicas.reconciliation import (
    NOTHING,
    BlockFile,
    Known,
    Memory,
    MetaFile,
    Outcome,
    judge,
)
from howdah.datanode.state.replicas.replicas import Replica, ReplicaMap
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.state.volumes import block_files
from howdah.datanode.volumes.volumes import Volume, VolumeSet, changing
from howdah.protocol.data_transfer.blocks import ExtendedBlock
from howdah.protocol.data_transfer.meta_header import META_HEADER_BYTES, decode_meta_header
from howdah.runtime import disk

log = logging.getLogger(__name__)


class Reconciler:
    """Settles what differs between disks and memory of one datanode."""

    def __init__(
        self,
        volumes: VolumeSet,
        replicas: ReplicaMap,
        lock: threading.Lock,
        short_circuit: ShortCircuitRegistry,
        notify: Callable[[Event], None],
        is_held: Callable[[ExtendedBlock], bool],
    ) -> None:
        """`lock` is that of the map. `is_held` says whether somebody has a block to write."""
        self._is_held = is_held
        self._volumes = volumes
        self._replicas = replicas
        self._lock = lock
        self._short_circuit = short_circuit
        self._notify = notify

    def settle(self, pool_id: str, block_id: int, storage_id: str, strays: Iterable[str]) -> bool:
        """Settle a difference of disk and memory; return whether they differed. `strays` are files
        of the block that were seen in another directory of the volume than theirs. Raises
        `OSError`."""
        volume = self._volumes[storage_id]
        strays = tuple(strays)
        while True:
            replica = self._find(pool_id, block_id)
            other = None if replica is None else self._volumes[replica.volume_id]
            involved = [
                candidate
                for candidate in self._volumes.all
                if candidate is volume or candidate is other
            ]
            if any(candidate.hangs or candidate.failure is not None for candidate in involved):
                return False
            with changing(involved):
                if self._find(pool_id, block_id) is replica:
                    return self._settle(pool_id, block_id, volume, replica, strays)

    def _find(self, pool_id: str, block_id: int) -> Replica | None:
        with self._lock:
            return self._replicas.find(pool_id, block_id)

    def _settle(
        self,
        pool_id: str,
        block_id: int,
        volume: Volume,
        replica: Replica | None,
        strays: tuple[str, ...],
    ) -> bool:
        directory = volume.finalized_directory(pool_id, block_id)
        blocks, metas = _files(volume, pool_id, block_id, directory, strays)
        known = None
        if replica is not None:
            known = Known(replica.generation_stamp, replica.length_bytes)
        memory = self._memory(pool_id, volume, replica)
        outcome = judge(memory, known, directory, blocks, metas)
        if outcome.take:
            outcome = self._without_bad_meta(outcome)
        if outcome.is_nothing:
            return False
        log.warning(
            "block %d of %s on %s is not as it was known: %s",
            block_id,
            pool_id,
            volume,
            _outcome_text(replica, outcome),
        )
        self._act(pool_id, block_id, volume, replica, outcome, directory)
        return True

    def _memory(self, pool_id: str, volume: Volume, replica: Replica | None) -> Memory:
        if replica is None:
            return Memory.NOWHERE
        is_held = self._is_held(replica.as_block(pool_id))
        if replica.state is not ReplicaState.FINALIZED or is_held:
            return Memory.CHANGING
        if replica.volume_id == volume.storage_id:
            return Memory.HERE
        paths = replica_paths(self._volumes[replica.volume_id], pool_id, replica)
        is_there = all(_length(path) is not None for path in paths)
        return Memory.ELSEWHERE if is_there else Memory.LOST_ELSEWHERE

    def _without_bad_meta(self, outcome: Outcome) -> Outcome:
        """A pair whose meta file is none makes no replica."""
        assert outcome.block is not None, "a replica is made of a pair of files"
        assert outcome.meta is not None, "a replica is made of a pair of files"
        try:
            with open(outcome.meta.path, "rb") as file:
                decode_meta_header(file.read(META_HEADER_BYTES))
        except errors.ChecksumMismatch:
            aside = (*outcome.aside, outcome.meta.path, outcome.block.path)
            return Outcome(forget=outcome.forget, aside=aside)
        return outcome

    def _act(
        self,
        pool_id: str,
        block_id: int,
        volume: Volume,
        replica: Replica | None,
        outcome: Outcome,
        directory: str,
    ) -> None:
        if outcome.forget:
            assert replica is not None, "what is not known cannot be forgotten"
            self._forget(pool_id, replica)
        trouble = self._set_aside(volume, pool_id, outcome.aside)
        if outcome.block is None or outcome.meta is None:
            if trouble is not None:
                raise trouble
            return
        # What could not be moved aside has other names: a file that lies in its place is chosen.
        # The meta file first: a finalized block file always has its checksums.
        meta_path, block_path = _put(directory, outcome.meta.path, outcome.block.path)
        if outcome.take:
            self._adopt(pool_id, block_id, volume, outcome, meta_path, block_path)
        if trouble is not None:
            raise trouble

    def _set_aside(self, volume: Volume, pool_id: str, paths: tuple[str, ...]) -> OSError | None:
        """Quarantine files that make no replica. Return the last error: it does not keep a pair of
        sound files from becoming a replica."""
        trouble: OSError | None = None
        for path in paths:
            try:
                quarantine(volume, pool_id, [path], "it makes no replica")
            except OSError as error:
                log.error("%s stays where it is: %s", path, error)
                trouble = error
        return trouble

    def _adopt(
        self,
        pool_id: str,
        block_id: int,
        volume: Volume,
        outcome: Outcome,
        meta_path: str,
        block_path: str,
    ) -> None:
        assert outcome.block is not None, "a replica is made of a pair of files"
        assert outcome.meta is not None, "a replica is made of a pair of files"
        replica = Replica(
            block_id,
            outcome.meta.generation_stamp,
            ReplicaState.FINALIZED,
            volume.storage_id,
            outcome.block.length_bytes,
        )
        with self._lock:
            if volume.failure is not None:
                # The volume was left just now; no later step would remove the replica.
                return
            self._replicas.add(pool_id, replica)
        volume.count(pool_id, os.stat(block_path).st_size + os.stat(meta_path).st_size)
        block = replica.as_block(pool_id)
        self._notify(ReplicaReceived(block, volume.storage_id))
        if outcome.damage:
            log.error("%r of %s is corrupt: %s", replica, pool_id, outcome.damage)
            self._notify(CorruptFound(block, volume.storage_id, None, outcome.damage))
        else:
            # Its origin is unknown.
            self._notify(ReplicaSuspect(block, volume.storage_id))

    def _forget(self, pool_id: str, replica: Replica) -> None:
        volume = self._volumes[replica.volume_id]
        with self._lock:
            self._replicas.remove(pool_id, replica.block_id)
            self._short_circuit.revoke(pool_id, replica.block_id)
        volume.count(pool_id, -block_files.usual_bytes(replica.length_bytes))
        self._notify(ReplicaDeleted(replica.as_block(pool_id), volume.storage_id))


def _files(
    volume: Volume, pool_id: str, block_id: int, directory: str, strays: tuple[str, ...]
) -> tuple[list[BlockFile], list[MetaFile]]:
    """What there is of the block now: in its directory, and of the strays."""
    above = f"{volume.finalized_path(pool_id)}/"
    paths = [path for path in strays if path.startswith(above)]
    with contextlib.suppress(FileNotFoundError):
        paths += [f"{directory}/{name}" for name in os.listdir(directory)]
    blocks: list[BlockFile] = []
    metas: list[MetaFile] = []
    for path in dict.fromkeys(paths):
        name = os.path.basename(path)
        length = _length(path)
        if length is None:
            continue
        meta = block_files.parse_meta_file_name(name)
        if meta is not None and name == block_files.meta_file_name(block_id, meta[1]):
            metas.append(MetaFile(path, meta[1]))
        elif name == block_files.block_file_name(block_id):
            blocks.append(BlockFile(path, length))
    return blocks, metas


def _length(path: str) -> int | None:
    """None if there is no such file. Raises `OSError`: of a file that cannot be looked at nobody
    knows whether it is there."""
    try:
        stat = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return stat.st_size if S_ISREG(stat.st_mode) else None


def _put(directory: str, *paths: str) -> list[str]:
    """Move files to the directory where they belong, durably, and return their paths there."""
    targets = [f"{directory}/{os.path.basename(path)}" for path in paths]
    moves = [(path, target) for path, target in zip(paths, targets, strict=True) if path != target]
    if moves:
        disk.make_directory(Path(directory))
        for path, target in moves:
            os.rename(path, target)
            log.info("moved %s to %s, where it belongs", path, target)
        sync_names(directory, *(os.path.dirname(path) for path, _ in moves))
    return targets


def _outcome_text(replica: Replica | None, outcome: Outcome) -> str:
    if outcome.take:
        return f"{replica!r} is replaced" if outcome.forget else "it is taken in"
    if outcome.forget:
        return f"{replica!r} is given up"
    return "files are moved" if outcome != NOTHING else "nothing is done"
