"""What a gateway answers over HTTP beside WebHDFS: its page, `/jmx`, figures, and whether it is
well (shell). Hadoop's HttpFS has `/jmx`, `/conf`, `/stacks`, `/logs` and `/logLevel` too."""

from __future__ import annotations

import json
from collections.abc import Callable

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.gateway.httpfs import HttpFs
from howdah.gateway.overview import (
    LINKS,
    ROLE,
    SERVICE,
    bean,
    families,
    overview,
)
from howdah.gateway.readiness import GatewayMonitoring
from howdah.proto import client_namenode_pb2 as pb
from howdah.runtime import unexpected_errors
from howdah.web.http import Request, Response, text_response
from howdah.web.monitoring.health import HEALTH_PATH
from howdah.web.monitoring.pages import METRICS_PATHS
from howdah.web.pages.common import Common, configured
from howdah.web.server import Exchange
from howdah.web.webhdfs.parameters import PREFIX, is_webhdfs


class Pages:
    """Answers requests of a gateway, those of WebHDFS as well; on the thread that asks."""

    def __init__(self, gateway: HttpFs, name: Callable[[], str]) -> None:
        """`name` is where it listens, once it does."""
        self._gateway = gateway
        self._own: HdfsFileSystem | None = None
        self._common = Common(ROLE, name, LINKS, lambda: configured(gateway.conf))
        self._monitoring = GatewayMonitoring(
            SERVICE,
            ROLE,
            f"hdfs://{gateway.authority}",
            gateway.mode,
            self._probe,
            gateway.clients,
            gateway.requests,
            {"mode": gateway.mode},
        )

    def answer(self, request: Request) -> Response | Exchange:
        if is_webhdfs(request.path):
            return self._gateway.answer(request)
        if request.method not in ("GET", "HEAD"):
            return text_response(405, f"beside {PREFIX} only GET and HEAD are answered")
        response = self._common.answer(request)
        if response is not None:
            return response
        if request.path == "/":
            return self._common.page("/", "Overview", overview(self._monitoring.facts()))
        if request.path == HEALTH_PATH:
            return self._monitoring.pages.health(request)
        if self._monitoring.pages.wants(request):
            facts = self._monitoring.facts(probes=request.path in METRICS_PATHS)
            beans = [
                bean(facts),
                {
                    "name": f"Hadoop:service={SERVICE},name=HowdahDefects",
                    "modelerType": "howdah.defects",
                    "Total": sum(unexpected_errors.seen.values()),
                    "ByPlace": json.dumps(dict(unexpected_errors.seen)),
                },
            ]
            return self._monitoring.pages.answer(request, beans, lambda: families(facts))
        return text_response(
            404, f"this is a gateway: {PREFIX} is what it serves, and / shows how it is"
        )

    def _probe(self) -> None:
        """A call that every namenode answers which serves reads, also in safe mode."""
        if self._own is None:
            gateway = self._gateway
            self._own = HdfsFileSystem(gateway.authority, gateway.conf, gateway.own_user)
        self._own.client.namenode.call(
            "getServerDefaults",
            pb.GetServerDefaultsRequestProto(),
            pb.GetServerDefaultsResponseProto,
        )

    def close(self) -> None:
        if self._own is not None:
            self._own.close()
