"""The program between servers: it passes on what they say to each other, until it is told not to.

It reads requests, a JSON object a line, from stdin, and writes an answer a line to stdout:

    -> {"do": "link", "target": "namenode0", "address": "127.0.0.1:15001"}
    <- {"port": 40001}
    -> {"do": "cut", "one": ["clients"], "other": ["namenode0"], "silenced": "both"}
    <- {}
    -> {"do": "heal"}
    <- {}

All that speak with a target connect to the port of its link. Who one is the system says: a
process whose output goes to the log of a server is that server, any other one a client. So all
servers have the same addresses in their configurations, and can be of any make.

What a cut does is what a network does that loses every packet:

1. Bytes that arrive while their way is cut wait, and so does the end of a connection. They are
   passed on when the way is healed, as TCP sends again what was lost.
2. A connection that begins meanwhile gets no answer. At the end of the cut it is reset, so that
   nothing is delivered that its source has long given up.
3. One way may be cut alone: requests arrive and answers do not, or the other way round.

It ends when stdin does.
"""

from __future__ import annotations

import asyncio
import enum
import json
import os
import socket
import struct
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from howdah.config.value_types import Address, parse_address

CLIENTS = "clients"
"""The place of everybody who is no server."""
_READ_BYTES = 1 << 16


class Silenced(enum.StrEnum):
    """Which of two sides that are cut off from each other is not heard by the other."""

    BOTH = "both"
    ONE = "one"
    OTHER = "other"


def place_of(server: str) -> str:
    """A failover controller runs where its namenode does."""
    return server.replace("zkfc", "namenode")


class Way:
    """What one place says to another one gets there, or waits."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()

    @property
    def is_open(self) -> bool:
        return self._open.is_set()

    def cut(self) -> None:
        self._open.clear()

    def heal(self) -> None:
        self._open.set()

    async def wait_until_open(self) -> None:
        await self._open.wait()


PlaceOf = Callable[[Address, Address], str]
"""The place of the process that has the connection from one address to another."""


class Links:
    """All links of a cluster, and the ways between its places."""

    def __init__(self, owner: PlaceOf) -> None:
        self._owner = owner
        self._ways: defaultdict[tuple[str, str], Way] = defaultdict(Way)
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()

    async def obey(self, request: Mapping[str, object]) -> dict[str, int]:
        """Do what a request asks for; its answer."""
        match request:
            case {"do": "link", "target": str(target), "address": str(address)}:
                return {"port": await self._link(target, parse_address(address))}
            case {"do": "cut", "one": list(one), "other": list(other), "silenced": str(silenced)}:
                self._cut(one, other, Silenced(silenced))
                return {}
            case {"do": "heal"}:
                for way in self._ways.values():
                    way.heal()
                return {}
        raise ValueError(f"there is no request {request}")

    async def _link(self, target: str, address: Address) -> int:
        def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            named = writer.get_extra_info
            source = self._owner(named("peername"), named("sockname"))
            there, back = self._ways[source, target], self._ways[target, source]
            # A loop does not keep its tasks alive.
            task = asyncio.ensure_future(_connect(reader, writer, address, there, back))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        self._servers.append(server)
        port: int = server.sockets[0].getsockname()[1]
        return port

    def _cut(self, one: Sequence[str], other: Sequence[str], silenced: Silenced) -> None:
        for here in one:
            for there in other:
                if silenced is not Silenced.OTHER:
                    self._ways[here, there].cut()
                if silenced is not Silenced.ONE:
                    self._ways[there, here].cut()


async def _connect(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    address: Address,
    there: Way,
    back: Way,
) -> None:
    """Pass on what a new connection brings, and what `address` says to it."""
    if not (there.is_open and back.is_open):
        await there.wait_until_open()
        await back.wait_until_open()
        _reset(writer)
        return
    try:
        answers, requests = await asyncio.open_connection(*address)
    except OSError:
        _reset(writer)
        return
    await asyncio.gather(_pass_on(reader, requests, there), _pass_on(answers, writer, back))
    requests.close()
    writer.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: Way) -> None:
    """Everything that one side sends, and how it ends."""
    try:
        while received := await reader.read(_READ_BYTES):
            await way.wait_until_open()
            writer.write(received)
            await writer.drain()
        await way.wait_until_open()
        writer.write_eof()
    except OSError:
        await way.wait_until_open()
        _reset(writer)


def _reset(writer: asyncio.StreamWriter) -> None:
    """End a connection as a system does that knows nothing of it."""
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class Owners:
    """Whose sockets are whose, by what Linux says of processes. `logs` has a log a server."""

    def __init__(self, logs: Path) -> None:
        self._logs = str(logs)
        self._known: dict[int, str] = {}
        self._kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG)

    def place(self, here: Address, there: Address) -> str:
        """Who has a connection from `here` to `there`; `CLIENTS` where no server has."""
        held = f"socket:[{self._inode(here, there)}]"
        for pid, name in [*self._known.items(), *self._found()]:
            if held in _open_files(pid):
                return place_of(name)
        return CLIENTS

    def _found(self) -> Iterator[tuple[int, str]]:
        """Servers that were not known yet."""
        running = {int(name) for name in os.listdir("/proc") if name.isdecimal()}
        self._known = {pid: name for pid, name in self._known.items() if pid in running}
        for pid in running - self._known.keys():
            directory, _, log = _read_link(f"/proc/{pid}/fd/1").rpartition("/")
            if directory == self._logs:
                self._known[pid] = log.removesuffix(".log")
                yield pid, self._known[pid]

    def _inode(self, here: Address, there: Address) -> int:
        """0 where the connection has ended already."""
        wanted = struct.pack("=BBBxI", socket.AF_INET, socket.IPPROTO_TCP, 0, _ANY_STATE)
        wanted += struct.pack("!HH", here[1], there[1])
        wanted += struct.pack("16s16s", socket.inet_aton(here[0]), socket.inet_aton(there[0]))
        wanted += struct.pack("=III", 0, *_NO_COOKIE)
        header = struct.pack("=IHHII", _HEADER_BYTES + len(wanted), _BY_FAMILY, _REQUEST, 0, 0)
        self._kernel.send(header + wanted)
        answer = self._kernel.recv(_READ_BYTES)
        (kind,) = struct.unpack_from("=H", answer, 4)
        if kind != _BY_FAMILY:
            return 0
        inode: int = struct.unpack_from("=I", answer, _HEADER_BYTES + _INODE_AT)[0]
        return inode


# What Linux's sock_diag(7) has: numbers of requests, and where the inode is in an answer.
_SOCK_DIAG = 4
_BY_FAMILY = 20
_REQUEST = 1
_ANY_STATE = 0xFFFFFFFF
_NO_COOKIE = (0xFFFFFFFF, 0xFFFFFFFF)
_HEADER_BYTES = 16
_INODE_AT = 68


def _open_files(pid: int) -> Iterator[str]:
    try:
        descriptors = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return  # it has ended, or is somebody else's
    for descriptor in descriptors:
        yield _read_link(f"/proc/{pid}/fd/{descriptor}")


def _read_link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""  # it is closed by now, or somebody else's


async def run(logs: Path) -> None:
    links = Links(Owners(logs).place)
    requests = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(requests), sys.stdin)
    while line := await requests.readline():
        answer = await links.obey(json.loads(line))
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    # Connections that still wait are nobody's any more.
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1])))
