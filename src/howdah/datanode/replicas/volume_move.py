"""A replica goes to another volume of the same datanode.

FsDatasetImpl.moveBlockAcrossStorage and moveBlockAcrossVolumes in Hadoop. The steps:

1. Have the replica alone: no append begins meanwhile. One that wants to ends the move.
2. Copy both files into `tmp` of the new volume, sync them, and hold the copies against each
   other. If they do not fit, the replica is told to be damaged if its own files do not fit
   either, and stays where it is (Hadoop does not look).
3. Rename the copies to where a finalized replica lies there, the meta file first; from here on
   the replica is the new one. Readers of the old files go on with them.
4. Sync the new names, then delete the old files: at no time is there no replica on a disk.
5. Tell the control process that the replica is received on the new volume. The namenode knows that
   a node has but one replica of a block.

A crash between 3 and 4 leaves two replicas, of which the next start keeps one.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Final

from howdah import errors
from howdah.datanode.replicas.files import delete_files, sync_directories
from howdah.datanode.replicas.open_replica import OpenReplica
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.state.messages import ReplicaReceived
from howdah.datanode.state.replicas.replicas import Replica
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.volumes.volumes import Volume
from howdah.protocol.data_transfer.blocks import ExtendedBlock, StorageType

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
    copied, and may wait; what it raises ends the move.

    `ReplicaNotFound` if there is no finalized one, `ReplicaExists` if it is on such a volume
    already, `DiskOutOfSpace`, `RecoveryInProgress` if a client wants it, `ChecksumMismatch`, or
    the disk's `OSError`.
    """

    def choose(old: Volume, size_bytes: int) -> Volume:
        if old.storage_type is storage_type:
            raise errors.ReplicaExists(f"{block} is on {storage_type.name} already, on {old}")
        return store.volumes.choose(storage_type, size_bytes, store.disk_failed)

    _claim_and_move(store, block, choose, took)


def move_to_volume(
    store: BlockStore,
    block: ExtendedBlock,
    volume: Volume,
    took: Callable[[int], None] = lambda _: None,
) -> None:
    """Move the replica of `block` to `volume`. Raises what `move_to_type` does."""

    def choose(old: Volume, size_bytes: int) -> Volume:
        if old is volume:
            raise errors.ReplicaExists(f"{block} is on {volume} already")
        left_bytes = volume.usage().remaining_bytes
        if left_bytes < size_bytes:
            raise errors.DiskOutOfSpace(
                f"{volume} has {left_bytes} bytes left, and {block} takes {size_bytes}"
            )
        return volume

    _claim_and_move(store, block, choose, took)


def _claim_and_move(
    store: BlockStore,
    block: ExtendedBlock,
    choose: Callable[[Volume, int], Volume],
    took: Callable[[int], None],
) -> None:
    holder = _Mover()
    stamp = block.generation_stamp
    replica = store.claim(block, holder, stamp)
    try:
        if replica.state is not ReplicaState.FINALIZED or replica.generation_stamp != stamp:
            raise errors.ReplicaNotFound(f"{replica!r} is no finalized replica of {block}")
        old = store.volumes[replica.volume_id]
        size_bytes = sum(os.path.getsize(path) for path in store.paths(block.pool_id, replica))
        new = choose(old, size_bytes)
        new.promise(size_bytes)
        try:
            _move(store, block.pool_id, replica, new, holder, took)
        finally:
            new.promise(-size_bytes)
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
        _verify(store, pool_id, replica, moved, new, (copies[0], copies[1]))
        directories = store.take_place(pool_id, replica, moved, (copies[0], copies[1]))
    except BaseException:
        delete_files(tuple(path for path in copies if os.path.exists(path)))
        raise
    unsynced: OSError | None = None
    try:
        sync_directories(directories)
    except OSError as error:
        unsynced = error
    else:
        try:
            store.delete_left_behind(pool_id, replica)
        except OSError as error:
            # They are a second copy, which the next comparison of disk and memory finds.
            store.disk_failed(store.volumes[replica.volume_id], error)
    # Whatever a disk does wrong now: this is where the replica is, and the control process hears
    # of that before it hears of a failed volume.
    store.notify(ReplicaReceived(moved.as_block(pool_id), new.storage_id))
    if unsynced is not None:
        store.disk_failed(new, unsynced)
        raise unsynced


def _verify(
    store: BlockStore,
    pool_id: str,
    replica: Replica,
    moved: Replica,
    new: Volume,
    copies: tuple[str, str],
) -> None:
    """`ChecksumMismatch` if the copies do not fit each other."""
    damage = _damage(moved, new, copies)
    if not damage:
        return
    old = store.volumes[replica.volume_id]
    damage_before = _damage(replica, old, store.paths(pool_id, replica))
    if damage_before:
        store.corrupt(pool_id, replica, damage_before)
        raise errors.ChecksumMismatch(f"{replica!r} on {old} is not moved: {damage_before}")
    raise errors.ChecksumMismatch(
        f"{replica!r} on {old} is not moved: its copy on {new} is damaged: {damage}"
    )


def _damage(replica: Replica, volume: Volume, paths: tuple[str, str]) -> str:
    """What is wrong with the replica whose files these are, or nothing."""
    try:
        with OpenReplica.of(replica, volume, paths) as opened:
            damaged = opened.first_damaged(0)
    except errors.ChecksumMismatch as error:
        return error.message
    return "" if damaged is None else f"its data does not fit its checksum at {damaged}"


def _copy(source: str, target: str, holder: _Mover, took: Callable[[int], None]) -> None:
    """On the disk when this returns. The mode of the file, by which it is pinned, goes along."""
    with (
        open(source, "rb") as reader,
        os.fdopen(os.open(target, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as writer,
    ):
        while True:
            if holder.stopped:
                raise errors.RecoveryInProgress(f"the move of {source} ends: {holder.stopped}")
            count = os.sendfile(writer.fileno(), reader.fileno(), None, _PIECE_BYTES)
            if not count:
                break
            took(count)
        os.fchmod(writer.fileno(), os.fstat(reader.fileno()).st_mode & 0o7777)
        os.fsync(writer.fileno())
