"""What pages of other servers may do in a browser (CORS).

Browsers ask before such a page sends what is more than a form (`OPTIONS`, unsigned), and look in
each answer whether the page may see it. Who may do what is still said by signatures alone: no
answer lets a browser send cookies or logins along.

A bucket may have rules of its own (`PutBucketCors`), kept as JSON. Where it has none those of the
gateway count (`howdah.s3.cors.origins`). The first rule counts that an origin and a method fit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from howdah.gateway.s3.protocol.documents import Child, Element, parsed
from howdah.gateway.s3.protocol.refusals import Refused

METHODS: Final = ("GET", "HEAD", "PUT", "POST", "DELETE")
ATTRIBUTE: Final = "user.howdah.s3.cors"
"""Of the directory of a bucket."""
MAX_DOCUMENT_BYTES: Final = 64 << 10
_MAX_RULES: Final = 100
_MAX_KEPT_BYTES: Final = 16 << 10
"""What HDFS takes for an attribute (`dfs.namenode.fs-limits.max-xattr-size`)."""
_MAX_ID: Final = 255
_ANY: Final = "*"
_KEPT_S: Final = 3600
_SHOWN: Final = (
    *("ETag", "Content-Range", "Content-Length", "Accept-Ranges", "Last-Modified"),
    *("x-amz-request-id", "x-amz-mp-parts-count", "x-amz-tagging-count", "x-amz-bucket-region"),
    *("x-amz-checksum-crc32", "x-amz-checksum-crc32c", "x-amz-checksum-crc64nvme"),
    *("x-amz-checksum-sha1", "x-amz-checksum-sha256"),
)
_ORIGIN: Final = re.compile(r"https?://[!-~]{1,250}\Z")
_ORIGIN_OF_RULE: Final = re.compile(r"[!-~]{1,260}\Z")
_HEADER: Final = re.compile(r"[A-Za-z0-9_.*-]{1,100}\Z")
_NAMES: Final = re.compile(r"[A-Za-z0-9, _.-]{1,2000}\Z")


@dataclass(frozen=True, slots=True)
class CorsRule:
    """What pages of some origins may do."""

    origins: tuple[str, ...]
    """Origins, with one `*` each at most, or `*`."""
    methods: tuple[str, ...] = METHODS
    headers: tuple[str, ...] = (_ANY,)
    """Those that a page may send, with one `*` each at most."""
    shown: tuple[str, ...] = _SHOWN
    """Headers of answers that it may see, beside the few that all pages may."""
    kept_s: int | None = _KEPT_S
    """For how long a browser need not ask again."""
    name: str = ""

    def allowed_origin(self, origin: str) -> str | None:
        """Return what an answer says to the pages of an origin; None where it says nothing.

        >>> CorsRule(("https://*.example.com",)).allowed_origin("https://a.example.com")
        'https://a.example.com'
        >>> CorsRule(("*",)).allowed_origin("null")
        '*'
        """
        if _ANY in self.origins:
            return _ANY
        return origin if any(_fits(pattern, origin) for pattern in self.origins) else None

    def allows_headers(self, names: str) -> bool:
        """Whether a page may send all of these headers, with commas between them."""
        patterns = [pattern.lower() for pattern in self.headers]
        wanted = (name.strip().lower() for name in names.split(","))
        return all(any(_fits(pattern, name) for pattern in patterns) for name in wanted if name)


def is_pattern(text: str) -> bool:
    """Return whether a setting names origins: `*`, or an origin, which may have one `*` in it.

    >>> is_pattern("https://*.example.com"), is_pattern("example.com"), is_pattern("*")
    (True, False, True)
    """
    return text == _ANY or (_ORIGIN.match(text) is not None and text.count(_ANY) <= 1)


def rules_of_setting(origins: Sequence[str]) -> tuple[CorsRule, ...]:
    """Return the rules of a gateway whose setting names origins."""
    return (CorsRule(tuple(origins)),) if origins else ()


def _fits(pattern: str, text: str) -> bool:
    begin, star, end = pattern.partition(_ANY)
    if not star:
        return text == pattern
    length = len(begin) + len(end)
    # A star alone stands for any header, and elsewhere for a part of a name that is not empty.
    return pattern == _ANY or (len(text) > length and text.startswith(begin) and text.endswith(end))


# Answers.


def answer_headers(rules: Sequence[CorsRule], origin: str | None, method: str) -> dict[str, str]:
    """Return the headers of an answer to a page of an origin, by the first rule that fits."""
    if origin is None:
        return {}
    for rule in rules:
        allowed = rule.allowed_origin(origin)
        if allowed is not None and method in rule.methods:
            return _headers(rule, allowed)
    return {}


def _headers(rule: CorsRule, allowed: str) -> dict[str, str]:
    found = {"Access-Control-Allow-Origin": allowed, "Vary": "Origin"}
    if rule.shown:
        found["Access-Control-Expose-Headers"] = ", ".join(rule.shown)
    return found


def preflight(rules: Sequence[CorsRule], headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of an answer to a browser that asks first. Raises Refused."""
    origin, method = headers.get("origin"), headers.get("access-control-request-method")
    if origin is None or method is None:
        raise Refused(
            "BadRequest",
            "Insufficient information. Origin request header needed, and "
            "Access-Control-Request-Method.",
        )
    names = headers.get("access-control-request-headers", "").strip()
    if names and not _NAMES.match(names):
        raise Refused("BadRequest", "Access-Control-Request-Headers has names of headers")
    for rule in rules:
        allowed = rule.allowed_origin(origin)
        if allowed is not None and method in rule.methods and rule.allows_headers(names):
            break
    else:
        raise Refused(
            "AccessForbidden",
            "CORSResponse: this CORS request is not allowed: neither the rules of the bucket nor "
            "howdah.s3.cors.origins let pages of this origin send it",
            Method=method[:20],
        )
    found = {
        **_headers(rule, allowed),
        "Access-Control-Allow-Methods": ", ".join(rule.methods),
        "Vary": "Origin, Access-Control-Request-Headers, Access-Control-Request-Method",
    }
    if rule.kept_s is not None:
        found["Access-Control-Max-Age"] = str(rule.kept_s)
    if names:
        found["Access-Control-Allow-Headers"] = names
    return found


# Rules of buckets.


def rules_of_document(document: bytes) -> tuple[CorsRule, ...]:
    """Return the rules of a document `CORSConfiguration`. Raises Refused."""
    rules = tuple(map(_rule, parsed(document, "CORSConfiguration").all("CORSRule")))
    if not 1 <= len(rules) <= _MAX_RULES:
        raise Refused("MalformedXML", f"a CORSConfiguration has 1 to {_MAX_RULES} rules")
    if len(encoded(rules)) > _MAX_KEPT_BYTES:
        raise Refused(
            "InvalidRequest",
            f"these rules take more than the {_MAX_KEPT_BYTES} bytes that HDFS keeps with a "
            "directory",
        )
    return rules


def _rule(element: Element) -> CorsRule:
    origins, methods = _texts(element, "AllowedOrigin"), _texts(element, "AllowedMethod")
    if not origins or not methods:
        raise Refused("MalformedXML", "a CORSRule has AllowedOrigin and AllowedMethod")
    for origin in origins:
        if not _ORIGIN_OF_RULE.match(origin) or origin.count(_ANY) > 1:
            raise Refused(
                "InvalidRequest",
                f'AllowedOrigin "{origin[:60]}" has more than one wildcard',
            )
    for method in methods:
        if method not in METHODS:
            raise Refused(
                "InvalidRequest",
                "Found unsupported HTTP method in CORS config. Unsupported method is "
                f"{method[:20]}",
            )
    headers, shown = _texts(element, "AllowedHeader"), _texts(element, "ExposeHeader")
    for name in (*headers, *shown):
        if not _HEADER.match(name) or name.count(_ANY) > (name in headers):
            raise Refused("InvalidRequest", f"{name[:60]} is no name of a header here")
    kept, name = element.value("MaxAgeSeconds"), element.value("ID") or ""
    if kept is not None and not (kept.isascii() and kept.isdigit() and len(kept) < 10):
        raise Refused("MalformedXML", "MaxAgeSeconds is a number")
    if len(name) > _MAX_ID or not name.isprintable():
        raise Refused("InvalidArgument", f"the ID of a rule has at most {_MAX_ID} characters")
    return CorsRule(origins, methods, headers, shown, None if kept is None else int(kept), name)


def _texts(element: Element, name: str) -> tuple[str, ...]:
    return tuple(child.text.strip() for child in element.all(name))


def children(rules: Sequence[CorsRule]) -> list[Child]:
    """Return what a document `CORSConfiguration` has in it."""
    return [("CORSRule", list(_children(rule))) for rule in rules]


def _children(rule: CorsRule) -> Iterator[Child]:
    if rule.name:
        yield "ID", rule.name
    for name, texts in (
        ("AllowedOrigin", rule.origins),
        ("AllowedMethod", rule.methods),
        ("AllowedHeader", rule.headers),
        ("ExposeHeader", rule.shown),
    ):
        for text in texts:
            yield name, text
    if rule.kept_s is not None:
        yield "MaxAgeSeconds", str(rule.kept_s)


def encoded(rules: Sequence[CorsRule]) -> bytes:
    """Return rules as the attribute has them."""
    return json.dumps([asdict(rule) for rule in rules], separators=(",", ":")).encode()


def decoded(data: bytes) -> tuple[CorsRule, ...] | None:
    """Return the rules of an attribute; None for what is none of ours: whoever may write to a
    bucket's directory may set its attributes.

    >>> decoded(encoded([CorsRule(("*",))])) == (CorsRule(("*",)),)
    True
    """
    try:
        return tuple(map(_kept_rule, json.loads(data)))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _kept_rule(fields: Mapping[str, object]) -> CorsRule:
    """Raises ValueError, TypeError and KeyError."""
    kept, name = fields["kept_s"], fields["name"]
    if not isinstance(name, str) or not (kept is None or type(kept) is int):
        raise TypeError("it is no rule")
    lists = {key: _kept_texts(fields[key]) for key in ("origins", "methods", "headers", "shown")}
    return CorsRule(**lists, kept_s=kept, name=name)


def _kept_texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(
        isinstance(text, str) and text.isascii() and text.isprintable() for text in value
    ):
        raise TypeError("it is no list of texts")
    return tuple(value)
