"""Ports that a process takes while it is root's, and what it can do when it is not any more."""

from __future__ import annotations

import getpass
import os
import pwd
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from howdah import errors
from howdah.runtime.privileges import HeldPorts, become, is_privileged

OTHER = "nobody"
is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def free_port(ports: range) -> int:
    for port in ports:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError(f"none of {ports} is free")


def greeting(port: int, server: socket.socket) -> bytes:
    with socket.create_connection(("127.0.0.1", port), 10) as client:
        accepted, _ = server.accept()
        accepted.sendall(b"hello")
        accepted.close()
        return client.recv(10)


def in_child(work: Callable[[], str]) -> str:
    """What `work` returns in a process of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            said = work()
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  # the parent compares
            said = repr(error)
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as lines:
        said = lines.read()
    os.waitpid(child, 0)
    return said


def test_ports_below_1024_are_for_root() -> None:
    assert [is_privileged(port) for port in (0, 1, 1023, 1024, 50010)] == [
        *(False, True, True, False, False)
    ]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_port_that_is_held_can_be_listened_at_again_and_again(host: str) -> None:
    """As a datanode does that starts over: what it had before it has shut down."""
    port = free_port(range(20_000, 21_000))
    held = HeldPorts()
    held.hold(host, port)
    for _ in range(3):
        server = held.listening(host, port, 5)
        assert server is not None
        assert greeting(port, server) == b"hello"
        with pytest.raises(OSError, match="in use"):
            socket.create_server(("127.0.0.1", port))
        server.shutdown(socket.SHUT_RDWR)
        server.close()
    assert held.listening(host, port + 1, 5) is None
    assert held.filenos()
    for number in held.filenos():
        os.close(number)


def test_a_port_that_another_has_cannot_be_held() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(OSError, match="in use"):
        HeldPorts().hold("127.0.0.1", other.getsockname()[1])


@is_root
def test_who_gives_up_root_keeps_the_ports_and_nothing_else() -> None:
    port = free_port(range(900, 1000))

    def work() -> str:
        held = HeldPorts()
        held.hold("127.0.0.1", port)
        become(OTHER, "X")
        server = held.listening("127.0.0.1", port, 5)
        assert server is not None
        assert greeting(port, server) == b"hello"
        attempts: tuple[Callable[[], object], ...] = (
            lambda: os.setuid(0),
            lambda: os.setgid(0),
            lambda: Path("/etc/shadow").read_bytes(),
            lambda: HeldPorts().hold("127.0.0.1", free_port(range(800, 900))),
        )
        refused = []
        for attempt in attempts:
            try:
                attempt()
            except (PermissionError, AssertionError):
                refused.append("no")
        return f"{getpass.getuser()} {os.getresuid()} {0 in os.getgroups()} {len(refused)}"

    uid = pwd.getpwnam(OTHER).pw_uid
    assert in_child(work) == f"{OTHER} {(uid, uid, uid)} False 4"


@is_root
def test_who_is_not_root_becomes_nobody_but_himself() -> None:
    def work() -> str:
        become(OTHER, "X")
        become(OTHER, "X")
        try:
            become("root", "VARIABLE")
        except errors.InvalidConfiguration as error:
            return str(error)
        return "root"

    said = in_child(work)
    assert "VARIABLE = root: only root can become another user" in said
    assert f"was started by {OTHER}" in said


def test_a_user_that_is_not_there_is_named() -> None:
    with pytest.raises(errors.InvalidConfiguration, match="VARIABLE = no-such: there is no such"):
        become("no-such", "VARIABLE")
