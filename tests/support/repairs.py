"""Datanodes of a namenode in memory that carry out its orders, and what is wrong in the end.

In peace (the datanodes that are alive stay alive, and time passes) every block of which a
datanode has a good replica comes back to its replication, whoever its owner is: a file, an open
file whose writer is gone, a snapshot alone. `Repairs.faults` says where that is not so, and
where readers or figures are told something else.
"""

from __future__ import annotations

from howdah import errors
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes.inodes import Block, BlockState
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.proto import types_pb2
from howdah.testing.in_memory import InMemoryDatanode, InMemoryNamenode, Replica

ROUND_MS = 20_000
MOST_ROUNDS = 400
"""Over two hours."""


class Repairs:
    """Makes the datanodes of a namenode live on, but for those that are `dead`."""

    def __init__(self, namenode: InMemoryNamenode) -> None:
        self.namenode = namenode
        self.dead: set[str] = set()
        # The latest recovery of each replica that a datanode took part in.
        self._recovered: dict[tuple[str, int], int] = {}

    @property
    def namesystem(self) -> Namesystem:
        return self.namenode.namesystem

    def alive(self) -> list[InMemoryDatanode]:
        return [node for node in self.namenode.nodes if node.uuid not in self.dead]

    def node(self, uuid: str) -> InMemoryDatanode:
        return next(node for node in self.namenode.nodes if node.uuid == uuid)

    def holders(self, block_id: int) -> list[InMemoryDatanode]:
        """The datanodes that are alive and have a replica of the block, in whatever state."""
        return [node for node in self.alive() if find(node, block_id) is not None]

    # Time passes.

    def round(self, *, obeys: bool = True) -> None:
        self.namenode.clock.advance(ROUND_MS)
        for node in self.alive():
            for command in node.heartbeat():
                if obeys:
                    self._obey(node, command)
        self.namenode.tick()

    def pass_time(self) -> None:
        """Until nothing is wrong any more, and a little longer; or for over two hours."""
        rounds_in_order = 0
        for _ in range(MOST_ROUNDS):
            rounds_in_order = 0 if self.faults() else rounds_in_order + 1
            if rounds_in_order == 3:
                return
            self.round()

    def _obey(self, node: InMemoryDatanode, command: dn.DatanodeCommandProto) -> None:
        for order in command.recoveryCmd.blocks:
            self.recover(node, order)
        for place, named in enumerate(command.blkCmd.blocks):
            if command.blkCmd.action == dn.BlockCommandProto.INVALIDATE:
                found = find(node, named.blockId)
                if found is not None and found.generation_stamp == named.genStamp:
                    node.drop(named.blockId)
            elif command.blkCmd.action == dn.BlockCommandProto.TRANSFER:
                self._copy(node, named, command.blkCmd.targets[place])

    def _copy(
        self,
        node: InMemoryDatanode,
        named: types_pb2.BlockProto,
        targets: types_pb2.DatanodeInfosProto,
    ) -> None:
        found = find(node, named.blockId)
        if found is None or not found.finalized or found.generation_stamp != named.genStamp:
            return
        for target in targets.datanodes:
            other = self.node(target.id.datanodeUuid)
            if other.uuid not in self.dead and find(other, named.blockId) is None:
                other.store(named.blockId, named.genStamp, found.length_bytes)

    def recover(self, primary: InMemoryDatanode, order: dn.RecoveringBlockProto) -> None:
        """The datanodes of the order agree on a length, and the namenode is told."""
        block_id, becomes = order.block.b.blockId, order.block.b.blockId
        uuids = {place.id.datanodeUuid for place in order.block.locs}
        there = [(n, r) for n in self.holders(block_id) if (r := find(n, block_id)) is not None]
        taking = [
            (node, replica)
            for node, replica in there
            if node.uuid in uuids
            and self._recovered.get((node.uuid, block_id), 0) < order.newGenStamp
            and order.block.b.generationStamp <= replica.generation_stamp < order.newGenStamp
        ]
        for node, _ in taking:
            self._recovered[node.uuid, block_id] = order.newGenStamp
        whole = [entry for entry in taking if entry[1].finalized]
        taking = whole or taking
        length_bytes = min((replica.length_bytes for _, replica in taking), default=0)
        if order.HasField("truncateBlock"):
            if length_bytes < order.truncateBlock.numBytes:
                return
            length_bytes = order.truncateBlock.numBytes
            becomes = order.truncateBlock.blockId or block_id
        for node, _ in taking:
            place = next(held for held in node.replicas.values() if block_id in held)
            place[becomes] = Replica(order.newGenStamp, length_bytes)
        try:
            self.namenode.call(
                "commitBlockSynchronization",
                dn.CommitBlockSynchronizationRequestProto(
                    block=order.block.b,
                    newGenStamp=order.newGenStamp,
                    newLength=length_bytes,
                    closeFile=True,
                    deleteBlock=not taking,
                    newTaragets=[node.registration().datanodeID for node, _ in taking],
                    newTargetStorages=[
                        storage_id
                        for node, _ in taking
                        for storage_id, held in node.replicas.items()
                        if becomes in held
                    ],
                ),
                address=primary.ip,
            )
        except errors.HowdahError:
            return  # Refused: another attempt follows.

    # What is wrong.

    def good(self, block: Block) -> set[str]:
        """The datanodes that are alive and have the block as it should be."""
        return {node.uuid for node in self.alive() if is_good(find(node, block.block_id), block)}

    def faults(self) -> list[str]:
        namesystem, found = self.namesystem, list[str]()
        serving = [node for node in self.alive() if node.known.in_service]
        queues = namesystem.block_manager.blocks.redundancy.queues
        namesystem.block_manager.reconstruction.counts()
        for block in namesystem.namespace.blocks.values():
            good = self.good(block)
            if block.state is not BlockState.COMPLETE:
                found.append(f"{block} is not complete")
            if not good:
                if block.block_id not in queues[0]:
                    found.append(f"nobody has {block}, and it is not among the missing ones")
                continue
            wanted = namesystem.namespace.measuring.wanted_replication(block)
            live = {node.uuid for node in serving} & good
            known = {storage.node.identity.uuid for storage in block.replicas}
            if not (len(live) == min(wanted, len(serving)) and known == good):
                found.append(f"{block} is at {sorted(good)}, known at {sorted(known)}: {wanted}")
            if block.corrupt:
                found.append(f"{block} is corrupt at {block.corrupt}")
            if len(serving) >= wanted and any(block.block_id in queue for queue in queues):
                found.append(f"{block} lacks nothing and is in a queue")
        if len(namesystem.block_manager.blocks.postponed):
            found.append(f"{len(namesystem.block_manager.blocks.postponed)} reports wait for edits")
        found += [f"{namesystem.namespace.inodes[i]} is open" for i in namesystem.leases.held()]
        return found

    def lengths_read(self, path: str) -> list[tuple[int, int]]:
        """Of each block that readers are told of: its bytes, and how many datanodes have these."""
        answer = self.namenode.call(
            "getBlockLocations",
            pb.GetBlockLocationsRequestProto(src=path, offset=0, length=1 << 40),
        )
        assert isinstance(answer, pb.GetBlockLocationsResponseProto)
        read = []
        for located in answer.locations.blocks:
            uuids = {place.id.datanodeUuid for place in located.locs} - self.dead
            replicas = [find(self.node(uuid), located.b.blockId) for uuid in uuids]
            there = [
                replica
                for replica in replicas
                if replica is not None
                and replica.length_bytes >= located.b.numBytes
                and replica.generation_stamp >= located.b.generationStamp
            ]
            read.append((located.b.numBytes, len(there)))
        return read


def find(node: InMemoryDatanode, block_id: int) -> Replica | None:
    """The datanode's replica of the block."""
    return next((held[block_id] for held in node.replicas.values() if block_id in held), None)


def is_good(replica: Replica | None, block: Block) -> bool:
    """Whether the replica is the block as it should be, or as much of one that is being written
    as was synced."""
    if replica is None:
        return False
    if not block.is_settled:
        is_there = replica.generation_stamp >= block.generation_stamp
        return is_there and replica.length_bytes >= block.length_bytes
    return (
        replica.finalized
        and replica.generation_stamp == block.generation_stamp
        and replica.length_bytes == block.length_bytes
    )
