"""The data port where the system gives no connection, for however long."""

from __future__ import annotations

import errno
import os
import socket
import time
from typing import Any

import pytest

from howdah.datanode.transfer.data_server import DataServer

FAILURES = 150


class Refusing:
    """A listening socket whose `accept` fails each time, until the server is about to close."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.server: Any = None
        self.failures = 0

    def accept(self) -> tuple[socket.socket, object]:
        self.failures += 1
        if self.failures > FAILURES:
            self.server._closing = True
        raise self.error

    def shutdown(self, how: int, /) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EMFILE, os.strerror(errno.EMFILE)),
        OSError(errno.ENETDOWN, os.strerror(errno.ENETDOWN)),
        OSError(errno.EINVAL, os.strerror(errno.EINVAL)),
        MemoryError(),
    ],
)
def test_an_accept_that_fails_for_ever_takes_no_processor_and_fills_no_log(
    lab: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    listener = Refusing(error)
    node = lab.node()
    listener.server = server = DataServer(listener, node.store, node.settings)
    server._accept()
    assert len(pauses) == FAILURES
    assert min(pauses) > 0
    lines = [each for each in caplog.messages if "cannot accept a data connection: " in each]
    assert len(lines) == 2
    assert all(str(error) in each or "MemoryError()" in each for each in lines)
