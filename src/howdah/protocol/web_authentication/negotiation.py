"""What a server that asks for SPNEGO does with a request (pure; RFC 4559).

    request -> Known                                     a cookie that counts
            -> Ticket -> GSSAPI -> accepted | challenge  `Authorization: Negotiate TOKEN`
            -> Unproven -> challenge                     neither of them

A ticket is looked at once, outside: the library of Kerberos reads files for that. Nothing is kept
between requests. A client that needs a second round within one negotiation is challenged with the
library's answer, and begins anew; none of Hadoop's clients does. KerberosAuthenticationHandler and
AuthenticationFilter in Hadoop.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from howdah.protocol.web_authentication.signed_cookie import (
    KERBEROS,
    CookieRefused,
    CookieScope,
    CookieSigner,
    SignedIdentity,
    cookie_in,
)

SCHEME: Final = "Negotiate"
CHALLENGE: Final = "WWW-Authenticate"
MAX_TOKEN_CHARACTERS: Final = 64 * 1024
"""Of a ticket in base64: as much as the head of a request has room for."""


@dataclass(frozen=True, slots=True)
class Known:
    """A cookie says who asks."""

    identity: SignedIdentity


@dataclass(frozen=True, slots=True)
class Ticket:
    """The library of Kerberos has to say who asks."""

    token: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Unproven:
    """Nothing says who asks; `reason` is for the log and for people."""

    reason: str


@dataclass(frozen=True, slots=True)
class Negotiation:
    """Of one server."""

    signer: CookieSigner
    validity_ms: int
    scope: CookieScope = field(default_factory=CookieScope)

    def begin(self, headers: Mapping[str, str], now_ms: int) -> Known | Ticket | Unproven:
        """Decide what a request proves; names of `headers` are in lower case."""
        reason = "no ticket was shown"
        cookie = cookie_in(headers.get("cookie"))
        if cookie is not None:
            try:
                return Known(self.signer.read(cookie, now_ms))
            except CookieRefused as refused:
                reason = refused.message
        scheme, _, text = headers.get("authorization", "").strip().partition(" ")
        if not scheme:
            return Unproven(reason)
        if scheme.lower() != SCHEME.lower():
            return Unproven(f"only {SCHEME} is taken")
        text = text.strip()
        if not text or len(text) > MAX_TOKEN_CHARACTERS:
            return Unproven(f"there is no ticket behind {SCHEME}")
        try:
            token = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            return Unproven(f"what is behind {SCHEME} is no base64")
        return Ticket(token) if token else Unproven(f"there is no ticket behind {SCHEME}")

    def accepted(
        self, user: str, principal: str, answer: bytes, now_ms: int, *, is_secure: bool
    ) -> dict[str, str]:
        """Return the headers of an answer to a ticket: the server's own proof, and a cookie.

        A name that does not fit into a cookie gets none, and shows a ticket each time.
        """
        headers = challenge(answer) if answer else {}
        identity = SignedIdentity(user, principal, KERBEROS, now_ms + self.validity_ms)
        try:
            text = self.signer.sign(identity)
        except CookieRefused:
            return headers
        return {**headers, "Set-Cookie": self.scope.header(text, is_secure=is_secure)}

    def refused(self, answer: bytes = b"", *, is_secure: bool) -> dict[str, str]:
        """Return the headers of an answer that asks for a ticket, and takes a cookie away."""
        return {**challenge(answer), "Set-Cookie": self.scope.header("", is_secure=is_secure)}


def challenge(answer: bytes = b"") -> dict[str, str]:
    """Return the header that asks for a ticket, or answers one.

    >>> challenge(), challenge(b"ok")
    ({'WWW-Authenticate': 'Negotiate'}, {'WWW-Authenticate': 'Negotiate b2s='})
    """
    return {CHALLENGE: f"{SCHEME} {base64.b64encode(answer).decode()}" if answer else SCHEME}
