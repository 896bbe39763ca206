"""Two secured clusters, this project's and Hadoop's, by Hadoop's Java client: MB/s, calls a second,
new clients, connections a second, the start, a failover.

Each cluster is a namenode and a datanode, with one KDC of MIT's on this machine for both. They
offer one protection at a time, the same for calls and for data. One warm JVM does the same on both
in turn, by tickets:

- a file of random bytes goes from the page cache into the cluster and comes back;
- getFileInfo of one file, by one caller and by eight threads of one client;
- a new client until its first answer, and until the first byte of a file.

Connections a second are those of processes of this project's client, each of which connects to the
namenode, proves itself, asks for one file, and connects again: by a ticket that is at hand, and by
a delegation token. They have the same processors as the server, so the CPU that the namenode spends
on one says more.

The start is that of both servers, from nothing but their formatted directories until a client has
its first answer from a namenode that has a datanode.

A failover is one of a pair of namenodes with three journal nodes, all with Kerberos at privacy:
from `kill -9` of the active until the next edit of a client is acknowledged. Hadoop's controllers
elect on a ZooKeeper, this project's on the journal nodes; all have the same settings.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from harness import CACHE, Options, Results, Skipped, figure, in_turn, main, progress, scratch
from jvm import Jvm
from secured import (
    BENCH_CONF,
    CALLERS,
    MIB,
    SERVER_OPTIONS,
    SMALL,
    USER,
    Client,
    Measured,
    Protection,
    compiled_loops,
    fill_with_noise,
    java_client,
    log_in,
    measure_step,
    started_jvm,
)

import howdah
from howdah.config import Configuration
from howdah.failover.state.service import ServiceState
from howdah.java import NoJava
from howdah.local.zookeeper import NoZooKeeper
from howdah.proto import client_namenode_pb2 as pb
from howdah.rpc.client import RpcClient
from howdah.security.identity import user_of
from howdah.security.users import user_by_tokens
from howdah.testing.spark import NoSpark
from howdah.testing.waiting import wait_until
from tests.support.hadoop.jars import NoHadoop, hadoop_class_path
from tests.support.security.kdc import Kdc, NoKdc
from tests.support.security.our_servers import OurSecuredCluster
from tests.support.security.secured_hadoop import AES, SecuredHadoop
from tests.support.security.secured_quorum import SecuredQuorum
from tests.support.security.servers import START_S
from tests.support.zookeeper import zookeeper_server

OURS, HADOOPS = "howdah", "Hadoop"
KINDS: Final[Mapping[str, type[SecuredHadoop]]] = {OURS: OurSecuredCluster, HADOOPS: SecuredHadoop}
PROTECTIONS: Final = (
    Protection("authentication", "authentication", "", 256, "≥ 1.0 × Hadoop's"),
    Protection("integrity", "integrity", "", 256),
    Protection("privacy, AES", "privacy", AES, 256, "≥ 1.2 × Hadoop's"),
)
CONNECTING: Final = 2
"""Processes that connect at once."""
CLIENT_PROTOCOL: Final = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
PAIR_CONF: Final = {
    "hadoop.rpc.protection": "privacy",
    "ha.health-monitor.check-interval.ms": "200",
    "ha.health-monitor.connect-retry-interval.ms": "100",
    "ha.health-monitor.sleep-after-disconnect.ms": "100",
    "ha.health-monitor.rpc-timeout.ms": "2000",
    "ha.failover-controller.graceful-fence.rpc-timeout.ms": "1000",
    "ha.zookeeper.session-timeout.ms": "2000",
    "howdah.ha.election.lease.ms": "2000",
    "dfs.client.failover.sleep.base.millis": "50",
    "dfs.client.failover.sleep.max.millis": "500",
}
"""As `./dev bench failover` has it, for both."""


def measure(options: Options) -> Results:
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "secured-servers"))
        try:
            jars = hadoop_class_path(CACHE)
            classes = compiled_loops(base / "classes", jars)
            kdc = Kdc(base / "kdc")
        except (NoHadoop, NoJava, NoKdc) as error:
            yield Skipped("secured clusters", error.message)
            return
        stack.callback(kdc.close)
        stack.enter_context(kdc.in_environment())
        cache = base / "ccache"
        kdc.kinit(USER, cache)
        os.environ["KRB5CCNAME"] = f"FILE:{cache}"
        try:
            jvm = stack.enter_context(started_jvm(classes, jars, kdc))
        except NoSpark as error:
            yield Skipped("Hadoop's Java client", error.message)
            return
        starts: dict[str, list[float]] = {name: [] for name in KINDS}
        for protection in PROTECTIONS:
            yield from protected(options, base, jars, kdc, jvm, protection, starts)
        yield figure("start of both servers", "s", starts.pop(OURS), starts)
        yield from failovers(options, base, jars, kdc)


def protected(
    options: Options,
    base: Path,
    jars: str,
    kdc: Kdc,
    jvm: Jvm,
    protection: Protection,
    starts: Mapping[str, list[float]],
) -> Results:
    """All figures of one protection; how long starts took is added to `starts`."""
    size = protection.megabytes // (4 if options.quick else 1) * MIB
    local = base / "local"
    fill_with_noise(local, size)
    with ExitStack() as stack:
        clients, clusters = {}, {}
        for name, kind in KINDS.items():
            cluster = stack.enter_context(_cluster(base / name, kind, jars, kdc, protection))
            starts[name].append(_restarted_s(cluster))
            conf = cluster.client_conf(
                rpc=protection.word, data=protection.word, suites=protection.suites
            )
            log_in(jvm, conf, kdc)
            with howdah.connect(cluster.uri, conf=Configuration(dict(conf))) as fs:
                fs.write_bytes(SMALL, b"x")
            clients[name] = java_client(stack, conf, jvm, local)
            clusters[name] = cluster
        yield from _files(options, protection, clients, size)
        yield from _calls(options, protection, clients)
        yield from _firsts(options, protection, clients)
        yield from _connections(options, protection, clusters)


@contextmanager
def _cluster(
    base: Path, kind: type[SecuredHadoop], jars: str, kdc: Kdc, protection: Protection
) -> Iterator[SecuredHadoop]:
    """One that offers a protection alone."""
    directory = base / protection.word
    progress(f"starting {base.name} at {protection.name}")
    directory.mkdir(parents=True)
    conf = {
        **BENCH_CONF,
        "hadoop.rpc.protection": protection.word,
        "dfs.data.transfer.protection": protection.word,
        "dfs.encrypt.data.transfer.cipher.suites": protection.suites,
    }
    cluster = kind(directory, jars, kdc, conf, SERVER_OPTIONS)
    try:
        yield cluster
    finally:
        cluster.close()


def _restarted_s(cluster: SecuredHadoop) -> float:
    """How long the servers take from nothing until they serve."""
    cluster.close()
    begun_s = time.monotonic()
    cluster.start()
    return time.monotonic() - begun_s


def _files(
    options: Options, protection: Protection, clients: Mapping[str, Client], size: int
) -> Results:
    found: dict[tuple[str, str], Measured] = {}
    warm_up = 2
    for number in range(warm_up + options.repeats(5, 2)):
        # Who comes after whom matters: what one frees, the next one has at hand.
        for name in random.Random(number).sample(list(clients), len(clients)):
            client = clients[name]
            progress(f"{protection.name}: {name}, round {number + 1}")
            for act, step in (("write", client.write), ("read", client.read)):
                into = found.setdefault((act, name), Measured())
                measure_step(client, step, size, Measured() if number < warm_up else into)
            client.remove()
    for act in ("write", "read"):
        rates = {name: found[act, name].rates for name in clients}
        own = rates.pop(OURS)
        yield figure(f"{act}, {protection.name}", "MB/s", own, rates, target=protection.target)


def _calls(options: Options, protection: Protection, clients: Mapping[str, Client]) -> Results:
    count = 2000 if options.quick else 4000
    for callers in CALLERS:
        progress(f"{protection.name}: getFileInfo, {callers} callers")
        runs = {name: _status_run(client, count, callers) for name, client in clients.items()}
        values = in_turn(runs, options.repeats(7, 2), warm_up=2, both_ways=True)
        own = values.pop(OURS)
        yield figure(f"getFileInfo, {protection.name}, {callers} callers", "/s", own, values)


def _status_run(client: Client, count: int, callers: int) -> Callable[[], float]:
    return lambda: client.statuses(count, callers)


def _firsts(options: Options, protection: Protection, clients: Mapping[str, Client]) -> Results:
    count = 10 if options.quick else 20
    for reads, what in ((False, "its first answer"), (True, "the first byte of a file")):
        progress(f"{protection.name}: a new client until {what}")
        runs = {name: _first_run(client, count, reads) for name, client in clients.items()}
        values = in_turn(runs, options.repeats(7, 2), warm_up=2, both_ways=True)
        own = values.pop(OURS)
        yield figure(f"a new client until {what}, {protection.name}", "ms", own, values)


def _first_run(client: Client, count: int, reads: bool) -> Callable[[], float]:
    return lambda: client.firsts(count, reads)


# -- connections ---------------------------------------------------------------------------


def _connections(
    options: Options, protection: Protection, clusters: Mapping[str, SecuredHadoop]
) -> Results:
    count = 100 if options.quick else 250
    for proof in ("tickets", "tokens"):
        progress(f"{protection.name}: connections by {proof}")
        used_ms: dict[str, list[float]] = {name: [] for name in clusters}
        runs = {
            name: _connecting(cluster, protection, proof, count, used_ms[name])
            for name, cluster in clusters.items()
        }
        warm_up = 2
        rates = in_turn(runs, options.repeats(5, 2), warm_up=warm_up, both_ways=True)
        title = f"connections by {proof}, {protection.name}"
        yield figure(title, "/s", rates.pop(OURS), rates)
        counted = {name: values[warm_up:] for name, values in used_ms.items()}
        yield figure(f"{title}, CPU of the namenode", "ms each", counted.pop(OURS), counted)


def _connecting(
    cluster: SecuredHadoop, protection: Protection, proof: str, count: int, used_ms: list[float]
) -> Callable[[], float]:
    """What returns connections a second, and adds the namenode's CPU for one to `used_ms`."""
    conf = Configuration(cluster.client_conf(rpc=protection.word, data=protection.word))
    user = user_of(conf)
    if proof == "tokens":
        with cluster.connect(USER, rpc=protection.word, data=protection.word) as fs:
            token = fs.get_delegation_token(USER)
        assert token is not None, "the namenode issues some"
        user = user_by_tokens(conf, [token], needs_token=True)
    fork = multiprocessing.get_context("fork")

    def run() -> float:
        address = ("localhost", cluster.rpc_port)
        workers = [
            fork.Process(target=_connect, args=(address, user, count)) for _ in range(CONNECTING)
        ]
        used_s, begun_s = _cpu_s(cluster.namenode_pid), time.monotonic()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        took_s = time.monotonic() - begun_s
        used_ms.append((_cpu_s(cluster.namenode_pid) - used_s) * 1000 / (count * CONNECTING))
        assert not any(worker.exitcode for worker in workers), "every connection is answered"
        return count * CONNECTING / took_s

    return run


def _connect(address: tuple[str, int], user: str, count: int) -> None:
    request = pb.GetFileInfoRequestProto(src=SMALL)
    for _ in range(count):
        client = RpcClient(address, CLIENT_PROTOCOL, user=user)
        client.call("getFileInfo", request, pb.GetFileInfoResponseProto)
        client.close()


def _cpu_s(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# -- failovers -----------------------------------------------------------------------------


def failovers(options: Options, base: Path, jars: str, kdc: Kdc) -> Results:
    with ExitStack() as stack:
        progress("starting a highly available cluster of each kind")
        pairs = {OURS: _pair(stack, base / "pair-howdah", jars, kdc, {}, ())}
        try:
            (base / "zookeeper").mkdir()
            host, port = stack.enter_context(zookeeper_server(base / "zookeeper"))
        except NoZooKeeper as error:
            yield Skipped("Hadoop's failovers", str(error))
            return
        zookeeper = {"ha.zookeeper.quorum": f"{host}:{port}"}
        hadoops = ("namenode", "journalnode", "datanode", "zkfc")
        pairs[HADOOPS] = _pair(stack, base / "pair-hadoop", jars, kdc, zookeeper, hadoops)
        values: dict[str, list[float]] = {name: [] for name in pairs}
        warm_up = 1
        for number in range(warm_up + options.repeats(7, 2)):
            for name, pair in pairs.items():
                took_s = _until_next_edit(pair, number)
                progress(f"kill -9, {name}, round {number + 1}: {took_s:.2f} s")
                if number >= warm_up:
                    values[name].append(took_s)
        yield figure("kill -9 to the next edit, privacy", "s", values.pop(OURS), values)


def _pair(
    stack: ExitStack,
    directory: Path,
    jars: str,
    kdc: Kdc,
    conf: Mapping[str, str],
    hadoops: Sequence[str],
) -> SecuredQuorum:
    directory.mkdir()
    pair = SecuredQuorum(
        directory,
        jars,
        kdc,
        {**PAIR_CONF, **conf},
        hadoops=hadoops,
        has_controllers=True,
        java_options=SERVER_OPTIONS,
    )
    stack.callback(pair.close)
    return pair


def _until_next_edit(pair: SecuredQuorum, number: int) -> float:
    """Kill the active, and wait for the next edit; then have a standby again."""
    with pair.connect(USER, rpc="privacy") as fs:
        fs.mkdirs(f"/user/{USER}/before-{number}")
        active = pair.active()
        assert active is not None, "the last failover is over"
        begun_s = time.monotonic()
        pair.kill(active)
        fs.mkdirs(f"/user/{USER}/after-{number}")
        took_s = time.monotonic() - begun_s
    pair.start(active)
    wait_until(lambda: pair.state(active) is ServiceState.STANDBY, timeout_s=START_S)
    return took_s


if __name__ == "__main__":
    main(measure)
