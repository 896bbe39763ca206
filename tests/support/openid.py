"""A provider of OpenID Connect: in this process, or over HTTP for servers and browsers.

It logs in `user` without asking, and is as strict as a real one: codes count once, and for who
knows PKCE's verifier. What it says can be changed, to be wrong in one way at a time.
"""

from __future__ import annotations

import base64
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

import pytest

pytest.importorskip("authlib", reason="authlib is not installed")

from authlib.oauth2.rfc7636 import create_s256_code_challenge
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from joserfc import jwt
from joserfc.jwk import ECKey, Key, RSAKey

from howdah.protocol.web_authentication.openid.metadata import MalformedDocument
from howdah.security.openid.documents import ProviderUnreachable

CLIENT = "howdah"
SECRET = "a planted secret: of the client"
AUDIENCE = "howdah-webhdfs"
ISSUER = "https://id.example.com"
Answer = tuple[int, dict[str, str], bytes]


@dataclass
class FakeProvider:
    """Whoever is asked; `now_s` is its clock."""

    issuer: str = ISSUER
    user: str = "alice"
    client_secret: str | None = SECRET
    now_s: Callable[[], float] = time.time
    key: Key = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "rsa"}))
    algorithm: str = "RS256"
    claims: dict[str, Any] = field(default_factory=dict)
    """What tokens say instead; a value of None leaves a claim out."""
    header: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    published: list[Mapping[str, Any]] | None = None
    """Keys that are published instead of its own."""
    answers: dict[str, Answer] = field(default_factory=dict)
    """By paths: what is answered there instead."""
    asked: list[str] = field(default_factory=list)
    """The paths of all requests."""
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

    # What is asked.

    def answer(self, method: str, target: str, body: str, headers: Mapping[str, str]) -> Answer:
        parts = urlsplit(target)
        self.asked.append(parts.path)
        if parts.path in self.answers:
            return self.answers[parts.path]
        match method, parts.path:
            case "GET", "/.well-known/openid-configuration":
                return _json(200, self.discovery())
            case "GET", "/keys":
                return _json(200, {"keys": self.public_keys()})
            case "GET", "/authorize":
                location = self.authorized(parts.query)
                return 302, {"Location": location}, b""
            case "GET", "/logout":
                return 302, {"Location": self.logged_out(parts.query)}, b""
            case "POST", "/token":
                return self._token(dict(parse_qsl(body)), headers.get("Authorization"))
        return 404, {}, b""

    def discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "response_types_supported": ["code"],
            **self.metadata,
        }

    def public_keys(self) -> list[Mapping[str, Any]]:
        if self.published is not None:
            return self.published
        return [{"use": "sig", **self.key.as_dict(private=False)}]

    def authorized(self, query: str) -> str:
        """Where the browser of who agrees is sent."""
        wanted = dict(parse_qsl(query))
        assert wanted["response_type"] == "code"
        assert wanted["client_id"] == CLIENT
        assert wanted["code_challenge_method"] == "S256"
        assert "openid" in wanted["scope"].split()
        code = secrets.token_urlsafe(16)
        self.codes[code] = wanted
        more = {"code": code, "state": wanted["state"], "iss": self.issuer}
        return f"{wanted['redirect_uri']}?{urlencode(more)}"

    def logged_out(self, query: str) -> str:
        """Where the browser of who logs out is sent."""
        wanted = dict(parse_qsl(query))
        assert wanted["client_id"] == CLIENT
        assert "id_token_hint" not in wanted
        return wanted["post_logout_redirect_uri"]

    def _token(self, form: Mapping[str, str], authorization: str | None) -> Answer:
        if not self._is_client(form, authorization):
            return _json(401, {"error": "invalid_client"})
        wanted = self.codes.pop(form.get("code", ""), None)
        if (
            wanted is None
            or form.get("grant_type") != "authorization_code"
            or form.get("redirect_uri") != wanted["redirect_uri"]
            or create_s256_code_challenge(form.get("code_verifier", "")) != wanted["code_challenge"]
        ):
            return _json(400, {"error": "invalid_grant"})
        id_token = self.token(aud=CLIENT, nonce=wanted["nonce"])
        tokens = {"id_token": id_token, "access_token": "opaque", "token_type": "Bearer"}
        return _json(200, tokens)

    def _is_client(self, form: Mapping[str, str], authorization: str | None) -> bool:
        if self.client_secret is None:
            return form.get("client_id") == CLIENT and authorization is None
        if "client_secret" in form:
            return (form.get("client_id"), form["client_secret"]) == (CLIENT, self.client_secret)
        text = base64.b64decode((authorization or "").removeprefix("Basic ")).decode()
        name, _, secret = text.partition(":")
        return (unquote_plus(name), unquote_plus(secret)) == (CLIENT, self.client_secret)

    def token(self, **claims: Any) -> str:
        """What this provider signs."""
        now_s = int(self.now_s())
        whole = {
            "iss": self.issuer,
            "sub": f"subject of {self.user}",
            "preferred_username": self.user,
            "iat": now_s,
            "exp": now_s + 300,
            **claims,
            **self.claims,
        }
        kept = {name: value for name, value in whole.items() if value is not None}
        kid = self.key.get("kid")
        header = {"alg": self.algorithm, **({"kid": kid} if kid else {}), **self.header}
        shown = {name: value for name, value in header.items() if value is not None}
        return jwt.encode(shown, kept, self.key, algorithms=[self.algorithm])

    def bearer(self, **claims: Any) -> str:
        """An access token for programs."""
        return self.token(**{"aud": AUDIENCE, **claims})

    # In this process, as `howdah.security.openid.provider.Documents`.

    def fetch(self, url: str) -> object:
        status, _, body = self.answer("GET", self._target(url), "", {})
        if status != 200:
            raise ProviderUnreachable(f"{url} answers {status}")
        return _parsed(body)

    def post(
        self, url: str, form: str, headers: Mapping[str, str]
    ) -> tuple[int, Mapping[str, object]]:
        status, _, body = self.answer("POST", self._target(url), form, headers)
        document = _parsed(body)
        assert isinstance(document, dict)
        return status, document

    def _target(self, url: str) -> str:
        assert url.startswith(f"{self.issuer}/")
        return url.removeprefix(self.issuer)

    # Over HTTP.

    @contextmanager
    def served(self) -> Iterator[None]:
        """Answer at a port of this machine, by which the issuer is named."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.issuer = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def unsigned(claims: Mapping[str, Any]) -> str:
    """A token by the algorithm none."""
    return f"{_unsigned({'alg': 'none', 'typ': 'JWT'}, claims)}."


def signed(provider: FakeProvider, header: Mapping[str, Any], claims: Mapping[str, Any]) -> str:
    """A token by RS256 whose header is as it is given, whatever a library says of that."""
    text = _unsigned(header, claims)
    key = provider.key.raw_value
    assert isinstance(key, RSAPrivateKey)
    return f"{text}.{_encoded(key.sign(text.encode(), PKCS1v15(), SHA256()))}"


def signed_by_public_key(provider: FakeProvider, claims: Mapping[str, Any]) -> str:
    """A token by HS256, whose key is the text of the provider's public one."""
    text = _unsigned({"alg": "HS256", "kid": provider.key.get("kid")}, claims)
    assert isinstance(provider.key, RSAKey)
    mark = hmac.digest(provider.key.as_pem(private=False), text.encode(), "sha256")
    return f"{text}.{_encoded(mark)}"


def _unsigned(header: Mapping[str, Any], claims: Mapping[str, Any]) -> str:
    return ".".join(_encoded(json.dumps(part).encode()) for part in (header, claims))


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def other_keys() -> list[tuple[Key, str]]:
    """A key for each kind of algorithm."""
    return [
        (RSAKey.generate_key(2048, {"kid": "a"}), "PS256"),
        (ECKey.generate_key("P-256", {"kid": "b"}), "ES256"),
        (ECKey.generate_key("P-384", {"kid": "c"}), "ES384"),
    ]


def _json(status: int, document: object) -> Answer:
    return status, {"Content-Type": "application/json"}, json.dumps(document).encode()


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body)
    except ValueError:
        raise MalformedDocument("no JSON") from None


def _handler(provider: FakeProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _respond(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            body = self.rfile.read(length).decode()
            status, headers, data = provider.answer(
                self.command, self.path, body, dict(self.headers)
            )
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _respond

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    return Handler
