"""Six datanodes on three racks, and what happens to machines: the cluster heals by itself.

Each test does one kind of damage while a writer and a reader go on, and waits until every
block of every file has three sound replicas on two racks or more again, and no disk has
anything else. How long that took is printed (`pytest -rP`).
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.fs.api import FileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.replicas import BEING_WRITTEN, ReplicaFile, blocks_of, replica_files
from tests.support.small_disks import NotMounted, fill, small_disks

pytestmark = pytest.mark.timeout(300)

MIB = 1 << 20
RACKS = ["/a", "/b", "/c"]
SMALL_DISK_BYTES = 128 * MIB
STATIC_FILES = 6
TRAFFIC_FILES = 8
PATIENCE_S = 120
CONF: dict[str, str | int] = {
    "dfs.blocksize": MIB,
    "dfs.heartbeat.interval": "200ms",
    "dfs.namenode.heartbeat.recheck-interval": "1s",
    "dfs.namenode.redundancy.interval.seconds": "200ms",
    "dfs.namenode.reconstruction.pending.timeout-sec": "5s",
    "dfs.datanode.scan.period.hours": "1s",
    "dfs.block.scanner.volume.bytes.per.second": "1g",
    "dfs.datanode.directoryscan.interval": "1s",
    "dfs.datanode.failed.volumes.tolerated": 1,
    "dfs.client.socket-timeout": "2s",
    "ipc.client.connect.max.retries": 1,
}


@dataclass
class Traffic:
    """Files that are there for good, a writer that makes and deletes others, and a reader.

    `content` has the files that have been closed and not been deleted.
    """

    cluster: MiniCluster
    content: dict[str, bytes] = field(default_factory=dict)
    written: int = 0
    read: int = 0
    begun_s: float = 0.0
    _threads: list[Future[None]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _over: threading.Event = field(default_factory=threading.Event)

    def put_static(self, fs: FileSystem) -> None:
        for number in range(STATIC_FILES):
            data = random.Random(number).randbytes(2 * MIB + 1000 * number + 7)
            path = f"/static/{number}"
            with fs.create(path, replication=3) as out:
                out.write(data)
            self.content[path] = data

    @contextlib.contextmanager
    def going_on(self) -> Iterator[None]:
        """Both threads work until the end; what went wrong in them is raised."""
        self._over.clear()
        self.written = self.read = 0
        self.begun_s = time.monotonic()
        with ThreadPoolExecutor(2) as pool:
            self._threads = [pool.submit(self._work, each) for each in (self._write, self._read)]
            try:
                yield
                self.wait_for_files(1)
            finally:
                self._over.set()
        for thread in self._threads:
            thread.result()

    def wait_for_files(self, count: int) -> None:
        """Until so many have been written, or there will be no more."""
        wait_until(
            lambda: (self.written >= count and self.read) or any(t.done() for t in self._threads),
            PATIENCE_S,
        )

    def _work(self, work: Callable[[FileSystem], None]) -> None:
        with self.cluster.connect() as fs:
            work(fs)

    def _write(self, fs: FileSystem) -> None:
        dice = random.Random(time.monotonic_ns())
        for number in range(1 << 30):
            if self._over.is_set():
                return
            path = f"/traffic/{dice.getrandbits(64)}"
            data = dice.randbytes(dice.randrange(1, 5 * MIB // 2))
            with fs.create(path, replication=3) as out:
                for start in range(0, len(data), MIB // 4):
                    out.write(data[start : start + MIB // 4])
                    out.hflush()
                    self._over.wait(0.02)
            with self._lock:
                self.content[path] = data
                mine = [each for each in self.content if each.startswith("/traffic/")]
                oldest = mine[0] if len(mine) > TRAFFIC_FILES else None
                if oldest is not None:
                    del self.content[oldest]
            if oldest is not None:
                fs.delete(oldest)
            self.written = number + 1

    def _read(self, fs: FileSystem) -> None:
        dice = random.Random(time.monotonic_ns())
        while not self._over.wait(0.02):
            with self._lock:
                path, data = dice.choice(list(self.content.items()))
            try:
                with fs.open(path) as stream:
                    assert stream.read() == data, f"other bytes in {path}"
            except (FileNotFoundError, errors.BlockMissing):
                if path in self.content:  # else it was deleted since it was chosen
                    raise
            self.read += 1


def is_sound(replica: ReplicaFile, data: bytes) -> bool:
    """Whether its files are as they were written: a head of 7 bytes, and 4 for 512."""
    metas = list(replica.path.parent.glob(f"{replica.path.name}_*.meta"))
    try:
        sizes = [meta.stat().st_size for meta in metas]
        return replica.read_if_there() == data and sizes == [7 + 4 * -(-len(data) // 512)]
    except FileNotFoundError:
        return False


def lacks(cluster: MiniCluster, content: dict[str, bytes], racks: dict[str, str]) -> list[str]:
    """What keeps the cluster from being whole: `racks` are those of the datanodes that run."""
    found: dict[int, list[ReplicaFile]] = {}
    problems = []
    for state in ("finalized", BEING_WRITTEN):
        for replica in replica_files(cluster, state=state):
            if replica.datanode in racks:
                found.setdefault(replica.block_id, []).append(replica)
    for path, data in content.items():
        pieces = [data[start : start + MIB] for start in range(0, len(data), MIB)]
        for block, piece in zip(blocks_of(cluster, path), pieces, strict=True):
            replicas = found.pop(block, [])
            nodes = [replica.datanode for replica in replicas]
            if len(nodes) != 3 or len(set(nodes)) != 3:
                problems.append(f"block {block} of {path} is on {nodes}")
            elif len({racks[node] for node in nodes}) < 2:
                problems.append(f"block {block} of {path} is on one rack: {nodes}")
            elif not all(is_sound(replica, piece) for replica in replicas):
                problems.append(f"a replica of block {block} of {path} is damaged")
    problems += [f"{[str(r.path) for r in left]} belong to no file" for left in found.values()]
    return problems


def wait_until_whole(
    cluster: MiniCluster,
    traffic: Traffic,
    racks: dict[str, str],
    damage: str,
) -> None:
    """With nobody writing: full redundancy, rack-right, nothing lost and nothing left over."""
    problems = ["nobody has looked yet"]

    def is_whole() -> bool:
        nonlocal problems
        problems = lacks(cluster, traffic.content, racks)
        return not problems

    try:
        wait_until(is_whole, PATIENCE_S)
    except AssertionError:
        pytest.fail(f"not healed in {PATIENCE_S} s: {problems}")
    wait_until(lambda: is_healthy(cluster), PATIENCE_S, "fsck finds nothing")
    print(
        f"{damage}: whole {time.monotonic() - traffic.begun_s:.1f} s later; "
        f"{traffic.written} files written and {traffic.read} read meanwhile"
    )


def is_healthy(cluster: MiniCluster) -> bool:
    """What the namenode itself has to say."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = main(["fsck", "--conf", str(cluster.conf_dir), "/", "--json"])
    return code == 0 and bool(json.loads(said.getvalue())["status"] == "HEALTHY")


def running(cluster: MiniCluster, *gone: str) -> dict[str, str]:
    """The racks of the datanodes but these."""
    names = [name for name in cluster.names if name.startswith("datanode")]
    racks = {name: RACKS[number % len(RACKS)] for number, name in enumerate(names)}
    return {name: rack for name, rack in racks.items() if name not in gone}


def wait_until_dead(cluster: MiniCluster, count: int) -> None:
    with cluster.connect() as fs:
        wait_until(lambda: len(fs.datanode_report("dead")) == count, 60)


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path | None]]:
    """The cluster's directory, and a volume of datanode0 that can be full, where one can be
    mounted."""
    directory = tmp_path_factory.mktemp("healing")
    with small_disks(SMALL_DISK_BYTES) as mount:
        try:
            yield directory, mount(directory / "datanode0" / "data0")
        except NotMounted:
            (directory / "datanode0" / "data0").rmdir()
            yield directory, None


@pytest.fixture(scope="module")
def cluster(small_disk: tuple[Path, Path | None]) -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=6, racks=RACKS, volumes=2, conf=CONF, dir=small_disk[0]) as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def all_run(cluster: MiniCluster) -> Iterator[None]:
    """Also after a test that failed."""
    yield
    for server in cluster.processes:
        if not server.alive:
            cluster.restart(server.name)


@pytest.fixture(scope="module")
def traffic(cluster: MiniCluster) -> Traffic:
    traffic = Traffic(cluster)
    with cluster.connect() as fs:
        traffic.put_static(fs)
    return traffic


@pytest.mark.req("FS-003", "FS-015")
def test_datanodes_that_die_are_replaced_and_superfluous_when_they_are_back(
    cluster: MiniCluster, traffic: Traffic
) -> None:
    for victims in (["datanode1"], ["datanode2", "datanode5"]):
        with traffic.going_on():
            cluster.kill(*victims)
            wait_until_dead(cluster, len(victims))
        what = " and ".join(victims)
        wait_until_whole(cluster, traffic, running(cluster, *victims), f"{what} killed")
        with traffic.going_on():
            for name in victims:
                cluster.restart(name)
            wait_until_dead(cluster, 0)
        wait_until_whole(cluster, traffic, running(cluster), f"{what} back")


def test_a_node_that_freezes_and_comes_back_with_what_it_had_harms_nothing(
    cluster: MiniCluster, traffic: Traffic
) -> None:
    with traffic.going_on():
        cluster.pause("datanode3")
        try:
            wait_until_dead(cluster, 1)
            traffic.wait_for_files(3)
        finally:
            cluster.resume("datanode3")
        wait_until_dead(cluster, 0)
    wait_until_whole(cluster, traffic, running(cluster), "datanode3 was frozen")


@pytest.mark.req("FS-100")
def test_bits_that_rot_are_found_and_mended(cluster: MiniCluster, traffic: Traffic) -> None:
    with traffic.going_on():
        victims = [blocks_of(cluster, f"/static/{n}")[n % 3] for n in range(STATIC_FILES)]
        for number, block in enumerate(victims):
            replica, other, _ = replica_files(cluster, [block])
            replica.flip(number)
            if number % 2:
                other.meta_path.write_bytes(other.meta_path.read_bytes()[:-1])
    wait_until_whole(cluster, traffic, running(cluster), "bits flipped")


def test_a_disk_that_is_wiped_costs_no_more_than_what_was_on_it(
    cluster: MiniCluster, traffic: Traffic
) -> None:
    volume = cluster.data_dirs("datanode4")[1]

    def is_removed() -> bool:
        shutil.rmtree(volume, ignore_errors=True)
        return not volume.exists()

    with traffic.going_on():
        wait_until(is_removed)
    wait_until_whole(cluster, traffic, running(cluster), "a disk wiped")
    with traffic.going_on():
        cluster.restart("datanode4")
    wait_until_whole(cluster, traffic, running(cluster), "with an empty one")


def test_a_full_disk_is_written_around(
    cluster: MiniCluster,
    traffic: Traffic,
    small_disk: tuple[Path, Path | None],
) -> None:
    disk = small_disk[1]
    if disk is None:
        pytest.skip("a small disk cannot be mounted here")
    with traffic.going_on():
        hog = fill(disk)
        traffic.wait_for_files(4)
    wait_until_whole(cluster, traffic, running(cluster), "a disk filled")
    hog.unlink()


@pytest.mark.req("FS-143")
def test_blocks_follow_when_racks_are_others(cluster: MiniCluster, traffic: Traffic) -> None:
    hosts = [line.split()[0] for line in (cluster.dir / "racks.txt").read_text().splitlines()]
    names = [name for name in cluster.names if name.startswith("datanode")]
    now = dict(zip(names, ["/x", "/x", "/x", "/x", "/y", "/y"], strict=True))
    table = "".join(f"{host} {now[name]}\n" for host, name in zip(hosts, names, strict=True))
    with traffic.going_on():
        (cluster.dir / "racks.txt").write_text(table)
        assert main(["-fs", cluster.uri, "dfsadmin", "-refreshNodes"]) == 0
    wait_until_whole(cluster, traffic, now, "racks changed")
