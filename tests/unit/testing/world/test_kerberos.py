"""The stand-in for the library of Kerberos: it takes what the real one takes, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from howdah.protocol.sasl.principals import Principal
from howdah.testing.world.kerberos import REALM, SEAM, give_keytab
from howdah.testing.world.processes import Process
from howdah.testing.world.world import World

KEYTAB = "/etc/keytab"
SERVICE = Principal("nn", "server", REALM)


class Sides:
    """A client and a server of a context, in one process."""

    def __init__(self, process: Process, *, client: str = "alice", target: Principal = SERVICE):
        self.gss = process.modules.import_module(SEAM)
        self.errors = process.modules.load("howdah.errors")
        store = {"client_keytab": KEYTAB}
        self.client = self.gss.Context(self.gss.Credential(store, f"{client}@{REALM}"), target)
        self.server = self.gss.AcceptedContext(self.gss.AcceptorCredential(KEYTAB, str(SERVICE)))

    def meet(self) -> None:
        assert self.client.step(self.server.step(self.client.step(b""))) == b""


@pytest.fixture
def within() -> Callable[[Callable[[Process], Any]], Any]:
    """Runs a function in a process of a machine that has keys."""
    world = World(1)
    machine = world.machine("server")
    give_keytab(machine, KEYTAB, "nn/server", "HTTP/server", "alice")
    return lambda run: world.call(machine, "test", run)


def test_both_sides_know_each_other(within: Callable[[Callable[[Process], Any]], Any]) -> None:
    def run(process: Process) -> None:
        sides = Sides(process)
        sides.meet()
        assert sides.server.client == f"alice@{REALM}"
        for confidential in (False, True):
            asked = sides.client.wrap(b"asked", confidential=confidential)
            assert (b"asked" in asked) is not confidential
            assert sides.server.unwrap(asked) == (b"asked", confidential)
            answer = sides.server.wrap(b"answered", confidential=confidential)
            assert sides.client.unwrap(answer) == (b"answered", confidential)

    within(run)


def test_a_ticket_is_for_one_service(within: Callable[[Callable[[Process], Any]], Any]) -> None:
    def run(process: Process) -> None:
        sides = Sides(process, target=Principal("HTTP", "server", REALM))
        with pytest.raises(sides.gss.GssFailure, match="integrity"):
            sides.server.step(sides.client.step(b""))

    within(run)


def test_nobody_logs_in_without_a_key(within: Callable[[Callable[[Process], Any]], Any]) -> None:
    def run(process: Process) -> None:
        gss = process.modules.import_module(SEAM)
        with pytest.raises(gss.GssFailure, match="No key table entry found for bob"):
            Sides(process, client="bob")
        with pytest.raises(gss.GssFailure, match="No Kerberos credentials"):
            gss.Credential({}, None)

    within(run)


def test_a_server_that_cannot_read_the_ticket_is_found(
    within: Callable[[Callable[[Process], Any]], Any],
) -> None:
    def run(process: Process) -> None:
        sides = Sides(process)
        sides.client.step(b"")
        with pytest.raises(sides.gss.GssFailure, match="integrity"):
            sides.client.step(b"\0" * 16)
        assert not sides.client.is_established

    within(run)


@pytest.mark.parametrize("how", ["changed", "repeated", "left out", "reflected", "cut"])
def test_messages_are_what_was_sent(
    how: str, within: Callable[[Callable[[Process], Any]], Any]
) -> None:
    def run(process: Process) -> None:
        sides = Sides(process)
        sides.meet()
        first = sides.client.wrap(b"first", confidential=False)
        second = sides.client.wrap(b"second", confidential=False)
        receiver = sides.server
        if how == "changed":
            arriving = first[:-1] + b"!"
        elif how == "repeated":
            receiver.unwrap(first)
            arriving = first
        elif how == "left out":
            arriving = second
        elif how == "reflected":
            receiver, arriving = sides.client, first
        else:
            arriving = first[:20]
        with pytest.raises(sides.errors.ProtocolViolation):
            receiver.unwrap(arriving)

    within(run)
