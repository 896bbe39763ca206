"""A replica leaves the memory: its copy on a disk takes its place.

FsDatasetImpl.evictLazyPersistBlocks and removeOldReplica in Hadoop. The steps:

1. Have the replica, unless somebody else has: an append, or a recovery, goes on, and another
   replica is evicted.
2. Rename the copy from `lazypersist` to `finalized`, the meta file first; from here on the
   replica is the one on the disk. Local readers are told to drop its files, or its memory would
   not be free; readers over a connection go on with them.
3. Sync the directories. Tell the control process of the new place before the old files go: a
   report in between must not name neither.
4. Delete the files in memory, and free it.

A crash between the renames of 2 leaves the copy apart, which the next start joins again.
"""

from __future__ import annotations

import logging
import os
import time

from howdah import errors
from howdah.datanode.lazy_persist.saving import block_of, present
from howdah.datanode.memory import saved_copies
from howdah.datanode.replicas.files import place_files, sync_directories
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.replicas.writer_registry import BriefHold
from howdah.datanode.state.fault_points import Point, reach
from howdah.datanode.state.memory.metrics import Figure
from howdah.datanode.state.memory.tracker import Copy, Record
from howdah.datanode.state.messages import ReplicaReceived
from howdah.datanode.state.replicas.replicas import Replica
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.volumes.volumes import Volume

log = logging.getLogger(__name__)

MOST_EVICTIONS = 3
"""For the room of one replica, as in Hadoop."""


def make_room(store: BlockStore, needed_bytes: int) -> None:
    """Evict what is saved until `needed_bytes` are free, or nothing more can be."""
    memory = store.in_memory
    for _ in range(MOST_EVICTIONS):
        with memory.lock:
            if memory.tracker.free_bytes >= needed_bytes:
                return
            record = memory.tracker.next_to_evict()
        if record is None:
            return
        _attempt(store, record)


def _attempt(store: BlockStore, record: Record) -> None:
    turn, memory, is_lost = record.turn, store.in_memory, False
    try:
        if evict(store, record, turn):
            return
    except (errors.HowdahError, OSError) as error:
        is_lost = isinstance(error, FileNotFoundError)
        log.error("block %d of %s stays in memory: %s", record.key[1], record.key[0], error)
    with memory.lock:
        memory.tracker.not_evicted(record.key, turn, is_lost=is_lost)


def evict(store: BlockStore, record: Record, turn: int) -> bool:
    """Whether it has left. Raises what `BlockStore.take_place` does."""
    holder = BriefHold("an eviction from memory")
    block = block_of(record)
    if not store.writers.try_hold(block, holder, record.generation_stamp):
        return False
    try:
        replica = present(store, record)
        if replica is None:
            return False
        _evict(store, record, turn, replica)
    finally:
        store.writers.release(block, holder)
    return True


def _evict(store: BlockStore, record: Record, turn: int, replica: Replica) -> None:
    pool_id, block_id = record.key
    target = store.volumes[record.target_id]
    copy = Copy(record.key, record.generation_stamp, record.target_id)
    reach(Point.EVICT, block_id)
    paths = saved_copies.copy_paths(target, copy)
    moved = Replica(
        block_id,
        replica.generation_stamp,
        ReplicaState.FINALIZED,
        target.storage_id,
        replica.length_bytes,
    )
    size_bytes = sum(os.path.getsize(path) for path in paths)
    directories = store.take_place(pool_id, replica, moved, paths, is_counted=True)
    unsynced: OSError | None = None
    try:
        sync_directories(directories)
    except OSError as error:
        unsynced = error
    reach(Point.EVICT_PLACED, block_id)
    # The control process counts it as a replica from now on.
    store.in_memory.on_copy_bytes(pool_id, target, -size_bytes)
    store.notify(ReplicaReceived(moved.as_block(pool_id), target.storage_id))
    store.in_memory.left(record.key, turn)
    behind: OSError | None = None
    try:
        store.delete_left_behind(pool_id, replica)
    except OSError as error:
        behind = error
    # The copy has taken its place, whatever becomes of the old files.
    store.in_memory.freed(record.locked_bytes)
    _count(store, record)
    log.info("%r of %s is on %s now, and has left the memory", moved, pool_id, target)
    if unsynced is not None:
        store.disk_failed(target, unsynced)
    if behind is not None:
        store.disk_failed(store.volumes[replica.volume_id], behind)


def rescue(store: BlockStore, records: list[Record]) -> None:
    """The memory of these was lost, or taken out of the configuration: have their copies take
    their places."""
    for record in records:
        target = store.volumes.by_id.get(record.target_id)
        if target is None or target.failure is not None:
            continue
        holder = BriefHold("the rescue of a copy")
        if not store.writers.try_hold(block_of(record), holder, record.generation_stamp):
            # Somebody makes the block anew. The next start settles which one stays.
            continue
        unsynced: OSError | None = None
        try:
            unsynced = _rescue(store, record, target)
        except OSError as error:
            # The next start finds it.
            log.error(
                "the copy of block %d of %s stays where it is: %s",
                record.key[1],
                record.key[0],
                error,
            )
        finally:
            # Not before it is told: a deletion that waits for it is told after that.
            store.writers.release(block_of(record), holder)
        if unsynced is not None:
            # Only now: the control process hears of the replica before it hears of a failed volume.
            store.disk_failed(target, unsynced)


def _rescue(store: BlockStore, record: Record, target: Volume) -> OSError | None:
    """What its directories could not be synced for. Raises `OSError` where it stays a copy."""
    pool_id, block_id = record.key
    paths = saved_copies.copy_paths(
        target, Copy(record.key, record.generation_stamp, target.storage_id)
    )
    moved = Replica(
        block_id,
        record.generation_stamp,
        ReplicaState.FINALIZED,
        target.storage_id,
        record.length_bytes,
    )
    size_bytes = sum(os.path.getsize(path) for path in paths)
    with target.changing:
        if store.find_id(pool_id, block_id) is not None:
            return None
        directories = place_files(target, pool_id, moved, paths)
        store.admit(pool_id, moved)
    unsynced: OSError | None = None
    try:
        sync_directories(directories)
    except OSError as error:
        unsynced = error
    store.in_memory.on_copy_bytes(pool_id, target, -size_bytes)
    store.notify(ReplicaReceived(moved.as_block(pool_id), target.storage_id))
    log.info("%r of %s is on %s now: its memory was lost", moved, pool_id, target)
    return unsynced


def _count(store: BlockStore, record: Record) -> None:
    count = store.in_memory.count
    count(Figure.RamDiskBlocksEvicted, 1)
    if not record.reads:
        count(Figure.RamDiskBlocksEvictedWithoutRead, 1)
    elapsed_s = time.monotonic() - record.created_s
    count(Figure.RamDiskBlocksEvictionWindowMs, round(elapsed_s * 1000))
