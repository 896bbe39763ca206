"""Shared Key: how a request to the Blob service is signed (pure).

"Authorize with Shared Key" of Microsoft's reference of the service, for versions from 2015-02-21
on: what is signed is the verb, eleven headers, all `x-ms-` headers and the resource.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Final

_SIGNED: Final = (
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
)


def string_to_sign(
    method: str,
    account: str,
    path: str,
    query: Sequence[tuple[str, str]],
    headers: Mapping[str, str],
) -> str:
    """`path` is as it is sent; `query` and `headers` are not encoded. A length of 0 counts as
    none.

    >>> string_to_sign("GET", "me", "/c/a%20b", [("comp", "list")], {"x-ms-date": "now"})
    'GET\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\nx-ms-date:now\\n/me/c/a%20b\\ncomp:list'
    """
    known = {name.lower(): value.strip() for name, value in headers.items()}
    if known.get("content-length") == "0":
        known["content-length"] = ""
    lines = [method, *(known.get(name, "") for name in _SIGNED)]
    lines += [f"{name}:{known[name]}" for name in sorted(known) if name.startswith("x-ms-")]
    lines.append(f"/{account}{path}")
    lines += [f"{name.lower()}:{value}" for name, value in sorted(query)]
    return "\n".join(lines)


def shared_access(
    account: str, key: bytes, blob: str, expires: str, version: str
) -> list[tuple[str, str]]:
    """Build the query of a service SAS that allows reading a blob, `CONTAINER/NAME`, until a time
    in ISO 8601.

    >>> shared_access("me", b"key", "c/a b", "2030-01-01T00:00:00Z", "2021-12-02")[:3]
    [('sp', 'r'), ('se', '2030-01-01T00:00:00Z'), ('sv', '2021-12-02')]
    """
    known = [("sp", "r"), ("se", expires), ("sv", version), ("sr", "b")]
    lines = ["r", "", expires, f"/blob/{account}/{blob}", "", "", "", version, "b", *([""] * 7)]
    signature = hmac.new(key, "\n".join(lines).encode(), hashlib.sha256).digest()
    return [*known, ("sig", base64.b64encode(signature).decode())]


def authorization(account: str, key: bytes, text: str) -> str:
    """Return the header `Authorization` for a text from `string_to_sign`."""
    signature = hmac.new(key, text.encode(), hashlib.sha256).digest()
    return f"SharedKey {account}:{base64.b64encode(signature).decode()}"
