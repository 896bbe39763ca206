"""A replica in memory gets a copy on a disk.

FsVolumeImpl.copyBlockToLazyPersistLocation in Hadoop. The steps:

1. Copy both files into `tmp` of the target, and sync them. Nobody is kept from the replica: an
   append, or its deletion, makes the copy one of nothing. A meta file that has no checksums, as
   Hadoop's datanode leaves it in memory, gets them now.
2. Hold the copies against each other. If they do not fit, the replica is told to be damaged if
   its own files do not fit either, and is not saved.
3. If the replica is still what was copied: rename the copies to their names in `lazypersist`.
4. Sync the directories. Then, if it still is, it counts as saved; else the copy is deleted.

A crash before 3 leaves files in `tmp`, which the next start deletes. After 3 the start may find
the copy and take it for the replica, which it is: it was finalized, and has all of its bytes.
"""

from __future__ import annotations

import logging
import os
import time

from howdah import errors
from howdah.datanode.memory import saved_copies
from howdah.datanode.replicas.files import sync_directories
from howdah.datanode.replicas.open_replica import OpenReplica
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.state.fault_points import Point, reach
from howdah.datanode.state.memory.metrics import Figure
from howdah.datanode.state.memory.tracker import Copy, Record
from howdah.datanode.state.replicas.replicas import Replica
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.state.volumes import block_files
from howdah.datanode.volumes.volumes import Volume
from howdah.protocol.data_transfer.blocks import ExtendedBlock
from howdah.protocol.data_transfer.checksum import ChecksumSpec, checksum_chunks
from howdah.protocol.data_transfer.meta_header import (
    META_HEADER_BYTES,
    decode_meta_header,
    encode_meta_header,
)

log = logging.getLogger(__name__)

_PIECE_BYTES = 1 << 20


def present(store: BlockStore, record: Record) -> Replica | None:
    """The replica of which the record is, unless it changes now, or is something else."""
    pool_id, block_id = record.key
    replica = store.find_id(pool_id, block_id)
    if (
        replica is None
        or replica.volume_id != record.volume_id
        or replica.state is not ReplicaState.FINALIZED
        or replica.generation_stamp != record.generation_stamp
    ):
        return None
    return replica


def save(store: BlockStore, record: Record, turn: int, target: Volume) -> bool:
    """Whether the replica is saved now. False where it is not what it was, or is no more.

    Raises `ChecksumMismatch`, or the `OSError` of the target.
    """
    replica = present(store, record)
    if replica is None:
        return False
    pool_id, block_id = record.key
    copy = Copy(record.key, replica.generation_stamp, target.storage_id)
    temporary = f"{target.tmp_path(pool_id)}/{block_files.block_file_name(block_id)}.{turn}.save"
    made = temporary, f"{temporary}.meta"
    try:
        try:
            with store.open(replica.as_block(pool_id)) as opened:
                if opened.replica is not replica:
                    return False
                _copy(opened, made, block_id)
                _verify(store, pool_id, opened, target, made)
        except errors.ReplicaNotFound:
            return False
        reach(Point.SAVE_COPIED, block_id)
        size_bytes = sum(os.path.getsize(path) for path in made)
        with target.changing:
            if not _is_on(store, record, turn, replica):
                return False
            directories = saved_copies.place_copy(target, copy, made)
            # Whoever deletes the copy from here on counts its bytes.
            target.count(pool_id, size_bytes)
        store.in_memory.on_copy_bytes(pool_id, target, size_bytes)
    finally:
        _clear(made)
    reach(Point.SAVE_NAMED, block_id)
    try:
        sync_directories(directories)
    except OSError:
        store.in_memory.delete_copy(copy)
        raise
    if not _note(store, record, turn, replica):
        store.in_memory.delete_copy(copy)
        return False
    _count(store, record)
    reach(Point.SAVED, block_id)
    log.info("saved %r of %s to %s", replica, pool_id, target)
    return True


def _is_on(store: BlockStore, record: Record, turn: int, replica: Replica) -> bool:
    with store.in_memory.lock:
        is_current = record.turn == turn and store.in_memory.tracker.find(record.key) is record
    return is_current and present(store, record) is replica


def _note(store: BlockStore, record: Record, turn: int, replica: Replica) -> bool:
    if present(store, record) is not replica:
        return False
    with store.in_memory.lock:
        return store.in_memory.tracker.saved(record.key, turn)


def _count(store: BlockStore, record: Record) -> None:
    count = store.in_memory.count
    count(Figure.RamDiskBlocksLazyPersisted, 1)
    count(Figure.RamDiskBytesLazyPersisted, record.length_bytes)
    elapsed_s = time.monotonic() - record.created_s
    count(Figure.RamDiskBlocksLazyPersistWindowMs, round(elapsed_s * 1000))


def _copy(opened: OpenReplica, made: tuple[str, str], block_id: int) -> None:
    """Both files, as long as the replica is, on the disk when this returns."""
    end = opened.length_bytes
    with open(made[0], "wb") as block_file:
        _copy_bytes(opened.block_fd, block_file.fileno(), end)
        os.fsync(block_file.fileno())
    reach(Point.SAVE_BEGUN, block_id)
    with open(made[1], "wb") as meta_file:
        header = os.pread(opened.meta_fd, META_HEADER_BYTES, 0)
        spec = decode_meta_header(header)
        if opened.checksum == spec:
            _copy_bytes(opened.meta_fd, meta_file.fileno(), block_files.meta_bytes(spec, end))
        else:
            meta_file.write(encode_meta_header(spec))
            _write_sums(opened.block_fd, spec, end, meta_file.fileno())
        meta_file.flush()
        os.fsync(meta_file.fileno())


def _copy_bytes(source_fd: int, target_fd: int, end: int) -> None:
    offset = 0
    while offset < end:
        copied = os.sendfile(target_fd, source_fd, offset, min(end - offset, _PIECE_BYTES))
        if not copied:
            raise errors.BlockMissing(f"a file in memory ends at {offset}, not at {end}")
        offset += copied


def _write_sums(block_fd: int, spec: ChecksumSpec, end: int, meta_fd: int) -> None:
    step = max(_PIECE_BYTES // spec.bytes_per_checksum, 1) * spec.bytes_per_checksum
    position = META_HEADER_BYTES
    for offset in range(0, end, step):
        data = os.pread(block_fd, min(step, end - offset), offset)
        sums = bytearray(spec.sums_length(len(data)))
        checksum_chunks(spec, data, sums)
        position += os.pwrite(meta_fd, sums, position)


def _verify(
    store: BlockStore, pool_id: str, opened: OpenReplica, target: Volume, made: tuple[str, str]
) -> None:
    """`ChecksumMismatch` if the copies do not fit each other, `ReplicaNotFound` if that is because
    the replica was cut or written again: an append replaces the last checksum."""
    replica = opened.replica
    copied = Replica(
        replica.block_id,
        replica.generation_stamp,
        ReplicaState.FINALIZED,
        target.storage_id,
        opened.length_bytes,
    )
    with OpenReplica.of(copied, target, made) as check:
        damaged = check.first_damaged(0)
    if damaged is None:
        return
    at_home = opened.first_damaged(0)
    if not opened.is_final_as_opened:
        raise errors.ReplicaNotFound(f"{replica!r} is not what was copied any more")
    if at_home is not None:
        reason = f"its data does not fit its checksum at {at_home}"
        store.corrupt(pool_id, replica, reason)
        raise errors.ChecksumMismatch(f"{replica!r} in {opened.volume} is not saved: {reason}")
    raise errors.ChecksumMismatch(
        f"{replica!r} in {opened.volume} is not saved: its copy on {target} is damaged at {damaged}"
    )


def _clear(made: tuple[str, str]) -> None:
    for path in made:
        try:
            os.unlink(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            # The next start deletes it.
            log.error("cannot delete %s: %s", path, error)


def block_of(record: Record) -> ExtendedBlock:
    pool_id, block_id = record.key
    return ExtendedBlock(pool_id, block_id, record.generation_stamp, record.length_bytes)
