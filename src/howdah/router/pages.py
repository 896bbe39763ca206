"""What a router answers over HTTP (shell): its figures and pages. Hadoop: RouterHttpServer,
RBFMetrics.

Called on the router's loop, but `/health`.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from typing import Final

from howdah.config import Configuration
from howdah.router.calls.core import Core
from howdah.router.namenodes.connections import Connections
from howdah.router.namenodes.nameservices import Nameservices
from howdah.router.state.beans import (
    Connected,
    FederationFacts,
    client_activity,
    federation,
    passing_on,
    state_store,
)
from howdah.router.state.methods import DESCRIPTOR
from howdah.router.state.namenodes.membership import State
from howdah.router.state.overview import LINKS, RouterFacts, entries_found, overview
from howdah.router.store.state_store import StoreFigures
from howdah.rpc.server import RpcServer
from howdah.runtime import unexpected_errors
from howdah.runtime.metrics.histogram import Rates
from howdah.web import jmx
from howdah.web.http import Request, Response, text_response
from howdah.web.monitoring import health
from howdah.web.monitoring.families import Family
from howdah.web.monitoring.health import Check, Pulse, Report
from howdah.web.monitoring.pages import METRICS_PATHS, Monitoring, Port
from howdah.web.pages import cluster
from howdah.web.pages.cluster_reading import ClusterReader
from howdah.web.pages.common import Common, configured
from howdah.web.server import WORDS, Answer, Later

_SERVICE: Final = "Hadoop:service=Router,name="


class Pages:
    """Serves the pages of one router."""

    def __init__(
        self,
        core: Core,
        nameservices: Nameservices,
        rpc: RpcServer,
        conf: Configuration,
        loop: asyncio.AbstractEventLoop,
        connections: Connections,
        store_figures: StoreFigures,
        caller: str | None = None,
    ) -> None:
        """Namenodes are asked as `caller`, where that has to be proven."""
        self._connections = connections
        self._store_figures = store_figures
        self._started_ms = round(time.time() * 1000)
        self._rates = Rates()
        self._core = core
        self._nameservices = nameservices
        self._rpc = rpc
        self._common = Common("router", lambda: core.name, LINKS, lambda: configured(conf), loop)
        self._reader = ClusterReader(conf, caller)
        self._pulse = Pulse(time.monotonic())
        self.watch = Monitoring("Router", alive=self._alive, ready=self._ready, ports=self._ports)

    def beat(self) -> None:
        """The loop turns."""
        self._pulse.beat(time.monotonic())

    def answer(self, request: Request) -> Answer:
        if request.method not in ("GET", "HEAD"):
            return text_response(405, "only GET and HEAD are answered")
        page = self._common.answer(request)
        if page is not None:
            return page
        if request.path == "/":
            query = request.query.get("q", "")
            facts = self._facts(query)
            return Later(lambda: self._common.page("/", "Overview", overview(facts, query)))
        if request.path == cluster.PATH:
            return Later(self._cluster)
        if health.asks_who_is_active(request):
            # Hadoop's router is active where it serves.
            return health.respond_active(not self._core.safe_mode.is_on)
        if self.watch.wants(request):
            beans, families, known = self._beans(), self._families(), self._federation()
            return Later(lambda: self._watched(request, beans, families, known))
        return text_response(404, f"there is no {request.path} here")

    def _cluster(self) -> Response:
        return self._common.page(cluster.PATH, "Cluster", cluster.page(self._reader.read()))

    def _facts(self, query: str) -> RouterFacts:
        core = self._core
        members = self._nameservices.members.values()
        return RouterFacts(
            namenodes=[
                replace(namenode) for nameservice in members for namenode in nameservice.namenodes
            ],
            disabled=self._nameservices.disabled,
            entries=entries_found(core.table.entries, query),
            entry_count=len(core.table.entries),
            usage=dict(core.usage),
            default_nameservice=core.table.default_nameservice,
            safe_mode=core.safe_mode.is_on,
            now_s=time.monotonic(),
        )

    def _beans(self) -> list[jmx.Bean]:
        """Those that cost nothing, as of now."""
        now_ns, core, rates = time.monotonic_ns(), self._core, self._rates
        done = self._store_figures
        times = {
            "Read": done.reads,
            "Write": done.writes,
            "Remove": done.removes,
            "Failure": done.failures,
        }
        connections = self._connections
        connected = Connected(
            connections.by_address(),
            connections.being_made,
            len(self._rpc.connections),
            self._rpc.waiting_calls,
        )
        methods = (method.name for method in DESCRIPTOR.methods)
        return [
            *passing_on(self._nameservices.figures, connected, rates, now_ns),
            *state_store(
                times,
                len(core.table.entries),
                len(self._nameservices.disabled),
                rates,
                now_ns,
            ),
            client_activity(methods, self._rpc.figures.values()),
            {
                "name": f"{_SERVICE}HowdahDefects",
                "modelerType": "howdah.defects",
                "Total": sum(unexpected_errors.seen.values()),
                "ByPlace": json.dumps(dict(unexpected_errors.seen)),
            },
        ]

    def _federation(self) -> FederationFacts:
        members = self._nameservices.members
        return FederationFacts(
            name=self._core.name,
            started_ms=self._started_ms,
            safe_mode=self._core.safe_mode.is_on,
            nameservices=list(members),
            namenodes=[
                replace(namenode)
                for nameservice in members.values()
                for namenode in nameservice.namenodes
            ],
            disabled=self._nameservices.disabled,
            entries=list(self._core.table.entries.values()),
            now_s=time.monotonic(),
        )

    def _watched(
        self,
        request: Request,
        beans: list[jmx.Bean],
        families: list[Family],
        known: FederationFacts,
    ) -> Response:
        """On a thread: the namenodes are asked for what only they know, where that is told."""
        asks = any(jmx.asks_for(request, _SERVICE + name) for name in ("FederationState", "Router"))
        if asks or request.path in METRICS_PATHS:
            members = self._reader.read()
            with WORDS:
                beans += federation(known, members)
        return self.watch.answer(request, beans, lambda: families)

    def _families(self) -> list[Family]:
        namenodes = [
            namenode for m in self._nameservices.members.values() for namenode in m.namenodes
        ]
        return [
            Family(
                "howdah_router_namenode_state",
                "gauge",
                "1 for the state in which the router last found a namenode.",
                tuple(
                    (
                        {
                            "nameservice": namenode.nameservice,
                            "namenode": namenode.name,
                            "state": state.value.lower(),
                        },
                        float(namenode.state is state),
                    )
                    for namenode in namenodes
                    for state in State
                ),
            ),
            Family(
                "howdah_router_mount_points",
                "gauge",
                "Entries of the mount table.",
                (({}, float(len(self._core.table.entries))),),
            ),
            Family(
                "howdah_safe_mode",
                "gauge",
                "1 in safe mode.",
                (({}, float(self._core.safe_mode.is_on)),),
            ),
        ]

    def _ports(self) -> dict[int, Port]:
        return {
            port: Port(figures, len(self._rpc.connections))
            for port, figures in list(self._rpc.figures.items())
        }

    def _alive(self) -> Report:
        return Report("router", [self._pulse.check(time.monotonic())])

    def _ready(self) -> Report:
        """Report whether the router can forward calls: the state store could be read, and a
        nameservice has an active."""
        members = self._nameservices.members
        served = [name for name, nameservice in members.items() if nameservice.active is not None]
        return Report(
            "router",
            [
                Check("nameservices", bool(served), f"{len(served)} of {len(members)} are active"),
                Check("state store", not self._core.safe_mode.store, "the mount table is known"),
            ],
            {"nameservices": served, "safe_mode": self._core.safe_mode.is_on},
        )
