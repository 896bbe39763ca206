"""Writing files, as rules: create, append, block by block, close."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from howdah import errors
from howdah.namenode.state.inodes.group_table import Group
from howdah.namenode.state.inodes.inodes import BlockState
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import UINT64
from howdah.protocol.striping.layout import GroupLayout
from howdah.testing.in_memory import POOL_ID
from tests.support.namespaces.histories import (
    BLOCK,
    Histories,
    before_masks,
    beside,
    closed,
    lengths,
    modes,
    opened,
    paths,
    permission,
    writers,
)


class FileHistories(Histories):
    """What writers do."""

    @rule(
        path=beside | paths,
        writer=writers,
        overwrite=st.booleans(),
        mode=modes,
        unmasked=before_masks,
        replication=st.integers(1, 3),
    )
    def create(
        self,
        path: str,
        writer: str,
        overwrite: bool,
        mode: int,
        unmasked: int | None = None,
        replication: int = 1,
    ) -> None:
        now_ms = self.now()
        request = pb.CreateRequestProto(
            src=path,
            masked=permission(mode),
            unmasked=permission(unmasked),
            clientName=writer,
            createFlag=pb.CREATE | (pb.OVERWRITE if overwrite else 0),
            createParent=True,
            replication=replication,
            blockSize=BLOCK,
        )

        real = self.do("create", request)
        self.both(
            real,
            lambda: self.model.create(
                path,
                mode,
                unmasked=unmasked,
                writer=writer,
                replication=replication,
                block_size_bytes=BLOCK,
                overwrite=overwrite,
                now_ms=now_ms,
            ),
        )

    @rule(path=closed, writer=writers, new_block=st.booleans())
    def append(self, path: str, writer: str, new_block: bool) -> None:
        request = pb.AppendRequestProto(
            src=path, clientName=writer, flag=pb.APPEND | (pb.NEW_BLOCK if new_block else 0)
        )

        # A block behind which a snapshot has another one does not grow.
        file = self.file(path)
        pins = self.namenode.namesystem.namespace.snapshots.pins
        pinned = (
            file is not None
            and not file.coding_policy_id
            and bool(file.block_ids)
            and pins(file, file.block_ids[-1])
        )
        real = self.do("append", request)
        self.both(
            real,
            lambda: self.model.append(path, writer=writer, new_block=new_block or pinned),
        )

    def last(self, path: str, length: int) -> types_pb2.ExtendedBlockProto | None:
        """The last block of an open file as its writer names it, now `length` bytes long
        if it is still being written; its datanode has it."""
        file = self.file(path)
        if file is None or not file.blocks:
            return None
        block = file.blocks[-1]
        told = block.length_bytes
        if block.state is BlockState.UNDER_CONSTRUCTION:
            told = max(length, told)
            if isinstance(block, Group):
                told = max(length * block.policy.schema.data_units, told)
                self.store_group(block, told)
            else:
                expected = {storage.node.identity.uuid for storage in block.expected}
                places = [node for node in self.nodes if node.uuid in expected]
                for node in places or [self.node]:
                    node.store(block.block_id, block.generation_stamp, told)
        return types_pb2.ExtendedBlockProto(
            poolId=POOL_ID,
            blockId=block.block_id & UINT64,
            generationStamp=block.generation_stamp,
            numBytes=told,
        )

    def store_group(self, group: Group, length: int) -> None:
        """Each datanode finalizes its internal block of a group of that length."""
        layout = GroupLayout(group.policy, length)
        expected = {index: s.node.identity.uuid for index, s in group.expected_parts}
        by_uuid = {node.uuid: node for node in self.nodes}
        for index in layout.block_indices:
            node = by_uuid.get(expected.get(index, ""), self.nodes[index])
            node.store(group.block_id + index, group.generation_stamp, layout.block_length(index))

    def blocks_with(self, path: str, last: types_pb2.ExtendedBlockProto | None) -> tuple[int, ...]:
        known = self.model.entries.get(path)
        blocks = known.blocks if known else ()
        return (*blocks[:-1], last.numBytes) if last is not None else blocks

    @rule(which=opened, length=lengths)
    def add_block(self, which: tuple[str, str], length: int) -> None:
        path, writer = which
        entry = self.model.entries.get(path)
        last = self.last(path, length) if entry and entry.writer == writer else None
        request = pb.AddBlockRequestProto(src=path, clientName=writer, previous=last)

        real = self.do("addBlock", request)
        self.both(
            real,
            lambda: self.model.add_block(path, self.blocks_with(path, last), writer=writer),
        )

    @rule(which=opened, length=lengths)
    def fsync(self, which: tuple[str, str], length: int) -> None:
        path, writer = which
        request = pb.FsyncRequestProto(src=path, client=writer, lastBlockLength=length)

        real = self.do("fsync", request)
        self.both(real, lambda: self.model.sync(path, length, writer=writer))

    @rule(which=opened)
    def look(self, which: tuple[str, str]) -> None:
        """A length that was told is in the log."""
        path, _ = which
        request = pb.GetFileInfoRequestProto(src=path)
        if self.model.is_linked(path):
            with pytest.raises(errors.UnresolvedPath):
                self.call("getFileInfo", request)
            return
        entry = self.model.entries.get(path)
        status = self.call("getFileInfo", request)
        assert status.HasField("fs") is (entry is not None)
        if entry is not None:
            assert status.fs.length == entry.length_bytes
            file = self.file(path)
            assert file is None or file.length_bytes == entry.length_bytes

    @rule(which=opened)
    def abandon(self, which: tuple[str, str]) -> None:
        path, writer = which
        file = self.file(path)
        if file is None or file.writer != writer or not file.blocks:
            return
        block = file.blocks[-1]
        kept = self.namenode.namesystem.namespace.snapshots.has_to_keep(file, block.block_id)
        if block.state is not BlockState.UNDER_CONSTRUCTION or kept:
            return
        request = pb.AbandonBlockRequestProto(b=self.last(path, 0), src=path, holder=writer)

        real = self.do("abandonBlock", request)
        self.both(
            real,
            lambda: self.model.abandon_block(path, writer=writer),
        )

    @rule(which=opened, length=lengths)
    def complete(self, which: tuple[str, str], length: int) -> None:
        path, writer = which
        now_ms = self.now()
        entry = self.model.entries.get(path)
        if entry is not None and not entry.is_directory and entry.writer is None:
            return  # A close that is repeated succeeds; that has tests of its own.
        last = self.last(path, length) if entry and entry.writer == writer else None
        request = pb.CompleteRequestProto(src=path, clientName=writer, last=last)

        def model() -> bool:
            self.model.close(path, self.blocks_with(path, last), writer=writer, now_ms=now_ms)
            return True

        self.both(lambda: self.call("complete", request).result, model)

    # Several steps at once, which would hardly ever come about by themselves.

    @rule(
        path=beside,
        writer=writers,
        blocks=st.lists(st.integers(1, BLOCK), max_size=3),
        replication=st.integers(1, 3),
    )
    def whole_file(self, path: str, writer: str, blocks: list[int], replication: int = 1) -> None:
        self.create(path, writer, False, 0o644, replication=replication)
        for before in [0, *blocks][: len(blocks)]:
            self.add_block((path, writer), before)
        self.complete((path, writer), blocks[-1] if blocks else 0)

    @rule(path=beside, writer=writers, length=st.integers(1, BLOCK))
    def file_that_is_given_up(self, path: str, writer: str, length: int) -> None:
        self.create(path, writer, False, 0o644)
        self.add_block((path, writer), 0)
        self.fsync((path, writer), length)
