"""What hflush and hsync cost at different frequencies, and what an append costs (FS-157).

One writer, three replicas, a sync after every record: of 100 bytes (a log's line),
4 KiB and 64 KiB; and never, for what writing alone costs. A figure is the time that a
record takes, its sync included, the mean over a run on an open stream. Ours tells the
namenode the new length with every sync, Java's does not.

An append is opening a file of 1 MiB, writing 100 bytes, and closing it; each has a
pipeline with a new generation stamp to set up. Where the namenode has not heard yet of
all replicas that the close before left, the pipeline has fewer nodes, and no more are
asked for, by either client: a replacement would be another thing to measure.

Peers: Hadoop's Java client on our servers and on Hadoop's, in a loop within one warm
JVM; and a local file with an fsync after every record, which no hsync can beat.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from apache import ApacheCluster, NoPeer
from harness import Options, Results, Skipped, figure, in_turn, main, progress, scratch
from jvm import Jvm

import howdah
from howdah.config import Configuration
from howdah.fs.api import FileSystem
from howdah.java import NoJava, find_java_home
from howdah.testing.minicluster import MiniCluster
from howdah.testing.spark import NoSpark, class_path

REPLICAS = 3
DATANODES = 3
SIZES = {100: "100 B", 4096: "4 KiB", 65536: "64 KiB"}
SYNCS = ("hflush", "hsync")
JAVA, HADOOP = "Java client", "Java client on Hadoop's servers"
FLOOR = "floor: a local file"
NO_REPLACEMENT = {"dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER"}
Java = tuple[Any, Any]
"""The loops' class, and a filesystem to run them on."""


def measure(options: Options) -> Results:
    count = 100 if options.quick else 400
    repeats = options.repeats(7, 2)
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "sync"))
        cluster = stack.enter_context(MiniCluster(datanodes=DATANODES, dir=base / "howdah"))
        conf = Configuration({**dict(cluster.conf.items()), **NO_REPLACEMENT})
        fs = stack.enter_context(howdah.connect(cluster.uri, conf=conf))
        peers: dict[str, Java] = {}
        try:
            jvm = stack.enter_context(jvm_with_loops(base / "jvm"))
        except (NoJava, NoSpark) as error:
            yield Skipped(JAVA, error.message)
        else:
            peers[JAVA] = _java(jvm, cluster.conf)
            try:
                hadoop = stack.enter_context(ApacheCluster(base / "apache", DATANODES))
            except NoPeer as error:
                yield Skipped(HADOOP, str(error))
            else:
                peers[HADOOP] = _java(jvm, hadoop.conf)
        yield from _records(fs, peers, base, count, repeats)
        yield from _appends(fs, peers, count // 10, repeats)


def jvm_with_loops(directory: Path) -> Jvm:
    """A JVM that knows `SyncLoop`."""
    directory.mkdir(parents=True)
    compiler = find_java_home() / "bin" / "javac"
    if not compiler.exists():
        raise NoJava(f"{compiler} is missing, with which the peer's loops are compiled")
    source = Path(__file__).with_name("SyncLoop.java")
    command = [compiler, "-cp", class_path(directory), "-d", directory, source]
    subprocess.run([str(each) for each in command], check=True)
    return Jvm(directory)


def _java(jvm: Jvm, conf: Any) -> Java:
    values = {"dfs.replication": str(REPLICAS), **NO_REPLACEMENT}
    return jvm.java.SyncLoop, jvm.file_system(conf, values).unwrapped


# -- records ------------------------------------------------------------------------------


def _records(
    fs: FileSystem, peers: Mapping[str, Java], base: Path, count: int, repeats: int
) -> Results:
    for sync in ("never", *SYNCS):
        for size, name in SIZES.items():
            progress(f"{sync} every {name}")
            # A record alone takes less than a call to read the clock: 4 MiB in all, and no
            # more, for then the datanodes are what is measured.
            records = max(count, min((4 << 20) // size, 40_000)) if sync == "never" else count
            runs: dict[str, Callable[[], float]] = {"howdah": _ours(fs, size, records, sync)}
            for peer, java in peers.items():
                runs[peer] = _theirs(java, size, records, sync)
            if sync == "hsync":
                runs[FLOOR] = _local(base / "local", size, count)
            values = in_turn(runs, repeats)
            own = values.pop("howdah")
            what = "no sync" if sync == "never" else sync
            yield figure(f"a record of {name}, {what}", "µs", own, values)


def _ours(fs: FileSystem, size: int, count: int, sync: str) -> Callable[[], float]:
    record = bytes(size)

    def run() -> float:
        with fs.create("/ours", overwrite=True, replication=REPLICAS) as out:
            for _ in range(2):  # the first round is to warm up
                begun_s = time.perf_counter()
                if sync == "never":
                    for _ in range(count):
                        out.write(record)
                else:
                    after = {"hflush": out.hflush, "hsync": out.hsync}[sync]
                    for _ in range(count):
                        out.write(record)
                        after()
                took_s = time.perf_counter() - begun_s
        return took_s / count * 1e6

    return run


def _theirs(java: Java, size: int, count: int, sync: str) -> Callable[[], float]:
    loops, java_fs = java
    return lambda: loops.run(java_fs, "/theirs", REPLICAS, size, count, sync) / 1e3


def _local(path: Path, size: int, count: int) -> Callable[[], float]:
    record = bytes(size)

    def run() -> float:
        with path.open("wb", buffering=0) as out:
            begun_s = time.perf_counter()
            for _ in range(count):
                out.write(record)
                os.fsync(out.fileno())
            return (time.perf_counter() - begun_s) / count * 1e6

    return run


# -- appends ------------------------------------------------------------------------------


def _appends(fs: FileSystem, peers: Mapping[str, Java], count: int, repeats: int) -> Results:
    progress("appends")

    def ours() -> float:
        with fs.create("/appended", overwrite=True, replication=REPLICAS) as out:
            out.write(bytes(1 << 20))
        begun_s = time.perf_counter()
        for _ in range(count):
            with fs.append("/appended") as out:
                out.write(bytes(100))
        return (time.perf_counter() - begun_s) / count * 1e3

    def theirs(java: Java) -> float:
        loops, java_fs = java
        loops.run(java_fs, "/appended-java", REPLICAS, 1 << 19, 1, "never")
        return float(loops.append(java_fs, "/appended-java", 100, count)) / 1e6

    runs: dict[str, Callable[[], float]] = {"howdah": ours}
    for peer, java in peers.items():
        runs[peer] = lambda java=java: theirs(java)  # type: ignore[misc]
    values = in_turn(runs, repeats)
    own = values.pop("howdah")
    yield figure("an append of 100 B: open, write, close", "ms", own, values)


if __name__ == "__main__":
    main(measure)
