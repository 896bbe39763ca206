"""Defects in the threads of a data process: told in the log, and never the end of others."""

from __future__ import annotations

import fcntl
import os
import resource
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import pytest

from howdah.datanode.channel.frames import Link
from howdah.datanode.control.control_process import ControlProcess
from howdah.datanode.state.messages import ShutdownAsked
from howdah.datanode.transfer.operations import Operations
from howdah.runtime.sockets import PeerClosed
from howdah.testing.waiting import wait_until

Lab = Any


def fails(*_: object) -> NoReturn:
    raise RuntimeError("a defect")


def test_a_defect_in_an_operation_ends_that_connection_alone(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    node = lab.node()
    with monkeypatch.context() as patch:
        patch.setattr(Operations, "serve", fails)
        with node.connect() as connection, pytest.raises(PeerClosed):
            connection.recv_exactly(1)
    node.wait_idle()
    assert "a defect" in caplog.text
    lab.write_block(node, lab.block(), b"data")
    assert node.content(1) == b"data"


@pytest.fixture
def high_descriptors() -> Iterator[Callable[[int], int]]:
    """Makes a descriptor one that `select` refuses, as in a process with a thousand others."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], 2048), before[1]))

    def raised(descriptor: int) -> int:
        high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 1024)
        os.close(descriptor)
        return high

    yield raised
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_control_process_with_a_thousand_files_open_hears_its_data_process_and_signals(
    high_descriptors: Callable[[int], int],
) -> None:
    ours, theirs = socket.socketpair()
    reader, writer = os.pipe()
    alive: Any = object.__new__(ControlProcess)
    alive._stop_reason, alive._status = "", None
    alive._link = Link(socket.socket(fileno=high_descriptors(ours.detach())))
    alive._wake_reader, alive._wake_writer = high_descriptors(reader), writer
    heard: list[object] = []
    alive._handle = heard.append
    loop = threading.Thread(target=alive._loop)
    loop.start()
    with theirs:
        Link(theirs).send(ShutdownAsked(for_upgrade=False))
        wait_until(lambda: heard == [ShutdownAsked(for_upgrade=False)] or not loop.is_alive())
        alive.stop("got SIGTERM", 0)
        loop.join(60)
    assert heard
    assert not loop.is_alive()
    alive._link.close()
    for descriptor in (alive._wake_reader, writer):
        os.close(descriptor)
