"""Who asks over HTTP, by a ticket of Kerberos or the cookie behind it (shell: a keytab, a clock; on
the threads of connections).

Whoever proves nothing hears what to do, in a browser by a page.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import Final

from howdah import errors
from howdah.protocol.rpc.proven import KERBEROS, Proven
from howdah.protocol.web_authentication.negotiation import (
    Known,
    Negotiation,
    Ticket,
    Unproven,
)
from howdah.security.spnego import SpnegoAcceptor, TicketContinued
from howdah.web.http import Admitted, Request, Response, answer
from howdah.web.monitoring.health import HEALTH_PATH

log = logging.getLogger(__name__)

_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_UNPROVEN: Final = (
    "This server is secured by Kerberos, and asks by SPNEGO (Negotiate) who you are: {reason}."
)
_ADVICE: Final = (
    "Get a ticket (kinit), and use a program that shows it: curl --negotiate -u :, a client of "
    "Hadoop's or howdah's, or a browser that is allowed to for this host (Firefox: "
    "network.negotiate-auth.trusted-uris; Chrome: the policy AuthServerAllowlist). The host in "
    "the address has to be the one in the server's principal."
)
_HEALTH: Final = f"{HEALTH_PATH} is open to everybody."


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
                return _refusal(request, _UNAUTHORIZED, "the ticket needs another round", headers)
            user = self.user_of(taken.principal)
        except errors.AuthenticationFailed as refused:
            headers = self.negotiation.refused(is_secure=request.is_secure)
            del headers["WWW-Authenticate"]  # Another ticket would do no better.
            return _refusal(request, _FORBIDDEN, refused.message, headers)
        headers = self.negotiation.accepted(
            user, taken.principal, taken.answer, self.now_ms(), is_secure=request.is_secure
        )
        return Admitted(_of(request, user, taken.principal), headers)

    def _unproven(self, request: Request, reason: str) -> Response:
        headers = self.negotiation.refused(is_secure=request.is_secure)
        return _refusal(request, _UNAUTHORIZED, reason, headers)


def _of(request: Request, user: str, principal: str) -> Request:
    return replace(request, proven=Proven(KERBEROS, user, principal))


def _refusal(request: Request, status: int, reason: str, headers: Mapping[str, str]) -> Response:
    """What people and programs hear who do not get in."""
    log.info("%s %s from %s: %d, %s", request.method, request.path, request.peer, status, reason)
    words = _UNPROVEN.format(reason=reason)
    if "text/html" in request.headers.get("accept", ""):
        body = (
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
            "<title>Who are you?</title></head><body><h1>Who are you?</h1>"
            f"<p>{escape(words)}</p><p>{escape(_ADVICE)}</p><p>{_HEALTH}</p></body></html>\n"
        )
        return answer(status, body.encode(), "text/html; charset=utf-8", headers)
    body = f"{words}\n{_ADVICE}\n{_HEALTH}\n"
    return answer(status, body.encode(), "text/plain; charset=utf-8", headers)
