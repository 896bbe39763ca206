"""Who asks over HTTP, by a ticket of Kerberos or the cookie behind it (shell: a keytab, a clock; on
the threads of connections).

Whoever proves nothing hears what to do, in a browser by a page.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from howdah import errors
from howdah.protocol.rpc.proven import KERBEROS, Proven
from howdah.protocol.sasl.principals import Principal
from howdah.protocol.web_authentication.negotiation import (
    Known,
    Negotiation,
    Ticket,
    Unproven,
)
from howdah.security.spnego import SpnegoAcceptor, TicketContinued
from howdah.web.access import login_pages
from howdah.web.http import Admitted, Request, Response
from howdah.web.known_hosts import host_of

log = logging.getLogger(__name__)

_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_UNPROVEN: Final = (
    "This server is secured by Kerberos, and asks by SPNEGO (Negotiate) who you are: {reason}."
)


@dataclass(frozen=True, slots=True)
class TicketProver:
    """Of one server. `user_of` has the short name of a principal, or raises AuthenticationFailed;
    `now_ms` is the time of day."""

    negotiation: Negotiation = field(repr=False)
    acceptor: SpnegoAcceptor
    user_of: Callable[[str], str]
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000

    def own_answer(self, request: Request) -> None:
        """There is no page but that of a refusal."""

    def prove(self, request: Request) -> Admitted | Response:
        found = self.negotiation.begin(request.headers, self.now_ms())
        if isinstance(found, Known):
            identity = found.identity
            return Admitted(_of(request, identity.user, identity.principal))
        if isinstance(found, Unproven):
            return self._unproven(request, found.reason)
        assert isinstance(found, Ticket)
        try:
            taken = self.acceptor.accept(found.token, request.peer)
            if isinstance(taken, TicketContinued):
                headers = self.negotiation.refused(taken.answer, is_secure=request.is_secure)
                return self._refusal(
                    request, _UNAUTHORIZED, "the ticket needs another round", headers
                )
            user = self.user_of(taken.principal)
        except errors.AuthenticationFailed as refused:
            headers = self.negotiation.refused(is_secure=request.is_secure)
            del headers["WWW-Authenticate"]  # Another ticket would do no better.
            return self._refusal(request, _FORBIDDEN, refused.message, headers)
        headers = self.negotiation.accepted(
            user, taken.principal, taken.answer, self.now_ms(), is_secure=request.is_secure
        )
        return Admitted(_of(request, user, taken.principal), headers)

    def _unproven(self, request: Request, reason: str) -> Response:
        headers = self.negotiation.refused(is_secure=request.is_secure)
        return self._refusal(request, _UNAUTHORIZED, reason, headers)

    def _refusal(
        self, request: Request, status: int, reason: str, headers: Mapping[str, str]
    ) -> Response:
        """What people and programs hear who do not get in."""
        log.info(
            "%s %s from %s: %d, %s", request.method, request.path, request.peer, status, reason
        )
        said = _UNPROVEN.format(reason=reason)
        steps = _steps(self.acceptor.identity.principal, request)
        return login_pages.refusal(request, "Kerberos", status, said, steps, headers)


def _of(request: Request, user: str, principal: str) -> Request:
    return replace(request, proven=Proven(KERBEROS, user, principal))


def _steps(principal: Principal, request: Request) -> list[str]:
    """What to do, for the host that was asked for and the one that tickets are for."""
    host = principal.instance
    asked = host_of(request.headers.get("host", "")) or host
    steps = [
        f"Get a ticket: kinit USER@{principal.realm}. klist shows whether there is one.",
        f"Let the browser show it to {host}. Firefox: in about:config, "
        f"network.negotiate-auth.trusted-uris = {host}. Chrome, Chromium and Edge: the policy "
        f"AuthServerAllowlist = {host}, or the option --auth-server-allowlist={host}. Safari "
        "needs no setting. Then restart the browser.",
    ]
    if asked.lower() != host.lower():
        steps.append(
            f"Ask for {host} and not for {asked}: tickets are for the name in the server's "
            f"principal, {principal}."
        )
    scheme = "https" if request.is_secure else "http"
    port = request.headers.get("host", "").removeprefix(asked)
    steps.append(
        "Or use a program that shows tickets, such as Hadoop's and howdah's clients, or: "
        f"curl --negotiate -u : {scheme}://{host}{port if port[:1] == ':' else ''}/"
    )
    return steps
