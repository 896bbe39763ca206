"""Orders of a namenode, as they ride home on a heartbeat's answer (pure).

Those that move bytes become messages to the data process; the others are for the
control process. What isn't supported becomes `Unsupported`, which is logged by its name:
an order that is silently dropped looks like a datanode that is slow.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from howdah import errors
from howdah.datanode.state.messages import (
    BalanceBandwidth,
    Cache,
    Invalidate,
    Reconstruct,
    RecoverBlock,
    RecoverGroup,
    Transfer,
)
from howdah.formats.tokens.block_keys import ExportedKeys
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import (
    DatanodeAddress,
    ExtendedBlock,
    StorageType,
    signed64,
)
from howdah.protocol.striping.layout import index_of, is_striped
from howdah.protocol.striping.messages import policy_from_proto
from howdah.protocol.striping.policies import Policy


@dataclass(frozen=True, slots=True)
class Register:
    """The namenode doesn't know this datanode (any more)."""


@dataclass(frozen=True, slots=True)
class FinalizeUpgrade:
    """Forget the state before an upgrade, if one is kept."""

    pool_id: str


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Stop this datanode."""


@dataclass(frozen=True, slots=True)
class UpdateKeys:
    """The namenode makes block tokens by other keys; None: by none."""

    keys: ExportedKeys | None


@dataclass(frozen=True, slots=True)
class Unsupported:
    name: str


Order = (
    Register
    | FinalizeUpgrade
    | Shutdown
    | UpdateKeys
    | Unsupported
    | Invalidate
    | Transfer
    | RecoverBlock
    | RecoverGroup
    | Reconstruct
    | BalanceBandwidth
    | Cache
)


def decode_orders(commands: Iterable[pb.DatanodeCommandProto]) -> list[Order]:
    """The orders in their order; `ProtocolViolation` for one that contradicts itself."""
    orders: list[Order] = []
    for command in commands:
        match command.cmdType:
            case pb.DatanodeCommandProto.RegisterCommand:
                orders.append(Register())
            case pb.DatanodeCommandProto.FinalizeCommand:
                orders.append(FinalizeUpgrade(command.finalizeCmd.blockPoolId))
            case pb.DatanodeCommandProto.BlockCommand:
                orders += _block_orders(command.blkCmd)
            case pb.DatanodeCommandProto.BlockRecoveryCommand:
                orders += [recovery_order(block) for block in command.recoveryCmd.blocks]
            case pb.DatanodeCommandProto.BalancerBandwidthCommand:
                orders.append(BalanceBandwidth(signed64(command.balancerCmd.bandwidth)))
            case pb.DatanodeCommandProto.BlockIdCommand:
                orders.append(_cache_order(command.blkIdCmd))
            case pb.DatanodeCommandProto.BlockECReconstructionCommand:
                orders += map(
                    _reconstruction, command.blkECReconstructionCmd.blockECReconstructioninfo
                )
            case pb.DatanodeCommandProto.KeyUpdateCommand:
                orders.append(UpdateKeys(ExportedKeys.from_proto(command.keyUpdateCmd.keys)))
            case pb.DatanodeCommandProto.NullDatanodeCommand:
                continue
            case other:
                orders.append(Unsupported(pb.DatanodeCommandProto.Type.Name(other)))
    return orders


def _block(pool_id: str, proto: types_pb2.BlockProto) -> ExtendedBlock:
    return ExtendedBlock(
        pool_id, signed64(proto.blockId), signed64(proto.genStamp), signed64(proto.numBytes)
    )


def recovery_order(proto: pb.RecoveringBlockProto) -> RecoverBlock | RecoverGroup:
    """What a RecoveringBlockProto asks for; also the form in which a primary asks its peers.

    `ProtocolViolation` for lengths and stamps that are negative in Java, and for a group whose
    locations and indices do not fit together.
    """
    if proto.HasField("ecPolicy"):
        return _group_recovery(proto)
    block = ExtendedBlock.from_proto(proto.block.b)
    target = _block(block.pool_id, proto.truncateBlock) if proto.HasField("truncateBlock") else None
    numbers = [signed64(proto.newGenStamp), block.generation_stamp, block.length_bytes]
    if target is not None:
        numbers += [target.generation_stamp, target.length_bytes]
    if min(numbers) < 0:
        raise errors.ProtocolViolation(
            f"a recovery of {block} with a length or a stamp that no block has: {min(numbers)}"
        )
    return RecoverBlock(
        block,
        signed64(proto.newGenStamp),
        tuple(DatanodeAddress.from_proto(node) for node in proto.block.locs),
        target,
    )


def _group_recovery(proto: pb.RecoveringBlockProto) -> RecoverGroup:
    policy = policy_from_proto(proto.ecPolicy)
    group = ExtendedBlock.from_proto(proto.block.b)
    is_committed = proto.HasField("truncateBlock")
    order = RecoverGroup(
        group,
        signed64(proto.newGenStamp),
        tuple(DatanodeAddress.from_proto(node) for node in proto.block.locs),
        tuple(proto.blockIndices),
        policy,
        committed_bytes=signed64(proto.truncateBlock.numBytes) if is_committed else None,
    )
    if order.committed_bytes is not None and order.committed_bytes < 0:
        raise errors.ProtocolViolation(
            f"{group} was committed with {order.committed_bytes} bytes, which no group has"
        )
    if min(order.recovery_id, group.generation_stamp) < 0:
        raise errors.ProtocolViolation(f"a recovery of {group} with a stamp that no block has")
    _check_group(group, policy, len(order.nodes), order.indices)
    return order


def _reconstruction(proto: types_pb2.BlockECReconstructionInfoProto) -> Reconstruct:
    policy = policy_from_proto(proto.ecPolicy)
    order = Reconstruct(
        ExtendedBlock.from_proto(proto.block),
        policy,
        tuple(DatanodeAddress.from_proto(node) for node in proto.sourceDnInfos.datanodes),
        tuple(proto.liveBlockIndices),
        tuple(DatanodeAddress.from_proto(node) for node in proto.targetDnInfos.datanodes),
        tuple(StorageType(kind) for kind in proto.targetStorageTypes.storageTypes),
        tuple(proto.targetStorageUuids.storageUuids),
        tuple(proto.excludeReconstructedIndices),
    )
    _check_group(order.group, policy, len(order.sources), order.live)
    if order.group.length_bytes < 0:
        raise errors.ProtocolViolation(f"{order.group} is to be made anew, of a negative length")
    if not len(order.targets) == len(order.storage_types) == len(order.storage_ids):
        raise errors.ProtocolViolation(
            f"{order.group} is to be made anew at {len(order.targets)} datanodes, on "
            f"{len(order.storage_ids)} storages of {len(order.storage_types)} types"
        )
    return order


def _check_group(
    group: ExtendedBlock, policy: Policy, nodes: int, indices: tuple[int, ...]
) -> None:
    units = policy.schema.units
    if not is_striped(group.block_id) or index_of(group.block_id):
        raise errors.ProtocolViolation(f"{group} is no block group")
    if nodes != len(indices) or not all(index < units for index in indices):
        raise errors.ProtocolViolation(
            f"{group} of {policy.name} has {nodes} datanodes, with the indices {list(indices)}"
        )


def _cache_order(command: pb.BlockIdCommandProto) -> Cache:
    return Cache(
        command.blockPoolId,
        tuple(signed64(block_id) for block_id in command.blockIds),
        is_over=command.action == pb.BlockIdCommandProto.UNCACHE,
    )


def _block_orders(command: pb.BlockCommandProto) -> list[Order]:
    pool_id = command.blockPoolId
    if command.action == pb.BlockCommandProto.SHUTDOWN:
        return [Shutdown()]
    if command.action == pb.BlockCommandProto.INVALIDATE:
        return [Invalidate(tuple(_block(pool_id, proto) for proto in command.blocks))]
    if len(command.targets) != len(command.blocks):
        raise errors.ProtocolViolation(
            f"a TRANSFER command has {len(command.blocks)} blocks "
            f"and {len(command.targets)} lists of targets"
        )
    orders: list[Order] = []
    for index, (proto, targets) in enumerate(zip(command.blocks, command.targets, strict=True)):
        types: tuple[StorageType, ...] = ()
        ids: tuple[str, ...] = ()
        if index < len(command.targetStorageTypes):
            kinds = command.targetStorageTypes[index].storageTypes
            types = tuple(StorageType(kind) for kind in kinds)
        if index < len(command.targetStorageUuids):
            ids = tuple(command.targetStorageUuids[index].storageUuids)
        nodes = tuple(DatanodeAddress.from_proto(node) for node in targets.datanodes)
        orders.append(Transfer(_block(pool_id, proto), nodes, types, ids))
    return orders
