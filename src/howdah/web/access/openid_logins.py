"""Who asks over HTTP, by a provider of OpenID Connect or the cookie behind it (shell: a clock,
dice, the provider; on the threads of connections).

    browser  GET any page -> a link -> GET /login/openid -> the provider's page
             -> GET /login/openid/callback -> cookie -> the page
             POST /logout -> no cookie -> the provider's page for that -> GET /login
    program  Authorization: Bearer, an access token of the provider's, with each request

The cookie is the one of logins (`howdah.web.access.logins`) and ends by its time: the provider is
not asked again meanwhile. It ends before where what is agreed with the provider changes (its
stamp). Programs get none, as their tokens end sooner. Over HTTP without TLS nothing of it is taken,
as with passwords.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urlsplit

from howdah import errors
from howdah.config import Configuration
from howdah.protocol.rpc.proven import OPENID, SERVER, Proven
from howdah.protocol.web_authentication.openid.flow import (
    PURPOSE,
    RANDOM_BYTES,
    VALIDITY_MS,
    LoginFlow,
    LoginRefused,
)
from howdah.protocol.web_authentication.openid.tokens import TokenRefused
from howdah.protocol.web_authentication.signed_cookie import CookieRefused, cookie_in
from howdah.security.openid.documents import ProviderUnreachable
from howdah.security.openid.provider import Provider, provider_of
from howdah.security.openid.settings import openid_settings
from howdah.security.server_cookies import NOBODY
from howdah.security.web_settings import cookie_rules
from howdah.web.access import login_pages
from howdah.web.access.logins import LoginCookies, is_private, not_private, sentence
from howdah.web.access.rules import AccessRules
from howdah.web.cross_site import check_origin
from howdah.web.http import Admitted, NeedsBody, Request, Response, text_response

log = logging.getLogger(__name__)

KIND: Final = "oidc"
"""Of its cookies."""
_PENDING: Final = "howdah.login"
_SECURE_PENDING: Final = "__Host-howdah.login"
"""A browser takes this name over TLS alone, and from no other host of the domain."""
_MOST_SPENT: Final = 4096
_MOST_AFTER_CHARACTERS: Final = 2048
"""Of the place to go on, which is in a cookie: browsers keep none of more than 4096 characters."""
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+(?::\d{1,5})?\Z|\[[0-9A-Fa-f:.]+\](?::\d{1,5})?\Z")
_SCHEME: Final = "bearer"
_ADVICE: Final = "Use a browser, or a delegation token."
_ADVICE_OF_BEARERS: Final = (
    "Use a browser, an access token of the provider's (Authorization: Bearer), or a delegation "
    "token."
)


class SpentStates:
    """The states of logins that have gone on: each counts once. Thread-safe.

    As many are kept as a server may see within the ten minutes that a state counts; the provider
    takes no code twice, whatever is forgotten here.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spent: OrderedDict[str, None] = OrderedDict()

    def spend(self, state: str) -> None:
        """Raises LoginRefused for a state that was spent before."""
        with self._lock:
            if state in self._spent:
                raise LoginRefused("this login has gone on already")
            self._spent[state] = None
            while len(self._spent) > _MOST_SPENT:
                self._spent.popitem(last=False)


@dataclass(frozen=True, slots=True)
class OpenIdProver:
    """Of one server; `server` is its name for people."""

    provider: Provider = field(repr=False)
    flow: LoginFlow
    cookies: LoginCookies = field(repr=False)
    server: str
    rules: AccessRules
    """Of what it stands before."""
    spent: SpentStates = field(default_factory=SpentStates, repr=False)

    @property
    def allows_plain(self) -> bool:
        return self.provider.settings.allows_plain

    def own_answer(self, request: Request) -> Response | NeedsBody | None:
        if request.path not in login_pages.LOGIN_PATHS:
            return None
        if not is_private(request, allows_plain=self.allows_plain):
            return not_private(request, self.server)
        if request.path == login_pages.LOGOUT_PATH:
            return self._log_out(request)
        if request.path == login_pages.PATH and request.method == "HEAD":
            return self._login_page(request)
        if request.method != "GET":
            return text_response(405, "a login here is a GET")
        if request.path == login_pages.PATH:
            return self._login_page(request)
        if request.path == login_pages.OPENID_PATH:
            return self._begin(request)
        return self._go_on(request)

    def prove(self, request: Request) -> Admitted | Response:
        if self.cookies.is_of_server(request):
            return Admitted(replace(request, proven=Proven(SERVER, NOBODY, NOBODY)))
        if not is_private(request, allows_plain=self.allows_plain):
            return not_private(request, self.server)
        try:
            token = _bearer_in(request.headers.get("authorization"))
            user = self._user_of_cookie(request) if token is None else self._user_of(token)
        except TokenRefused as refused:
            log.info("a token from %s is refused: %s", request.peer, refused.message)
            return self._unproven(request, f"the token is refused, as {refused.message}")
        except CookieRefused as refused:
            return self._unproven(request, refused.message)
        except ProviderUnreachable as error:
            return self._closed(request, error)
        if user is None:
            return self._unproven(request, "")
        return Admitted(replace(request, proven=Proven(OPENID, user, user)))

    def _user_of(self, token: str) -> str:
        """Raises TokenRefused, ProviderUnreachable."""
        audience = self.provider.settings.bearer_audience
        if audience is None:
            raise TokenRefused("this server takes none")
        return self.provider.user_of_bearer(token, audience).user

    def _user_of_cookie(self, request: Request) -> str | None:
        """Raises CookieRefused."""
        identity = self.cookies.identity_in(request)
        if identity is None:
            return None
        if identity.principal != self._principal(identity.user):
            raise CookieRefused("what is agreed with the provider has changed since")
        return identity.user

    def _principal(self, user: str) -> str:
        return f"{user}#{self.flow.stamp}"

    def _log_out(self, request: Request) -> Response:
        if request.method != "POST":
            return text_response(405, "a log-out is sent by POST")
        try:
            check_origin(request)
        except errors.AuthorizationFailed as error:
            return text_response(403, error.message)
        headers = self.cookies.taken_away(request)
        location = self._provider_logout(request)
        if location is None:
            return login_pages.sent_on(login_pages.PATH, headers)
        return login_pages.logged_out(self.server, self._provider_name, location, headers)

    def _provider_logout(self, request: Request) -> str | None:
        """Return where the user logs out at the provider; None where that has no such page or is
        not to be asked for one."""
        if not self.provider.settings.logs_out_at_provider:
            return None
        try:
            endpoint = self.provider.metadata().end_session_endpoint
        except ProviderUnreachable as error:
            log.warning(
                "a log-out from %s ends here, and not at the provider: %s", request.peer, error
            )
            return None
        if endpoint is None:
            return None
        return self.flow.logout_location(endpoint, _own_address(request, login_pages.PATH))

    def _login_page(self, request: Request) -> Response:
        try:
            user = self._user_of_cookie(request)
        except CookieRefused:
            user = None
        if user is not None:
            return login_pages.known(self.server, user)
        return self._way_in(request, "", 200)

    def _begin(self, request: Request) -> Response:
        redirect_uri = _redirect_uri(request)
        if redirect_uri is None:
            return text_response(
                400, "this request has no Host to which a provider could lead back"
            )
        after = login_pages.place_of(request, self.rules.only_shows)
        if len(after) > _MOST_AFTER_CHARACTERS:
            after = "/"
        try:
            endpoint = self.provider.metadata().authorization_endpoint
        except ProviderUnreachable as error:
            return self._closed(request, error)
        begun = self.flow.begin(
            endpoint, redirect_uri, after, os.urandom(RANDOM_BYTES), self.cookies.now_ms()
        )
        headers = {**_pending_cookie(request, begun.cookie), "Cache-Control": "no-store"}
        return login_pages.sent_on(begun.location, headers)

    def _go_on(self, request: Request) -> Response:
        name = _pending_name(request)
        try:
            resumed = self.flow.resume(
                cookie_in(request.headers.get("cookie"), name),
                request.query,
                _redirect_uri(request) or "",
                self.cookies.now_ms(),
            )
            self.spent.spend(resumed.state)
            known = self.provider.user_of_code(resumed)
            headers = self.cookies.given(request, known.user, self._principal(known.user))
        except TokenRefused as refused:
            return self._not_logged_in(request, f"the provider's token is refused, as {refused}")
        except (LoginRefused, CookieRefused) as refused:
            return self._not_logged_in(request, refused.message)
        except ProviderUnreachable as error:
            return self._closed(request, error)
        log.info(
            "%s logs in from %s, as subject %s of %s",
            known.user,
            request.peer,
            known.subject,
            self.flow.issuer,
        )
        return login_pages.logged_in(self.server, known.user, resumed.after, headers)

    def _not_logged_in(self, request: Request, reason: str) -> Response:
        log.warning("a login from %s does not go on: %s", request.peer, reason)
        page = login_pages.at_provider(
            self.server, self._provider_name, "/", said=sentence(reason), status=401
        )
        return replace(page, headers={**page.headers, **_pending_cookie(request, "")})

    def _unproven(self, request: Request, reason: str) -> Response:
        if login_pages.wants_page(request):
            return self._way_in(request, sentence(reason), 401)
        takes_tokens = self.provider.settings.bearer_audience is not None
        said = f"This server asks for a login at {self.flow.issuer}"
        return login_pages.refusal(
            request,
            self.server,
            401,
            f"{said}: {reason}." if reason else f"{said}.",
            [_ADVICE_OF_BEARERS if takes_tokens else _ADVICE],
            {"WWW-Authenticate": 'Bearer realm="howdah"'} if takes_tokens else {},
        )

    def _way_in(self, request: Request, said: str, status: int) -> Response:
        after = login_pages.place_of(request, self.rules.only_shows)
        return login_pages.at_provider(
            self.server, self._provider_name, after, said=said, status=status
        )

    @property
    def _provider_name(self) -> str:
        return urlsplit(self.flow.issuer).netloc

    def _closed(self, request: Request, error: ProviderUnreachable) -> Response:
        said = f"Nobody can log in here now: {error}."
        advice = ["Try again. If it stays so, the server's log says since when."]
        return login_pages.refusal(request, self.server, 503, said, advice, {"Retry-After": "10"})


def openid_prover(conf: Configuration, server: str, rules: AccessRules) -> OpenIdProver:
    """Make the prover of a server as it is configured. Raises InvalidConfiguration."""
    settings = openid_settings(conf)
    signer, validity_ms, scope = cookie_rules(conf)
    flow = LoginFlow(
        signer.derived_key(PURPOSE),
        settings.issuer,
        settings.client_id,
        settings.scopes,
        settings.stamp,
    )
    cookies = LoginCookies(signer, validity_ms, scope, KIND)
    return OpenIdProver(provider_of(settings), flow, cookies, server, rules)


def _bearer_in(header: str | None) -> str | None:
    """Return the token of a header `Authorization`; None where it has none.

    >>> _bearer_in("Bearer a.b.c"), _bearer_in("Basic YTpi")
    ('a.b.c', None)
    """
    scheme, _, token = (header or "").strip().partition(" ")
    return token.strip() if scheme.lower() == _SCHEME else None


def _redirect_uri(request: Request) -> str | None:
    """Return where the provider is to lead back. None without a name of this server."""
    return _own_address(request, login_pages.OPENID_ANSWER_PATH)


def _own_address(request: Request, path: str) -> str | None:
    """Return the address of a path of this server, by the name that it was asked for, which is one
    of its own. None without a name."""
    host = request.headers.get("host", "")
    if not _HOST.match(host):
        return None
    scheme = "https" if request.is_secure else "http"
    return f"{scheme}://{host}{path}"


def _pending_name(request: Request) -> str:
    return _SECURE_PENDING if request.is_secure else _PENDING


def _pending_cookie(request: Request, text: str) -> Mapping[str, str]:
    """The header of the cookie that remembers a login; an empty text takes it away. It is shown
    when the provider leads back, from another site."""
    age_s = VALIDITY_MS // 1000 if text else 0
    parts = [f"{_pending_name(request)}={text}", "Path=/", f"Max-Age={age_s}"]
    if request.is_secure:
        parts.append("Secure")
    return {"Set-Cookie": "; ".join([*parts, "HttpOnly", "SameSite=Lax"])}
