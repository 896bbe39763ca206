"""Encryption zones: what a file in a zone costs beside one outside, and what a key server does.

One namenode and one datanode on this machine, a replica, a key server that believes names. Files
of the same size are written and read in a zone and outside of it, in turn; small ones are created
and opened. The processor's time is that of the client's process, and says what a client costs where
the servers are elsewhere. Hadoop's client in Java writes and reads the same file in the zone, in
turn with ours, in one warm JVM.

Keys a second: one client decrypts keys of files, one after the other and by eight threads, and has
five hundred made at a time, at this key server and at Hadoop's, in turn.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from file_clients import FileClient, java_client, our_client
from harness import (
    CACHE,
    MB,
    Figure,
    Options,
    Results,
    Skipped,
    figure,
    in_turn,
    main,
    progress,
    scratch,
)
from jvm import Jvm

from howdah.config import Configuration
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.java import NoJava
from howdah.protocol.encryption_zones.provider_address import ProviderAddress
from howdah.runtime.users.current import process_user
from howdah.security.key_servers import KeyServers
from howdah.testing.minicluster import MiniCluster
from howdah.testing.spark import NoSpark
from tests.support.hadoop.jars import NoHadoop, hadoop_kms_class_path
from tests.support.hadoop.key_server import hadoop_key_server
from tests.support.key_server import KEY_ACCESS, key_server

MIB: Final = 1 << 20
PIECE_BYTES: Final = 4 * MIB
CALLERS: Final = (1, 8)
MADE_AT_ONCE: Final = 500
INSIDE, OUTSIDE = "in a zone", "outside"
OURS, HADOOP, JAVA = "howdah", "Hadoop's KMS", "Java client"
_PLACES: Final = {INSIDE: "/zone", OUTSIDE: "/plain"}

# Undo what makes servers start quickly, for Hadoop's is to run at full speed.
_SERVER_OPTIONS: Final = ("-Xmx1g", "-XX:TieredStopAtLevel=4", "-XX:-UseSerialGC", "-XX:+UseG1GC")


def measure(options: Options) -> Results:
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "zones"))
        provider = stack.enter_context(key_server(base / "kms", KEY_ACCESS))
        servers = _servers(provider)
        servers.create("bench")
        cluster = stack.enter_context(
            MiniCluster(
                datanodes=1,
                dir=base / "howdah",
                conf={
                    "dfs.replication": 1,
                    "dfs.blocksize": 128 * MIB,
                    "hadoop.security.key.provider.path": provider,
                },
            )
        )
        fs = stack.enter_context(cluster.connect())
        assert isinstance(fs, HdfsFileSystem)
        for directory in _PLACES.values():
            fs.mkdirs(directory)
        fs.create_encryption_zone(_PLACES[INSIDE], "bench")
        yield from _bytes(fs, options)
        yield from _beside_java(fs, cluster, base, options)
        yield from _small_files(fs, options)
        yield from _key_servers(base, servers, options)
        servers.close()


def _bytes(fs: HdfsFileSystem, options: Options) -> Results:
    """Rates of large files, inside by outside."""
    size = (64 if options.quick else 512) * MIB
    data = random.Random(1).randbytes(PIECE_BYTES)
    used: dict[str, list[float]] = {}

    def write(directory: str) -> None:
        with fs.create(f"{directory}/large", overwrite=True) as out:
            for _ in range(size // PIECE_BYTES):
                out.write(data)

    def read(directory: str) -> None:
        buffer = bytearray(PIECE_BYTES)
        left = size
        with fs.open(f"{directory}/large") as source:
            while left:
                left -= source.readinto(buffer)

    for name, act in (("writes", write), ("reads", read)):

        def rate(place: str, act: Callable[[str], None] = act) -> float:
            begun_s, begun_cpu_s = time.perf_counter(), time.process_time()
            act(_PLACES[place])
            took_s = time.perf_counter() - begun_s
            used.setdefault(place, []).append((time.process_time() - begun_cpu_s) / size * 1e9)
            return size / MB / took_s

        used.clear()
        rates = in_turn(
            {place: partial(rate, place) for place in _PLACES},
            options.repeats(9, 3),
            both_ways=True,
        )
        progress(f"zones: {name}")
        yield _inside(f"{name}, 4 MiB at a time", "MB/s", rates, target="≥ 0.85 of outside")
        cpu = {place: found[1:] for place, found in used.items()}
        yield _inside(f"{name}, the client's processor", "s/GB", cpu)


def _beside_java(fs: HdfsFileSystem, cluster: MiniCluster, base: Path, options: Options) -> Results:
    """Rates of a file in the zone, from and to a local one, by either client."""
    size = (64 if options.quick else 512) * MIB
    local = base / "local"
    data = random.Random(2).randbytes(PIECE_BYTES)
    with local.open("wb") as out:
        for _ in range(size // PIECE_BYTES):
            out.write(data)
    place = _PLACES[INSIDE]
    with ExitStack() as stack:
        clients: dict[str, FileClient] = {OURS: our_client(fs, local, f"{place}/by-us")}
        try:
            jvm = stack.enter_context(Jvm(base / "jvm"))
        except (NoJava, NoSpark) as error:
            yield Skipped("Java's client in a zone", error.message)
            return
        clients[JAVA] = java_client(jvm, cluster.conf, {}, local, f"{place}/by-java")

        def rate(act: Callable[[], object]) -> float:
            begun_s = time.perf_counter()
            act()
            return size / MB / (time.perf_counter() - begun_s)

        for name in ("write", "read"):
            acts = {client: getattr(calls, name) for client, calls in clients.items()}
            for act in acts.values():
                act()  # The JVM compiles what is called often.
                act()
            rates = in_turn(
                {client: partial(rate, act) for client, act in acts.items()},
                options.repeats(9, 3),
                both_ways=True,
            )
            progress(f"zones: {name}s beside Java's client")
            yield figure(
                f"{name}s {INSIDE}, a whole file, 1 MiB at a time",
                "MB/s",
                rates[OURS],
                {JAVA: rates[JAVA]},
                target="≥ 1.5 × the Java client",
            )


def _small_files(fs: HdfsFileSystem, options: Options) -> Results:
    """Files a second that are created, and opened."""
    count = 100 if options.quick else 1000

    def create(directory: str) -> None:
        for number in range(count):
            fs.create(f"{directory}/{number}", overwrite=True).close()

    def open_(directory: str) -> None:
        for number in range(count):
            fs.open(f"{directory}/{number}").close()

    for name, act, target in (("created", create, "≥ 0.8 of outside"), ("opened", open_, "")):
        used: dict[str, list[float]] = {place: [] for place in _PLACES}

        def rate(place: str, act: Callable[[str], None] = act) -> float:
            begun_s, begun_cpu_s = time.perf_counter(), time.process_time()
            act(_PLACES[place])
            took_s = time.perf_counter() - begun_s
            used[place].append((time.process_time() - begun_cpu_s) / count * 1e6)  # noqa: B023 - called at once
            return count / took_s

        rates = in_turn(
            {place: partial(rate, place) for place in _PLACES},
            options.repeats(9, 3),
            both_ways=True,
        )
        progress(f"zones: files {name}")
        yield _inside(f"empty files {name}", "files/s", rates, target=target)
        cpu = {place: found[1:] for place, found in used.items()}
        yield _inside(f"empty files {name}, the client's processor", "µs", cpu)


def _key_servers(base: Path, ours: KeyServers, options: Options) -> Results:
    """Keys a second, beside Hadoop's server where that can be had."""
    with ExitStack() as stack:
        asked = {OURS: ours}
        try:
            asked[HADOOP] = stack.enter_context(_hadoops(base))
        except NoHadoop as error:
            yield Skipped("keys of Hadoop's key server", error.message)
        keys = {name: servers.generate("bench", 100) for name, servers in asked.items()}
        count = 200 if options.quick else 4000

        def decrypted(name: str, callers: int) -> float:
            servers = asked[name]

            def some(_: int) -> None:
                for number in range(count // callers):
                    servers.decrypt(keys[name][number % 100])

            begun_s = time.perf_counter()
            with ThreadPoolExecutor(callers) as threads:
                list(threads.map(some, range(callers)))
            return count / (time.perf_counter() - begun_s)

        def made(name: str) -> float:
            rounds = 4 if options.quick else 40
            begun_s = time.perf_counter()
            for _ in range(rounds):
                asked[name].generate("bench", MADE_AT_ONCE)
            return rounds * MADE_AT_ONCE / (time.perf_counter() - begun_s)

        for callers in CALLERS:
            rates = in_turn(
                {name: partial(decrypted, name, callers) for name in asked},
                options.repeats(7, 3),
            )
            progress(f"zones: keys decrypted, {callers}")
            yield _beside(f"keys decrypted, {_callers(callers)}", rates)
        rates = in_turn({name: partial(made, name) for name in asked}, options.repeats(7, 3))
        progress("zones: keys made")
        yield _beside(f"keys made, {MADE_AT_ONCE} at a time", rates)


@contextmanager
def _hadoops(base: Path) -> Iterator[KeyServers]:
    """Raises NoHadoop."""
    user = process_user()
    settings = {
        **KEY_ACCESS,
        f"hadoop.kms.proxyuser.{user}.users": "*",
        f"hadoop.kms.proxyuser.{user}.hosts": "*",
    }
    jars = hadoop_kms_class_path(CACHE)
    with hadoop_key_server(base / "hadoop-kms", jars, settings, options=_SERVER_OPTIONS) as server:
        servers = _servers(server.provider)
        servers.create("bench")
        yield servers
        servers.close()


def _servers(provider: str) -> KeyServers:
    return KeyServers(ProviderAddress.of(provider), Configuration({}), process_user())


def _inside(name: str, unit: str, values: Mapping[str, list[float]], target: str = "") -> Figure:
    return figure(
        f"{name}, {INSIDE}", unit, values[INSIDE], {OUTSIDE: values[OUTSIDE]}, target=target
    )


def _beside(name: str, values: Mapping[str, list[float]]) -> Figure:
    peers = {peer: found for peer, found in values.items() if peer != OURS}
    return figure(name, "keys/s", values[OURS], peers)


def _callers(number: int) -> str:
    return "1 caller" if number == 1 else f"{number} callers"


if __name__ == "__main__":
    main(measure)
