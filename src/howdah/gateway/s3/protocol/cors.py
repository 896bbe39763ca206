"""What pages of other servers may do in a browser (CORS).

Browsers ask before such a page sends what is more than a form (`OPTIONS`, unsigned), and look in
each answer whether the page may see it. Who may do what is still said by signatures alone: no
answer lets a browser send cookies or logins along.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from howdah.gateway.s3.protocol.refusals import Refused

METHODS: Final = ("GET", "HEAD", "PUT", "POST", "DELETE")
_ANY: Final = "*"
_KEPT_S: Final = 3600
_SHOWN: Final = (
    "ETag, Content-Range, Content-Length, Accept-Ranges, Last-Modified, x-amz-request-id, "
    "x-amz-mp-parts-count, x-amz-tagging-count, x-amz-bucket-region, x-amz-checksum-crc32, "
    "x-amz-checksum-crc32c, x-amz-checksum-crc64nvme, x-amz-checksum-sha1, x-amz-checksum-sha256"
)
_ORIGIN: Final = re.compile(r"https?://[!-~]{1,250}\Z")
_NAMES: Final = re.compile(r"[A-Za-z0-9, _.-]{1,2000}\Z")


def is_pattern(text: str) -> bool:
    """Return whether a setting names origins: `*`, or an origin, which may have one `*` in it.

    >>> is_pattern("https://*.example.com"), is_pattern("example.com"), is_pattern("*")
    (True, False, True)
    """
    return text == _ANY or (_ORIGIN.match(text) is not None and text.count(_ANY) <= 1)


def allowed_origin(patterns: Sequence[str], origin: str | None) -> str | None:
    """Return what an answer says to the pages of an origin; None where it says nothing.

    >>> allowed_origin(["https://*.example.com"], "https://a.example.com")
    'https://a.example.com'
    >>> allowed_origin(["*"], "null")
    '*'
    """
    if origin is None:
        return None
    if _ANY in patterns:
        return _ANY
    return origin if any(_is_of(pattern, origin) for pattern in patterns) else None


def _is_of(pattern: str, origin: str) -> bool:
    begin, star, end = pattern.partition(_ANY)
    if not star:
        return origin == pattern
    length = len(begin) + len(end)
    return len(origin) > length and origin.startswith(begin) and origin.endswith(end)


def headers_for(allowed: str | None) -> dict[str, str]:
    """Return the headers of an answer to such a page."""
    if allowed is None:
        return {}
    return {
        "Access-Control-Allow-Origin": allowed,
        "Access-Control-Expose-Headers": _SHOWN,
        "Vary": "Origin",
    }


def preflight(headers: Mapping[str, str], allowed: str | None) -> dict[str, str]:
    """Return the headers of an answer to a browser that asks first. Raises Refused."""
    method = headers.get("access-control-request-method")
    if "origin" not in headers or method is None:
        raise Refused(
            "BadRequest",
            "Insufficient information. Origin request header needed, and "
            "Access-Control-Request-Method.",
        )
    if allowed is None or method not in METHODS:
        raise Refused(
            "AccessForbidden",
            "CORSResponse: this CORS request is not allowed: howdah.s3.cors.origins names the "
            "origins whose pages may send it",
            Method=method[:20],
        )
    found = {
        **headers_for(allowed),
        "Access-Control-Allow-Methods": ", ".join(METHODS),
        "Access-Control-Max-Age": str(_KEPT_S),
        "Vary": "Origin, Access-Control-Request-Headers, Access-Control-Request-Method",
    }
    names = headers.get("access-control-request-headers", "").strip()
    if names:
        if not _NAMES.match(names):
            raise Refused("BadRequest", "Access-Control-Request-Headers has names of headers")
        found["Access-Control-Allow-Headers"] = names
    return found
