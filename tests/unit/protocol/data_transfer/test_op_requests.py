"""Operations and their answers, both directions."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.proto import data_transfer_pb2 as pb
from howdah.protocol.data_transfer import op_request_decoder, op_requests
from howdah.protocol.data_transfer.blocks import (
    BlockToken,
    DatanodeAddress,
    ExtendedBlock,
    StorageType,
)
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType
from howdah.protocol.data_transfer.op_requests import BlockChecksumType, CachingHints, Op, Stage
from howdah.protocol.data_transfer.responses import (
    BlockChecksumResult,
    BlockOpResponse,
    ReadChecksumInfo,
    SegmentGiven,
    SlotReleased,
    decode_read_status,
    encode_read_answer,
    encode_read_status,
    read_response,
)
from howdah.protocol.data_transfer.short_circuit import (
    ReleaseSlot,
    RequestDescriptors,
    RequestSegment,
    SegmentId,
    SlotId,
)
from howdah.protocol.data_transfer.status import Status
from howdah.protocol.striping.layout import FIRST_GROUP_ID, group_id_of
from howdah.protocol.striping.policies import SYSTEM_POLICIES, Policy, Schema
from howdah.protocol.varint import BytesSource, encode_varint, read_delimited

names = st.text(max_size=12)
uint63 = st.integers(0, (1 << 63) - 1)
ports = st.integers(0, 65535)
blocks = st.builds(ExtendedBlock, names, st.integers(-(1 << 63), (1 << 63) - 1), uint63, uint63)
groups = st.builds(
    ExtendedBlock,
    names,
    st.integers(FIRST_GROUP_ID, -1).map(group_id_of),
    uint63,
    uint63,
)
tokens = st.builds(BlockToken, st.binary(max_size=9), st.binary(max_size=9), names, names)
nodes = st.builds(
    DatanodeAddress, names, names, names, ports, ports, ports, ports, st.none() | names
)
hints = st.builds(CachingHints, st.none() | st.booleans(), st.none() | st.integers(0, 1 << 40))
specs = st.builds(ChecksumSpec, st.sampled_from(ChecksumType), st.integers(1, 1 << 20))
types = st.sampled_from(StorageType)
signed64 = st.integers(-(1 << 63), (1 << 63) - 1)
slots = st.builds(SlotId, st.builds(SegmentId, signed64, signed64), st.integers(0, 1 << 31 - 1))


def tuples_of(values: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(values, max_size=3).map(tuple)


writes = st.builds(
    op_requests.WriteBlock,
    block=blocks,
    client_name=names,
    stage=st.sampled_from(Stage),
    checksum=specs,
    targets=tuples_of(nodes),
    source=st.none() | nodes,
    pipeline_size=st.integers(0, 100),
    min_bytes_received=uint63,
    max_bytes_received=uint63,
    latest_generation_stamp=uint63,
    storage_type=types,
    storage_id=st.none() | names,
    target_storage_types=tuples_of(types),
    target_storage_ids=tuples_of(names),
    allow_lazy_persist=st.booleans(),
    pinning=st.booleans(),
    target_pinnings=tuples_of(st.booleans()),
    hints=hints,
    token=tokens,
)
requests = st.one_of(
    writes,
    st.builds(op_requests.ReadBlock, blocks, names, uint63, uint63, st.booleans(), hints, tokens),
    st.builds(
        op_requests.BlockChecksum,
        blocks,
        st.sampled_from(BlockChecksumType),
        st.integers(0, 1 << 40),
        tokens,
    ),
    st.lists(st.tuples(nodes, st.integers(0, 4)), max_size=6).flatmap(
        lambda held: st.builds(
            op_requests.BlockGroupChecksum,
            groups,
            st.just(tuple(node for node, _ in held)),
            st.just(tuple(index for _, index in held)),
            st.sampled_from([SYSTEM_POLICIES[2], Policy(64, Schema("rs", 3, 2), 2048)]),
            uint63,
            st.sampled_from(BlockChecksumType),
            tuples_of(tokens),
            tokens,
        )
    ),
    st.builds(
        op_requests.TransferBlock,
        blocks,
        names,
        tuples_of(nodes),
        tuples_of(types),
        tuples_of(names),
        tokens,
    ),
    st.builds(op_requests.CopyBlock, blocks, tokens),
    st.builds(op_requests.ReplaceBlock, blocks, names, nodes, types, st.none() | names, tokens),
    st.builds(
        RequestDescriptors, blocks, st.none() | slots, st.integers(0, 9), st.booleans(), tokens
    ),
    st.builds(ReleaseSlot, slots),
    st.builds(RequestSegment, names),
)


@given(requests)
def test_a_request_comes_back_as_it_was(request: op_requests.Request) -> None:
    encoded = op_requests.encode_request(request)
    assert encoded[:2] == b"\x00\x1c"
    source = BytesSource(encoded)
    assert op_request_decoder.read_request(source) == request
    assert source.offset == len(encoded)


@pytest.mark.parametrize("block_id", [1_073_741_825, 16, FIRST_GROUP_ID + 3])
def test_a_groups_checksum_is_of_a_group(block_id: int) -> None:
    """A datanode reads by its own right what nobody is named for: it could be led to others."""
    request = op_requests.BlockGroupChecksum(
        ExtendedBlock("BP-1", block_id, 1001, 5000),
        (),
        (),
        SYSTEM_POLICIES[2],
        5000,
        BlockChecksumType.MD5CRC,
        (),
    )
    with pytest.raises(errors.ProtocolViolation, match=rf"blk_{block_id}_1001 is no block group"):
        op_request_decoder.read_request(BytesSource(op_requests.encode_request(request)))


def test_the_opcodes_are_those_of_the_protocol() -> None:
    assert {op.name: int(op) for op in Op} == {
        "WRITE_BLOCK": 80,
        "READ_BLOCK": 81,
        "READ_METADATA": 82,
        "REPLACE_BLOCK": 83,
        "COPY_BLOCK": 84,
        "BLOCK_CHECKSUM": 85,
        "TRANSFER_BLOCK": 86,
        "REQUEST_SHORT_CIRCUIT_FDS": 87,
        "RELEASE_SHORT_CIRCUIT_FDS": 88,
        "REQUEST_SHORT_CIRCUIT_SHM": 89,
        "BLOCK_GROUP_CHECKSUM": 90,
        "CUSTOM": 127,
    }


def test_another_version_is_refused_by_name() -> None:
    with pytest.raises(errors.ProtocolViolation, match=r"version 27; this datanode speaks .* 28"):
        op_request_decoder.decode_op_header(struct.pack(">hB", 27, 80))


def test_an_unknown_opcode_is_refused() -> None:
    with pytest.raises(errors.ProtocolViolation, match="opcode 79"):
        op_request_decoder.decode_op_header(struct.pack(">hB", 28, 79))


def test_an_operation_that_is_not_served_keeps_its_name_and_body() -> None:
    wire = struct.pack(">hB", 28, 82) + encode_varint(3) + b"abc"
    assert op_request_decoder.read_request(BytesSource(wire)) == op_requests.OtherRequest(
        Op.READ_METADATA, b"abc"
    )


@given(st.sampled_from(Op), st.binary(max_size=60))
def test_a_garbage_body_is_a_violation_or_a_request(op: Op, body: bytes) -> None:
    try:
        op_request_decoder.decode_request(op, body)
    except errors.ProtocolViolation:
        pass


def node(port: int) -> DatanodeAddress:
    return DatanodeAddress("127.0.0.1", "localhost", f"uuid-{port}", port)


def test_the_mirror_gets_the_request_without_itself_among_the_targets() -> None:
    request = op_requests.WriteBlock(
        ExtendedBlock("BP-1", 1, 1001),
        "client",
        Stage.PIPELINE_SETUP_CREATE,
        ChecksumSpec(ChecksumType.CRC32C, 512),
        targets=(node(1), node(2)),
        storage_type=StorageType.DISK,
        storage_id="DS-0",
        target_storage_types=(StorageType.SSD, StorageType.ARCHIVE),
        target_storage_ids=("DS-1", "DS-2"),
        target_pinnings=(True, False),
        pipeline_size=3,
    )
    mirrored = request.for_mirror()
    assert mirrored.targets == (node(2),)
    assert (mirrored.storage_type, mirrored.storage_id) == (StorageType.SSD, "DS-1")
    assert mirrored.target_storage_types == (StorageType.ARCHIVE,)
    assert mirrored.target_storage_ids == ("DS-2",)
    assert (mirrored.pinning, mirrored.target_pinnings) == (True, (False,))
    assert mirrored.pipeline_size == 3


def test_the_last_of_a_pipeline_has_no_mirror() -> None:
    request = op_requests.WriteBlock(
        ExtendedBlock("BP-1", 1, 1001),
        "client",
        Stage.PIPELINE_SETUP_CREATE,
        ChecksumSpec(ChecksumType.CRC32C, 512),
    )
    with pytest.raises(ValueError, match="no target"):
        request.for_mirror()


responses = st.builds(
    BlockOpResponse,
    st.sampled_from(Status),
    names,
    st.none() | names,
    st.none() | st.builds(ReadChecksumInfo, specs, uint63),
    st.none()
    | st.builds(
        BlockChecksumResult,
        st.binary(max_size=16),
        st.integers(0, 1 << 30),
        uint63,
        st.none() | st.sampled_from(ChecksumType),
        st.sampled_from(BlockChecksumType),
        uint63,
    ),
    st.none() | st.integers(0, 9),
)


@given(responses)
def test_an_answer_comes_back_as_it_was(response: BlockOpResponse) -> None:
    assert read_response(BytesSource(response.encode())) == response


@given(st.builds(SlotReleased, st.sampled_from(Status), names))
def test_an_answer_about_a_slot_comes_back_as_it_was(answer: SlotReleased) -> None:
    assert SlotReleased.decode(read_delimited(BytesSource(answer.encode()))) == answer


@given(
    st.builds(
        SegmentGiven,
        st.sampled_from(Status),
        st.none() | st.builds(SegmentId, signed64, signed64),
        names,
    )
)
def test_an_answer_about_shared_memory_comes_back_as_it_was(answer: SegmentGiven) -> None:
    assert SegmentGiven.decode(read_delimited(BytesSource(answer.encode()))) == answer


@pytest.mark.parametrize("decode", [SlotReleased.decode, SegmentGiven.decode])
def test_an_answer_that_is_no_message_breaks_the_protocol(
    decode: Callable[[bytes], object],
) -> None:
    with pytest.raises(errors.ProtocolViolation, match="cannot be read"):
        decode(b"\xff")


@given(st.binary(max_size=60))
def test_a_garbage_answer_is_a_violation_or_an_answer(body: bytes) -> None:
    try:
        BlockOpResponse.decode(body)
    except errors.ProtocolViolation:
        pass


@pytest.mark.parametrize("status", [Status.SUCCESS, Status.CHECKSUM_OK])
def test_a_read_status_comes_back_as_it_was(status: Status) -> None:
    encoded = encode_read_status(status)
    assert decode_read_status(read_delimited(BytesSource(encoded))) is status


def test_a_block_of_a_striped_file_keeps_its_negative_id() -> None:
    block = ExtendedBlock("BP-1", -9223372036854775792, 1001)
    assert block.to_proto().blockId == 9223372036854775824
    assert ExtendedBlock.from_proto(block.to_proto()) == block


def test_a_read_of_such_a_block_is_the_message_that_protobuf_makes() -> None:
    request = op_requests.ReadBlock(ExtendedBlock("BP-1", -9223372036854775792, 1001, 7), "c", 3, 4)
    source = BytesSource(op_requests.encode_request(request)[op_requests.OP_HEADER_BYTES :])
    assert read_delimited(source) == by_protobuf(request).SerializeToString()


def test_java_reads_the_fields_where_it_expects_them() -> None:
    proto = pb.OpReadBlockProto.FromString(
        op_requests.encode_request(op_requests.ReadBlock(ExtendedBlock("BP-1", 7, 9), "c", 3, 4))[
            4:
        ]
    )
    assert (proto.header.baseHeader.block.blockId, proto.offset, proto.len) == (7, 3, 4)


# Messages of a read are packed and parsed once, but for their numbers.

reads = st.builds(
    op_requests.ReadBlock, blocks, names, uint63, uint63, st.booleans(), hints, tokens, st.just(b"")
)


def by_protobuf(request: op_requests.ReadBlock) -> pb.OpReadBlockProto:
    proto = pb.OpReadBlockProto(
        offset=request.offset, len=request.length_bytes, sendChecksums=request.send_checksums
    )
    base = proto.header.baseHeader
    base.block.CopyFrom(request.block.to_proto())
    base.token.CopyFrom(request.token.to_proto())
    proto.header.clientName = request.client_name
    if request.hints.drop_behind is not None:
        proto.cachingStrategy.dropBehind = request.hints.drop_behind
    if request.hints.readahead_bytes is not None:
        proto.cachingStrategy.readahead = request.hints.readahead_bytes
    return proto


@given(reads)
def test_a_read_is_the_message_that_protobuf_makes(request: op_requests.ReadBlock) -> None:
    source = BytesSource(op_requests.encode_request(request)[op_requests.OP_HEADER_BYTES :])
    assert pb.OpReadBlockProto.FromString(read_delimited(source)) == by_protobuf(request)


@given(reads, reads, st.lists(st.sampled_from(["header", "offset", "len", "rest"]), max_size=6))
def test_a_read_whose_fields_stand_in_any_order_or_twice_is_what_protobuf_reads(
    first: op_requests.ReadBlock, second: op_requests.ReadBlock, parts: list[str]
) -> None:
    def part_of(request: op_requests.ReadBlock, name: str) -> bytes:
        proto, wanted = by_protobuf(request), pb.OpReadBlockProto()
        if name == "header":
            wanted.header.CopyFrom(proto.header)
        elif name == "rest":
            wanted.sendChecksums = proto.sendChecksums
            wanted.cachingStrategy.CopyFrom(proto.cachingStrategy)
        else:
            setattr(wanted, name, getattr(proto, name))
        return wanted.SerializePartialToString()

    whole = by_protobuf(first).SerializeToString()
    strange = [part_of(second, name) for name in parts]
    for body in (whole + b"".join(strange), b"".join(strange) + whole):
        proto = pb.OpReadBlockProto.FromString(body)
        found = op_request_decoder.decode_request(Op.READ_BLOCK, body)
        assert isinstance(found, op_requests.ReadBlock)
        assert by_protobuf(found).SerializeToString() == _plain(proto).SerializeToString()


def _plain(proto: pb.OpReadBlockProto) -> pb.OpReadBlockProto:
    """As we write it: wishes that are empty are none."""
    proto.sendChecksums = proto.sendChecksums
    strategy = proto.cachingStrategy
    if not (strategy.HasField("dropBehind") or strategy.HasField("readahead")):
        proto.ClearField("cachingStrategy")
    return proto


@given(st.binary(max_size=60))
def test_a_garbage_read_is_a_violation_or_what_protobuf_reads(body: bytes) -> None:
    try:
        found = op_request_decoder.decode_request(Op.READ_BLOCK, body)
    except errors.ProtocolViolation:
        return
    assert isinstance(found, op_requests.ReadBlock)
    assert found.offset == pb.OpReadBlockProto.FromString(body).offset


@given(specs, st.integers(0, (1 << 64) - 1))
def test_the_answer_to_a_read_is_the_one_that_protobuf_makes(
    spec: ChecksumSpec, offset: int
) -> None:
    response = BlockOpResponse(Status.SUCCESS, read_checksum=ReadChecksumInfo(spec, offset))
    encoded = encode_read_answer(spec, offset)
    assert encoded == response.encode()
    assert read_response(BytesSource(encoded)) == response


@given(specs, uint63, st.binary(max_size=8))
def test_an_answer_with_something_behind_it_is_what_protobuf_reads(
    spec: ChecksumSpec, offset: int, rest: bytes
) -> None:
    body = encode_read_answer(spec, offset)[1:] + rest
    try:
        proto = pb.BlockOpResponseProto.FromString(body)
    except DecodeError:
        with pytest.raises(errors.ProtocolViolation):
            BlockOpResponse.decode(body)
        return
    try:
        found = BlockOpResponse.decode(body)
    except errors.ProtocolViolation:
        return  # a status or a checksum that there is not
    assert int(found.status) == proto.status
    assert found.read_checksum is not None
    assert found.read_checksum.chunk_offset == proto.readOpChecksumInfo.chunkOffset
