"""The guard before all that a server answers over HTTP where users prove who they are (shell: on
the threads of connections).

A request has an address with a rule (`rules`), and somebody who asks: whoever a `Prover` finds out,
such as one for tickets (`tickets`). Of a delegation token the guard only sees that there is one:
the page that takes tokens looks at it, on its loop, and answers nobody without one who has not
passed here otherwise (`Request.proven`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from howdah.protocol.rpc.proven import Proven
from howdah.protocol.web_authentication.signed_cookie import cookie_in
from howdah.security.strangers import STRANGERS
from howdah.web.access.rules import AccessRules, Rule
from howdah.web.http import Admitted, NeedsBody, Request, Response, text_response
from howdah.web.monitoring.health import HEALTH_PATH
from howdah.web.webhdfs.parameters import InvalidParameter, parameters_of

log = logging.getLogger(__name__)

_FORBIDDEN: Final = 403
_TOKEN: Final = "delegation"
_USER: Final = "user.name"
_REHEARSAL: Final = "OPTIONS"
"""By which Hadoop's servers and commands prove who they are, before they ask for something
(KerberosAuthenticator)."""


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
    is_confined: Callable[[str], bool] = lambda principal: False
    """Whether a principal is that of a server which reads no files and administers nothing,
    whatever its short name may (`howdah.security.confinement`)."""


class Prover(Protocol):
    """How who asks a server over HTTP proves who he is."""

    def own_answer(self, request: Request) -> Response | NeedsBody | None:
        """The answer to a request for a page of the proof itself, such as a form."""

    def prove(self, request: Request) -> Admitted | Response:
        """The request with who it is from (`Request.proven`), or what that one hears who shows no
        proof. Raises nothing."""


@dataclass(frozen=True, slots=True)
class WebGuard:
    """Of one server."""

    prover: Prover = field(repr=False)
    rules: AccessRules
    administrators: Administrators
    pages_are_open: bool = False
    figures_need_admin: bool = False
    takes_simple: bool = False
    """Whether who shows nothing is believed as without Kerberos, while a cluster changes over."""

    def admit(self, request: Request) -> Admitted | Response | NeedsBody:
        """Let a request pass, or answer it. Raises nothing."""
        own = self.prover.own_answer(request)
        if own is not None:
            return own
        rule = self.rules.of(request.path)
        if rule is None:
            return text_response(404, f"there is no {request.path} here")
        if rule is Rule.FIGURES:
            rule = Rule.ADMINISTRATOR if self.figures_need_admin else Rule.PAGE
        if rule is Rule.OPEN or (rule is Rule.PAGE and self.pages_are_open):
            return _rehearsed(Admitted(request))
        if rule in (Rule.FILES, Rule.TOKEN) and has_token(request):
            return Admitted(request)
        if self.takes_simple and _shows_nothing(request):
            STRANGERS.note(request.query.get(_USER, ""), request.peer)
            return Admitted(request)
        if rule is Rule.TOKEN:
            if request.method == _REHEARSAL:
                return Admitted(request)  # A browser asks for a page, and says nothing of a user.
            return text_response(
                _FORBIDDEN,
                "this server takes delegation tokens alone: ask a namenode, whose answer leads "
                "here with one",
            )
        admitted = self.prover.prove(request)
        if isinstance(admitted, Response):
            return admitted
        proven = admitted.request.proven
        assert proven is not None, "that is what it was proven for"
        if request.method == _REHEARSAL:
            return _rehearsed(admitted)
        if self._may(rule, proven, request.peer):
            return admitted
        log.info("%s %s for %s is refused", request.method, request.path, proven.full_name)
        reason = f"{rule.value} (dfs.cluster.administrators)"
        if self.administrators.is_confined(proven.full_name):
            reason = f"users, and {proven.full_name} is a server"
        refusal = text_response(
            _FORBIDDEN,
            f"User {proven.user} is unauthorized to access this page: {request.path} is for "
            f"{reason}",
        )
        return replace(refusal, headers={**refusal.headers, **admitted.headers})

    def _may(self, rule: Rule, proven: Proven, address: str) -> bool:
        those = self.administrators
        if rule is Rule.PAGE:
            return True
        if rule is not Rule.SERVERS and those.is_confined(proven.full_name):
            return False
        if rule in (Rule.USER, Rule.FILES):
            return True
        if rule is not Rule.SERVERS:
            return proven.user == those.own_user or proven.user in those.users
        if those.servers(proven.full_name, address):
            return True
        return proven.user in those.users and not those.is_server(proven.full_name)


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


def _shows_nothing(request: Request) -> bool:
    """Whether a request neither has a proof, be it good or not, nor asks to be asked for one.

    Clients of Hadoop's that have a ticket come with nothing and OPTIONS at first, to be challenged.
    Those that have none name their user by that.
    """
    headers = request.headers
    if "authorization" in headers or cookie_in(headers.get("cookie")) is not None:
        return False
    return request.method != _REHEARSAL or _USER in request.query


def has_token(request: Request) -> bool:
    """Whether a delegation token comes with a request of WebHDFS, be it good or not."""
    try:
        return bool(parameters_of(request).get(_TOKEN))
    except InvalidParameter:
        return False
