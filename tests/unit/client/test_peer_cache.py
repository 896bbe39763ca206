"""Connections that are kept for the next read."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from howdah.client import peer_cache
from howdah.client.peer_cache import PeerCache
from howdah.runtime.sockets import Connection

A = ("10.0.0.1", 1)
B = ("10.0.0.2", 1)
LONG_S = 1000.0
"""No test takes so long, however busy the machine is: nothing expires by chance."""


class Pairs:
    """Connected sockets; keeps the far ends."""

    def __init__(self) -> None:
        self.far: dict[Connection, socket.socket] = {}

    def new(self) -> Connection:
        near, far = socket.socketpair()
        connection = Connection(near)
        self.far[connection] = far
        return connection

    def close(self) -> None:
        for connection, far in self.far.items():
            connection.close()
            far.close()


@pytest.fixture
def pairs() -> Iterator[Pairs]:
    made = Pairs()
    yield made
    made.close()


def test_a_connection_is_found_by_its_address(pairs: Pairs) -> None:
    cache = PeerCache(4, LONG_S)
    a, b = pairs.new(), pairs.new()
    cache.give_back(A, a)
    cache.give_back(B, b)
    assert cache.pop(B) is b
    assert cache.pop(B) is None
    assert cache.pop(A) is a


def test_the_one_that_was_used_last_is_taken_first(pairs: Pairs) -> None:
    cache = PeerCache(4, LONG_S)
    first, second = pairs.new(), pairs.new()
    cache.give_back(A, first)
    cache.give_back(A, second)
    assert cache.pop(A) is second


def test_the_oldest_goes_when_there_are_too_many(pairs: Pairs) -> None:
    cache = PeerCache(2, LONG_S)
    connections = [pairs.new() for _ in range(3)]
    for connection in connections:
        cache.give_back(A, connection)
    assert len(cache) == 2
    assert connections[0].fileno() == -1


def test_a_connection_expires(pairs: Pairs) -> None:
    cache = PeerCache(4, 0.0)
    connection = pairs.new()
    cache.give_back(A, connection)
    assert cache.pop(A) is None
    assert connection.fileno() == -1


def test_a_connection_that_the_far_end_closed_long_ago_is_not_given_out(
    pairs: Pairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer_cache, "LOOK_AFTER_S", 0.0)
    cache = PeerCache(4, LONG_S)
    before, connection = pairs.new(), pairs.new()
    cache.give_back(A, before)
    cache.give_back(A, connection)
    pairs.far[connection].close()
    assert cache.pop(A) is before
    assert connection.fileno() == -1


def test_a_connection_that_was_used_a_moment_ago_is_not_asked_whether_it_lives(
    pairs: Pairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer_cache, "LOOK_AFTER_S", 1000.0)
    cache = PeerCache(4, LONG_S)
    connection = pairs.new()
    cache.give_back(A, connection)
    pairs.far[connection].close()
    assert cache.pop(A) is connection


def test_a_cache_without_capacity_keeps_nothing(pairs: Pairs) -> None:
    cache = PeerCache(0, LONG_S)
    connection = pairs.new()
    cache.give_back(A, connection)
    assert len(cache) == 0
    assert connection.fileno() == -1


def test_a_closed_cache_keeps_nothing(pairs: Pairs) -> None:
    cache = PeerCache(4, LONG_S)
    before, after = pairs.new(), pairs.new()
    cache.give_back(A, before)
    cache.close()
    cache.give_back(A, after)
    assert (before.fileno(), after.fileno()) == (-1, -1)


def test_a_forked_child_takes_none_of_its_parents(pairs: Pairs) -> None:
    cache = PeerCache(4, LONG_S)
    connection = pairs.new()
    cache.give_back(A, connection)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if cache.pop(A) is None else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert cache.pop(A) is connection


def test_a_forked_child_closes_what_it_has_though_the_parent_held_the_lock(pairs: Pairs) -> None:
    cache = PeerCache(4, LONG_S)
    connection = pairs.new()
    cache.give_back(A, connection)
    with cache._kept.get().lock:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                cache.close()
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
    assert cache.pop(A) is connection
