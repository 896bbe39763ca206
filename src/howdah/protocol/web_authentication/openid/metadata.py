"""What a provider says of itself: its discovery document (pure; OpenID Connect Discovery 1.0 and
RP-Initiated Logout 1.0)."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from howdah import errors

WELL_KNOWN: Final = "/.well-known/openid-configuration"
BASIC: Final = "client_secret_basic"
POST: Final = "client_secret_post"
_METHODS: Final = (BASIC, POST)


class MalformedDocument(errors.HowdahError, ValueError):
    """A provider's document is not as the standard has it."""


@dataclass(frozen=True, slots=True)
class ProviderMetadata:
    """What is used of the document."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    secret_by: str
    """How the client shows its secret: `BASIC` or `POST`."""
    end_session_endpoint: str | None = None
    """Where users log out; None of a provider without such a page."""


def metadata_of(document: object, issuer: str, *, allows_plain: bool) -> ProviderMetadata:
    """Read the discovery document of an issuer. Raises MalformedDocument."""
    if not isinstance(document, dict):
        raise MalformedDocument("it is no JSON object")
    named = document.get("issuer")
    if named != issuer:
        raise MalformedDocument(
            f"it is the one of {_shown(named)}, and the issuer is {issuer}: both have to be the "
            "same to the letter, a slash at the end included"
        )
    methods = document.get("token_endpoint_auth_methods_supported") or [BASIC]
    if not isinstance(methods, list):
        raise MalformedDocument("token_endpoint_auth_methods_supported is no list")
    secret_by = next((method for method in _METHODS if method in methods), None)
    return ProviderMetadata(
        _endpoint(document, "authorization_endpoint", allows_plain=allows_plain),
        _endpoint(document, "token_endpoint", allows_plain=allows_plain),
        _endpoint(document, "jwks_uri", allows_plain=allows_plain),
        # A client without a secret shows none, whatever is offered.
        secret_by or BASIC,
        _end_session_endpoint(document),
    )


def check_address(text: str, *, allows_plain: bool) -> None:
    """Raises ValueError for an address by which no provider is asked: tokens and the client's
    secret go over TLS, or to this machine itself."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError(f"{text!r} is no address") from None
    if parts.scheme not in ("https", "http") or not host or parts.username is not None:
        raise ValueError(f"{text!r} is no address of https")
    if not text.isascii() or not text.isprintable() or " " in text or parts.fragment:
        raise ValueError(f"{text!r} is no address of https")
    if parts.scheme == "http" and not allows_plain and not _is_loopback(host):
        raise ValueError(f"{text} is not encrypted: providers are asked by https")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _end_session_endpoint(document: Mapping[str, object]) -> str | None:
    """No secret goes there, so it may be reached without TLS."""
    name = "end_session_endpoint"
    if document.get(name) is None:
        return None
    return _endpoint(document, name, allows_plain=True)


def _endpoint(document: Mapping[str, object], name: str, *, allows_plain: bool) -> str:
    value = document.get(name)
    if not isinstance(value, str):
        raise MalformedDocument(f"it has no {name}")
    try:
        check_address(value, allows_plain=allows_plain)
    except ValueError as error:
        raise MalformedDocument(f"{name}: {error}") from None
    return value


def _shown(value: object) -> str:
    return f"{value:.200}" if isinstance(value, str) else "nobody"
