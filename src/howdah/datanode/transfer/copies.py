"""Copies replicas to other datanodes, when the namenode says so, or a client.

DataNode.DataTransfer in Hadoop.

For the namenode: this is how a lost replica comes back. The targets form a pipeline: the replica
goes to the first, which passes it on. Such a write has no client name, no answer
and no acks; a target tells its namenode when it has the whole block, and that is
the only proof that counts. Each copy has a thread of its own; how many there are
is the namenode's business, and is told with each heartbeat.

For a client (TRANSFER_BLOCK): a pipeline that lost a datanode gets another one, which
must have first what the others have. The replica may be one that is being written;
the copy has at least its acknowledged bytes, and the target says when it is done.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace

from howdah import errors
from howdah.datanode.latency.activity import Count
from howdah.datanode.replicas.open_replica import OpenReplica
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.block_tokens import Mode
from howdah.datanode.state.messages import Transfer
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.transfer.peers import connect_to, own_token
from howdah.datanode.transfer.sender import BlockSender
from howdah.protocol.data_transfer.blocks import DatanodeAddress, StorageType
from howdah.protocol.data_transfer.op_requests import (
    CachingHints,
    Stage,
    TransferBlock,
    WriteBlock,
    encode_request,
)
from howdah.protocol.data_transfer.responses import read_response
from howdah.runtime.sockets import Connection

log = logging.getLogger(__name__)


class Copies:
    """The copies that this datanode is sending."""

    def __init__(self, store: BlockStore, settings: DataSettings) -> None:
        self._store = store
        self._settings = settings
        self._lock = threading.Lock()
        self._running = 0
        self.sources: dict[str, DatanodeAddress] = {}
        """How this datanode is registered, for each block pool."""
        self.on_count: Callable[[int], None] | None = None
        """Told how many copies are running whenever that changes."""

    @property
    def running(self) -> int:
        return self._running

    def start(self, command: Transfer) -> threading.Thread:
        """Send `command.block` to its targets, in the background."""
        thread = threading.Thread(
            target=self._run, args=(command,), name=f"copy of {command.block}", daemon=True
        )
        self.count(1)
        try:
            thread.start()
        except RuntimeError:
            self.count(-1)
            raise
        return thread

    def _run(self, command: Transfer) -> None:
        names = ", ".join(target.transfer_address for target in command.targets)
        try:
            sent = self._copy(command)
            log.info("sent %s (%d bytes) to %s", command.block, sent, names)
            self._store.activity.count(Count.BlocksReplicated)
        except (errors.HowdahError, OSError) as error:
            log.warning("cannot copy %s to %s: %s", command.block, names, error)
        except Exception:
            log.exception("copying %s to %s failed on a defect", command.block, names)
        finally:
            self.count(-1)

    def count(self, change: int) -> None:
        """So many copies begin, or end."""
        with self._lock:
            self._running += change
            if self.on_count is not None:
                self.on_count(self._running)

    def _copy(self, command: Transfer) -> int:
        if not command.targets:
            raise errors.IllegalArgument("the command names no target")
        with self._store.open(command.block) as opened:
            if opened.replica.state is not ReplicaState.FINALIZED:
                raise errors.ReplicaNotFound(
                    f"only a finalized replica is copied, and this datanode has {opened.replica!r}"
                )
            if opened.length_bytes < command.block.length_bytes:
                reason = (
                    f"it has {opened.length_bytes} bytes and the namenode knows of "
                    f"{command.block.length_bytes}"
                )
                # One under a newer stamp may have been cut since the order was given.
                if opened.replica.generation_stamp == command.block.generation_stamp:
                    self._store.corrupt(command.block.pool_id, opened.replica, reason)
                raise errors.BlockMissing(f"{opened.replica!r} cannot be copied: {reason}")
            types, ids = command.storage_types, command.storage_ids
            block = command.block.with_length(opened.length_bytes)
            token = own_token(self._settings, block, Mode.WRITE, types, ids)
            request = WriteBlock(
                block,
                "",
                Stage.PIPELINE_SETUP_CREATE,
                opened.checksum,
                targets=command.targets[1:],
                source=self.sources.get(command.block.pool_id),
                pipeline_size=0,
                storage_type=types[0] if types else StorageType.DISK,
                storage_id=ids[0] if ids else None,
                target_storage_types=types[1:],
                target_storage_ids=ids[1:],
                token=token,
            )
            with _connect(command.targets[0], self._settings, request) as connection:
                return _send(connection, request, opened, self._store, self._settings)


def copy_for_pipeline(request: TransferBlock, store: BlockStore, settings: DataSettings) -> int:
    """Serve a TRANSFER_BLOCK: returns the bytes sent when every target has them all.

    Several targets form a pipeline, as for the namenode.
    """
    if not request.targets:
        raise errors.IllegalArgument(f"{request.block} is to be copied, and no target is named")
    target = request.targets[0]
    with store.open(request.block) as opened:
        replica = opened.replica
        if replica.state is ReplicaState.RBW:
            stage = Stage.TRANSFER_RBW
        elif replica.state is ReplicaState.FINALIZED:
            stage = Stage.TRANSFER_FINALIZED
        else:
            raise errors.ReplicaNotFound(f"{replica!r} is neither being written nor finalized")
        # The copy bears the stamp that the replica has, which a pipeline that failed
        # elsewhere may have raised; its length is what the client may count on.
        block = replica.as_block(request.block.pool_id).with_length(replica.visible_bytes)
        types, ids = request.target_storage_types, request.target_storage_ids
        token = own_token(settings, block, Mode.WRITE, types, ids)
        write = WriteBlock(
            block,
            request.client_name,
            stage,
            opened.checksum,
            targets=request.targets[1:],
            pipeline_size=0,
            storage_type=types[0] if types else StorageType.DISK,
            storage_id=ids[0] if ids else None,
            target_storage_types=types[1:],
            target_storage_ids=ids[1:],
            token=token,
            trace=request.trace,
        )
        with _connect(target, settings, write) as connection:
            sent = _send(connection, write, opened, store, settings)
            answer = read_response(connection)
    if not answer.is_success:
        raise errors.PipelineFailed(
            f"{answer.first_bad_link or target} did not take the copy of {block}: "
            f"{answer.status.name} {answer.message}"
        )
    return sent


def _connect(target: DatanodeAddress, settings: DataSettings, write: WriteBlock) -> Connection:
    silence_s = settings.socket_timeout_s
    return connect_to(target, settings, silence_s, write.block.pool_id, write.token)


def _send(
    connection: Connection,
    request: WriteBlock,
    opened: OpenReplica,
    store: BlockStore,
    settings: DataSettings,
) -> int:
    """The request, and all of the replica as it was opened."""
    # As Hadoop has it: nobody reads a block because it was copied, at neither end.
    hints = CachingHints(drop_behind=True)
    connection.send_all(encode_request(replace(request, hints=hints)))
    sender = BlockSender(
        opened,
        0,
        opened.length_bytes,
        sendfile=settings.sendfile,
        cache=settings.cache,
        hints=hints,
        is_copy=True,
    )
    try:
        with store.trouble.reading(request.block.pool_id, opened):
            return sender.send(connection)
    finally:
        sender.finish()
