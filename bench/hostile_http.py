"""The latency of a namenode's calls beside bad company at its web port.

One caller asks for a file's status all the time, over RPC, while a crowd in a process of its own
speaks HTTP to the same namenode: slow heads, bodies and heads that are far too long, what is no
HTTP, pipelines whose requests need the loop, and more connections than are served. A crowd has
a pace that it keeps whatever it is answered.

Two cores, say, are also taken by the crowd itself and by the threads that listen to it. So each
crowd is measured at another server, too: the same HTTP server in a process that answers no calls.
Alone, there, here: the three take turns. The ratio of here to there is what HTTP costs a call
beyond the processor time that it takes from the machine.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import selectors
import socket
import statistics
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Final

import scale
from harness import Options, Results, figure, main, progress, scratch

from howdah import keys
from howdah.web.http import Request, Response, plain
from howdah.web.server import HttpServer

Address = tuple[str, int]
ALONE, THERE = "alone", "beside it at another server"
_PAUSE_S: Final = 0.001
_WARM_S: Final = 0.3
"""So long a crowd gathers before anybody measures."""
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
    """New connections that say nothing; the oldest of a thousand goes for each."""

    pace_hz = 300.0

    def __init__(self, address: Address) -> None:
        self._address = address
        self._open: deque[socket.socket] = deque()

    def act(self) -> None:
        self._open.append(_dial(self._address))
        if len(self._open) > 1000:
            self._open.popleft().close()


CROWDS: Final[dict[str, Callable[[Address], Slow | Huge | Malformed | Pipelined | Crowded]]] = {
    "slow": Slow,
    "huge": Huge,
    "malformed": Malformed,
    "pipelined": Pipelined,
    "many connections": Crowded,
}


def _dial(address: Address) -> socket.socket:
    made = socket.create_connection(address, timeout=30)
    made.setblocking(False)
    return made


def _gather(pipe: Connection, name: str, address: Address) -> None:
    crowd = CROWDS[name](address)
    pipe.send("ready")
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
        return plain(200, "this is not the namenode")

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
    seconds = 3.0 if not options.quick else 1.5
    with scratch(options, "hostile-http") as base:
        namenode = scale.Howdah(base)
        namenode.start(None)
        try:
            here = namenode.conf.get(keys.DFS_NAMENODE_HTTP_ADDRESS)
            assert here is not None
            _wait(namenode.address)
            yield from _measured(namenode.address, here, rounds, seconds)
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


def _measured(rpc: Address, here: Address, rounds: int, seconds: float) -> Results:
    found: dict[tuple[str, str], list[list[float]]] = {}
    with _process(_ask, rpc) as caller, _process(_serve) as other:
        assert caller.recv() == "ready"
        there: Address = other.recv()

        def asked(crowd: str, where: str) -> None:
            caller.send(seconds)
            found.setdefault((crowd, where), []).append([each * 1e6 for each in caller.recv()])

        for number in range(rounds):
            for name in CROWDS:
                progress(f"round {number + 1} of {rounds}: {name}")
                asked(name, ALONE)
                for where, address in ((THERE, there), ("here", here)):
                    with _process(_gather, name, address) as crowd:
                        assert crowd.recv() == "ready"
                        time.sleep(_WARM_S)
                        asked(name, where)
                        crowd.send("enough")
                        late = crowd.recv()
                        if late:
                            progress(f"{name} at {address[1]} lost its pace {late} times")
    progress(f"load {os.getloadavg()[0]:.1f}")
    for name in CROWDS:
        for what, of in (("p50", 50), ("p99", 99)):
            yield figure(
                f"getFileInfo beside {name} HTTP, {what}",
                "µs",
                _percentiles(found[name, "here"], of),
                {where: _percentiles(found[name, where], of) for where in (ALONE, THERE)},
                target="unmoved" if what == "p50" else "",
            )


def _percentiles(rounds: list[list[float]], of: int) -> list[float]:
    return [statistics.quantiles(each, n=100)[of - 1] for each in rounds]


if __name__ == "__main__":
    main(measure)
