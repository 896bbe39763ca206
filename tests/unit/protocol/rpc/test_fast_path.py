"""A server that answers calls by their bytes: what is seen of it is as before."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
import uvloop
from google.protobuf.message import Message

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import rpc_pb2
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.call import Call, Caller
from howdah.protocol.rpc.server_hooks import OpenBarrier
from howdah.protocol.rpc.service import Registry, Service, unanswered
from howdah.rpc.server import CALLS_PER_TURN, RpcServer

PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
CLIENT_ID = b"c" * 16
DESCRIPTOR = pb.DESCRIPTOR.services_by_name["ClientNamenodeProtocol"]
T = TypeVar("T")


class Implementation:
    """Says which way a call came: `getLinkTarget` answers with its path and the way."""

    def __init__(self) -> None:
        self.by_handler: list[str] = []
        self.by_bytes: list[str] = []
        self.is_quick = True
        self.fails = False

    def get_link_target(self, request: pb.GetLinkTargetRequestProto, caller: Caller) -> Any:
        self.by_handler.append(request.path)
        if request.path == "/refused":
            raise errors.PathNotFound("no such thing")
        return pb.GetLinkTargetResponseProto(targetPath=request.path)

    def quick(self, request: bytes, user: str, address: str) -> bytes | None:
        assert (user, address) == ("alice", "127.0.0.1")
        if self.fails:
            raise ZeroDivisionError
        path = pb.GetLinkTargetRequestProto.FromString(request).path
        if not self.is_quick or path == "/refused":
            return None
        self.by_bytes.append(path)
        return pb.GetLinkTargetResponseProto(targetPath=path).SerializeToString()


class Gate(OpenBarrier):
    """A barrier."""

    def __init__(self) -> None:
        self.shut = False
        self.waiting: list[Callable[[], None]] = []
        self.given_up: list[Callable[[], None]] = []

    def must_wait(self, *, early: bool = False) -> bool:
        return self.shut

    def when_clear(
        self, send: Callable[[], None], give_up: Callable[[], None] | None = None
    ) -> None:
        self.waiting.append(send)
        assert give_up is not None
        self.given_up.append(give_up)


class Watching:
    """An observer of all calls."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def watches(self, protocol: str, method: str) -> bool:
        return True

    def answered(
        self, method: str, request: Message, caller: Caller, outcome: Message | errors.HowdahError
    ) -> None:
        self.seen.append(method)


class Unknown:
    """An admission that knows nobody until it is told to."""

    def __init__(self) -> None:
        self.knows = False
        self.waiting: list[Callable[[errors.HowdahError | None], None]] = []

    def is_known(self, user: str) -> bool:
        return self.knows

    def when_known(self, user: str, go_on: Callable[[errors.HowdahError | None], None]) -> None:
        self.waiting.append(go_on)


class At:
    """An alignment: this server is at a transaction, and may hold calls."""

    def __init__(self, *, holds: bool) -> None:
        self._holds = holds

    def state_id(self) -> int:
        return 300

    def holds_nobody(self) -> bool:
        return not self._holds

    def must_wait(self, call: Call) -> bool:
        return False

    def when_reached(self, call: Call, go_on: Callable[[errors.HowdahError | None], None]) -> None:
        raise AssertionError("nobody waits")


class World:
    def __init__(self, observer: Watching | None = None) -> None:
        self.implementation = one = Implementation()
        self.is_open = True
        self.gate = Gate()
        service = Service(
            PROTOCOL,
            1,
            DESCRIPTOR,
            one,
            refused=unanswered(DESCRIPTOR, one),
            quick={"getLinkTarget": one.quick},
        )
        self.server = RpcServer(
            Registry(
                [service],
                lambda protocol, method, request: None,
                observer,
                is_open=lambda: self.is_open,
            ),
            barrier=self.gate,
        )

    async def client(self) -> Client:
        """One whose calls have been seen: the first of a kind takes the usual way."""
        (port,) = self.server.figures
        client = Client(*await asyncio.open_connection("127.0.0.1", port))
        client.writer.write(wire.preamble() + wire.encode_context(PROTOCOL, "alice", CLIENT_ID))
        assert await client.ask("/first") == "/first"
        self.implementation.by_handler.clear()
        return client

    @property
    def ways(self) -> tuple[list[str], list[str]]:
        return self.implementation.by_bytes, self.implementation.by_handler


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def answer(self) -> tuple[rpc_pb2.RpcResponseHeaderProto, str]:
        head = await self.reader.readexactly(4)
        payload = await self.reader.readexactly(int.from_bytes(head, "big"))
        header, body = wire.decode_answer(payload)
        return header, pb.GetLinkTargetResponseProto.FromString(body).targetPath

    async def ask(self, path: str) -> str:
        self.writer.write(link(path))
        return (await self.answer())[1]


def link(path: str, call_id: int = 0, *, trace: bytes = b"", state: int | None = None) -> bytes:
    return wire.encode_call(
        protocol=PROTOCOL,
        method="getLinkTarget",
        request=pb.GetLinkTargetRequestProto(path=path),
        call_id=call_id,
        client_id=CLIENT_ID,
        trace=trace,
        state_id=state,
    )


def run(scenario: Callable[[World], Awaitable[T]], observer: Watching | None = None) -> T:
    async def main() -> T:
        world = World(observer)
        await world.server.start("127.0.0.1", 0)
        try:
            return await asyncio.wait_for(scenario(world), 30)
        finally:
            await world.server.stop()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


def test_a_call_is_answered_by_its_bytes_and_counted() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        assert await client.ask("/a") == "/a"
        assert world.ways == (["/a"], [])
        (figures,) = world.server.figures.values()
        method = figures.methods["getLinkTarget"]
        assert (method.times.count, method.users) == (2, {"alice": 2})
        assert sum(method.times.buckets) == figures.queued.count == 2
        assert figures.sent_bytes > len("/first/a")
        assert figures.received_bytes > len(link("/first") + link("/a"))

    run(scenario)


def test_calls_that_come_together_are_answered_whichever_way() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        paths = ["/a", "/b", "/refused", "/c", "/d"]
        client.writer.write(b"".join(link(path, n) for n, path in enumerate(paths)))
        answers = [await client.answer() for _ in paths]
        assert [header.callId for header, _ in answers] == [0, 1, 2, 3, 4]
        assert [text for _, text in answers] == ["/a", "/b", "", "/c", "/d"]
        assert answers[2][0].exceptionClassName == errors.PathNotFound.java_class
        # Behind one that is for the handler the order stays.
        assert world.ways == (["/a", "/b"], ["/refused", "/c", "/d"])

    run(scenario)


def test_more_than_a_turn_s_worth_is_answered() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        calls = 3 * CALLS_PER_TURN
        client.writer.write(b"".join(link("/a", n) for n in range(calls)))
        assert [(await client.answer())[0].callId for _ in range(calls)] == list(range(calls))

    run(scenario)


def test_a_call_in_pieces_is_answered() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        data = link("/a", 1) + link("/b", 2)
        client.writer.write(data[:-3])
        assert (await client.answer())[0].callId == 1
        client.writer.write(data[-3:])
        assert (await client.answer())[0].callId == 2
        assert await client.ask("/c") == "/c"
        assert world.ways == (["/a", "/c"], ["/b"])

    run(scenario)


def test_an_answer_waits_for_the_barrier() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        world.gate.shut = True
        client.writer.write(link("/a", 1) + link("/b", 2))
        await until(lambda: bool(world.gate.waiting))
        assert world.ways == (["/a", "/b"], [])
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.reader.readexactly(1), 0.05)
        (send,) = world.gate.waiting
        send()
        assert [(await client.answer())[0].callId for _ in range(2)] == [1, 2]

    run(scenario)


def test_a_connection_ends_whose_answer_the_barrier_gives_up() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        world.gate.shut = True
        client.writer.write(link("/a"))
        await until(lambda: bool(world.gate.given_up))
        world.gate.given_up[0]()
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await client.answer()

    run(scenario)


def test_nobody_is_answered_whom_the_guard_might_refuse() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        world.is_open = False
        assert await client.ask("/a") == "/a"
        assert world.ways == ([], ["/a"])
        world.is_open = True
        assert await client.ask("/b") == "/b"
        assert world.ways == (["/b"], ["/a"])

    run(scenario)


def test_a_guard_that_does_not_say_when_it_is_open_sees_every_call() -> None:
    service = Service(PROTOCOL, 1, DESCRIPTOR, refused=unanswered(DESCRIPTOR))
    assert not Registry([service], lambda protocol, method, request: None).is_open()
    assert Registry([service]).is_open()


def test_calls_that_somebody_watches_come_to_the_handler() -> None:
    watching = Watching()

    async def scenario(world: World) -> None:
        client = await world.client()
        await client.ask("/a")
        assert world.ways == ([], ["/a"])

    run(scenario, watching)
    assert watching.seen == ["getLinkTarget"] * 2


def test_a_call_with_a_trace_or_a_state_comes_to_the_handler() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        for data in (link("/a", trace=b"x" * 26), link("/b", state=7)):
            client.writer.write(data * 2)
            await client.answer()
            await client.answer()
        assert world.ways == ([], ["/a", "/a", "/b", "/b"])

    run(scenario)


def test_a_user_who_is_not_known_waits() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        world.server.hooks.admission = unknown = Unknown()
        client.writer.write(link("/a", 1))
        await until(lambda: bool(unknown.waiting))
        assert world.ways == ([], [])
        # Others come behind it.
        client.writer.write(link("/b", 2))
        unknown.knows = True
        unknown.waiting[0](None)
        assert [(await client.answer())[0].callId for _ in range(2)] == [1, 2]
        assert await client.ask("/c") == "/c"
        assert world.implementation.by_bytes[-1] == "/c"

    run(scenario)


@pytest.mark.parametrize("holds", [False, True])
def test_the_state_goes_along(holds: bool) -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        world.server.hooks.alignment = At(holds=holds)
        client.writer.write(link("/a"))
        header, text = await client.answer()
        assert (header.stateId, text) == (300, "/a")
        assert world.ways == ([], ["/a"]) if holds else (["/a"], [])

    run(scenario)


def test_a_defect_is_served_as_usual_and_noted(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        world.implementation.fails = True
        assert await client.ask("/a") == "/a"
        assert world.ways == ([], ["/a"])

    run(scenario)
    assert "a call that is answered by its bytes" in caplog.text
    assert "ZeroDivisionError" in caplog.text
