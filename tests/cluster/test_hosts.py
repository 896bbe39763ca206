"""Namenodes on hosts of their own that drop off a real network.

The cuts of `test_partitions`, where connections are not held back but lose their packets.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from howdah import connect
from howdah.testing.waiting import wait_until
from tests.support.failover import server_faults
from tests.support.failover.hosts import HostsCluster, NoHosts
from tests.support.failover.links import Silenced
from tests.support.failover.network_faults import JOURNAL_NODES, Weather
from tests.support.failover.workload import (
    IMPATIENT,
    TIMEOUT_S,
    ask_directly,
    wait_until_they_go_on,
    working,
)

SOON_S = 1.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[HostsCluster]:
    try:
        cluster = HostsCluster(namenodes=3, datanodes=3)
    except NoHosts as error:
        pytest.skip(f"network namespaces cannot be made here: {error}")
    with cluster:
        yield cluster


@pytest.fixture(autouse=True)
def all_whole(cluster: HostsCluster) -> Iterator[None]:
    yield
    cluster.network.heal()
    server_faults.mend(cluster)


@pytest.mark.req("FS-048", "FS-053", "FS-069", "FS-075", "LM-016", "LM-018")
@pytest.mark.parametrize(
    "silenced",
    [
        pytest.param(each, marks=() if each is Silenced.BOTH else pytest.mark.torture)
        for each in Silenced
    ],
)
def test_an_active_whose_host_drops_off_is_replaced_and_says_nothing_stale(
    cluster: HostsCluster, silenced: Silenced
) -> None:
    path = f"/stale-{silenced}"
    with connect(cluster.uri, conf=cluster.conf) as fs, fs.create(path):
        pass
    old = cluster.active()
    with working(cluster, f"{path}.load", conf=IMPATIENT) as manifest:
        cluster.network.isolate(old, silenced)
        cluster.active(but=old)
        wait_until_they_go_on(manifest)
        with connect(cluster.uri, conf=cluster.conf.with_values(IMPATIENT)) as fresh:
            assert fresh.delete(path)
        assert ask_directly(cluster, old, path, SOON_S) is not True
        cluster.network.heal()
        server_faults.settle(cluster, old)
        assert ask_directly(cluster, old, path) is not True


@pytest.mark.req("FS-048", "FS-069", "LM-016", "LM-018")
def test_an_active_that_loses_the_journal_nodes_is_replaced_while_clients_still_hear_it(
    cluster: HostsCluster,
) -> None:
    old = cluster.active()
    with working(cluster, "/journal") as manifest:
        cluster.network.cut([old], JOURNAL_NODES)
        cluster.active(but=old)
        wait_until_they_go_on(manifest)
        wait_until(
            lambda: ask_directly(cluster, old, "/journal", SOON_S) is None,
            TIMEOUT_S,
            "it answers no reads",
        )
        cluster.network.heal()
        server_faults.settle(cluster, old)


@pytest.mark.torture
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(2))
def test_nothing_acknowledged_is_lost_in_any_weather(cluster: HostsCluster, seed: int) -> None:
    weather = Weather(cluster, seed)
    with working(cluster, f"/weather-{seed}", seed, IMPATIENT) as manifest:
        for _ in range(30):
            weather.storm()
            wait_until_they_go_on(manifest)
