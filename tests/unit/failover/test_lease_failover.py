"""Controllers that elect on journal nodes, over real sockets (FS-066, FS-067, FS-068)."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.failover.namenodes import Controller
from howdah.failover.settings import targets
from howdah.testing.waiting import wait_until

from .conftest import Cluster, MakeCluster


@pytest.fixture
def pair(make_cluster: MakeCluster) -> Cluster:
    """Two namenodes whose controllers run, one of them active."""
    cluster = make_cluster(namenodes=2)
    cluster.start_zkfcs()
    return cluster


@pytest.mark.req("FS-066", "FS-067")
def test_one_namenode_of_two_becomes_active(pair: Cluster) -> None:
    assert sorted(pair.states()) == ["active", "standby"]


@pytest.mark.req("FS-067", "FS-070")
def test_a_namenode_that_fails_its_health_check_is_made_standby_and_replaced(
    pair: Cluster,
) -> None:
    before = pair.wait_for_active()
    pair.namenodes[before].is_healthy = False
    assert pair.wait_for_active(1 - before) == 1 - before
    of_interest = pair.orders[pair.orders.index((f"nn{before}", "active")) :]
    assert of_interest.index((f"nn{before}", "standby")) < of_interest.index(
        (f"nn{1 - before}", "active")
    )


@pytest.mark.req("FS-067")
def test_a_namenode_that_is_gone_is_replaced(pair: Cluster) -> None:
    before = pair.wait_for_active()
    pair.namenodes[before].stop()
    pair.wait_for_active(1 - before)


@pytest.mark.req("FS-052", "FS-068")
def test_a_graceful_failover_exchanges_the_roles(pair: Cluster) -> None:
    before = pair.wait_for_active()
    after = targets(pair.conf(), "east")[f"nn{1 - before}"]
    controller = Controller(after, 20)
    controller.fail_over_to_it()
    assert pair.states()[1 - before] == "active"
    assert pair.states()[before] == "standby"
    controller.fail_over_to_it()  # already done
    controller.close()


def test_a_graceful_failover_to_a_namenode_that_is_not_well_is_refused(pair: Cluster) -> None:
    before = pair.wait_for_active()
    pair.namenodes[1 - before].is_healthy = False
    running = pair.zkfcs[1 - before].server.running
    wait_until(lambda: running.not_eligible() is not None)
    controller = Controller(targets(pair.conf(), "east")[f"nn{1 - before}"], 20)
    with pytest.raises(errors.ServiceFailed, match="is not currently healthy"):
        controller.fail_over_to_it()
    controller.close()
    assert pair.states()[before] == "active"
