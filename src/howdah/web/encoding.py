"""Answers that are text go out as gzip where the other side takes it, and unchanged ones not at
all (pure).

Only what is whole and for people or programs that read text: pages, JSON, figures. Bytes of
files, images and segments are never touched, nor parts of anything. Nothing that is answered is a
secret that a page of somebody else could guess at by its compressed length.
"""

from __future__ import annotations

import zlib
from typing import Final

from howdah.config.value_types import parse_real
from howdah.web.http import Request, Response

LEAST_BYTES: Final = 1024
"""Less than this fits into a packet anyhow."""
_LEVEL: Final = 3
"""A listing of 5.7 MB takes 22 ms and becomes 0.67 MB; at level 6 it takes 53 ms, for 0.60."""
_GZIP: Final = 16 + zlib.MAX_WBITS
ENCODED: Final = {"Content-Encoding": "gzip"}
VARYING: Final = {"Vary": "Accept-Encoding"}
_SHOWING: Final = frozenset({"GET", "HEAD"})
_TEXTS: Final = frozenset(
    (
        *("application/json", "application/xml", "application/javascript"),
        *("application/openmetrics-text", "image/svg+xml"),
    )
)


def may_be_encoded(response: Response) -> bool:
    """Whether it is text, whole and long enough."""
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return (
        len(response.body) >= LEAST_BYTES
        and (kind.startswith("text/") or kind in _TEXTS)
        and response.status not in (204, 206, 304)
        and "Content-Encoding" not in response.headers
    )


def takes_gzip(accepted: str | None) -> bool:
    """What the header Accept-Encoding says; without it the answer stays as it is.

    >>> takes_gzip("deflate, gzip;q=0.5"), takes_gzip("gzip;q=0, *"), takes_gzip("*")
    (True, False, True)
    """
    weights: dict[str, float] = {}
    for part in (accepted or "").split(","):
        name, _, parameter = part.partition(";")
        key, _, value = parameter.strip().partition("=")
        try:
            weight = parse_real(value) if key.strip().lower() == "q" else 1.0
        except ValueError:
            weight = 0.0
        weights[name.strip().lower()] = weight
    return weights.get("gzip", weights.get("*", 0.0)) > 0


def squeeze() -> zlib._Compress:
    """What makes gzip of the pieces of a text."""
    return zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)


def encoded(response: Response) -> Response:
    """The same answer as gzip."""
    making = squeeze()
    body = making.compress(response.body) + making.flush()
    return Response(response.status, {**response.headers, **ENCODED}, body)


def varying(response: Response) -> Response:
    """The same answer, which tells caches that others may get it in another form."""
    return Response(response.status, {**response.headers, **VARYING}, response.body)


def unless_known(request: Request, response: Response) -> Response:
    """Return 304 if the other side has what `response` brings: its ETag is among those of
    If-None-Match (RFC 9110, 13.1.2; the comparison is the weak one). Of a request that is not to
    show something the field is a condition, which is not this function's to hold."""
    tag = response.headers.get("ETag")
    known = request.headers.get("if-none-match")
    if tag is None or known is None or response.status != 200 or request.method not in _SHOWING:
        return response
    tags = {etag.strip().removeprefix("W/") for etag in known.split(",")}
    if tag.removeprefix("W/") not in tags and tags != {"*"}:
        return response
    kept = ("ETag", "Cache-Control", "Vary", "Content-Security-Policy")
    return Response(
        304, {name: response.headers[name] for name in kept if name in response.headers}
    )
