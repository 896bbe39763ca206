"""The checksum of an erasure coded file is what Hadoop gives it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, cast

import pytest

from howdah import errors
from howdah.client.namenode import NamenodeProxy
from howdah.client.reading.checksum import COMPOSITE_CRC, MD5MD5CRC, FileChecksumReader
from howdah.client.settings.settings import ClientSettings
from howdah.client.state.blocks import GroupMembers, LocatedBlock, LocatedBlocks
from howdah.proto import data_transfer_pb2 as pb
from howdah.protocol.data_transfer.blocks import NO_TOKEN, DatanodeAddress, ExtendedBlock
from howdah.protocol.data_transfer.checksum import (
    ChecksumSpec,
    ChecksumType,
    checksum_chunks,
    crc,
)
from howdah.protocol.data_transfer.op_requests import (
    OP_HEADER,
    BlockChecksumType,
    BlockGroupChecksum,
    encode_request,
)
from howdah.protocol.data_transfer.responses import BlockChecksumResult
from howdah.protocol.striping.layout import FIRST_GROUP_ID, GroupLayout
from howdah.protocol.striping.policies import Policy, Schema
from tests.support.striped_groups import internal_blocks
from tests.unit.protocol.striping.vectors import generated, vectors

FILES = [file for file in vectors()["files"] if file["length"] <= 3_000_000]
CRC32C = ChecksumSpec(ChecksumType.CRC32C, 512)


class File:
    """A file of the vectors: where its groups are, and what a datanode says of one."""

    def __init__(self, file: dict[str, Any]) -> None:
        self.policy = Policy(64, Schema(file["codec"], file["data"], file["parity"]), file["cell"])
        self.content = generated(file["name"], file["length"])
        self.groups: list[LocatedBlock] = []
        start = 0
        nodes = tuple(DatanodeAddress("10.0.0.1", "dn", f"u{index}", 9866) for index in range(16))
        for number, group in enumerate(file["groups"]):
            indices = GroupLayout(self.policy, group["bytes"]).block_indices[::-1]
            self.groups.append(
                LocatedBlock(
                    ExtendedBlock("BP", FIRST_GROUP_ID + 16 * number, 1001, group["bytes"]),
                    start,
                    tuple(nodes[index] for index in indices),
                    members=GroupMembers(group["bytes"], indices, ()),
                )
            )
            start += group["bytes"]
        self.requests: list[BlockGroupChecksum] = []

    def get_block_locations(self, path: str, offset: int, length: int) -> LocatedBlocks:
        found = tuple(
            group for group in self.groups if group.end > offset and group.offset < offset + length
        )
        total = len(self.content)
        return LocatedBlocks(total, found, False, self.groups[-1], True, self.policy)

    def checksums(self, monkeypatch: pytest.MonkeyPatch) -> FileChecksumReader:
        reader = FileChecksumReader(cast(NamenodeProxy, self), ClientSettings())
        monkeypatch.setattr(reader, "_fetch_checksum", self.answer)
        return reader

    def answer(self, node: DatanodeAddress, request: BlockGroupChecksum) -> BlockChecksumResult:
        """What the asked datanode makes of what those of the data blocks say."""
        assert isinstance(request, BlockGroupChecksum)
        self.requests.append(request)
        number = (request.block.block_id - FIRST_GROUP_ID) // 16
        group = self.groups[number]
        data = self.content[group.offset : group.end][: request.requested_bytes]
        if request.checksum_type is BlockChecksumType.COMPOSITE_CRC:
            value = crc(ChecksumType.CRC32C, data).to_bytes(4, "big")
            return BlockChecksumResult(value, 512, 0, CRC32C.type, request.checksum_type)
        joined = b"".join(
            hashlib.md5(sums).digest() for sums in self._sums_of_data_blocks(data) if sums
        )
        size = 32
        while size < len(joined):
            size *= 2
        crcs = -(-GroupLayout(self.policy, group.length_bytes).block_length(0) // 512)
        digest = hashlib.md5(joined.ljust(size, b"\0")).digest()
        return BlockChecksumResult(digest, 512, crcs, CRC32C.type, request.checksum_type)

    def _sums_of_data_blocks(self, data: bytes) -> Iterator[bytearray]:
        for block in internal_blocks(self.policy, data)[: self.policy.schema.data_units]:
            sums = bytearray(CRC32C.sums_length(len(block)))
            checksum_chunks(CRC32C, block, sums)
            yield sums


@pytest.mark.parametrize("vector", FILES, ids=[file["name"] for file in FILES])
def test_both_checksums_are_those_of_hadoop(
    vector: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = File(vector).checksums(monkeypatch)
    md5 = reader.read("/f", None, MD5MD5CRC)
    assert md5 is not None
    digest = md5.value[12:28].hex()
    assert f"{md5.algorithm}:{digest}" == vector["md5"]
    composite = reader.read("/f", None, COMPOSITE_CRC)
    assert composite is not None
    assert f"{composite.algorithm}:0x{composite.value.hex()}" == vector["composite"]


def test_of_a_part_the_datanode_is_told_how_much_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    vector = next(file for file in FILES if len(file["groups"]) > 1)
    file = File(vector)
    length = file.groups[1].offset + 1
    file.checksums(monkeypatch).read("/f", length, COMPOSITE_CRC)
    first, second = file.requests
    assert first.requested_bytes == first.block.length_bytes == file.groups[0].length_bytes
    assert second.requested_bytes == 1
    assert second.block.length_bytes == file.groups[1].length_bytes


def test_the_request_names_all_members_in_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    file = File(FILES[0])
    file.checksums(monkeypatch).read("/f", None, MD5MD5CRC)
    encoded = encode_request(file.requests[0])
    assert encoded[: OP_HEADER.size] == OP_HEADER.pack(28, 90)
    message = pb.OpBlockGroupChecksumProto.FromString(encoded[OP_HEADER.size + 2 :])
    indices = file.requests[0].indices
    assert list(message.blockIndices) == list(indices)
    assert [node.id.datanodeUuid for node in message.datanodes.datanodes] == [
        f"u{index}" for index in indices
    ]
    assert len(message.blockTokens) == len(indices)
    assert message.ecPolicy.cellSize == file.policy.cell_bytes
    assert message.requestedNumBytes == len(file.content)
    assert file.requests[0].token == NO_TOKEN


def test_where_no_datanode_can_do_it_the_error_names_the_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = File(FILES[0])

    def refuse(node: DatanodeAddress, request: BlockGroupChecksum) -> BlockChecksumResult:
        raise errors.UnsupportedOperation("BLOCK_GROUP_CHECKSUM is not served")

    reader = file.checksums(monkeypatch)
    monkeypatch.setattr(reader, "_fetch_checksum", refuse)
    with pytest.raises(errors.UnsupportedOperation, match=f"blk_{FIRST_GROUP_ID}_1001 of /f"):
        reader.read("/f", None, COMPOSITE_CRC)
