"""`/static`: the style, scripts and pictures of pages, which are files of this package (shell).

They are read once. A request names one of them or gets nothing: no path is made of what it says.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import Final

from howdah.web.http import Request, Response, answer, text_response

PREFIX: Final = "/static/"
_TYPES: Final = {
    "howdah.css": "text/css; charset=utf-8",
    "howdah.svg": "image/svg+xml",
    "live.js": "text/javascript; charset=utf-8",
    "explorer.js": "text/javascript; charset=utf-8",
}
_KEPT_S: Final = 24 * 3600


@cache
def _files() -> dict[str, bytes]:
    place = resources.files("howdah.web.pages").joinpath("static")
    return {name: place.joinpath(name).read_bytes() for name in _TYPES}


@cache
def query() -> str:
    """Stands behind the address of each file, and changes with any of them: so browsers may
    keep them, and take new ones after an upgrade."""
    digest = hashlib.sha256()
    for content in _files().values():
        digest.update(content)
    return f"?v={digest.hexdigest()[:12]}"


def respond(request: Request) -> Response:
    """The answer to a GET below `PREFIX`."""
    name = request.path.removeprefix(PREFIX)
    if name not in _TYPES:
        return text_response(404, "there is no such file here")
    headers = {
        "ETag": f'W/"{hashlib.sha256(_files()[name]).hexdigest()[:16]}"',
        "Cache-Control": f"public, max-age={_KEPT_S}",
        # An SVG that is opened by itself runs nothing.
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    }
    return answer(200, _files()[name], _TYPES[name], headers)
