"""Requests that a page of another server has made a browser send.

Three rules. A request that says that it comes from elsewhere (`Origin`, `Sec-Fetch-Site`) changes
nothing, always. Hadoop's RestCsrfPreventionFilter, if `dfs.webhdfs.rest-csrf.enabled` is set: a
browser's request that changes something must have a header that no form can send. And where a GET
changes something, as at some addresses of Hadoop's, a browser has to say that no page of another
server led it there: over plain HTTP it sends no `Sec-Fetch-Site`, with an image no `Origin`, and a
page may keep it from sending `Referer`. Pages cannot change its `User-Agent`.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.web.http import Request, Response, text_response

_MISSING: Final = "Missing Required Header for CSRF Prevention"
_BROWSERS: Final = ("Mozilla", "Opera")
"""How the names begin that browsers say of themselves, as Hadoop's filter knows them."""
_NO_OTHER_PAGE: Final = ("none", "same-origin")


def check_origin(request: Request, trusted: Container[str] = ()) -> None:
    """A browser may be led to any address by any page; programs do not say where they come
    from. So nothing is changed for the page of another server, unless that is `trusted`. Raises
    AuthorizationFailed."""
    if request.method in ("GET", "HEAD"):
        return
    origin = request.headers.get("origin")
    if origin is not None and origin in trusted:
        return
    own = request.headers.get("host", "")
    if origin is not None and origin.partition("://")[2] != own:
        raise errors.AuthorizationFailed(f"a page of {origin} may not change anything here")
    if request.headers.get("sec-fetch-site", "none") not in _NO_OTHER_PAGE:
        raise errors.AuthorizationFailed("a page of another server may not change anything here")


def is_browser(request: Request) -> bool:
    """Whether a browser sends it, which a page may have made it do."""
    return request.headers.get("user-agent", "").startswith(_BROWSERS)


def is_from_another_page(request: Request) -> bool:
    """Whether a page of another server may have caused this, also by a GET. Programs say nothing;
    a browser has to say that none did, and over plain HTTP it can only name a page of this one."""
    headers = request.headers
    fetched = headers.get("sec-fetch-site")
    if fetched is not None and fetched not in _NO_OTHER_PAGE:
        return True
    own = headers.get("host", "")
    pages = [headers[name] for name in ("origin", "referer") if name in headers]
    if any(page.partition("://")[2].partition("/")[0] != own for page in pages):
        return True
    return is_browser(request) and fetched is None and not (own and pages)


@dataclass(frozen=True, slots=True)
class HeaderFilter:
    """Hadoop's filter. `header` is in lower case."""

    header: str
    ignored_methods: frozenset[str]
    browsers: tuple[re.Pattern[str], ...]

    def refusal(self, request: Request) -> Response | None:
        """The answer to a request that lacks the header."""
        agent = request.headers.get("user-agent", "")
        if (
            request.method in self.ignored_methods
            or self.header in request.headers
            or not any(browser.fullmatch(agent) for browser in self.browsers)
        ):
            return None
        # Java's client of WebHDFS tells its user the reason, and not the body.
        return replace(text_response(400, _MISSING), reason=_MISSING)


def filter_of(conf: Configuration) -> HeaderFilter | None:
    """As it is configured; None where it is switched off. Raises InvalidConfiguration."""
    if not conf.get(keys.DFS_WEBHDFS_REST_CSRF_ENABLED):
        return None
    key = keys.DFS_WEBHDFS_REST_CSRF_BROWSER_USERAGENTS_REGEX
    try:
        browsers = tuple(re.compile(pattern) for pattern in conf.get(key))
    except re.error as error:
        raise errors.InvalidConfiguration(
            f"{key.name} (from {conf.source(key.name)}): {error}"
        ) from error
    ignored = conf.get(keys.DFS_WEBHDFS_REST_CSRF_METHODS_TO_IGNORE)
    return HeaderFilter(
        conf.get(keys.DFS_WEBHDFS_REST_CSRF_CUSTOM_HEADER).lower(),
        frozenset(method.upper() for method in ignored),
        browsers,
    )


def header_of(conf: Configuration) -> dict[str, str]:
    """What a client sends with each request, so that the filter lets it pass."""
    if not conf.get(keys.DFS_WEBHDFS_REST_CSRF_ENABLED):
        return {}
    return {conf.get(keys.DFS_WEBHDFS_REST_CSRF_CUSTOM_HEADER): '""'}
