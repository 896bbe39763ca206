"""Opens write pipelines, and has replicas copied to a datanode that joins one.

DataStreamer.createBlockOutputStream in Hadoop.

The two requests that a writer sends before it sends packets: WRITE_BLOCK to the
first datanode, whose answer tells of the whole pipeline, and TRANSFER_BLOCK to one
that has the replica. What goes wrong is a `SetupFailed` that names the node to blame:
the bad link of the answer, or the node that was asked if it can't be reached.

A third one uses the first: PIPELINE_CLOSE_RECOVERY of a finished block, under the
generation stamp that it has, changes nothing about the replica, but a datanode of howdah
answers it only when the replica is on its disk.
"""

from __future__ import annotations

from howdah import errors
from howdah.client.data_transfer_security import ConnectsData, connect_plain
from howdah.client.reading.readers import Cancellation
from howdah.client.settings.settings import ClientSettings
from howdah.client.state.blocks import LocatedBlock
from howdah.protocol.data_transfer.blocks import (
    BlockToken,
    DatanodeAddress,
    ExtendedBlock,
    StorageType,
)
from howdah.protocol.data_transfer.checksum import ChecksumSpec
from howdah.protocol.data_transfer.op_requests import (
    CachingHints,
    Stage,
    TransferBlock,
    WriteBlock,
    encode_request,
)
from howdah.protocol.data_transfer.responses import BlockOpResponse, read_response
from howdah.protocol.data_transfer.status import Status
from howdah.runtime import sockets
from howdah.runtime.sockets import is_local_address

TRANSFER_BYTES_PER_TIMEOUT = 200 * 64 * 1024
"""A copy may take one read time-out more for each so many bytes, as in Hadoop."""


class SetupFailed(Exception):
    """A pipeline could not be opened, or a node not join it, because of one datanode."""

    def __init__(self, node: DatanodeAddress, reason: str, *, restarts: bool = False) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason
        self.restarts = restarts


class PipelineSetup:
    """Pipelines for the blocks of one file. Knows no namenode and keeps no state of blocks."""

    def __init__(
        self,
        settings: ClientSettings,
        client_name: str,
        checksum: ChecksumSpec,
        block_size: int,
        *,
        lazy_persist: bool = False,
        connect: ConnectsData = connect_plain,
    ) -> None:
        self._settings = settings
        self._connect_data = connect
        self._client_name = client_name
        self._checksum = checksum
        self._block_size = block_size
        self._lazy_persist = lazy_persist
        self.drop_behind = settings.drop_behind_writes
        self._stopped = Cancellation()

    def stop(self) -> None:
        """The stream ends: wake up whoever waits for a datanode here, and begin nothing more."""
        self._stopped.cancel()

    def open(
        self,
        block: LocatedBlock,
        known: ExtendedBlock,
        stage: Stage,
        sent_bytes: int,
        trace: bytes = b"",
    ) -> sockets.Connection:
        """A pipeline to the nodes of `block`, which they know as `known` until now. `trace` is
        the context of the span below which it is."""
        return self._open(block, known, stage, sent_bytes, self._stopped, trace)

    def _open(
        self,
        block: LocatedBlock,
        known: ExtendedBlock,
        stage: Stage,
        sent_bytes: int,
        cancellation: Cancellation,
        trace: bytes = b"",
    ) -> sockets.Connection:
        if not block.nodes:
            raise errors.PipelineFailed(f"the namenode gave {block.block.name} no datanodes")
        first, *rest = block.nodes
        types = block.storage_types or (StorageType.DISK,) * len(block.nodes)
        ids = block.storage_ids
        request = WriteBlock(
            # The length asks the datanode for so much room, it isn't the data's.
            block=known.with_length(self._block_size),
            client_name=self._client_name,
            stage=stage,
            checksum=self._checksum,
            targets=tuple(rest),
            pipeline_size=len(block.nodes),
            min_bytes_received=block.length_bytes,
            max_bytes_received=sent_bytes,
            latest_generation_stamp=block.block.generation_stamp,
            storage_type=types[0],
            storage_id=ids[0] if ids else None,
            target_storage_types=tuple(types[1:]),
            target_storage_ids=tuple(ids[1:]),
            allow_lazy_persist=self._lazy_persist,
            hints=CachingHints(drop_behind=self.drop_behind),
            token=block.token,
            trace=trace,
        )
        # Every node of the pipeline may need that long to open the next one.
        settings = self._settings
        connection = self._connect(
            first,
            block.token,
            settings.socket_timeout_s + settings.timeout_per_node_s * len(block.nodes),
            cancellation,
        )
        response = self._request(connection, encode_request(request), first, cancellation)
        if response.is_success:
            return connection
        connection.close()
        bad = first
        for node in block.nodes:
            if node.transfer_address == response.first_bad_link:
                bad = node
        raise SetupFailed(
            bad,
            response.message or f"answered {response.status.name}",
            restarts=response.status is Status.OOB_RESTART,
        )

    def sync_at(self, node: DatanodeAddress, block: LocatedBlock) -> None:
        """Have `node` bring its finished replica of `block` to the disk; `SetupFailed` if not."""
        # By a writer who waits for it, whatever becomes of the stream's own threads.
        self._open(
            block.at(node),
            block.block,
            Stage.PIPELINE_CLOSE_RECOVERY,
            block.length_bytes,
            Cancellation(),
        ).close()

    def transfer(
        self,
        block: LocatedBlock,
        source: DatanodeAddress,
        added: LocatedBlock,
        trace: bytes = b"",
    ) -> None:
        """Have `source` copy its replica of `block` to the one node of `added`, and wait."""
        (target,) = added.nodes
        request = TransferBlock(
            block=block.block,
            client_name=self._client_name,
            targets=added.nodes,
            target_storage_types=added.storage_types,
            target_storage_ids=added.storage_ids,
            token=added.token,
            trace=trace,
        )
        patience = 2 + block.length_bytes // TRANSFER_BYTES_PER_TIMEOUT
        connection = self._connect(
            source, added.token, self._settings.socket_timeout_s * patience, self._stopped
        )
        # The source is known to be good, so a copy that fails is laid at the target.
        response = self._request(connection, encode_request(request), target, self._stopped)
        connection.close()
        if not response.is_success:
            raise SetupFailed(
                target,
                f"got no copy from {source}: {response.message or response.status.name}",
            )

    def _connect(
        self,
        node: DatanodeAddress,
        token: BlockToken,
        read_timeout_s: float,
        cancellation: Cancellation,
    ) -> sockets.Connection:
        try:
            return self._connect_data(
                node.connect_to(use_hostname=self._settings.use_datanode_hostname),
                token,
                connect_timeout_s=self._settings.socket_timeout_s,
                read_timeout_s=read_timeout_s,
                write_timeout_s=self._settings.write_timeout_s,
                dialing=cancellation.watch,
            )
        except (errors.HowdahError, OSError) as error:
            raise SetupFailed(node, str(error)) from error

    def _request(
        self,
        connection: sockets.Connection,
        request: bytes,
        blamed: DatanodeAddress,
        cancellation: Cancellation,
    ) -> BlockOpResponse:
        try:
            cancellation.watch(connection)
            connection.send_all(request)
            return read_response(connection)
        except (errors.HowdahError, OSError) as error:
            connection.close()
            raise SetupFailed(blamed, str(error)) from error
        finally:
            cancellation.release()


def is_local(node: DatanodeAddress) -> bool:
    """Whether `node` is on this machine."""
    return is_local_address(node.ip)
