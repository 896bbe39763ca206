"""The asyncio shell: batches, barriers, defects, and clients that ask too much."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

import pytest
import uvloop

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import rpc_pb2
from howdah.protocol.rpc import protocol_info, wire
from howdah.protocol.rpc.busy_poll import MOMENT_NS
from howdah.protocol.rpc.call import Call, Caller
from howdah.protocol.rpc.server_hooks import GoOn, OpenBarrier
from howdah.protocol.rpc.service import (
    Deferred,
    Early,
    Encoded,
    Registry,
    Service,
    Slices,
    unanswered,
)
from howdah.rpc.server import MAX_UNSENT_BYTES, RpcServer
from howdah.runtime.users.service_policy import Speaker

PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
CLIENT_ID = b"c" * 16
GREETING = wire.preamble() + wire.encode_context(PROTOCOL, "alice", CLIENT_ID)
Header = rpc_pb2.RpcResponseHeaderProto
Answer = tuple[Header, bytes]
T = TypeVar("T")


class Implementation:
    """`mkdirs` answers later, `getContentSummary` in slices, `getListing` at length."""

    def __init__(self) -> None:
        self.served: list[str] = []
        self.callers: list[str] = []
        self.later: list[Deferred] = []
        self.slices = 0
        self.enough = False
        self.listing_bytes = 0

    def get_file_info(self, request: pb.GetFileInfoRequestProto, caller: Caller) -> Any:
        self.served.append(request.src)
        self.callers.append(caller.display_name)
        if request.src == "/defect":
            raise RuntimeError("a defect")
        if request.src == "/refused":
            raise errors.PathNotFound("no such thing")
        if request.src == "/elsewhere":
            raise errors.StandbyError("ask another one")
        if request.src == "/early":
            return Early(pb.GetFileInfoResponseProto())
        if request.src == "/bytes":
            return Encoded(b"\x0a\x00")
        if request.src == "/half":
            # An answer that lacks what it must have.
            return pb.MkdirsResponseProto()
        return pb.GetFileInfoResponseProto()

    def mkdirs(self, request: pb.MkdirsRequestProto, caller: Caller) -> Deferred:
        self.later.append(Deferred())
        return self.later[-1]

    def get_content_summary(
        self, request: pb.GetContentSummaryRequestProto, caller: Caller
    ) -> Slices:
        while not self.enough:
            self.slices += 1
            if request.path == "/defect" and self.slices == 2:
                raise RuntimeError("a defect")
            yield
        return pb.MkdirsResponseProto(result=True)

    def get_link_target(self, request: pb.GetLinkTargetRequestProto, caller: Caller) -> Any:
        self.served.append(request.path)
        return pb.GetLinkTargetResponseProto(targetPath="x" * self.listing_bytes)


class Gate(OpenBarrier):
    """A barrier that holds everything back until it is opened."""

    def __init__(self) -> None:
        self.shut = False
        self.waiting: list[Callable[[], None]] = []
        self.given_up: list[Callable[[], None]] = []

    def must_wait(self, *, early: bool = False) -> bool:
        return self.shut and not early

    def when_clear(
        self, send: Callable[[], None], give_up: Callable[[], None] | None = None
    ) -> None:
        self.waiting.append(send)
        assert give_up is not None
        self.given_up.append(give_up)

    def open(self) -> None:
        self.shut = False
        waiting, self.waiting = self.waiting, []
        for send in waiting:
            send()


class Lists:
    """Who may speak which protocol: all, but for the users `refused`. With `waits` that is said
    when `say` is called."""

    def __init__(self) -> None:
        self.refused: set[str] = set()
        self.asked: list[Speaker] = []
        self.waits = False
        self.waiting: list[tuple[Speaker, GoOn]] = []

    def authorize_protocol(self, speaker: Speaker, done: GoOn) -> None:
        self.asked.append(speaker)
        if speaker.user == "defect":
            raise RuntimeError("a defect")
        self.waiting.append((speaker, done))
        if not self.waits:
            self.say()

    def say(self) -> None:
        waiting, self.waiting = self.waiting, []
        for speaker, done in waiting:
            is_refused = speaker.user in self.refused
            done(errors.AuthorizationFailed(f"not {speaker.user}") if is_refused else None)


class World:
    def __init__(self) -> None:
        self.implementation = Implementation()
        self.gate = Gate()
        self.lists = Lists()
        descriptor = pb.DESCRIPTOR.services_by_name["ClientNamenodeProtocol"]
        rest = unanswered(descriptor, self.implementation)
        self.server = RpcServer(
            Registry(
                [
                    Service(
                        PROTOCOL,
                        1,
                        descriptor,
                        self.implementation,
                        refused=rest,
                    )
                ]
            ),
            barrier=self.gate,
            authorization=self.lists,
        )
        self.port = 0

    async def client(self, user: str = "alice", real_user: str | None = None) -> Client:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(wire.preamble() + wire.encode_context(PROTOCOL, user, CLIENT_ID, real_user))
        return Client(reader, writer)


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, method: str, request: Any, call_id: int = 0) -> None:
        self.writer.write(call(method, request, call_id))

    async def answer(self) -> Answer:
        head = await self.reader.readexactly(4)
        return wire.decode_answer(await self.reader.readexactly(int.from_bytes(head, "big")))


def call(method: str, request: Any, call_id: int = 0) -> bytes:
    return wire.encode_call(
        protocol=PROTOCOL, method=method, request=request, call_id=call_id, client_id=CLIENT_ID
    )


def info(path: str, call_id: int = 0) -> bytes:
    return call("getFileInfo", pb.GetFileInfoRequestProto(src=path), call_id)


MKDIRS = pb.MkdirsRequestProto(src="/a", masked={"perm": 0o755}, createParent=True)


def run(scenario: Callable[[World], Awaitable[T]]) -> T:
    """Run a scenario against a server on a loop as the namenode has it."""

    async def main() -> T:
        world = World()
        world.port = await world.server.start("127.0.0.1", 0)
        try:
            return await asyncio.wait_for(scenario(world), 30)
        finally:
            await world.server.stop()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


def test_calls_of_one_segment_are_all_answered_in_order() -> None:
    async def scenario(world: World) -> list[int]:
        client = await world.client()
        client.writer.write(b"".join(info(f"/{n}", n) for n in range(500)))
        return [(await client.answer())[0].callId for _ in range(500)]

    assert run(scenario) == list(range(500))


def test_answer_waits_for_the_barrier() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        world.gate.shut = True
        client.writer.write(info("/a", 7))
        await until(lambda: bool(world.gate.waiting))
        assert world.implementation.served == ["/a"]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.reader.readexactly(1), 0.05)
        world.gate.open()
        assert (await client.answer())[0].callId == 7

    run(scenario)


class Waits:
    """What a server awaits, awake: what each wait is to find, and how many there were."""

    def __init__(self, server: RpcServer, found: bool) -> None:
        self.count = 0
        self.most_ns = 0
        self._found = found
        server.busy_poll.await_bytes = self

    def __call__(self, descriptor: int, nanoseconds: int) -> bool:
        with socket.socket(fileno=os.dup(descriptor)) as waited_for:
            assert waited_for.getpeername()
        self.count += 1
        self.most_ns = max(self.most_ns, nanoseconds)
        return self._found


@pytest.mark.parametrize("found", [True, False])
def test_a_lone_caller_is_waited_for_when_it_is_answered(found: bool) -> None:
    async def scenario(world: World) -> int:
        waits = Waits(world.server, found)
        client = await world.client()
        for number in range(40):
            client.writer.write(info("/a", number))
            assert (await client.answer())[0].callId == number
        assert waits.most_ns == MOMENT_NS
        return waits.count

    # The greeting may come with the first call.
    assert run(scenario) in ((31, 32) if found else (2,))


def test_nobody_is_waited_for_among_several() -> None:
    async def scenario(world: World) -> int:
        waits = Waits(world.server, True)
        clients = [await world.client(), await world.client()]
        for number in range(40):
            for client in clients:
                client.writer.write(info("/a", number))
                await client.answer()
        return waits.count

    assert run(scenario) == 0


def test_a_caller_whose_answer_is_held_back_is_not_waited_for() -> None:
    async def scenario(world: World) -> None:
        waits = Waits(world.server, True)
        client = await world.client()
        for number in range(20):
            client.writer.write(info("/a", number))
            await client.answer()
        before = waits.count
        assert before
        world.gate.shut = True
        client.writer.write(info("/a", 20))
        await until(lambda: bool(world.gate.waiting))
        assert waits.count == before
        world.gate.open()
        assert (await client.answer())[0].callId == 20

    run(scenario)


def test_an_answer_of_bytes_is_sent_as_it_is() -> None:
    async def scenario(world: World) -> list[tuple[int, bytes]]:
        client = await world.client()
        client.writer.write(info("/bytes", 1) + info("/a", 2))
        answers = [await client.answer() for _ in range(2)]
        return [(header.callId, bytes(body)) for header, body in answers]

    assert run(scenario) == [(1, b"\x0a\x00"), (2, b"")]


def test_an_early_answer_does_not_wait_until_its_change_is_durable() -> None:
    async def scenario(world: World) -> list[int]:
        client = await world.client()
        world.gate.shut = True
        client.writer.write(info("/a", 1) + info("/early", 2))
        order = [(await client.answer())[0].callId]
        world.gate.open()
        return [*order, (await client.answer())[0].callId]

    assert run(scenario) == [2, 1]


def test_a_caller_that_says_what_it_has_seen_gets_no_early_answer() -> None:
    """It would ask an observer for a state that a crash may have undone."""

    async def scenario(world: World) -> None:
        client = await world.client()
        world.gate.shut = True
        request = pb.GetFileInfoRequestProto(src="/early")
        client.writer.write(
            wire.encode_call(
                protocol=PROTOCOL,
                method="getFileInfo",
                request=request,
                call_id=7,
                client_id=CLIENT_ID,
                state_id=5,
            )
        )
        await until(lambda: bool(world.gate.waiting))
        world.gate.open()
        assert (await client.answer())[0].callId == 7

    run(scenario)


def test_errors_wait_for_the_barrier_too() -> None:
    async def scenario(world: World) -> str:
        client = await world.client()
        world.gate.shut = True
        client.writer.write(info("/refused"))
        await until(lambda: bool(world.gate.waiting))
        world.gate.open()
        return (await client.answer())[0].exceptionClassName

    assert run(scenario) == "java.io.FileNotFoundException"


@pytest.mark.req("LM-016")
def test_a_refusal_to_serve_shows_nothing_and_waits_for_nothing() -> None:
    async def scenario(world: World) -> str:
        client = await world.client()
        world.gate.shut = True
        client.writer.write(info("/elsewhere"))
        return (await client.answer())[0].exceptionClassName

    assert run(scenario) == "org.apache.hadoop.ipc.StandbyException"


@pytest.mark.req("LM-016")
def test_a_protocol_that_shows_no_state_waits_for_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(world: World) -> int:
        monkeypatch.setattr(world.server.registry, "_stateless", frozenset({PROTOCOL}))
        client = await world.client()
        world.gate.shut = True
        client.writer.write(info("/a", 7))
        return (await client.answer())[0].callId

    assert run(scenario) == 7
    descriptor = pb.DESCRIPTOR.services_by_name["ClientNamenodeProtocol"]
    refused = [method.name for method in descriptor.methods]
    service = Service(PROTOCOL, 1, descriptor, refused=refused, shows_state=False)
    refusal = errors.PathNotFound("no such thing")
    assert not Registry([service]).shows_state(PROTOCOL, refusal)
    assert Registry([service]).shows_state("another", refusal)


def test_a_connection_ends_whose_answer_the_barrier_gives_up() -> None:
    async def scenario(world: World) -> int:
        waiting, idle = await world.client(), await world.client()
        idle.writer.write(info("/a", 1))
        assert (await idle.answer())[0].callId == 1
        world.gate.shut = True
        waiting.writer.write(info("/b", 2))
        await until(lambda: bool(world.gate.waiting))
        for give_up in world.gate.given_up:
            give_up()
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await waiting.answer()
        world.gate.open()
        idle.writer.write(info("/c", 3))
        return (await idle.answer())[0].callId

    assert run(scenario) == 3


@pytest.mark.parametrize("path", ["/defect", "/half"])
def test_defect_fails_one_call_and_no_more(path: str, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(world: World) -> list[Answer]:
        client = await world.client()
        client.writer.write(info(path, 1) + info("/fine", 2))
        return [await client.answer() for _ in range(2)]

    (failed, _), (fine, _) = run(scenario)
    assert (failed.callId, failed.exceptionClassName) == (1, "java.lang.RuntimeException")
    assert (fine.callId, fine.status) == (2, Header.SUCCESS)
    assert "failed on a defect" in caplog.text


def test_deferred_answer_comes_when_it_is_settled() -> None:
    async def scenario(world: World) -> list[int]:
        client = await world.client()
        client.send("mkdirs", MKDIRS, 1)
        client.writer.write(info("/b", 2))
        order = [(await client.answer())[0].callId]
        world.implementation.later[0].settle(pb.MkdirsResponseProto(result=True))
        return [*order, (await client.answer())[0].callId]

    assert run(scenario) == [2, 1]


def test_answer_for_a_client_that_went_is_dropped() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        client.send("mkdirs", MKDIRS)
        await until(lambda: bool(world.implementation.later))
        client.writer.close()
        await until(lambda: not world.server.connections)
        world.implementation.later[0].settle(pb.MkdirsResponseProto(result=True))

    run(scenario)


def test_owner_of_an_answer_sees_that_its_caller_is_gone() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        client.send("mkdirs", MKDIRS)
        await until(lambda: bool(world.implementation.later))
        answer = world.implementation.later[0]
        assert not answer.withdrawn
        client.writer.close()
        await until(lambda: answer.withdrawn)
        answer.settle(pb.MkdirsResponseProto(result=True))

    run(scenario)


def test_stopping_answers_the_calls_that_wait() -> None:
    async def scenario(world: World) -> tuple[str, str]:
        client = await world.client()
        client.send("mkdirs", MKDIRS)
        await until(lambda: bool(world.implementation.later))
        await world.server.stop()
        header = (await client.answer())[0]
        world.implementation.later[0].settle(pb.MkdirsResponseProto(result=True))
        assert await client.reader.read() == b"", "one answer, and the end"
        return header.exceptionClassName, header.errorMsg

    assert run(scenario) == (
        "org.apache.hadoop.ipc.RetriableException",
        "the server stops: try again",
    )


def test_others_are_served_between_the_slices_of_a_long_answer() -> None:
    async def scenario(world: World) -> None:
        long, short = await world.client(), await world.client()
        long.send("getContentSummary", pb.GetContentSummaryRequestProto(path="/"), 1)
        await until(lambda: world.implementation.slices > 0)
        short.writer.write(info("/b"))
        await short.answer()
        world.implementation.enough = True
        assert (await long.answer())[0].callId == 1

    run(scenario)


def test_a_connection_has_one_slice_a_turn_however_many_long_answers_it_wants() -> None:
    """Else a client that asks for a thousand of them at once would leave no time to others."""

    async def scenario(world: World) -> None:
        long = await world.client()
        for number in range(60):
            long.send("getContentSummary", pb.GetContentSummaryRequestProto(path="/"), number)
        await until(lambda: world.implementation.slices > 200)
        before = world.implementation.slices
        for _ in range(50):
            await asyncio.sleep(0)
        assert world.implementation.slices - before <= 60
        world.implementation.enough = True
        answered = {(await long.answer())[0].callId for _ in range(60)}
        assert answered == set(range(60))

    run(scenario)


def test_a_connection_is_served_no_further_with_too_many_long_answers_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("howdah.rpc.server.MOST_SLICED", 5)

    async def scenario(world: World) -> None:
        long, other = await world.client(), await world.client()
        for number in range(20):
            long.send("getContentSummary", pb.GetContentSummaryRequestProto(path="/"), number)
        long.writer.write(info("/behind", 20))
        await until(lambda: world.implementation.slices > 40)
        other.writer.write(info("/other"))
        await other.answer()
        assert world.implementation.served == ["/other"]
        world.implementation.enough = True
        answered = {(await long.answer())[0].callId for _ in range(21)}
        assert answered == set(range(21))

    run(scenario)


def test_defect_in_a_later_slice_is_an_error_for_its_caller_alone() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        client.send("getContentSummary", pb.GetContentSummaryRequestProto(path="/defect"), 1)
        header, _ = await client.answer()
        assert header.status == rpc_pb2.RpcResponseHeaderProto.ERROR
        client.writer.write(info("/b"))
        await client.answer()

    run(scenario)


def test_long_answer_is_given_up_when_its_client_goes() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        client.send("getContentSummary", pb.GetContentSummaryRequestProto(path="/"))
        await until(lambda: world.implementation.slices > 0)
        client.writer.close()
        await until(lambda: not world.server.connections)
        before = world.implementation.slices
        for _ in range(20):
            await asyncio.sleep(0)
        assert world.implementation.slices == before

    run(scenario)


def test_client_of_thousands_of_calls_at_once_lets_others_in_between() -> None:
    async def scenario(world: World) -> int:
        greedy, other = await world.client(), await world.client()
        other.writer.write(info("/first"))
        await other.answer()
        greedy.writer.write(b"".join(info("/greedy", n) for n in range(20_000)))
        await until(lambda: "/greedy" in world.implementation.served)
        other.writer.write(info("/other"))
        await other.answer()
        return world.implementation.served.index("/other")

    assert run(scenario) < 15_000


def test_client_that_does_not_read_is_not_served_without_end() -> None:
    async def scenario(world: World) -> int:
        world.implementation.listing_bytes = 100_000
        with silent_client(world.port) as sock:
            ask = b"".join(
                call("getLinkTarget", pb.GetLinkTargetRequestProto(path="/x"), n)
                for n in range(2000)
            )
            await asyncio.get_running_loop().run_in_executor(None, sock.sendall, GREETING + ask)
            served = world.implementation.served
            await until(lambda: len(served) > 1)
            count = -1
            while count != len(served):
                count = len(served)
                await asyncio.sleep(0.1)
            other = await world.client()
            other.writer.write(info("/other"))
            await other.answer()
            return count

    assert run(scenario) < 500, "a fraction of 200 MB is in memory"


@contextmanager
def silent_client(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port)) as sock:
        yield sock


def test_client_that_reads_late_gets_every_answer() -> None:
    async def scenario(world: World) -> list[int]:
        world.implementation.listing_bytes = 50_000
        client = await world.client()
        request = pb.GetLinkTargetRequestProto(path="/x")
        client.writer.write(b"".join(call("getLinkTarget", request, n) for n in range(500)))
        await until(lambda: len(world.implementation.served) > 10)
        await asyncio.sleep(0.05)
        return [(await client.answer())[0].callId for _ in range(500)]

    assert run(scenario) == list(range(500))


def test_answers_held_back_by_the_barrier_are_bounded() -> None:
    calls = 60

    async def scenario(world: World) -> tuple[int, list[int]]:
        world.implementation.listing_bytes = MAX_UNSENT_BYTES // 8
        world.gate.shut = True
        client = await world.client()
        request = pb.GetLinkTargetRequestProto(path="/x")
        client.writer.write(b"".join(call("getLinkTarget", request, n) for n in range(calls)))
        await until(lambda: len(world.gate.waiting) >= 8)
        await asyncio.sleep(0.05)
        held = len(world.gate.waiting)
        world.gate.open()
        return held, [(await client.answer())[0].callId for _ in range(calls)]

    held, answers = run(scenario)
    assert held < 12
    assert answers == list(range(calls))


def test_what_was_done_before_garbage_came_is_still_acknowledged() -> None:
    async def scenario(world: World) -> list[int]:
        client = await world.client()
        world.gate.shut = True
        client.writer.write(info("/a", 1) + wire.frame(b"\xff" * 20))
        await until(lambda: bool(world.gate.waiting))
        world.gate.open()
        first, last = [await client.answer() for _ in range(2)]
        assert await client.reader.read() == b""
        return sorted([first[0].callId, last[0].callId])

    assert run(scenario) == [1, 0xFFFFFFFF]


def test_stopping_ends_every_connection() -> None:
    async def scenario(world: World) -> bytes:
        client = await world.client()
        client.writer.write(info("/a"))
        await client.answer()
        await world.server.stop()
        return await client.reader.read()

    assert run(scenario) == b""


def test_connections_above_the_limit_are_turned_away() -> None:
    async def scenario(world: World) -> list[str]:
        world.server.max_connections = 1
        first = await world.client()
        first.writer.write(info("/a"))
        await first.answer()
        second = await world.client()
        with suppress(ConnectionError):
            assert await second.reader.read() == b""
        first.writer.close()
        await until(lambda: not world.server.connections)
        third = await world.client()
        third.writer.write(info("/b"))
        await third.answer()
        return world.implementation.served

    assert run(scenario) == ["/a", "/b"]


@pytest.mark.parametrize(
    "opening", [b"", wire.preamble(), GREETING[:-1]], ids=["silence", "preamble", "half"]
)
def test_who_does_not_say_who_it_is_in_time_is_closed(
    opening: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(world: World) -> bytes:
        world.server.handshake_timeout_s = 0.01
        reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
        writer.write(opening)
        with suppress(ConnectionError):
            return await reader.read()
        return b""

    assert run(scenario) == b""
    assert "did not say who is calling within 0.01 s" in caplog.text


def holds(server: RpcServer, count: int) -> bool:
    """Whether two strangers at most are left, who hold so many bytes."""
    return server.unproven.total_bytes == count and len(server.connections) <= 2


def test_those_who_do_not_say_who_they_are_hold_a_bounded_number_of_bytes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whoever holds some for the longest goes first: to say who one is takes a moment."""

    async def scenario(world: World) -> list[str]:
        unproven = world.server.unproven
        unproven.most_bytes = 100_000
        part = wire.preamble() + (60_000).to_bytes(4, "big") + bytes(40_000)
        strangers = []
        for number in range(4):
            strangers.append(await asyncio.open_connection("127.0.0.1", world.port))
            strangers[-1][1].write(part)
            held = 40_004 * min(number + 1, 2)
            await until(partial(holds, world.server, held))
        for reader, _ in strangers[:2]:
            with suppress(ConnectionError):
                assert await reader.read() == b""
        client = await world.client()
        client.writer.write(info("/a"))
        await client.answer()
        for _, writer in strangers[2:]:
            writer.close()
        await until(lambda: not unproven.total_bytes)
        return world.implementation.served

    assert run(scenario) == ["/a"]
    assert caplog.text.count("hold more than 100000 bytes together") == 2


def test_who_has_said_who_it_is_may_take_its_time() -> None:
    async def scenario(world: World) -> list[str]:
        client = await world.client()
        await until(lambda: bool(world.server.connections))
        (connection,) = world.server.connections
        await until(lambda: not connection.is_expected)
        client.writer.write(info("/a"))
        await client.answer()
        return world.implementation.served

    assert run(scenario) == ["/a"]


def test_where_connections_are_many_the_unused_ones_go(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(world: World) -> tuple[bytes, list[str]]:
        caplog.set_level("INFO")
        world.server.idle_threshold = 1
        clients = [await world.client() for _ in range(2)]
        for client, path in zip(clients, ("/unused", "/waits"), strict=True):
            client.writer.write(info(path))
            await client.answer()
        clients[1].writer.write(call("mkdirs", MKDIRS))
        await until(lambda: bool(world.implementation.later))
        now_s = asyncio.get_running_loop().time()
        world.server.make_room(now_s + 3600)
        ended = await clients[0].reader.read()
        world.implementation.later[0].settle(pb.MkdirsResponseProto(result=True))
        await clients[1].answer()
        return ended, world.implementation.served

    assert run(scenario) == (b"", ["/unused", "/waits"])
    assert "1 of 2 connections are closed" in caplog.text


class Doorman:
    """Lets in whom it knows."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.waiting: list[Callable[[errors.HowdahError | None], None]] = []

    def is_known(self, user: str) -> bool:
        return user in self.known

    def when_known(self, user: str, go_on: Callable[[errors.HowdahError | None], None]) -> None:
        self.waiting.append(go_on)


def test_calls_wait_for_what_is_to_be_known_of_their_user_and_others_do_not() -> None:
    async def scenario(world: World) -> list[str]:
        doorman = world.server.hooks.admission = Doorman()
        alice = await world.client()
        alice.writer.write(info("/alice1", 1) + info("/alice2", 2))
        await until(lambda: bool(doorman.waiting))
        bob = await world.client("bob")
        doorman.known.add("bob")
        bob.writer.write(info("/bob"))
        await bob.answer()
        assert world.implementation.served == ["/bob"]
        doorman.known.add("alice")
        doorman.waiting.pop()(None)
        assert [(await alice.answer())[0].callId for _ in range(2)] == [1, 2]
        return world.implementation.served

    assert run(scenario) == ["/bob", "/alice1", "/alice2"]


def test_a_call_of_whom_nothing_can_be_known_fails_and_the_next_one_asks_again() -> None:
    async def scenario(world: World) -> list[str]:
        doorman = world.server.hooks.admission = Doorman()
        client = await world.client()
        client.writer.write(info("/first", 1) + info("/second", 2))
        await until(lambda: bool(doorman.waiting))
        doorman.waiting.pop()(errors.RetriableError("nobody answers"))
        header, _ = await client.answer()
        assert (header.callId, header.errorMsg) == (1, "nobody answers")
        doorman.known.add("alice")
        doorman.waiting.pop()(None)
        await client.answer()
        return world.implementation.served

    assert run(scenario) == ["/second"]


def test_who_goes_while_it_waits_is_forgotten() -> None:
    async def scenario(world: World) -> list[str]:
        doorman = world.server.hooks.admission = Doorman()
        client = await world.client()
        client.writer.write(info("/a"))
        await until(lambda: bool(doorman.waiting))
        client.writer.transport.abort()
        doorman.waiting.pop()(errors.RetriableError("nobody answers"))
        await until(lambda: not world.server.connections)
        return world.implementation.served

    assert run(scenario) == []


# --- who acts for others -----------------------------------------------------------------------


class Rules:
    """Answers later, or at once where `verdict` is set."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []
        self.waiting: list[Callable[[errors.HowdahError | None], None]] = []
        self.verdict: Callable[[], errors.HowdahError | None] | None = None

    def authorize(
        self,
        real_user: str,
        user: str,
        address: str,
        done: Callable[[errors.HowdahError | None], None],
    ) -> None:
        self.asked.append((real_user, user, address))
        if self.verdict is None:
            self.waiting.append(done)
        else:
            done(self.verdict())


def test_calls_wait_until_it_is_known_whether_their_connection_may_act_for_its_user() -> None:
    async def scenario(world: World) -> list[str]:
        rules = world.server.hooks.impersonation = Rules()
        client = await world.client("joe", "hive")
        client.writer.write(info("/a", 1) + info("/b", 2))
        await until(lambda: bool(rules.waiting))
        other = await world.client("bob")
        other.writer.write(info("/bob"))
        await other.answer()
        rules.waiting.pop()(None)
        assert [(await client.answer())[0].callId for _ in range(2)] == [1, 2]
        client.writer.write(info("/c", 3))
        await client.answer()
        assert rules.asked == [("hive", "joe", "127.0.0.1")]
        return world.implementation.callers

    joe = "joe (auth:PROXY) via hive (auth:SIMPLE)"
    assert run(scenario) == ["bob (auth:SIMPLE)", joe, joe, joe]


def test_rules_that_are_known_hold_up_nobody() -> None:
    async def scenario(world: World) -> list[str]:
        rules = world.server.hooks.impersonation = Rules()
        rules.verdict = lambda: None
        client = await world.client("joe", "hive")
        client.writer.write(info("/a"))
        await client.answer()
        return world.implementation.served

    assert run(scenario) == ["/a"]


@pytest.mark.parametrize("how", ["at once", "later", "without rules", "on a defect"])
def test_a_connection_that_may_not_act_for_its_user_ends_and_no_call_is_served(how: str) -> None:
    async def scenario(world: World) -> tuple[Header, int]:
        rules = Rules()
        refusal = errors.AuthorizationFailed("User: hive is not allowed to impersonate joe")

        def defect() -> errors.HowdahError:
            raise KeyError("a defect")

        if how != "without rules":
            world.server.hooks.impersonation = rules
        if how != "later":
            rules.verdict = defect if how == "on a defect" else lambda: refusal
        client = await world.client("joe", "hive")
        client.writer.write(info("/a", 1) + info("/b", 2))
        if how == "later":
            await until(lambda: bool(rules.waiting))
            rules.waiting.pop()(refusal)
        header, _ = await client.answer()
        assert await client.reader.read() == b""
        assert world.implementation.served == []
        failures = world.server.figures[world.port].failures
        return header, sum(times.count for times in failures.values())

    header, failures = run(scenario)
    assert (header.status, header.callId) == (Header.FATAL, wire.CALL_ID_CONTEXT & 0xFFFFFFFF)
    assert failures == 1
    if how != "on a defect":
        assert header.errorMsg == "User: hive is not allowed to impersonate joe"
        assert header.exceptionClassName == errors.AuthorizationFailed.java_class


def test_a_client_that_sends_on_still_reads_why_its_connection_ended() -> None:
    async def scenario(world: World) -> Header:
        client = await world.client("joe", "hive")
        header, _ = await client.answer()
        # A closed end would reset the connection at the first of these, and the second would fail.
        for number in range(2):
            client.writer.write(info("/a", number))
            await client.writer.drain()
        assert await client.reader.read() == b""
        client.writer.close()
        await until(lambda: not world.server.connections)
        assert world.implementation.served == []
        return header

    header = run(scenario)
    assert header.exceptionClassName == errors.AuthorizationFailed.java_class


def test_a_client_that_does_not_go_is_left_after_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("howdah.rpc.farewell.LINGER_S", 0.05)

    async def scenario(world: World) -> None:
        client = await world.client("joe", "hive")
        await client.answer()
        await until(lambda: not world.server.connections)

    run(scenario)


@pytest.mark.parametrize("how", ["settled", "in slices", "the server stops"])
def test_an_answer_that_comes_when_its_connection_has_ended_is_dropped(how: str) -> None:
    async def scenario(world: World) -> list[Any]:
        implementation = world.implementation
        failed: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: failed.append(context))
        client = await world.client()
        if how == "in slices":
            client.send("getContentSummary", pb.GetContentSummaryRequestProto(path="/"))
            await until(lambda: bool(implementation.slices))
        else:
            client.send("mkdirs", MKDIRS)
            await until(lambda: bool(implementation.later))
        client.writer.write(b"\x7f\xff\xff\xff")
        header, _ = await client.answer()
        assert header.status == Header.FATAL
        assert await client.reader.read() == b""
        # It is still there: the client has not gone.
        (connection,) = world.server.connections
        if how == "settled":
            implementation.later.pop().settle(pb.MkdirsResponseProto(result=True))
        elif how == "in slices":
            implementation.enough = True
            await until(lambda: bool(failed) or connection.is_idle(float("inf")))
        else:
            await world.server.stop()
        return failed

    assert run(scenario) == []


def test_who_goes_while_the_rules_are_asked_is_forgotten() -> None:
    async def scenario(world: World) -> list[str]:
        rules = world.server.hooks.impersonation = Rules()
        client = await world.client("joe", "hive")
        client.writer.write(info("/a"))
        await until(lambda: bool(rules.waiting))
        client.writer.transport.abort()
        rules.waiting.pop()(errors.AuthorizationFailed("no"))
        await until(lambda: not world.server.connections)
        return world.implementation.served

    assert run(scenario) == []


def test_a_second_port_serves_the_same() -> None:
    async def scenario(world: World) -> list[str]:
        first = await world.client()
        world.port = await world.server.start("127.0.0.1", 0)
        second = await world.client()
        for number, client in enumerate((first, second)):
            client.writer.write(info(f"/{number}"))
            await client.answer()
        await world.server.stop()
        assert await first.reader.read() == await second.reader.read() == b""
        return world.implementation.served

    assert run(scenario) == ["/0", "/1"]


# --- what callers have seen --------------------------------------------------------------------


class Lagging:
    """An alignment of a server at transaction `txid`; calls that have seen more wait."""

    def __init__(self) -> None:
        self.txid = 5
        self.waiting: list[Callable[[errors.HowdahError | None], None]] = []

    def state_id(self) -> int:
        return self.txid

    def holds_nobody(self) -> bool:
        return False

    def must_wait(self, call: Call) -> bool:
        if call.state_id is None:
            raise errors.StandbyError("no state")
        return call.state_id > self.txid

    def when_reached(self, call: Call, go_on: Callable[[errors.HowdahError | None], None]) -> None:
        self.waiting.append(go_on)


def info_having_seen(path: str, call_id: int, state_id: int | None) -> bytes:
    return wire.encode_call(
        protocol=PROTOCOL,
        method="getFileInfo",
        request=pb.GetFileInfoRequestProto(src=path),
        call_id=call_id,
        client_id=CLIENT_ID,
        state_id=state_id,
    )


def test_a_call_waits_for_what_its_caller_has_seen_and_others_do_not() -> None:
    async def scenario(world: World) -> None:
        alignment = world.server.hooks.alignment = Lagging()
        client = await world.client()
        client.writer.write(info_having_seen("/late", 1, 6) + info_having_seen("/now", 2, 5))
        header, _ = await client.answer()
        assert (header.callId, header.stateId) == (2, 5)
        assert world.implementation.served == ["/now"]
        alignment.txid = 6
        alignment.waiting.pop()(None)
        header, _ = await client.answer()
        assert (header.callId, header.stateId) == (1, 6)

    run(scenario)


def test_a_call_that_waited_in_vain_is_refused() -> None:
    async def scenario(world: World) -> None:
        alignment = world.server.hooks.alignment = Lagging()
        client = await world.client()
        client.writer.write(info_having_seen("/late", 1, 6) + info_having_seen("/old", 2, None))
        refused, _ = await client.answer()
        assert (refused.callId, refused.exceptionClassName) == (
            2,
            errors.StandbyError.java_class,
        )
        alignment.waiting.pop()(errors.RetriableError("too far behind"))
        late, _ = await client.answer()
        assert (late.callId, late.exceptionClassName, late.stateId) == (
            1,
            errors.RetriableError.java_class,
            5,
        )
        assert world.implementation.served == []

    run(scenario)


def test_a_call_whose_client_went_is_not_served_when_its_time_comes() -> None:
    async def scenario(world: World) -> None:
        alignment = world.server.hooks.alignment = Lagging()
        client = await world.client()
        client.writer.write(info_having_seen("/late", 1, 6))
        await until(lambda: bool(alignment.waiting))
        client.writer.close()
        await until(lambda: not world.server.connections)
        alignment.waiting.pop()(None)
        await asyncio.sleep(0)
        assert world.implementation.served == []

    run(scenario)


# Who may speak which protocol.

FILE_INFO = pb.GetFileInfoRequestProto(src="/a")
UNAUTHORIZED = "org.apache.hadoop.security.authorize.AuthorizationException"


def refusal(answer: Answer) -> tuple[int, str, str]:
    header, _ = answer
    assert header.status == Header.FATAL
    assert header.errorDetail == Header.FATAL_UNAUTHORIZED
    return header.callId, header.exceptionClassName, header.errorMsg


CONTEXT_REFUSED = (wire.CALL_ID_CONTEXT & 0xFFFFFFFF, UNAUTHORIZED, "not alice")


def test_a_connection_that_may_not_speak_its_protocol_ends_unserved() -> None:
    async def scenario(world: World) -> None:
        world.lists.refused = {"alice"}
        client = await world.client()
        client.writer.write(info("/a"))
        assert refusal(await client.answer()) == CONTEXT_REFUSED
        assert await client.reader.read() == b""
        assert world.implementation.served == []
        other = await world.client("bob")
        other.writer.write(info("/b"))
        assert (await other.answer())[0].status == Header.SUCCESS

    run(scenario)


def test_a_protocol_is_judged_once_a_connection() -> None:
    async def scenario(world: World) -> list[tuple[str, str, str, str]]:
        client = await world.client("joe", real_user="alice")
        client.writer.write(b"".join(info("/a", n) for n in range(20)))
        assert refusal_of_impersonation(await client.answer())
        client = await world.client()
        for number in range(20):
            client.writer.write(info("/a", number))
            await client.answer()
        asked = world.lists.asked
        return [(each.protocol, each.user, each.shown, each.address) for each in asked]

    assert run(scenario) == [(PROTOCOL, "alice", "alice (auth:SIMPLE)", "127.0.0.1")]


def refusal_of_impersonation(answer: Answer) -> bool:
    """Nobody may act for others here, and who may not is not judged further."""
    return "not allowed to impersonate" in answer[0].errorMsg


def test_which_calls_there_are_is_told_to_whoever_may_speak_another_protocol() -> None:
    """RpcClientUtil.isMethodSupported asks over the connection that it is about. A connection that
    names that protocol alone is judged by its lists, which it has not."""

    def versions(number: int) -> bytes:
        return wire.encode_call(
            protocol=protocol_info.PROTOCOL,
            method="getProtocolVersions",
            request=rpc_pb2.GetProtocolVersionsRequestProto(
                protocol="org.apache.hadoop.hdfs.protocolPB.ClientNamenodeProtocolPB"
            ),
            call_id=number,
            client_id=CLIENT_ID,
        )

    async def scenario(world: World) -> None:
        client = await world.client()
        client.writer.write(info("/a"))
        await client.answer()
        client.writer.write(versions(1))
        assert (await client.answer())[0].status == Header.SUCCESS
        assert [each.protocol for each in world.lists.asked] == [PROTOCOL]

    run(scenario)


def test_another_protocol_of_a_connection_is_judged_before_its_call() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        client.writer.write(info("/a"))
        await client.answer()
        world.lists.refused = {"alice"}
        foreign = wire.encode_call(
            protocol="x.Other",
            method="getFileInfo",
            request=FILE_INFO,
            call_id=1,
            client_id=CLIENT_ID,
        )
        client.writer.write(foreign + info("/b", 2))
        assert refusal(await client.answer()) == CONTEXT_REFUSED
        assert await client.reader.read() == b""
        assert [each.protocol for each in world.lists.asked] == [PROTOCOL, "x.Other"]
        assert world.implementation.served == ["/a"]

    run(scenario)


def test_calls_wait_for_the_verdict() -> None:
    async def scenario(world: World) -> None:
        world.lists.waits = True
        client = await world.client()
        client.writer.write(info("/a") + info("/b", 1))
        # Both calls are there: they came in one piece.
        await until(lambda: bool(world.lists.waiting))
        assert world.implementation.served == []
        world.lists.say()
        assert [(await client.answer())[0].callId for _ in range(2)] == [0, 1]

    run(scenario)


@pytest.mark.parametrize("waits", [False, True])
def test_open_connections_are_judged_again_when_the_lists_change(waits: bool) -> None:
    async def scenario(world: World) -> None:
        alice, bob = await world.client(), await world.client("bob")
        for client in (alice, bob):
            client.writer.write(info("/a"))
            await client.answer()
        world.lists.refused = {"alice"}
        world.lists.waits = waits
        world.server.judge_again()
        for client in (alice, bob):
            client.writer.write(info("/b", 1))
        if waits:
            await until(lambda: len(world.lists.waiting) == 2)
            assert len(world.implementation.callers) == 2, "neither call is served before that"
            world.lists.say()
        assert refusal(await alice.answer()) == CONTEXT_REFUSED
        assert await alice.reader.read() == b""
        assert (await bob.answer())[0].status == Header.SUCCESS
        assert world.implementation.callers[2:] == ["bob (auth:SIMPLE)"]

    run(scenario)


def test_a_connection_that_has_not_said_who_it_is_is_not_judged() -> None:
    async def scenario(world: World) -> list[Speaker]:
        _, writer = await asyncio.open_connection("127.0.0.1", world.port)
        writer.write(wire.preamble())
        await until(lambda: bool(world.server.connections))
        world.server.judge_again()
        writer.close()
        return world.lists.asked

    assert run(scenario) == []


def test_a_defect_of_the_lists_refuses() -> None:
    async def scenario(world: World) -> str:
        client = await world.client("defect")
        client.writer.write(info("/a"))
        header, _ = await client.answer()
        assert header.status == Header.FATAL
        assert world.implementation.served == []
        return str(header.errorMsg)

    assert "the authorization of a protocol failed on an internal error" in run(scenario)
