"""Replicas that are written again or recovered, at a simulated datanode.

The steps of `howdah.datanode.replicas.reopen` and `replica_recovery` over the simulated store.
The rules are `Replica`'s own: `length_kept`, `check_whole`, `check_recovery`,
`check_agreed` and the moves.
"""

from __future__ import annotations

from howdah import errors
from howdah.datanode.state.block_recovery import Candidate
from howdah.datanode.state.messages import ReplicaOpened, ReplicaReceived
from howdah.datanode.state.replicas.replicas import Replica
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.state.volumes import block_files
from howdah.protocol.data_transfer.blocks import ExtendedBlock
from howdah.protocol.data_transfer.op_requests import WriteBlock
from howdah.testing.in_memory import POOL_ID
from howdah.testing.simulator.datanodes.store import (
    Briefly,
    Holder,
    Opened,
    Store,
    Writer,
    good_length,
    spec_of,
)
from howdah.testing.simulator.tasks import PAUSE, Steps


def append(store: Store, request: WriteBlock, holder: Holder) -> Steps[Writer]:
    """PIPELINE_SETUP_APPEND."""
    block = request.block
    replica = yield from store.claim(block, holder, request.latest_generation_stamp)
    try:
        if (
            replica.state is not ReplicaState.FINALIZED
            or replica.generation_stamp != block.generation_stamp
            or replica.length_bytes != request.min_bytes_received
        ):
            raise errors.ReplicaNotFound(f"Cannot append to {block}: this datanode has {replica!r}")
        return (yield from _reopen_finalized(store, replica, request, holder))
    except (errors.HowdahError, OSError):
        store.release(block.block_id, holder)
        raise


def recover_append(store: Store, request: WriteBlock, holder: Holder) -> Steps[Writer]:
    """PIPELINE_SETUP_APPEND_RECOVERY."""
    replica = yield from store.claim(request.block, holder, request.latest_generation_stamp)
    try:
        replica.check_whole(
            request.block.generation_stamp,
            request.latest_generation_stamp,
            request.min_bytes_received,
        )
        if replica.state is ReplicaState.FINALIZED:
            return (yield from _reopen_finalized(store, replica, request, holder))
        return (yield from _go_on(store, replica, request, replica.length_bytes, holder))
    except (errors.HowdahError, OSError):
        store.release(request.block.block_id, holder)
        raise


def recover_streaming(store: Store, request: WriteBlock, holder: Holder) -> Steps[Writer]:
    """PIPELINE_SETUP_STREAMING_RECOVERY."""
    replica = yield from store.claim(request.block, holder, request.latest_generation_stamp)
    try:
        kept = replica.length_kept(
            request.block.generation_stamp,
            request.latest_generation_stamp,
            request.min_bytes_received,
            request.max_bytes_received,
        )
        return (yield from _go_on(store, replica, request, kept, holder))
    except (errors.HowdahError, OSError):
        store.release(request.block.block_id, holder)
        raise


def recover_close(store: Store, request: WriteBlock, holder: Holder) -> Steps[None]:
    """PIPELINE_CLOSE_RECOVERY."""
    block, stamp = request.block, request.latest_generation_stamp
    replica = yield from store.claim(block, holder, stamp)
    try:
        replica.check_whole(block.generation_stamp, stamp, request.min_bytes_received)
        if replica.state is ReplicaState.FINALIZED:
            yield from store.rename(
                replica, ReplicaState.FINALIZED, stamp, lambda: replica.restamp(stamp)
            )
            store.tell(ReplicaReceived(replica.as_block(POOL_ID), store.storage_id))
            if replica.synced or stamp == block.generation_stamp:
                yield from store.sync(replica)
        else:
            writer = yield from _go_on(store, replica, request, replica.length_bytes, holder)
            yield from store.finalize(writer, durable=replica.synced)
    except (errors.HowdahError, OSError):
        store.release(block.block_id, holder)
        raise
    store.release(block.block_id, holder)


def _reopen_finalized(
    store: Store, replica: Replica, request: WriteBlock, holder: Holder
) -> Steps[Writer]:
    stamp = request.latest_generation_stamp
    last_sum = store.open_now(replica).sum_up_to(replica.length_bytes)
    yield from store.rename(
        replica, ReplicaState.RBW, stamp, lambda: replica.reopen(stamp, last_sum)
    )
    return _writer(store, replica, request, holder)


def _go_on(
    store: Store, replica: Replica, request: WriteBlock, kept_bytes: int, holder: Holder
) -> Steps[Writer]:
    stamp = request.latest_generation_stamp
    last_sum = replica.tail[1]
    if kept_bytes < replica.length_bytes:
        last_sum = store.open_now(replica).sum_up_to(kept_bytes)
        yield from _cut_files(store, replica, kept_bytes, last_sum)
    yield from store.rename(
        replica, ReplicaState.RBW, stamp, lambda: replica.recover(stamp, kept_bytes, last_sum)
    )
    return _writer(store, replica, request, holder)


def _writer(store: Store, replica: Replica, request: WriteBlock, holder: Holder) -> Writer:
    store.tell(ReplicaOpened(replica.as_block(POOL_ID), store.storage_id))
    return Writer(store, replica, store.files(replica), request.checksum, holder, is_new=False)


def _cut_files(store: Store, replica: Replica, end: int, last_sum: bytes) -> Steps[None]:
    """As `files.cut_files`: checksums first, and each file on the disk."""
    files = store.files(replica)
    spec = spec_of(files)
    files.meta.truncate(block_files.meta_bytes(spec, end))
    if last_sum:
        files.meta.write(block_files.sums_offset(spec, end // spec.bytes_per_checksum), last_sum)
    files.meta.sync()
    yield PAUSE
    files.block.truncate(end)
    files.block.sync()


def init_recovery(store: Store, block: ExtendedBlock, recovery_id: int) -> Steps[Candidate | None]:
    """initReplicaRecovery."""
    before = store.find(block.block_id)
    if before is None:
        return None
    before.check_recovery(block.generation_stamp, recovery_id)
    holder = Briefly()
    yield from store.claim_writer(block.block_id, holder, recovery_id)
    try:
        replica = store.find(block.block_id)
        if replica is None:
            return None
        replica.check_recovery(block.generation_stamp, recovery_id)
        if not (yield from _prove(store, replica)):
            return None
        replica.begin_recovery(block.generation_stamp, recovery_id)
        return Candidate(
            replica.block_id, replica.generation_stamp, replica.length_bytes, replica.stored_as
        )
    finally:
        store.release(block.block_id, holder)


def _prove(store: Store, replica: Replica) -> Steps[bool]:
    """As `replica_recovery._prove`."""
    try:
        opened = Opened(replica, store.files(replica))
    except errors.ChecksumMismatch:
        store.delete(replica, tell=True)  # into the quarantine
        return False
    if replica.stored_as is not ReplicaState.FINALIZED:
        opened.check_files()
        return True
    try:
        opened.check_files()
        opened.verify()
    except errors.ChecksumMismatch:
        good = good_length(store.files(replica))
        yield from store.rename(
            replica, ReplicaState.RWR, replica.generation_stamp, lambda: replica.distrust(good)
        )
    return True


def settle(
    store: Store, block: ExtendedBlock, recovery_id: int, new_length_bytes: int
) -> Steps[str]:
    """updateReplicaUnderRecovery, in place."""
    holder = Briefly()
    replica = yield from store.claim(block, holder, recovery_id)
    try:
        replica.check_agreed(recovery_id, block.length_bytes, new_length_bytes)
        yield from _cut_agreed(store, replica, new_length_bytes)
        yield from store.rename(
            replica, ReplicaState.FINALIZED, recovery_id, replica.complete_recovery
        )
        store.tell(ReplicaReceived(replica.as_block(POOL_ID), store.storage_id))
    except (errors.HowdahError, OSError):
        store.release(block.block_id, holder)
        raise
    store.release(block.block_id, holder)
    return store.storage_id


def _cut_agreed(store: Store, replica: Replica, end: int) -> Steps[None]:
    before = replica.length_bytes
    last_sum = store.open_now(replica).sum_up_to(end)
    if end < before and replica.stored_as is ReplicaState.FINALIZED:
        assert replica.recovery is not None, f"{replica!r} is not under recovery"
        yield from store.rename(
            replica, ReplicaState.RWR, replica.recovery.recovery_id, replica.set_aside
        )
    yield from _cut_files(store, replica, end, last_sum)
    replica.shorten(end, last_sum)
