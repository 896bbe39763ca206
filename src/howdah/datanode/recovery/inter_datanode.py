"""InterDatanodeProtocol: how the primary of a block's recovery speaks to the others.

Served on the IPC port, by the data process, which has the replicas. The two calls are
`replica_recovery.take` and `settle`; here they only change their clothes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from howdah import errors
from howdah.datanode.recovery import replica_recovery
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.state.block_recovery import Candidate
from howdah.datanode.state.commands import recovery_order
from howdah.datanode.state.messages import RecoverBlock
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.proto import datanode_namenode_pb2, types_pb2
from howdah.proto import inter_datanode_pb2 as pb
from howdah.protocol.data_transfer.blocks import NO_TOKEN, DatanodeAddress, ExtendedBlock, signed64
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Service
from howdah.rpc.client import RpcClient

PROTOCOL = "org.apache.hadoop.hdfs.server.protocol.InterDatanodeProtocol"
_MASK = (1 << 64) - 1


@contextlib.contextmanager
def _told_by_name() -> Iterator[None]:
    """What a disk does wrong is told to the primary as what it is, and is no defect."""
    try:
        yield
    except errors.HowdahError:
        raise
    except OSError as error:
        raise errors.RemoteError(f"a disk failed: {error}") from error


class InterDatanodeProtocol:
    """Each method answers the call of its name."""

    def __init__(self, store: BlockStore) -> None:
        self._store = store

    def init_replica_recovery(
        self, request: pb.InitReplicaRecoveryRequestProto, caller: Caller
    ) -> pb.InitReplicaRecoveryResponseProto:
        order = recovery_order(request.block)
        if not isinstance(order, RecoverBlock):
            raise errors.ProtocolViolation(
                f"a primary asks for the internal blocks of {order.group} one by one"
            )
        with _told_by_name():
            candidate = replica_recovery.init_recovery(self._store, order.block, order.recovery_id)
        if candidate is None:
            return pb.InitReplicaRecoveryResponseProto(replicaFound=False)
        return pb.InitReplicaRecoveryResponseProto(
            replicaFound=True,
            state=datanode_namenode_pb2.ReplicaStateProto.Name(candidate.state),
            block=types_pb2.BlockProto(
                blockId=candidate.block_id & _MASK,
                genStamp=candidate.generation_stamp & _MASK,
                numBytes=candidate.length_bytes,
            ),
        )

    def update_replica_under_recovery(
        self, request: pb.UpdateReplicaUnderRecoveryRequestProto, caller: Caller
    ) -> pb.UpdateReplicaUnderRecoveryResponseProto:
        with _told_by_name():
            storage_id = replica_recovery.settle(
                self._store,
                ExtendedBlock.from_proto(request.block),
                signed64(request.recoveryId),
                request.newLength,
                signed64(request.newBlockId) or None,
            )
        return pb.UpdateReplicaUnderRecoveryResponseProto(storageUuid=storage_id)


def service(implementation: InterDatanodeProtocol) -> Service:
    descriptor = pb.DESCRIPTOR.services_by_name["InterDatanodeProtocolService"]
    return Service(PROTOCOL, 1, descriptor, implementation)


class Peer:
    """Another datanode, as the primary sees it."""

    def __init__(
        self,
        node: DatanodeAddress,
        timeout_s: float,
        *,
        use_hostname: bool,
        user: str | None = None,
    ) -> None:
        """`user` is who calls; None: the user of this process."""
        host = node.hostname if use_hostname else node.ip
        self._client = RpcClient(
            (host, node.ipc_port),
            PROTOCOL,
            user=user,
            connect_timeout_s=timeout_s,
            call_timeout_s=timeout_s,
        )

    def init_recovery(self, order: RecoverBlock) -> Candidate | None:
        answer = self._client.call(
            "initReplicaRecovery",
            pb.InitReplicaRecoveryRequestProto(block=encode_order(order)),
            pb.InitReplicaRecoveryResponseProto,
        )
        if not answer.replicaFound:
            return None
        block = answer.block
        return Candidate(
            signed64(block.blockId),
            signed64(block.genStamp),
            signed64(block.numBytes),
            ReplicaState(answer.state),
        )

    def settle(
        self, replica: ExtendedBlock, recovery_id: int, new_length_bytes: int, new_block_id: int
    ) -> str:
        answer = self._client.call(
            "updateReplicaUnderRecovery",
            pb.UpdateReplicaUnderRecoveryRequestProto(
                block=replica.to_proto(),
                recoveryId=recovery_id,
                newLength=new_length_bytes,
                newBlockId=new_block_id & _MASK,
            ),
            pb.UpdateReplicaUnderRecoveryResponseProto,
        )
        return answer.storageUuid

    def close(self) -> None:
        self._client.close()


def encode_order(order: RecoverBlock) -> datanode_namenode_pb2.RecoveringBlockProto:
    """As a RecoveringBlockProto, in which namenodes give such orders and primaries pass them on."""
    proto = datanode_namenode_pb2.RecoveringBlockProto(
        newGenStamp=order.recovery_id,
        block=types_pb2.LocatedBlockProto(
            b=order.block.to_proto(),
            offset=0,
            locs=[node.to_proto() for node in order.nodes],
            corrupt=False,
            blockToken=NO_TOKEN.to_proto(),
        ),
    )
    if order.target is not None:
        proto.truncateBlock.blockId = order.target.block_id & _MASK
        proto.truncateBlock.genStamp = order.target.generation_stamp & _MASK
        proto.truncateBlock.numBytes = order.target.length_bytes
    return proto
