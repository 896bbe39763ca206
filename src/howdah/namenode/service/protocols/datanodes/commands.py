"""What a datanode is told to do in the answer to its heartbeat (pure)."""

from __future__ import annotations

from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols import encoders
from howdah.namenode.service.protocols.cluster_identity import ClusterIdentity
from howdah.namenode.service.writing.block_recovery import BlockRecovery, RecoveryOrder
from howdah.namenode.state.blocks.datanodes import Datanode, GroupReconstruction, Transfer
from howdah.namenode.state.inodes.group_table import Group
from howdah.namenode.state.inodes.inodes import Block, BlockState
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.striping.messages import policy_to_proto


class DatanodeCommands:
    """Brings what the parts of the namenode want of a datanode into commands."""

    def __init__(
        self, namesystem: Namesystem, cluster: ClusterIdentity, recovery: BlockRecovery
    ) -> None:
        self._namesystem = namesystem
        self._cluster = cluster
        self._recovery = recovery

    def pop_commands(self, node: Datanode) -> list[pb.DatanodeCommandProto]:
        orders = self._settings_for(node)
        pool_id = self._cluster.block_pool_id
        recoveries = self._recovery.take_orders(node)
        if recoveries:
            orders.append(
                pb.DatanodeCommandProto(
                    cmdType=pb.DatanodeCommandProto.BlockRecoveryCommand,
                    recoveryCmd=pb.BlockRecoveryCommandProto(
                        blocks=[self._recovering(order) for order in recoveries]
                    ),
                )
            )
        if node.to_transfer:
            command = pb.BlockCommandProto(
                action=pb.BlockCommandProto.TRANSFER, blockPoolId=pool_id
            )
            streams = self._namesystem.block_manager.reconstruction.streams
            room = streams.may_run(node) - node.transfers_running
            while node.to_transfer and len(command.blocks) < room:
                order = node.to_transfer.popleft()
                block = self._namesystem.namespace.blocks.reported_as(order.block_id)
                if block is None or not block.is_settled:
                    # Deleted, or open again for an append, since the order was given.
                    continue
                _add_transfer(command, block, order)
            if command.blocks:
                orders.append(_block_command(command))
        if node.to_reconstruct:
            orders.extend(self._reconstructions(node))
        deletions = self._deletions(node)
        if deletions:
            command = pb.BlockCommandProto(
                action=pb.BlockCommandProto.INVALIDATE, blockPoolId=pool_id
            )
            for block_id, stamp in deletions:
                command.blocks.add(blockId=block_id & encoders.LONG_MASK, genStamp=stamp)
                command.targets.add()
            orders.append(_block_command(command))
        to_cache, to_uncache = self._namesystem.caching.orders(node)
        for action, block_ids in (
            (pb.BlockIdCommandProto.CACHE, to_cache),
            (pb.BlockIdCommandProto.UNCACHE, to_uncache),
        ):
            if block_ids:
                orders.append(
                    pb.DatanodeCommandProto(
                        cmdType=pb.DatanodeCommandProto.BlockIdCommand,
                        blkIdCmd=pb.BlockIdCommandProto(
                            action=action, blockPoolId=pool_id, blockIds=block_ids
                        ),
                    )
                )
        return orders

    def _deletions(self, node: Datanode) -> list[tuple[int, int]]:
        namesystem, block_manager = self._namesystem, self._namesystem.block_manager
        if namesystem.safe_mode.on or block_manager.postpones_deletions:
            return []
        return block_manager.blocks.invalidation.pop_orders(
            node, namesystem.settings.deletions_per_command
        )

    def _reconstructions(self, node: Datanode) -> list[pb.DatanodeCommandProto]:
        """Internal blocks that the node is to make, as many as it has room for."""
        command = pb.BlockECReconstructionCommandProto()
        reconstruction = self._namesystem.block_manager.reconstruction
        room = reconstruction.streams.may_run(node) - node.transfers_running
        infos = command.blockECReconstructioninfo
        while node.to_reconstruct and len(infos) < room:
            order = node.to_reconstruct.popleft()
            group = self._namesystem.namespace.blocks.get(order.group_id)
            if isinstance(group, Group) and group.is_settled and reconstruction.is_pending(order):
                self._add_reconstruction(infos.add(), group, order)
        if not infos:
            return []
        return [
            pb.DatanodeCommandProto(
                cmdType=pb.DatanodeCommandProto.BlockECReconstructionCommand,
                blkECReconstructionCmd=command,
            )
        ]

    def _add_reconstruction(
        self,
        info: types_pb2.BlockECReconstructionInfoProto,
        group: Group,
        order: GroupReconstruction,
    ) -> None:
        info.block.CopyFrom(encoders.extended_block(self._namesystem.settings, group))
        info.sourceDnInfos.datanodes.extend(
            [encoders.datanode_info(storage.node) for _, storage in order.sources]
        )
        info.targetDnInfos.datanodes.extend(
            [encoders.datanode_info(target.node) for target in order.targets]
        )
        info.targetStorageUuids.storageUuids.extend([t.storage_id for t in order.targets])
        # The stubs want the enum; at run time a number is one.
        info.targetStorageTypes.storageTypes.extend(
            [t.storage_type for t in order.targets]  # type: ignore[misc]
        )
        info.liveBlockIndices = bytes(index for index, _ in order.sources)
        info.excludeReconstructedIndices = bytes(order.excluded)
        info.ecPolicy.CopyFrom(policy_to_proto(group.policy))

    @staticmethod
    def _settings_for(node: Datanode) -> list[pb.DatanodeCommandProto]:
        bandwidth, node.new_bandwidth = node.new_bandwidth, None
        if bandwidth is None:
            return []
        return [
            pb.DatanodeCommandProto(
                cmdType=pb.DatanodeCommandProto.BalancerBandwidthCommand,
                balancerCmd=pb.BalancerBandwidthCommandProto(bandwidth=bandwidth),
            )
        ]

    def _recovering(self, order: RecoveryOrder) -> pb.RecoveringBlockProto:
        """The block with what is known of its length: the recovery is not to end below.
        For a cut it is named as it was, and `truncateBlock` is what it is to be: itself,
        or another block. A committed block is named so, too: its length is final, and Hadoop's
        datanodes would else cut all its unfinished replicas to the shortest one."""
        block = order.block
        recovering = pb.RecoveringBlockProto(
            newGenStamp=order.recovery_id,
            block=encoders.located_block(
                self._namesystem.settings,
                order.source,
                0,
                list(order.places),
                indices=order.indices,
            ),
        )
        recovering.block.b.numBytes = order.source.length_bytes
        if isinstance(block, Group):
            recovering.ecPolicy.CopyFrom(policy_to_proto(block.policy))
            recovering.blockIndices = bytes(order.indices)
        if block.truncating or block.state is BlockState.COMMITTED:
            recovering.truncateBlock.blockId = block.block_id & encoders.LONG_MASK
            recovering.truncateBlock.genStamp = order.recovery_id
            recovering.truncateBlock.numBytes = block.length_bytes
        return recovering


def register_command() -> pb.DatanodeCommandProto:
    return pb.DatanodeCommandProto(
        cmdType=pb.DatanodeCommandProto.RegisterCommand, registerCmd=pb.RegisterCommandProto()
    )


def _block_command(command: pb.BlockCommandProto) -> pb.DatanodeCommandProto:
    return pb.DatanodeCommandProto(cmdType=pb.DatanodeCommandProto.BlockCommand, blkCmd=command)


def _add_transfer(command: pb.BlockCommandProto, block: Block, order: Transfer) -> None:
    command.blocks.add(
        blockId=block.block_id & encoders.LONG_MASK,
        genStamp=block.generation_stamp,
        numBytes=block.length_bytes,
    )
    command.targets.add(datanodes=[encoders.datanode_info(target.node) for target in order.targets])
    command.targetStorageUuids.add(storageUuids=[t.storage_id for t in order.targets])
    command.targetStorageTypes.add(storageTypes=[t.storage_type for t in order.targets])
