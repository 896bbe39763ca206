"""Replicas that are written again: for an append, and when a pipeline is rebuilt.

Each function stands for a stage of WRITE_BLOCK. The steps are the same:

1. claim the replica: whoever writes it under an older stamp is stopped, and gone;
2. hold it against what the client knows of it (the rules are `replicas`');
3. cut what was never acknowledged, if there is any;
4. rename the files to the new generation stamp, then change the map;
5. tell the control process, whatever fails from here on.

`kill -9` between any two steps leaves a replica that the next start finds, with every
acknowledged byte (`files` says how a cut does it), and a rename is all or
nothing. A power cut does the same to what was synced.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

from howdah import errors
from howdah.datanode.replicas.files import cut_files, files_bytes, open_files
from howdah.datanode.replicas.open_replica import OpenReplica
from howdah.datanode.replicas.startup_scan import good_length
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.replicas.writer import ReplicaWriter
from howdah.datanode.replicas.writer_registry import Stoppable
from howdah.datanode.state.messages import ReplicaReceived
from howdah.datanode.state.replicas.replicas import Replica
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.state.volumes import block_files
from howdah.protocol.data_transfer.blocks import ExtendedBlock
from howdah.protocol.data_transfer.checksum import ChecksumSpec
from howdah.protocol.data_transfer.op_requests import WriteBlock

log = logging.getLogger(__name__)


def expect_back(store: BlockStore, pool_id: str, replica: Replica, until_ms: int) -> None:
    """If this datanode is back before `until_ms`, its client goes on with the replica."""
    volume = store.volumes[replica.volume_id]
    path = volume.restart_path(pool_id, replica.block_id)
    try:
        Path(path).write_text(str(until_ms), "ascii")
    except OSError as error:
        # It will be one that waits for recovery, as after any other end.
        log.warning("cannot write %s: %s", path, error)


def append(store: BlockStore, request: WriteBlock, holder: Stoppable) -> ReplicaWriter:
    """PIPELINE_SETUP_APPEND: reopen a finalized replica, which has the length that the
    client says (apart from the block's own, which is that of a full block)."""
    block = request.block
    replica = store.claim(request.block, holder, request.latest_generation_stamp)
    try:
        if replica.state is not ReplicaState.FINALIZED:
            raise errors.ReplicaNotFound(
                f"Cannot append to {block}: this datanode has {replica!r}, not a finalized one"
            )
        if replica.generation_stamp != block.generation_stamp:
            raise errors.ReplicaNotFound(f"Cannot append to {block}: this datanode has {replica!r}")
        if replica.length_bytes != request.min_bytes_received:
            raise errors.ReplicaNotFound(
                f"Cannot append to {block}, said to have {request.min_bytes_received} bytes: "
                f"this datanode has {replica!r}"
            )
        if request.latest_generation_stamp < block.generation_stamp:
            raise errors.IllegalArgument(
                f"Cannot append to {block} under the older generation stamp "
                f"{request.latest_generation_stamp}"
            )
        _check_room(store, replica, block)
        return _reopen_finalized(store, replica, request, holder)
    except BaseException:
        store.writers.release(block, holder)
        raise


def _check_room(store: BlockStore, replica: Replica, block: ExtendedBlock) -> None:
    volume = store.volumes[replica.volume_id]
    wanted_bytes = block.length_bytes - replica.length_bytes
    try:
        left_bytes = volume.usage().remaining_bytes
    except OSError as error:
        store.disk_failed(volume, error)
        raise
    if wanted_bytes > left_bytes:
        raise errors.DiskOutOfSpace(
            f"Insufficient space for appending to {replica!r}: {volume.path} has {left_bytes} "
            f"bytes left, and the block may take {wanted_bytes} more"
        )


def recover_append(store: BlockStore, request: WriteBlock, holder: Stoppable) -> ReplicaWriter:
    """PIPELINE_SETUP_APPEND_RECOVERY: an append whose first pipeline failed. The replica is
    finalized still, or was reopened by that attempt and has nothing new."""
    replica = store.claim(request.block, holder, request.latest_generation_stamp)
    try:
        replica.check_whole(
            request.block.generation_stamp,
            request.latest_generation_stamp,
            request.min_bytes_received,
        )
        if replica.state is ReplicaState.FINALIZED:
            return _reopen_finalized(store, replica, request, holder)
        return _go_on(store, replica, request, replica.length_bytes, holder)
    except BaseException:
        store.writers.release(request.block, holder)
        raise


def recover_streaming(store: BlockStore, request: WriteBlock, holder: Stoppable) -> ReplicaWriter:
    """PIPELINE_SETUP_STREAMING_RECOVERY: the replica is being written, and goes on under
    a new stamp behind its last acknowledged byte."""
    replica = store.claim(request.block, holder, request.latest_generation_stamp)
    try:
        kept = replica.length_kept(
            request.block.generation_stamp,
            request.latest_generation_stamp,
            request.min_bytes_received,
            request.max_bytes_received,
        )
        return _go_on(store, replica, request, kept, holder)
    except BaseException:
        store.writers.release(request.block, holder)
        raise


def recover_close(
    store: BlockStore, request: WriteBlock, holder: Stoppable, *, durable: bool = False
) -> None:
    """PIPELINE_CLOSE_RECOVERY: all data is here and acknowledged, and only the end of the
    block may not be. Afterwards the replica is finalized under the new stamp; `durable`
    if it must be on the disk then, as it must in any case if it was synced once.

    Where it is final already, under that very stamp, nothing is left to be done but that:
    so asks a writer of howdah whose `hsync` covers blocks that it finished before."""
    block, stamp = request.block, request.latest_generation_stamp
    replica = store.claim(request.block, holder, request.latest_generation_stamp)
    try:
        replica.check_whole(block.generation_stamp, stamp, request.min_bytes_received)
        durable = durable or replica.synced
        if replica.state is ReplicaState.FINALIZED:
            store.rename(
                block.pool_id,
                replica,
                ReplicaState.FINALIZED,
                stamp,
                lambda: replica.restamp(stamp),
            )
            store.notify(ReplicaReceived(replica.as_block(block.pool_id), replica.volume_id))
            if durable or stamp == block.generation_stamp:
                store.sync(block.pool_id, replica)
        else:
            writer = _go_on(store, replica, request, replica.length_bytes, holder)
            try:
                store.finalize(writer, durable=durable)
            except BaseException:
                store.abandon(writer)
                raise
    finally:
        store.writers.release(block, holder)


def _reopen_finalized(
    store: BlockStore, replica: Replica, request: WriteBlock, holder: Stoppable
) -> ReplicaWriter:
    """The checksum of a partial last chunk is held against its data first, since the new
    one goes on from it."""
    pool_id, stamp = request.block.pool_id, request.latest_generation_stamp
    with store.open(replica.as_block(pool_id)) as opened:
        last_sum = opened.sum_up_to(opened.length_bytes)
        on_disk = opened.checksum
    store.rename(pool_id, replica, ReplicaState.RBW, stamp, lambda: replica.reopen(stamp, last_sum))
    store.tell_as_it_is(pool_id, replica)
    store.in_memory.grow(pool_id, replica, request.block.length_bytes)
    return _writer(store, replica, request, on_disk, holder)


def _go_on(
    store: BlockStore, replica: Replica, request: WriteBlock, kept_bytes: int, holder: Stoppable
) -> ReplicaWriter:
    """A replica that is being written, and keeps `kept_bytes`."""
    pool_id, stamp = request.block.pool_id, request.latest_generation_stamp
    with store.open(replica.as_block(pool_id)) as opened:
        on_disk = opened.checksum
        last_sum = replica.tail[1]
        # The file may be longer than is known, where an attempt to cut it failed half-way.
        if os.fstat(opened.block_fd).st_size > kept_bytes:
            before_bytes = files_bytes(opened.block_fd, opened.meta_fd)
            last_sum = opened.sum_up_to(kept_bytes)
            _cut(store, opened, request.block, kept_bytes, last_sum)
            # At once: what follows may fail, and the files are shorter from here on.
            replica.cut(kept_bytes, last_sum)
            after_bytes = kept_bytes + block_files.meta_bytes(on_disk, kept_bytes)
            opened.volume.count(pool_id, after_bytes - before_bytes)
    store.rename(
        pool_id,
        replica,
        ReplicaState.RBW,
        stamp,
        lambda: replica.recover(stamp, kept_bytes, last_sum),
    )
    store.tell_as_it_is(pool_id, replica)
    return _writer(store, replica, request, on_disk, holder)


def _cut(
    store: BlockStore, opened: OpenReplica, block: ExtendedBlock, end: int, last_sum: bytes
) -> None:
    replica = opened.replica
    counted_bytes = files_bytes(opened.block_fd, opened.meta_fd)
    try:
        cut_files(opened, store.paths(block.pool_id, replica), end, last_sum)
    except OSError as error:
        store.disk_failed(opened.volume, error)
        note_what_is_left(store, block.pool_id, opened, replica.cut, counted_bytes)
        raise


def note_what_is_left(
    store: BlockStore,
    pool_id: str,
    opened: OpenReplica,
    note: Callable[[int, bytes], None],
    counted_bytes: int,
) -> None:
    """A cut failed half-way: checksums may be gone whose data is there. `note` gets how many
    bytes fit theirs, which are no fewer than were to be left, if that is less than is known.

    `counted_bytes` of its files are in the volume's account."""
    replica, paths = opened.replica, store.paths(pool_id, opened.replica)
    try:
        good, last_sum = good_length(*paths)
        now_bytes = sum(os.stat(path).st_size for path in paths)
    except (errors.ChecksumMismatch, OSError) as error:
        # Whoever comes next finds out.
        log.error("what is left of %r cannot be read: %s", replica, error)
        return
    if good < replica.length_bytes:
        log.warning("%r was not cut as it should: it has %d bytes now", replica, good)
        note(good, last_sum)
    opened.volume.count(pool_id, now_bytes - counted_bytes)


def _writer(
    store: BlockStore,
    replica: Replica,
    request: WriteBlock,
    on_disk: ChecksumSpec,
    holder: Stoppable,
) -> ReplicaWriter:
    """Its files are open again."""
    pool_id = request.block.pool_id
    volume = store.volumes[replica.volume_id]
    try:
        # Clients name the file's block size as the length: the room that it may still take.
        promised_bytes = volume.promise_up_to(request.block.length_bytes - replica.length_bytes)
        try:
            paths = store.paths(pool_id, replica)
            counted_bytes = sum(os.stat(path).st_size for path in paths)
            block_fd, meta_fd = open_files(paths)
        except BaseException:
            volume.promise(-promised_bytes)
            raise
    except OSError as error:
        store.disk_failed(volume, error)
        raise
    writer = ReplicaWriter(
        pool_id,
        replica,
        volume,
        block_fd,
        meta_fd,
        on_disk,
        request.checksum,
        promised_bytes=promised_bytes,
        counted_bytes=counted_bytes,
        holder=holder,
    )
    # Its last chunk may have been synced, by whoever wrote it before.
    writer.synced_bytes = replica.length_bytes
    return writer
