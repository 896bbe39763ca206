"""Simulated sockets do what real ones do, in random sequences of calls on both."""

from __future__ import annotations

import errno
import random
import select
import socket
from collections.abc import Callable
from typing import Any

import pytest

from howdah.testing.world import Process, World

KINDS = {"stream": socket.SOCK_STREAM, "records": socket.SOCK_SEQPACKET}


class Pair:
    """Two ends, real or simulated."""

    def __init__(self, sockets: Any, polling: Any, kind: int) -> None:
        self.polling = polling
        self.ends = list(sockets.socketpair(socket.AF_UNIX, kind))
        for end in self.ends:
            end.setblocking(False)

    def act(self, name: str, which: int, argument: Any) -> object:
        """What a call gives, or the error that it raises."""
        end = self.ends[which]
        try:
            match name:
                case "send":
                    return end.send(argument)
                case "recv":
                    return end.recv(argument)
                case "peek":
                    return end.recv(argument, socket.MSG_PEEK)
                case "shutdown":
                    return end.shutdown(argument)
                case "close":
                    return end.close()
                case "poll":
                    waiting = self.polling.poll()
                    waiting.register(end, select.POLLIN | select.POLLOUT)
                    return [events for _, events in waiting.poll(0)]
                case "error":
                    return end.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        except (OSError, ValueError) as error:
            return type(error).__name__, getattr(error, "errno", None)
        raise AssertionError(name)


def calls(dice: random.Random) -> list[tuple[str, int, Any]]:
    made: list[tuple[str, int, Any]] = []
    for _ in range(dice.randrange(5, 40)):
        which = dice.randrange(2)
        name = dice.choices(
            ["send", "recv", "peek", "shutdown", "close", "poll", "error"],
            [8, 8, 3, 1, 0.5, 4, 0.5],
        )[0]
        argument: Any = None
        if name == "send":
            argument = dice.randbytes(dice.randrange(1, 200))
        elif name in ("recv", "peek"):
            argument = dice.randrange(1, 300)
        elif name == "shutdown":
            argument = dice.choice([socket.SHUT_RD, socket.SHUT_WR, socket.SHUT_RDWR])
        made.append((name, which, argument))
    return made


def simulated(run: Callable[[Process], Any]) -> Any:
    world = World(1)
    return world.call(world.machine("one"), "caller", run)


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_of_sockets(kind: str) -> None:
    def compare(process: Process) -> None:
        sockets, polling = process.modules.load("socket"), process.modules.load("select")
        for seed in range(150):
            dice = random.Random(f"{kind}/{seed}")
            real, own = Pair(socket, select, KINDS[kind]), Pair(sockets, polling, KINDS[kind])
            done: list[tuple[str, int, Any]] = []
            for name, which, argument in calls(dice):
                done.append((name, which, argument))
                expected = real.act(name, which, argument)
                found = own.act(name, which, argument)
                assert found == expected, f"seed {seed}: {done}"
            for pair in (real, own):
                for end in pair.ends:
                    end.close()

    simulated(compare)


def test_nobody_listens_or_somebody_does() -> None:
    """A connection is refused, another is made without waiting, and a name is unknown."""

    def check(process: Process) -> None:
        sockets, polling = process.modules.load("socket"), process.modules.load("select")
        with pytest.raises(ConnectionRefusedError):
            sockets.create_connection(("one", 9), timeout=5)
        with pytest.raises(socket.gaierror):
            sockets.create_connection(("nowhere", 9), timeout=5)
        listener = sockets.create_server(("0.0.0.0", 9))
        end = sockets.socket()
        end.setblocking(False)
        assert end.connect_ex(("one", 9)) == errno.EINPROGRESS
        waiting = polling.poll()
        waiting.register(end, select.POLLOUT)
        assert waiting.poll(5000)
        assert end.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
        accepted, _ = listener.accept()
        accepted.sendall(b"hello")
        end.settimeout(5)
        assert end.recv(5, socket.MSG_WAITALL) == b"hello"
        accepted.sendall(b"part")
        end.settimeout(1)
        assert end.recv(5, socket.MSG_WAITALL) == b"part"
        # Much more than can be under way at a time.
        threads = process.modules.load("threading")
        sender = threads.Thread(target=accepted.sendall, args=(bytes(1_000_000),))
        sender.start()
        assert len(end.recv(1_000_000, socket.MSG_WAITALL)) == 1_000_000
        sender.join()
        accepted.close()
        assert end.recv(1) == b""

    simulated(check)


def test_a_receiver_waits_as_long_as_it_said() -> None:
    def check(process: Process) -> float:
        sockets, clock = process.modules.load("socket"), process.modules.load("time")
        left, right = sockets.socketpair()
        left.settimeout(2.5)
        began_s = clock.monotonic()
        with pytest.raises(TimeoutError):
            left.recv(1)
        right.close()
        return float(clock.monotonic() - began_s)

    assert 2.5 <= simulated(check) < 2.6


def test_a_cut_wire_holds_bytes_back() -> None:
    world = World(1)
    one, two = world.machine("one"), world.machine("two")
    received: list[bytes] = []

    def listen(process: Process) -> None:
        sockets = process.modules.load("socket")
        accepted, _ = sockets.create_server(("0.0.0.0", 9)).accept()
        while data := accepted.recv(100):
            received.append(data)

    def send(process: Process) -> None:
        sockets, clock = process.modules.load("socket"), process.modules.load("time")
        clock.sleep(0.1)
        end = sockets.create_connection(("one", 9), timeout=5)
        end.sendall(b"before")
        clock.sleep(0.1)
        world.cut(one, two)
        end.sendall(b"after")
        clock.sleep(10)
        assert b"".join(received) == b"before"
        world.heal(one, two)
        clock.sleep(5)
        assert b"".join(received) == b"beforeafter"

    world.process(one, "listener").start(listen)
    world.call(two, "sender", send)
