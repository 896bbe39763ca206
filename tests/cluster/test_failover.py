"""Failovers of real namenodes: what was acknowledged holds, and nobody is told two things."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from howdah import connect
from howdah.fs.api import FileSystem
from howdah.testing import MiniCluster
from howdah.testing.histories.linearizability import check
from howdah.testing.histories.recording import Kind, record
from howdah.testing.waiting import wait_until
from tests.support.failover import server_faults
from tests.support.failover.workload import IMPATIENT, ask_directly, working

TIMEOUT_S = 60.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=3, namenodes=3) as cluster:
        yield cluster


@pytest.fixture
def fs(cluster: MiniCluster) -> Iterator[FileSystem]:
    with cluster.connect() as fs:
        yield fs


@pytest.fixture(autouse=True)
def all_running(cluster: MiniCluster) -> Iterator[None]:
    """Whatever a test has killed runs again for the next one."""
    yield
    server_faults.mend(cluster)


def standbys(cluster: MiniCluster) -> list[str]:
    return sorted(name for name, state in cluster.ha_states().items() if state == "standby")


# -- the cluster -----------------------------------------------------------------------


@pytest.mark.req("FS-053", "FS-067", "FS-173", "LM-013")
def test_one_of_three_namenodes_is_active_and_two_stand_by(cluster: MiniCluster) -> None:
    assert sorted(cluster.ha_states().values()) == ["active", "standby", "standby"]


@pytest.mark.req("FS-267")
def test_each_controller_tells_on_its_web_port_who_is_elected(cluster: MiniCluster) -> None:
    def told() -> set[str | None]:
        found = set()
        for server in cluster.processes:
            if server.role == "zkfc":
                with urlopen(f"http://{server.addresses['http']}/ready", timeout=60) as answer:
                    found.add(json.load(answer)["elected"])
        return found

    def agree() -> bool:
        active = [name for name, state in cluster.ha_states().items() if state == "active"]
        try:
            return told() == set(active)
        except HTTPError as error:  # 503: one does not know it yet
            error.close()
            return False

    wait_until(agree, timeout_s=TIMEOUT_S)


def test_a_restarted_namenode_stands_by(cluster: MiniCluster) -> None:
    name = standbys(cluster)[0]
    cluster.kill(name)
    assert cluster.ha_states()[name] == "down"
    cluster.restart(name)
    assert cluster.ha_states()[name] == "standby"


# -- failovers under load ----------------------------------------------------------------


@pytest.mark.req("FS-048", "FS-053", "FS-057", "FS-075", "LM-008", "LM-011")
@pytest.mark.parametrize("how", server_faults.TROUBLES, ids=lambda how: how.__name__)
def test_nothing_acknowledged_is_lost_and_clients_go_on(
    cluster: MiniCluster, how: server_faults.Trouble
) -> None:
    with working(cluster, f"/load-{how.__name__}"):
        failover = how(cluster)
        assert failover.new != failover.old


def test_clients_go_on_though_one_failover_follows_another(cluster: MiniCluster) -> None:
    with working(cluster, "/load-many"):
        for _ in range(3):
            server_faults.kill_active(cluster)


def test_a_standby_is_killed_and_nobody_notices(cluster: MiniCluster) -> None:
    active = cluster.active()
    with working(cluster, "/load-standby"):
        cluster.kill(*standbys(cluster))
    assert cluster.active() == active


@pytest.mark.parametrize("kind", Kind)
def test_histories_over_failovers_are_linearizable(cluster: MiniCluster, kind: Kind) -> None:
    for number, how in enumerate(
        (server_faults.kill_active, server_faults.freeze_active, server_faults.fail_over)
    ):
        meanwhile = threading.Thread(target=how, args=(cluster,))
        meanwhile.start()
        round_number = 0
        while meanwhile.is_alive():
            directory = f"/history/{kind}/{number}.{round_number}"
            verdict = check(record(cluster.connect, directory, kind, number))
            assert verdict, f"{directory}: {verdict}"
            round_number += 1
        meanwhile.join()


@pytest.mark.req("AP-047", "FS-156", "OS-010")
def test_nothing_flushed_is_lost_with_an_active_that_dies_right_after(
    cluster: MiniCluster, fs: FileSystem
) -> None:
    """The next one may not know the last length: readers find the bytes, and it is told again."""
    path, written = "/flushed", b""
    with fs.create(path) as out, cluster.connect() as other:
        for number in range(3):
            record = bytes([number]) * 700
            for _ in range(3):
                out.write(record)
                out.hflush()
                written += record
            server_faults.kill_active(cluster)
            with other.open(path) as stream:
                assert stream.read() == written
            assert other.get_file_status(path).length <= len(written)
            out.hflush()
            assert other.get_file_status(path).length == len(written)
    with fs.open(path) as stream:
        assert stream.read() == written


# -- a frozen active ---------------------------------------------------------------------


@pytest.mark.req("FS-069", "FS-070", "FS-071", "FS-072", "LM-016", "LM-018")
def test_an_active_that_was_stopped_and_continued_says_nothing_stale(
    cluster: MiniCluster, fs: FileSystem
) -> None:
    """Calls wait in its sockets while it is stopped: they are what it sees first."""
    with fs.create("/stale"):
        pass
    old = cluster.active()
    answers: list[bool | None] = []
    cluster.pause(old)
    try:
        askers = [
            threading.Thread(target=lambda: answers.append(ask_directly(cluster, old, "/stale")))
            for _ in range(8)
        ]
        for asker in askers:
            asker.start()
        cluster.active(but=old)
        with connect(cluster.uri, conf=cluster.conf.with_values(IMPATIENT)) as fresh:
            assert fresh.delete("/stale")
    finally:
        cluster.resume(old)
    for asker in askers:
        asker.join(TIMEOUT_S)
    assert len(answers) == len(askers)
    assert True not in answers, "the former active answers as if it were active"


def test_a_moment_of_sleep_costs_nothing(cluster: MiniCluster) -> None:
    with working(cluster, "/load-moment"):
        server_faults.freeze_briefly(cluster)


# -- by hand -----------------------------------------------------------------------------


@pytest.mark.req("FS-052", "FS-068", "LM-012")
def test_haadmin_fails_over_to_the_namenode_that_is_named(cluster: MiniCluster) -> None:
    target = standbys(cluster)[-1]
    old = cluster.active()
    server_faults.fail_over(cluster, target)
    states = cluster.ha_states()
    assert (states[old], states[target]) == ("standby", "active")


def test_haadmin_says_what_each_namenode_is(cluster: MiniCluster) -> None:
    active = cluster.active()
    assert server_faults.haadmin(cluster, "-getServiceState", active) == (0, "active\n")
    status, told = server_faults.haadmin(cluster, "-getAllServiceState")
    assert status == 0
    assert sorted(line.split()[-1] for line in told.splitlines()) == [
        "active",
        "standby",
        "standby",
    ]


# -- journal nodes -----------------------------------------------------------------------


@pytest.mark.req("FS-060", "FS-061", "FS-172", "LM-015")
def test_edits_go_on_without_one_journal_node(cluster: MiniCluster) -> None:
    active = cluster.active()
    with working(cluster, "/load-journal"):
        server_faults.lose_journal_node(cluster, 1)
    assert cluster.active() == active


def journal_files(cluster: MiniCluster, number: int) -> Sequence[Path]:
    (directory,) = cluster.data_dirs(f"journalnode{number}")
    return sorted(directory.glob("*/current/edits_*"))


def test_a_journal_node_that_was_away_is_written_to_again(cluster: MiniCluster) -> None:
    cluster.kill("journalnode2")
    with cluster.connect() as fs:
        fs.mkdirs("/while-away")
    cluster.restart("journalnode2")
    server_faults.fail_over(cluster)  # it joins at the next segment
    with cluster.connect() as fs:
        fs.mkdirs("/while-back")
    # One that is not ready yet when the segment begins gets another, a second or two later.
    wait_until(
        lambda: len({journal_files(cluster, number)[-1].name for number in range(3)}) == 1,
        TIMEOUT_S,
        "all journal nodes write the same segment",
    )


@pytest.mark.req("FS-060", "FS-061")
def test_without_a_majority_of_journal_nodes_nothing_is_acknowledged(
    cluster: MiniCluster,
) -> None:
    with cluster.connect() as fs:
        fs.mkdirs("/before")
    answered: list[str] = []

    def write() -> None:
        with cluster.connect() as fs:
            fs.mkdirs("/without-majority")
            answered.append("mkdirs")

    for number in (0, 1):
        cluster.kill(f"journalnode{number}")
    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    writer.join(3)
    assert answered == []
    for number in (0, 1):
        cluster.start(f"journalnode{number}")
    for server in cluster.processes:
        if not server.alive:
            cluster.start(server.name)  # a namenode that cannot write its log ends
    writer.join(TIMEOUT_S)
    assert answered == ["mkdirs"]
    with cluster.connect() as fs:
        assert fs.exists("/before")
        assert fs.exists("/without-majority")


# -- torture -----------------------------------------------------------------------------


@pytest.mark.torture
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(2))
def test_a_hundred_failovers(seed: int) -> None:
    dice = random.Random(seed)
    with MiniCluster(datanodes=3, namenodes=3) as cluster:
        with working(cluster, "/torture", seed):
            for number in range(50):
                print(number, server_faults.bring(cluster, dice), flush=True)
                if number % 5 == 0:
                    print(server_faults.lose_journal_node(cluster, dice.randrange(3)), flush=True)
