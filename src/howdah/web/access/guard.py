"""The guard before all that a secured server answers over HTTP (shell: a keytab, a clock; on the
threads of connections).

A request has an address with a rule (`rules`), and somebody who asks: whoever a signed cookie or a
ticket says. Of a delegation token the guard only sees that there is one: the page that takes tokens
looks at it, on its loop, and answers nobody without one who has not passed here otherwise
(`Request.proven`).

Whoever proves nothing hears what to do, in a browser by a page.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Container, Mapping
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
from howdah.web.access.rules import AccessRules, Rule
from howdah.web.http import Admitted, Request, Response, answer, text_response
from howdah.web.monitoring.health import HEALTH_PATH

log = logging.getLogger(__name__)

_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_TOKEN: Final = "delegation"
_REHEARSAL: Final = "OPTIONS"
"""By which Hadoop's servers and commands prove who they are, before they ask for something
(KerberosAuthenticator)."""
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
class Administrators:
    """Who may do what not everybody may, and as which principals other servers come.

    A server of the cluster is never an administrator where something is for servers: several
    kinds of servers may have one short name, and only one kind may have what is for it.
    """

    users: Container[str]
    """By short names: `dfs.cluster.administrators`. May wait for a directory of users."""
    own_user: str | None = None
    """That of the server itself, an administrator but for what is for servers."""
    servers: Callable[[str, str], bool] = lambda principal, address: False
    """Whether a principal, from an IP address, is that of a server which fetches from this one."""
    is_server: Callable[[str], bool] = lambda principal: False
    """Whether a principal is that of any server of the cluster, at whichever host."""


@dataclass(frozen=True, slots=True)
class WebGuard:
    """Of one server. `user_of` has the short name of a principal, or raises AuthenticationFailed;
    `now_ms` is the time of day."""

    negotiation: Negotiation = field(repr=False)
    acceptor: SpnegoAcceptor
    user_of: Callable[[str], str]
    rules: AccessRules
    administrators: Administrators
    pages_are_open: bool = False
    figures_need_admin: bool = False
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000

    def admit(self, request: Request) -> Admitted | Response:
        """Let a request pass, or answer it. Raises nothing."""
        rule = self.rules.of(request.path)
        if rule is None:
            return text_response(404, f"there is no {request.path} here")
        if rule is Rule.FIGURES:
            rule = Rule.ADMINISTRATOR if self.figures_need_admin else Rule.PAGE
        if rule is Rule.OPEN or (rule is Rule.PAGE and self.pages_are_open):
            return _rehearsed(Admitted(request))
        if rule in (Rule.FILES, Rule.TOKEN) and has_token(request):
            return Admitted(request)
        if rule is Rule.TOKEN:
            if request.method == _REHEARSAL:
                return Admitted(request)  # A browser asks for a page, and says nothing of a user.
            return text_response(
                _FORBIDDEN,
                "this server takes delegation tokens alone: ask a namenode, whose answer leads "
                "here with one",
            )
        admitted = self._prove(request)
        if isinstance(admitted, Response):
            return admitted
        proven = admitted.request.proven
        assert proven is not None, "that is what it was proven for"
        if request.method == _REHEARSAL:
            return _rehearsed(admitted)
        if self._may(rule, proven, request.peer):
            return admitted
        log.info("%s %s for %s is refused", request.method, request.path, proven.full_name)
        refusal = text_response(
            _FORBIDDEN,
            f"User {proven.user} is unauthorized to access this page: {request.path} is for "
            f"{rule.value} (dfs.cluster.administrators)",
        )
        return replace(refusal, headers={**refusal.headers, **admitted.headers})

    def _may(self, rule: Rule, proven: Proven, address: str) -> bool:
        if rule in (Rule.USER, Rule.PAGE, Rule.FILES):
            return True
        those = self.administrators
        if rule is not Rule.SERVERS:
            return proven.user == those.own_user or proven.user in those.users
        if those.servers(proven.full_name, address):
            return True
        return proven.user in those.users and not those.is_server(proven.full_name)

    def _prove(self, request: Request) -> Admitted | Response:
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


@dataclass(frozen=True, slots=True)
class ClosedGuard:
    """Of a server whose web ports can prove nobody: they answer what is open to everybody, such as
    whether it lives, and nothing else. `key` is what to set."""

    key: str
    rules: AccessRules

    def admit(self, request: Request) -> Admitted | Response:
        if self.rules.of(request.path) is Rule.OPEN:
            return Admitted(request)
        return text_response(
            _FORBIDDEN,
            f"This server is secured by Kerberos, and {self.key} is not set: by HTTP it cannot "
            f"learn who you are, and all but {HEALTH_PATH} is closed.",
        )


def _rehearsed(admitted: Admitted) -> Admitted | Response:
    """The answer to who only proves who he is: his cookie."""
    if admitted.request.method != _REHEARSAL:
        return admitted
    return Response(200, {"Allow": "GET, HEAD, POST, PUT, DELETE, OPTIONS", **admitted.headers})


def has_token(request: Request) -> bool:
    """Whether a delegation token comes with it, be it good or not."""
    return any(name.lower() == _TOKEN and value for name, value in request.query.items())


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
