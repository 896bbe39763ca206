"""The guards of servers' web ports, as they are configured, without a KDC."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace

import pytest

from howdah.config import Configuration
from howdah.protocol.sasl.offered_protections import SameForAll
from howdah.protocol.sasl.principals import Principal
from howdah.security.server_login import ServerLogin
from howdah.security.server_methods import ServerIdentity
from howdah.security.settings import SecuritySettings
from howdah.security.spnego import SpnegoAcceptor, TicketContinued, TicketTaken
from howdah.web.access.guard import WebGuard
from howdah.web.access.tickets import TicketProver
from howdah.web.http import Admitted, Guard, NeedsBody, Request

REALM = "EXAMPLE.COM"
WEB_PRINCIPAL = {"dfs.web.authentication.kerberos.principal": f"HTTP/_HOST@{REALM}"}


class NamedTickets(SpnegoAcceptor):
    """A ticket is a principal's name."""

    def accept(self, token: bytes, address: str) -> TicketTaken | TicketContinued:
        return TicketTaken(token.decode(), b"proof")


def login_of(conf: Configuration, primary: str) -> ServerLogin:
    """Of a server that nobody asks for its key."""
    settings = SecuritySettings.from_configuration(conf)
    principal = Principal(primary, "localhost", REALM)
    user = settings.user_of(str(principal), REALM)
    identity = ServerIdentity(principal, "/nowhere")
    return ServerLogin(settings, identity, REALM, user, user, SameForAll(()))


def answered(
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Configuration, ServerLogin], Guard],
    conf: Configuration,
    primary: str,
) -> Callable[[str, str, str], int]:
    """Return what a server's guard answers a principal, from an address, for a path: 200 where it
    lets it pass."""
    monkeypatch.setattr(ServerIdentity, "check", lambda identity: None)
    made = make(conf, login_of(conf, primary))
    assert isinstance(made, WebGuard)
    prover = made.prover
    assert isinstance(prover, TicketProver)
    guard = replace(made, prover=replace(prover, acceptor=NamedTickets(prover.acceptor.identity)))

    def status(principal: str, address: str, path: str) -> int:
        ticket = base64.b64encode(principal.encode()).decode()
        headers = {"authorization": f"Negotiate {ticket}"}
        passed = guard.admit(Request("GET", path, headers=headers, peer=address))
        assert not isinstance(passed, NeedsBody)
        return 200 if isinstance(passed, Admitted) else passed.status

    return status
