"""The program between servers: what it passes on, and what a cut loses."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.support.failover.links import CLIENTS, Links, Owners, Silenced, place_of

HOST = "127.0.0.1"
WELL_S = 10.0


class World:
    """An echoing server at the end of a link, and clients of a place."""

    def __init__(self) -> None:
        self.links = Links(lambda here, there: CLIENTS)
        self.heard: list[bytes] = []

    async def start(self) -> None:
        echo = await asyncio.start_server(self._echo, HOST, 0)
        self._echo_server = echo
        address = "{}:{}".format(*echo.sockets[0].getsockname())
        answer = await self.links.obey({"do": "link", "target": "server", "address": address})
        self.port = answer["port"]

    async def _echo(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while received := await reader.read(100):
            self.heard.append(received)
            writer.write(received)
        writer.close()

    async def cut(self, silenced: Silenced = Silenced.BOTH) -> None:
        await self.links.obey(
            {"do": "cut", "one": [CLIENTS], "other": ["server"], "silenced": silenced}
        )

    async def heal(self) -> None:
        await self.links.obey({"do": "heal"})

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(HOST, self.port)

    async def connect_and_ask(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection that is known to be whole."""
        reader, writer = await self.connect()
        writer.write(b"hello")
        assert await reader.readexactly(5) == b"hello"
        return reader, writer


def run(scenario: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        world = World()
        await world.start()
        await asyncio.wait_for(scenario(world), WELL_S)

    asyncio.run(main())


async def a_while() -> None:
    """Enough for everything that can happen by now."""
    for _ in range(50):
        await asyncio.sleep(0)


def test_what_is_said_is_passed_on_with_its_end() -> None:
    async def scenario(world: World) -> None:
        reader, writer = await world.connect_and_ask()
        writer.write(b"bye")
        writer.write_eof()
        assert await reader.read() == b"bye"

    run(scenario)


def test_what_is_said_during_a_cut_arrives_when_it_is_over() -> None:
    async def scenario(world: World) -> None:
        reader, writer = await world.connect_and_ask()
        await world.cut()
        writer.write(b"bye")
        writer.write_eof()
        await a_while()
        assert world.heard == [b"hello"]
        await world.heal()
        assert await reader.read() == b"bye"

    run(scenario)


def test_a_connection_that_begins_during_a_cut_is_reset_and_nothing_of_it_arrives() -> None:
    async def scenario(world: World) -> None:
        await world.cut()
        reader, writer = await world.connect()
        writer.write(b"hello")
        await a_while()
        await world.heal()
        with pytest.raises(ConnectionResetError):
            await reader.read()
        assert world.heard == []

    run(scenario)


def test_requests_may_arrive_whose_answers_do_not() -> None:
    async def scenario(world: World) -> None:
        reader, writer = await world.connect_and_ask()
        await world.cut(Silenced.OTHER)
        writer.write(b"bye")
        while len(world.heard) < 2:
            await asyncio.sleep(0)
        answer = asyncio.ensure_future(reader.read(3))
        await a_while()
        assert not answer.done()
        await world.heal()
        assert await answer == b"bye"

    run(scenario)


def test_a_server_that_is_not_there_ends_the_connection() -> None:
    async def scenario(world: World) -> None:
        with socket.create_server((HOST, 0)) as listener:
            address = f"{HOST}:{listener.getsockname()[1]}"
        answer = await world.links.obey({"do": "link", "target": "gone", "address": address})
        reader, _ = await asyncio.open_connection(HOST, answer["port"])
        with pytest.raises(ConnectionResetError):
            await reader.read()

    run(scenario)


def test_a_request_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(ValueError, match="there is no request"):
        asyncio.run(Links(lambda here, there: CLIENTS).obey({"do": "cut"}))


def test_a_controller_is_where_its_namenode_is() -> None:
    assert place_of("zkfc1") == place_of("namenode1") == "namenode1"


@pytest.mark.skipif(sys.platform != "linux", reason="it is asked of Linux")
@pytest.mark.parametrize(("log", "place"), [("zkfc1.log", "namenode1"), ("../else", CLIENTS)])
def test_a_process_is_the_server_whose_log_it_writes(tmp_path: Path, log: str, place: str) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    with socket.create_server((HOST, 0)) as listener:
        output = os.open(logs / log, os.O_WRONLY | os.O_CREAT)
        hold, held = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.dup2(output, 1)
            with socket.create_connection(listener.getsockname()):
                os.close(held)
                os.read(hold, 1)
            os._exit(0)
        try:
            connection, here = listener.accept()
            with connection:
                assert Owners(logs).place(here, listener.getsockname()) == place
        finally:
            os.close(held)
            os.waitpid(pid, 0)
            os.close(hold)
            os.close(output)
