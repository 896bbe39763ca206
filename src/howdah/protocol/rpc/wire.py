"""Hadoop RPC v9 as bytes: frames, delimited messages, calls and answers (pure).

A connection opens with seven bytes: `hrpc`, version 9, a service class, an
authentication protocol (0 none, 0xDF SASL). After that everything is a frame:
four bytes of length, big-endian, then protobuf messages that are each preceded
by their length as a varint. A call is RpcRequestHeaderProto, RequestHeaderProto
and the request; an answer is RpcResponseHeaderProto and the response.

Call ids below zero are the protocol's own: -3 carries the connection's context,
-4 is a ping, -33 is SASL, -1 answers what could not be attributed to a call.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from typing import Final

from google.protobuf.message import Message

from howdah import errors
from howdah.native.loader import kernel
from howdah.proto import rpc_pb2
from howdah.protocol.bounded_cache import cache_short
from howdah.protocol.messages import parse
from howdah.protocol.varint import MAX_VARINT32_BYTES, decode_varint, delimited, encode_varint
from howdah.runtime.tracing.context import ids_of

MAGIC: Final = b"hrpc"
VERSION: Final = 9
AUTH_NONE: Final = 0
AUTH_SASL: Final = 0xDF
PREAMBLE_LENGTH: Final = 7

CALL_ID_INVALID: Final = -1
CALL_ID_CONTEXT: Final = -3
CALL_ID_PING: Final = -4
CALL_ID_SASL: Final = -33

# ipc.maximum.data.length
DEFAULT_MAX_FRAME_BYTES: Final = 128 * 1024 * 1024

_LENGTH = struct.Struct(">I")


def preamble(auth: int = AUTH_NONE, service_class: int = 0) -> bytes:
    """The seven bytes that open a connection."""
    return MAGIC + bytes((VERSION, service_class, auth))


def read_delimited(data: bytes, position: int) -> tuple[bytes, int]:
    """The bytes of the delimited message at `position`, and the position after it."""
    if position < len(data) and data[position] < 0x80:  # as nearly all are
        length, start = data[position], position + 1
    else:
        found = decode_varint(data, position, MAX_VARINT32_BYTES)
        if found is None:
            raise errors.ProtocolViolation("a frame ends inside a message's length")
        length, start = found
    end = start + length
    if end > len(data):
        raise errors.ProtocolViolation(
            f"a message claims {length} bytes, its frame has {len(data) - start} left"
        )
    return data[start:end], end


def frame(*parts: bytes) -> bytes:
    """The parts as one frame, length first."""
    return _LENGTH.pack(sum(map(len, parts))) + b"".join(parts)


def encode_context(
    protocol: str, user: str | None, client_id: bytes, real_user: str | None = None
) -> bytes:
    """The frame that tells the server who is calling which protocol; `real_user` is who acts for
    `user`, if somebody does. Without a user it is the one that was proven before."""
    header = rpc_pb2.RpcRequestHeaderProto(
        rpcKind=rpc_pb2.RPC_PROTOCOL_BUFFER,
        rpcOp=rpc_pb2.RpcRequestHeaderProto.RPC_FINAL_PACKET,
        callId=CALL_ID_CONTEXT,
        clientId=client_id,
        retryCount=-1,
    )
    context = rpc_pb2.IpcConnectionContextProto(protocol=protocol)
    if user is not None:
        context.userInfo.CopyFrom(
            rpc_pb2.UserInformationProto(effectiveUser=user, realUser=real_user)
        )
    return frame(delimited(header), delimited(context))


def encode_call(
    *,
    protocol: str,
    method: str,
    request: Message,
    call_id: int,
    client_id: bytes,
    retry_count: int = -1,
    protocol_version: int = 1,
    state_id: int | None = None,
    trace: bytes = b"",
    federated_state: bytes = b"",
) -> bytes:
    """One call as a frame; `state_id` is the last transaction that the caller has seen,
    `federated_state` says that of each nameservice behind a router, and `trace` is the context
    of the span below which the call is (`howdah.runtime.tracing.context`)."""
    if call_id < 0 or state_id is not None or trace or federated_state:
        header = _call_header(
            call_id, client_id, retry_count, state_id, trace, federated_state
        ).SerializeToString()
    else:
        header = _CALL_START + encode_varint(call_id << 1) + _call_tail(client_id, retry_count)
    body = request.SerializeToString()
    name = _method_header(protocol, method, protocol_version)
    head_bytes, body_bytes = encode_varint(len(header)), encode_varint(len(body))
    total = len(head_bytes) + len(header) + len(name) + len(body_bytes) + len(body)
    return b"".join((_LENGTH.pack(total), head_bytes, header, name, body_bytes, body))


def _call_header(
    call_id: int,
    client_id: bytes,
    retry_count: int,
    state_id: int | None = None,
    trace: bytes = b"",
    federated_state: bytes = b"",
) -> rpc_pb2.RpcRequestHeaderProto:
    header = rpc_pb2.RpcRequestHeaderProto(
        rpcKind=rpc_pb2.RPC_PROTOCOL_BUFFER,
        rpcOp=rpc_pb2.RpcRequestHeaderProto.RPC_FINAL_PACKET,
        callId=call_id,
        clientId=client_id,
        retryCount=retry_count,
        stateId=state_id,
        routerFederatedState=federated_state or None,
    )
    if trace:
        add_trace(header, trace)
    return header


@functools.lru_cache(256)
def _call_tail(client_id: bytes, retry_count: int) -> bytes:
    """A call's header behind its id: all calls of a client have the same, as long as none has to
    be made again."""
    header = _call_header(0, client_id, retry_count).SerializeToString()
    assert header.startswith(_CALL_START + b"\0"), "the call id comes third"
    return header[len(_CALL_START) + 1 :]


@functools.lru_cache(1024)
def _method_header(protocol: str, method: str, protocol_version: int) -> bytes:
    """What a call says of its method, with its length in front."""
    return delimited(
        rpc_pb2.RequestHeaderProto(
            methodName=method,
            declaringClassProtocolName=protocol,
            clientProtocolVersion=protocol_version,
        )
    )


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def add_trace(header: rpc_pb2.RpcRequestHeaderProto, trace: bytes) -> None:
    """Put the context of a span into a call's header."""
    trace_id, parent_id = ids_of(trace)
    header.traceInfo.traceId = _signed(trace_id)
    header.traceInfo.parentId = _signed(parent_id)
    header.traceInfo.spanContext = trace


_CALL_START: Final = b"\x08\x02\x10\x00\x18"
"""A call's header up to its id: protocol buffers, a whole packet, the tag of the id."""


def split_call_header(header: bytes) -> tuple[int, bytes] | None:
    """The id of a call and the rest of its header, which is the same for all of a client's calls.

    None for a header that is of another kind, or written in another order.
    """
    if not header.startswith(_CALL_START):
        return None
    zigzag = shift = 0
    for position in range(len(_CALL_START), min(len(header), len(_CALL_START) + 5)):
        byte = header[position]
        zigzag |= (byte & 0x7F) << shift
        if byte < 0x80:
            if zigzag & 1 or zigzag >> 32:
                return None  # below zero, or of no 32 bits: not a call
            return zigzag >> 1, header[position + 1 :]
        shift += 7
    return None


PlainCall = tuple[int, bytes, bytes, bytes, int, int]
"""A call's id, the rest of its header, the method's header, the request, and where in the data
the frame's payload begins and ends."""


def split_calls_here(data: bytes, max_frame_bytes: int) -> tuple[list[PlainCall], int]:
    """The calls at the beginning of `data`, as clients write nearly all of them, and where they
    end. A frame that is none of them, or is not whole, or too long, is for others to look at.

    This is the twin of the kernel's function, which takes its place where it is there.
    """
    calls: list[PlainCall] = []
    position, end = 0, len(data)
    while end - position > 4:
        start = position + 4
        length = int.from_bytes(data[position:start])
        stop = start + length
        if length > max_frame_bytes or stop > end:
            break
        at = start + 1 + len(_CALL_START)
        header_end = start + 1 + data[start]
        if data[start] >= 0x80 or header_end >= stop or data[start + 1 : at] != _CALL_START:
            break
        zigzag = shift = 0
        while at < header_end and shift < 35:
            byte = data[at]
            at += 1
            zigzag |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        else:
            break
        method_end = header_end + 1 + data[header_end]
        if zigzag & 1 or zigzag >> 32 or data[header_end] >= 0x80 or method_end >= stop:
            break
        body_start = method_end + 1
        body_bytes = data[method_end]
        if body_bytes >= 0x80 and body_start < stop:
            # Of two bytes, as the length of nearly every longer request is.
            body_bytes += (data[body_start] - 1) << 7
            if data[body_start] >= 0x80:
                break
            body_start += 1
        if body_start + body_bytes != stop:
            break
        calls.append(
            (
                zigzag >> 1,
                data[at:header_end],
                data[header_end + 1 : method_end],
                data[body_start:stop],
                start,
                stop,
            )
        )
        position = stop
    return calls, position


split_calls: Final[Callable[[bytes, int], tuple[list[PlainCall], int]]] = getattr(
    kernel(), "split_calls", split_calls_here
)


_STATE_ID: Final = b"\x48"
"""The tag of a state in an answer's header: field 9, a varint."""
_FEDERATED_STATE: Final = b"\x52"
"""That of the states of nameservices: field 10, bytes."""


def encode_answer(
    call_id: int,
    client_id: bytes,
    retry_count: int,
    body: Message,
    state_id: int | None = None,
    federated_state: bytes = b"",
) -> bytes:
    """A successful answer as a frame; `state_id` is the last transaction that it may show, and
    `federated_state` says that of each nameservice behind a router."""
    whose = call_id, client_id, retry_count
    return encode_answer_bytes(*whose, body.SerializeToString(), state_id, federated_state)


def encode_answer_bytes(
    call_id: int,
    client_id: bytes,
    retry_count: int,
    body: bytes,
    state_id: int | None = None,
    federated_state: bytes = b"",
) -> bytes:
    """The same, where the message is bytes already."""
    tail = answer_tail(client_id, retry_count) + answer_states(state_id, federated_state)
    return frame_answer(call_id, tail, body)


def answer_states(state_id: int | None, federated_state: bytes = b"") -> bytes:
    """What the end of an answer's header says of states."""
    states = b"" if state_id is None else _STATE_ID + encode_varint(state_id)
    if federated_state:
        states += _FEDERATED_STATE + encode_varint(len(federated_state)) + federated_state
    return states


def answer_tail(client_id: bytes, retry_count: int) -> bytes:
    """A successful answer's header behind the call id, which is all that changes between
    a client's answers."""
    return _answer_tail.of(len(client_id))(client_id, retry_count)


@cache_short(4096)
def _answer_tail(client_id: bytes, retry_count: int) -> bytes:
    """Encoding this once saves a tenth of a cheap call."""
    header = rpc_pb2.RpcResponseHeaderProto(
        callId=0,
        status=rpc_pb2.RpcResponseHeaderProto.SUCCESS,
        serverIpcVersionNum=VERSION,
        clientId=client_id,
        retryCount=retry_count,
    ).SerializeToString()
    assert header.startswith(b"\x08\x00"), "the call id is written first"
    return header[2:]


def frame_answer(call_id: int, tail: bytes, payload: bytes) -> bytes:
    """A successful answer as a frame, from what is known of its header and its serialized
    message."""
    number = encode_varint(call_id & 0xFFFFFFFF)
    header_bytes = 1 + len(number) + len(tail)
    before_header, before_payload = encode_varint(header_bytes), encode_varint(len(payload))
    total = len(before_header) + header_bytes + len(before_payload) + len(payload)
    return b"".join(
        (total.to_bytes(4), before_header, b"\x08", number, tail, before_payload, payload)
    )


_Code = rpc_pb2.RpcResponseHeaderProto.RpcErrorCodeProto

VERSION_MISMATCH: Final = "org.apache.hadoop.ipc.RPC$VersionMismatch"
"""Java's class for both: of the connection (fatal) and of a protocol."""

_DETAIL: Final[dict[type[errors.HowdahError], _Code]] = {
    errors.RpcNoSuchMethod: rpc_pb2.RpcResponseHeaderProto.ERROR_NO_SUCH_METHOD,
    errors.RpcNoSuchProtocol: rpc_pb2.RpcResponseHeaderProto.ERROR_NO_SUCH_PROTOCOL,
    errors.RpcServerError: rpc_pb2.RpcResponseHeaderProto.ERROR_RPC_SERVER,
    errors.ProtocolViolation: rpc_pb2.RpcResponseHeaderProto.FATAL_DESERIALIZING_REQUEST,
    errors.AuthorizationFailed: rpc_pb2.RpcResponseHeaderProto.FATAL_UNAUTHORIZED,
}


def encode_error(
    call_id: int,
    client_id: bytes,
    retry_count: int,
    error: errors.HowdahError,
    *,
    fatal: bool = False,
    state_id: int | None = None,
    federated_state: bytes = b"",
) -> bytes:
    """A failed call as a frame; after a fatal one the server ends the connection."""
    code = _DETAIL.get(type(error), rpc_pb2.RpcResponseHeaderProto.ERROR_APPLICATION)
    if error.remote_class == VERSION_MISMATCH:
        code = (
            rpc_pb2.RpcResponseHeaderProto.FATAL_VERSION_MISMATCH
            if fatal
            else rpc_pb2.RpcResponseHeaderProto.ERROR_RPC_VERSION_MISMATCH
        )
    if not fatal and code == rpc_pb2.RpcResponseHeaderProto.FATAL_UNAUTHORIZED:
        # One call is refused, and not the connection.
        code = rpc_pb2.RpcResponseHeaderProto.ERROR_APPLICATION
    if fatal and code == rpc_pb2.RpcResponseHeaderProto.ERROR_APPLICATION:
        code = rpc_pb2.RpcResponseHeaderProto.FATAL_UNKNOWN
    status = rpc_pb2.RpcResponseHeaderProto.FATAL if fatal else rpc_pb2.RpcResponseHeaderProto.ERROR
    header = rpc_pb2.RpcResponseHeaderProto(
        callId=call_id & 0xFFFFFFFF,
        status=status,
        serverIpcVersionNum=VERSION,
        exceptionClassName=error.remote_class,
        errorMsg=error.message,
        errorDetail=code,
        clientId=client_id,
        retryCount=retry_count,
        stateId=state_id,
        routerFederatedState=federated_state or None,
    )
    return frame(delimited(header))


def remote_error(header: rpc_pb2.RpcResponseHeaderProto) -> errors.HowdahError:
    """The exception a failed call stands for; a Java stack trace becomes a note."""
    class_name = header.exceptionClassName or "org.apache.hadoop.ipc.RpcServerException"
    message, _, trace = header.errorMsg.partition("\n\tat ")
    error = errors.from_java(class_name, message.rstrip())
    if trace:
        error.add_note(f"Raised by the server: {class_name}\n\tat {trace.rstrip()}")
    return error


def decode_answer(payload: bytes) -> tuple[rpc_pb2.RpcResponseHeaderProto, bytes]:
    """Header and body of an answer frame (its length already taken off).

    Raises DecodeError for what is none, and for an error in texts that are not UTF-8.
    """
    raw, position = read_delimited(payload, 0)
    header = rpc_pb2.RpcResponseHeaderProto.FromString(raw)
    if header.status != rpc_pb2.RpcResponseHeaderProto.SUCCESS:
        return parse(rpc_pb2.RpcResponseHeaderProto, raw), b""
    body, _ = read_delimited(payload, position)
    return header, body


def plain_answer(payload: bytes, call_id: int, client_id: bytes, retry_count: int) -> bytes | None:
    """The body of an answer frame, if it is a successful answer to this call, and says nothing
    else; None if it has to be decoded to tell."""
    head = b"\x08" + encode_varint(call_id & 0xFFFFFFFF) + answer_tail(client_id, retry_count)
    start = encode_varint(len(head)) + head
    at = len(start)
    if not payload.startswith(start):
        return None
    if len(payload) > at + 1:
        low, high = payload[at], payload[at + 1]
        if low >= 0x80 > high and len(payload) == at + 2 + (low & 0x7F | high << 7):
            return payload[at + 2 :]  # As most are.
    return read_delimited(payload, at)[0]


class FrameBuffer:
    """Cuts a byte stream into frames; a frame longer than the limit is refused at once."""

    __slots__ = ("_buffer", "max_frame_bytes")

    def __init__(self, max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES) -> None:
        self._buffer = bytearray()
        self.max_frame_bytes = max_frame_bytes

    def feed(self, data: bytes) -> list[bytes]:
        """Take `data`, give back the frames that are now whole.

        Raises ProtocolViolation once the next length is too large. Frames in front
        of it are given back first, however the stream was cut: the violation is
        raised by the call after that, which may be one without data.
        """
        if self._buffer:
            self._buffer += data
            source: bytes | bytearray = self._buffer
        else:
            source = data
        frames: list[bytes] = []
        position = 0
        end = len(source)
        while end - position >= 4:
            (length,) = _LENGTH.unpack_from(source, position)
            if length > self.max_frame_bytes:
                if frames:
                    break
                raise errors.ProtocolViolation(
                    f"a frame of {length} bytes is announced, "
                    f"at most {self.max_frame_bytes} are allowed (ipc.maximum.data.length)"
                )
            if end - position - 4 < length:
                break
            start = position + 4
            position = start + length
            frames.append(bytes(source[start:position]))
        if source is self._buffer:
            del self._buffer[:position]
        elif position < end:
            self._buffer += data[position:]
        return frames

    @property
    def pending_bytes(self) -> int:
        """Bytes held of a frame that is not whole yet."""
        return len(self._buffer)
