"""What a failover controller says of itself on its web port."""

from __future__ import annotations

import http.client
import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from howdah import errors
from howdah.failover.server import FailoverServer, setup
from howdah.failover.state.active_node import encode
from howdah.failover.state.controller import Attempt
from howdah.failover.state.election import ElectionStatus
from howdah.failover.state.elector import Position
from howdah.failover.state.health import Health
from howdah.failover.state.service import ServiceState, Target
from howdah.failover.state.status import Checked, Counts, ElectionView, active_of, health, readiness
from howdah.failover.state.views import bean, families, overview
from howdah.testing.waiting import wait_until
from howdah.web.pages.html import joined

from .conftest import Cluster, MakeCluster

BAD = "<script>alert(1)</script>"
OWN = Target("east", "nn1", ("h1", 8020), 8019, True, "shell(true)")
OTHER = Target("east", "nn2", ("h2", 8020), 8019, True, None)
GOOD = ElectionView(
    own=OWN,
    targets=(OTHER, OWN),
    position=Position.STANDBY,
    is_attempting=False,
    stays_out_until_ms=None,
    reason="nn2 has the lease",
    reported_ms=1_000,
    standing=ElectionStatus("three nodes", True, "it has no lease", encode(OTHER)),
    checked=Checked(Health.HEALTHY, "", ServiceState.STANDBY, 9_000),
    counts=Counts(),
    attempt=None,
    turned_ms=9_500,
    now_ms=10_000,
)
SICK = replace(GOOD, checked=Checked(Health.UNHEALTHY, BAD, ServiceState.STANDBY, 9_000))
FAILED = replace(GOOD, attempt=Attempt(9_000, False, BAD))


@pytest.mark.req("FS-262", "FS-267")
@pytest.mark.parametrize(
    ("sight", "wrong", "said"),
    [
        (GOOD, "", ""),
        (replace(GOOD, position=Position.ACTIVE), "", ""),
        (replace(GOOD, position=Position.NEUTRAL, is_attempting=True), "", ""),
        (SICK, "namenode", f"NameNode at h1:8020 is not healthy: {BAD}"),
        (replace(GOOD, checked=Checked()), "namenode", "NameNode at h1:8020 is not looked at yet"),
        (
            replace(GOOD, position=Position.NEUTRAL),
            "election",
            "it does not know who is elected: nn2 has the lease",
        ),
        (
            replace(GOOD, position=Position.OUT, stays_out_until_ms=13_000),
            "election",
            "it stays out of the election for 3 s more",
        ),
        (
            replace(GOOD, position=Position.OUT),
            "election",
            "it is not in the election: it has no lease",
        ),
    ],
)
def test_ready_is_who_could_take_over(sight: ElectionView, wrong: str, said: str) -> None:
    found = readiness(sight)
    assert [(check.name, check.said) for check in found.checks if not check.ok] == (
        [(wrong, said)] if wrong else []
    )
    assert health(sight).ok


def test_the_controller_of_an_observer_is_ready_without_an_election() -> None:
    observes = Checked(Health.HEALTHY, "", ServiceState.OBSERVER, 9_000)
    assert readiness(replace(GOOD, position=Position.OUT, checked=observes)).ok


@pytest.mark.req("FS-262", "FS-267")
def test_a_loop_that_stands_is_not_well() -> None:
    assert health(replace(GOOD, now_ms=29_000)).ok
    assert not health(replace(GOOD, now_ms=29_501)).ok


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (encode(OTHER), "nn2"),
        (None, ""),
        (b"\xff", ""),
        (encode(replace(OTHER, nameservice="west")), ""),
    ],
)
def test_the_elected_is_named_as_far_as_it_is_known(content: bytes | None, found: str) -> None:
    assert active_of(replace(GOOD, standing=replace(GOOD.standing, active=content))) == found


@pytest.mark.req("FS-260", "FS-261")
def test_the_bean_and_the_figures_say_the_same() -> None:
    counts = Counts(became_active=2, failed=3, fenced=1, deaths=4)
    found = bean(replace(GOOD, counts=counts))
    assert json.loads(json.dumps(found)) == found
    assert found["ElectedNamenodeId"] == "nn2"
    assert found["MillisSinceLastCheck"] == 1_000
    assert found["FailedAttempts"] == 3
    assert bean(replace(GOOD, checked=Checked()))["MillisSinceLastCheck"] == -1
    samples = {
        (family.name, *labels.values()): value
        for family in families(replace(GOOD, counts=counts))
        for labels, value in family.samples
    }
    assert samples["howdah_failover_position", "east", "nn1", "standby"] == 1
    assert samples["howdah_failover_position", "east", "nn1", "active"] == 0
    assert samples["howdah_failover_namenode_health", "east", "nn1", "healthy"] == 1
    assert samples["howdah_failover_attempts", "east", "nn1", "failed"] == 3
    assert samples["howdah_failover_namenode_deaths", "east", "nn1"] == 4


@pytest.mark.req("FS-280", "FS-283")
@pytest.mark.parametrize(
    ("sight", "level"),
    [(GOOD, "ok"), (FAILED, "warn"), (SICK, "bad"), (replace(SICK, attempt=FAILED.attempt), "bad")],
)
def test_the_page_says_whether_a_failover_is_possible(sight: ElectionView, level: str) -> None:
    text = joined(overview(sight))
    assert f'class="verdict {level}"' in text
    assert "<script" not in text
    assert "h2:8020" in text


# -- controllers that run ----------------------------------------------------------------------


def get(web: str, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(web, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def with_pages(make_cluster: MakeCluster) -> Cluster:
    cluster = make_cluster()
    cluster.settings["howdah.failover-controller.http-address"] = "127.0.0.1:0"
    cluster.start_zkfcs()
    return cluster


def web_of(cluster: Cluster, number: int) -> str:
    return cluster.zkfcs[number].server.web.addresses()["http"]


def info(cluster: Cluster, number: int) -> dict[str, Any]:
    told = get(web_of(cluster, number), "/jmx?qry=Hadoop:service=ZKFC,name=Howdah*Info")[1]
    found: dict[str, Any] = json.loads(told)["beans"][0]
    return found


@pytest.mark.req("FS-260", "FS-261", "FS-262", "FS-267", "FS-280")
def test_every_page_is_answered_and_names_the_active(make_cluster: MakeCluster) -> None:
    cluster = with_pages(make_cluster)
    active = cluster.wait_for_active()

    def knows_the_active(number: int) -> bool:
        return bool(info(cluster, number)["ElectedNamenodeId"] == f"nn{active}")

    def is_ready(number: int) -> bool:
        return get(web_of(cluster, number), "/ready")[0] == 200

    for number in range(2):
        wait_until(partial(knows_the_active, number), timeout_s=60)
        wait_until(partial(is_ready, number))
        web = web_of(cluster, number)
        for path in ("/", "/jmx", "/prom", "/metrics", "/health", "/conf", "/logLevel", "/stacks"):
            assert get(web, path)[0] == 200, path
        assert get(web, "/elsewhere")[0] == 404
        said = json.loads(get(web, "/ready")[1])
        assert (said["role"], said["namenode"]) == ("zkfc", f"nn{number}")
        assert "howdah_failover_position{" in get(web, "/prom")[1]
        assert f'namenode="nn{number}"' in get(web, "/prom")[1]
    wait_until(lambda: info(cluster, active)["BecameActive"] >= 1)
    wait_until(lambda: info(cluster, active)["ElectionState"] == "ACTIVE")


@pytest.mark.req("FS-262", "FS-267")
def test_a_namenode_that_is_sick_makes_its_controller_not_ready(
    make_cluster: MakeCluster,
) -> None:
    cluster = with_pages(make_cluster)
    active = cluster.wait_for_active()
    cluster.namenodes[active].is_healthy = False
    cluster.wait_for_active(1 - active)
    wait_until(lambda: get(web_of(cluster, active), "/ready")[0] == 503, timeout_s=60)
    status, told = get(web_of(cluster, active), "/ready")
    assert status == 503
    assert "the disk is full" in told
    assert get(web_of(cluster, active), "/health")[0] == 200
    wait_until(
        lambda: info(cluster, 1 - active)["ElectedNamenodeId"] == f"nn{1 - active}", timeout_s=60
    )


@pytest.mark.req("FS-262", "FS-267")
def test_an_election_that_nobody_holds_makes_no_controller_ready(
    make_cluster: MakeCluster,
) -> None:
    cluster = with_pages(make_cluster)
    active = cluster.wait_for_active()
    for node in cluster.journal_nodes:
        node.stop()
    wait_until(lambda: get(web_of(cluster, 1 - active), "/ready")[0] == 503, timeout_s=60)
    wait_until(lambda: not info(cluster, 1 - active)["ElectionReached"], timeout_s=60)
    assert get(web_of(cluster, 1 - active), "/health")[0] == 200


def test_no_address_is_no_web_port(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    assert cluster.start_zkfc(0).server.web.addresses() == {}


def test_a_web_port_that_is_taken_is_named(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    key = "howdah.failover-controller.http-address"
    cluster.settings[key] = f"127.0.0.1:{cluster.namenodes[0].port}"
    with pytest.raises(errors.InvalidConfiguration, match=key):
        FailoverServer(setup(cluster.conf(0)))
