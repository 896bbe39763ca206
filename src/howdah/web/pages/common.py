"""What every server answers for people beside its own pages (shell): `/static`, `/logs`,
`/logLevel`, `/stacks`, and `/conf` for browsers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from howdah import __version__
from howdah.config import Configuration, keys
from howdah.web import configuration
from howdah.web.configuration import Property
from howdah.web.http import Request, Response, answer, text_response
from howdah.web.pages import assets, log_levels, logs, settings, stacks
from howdah.web.pages.html import Child
from howdah.web.pages.layout import Link, Site, respond
from howdah.web.process_bridge import OtherProcess
from howdah.web.server import Exchange, Later

LIVE_S: Final = 3.0
_LOG_LIVE_S: Final = 5.0
ELSEWHERE: Final = {
    "/index.html": "/",
    "/dfshealth.html": "/",
    "/dfshealth.jsp": "/",
    "/datanode.html": "/",
    "/journalnode.html": "/",
    "/federationhealth.html": "/",
    "/router.html": "/",
    "/explorer.html": "/explorer",
}
"""Where Hadoop's servers have the same."""


def configured(conf: Configuration) -> Iterator[Property]:
    """Every key with a value: those that are set, and the defaults of those that are known."""
    for name in keys.KNOWN.keys() | dict(conf.items()).keys():
        value = conf.raw(name)
        if value is not None:
            yield Property(name, value, conf.source(name))


class Common:
    """Of one server. It is called where requests are handled, and works on their threads."""

    def __init__(
        self,
        role: str,
        name: Callable[[], str],
        links: Sequence[Link],
        properties: Callable[[], Iterable[Property]],
        loop: asyncio.AbstractEventLoop | None = None,
        also: OtherProcess | None = None,
    ) -> None:
        """`name` is the server's address; `loop` is the one whose tasks `/stacks` shows; `also`
        is the other process of a server that has two."""
        self._also = also
        self._role = role
        self._name = name
        self._links = links
        self._properties = properties
        self._loop = loop
        self._log = logs.Log(also=also)

    def page(
        self,
        path: str,
        title: str,
        body: Iterable[Child],
        *,
        status: int = 200,
        live_s: float = LIVE_S,
        scripts: Sequence[str] = ("live.js",),
    ) -> Response:
        """A page of this server."""
        site = Site(self._role, self._name(), __version__, self._links, assets.query())
        return respond(
            site,
            path,
            title,
            body,
            status=status,
            live_s=live_s,
            scripts=scripts,
        )

    def answer(self, request: Request) -> Response | Exchange | None:
        """None for what is not among these."""
        path = request.path
        if request.method not in ("GET", "HEAD"):
            return None
        if path in ELSEWHERE:
            return Response(302, {"Location": ELSEWHERE[path]})
        if path.startswith(assets.PREFIX):
            return Later(lambda: assets.respond(request))
        if path in (logs.PATH, f"{logs.PATH}/"):
            return Later(self._logs)
        if path == logs.RAW:
            return logs.WholeLog(self._log)
        if path == log_levels.PATH:
            return Later(lambda: self._log_levels(request))
        if path == stacks.PATH:
            return Later(self._stacks)
        if path == configuration.PATH:
            return Later(lambda: self._conf(request))
        return None

    def _logs(self) -> Response:
        try:
            body = logs.page(self._log)
        except OSError as error:
            return text_response(500, f"the log cannot be read: {error}")
        return self.page(logs.PATH, "Log", body, live_s=_LOG_LIVE_S)

    def _log_levels(self, request: Request) -> Response:
        status, body = log_levels.page(request, self._also)
        return self.page(log_levels.PATH, "Log levels", body, status=status, live_s=0)

    def _stacks(self) -> Response:
        text = stacks.dump(self._loop)
        if self._also is not None:
            text += f"\n{self._also.name}:\n\n{self._also.stacks()}"
        return answer(200, text.encode("utf-8", "replace"), "text/plain; charset=utf-8")

    def _conf(self, request: Request) -> Response:
        if settings.wants_page(request):
            body = settings.page(self._properties(), request.query.get("q", ""))
            return self.page(settings.PATH, "Configuration", body, live_s=0)
        return configuration.respond_conf(request, self._properties())
