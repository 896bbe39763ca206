"""What waits for sockets by `select.select` does as `select.poll` does."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Iterator

import pytest

from howdah.native import polling
from howdah.native.polling import POLLIN, POLLOUT, Poll, SelectPoll


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    with one, other:
        yield one, other


@pytest.mark.parametrize("make", [SelectPoll, polling.poll])
def test_who_is_ready_is_found(
    make: Callable[[], Poll], ends: tuple[socket.socket, socket.socket]
) -> None:
    one, other = ends
    reading, writing = make(), make()
    reading.register(one, POLLIN)
    writing.register(one, POLLOUT)
    assert list(reading.poll(0)) == []
    assert list(writing.poll()) == [(one.fileno(), POLLOUT)]
    other.send(b"x")
    assert list(reading.poll(1000)) == [(one.fileno(), POLLIN)]
    reading.unregister(one)
    assert list(reading.poll(0)) == []


def test_one_socket_is_ready_for_both(ends: tuple[socket.socket, socket.socket]) -> None:
    one, other = ends
    waiting = SelectPoll()
    waiting.register(one, POLLIN | POLLOUT)
    other.send(b"x")
    assert waiting.poll(0) == [(one.fileno(), POLLIN | POLLOUT)]


def test_a_far_end_that_has_closed_is_readable(ends: tuple[socket.socket, socket.socket]) -> None:
    one, other = ends
    assert not polling.comes(one, 0.001)
    other.close()
    assert polling.comes(one, 10)
    assert polling.comes(one, 0)


def test_the_systems_own_is_taken_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(polling.poll()) is type(select.poll())
    monkeypatch.delattr(select, "poll")
    assert isinstance(polling.poll(), SelectPoll)
