"""The table `howdah.namespace` of a live namenode beside Hadoop's `-ls -R`, and who waits for it.

The namenode is ours, the tree that of `scale`: files of one block, a hundred in each directory.

- The table, of the columns that `-ls` shows, is thrown away by the sink `noop`, in a Spark of
  `local[2]` that runs already.
- Hadoop's shell is a Java process of its own for each run. What `-ls -d /` takes is subtracted: it
  is the start of Java.

Meanwhile another process asks for the status of a file, again and again, a millisecond after each
answer. Where both have the same few cores, some of what it waits is for a processor, not for the
namenode. So a listing is done once more with the namenode on the last core alone, and the lister on
the first. There is who asks, too, with a priority of real time: it has a processor as soon as it
wants one, and what is waited for is the namenode.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from harness import CACHE, Options, Results, Skipped, figure, in_turn, main, progress, scratch
from listing import start, uri_of
from scale import Asking, Howdah, image_of

from howdah.java import NoJava, find_java_home
from howdah.spark import register
from tests.support.hadoop.jars import NoHadoop, hadoop_class_path
from tests.support.security.servers import write_site_files

OURS = "howdah.namespace"
HADOOP = "Hadoop's -ls -R"
TREE = "/tree"
PROBED = "/tree"
IDLE_S = 5.0
_COLUMNS = "path,type,permission,owner,group,replication,length,modification_time"
_SHELL = "org.apache.hadoop.fs.FsShell"


@dataclass(frozen=True)
class Scheduling:
    """Says on which cores a process runs, and whether it goes before all others."""

    cores: set[int]
    is_first: bool = False

    def apply(self) -> None:
        """Have this process run so. Raises PermissionError for who may not be first."""
        os.sched_setaffinity(0, self.cores)
        if self.is_first:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


@contextmanager
def probing(
    address: tuple[str, int], scheduling: Scheduling
) -> Iterator[Callable[[], list[float]]]:
    """Somebody asks all the time. The function ends that, and returns the seconds that each answer
    took."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=_probe, args=(theirs, address, scheduling), daemon=True)
    child.start()
    try:
        ours.recv()

        def stop() -> list[float]:
            ours.send("stop")
            found: list[float] = ours.recv()
            return found

        yield stop
    finally:
        child.kill()
        child.join()


def _probe(pipe: Connection, address: tuple[str, int], scheduling: Scheduling) -> None:
    scheduling.apply()
    asking = Asking(address)
    for _ in range(200):
        asking.info(PROBED)
    pipe.send("ready")
    found = []
    while not pipe.poll(0.001):
        before_s = time.perf_counter()
        asking.info(PROBED)
        found.append(time.perf_counter() - before_s)
    pipe.send(found)


def p99_ms(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=100)[98] * 1000


def measure(options: Options) -> Results:
    try:
        java_home = find_java_home()
    except NoJava as error:
        yield Skipped("live listing", str(error))
        return
    os.environ["JAVA_HOME"] = str(java_home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    files = 20_000 if options.quick else 200_000
    from howdah.spark.sessions import session

    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "live_listing"))
        namenode = Howdah(base / "howdah")
        stack.callback(namenode.stop)
        start(namenode, image_of(base / "image", files))
        uri = uri_of(namenode)
        waits: dict[str, list[float]] = {}
        every_core = os.sched_getaffinity(0)
        scheduling = Scheduling(every_core)

        def watched(name: str, run: Callable[[], float]) -> Callable[[], float]:
            def watched_run() -> float:
                with probing(namenode.address, scheduling) as stop:
                    seconds = run()
                    waits.setdefault(name, []).append(p99_ms(stop()))
                progress(f"{name}: {seconds:.1f} s, p99 of others {waits[name][-1]:.2f} ms")
                return seconds

            return watched_run

        def idle() -> float:
            time.sleep(IDLE_S)
            return IDLE_S

        spark = stack.enter_context(session("local[2]"))
        stack.enter_context(register(spark))
        runs = {"nobody": watched("nobody", idle), OURS: watched(OURS, lambda: table(spark, uri))}
        try:
            classes = f"{hadoop_class_path(CACHE)}{os.pathsep}{base / 'conf'}"
            write_site_files(base / "conf", {"fs.defaultFS": uri})
            command = [str(java_home / "bin" / "java"), "-Xmx1g", "-cp", classes, _SHELL]
        except NoHadoop as error:
            yield Skipped(HADOOP, error.message)
        else:
            start_s = statistics.median(shell([*command, "-ls", "-d", "/"]) for _ in range(3))
            progress(f"Hadoop's shell starts in {start_s:.1f} s")
            runs[HADOOP] = watched(HADOOP, lambda: shell([*command, "-ls", "-R", TREE]) - start_s)
        found = in_turn(runs, options.repeats(3, 1))
        counted = {name: values[1:] for name, values in waits.items()}
        rates = {name: [files / s for s in found[name]] for name in found if name != "nobody"}
        ours = rates.pop(OURS)
        yield figure(f"list {files:,} files, live", "files/s", ours, rates, target="≥ 1.5")
        what = "p99 of getFileInfo during a listing"
        yield figure(what, "ms", counted.pop(OURS), counted, target="< 2 × nobody's")
        if len(every_core) < 2:
            yield Skipped(f"{what}, apart", "this machine has one core")
            return
        if not may_be_first():
            yield Skipped(f"{what}, apart", "a priority of real time is for root")
            return
        first, *_, last = sorted(every_core)
        scheduling = Scheduling({first}, is_first=True)
        move(namenode.pid, {last})
        context: Any = spark.sparkContext
        move(context._gateway.proc.pid, {first})
        waits.clear()
        # Of the two, what a virtual machine does beside is seen in single runs.
        for name in (OURS, "nobody") * options.repeats(7, 2):
            runs[name]()
        peers = {"nobody": waits["nobody"]}
        yield figure(f"{what}, on another core", "ms", waits[OURS], peers, target="< 2 × nobody's")


def may_be_first() -> bool:
    """Tell whether a process may have a priority of real time here."""
    child = multiprocessing.get_context("spawn").Process(
        target=Scheduling(os.sched_getaffinity(0), is_first=True).apply
    )
    child.start()
    child.join()
    return child.exitcode == 0


def move(process: int, cores: set[int]) -> None:
    """Run a process, what it has started and what it will start, on these cores only."""
    for thread in os.listdir(f"/proc/{process}/task"):
        os.sched_setaffinity(int(thread), cores)
    children = subprocess.run(
        ["pgrep", "-P", str(process)], capture_output=True, text=True, check=False
    ).stdout
    for child in map(int, children.split()):
        move(child, cores)


def table(spark: Any, uri: str) -> float:
    before_s = time.monotonic()
    reader = spark.read.format("howdah.namespace").option("columns", _COLUMNS)
    reader.load(uri + TREE).write.format("noop").mode("overwrite").save()
    return time.monotonic() - before_s


def shell(command: list[str]) -> float:
    before_s = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - before_s


if __name__ == "__main__":
    main(measure)
