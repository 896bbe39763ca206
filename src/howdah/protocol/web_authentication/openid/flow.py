"""The way of a browser to the provider and back: the authorization code flow with PKCE (pure;
OpenID Connect Core 1.0, RFC 6749, 7636, 9207).

    begin   -> the provider's page, and a cookie that remembers the login for ten minutes
    resume  <- code and state, and the cookie: only the browser that began goes on

The server keeps nothing meanwhile. The cookie has the state, until when it counts, and where to go
afterwards, signed by the key of logins. The nonce and PKCE's verifier follow from the state by that
key, so the cookie shows neither. What makes a state count only once is the server's.
"""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from howdah import errors

PURPOSE: Final = "login by OpenID Connect"
"""Of the key by which pending logins are signed."""
VALIDITY_MS: Final = 10 * 60 * 1000
RANDOM_BYTES: Final = 32
_MOST_COOKIE_CHARACTERS: Final = 4096
_MOST_CODE_CHARACTERS: Final = 4096
_REASONS: Final[Mapping[str, str]] = {
    "access_denied": "the user or the provider has refused",
    "login_required": "the user is not logged in there",
    "interaction_required": "the user has to do something there",
    "consent_required": "the user has not agreed",
    "account_selection_required": "the user has to choose an account",
    "invalid_request": "the request is not as the provider wants it",
    "invalid_scope": "a scope is unknown",
    "unauthorized_client": "this client may not do so",
    "unsupported_response_type": "the provider gives no code",
    "temporarily_unavailable": "the provider is overloaded",
    "server_error": "the provider has an error",
}
"""Of a provider's answer (RFC 6749, 4.1.2.1). Its own words are not shown: whoever made the link
could have written them."""


class LoginRefused(errors.AuthenticationFailed):
    """A login that does not go on."""


@dataclass(frozen=True, slots=True)
class Begun:
    """Where a browser goes, and the text of the cookie that remembers why."""

    location: str
    cookie: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Resumed:
    """What a provider's answer is worth: a code, for who knows the verifier."""

    code: str = field(repr=False)
    verifier: str = field(repr=False)
    nonce: str = field(repr=False)
    redirect_uri: str
    state: str
    after: str
    """Where the user wanted to go."""


@dataclass(frozen=True, slots=True)
class LoginFlow:
    """Of one server. `stamp` names the provider and all that is agreed with it: a login that began
    with another one does not go on."""

    key: bytes = field(repr=False)
    issuer: str
    client_id: str
    scopes: Sequence[str]
    stamp: str

    def begin(
        self, endpoint: str, redirect_uri: str, after: str, random: bytes, now_ms: int
    ) -> Begun:
        """Begin a login: the provider's page is at `endpoint`, and its answer comes to
        `redirect_uri`. `random` has `RANDOM_BYTES`."""
        from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
        from authlib.oauth2.rfc7636 import create_s256_code_challenge

        assert len(random) == RANDOM_BYTES
        state = _text(random)
        location = prepare_grant_uri(
            endpoint,
            self.client_id,
            "code",
            redirect_uri=redirect_uri,
            scope=" ".join(self.scopes),
            state=state,
            nonce=self._derived("nonce", state),
            code_challenge=create_s256_code_challenge(self._derived("verifier", state)),
            code_challenge_method="S256",
        )
        pending = {
            "state": state,
            "ends_ms": now_ms + VALIDITY_MS,
            "redirect_uri": redirect_uri,
            "after": after,
            "stamp": self.stamp,
        }
        return Begun(str(location), self._sealed(pending))

    def resume(
        self,
        cookie: str | None,
        query: Mapping[str, str],
        redirect_uri: str,
        now_ms: int,
    ) -> Resumed:
        """Go on with a login by the provider's answer. Raises LoginRefused.

        The state is held against the cookie before anything else of the answer is believed.
        """
        if cookie is None:
            raise LoginRefused(
                "this browser has begun no login here, or longer than ten minutes ago, or it keeps "
                "no cookies"
            )
        pending = self._opened(cookie)
        state = pending["state"]
        if not hmac.compare_digest(state.encode(), query.get("state", "").encode()):
            raise LoginRefused("the answer belongs to another login than the last one begun here")
        if now_ms >= pending["ends_ms"]:
            raise LoginRefused("it took longer than ten minutes")
        if pending["stamp"] != self.stamp:
            raise LoginRefused("the login began with another provider or client")
        if pending["redirect_uri"] != redirect_uri:
            raise LoginRefused(f"the login began for {pending['redirect_uri']}")
        if query.get("iss", self.issuer) != self.issuer:
            raise LoginRefused(f"the answer is not from {self.issuer}")
        if "error" in query:
            reason = _REASONS.get(query["error"], "for a reason that is not in the standard")
            raise LoginRefused(f"{self.issuer} does not log in this user: {reason}")
        code = query.get("code", "")
        if not code or len(code) > _MOST_CODE_CHARACTERS:
            raise LoginRefused("the provider's answer has no code")
        return Resumed(
            code,
            self._derived("verifier", state),
            self._derived("nonce", state),
            redirect_uri,
            state,
            pending["after"],
        )

    def logout_location(self, endpoint: str, after: str | None) -> str:
        """Return where a browser logs out at the provider, and is led to `after` from there
        (RP-Initiated Logout 1.0). No ID token is kept that could be shown as `id_token_hint`, so
        the client is named instead, and the provider may ask the user whether that is wanted."""
        from authlib.common.urls import add_params_to_uri

        wanted = [("client_id", self.client_id)]
        if after is not None:
            wanted.append(("post_logout_redirect_uri", after))
        return str(add_params_to_uri(endpoint, wanted))

    def _derived(self, what: str, state: str) -> str:
        return _text(hmac.digest(self.key, f"{what} {state}".encode(), "sha256"))

    def _sealed(self, pending: Mapping[str, object]) -> str:
        text = _text(json.dumps(pending, separators=(",", ":")).encode())
        return f"{text}.{self._mark(text)}"

    def _opened(self, cookie: str) -> dict[str, Any]:
        """Raises LoginRefused."""
        text, _, mark = cookie.partition(".")
        if (
            len(cookie) > _MOST_COOKIE_CHARACTERS
            or not cookie.isascii()
            or not hmac.compare_digest(self._mark(text).encode(), mark.encode())
        ):
            raise LoginRefused("the login was not begun at this server")
        pending: dict[str, Any] = json.loads(
            base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        )
        return pending

    def _mark(self, text: str) -> str:
        return _text(hmac.digest(self.key, f"pending {text}".encode(), "sha256"))


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
