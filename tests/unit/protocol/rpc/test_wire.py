"""Frames, varints, calls and answers as bytes."""

from __future__ import annotations

import itertools
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import rpc_pb2
from howdah.protocol.rpc import wire
from howdah.protocol.varint import delimited, encode_varint

Header = rpc_pb2.RpcResponseHeaderProto


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    """The stream in pieces, cut at the given places."""
    edges = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[a:b] for a, b in itertools.pairwise(edges)]


def test_preamble_is_magic_version_service_class_and_authentication() -> None:
    assert wire.preamble() == b"hrpc\x09\x00\x00"
    assert wire.preamble(wire.AUTH_SASL, 3) == b"hrpc\x09\x03\xdf"


@pytest.mark.parametrize(
    "raw", [b"", b"\x80", b"\x80\x80\x80\x80\x80\x01", b"\xff\xff\xff\xff\x0f"]
)
def test_length_that_ends_early_or_is_too_long_is_a_violation(raw: bytes) -> None:
    with pytest.raises(errors.ProtocolViolation):
        wire.read_delimited(raw, 0)


@given(st.binary(max_size=40))
def test_delimited_message_is_whole_or_a_violation(raw: bytes) -> None:
    try:
        body, end = wire.read_delimited(raw, 0)
    except errors.ProtocolViolation:
        return
    assert raw[end - len(body) : end] == body


def test_message_longer_than_its_frame_is_a_violation() -> None:
    with pytest.raises(errors.ProtocolViolation, match="claims 100 bytes, its frame has 3 left"):
        wire.read_delimited(encode_varint(100) + b"abc", 0)


@given(st.lists(st.binary(max_size=300), max_size=8), st.lists(st.integers(0, 3000), max_size=12))
def test_any_cut_of_a_stream_gives_the_same_frames(
    payloads: list[bytes], places: list[int]
) -> None:
    stream = b"".join(wire.frame(payload) for payload in payloads)
    buffer = wire.FrameBuffer()
    got = [frame for piece in cut(stream, places) for frame in buffer.feed(piece)]
    assert got == payloads
    assert buffer.pending_bytes == 0


@given(st.integers(1025, 0xFFFFFFFF))
def test_frame_over_the_limit_is_refused_at_its_length(length: int) -> None:
    buffer = wire.FrameBuffer(1024)
    with pytest.raises(errors.ProtocolViolation, match=r"ipc\.maximum\.data\.length"):
        buffer.feed(struct.pack(">I", length))


def test_frame_of_exactly_the_limit_is_taken() -> None:
    assert wire.FrameBuffer(4).feed(wire.frame(b"1234")) == [b"1234"]


def test_frames_in_front_of_one_that_is_too_long_are_given_first() -> None:
    buffer = wire.FrameBuffer(1024)
    assert buffer.feed(wire.frame(b"good") + struct.pack(">I", 1 << 31)) == [b"good"]
    with pytest.raises(errors.ProtocolViolation):
        buffer.feed(b"")


def test_announced_frame_takes_no_memory_before_its_bytes_come() -> None:
    buffer = wire.FrameBuffer()
    buffer.feed(struct.pack(">I", wire.DEFAULT_MAX_FRAME_BYTES) + b"abc")
    assert buffer.pending_bytes == 7


def test_call_holds_header_method_and_request() -> None:
    request = pb.GetFileInfoRequestProto(src="/a")
    raw = wire.encode_call(
        protocol="p", method="getFileInfo", request=request, call_id=7, client_id=b"c" * 16
    )
    head, position = wire.read_delimited(raw, 4)
    name, position = wire.read_delimited(raw, position)
    body, position = wire.read_delimited(raw, position)
    assert rpc_pb2.RpcRequestHeaderProto.FromString(head).callId == 7
    assert rpc_pb2.RequestHeaderProto.FromString(name).methodName == "getFileInfo"
    assert (body, position) == (request.SerializeToString(), len(raw))


CLIENT_IDS = st.binary(min_size=16, max_size=16)


@given(
    call_id=st.integers(-100, 0x7FFFFFFF),
    client_id=CLIENT_IDS,
    retry_count=st.integers(-1, 300),
    version=st.integers(1, 300),
    method=st.text(max_size=200),
    path=st.text(max_size=20_000),
    state_id=st.none() | st.integers(0, 1 << 60),
)
def test_a_call_is_what_protobuf_makes_of_it(
    call_id: int,
    client_id: bytes,
    retry_count: int,
    version: int,
    method: str,
    path: str,
    state_id: int | None,
) -> None:
    """It is put together from parts that are the same in many calls."""
    request = pb.GetFileInfoRequestProto(src=path)
    header = rpc_pb2.RpcRequestHeaderProto(
        rpcKind=rpc_pb2.RPC_PROTOCOL_BUFFER,
        rpcOp=rpc_pb2.RpcRequestHeaderProto.RPC_FINAL_PACKET,
        callId=call_id,
        clientId=client_id,
        retryCount=retry_count,
        stateId=state_id,
    )
    name = rpc_pb2.RequestHeaderProto(
        methodName=method, declaringClassProtocolName="P", clientProtocolVersion=version
    )
    encoded = wire.encode_call(
        protocol="P",
        method=method,
        request=request,
        call_id=call_id,
        client_id=client_id,
        retry_count=retry_count,
        protocol_version=version,
        state_id=state_id,
    )
    parts = (delimited(header), delimited(name), delimited(request))
    assert encoded == wire.frame(*parts)


@given(
    call_id=st.integers(0, 0x7FFFFFFF),
    client_id=CLIENT_IDS,
    retry_count=st.integers(-1, 300),
    size=st.integers(0, 300),
)
def test_a_plain_answer_is_known_by_its_bytes(
    call_id: int, client_id: bytes, retry_count: int, size: int
) -> None:
    body = pb.GetLinkTargetResponseProto(targetPath="x" * size)
    payload = wire.encode_answer(call_id, client_id, retry_count, body)[4:]
    whose = call_id, client_id, retry_count
    assert wire.plain_answer(payload, *whose) == wire.decode_answer(payload)[1]
    for other in (
        (call_id + 1, client_id, retry_count),
        (call_id, client_id[::-1] + b"x", retry_count),
        (call_id, client_id, retry_count + 1),
    ):
        assert wire.plain_answer(payload, *other) is None


def test_an_answer_that_says_more_is_not_plain() -> None:
    body = pb.MkdirsResponseProto(result=True)
    whose = 7, b"c" * 16, -1
    assert wire.plain_answer(wire.encode_answer(*whose, body, 5)[4:], *whose) is None
    error = errors.SafeMode("not now")
    assert wire.plain_answer(wire.encode_error(*whose, error)[4:], *whose) is None


def test_a_plain_answer_that_claims_more_than_it_has_is_a_violation() -> None:
    whose = 7, b"c" * 16, -1
    payload = wire.encode_answer(*whose, pb.MkdirsResponseProto(result=True))[4:-1]
    with pytest.raises(errors.ProtocolViolation, match="has 1 left"):
        wire.plain_answer(payload, *whose)


def test_answer_reads_back() -> None:
    answer = pb.MkdirsResponseProto(result=True)
    raw = wire.encode_answer(3, b"c" * 16, 2, answer)
    header, body = wire.decode_answer(raw[4:])
    assert (header.callId, header.clientId, header.retryCount) == (3, b"c" * 16, 2)
    assert header.status == Header.SUCCESS
    assert pb.MkdirsResponseProto.FromString(body) == answer


def test_call_ids_of_the_protocol_travel_as_unsigned() -> None:
    header, _ = wire.decode_answer(
        wire.encode_answer(
            wire.CALL_ID_SASL, b"", -1, rpc_pb2.RpcSaslProto(state=rpc_pb2.RpcSaslProto.SUCCESS)
        )[4:]
    )
    assert header.callId == 0xFFFFFFFF + 1 - 33


@pytest.mark.parametrize(
    ("error", "fatal", "code"),
    [
        (errors.PathNotFound("x"), False, Header.ERROR_APPLICATION),
        (errors.PathNotFound("x"), True, Header.FATAL_UNKNOWN),
        (errors.RpcNoSuchMethod("x"), False, Header.ERROR_NO_SUCH_METHOD),
        (errors.RpcNoSuchProtocol("x"), False, Header.ERROR_NO_SUCH_PROTOCOL),
        (errors.RpcServerError("x"), False, Header.ERROR_RPC_SERVER),
        (errors.ProtocolViolation("x"), True, Header.FATAL_DESERIALIZING_REQUEST),
        (errors.AuthorizationFailed("x"), True, Header.FATAL_UNAUTHORIZED),
        (errors.AuthorizationFailed("x"), False, Header.ERROR_APPLICATION),
        (
            errors.RemoteError("x", java_class=wire.VERSION_MISMATCH),
            True,
            Header.FATAL_VERSION_MISMATCH,
        ),
        (
            errors.RemoteError("x", java_class=wire.VERSION_MISMATCH),
            False,
            Header.ERROR_RPC_VERSION_MISMATCH,
        ),
    ],
)
def test_error_carries_class_message_and_hadoops_detail(
    error: errors.HowdahError, fatal: bool, code: int
) -> None:
    header, body = wire.decode_answer(wire.encode_error(5, b"", -1, error, fatal=fatal)[4:])
    assert header.callId == 5
    assert header.status == (Header.FATAL if fatal else Header.ERROR)
    assert (header.exceptionClassName, header.errorMsg) == (error.remote_class, "x")
    assert header.errorDetail == code
    assert body == b""


@given(st.integers(-4, (1 << 31) - 1), st.binary(max_size=20), st.integers(-1, 5))
def test_answer_header_is_what_protobuf_makes_of_it(
    call_id: int, client_id: bytes, retry_count: int
) -> None:
    answer = wire.encode_answer(call_id, client_id, retry_count, pb.GetFileInfoResponseProto())
    header = rpc_pb2.RpcResponseHeaderProto(
        callId=call_id & 0xFFFFFFFF,
        status=rpc_pb2.RpcResponseHeaderProto.SUCCESS,
        serverIpcVersionNum=9,
        clientId=client_id,
        retryCount=retry_count,
    )
    assert answer == wire.frame(delimited(header), b"\0")


@given(st.binary(max_size=12))
def test_call_header_is_split_only_where_protobuf_reads_the_same_id(tail: bytes) -> None:
    start = b"\x08\x02\x10\x00\x18"
    split = wire.split_call_header(start + tail)
    if split is not None:
        call_id, rest = split
        number = tail[: len(tail) - len(rest)]
        header = rpc_pb2.RpcRequestHeaderProto()
        header.ParseFromString(start + number)
        assert header.callId == call_id >= 0
        assert tail.endswith(rest)


@pytest.mark.parametrize("state_id", [0, 1, 127, 128, 1 << 40])
def test_answers_say_what_they_show(state_id: int) -> None:
    body = rpc_pb2.RpcSaslProto(state=rpc_pb2.RpcSaslProto.SUCCESS)
    answer, _ = wire.decode_answer(wire.encode_answer(7, b"c" * 16, 1, body, state_id)[4:])
    refused = wire.encode_error(7, b"c" * 16, 1, errors.PathNotFound("x"), state_id=state_id)
    refusal, _ = wire.decode_answer(refused[4:])
    assert (answer.callId, answer.retryCount, answer.stateId) == (7, 1, state_id)
    assert refusal.stateId == state_id


def test_answers_without_a_state_say_none() -> None:
    body = rpc_pb2.RpcSaslProto(state=rpc_pb2.RpcSaslProto.SUCCESS)
    answer, _ = wire.decode_answer(wire.encode_answer(7, b"c" * 16, 1, body)[4:])
    assert not answer.HasField("stateId")
