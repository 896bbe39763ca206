"""A replica that a block's recovery takes, and sets to what was agreed on.

FsDatasetImpl.initReplicaRecovery and updateReplicaUnderRecovery in Hadoop.

`init_recovery` (initReplicaRecovery):

1. refuse a recovery that comes too late, before it does any harm;
2. claim the replica: whoever writes it is stopped, and gone;
3. refuse again, by what the replica is now, and look whether its files have all of it;
4. a final one that was damaged, as by a power cut, is no more than its good part: that is
   left over (RWR) from now on. One of which nothing can be told is moved aside;
5. it is under recovery (RUR). Nothing else on the disk has changed.

`settle` (updateReplicaUnderRecovery), in place:

1. claim it again, and hold it against what the primary was told;
2. if it is final and to be cut: rename its files to where replicas are that wait for
   recovery, under the recovery's id;
3. cut both files to the length that was agreed on. Other replicas may not have what is
   behind it, or it was to be cut off;
4. rename the files to the new stamp, into `finalized`;
5. tell the control process.

Or, where a truncate keeps the old block for a snapshot, as a copy: the new block's
replica is made beside the old one and becomes final as any copy from a datanode does.

After `kill -9` between any two steps, the next start finds a replica that has every byte
that the agreement keeps, and the recovery that follows takes it: as it was before step 2,
as RWR between 2 and 4, and final under the recovery's id from then on. Each step is on the
disk before the next one, since the namenode will count on the new stamp alone.
"""

from __future__ import annotations

import logging
import os

from howdah import errors
from howdah.datanode.replicas.files import cut_files, files_bytes
from howdah.datanode.replicas.open_replica import OpenReplica
from howdah.datanode.replicas.reopen import note_what_is_left
from howdah.datanode.replicas.startup_scan import good_length
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.replicas.writer_registry import BriefHold
from howdah.datanode.state.block_recovery import Candidate
from howdah.datanode.state.fault_points import Point, reach
from howdah.datanode.state.messages import ReplicaReceived
from howdah.datanode.state.replicas.replicas import Replica
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.state.volumes import block_files
from howdah.protocol.data_transfer.blocks import ExtendedBlock, StorageType

log = logging.getLogger(__name__)

PROVEN_BYTES = 64 * 1024 * 1024
"""So much of a final replica's end is read before it is believed: more than that a machine
has hardly written and not put on its disk."""


def init_recovery(store: BlockStore, block: ExtendedBlock, recovery_id: int) -> Candidate | None:
    """Put the replica of `block` under recovery; None if there is none that can be read.

    `RecoveryInProgress` if another recovery with this id or a higher one has it or had it,
    `ReplicaNotFound` if it is older than the block, `RemoteError` if its writer can't be
    stopped or its files lack bytes.
    """
    reach(Point.INIT_RECOVERY, block.block_id)
    current = store.find(block)
    if current is None:
        return None
    current.check_recovery(block.generation_stamp, recovery_id)
    holder = BriefHold(f"recovery {recovery_id}")
    why = f"recovery {recovery_id} of its block begins"
    store.writers.claim(block, holder, recovery_id, why=why)
    try:
        replica = store.find(block)
        if replica is None:
            # A copy that was not whole: it went with its writer.
            return None
        replica.check_recovery(block.generation_stamp, recovery_id)
        if not _prove(store, block.pool_id, replica):
            return None
        replica.begin_recovery(block.generation_stamp, recovery_id)
        log.info("recovery %d of %s takes %r", recovery_id, block, replica)
        return Candidate(
            replica.block_id, replica.generation_stamp, replica.length_bytes, replica.stored_as
        )
    finally:
        store.writers.release(block, holder)


def settle(
    store: BlockStore,
    block: ExtendedBlock,
    recovery_id: int,
    new_length_bytes: int,
    new_block_id: int | None = None,
) -> str:
    """Set the replica that `init_recovery` described as `block` to what was agreed on; the id of
    the storage that has it. With a `new_block_id` of its own that becomes another block.

    `ReplicaNotFound` if it is gone, `RecoveryInProgress` if another recovery has it now,
    `RemoteError` if it isn't what the primary thinks.
    """
    reach(Point.UPDATE_RECOVERY, block.block_id)
    holder = BriefHold(f"recovery {recovery_id}")
    replica = store.claim(block, holder, recovery_id)
    try:
        replica.check_agreed(recovery_id, block.length_bytes, new_length_bytes)
        if new_block_id is not None and new_block_id != block.block_id:
            target = ExtendedBlock(block.pool_id, new_block_id, recovery_id, new_length_bytes)
            return _copy(store, block.pool_id, replica, target)
        _cut(store, block.pool_id, replica, new_length_bytes)
        store.rename(
            block.pool_id,
            replica,
            ReplicaState.FINALIZED,
            recovery_id,
            replica.complete_recovery,
        )
        log.info("recovery %d of %s is done here: %r", recovery_id, block, replica)
        store.notify(ReplicaReceived(replica.as_block(block.pool_id), replica.volume_id))
        return replica.volume_id
    finally:
        store.writers.release(block, holder)


def _prove(store: BlockStore, pool_id: str, replica: Replica) -> bool:
    """Its files have all of it; a final one whose files don't has what they have, or, if
    nothing can be said of it, is there no more: then it is false."""
    try:
        with store.open(replica.as_block(pool_id)) as opened:
            trouble = _damage_text(opened)
            if trouble is None:
                return True
            if replica.stored_as is not ReplicaState.FINALIZED:
                raise errors.RemoteError(trouble)
    except errors.ChecksumMismatch as error:
        # Without its meta file's header nobody knows how it is summed.
        store.quarantine(pool_id, replica, error.message)
        return False
    good = good_length(*store.paths(pool_id, replica))
    log.error("%s; it counts as one that was left over with %d bytes, which fit", trouble, good[0])
    store.rename(
        pool_id,
        replica,
        ReplicaState.RWR,
        replica.generation_stamp,
        lambda: replica.distrust(good),
    )
    store.tell_as_it_is(pool_id, replica)
    return True


def _damage_text(opened: OpenReplica) -> str | None:
    """What is wrong with its files, in words. Those of a final one are read: since it was
    written its machine may have lost power."""
    length, spec = opened.length_bytes, opened.checksum
    data_bytes = os.fstat(opened.block_fd).st_size
    meta_bytes = os.fstat(opened.meta_fd).st_size
    where = f"the files of {opened.replica!r} on {opened.volume.path}"
    if data_bytes < length or meta_bytes < block_files.meta_bytes(spec, length):
        return f"{where} have {data_bytes} and {meta_bytes} bytes, which is not all of it"
    if opened.replica.stored_as is ReplicaState.FINALIZED:
        start = max(length - PROVEN_BYTES, 0)
        damaged = opened.first_damaged(start - start % spec.bytes_per_checksum)
        if damaged is not None:
            return f"{where} do not fit: the chunk at {damaged} is damaged"
    return None


def _cut(store: BlockStore, pool_id: str, replica: Replica, end: int) -> None:
    """Its files end at `end`, and are on the disk."""
    volume = store.volumes[replica.volume_id]
    before = replica.length_bytes
    with store.open(replica.as_block(pool_id)) as opened:
        last_sum = opened.sum_up_to(end)
        on_disk = opened.checksum
        # They may be longer than what fits, and are counted as they are.
        freed = files_bytes(opened.block_fd, opened.meta_fd)
        if end < before and replica.stored_as is ReplicaState.FINALIZED:
            assert replica.recovery is not None, f"{replica!r} is not under recovery"
            store.rename(
                pool_id,
                replica,
                ReplicaState.RWR,
                replica.recovery.recovery_id,
                replica.set_aside,
            )
            store.tell_as_it_is(pool_id, replica)
        try:
            # Even where nothing is cut off, files of a writer that died may be longer.
            cut_files(
                opened,
                store.paths(pool_id, replica),
                end,
                last_sum,
                copy_path=_copy_path(store, pool_id, replica) if end < before else None,
            )
        except OSError as error:
            store.disk_failed(volume, error)
            note_what_is_left(store, pool_id, opened, replica.shorten, freed)
            store.tell_as_it_is(pool_id, replica)
            raise
    replica.shorten(end, last_sum)
    volume.count(pool_id, end + block_files.meta_bytes(on_disk, end) - freed)


def _copy_path(store: BlockStore, pool_id: str, replica: Replica) -> str | None:
    """Where the shorter file is made, if local readers may hold the present one."""
    if not store.short_circuit.gives_files:
        return None
    name = f"{block_files.block_file_name(replica.block_id)}.cut"
    return f"{store.volumes[replica.volume_id].tmp_path(pool_id)}/{name}"


def _copy(store: BlockStore, pool_id: str, replica: Replica, target: ExtendedBlock) -> str:
    """Make `target` of the beginning of the replica, which stays as it is."""
    holder = BriefHold(f"recovery {target.generation_stamp}")
    end = target.length_bytes
    with store.open(replica.as_block(pool_id)) as opened:
        last_sum = opened.sum_up_to(end)
        # What an earlier attempt has made is older, and gives way. No copy goes to memory.
        kind = StorageType.DISK if opened.volume.is_transient else opened.volume.storage_type
        writer = store.create(target, opened.checksum, kind, temporary=True, holder=holder)
        try:
            writer.copy_from(opened, end, last_sum)
            made = store.finalize(writer, durable=True)
        except BaseException as error:
            store.abandon(writer)
            if isinstance(error, OSError) and not isinstance(error, errors.HowdahError):
                store.disk_failed(writer.volume, error)
            raise
    replica.end_recovery()
    log.info("%s is made of the first %d bytes of %r", made, end, replica)
    return writer.replica.volume_id
