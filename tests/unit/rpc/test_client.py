"""RpcClient against a scripted server on loopback."""

from __future__ import annotations

import errno
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from howdah import errors
from howdah.native.socket_io import Outcome
from howdah.proto import client_namenode_pb2 as nn
from howdah.proto import rpc_pb2
from howdah.protocol.rpc import wire
from howdah.rpc import client as rpc_client
from howdah.rpc import connection as rpc_connection
from howdah.rpc.client import RpcClient
from howdah.rpc.connection import Exchanged, Meanwhile, PreparedCall, exchange_here
from howdah.rpc.identity import SeenState
from howdah.runtime.users import current
from howdah.runtime.users.names import real_user_of

PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def split_delimited(data: bytes) -> list[bytes]:
    out, position = [], 0
    while position < len(data):
        length = shift = 0
        while True:
            byte = data[position]
            position += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        out.append(data[position : position + length])
        position += length
    return out


class Call:
    def __init__(self, frame: bytes) -> None:
        header, method, body = split_delimited(frame)
        self.header = rpc_pb2.RpcRequestHeaderProto.FromString(header)
        self.method = rpc_pb2.RequestHeaderProto.FromString(method)
        self.body = body


Answer = bytes | None | Callable[[socket.socket], None]


class ScriptedServer:
    """Answers each call with what `script` returns; None closes the connection."""

    def __init__(self, script: Callable[[Call], Answer]) -> None:
        self.script = script
        self.calls: list[Call] = []
        self.contexts: list[rpc_pb2.IpcConnectionContextProto] = []
        self.preambles: list[bytes] = []
        self.connections = 0
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._listener.getsockname()[:2]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            try:
                self.preambles.append(stream.read(7))
                while length := stream.read(4):
                    frame = stream.read(struct.unpack(">I", length)[0])
                    parts = split_delimited(frame)
                    if len(parts) == 2:
                        self.contexts.append(rpc_pb2.IpcConnectionContextProto.FromString(parts[1]))
                        continue
                    call = Call(frame)
                    self.calls.append(call)
                    answer = self.script(call)
                    if answer is None:
                        return
                    if callable(answer):
                        answer(connection)
                    else:
                        connection.sendall(answer)
            except OSError:
                return

    def drop_connections(self) -> None:
        for connection in self._open:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def close(self) -> None:
        # Closed alone, it would leave the thread in accept for ever.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop_connections()


def frame(*parts: bytes) -> bytes:
    payload = b"".join(varint(len(part)) + part for part in parts)
    return struct.pack(">I", len(payload)) + payload


def success(call: Call, exists: bool = True) -> bytes:
    header = rpc_pb2.RpcResponseHeaderProto(
        callId=call.header.callId,
        status=rpc_pb2.RpcResponseHeaderProto.SUCCESS,
        clientId=call.header.clientId,
    )
    return frame(
        header.SerializeToString(), nn.MkdirsResponseProto(result=exists).SerializeToString()
    )


def failure(call: Call, class_name: str, message: str, *, fatal: bool = False) -> bytes:
    status = rpc_pb2.RpcResponseHeaderProto
    header = rpc_pb2.RpcResponseHeaderProto(
        callId=0xFFFFFFFF if fatal else call.header.callId,
        status=status.FATAL if fatal else status.ERROR,
        exceptionClassName=class_name,
        errorMsg=message,
    )
    return frame(header.SerializeToString())


REQUEST = nn.RenewLeaseRequestProto(clientName="me")
Serve = Callable[[Callable[[Call], Answer]], tuple[ScriptedServer, RpcClient]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    made: list[ScriptedServer | RpcClient] = []

    def start(script: Callable[[Call], Answer]) -> tuple[ScriptedServer, RpcClient]:
        server = ScriptedServer(script)
        client = RpcClient(server.address, PROTOCOL, user="anna", call_timeout_s=30)
        made.extend((server, client))
        return server, client

    yield start
    for each in reversed(made):
        each.close()


def call(client: RpcClient, **options: float) -> bool:
    timeout_s = options.get("timeout_s")
    return client.call("mkdirs", REQUEST, nn.MkdirsResponseProto, timeout_s=timeout_s).result


def test_an_answer_comes_back(serve: Serve) -> None:
    _, client = serve(success)
    assert call(client) is True


def answered_as_ours(call: Call) -> bytes:
    header = call.header
    body = nn.MkdirsResponseProto(result=True)
    return wire.encode_answer(header.callId, header.clientId, header.retryCount, body)


def test_an_answer_as_our_servers_write_it_comes_back(serve: Serve) -> None:
    def answer(call: Call) -> bytes:
        header = call.header
        body = nn.MkdirsResponseProto(result=call.header.callId != 1)
        return wire.encode_answer(header.callId, header.clientId, header.retryCount, body)

    server, client = serve(answer)
    assert [call(client) for _ in range(3)] == [True, False, True]
    assert server.connections == 1


def test_an_answer_comes_in_any_pieces(serve: Serve) -> None:
    def in_pieces(connection: socket.socket) -> None:
        data = success(server.calls[-1])
        for place in range(len(data)):
            connection.sendall(data[place : place + 1])

    server, client = serve(lambda c: in_pieces)
    assert call(client) is True


def test_the_preamble_names_version_nine_and_no_authentication(serve: Serve) -> None:
    server, client = serve(success)
    call(client)
    assert server.preambles == [b"hrpc\x09\x00\x00"]


def test_the_connection_context_names_user_and_protocol(serve: Serve) -> None:
    server, client = serve(success)
    call(client)
    assert [(c.userInfo.effectiveUser, c.protocol) for c in server.contexts] == [("anna", PROTOCOL)]


def test_a_call_names_method_protocol_and_version(serve: Serve) -> None:
    server, client = serve(success)
    call(client)
    method = server.calls[0].method
    assert (method.methodName, method.declaringClassProtocolName) == ("mkdirs", PROTOCOL)
    assert method.clientProtocolVersion == 1
    assert server.calls[0].body == REQUEST.SerializeToString()


def test_calls_in_a_row_share_a_connection(serve: Serve) -> None:
    server, client = serve(success)
    for _ in range(5):
        call(client)
    assert server.connections == 1


def test_a_connection_that_was_idle_for_too_long_is_not_used_again() -> None:
    server = ScriptedServer(success)
    client = RpcClient(server.address, PROTOCOL, user="anna", call_timeout_s=30, idle_limit_s=0)
    for _ in range(3):
        call(client)
    client.close()
    server.close()
    assert server.connections == 3


def test_every_call_has_its_own_call_id(serve: Serve) -> None:
    server, client = serve(success)
    for _ in range(3):
        call(client)
    assert len({c.header.callId for c in server.calls}) == 3


def test_a_remote_error_is_raised_as_its_python_twin(serve: Serve) -> None:
    _, client = serve(lambda c: failure(c, "java.io.FileNotFoundException", "no /x"))
    with pytest.raises(errors.PathNotFound, match=r"^no /x$"):
        call(client)


def test_a_remote_stack_trace_becomes_a_note_and_not_the_message(serve: Serve) -> None:
    message = "no /x\n\tat org.Some.method(Some.java:1)\n\tat org.Other.run(Other.java:2)\n"
    _, client = serve(lambda c: failure(c, "java.io.FileNotFoundException", message))
    with pytest.raises(errors.PathNotFound) as caught:
        call(client)
    assert str(caught.value) == "no /x"
    assert "Other.java:2" in caught.value.__notes__[0]


def test_access_denied_by_a_file_in_the_path_is_also_not_a_directory() -> None:
    denied = "org.apache.hadoop.security.AccessControlException"
    through = errors.from_java(denied, "/a/file (is not a directory)")
    assert isinstance(through, PermissionError)
    assert isinstance(through, NotADirectoryError)
    assert type(errors.from_java(denied, "Permission denied")) is errors.AccessDenied


def test_a_routers_refusal_to_rename_is_told_by_its_message() -> None:
    said = "Rename of /a to /b is not allowed, no eligible destination in the same namespace was "
    across = errors.from_java("java.io.IOException", f"{said}found.")
    assert isinstance(across, errors.AcrossMountPoints)
    assert across.errno == errno.EXDEV
    assert type(errors.from_java("java.io.IOException", "Rename failed")) is errors.RemoteError


def test_a_connection_lives_on_after_an_error(serve: Serve) -> None:
    answers = iter([lambda c: failure(c, "java.io.IOException", "no"), success])
    server, client = serve(lambda c: next(answers)(c))
    with pytest.raises(errors.RemoteError):
        call(client)
    assert call(client)
    assert server.connections == 1


def test_a_connection_is_closed_after_a_fatal_error(serve: Serve) -> None:
    answers = iter([lambda c: failure(c, "java.io.IOException", "no", fatal=True), success])
    server, client = serve(lambda c: next(answers)(c))
    with pytest.raises(errors.RemoteError):
        call(client)
    assert call(client)
    assert server.connections == 2


def test_a_connection_that_died_while_idle_is_replaced(serve: Serve) -> None:
    server, client = serve(success)
    call(client)
    server.drop_connections()
    assert call(client)
    assert server.connections == 2


def test_a_call_that_meets_a_dying_connection_is_repeated_under_its_ids(serve: Serve) -> None:
    script: list[Callable[[Call], Answer]] = [success, lambda c: None, success]
    answers = iter(script)
    server, client = serve(lambda c: next(answers)(c))
    call(client)
    assert call(client)
    first, second = server.calls[1].header, server.calls[2].header
    assert (first.clientId, first.callId) == (second.clientId, second.callId)
    assert second.retryCount == 1


def test_a_fresh_connection_that_closes_is_not_tried_again(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpc_client, "by_asking", lambda _: None)
    server, client = serve(lambda c: None)
    with pytest.raises(errors.Unreachable, match=r"127\.0\.0\.1:\d+ ended the connection"):
        call(client)
    assert server.connections == 1


def test_an_answer_that_stops_half_way_is_unreachable(serve: Serve) -> None:
    def half(connection: socket.socket) -> None:
        connection.sendall(b"\0\0\0\x20abc")
        connection.shutdown(socket.SHUT_RDWR)

    _, client = serve(lambda c: half)
    with pytest.raises(errors.Unreachable, match="broke off"):
        call(client)


def test_silence_ends_in_a_timeout_that_names_server_and_method(serve: Serve) -> None:
    _, client = serve(lambda c: b"")
    with pytest.raises(errors.CallTimeout, match=r"127\.0\.0\.1:\d+ did not answer mkdirs"):
        call(client, timeout_s=0.1)


def test_an_answer_that_trickles_in_does_not_extend_the_timeout(serve: Serve) -> None:
    stop = threading.Event()

    def trickle(connection: socket.socket) -> None:
        connection.sendall(b"\0\0\x01\0")
        while not stop.wait(0.02):
            connection.sendall(b"x")

    _, client = serve(lambda c: trickle)
    with pytest.raises(errors.CallTimeout):
        call(client, timeout_s=0.3)
    stop.set()


def test_the_kernel_is_told_a_time_out_once_while_it_stays_the_same(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int]] = []

    class Counting(socket.socket):
        def setsockopt(self, level: int, option: int, value: Any) -> None:  # type: ignore[override]  # there are three forms, and this is ours
            if option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
                told.append((option, struct.unpack("ll", value)[0]))
            super().setsockopt(level, option, value)

    def in_part(sock: socket.socket, request: bytes, wait_ns: int, limit: int) -> Exchanged:
        sock.sendall(request)
        return Outcome.ODD, 0, sock.recv(2)

    monkeypatch.setattr(socket, "socket", Counting)
    monkeypatch.setattr(rpc_connection, "exchange", in_part)
    _, client = serve(success)
    call(client, timeout_s=100_000)
    before = len(told)
    for _ in range(5):
        call(client, timeout_s=100_000)
    assert len(told) == before
    call(client, timeout_s=50_000)
    assert [(option, round(value / 1000)) for option, value in told[before:]] == [
        (socket.SO_RCVTIMEO, 50)
    ]


def test_a_call_that_waits_looks_whether_that_is_worth_it(serve: Serve) -> None:
    class Enough(Exception):
        pass

    looks: list[int] = []

    def look() -> None:
        looks.append(1)
        if len(looks) == 3:
            raise Enough

    server, client = serve(lambda c: b"")
    with pytest.raises(Enough):
        client.call("mkdirs", REQUEST, nn.MkdirsResponseProto, meanwhile=Meanwhile(0.01, look))
    server.script = success
    assert call(client) is True
    assert server.connections == 2


def test_an_announced_answer_over_the_limit_is_refused(serve: Serve) -> None:
    _, client = serve(lambda c: b"\x7f\xff\xff\xff")
    with pytest.raises(errors.ProtocolViolation, match="2147483647 bytes"):
        call(client)


@pytest.mark.parametrize(
    "garbage",
    [b"\0\0\0\x03\xff\xff\xff", b"\0\0\0\x02\x09x", b"\0\0\0\x03\x02\xff\xff", b"\0\0\0\0"],
)
def test_garbage_is_a_protocol_violation(serve: Serve, garbage: bytes) -> None:
    _, client = serve(lambda c: garbage)
    with pytest.raises(errors.ProtocolViolation):
        call(client)


def test_an_answer_to_another_call_is_a_protocol_violation(serve: Serve) -> None:
    def other(received: Call) -> bytes:
        received.header.callId += 7
        return success(received)

    _, client = serve(other)
    with pytest.raises(errors.ProtocolViolation, match="asked was call"):
        call(client)


def test_a_port_without_a_server_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
    with pytest.raises(errors.Unreachable, match=f"127.0.0.1:{address[1]}"):
        call(RpcClient(address, PROTOCOL))


def test_a_name_without_an_address_is_an_unknown_host() -> None:
    with pytest.raises(errors.UnknownHost, match=r"nowhere\.invalid"):
        call(RpcClient(("nowhere.invalid", 8020), PROTOCOL))


def test_threads_call_at_the_same_time(serve: Serve) -> None:
    both = threading.Barrier(2, timeout=30)

    def script(received: Call) -> bytes:
        both.wait()
        return success(received)

    _, client = serve(script)
    results: list[bool] = []
    threads = [threading.Thread(target=lambda: results.append(call(client))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert results == [True, True]


def test_a_forked_child_uses_its_own_connection_and_client_id(serve: Serve) -> None:
    server, client = serve(success)
    call(client)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if call(client) else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert call(client)
    assert server.connections == 2
    parent, in_child, again = (c.header.clientId for c in server.calls)
    assert parent == again != in_child


def test_a_closed_client_refuses_calls(serve: Serve) -> None:
    _, client = serve(success)
    client.close()
    with pytest.raises(errors.Unreachable, match="closed"):
        call(client)


def test_the_user_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_USER_NAME", "berta")
    assert current.current_user() == "berta"
    monkeypatch.setenv("HADOOP_PROXY_USER", "")
    assert real_user_of(current.current_user()) is None


def test_the_environment_names_a_user_to_act_for(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADOOP_USER_NAME", "hive")
    monkeypatch.setenv("HADOOP_PROXY_USER", "joe")
    server, _ = serve(success)
    # What is given no user is a server, which acts for nobody.
    for given in (current.current_user(), None):
        client = RpcClient(server.address, PROTOCOL, user=given)
        call(client)
        client.close()
    found = [(each.userInfo.effectiveUser, each.userInfo.realUser) for each in server.contexts]
    assert found == [("joe", "hive"), ("hive", "")]


def test_a_client_id_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(errors.IllegalArgument):
        RpcClient(("localhost", 1), PROTOCOL, client_id=b"short")


# --- calls that are made by somebody else -----------------------------------------------------


def made(prepared: PreparedCall) -> bool:
    """Sent and heard by another one."""
    sock = prepared.connection._socket
    answer = exchange_here(sock, prepared.request, 60_000_000_000, 1000)
    if isinstance(answer, bytes):
        return prepared.answered(Outcome.WHOLE, answer)
    return prepared.answered(answer[0], answer[2])


def test_a_call_is_prepared_for_a_connection_that_is_idle(serve: Serve) -> None:
    server, client = serve(answered_as_ours)
    assert client.prepare("mkdirs", REQUEST) is None
    call(client)
    prepared = client.prepare("mkdirs", REQUEST)
    assert prepared is not None
    # It has the only one.
    assert client.prepare("mkdirs", REQUEST) is None
    assert made(prepared)
    assert call(client) is True
    assert server.connections == 1
    assert [each.method.methodName for each in server.calls] == ["mkdirs"] * 3
    assert len({each.header.callId for each in server.calls}) == 3


def test_a_prepared_call_that_is_not_made_leaves_its_connection_to_others(serve: Serve) -> None:
    server, client = serve(answered_as_ours)
    call(client)
    prepared = client.prepare("mkdirs", REQUEST)
    assert prepared is not None
    prepared.unused()
    assert call(client) is True
    assert server.connections == 1


@pytest.mark.parametrize(
    "bad",
    [
        lambda each: failure(each, "java.io.IOException", "no"),
        lambda each: failure(each, "java.io.IOException", "no", fatal=True),
        lambda each: None,
        lambda each: success(each) + b"x",
        lambda each: frame(b"what"),
    ],
    ids=["error", "fatal", "end", "too much", "junk"],
)
def test_a_prepared_call_that_did_not_go_well_ends_its_connection(
    serve: Serve, bad: Callable[[Call], Answer]
) -> None:
    server, client = serve(lambda each: bad(each) if len(server.calls) == 2 else success(each))
    call(client)
    prepared = client.prepare("mkdirs", REQUEST)
    assert prepared is not None
    assert not made(prepared)
    assert call(client) is True
    assert server.connections == 2


def test_a_client_that_is_closed_or_tells_what_it_has_seen_prepares_nothing(serve: Serve) -> None:
    server, client = serve(success)
    call(client)
    client.close()
    assert client.prepare("mkdirs", REQUEST) is None
    other = RpcClient(server.address, PROTOCOL, user="anna", seen=SeenState())
    call(other)
    assert other.prepare("mkdirs", REQUEST) is None
    other.close()


def test_the_whole_time_is_named_within_which_a_server_accepted_no_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is spent in pieces, between which somebody looks meanwhile."""
    looks: list[str] = []

    def not_accepted(*where: object) -> None:
        raise rpc_connection.NotAccepted(f"not within {where[-1]} s")

    monkeypatch.setattr(rpc_client, "Connection", not_accepted)
    client = RpcClient(("127.0.0.1", 1), PROTOCOL)
    meanwhile = Meanwhile(0.01, lambda: looks.append("looked"))
    with pytest.raises(rpc_connection.NotAccepted, match=r"did not accept .* within 0\.05 s$"):
        client._connect(b"", 0.05, meanwhile)
    assert looks
