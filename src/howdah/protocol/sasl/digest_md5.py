"""DIGEST-MD5 (RFC 2831) as Java's SASL provider speaks it: how tokens prove themselves.

The name is the token's identifier and the password the token's password, both in base64
(`credentials_of`). The server challenges with a nonce, the client answers with a digest of
everything that both sides know and of a nonce of its own, and the server's last word (`rspauth`)
proves that it knows the password too. Algorithm, charset and the order of the fields are those of
Java. `howdah.protocol.sasl.digest_layers` has what comes after that.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from howdah import errors
from howdah.protocol.sasl.digest_layers import (
    CIPHERS,
    MOST_WRAPPED_BYTES,
    STRONG_CIPHERS,
    DigestLayer,
    Side,
)
from howdah.protocol.sasl.protection import (
    Protection,
    check_room,
    choose_protection,
    show_protections,
)

MECHANISM: Final = "DIGEST-MD5"
MOST_CHALLENGE_BYTES: Final = 2048
"""Of RFC 2831, section 2.1: a longer challenge is refused."""
MOST_CREDENTIAL_BYTES: Final = 64 * 1024
MOST_RESPONSE_BYTES: Final = 2 * MOST_CREDENTIAL_BYTES
"""RFC 2831 says 4,096; the names of tokens are longer than those of users."""
_NONCE_COUNT: Final = b"00000001"
_NO_BODY: Final = b":" + b"0" * 32
_DIRECTIVE: Final = re.compile(
    rb"[ \t\r\n,]*([!#$%&\'*+\-.0-9A-Z^_`a-z|~]+)[ \t]*=[ \t]*"
    rb'(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*))[ \t\r\n]*(?:,|\Z)',
    re.DOTALL,
)
_QUOTED_PAIR: Final = re.compile(rb"\\(.)", re.DOTALL)
_SEVERAL_TIMES: Final = frozenset(("realm",))


def parse_directives(text: bytes) -> dict[str, bytes]:
    """Read `name=value, name="value"`.

    Raises AuthenticationFailed for what is malformed, or names a value twice.
    """
    found: dict[str, bytes] = {}
    position = 0
    while position < len(text):
        match = _DIRECTIVE.match(text, position)
        if match is None:
            if not text[position:].strip(b" \t\r\n,"):
                break
            raise errors.AuthenticationFailed(
                f"{MECHANISM}: a message cannot be understood at byte {position}"
            )
        name = match[1].decode().lower()
        value = match[3] if match[2] is None else _QUOTED_PAIR.sub(rb"\1", match[2])
        if name not in found:
            found[name] = value
        elif name not in _SEVERAL_TIMES:
            raise errors.AuthenticationFailed(f"{MECHANISM}: a message has {name!r} twice")
        position = match.end()
    return found


def quoted(value: bytes) -> bytes:
    """A value between quotation marks."""
    return b'"' + value.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


@dataclass(frozen=True, slots=True)
class Challenge:
    """What a server asks a client to answer."""

    nonce: bytes = field(repr=False)
    realm: bytes
    protections: tuple[Protection, ...]
    ciphers: tuple[str, ...]
    most_bytes: int

    @classmethod
    def parse(cls, text: bytes) -> Challenge:
        """Raises AuthenticationFailed for what is no challenge, or asks for what is not known."""
        if len(text) > MOST_CHALLENGE_BYTES:
            raise errors.AuthenticationFailed(
                f"{MECHANISM}: a challenge of {len(text)} bytes; {MOST_CHALLENGE_BYTES} are allowed"
            )
        said = parse_directives(text)
        if said.get("algorithm", b"").lower() != b"md5-sess" or not said.get("nonce"):
            raise errors.AuthenticationFailed(
                f"{MECHANISM}: the server's challenge lacks its nonce, or the algorithm md5-sess"
            )
        words = [word.strip() for word in said.get("qop", b"auth").split(b",")]
        known = {each.value.encode(): each for each in Protection}
        ciphers = [word.strip() for word in said.get("cipher", b"").split(b",")]
        return cls(
            said["nonce"],
            said.get("realm", b""),
            tuple(known[word] for word in words if word in known),
            tuple(word.decode("latin-1") for word in ciphers if word),
            _most_bytes(said, "server"),
        )


def _most_bytes(said: dict[str, bytes], whose: str) -> int:
    """How long a message may be that the far end takes. Raises AuthenticationFailed."""
    most = said.get("maxbuf", str(MOST_WRAPPED_BYTES).encode())
    if not most.isdigit() or not 16 < int(most) < 1 << 24:
        raise errors.AuthenticationFailed(f"{MECHANISM}: the {whose}'s maxbuf is no size")
    return int(most)


def credentials_of(identifier: bytes, password: bytes) -> tuple[bytes, bytes]:
    """Return the name and the password that a token stands for."""
    return base64.b64encode(identifier), base64.b64encode(password)


def session_hash(
    name: bytes, realm: bytes, password: bytes, nonce: bytes, cnonce: bytes, authzid: bytes | None
) -> bytes:
    """H(A1) of RFC 2831."""
    secret = hashlib.md5(b":".join((name, realm, password)), usedforsecurity=False).digest()
    parts = (secret, nonce, cnonce) if authzid is None else (secret, nonce, cnonce, authzid)
    return hashlib.md5(b":".join(parts), usedforsecurity=False).digest()


def digest_value(
    session: bytes, nonce: bytes, cnonce: bytes, protection: Protection, uri: bytes, side: Side
) -> bytes:
    """The proof of one side: the client's `response`, the server's `rspauth`."""
    subject = (b"AUTHENTICATE:" if side is Side.CLIENT else b":") + uri
    if protection is not Protection.AUTHENTICATION:
        subject += _NO_BODY
    parts = (
        session.hex().encode(),
        nonce,
        _NONCE_COUNT,
        cnonce,
        protection.value.encode(),
        hashlib.md5(subject, usedforsecurity=False).hexdigest().encode(),
    )
    return hashlib.md5(b":".join(parts), usedforsecurity=False).hexdigest().encode()


class DigestMd5Client:
    """The side of who has a token. `cnonce` is random, and never used again.

    `setting` is the key that `protections` come from. `ciphers` are taken in their order; one of
    the server's is needed for privacy alone.
    """

    def __init__(
        self,
        name: bytes,
        password: bytes,
        digest_uri: str,
        protections: Sequence[Protection],
        *,
        cnonce: bytes,
        setting: str,
        ciphers: Sequence[str] = CIPHERS,
    ) -> None:
        if len(name) + len(password) > MOST_CREDENTIAL_BYTES:
            raise errors.AuthenticationFailed(
                f"a token of {len(name) + len(password)} bytes; {MOST_CREDENTIAL_BYTES} are allowed"
            )
        self._name = name
        self._password = password
        self._uri = digest_uri.encode()
        self._protections = tuple(protections)
        self._ciphers = tuple(ciphers)
        self._cnonce = cnonce
        self._setting = setting
        self._session = b""
        self._challenge: Challenge | None = None
        self.protection = Protection.AUTHENTICATION
        self._cipher: str | None = None
        self.layer: DigestLayer | None = None
        self.is_complete = False

    def evaluate(self, challenge: bytes) -> bytes | None:
        if self.is_complete:
            raise errors.AuthenticationFailed(f"{MECHANISM}: a challenge came behind the proof")
        if self._challenge is None:
            return self._respond(Challenge.parse(challenge))
        self._check_proof(self._challenge, parse_directives(challenge))
        return None

    def _respond(self, challenge: Challenge) -> bytes:
        chosen = choose_protection(self._protections, challenge.protections, self._setting)
        if chosen is Protection.PRIVACY:
            self._cipher = self._choose_cipher(challenge)
        self._challenge, self.protection = challenge, chosen
        self._session = session_hash(
            self._name, challenge.realm, self._password, challenge.nonce, self._cnonce, self._name
        )
        proof = self._proof(challenge, Side.CLIENT)
        fields = [b"charset=utf-8", b"username=" + quoted(self._name)]
        if challenge.realm:
            fields.append(b"realm=" + quoted(challenge.realm))
        fields += [
            b"nonce=" + quoted(challenge.nonce),
            b"nc=" + _NONCE_COUNT,
            b"cnonce=" + quoted(self._cnonce),
            b"digest-uri=" + quoted(self._uri),
            b"maxbuf=%d" % MOST_WRAPPED_BYTES,
            b"response=" + proof,
            b"qop=" + chosen.value.encode(),
        ]
        if self._cipher is not None:
            fields.append(b"cipher=" + quoted(self._cipher.encode()))
        fields.append(b"authzid=" + quoted(self._name))
        return b",".join(fields)

    def _choose_cipher(self, challenge: Challenge) -> str:
        for cipher in self._ciphers:
            if cipher in challenge.ciphers:
                return cipher
        raise errors.AuthenticationFailed(
            f"{MECHANISM}: no common cipher for privacy: the server offers "
            f"{', '.join(challenge.ciphers) or 'none'}, this side has {', '.join(self._ciphers)}"
        )

    def _check_proof(self, challenge: Challenge, said: dict[str, bytes]) -> None:
        expected = self._proof(challenge, Side.SERVER)
        if not hmac.compare_digest(said.get("rspauth", b""), expected):
            raise errors.AuthenticationFailed(
                f"{MECHANISM}: the server did not prove that it knows the token"
            )
        if self.protection is not Protection.AUTHENTICATION:
            self.layer = DigestLayer(self._session, Side.CLIENT, self._cipher, challenge.most_bytes)
        self.is_complete = True

    def _proof(self, challenge: Challenge, side: Side) -> bytes:
        return digest_value(
            self._session, challenge.nonce, self._cnonce, self.protection, self._uri, side
        )


@dataclass(frozen=True, slots=True)
class _Response:
    """What a client answers to a challenge."""

    name: bytes
    realm: bytes
    nonce: bytes = field(repr=False)
    cnonce: bytes = field(repr=False)
    uri: bytes
    proof: bytes = field(repr=False)
    protection: Protection
    cipher: str | None
    most_bytes: int
    authzid: bytes | None

    @classmethod
    def parse(cls, text: bytes) -> _Response:
        """Raises AuthenticationFailed for what is no response."""
        if len(text) > MOST_RESPONSE_BYTES:
            raise errors.AuthenticationFailed(
                f"{MECHANISM}: a response of {len(text)} bytes; {MOST_RESPONSE_BYTES} are allowed"
            )
        said = parse_directives(text)
        for name in ("username", "nonce", "cnonce", "nc", "digest-uri", "response"):
            if not said.get(name):
                raise errors.AuthenticationFailed(f"{MECHANISM}: a response lacks {name!r}")
        if said["nc"] != _NONCE_COUNT:
            raise errors.AuthenticationFailed(f"{MECHANISM}: a nonce is used once")
        known = {each.value.encode(): each for each in Protection}
        protection = known.get(said.get("qop", b"auth"))
        if protection is None:
            raise errors.AuthenticationFailed(f"{MECHANISM}: a response has an unknown protection")
        cipher = said["cipher"].decode("latin-1") if "cipher" in said else None
        return cls(
            said["username"],
            said.get("realm", b""),
            said["nonce"],
            said["cnonce"],
            said["digest-uri"],
            said["response"],
            protection,
            cipher,
            _most_bytes(said, "client"),
            said.get("authzid"),
        )


class DigestMd5Server:
    """The side of who made the tokens. `nonce` is random, and never used again.

    `password_of` has the password that belongs to a name, as `credentials_of` gives both; it
    raises InvalidToken for a name that it does not know. `setting` is the key that `protections`
    come from.
    """

    def __init__(
        self,
        password_of: Callable[[bytes], bytes],
        realm: str,
        digest_uri: str,
        protections: Sequence[Protection],
        *,
        nonce: bytes,
        setting: str,
        ciphers: Sequence[str] = STRONG_CIPHERS,
    ) -> None:
        self._password_of = password_of
        self._realm = realm.encode()
        self._uri = digest_uri.encode()
        self._protections = tuple(protections)
        self._nonce = nonce
        self._setting = setting
        self._ciphers = tuple(ciphers)
        self._has_challenged = False
        self._name = b""
        self.protection = Protection.AUTHENTICATION
        self.layer: DigestLayer | None = None
        self.is_complete = False

    @property
    def client(self) -> str:
        """The name, which is a token's identifier in base64."""
        return self._name.decode("latin-1")

    def evaluate(self, response: bytes) -> bytes:
        if self.is_complete:
            raise errors.AuthenticationFailed(f"{MECHANISM}: a response came behind the proof")
        if not self._has_challenged:
            if response:
                raise errors.AuthenticationFailed(f"{MECHANISM}: the server has the first word")
            self._has_challenged = True
            return self._challenge()
        return self._prove(_Response.parse(response))

    def name_to_look_up(self, response: bytes) -> bytes | None:
        """Return the name of which a response has `password_of` called; None where it asks for
        none: the challenge is due, or the response is refused without."""
        if self.is_complete or not self._has_challenged:
            return None
        try:
            parsed = _Response.parse(response)
            self._check(parsed)
        except errors.AuthenticationFailed:
            return None
        return parsed.name

    def is_proven_by(self, response: bytes, password: bytes) -> bool:
        """Whether a response that names somebody (`name_to_look_up`) proves that password. Nothing
        is changed by that."""
        parsed = _Response.parse(response)
        return hmac.compare_digest(
            digest_value(*self._parts(parsed, password), Side.CLIENT), parsed.proof
        )

    def _challenge(self) -> bytes:
        words = b",".join([each.value.encode() for each in self._protections])
        fields = [
            b"realm=" + quoted(self._realm),
            b"nonce=" + quoted(self._nonce),
            b"qop=" + quoted(words),
            b"charset=utf-8",
            b"algorithm=md5-sess",
        ]
        if Protection.PRIVACY in self._protections:
            fields.append(b"cipher=" + quoted(",".join(self._ciphers).encode()))
        return b",".join(fields)

    def _prove(self, response: _Response) -> bytes:
        self._check(response)
        parts = self._parts(response, self._password_of(response.name))
        session = parts[0]
        if not hmac.compare_digest(digest_value(*parts, Side.CLIENT), response.proof):
            raise errors.AuthenticationFailed(
                f"{MECHANISM}: digest response format violation. Mismatched response."
            )
        self._name, self.protection = response.name, response.protection
        if response.protection is not Protection.AUTHENTICATION:
            self.layer = DigestLayer(session, Side.SERVER, response.cipher, response.most_bytes)
        self.is_complete = True
        return b"rspauth=" + digest_value(*parts, Side.SERVER)

    def _parts(
        self, response: _Response, password: bytes
    ) -> tuple[bytes, bytes, bytes, Protection, bytes]:
        """What both sides make their proofs of; the session's hash is the first."""
        session = session_hash(
            response.name,
            response.realm,
            password,
            self._nonce,
            response.cnonce,
            response.authzid,
        )
        return session, self._nonce, response.cnonce, response.protection, response.uri

    def _check(self, response: _Response) -> None:
        """What is not secret, before a password is looked up."""
        if not hmac.compare_digest(response.nonce, self._nonce):
            raise errors.AuthenticationFailed(f"{MECHANISM}: the nonce is of another challenge")
        if response.realm != self._realm:
            raise errors.AuthenticationFailed(
                f"{MECHANISM}: the realm is {response.realm[:100]!r}, not {self._realm!r}"
            )
        if response.uri.lower() != self._uri.lower():
            raise errors.AuthenticationFailed(
                f"{MECHANISM}: the response is for {response.uri[:100]!r}, not for {self._uri!r}"
            )
        if response.authzid not in (None, response.name):
            raise errors.AuthenticationFailed(
                f"{MECHANISM}: a token's owner asks to be treated as another one"
            )
        if response.protection not in self._protections:
            raise errors.AuthenticationFailed(
                f"{MECHANISM}: the client chose {response.protection.word}, and {self._setting} = "
                f"{show_protections(self._protections)} here"
            )
        is_private = response.protection is Protection.PRIVACY
        if is_private and response.cipher not in self._ciphers:
            raise errors.AuthenticationFailed(
                f"{MECHANISM}: privacy needs one of the ciphers {', '.join(self._ciphers)}"
            )
        if not is_private and response.cipher is not None:
            raise errors.AuthenticationFailed(f"{MECHANISM}: a cipher without privacy")
        if response.protection is not Protection.AUTHENTICATION:
            check_room(response.most_bytes, MECHANISM)
