"""kill -9 of every server in turn while erasure-coded files are written, read and made whole: what
`close` has acknowledged is there, and in the end each internal block of it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import pytest

from howdah.cli.main import main
from howdah.client.reading.replica_check import ReplicaChecker
from howdah.client.reading.replica_finding import ReplicaState
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing.minicluster import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.failover.server_faults import mend
from tests.support.failover.workload import wait_until_they_go_on
from tests.support.failover.write_ledger import CodedWriter, Manifest, Reader
from tests.support.striped_blocks import finalized, wait_until_mended
from tests.support.torture import times

MIB = 1 << 20
XOR, RS = "XOR-2-1-1024k", "RS-3-2-1024k"
DATA_UNITS = {XOR: 2, RS: 3}
UNITS = {XOR: 3, RS: 5}
TIMEOUT_S = 120.0
CONF: dict[str, str | int | bool] = {
    "dfs.blocksize": 2 * MIB,
    "dfs.namenode.heartbeat.recheck-interval": 500,
    "dfs.namenode.redundancy.interval.seconds": 1,
    "dfs.namenode.redundancy.considerLoad": False,
    # Of servers that are killed the orders are lost.
    "dfs.namenode.reconstruction.pending.timeout-sec": 10,
    "howdah.namenode.block-recovery-timeout": "1s",
}


def lengths(policy: str) -> list[int]:
    """Around cells, stripes and groups."""
    stripe = DATA_UNITS[policy] * MIB
    return [0, 10, MIB - 1, MIB, MIB + 1, stripe, stripe + 1, 2 * stripe + 77]


@contextmanager
def at_work(cluster: MiniCluster, policy: str, directory: str) -> Iterator[Manifest]:
    """Two writers and two readers meanwhile; at the end all that was acknowledged is there."""
    manifest = Manifest()
    with cluster.connect() as fs:
        fs.mkdirs(directory)
        fs.client.namenode.enable_erasure_coding_policy(policy)
        fs.set_erasure_coding_policy(directory, policy)
    clients = [
        *(
            CodedWriter(f"w{n}", cluster.connect, manifest, 1, directory, lengths(policy))
            for n in range(2)
        ),
        *(Reader(f"r{n}", cluster.connect, manifest, 1) for n in range(2)),
    ]
    for client in clients:
        client.start()
    try:
        wait_until_they_go_on(manifest)
        yield manifest
        wait_until_they_go_on(manifest)
    finally:
        for client in clients:
            client.stop()
        for client in clients:
            client.join(TIMEOUT_S)
    assert manifest.failures == []
    with cluster.connect() as fs:
        manifest.verify(fs)
        check_groups(fs, manifest)


def check_groups(fs: HdfsFileSystem, manifest: Manifest) -> None:
    """Each internal block of what was acknowledged is there, and has what the others code to."""
    paths = manifest.closed_paths()
    assert len(paths) > 10
    assert all(fs.get_file_status(path).is_erasure_coded for path in paths)
    wait_until_mended(fs, manifest)
    checker = fs.client.replica_checker()
    # A copy that is too much may be deleted while it is read.
    for path in paths:
        wait_until(partial(is_sound, checker, path), TIMEOUT_S, f"{path} is sound")


def is_sound(checker: ReplicaChecker, path: str) -> bool:
    finished = checker.finished_blocks(path)
    assert finished.policy is not None
    return all(
        member.finding.state is ReplicaState.SOUND
        for group in finished.blocks
        for member in checker.check_group(path, group, finished.policy).members
    )


def kill_and_restart(cluster: MiniCluster, manifest: Manifest, names: Sequence[str]) -> None:
    """Kill each of the servers, and have clients go on before it is back and after."""
    with cluster.connect() as fs:
        for name in names:
            cluster.kill(name)
            wait_until_they_go_on(manifest)
            cluster.restart(name)
            wait_until_they_go_on(manifest)
            wait_until_mended(fs, manifest)


def save_image(cluster: MiniCluster) -> None:
    for words in (
        ["-safemode", "enter"],
        ["-saveNamespace"],
        ["-safemode", "leave"],
    ):
        assert main(["dfsadmin", "--conf", str(cluster.conf_dir), *words]) == 0


@pytest.mark.req("OS-005", "FS-023")
@pytest.mark.timeout(300)
def test_groups_outlive_kills_of_the_one_namenode_that_has_an_image_and_a_log() -> None:
    with MiniCluster(datanodes=UNITS[XOR], conf=CONF) as cluster:
        with at_work(cluster, XOR, "/before"):
            pass
        save_image(cluster)
        for number in range(times(2)):
            with at_work(cluster, XOR, f"/{number}") as manifest:
                cluster.kill("namenode")
                cluster.restart("namenode")
                wait_until_they_go_on(manifest)


@pytest.mark.req("OS-005", "FS-056")
@pytest.mark.torture
@pytest.mark.timeout(1200)
def test_groups_outlive_the_kill_of_every_server_in_turn() -> None:
    datanodes = UNITS[RS] + 1
    with MiniCluster(datanodes=datanodes, namenodes=2, conf=CONF) as cluster:
        with at_work(cluster, RS, "/coded") as manifest:
            for _ in range(times(1)):
                for _ in ("the one that is active first", "the other one"):
                    active = cluster.active()
                    cluster.kill(active)
                    cluster.active(but=active)
                    wait_until_they_go_on(manifest)
                    mend(cluster)
                (standby,) = (
                    name for name, state in cluster.ha_states().items() if state == "standby"
                )
                others = [
                    name for name in cluster.names if name.startswith(("journalnode", "zkfc"))
                ]
                kill_and_restart(cluster, manifest, [standby])
                for name in others:
                    cluster.kill(name)
                    cluster.active(timeout_s=TIMEOUT_S)
                    wait_until_they_go_on(manifest)
                    mend(cluster)
                kill_and_restart(
                    cluster, manifest, [f"datanode{number}" for number in range(datanodes)]
                )


@pytest.mark.req("OS-005")
@pytest.mark.torture
@pytest.mark.timeout(1200)
def test_groups_are_made_whole_though_servers_are_killed_meanwhile() -> None:
    """What a datanode had is being made anew when another datanode and the namenode are killed."""
    datanodes = UNITS[RS] + 2
    with MiniCluster(datanodes=datanodes, namenodes=2, conf=CONF) as cluster:
        for number in range(times(2)):
            with at_work(cluster, RS, f"/{number}") as manifest:
                first, second = f"datanode{number}", f"datanode{number + 2}"
                cluster.kill(first)
                before = finalized(cluster)
                begun = made_anew(cluster, before, first)
                wait_until(
                    partial(are_more_made_anew, cluster, before, first, begun),
                    TIMEOUT_S,
                    "datanodes make anew what was lost",
                )
                cluster.kill(second)
                active = cluster.active()
                cluster.kill(active)
                cluster.active(but=active, timeout_s=TIMEOUT_S)
                wait_until_they_go_on(manifest)
                mend(cluster)


def made_anew(cluster: MiniCluster, before: dict[int, set[int]], lost: str) -> int:
    """How many of the groups have all that they had without a datanode that is lost."""
    now = finalized(cluster, [lost])
    return sum(indices <= now.get(group, set()) for group, indices in before.items())


def are_more_made_anew(
    cluster: MiniCluster, before: dict[int, set[int]], lost: str, begun: int
) -> bool:
    return made_anew(cluster, before, lost) > begun
