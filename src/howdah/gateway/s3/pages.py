"""What a gateway for S3 answers beside S3 (shell): health, readiness and figures below `/_howdah`,
which is the name of no bucket."""

from __future__ import annotations

import dataclasses
import time
from typing import Final

from howdah.gateway.overview import GatewayFacts, families
from howdah.gateway.pages import ReadinessProbe
from howdah.gateway.s3.service import Operation, S3Gateway
from howdah.web.http import Request, Response, text_response
from howdah.web.monitoring.health import Check, Report
from howdah.web.monitoring.pages import METRICS_PATHS, Monitoring

PREFIX: Final = "/_howdah"
ROLE: Final = "s3"
SERVICE: Final = "S3Gateway"


class S3Pages:
    """Answers all requests of a gateway, those of S3 as well."""

    def __init__(self, gateway: S3Gateway) -> None:
        self._gateway = gateway
        self._started_ms = round(time.time() * 1000)
        self._reach = ReadinessProbe(self._probe)
        self._watch = Monitoring(SERVICE, alive=self._alive, ready=self._ready)

    def answer(self, request: Request) -> Response | Operation:
        if not request.path.startswith(f"{PREFIX}/"):
            return self._gateway.answer(request)
        inner = dataclasses.replace(request, path=request.path.removeprefix(PREFIX))
        if not self._watch.wants(inner):
            return text_response(404, f"below {PREFIX} there are health, ready and metrics")
        facts = self._facts(looks=inner.path in METRICS_PATHS)
        return self._watch.answer(inner, [], lambda: families(facts))

    def _probe(self) -> None:
        with self._gateway.clients.of(str(self._gateway.own_user)) as fs:
            fs.get_file_status("/")

    def _facts(self, *, looks: bool) -> GatewayFacts:
        gateway = self._gateway
        read_bytes, written_bytes = gateway.clients.moved_bytes()
        return GatewayFacts(
            uri=gateway.uri,
            mode="read-write",
            started_ms=self._started_ms,
            trouble=self._reach.failure_reason() if looks else "",
            clients=len(gateway.clients),
            read_bytes=read_bytes,
            written_bytes=written_bytes,
            requests=gateway.requests.counts(),
        )

    def _alive(self) -> Report:
        return Report(ROLE, [Check("process", True, "it answers")])

    def _ready(self) -> Report:
        trouble = self._reach.failure_reason()
        return Report(
            ROLE,
            [*self._alive().checks, Check("filesystem", not trouble, trouble or "it answers")],
            {"filesystem": self._gateway.uri},
        )
