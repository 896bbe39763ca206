"""Tokens that a provider signs: whose they are, and whether they are for this server (pure; JWT by
RFC 7519 and 8725, ID tokens by OpenID Connect Core 1.0, access tokens by RFC 9068).

Only keys that the provider publishes are used, by public-key algorithms that are on a list: what a
token says of a key or of an algorithm chooses among these, and adds none.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from howdah import errors
from howdah.protocol.web_authentication.openid.metadata import MalformedDocument

if TYPE_CHECKING:
    from joserfc.jwk import Key
    from joserfc.jws import JWSRegistry

ALGORITHMS: Final = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512",
)  # fmt: skip
"""All that can be allowed: none of them has a key that both sides know."""
MOST_CHARACTERS: Final = 16 * 1024
"""Of a token."""
LEEWAY_S: Final = 60
"""So much clocks may differ."""
_KEY_TYPES: Final[Mapping[str, str]] = {"RS": "RSA", "PS": "RSA", "ES": "EC"}
_CURVES: Final[Mapping[str, str]] = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
_MOST_KEYS: Final = 128
_LEAST_RSA_BITS: Final = 2048
_TOKEN_TYPES: Final = (None, "jwt", "at+jwt", "application/at+jwt", "application/jwt")
_LONG_S: Final = 10**10
"""More than that says nothing; a number of JSON has up to 4300 digits."""
_CLOCKS: Final = "one of both clocks is off"


class TokenRefused(errors.AuthenticationFailed):
    """A token that proves nothing. The message does not repeat it."""


class UnknownKey(TokenRefused):
    """A token by a key that is not among those that are known: the provider may have new ones."""


@dataclass(frozen=True, slots=True)
class SignedToken:
    """What the provider has signed."""

    header: Mapping[str, Any]
    claims: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class PublishedKeys:
    """Those of a provider."""

    keys: Sequence[Key] = field(repr=False)

    def find(self, header: Mapping[str, Any]) -> Key:
        """Return the key of a token whose algorithm is allowed. Raises UnknownKey, TokenRefused."""
        algorithm, kid = header["alg"], header.get("kid")
        fitting = [key for key in self.keys if _fits(key, algorithm)]
        if kid is None:
            if len(fitting) != 1:
                raise TokenRefused(
                    f"it does not say by which key it is signed, and {len(fitting)} could be it"
                )
            return fitting[0]
        if not isinstance(kid, str):
            raise TokenRefused("it names its key by no text")
        named = [key for key in fitting if key.get("kid") == kid]
        if not named:
            raise UnknownKey(f"it is signed by the key {kid!r:.100}, which the provider has not")
        return named[0]


def keys_of(document: object) -> PublishedKeys:
    """Read the keys that a provider publishes (RFC 7517). Those that sign nothing, or by what is
    not supported, are left out. Raises MalformedDocument."""
    from joserfc.errors import JoseError
    from joserfc.jwk import RSAKey, import_key

    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise MalformedDocument("it has no list of keys")
    if len(listed) > _MOST_KEYS:
        raise MalformedDocument(f"it has more than {_MOST_KEYS} keys")
    keys: list[Key] = []
    for each in listed:
        if not isinstance(each, dict) or each.get("kty") not in _KEY_TYPES.values():
            continue
        if each.get("use", "sig") != "sig":
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Of short keys, which are left out below.
                key = import_key(each)
                is_long = not isinstance(key, RSAKey) or key.raw_value.key_size >= _LEAST_RSA_BITS
        except (JoseError, ValueError, TypeError, KeyError, AttributeError):
            continue
        if is_long:
            keys.append(key)
    if not keys:
        raise MalformedDocument("none of its keys can be used")
    return PublishedKeys(tuple(keys))


def header_of(text: str, algorithms: Collection[str]) -> Mapping[str, Any]:
    """Return what a token says of its signature. Raises TokenRefused for what is no signed token,
    and for algorithms that are not allowed."""
    from joserfc.errors import JoseError
    from joserfc.jws import extract_compact

    if len(text) > MOST_CHARACTERS or not text.isascii():
        raise TokenRefused(f"it has more than {MOST_CHARACTERS} characters, or is no JWT")
    try:
        header = extract_compact(text.encode(), registry=_registry(algorithms)).headers()
    except (JoseError, ValueError, TypeError, RecursionError):
        raise TokenRefused("it is no signed JWT") from None
    algorithm = header.get("alg")
    if algorithm not in algorithms or algorithm not in ALGORITHMS:
        raise TokenRefused(f"its algorithm {algorithm!r:.40} is not among {', '.join(algorithms)}")
    return header


def signed_token(text: str, keys: PublishedKeys, algorithms: Collection[str]) -> SignedToken:
    """Return what a token says that the provider has signed. Raises UnknownKey, TokenRefused."""
    from joserfc import jwt
    from joserfc.errors import JoseError

    header = header_of(text, algorithms)
    key = keys.find(header)
    try:
        registry = _registry([header["alg"]])
        token = jwt.decode(text, key, registry=registry, decoder_cls=_FiniteDecoder)
    except JoseError as error:
        raise TokenRefused(f"its signature does not hold ({error.error})") from None
    except (ValueError, TypeError, RecursionError):
        raise TokenRefused("it is no signed JWT") from None
    return SignedToken(token.header, token.claims)


def check_id_token(
    token: SignedToken,
    *,
    issuer: str,
    client_id: str,
    nonce: str,
    access_token: str | None,
    now_s: int,
) -> None:
    """Raises TokenRefused for an ID token that is not the answer to this login."""
    from authlib.oidc.core import CodeIDToken
    from joserfc.errors import JoseError

    claims = CodeIDToken(
        dict(token.claims),
        dict(token.header),
        {
            "iss": {"essential": True, "value": issuer},
            "aud": {"essential": True, "value": client_id},
        },
        {"nonce": nonce, "client_id": client_id, "access_token": access_token},
    )
    try:
        claims.validate(now=now_s, leeway=LEEWAY_S)
    except (JoseError, ValueError, TypeError, AttributeError) as error:
        raise TokenRefused(_reason(error, token.claims, issuer, client_id, now_s)) from None


def check_access_token(token: SignedToken, *, issuer: str, audience: str, now_s: int) -> None:
    """Raises TokenRefused for an access token that is not for this cluster."""
    from authlib.oauth2.claims import JWTClaims
    from joserfc.errors import JoseError

    kind = token.header.get("typ")
    if (kind.lower() if isinstance(kind, str) else kind) not in _TOKEN_TYPES:
        raise TokenRefused(f"it is a token of another type: {kind!r:.40}")
    if "cnf" in token.claims:
        raise TokenRefused("it is bound to a key of its owner, which no request here shows")
    claims = JWTClaims(
        dict(token.claims),
        dict(token.header),
        {
            "iss": {"essential": True, "value": issuer},
            "aud": {"essential": True, "value": audience},
            "exp": {"essential": True},
        },
    )
    try:
        claims.validate(now=now_s, leeway=LEEWAY_S)
    except (JoseError, ValueError, TypeError, AttributeError) as error:
        raise TokenRefused(_reason(error, token.claims, issuer, audience, now_s)) from None


def _registry(algorithms: Collection[str]) -> JWSRegistry:
    """Return the library's rules, with the bounds of this module: providers put certificates into
    headers, and words of their own, which mean nothing unless they are said to be critical."""
    from joserfc.jws import JWSRegistry

    registry = JWSRegistry(algorithms=algorithms, strict_check_header=False)
    registry.max_header_length = registry.max_payload_length = MOST_CHARACTERS
    return registry


def _fits(key: Key, algorithm: str) -> bool:
    if key.key_type != _KEY_TYPES[algorithm[:2]] or key.get("alg", algorithm) != algorithm:
        return False
    operations = key.get("key_ops")
    if operations is not None and "verify" not in operations:
        return False
    return algorithm not in _CURVES or key.get("crv") == _CURVES[algorithm]


def _reason(
    error: Exception, claims: Mapping[str, Any], issuer: str, audience: str, now_s: int
) -> str:
    """Why the claims of a token are not good here, in words for its owner."""
    from joserfc.errors import ClaimError, ExpiredTokenError

    if not isinstance(error, ClaimError):
        return f"its claims are not as they have to be ({type(error).__name__})"
    claim = error.claim
    value = claims.get(claim)
    if value is None:
        return f"it has no {claim}"
    if isinstance(error, ExpiredTokenError):
        return f"it ended {_span(now_s - value)} ago; if it is new, {_CLOCKS}"
    match claim:
        case "iss":
            return f"it is from {value!r:.200}, and not from {issuer}"
        case "aud":
            return f"it is for {value!r:.200}, and not for {audience}"
        case "azp":
            return f"it was issued to {value!r:.200}, and not to {audience}"
        case "nonce":
            return "it answers another login"
        case "iat" | "nbf" if isinstance(value, int | float) and value > now_s:
            return f"it begins in {_span(value - now_s)}: {_CLOCKS}"
    return f"its {claim} is not as it has to be"


def _span(span_s: float) -> str:
    return f"{min(span_s, _LONG_S):.0f} s"


class _FiniteDecoder(json.JSONDecoder):
    """Of JSON as the standard has it, without NaN and infinities."""

    def __init__(self) -> None:
        super().__init__(parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")
