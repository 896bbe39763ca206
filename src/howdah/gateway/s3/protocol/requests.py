"""What a request of S3 is about: bucket, key and parameters, out of its target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, quote, unquote_to_bytes

from howdah.fs.objects.amazon.signing import query_text
from howdah.gateway.s3.protocol.refusals import Refused
from howdah.web.http import Request, first_values
from howdah.web.known_hosts import host_of

_UNESCAPED: Final = "/-_.~"


@dataclass(frozen=True, slots=True)
class S3Request:
    """The head of a request. Without a bucket it is about all of them, without a key about the
    bucket. Names of `headers` are in lower case."""

    method: str
    bucket: str
    key: str
    fields: Sequence[tuple[str, str]]
    """The query, in its order."""
    headers: Mapping[str, str]
    signed_paths: tuple[str, ...]
    """The path as it may be signed: as AWS escapes it, and as it was sent."""
    query: Mapping[str, str] = field(default_factory=dict)
    """The first value of each name in the query."""

    def signed_query(self, *left_out: str) -> str:
        """The query as it is signed."""
        return query_text([pair for pair in self.fields if pair[0] not in left_out])

    def text(self, name: str) -> str:
        """The value of a parameter; empty without one."""
        return self.query.get(name, "")

    def header(self, name: str) -> str:
        """The value of a header, read as UTF-8; empty without one. Raises Refused."""
        value = self.headers.get(name, "")
        if value.isascii():
            return value
        try:
            return value.encode("latin-1").decode()
        except UnicodeError:
            raise Refused("InvalidArgument", f"the header {name} is not in UTF-8") from None

    def number(self, name: str, default: int, *, least: int = 0, most: int) -> int:
        """The value of a parameter that is a number, at most `most`. Raises Refused."""
        return _number(name, self.query.get(name), default, least, most)

    def header_number(self, name: str, default: int, *, most: int) -> int:
        """The same of a header."""
        return _number(name, self.headers.get(name), default, 0, most)


def _number(name: str, text: str | None, default: int, least: int, most: int) -> int:
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()) or len(text) > 10 or int(text) < least:
        raise Refused(
            "InvalidArgument",
            f"{name} is a number, and at least {least}",
            ArgumentName=name,
            ArgumentValue=text[:100],
        )
    return min(int(text), most)


def bucket_of_host(request: Request, domains: Sequence[str]) -> str | None:
    """Return the bucket that the host of a request names, which is below one of the domains; None
    where the path names it."""
    host = host_of(request.headers.get("host", ""))
    if host is None:
        return None
    below = [domain for domain in domains if host.endswith(f".{domain}")]
    return host.removesuffix(f".{max(below, key=len)}") if below and host not in domains else None


def request_of(request: Request, domains: Sequence[str] = ()) -> S3Request:
    """Return what a request is about. Raises Refused for a path that is not in UTF-8."""
    path, _, query = request.target.partition("?")
    raw_bucket, _, raw_key = path.removeprefix("/").partition("/")
    in_host = bucket_of_host(request, domains)
    if in_host is not None:
        raw_bucket, raw_key = in_host, path.removeprefix("/")
    fields = parse_qsl(query, keep_blank_values=True, errors="replace")
    return S3Request(
        request.method,
        decoded(raw_bucket),
        decoded(raw_key),
        fields,
        request.headers,
        tuple(dict.fromkeys((quote(unquote_to_bytes(path), safe=_UNESCAPED), path))),
        first_values(fields),
    )


def decoded(text: str) -> str:
    """Return a part of a path without escapes. Raises Refused.

    >>> decoded("a%20b+c")
    'a b+c'
    """
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        raise Refused("InvalidURI", "bucket and key are in UTF-8, escaped by %") from None
