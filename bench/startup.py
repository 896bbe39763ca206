"""How long one waits: for a cluster that can be written to, and for `dfs -ls /`.

`MiniCluster(datanodes=3)` is timed from its call until a small file is written
and closed, in a process that has imported howdah: the first cluster of a process,
and further ones, which share its launcher. The peer is a namenode and
three datanodes of Hadoop, each its own Java process as in real deployments, from
formatting until the same file is there.

`howdah dfs -ls /` is a new process each time, with the page cache warm. Peers:
Hadoop's FsShell in a new JVM, and a Python that does nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path
from typing import Protocol

from apache import ApacheCluster, NoPeer
from harness import Options, Results, Skipped, figure, in_turn, main, progress, scratch

import howdah
from howdah.config import Configuration
from howdah.java import NoJava
from howdah.testing.minicluster import MiniCluster
from howdah.testing.spark import FS_SHELL, NoSpark, java_command

DATANODES = 3
FIRST = "--first-cluster-in"


class Cluster(Protocol):
    @property
    def uri(self) -> str: ...
    @property
    def conf(self) -> Configuration: ...


def measure(options: Options) -> Results:
    with scratch(options, "startup") as base:
        yield from _clusters(options, base)
        yield from _listing(options, base)


def _clusters(options: Options, base: Path) -> Results:
    numbers = count()

    def ours() -> AbstractContextManager[Cluster]:
        return MiniCluster(datanodes=DATANODES, dir=base / f"howdah{next(numbers)}")

    def apache() -> AbstractContextManager[Cluster]:
        return ApacheCluster(base / f"apache{next(numbers)}", DATANODES)

    def first() -> float:
        done = subprocess.run(
            [sys.executable, __file__, FIRST, str(base / f"first{next(numbers)}")],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return float(done.stdout)

    progress("a cluster of ours, until a file is written")
    found = in_turn(
        {"first": first, "further": lambda: _until_written(ours)}, options.repeats(5, 3)
    )
    peers: dict[str, list[float]] = {}
    try:
        progress("a cluster of Hadoop's, until a file is written")
        runs = {"Hadoop's servers": lambda: _until_written(apache)}
        peers = in_turn(runs, options.repeats(3, 1), warm_up=0)
    except NoPeer as error:
        yield Skipped("Hadoop's servers", str(error))
    name = f"MiniCluster, {DATANODES} datanodes, until a file is written"
    yield figure(f"{name}: first", "s", found["first"], peers, target="≤ 1")
    yield figure(f"{name}: further", "s", found["further"], peers)


def _until_written(start: Callable[[], AbstractContextManager[Cluster]]) -> float:
    before_s = time.monotonic()
    with start() as cluster:
        with howdah.connect(cluster.uri, conf=cluster.conf) as fs:
            with fs.create("/first") as out:
                out.write(b"there")
        return time.monotonic() - before_s


def _listing(options: Options, base: Path) -> Results:
    with MiniCluster(datanodes=1, dir=base / "listed") as cluster:
        with howdah.connect(cluster.uri, conf=cluster.conf) as fs:
            for number in range(10):
                fs.mkdirs(f"/directory{number}")
        program = str(Path(sys.executable).with_name("howdah"))
        env = {**os.environ, "HADOOP_CONF_DIR": str(cluster.conf_dir)}
        runs = {
            "ours": _command([program, "dfs", "-ls", "/"], env),
            "a bare python": _command([sys.executable, "-c", "pass"], env),
        }
        progress("howdah dfs -ls /")
        found = in_turn(runs, options.repeats(15, 5))
        try:
            command = java_command(cluster, FS_SHELL, ["-ls", "/"])
        except (NoJava, NoSpark) as error:
            yield Skipped("Hadoop's FsShell", error.message)
        else:
            progress("Hadoop's FsShell -ls /")
            found |= in_turn({"Hadoop's FsShell": _command(command, env)}, options.repeats(5, 2))
        yield figure("howdah dfs -ls /, a new process", "s", found.pop("ours"), found)


def _command(command: Sequence[str], env: Mapping[str, str]) -> Callable[[], float]:
    def run() -> float:
        before_s = time.monotonic()
        subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
        return time.monotonic() - before_s

    return run


if __name__ == "__main__":
    if sys.argv[1:2] == [FIRST]:
        directory = Path(sys.argv[2])
        print(_until_written(lambda: MiniCluster(datanodes=DATANODES, dir=directory)))
    else:
        main(measure)
