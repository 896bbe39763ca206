"""The latency of a namenode's calls beside bad company at its web port.

One caller asks for a file's status all the time, over RPC, while a crowd in a process of its own
speaks HTTP to the same namenode: slow heads, bodies and heads that are far too long, what is no
HTTP, pipelines whose requests need the loop, and ten thousand connections, of which a server
keeps a twentieth. A crowd has a pace that it keeps whatever it is answered.

Two cores, say, are also taken by the crowd itself and by the threads that listen to it. So each
crowd is measured at another server, too: the same HTTP server in a process that answers no calls.
Alone, there, here: the three take turns. The ratio of here to there is what HTTP costs a call
beyond the processor time that it takes from the machine.
"""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import resource
import select
import selectors
import socket
import statistics
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import scale
from harness import MB, Options, Results, Skipped, figure, main, progress, scratch

from howdah.config import keys
from howdah.web.http import Request, Response, text_response
from howdah.web.server import HttpServer

Address = tuple[str, int]
ALONE, THERE = "alone", "beside it at another server"
MANY = "ten thousand connections"
_PAUSE_S: Final = 0.001
_SECONDS: Final = 1.2
"""So long a caller asks at a time: with seven rounds it is under four minutes."""
_WARM_S: Final = 0.3
"""So long a crowd gathers before anybody measures."""
_BIND_ADDRESS_NO_PORT: Final = 24
"""Of Linux: the port is chosen by connect, which may use one that is in use towards others."""
_REQUEST: Final = b"GET /webhdfs/v1/?op=GETFILESTATUS&user.name=x HTTP/1.1\r\nHost: x\r\n\r\n"
_MALFORMED: Final = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
    b"hrpc\x09\x00\x00" + bytes(40),
    b"GET /\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 2000 + b"\r\n",
    b"PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    b"PUT /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
)
_BODY: Final = (
    b"PUT /webhdfs/v1/a?op=CREATE&user.name=x HTTP/1.1\r\nHost: x\r\n"
    b"Content-Length: 1000000000000\r\n\r\n"
)
_HEAD: Final = b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000


class TooFewFiles(OSError):
    """The system does not let a process have as many connections as a crowd has."""


# -- crowds: each is called as often as its pace says ---------------------------------


class Slow:
    """Heads that come a byte at a time, over many connections."""

    pace_hz = 2000.0
    connections = 400

    def __init__(self, address: Address) -> None:
        self._address = address
        self._open: deque[socket.socket] = deque()

    def act(self) -> None:
        if len(self._open) < self.connections:
            fresh = _dial(self._address)
            with contextlib.suppress(OSError):
                fresh.send(b"GET / HTTP/1.1\r\nX: ")
            self._open.append(fresh)
            return
        each = self._open.popleft()
        try:
            each.send(b"a")
            self._open.append(each)
        except OSError:
            each.close()


class Huge:
    """Bodies and heads without an end, as fast as 32 MB a second."""

    pace_hz = 500.0

    def __init__(self, address: Address) -> None:
        self._address = address
        self._piece = bytes(64 * 1024)
        self._open: deque[socket.socket] = deque()
        self._number = 0

    def act(self) -> None:
        if len(self._open) < 4:
            self._number += 1
            fresh = _dial(self._address)
            with contextlib.suppress(OSError):
                fresh.send(_BODY if self._number % 2 else _HEAD)
            self._open.append(fresh)
            return
        each = self._open.popleft()
        try:
            each.send(self._piece)
        except BlockingIOError:
            self._open.append(each)
        except OSError:
            each.close()
        else:
            self._open.append(each)


class Malformed:
    """What is no HTTP, each time over a new connection."""

    pace_hz = 200.0

    def __init__(self, address: Address) -> None:
        self._address = address
        self._number = 0
        self._open: deque[socket.socket] = deque()

    def act(self) -> None:
        self._number += 1
        fresh = _dial(self._address)
        with contextlib.suppress(OSError):
            fresh.send(_MALFORMED[self._number % len(_MALFORMED)])
        self._open.append(fresh)
        if len(self._open) > 50:
            self._open.popleft().close()


class Pipelined:
    """Twenty requests in one go, each of which needs the namenode's loop."""

    pace_hz = 20.0

    def __init__(self, address: Address) -> None:
        self._open = [_dial(address) for _ in range(4)]
        self._reading = selectors.DefaultSelector()
        for each in self._open:
            self._reading.register(each, selectors.EVENT_READ)
        self._number = 0

    def act(self) -> None:
        self._number += 1
        with contextlib.suppress(OSError):
            self._open[self._number % len(self._open)].send(_REQUEST * 20)
        for key, _ in self._reading.select(0):
            assert isinstance(key.fileobj, socket.socket)
            with contextlib.suppress(OSError):
                key.fileobj.recv(1 << 20)


class Crowded:
    """Ten thousand connections that say nothing, and a thousand new ones a second: the oldest go.

    All are up before anybody measures. They dial without waiting for each other, but for no more
    at once than fit into a server's queue: whoever finds no place there dials again after 1, 2,
    4 … seconds. They come from many addresses, for one has 28,000 ports, of which each is kept
    for a minute after its use."""

    pace_hz = 100.0
    connections = 10_000
    _FRESH: Final = 10
    _AT_ONCE: Final = 200
    _SOURCES: Final = 16
    _UP_S: Final = 60.0
    _SPARE_FILES: Final = 200

    def __init__(self, address: Address) -> None:
        needed = self.connections + self._SPARE_FILES
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < needed:
            raise TooFewFiles(f"{needed:,} open files are needed, and `ulimit -Hn` is {hard:,}")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
        self._address = address
        self._open: deque[socket.socket] = deque()
        self._number = 0
        self._gather()

    def act(self) -> None:
        for _ in range(self._FRESH):
            self._open.popleft().close()
            self._open.append(self._dialling())

    def _gather(self) -> None:
        """Dial until all are up. Raises TimeoutError."""
        deadline_s = time.monotonic() + self._UP_S
        dialling: dict[int, socket.socket] = {}
        with select.epoll() as ready:
            while len(self._open) < self.connections:
                wanted = self.connections - len(self._open) - len(dialling)
                for _ in range(min(wanted, self._AT_ONCE - len(dialling))):
                    fresh = self._dialling()
                    dialling[fresh.fileno()] = fresh
                    ready.register(fresh, select.EPOLLOUT)
                for file, _ in ready.poll(1.0):
                    ready.unregister(file)
                    found = dialling.pop(file)
                    # A server may have dropped it by now, but not refused it.
                    error = found.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                    if error not in (0, errno.ECONNRESET, errno.EPIPE):
                        raise OSError(error, os.strerror(error))
                    self._open.append(found)
                if time.monotonic() > deadline_s:
                    raise TimeoutError(
                        f"{len(self._open)} of {self.connections} connections are up after "
                        f"{self._UP_S:g} s"
                    )

    def _dialling(self) -> socket.socket:
        made = socket.socket()
        made.setblocking(False)
        self._number += 1
        made.setsockopt(socket.IPPROTO_IP, _BIND_ADDRESS_NO_PORT, 1)
        made.bind((f"127.0.0.{2 + self._number % self._SOURCES}", 0))
        error = made.connect_ex(self._address)
        if error not in (0, errno.EINPROGRESS):
            raise OSError(error, os.strerror(error))
        return made


CROWDS: Final[dict[str, Callable[[Address], Slow | Huge | Malformed | Pipelined | Crowded]]] = {
    "slow": Slow,
    "huge": Huge,
    "malformed": Malformed,
    "pipelined": Pipelined,
    MANY: Crowded,
}


def _dial(address: Address) -> socket.socket:
    made = socket.create_connection(address, timeout=30)
    made.setblocking(False)
    return made


def _gather(pipe: Connection, name: str, address: Address) -> None:
    before_s = time.perf_counter()
    try:
        crowd = CROWDS[name](address)
    except TooFewFiles as error:
        pipe.send(error)
        return
    pipe.send(time.perf_counter() - before_s)
    step_s = 1 / crowd.pace_hz
    next_s = time.perf_counter()
    late = 0
    while not pipe.poll(max(0.0, next_s - time.perf_counter())):
        with contextlib.suppress(OSError):
            crowd.act()
        next_s += step_s
        if time.perf_counter() - next_s > 0.5:
            # It does not make up for what it could not keep.
            next_s = time.perf_counter()
            late += 1
    pipe.send(late)


# -- who asks, and another server ------------------------------------------------------


def _ask(pipe: Connection, address: Address) -> None:
    asking = scale.Asking(address)
    for _ in range(500):
        asking.info(scale.PROBED)
    pipe.send("ready")
    while (seconds := pipe.recv()) is not None:
        took: list[float] = []
        end_s = time.perf_counter() + seconds
        while (before_s := time.perf_counter()) < end_s:
            asking.info(scale.PROBED)
            took.append(time.perf_counter() - before_s)
            time.sleep(_PAUSE_S)
        pipe.send(took)


def _serve(pipe: Connection) -> None:
    """An HTTP server that is nothing else."""

    def answer(request: Request) -> Response:
        return text_response(200, "this is not the namenode")

    server = HttpServer(answer, timeout_s=60)
    pipe.send(("127.0.0.1", server.start("127.0.0.1", 0)))
    threading.Event().wait()


@contextmanager
def _process(act: Callable[..., None], *arguments: object) -> Iterator[Connection]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=act, args=(theirs, *arguments), daemon=True)
    child.start()
    theirs.close()
    try:
        yield ours
    finally:
        child.kill()
        child.join()


# -- figures ---------------------------------------------------------------------------


def measure(options: Options) -> Results:
    rounds = options.repeats(7, 3)
    with scratch(options, "hostile-http") as base:
        namenode = scale.Howdah(base)
        namenode.start(None)
        try:
            here = namenode.conf.get(keys.DFS_NAMENODE_HTTP_ADDRESS)
            assert here is not None
            _wait(namenode.address)
            yield from _measured(namenode, here, rounds)
        finally:
            namenode.stop()


def _wait(address: Address) -> None:
    deadline_s = time.monotonic() + 120
    while True:
        try:
            scale.Asking(address).info(scale.PROBED)
            return
        except OSError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.2)


@dataclass
class Found:
    """What a round adds a value to."""

    latencies: dict[tuple[str, str], list[list[float]]] = field(default_factory=dict)
    """Microseconds of each call, by crowd and place."""
    up_s: dict[str, list[float]] = field(default_factory=dict)
    """Until the ten thousand were there, by place."""
    resident: dict[str, list[float]] = field(default_factory=dict)
    """Megabytes of the namenode, by place."""
    skipped: dict[str, str] = field(default_factory=dict)


def _measured(namenode: scale.Howdah, here: Address, rounds: int) -> Results:
    found = Found()
    with _process(_ask, namenode.address) as caller, _process(_serve) as other:
        assert caller.recv() == "ready"
        there: Address = other.recv()

        def asked(crowd: str, where: str) -> None:
            caller.send(_SECONDS)
            took = [each * 1e6 for each in caller.recv()]
            found.latencies.setdefault((crowd, where), []).append(took)
            if crowd == MANY:
                found.resident.setdefault(where, []).append(_resident_mb(namenode.pid))

        for number in range(rounds):
            for name in CROWDS:
                if name in found.skipped:
                    continue
                progress(f"round {number + 1} of {rounds}: {name}")
                asked(name, ALONE)
                for where, address in ((THERE, there), ("here", here)):
                    with _process(_gather, name, address) as crowd:
                        up = crowd.recv()
                        if isinstance(up, TooFewFiles):
                            found.skipped[name] = str(up)
                            break
                        if name == MANY:
                            found.up_s.setdefault(where, []).append(up)
                        time.sleep(_WARM_S)
                        asked(name, where)
                        crowd.send("enough")
                        late = crowd.recv()
                        if late:
                            progress(f"{name} at {address[1]} lost its pace {late} times")
    progress(f"load {os.getloadavg()[0]:.1f}")
    yield from _figures(found)


def _figures(found: Found) -> Results:
    for name in CROWDS:
        if name in found.skipped:
            yield Skipped(f"getFileInfo beside {name}", found.skipped[name])
            continue
        for what, of in (("p50", 50), ("p99", 99)):
            yield figure(
                f"getFileInfo beside {name} HTTP, {what}",
                "µs",
                _percentiles(found.latencies[name, "here"], of),
                {where: _percentiles(found.latencies[name, where], of) for where in (ALONE, THERE)},
                target="unmoved" if what == "p50" else "",
            )
    if found.up_s:
        yield figure(f"until {MANY} are up", "s", found.up_s["here"], {THERE: found.up_s[THERE]})
        yield figure(
            f"resident memory of the namenode beside {MANY}",
            "MB",
            found.resident["here"],
            {ALONE: found.resident[ALONE]},
            target="bounded",
        )


def _resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / MB


def _percentiles(rounds: list[list[float]], of: int) -> list[float]:
    return [statistics.quantiles(each, n=100)[of - 1] for each in rounds]


if __name__ == "__main__":
    main(measure)
