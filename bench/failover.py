"""How long a failover takes, and what the quorum costs (FS-063, FS-064, FS-174, LM-014).

Two namenodes, three journal nodes, automatic failover; on our side elections on the journal
nodes, and with a ZooKeeper as Hadoop has it. All have the same settings: health is looked at
every 200 ms, a session or lease in the election lasts as long. Our client asks in both cases,
with the same pauses.

- killed: `kill -9` of the active namenode to the next edit that is acknowledged
- stopped: the same for SIGSTOP, where the controller has to wait for a time-out
- graceful: `haadmin -failover`, the longest time in which no edit of four clients in a loop
  is acknowledged
- tailing lag: an edit is acknowledged, until a standby has applied it
- create+close: of empty files, one client in a loop; the peer is one namenode with a local log

Peer: Hadoop's namenodes, journal nodes and controllers with a ZooKeeper; the datanode is ours.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise

from apache import NoPeer, require
from harness import CACHE, Options, Results, Skipped, figure, main, progress

from howdah.config.value_types import parse_address
from howdah.fs.api import FileSystem
from howdah.proto import namenode_pb2 as pb
from howdah.rpc.client import RpcClient
from howdah.testing.minicluster import MiniCluster
from tests.support.failover import server_faults
from tests.support.hadoop.jars import hadoop_class_path
from tests.support.hadoop.mixed import MixedCluster

OURS, OURS_ZOOKEEPER, APACHE = "howdah", "howdah with ZooKeeper", "Hadoop's pair"
NAMENODES = 2
HADOOPS = [
    *(f"namenode{number}" for number in range(NAMENODES)),
    *(f"zkfc{number}" for number in range(NAMENODES)),
    *(f"journalnode{number}" for number in range(3)),
]
SETTINGS: dict[str, str | int] = {
    "ha.zookeeper.session-timeout.ms": 2000,
    "howdah.ha.election.lease.ms": 2000,
    # For who is stopped: how long the monitor and the fencing wait for an answer.
    "ha.health-monitor.rpc-timeout.ms": 2000,
    "ha.failover-controller.graceful-fence.rpc-timeout.ms": 1000,
}
CLIENTS = 4
NAMENODE_PROTOCOL = "org.apache.hadoop.hdfs.server.protocol.NamenodeProtocol"


def measure(options: Options) -> Results:
    repeats = options.repeats(7, 2)
    files = 200 if options.quick else 1000
    with ExitStack() as stack:
        clusters: dict[str, MiniCluster] = {}
        clusters[OURS] = stack.enter_context(
            MiniCluster(datanodes=1, namenodes=NAMENODES, conf=SETTINGS)
        )
        clusters[OURS_ZOOKEEPER] = stack.enter_context(
            MiniCluster(datanodes=1, namenodes=NAMENODES, zookeeper=True, conf=SETTINGS)
        )
        try:
            require()
            progress("Hadoop's namenodes, journal nodes and controllers start")
            clusters[APACHE] = stack.enter_context(
                MixedCluster(hadoop_class_path(CACHE), HADOOPS, datanodes=1, conf=SETTINGS)
            )
        except NoPeer as error:
            yield Skipped(APACHE, str(error))
        kinds: dict[str, tuple[Callable[[MiniCluster], float], str]] = {
            "kill -9 to the next edit": (killed, "under 3, and a third of Hadoop's"),
            "SIGSTOP to the next edit": (stopped, ""),
            "graceful failover, without edits": (graceful, "under 0.3"),
            "tailing lag": (tailing_lag, ""),
        }
        for name, (run, target) in kinds.items():
            values: dict[str, list[float]] = {each: [] for each in clusters}
            for number in range(repeats):
                for each, cluster in clusters.items():
                    values[each].append(run(cluster))
                    progress(f"{name}, {number}, {each}: {values[each][-1]:.3f} s")
            mine = values.pop(OURS)
            yield figure(name, "s", mine, values, target=target)
        single = stack.enter_context(MiniCluster(datanodes=1))
        rates: dict[str, list[float]] = {}
        for _ in range(repeats):
            for each, cluster in {**clusters, "howdah, a local log": single}.items():
                rates.setdefault(each, []).append(create_rate(cluster, files))
        mine = rates.pop(OURS)
        yield figure("create+close, one client", "/s", mine, rates)


def killed(cluster: MiniCluster) -> float:
    return until_next_edit(cluster, cluster.kill)


def stopped(cluster: MiniCluster) -> float:
    old = cluster.active()
    took_s = until_next_edit(cluster, cluster.pause)
    cluster.resume(old)
    server_faults.settle(cluster, old)
    return took_s


def until_next_edit(cluster: MiniCluster, disturb: Callable[[str], None]) -> float:
    with cluster.connect() as fs:
        fs.mkdirs("/warm")
        old = cluster.active()
        begin = time.monotonic()
        disturb(old)
        fs.mkdirs(f"/edit-{begin}")
        took_s = time.monotonic() - begin
    cluster.active(but=old)
    if not cluster.process(old).alive:
        cluster.restart(old)
    return took_s


def graceful(cluster: MiniCluster) -> float:
    moments: list[float] = []
    ends = threading.Event()

    def work(number: int) -> None:
        with cluster.connect() as fs:
            while not ends.is_set():
                fs.mkdirs(f"/graceful/{number}/{len(moments)}")
                moments.append(time.monotonic())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        server_faults.fail_over(cluster)
    finally:
        ends.set()
        for thread in threads:
            thread.join()
    moments.sort()
    return max(after - before for before, after in pairwise(moments))


def tailing_lag(cluster: MiniCluster) -> float:
    """The median of some edits; each is asked for when the one before has arrived."""
    active = cluster.active()
    standby = next(name for name, state in cluster.ha_states().items() if state == "standby")
    lags = []
    with cluster.connect() as fs:
        for number in range(10):
            fs.mkdirs(f"/lag/{number}-{time.monotonic()}")
            begin = time.monotonic()
            wanted = last_txid(cluster, active)
            while last_txid(cluster, standby) < wanted:
                time.sleep(0.001)
            lags.append(time.monotonic() - begin)
    return statistics.median(lags)


def last_txid(cluster: MiniCluster, name: str) -> int:
    client = RpcClient(parse_address(cluster.process(name).addresses["rpc"]), NAMENODE_PROTOCOL)
    try:
        answer = client.call(
            "getTransactionId", pb.GetTransactionIdRequestProto(), pb.GetTransactionIdResponseProto
        )
    finally:
        client.close()
    return int(answer.txId)


def create_rate(cluster: MiniCluster, files: int) -> float:
    with cluster.connect() as fs:
        for path in _paths(fs, files // 10):
            fs.create(path).close()
        begin = time.monotonic()
        for path in _paths(fs, files):
            fs.create(path).close()
        return files / (time.monotonic() - begin)


def _paths(fs: FileSystem, count: int) -> Iterator[str]:
    directory = f"/create/{time.monotonic()}"
    fs.mkdirs(directory)
    return (f"{directory}/{number}" for number in range(count))


if __name__ == "__main__":
    main(measure)
