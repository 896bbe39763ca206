"""What a failover controller answers over HTTP (shell): its page, `/jmx`, figures, and whether it
is well. Hadoop's controller answers nothing there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from howdah.config import Configuration
from howdah.failover.state.status import ElectionView, health, readiness
from howdah.failover.state.views import LINKS, bean, families, overview
from howdah.rpc.threaded_server import ThreadedRpcServer
from howdah.web.http import Request, Response, text_response
from howdah.web.monitoring.pages import Monitoring, Port
from howdah.web.pages.common import Common, configured
from howdah.web.server import Exchange

SERVICE: Final = "ZKFC"


class Pages:
    """Answers requests, on whatever thread asks."""

    def __init__(
        self, conf: Configuration, rpc: ThreadedRpcServer, sight: Callable[[], ElectionView]
    ) -> None:
        def ports() -> Mapping[int, Port]:
            return {rpc.port: Port(rpc.figures, rpc.active)}

        self._sight = sight
        self._watch = Monitoring(
            SERVICE,
            alive=lambda: health(sight()),
            ready=lambda: readiness(sight()),
            ports=ports,
        )
        self._common = Common(
            "failover controller",
            lambda: f"of {sight().own.namenode} ({sight().own.nameservice})",
            LINKS,
            lambda: configured(conf),
        )

    def answer(self, request: Request) -> Response | Exchange:
        if request.method not in ("GET", "HEAD"):
            return text_response(405, "only GET and HEAD are answered")
        response = self._common.answer(request)
        if response is not None:
            return response
        if self._watch.wants(request):
            sight = self._sight()
            return self._watch.answer(request, [bean(sight)], lambda: families(sight))
        if request.path == "/":
            return self._common.page("/", "Failover", overview(self._sight()))
        return text_response(404, f"there is no {request.path} here")
