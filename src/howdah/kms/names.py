"""Who asks a key server that believes names (shell: the clock).

Hadoop's clients say a name once (`user.name`), and show the signed cookie that they get for it from
then on, as they do behind a ticket (PseudoAuthenticationHandler).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from howdah.protocol.rpc.proven import SIMPLE, Proven
from howdah.protocol.web_authentication.signed_cookie import (
    CookieRefused,
    CookieScope,
    CookieSigner,
    SignedIdentity,
    cookie_in,
)
from howdah.web.access.rules import AccessRules, Rule
from howdah.web.http import Admitted, Request, Response, text_response

_NAME: Final = "user.name"
_KIND: Final = "simple"
_REHEARSAL: Final = "OPTIONS"
_SAME_MS: Final = 1000
"""For how long a user who says his name again gets the same cookie."""
_MOST_MADE: Final = 1000


@dataclass(frozen=True, slots=True)
class _Made:
    """A cookie that was made."""

    at_ms: int
    headers: dict[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class NamedGuard:
    """Of one server."""

    signer: CookieSigner = field(repr=False)
    validity_ms: int
    scope: CookieScope
    rules: AccessRules
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    made: dict[tuple[str, bool], _Made] = field(default_factory=dict, repr=False)
    """Cookies of users, some of whom say their names with each request."""

    def admit(self, request: Request) -> Admitted | Response:
        """Let a request pass with its name, or answer it."""
        if self.rules.of(request.path) not in (Rule.USER, None):
            return Admitted(request)
        now_ms = self.now_ms()
        user, headers = self._of_cookie(request, now_ms), {}
        if user is None:
            user = _name_in(request)
            if not user:
                return text_response(
                    401, f"Anonymous requests are disallowed: say who you are by {_NAME}"
                )
            headers = self._kept(request, user, now_ms)
        if request.method == _REHEARSAL:
            return Response(200, headers)
        return Admitted(replace(request, proven=Proven(SIMPLE, user, user)), headers)

    def _of_cookie(self, request: Request, now_ms: int) -> str | None:
        text = cookie_in(request.headers.get("cookie"))
        if text is None:
            return None
        try:
            return self.signer.read(text, now_ms, _KIND).user
        except CookieRefused:
            return None

    def _kept(self, request: Request, user: str, now_ms: int) -> dict[str, str]:
        made = self.made.get((user, request.is_secure))
        if made is not None and 0 <= now_ms - made.at_ms < _SAME_MS:
            return made.headers
        try:
            text = self.signer.sign(SignedIdentity(user, user, _KIND, now_ms + self.validity_ms))
        except CookieRefused:
            return {}  # The name goes with each request then.
        headers = {"Set-Cookie": self.scope.header(text, is_secure=request.is_secure)}
        if len(self.made) >= _MOST_MADE:
            self.made.clear()
        self.made[user, request.is_secure] = _Made(now_ms, headers)
        return headers


def _name_in(request: Request) -> str:
    name = request.query.get(_NAME, "")
    return name if name.isprintable() else ""
