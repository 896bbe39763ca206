"""MB/s written and read, and the datanodes' CPU time a GB, at 1 and 3 replicas.

One file (1 GiB of random bytes, 256 MiB with --quick) goes from the page cache
of this machine into the cluster and comes back, by three clients: Hadoop's Java
client (one warm JVM), ours, and hdfs-native. MB are millions of bytes. Closing
is part of writing; data reaches the datanodes' page cache, as HDFS promises, and
the disks later.

Peers: the same client on Hadoop's namenode and datanodes, and hdfs-native on our
servers. The floor, in turn with them, is the same file copied (or read) locally:
what the machine asks for one more copy in its page cache, which on a virtual
machine that gives free memory back to its host can be most of the cost.

CPU time is what all processes of a datanode used, user and system, over a
transfer by the Java client, the median of its repeats; at three replicas it is
the mean of the three datanodes for writing, and the sum for reading, since
whichever is chosen serves.
"""

from __future__ import annotations

import random
import shutil
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from apache import ApacheCluster, NoPeer
from file_clients import (
    BUFFER_BYTES,
    FileClient,
    java_client,
    native_client,
    our_client,
    own_cpu_s,
)
from harness import (
    MB,
    CpuTime,
    Options,
    Results,
    Skipped,
    figure,
    group_cpu,
    main,
    progress,
    scratch,
)
from jvm import Jvm

import howdah
from howdah.config import Configuration
from howdah.java import NoJava
from howdah.testing.minicluster import MiniCluster
from howdah.testing.spark import NoSpark

REPLICAS = (1, 3)
DATANODES = 3
BLOCK_BYTES = 128 << 20
PATH = "/bench.bin"
OURS = "howdah"
APACHE = "on Hadoop's servers"
FLOOR = ("a file", "local")


@dataclass(slots=True)
class Cluster:
    """Servers under measurement; `pids` are those of the datanodes."""

    uri: str
    conf: Configuration
    pids: list[int]
    cpu: dict[str, list[CpuTime]] = field(default_factory=dict)

    def used(self) -> CpuTime | None:
        found = [group_cpu(pid) for pid in self.pids]
        if None in found:
            return None
        times = [time for time in found if time is not None]
        return CpuTime(sum(t.user_s for t in times), sum(t.system_s for t in times))


def measure(options: Options) -> Results:
    size = (256 << 20) if options.quick else (1 << 30)
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "transfer"))
        local = base / "local"
        _fill(local, size)
        cluster = stack.enter_context(MiniCluster(datanodes=DATANODES, dir=base / "howdah"))
        pids = [server.pid for server in cluster.processes if server.role == "datanode"]
        clusters = {OURS: Cluster(cluster.uri, cluster.conf, [pid for pid in pids if pid])}
        try:
            peer = stack.enter_context(ApacheCluster(base / "apache", DATANODES))
        except NoPeer as error:
            yield Skipped(APACHE, str(error))
        else:
            nodes = [peer.pid(f"datanode{number}") for number in range(DATANODES)]
            clusters[APACHE] = Cluster(peer.uri, peer.conf, nodes)
        jvm: Jvm | None = None
        try:
            jvm = stack.enter_context(Jvm(base / "jvm"))
        except (NoJava, NoSpark) as error:
            yield Skipped("Java client", error.message)
        for replicas in REPLICAS:
            yield from _replicated(options, clusters, jvm, local, replicas)


def _fill(path: Path, size: int) -> None:
    """Random bytes, of which a mebibyte repeats: what the clients do hardly depends on it."""
    with open("/dev/urandom", "rb") as source:
        piece = source.read(1 << 20)
    with path.open("wb") as out:
        for _ in range(size // len(piece)):
            out.write(piece)


def _rate(size: int, run: Callable[[], object]) -> float:
    before_s = time.monotonic()
    run()
    return size / MB / (time.monotonic() - before_s)


def _replicated(
    options: Options,
    clusters: Mapping[str, Cluster],
    jvm: Jvm | None,
    local: Path,
    replicas: int,
) -> Results:
    size = local.stat().st_size
    clients = {FLOOR: _local(local)}
    for where, cluster in clusters.items():
        if jvm is not None:
            clients["Java", where] = _java(jvm, cluster, local, replicas)
        clients["howdah", where] = _ours(cluster, local, replicas)
        clients["hdfs-native", where] = _native(cluster, local, replicas)
    rates: dict[tuple[str, str, str], list[float]] = {}
    warm_up = 2
    for number in range(warm_up + options.repeats(7, 2)):
        # Who comes after whom matters: what one frees, the next one has at hand.
        order = random.Random(number).sample(list(clients), len(clients))
        for client, where in order:
            calls = clients[client, where]
            progress(f"{replicas} replicas: {client} {where}, round {number + 1}")
            for act, call in (("write", calls.write), ("read", calls.read)):
                servers = clusters.get(where)
                before = servers.used() if servers else None
                rate = _rate(size, call)
                after = servers.used() if servers else None
                if number < warm_up:
                    continue
                rates.setdefault((client, act, where), []).append(rate)
                if client == "Java" and servers and before is not None and after is not None:
                    servers.cpu.setdefault(f"{act} {replicas}", []).append(after - before)
            # Or all copies together would fill the page cache, and wait for the disk.
            calls.remove()
    yield from _rates(rates, replicas)
    yield from _cpu(clusters, replicas, size)


def _rates(rates: Mapping[tuple[str, str, str], list[float]], replicas: int) -> Results:
    targets = {("Java", "write", 1): "≥ 700", ("Java", "read", 1): "≥ 1,500"}
    for act in ("write", "read"):
        for client in ("Java", "howdah", "hdfs-native"):
            own = rates.get((client, act, OURS))
            if own is None:
                continue
            peers = {APACHE: rates.get((client, act, APACHE), [])}
            if client != "hdfs-native":
                peers["hdfs-native"] = rates["hdfs-native", act, OURS]
            peers["floor: a local copy" if act == "write" else "floor: a local read"] = rates[
                FLOOR[0], act, FLOOR[1]
            ]
            yield figure(
                f"{act}, {client} client, {replicas} replica{'s' if replicas > 1 else ''}",
                "MB/s",
                own,
                peers,
                target=targets.get((client, act, replicas), ""),
            )


def _cpu(clusters: Mapping[str, Cluster], replicas: int, size: int) -> Results:
    for act in ("write", "read"):
        name = f"{act} {replicas}"
        nodes = replicas if act == "write" else 1
        gb = size / 1e9 * nodes
        own = clusters[OURS].cpu.get(name)
        if own is None:
            yield Skipped(f"datanode CPU, {name}", "the system does not tell, or there is no Java")
            continue
        peers = {
            where: [used.total_s / gb for used in cluster.cpu.get(name, [])]
            for where, cluster in clusters.items()
            if where != OURS
        }
        user = statistics.median(used.user_s for used in own) / gb
        system = statistics.median(used.system_s for used in own) / gb
        yield figure(
            f"datanode CPU, {act}, {replicas} replica{'s' if replicas > 1 else ''} "
            f"({user:.2f} user + {system:.2f} system)",
            "s/GB",
            [used.total_s / gb for used in own],
            peers,
        )


# -- the clients ----------------------------------------------------------------------


def _local(local: Path) -> FileClient:
    copy = local.with_suffix(".copy")
    buffer = bytearray(BUFFER_BYTES)

    def read() -> None:
        with copy.open("rb", buffering=0) as source:
            while source.readinto(buffer):
                continue

    return FileClient(lambda: shutil.copyfile(local, copy), read, copy.unlink, own_cpu_s)


def _java(jvm: Jvm, cluster: Cluster, local: Path, replicas: int) -> FileClient:
    values = {"dfs.replication": str(replicas), "dfs.blocksize": str(BLOCK_BYTES)}
    return java_client(jvm, cluster.conf, values, local, f"{PATH}.java{replicas}")


def _ours(cluster: Cluster, local: Path, replicas: int) -> FileClient:
    fs = howdah.connect(cluster.uri, conf=cluster.conf)
    path = f"{PATH}.howdah{replicas}"
    return our_client(fs, local, path, replication=replicas, block_size=BLOCK_BYTES)


def _native(cluster: Cluster, local: Path, replicas: int) -> FileClient:
    path = f"{PATH}.native{replicas}"
    return native_client(
        cluster.uri, cluster.conf, local, path, replication=replicas, block_size=BLOCK_BYTES
    )


if __name__ == "__main__":
    main(measure)
