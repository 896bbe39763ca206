"""MB/s of moves for balance: our balancer and Hadoop's, on our datanodes.

Three datanodes on disks in memory, of which one has all the blocks; the balancer brings them to
one level. Counted is from the first byte that arrives to the last, over what arrived: neither
the start of a JVM nor the pauses between iterations. The limits of bandwidth are out of the way.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from arrivals import Arrivals
from harness import CACHE, Options, Results, Skipped, figure, in_turn, main, progress

from howdah.balancer.namenode import BalancedNamenode
from howdah.balancer.state.utilization import Rules, survey
from howdah.cli.main import main as howdah
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.java import NoJava
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.hadoop.jars import NoHadoop, hadoop_class_path
from tests.support.hadoop.java import hadoop_java
from tests.support.small_disks import MIB, NotMounted, small_disks

NODES = 3
BLOCK = 16 * MIB
MAIN = "org.apache.hadoop.hdfs.server.balancer.Balancer"
CONF: dict[str, str | int] = {
    "dfs.blocksize": BLOCK,
    "dfs.heartbeat.interval": "200ms",
    "dfs.namenode.redundancy.interval.seconds": "200ms",
    "dfs.datanode.balance.bandwidthPerSec": "100g",
}
_TIMEOUT_S = 300.0


@contextlib.contextmanager
def uneven(directory: Path, disk_bytes: int) -> Iterator[MiniCluster]:
    """One datanode has a disk that is two thirds full, the others are empty."""
    with small_disks(disk_bytes) as mount:
        for number in range(NODES):
            mount(directory / f"datanode{number}" / "data0")
        with MiniCluster(datanodes=NODES, conf=CONF, dir=directory) as cluster:
            for number in range(1, NODES):
                cluster.stop(f"datanode{number}")
            data = os.urandom(BLOCK)
            with cluster.connect() as fs:
                for number in range(disk_bytes * 2 // 3 // BLOCK):
                    with fs.create(f"/file{number}", replication=1) as out:
                        out.write(data)
                for number in range(1, NODES):
                    cluster.start(f"datanode{number}")
                assert isinstance(fs, HdfsFileSystem)
                namenode = BalancedNamenode(fs)
                wait_until(
                    lambda: survey(namenode.reports(), Rules()).left_bytes > disk_bytes // 4,
                    _TIMEOUT_S,
                )
                namenode.close()
            yield cluster


def ours(cluster: MiniCluster) -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = howdah(["balancer", "--conf", str(cluster.conf_dir), "--json"])
    assert status == 0, said.getvalue()


def hadoops(class_path: str) -> Callable[[MiniCluster], None]:
    def run(cluster: MiniCluster) -> None:
        command = [*hadoop_java(class_path, cluster.conf_dir), MAIN]
        subprocess.run(command, check=True, capture_output=True, timeout=_TIMEOUT_S)

    return run


def measure(options: Options) -> Results:
    disk_bytes = (384 if options.quick else 1536) * MIB

    def timed(balance: Callable[[MiniCluster], None]) -> Callable[[], float]:
        def run() -> float:
            with (
                tempfile.TemporaryDirectory(dir=options.dir) as directory,
                uneven(Path(directory), disk_bytes) as cluster,
            ):
                arrivals = Arrivals(cluster, [f"datanode{number}" for number in range(1, NODES)])
                try:
                    balance(cluster)
                finally:
                    speed = arrivals.mb_per_s()
            return speed

        return run

    name = "moves for balance, 3 datanodes"
    runs = {"howdah": timed(ours)}
    try:
        runs["Hadoop's balancer"] = timed(hadoops(hadoop_class_path(CACHE)))
    except (NoHadoop, NoJava) as error:
        progress(f"no Hadoop: {error}")
    try:
        found = in_turn(runs, options.repeats(5, 1), warm_up=0)
    except NotMounted as error:
        yield Skipped(name, str(error))
        return
    yield figure(name, "MB/s", found.pop("howdah"), found)


if __name__ == "__main__":
    main(measure)
