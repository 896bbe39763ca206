"""Waiting for a socket for a moment, awake."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from howdah.native.loader import kernel

LONG_NS = 1_000_000


@pytest.fixture(name="await_bytes")
def _await_bytes() -> Callable[[int, int], bool]:
    native = kernel()
    if native is None:
        pytest.skip("the kernel is not built here")
    found: Callable[[int, int], bool] = native.await_bytes
    return found


@contextmanager
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.mark.parametrize("most_ns", [0, 1, LONG_NS])
def test_nothing_comes(await_bytes: Callable[[int, int], bool], most_ns: int) -> None:
    with pair() as (ours, _):
        assert await_bytes(ours.fileno(), most_ns) is False


@pytest.mark.parametrize("most_ns", [0, LONG_NS])
def test_what_is_there_already_is_seen_and_left(
    await_bytes: Callable[[int, int], bool], most_ns: int
) -> None:
    with pair() as (ours, theirs):
        theirs.send(b"a call")
        assert await_bytes(ours.fileno(), most_ns) is True
        assert ours.recv(100) == b"a call"


def test_the_end_is_something_that_comes(await_bytes: Callable[[int, int], bool]) -> None:
    with pair() as (ours, theirs):
        theirs.close()
        assert await_bytes(ours.fileno(), 0) is True


def test_a_descriptor_that_is_closed_is_for_the_loop_to_find(
    await_bytes: Callable[[int, int], bool],
) -> None:
    with pair() as (ours, _):
        number = ours.fileno()
    assert await_bytes(number, 0) is True


def test_others_run_meanwhile(await_bytes: Callable[[int, int], bool]) -> None:
    """It gives the interpreter's lock away: who is to send may be a thread of this process."""
    with pair() as (ours, theirs):
        begun = threading.Event()

        def send() -> None:
            begun.wait(30)
            theirs.send(b"a call")

        sender = threading.Thread(target=send)
        sender.start()
        begun.set()
        has_come = any(await_bytes(ours.fileno(), LONG_NS) for _ in range(30_000))
        sender.join()
        assert has_come


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((), TypeError),
        ((1,), TypeError),
        ((1, 2, 3), TypeError),
        (("a", 1), TypeError),
        ((1, None), TypeError),
        ((-1, 1), ValueError),
        ((1 << 31, 1), ValueError),
        ((1 << 80, 1), OverflowError),
        ((0, -1), ValueError),
        ((0, LONG_NS + 1), ValueError),
        ((0, 1 << 80), OverflowError),
    ],
)
def test_what_cannot_be_meant_is_refused(
    await_bytes: Callable[..., bool], arguments: tuple[object, ...], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await_bytes(*arguments)
