"""What a mirror shows of itself: a page, families for Prometheus, and whether it is well."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from howdah.config import Configuration
from howdah.copy.common.progress import clock
from howdah.mirror.metrics import Facts, Metrics
from howdah.runtime import unexpected_errors
from howdah.runtime.units import iec_size
from howdah.web.http import Request, Response, text_response
from howdah.web.monitoring.families import Family, one
from howdah.web.monitoring.health import HEALTH_PATH, Check, Report
from howdah.web.monitoring.pages import Monitoring
from howdah.web.pages import units
from howdah.web.pages.common import Common, configured
from howdah.web.pages.html import Child
from howdah.web.pages.layout import Link, facts, refresh_hint, section, verdict
from howdah.web.server import Exchange

ROLE: Final = "mirror"
SERVICE: Final = "Mirror"
_LINKS: Final = (Link("/", "Overview"),)


def families(mirror: Facts) -> Iterator[Family]:
    """Yield the families for Prometheus."""
    for name, kind, help_, value in (
        (
            "lag_seconds",
            "gauge",
            "How old the state of the source is that the target has; -1 before the first copy.",
            -1.0 if mirror.lag_s is None else mirror.lag_s,
        ),
        ("lag_bytes", "gauge", "Bytes that the round has yet to copy.", mirror.left.bytes),
        ("lag_files", "gauge", "Files that the round has yet to copy.", mirror.left.files),
        ("rounds", "counter", "Rounds that were made.", mirror.rounds),
        ("failures", "counter", "Rounds that failed.", mirror.failures),
        ("copied_files", "counter", "Files that were copied.", mirror.files_copied),
        ("copied_bytes", "counter", "Bytes that were copied.", mirror.bytes_copied),
        ("round_seconds", "gauge", "How long the last round took.", mirror.last_s),
        ("healthy", "gauge", "1 unless the last round failed.", float(not mirror.trouble)),
    ):
        yield one(f"howdah_mirror_{name}", kind, help_, value)


def overview(mirror: Facts) -> list[Child]:
    """Return the body of the page."""
    lag_s = mirror.lag_s
    if mirror.trouble:
        level, headline = "bad", "The last round failed"
    elif lag_s is None:
        level, headline = "warn", "The first copy is not complete"
    else:
        level, headline = "ok", f"The target is {clock(lag_s)} behind the source"
    return [
        verdict(level, headline, [mirror.trouble] if mirror.trouble else []),
        refresh_hint(),
        section(
            "mirror",
            "Mirror",
            facts(
                [
                    ("Source", mirror.source),
                    ("Target", mirror.target),
                    ("The target is", mirror.complete or "no point in time yet"),
                    ("Now", mirror.doing),
                    ("Left to copy", f"{mirror.left.files:,} files, {iec_size(mirror.left.bytes)}"),
                    (
                        "Copied since the start",
                        f"{mirror.files_copied:,} files, {iec_size(mirror.bytes_copied)}",
                    ),
                    ("Rounds", f"{mirror.rounds:,}, and {mirror.failures:,} that failed"),
                    ("The last round took", f"{mirror.last_s:.1f} s"),
                    ("Running since", units.utc_text(mirror.started_ms)),
                ]
            ),
        ),
    ]


class Pages:
    """Answers requests of a mirror's process."""

    def __init__(self, metrics: Metrics, conf: Configuration) -> None:
        self.name = ""
        self._metrics = metrics
        self._common = Common(ROLE, lambda: self.name, _LINKS, lambda: configured(conf))
        self._monitoring = Monitoring(SERVICE, alive=self._alive, ready=self._ready)

    def answer(self, request: Request) -> Response | Exchange:
        if request.method not in ("GET", "HEAD"):
            return text_response(405, "only GET and HEAD are answered")
        response = self._common.answer(request)
        if response is not None:
            return response
        now = self._metrics.facts()
        if request.path == "/":
            return self._common.page("/", "Overview", overview(now))
        if request.path == HEALTH_PATH or self._monitoring.wants(request):
            defects = {
                "name": f"Hadoop:service={SERVICE},name=HowdahDefects",
                "modelerType": "howdah.defects",
                "Total": sum(unexpected_errors.seen.values()),
                "ByPlace": json.dumps(dict(unexpected_errors.seen)),
            }
            return self._monitoring.answer(request, [defects], lambda: families(now))
        return text_response(404, "this is a mirror: / shows how it is")

    def _alive(self) -> Report:
        return Report(ROLE, [Check("process", True, "it answers")])

    def _ready(self) -> Report:
        now = self._metrics.facts()
        made = now.complete is not None
        return Report(
            ROLE,
            [
                *self._alive().checks,
                Check("rounds", not now.trouble, now.trouble or "the last one did not fail"),
                Check("target", made, now.complete or "the first copy is not complete"),
            ],
            {"source": now.source, "target": now.target, "lag_seconds": now.lag_s},
        )
