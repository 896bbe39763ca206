"""What a gateway shows of itself: a page, a bean and families.

Hadoop: HttpFSServerMetrics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from howdah.gateway.metrics import Outcome, done
from howdah.runtime.units import iec_size
from howdah.web.jmx import Bean
from howdah.web.monitoring.families import Family, one
from howdah.web.pages import units
from howdah.web.pages.html import Child
from howdah.web.pages.layout import Link, facts, refresh_hint, section, table, verdict
from howdah.web.webhdfs.parameters import PREFIX

ROLE: Final = "gateway"
SERVICE: Final = "HttpFSServer"
LINKS: Final = (Link("/", "Overview"),)
_COUNTED: Final[Mapping[str, tuple[str, ...]]] = {
    "OpsCreate": ("CREATE",),
    "OpsAppend": ("APPEND",),
    "OpsTruncate": ("TRUNCATE",),
    "OpsDelete": ("DELETE",),
    "OpsRename": ("RENAME",),
    "OpsMkdir": ("MKDIRS",),
    "OpsOpen": ("OPEN",),
    "OpsListing": ("LISTSTATUS", "LISTSTATUS_BATCH"),
    "OpsStat": ("GETFILESTATUS",),
    "OpsCheckAccess": ("CHECKACCESS",),
    "OpsStatus": ("GETSTATUS",),
    "OpsAllECPolicies": ("GETECPOLICIES",),
    "OpsECCodecs": ("GETECCODECS",),
    "OpsTrashRoots": ("GETTRASHROOTS",),
}
"""Attributes that are the number of requests for some operations, answered ones only."""


@dataclass(frozen=True, slots=True)
class GatewayFacts:
    uri: str
    """What it serves."""
    mode: str
    started_ms: int
    trouble: str
    """Why no namenode answers; empty if one does."""
    clients: int
    """Users for whom there is a client now."""
    read_bytes: int
    written_bytes: int
    requests: Mapping[tuple[str, Outcome], int]


def bean(gateway: GatewayFacts) -> Bean:
    """Return the bean under Hadoop's names."""
    return {
        "name": f"Hadoop:service={SERVICE},name=ServerActivity-{SERVICE}",
        "modelerType": f"ServerActivity-{SERVICE}",
        "tag.Context": "httpfs",
        "BytesWritten": gateway.written_bytes,
        "BytesRead": gateway.read_bytes,
        **{name: done(gateway.requests, operations) for name, operations in _COUNTED.items()},
    }


def families(gateway: GatewayFacts) -> Iterator[Family]:
    """Yield the families for Prometheus."""
    yield Family(
        "howdah_gateway_requests",
        "counter",
        "Requests by operation, and by what became of them.",
        tuple(
            ({"operation": operation, "outcome": outcome.value}, float(count))
            for (operation, outcome), count in sorted(
                gateway.requests.items(), key=lambda item: (item[0][0], item[0][1].value)
            )
        )
        or (({"operation": "none", "outcome": Outcome.OK.value}, 0.0),),
    )
    for direction, count_bytes in (
        ("read", gateway.read_bytes),
        ("written", gateway.written_bytes),
    ):
        yield one(
            f"howdah_gateway_{direction}_bytes",
            "counter",
            f"Bytes of files that were {direction} for callers.",
            count_bytes,
        )
    yield one(
        "howdah_gateway_clients", "gauge", "Users for whom there is a client.", gateway.clients
    )
    yield one(
        "howdah_gateway_filesystem_reached",
        "gauge",
        "1 while a namenode answers.",
        float(not gateway.trouble),
    )


def overview(gateway: GatewayFacts) -> list[Child]:
    """Return the body of the page."""
    level = "bad" if gateway.trouble else "ok"
    headline = "No namenode answers" if gateway.trouble else "The filesystem answers"
    operations = sorted({operation for operation, _ in gateway.requests})
    return [
        verdict(level, headline, [gateway.trouble] if gateway.trouble else []),
        refresh_hint(),
        section(
            "gateway",
            "Gateway",
            facts(
                [
                    ("Serves", gateway.uri),
                    ("At", PREFIX),
                    ("Access", gateway.mode),
                    ("Users with a client now", f"{gateway.clients:,}"),
                    ("Read for callers", iec_size(gateway.read_bytes)),
                    ("Written for callers", iec_size(gateway.written_bytes)),
                    ("Running since", units.utc_text(gateway.started_ms)),
                ]
            ),
        ),
        section(
            "requests",
            "Requests",
            table(
                "Since the start, by operation",
                ("Operation", *(outcome.value.capitalize() for outcome in Outcome)),
                [
                    [
                        operation,
                        *(
                            f"{gateway.requests.get((operation, outcome), 0):,}"
                            for outcome in Outcome
                        ),
                    ]
                    for operation in operations
                ],
                numbers=range(1, 1 + len(Outcome)),
                empty="Nobody has asked for anything yet.",
            ),
        ),
    ]
