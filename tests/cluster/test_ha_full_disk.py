"""Highly available servers whose disks are full: the others go on, and all mends itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from howdah import connect, errors
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.runtime.disk import Operation
from howdah.testing import MiniCluster
from howdah.testing.storage_faults import StorageAction
from howdah.testing.waiting import wait_until
from tests.support.failover import server_faults
from tests.support.failover.workload import TIMEOUT_S, wait_until_they_go_on, working
from tests.support.small_disks import MIB, NotMounted, fill, small_disks

DISK_BYTES = 16 * MIB
JOURNAL_NODES = ("journalnode0/edits", "journalnode1/edits")
NAMENODES = ("namenode0/name", "namenode1/name")
CONF: dict[str, str | int] = {
    "dfs.namenode.resource.du.reserved": 2 * MIB,
    "dfs.namenode.resource.check.interval": "200",
}

PATIENT = {"dfs.client.retry.max.attempts": "200"}
TRIED_ONCE = {"dfs.client.failover.max.attempts": "1", "ipc.client.rpc-timeout.ms": "5000"}


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path | None]:
    """The directory of a cluster in which some servers have small disks; None where this user
    may not mount any."""
    base = tmp_path_factory.mktemp("cluster")
    with small_disks(DISK_BYTES) as mount:
        try:
            for place in (*JOURNAL_NODES, *NAMENODES):
                mount(base / place)
        except NotMounted:
            yield None
        else:
            yield base


@pytest.fixture(scope="module")
def cluster(disks: Path | None) -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=1, namenodes=2, conf=CONF, dir=disks, faults=True) as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def all_running(cluster: MiniCluster) -> Iterator[None]:
    yield
    server_faults.mend(cluster)


@contextmanager
def full(disks: Path | None, *places: str) -> Iterator[None]:
    """Meanwhile somebody else has all room of some small disks."""
    if disks is None:
        pytest.skip("small disks cannot be mounted here")
    hogs = [fill(disks / place) for place in places]
    try:
        yield
    finally:
        for hog in hogs:
            hog.unlink()


def roll_edits(cluster: MiniCluster, conf: Mapping[str, str] | None = None) -> None:
    """A new segment begins, for which every journal needs room."""
    with connect(cluster.uri, conf=cluster.conf.with_values(conf or {})) as fs:
        assert isinstance(fs, HdfsFileSystem)
        fs.administration.roll_edits()


def is_unhealthy(cluster: MiniCluster, name: str) -> bool:
    return server_faults.haadmin(cluster, "-checkHealth", name)[0] != 0


@pytest.mark.req("FS-060", "LM-015")
def test_a_journal_node_without_room_is_left_out_until_it_has_some(
    cluster: MiniCluster, disks: Path | None
) -> None:
    active = cluster.active()
    with working(cluster, "/journal") as manifest:
        with full(disks, "journalnode1/edits"):
            roll_edits(cluster)
            wait_until(lambda: server_faults.left_out(cluster), TIMEOUT_S, "the node is left out")
            wait_until_they_go_on(manifest)
        server_faults.wait_for_journal_nodes(cluster)
        cluster.kill("journalnode0")  # and the log goes on with the one that was full
        wait_until_they_go_on(manifest)
    assert cluster.active() == active
    assert cluster.process("journalnode1").alive


@pytest.mark.req("FS-048", "FS-053", "LM-008")
def test_an_active_without_room_says_so_gives_its_role_away_and_may_have_it_again(
    cluster: MiniCluster, disks: Path | None
) -> None:
    old = cluster.active()
    with working(cluster, "/namenode") as manifest:
        with full(disks, f"{old}/name"):
            new = cluster.active(but=old)
            wait_until_they_go_on(manifest)
            if cluster.process(old).alive:
                status, said = server_faults.haadmin(cluster, "-checkHealth", old)
                assert status != 0
                assert "no resources available" in said
        server_faults.mend(cluster)
        assert server_faults.fail_over(cluster, old).old == new


@pytest.mark.req("FS-060", "FS-061", "FS-172")
def test_while_a_majority_of_the_journal_nodes_has_no_room_nobody_writes_and_nothing_is_lost(
    cluster: MiniCluster, disks: Path | None
) -> None:
    old = cluster.active()
    with working(cluster, "/majority") as manifest:
        with full(disks, *JOURNAL_NODES):
            with pytest.raises((errors.HowdahError, OSError)):
                roll_edits(cluster, TRIED_ONCE)
            wait_until(lambda: not cluster.process(old).alive, TIMEOUT_S, "it has lost its log")
            assert "active" not in cluster.ha_states().values()
        server_faults.mend(cluster)
        wait_until_they_go_on(manifest)
    assert "2 of 3 journal nodes" in cluster.log(old)


@pytest.mark.req("FS-048", "FS-053", "LM-008")
def test_while_no_namenode_has_room_nobody_writes_and_nothing_is_lost(
    cluster: MiniCluster, disks: Path | None
) -> None:
    """None takes over from the last one that was active, which is in safe mode then."""

    def is_refused() -> bool:
        with connect(cluster.uri, conf=cluster.conf.with_values(TRIED_ONCE)) as fs:
            try:
                return not fs.mkdirs("/refused")
            except errors.HowdahError:
                return True

    with working(cluster, "/namenodes", conf=PATIENT) as manifest:
        with full(disks, *NAMENODES):
            wait_until(
                lambda: all(is_unhealthy(cluster, name) for name in cluster.ha_states()),
                TIMEOUT_S,
                "both say that they have no room",
            )
            wait_until(is_refused, TIMEOUT_S, "writes are refused")
        server_faults.mend(cluster)
        wait_until_they_go_on(manifest)


@pytest.mark.req("FS-023", "FS-048", "FS-053")
def test_an_active_whose_disk_refuses_a_write_ends_and_another_goes_on(
    cluster: MiniCluster,
) -> None:
    """Room may go faster than anybody looks."""
    old = cluster.active()
    with working(cluster, "/at-once") as manifest:
        fault = cluster.storage_faults(old).arm(
            Operation.WRITE, "edits_inprogress_*", StorageAction.FULL
        )
        cluster.active(but=old)
        wait_until_they_go_on(manifest)
    assert fault.victims()
    assert "no edits directory is left that can be written" in cluster.log(old)


@pytest.mark.req("FS-060", "LM-015")
def test_a_journal_node_whose_disk_refuses_a_write_joins_in_again(cluster: MiniCluster) -> None:
    active = cluster.active()
    with working(cluster, "/journal-at-once") as manifest:
        fault = cluster.storage_faults("journalnode2").arm(
            Operation.WRITE, "edits_inprogress_*", StorageAction.FULL
        )
        wait_until(fault.victims, TIMEOUT_S, "a write is refused")
        wait_until_they_go_on(manifest)
        server_faults.wait_for_journal_nodes(cluster)
    assert cluster.active() == active
