"""A file's checksum from those of its blocks."""

from __future__ import annotations

import dataclasses
import hashlib
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.client.reading.checksum import COMPOSITE_CRC, MD5MD5CRC, combine_crc, combine_md5
from howdah.protocol.data_transfer.checksum import ChecksumType, crc
from howdah.protocol.data_transfer.op_requests import BlockChecksum, BlockChecksumType
from howdah.protocol.data_transfer.responses import BlockChecksumResult

FakeCluster = Any


def md5_of(block: int) -> BlockChecksumResult:
    digest = hashlib.md5(bytes([block])).digest()
    return BlockChecksumResult(digest, 512, 1000, ChecksumType.CRC32C)


def test_an_empty_file_has_the_checksum_that_hadoop_gives_it() -> None:
    combined = combine_md5([])
    assert combined.algorithm == "MD5-of-0MD5-of-0CRC32"
    assert combined.value.hex() == "0" * 24 + "70bc8f4b72a86921468bf8e8441dce51" + "0" * 8


def test_one_block_does_not_say_how_many_crcs_it_has() -> None:
    assert combine_md5([md5_of(1)]).algorithm == "MD5-of-0MD5-of-512CRC32C"


def test_the_bytes_begin_with_chunk_and_block_size() -> None:
    value = combine_md5([md5_of(1), md5_of(2)]).value
    assert struct.unpack(">iq", value[:12]) == (512, 1000)
    assert len(value) == 32


@pytest.mark.parametrize(("blocks", "buffer"), [(1, 32), (2, 32), (3, 64), (4, 64), (5, 128)])
def test_the_md5_covers_the_buffer_with_its_unused_room(blocks: int, buffer: int) -> None:
    results = [md5_of(n) for n in range(blocks)]
    joined = b"".join(result.checksum for result in results)
    expected = hashlib.md5(joined + bytes(buffer - len(joined))).digest()
    assert combine_md5(results).value[12:28] == expected


@given(st.lists(st.binary(min_size=1, max_size=50), min_size=1, max_size=6))
def test_a_composite_crc_is_the_crc_of_the_whole_file(blocks: list[bytes]) -> None:
    results = [
        BlockChecksumResult(
            crc(ChecksumType.CRC32C, block).to_bytes(4, "big"),
            512,
            0,
            ChecksumType.CRC32C,
            BlockChecksumType.COMPOSITE_CRC,
        )
        for block in blocks
    ]
    combined = combine_crc("/f", results, [len(block) for block in blocks])
    assert combined.algorithm == "COMPOSITE-CRC32C"
    assert combined.value == crc(ChecksumType.CRC32C, b"".join(blocks)).to_bytes(4, "big")


def test_an_unknown_way_to_combine_is_refused(cluster: FakeCluster) -> None:
    with pytest.raises(errors.IllegalArgument, match="MD5MD5CRC or COMPOSITE_CRC"):
        cluster.client().checksums().read("/f", None, "SHA")


def test_the_next_datanode_is_asked_when_one_is_down(cluster: FakeCluster) -> None:
    cluster.put(b"abc" * 1000)
    expected = cluster.client().checksums().read("/f", None, MD5MD5CRC)
    cluster.datanodes[0].stop()
    assert cluster.client().checksums().read("/f", None, MD5MD5CRC) == expected


def test_no_datanode_is_an_error_that_names_the_block(cluster: FakeCluster) -> None:
    cluster.put(b"abc")
    for node in cluster.datanodes:
        node.stop()
    with pytest.raises(errors.BlockMissing, match="blk_1000_1001 of /f"):
        cluster.client().checksums().read("/f", None, COMPOSITE_CRC)


@pytest.mark.parametrize("mode", [MD5MD5CRC, COMPOSITE_CRC])
@pytest.mark.parametrize("length", [None, 3])
def test_a_file_that_is_being_written_has_no_checksum(
    cluster: FakeCluster, mode: str, length: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is complete of it would look like the sum of the whole."""
    cluster.put(b"abc")
    checksums = cluster.client().checksums()
    assert checksums.read("/f", None, MD5MD5CRC) is not None
    of_closed = cluster.namenode.get_block_locations

    def of_open(*asked: Any) -> Any:
        return dataclasses.replace(of_closed(*asked), under_construction=True)

    monkeypatch.setattr(cluster.namenode, "get_block_locations", of_open)
    with pytest.raises(errors.FileIsOpen, match="/f is under construction"):
        checksums.read("/f", length, mode)


@pytest.mark.parametrize("kinds", [[None], [ChecksumType.NULL], [ChecksumType.CRC32, None]])
@pytest.mark.parametrize("mode", [MD5MD5CRC, COMPOSITE_CRC])
def test_blocks_without_crcs_or_with_several_kinds_have_no_checksum(
    kinds: list[ChecksumType | None],
    mode: str,
    cluster: FakeCluster,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The MD5 of nothing would be the same for all of them."""
    cluster.put(b"abc" * 1000)
    checksums = cluster.client().checksums()
    blocks, _ = checksums._blocks("/f", 3000)

    def fetched(node: Any, request: BlockChecksum) -> BlockChecksumResult:
        kind = request.checksum_type
        of = kinds[order.index(request.block) % len(kinds)]
        if kind is BlockChecksumType.COMPOSITE_CRC and of in (None, ChecksumType.NULL):
            raise errors.UnsupportedOperation("stored without checksums")
        return BlockChecksumResult(bytes(16), 512, 0, of, kind)

    monkeypatch.setattr(checksums, "_fetch_checksum", fetched)
    if len(kinds) > 1:
        again = dataclasses.replace(blocks[0].block, block_id=1001)
        blocks.append(dataclasses.replace(blocks[0], block=again, offset=blocks[0].end))
        monkeypatch.setattr(checksums, "_blocks", lambda path, length: (blocks, None))
    order = [located.block for located in blocks]
    assert checksums.read("/f", None, mode) is None


def test_what_no_datanode_can_sum_is_not_a_missing_block(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.put(b"abc")
    checksums = cluster.client().checksums()

    def fetched(node: Any, request: BlockChecksum) -> BlockChecksumResult:
        if request.checksum_type is BlockChecksumType.COMPOSITE_CRC:
            raise errors.UnsupportedOperation("too old for it")
        return md5_of(1)

    monkeypatch.setattr(checksums, "_fetch_checksum", fetched)
    with pytest.raises(errors.UnsupportedOperation, match="COMPOSITE_CRC of block blk_1000_1001"):
        checksums.read("/f", None, COMPOSITE_CRC)
