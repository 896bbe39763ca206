"""The replicas of this datanode that are in memory, and the room that is held for them.

The part of FsDatasetImpl in Hadoop that asks RamDiskReplicaTracker and FsDatasetCache. The store
says here what it does with replicas on volumes in memory; `howdah.datanode.lazy_persist` copies
them to disks and takes them out of memory. Which states there are is `memory.tracker`'s.

The lock here is held for looks and changes of the tracker, never over a call to a disk, and may
be taken with a volume's `changing` held, or the map's lock.
"""

from __future__ import annotations

import logging
import mmap
import threading
import time
from collections.abc import Callable

from howdah import errors
from howdah.datanode.memory import saved_copies
from howdah.datanode.memory.mmap_replicas import MappedReplica
from howdah.datanode.state.memory.metrics import Figure
from howdah.datanode.state.memory.tracker import Copy, Discarded, Key, Record, Tracker
from howdah.datanode.state.replicas.replicas import Replica
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.volumes.volumes import Volume, VolumeSet
from howdah.protocol.data_transfer.blocks import ExtendedBlock, StorageType

log = logging.getLogger(__name__)


class InMemory:
    """Thread-safe."""

    def __init__(
        self, volumes: VolumeSet, limit_bytes: int = 0, page_bytes: int = mmap.PAGESIZE
    ) -> None:
        """At most `limit_bytes` are held (`dfs.datanode.max.locked.memory`); 0: nothing goes to
        memory."""
        self._volumes = volumes
        self.lock = threading.Lock()
        self.tracker = Tracker(limit_bytes, page_bytes)
        self.make_room: Callable[[int], None] = lambda count_bytes: None
        """Evicts what is saved, if that gives room for so many bytes."""
        self.rescue: Callable[[list[Record]], None] = lambda records: None
        """Has copies take the places of these, which were lost with their memory."""
        self.when_unsaved: Callable[[], None] = lambda: None
        """Told when a replica waits for its copy."""
        self.mapped: dict[Key, MappedReplica] = {}
        """Those that the cache has; it alone adds to them, and any thread may look."""
        self._counting = threading.Lock()
        self._add: Callable[[Figure, int], None] = lambda figure, change: None
        self._on_locked: Callable[[int], None] = lambda count_bytes: None
        self.on_copy_bytes: Callable[[str, Volume, int], None] = lambda pool, volume, change: None
        """Told when copies on a volume take more bytes, or fewer."""

    def connect(self, add: Callable[[Figure, int], None], locked: Callable[[int], None]) -> None:
        """`add` gets what is counted, one call at a time, and `locked` the bytes in memory."""
        self._add, self._on_locked = add, locked
        with self.lock:
            self._tell_locked()

    def count(self, figure: Figure, change: int) -> None:
        with self._counting:
            self._add(figure, change)

    # --- new replicas ---

    def choose(
        self,
        block: ExtendedBlock,
        storage_type: StorageType,
        on_error: Callable[[Volume, OSError], None],
        *,
        lazy_persist: bool,
    ) -> Volume:
        """The volume of a new replica: with `lazy_persist` one in memory, with room for it that
        is held from now on, if there is one; else one of `storage_type`. Raises what
        `VolumeSet.choose` does."""
        if storage_type is StorageType.RAM_DISK:
            # Hadoop's namenode asks for none. Who does gets it, within the limit.
            lazy_persist, storage_type = True, StorageType.DISK
        if lazy_persist:
            volume = self._choose(block, on_error)
            if volume is not None:
                self.count(Figure.RamDiskBlocksWrite, 1)
                return volume
            self.count(Figure.RamDiskBlocksWriteFallback, 1)
        return self._volumes.choose(storage_type, block.length_bytes, on_error)

    def _choose(
        self, block: ExtendedBlock, on_error: Callable[[Volume, OSError], None]
    ) -> Volume | None:
        """Only blocks of whole pages go to memory, as in Hadoop."""
        if not self._has_volumes() or not self.tracker.limit_bytes:
            return None
        key, length = (block.pool_id, block.block_id), block.length_bytes
        if not self.tracker.is_whole_pages(length):
            return None
        if not self._reserve(block):
            self.make_room(self.tracker.round_up(length))
            if not self._reserve(block):
                log.info(
                    "%s does not go to memory: %d bytes of %d are held",
                    block,
                    self.tracker.locked_bytes,
                    self.tracker.limit_bytes,
                )
                return None
        try:
            volume = self._volumes.choose(StorageType.RAM_DISK, length, on_error)
        except errors.DiskOutOfSpace as error:
            log.warning("%s goes to a disk instead of memory: %s", block, error)
            self.forget(*key)
            return None
        except BaseException:
            self.forget(*key)
            raise
        with self.lock:
            self.tracker.assign_volume(key, volume.storage_id)
        return volume

    def _has_volumes(self) -> bool:
        return any(volume.is_transient for volume in self._volumes.working())

    def _reserve(self, block: ExtendedBlock) -> bool:
        with self.lock:
            is_held = self.tracker.reserve(
                (block.pool_id, block.block_id), "", block.length_bytes, time.monotonic()
            )
            self._tell_locked()
        return is_held

    def hold_cached(self, count_bytes: int) -> bool:
        """Room to keep a replica on a disk in memory as well; False if there is none left."""
        with self.lock:
            is_held = self.tracker.hold_cached(count_bytes)
            self._tell_locked()
        return is_held

    def free_cached(self, count_bytes: int) -> None:
        """That room is free again."""
        with self.lock:
            self.tracker.free_cached(count_bytes)
            self._tell_locked()

    def adopt(self, pool_id: str, replica: Replica) -> None:
        """A replica that was found on a volume in memory."""
        key = pool_id, replica.block_id
        if not self._volumes[replica.volume_id].is_transient:
            return
        with self.lock:
            if self.tracker.find(key) is not None:
                return
            self.tracker.adopt(
                key,
                replica.volume_id,
                replica.generation_stamp,
                replica.length_bytes,
                time.monotonic(),
                is_final=replica.state is ReplicaState.FINALIZED,
            )
            self._tell_locked()

    # --- changes; the caller has the volume's `changing` ---

    def reopen(self, pool_id: str, replica: Replica) -> Copy | None:
        """It is about to change, if it is in memory; `settled` follows. Returns a copy to delete
        when no volume's `changing` is held."""
        key = pool_id, replica.block_id
        with self.lock:
            return None if self._of(key, replica) is None else self.tracker.reopen(key)

    def settled(self, pool_id: str, replica: Replica) -> None:
        """What was about to change has, or could not. A finalized one waits for its copy."""
        key = pool_id, replica.block_id
        if replica.state is not ReplicaState.FINALIZED:
            return
        with self.lock:
            if self._of(key, replica) is None:
                return
            self.tracker.finalize(key, replica.generation_stamp, replica.length_bytes)
            self._tell_locked()
        self.count(Figure.RamDiskBytesWrite, replica.length_bytes)
        self.when_unsaved()

    def _of(self, key: Key, replica: Replica) -> Record | None:
        """The record of this replica; a new one of the block may be on a disk."""
        record = self.tracker.find(key)
        return record if record is not None and record.volume_id == replica.volume_id else None

    def grow(self, pool_id: str, replica: Replica, total_bytes: int) -> None:
        """An append, or what follows one, may make it that long. `DiskOutOfSpace` if there is
        no memory for it."""
        key = pool_id, replica.block_id
        for attempt in range(2):
            with self.lock:
                record = self._of(key, replica)
                if record is None or self.tracker.grow(key, total_bytes):
                    self._tell_locked()
                    return
            if not attempt:
                self.make_room(self.tracker.round_up(total_bytes))
        raise errors.DiskOutOfSpace(
            f"Insufficient space for appending to {replica!r}, which is in memory: "
            f"{self.tracker.locked_bytes} bytes of dfs.datanode.max.locked.memory = "
            f"{self.tracker.limit_bytes} are held"
        )

    def discard(self, pool_id: str, replica: Replica, *, ordered: bool = False) -> Discarded | None:
        """It is in the map no more; `settle` follows when its files are gone. `ordered`: by the
        namenode."""
        key = pool_id, replica.block_id
        with self.lock:
            gone = None if self._of(key, replica) is None else self.tracker.discard(key)
        if gone is not None and ordered and not gone.was_saved and not gone.was_open:
            self.count(Figure.RamDiskBlocksDeletedBeforeLazyPersisted, 1)
        return gone

    # --- when nothing is held ---

    def settle(self, gone: Discarded | None) -> None:
        """The files of what was discarded are gone: free its memory, delete its copy."""
        if gone is None:
            return
        with self.lock:
            self.tracker.freed(gone.locked_bytes)
            self._tell_locked()
        self.delete_copy(gone.copy)

    def forget(self, pool_id: str, block_id: int) -> None:
        """The replica was lost. What a disk has of it stays: the next start finds it."""
        with self.lock:
            gone = self.tracker.discard((pool_id, block_id))
            if gone is not None:
                self.tracker.freed(gone.locked_bytes)
            self._tell_locked()

    def left(self, key: Key, turn: int) -> None:
        """The copy has taken the replica's place; `freed` follows."""
        with self.lock:
            if self.tracker.evicted(key, turn) is None:
                # Its turn was over: the volume of the copy was lost. The map knows better.
                self.tracker.discard(key)

    def freed(self, count_bytes: int) -> None:
        """What `left` is deleted."""
        with self.lock:
            self.tracker.freed(count_bytes)
            self._tell_locked()

    def lose_volume(self, volume: Volume) -> None:
        """The volume is used no more. What was in memory there is gone, and its copies are to
        take its place; what has its copy there needs another one."""
        copies: list[Record] = []
        with self.lock:
            if volume.is_transient:
                for record in self.tracker:
                    if record.volume_id == volume.storage_id:
                        gone = self.tracker.discard(record.key)
                        assert gone is not None, f"{record} was there"
                        self.tracker.freed(gone.locked_bytes)
                        if gone.was_saved:
                            copies.append(record)
            else:
                count = self.tracker.lose_target(volume.storage_id)
                if count:
                    log.warning("%d replicas in memory had their copies on %s", count, volume)
            self._tell_locked()
        if copies:
            self.rescue(copies)
        self.when_unsaved()

    def delete_copy(self, copy: Copy | None) -> None:
        """A copy of what is there no more, or is something else now."""
        if copy is None:
            return
        volume = self._volumes.by_id.get(copy.target_id)
        if volume is None or volume.failure is not None:
            return
        with volume.changing:
            with self.lock:
                is_another = self.tracker.has_copy_at(copy.key, copy.target_id)
                record = self.tracker.find(copy.key)
            stamp = None if record is None else record.generation_stamp
            if is_another and stamp == copy.generation_stamp:
                return
            freed = saved_copies.delete_copy(volume, copy, with_block=not is_another)
        if freed:
            volume.count(copy.key[0], -freed)
            self.on_copy_bytes(copy.key[0], volume, -freed)

    def was_read(self, pool_id: str, replica: Replica) -> None:
        """A client reads it, or has its files."""
        if not len(self.tracker):
            return
        with self.lock:
            is_hit = self.tracker.touch((pool_id, replica.block_id))
        if is_hit:
            self.count(Figure.RamDiskBlocksReadHits, 1)

    def _tell_locked(self) -> None:
        self._on_locked(self.tracker.locked_bytes)
