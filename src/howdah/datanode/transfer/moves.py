"""COPY_BLOCK and REPLACE_BLOCK: how a balancer moves a replica from node to node.

DataXceiver.copyBlock and replaceBlock in Hadoop. The steps of a move:

1. The balancer asks the target (REPLACE_BLOCK), and names the proxy that is to send the replica
   and the datanode that is to lose its own (`delete_hint`).
2. The target asks the proxy (COPY_BLOCK), which answers with the checksum, then packets, then
   one character when it has let go of what the move took.
3. While bytes come in, the target tells the balancer now and again that it is at work
   (IN_PROGRESS).
4. The target finalizes the replica and reports it with the hint: the namenode has the surplus
   replica deleted, at the hinted node if that is right by its own rules.
5. The target answers the balancer.

Is the proxy the target itself, the replica goes to another of its volumes. Both sides go by the
limits of `balancing`. A replica that is pinned to its node is not copied away.
"""

from __future__ import annotations

import logging
import time
from typing import Final

from howdah import errors
from howdah.datanode.replicas.open_replica import OpenReplica
from howdah.datanode.replicas.pinning import is_pinned
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.replicas.volume_move import move_to_type
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.transfer.balancing import Balancing
from howdah.datanode.transfer.peers import connect_to
from howdah.datanode.transfer.receiver import BlockReceiver, Move
from howdah.datanode.transfer.sender import BlockSender
from howdah.protocol.data_transfer.op_requests import (
    CachingHints,
    CopyBlock,
    ReplaceBlock,
    Stage,
    WriteBlock,
    encode_request,
)
from howdah.protocol.data_transfer.responses import BlockOpResponse, ReadChecksumInfo, read_response
from howdah.protocol.data_transfer.status import Status
from howdah.runtime.sockets import Connection

log = logging.getLogger(__name__)

_LET_GO: Final = b"\0d"
"""One character as Java writes it, the same that Hadoop's datanodes send."""
_HINTS: Final = CachingHints(drop_behind=True)


class BlockPinned(errors.RemoteError):
    """The replica stays where it is: its client wants it there."""


class Moves:
    """Runs the two operations on one connection."""

    def __init__(
        self,
        connection: Connection,
        store: BlockStore,
        settings: DataSettings,
        balancing: Balancing,
    ) -> None:
        self._connection = connection
        self._store = store
        self._settings = settings
        self._balancing = balancing
        self._answered_s = time.monotonic()
        self.is_sending = False
        """Whether packets may be under way: then nothing else can be said on the connection."""

    # --- the proxy's side ---

    def copy(self, request: CopyBlock) -> None:
        """Send the whole replica. Raises what keeps it from that; once `is_sending`, the
        connection has to end."""
        action = f"copy block {request.block.block_id} to {self._connection.peer}"
        with self._balancing.turn(action), self._store.open(request.block) as opened:
            self._check_copyable(opened, action)
            sender = BlockSender(
                opened,
                0,
                opened.length_bytes,
                sendfile=self._settings.sendfile,
                cache=self._settings.cache,
                hints=_HINTS,
                is_copy=True,
                paced=self._balancing.moved,
            )
            info = ReadChecksumInfo(sender.checksum, 0)
            self.is_sending = True
            self._connection.send_all(BlockOpResponse(Status.SUCCESS, read_checksum=info).encode())
            try:
                with self._store.trouble.reading(request.block.pool_id, opened):
                    sent = sender.send(self._connection)
            finally:
                sender.finish()
        self._connection.send_all(_LET_GO)
        self.is_sending = False
        log.info("copied %s (%d bytes) to %s", request.block, sent, self._connection.peer)

    def _check_copyable(self, opened: OpenReplica, action: str) -> None:
        if opened.replica.state is not ReplicaState.FINALIZED:
            raise errors.ReplicaNotFound(
                f"only a finalized replica is moved, and this datanode has {opened.replica!r}"
            )
        if self._settings.block_pinning and is_pinned(opened):
            raise BlockPinned(f"Not able to {action} because it's pinned")

    # --- the target's side ---

    def replace(self, request: ReplaceBlock) -> None:
        """Get the replica, and report it. Raises what keeps it from that."""
        action = f"receive block {request.block.block_id} from {self._connection.peer}"
        with self._balancing.turn(action):
            self._answered_s = time.monotonic()
            if request.proxy.uuid == self._balancing.uuid:
                move_to_type(self._store, request.block, request.storage_type, self._took)
            else:
                self._receive(request)
        log.info(
            "moved %s here from %s; %s is to delete its replica",
            request.block,
            request.proxy,
            request.delete_hint,
        )

    def _receive(self, request: ReplaceBlock) -> None:
        settings = self._settings
        pool_id, silence_s = request.block.pool_id, settings.socket_timeout_s
        with connect_to(request.proxy, settings, silence_s, pool_id, request.token) as proxy:
            proxy.send_all(encode_request(CopyBlock(request.block, request.token, request.trace)))
            answer = read_response(proxy)
            if not answer.is_success:
                refusal = BlockPinned if answer.status is Status.ERROR_BLOCK_PINNED else None
                raise (refusal or errors.RemoteError)(
                    f"{request.proxy} does not copy {request.block}: {answer.status.name} "
                    f"{answer.message}"
                )
            if answer.read_checksum is None or answer.read_checksum.chunk_offset:
                raise errors.ProtocolViolation(
                    f"{request.proxy} does not say how {request.block} is summed, from its start"
                )
            write = WriteBlock(
                request.block,
                "",
                Stage.PIPELINE_SETUP_CREATE,
                answer.read_checksum.checksum,
                source=request.proxy,
                pipeline_size=0,
                storage_type=request.storage_type,
                storage_id=request.storage_id,
                hints=_HINTS,
            )
            move = Move(request.delete_hint, self._took)
            BlockReceiver(proxy, write, self._store, settings, move).run()
            try:
                proxy.recv_exactly(len(_LET_GO))
            except errors.HowdahError as error:
                # The replica is here. The next move may find the proxy's turn still taken.
                log.info("%s did not say that it has let go: %s", request.proxy, error)

    def _took(self, count_bytes: int) -> None:
        self._say_that_it_goes_on()
        self._balancing.moved(count_bytes, self._say_that_it_goes_on)

    def _say_that_it_goes_on(self) -> None:
        """To the balancer, twice in the time for which it may be silent itself. `PeerClosed` if
        it is gone: nobody counts the move any more."""
        now_s = time.monotonic()
        if now_s - self._answered_s > self._settings.socket_timeout_s / 2:
            self._connection.send_all(BlockOpResponse(Status.IN_PROGRESS).encode())
            self._answered_s = now_s
