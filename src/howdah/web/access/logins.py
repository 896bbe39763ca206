"""Who asks over HTTP, by a name and a password or the cookie behind them (shell: a clock, a file;
on the threads of connections).

    browser  GET any page -> the form -> POST /login -> cookie -> the page
    program  Authorization: Basic, with each request; or the cookie of the first answer

A cookie names the password that it was given for (its stamp): it ends where that is changed or its
user is taken out, and else by its time. Over HTTP without TLS nothing of it is taken, but from this
machine itself or where the configuration allows it.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import parse_qsl

from howdah import errors
from howdah.config import keys
from howdah.formats.passwords import PasswordRecord
from howdah.protocol.rpc.proven import PASSWORD, SERVER, Proven
from howdah.protocol.web_authentication import basic
from howdah.protocol.web_authentication.signed_cookie import (
    CookieRefused,
    CookieScope,
    CookieSigner,
    SignedIdentity,
    cookie_in,
)
from howdah.security.passwords import LoginRefused, PasswordChecker
from howdah.security.server_cookies import KIND as SERVER_KIND
from howdah.security.server_cookies import NOBODY
from howdah.web.access import login_pages
from howdah.web.access.rules import AccessRules
from howdah.web.cross_site import check_origin, is_browser
from howdah.web.http import Admitted, NeedsBody, Request, Response, text_response

KIND: Final = "file"
"""Of its cookies."""
_MOST_FORM_BYTES: Final = 16 * 1024
_FORM: Final = "application/x-www-form-urlencoded"
_NOT_OVER_HTTP: Final = (
    "This server asks for a password or a token, and this connection is not encrypted: whoever is "
    "in the network could read it."
)
_USE_TLS: Final = (
    f"Use its address of https ({keys.DFS_HTTP_POLICY.name}). An administrator may allow logins "
    f"over plain HTTP by {keys.HOWDAH_HTTP_AUTHENTICATION_ALLOW_PLAIN_HTTP.name}."
)
_ADVICE: Final = "Use curl -u USER, a browser, or a delegation token."


@dataclass(frozen=True, slots=True)
class LoginCookies:
    """Makes and reads the cookies of one kind of login."""

    signer: CookieSigner
    validity_ms: int
    scope: CookieScope
    kind: str
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000

    def given(self, request: Request, user: str, principal: str) -> dict[str, str]:
        """Return the header by which a browser gets a cookie. Raises CookieRefused."""
        ends_ms = self.now_ms() + self.validity_ms
        text = self.signer.sign(SignedIdentity(user, principal, self.kind, ends_ms))
        return {"Set-Cookie": self.scope.header(text, is_secure=request.is_secure)}

    def taken_away(self, request: Request) -> dict[str, str]:
        return {"Set-Cookie": self.scope.header("", is_secure=request.is_secure)}

    def identity_in(self, request: Request) -> SignedIdentity | None:
        """Return what the cookie of a request says; None without one. Raises CookieRefused."""
        text = cookie_in(request.headers.get("cookie"))
        return None if text is None else self.signer.read(text, self.now_ms(), self.kind)

    def is_of_server(self, request: Request) -> bool:
        """Whether a server of this cluster asks, which knows the secret that cookies are signed by.
        It may come over plain HTTP, as all that servers fetch from each other does then."""
        text = cookie_in(request.headers.get("cookie"))
        if text is None:
            return False
        try:
            identity = self.signer.read(text, self.now_ms(), SERVER_KIND)
        except CookieRefused:
            return False
        return identity.user == identity.principal == NOBODY


def is_private(request: Request, *, allows_plain: bool) -> bool:
    """Whether nobody else reads what is said on the connection of a request."""
    if request.is_secure or allows_plain:
        return True
    try:
        address = ipaddress.ip_address(request.peer.partition("%")[0])
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def not_private(request: Request, server: str) -> Response:
    """What is heard over plain HTTP."""
    return login_pages.refusal(request, server, 403, _NOT_OVER_HTTP, [_USE_TLS])


@dataclass(frozen=True, slots=True)
class PasswordProver:
    """Of one server; `server` is its name for people."""

    checker: PasswordChecker = field(repr=False)
    cookies: LoginCookies = field(repr=False)
    server: str
    rules: AccessRules
    """Of what it stands before."""
    allows_plain: bool = False

    def own_answer(self, request: Request) -> Response | NeedsBody | None:
        if request.path not in (login_pages.PATH, login_pages.LOGOUT_PATH):
            return None
        if not is_private(request, allows_plain=self.allows_plain):
            return not_private(request, self.server)
        if request.method in ("GET", "HEAD"):
            return self._login_page(request)
        if request.method != "POST":
            return text_response(405, "a login is sent by POST")
        try:
            check_origin(request)
        except errors.AuthorizationFailed as error:
            return text_response(403, error.message)
        if request.path == login_pages.LOGOUT_PATH:
            return login_pages.sent_on(login_pages.PATH, self.cookies.taken_away(request))
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
            return text_response(415, f"a login is sent as {_FORM}")
        return NeedsBody(_MOST_FORM_BYTES, lambda body: self._log_in(request, body))

    def prove(self, request: Request) -> Admitted | Response:
        if self.cookies.is_of_server(request):
            return Admitted(replace(request, proven=Proven(SERVER, NOBODY, NOBODY)))
        if not is_private(request, allows_plain=self.allows_plain):
            return not_private(request, self.server)
        shown = basic.credentials_in(request.headers.get("authorization"))
        try:
            if shown is not None:
                record = self.checker.check(shown.user, shown.password, request.peer)
                headers = self.cookies.given(request, record.user, _principal(record))
                return Admitted(_of(request, record.user), headers)
            user = self._user_of_cookie(request)
        except errors.InvalidConfiguration:
            return self._closed(request)
        except LoginRefused as refused:
            return self._unproven(request, refused.message, refused.wait_s)
        except CookieRefused as refused:
            return self._unproven(request, refused.message)
        if user is None:
            return self._unproven(request, "")
        return Admitted(_of(request, user))

    def _user_of_cookie(self, request: Request) -> str | None:
        """Raises CookieRefused, InvalidConfiguration."""
        identity = self.cookies.identity_in(request)
        if identity is None:
            return None
        record = self.checker.known.records().get(identity.user)
        if record is None or identity.principal != _principal(record):
            raise CookieRefused("the password has changed since")
        return identity.user

    def _login_page(self, request: Request) -> Response:
        try:
            user = self._user_of_cookie(request)
        except errors.InvalidConfiguration:
            return self._closed(request)
        except CookieRefused:
            user = None
        if user is not None:
            return login_pages.known(self.server, user)
        after = login_pages.place_of(request, self.rules.only_shows)
        return login_pages.form(self.server, after, status=200)

    def _log_in(self, request: Request, body: bytes) -> Response:
        fields = _fields(body)
        user = fields.get("user", "")
        after = login_pages.place_after(fields.get(login_pages.NEXT), self.rules.only_shows)
        try:
            record = self.checker.check(user, fields.get("password", ""), request.peer)
            headers = self.cookies.given(request, record.user, _principal(record))
        except errors.InvalidConfiguration:
            return self._closed(request)
        except (LoginRefused, CookieRefused) as refused:
            wait_s = refused.wait_s if isinstance(refused, LoginRefused) else 0.0
            page = login_pages.form(
                self.server,
                after,
                said=sentence(refused.message),
                user=user,
                status=429 if wait_s else 401,
            )
            return replace(page, headers={**page.headers, **_waits(wait_s)})
        return login_pages.sent_on(after, headers)

    def _unproven(self, request: Request, reason: str, wait_s: float = 0.0) -> Response:
        status = 429 if wait_s else 401
        if login_pages.wants_page(request):
            after = login_pages.place_of(request, self.rules.only_shows)
            page = login_pages.form(self.server, after, said=sentence(reason), status=status)
            return replace(page, headers={**page.headers, **_waits(wait_s)})
        said = "This server asks for a name and a password"
        # A browser that hears of Basic asks by a window of its own, and keeps what it got.
        headers = {} if is_browser(request) or wait_s else basic.CHALLENGE
        return login_pages.refusal(
            request,
            self.server,
            status,
            f"{said}: {reason}." if reason else f"{said}.",
            [_ADVICE],
            {**headers, **_waits(wait_s)},
        )

    def _closed(self, request: Request) -> Response:
        said = "Nobody can log in here now: the file of passwords is not as it has to be."
        return login_pages.refusal(request, self.server, 503, said, ["The server's log says why."])


def _principal(record: PasswordRecord) -> str:
    return f"{record.user}#{record.stamp}"


def _of(request: Request, user: str) -> Request:
    return replace(request, proven=Proven(PASSWORD, user, user))


def _waits(wait_s: float) -> Mapping[str, str]:
    return {"Retry-After": str(round(wait_s))} if wait_s else {}


def sentence(text: str) -> str:
    """Return what is said within a sentence as one of its own."""
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _fields(body: bytes) -> dict[str, str]:
    """Return the fields of a form, or none of what is no form."""
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=16)
    except ValueError:
        return {}
    return dict(pairs)
