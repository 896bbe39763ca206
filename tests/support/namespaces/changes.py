"""Truncate, concat, recovery of leases and of blocks, as rules."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import rule

from howdah.model.entries import parent_of
from howdah.namenode.state.inodes.group_table import Group
from howdah.namenode.state.inodes.inodes import BlockState
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.protocol.data_transfer.blocks import signed64
from howdah.protocol.striping.layout import GroupLayout
from howdah.testing.in_memory import InMemoryDatanode, Replica
from tests.support.namespaces.files import FileHistories
from tests.support.namespaces.histories import BLOCK, closed, lengths, opened, there, writers


class ChangeHistories(FileHistories):
    """What happens to files beside being written."""

    @rule(path=closed | there, writer=writers, length=st.integers(0, 3 * BLOCK))
    def truncate(self, path: str, writer: str, length: int) -> None:
        now_ms = self.now()
        request = pb.TruncateRequestProto(src=path, newLength=length, clientName=writer)
        self.both(
            lambda: self.call("truncate", request).result,
            lambda: self.model.truncate(path, length, writer=writer, now_ms=now_ms),
        )

    @rule(data=st.data(), path=closed)
    def truncate_to_a_part(self, data: st.DataObject, path: str) -> None:
        """Drawn at random the length is mostly more than there is."""
        entry = self.model.entries.get(path)
        if entry is not None:
            self.truncate(path, "DFSClient_1", data.draw(st.integers(0, entry.length_bytes)))

    @rule(data=st.data(), whole=closed)
    def concat_neighbours(self, data: st.DataObject, whole: str) -> None:
        for name in ("a", "b", "ü €"):
            self.whole_file(parent_of(whole).rstrip("/") + "/" + name, "DFSClient_1", [1, 2])
        beside = [p for p in self.closed_files() if parent_of(p) == parent_of(whole) and p != whole]
        sources = st.lists(st.sampled_from(beside), min_size=1, max_size=3, unique=True)
        self.concat(whole, data.draw(sources) if beside else [whole])

    @rule(whole=closed, sources=st.lists(closed | there, min_size=1, max_size=3))
    def concat(self, whole: str, sources: list[str]) -> None:
        now_ms = self.now()
        request = pb.ConcatRequestProto(trg=whole, srcs=sources)

        real = self.do("concat", request)
        self.both(real, lambda: self.model.concat(whole, sources, now_ms=now_ms))

    @rule(path=there, writer=writers)
    def recover_lease(self, path: str, writer: str) -> None:
        self.take_over(path, writer)

    @rule(which=opened, writer=writers)
    def recover_the_lease_of_an_open_file(self, which: tuple[str, str], writer: str) -> None:
        self.take_over(which[0], writer)

    def take_over(self, path: str, writer: str) -> None:
        now_ms = self.now()
        request = pb.RecoverLeaseRequestProto(src=path, clientName=writer)
        file = self.file(path)
        keep: int | None = None
        if file is not None:
            count = len(file.blocks)
            if not count or file.blocks[-1].state is BlockState.COMPLETE:
                keep = count
            elif self.namenode.recovery.is_droppable(file.blocks[-1]):
                keep = count - 1
        self.both(
            lambda: self.call("recoverLease", request).result,
            lambda: self.model.take_over(path, keep=keep, now_ms=now_ms),
        )

    @rule(length=lengths)
    def recover_blocks(self, length: int) -> None:
        """The datanode does what it is told as a primary, and has so many bytes, or what
        was synced if that is more."""
        now_ms = self.now()
        for node in self.nodes:
            for order in node.orders():
                if order.HasField("ecPolicy"):
                    self.recover_group(node, order, now_ms)
                else:
                    self.recover_block(node, order, length, now_ms)

    def recover_block(
        self, node: InMemoryDatanode, order: dn.RecoveringBlockProto, length: int, now_ms: int
    ) -> None:
        namespace = self.namenode.namesystem.namespace
        block = namespace.blocks[order.truncateBlock.blockId or order.block.b.blockId]
        told = max(length, block.length_bytes)
        if order.HasField("truncateBlock"):
            told = order.truncateBlock.numBytes
        node.replicas[node.first_storage].setdefault(
            block.block_id, Replica(block.generation_stamp, told)
        )
        self.model.recovered(namespace.file_of(block).path, told, now_ms=now_ms)
        node.recover(order, told, [node])

    def recover_group(
        self, node: InMemoryDatanode, order: dn.RecoveringBlockProto, now_ms: int
    ) -> None:
        """All datanodes have one whole stripe."""
        namespace = self.namenode.namesystem.namespace
        group = namespace.blocks[signed64(order.block.b.blockId)]
        assert isinstance(group, Group)
        layout = GroupLayout(group.policy, group.layout.stripe_bytes)
        for index in layout.block_indices:
            place = self.nodes[index]
            place.replicas[place.first_storage][group.block_id + index] = Replica(
                order.newGenStamp, layout.block_length(index)
            )
        targets = self.nodes[: len(layout.block_indices)]
        self.model.recovered(namespace.file_of(group).path, layout.length, now_ms=now_ms)
        request = dn.CommitBlockSynchronizationRequestProto(
            block=order.block.b,
            newGenStamp=order.newGenStamp,
            newLength=layout.length,
            closeFile=True,
            deleteBlock=False,
            newTaragets=[target.registration().datanodeID for target in targets],
            newTargetStorages=[target.first_storage for target in targets],
        )
        self.namenode.call("commitBlockSynchronization", request, address=node.ip)
