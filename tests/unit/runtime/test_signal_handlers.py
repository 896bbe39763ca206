"""What a signal handler of the program raises reaches the program, whoever waits for whom."""

from __future__ import annotations

import functools
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import howdah
from howdah.runtime import sockets
from howdah.runtime.signal_handlers import is_raised_by_handler


class Alarm(OSError):
    """No time-out by its class, and yet the program's own."""


def raise_timeout(*_: object) -> None:
    raise TimeoutError("the program's alarm")


def raise_alarm(kind: type[OSError], *_: object) -> None:
    raise kind("the program's alarm")


class Handler:
    def __call__(self, *_: object) -> None:
        raise_timeout()


@contextmanager
def handled_by(handler: Any) -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


@contextmanager
def silent_server() -> Iterator[tuple[str, int]]:
    """Takes a connection and what comes on it, answers nothing, and sends this process a signal."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        taken = []

        def serve() -> None:
            connection, _ = listening.accept()
            taken.append(connection)
            connection.recv(1)
            os.kill(os.getpid(), signal.SIGUSR1)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listening.getsockname()
        finally:
            thread.join()
            for each in taken:
                each.close()


@pytest.mark.parametrize(
    "handler",
    [
        raise_timeout,
        functools.partial(raise_alarm, Alarm),
        Handler(),
        Handler().__call__,
        lambda *_: raise_timeout(),
    ],
)
def test_error_of_a_handler_is_known_by_its_traceback(handler: Any) -> None:
    with handled_by(handler):
        with pytest.raises(OSError, match="the program's alarm") as caught:
            signal.raise_signal(signal.SIGUSR1)
        assert is_raised_by_handler(caught.value)


def test_other_errors_are_nobodys() -> None:
    with handled_by(raise_timeout):
        with pytest.raises(OSError, match="No such file") as caught:
            os.stat("/nowhere")
        assert not is_raised_by_handler(caught.value)


def a_call(scheme: str) -> Callable[[tuple[str, int]], object]:
    def call(address: tuple[str, int]) -> object:
        host, port = address
        with howdah.connect(f"{scheme}://{host}:{port}/", user="root") as fs:
            return fs.get_file_status("/")

    return call


def a_read_of_a_datanode(address: tuple[str, int]) -> object:
    connection = sockets.connect(address)
    try:
        connection.send_all(b"request")
        return connection.recv_exactly(1)
    finally:
        connection.close()


@pytest.mark.parametrize("kind", [TimeoutError, Alarm])
@pytest.mark.parametrize(
    "wait",
    [a_call("hdfs"), a_call("webhdfs"), a_read_of_a_datanode],
    ids=["hdfs", "webhdfs", "datanode"],
)
def test_who_waits_for_a_server_gets_the_error_of_the_handler(
    wait: Callable[[tuple[str, int]], object], kind: type[OSError]
) -> None:
    """It is no time-out of the server, so nothing is tried again."""
    with handled_by(functools.partial(raise_alarm, kind)), silent_server() as address:
        with pytest.raises(OSError, match="the program's alarm") as caught:
            wait(address)
        assert type(caught.value) is kind
