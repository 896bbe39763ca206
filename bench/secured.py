"""A secured cluster of Hadoop's, by three clients: MB/s, calls a second, new clients.

The cluster is Hadoop's own, a namenode and a datanode, with a KDC of MIT's on this machine. It
offers one protection at a time, the same for calls and for data, because hdfs-native takes the
highest that is offered. Ours, Hadoop's Java client (one warm JVM) and hdfs-native (over the
system's `libgssapi_krb5`) do the same in turn, all by tickets:

- a file of random bytes goes from the page cache into the cluster and comes back. At
  `authentication` a second cluster without security stands beside, and the clients take turns on
  both: what counts is ours by Java's on the one, beside the same on the other;
- getFileInfo of one file, by one caller and by eight threads of one client;
- a new client until its first answer, and until the first byte of a file: for that it connects to
  the namenode, and for the byte to the datanode too.

CPU is that of the client's process, for a GB of data.

A datanode of Hadoop's does not send straight from its files after a handshake, but packets as
long as its `io.file.buffer.size`: 4 KiB, and 128 KiB where that is set, as on most clusters.

Privacy without AES is what both sides can do without a cipher suite: Hadoop's client and
hdfs-native take Triple DES, ours takes RC4, which Hadoop's servers offer as well.
"""

from __future__ import annotations

import os
import random
import resource
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import hdfs_native
from harness import CACHE, MB, Options, Results, Skipped, figure, in_turn, main, progress, scratch
from jvm import Jvm

import howdah
from howdah.config import Configuration
from howdah.java import NoJava, find_java_home
from howdah.testing.spark import NoSpark
from tests.support.hadoop.jars import NoHadoop, hadoop_class_path
from tests.support.security.kdc import REALM, Kdc, NoKdc
from tests.support.security.secured_hadoop import AES, WITHOUT_KERBEROS, SecuredHadoop

MIB = 1 << 20
BLOCK_BYTES = 128 * MIB
BUFFER_BYTES = 1 << 20
USER: Final = "alice"
HOME: Final = f"/user/{USER}"
SMALL: Final = f"{HOME}/small"
OURS, JAVA, NATIVE = "howdah", "Java client", "hdfs-native"
SECURED, UNSECURED = "secured", "without security"
CALLERS = (1, 8)

# Undo what makes servers start quickly, for those are to run at full speed.
SERVER_OPTIONS: Final = (
    "-Xmx1g",
    "-XX:TieredStopAtLevel=4",
    "-XX:-UseSerialGC",
    "-XX:+UseG1GC",
)
BENCH_CONF: Final = {"dfs.blocksize": str(BLOCK_BYTES), "dfs.client.read.shortcircuit": "false"}


@dataclass(frozen=True, slots=True)
class Protection:
    """What one cluster offers; `megabytes` are the size of the file that goes through it."""

    name: str
    word: str
    suites: str
    megabytes: int
    target: str = ""
    buffer_bytes: int | None = None
    """`io.file.buffer.size` of the servers, where it is not the default; files alone count then."""


PROTECTIONS: Final = (
    Protection("authentication", "authentication", "", 256),
    Protection("integrity", "integrity", "", 256),
    Protection("privacy, AES", "privacy", AES, 256, "≥ 1.5 × Java's"),
    Protection("privacy, no AES", "privacy", "", 32),
    Protection("authentication, buffers of 128 KiB", "authentication", "", 256, "", 128 * 1024),
    Protection(
        "privacy, AES, buffers of 128 KiB", "privacy", AES, 256, "≥ 1.5 × Java's", 128 * 1024
    ),
)
CALLS_TARGET: Final = {"privacy, AES": "≥ 1.0 × Java's"}


@dataclass(frozen=True, slots=True)
class Client:
    """One client on one cluster. `used_s` is the processor time of its process so far."""

    write: Callable[[], object]
    read: Callable[[], object]
    remove: Callable[[], object]
    statuses: Callable[[int, int], float]
    """Calls a second, of so many calls by so many threads."""
    firsts: Callable[[int, bool], float]
    """Milliseconds of a new client, the mean of so many; whether to a byte."""
    used_s: Callable[[], float]


@dataclass(slots=True)
class Measured:
    """What was measured of one step of one client on one cluster."""

    rates: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


Clients = Mapping[tuple[str, str], Client]


def measure(options: Options) -> Results:
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "secured"))
        try:
            jars = hadoop_class_path(CACHE)
            classes = compiled_loops(base / "classes", jars)
            kdc = Kdc(base / "kdc")
        except (NoHadoop, NoJava, NoKdc) as error:
            yield Skipped("a secured cluster", error.message)
            return
        stack.callback(kdc.close)
        stack.enter_context(kdc.in_environment())
        cache = base / "ccache"
        kdc.kinit(USER, cache)
        os.environ["KRB5CCNAME"] = f"FILE:{cache}"
        os.environ["HADOOP_USER_NAME"] = USER  # Counts without security alone.
        try:
            jvm = stack.enter_context(started_jvm(classes, jars, kdc))
            simple = stack.enter_context(started_jvm(classes, jars, None))
        except NoSpark as error:
            yield Skipped(JAVA, error.message)
            return
        for protection in PROTECTIONS:
            yield from protected(options, base, jars, kdc, jvm, simple, protection)


def protected(
    options: Options,
    base: Path,
    jars: str,
    kdc: Kdc,
    jvm: Jvm,
    simple: Jvm,
    protection: Protection,
) -> Results:
    """All figures of one protection."""
    size = protection.megabytes // (4 if options.quick else 1) * MIB
    local = base / "local"
    fill_with_noise(local, size)
    with ExitStack() as stack:
        secured = stack.enter_context(_cluster(base, jars, kdc, protection))
        conf = secured.client_conf(
            rpc=protection.word, data=protection.word, suites=protection.suites
        )
        log_in(jvm, conf, kdc)
        clients = _clients(stack, secured, conf, jvm, local, SECURED)
        if protection.word == "authentication":
            plain = stack.enter_context(_cluster(base, jars, kdc, protection, is_secured=False))
            conf = plain.client_conf(data="")
            clients |= _clients(stack, plain, conf, simple, local, UNSECURED)
        yield from _files(options, protection, clients, size)
        if protection.buffer_bytes is not None:
            return
        clients = {key: client for key, client in clients.items() if key[1] == SECURED}
        yield from _calls(options, protection, clients)
        yield from _firsts(options, protection, clients)


@contextmanager
def _cluster(
    base: Path, jars: str, kdc: Kdc, protection: Protection, *, is_secured: bool = True
) -> Iterator[SecuredHadoop]:
    """One that offers a protection alone, or the same without security."""
    directory = base / protection.name.replace(", ", "-").replace(" ", "-")
    if not is_secured:
        conf = {**WITHOUT_KERBEROS, "dfs.block.access.token.enable": "false"}
        directory = directory.with_name(f"{directory.name}-unsecured")
    else:
        conf = {
            "hadoop.rpc.protection": protection.word,
            "dfs.data.transfer.protection": protection.word,
            "dfs.encrypt.data.transfer.cipher.suites": protection.suites,
        }
    if protection.buffer_bytes is not None:
        conf["io.file.buffer.size"] = str(protection.buffer_bytes)
    progress(f"starting {directory.name}")
    directory.mkdir()
    cluster = SecuredHadoop(directory, jars, kdc, {**BENCH_CONF, **conf}, SERVER_OPTIONS)
    try:
        yield cluster
    finally:
        cluster.close()


def compiled_loops(directory: Path, jars: str) -> Path:
    """The directory with the class `CallLoop`."""
    directory.mkdir(parents=True)
    compiler = find_java_home() / "bin" / "javac"
    if not compiler.exists():
        raise NoJava(f"{compiler} is missing, with which the peer's loops are compiled")
    source = Path(__file__).with_name("CallLoop.java")
    subprocess.run(
        [str(each) for each in (compiler, "-cp", jars, "-d", directory, source)], check=True
    )
    return directory


def started_jvm(classes: Path, jars: str, kdc: Kdc | None) -> Jvm:
    return Jvm(
        classes, jars, () if kdc is None else (f"-Djava.security.krb5.conf={kdc.configuration}",)
    )


def log_in(jvm: Jvm, conf: Mapping[str, str], kdc: Kdc) -> None:
    """The JVM is the user from now on."""
    users = jvm.java.org.apache.hadoop.security.UserGroupInformation
    users.setConfiguration(jvm.configuration(conf.items()))
    users.loginUserFromKeytab(f"{USER}@{REALM}", str(kdc.keytab(USER)))


def fill_with_noise(path: Path, size: int) -> None:
    piece = os.urandom(1 << 20)
    with path.open("wb") as out:
        for _ in range(size // len(piece)):
            out.write(piece)


# -- files --------------------------------------------------------------------------------


def _files(options: Options, protection: Protection, clients: Clients, size: int) -> Results:
    found: dict[tuple[str, str, str], Measured] = {}
    warm_up = 2
    for number in range(warm_up + options.repeats(5, 2)):
        # Who comes after whom matters: what one frees, the next one has at hand.
        order = random.Random(number).sample(list(clients), len(clients))
        for who, where in order:
            client = clients[who, where]
            progress(f"{protection.name}: {who}, {where}, round {number + 1}")
            for act, step in (("write", client.write), ("read", client.read)):
                into = found.setdefault((act, who, where), Measured())
                measure_step(client, step, size, Measured() if number < warm_up else into)
            client.remove()
    yield from _compared(found, protection)


def measure_step(client: Client, step: Callable[[], object], size: int, into: Measured) -> None:
    used_s, begun_s = client.used_s(), time.monotonic()
    step()
    into.rates.append(size / MB / (time.monotonic() - begun_s))
    into.cpu.append((client.used_s() - used_s) / size * 1e9)


def _compared(found: Mapping[tuple[str, str, str], Measured], protection: Protection) -> Results:
    for act in ("write", "read"):
        own = found[act, OURS, SECURED]
        peers = {who: found[act, who, SECURED] for who in (JAVA, NATIVE)}
        name = f"{act}, {protection.name}"
        rates = {who: one.rates for who, one in peers.items()}
        cpu = {who: one.cpu for who, one in peers.items()}
        yield figure(name, "MB/s", own.rates, rates, target=protection.target)
        yield figure(f"{name}, CPU of the client", "s/GB", own.cpu, cpu)
        if (act, OURS, UNSECURED) in found:
            plain = {who: found[act, who, UNSECURED].rates for who in (OURS, JAVA, NATIVE)}
            yield figure(
                f"{act}, {UNSECURED} beside {protection.name}",
                "MB/s",
                plain[OURS],
                {JAVA: plain[JAVA], NATIVE: plain[NATIVE]},
            )
            yield figure(
                f"{act}, {protection.name}: howdah's by Java's",
                "times",
                _ratios(own.rates, rates[JAVA]),
                {f"the same {UNSECURED}": _ratios(plain[OURS], plain[JAVA])},
                target="≥ the same without security",
            )


def _ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    return [a / b for a, b in zip(ours, theirs, strict=True)]


# -- calls and new clients ----------------------------------------------------------------


def _calls(options: Options, protection: Protection, clients: Clients) -> Results:
    count = 2000 if options.quick else 4000
    for callers in CALLERS:
        progress(f"{protection.name}: getFileInfo, {callers} callers")
        runs = {who: _status_run(client, count, callers) for (who, _), client in clients.items()}
        values = in_turn(runs, options.repeats(7, 2), warm_up=2, both_ways=True)
        own = values.pop(OURS)
        target = CALLS_TARGET.get(protection.name, "") if callers == 1 else ""
        yield figure(
            f"getFileInfo, {protection.name}, {callers} callers", "/s", own, values, target=target
        )


def _status_run(client: Client, count: int, callers: int) -> Callable[[], float]:
    return lambda: client.statuses(count, callers)


def _firsts(options: Options, protection: Protection, clients: Clients) -> Results:
    count = 10 if options.quick else 20
    for reads, what in ((False, "its first answer"), (True, "the first byte of a file")):
        progress(f"{protection.name}: a new client until {what}")
        runs = {who: _first_run(client, count, reads) for (who, _), client in clients.items()}
        values = in_turn(runs, options.repeats(7, 2), warm_up=2, both_ways=True)
        own = values.pop(OURS)
        yield figure(f"a new client until {what}, {protection.name}", "ms", own, values)


def _first_run(client: Client, count: int, reads: bool) -> Callable[[], float]:
    return lambda: client.firsts(count, reads)


def _by_threads(call: Callable[[], object], count: int, callers: int) -> float:
    """Calls a second."""
    if callers == 1:
        begun_s = time.monotonic()
        for _ in range(count):
            call()
        return count / (time.monotonic() - begun_s)
    each = count // callers

    def calls() -> None:
        for _ in range(each):
            call()

    threads = [threading.Thread(target=calls) for _ in range(callers)]
    begun_s = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return each * callers / (time.monotonic() - begun_s)


def _mean_ms(act: Callable[[], object], count: int) -> float:
    times_s = []
    for _ in range(count):
        begun_s = time.monotonic()
        act()
        times_s.append(time.monotonic() - begun_s)
    return statistics.mean(times_s) * 1000


# -- the clients --------------------------------------------------------------------------


def _clients(
    stack: ExitStack,
    cluster: SecuredHadoop,
    conf: Mapping[str, str],
    jvm: Jvm,
    local: Path,
    where: str,
) -> dict[tuple[str, str], Client]:
    fs = stack.enter_context(howdah.connect(cluster.uri, conf=Configuration(dict(conf))))
    with fs.create(SMALL, overwrite=True) as out:
        out.write(b"x")
    return {
        (OURS, where): _ours(cluster.uri, conf, fs, local),
        (JAVA, where): java_client(stack, conf, jvm, local),
        (NATIVE, where): _native(cluster.uri, conf, local),
    }


def _own_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _ours(uri: str, conf: Mapping[str, str], fs: Any, local: Path) -> Client:
    path = f"{HOME}/howdah"
    buffer = bytearray(BUFFER_BYTES)

    def write() -> None:
        with local.open("rb", buffering=0) as source:
            with fs.create(path, overwrite=True, block_size=BLOCK_BYTES) as out:
                while count := source.readinto(buffer):
                    out.write(memoryview(buffer)[:count])

    def read() -> None:
        with fs.open(path) as source:
            while source.readinto(buffer):
                continue

    def first(reads: bool) -> None:
        with howdah.connect(uri, conf=Configuration(dict(conf))) as new:
            if reads:
                with new.open(SMALL) as source:
                    source.read(1)
            else:
                new.get_file_status(SMALL)

    return Client(
        write,
        read,
        lambda: fs.delete(path),
        lambda count, callers: _by_threads(lambda: fs.get_file_status(SMALL), count, callers),
        lambda count, reads: _mean_ms(lambda: first(reads), count),
        _own_cpu,
    )


def java_client(stack: ExitStack, conf: Mapping[str, str], jvm: Jvm, local: Path) -> Client:
    fs = jvm.file_system(Configuration(dict(conf)), {})
    stack.callback(fs.close)
    settings = jvm.configuration(conf.items())
    path = f"{HOME}/java"
    loop = jvm.java.CallLoop
    return Client(
        lambda: fs.write(local, path),
        lambda: fs.read(path),
        lambda: fs.delete(path),
        lambda count, callers: loop.statuses(fs.unwrapped, SMALL, count, callers),
        lambda count, reads: loop.firsts(settings, SMALL, count, reads),
        loop.processCpuSeconds,
    )


def _native(uri: str, conf: Mapping[str, str], local: Path) -> Client:
    def connected() -> hdfs_native.Client:
        return hdfs_native.Client(uri, dict(conf))

    client = connected()
    path = f"{HOME}/native"
    options = hdfs_native.WriteOptions(block_size=BLOCK_BYTES, overwrite=True)

    def write() -> None:
        with local.open("rb", buffering=0) as source, client.create(path, options) as out:
            while data := source.read(BUFFER_BYTES):
                out.write(data)

    def read() -> None:
        with client.read(path) as source:
            for _ in source.read_range_stream(0, len(source)):
                continue

    def first(reads: bool) -> None:
        new = connected()
        if reads:
            with new.read(SMALL) as source:
                source.read(1)
        else:
            new.get_file_info(SMALL)

    return Client(
        write,
        read,
        lambda: client.delete(path),
        lambda count, callers: _by_threads(lambda: client.get_file_info(SMALL), count, callers),
        lambda count, reads: _mean_ms(lambda: first(reads), count),
        _own_cpu,
    )


if __name__ == "__main__":
    main(measure)
