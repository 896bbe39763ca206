"""Checksums of whole block groups, against what Hadoop says of the same files."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from howdah.datanode.state.messages import CorruptFound
from howdah.datanode.transfer.group_checksum import md5_of
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.protocol.data_transfer.checksum import ChecksumType, crc
from howdah.protocol.data_transfer.op_requests import (
    BlockChecksumType,
    BlockGroupChecksum,
    encode_request,
)
from howdah.protocol.data_transfer.responses import BlockOpResponse, read_response
from howdah.protocol.striping.layout import FIRST_GROUP_ID
from howdah.protocol.striping.policies import Policy, Schema
from tests.unit.datanode.transfer.test_reconstruction import Group
from tests.unit.protocol.striping.vectors import generated, vectors

Lab = Any
MD5CRC, COMPOSITE = BlockChecksumType.MD5CRC, BlockChecksumType.COMPOSITE_CRC
# Of one group each, and small: what is summed is the same for larger ones.
FILES = [
    file
    for file in vectors()["files"]
    if len(file["groups"]) == 1 and (file["length"] < 300_000 or file["length"] == 4_000_000)
]


class SummedGroup(Group):
    def __init__(self, lab: Lab, file: Any) -> None:
        policy = Policy(64, Schema(file["codec"], file["data"], file["parity"]), file["cell"])
        super().__init__(lab, file["length"], policy, generated(file["name"], file["length"]))

    def asked(
        self, kind: BlockChecksumType, lost: tuple[int, ...] = (), requested: int | None = None
    ) -> BlockOpResponse:
        indices = tuple(index for index in self.blocks if index not in lost)
        request = BlockGroupChecksum(
            self.block,
            tuple(self.holders[index].address for index in indices),
            indices,
            self.policy,
            self.block.length_bytes if requested is None else requested,
            kind,
        )
        return asked(self.holders[indices[0]], request)


def asked(node: Any, request: BlockGroupChecksum) -> BlockOpResponse:
    with node.connect() as connection:
        connection.send_all(encode_request(request))
        return read_response(connection)


def checksum_of(answer: BlockOpResponse) -> bytes:
    assert answer.is_success, answer
    assert answer.block_checksum is not None
    return answer.block_checksum.checksum


@pytest.mark.parametrize(
    ("file", "lost"),
    [
        pytest.param(file, lost, id=f"{file['policy']}-{file['length']}-{len(lost)}-lost")
        for file in FILES
        for lost in ((), (0,), (1, 0))
        if len(lost) <= file["parity"]
    ],
)
def test_the_checksum_of_a_group_is_hadoops(lab: Lab, file: Any, lost: tuple[int, ...]) -> None:
    group = SummedGroup(lab, file)
    lost = tuple(index for index in lost if index in group.blocks)
    md5 = checksum_of(group.asked(MD5CRC, lost))
    # Of the file: the MD5 of those of its groups, in the same kind of buffer.
    assert md5_of([md5]).hex() == file["md5"].rpartition(":")[2]
    composite = checksum_of(group.asked(COMPOSITE, lost))
    assert composite.hex() == file["composite"].rpartition("0x")[2]


@pytest.mark.parametrize("lost", [(), (0,), (1,), (0, 2), (1, 3), (2, 4)])
@pytest.mark.parametrize(
    "requested", [1, 511, 2047, 2048, 2049, 5000, 6145, 19_999, 20_000, 1 << 40]
)
def test_the_checksum_may_be_of_the_first_bytes(
    lab: Lab, lost: tuple[int, ...], requested: int
) -> None:
    group = Group(lab, 20_000)
    indices = tuple(index for index in group.blocks if index not in lost)
    request = BlockGroupChecksum(
        group.block,
        tuple(group.holders[index].address for index in indices),
        indices,
        group.policy,
        requested,
        COMPOSITE,
    )
    expected = crc(ChecksumType.CRC32C, group.data[:requested]).to_bytes(4, "big")
    assert checksum_of(asked(group.holders[0], request)) == expected


def test_a_holder_that_is_gone_or_corrupt_is_made_up_for(lab: Lab) -> None:
    group = Group(lab, 20_000)
    path = group.holders[2].block_path(group.block.block_id + 2)
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    gone = DatanodeAddress("127.0.0.1", "localhost", "gone", 1)
    nodes = tuple(node.address for node in group.holders.values())
    request = BlockGroupChecksum(
        group.block, (gone, *nodes[1:]), tuple(group.blocks), group.policy, 20_000, COMPOSITE
    )
    asked_node = group.holders[4]
    expected = crc(ChecksumType.CRC32C, group.data).to_bytes(4, "big")
    assert checksum_of(asked(asked_node, request)) == expected
    corrupt = asked_node.wait_for(CorruptFound)
    assert corrupt.block.block_id == group.block.block_id + 2


def test_more_losses_than_parity_are_an_error_that_names_the_group(lab: Lab) -> None:
    group = Group(lab, 20_000)
    request = BlockGroupChecksum(
        group.block, (group.holders[4].address,), (4,), group.policy, 20_000, MD5CRC
    )
    answer = asked(group.holders[4], request)
    assert not answer.is_success
    assert group.block.name in answer.message


def test_the_zeros_behind_the_digests_count() -> None:
    one, two, three = b"a" * 16, b"b" * 16, b"c" * 16
    for digests, buffer in (
        ([one], one + bytes(16)),
        ([one, two], one + two),
        ([one, two, three], one + two + three + bytes(16)),
    ):
        assert md5_of(digests) == hashlib.md5(buffer, usedforsecurity=False).digest()


def test_a_group_without_bytes_has_no_checksum(lab: Lab) -> None:
    node = lab.node()
    block = ExtendedBlock(lab.POOL, FIRST_GROUP_ID, 1001, 0)
    policy = Policy(64, Schema("rs", 3, 2), 2048)
    answer = asked(node, BlockGroupChecksum(block, (node.address,), (0,), policy, 0))
    assert not answer.is_success
