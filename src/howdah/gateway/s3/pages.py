"""What a gateway for S3 answers beside S3 (shell): health, readiness and figures below
`/_howdah`, which is the name of no bucket."""

from __future__ import annotations

import dataclasses
from typing import Final

from howdah.gateway.overview import families
from howdah.gateway.readiness import GatewayMonitoring
from howdah.gateway.s3.service import Operation, S3Gateway
from howdah.web.http import Request, Response, text_response
from howdah.web.monitoring.pages import METRICS_PATHS

PREFIX: Final = "/_howdah"
ROLE: Final = "s3"
SERVICE: Final = "S3Gateway"


class S3Pages:
    """Answers all requests of a gateway, those of S3 as well."""

    def __init__(self, gateway: S3Gateway) -> None:
        self._gateway = gateway
        self._monitoring = GatewayMonitoring(
            SERVICE,
            ROLE,
            gateway.uri,
            "read-write",
            self._probe,
            gateway.clients,
            gateway.requests,
            {},
        )

    def answer(self, request: Request) -> Response | Operation:
        if not request.path.startswith(f"{PREFIX}/") or self._gateway.names_bucket(request):
            return self._gateway.answer(request)
        inner = dataclasses.replace(request, path=request.path.removeprefix(PREFIX))
        pages = self._monitoring.pages
        if not pages.wants(inner):
            return text_response(404, f"below {PREFIX} there are health, ready and metrics")
        facts = self._monitoring.facts(probes=inner.path in METRICS_PATHS)
        return pages.answer(inner, [], lambda: families(facts))

    def _probe(self) -> None:
        with self._gateway.clients.of(str(self._gateway.own_user)) as fs:
            fs.get_file_status("/")
