"""Proves over HTTP who a client is (shell): SPNEGO, the cookie that follows it, or a token.

A namenode's first answer to a ticket brings a signed cookie (`hadoop.auth`), which is good for all
requests until it ends. With a delegation token nothing else is needed: it goes with each request.
Datanodes are asked by the address that a namenode made, which has a token of its own.

A server without security does what a stranger asks it, by the name of a stranger, and proves
nothing. So whoever asks a server for a change for the first time asks for something else before
(`has_to_be_met`). A server that asks for no proof is refused then, unless
`ipc.client.fallback-to-simple-auth-allowed` is true: requests to it have the user's name from then
on, and a warning says so.
"""

from __future__ import annotations

import base64
import binascii
import logging
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Final

from howdah import errors
from howdah.formats.tokens.token import HDFS_DELEGATION, LOGICAL_SERVICE, WEB_KINDS
from howdah.protocol.sasl.principals import Principal
from howdah.security.hosts import host_names, ip_addresses
from howdah.security.login import LoginContext, default_realm
from howdah.security.users import LOGIN_TIMEOUT_S, SecuredUser

log = logging.getLogger(__name__)

COOKIE: Final = "hadoop.auth"
NEGOTIATE: Final = "Negotiate"
UNAUTHORIZED: Final = 401
_OK: Final = 200
_NO_PROOF_ASKED: Final = (
    ": it asks for no proof of who a client is, and this client is set to prove itself "
    "(hadoop.security.authentication). Set ipc.client.fallback-to-simple-auth-allowed = true to "
    "talk to such servers all the same"
)
Pairs = tuple[tuple[str, str], ...]
Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Proof:
    """What goes with one request. With a `context` the server's answer has to prove it, too."""

    parameters: Pairs = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    context: LoginContext | None = None


class HttpAuthentication:
    """Of one user at the namenodes of one namespace. Thread-safe.

    `rpc` are the addresses where these answer RPC: a token for one of them is good here, too.
    """

    signs: Final = False

    def __init__(
        self, user: SecuredUser, nameservice: str | None, rpc: Iterable[Address] = ()
    ) -> None:
        self._user = user
        self._nameservice = nameservice
        self._rpc = tuple(rpc)
        self._lock = threading.Lock()
        self._cookies: dict[Address, str] = {}
        self._proven: set[Address] = set()
        self._simple: set[Address] = set()
        """Servers that ask for no proof, which this client is allowed to take."""

    def proof(self, address: Address, *, of_token: bool = False) -> Proof:
        """What a request to a namenode has to have. For a request about a token, `of_token`, a
        ticket is shown if there is one. Raises LoginFailed."""
        shows_ticket = of_token and self._user.login is not None
        token = None if shows_ticket else self._token(address)
        if token is not None:
            return Proof((("delegation", token),))
        return self.proof_by_ticket(address)

    def proof_by_ticket(self, address: Address) -> Proof:
        """The same for a page that takes no tokens. Raises LoginFailed."""
        if not self._user.settings.is_enabled:
            return Proof((("user.name", str(self._user)),))
        parameters: Pairs = ()
        if self._user.real_user is not None:
            parameters = (("doas", str(self._user)),)
        with self._lock:
            is_simple = address in self._simple
            cookie = self._cookies.get(address)
        if is_simple:
            return Proof((*parameters, ("user.name", self._simple_name())))
        if cookie is not None:
            return Proof(parameters, {"Cookie": f'{COOKIE}="{cookie}"'})
        login = self._user.login
        if login is None:
            raise errors.LoginFailed(
                f"{address[0]}:{address[1]}: there is no Kerberos ticket, and no token for it "
                f"({self._user.show_tokens()})"
            )
        target = Principal("HTTP", host_names(address[0])[0])
        context = login.context(target, LOGIN_TIMEOUT_S, spnego=True)
        first = base64.b64encode(context.step(b"")).decode()
        return Proof(parameters, {"Authorization": f"{NEGOTIATE} {first}"}, context)

    def forget(self, address: Address) -> None:
        """Show a ticket next time."""
        with self._lock:
            self._cookies.pop(address, None)

    def is_stale(self, address: Address, proof: Proof, status: int) -> bool:
        """Whether a request is to be made once more, with another proof: its cookie has ended, or
        the server has begun to ask for proofs."""
        if status != UNAUTHORIZED:
            return False
        if "Cookie" in proof.headers:
            self.forget(address)
            return True
        with self._lock:
            was_simple = address in self._simple and not proof.headers
            self._simple.discard(address)
        return was_simple

    def has_to_be_met(self, address: Address, proof: Proof, *, changes: bool) -> bool:
        """Whether a server has to show who it is before it is asked with this proof, for something
        that `changes` what it has or not."""
        if proof.context is None:
            return False
        with self._lock:
            is_known = address in self._proven
        return not is_known and (changes or self._user.settings.fallback_allowed)

    def meet(self, address: Address, proof: Proof, status: int, headers: Mapping[str, str]) -> None:
        """Look at a server's first answer, of which only this counts. The next `proof` is for what
        the server is.

        Raises AuthenticationFailed for a server that has not proven itself.
        """
        challenge = headers.get("www-authenticate", "")
        asks = challenge.lower().startswith(NEGOTIATE.lower())
        if self._user.settings.fallback_allowed and not asks and status in (_OK, UNAUTHORIZED):
            with self._lock:
                self._simple.add(address)
            self._user.fell_back()
            log.warning(
                "%s:%s asks for no proof of who a client is, and gives none: it is asked in the "
                "name of %s, since ipc.client.fallback-to-simple-auth-allowed is true",
                *address,
                self._simple_name(),
            )
        elif status < 400:
            self.check(address, proof, headers)

    def may_lack_proof(self, proof: Proof, headers: Mapping[str, str]) -> bool:
        """Whether the answer to a ticket is of a server that asks for none, which this client is
        allowed to take."""
        is_silent = not headers.get("www-authenticate")
        return proof.context is not None and is_silent and self._user.settings.fallback_allowed

    def _simple_name(self) -> str:
        """Who asks a server that asks for no proof."""
        real_user = self._user.real_user
        if real_user is None:
            return str(self._user)
        return self._user.settings.user_of(real_user, default_realm())

    def check(self, address: Address, proof: Proof, headers: Mapping[str, str]) -> None:
        """Look at the answer to a ticket, and keep its cookie.

        Raises AuthenticationFailed for a server that has not proven itself.
        """
        if proof.context is None:
            return
        where = f"{address[0]}:{address[1]}"
        scheme, _, text = headers.get("www-authenticate", "").partition(" ")
        if scheme.lower() == NEGOTIATE.lower() and text:
            try:
                proof.context.step(base64.b64decode(text, validate=True))
            except binascii.Error:
                raise errors.AuthenticationFailed(f"{where} sent a proof that is none") from None
        if not proof.context.is_established:
            hint = "" if scheme else _NO_PROOF_ASKED
            raise errors.AuthenticationFailed(
                f"{where} did not prove that it is HTTP/{host_names(address[0])[0]}{hint}"
            )
        with self._lock:
            self._proven.add(address)
        try:
            cookies = SimpleCookie(headers.get("set-cookie", ""))
        except CookieError:
            return
        if COOKIE in cookies and cookies[COOKIE].value:
            with self._lock:
                self._cookies[address] = cookies[COOKIE].value

    def _token(self, address: Address) -> str | None:
        if self._user.real_user is not None:
            return None
        tokens = self._user.tokens()
        if not tokens:
            return None
        services = set(_services(address))
        if self._nameservice is not None:
            services |= {
                f"{LOGICAL_SERVICE}{self._nameservice}",
                *(f"ha-{scheme}:{self._nameservice}" for scheme in ("webhdfs", "swebhdfs")),
            }
        rpc_services = {name for where in self._rpc for name in _services(where)} | services
        for kind in WEB_KINDS:
            good = rpc_services if kind == HDFS_DELEGATION else services
            for token in tokens:
                if token.kind == kind and token.service in good:
                    return token.url_string
        return None


def refusal_of_ticket(place: str) -> errors.AuthenticationFailed:
    """The error for a server that does not take the ticket that it was shown."""
    return errors.AuthenticationFailed(
        f"{place} does not take this ticket for its HTTP principal (SPNEGO): is the key in the "
        "server's keytab the one that the KDC has, and is its clock right?"
    )


def _services(address: Address) -> Iterator[str]:
    host, port = address
    yield f"{host.lower()}:{port}"
    for ip in ip_addresses(host):
        yield f"{ip}:{port}"


def refusal_without_proof(place: str) -> errors.AuthenticationFailed:
    """The error for a server that wants a proof of who has none to give."""
    return errors.AuthenticationFailed(
        f"{place} asks for Kerberos (SPNEGO), and this client is not set to prove itself: set "
        "hadoop.security.authentication = kerberos on this side too"
    )
