"""Two secured clusters, this project's and Hadoop's, by Hadoop's Java client: MB/s, calls a second,
new clients, the start.

Each cluster is a namenode and a datanode, with one KDC of MIT's on this machine for both. They
offer one protection at a time, the same for calls and for data. One warm JVM does the same on both
in turn, by tickets:

- a file of random bytes goes from the page cache into the cluster and comes back;
- getFileInfo of one file, by one caller and by eight threads of one client;
- a new client until its first answer, and until the first byte of a file.

The start is that of both servers, from nothing but their formatted directories until a client has
its first answer from a namenode that has a datanode.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
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
from howdah.java import NoJava
from howdah.testing.spark import NoSpark
from tests.support.hadoop.jars import NoHadoop, hadoop_class_path
from tests.support.security.kdc import Kdc, NoKdc
from tests.support.security.our_servers import OurSecuredCluster
from tests.support.security.secured_hadoop import AES, SecuredHadoop

OURS, HADOOPS = "howdah", "Hadoop"
KINDS: Final[Mapping[str, type[SecuredHadoop]]] = {OURS: OurSecuredCluster, HADOOPS: SecuredHadoop}
PROTECTIONS: Final = (
    Protection("authentication", "authentication", "", 256, "≥ 1.0 × Hadoop's"),
    Protection("integrity", "integrity", "", 256),
    Protection("privacy, AES", "privacy", AES, 256, "≥ 1.2 × Hadoop's"),
)


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
        clients = {}
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
        yield from _files(options, protection, clients, size)
        yield from _calls(options, protection, clients)
        yield from _firsts(options, protection, clients)


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


if __name__ == "__main__":
    main(measure)
