"""Erasure coding: coders, files written and read, reads that decode, and repair.

**Coders** work on cells of 1 MiB, counted by the processor time of one thread over the data that
goes in. Peers: Hadoop's coder in plain Java, and ISA-L where `pyeclib` is installed, whose wheel
brings it.

**Files** of random bytes go from the page cache into a cluster of as many datanodes as a group
has blocks, and come back, by three clients: Hadoop's Java client (one warm JVM), ours, and
hdfs-native. Then as many datanodes are killed as there is parity, and they are read again. Peers:
Hadoop's client on Hadoop's servers, and without `--quick` each client on the others. Processor time
is that of the client and of all datanodes, over the data of the file.

**Repair**: one datanode of one more than a group has blocks is killed, and what it had is made
anew. Counted is from the first byte that arrives to the last, over what arrived, and the processor
time of all datanodes meanwhile.

`HOWDAH_STRIPING="files RS-3-2"` measures some parts (`coders`, `files`, `repair`) and policies.
"""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from arrivals import Arrivals
from file_clients import FileClient, java_client, native_client, our_client
from harness import (
    CACHE,
    MB,
    Options,
    Results,
    Skipped,
    figure,
    group_cpu,
    in_turn,
    main,
    progress,
    scratch,
)
from jvm import Jvm

import howdah
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.java import NoJava, find_java_home
from howdah.protocol.striping.coder import Coder
from howdah.protocol.striping.layout import GroupLayout
from howdah.protocol.striping.policies import SYSTEM_POLICIES, Policy
from howdah.testing.spark import NoSpark
from howdah.testing.waiting import wait_until
from tests.support.hadoop.jars import NoHadoop, hadoop_class_path
from tests.support.hadoop.mixed import MixedCluster
from tests.support.replicas import replica_files
from tests.support.small_disks import MIB, NotMounted, small_disks

POLICIES = {
    policy.name: policy for policy in SYSTEM_POLICIES.values() if policy.policy_id in (1, 2)
}
PARTS = ("coders", "files", "repair")
CELL = 1 << 20
BLOCK_BYTES = 64 * MIB
OURS, HADOOP = "howdah", "Hadoop's servers"
JAVA = "Java"
_TIMEOUT_S = 300.0
CONF: dict[str, str | int | bool] = {
    "dfs.blocksize": BLOCK_BYTES,
    "dfs.heartbeat.interval": 1,
    "dfs.namenode.heartbeat.recheck-interval": 500,
    "dfs.namenode.redundancy.interval.seconds": 1,
    "dfs.namenode.redundancy.considerLoad": False,
    "dfs.datanode.max.transfer.threads": 4096,
    # Hadoop leaves a GiB free else.
    "dfs.datanode.round-robin-volume-choosing-policy.additional-available-space": 0,
}
UNBOUNDED = {
    "dfs.namenode.replication.work.multiplier.per.iteration": 1000,
    "dfs.namenode.replication.max-streams": 1000,
    "dfs.namenode.replication.max-streams-hard-limit": 1000,
    "dfs.namenode.reconstruction.pending.timeout-sec": 300,
}


def _java_options(name: str) -> Sequence[str]:
    """Undo what makes servers start quickly, for those are to run at full speed."""
    return ("-Xmx1g", "-XX:TieredStopAtLevel=4", "-XX:-UseSerialGC", "-XX:+UseG1GC")


def measure(options: Options) -> Results:
    try:
        jars = hadoop_class_path(CACHE)
        find_java_home()
    except (NoHadoop, NoJava) as error:
        yield Skipped(HADOOP, error.message)
        jars = ""
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "striping"))
        jvm: Jvm | None = None
        try:
            jvm = stack.enter_context(_jvm(base / "jvm", jars)) if jars else None
        except (NoJava, NoSpark) as error:
            yield Skipped("Java client", error.message)
        for policy in _wanted("coders"):
            yield from _coders(options, jvm, policy)
        for policy in _wanted("files"):
            yield from _files(options, base, jvm, jars, policy)
        for policy in _wanted("repair"):
            yield from _repair(options, jars, policy)


def _wanted(part: str) -> list[Policy]:
    """The policies of which a part is to be measured."""
    words = os.environ.get("HOWDAH_STRIPING", "").split()
    names = {name.rpartition("-")[0]: policy for name, policy in POLICIES.items()}
    if set(words) & set(PARTS) and part not in words:
        return []
    return [names[word] for word in words if word in names] or list(names.values())


def _jvm(directory: Path, jars: str) -> Jvm:
    """A JVM that knows `CoderLoop`, with the client of the release that the servers are of."""
    directory.mkdir(parents=True)
    compiler = find_java_home() / "bin" / "javac"
    if not compiler.exists():
        raise NoJava(f"{compiler} is missing, with which the peer's loops are compiled")
    source = Path(__file__).with_name("CoderLoop.java")
    subprocess.run(
        [str(each) for each in (compiler, "-cp", jars, "-d", directory, source)], check=True
    )
    return Jvm(directory, jars)


# -- coders -------------------------------------------------------------------------------


def _coders(options: Options, jvm: Jvm | None, policy: Policy) -> Results:
    schema = policy.schema
    data_units, parity_units = schema.data_units, schema.parity_units
    bytes_in = data_units * CELL
    data = [os.urandom(CELL) for _ in range(data_units)]
    parity = [bytearray(CELL) for _ in range(parity_units)]
    coder = Coder(schema.codec, data_units, parity_units)
    coder.encode(data, parity)
    units: list[bytes | bytearray] = [*data, *parity]
    present = dict(enumerate(units[parity_units:], parity_units))
    made = {index: bytearray(CELL) for index in range(parity_units)}

    def ours(act: Callable[[], object]) -> Callable[[], float]:
        def run() -> float:
            count = 40
            before_ns = time.thread_time_ns()
            for _ in range(count):
                act()
            return bytes_in * count / (time.thread_time_ns() - before_ns)

        return run

    runs: dict[str, dict[str, Callable[[], float]]] = {
        "encode": {OURS: ours(lambda: coder.encode(data, parity))},
        "decode": {OURS: ours(lambda: coder.decode(present, made))},
    }
    if jvm is not None:
        loop = jvm.java.CoderLoop(data_units, parity_units, CELL)
        stripes = 10
        runs["encode"]["Hadoop's plain coder"] = lambda: bytes_in / loop.encode(stripes)
        runs["decode"]["Hadoop's plain coder"] = lambda: bytes_in / loop.decode(stripes)
    library = _isal()
    if library is None:
        yield Skipped("ISA-L", "pyeclib is not installed")
    else:
        isal = _IsaL(library, data, parity_units)
        assert isal.encode() == parity, "it codes as Hadoop does"
        runs["encode"]["ISA-L"] = ours(isal.encode)
    for what, them in runs.items():
        values = in_turn(them, options.repeats(15, 5), warm_up=3, both_ways=True)
        own = values.pop(OURS)
        name = f"{what}, {policy.name.rpartition('-')[0]}, by processor time"
        yield figure(name, "GB/s", own, values, target="≥ 10 × Hadoop's, ≥ 0.4 × ISA-L")


def _isal() -> ctypes.CDLL | None:
    """The library in the wheel of `pyeclib`."""
    try:
        import pyeclib
    except ImportError:
        return None
    (path,) = Path(pyeclib.__file__).parents[1].glob("pyeclib.libs/libisal*.so*")
    return ctypes.CDLL(str(path))


class _IsaL:
    """Encodes the same cells with ISA-L."""

    def __init__(self, library: ctypes.CDLL, data: Sequence[bytes], parity_units: int) -> None:
        data_units = len(data)
        matrix = ctypes.create_string_buffer((data_units + parity_units) * data_units)
        library.gf_gen_cauchy1_matrix(matrix, data_units + parity_units, data_units)
        self._tables = ctypes.create_string_buffer(32 * data_units * parity_units)
        rows = ctypes.byref(matrix, data_units * data_units)
        library.ec_init_tables(data_units, parity_units, rows, self._tables)
        self._library = library
        self._data = data
        self._parity = [bytearray(len(data[0])) for _ in range(parity_units)]
        self._inputs = (ctypes.c_char_p * data_units)(*data)
        self._outputs = (ctypes.c_void_p * parity_units)(
            *(ctypes.addressof(ctypes.c_char.from_buffer(unit)) for unit in self._parity)
        )

    def encode(self) -> Sequence[bytearray]:
        self._library.ec_encode_data(
            len(self._data[0]),
            len(self._data),
            len(self._parity),
            self._tables,
            self._inputs,
            self._outputs,
        )
        return self._parity


# -- files --------------------------------------------------------------------------------


@dataclass(slots=True)
class Measured:
    """What was measured of one step of one client on one cluster."""

    rates: list[float] = field(default_factory=list)
    client_cpu: list[float] = field(default_factory=list)
    datanodes_cpu: list[float] = field(default_factory=list)

    def add(self, other: Measured) -> None:
        self.rates += other.rates
        self.client_cpu += other.client_cpu
        self.datanodes_cpu += other.datanodes_cpu

    @property
    def cpu(self) -> list[float]:
        return [a + b for a, b in zip(self.client_cpu, self.datanodes_cpu, strict=True)]


def _files(options: Options, base: Path, jvm: Jvm | None, jars: str, policy: Policy) -> Results:
    size = (192 if options.quick else 576) * MIB
    units = policy.schema.units
    names = [f"datanode{number}" for number in range(units)]
    found: dict[tuple[str, str, str], Measured] = {}
    with ExitStack() as stack:
        local = base / f"local-{policy.name}"
        _fill(local, size)
        clusters: dict[str, MixedCluster] = {}
        for where, hadoops in {OURS: [], HADOOP: ["namenode", *names]}.items():
            if hadoops and not jars:
                continue
            cluster = MixedCluster(
                jars,
                hadoops,
                namenodes=1,
                datanodes=units,
                conf={**CONF, **_enabling(policy)},
                dir=base / f"{policy.name}-{'hadoop' if hadoops else 'howdah'}",
                java_options=_java_options,
            )
            clusters[where] = stack.enter_context(cluster)
            _coded(cluster, policy)
        clients = _clients(stack, clusters, jvm, local)
        if options.quick:
            at_home = {(JAVA, HADOOP), ("howdah", OURS), ("hdfs-native", OURS)}
            clients = {pair: clients[pair] for pair in clients.keys() & at_home}
        rounds = options.repeats(7, 5)

        def each_in_turn(act: str, warm_up: int) -> None:
            for number in range(warm_up + rounds):
                for who, where in random.Random(number).sample(list(clients), len(clients)):
                    client, into = clients[who, where], Measured()
                    progress(f"{policy.name}: {act}, {who} on {where}, round {number + 1}")
                    step = client.write if act == "write" else client.read
                    _step(clusters[where], client, step, size, into)
                    if number >= warm_up:
                        found.setdefault((act, who, where), Measured()).add(into)
                    if act == "write" and number < warm_up + rounds - 1:
                        client.remove()

        each_in_turn("write", warm_up=2)
        each_in_turn("read", warm_up=1)
        for cluster in clusters.values():
            for name in names[: policy.schema.parity_units]:
                cluster.kill(name)
        # The first round finds out who is dead.
        each_in_turn("read, degraded", warm_up=1)
        victims = names[: policy.schema.parity_units]
        alternating = _alternating(
            clusters[OURS], clients["howdah", OURS], victims, units, rounds, size
        )
    yield from _compared(found, policy)
    whole, degraded = alternating
    name = policy.name.rpartition("-")[0]
    for unit, own, peer in (
        ("MB/s", degraded.rates, whole.rates),
        ("s/GB", degraded.cpu, whole.cpu),
    ):
        target = "≥ 0.7 of a whole one" if unit == "MB/s" else ""
        what = f"read, degraded, {name}, in turn with whole ones"
        yield figure(what, unit, own, {"whole": peer}, target=target)


def _alternating(
    cluster: MixedCluster,
    client: FileClient,
    victims: Sequence[str],
    units: int,
    rounds: int,
    size: int,
) -> tuple[Measured, Measured]:
    """Reads of a file while datanodes are there, and while they are not, in turn: whatever else the
    machine does, it does to both."""
    whole, degraded = Measured(), Measured()
    with cluster.connect() as fs:
        for number in range(rounds):
            progress(f"reads in turn, round {number + 1}")
            for name in victims:
                cluster.restart(name)
            wait_until(
                lambda: all(len(group.hosts) == units for group in fs.block_locations("/howdah")),
                _TIMEOUT_S,
            )
            # Clients remember for a while who was dead, and find out who is.
            for into in (Measured(), whole):
                _step(cluster, client, client.read, size, into)
            for name in victims:
                cluster.kill(name)
            for into in (Measured(), degraded):
                _step(cluster, client, client.read, size, into)
    return whole, degraded


def _step(
    cluster: MixedCluster,
    client: FileClient,
    step: Callable[[], object],
    size: int,
    into: Measured,
) -> None:
    datanodes_s, client_s = _datanodes_cpu(cluster), client.cpu_s()
    begun_s = time.monotonic()
    step()
    into.rates.append(size / MB / (time.monotonic() - begun_s))
    into.client_cpu.append((client.cpu_s() - client_s) / size * 1e9)
    into.datanodes_cpu.append((_datanodes_cpu(cluster) - datanodes_s) / size * 1e9)


def _datanodes_cpu(cluster: MixedCluster) -> float:
    """Processor seconds of the datanodes that live."""
    pids = [server.pid for server in cluster.processes if server.role == "datanode" and server.pid]
    return sum(used.total_s for used in map(group_cpu, pids) if used is not None)


def _compared(found: Mapping[tuple[str, str, str], Measured], policy: Policy) -> Results:
    name = policy.name.rpartition("-")[0]
    targets = {"write": "≥ 1.3 × Hadoop's", "read": "≥ 1.3 × Hadoop's"}
    for act in ("write", "read", "read, degraded"):
        of_unit: dict[str, Callable[[Measured], list[float]]] = {
            "MB/s": lambda one: one.rates,
            "s/GB": lambda one: one.cpu,
        }
        for unit, values in of_unit.items():
            for who in ("howdah", JAVA, "hdfs-native"):
                own = found.get((act, who, OURS))
                if own is None:
                    continue
                peers = {
                    f"{peer} on {where}": values(one)
                    for (step, peer, where), one in found.items()
                    if step == act and where == HADOOP and peer in (who, JAVA)
                }
                if act == "read, degraded":
                    peers["the same, whole"] = values(found["read", who, OURS])
                if who == OURS and ("hdfs-native", OURS) in {key[1:] for key in found}:
                    peers["hdfs-native"] = values(found[act, "hdfs-native", OURS])
                what = "" if unit == "MB/s" else ", CPU of client and datanodes"
                target = targets.get(act, "≥ 0.7 of a whole one") if unit == "MB/s" else ""
                yield figure(
                    f"{act}, {name}, {who} client{what}", unit, values(own), peers, target=target
                )


def _enabling(policy: Policy) -> dict[str, str]:
    """The default policy of a cluster is enabled at its start."""
    return {"dfs.namenode.ec.system.default.policy": policy.name}


def _coded(cluster: MixedCluster, policy: Policy) -> None:
    """All files of this cluster are erasure coded."""
    with cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        fs.set_erasure_coding_policy("/", policy.name)


def _fill(path: Path, size: int) -> None:
    piece = os.urandom(1 << 20)
    with path.open("wb") as out:
        for _ in range(size // len(piece)):
            out.write(piece)


def _clients(
    stack: ExitStack, clusters: Mapping[str, MixedCluster], jvm: Jvm | None, local: Path
) -> dict[tuple[str, str], FileClient]:
    clients = {}
    for where, cluster in clusters.items():
        uri, conf = cluster.uri, cluster.conf
        if jvm is not None:
            clients[JAVA, where] = java_client(jvm, conf, {}, local, "/java")
        fs = stack.enter_context(howdah.connect(uri, conf=conf))
        clients["howdah", where] = our_client(fs, local, "/howdah")
        clients["hdfs-native", where] = native_client(
            uri, conf, local, "/native", block_size=BLOCK_BYTES
        )
    return clients


# -- repair -------------------------------------------------------------------------------


def _repair(options: Options, jars: str, policy: Policy) -> Results:
    size = (192 if options.quick else 768) * MIB
    name = policy.name.rpartition("-")[0]
    cpu: dict[str, list[float]] = {}

    def timed(who: str, hadoops: Collection[str]) -> Callable[[], float]:
        def run() -> float:
            progress(f"repair, {name}: {who}")
            with tempfile.TemporaryDirectory(dir=options.dir) as directory:
                rate, used = _repaired(hadoops, jars, Path(directory), size, policy)
            cpu.setdefault(who, []).append(used)
            return rate

        return run

    names = [f"datanode{number}" for number in range(policy.schema.units + 1)]
    runs = {OURS: timed(OURS, [])}
    if jars:
        runs[HADOOP] = timed(HADOOP, ["namenode", *names])
    try:
        found = in_turn(runs, options.repeats(5, 2), warm_up=0)
    except NotMounted as error:
        yield Skipped(f"repair, {name}", str(error))
        return
    what = f"repair of one datanode, {name}"
    yield figure(what, "MB/s", found.pop(OURS), found, target="≥ 1.5 × Hadoop's")
    yield figure(f"{what}, CPU of the datanodes", "s/GB", cpu.pop(OURS), cpu)


def _repaired(
    hadoops: Collection[str], jars: str, directory: Path, size: int, policy: Policy
) -> tuple[float, float]:
    """MB/s of one repair, and processor seconds of the datanodes for each GB that was made."""
    units = policy.schema.units
    names = [f"datanode{number}" for number in range(units + 1)]
    block = 16 * MIB
    conf = {**CONF, **UNBOUNDED, **_enabling(policy), "dfs.blocksize": block}
    with small_disks(size * 2) as mount:
        for name in names:
            mount(directory / name / "data0")
        with (
            MixedCluster(
                jars,
                hadoops,
                namenodes=1,
                datanodes=len(names),
                conf=conf,
                dir=directory,
                java_options=_java_options,
            ) as cluster,
            cluster.connect() as fs,
        ):
            _coded(cluster, policy)
            layout = GroupLayout(policy, block * policy.schema.data_units)
            data = os.urandom(layout.length)
            count = size // layout.length
            for number in range(count):
                with fs.create(f"/file{number}") as out:
                    out.write(data)
            wait_until(lambda: len(replica_files(cluster)) == count * units, _TIMEOUT_S)
            victim = names[0]
            arrivals = Arrivals(cluster, names[1:])
            cluster.kill(victim)
            used_s = _datanodes_cpu(cluster)
            try:
                lost = count * units - len(_left(cluster, victim))
                wait_until(lambda: len(_left(cluster, victim)) == count * units, _TIMEOUT_S)
            finally:
                speed = arrivals.mb_per_s()
            return speed, (_datanodes_cpu(cluster) - used_s) / (lost * block) * 1e9


def _left(cluster: MixedCluster, but: str) -> list[object]:
    return [replica for replica in replica_files(cluster) if replica.datanode != but]


if __name__ == "__main__":
    main(measure)
