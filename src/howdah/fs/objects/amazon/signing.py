"""Signatures of requests as S3 has them: AWS Signature Version 4 (pure).

What is signed: method, path and query as they are sent, the headers `host` and `x-amz-*`, and
the SHA-256 of the body, or that the body is not signed. Paths are signed as they are, with
nothing taken out of them.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote

EMPTY: Final = hashlib.sha256(b"").hexdigest()
UNSIGNED: Final = "UNSIGNED-PAYLOAD"
"""In the place of a body's SHA-256, where TLS holds it together."""
ALGORITHM: Final = "AWS4-HMAC-SHA256"
_MORE: Final = "-_.~"


def query_text(query: Sequence[tuple[str, str]]) -> str:
    """A query as it is signed and sent: in order, with what has a meaning in it escaped.

    >>> query_text([("prefix", "a b/c"), ("list-type", "2")])
    'list-type=2&prefix=a%20b%2Fc'
    """
    escaped = ((quote(name, safe=_MORE), quote(value, safe=_MORE)) for name, value in query)
    return "&".join(f"{name}={value}" for name, value in sorted(escaped))


def path_text(key: str) -> str:
    """A key within the path of a request."""
    return quote(key, safe="/" + _MORE)


class Scope:
    """The place and service that signatures are for; it keeps the key of the last day."""

    __slots__ = ("_known", "region", "service")

    def __init__(self, region: str, service: str) -> None:
        self.region = region
        self.service = service
        self._known = ("", ""), b""

    def __repr__(self) -> str:
        return f"Scope({self.region}, {self.service})"

    def authorization(
        self,
        request: tuple[str, str, str],
        headers: Mapping[str, str],
        body_sha256: str,
        account: tuple[str, str],
        when: str,
    ) -> str:
        """The header of that name. `request` is method, path and query as they are sent,
        `headers` are those to sign, with names in lower case; `account` is access key and secret
        key, `when` the time as `20261126T161956Z`."""
        access_key, secret_key = account
        digest = request_digest(request, headers, body_sha256)
        signature = self.signature(ALGORITHM, secret_key, when, digest)
        return (
            f"{ALGORITHM} Credential={access_key}/{self.text(when)}, "
            f"SignedHeaders={';'.join(sorted(headers))}, Signature={signature}"
        )

    def text(self, when: str) -> str:
        """The scope as requests name it, on the day of `when`."""
        return f"{when[:8]}/{self.region}/{self.service}/aws4_request"

    def signature(self, algorithm: str, secret_key: str, when: str, *lines: str) -> str:
        """The signature of what `lines` say behind algorithm, time and scope: of a request its
        digest, of a chunk the signature before it and its digest."""
        to_sign = "\n".join((algorithm, when, self.text(when), *lines))
        return self.signature_of(secret_key, when, to_sign)

    def signature_of(self, secret_key: str, when: str, text: str) -> str:
        """The signature of a text as it is, on the day of `when`: of a form's policy."""
        return _hmac(self._signing_key(secret_key, when[:8]), text).hex()

    def _signing_key(self, secret_key: str, day: str) -> bytes:
        wanted = secret_key, day
        # Both at once: another thread may sign for another day or account.
        known, key = self._known
        if known == wanted:
            return key
        key = _hmac(f"AWS4{secret_key}".encode(), day)
        for part in (self.region, self.service, "aws4_request"):
            key = _hmac(key, part)
        self._known = wanted, key
        return key


def request_digest(
    request: tuple[str, str, str], headers: Mapping[str, str], body_sha256: str
) -> str:
    """The SHA-256 of what is signed of a request: method, path, query, and `headers`, all of
    which are signed. Bytes that are no UTF-8 are surrogates in them."""
    method, path, query = request
    names = sorted(headers)
    lines = "".join(f"{name}:{headers[name]}\n" for name in names)
    text = f"{method}\n{path}\n{query}\n{lines}\n{';'.join(names)}\n{body_sha256}"
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
