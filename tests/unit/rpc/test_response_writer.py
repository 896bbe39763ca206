"""Answers that a server leaves with its barrier: they arrive whole, and a slow reader gets all."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pytest
import uvloop

from howdah import errors
from howdah.native.loader import kernel
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto.rpc_pb2 import RpcResponseHeaderProto as Header
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.server_hooks import OpenBarrier
from howdah.protocol.rpc.service import Deferred, Registry, Service, unanswered
from howdah.rpc.response_writer import MOST_WAITING_BYTES, ResponseWriter
from howdah.rpc.server import RpcServer
from howdah.testing.waiting import wait_until

if TYPE_CHECKING:
    from howdah.native._kernel import Outlet

T = TypeVar("T")
Left = tuple["Outlet", bytes, Callable[[bytes], object]]

PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
CLIENT_ID = b"c" * 16
ROOM_BYTES = 4096

pytestmark = pytest.mark.skipif(kernel() is None, reason="the kernel is not built")


class Log(OpenBarrier):
    """Holds all answers back, and sends them as a log's thread does, when it is told to."""

    sends = True

    def __init__(self) -> None:
        self.takes = True
        self.left: list[Left] = []
        self.rest: list[tuple[Callable[[bytes], object], bytes]] = []
        self.waiting: list[Callable[[], None]] = []

    def must_wait(self, *, early: bool = False) -> bool:
        return True

    def when_clear(
        self, send: Callable[[], None], give_up: Callable[[], None] | None = None
    ) -> None:
        self.waiting.append(send)

    def send_when_durable(
        self, outlet: Outlet, data: bytes, back: Callable[[bytes], object]
    ) -> bool:
        if self.takes:
            self.left.append((outlet, data, back))
        return self.takes

    def send(self) -> None:
        """All that was left here; what cannot be sent waits for `give_back`."""
        left, self.left = self.left, []
        for outlet, data, back in left:
            sent = outlet.send(data)
            if sent < len(data):
                self.rest.append((back, data[max(sent, 0) :]))

    def give_back(self) -> None:
        """The loop hears of it."""
        rest, self.rest = self.rest, []
        for back, data in rest:
            back(data)
        waiting, self.waiting = self.waiting, []
        for send in waiting:
            send()


class Thread(OpenBarrier):
    """Holds all answers back. They leave by a writer's thread when the test has a record put, and
    the loop hears of it, as a namenode's barrier does, when the test says so."""

    sends = True

    def __init__(self) -> None:
        native = kernel()
        assert native is not None
        self._file = os.memfd_create("segment")
        self._writer = native.DirectWriter(-1)
        self._writer.open([(self._file, -1, 0, 0)], 0)
        self._running = threading.Thread(target=self._writer.run)
        self._running.start()
        self._waiting: deque[Callable[[], None]] = deque()
        self.left = 0
        self.txid = 0

    def must_wait(self, *, early: bool = False) -> bool:
        return True

    def when_clear(
        self, send: Callable[[], None], give_up: Callable[[], None] | None = None
    ) -> None:
        self._waiting.append(send)

    def send_when_durable(
        self, outlet: Outlet, data: bytes, back: Callable[[bytes], object]
    ) -> bool:
        self.left += 1
        return bool(self._writer.answer(outlet, data, self.txid + 1, back) > 0)

    def send(self) -> None:
        self.txid += 1
        self._writer.put([b"record"], self.txid, False)
        self._end_run()
        self._writer.open([(self._file, -1, self.txid * 6, self.txid * 6)], self.txid)
        self._running = threading.Thread(target=self._writer.run)
        self._running.start()

    def _end_run(self) -> None:
        wait_until(lambda: self._writer.look() == self.txid)
        self._writer.interrupt()
        self._running.join()
        self._writer.close()

    def hear(self) -> None:
        turns = 0
        while self._waiting:
            self._waiting.popleft()()
            turns += 1
            assert turns < 1000, "who waits may leave, and is not to wait again at once"
        for back, data in self._writer.returned(self.txid):
            back(data)

    def end(self) -> None:
        self._end_run()
        os.close(self._file)


# By itself.


class Transport(asyncio.Transport):
    """Of a connection whose client reads when the test does."""

    def __init__(self, end: socket.socket) -> None:
        super().__init__()
        self.end = end
        self.buffer = b""

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self.end if name == "socket" else default

    def get_write_buffer_size(self) -> int:
        return len(self.buffer)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.buffer += bytes(data)
        self.flush()

    def flush(self) -> None:
        try:
            while self.buffer:
                self.buffer = self.buffer[self.end.send(self.buffer) :]
        except BlockingIOError:
            return


class Ends:
    def __init__(self) -> None:
        near, self.far = socket.socketpair()
        near.setblocking(False)
        near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM_BYTES)
        self.far.settimeout(60)
        self.transport = Transport(near)
        self.way = ResponseWriter(self.transport)
        self.log = Log()

    def leave(self, data: bytes) -> bool:
        return self.way.hand_over(data, self.log)

    def receive(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            self.transport.flush()
            found += self.far.recv(count - len(found))
        return found


@pytest.fixture
def ends() -> Iterator[Ends]:
    found = Ends()
    yield found
    found.way.close()
    found.far.close()
    found.transport.end.close()


def test_a_way_out_has_an_outlet_from_the_first_answer_that_is_left(ends: Ends) -> None:
    ends.way.write(b"first")
    assert ends.leave(b"second")
    ends.way.write(b"third")
    ends.log.send()
    assert ends.receive(16) == b"firstthirdsecond"


def test_nothing_is_left_where_the_client_has_to_read_first(ends: Ends) -> None:
    ends.way.write(bytes(1 << 20))
    assert not ends.leave(b"more"), "an outlet would overtake the transport"
    ends.receive(1 << 20)
    assert ends.leave(b"more")
    ends.way.write(bytes(1 << 20))
    assert not ends.leave(b"again"), "it is closed"
    ends.log.send()
    ends.log.give_back()
    ends.receive((1 << 20) + 4)
    assert ends.leave(b"again"), "and open again"
    ends.log.send()
    assert ends.receive(5) == b"again"


def test_what_is_given_back_comes_before_all_that_is_written_since(ends: Ends) -> None:
    answers = [bytes([65 + number]) * 10_000 for number in range(5)]
    for each in answers:
        assert ends.leave(each)
    ends.log.send()
    assert ends.log.rest
    ends.log.give_back()
    ends.way.write(b"behind")
    assert ends.receive(50_006) == b"".join(answers) + b"behind"


def test_no_more_is_left_than_a_client_may_have_before_it(ends: Ends) -> None:
    native = kernel()
    assert native is not None
    writer = native.DirectWriter(-1)

    class Keeps(Log):
        def send_when_durable(
            self, outlet: Outlet, data: bytes, back: Callable[[bytes], object]
        ) -> bool:
            return bool(writer.answer(outlet, data, 1, back))

    keeps = Keeps()
    assert ends.way.hand_over(bytes(MOST_WAITING_BYTES), keeps)
    assert ends.way.hand_over(b"x", keeps)
    assert not ends.way.hand_over(b"x", keeps)
    assert ends.way.waiting_bytes == MOST_WAITING_BYTES + 1
    writer.returned(1)
    assert ends.way.waiting_bytes == 0
    assert ends.way.hand_over(b"x", keeps)


def test_what_is_owed_comes_before_what_is_written_meanwhile(ends: Ends) -> None:
    """A log's thread has begun an answer, and the loop has not heard of its rest yet."""
    native = kernel()
    assert native is not None
    writer, file = native.DirectWriter(-1), os.memfd_create("segment")

    class Thread(Log):
        def send_when_durable(
            self, outlet: Outlet, data: bytes, back: Callable[[bytes], object]
        ) -> bool:
            return bool(writer.answer(outlet, data, 1, back))

    assert ends.way.hand_over(b"A" * 200_000, Thread())
    writer.open([(file, -1, 0, 0)], 0)
    running = threading.Thread(target=writer.run)
    running.start()
    writer.put([b"record"], 1, False)
    wait_until(lambda: writer.look() == 1)
    writer.interrupt()
    running.join()
    owed_bytes = ends.way.waiting_bytes
    assert 0 < owed_bytes < 200_000
    ends.way.write(b"behind")
    assert ends.way.waiting_bytes == owed_bytes + 6, "it waits here"
    for back, data in writer.returned(0):
        back(data)
    assert ends.receive(200_006) == b"A" * 200_000 + b"behind"
    assert ends.way.waiting_bytes == 0
    writer.close()
    os.close(file)


def test_behind_its_end_nothing_is_left_or_written(ends: Ends) -> None:
    assert ends.leave(b"answer")
    ends.way.close()
    ends.log.send()
    ends.log.give_back()
    assert not ends.leave(b"more")
    assert not ends.transport.buffer


def test_without_a_descriptor_the_transport_has_all(
    ends: Ends, caplog: pytest.LogCaptureFixture
) -> None:
    class Gone:
        def fileno(self) -> int:
            return 1 << 20

    ends.transport.end, kept = cast(socket.socket, Gone()), ends.transport.end
    assert not ends.leave(b"answer")
    assert "sent by the loop alone" in caplog.text
    ends.transport.end = kept
    ends.way.write(b"answer")
    assert ends.receive(6) == b"answer"


# In a server.


class Implementation:
    later: Deferred | None = None

    def get_link_target(
        self, request: pb.GetLinkTargetRequestProto, caller: Caller
    ) -> pb.GetLinkTargetResponseProto | Deferred:
        if request.path == "/refused":
            raise errors.PathNotFound("/refused")
        if request.path == "/later":
            self.later = Deferred()
            return self.later
        return pb.GetLinkTargetResponseProto(targetPath=request.path * 100)


def question(path: str, call_id: int) -> bytes:
    return wire.encode_call(
        protocol=PROTOCOL,
        method="getLinkTarget",
        request=pb.GetLinkTargetRequestProto(path=path),
        call_id=call_id,
        client_id=CLIENT_ID,
    )


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def answer(self) -> Header:
        head = await self.reader.readexactly(4)
        return wire.decode_answer(await self.reader.readexactly(int.from_bytes(head, "big")))[0]


L = TypeVar("L", Log, Thread)


def run(scenario: Callable[[Log, RpcServer, Callable[[], Awaitable[Client]]], Awaitable[T]]) -> T:
    return run_with(Log(), Implementation(), scenario)


def run_with(
    log: L,
    implementation: Implementation,
    scenario: Callable[[L, RpcServer, Callable[[], Awaitable[Client]]], Awaitable[T]],
) -> T:
    async def main() -> T:
        descriptor = pb.DESCRIPTOR.services_by_name["ClientNamenodeProtocol"]
        refused = unanswered(descriptor, implementation)
        service = Service(PROTOCOL, 1, descriptor, implementation, refused=refused)
        server = RpcServer(Registry([service]), barrier=log)
        port = await server.start("127.0.0.1", 0)

        async def client() -> Client:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(wire.preamble() + wire.encode_context(PROTOCOL, "alice", CLIENT_ID, None))
            return Client(reader, writer)

        try:
            return await asyncio.wait_for(scenario(log, server, client), 60)
        finally:
            await server.stop()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


def test_answers_and_errors_are_left() -> None:
    async def scenario(
        log: Log, server: RpcServer, connect: Callable[[], Awaitable[Client]]
    ) -> list[tuple[int, str]]:
        client = await connect()
        client.writer.write(question("/a", 1) + question("/refused", 2) + question("/b", 3))
        await until(lambda: len(log.left) == 3)
        assert not log.waiting
        (connection,) = server.connections
        log.send()
        found = [await client.answer() for _ in range(3)]
        assert connection.is_idle(float("inf"))
        return [(each.callId, each.exceptionClassName) for each in found]

    assert run(scenario) == [(1, ""), (2, "java.io.FileNotFoundException"), (3, "")]


def test_answers_that_are_refused_wait_as_they_did() -> None:
    async def scenario(
        log: Log, server: RpcServer, connect: Callable[[], Awaitable[Client]]
    ) -> int:
        client = await connect()
        log.takes = False
        client.writer.write(question("/a", 1))
        await until(lambda: bool(log.waiting))
        log.give_back()
        return (await client.answer()).callId

    assert run(scenario) == 1


def test_who_does_not_read_is_not_served_and_gets_all_of_it_in_the_end() -> None:
    async def scenario(
        log: Log, server: RpcServer, connect: Callable[[], Awaitable[Client]]
    ) -> None:
        client = await connect()
        path, count = "/" + "x" * 999, 200

        async def go_on() -> None:
            while True:
                log.send()
                log.give_back()
                await asyncio.sleep(0.001)

        sending = asyncio.get_running_loop().create_task(go_on())
        client.writer.write(b"".join(question(path, number) for number in range(count)))
        await until(lambda: any(each.waiting for each in server.connections))
        assert [(await client.answer()).callId for _ in range(count)] == list(range(count))
        client.writer.write(question("/a", count))
        assert (await client.answer()).callId == count
        sending.cancel()

    run(scenario)


def test_an_answer_for_who_has_gone_is_dropped() -> None:
    async def scenario(
        log: Log, server: RpcServer, connect: Callable[[], Awaitable[Client]]
    ) -> None:
        client = await connect()
        client.writer.write(question("/a", 1))
        await until(lambda: bool(log.left))
        client.writer.close()
        await until(lambda: not server.connections)
        log.send()
        log.give_back()

    run(scenario)


TOO_LONG = (1 << 31).to_bytes(4, "big")
"""The length of a frame that no server takes: the connection ends."""


def test_a_connection_ends_behind_what_it_is_owed() -> None:
    """The client breaks the protocol while the loop has not heard yet that it does not read."""

    async def scenario(
        log: Thread, server: RpcServer, connect: Callable[[], Awaitable[Client]]
    ) -> None:
        client = await connect()
        path, count = "/" + "x" * 999, 10
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await until(lambda: bool(server.connections))
        connection: Any = next(iter(server.connections))
        end = connection._transport.get_extra_info("socket")
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM_BYTES)
        client.writer.write(b"".join(question(path, number) for number in range(count)))
        await until(lambda: connection._in_flight == 0 and log.left > 0)
        await until(lambda: not connection.waiting)
        log.send()
        assert connection._answers.lent_bytes
        client.writer.write(TOO_LONG)
        await until(lambda: connection._farewell.is_begun)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        log.hear()

        async def go_on() -> None:
            while True:
                log.send()
                log.hear()
                await asyncio.sleep(0.001)

        hearing = asyncio.get_running_loop().create_task(go_on())
        client.writer.transport.resume_reading()  # type: ignore[attr-defined]
        found = [await client.answer() for _ in range(count + 1)]
        assert sorted(each.callId for each in found if each.status == Header.SUCCESS) == list(
            range(count)
        )
        assert await client.reader.read() == b""
        hearing.cancel()

    log = Thread()
    try:
        run_with(log, Implementation(), scenario)
    finally:
        log.end()


def test_behind_the_end_of_a_connection_nothing_is_left() -> None:
    implementation = Implementation()

    async def scenario(
        log: Log, server: RpcServer, connect: Callable[[], Awaitable[Client]]
    ) -> None:
        client = await connect()
        client.writer.write(question("/later", 1) + TOO_LONG)
        assert (await client.answer()).status == Header.FATAL
        assert await client.reader.read() == b""
        assert server.connections, "it lingers"
        assert implementation.later is not None
        implementation.later.settle(pb.GetLinkTargetResponseProto(targetPath="/x"))
        assert not log.left
        log.give_back()
        client.writer.close()
        await until(lambda: not server.connections)

    run_with(Log(), implementation, scenario)
