"""The web port of a namenode from the first moment (shell). Hadoop: NameNode.startHttpServer, which
comes before the image is loaded.

It listens before a directory is touched, so that a port that is taken, and a keystore that is not
there, are found at once. Until the namenode serves, requests are answered on threads beside the
one that loads: with how far it is, and to clients that they should come again.
"""

from __future__ import annotations

import logging
import time
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys, namenode_address
from howdah.namenode.service.monitoring import startup
from howdah.namenode.service.monitoring.startup import StartupProgress
from howdah.web.http import Guard, Request, Response, answer
from howdah.web.jmx import Bean
from howdah.web.monitoring.pages import Monitoring
from howdah.web.pages.common import Common, configured
from howdah.web.pages.layout import Link
from howdah.web.ports import WebKeys, WebPorts, listen
from howdah.web.server import Exchange, HttpServer
from howdah.web.webhdfs import faults
from howdah.web.webhdfs.parameters import is_webhdfs

log = logging.getLogger(__name__)

WEB_KEYS: Final = WebKeys(
    keys.DFS_NAMENODE_HTTP_ADDRESS,
    keys.DFS_NAMENODE_HTTPS_ADDRESS,
    keys.DFS_NAMENODE_HTTP_BIND_HOST,
    keys.DFS_NAMENODE_HTTPS_BIND_HOST,
)
_LIVE_S: Final = 1.0
_COME_AGAIN: Final = {"Retry-After": "2"}


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


class Starting:
    """What is answered until there is a namenode, and what has the web port then."""

    def __init__(self, conf: Configuration, guard: Guard | None = None) -> None:
        """`guard` says who may ask for what; None lets everybody."""
        self._conf = conf
        self.web = WebPorts(None, None)
        """Where it listens."""
        self.progress = StartupProgress(_now_ms)
        self._host_and_port = "{}:{}".format(*namenode_address(conf))
        self._watch = Monitoring(
            "NameNode",
            alive=lambda: startup.report(self.progress.see()),
            ready=lambda: startup.report(self.progress.see()),
        )
        self._common = Common(
            "namenode",
            lambda: self._host_and_port,
            (Link("/", "Overview"),),
            lambda: configured(conf),
        )
        self.http = HttpServer(self.answer, timeout_s=conf.get(keys.DFS_IMAGE_TRANSFER_TIMEOUT))
        self.http.guard = guard

    def listen(self) -> None:
        """If it does not listen yet. Raises InvalidConfiguration, OSError."""
        if self.http.bound:
            return
        try:
            self.web = listen(self.http, self._conf, WEB_KEYS)
        except (errors.HowdahError, OSError):
            self.http.stop()
            raise
        log.info("how far the start is can be seen at %s", self.web.urls)

    def answer(self, request: Request) -> Response | Exchange:
        """Answer a request, on the connection's thread."""
        seen = self.progress.see()
        if is_webhdfs(request.path):
            return faults.refused(
                errors.RetriableError(f"the namenode is starting: {startup.startup_text(seen)}")
            )
        if request.method not in ("GET", "HEAD"):
            return self._later(seen)
        response = self._common.answer(request)
        if response is not None:
            return response
        if self._watch.wants(request):
            return self._watch.answer(request, [startup.bean(seen), self._status()])
        if request.path == startup.PATH:
            return startup.respond(seen)
        if request.path == "/":
            return self._common.page("/", "Start-up", startup.page(seen), live_s=_LIVE_S)
        return self._later(seen)

    def _later(self, seen: startup.Seen) -> Response:
        said = f"the namenode is starting, come again: {startup.startup_text(seen)}\n"
        return answer(503, said.encode(), "text/plain; charset=utf-8", _COME_AGAIN)

    def _status(self) -> Bean:
        return {
            "name": "Hadoop:service=NameNode,name=NameNodeStatus",
            "modelerType": "org.apache.hadoop.hdfs.server.namenode.NameNode",
            "NNRole": "NameNode",
            "State": "initializing",
            "HostAndPort": self._host_and_port,
        }
