"""What a router answers over HTTP (shell): its figures and pages. Hadoop: RouterHttpServer,
RBFMetrics.

Called on the router's loop, but `/health`.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Final

from howdah import defects
from howdah.config import Configuration
from howdah.router.calls.core import Core
from howdah.router.namenodes.membership import State
from howdah.router.namenodes.nameservices import Nameservices
from howdah.router.overview import LINKS, RouterFacts, entries_found, overview
from howdah.rpc.server import RpcServer
from howdah.web import jmx
from howdah.web.http import Request, Response, plain
from howdah.web.monitoring.families import Family
from howdah.web.monitoring.health import Check, Pulse, Report
from howdah.web.monitoring.pages import Monitoring, Port
from howdah.web.pages import cluster
from howdah.web.pages.cluster_reading import ClusterReader
from howdah.web.pages.common import Common, configured
from howdah.web.server import Answer, Later

_SERVICE: Final = "Hadoop:service=Router,name="


class Pages:
    """Of one router."""

    def __init__(
        self,
        core: Core,
        nameservices: Nameservices,
        rpc: RpcServer,
        conf: Configuration,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._core = core
        self._nameservices = nameservices
        self._rpc = rpc
        self._common = Common("router", lambda: core.name, LINKS, lambda: configured(conf), loop)
        self._reader = ClusterReader(conf)
        self._pulse = Pulse(time.monotonic())
        self.watch = Monitoring("Router", alive=self._alive, ready=self._ready, ports=self._ports)

    def beat(self) -> None:
        """The loop turns."""
        self._pulse.beat(time.monotonic())

    def answer(self, request: Request) -> Answer:
        if request.method not in ("GET", "HEAD"):
            return plain(405, "only GET and HEAD are answered")
        page = self._common.answer(request)
        if page is not None:
            return page
        if request.path == "/":
            query = request.query.get("q", "")
            facts = self._facts(query)
            return Later(lambda: self._common.page("/", "Overview", overview(facts, query)))
        if request.path == cluster.PATH:
            return Later(self._cluster)
        if self.watch.wants(request):
            found, families = self._beans(), self._families()
            return Later(lambda: self.watch.answer(request, found, lambda: families))
        return plain(404, f"there is no {request.path} here")

    def _cluster(self) -> Response:
        return self._common.page(cluster.PATH, "Cluster", cluster.page(self._reader.read()))

    def _facts(self, query: str) -> RouterFacts:
        core = self._core
        members = self._nameservices.members.values()
        return RouterFacts(
            namenodes=[replace(each) for found in members for each in found.namenodes],
            disabled=self._nameservices.disabled,
            entries=entries_found(core.table.entries, query),
            entry_count=len(core.table.entries),
            usage=dict(core.usage),
            default_nameservice=core.table.default_nameservice,
            safe_mode=core.safe_mode.is_on,
            now_s=time.monotonic(),
        )

    def _beans(self) -> list[jmx.Bean]:
        namenodes = [each for m in self._nameservices.members.values() for each in m.namenodes]
        safe_mode = self._core.safe_mode.is_on
        return [
            {
                "name": f"{_SERVICE}FederationState",
                "modelerType": "org.apache.hadoop.hdfs.server.federation.metrics.RBFMetrics",
                "NumNameservices": len(self._nameservices.members),
                "NumNamenodes": len(namenodes),
                "TotalCapacity": sum(
                    each.capacity_bytes for each in namenodes if each.state is State.ACTIVE
                ),
                "RemainingCapacity": sum(
                    each.available_bytes for each in namenodes if each.state is State.ACTIVE
                ),
                "RouterStatus": "SAFEMODE" if safe_mode else "RUNNING",
                "HostAndPort": self._core.name,
            },
            {
                "name": f"{_SERVICE}HowdahDefects",
                "modelerType": "howdah.defects",
                "Total": sum(defects.seen.values()),
            },
        ]

    def _families(self) -> list[Family]:
        namenodes = [each for m in self._nameservices.members.values() for each in m.namenodes]
        return [
            Family(
                "howdah_router_namenode_state",
                "gauge",
                "1 for the state in which the router last found a namenode.",
                tuple(
                    (
                        {
                            "nameservice": each.nameservice,
                            "namenode": each.name,
                            "state": state.value.lower(),
                        },
                        float(each.state is state),
                    )
                    for each in namenodes
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
        """It forwards calls: the state store could be read, and a nameservice has an active."""
        members = self._nameservices.members
        served = [name for name, each in members.items() if each.active is not None]
        return Report(
            "router",
            [
                Check("nameservices", bool(served), f"{len(served)} of {len(members)} are active"),
                Check("state store", not self._core.safe_mode.store, "the mount table is known"),
            ],
            {"nameservices": served, "safe_mode": self._core.safe_mode.is_on},
        )
