"""HTTP Basic: a name and a password in the header of each request (pure; RFC 7617)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

SCHEME: Final = "Basic"
CHALLENGE: Final[Mapping[str, str]] = {
    "WWW-Authenticate": f'{SCHEME} realm="howdah", charset="UTF-8"'
}
_MOST_CHARACTERS: Final = 8192


@dataclass(frozen=True, slots=True)
class Credentials:
    """What somebody says of himself."""

    user: str
    password: str = field(repr=False)


def credentials_in(header: str | None) -> Credentials | None:
    """Return the name and password of a header `Authorization`; None where it has none.

    >>> credentials_in("Basic YWxpY2U6c2VjcmV0")
    Credentials(user='alice')
    >>> credentials_in("Negotiate YWxpY2U6c2VjcmV0") is None
    True
    """
    scheme, _, text = (header or "").strip().partition(" ")
    if scheme.lower() != SCHEME.lower() or len(text) > _MOST_CHARACTERS:
        return None
    try:
        user, colon, password = (
            base64.b64decode(text.strip(), validate=True).decode().partition(":")
        )
    except (binascii.Error, ValueError):
        return None
    return Credentials(user, password) if colon and user else None


def header_of(user: str, password: str) -> str:
    """Return the value of `Authorization`.

    >>> header_of("alice", "secret")
    'Basic YWxpY2U6c2VjcmV0'
    """
    return f"{SCHEME} {base64.b64encode(f'{user}:{password}'.encode()).decode()}"
