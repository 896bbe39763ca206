"""The cookie `hadoop.auth`: who somebody has proven to be, signed by the server (pure).

    u=alice&p=alice@EXAMPLE.COM&t=kerberos&e=1764500000000&s=BASE64

User, principal, how it was proven, until when it counts (milliseconds), and the HMAC-SHA256 of all
before `&s=`. The key is the whole content of a file, a line's end included, which servers may
share. A field `i`, which Hadoop's servers add on demand, is a second end. AuthenticationToken,
Signer and AuthenticationFilter in Hadoop.

The cookie is as good as the proof for everybody who has it, until its time is over.
"""

from __future__ import annotations

import base64
import hmac
from dataclasses import dataclass
from typing import Final

from howdah import errors

NAME: Final = "hadoop.auth"
KERBEROS: Final = "kerberos"
MAX_CHARACTERS: Final = 4096
"""Of a cookie that is looked at: browsers keep no longer ones."""
_SIGNATURE: Final = "&s="
_REQUIRED: Final = frozenset("upte")
_END_DIGITS: Final = 19
_UNFIT: Final = frozenset('&"\\;,= ')
"""What would end a field, or the cookie."""


class CookieRefused(errors.AuthenticationFailed):
    """A cookie that proves nothing. The message does not repeat it."""


@dataclass(frozen=True, slots=True)
class SignedIdentity:
    """Who a cookie is of, by short name and principal, and until when it counts."""

    user: str
    principal: str
    kind: str
    expires_ms: int
    idle_expires_ms: int | None = None
    """The second end: of one that is not used meanwhile."""


class CookieSigner:
    """Makes cookies and reads them, by one key."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        assert key, "everybody would sign by an empty key"
        self._key = key

    def __repr__(self) -> str:
        return "CookieSigner(…)"

    def sign(self, identity: SignedIdentity) -> str:
        """Return the text of a cookie. Raises CookieRefused for names that no cookie can hold."""
        for name in (identity.user, identity.principal, identity.kind):
            if not name or not name.isascii() or not name.isprintable() or _UNFIT & set(name):
                raise CookieRefused(f"{name!r} does not fit into a cookie")
        text = f"u={identity.user}&p={identity.principal}&t={identity.kind}&e={identity.expires_ms}"
        return f"{text}{_SIGNATURE}{self._signature(text)}"

    def read(self, text: str, now_ms: int, kind: str = KERBEROS) -> SignedIdentity:
        """Return what a cookie says that this key has signed and that still counts.

        Raises CookieRefused for any other one, also for one that was made for other proofs.
        """
        if len(text) > MAX_CHARACTERS or not text.isascii():
            raise CookieRefused("the cookie is not one of this server: it is too long")
        signed, mark, signature = text.rpartition(_SIGNATURE)
        # Before anything is believed of it.
        if not mark or not hmac.compare_digest(
            self._signature(signed).encode("ascii"), signature.encode("ascii")
        ):
            raise CookieRefused("the cookie has no signature of this server")
        identity = _parsed(signed)
        if identity.kind != kind:
            raise CookieRefused(f"the cookie is of another kind than {kind}")
        ends_ms = identity.expires_ms
        if identity.idle_expires_ms is not None:
            ends_ms = min(ends_ms, identity.idle_expires_ms)
        if now_ms >= ends_ms:
            raise CookieRefused("the cookie has ended")
        return identity

    def derived_key(self, purpose: str) -> bytes:
        """Return a key for another purpose: nothing that is signed by it is a cookie, nor the other
        way round."""
        return hmac.digest(self._key, f"howdah {purpose}".encode(), "sha256")

    def _signature(self, text: str) -> str:
        return base64.b64encode(hmac.digest(self._key, text.encode("ascii"), "sha256")).decode()


def _parsed(text: str) -> SignedIdentity:
    fields: dict[str, str] = {}
    for field in text.split("&"):
        name, sign, value = field.partition("=")
        if not sign or name in fields:
            raise CookieRefused("the cookie has other fields than this server's have")
        fields[name] = value
    if fields.keys() - {"i"} != _REQUIRED or not (fields["u"] and fields["p"]):
        raise CookieRefused("the cookie has other fields than this server's have")
    idle = fields.get("i")
    return SignedIdentity(
        fields["u"],
        fields["p"],
        fields["t"],
        _time_ms(fields["e"]),
        None if idle in (None, "-1") else _time_ms(idle),
    )


def _time_ms(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _END_DIGITS):
        raise CookieRefused("the cookie says no time until which it counts")
    return int(text)


def cookie_in(header: str | None, name: str = NAME) -> str | None:
    """Return the text of a cookie in the header of a request; None where it has none.

    >>> cookie_in('theme=dark; hadoop.auth="u=alice&s=x="')
    'u=alice&s=x='
    """
    for part in (header or "").split(";"):
        named, sign, value = part.strip().partition("=")
        if sign and named == name:
            value = value.strip()
            if len(value) >= 2 and value[0] == value[-1] == '"':
                value = value[1:-1]
            return value or None
    return None


@dataclass(frozen=True, slots=True)
class CookieScope:
    """To which servers a browser sends the cookie back: never with a request that a page of
    another site has caused, for which it shows a ticket anew if it may."""

    domain: str = ""
    path: str = "/"

    def header(self, text: str, *, is_secure: bool) -> str:
        """Return the value of `Set-Cookie`; an empty text takes the cookie away.

        >>> CookieScope(domain="example.com").header("u=a&s=x", is_secure=True)
        'hadoop.auth="u=a&s=x"; Path=/; Domain=example.com; Secure; HttpOnly; SameSite=Strict'
        >>> CookieScope().header("", is_secure=False)
        'hadoop.auth=; Path=/; Expires=Thu, 01-Jan-1970 00:00:00 GMT; HttpOnly; SameSite=Strict'
        """
        parts = [f'{NAME}="{text}"' if text else f"{NAME}="]
        if self.path:
            parts.append(f"Path={self.path}")
        if self.domain:
            parts.append(f"Domain={self.domain}")
        if not text:
            parts.append("Expires=Thu, 01-Jan-1970 00:00:00 GMT")
        if is_secure:
            parts.append("Secure")
        return "; ".join([*parts, "HttpOnly", "SameSite=Strict"])
