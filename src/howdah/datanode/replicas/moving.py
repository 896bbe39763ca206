"""A replica goes to a volume of another storage type, on the same datanode.

FsDatasetImpl.moveBlockAcrossStorage in Hadoop. The steps:

1. Have the replica alone: no append begins meanwhile. One that wants to ends the move.
2. Copy both files into `tmp` of the new volume, and sync them.
3. Rename the copies to where a finalized replica lies there, the meta file first; from here on
   the replica is the new one. Readers of the old files go on with them.
4. Sync the new names, then delete the old files: at no time is there no replica on a disk.
5. Tell the keeper that the replica is received on the new volume. The namenode knows that a node
   has but one replica of a block.

A crash between 3 and 4 leaves two replicas, of which the next start keeps one.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Final

from howdah import errors
from howdah.datanode.channel.messages import ReplicaReceived
from howdah.datanode.replicas.files import delete_files, sync_directories
from howdah.datanode.replicas.replicas import Replica
from howdah.datanode.replicas.states import ReplicaState
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.volumes.volumes import Volume
from howdah.transfer.blocks import ExtendedBlock, StorageType

log = logging.getLogger(__name__)

_PIECE_BYTES: Final = 1 << 20


class _Mover:
    """Holds the replica, until somebody else wants to write it."""

    def __init__(self) -> None:
        self.stopped = ""

    def stop(self, why: str) -> None:
        self.stopped = why


def move_to_type(
    store: BlockStore,
    block: ExtendedBlock,
    storage_type: StorageType,
    took: Callable[[int], None] = lambda _: None,
) -> None:
    """Move the replica of `block` to a volume of `storage_type`. `took` hears of bytes that were
    copied, and may wait.

    `ReplicaNotFound` if there is no finalized one, `ReplicaExists` if it is on such a volume
    already, `DiskOutOfSpace`, `RecoveryInProgress` if a client wants it, or the disk's `OSError`.
    """
    holder = _Mover()
    stamp = block.generation_stamp
    replica = store.claim(block, holder, stamp)
    try:
        if replica.state is not ReplicaState.FINALIZED or replica.generation_stamp != stamp:
            raise errors.ReplicaNotFound(f"{replica!r} is no finalized replica of {block}")
        old = store.volumes[replica.volume_id]
        if old.storage_type is storage_type:
            raise errors.ReplicaExists(f"{replica!r} is on {storage_type.name} already, on {old}")
        sizes = [os.path.getsize(path) for path in store.paths(block.pool_id, replica)]
        new = store.volumes.choose(storage_type, sum(sizes), store.disk_failed)
        new.promise(sum(sizes))
        try:
            _move(store, block.pool_id, replica, new, holder, took)
        finally:
            new.promise(-sum(sizes))
    finally:
        store.writers.release(block, holder)
    log.info("moved %r from %s to %s", replica, old, new)


def _move(
    store: BlockStore,
    pool_id: str,
    replica: Replica,
    new: Volume,
    holder: _Mover,
    took: Callable[[int], None],
) -> None:
    sources = store.paths(pool_id, replica)
    copies: list[str] = []
    try:
        for source in sources:
            copies.append(f"{new.tmp_path(pool_id)}/{os.path.basename(source)}.move")
            try:
                _copy(source, copies[-1], holder, took)
            except OSError as error:
                if not isinstance(error, errors.HowdahError):
                    store.disk_failed(new, error)
                raise
        moved = Replica(
            replica.block_id,
            replica.generation_stamp,
            ReplicaState.FINALIZED,
            new.storage_id,
            replica.length_bytes,
        )
        moved.synced = replica.synced
        directories = store.take_place(pool_id, replica, moved, (copies[0], copies[1]))
    except BaseException:
        delete_files(tuple(path for path in copies if os.path.exists(path)))
        raise
    sync_directories(directories)
    store.delete_left_behind(pool_id, replica)
    store.tell(ReplicaReceived(moved.as_block(pool_id), new.storage_id))


def _copy(source: str, target: str, holder: _Mover, took: Callable[[int], None]) -> None:
    """On the disk when this returns. The mode of the file, by which it is pinned, goes along."""
    with open(source, "rb") as reader, open(target, "wb") as writer:
        while True:
            if holder.stopped:
                raise errors.RecoveryInProgress(f"the move of {source} ends: {holder.stopped}")
            count = os.sendfile(writer.fileno(), reader.fileno(), None, _PIECE_BYTES)
            if not count:
                break
            took(count)
        os.fchmod(writer.fileno(), os.fstat(reader.fileno()).st_mode & 0o7777)
        os.fsync(writer.fileno())
