"""Namenodes on a network that fails in parts: what was acknowledged holds, and one is active.

A cut loses packets; it refuses nothing. So nobody knows of it but by silence.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from howdah import connect, errors
from howdah.fs.api import FileSystem
from howdah.testing.histories.linearizability import check
from howdah.testing.histories.recording import Kind, record
from howdah.testing.waiting import wait_until
from tests.support.failover import server_faults
from tests.support.failover.links import CLIENTS, Silenced
from tests.support.failover.network import PartitionedCluster
from tests.support.failover.network_faults import DATANODES, JOURNAL_NODES, Weather
from tests.support.failover.workload import (
    IMPATIENT,
    TIMEOUT_S,
    ask_directly,
    wait_until_they_go_on,
    working,
)

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="who has a connection is asked of Linux"
)

SOON_S = 1.0
"""A namenode that is cut off is not waited for longer than that."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[PartitionedCluster]:
    with PartitionedCluster(datanodes=3, namenodes=3) as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def all_whole(cluster: PartitionedCluster) -> Iterator[None]:
    """The next test finds a network that is whole, and all servers."""
    yield
    cluster.network.heal()
    server_faults.mend(cluster)


def lose_the_journal(cluster: PartitionedCluster, active: str, silenced: Silenced) -> None:
    cluster.network.cut([active], JOURNAL_NODES, silenced)


def lose_everybody(cluster: PartitionedCluster, active: str, silenced: Silenced) -> None:
    cluster.network.isolate(active, silenced)


Cut = Callable[[PartitionedCluster, str, Silenced], None]
REPLACED = [
    pytest.param(
        cut,
        silenced,
        id=f"{cut.__name__}-{silenced}",
        marks=() if silenced is Silenced.BOTH else pytest.mark.torture,
    )
    for cut in (lose_the_journal, lose_everybody)
    for silenced in Silenced
]


@pytest.mark.req("FS-048", "FS-053", "FS-069", "FS-075", "LM-016", "LM-018")
@pytest.mark.parametrize(("cut", "silenced"), REPLACED)
def test_an_active_that_is_cut_off_is_replaced_and_says_nothing_stale(
    cluster: PartitionedCluster, cut: Cut, silenced: Silenced
) -> None:
    """It loses the journal nodes, and with them its lease and the election."""
    path = f"/stale-{cut.__name__}-{silenced}"
    # Only they who hear nothing of it any more have to lose patience by themselves.
    conf = IMPATIENT if cut is lose_everybody else {}
    with connect(cluster.uri, conf=cluster.conf) as fs, fs.create(path):
        pass
    old = cluster.active()
    with working(cluster, f"{path}.load", conf=conf) as manifest:
        cut(cluster, old, silenced)
        cluster.active(but=old)
        wait_until_they_go_on(manifest)
        with connect(cluster.uri, conf=cluster.conf.with_values(IMPATIENT)) as fresh:
            assert fresh.delete(path)
        assert ask_directly(cluster, old, path, SOON_S) is not True
        cluster.network.heal()
        server_faults.settle(cluster, old)
        assert ask_directly(cluster, old, path) is not True


# A client that is soon told that nobody answers it.
RESIGNED = {"ipc.client.rpc-timeout.ms": "300", "dfs.client.failover.max.attempts": "2"}


@pytest.mark.req("FS-048", "FS-068", "FS-075")
def test_an_active_that_only_clients_and_datanodes_lose_stays_active_until_told_otherwise(
    cluster: PartitionedCluster,
) -> None:
    """By what it and its controller see nothing is wrong."""
    old = cluster.active()
    new = next(name for name in cluster.ha_states() if name != old)
    with working(cluster, "/load-clients", conf=IMPATIENT) as manifest:
        cluster.network.cut([old], [CLIENTS, *DATANODES])
        with connect(cluster.uri, conf=cluster.conf.with_values(RESIGNED)) as resigned:
            with pytest.raises(errors.HowdahError):
                resigned.exists("/")
        assert cluster.active() == old
        cluster.network.heal()
        wait_until_they_go_on(manifest)
        assert cluster.active() == old
        cluster.network.cut([old], [CLIENTS, *DATANODES])
        assert server_faults.haadmin(cluster, "-failover", old, new, at=new)[0] == 0
        wait_until_they_go_on(manifest)


@pytest.mark.req("FS-060", "LM-015")
@pytest.mark.parametrize("is_long", [False, pytest.param(True, marks=pytest.mark.torture)])
def test_a_journal_node_that_everybody_loses_is_missed_by_nobody_and_comes_back(
    cluster: PartitionedCluster, is_long: bool
) -> None:
    """What it missed waits for it, or it is left out until the next segment."""
    active = cluster.active()
    with working(cluster, f"/load-journal-{is_long}") as manifest:
        cluster.network.isolate("journalnode1")
        if is_long:
            wait_until(
                lambda: server_faults.left_out(cluster), TIMEOUT_S, "the active leaves it out"
            )
        wait_until_they_go_on(manifest)
        cluster.network.heal()
        server_faults.wait_for_journal_nodes(cluster)
        cluster.network.isolate("journalnode2")
        wait_until_they_go_on(manifest)
    assert cluster.active() == active


# -- torture -----------------------------------------------------------------------------


@pytest.mark.torture
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(3))
def test_nothing_acknowledged_is_lost_in_any_weather(
    cluster: PartitionedCluster, seed: int
) -> None:
    weather = Weather(cluster, seed)
    with working(cluster, f"/weather-{seed}", seed, IMPATIENT) as manifest:
        for _ in range(30):
            weather.storm()
            wait_until_they_go_on(manifest)


@pytest.mark.torture
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", Kind)
def test_histories_in_any_weather_are_linearizable(cluster: PartitionedCluster, kind: Kind) -> None:
    weather = Weather(cluster, 7)
    stop = threading.Event()
    failures: list[BaseException] = []

    def storms() -> None:
        try:
            while not stop.is_set():
                weather.storm()
        except BaseException as error:
            failures.append(error)
            raise

    def impatient() -> FileSystem:
        return connect(cluster.uri, conf=cluster.conf.with_values(IMPATIENT))

    meanwhile = threading.Thread(target=storms)
    meanwhile.start()
    try:
        for number in range(30):
            directory = f"/weather/{kind}/{number}"
            verdict = check(record(impatient, directory, kind, number))
            assert verdict, f"{directory}: {verdict}"
    finally:
        stop.set()
        meanwhile.join()
    assert failures == []
