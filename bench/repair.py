"""MB/s of repair: a datanode of four dies, and what it had is copied among the others.

Ours, and Hadoop's namenode and datanodes, on disks in memory and under the same limits, which are
out of the way. Counted is from the first byte that arrives to the last, over what arrived: not
the time until the datanode counts as dead.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path

from arrivals import Arrivals
from harness import CACHE, Options, Results, Skipped, figure, in_turn, main, progress

from howdah.java import NoJava
from howdah.testing.waiting import wait_until
from tests.support.hadoop.jars import NoHadoop, hadoop_class_path
from tests.support.hadoop.mixed import MixedCluster
from tests.support.replicas import replica_files
from tests.support.small_disks import MIB, NotMounted, small_disks

NODES = 4
BLOCK = 16 * MIB
NAMES = [f"datanode{number}" for number in range(NODES)]
CONF = {
    "dfs.blocksize": BLOCK,
    "dfs.heartbeat.interval": 1,
    "dfs.namenode.heartbeat.recheck-interval": 500,
    "dfs.namenode.redundancy.interval.seconds": 1,
    "dfs.namenode.replication.work.multiplier.per.iteration": 1000,
    "dfs.namenode.replication.max-streams": 1000,
    "dfs.namenode.replication.max-streams-hard-limit": 1000,
    "dfs.namenode.reconstruction.pending.timeout-sec": 300,
    "dfs.datanode.max.transfer.threads": 4096,
    # Hadoop leaves a GiB free else.
    "dfs.datanode.round-robin-volume-choosing-policy.additional-available-space": 0,
}
_TIMEOUT_S = 300.0


def repaired(servers: Collection[str], class_path: str, directory: Path, size: int) -> float:
    """MB/s of one repair; `servers` are those that are Hadoop's."""
    with small_disks(size * 3) as mount:
        for name in NAMES:
            mount(directory / name / "data0")
        with (
            MixedCluster(
                class_path, servers, namenodes=1, datanodes=NODES, conf=CONF, dir=directory
            ) as cluster,
            cluster.connect() as fs,
        ):
            data = os.urandom(BLOCK)
            count = size * NODES // 2 // BLOCK
            for number in range(count):
                with fs.create(f"/file{number}", replication=2) as out:
                    out.write(data)
            wait_until(lambda: len(replica_files(cluster)) == count * 2, _TIMEOUT_S)
            # The one that counts as the writer's own has more than others: that one dies.
            held = Counter(replica.datanode for replica in replica_files(cluster))
            victim, lost = held.most_common(1)[0]
            arrivals = Arrivals(cluster, [name for name in NAMES if name != victim])
            try:
                cluster.kill(victim)
                wait_until(lambda: len(replica_files(cluster)) == count * 2 + lost, _TIMEOUT_S)
            finally:
                speed = arrivals.mb_per_s()
            return speed


def measure(options: Options) -> Results:
    size = (256 if options.quick else 1024) * MIB
    name = "repair after the loss of one of 4 datanodes"

    def timed(servers: Collection[str], class_path: str) -> Callable[[], float]:
        def run() -> float:
            with tempfile.TemporaryDirectory(dir=options.dir) as directory:
                return repaired(servers, class_path, Path(directory), size)

        return run

    runs = {"howdah": timed([], "")}
    try:
        runs["Apache"] = timed(["namenode", *NAMES], hadoop_class_path(CACHE))
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
