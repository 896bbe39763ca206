"""Connections of a router to namenodes."""

from __future__ import annotations

import asyncio
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.wrapped_stream import WrappedStream
from howdah.router.namenodes import connections as connections_module
from howdah.router.namenodes.connections import (
    PROOFS_AT_ONCE,
    UNACKNOWLEDGED_MS,
    Broken,
    Connections,
    _Connection,
)
from howdah.router.state.namenodes.identity import Identity

pytestmark = pytest.mark.req("LM-020")


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="a limit of Linux")
def test_a_connection_whose_packets_get_lost_ends_before_a_call_does() -> None:
    """Nobody here can lose packets: that the system is told the limit is what is shown."""
    call_timeout_s = 60.0

    async def scene() -> int:
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        connections = Connections(
            connect_timeout_s=20,
            call_timeout_s=call_timeout_s,
            idle_limit_s=60,
            most_bytes=1 << 20,
        )
        try:
            made = await connections._connection(server.sockets[0].getsockname()[:2], "ada")
            assert made._transport is not None
            own = made._transport.get_extra_info("socket")
            return int(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT))
        finally:
            connections.close()
            server.close()

    assert asyncio.run(scene()) == UNACKNOWLEDGED_MS < call_timeout_s * 1000


def test_a_namenode_that_refuses_a_user_before_its_first_call_is_not_taken_for_gone() -> None:
    """The refusal comes as soon as the connection says who calls, and then the end."""

    async def scene() -> None:
        async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            refusal = errors.AuthorizationFailed("User: eve is not allowed to impersonate bob")
            writer.write(wire.encode_error(-3, b"", -1, refusal, fatal=True))
            writer.close()

        server = await asyncio.start_server(refuse, "127.0.0.1", 0)
        connections = Connections(
            connect_timeout_s=20, call_timeout_s=60, idle_limit_s=60, most_bytes=1 << 20
        )
        address = server.sockets[0].getsockname()[:2]
        try:
            made = await connections._connection(address, "bob")
            while made.is_open:
                await asyncio.sleep(0.001)
            with pytest.raises(errors.AuthorizationFailed, match="impersonate bob"):
                await made.call(b"frame", (b"c" * 16, 1))
            for call_id in range(20):
                with pytest.raises(errors.AuthorizationFailed, match="impersonate bob"):
                    await connections.call(
                        address,
                        "org.apache.hadoop.hdfs.protocol.ClientProtocol",
                        "getFileInfo",
                        pb.GetFileInfoRequestProto(src="/m"),
                        pb.GetFileInfoResponseProto,
                        Identity("bob", b"c" * 16, call_id, 0, None),
                    )
        finally:
            connections.close()
            server.close()

    asyncio.run(scene())


class Ended:
    """What wraps the calls of a connection whose ticket is over by now."""

    def __init__(self) -> None:
        self.is_over = False

    def limit(self, most_bytes: int) -> int:
        return most_bytes

    def wrap(self, data: bytes) -> bytes:
        if self.is_over:
            raise errors.AuthenticationFailed("the context is over")
        return data


def test_a_connection_that_can_no_longer_be_wrapped_ends_and_loses_no_call() -> None:
    async def scene() -> None:
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        address = server.sockets[0].getsockname()[:2]
        wrapping = Ended()
        loop = asyncio.get_running_loop()
        _, made = await loop.create_connection(
            lambda: _Connection("nn", b"greeting", 1 << 20, None, cast(WrappedStream, wrapping)),
            *address,
        )
        told: list[object] = []
        assert made.send(b"frame", (b"c" * 16, 1), told.append)
        wrapping.is_over = True
        assert not made.send(b"frame", (b"c" * 16, 2), told.append)
        assert [type(outcome) for outcome in told] == [Broken]
        assert not made.is_open
        server.close()

    asyncio.run(scene())


def test_logins_that_nobody_waits_for_leave_the_queue_or_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hangs, begun, closed = threading.Event(), threading.Semaphore(0), threading.Semaphore(0)
    made: list[object] = []

    class Proven:
        def __init__(self, *_: object) -> None:
            made.append(self)
            begun.release()
            assert hangs.wait(60)

        def close(self) -> None:
            closed.release()

    monkeypatch.setattr(connections_module, "ProvenConnection", Proven)

    async def scene() -> None:
        connections = Connections(
            connect_timeout_s=20,
            call_timeout_s=60,
            idle_limit_s=60,
            most_bytes=1 << 20,
            caller_for=lambda user: user,
        )
        try:
            waiting = [
                asyncio.create_task(connections._connection(("127.0.0.1", 1), f"u{number}"))
                for number in range(3 * PROOFS_AT_ONCE)
            ]
            for _ in range(PROOFS_AT_ONCE):
                assert await asyncio.to_thread(begun.acquire, timeout=60)
            for one in waiting:
                one.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            hangs.set()
            for _ in range(PROOFS_AT_ONCE):
                assert await asyncio.to_thread(closed.acquire, timeout=60)
            assert len(made) == PROOFS_AT_ONCE, "what had not begun was never made"
        finally:
            hangs.set()
            connections.close()

    asyncio.run(scene())


def test_a_router_without_a_thread_to_prove_itself_has_its_callers_try_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_thread(*args: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", no_thread)

    async def scene() -> None:
        connections = Connections(
            connect_timeout_s=20,
            call_timeout_s=20,
            idle_limit_s=60,
            most_bytes=1 << 20,
            caller_for=lambda user: user,
        )
        with pytest.raises(errors.RetriableError, match="no thread"):
            await connections._connection(("127.0.0.1", 1), "ada")
        connections.close()

    asyncio.run(scene())
