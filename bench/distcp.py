"""distcp on Spark against Hadoop's DistCp: many small files, and a few big ones.

One cluster of ours with one datanode and one replica, both ends of every copy. Both
copies run in what is up and warm already, a Spark session on `local[2]` and a Java
process with Hadoop's local job runner and two maps at a time, in turn, each to a new
target that is deleted afterwards.

- 10,000 files of 2 KiB in 100 directories (1,000 with --quick);
- 4 GiB in files of 512 MiB (512 MiB in files of 64 with --quick).

Hadoop's gets no limit of bandwidth, and the buffer size of ours.
"""

from __future__ import annotations

import itertools
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from harness import (
    CACHE,
    MB,
    ROOT,
    Options,
    Results,
    Skipped,
    figure,
    in_turn,
    main,
    progress,
    scratch,
)

import howdah
from howdah.copy import options as copy_options
from howdah.java import NoJava, find_java_home
from howdah.spark import distcp
from howdah.testing.minicluster import MiniCluster
from tests.support.hadoop.distcp import HadoopDistCp
from tests.support.hadoop.jars import NoHadoop

PROGRAM = ROOT / "tests" / "spark" / "RunDistCp.java"
BUFFER_BYTES = 4 << 20
SMALL_BYTES = 2048
OURS, THEIRS = "howdah distcp", "Hadoop's DistCp"
_numbers = itertools.count()


def measure(options: Options) -> Results:
    try:
        java_home = find_java_home()
    except NoJava as error:
        yield Skipped("distcp", str(error))
        return
    os.environ["JAVA_HOME"] = str(java_home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "distcp"))
        conf: dict[str, str | int | float | bool] = {"dfs.replication": 1}
        cluster = stack.enter_context(MiniCluster(datanodes=1, dir=base / "cluster", conf=conf))
        fs = stack.enter_context(cluster.connect())
        spark = stack.enter_context(_session())
        made = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=base)))
        try:
            hadoop: HadoopDistCp | None = stack.enter_context(
                HadoopDistCp(
                    PROGRAM,
                    cluster.conf_dir,
                    CACHE,
                    made,
                    {"mapreduce.local.map.tasks.maximum": "2"},
                    memory="1g",
                )
            )
        except NoHadoop as error:
            progress(f"without Hadoop's: {error.message}")
            hadoop = None
        files = 1000 if options.quick else 10_000
        _fill_small(fs, files)
        # Where a run takes minutes nothing is gained by another one to warm up.
        warm_up = 1 if options.quick else 0
        runs = _runs(cluster, fs, spark, hadoop, "/small")
        found = in_turn(runs, options.repeats(2, 1), warm_up=warm_up)
        rates = {name: [files / seconds for seconds in values] for name, values in found.items()}
        peers = {name: values for name, values in rates.items() if name != OURS}
        yield figure(f"copy {files:,} files of 2 KiB", "files/s", rates[OURS], peers)
        big = (64 << 20, 8) if options.quick else (512 << 20, 8)
        _fill_big(fs, *big)
        size = big[0] * big[1]
        runs = _runs(cluster, fs, spark, hadoop, "/big")
        found = in_turn(runs, options.repeats(2, 1), warm_up=warm_up)
        rates = {name: [size / MB / s for s in values] for name, values in found.items()}
        peers = {name: values for name, values in rates.items() if name != OURS}
        yield figure(f"copy {size >> 20:,} MiB in 8 files", "MB/s", rates[OURS], peers)


def _session() -> Any:
    from howdah.spark.sessions import session

    return session("local[2]")


def _runs(
    cluster: MiniCluster, fs: Any, spark: Any, hadoop: HadoopDistCp | None, source: str
) -> dict[str, Callable[[], float]]:
    expected = fs.content_summary(source)

    def ours(target: str) -> float:
        began_s = time.monotonic()
        distcp(
            spark,
            cluster.uri + source,
            cluster.uri + target,
            options=copy_options.Options(max_maps=2),
            conf=cluster.conf,
        )
        return time.monotonic() - began_s

    def theirs(target: str) -> float:
        assert hadoop is not None
        words = ["-m", "2", "-bandwidth", "100000", "-copybuffersize", str(BUFFER_BYTES)]
        found = hadoop.run([*words, cluster.uri + source, cluster.uri + target])
        assert found.exit_code == 0, "Hadoop's DistCp failed"
        return found.seconds

    def checked(run: Callable[[str], float]) -> Callable[[], float]:
        def once() -> float:
            target = f"/target{next(_numbers)}"
            seconds = run(target)
            summary = fs.content_summary(target)
            assert (summary.length, summary.file_count) == (expected.length, expected.file_count)
            fs.delete(target, recursive=True)
            progress(f"{source}: {seconds:.1f} s")
            return seconds

        return once

    runs = {OURS: checked(ours)}
    if hadoop is not None:
        runs[THEIRS] = checked(theirs)
    return runs


def _fill_small(fs: howdah.FileSystem, count: int) -> None:
    progress(f"writing {count:,} small files")
    content = random.Random(1).randbytes(SMALL_BYTES)

    def write(number: int) -> None:
        with fs.create(f"/small/{number % 100:02}/{number}") as out:
            out.write(content)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(count)))


def _fill_big(fs: howdah.FileSystem, size: int, count: int) -> None:
    progress(f"writing {size * count >> 20:,} MiB")
    piece = random.Random(1).randbytes(BUFFER_BYTES)
    for number in range(count):
        with fs.create(f"/big/{number}") as out:
            for _ in range(size // len(piece)):
                out.write(piece)


if __name__ == "__main__":
    main(measure)
