"""The server's side of a connection: what bytes from a client mean."""

from __future__ import annotations

import itertools
import struct
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import rpc_pb2
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.call import Call, Caller
from howdah.protocol.rpc.session import ActsFor, Close, Event, Reply, ServerSession, State
from howdah.protocol.sasl.auth_to_local import parse_rules, short_name
from howdah.protocol.varint import delimited, encode_varint
from howdah.runtime.users.names import not_allowed

PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
CLIENT_ID = bytes(range(16))
GREETING = wire.preamble() + wire.encode_context(PROTOCOL, "alice", CLIENT_ID)
Header = rpc_pb2.RpcResponseHeaderProto


def call(path: str = "/a", call_id: int = 0) -> bytes:
    return wire.encode_call(
        protocol=PROTOCOL,
        method="getFileInfo",
        request=pb.GetFileInfoRequestProto(src=path),
        call_id=call_id,
        client_id=CLIENT_ID,
    )


def ready() -> ServerSession:
    session = ServerSession(address="10.0.0.1", port=4711)
    assert session.receive(GREETING) == []
    assert session.state is State.READY
    return session


def request_frame(call_id: int, *parts: bytes, **fields: int) -> bytes:
    kind, operation = fields.get("kind", rpc_pb2.RPC_PROTOCOL_BUFFER), fields.get("operation", 0)
    header = rpc_pb2.RpcRequestHeaderProto(
        rpcKind=cast(rpc_pb2.RpcKindProto, kind),
        rpcOp=cast(rpc_pb2.RpcRequestHeaderProto.OperationProto, operation),
        callId=call_id,
        clientId=CLIENT_ID,
    )
    return wire.frame(delimited(header), *parts)


def refusal(events: list[Event]) -> Header:
    """The one answer that ends a connection."""
    reply, close = events
    assert isinstance(reply, Reply)
    assert isinstance(close, Close)
    header, _ = wire.decode_answer(reply.data[4:])
    assert header.status == Header.FATAL
    return header


def test_call_says_who_wants_what() -> None:
    (event,) = ready().receive(call("/x", 9))
    assert event == Call(
        Caller("alice", CLIENT_ID, 9, -1, "10.0.0.1", 4711),
        PROTOCOL,
        1,
        "getFileInfo",
        pb.GetFileInfoRequestProto(src="/x").SerializeToString(),
        9,
        CLIENT_ID,
    )


@pytest.mark.parametrize(
    ("context", "told"),
    [
        (b"\x0a\x05job_1", ("job_1", b"")),
        (b"\x0a\x05job_1\x12\x03sig", ("job_1", b"sig")),
        (b"\x0a\x02\xc3\x28", ("\ufffd(", b"")),
    ],
)
def test_call_says_in_which_context_it_is_made(context: bytes, told: tuple[str, bytes]) -> None:
    session = ready()
    for number in (9, 10):
        header = rpc_pb2.RpcRequestHeaderProto(
            rpcKind=rpc_pb2.RPC_PROTOCOL_BUFFER,
            rpcOp=rpc_pb2.RpcRequestHeaderProto.RPC_FINAL_PACKET,
            callId=number,
            clientId=CLIENT_ID,
        ).SerializeToString()
        header += b"\x3a" + bytes([len(context)]) + context
        name = rpc_pb2.RequestHeaderProto(
            methodName="getFileInfo", declaringClassProtocolName=PROTOCOL, clientProtocolVersion=1
        )
        body = pb.GetFileInfoRequestProto(src="/x")
        frame = wire.frame(bytes([len(header)]) + header, delimited(name), delimited(body))
        (event,) = session.receive(frame)
        assert isinstance(event, Call)
        assert event.caller.context == told


@given(st.lists(st.integers(0, 2000), max_size=20))
def test_any_cut_of_the_stream_gives_the_same_calls(places: list[int]) -> None:
    stream = GREETING + b"".join(call(f"/{number}", number) for number in range(4))
    whole = ServerSession().receive(stream)
    assert len(whole) == 4
    assert in_pieces(stream, places) == whole


@given(st.binary(max_size=120), st.lists(st.integers(0, 2000), max_size=12))
def test_garbage_after_a_call_is_answered_alike_however_it_is_cut(
    garbage: bytes, places: list[int]
) -> None:
    stream = GREETING + call() + garbage
    assert in_pieces(stream, places) == ServerSession().receive(stream)


@given(st.lists(st.binary(max_size=60), max_size=6))
def test_garbage_never_raises(pieces: list[bytes]) -> None:
    session = ServerSession()
    for piece in pieces:
        session.receive(piece)


@given(st.lists(st.binary(max_size=60), max_size=6))
def test_framed_garbage_never_raises(payloads: list[bytes]) -> None:
    session = ready()
    for payload in payloads:
        session.receive(wire.frame(payload))


@given(st.binary(max_size=60))
def test_garbage_behind_a_good_header_never_raises(rest: bytes) -> None:
    for call_id in (0, wire.CALL_ID_CONTEXT, wire.CALL_ID_SASL, wire.CALL_ID_PING):
        ready().receive(request_frame(call_id, rest))
        session = ServerSession()
        session.receive(wire.preamble(wire.AUTH_SASL))
        session.receive(request_frame(call_id, rest))


def in_pieces(stream: bytes, places: list[int]) -> list[Event]:
    session = ServerSession()
    edges = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [
        event
        for start, end in itertools.pairwise(edges)
        for event in session.receive(stream[start:end])
    ]


def test_wrong_magic_ends_the_connection_without_an_answer() -> None:
    (event,) = ServerSession().receive(b"SSH-2.0-OpenSSH")
    assert isinstance(event, Close)
    assert "hrpc" in event.reason


def test_wrong_version_is_told_as_hadoop_words_it() -> None:
    header = refusal(ServerSession().receive(b"hrpc\x07\x00\x00"))
    assert header.exceptionClassName == "org.apache.hadoop.ipc.RPC$VersionMismatch"
    assert header.errorMsg == "Server IPC version 9 cannot communicate with client version 7"
    assert header.errorDetail == Header.FATAL_VERSION_MISMATCH
    assert header.callId == 0xFFFFFFFF


def test_unknown_authentication_is_refused() -> None:
    header = refusal(ServerSession().receive(b"hrpc\x09\x00\x55"))
    assert "authentication protocol 85" in header.errorMsg


@pytest.mark.parametrize("verb", ["GET /", "POST /x", "HEAD /", "DELETE /", "OPTIONS *", "PUT /"])
def test_http_request_gets_a_readable_answer(verb: str) -> None:
    reply, close = ServerSession().receive(f"{verb} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert isinstance(reply, Reply)
    assert isinstance(close, Close)
    assert reply.data.startswith(b"HTTP/1.1 404 ")
    head, _, body = reply.data.partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    assert b"dfs.namenode.http-address" in body


def test_http_request_is_known_when_it_comes_byte_by_byte() -> None:
    events = in_pieces(b"GET / HTTP/1.1\r\n\r\n", list(range(16)))
    assert isinstance(events[0], Reply)


def test_frame_of_two_gib_is_refused_before_its_bytes_come() -> None:
    header = refusal(ready().receive(struct.pack(">I", 1 << 31)))
    assert "a frame of 2147483648 bytes is announced" in header.errorMsg


def test_calls_in_front_of_a_bad_frame_are_served_first() -> None:
    first, *end = ready().receive(call() + struct.pack(">I", 0xFFFFFFFF))
    assert isinstance(first, Call)
    refusal(end)


def test_call_before_the_context_is_refused() -> None:
    session = ServerSession()
    session.receive(wire.preamble())
    header = refusal(session.receive(call()))
    assert header.errorMsg == "a call came before the connection's context"


def test_second_context_is_refused() -> None:
    header = refusal(ready().receive(wire.encode_context(PROTOCOL, "bob", CLIENT_ID)))
    assert header.errorMsg == "a second connection context"


def test_context_without_a_user_is_refused() -> None:
    header = refusal(
        ServerSession().receive(wire.preamble() + wire.encode_context(PROTOCOL, "", CLIENT_ID))
    )
    assert "names no user" in header.errorMsg


def context_of(user: bytes, real: bytes = b"") -> bytes:
    """A context made by hand, as the names may be no UTF-8."""
    info = b"\x0a" + encode_varint(len(user)) + user
    if real:
        info += b"\x12" + encode_varint(len(real)) + real
    message = b"\x12" + encode_varint(len(info)) + info
    return wire.preamble() + request_frame(
        wire.CALL_ID_CONTEXT, encode_varint(len(message)) + message
    )


def test_context_made_by_hand_is_understood() -> None:
    session = ServerSession()
    assert session.receive(context_of(b"alice")) == []
    assert (session.user, session.real_user) == ("alice", None)


@pytest.mark.parametrize(("user", "real"), [(b"\xff\xfe", b""), (b"alice", b"\xff")])
def test_user_that_is_no_utf8_is_refused(user: bytes, real: bytes) -> None:
    assert "UTF-8" in refusal(ServerSession().receive(context_of(user, real))).errorMsg


@pytest.mark.parametrize("names", [(b"u" * 1025,), (b"alice", b"r" * 1025)])
def test_endless_user_name_is_refused(names: tuple[bytes, ...]) -> None:
    header = refusal(ServerSession().receive(context_of(*names)))
    assert "1025 characters" in header.errorMsg


@pytest.mark.parametrize("user", [b"a\nb", b"\x00", "\u202eevil".encode()])
def test_nobody_acts_for_a_user_whose_name_cannot_be_printed(user: bytes) -> None:
    assert (
        "no name of a user" in refusal(ServerSession().receive(context_of(user, b"bob"))).errorMsg
    )


RULES = parse_rules("RULE:[2:$1@$0](hive@R)s/.*/hive/ DEFAULT")


def user_of(name: str) -> str:
    """Of the realm R."""
    return short_name(name, RULES, "R")


@pytest.mark.parametrize(
    "names", [(b"bob/x",), (b"bob@ELSEWHERE",), (b"bob@",), (b"bob", b"hive/x"), (b"b/x", b"hive")]
)
def test_a_principal_that_no_rule_is_about_is_nobody(names: tuple[bytes, ...]) -> None:
    for session in (ServerSession(), ServerSession(user_of=user_of)):
        said = refusal(session.receive(context_of(*names)))
        assert said.exceptionClassName.endswith("IllegalArgumentException")
        assert "Illegal principal name" in said.errorMsg
    assert session.user == ""


def test_a_principal_is_its_user_without_a_proof_too() -> None:
    """Hadoop's client sends its principal where it has fallen back from Kerberos."""
    session = ServerSession(user_of=user_of)
    assert session.receive(context_of(b"bob@R")) == []
    assert session.user == "bob"
    session = ServerSession(user_of=user_of)
    assert session.receive(context_of(b"bob@R", b"hive/host@R")) == [ActsFor("hive", "bob")]
    assert (session.user, session.real_user) == ("bob", "hive")


@pytest.mark.parametrize("user", [b"alice", b"hive"])
def test_calls_behind_a_context_that_acts_for_another_say_so(user: bytes) -> None:
    """Also if that is the same user: Hadoop asks its rules then, too."""
    session = ServerSession()
    first, *calls = session.receive(context_of(user, b"hive") + call("/a", 1) + call("/b", 2))
    assert first == ActsFor("hive", user.decode())
    calls += session.receive(call("/c", 3))
    assert [(e.caller.user, e.caller.real_user) for e in calls if isinstance(e, Call)] == [
        (user.decode(), "hive")
    ] * 3


def test_impersonation_is_refused_as_hadoop_words_it() -> None:
    session = ServerSession()
    session.receive(context_of(b"alice", b"mallory"))
    header = refusal(session.refuse(not_allowed("mallory", "alice")))
    assert session.receive(call()) == []
    assert header.errorMsg == "User: mallory is not allowed to impersonate alice"
    assert (
        header.exceptionClassName == "org.apache.hadoop.security.authorize.AuthorizationException"
    )
    assert header.errorDetail == Header.FATAL_UNAUTHORIZED


def sasl(state: rpc_pb2.RpcSaslProto.SaslState) -> bytes:
    message = rpc_pb2.RpcSaslProto(state=state)
    return request_frame(wire.CALL_ID_SASL, delimited(message))


def test_client_that_negotiates_is_told_that_simple_will_do() -> None:
    session = ServerSession()
    session.receive(wire.preamble(wire.AUTH_SASL))
    (reply,) = session.receive(sasl(rpc_pb2.RpcSaslProto.NEGOTIATE))
    assert isinstance(reply, Reply)
    header, body = wire.decode_answer(reply.data[4:])
    assert header.callId == 0xFFFFFFFF + 1 + wire.CALL_ID_SASL
    assert rpc_pb2.RpcSaslProto.FromString(body).state == rpc_pb2.RpcSaslProto.SUCCESS
    events = session.receive(wire.encode_context(PROTOCOL, "alice", CLIENT_ID) + call())
    assert [type(event) for event in events] == [Call]


def test_sasl_beyond_negotiation_is_refused() -> None:
    session = ServerSession()
    session.receive(wire.preamble(wire.AUTH_SASL))
    header = refusal(session.receive(sasl(rpc_pb2.RpcSaslProto.INITIATE)))
    assert "only SIMPLE is enabled" in header.errorMsg


def test_header_without_its_required_fields_is_refused() -> None:
    header = refusal(ready().receive(wire.frame(b"\0")))
    assert "lacks its call id or client id" in header.errorMsg


def test_ping_means_nothing() -> None:
    assert ready().receive(request_frame(wire.CALL_ID_PING)) == []


@pytest.mark.parametrize("call_id", [-1, -2, -5, -1000])
def test_call_id_without_a_meaning_is_refused(call_id: int) -> None:
    assert f"call id {call_id} " in refusal(ready().receive(request_frame(call_id))).errorMsg


@pytest.mark.parametrize(("kind", "operation"), [(1, 0), (2, 1), (2, 2)])
def test_call_of_another_kind_is_refused(kind: int, operation: int) -> None:
    frame = request_frame(4, b"", kind=kind, operation=operation)
    assert "only whole protocol buffer calls" in refusal(ready().receive(frame)).errorMsg


def test_nothing_is_heard_after_the_end() -> None:
    session = ready()
    refusal(session.receive(request_frame(-1)))
    assert session.receive(call()) == []


def test_methods_that_a_client_invents_are_not_kept_without_bound() -> None:
    session = ready()
    for number in range(600):
        name = rpc_pb2.RequestHeaderProto(
            methodName=f"m{number}", declaringClassProtocolName="p", clientProtocolVersion=1
        )
        session.receive(request_frame(number, delimited(name), b"\0"))
    long = rpc_pb2.RequestHeaderProto(
        methodName="m" * 100_000, declaringClassProtocolName="p", clientProtocolVersion=1
    )
    other = ready()
    other.receive(request_frame(1, delimited(long), b"\0"))
    assert len(session._methods) == 512
    assert not other._methods


def call_with_header(header: rpc_pb2.RpcRequestHeaderProto) -> bytes:
    name = rpc_pb2.RequestHeaderProto(
        methodName="m", declaringClassProtocolName="p", clientProtocolVersion=1
    )
    return wire.frame(delimited(header), delimited(name), b"\0")


def header_of(call_id: int, client_id: bytes, retry_count: int) -> rpc_pb2.RpcRequestHeaderProto:
    return rpc_pb2.RpcRequestHeaderProto(
        rpcKind=rpc_pb2.RPC_PROTOCOL_BUFFER,
        rpcOp=rpc_pb2.RpcRequestHeaderProto.RPC_FINAL_PACKET,
        callId=call_id,
        clientId=client_id,
        retryCount=retry_count,
    )


@given(
    st.lists(
        st.tuples(
            st.integers(0, (1 << 31) - 1),
            st.sampled_from((b"c" * 16, b"", b"d")),
            st.integers(-1, 3),
        ),
        max_size=10,
    )
)
def test_header_seen_before_means_the_same_with_another_call_id(
    calls: list[tuple[int, bytes, int]],
) -> None:
    session = ready()
    for call_id, client_id, retry_count in calls:
        (event,) = session.receive(call_with_header(header_of(call_id, client_id, retry_count)))
        assert isinstance(event, Call)
        assert (event.call_id, event.client_id, event.caller.retry_count) == (
            call_id,
            client_id,
            retry_count,
        )


@pytest.mark.parametrize("call_id", [-1, -2, -3])
def test_header_seen_before_is_no_call_with_an_id_below_zero(call_id: int) -> None:
    session = ready()
    session.receive(call_with_header(header_of(7, CLIENT_ID, -1)))
    refusal(session.receive(call_with_header(header_of(call_id, CLIENT_ID, -1))))


def test_headers_that_a_client_invents_are_not_kept_without_bound() -> None:
    session = ready()
    for number in range(600):
        session.receive(call_with_header(header_of(1, b"%d" % number, -1)))
    session.receive(call_with_header(header_of(1, b"c" * 100_000, -1)))
    assert len(session._headers) == 512
    assert max(map(len, session._headers)) < 600


@pytest.mark.parametrize("length", [64 * 1024 + 1, 100 << 20])
def test_before_the_context_no_frame_is_long(length: int) -> None:
    session = ServerSession()
    events = session.receive(wire.preamble() + length.to_bytes(4, "big"))
    assert isinstance(events[-1], Close)
    assert "at most 65536 are allowed" in events[-1].reason


@pytest.mark.parametrize("cut", [0, 1, 3, 4, 5, 70_000])
def test_behind_the_context_a_frame_may_be_long(cut: int) -> None:
    """Sent together with it, however the stream is cut."""
    path = "/" + "x" * 200_000
    greeting = wire.preamble() + wire.encode_context(PROTOCOL, "alice", CLIENT_ID)
    long = wire.encode_call(
        protocol=PROTOCOL,
        method="getFileInfo",
        request=pb.GetFileInfoRequestProto(src=path),
        call_id=1,
        client_id=CLIENT_ID,
    )
    session = ServerSession()
    events = session.receive(greeting + long[:cut])
    events += session.receive(long[cut:])
    (call,) = events
    assert isinstance(call, Call)
    assert len(call.body) > 200_000


def test_each_call_says_what_its_caller_has_seen() -> None:
    session = ready()
    calls = []
    for number, state_id in enumerate((None, 5, 7, None, -1, 1 << 62)):
        data = wire.encode_call(
            protocol=PROTOCOL,
            method="getFileInfo",
            request=pb.GetFileInfoRequestProto(src="/a"),
            call_id=number,
            client_id=CLIENT_ID,
            state_id=state_id,
        )
        calls += session.receive(data)
    seen = [event.state_id for event in calls if isinstance(event, Call)]
    assert seen == [None, 5, 7, None, -1, 1 << 62]


def test_headers_with_a_state_are_not_kept() -> None:
    """Every call has another one: they would take the place of headers that come again."""
    session = ready()
    for number in range(20):
        header = rpc_pb2.RpcRequestHeaderProto(
            rpcKind=rpc_pb2.RPC_PROTOCOL_BUFFER,
            rpcOp=rpc_pb2.RpcRequestHeaderProto.RPC_FINAL_PACKET,
            callId=number,
            clientId=CLIENT_ID,
            retryCount=-1,
            stateId=number,
        )
        method = rpc_pb2.RequestHeaderProto(
            methodName="m", declaringClassProtocolName="p", clientProtocolVersion=1
        )
        (event,) = session.receive(wire.frame(delimited(header), delimited(method), b"\0"))
        assert isinstance(event, Call)
    assert session._headers == {}
