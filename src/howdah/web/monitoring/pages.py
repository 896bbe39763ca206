"""The pages that monitoring asks a server for, put together (shell).

    /jmx               beans, with `?qry=` and `?get=`
    /prom, /metrics    the same figures and families of our own, for Prometheus
    /health, /ready    200 or 503, with reasons

A server gives it functions that are called for each request, and answers what it returns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from howdah import __version__
from howdah.runtime import unexpected_errors
from howdah.runtime.metrics.rpc import RpcMetrics
from howdah.web import jmx
from howdah.web.http import Request, Response, text_response
from howdah.web.monitoring import health, process
from howdah.web.monitoring.families import Family, of_beans, of_calls, of_defects, one
from howdah.web.monitoring.health import Report
from howdah.web.monitoring.rpc_beans import RpcBeans

METRICS_PATHS: Final = ("/prom", "/metrics")


@dataclass(frozen=True, slots=True)
class Port:
    """One at which calls are answered."""

    figures: RpcMetrics
    connections: int
    waiting: int = 0
    """Calls that have come and have not had their turn."""


def no_ports() -> Mapping[int, Port]:
    return {}


class Monitoring:
    """Answers what monitors one server."""

    def __init__(
        self,
        service: str,
        *,
        alive: Callable[[], Report],
        ready: Callable[[], Report],
        ports: Callable[[], Mapping[int, Port]] = no_ports,
    ) -> None:
        """`service` is Hadoop's name for this kind of server, such as `NameNode`. `alive` is
        called on any thread, `ready` where the server answers requests."""
        self.service = service
        self._alive = alive
        self._ready = ready
        self._ports = ports
        self._rpc = RpcBeans(service)
        process.watch_log()

    def health(self, request: Request) -> Response:
        """Whether the process lives."""
        if request.method not in ("GET", "HEAD"):
            return text_response(405, "only GET and HEAD are answered")
        return health.respond(self._alive())

    def wants(self, request: Request) -> bool:
        """Whether the request is for `answer`."""
        return request.method in ("GET", "HEAD") and (
            request.path in (jmx.PATH, *METRICS_PATHS, health.READY_PATH, health.HEALTH_PATH)
        )

    def answer(
        self,
        request: Request,
        beans: Iterable[jmx.Bean],
        families: Callable[[], Iterable[Family]] = tuple,
    ) -> Response:
        """Answer a request that `wants` is true for. `beans` and `families` are the server's
        own."""
        if request.path == health.READY_PATH:
            return health.respond(self._ready())
        if request.path == health.HEALTH_PATH:
            return self.health(request)
        all_beans = [*beans, *self.common_beans()]
        if request.path == jmx.PATH:
            return jmx.respond_beans(request, all_beans)
        return self._scrape(request, all_beans, families())

    def common_beans(self) -> list[jmx.Bean]:
        """Those that every server has."""
        now_ns = time.monotonic_ns()
        return [
            *(
                bean
                for number, port in self._ports().items()
                for bean in self._rpc.beans(
                    number, port.figures, port.connections, port.waiting, now_ns
                )
            ),
            *process.beans(self.service, self.service),
        ]

    def _scrape(
        self, request: Request, beans: list[jmx.Bean], families: Iterable[Family]
    ) -> Response:
        from howdah.web.monitoring import prometheus

        return prometheus.respond(
            [
                one(
                    "howdah_info",
                    "gauge",
                    "Which server this is.",
                    1,
                    service=self.service,
                    version=__version__,
                ),
                of_defects(unexpected_errors.seen),
                *families,
                *of_calls({number: port.figures for number, port in self._ports().items()}),
                *of_beans(beans),
            ],
            request.headers.get("accept", ""),
        )
