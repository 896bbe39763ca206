"""Two calls in one piece: what the server sees, and what becomes of each when something fails."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from google.protobuf.message import EncodeError

from howdah import errors
from howdah.proto import client_namenode_pb2 as nn
from howdah.proto import rpc_pb2
from howdah.protocol.rpc import wire
from howdah.protocol.varint import encode_varint
from howdah.rpc.call_pair import CallPair
from howdah.rpc.client import RpcClient

PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
REQUEST = nn.RenewLeaseRequestProto(clientName="me")
SUCCESS = rpc_pb2.RpcResponseHeaderProto.SUCCESS
ERROR = rpc_pb2.RpcResponseHeaderProto.ERROR


class Call:
    def __init__(self, frame: bytes) -> None:
        raw, position = wire.read_delimited(frame, 0)
        self.header = rpc_pb2.RpcRequestHeaderProto.FromString(raw)
        self.method = ""
        if self.header.callId >= 0:
            raw, _ = wire.read_delimited(frame, position)
            self.method = rpc_pb2.RequestHeaderProto.FromString(raw).methodName


def answer(call: Call, *, result: bool = True, refusal: str = "") -> bytes:
    header = rpc_pb2.RpcResponseHeaderProto(
        callId=call.header.callId, status=ERROR if refusal else SUCCESS
    )
    parts = [header.SerializeToString()]
    if refusal:
        header.exceptionClassName, header.errorMsg = refusal, "no"
        parts = [header.SerializeToString()]
    else:
        parts.append(nn.MkdirsResponseProto(result=result).SerializeToString())
    payload = b"".join(encode_varint(len(each)) + each for each in parts)
    return len(payload).to_bytes(4, "big") + payload


class Server:
    """Keeps the calls of each piece that came, and answers them with what `script` returns."""

    def __init__(self, script: Callable[[list[Call]], bytes | None]) -> None:
        self._script = script
        self.pieces: list[list[Call]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._listener.getsockname()[:2]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            frames, preamble = wire.FrameBuffer(), len(wire.preamble())
            while True:
                try:
                    piece = connection.recv(1 << 16)
                except OSError:
                    return
                if not piece:
                    return
                found = frames.feed(piece[preamble:])
                calls = [each for each in map(Call, found) if each.method]
                preamble = 0
                if not calls:
                    continue
                self.pieces.append(calls)
                answers = self._script(calls)
                if answers is None:
                    return
                connection.sendall(answers)

    def close(self) -> None:
        if self._listener.fileno() >= 0:
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


Start = Callable[[Callable[[list[Call]], bytes | None]], tuple[Server, RpcClient]]


@pytest.fixture
def start() -> Iterator[Start]:
    made: list[Server | RpcClient] = []

    def begin(script: Callable[[list[Call]], bytes | None]) -> tuple[Server, RpcClient]:
        server = Server(script)
        client = RpcClient(server.address, PROTOCOL, user="anna", call_timeout_s=30)
        made.extend((server, client))
        return server, client

    yield begin
    for each in reversed(made):
        each.close()


def call(client: RpcClient, method: str = "rename") -> bool:
    return client.call(method, REQUEST, nn.MkdirsResponseProto).result


def both(
    pair: CallPair, first: Callable[[], object], second: Callable[[], object]
) -> tuple[object, object]:
    """What the two return, or raise."""

    def within(number: int, makes: Callable[[], object]) -> object:
        with pair.slot(number):
            try:
                return makes()
            except errors.HowdahError as error:
                return error

    with ThreadPoolExecutor(2) as pool:
        made = [pool.submit(within, 0, first), pool.submit(within, 1, second)]
        found = [each.result(60) for each in made]
    return found[0], found[1]


def to_all(calls: list[Call]) -> bytes:
    return b"".join(answer(each, result=each.method == "rename") for each in calls)


def test_two_calls_come_in_one_piece_the_first_one_first(start: Start) -> None:
    server, client = start(to_all)
    pair = CallPair("rename", "rename2")
    assert both(pair, lambda: call(client), lambda: call(client, "rename2")) == (True, False)
    assert [[each.method for each in piece] for piece in server.pieces] == [["rename", "rename2"]]


def test_answers_may_come_in_any_order(start: Start) -> None:
    _, client = start(lambda calls: to_all(calls[::-1]))
    pair = CallPair("rename", "rename2")
    assert both(pair, lambda: call(client), lambda: call(client, "rename2")) == (True, False)


def test_each_gets_the_error_that_is_its_own(start: Start) -> None:
    refusal = "java.io.FileNotFoundException"
    _, client = start(lambda calls: answer(calls[0], refusal=refusal) + to_all(calls[1:]))
    pair = CallPair("rename", "rename2")
    first, second = both(pair, lambda: call(client), lambda: call(client, "rename2"))
    assert isinstance(first, errors.PathNotFound)
    assert second is False


def test_other_calls_of_the_threads_and_repetitions_go_on_their_own(start: Start) -> None:
    server, client = start(to_all)
    pair = CallPair("rename")
    both(pair, lambda: (call(client, "mkdirs"), call(client), call(client)), lambda: call(client))
    assert sorted(len(piece) for piece in server.pieces) == [1, 1, 2]


def test_a_call_whose_other_one_is_not_made_goes_on_its_own(start: Start) -> None:
    server, client = start(to_all)
    # It does not wait for its patience's end: the other one's thread is done.
    pair = CallPair("rename", patience_s=600)
    assert both(pair, lambda: call(client), lambda: "nothing") == (True, "nothing")
    assert [len(piece) for piece in server.pieces] == [1]


def test_patience_ends_and_who_comes_later_does_not_wait_for_who_went(start: Start) -> None:
    server, client = start(to_all)
    pair = CallPair("rename", patience_s=0.01)
    has_gone = threading.Event()

    def first() -> bool:
        found = call(client)
        has_gone.set()
        return found

    assert both(pair, first, lambda: (has_gone.wait(60), call(client))[1]) == (True, True)
    assert [len(piece) for piece in server.pieces] == [1, 1]


def test_calls_to_two_servers_go_on_their_own(start: Start) -> None:
    server, client = start(to_all)
    other, client_of_other = start(to_all)
    pair = CallPair("rename", patience_s=600)
    assert both(pair, lambda: call(client), lambda: call(client_of_other)) == (True, True)
    assert [len(piece) for piece in server.pieces + other.pieces] == [1, 1]


def test_when_the_connection_breaks_both_are_repeated_under_their_numbers(start: Start) -> None:
    def script(calls: list[Call]) -> bytes | None:
        return to_all(calls) if len(calls) == 1 else None

    server, client = start(script)
    pair = CallPair("rename", "rename2")
    assert both(pair, lambda: call(client), lambda: call(client, "rename2")) == (True, False)
    [together] = [piece for piece in server.pieces if len(piece) == 2]
    again = [piece[0] for piece in server.pieces if len(piece) == 1]
    assert {each.header.callId for each in again} == {each.header.callId for each in together}
    assert {each.header.retryCount for each in again} == {1}


def test_a_server_that_cannot_be_reached_is_told_to_both(start: Start) -> None:
    server, client = start(to_all)
    server.close()
    first, second = both(CallPair("rename"), lambda: call(client), lambda: call(client))
    assert isinstance(first, errors.Unreachable)
    assert isinstance(second, errors.Unreachable)


def test_answers_to_other_calls_are_refused(start: Start) -> None:
    def script(calls: list[Call]) -> bytes | None:
        if len(calls) == 1:
            return to_all(calls)
        calls[1].header.callId += 7
        return to_all(calls)

    _, client = start(script)
    first, second = both(CallPair("rename"), lambda: call(client), lambda: call(client))
    assert isinstance(first, errors.ProtocolViolation)
    assert isinstance(second, errors.ProtocolViolation)


@pytest.mark.parametrize("number", [0, 1])
def test_when_one_cannot_be_sent_the_other_one_goes_on_its_own(start: Start, number: int) -> None:
    server, client = start(to_all)

    def without_its_fields() -> str:
        with pytest.raises(EncodeError):
            client.call("rename", nn.RenewLeaseRequestProto(), nn.MkdirsResponseProto)
        return "refused"

    calls: list[Callable[[], object]] = [lambda: call(client)] * 2
    calls[number] = without_its_fields
    found = both(CallPair("rename", patience_s=600), *calls)
    assert found[number] == "refused"
    assert found[1 - number] is True
    assert [len(piece) for piece in server.pieces] == [1]


def test_a_server_that_says_nothing_is_waited_for_as_long_as_each_may_take(start: Start) -> None:
    server, client = start(lambda _: b"")

    def within(timeout_s: float) -> object:
        return client.call("rename", REQUEST, nn.MkdirsResponseProto, timeout_s=timeout_s)

    # The second one does not wait for the first one's longer time.
    first, second = both(CallPair("rename"), lambda: within(2), lambda: within(0.2))
    assert isinstance(first, errors.CallTimeout)
    assert isinstance(second, errors.CallTimeout)
    assert [len(piece) for piece in server.pieces] == [2]
