"""What people see who have to log in: the form, refusals, and the way out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import quote, unquote, urlencode

from howdah import __version__
from howdah.web.http import Request, Response, answer, text_response
from howdah.web.monitoring.health import HEALTH_PATH
from howdah.web.pages import assets
from howdah.web.pages.html import Child, tag
from howdah.web.pages.layout import Site, respond

PATH: Final = "/login"
LOGOUT_PATH: Final = "/logout"
OPENID_PATH: Final = "/login/openid"
"""Leads to the provider of OpenID Connect."""
OPENID_ANSWER_PATH: Final = "/login/openid/callback"
"""To which the provider leads back."""
LOGIN_PATHS: Final = (PATH, LOGOUT_PATH, OPENID_PATH, OPENID_ANSWER_PATH)
NEXT: Final = "next"
"""The field with where to go on."""
_HTML: Final = "text/html"
_MOST_NEXT_CHARACTERS: Final = 2048
_DOTS: Final = {".", ".."}
_SEPARATORS: Final = re.compile(r"[/\\]")


def wants_page(request: Request) -> bool:
    """Whether a browser shows the answer to somebody."""
    return _HTML in request.headers.get("accept", "")


def place_after(wanted: str | None, only_shows: Callable[[str], bool]) -> str:
    """Return where to go after a login: a path of this server, whatever a link says. It has a query
    only if `only_shows` says of its path that a GET changes nothing there: this server's form leads
    on, and not the page of another one with the link.

    >>> place_after("/explorer?path=/a", {"/explorer"}.__contains__)
    '/explorer?path=/a'
    >>> place_after("//evil.example/", {"/explorer"}.__contains__)
    '/'
    >>> place_after("/logLevel?log=root&level=DEBUG", {"/explorer"}.__contains__)
    '/logLevel'
    """
    if (
        not wanted
        or len(wanted) > _MOST_NEXT_CHARACTERS
        or not wanted.startswith("/")
        or wanted[1:2] in ("/", "\\")
        or not wanted.isascii()
        or not wanted.isprintable()
    ):
        return "/"
    path = wanted.partition("?")[0]
    # A browser takes such parts away, and what is left is another path.
    if path in LOGIN_PATHS or _DOTS & set(_SEPARATORS.split(unquote(path))):
        return "/"
    return quote(wanted if only_shows(path) else path, safe="/?&=%:@!$'()*+,;-._~")


def place_of(request: Request, only_shows: Callable[[str], bool]) -> str:
    """Return where somebody wanted to go who has to log in first."""
    if request.path in (PATH, OPENID_PATH):
        return place_after(request.query.get(NEXT), only_shows)
    return place_after(request.target, only_shows) if request.method in ("GET", "HEAD") else "/"


def form(server: str, after: str, *, said: str = "", user: str = "", status: int = 401) -> Response:
    """The form for a name and a password. `said` is what was wrong with the last one."""
    return _page(
        server,
        "Log in",
        [
            tag("p", said, role="alert") if said else None,
            tag(
                "form",
                tag("input", type="hidden", name=NEXT, value=after),
                _field("user", "User", "text", "username", user, is_first=not user),
                _field("password", "Password", "password", "current-password", "", is_first=False),
                tag("p", tag("button", "Log in", type="submit")),
                method="post",
                action=PATH,
            ),
        ],
        status=status,
    )


def at_provider(
    server: str, provider: str, after: str, *, said: str = "", status: int = 401
) -> Response:
    """The way to the page of a provider, where users log in. `said` is why the last login did not
    go on."""
    link = f"{OPENID_PATH}?{urlencode({NEXT: after})}"
    return _page(
        server,
        "Log in",
        [
            tag("p", said, role="alert") if said else None,
            tag("p", tag("a", f"Log in at {provider}", href=link, rel="nofollow")),
        ],
        status=status,
    )


def logged_in(server: str, user: str, after: str, headers: Mapping[str, str]) -> Response:
    """Who somebody is, and the way on.

    It is a page and no redirect: a browser that another site has led here keeps the cookie of
    logins, which is for this site alone, and shows it with what this page leads to.
    """
    page = _page(
        server,
        "Logged in",
        [
            tag("p", "You are ", tag("strong", user), "."),
            tag("p", tag("a", "Go on", href=after)),
        ],
        status=200,
    )
    own = {"Refresh": f"0; url={after}", "Referrer-Policy": "no-referrer"}
    return Response(200, {**page.headers, **own, **headers}, page.body)


def known(server: str, user: str) -> Response:
    """Who somebody is, and the way out."""
    leave = tag("button", "Log out", type="submit")
    return _page(
        server,
        "Logged in",
        [
            tag("p", "You are ", tag("strong", user), "."),
            tag("form", tag("p", leave), method="post", action=LOGOUT_PATH),
        ],
        status=200,
    )


def logged_out(server: str, provider: str, location: str, headers: Mapping[str, str]) -> Response:
    """The way to the page of a provider, where users log out.

    It is a page and no redirect: a browser follows none to another site from a form, by the policy
    of this server's pages.
    """
    page = _page(
        server,
        "Logged out",
        [
            tag("p", "You are logged out here."),
            tag("p", tag("a", f"Log out at {provider}, too", href=location, rel="nofollow")),
        ],
        status=200,
    )
    own = {"Refresh": f"0; url={location}", "Referrer-Policy": "no-referrer"}
    return Response(200, {**page.headers, **own, **headers}, page.body)


def refusal(
    request: Request,
    server: str,
    status: int,
    said: str,
    steps: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """What is wrong, and what to do, for people or for programs."""
    open_to_all = f"{HEALTH_PATH} is open to everybody."
    if wants_page(request):
        body = [
            tag("p", said),
            tag("h2", "What to do") if steps else None,
            tag("ol", [tag("li", step) for step in steps]) if steps else None,
            tag("p", open_to_all),
        ]
        page = _page(server, "Who are you?", body, status=status)
        return Response(status, {**page.headers, **(headers or {})}, page.body)
    lines = "\n".join((said, *steps, open_to_all))
    plain = text_response(status, lines)
    return Response(status, {**plain.headers, **(headers or {})}, plain.body)


def sent_on(location: str, headers: Mapping[str, str]) -> Response:
    """The way to another page, by GET."""
    return answer(303, b"", "text/plain; charset=utf-8", {"Location": location, **headers})


def _field(
    name: str, label: str, kind: str, autocomplete: str, value: str, *, is_first: bool
) -> Child:
    return tag(
        "p",
        tag("label", label, for_=name),
        " ",
        tag(
            "input",
            id=name,
            name=name,
            type=kind,
            value=value or None,
            autocomplete=autocomplete,
            autocapitalize="none",
            spellcheck="false",
            required=True,
            autofocus=is_first or None,
        ),
    )


def _page(server: str, title: str, body: Iterable[Child], *, status: int) -> Response:
    site = Site(server, "", __version__, (), assets.query())
    page = respond(site, "", title, body, status=status, scripts=())
    return Response(status, {**page.headers, "Cache-Control": "no-store"}, page.body)
