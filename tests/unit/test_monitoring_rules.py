"""The dashboard and the alert rules name figures that the servers have."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from howdah.datanode.channel.shared_counters import Gauges
from howdah.datanode.control.pages import families as datanode_families
from howdah.failover.state.election import ElectionStatus
from howdah.failover.state.elector import Position
from howdah.failover.state.service import Target
from howdah.failover.state.status import Checked, Counts, ElectionView
from howdah.failover.state.views import families as failover_families
from howdah.gateway.overview import GatewayFacts
from howdah.gateway.overview import families as gateway_families
from howdah.namenode.service.monitoring.activity_bean import journal_families
from howdah.namenode.service.monitoring.families import of_status, of_top
from howdah.runtime.metrics.histogram import Times
from howdah.runtime.metrics.rpc import RpcMetrics
from howdah.runtime.metrics.top_users import TopUsers
from howdah.web.monitoring import prometheus
from howdah.web.monitoring.families import of_calls, of_defects, one
from howdah.web.status import (
    EditsDirectoryStatus,
    JournalNodeStatus,
    NamenodeStatus,
    NodeStatus,
    SlowPeerStatus,
)

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "howdah.json"

# Labels that Prometheus itself puts on what it scrapes, as prometheus.yml beside the rules says.
OF_THE_SCRAPE = {"instance", "job", "cluster"}
WORDS = {"and", "or", "unless", "bool", "offset"}
GROUPING = re.compile(r"\b(by|without|on|ignoring|group_left|group_right)\s*\(([^()]*)\)")
SELECTOR = re.compile(r"([a-zA-Z_:][\w:]*)\s*(?:\{([^}]*)\})?(?!\s*\(|[\w:])")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')

Samples = dict[str, list[dict[str, str]]]
"""The labels of the samples of each name."""


def served() -> Samples:
    """What the servers tell Prometheus, with one of each thing there is."""
    figures = RpcMetrics({"create"})
    figures.answered("create", "ann", 1000)
    figures.failed("java.io.IOException", 1000)
    top = TopUsers([60_000], 10, 10)
    top.add(0, {"create": {"ann": 1}})
    status = NamenodeStatus(
        "1",
        "CID",
        "BP",
        False,
        "",
        1,
        1,
        1,
        1,
        0,
        0,
        0,
        0,
        edits_directories=[
            EditsDirectoryStatus("/a", True, "", [JournalNodeStatus("jn", 1, "")]),
        ],
        datanodes=[NodeStatus("dn", "/r", True, 0.1, 1, 1, 1, 1)],
        slow_peers=[SlowPeerStatus("dn", "dn2", 1, 1, 1, 1)],
        slow_disks=[("disk", {"READ": 1.0})],
    )
    told = prometheus.respond(
        [
            one("howdah_info", "gauge", "", 1, service="NameNode", version="1"),
            of_defects({"a": 1}),
            *of_calls({1: figures}),
            *of_status(status),
            of_top(top.top(0)),
            *journal_families(1, Times()),
            *datanode_families(Gauges(1)),
            *failover_families(sight()),
            *gateway_families(GatewayFacts("hdfs://nn", "read-write", 0, "", 0, 0, 0, {})),
        ],
        "",
    )
    found: Samples = {"up": [{}]}
    for family in text_string_to_metric_families(told.body.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample.labels)
    return found


def sight() -> ElectionView:
    """What is known of a controller that has just begun."""
    own = Target("ns", "nn1", ("h", 1), 2, True, None)
    standing = ElectionStatus("", False, "")
    return ElectionView(
        own,
        (own,),
        Position.OUT,
        False,
        None,
        "",
        0,
        standing,
        Checked(),
        Counts(),
        None,
        0,
        0,
    )


SERVED = served()


def wrong(expression: str, names: Samples) -> Iterator[str]:
    """What an expression of PromQL asks for and nobody has."""
    labels = OF_THE_SCRAPE | {"le"}
    rest = expression
    for match in GROUPING.finditer(expression):
        rest = rest.replace(match[0], " ")
    rest = re.sub(r"\[[^\]]*\]", " ", rest)
    used = set()
    for name, matchers in SELECTOR.findall(rest):
        if name in WORDS:
            continue
        if name not in names:
            yield f"there is no {name}"
            continue
        used.add(name)
        for label, operator, value in MATCHER.findall(matchers):
            if label in labels:
                continue
            values = {each.get(label) for each in names[name]} - {None}
            if not values:
                yield f"{name} has no label {label}"
            elif operator in ("=", "!=") and value not in values:
                yield f"{name} has no {label} {value}"
    known = labels | {label for name in used for each in names[name] for label in each}
    for _, listed in GROUPING.findall(expression):
        for label in filter(None, map(str.strip, listed.split(","))):
            if label not in known:
                yield f"nothing in it has a label {label}"


def alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return found


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("sum(howdah_inodes) by (gender)", "nothing in it has a label gender"),
        ("rate(howdah_no_such_total[5m])", "there is no howdah_no_such_total"),
        ('howdah_blocks{state="mising"} > 0', "howdah_blocks has no state mising"),
        ('howdah_inodes{state="x"}', "howdah_inodes has no label state"),
    ],
)
def test_what_nobody_has_is_found(expression: str, said: str) -> None:
    assert list(wrong(expression, SERVED)) == [said]


@pytest.mark.req("FS-266")
@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: str(rule["alert"]))
def test_an_alert_asks_for_figures_that_there_are(rule: dict[str, Any]) -> None:
    assert list(wrong(rule["expr"], SERVED)) == []
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert rule["annotations"]["summary"]


@pytest.mark.req("FS-266")
@pytest.mark.parametrize("panel", panels(), ids=lambda panel: str(panel["title"]))
def test_a_panel_asks_for_figures_that_there_are(panel: dict[str, Any]) -> None:
    assert panel["targets"]
    for target in panel["targets"]:
        assert list(wrong(target["expr"], SERVED)) == []


def test_alerts_and_panels_have_names_of_their_own() -> None:
    for names in ([rule["alert"] for rule in alerts()], [each["id"] for each in panels()]):
        assert len(names) == len(set(names))


@pytest.mark.req("FS-266")
def test_prometheus_takes_the_rules() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed")
    done = subprocess.run(
        [promtool, "check", "rules", str(ALERTS)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
