"""Our datanodes under Hadoop's namenode: it heals, empties and balances them, and they scan.

Four datanodes of ours on small disks. Hadoop's namenode opens the directory that ours formatted.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.balancer.namenode import BalancedNamenode
from howdah.balancer.state.utilization import Rules, survey
from howdah.cli.main import main
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing.waiting import wait_until
from tests.support.hadoop.mixed import MixedCluster
from tests.support.replicas import ReplicaFile, replicas_of
from tests.support.small_disks import NotMounted, small_disks

pytestmark = pytest.mark.timeout(300)

MIB = 1 << 20
DATANODES = 4
NAMES = [f"datanode{number}" for number in range(DATANODES)]
DATA = random.Random(71).randbytes(MIB + 12_345)
PATIENCE_S = 90
CONF: dict[str, str | int] = {
    "dfs.blocksize": MIB,
    # Hadoop's knows whole seconds only.
    "dfs.heartbeat.interval": 1,
    "dfs.namenode.heartbeat.recheck-interval": 500,
    "dfs.namenode.redundancy.interval.seconds": 1,
    "dfs.namenode.decommission.interval": 1,
    "dfs.datanode.scan.period.hours": "1s",
    "dfs.block.scanner.volume.bytes.per.second": 1 << 30,
    "dfs.balancer.getBlocks.min-block-size": 1,
    "dfs.balancer.movedWinWidth": 1,
    "ipc.client.connect.max.retries": 1,
}


class Scene:
    def __init__(self, cluster: MixedCluster, fs: HdfsFileSystem, excluded: Path) -> None:
        self.cluster, self.fs, self.excluded = cluster, fs, excluded

    def write(self, path: str, replication: int) -> None:
        with self.fs.create(path, replication=replication) as out:
            out.write(DATA)
        wait_until(partial(self.has, path, replication))

    def replicas(self, path: str) -> list[list[ReplicaFile]]:
        return replicas_of(self.cluster, path)

    def has(self, path: str, count: int, *but: str) -> bool:
        """Whether each block has so many sound replicas, not counting some datanodes."""
        pieces = [DATA[:MIB], DATA[MIB:]]
        return all(
            [r.read_if_there() for r in found if r.datanode not in but] == [piece] * count
            for found, piece in zip(self.replicas(path), pieces, strict=True)
        )

    def exclude(self, text: str) -> None:
        self.excluded.write_text(text)
        assert main(["-fs", self.cluster.uri, "dfsadmin", "-refreshNodes"]) == 0

    def state(self, address: str) -> str:
        return {n.name: n.admin_state for n in self.fs.datanode_report("all")}[address]

    def live(self) -> int:
        return len(self.fs.datanode_report("live"))


@pytest.fixture(scope="module")
def scene(hadoop_classpath: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("under-hadoop")
    excluded = directory / "exclude"
    excluded.write_text("")
    conf = {**CONF, "dfs.hosts.exclude": str(excluded)}
    with small_disks(64 * MIB) as mount, contextlib.ExitStack() as stack:
        try:
            for name in NAMES:
                mount(directory / name / "data0")
        except NotMounted as error:
            pytest.skip(str(error))
        cluster = stack.enter_context(
            MixedCluster(
                hadoop_classpath,
                ["namenode"],
                namenodes=1,
                datanodes=DATANODES,
                conf=conf,
                dir=directory,
                https=True,
            )
        )
        fs = stack.enter_context(cluster.connect())
        assert isinstance(fs, HdfsFileSystem)
        yield Scene(cluster, fs, excluded)


@pytest.mark.req("FS-003", "FS-015")
def test_it_has_replicas_copied_when_a_datanode_dies_and_deleted_when_it_is_back(
    scene: Scene,
) -> None:
    scene.write("/healed", 3)
    victim = scene.replicas("/healed")[0][0].datanode
    scene.cluster.kill(victim)
    wait_until(lambda: scene.has("/healed", 3, victim), PATIENCE_S, "three replicas elsewhere")
    scene.cluster.restart(victim)
    wait_until(lambda: scene.live() == DATANODES, PATIENCE_S)
    wait_until(lambda: scene.has("/healed", 3), PATIENCE_S, "the fourth one is deleted")


@pytest.mark.req("FS-100")
def test_it_hears_of_damage_that_our_scanner_finds(scene: Scene) -> None:
    scene.write("/rotten", 3)
    scene.replicas("/rotten")[0][1].flip(77)
    wait_until(lambda: scene.has("/rotten", 3), PATIENCE_S, "three sound replicas")


def test_it_empties_a_datanode_that_is_to_leave(scene: Scene) -> None:
    for number in range(6):
        scene.write(f"/single{number}", 1)
    victim = scene.replicas("/single0")[0][0].datanode
    address = scene.cluster.process(victim).addresses["data"]
    scene.exclude(address)
    wait_until(lambda: scene.state(address) == "DECOMMISSIONED", PATIENCE_S)
    for number in range(6):
        assert scene.has(f"/single{number}", 1, victim)
    scene.exclude("")
    wait_until(lambda: scene.state(address) == "NORMAL", PATIENCE_S)
    scene.fs.delete("/single0")


def test_our_balancer_brings_its_nodes_together(scene: Scene) -> None:
    for name in NAMES[2:]:
        scene.cluster.stop(name)
    wait_until(lambda: scene.live() == 2, PATIENCE_S)
    for number in range(44):
        with scene.fs.create(f"/uneven{number}", replication=1) as out:
            out.write(DATA)
    for name in NAMES[2:]:
        scene.cluster.start(name)
    wait_until(lambda: scene.live() == DATANODES, PATIENCE_S)
    namenode = BalancedNamenode(scene.fs)

    def left_bytes() -> int:
        return survey(namenode.reports(), Rules()).left_bytes

    wait_until(lambda: left_bytes() > MIB, PATIENCE_S, "empty datanodes are known")
    assert main(["balancer", "--conf", str(scene.cluster.conf_dir), "-threshold", "10"]) == 0
    wait_until(lambda: not left_bytes(), PATIENCE_S, "datanodes have told how full they are")
    namenode.close()
    for number in range(44):
        with scene.fs.open(f"/uneven{number}") as stream:
            assert stream.read() == DATA


@pytest.mark.req("XC-003")
def test_it_takes_the_lengths_that_our_syncs_tell_it(scene: Scene) -> None:
    """It does not know that an answer may come before a length is durable."""
    with scene.fs.create("/synced", replication=1) as out:
        for end, sync in ((10, out.hflush), (700, out.hflush), (1000, out.hsync)):
            out.write(DATA[out.get_pos() : end])
            sync()
            assert scene.fs.get_file_status("/synced").length == end


@pytest.mark.req("FS-291")
def test_it_replaces_no_file_on_a_condition(scene: Scene) -> None:
    # Gateways for S3 have to notice that, and hold a lock of their own then.
    scene.write("/known", 1)
    scene.write("/new", 1)
    known = scene.fs.get_file_status("/known")
    with pytest.raises(errors.PathExists):
        scene.fs.rename_over("/new", "/known", known)
    assert scene.fs.get_file_status("/known").file_id == known.file_id
    assert scene.fs.exists("/new")


def test_its_names_come_in_the_order_of_bytes(scene: Scene) -> None:
    """It compares bytes as signed numbers, and a gateway for S3 lists from any name on."""
    names = ["a", "az", "a\xe9", "b", "dz", "d\xe9p\xf4t", "e", "\xe9", "\U0001f418", "~"]
    for name in names:
        scene.fs.write_bytes(f"/names/{name}", b"")
    own = [status.name for status in scene.fs.list_status_iter("/names")]
    assert own != sorted(names) == sorted(own)
    for after in ["", *names, "d", "dzz"]:
        behind = [status.name for status, _ in scene.fs.list_with_writers("/names", after)]
        assert behind == sorted(name for name in names if name > after)


def test_our_client_and_our_datanodes_speak_tls_with_it(scene: Scene) -> None:
    conf = scene.cluster.conf
    address = conf.raw("dfs.namenode.https-address")
    with howdah.connect(f"swebhdfs://{address}", conf=conf) as web:
        with web.create("/over-tls", replication=1) as out:
            out.write(DATA)
        with web.open("/over-tls") as file:
            assert file.read() == DATA
        scene.fs.delete("/over-tls")
        assert not web.exists("/over-tls")
