"""Very large files, by their metadata: terabytes need no bytes here."""

from __future__ import annotations

import pytest

from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.testing.in_memory import InMemoryNamenode

GIB = 1 << 30
BLOCK = 4 * GIB
BLOCKS = 1024


def file_of(namenode: InMemoryNamenode, blocks: int) -> None:
    node = namenode.nodes[0]
    created = namenode.call(
        "create",
        pb.CreateRequestProto(
            src="/huge",
            masked=types_pb2.FsPermissionProto(perm=0o644),
            clientName="writer",
            createFlag=pb.CREATE,
            createParent=True,
            replication=1,
            blockSize=BLOCK,
        ),
    )
    assert isinstance(created, pb.CreateResponseProto)
    previous: types_pb2.ExtendedBlockProto | None = None
    for _ in range(blocks):
        added = namenode.call(
            "addBlock",
            pb.AddBlockRequestProto(
                src="/huge", clientName="writer", previous=previous, fileId=created.fs.fileId
            ),
        )
        assert isinstance(added, pb.AddBlockResponseProto)
        previous = added.block.b
        previous.numBytes = BLOCK
        node.store(previous.blockId, previous.generationStamp, BLOCK)
    done = namenode.call(
        "complete",
        pb.CompleteRequestProto(
            src="/huge", clientName="writer", last=previous, fileId=created.fs.fileId
        ),
    )
    assert isinstance(done, pb.CompleteResponseProto)
    assert done.result


@pytest.mark.req("FS-001")
def test_a_file_of_four_terabytes_is_found_at_every_offset() -> None:
    namenode = InMemoryNamenode()
    namenode.join("dn0")
    file_of(namenode, BLOCKS)
    size = BLOCKS * BLOCK
    status = namenode.call("getFileInfo", pb.GetFileInfoRequestProto(src="/huge"))
    assert isinstance(status, pb.GetFileInfoResponseProto)
    assert status.fs.length == size
    for offset in (0, 3 * GIB + 17, size - 1):
        answer = namenode.call(
            "getBlockLocations",
            pb.GetBlockLocationsRequestProto(src="/huge", offset=offset, length=1),
        )
        assert isinstance(answer, pb.GetBlockLocationsResponseProto)
        (block,) = answer.locations.blocks
        assert block.offset <= offset < block.offset + BLOCK
