"""Compaction of 5,000 small Parquet files, against what somebody would write in Spark.

One cluster of ours with one datanode and one replica, a Spark session on `local[2]`. Each
file has 200 rows (a number, a name, a time, a few null values). All of them are in one
directory, then in 50 partitions. The old directory is put back after each run.

The peers are `spark.read.parquet(…).coalesce(n).write.parquet(…)` to as many files, as it
is, and with `mergeSchema`, without which columns of some files can be lost; for partitions,
`repartition("part")` and `partitionBy("part")`. They count no rows, exchange nothing, and
keep neither owner nor mode.

The last figure is of a tenth as many small files beside twenty large ones, which stay. By hand
Spark reads the small files alone, by their names, appends their rows, and the small files are
deleted: readers see rows twice, or not at all, meanwhile.
"""

from __future__ import annotations

import datetime as dt
import io
import itertools
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from harness import Options, Results, Skipped, figure, in_turn, main, progress, scratch

import howdah
from howdah.java import NoJava, find_java_home
from howdah.spark import compact
from howdah.testing.minicluster import MiniCluster

ROWS = 200
PARTITIONS = 50
LARGE = 20
LARGE_ROWS = 250_000
LARGE_BYTES = 4 << 20
"""The target size: such files are longer than half of it."""
OURS = "howdah compact"
_numbers = itertools.count()


def measure(options: Options) -> Results:
    try:
        os.environ["JAVA_HOME"] = str(find_java_home())
    except NoJava as error:
        yield Skipped("compaction", str(error))
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from howdah.spark.sessions import session

    files = 500 if options.quick else 5000
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "compaction"))
        conf: dict[str, str | int | float | bool] = {"dfs.replication": 1}
        cluster = stack.enter_context(MiniCluster(datanodes=1, dir=base / "cluster", conf=conf))
        fs = stack.enter_context(cluster.connect())
        spark = stack.enter_context(session("local[2]"))
        progress(f"writing {2 * files:,} small files")
        fill(fs, files, lambda number: f"/flat/{number:05}.parquet")
        fill(fs, files, lambda number: f"/parts/part={number % PARTITIONS}/{number:05}.parquet")
        repeats = options.repeats(2, 1)
        for path, what in (
            ("/flat", "in one directory"),
            ("/parts", f"in {PARTITIONS} partitions"),
        ):
            runs = _runs(cluster, fs, spark, path)
            found = in_turn(runs, repeats, warm_up=1 if options.quick else 0)
            rates = {name: [files / s for s in values] for name, values in found.items()}
            peers = {name: values for name, values in rates.items() if name != OURS}
            name = f"compact {files:,} Parquet files {what}"
            yield figure(name, "files/s", rates[OURS], peers)
        some = files // 10
        found = in_turn(
            _runs_beside(cluster, fs, spark, some), repeats, warm_up=1 if options.quick else 0
        )
        rates = {name: [some / s for s in values] for name, values in found.items()}
        name = f"compact {some:,} Parquet files beside {LARGE} large ones"
        yield figure(name, "files/s", rates.pop(OURS), rates)


def small_file(number: int, rows: int = ROWS) -> bytes:
    """A file of its own rows."""
    import pyarrow as pa
    from pyarrow import parquet

    ids = range(number * rows, (number + 1) * rows)
    began = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    table = pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "name": pa.array([f"name {each}" for each in ids]),
            "time": pa.array(
                [began + dt.timedelta(seconds=each) for each in ids], pa.timestamp("us", "UTC")
            ),
            "value": pa.array([None if each % 7 == 0 else each / 3 for each in ids]),
        }
    )
    made = io.BytesIO()
    parquet.write_table(table, made, compression="snappy")
    return made.getvalue()


def fill(fs: howdah.FileSystem, count: int, path: Callable[[int], str]) -> None:
    """Write so many files."""

    def write(number: int) -> None:
        with fs.create(path(number)) as out:
            out.write(small_file(number))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(count)))


def _runs(
    cluster: MiniCluster, fs: howdah.FileSystem, spark: Any, path: str
) -> dict[str, Callable[[], float]]:
    uri = cluster.uri + path
    rows = spark.read.parquet(uri).count()
    directories = PARTITIONS if path == "/parts" else 1

    def ours() -> float:
        began_s = time.monotonic()
        found = compact(spark, uri, conf=cluster.conf)
        seconds = time.monotonic() - began_s
        assert len(found.changed) == directories, found
        assert spark.read.parquet(uri).count() == rows
        for each in found.changed:
            fs.delete(each.path, recursive=True)
            fs.rename(each.kept_at, each.path)
        progress(f"{OURS}, {path}: {seconds:.1f} s")
        return seconds

    def theirs(merged: bool) -> float:
        target = f"{cluster.uri}/made{next(_numbers)}"
        began_s = time.monotonic()
        old = spark.read.option("mergeSchema", str(merged).lower()).parquet(uri)
        if directories == 1:
            old.coalesce(1).write.parquet(target)
        else:
            old.repartition("part").write.partitionBy("part").parquet(target)
        seconds = time.monotonic() - began_s
        assert spark.read.parquet(target).count() == rows
        fs.delete(target.removeprefix(cluster.uri), recursive=True)
        progress(f"Spark, {path}, merged {merged}: {seconds:.1f} s")
        return seconds

    return {
        OURS: ours,
        "Spark by hand": lambda: theirs(False),
        "Spark by hand, mergeSchema": lambda: theirs(True),
    }


def _runs_beside(
    cluster: MiniCluster, fs: howdah.FileSystem, spark: Any, small: int
) -> dict[str, Callable[[], float]]:
    """The directory is made anew for each run."""
    large = small_file(1000, LARGE_ROWS)
    assert len(large) > LARGE_BYTES // 2, len(large)

    def made() -> str:
        path = f"/beside{next(_numbers)}"
        for number in range(LARGE):
            fs.write_bytes(f"{path}/large-{number:02}.parquet", large)
        fill(fs, small, lambda number: f"{path}/{number:05}.parquet")
        return path

    def checked(path: str, seconds: float, who: str) -> float:
        assert spark.read.parquet(cluster.uri + path).count() == LARGE * LARGE_ROWS + small * ROWS
        assert len([s for s in fs.list_status(path) if not s.name.startswith("_")]) <= LARGE + 2
        fs.delete(path, recursive=True)
        progress(f"{who}, beside large files: {seconds:.1f} s")
        return seconds

    def ours() -> float:
        path = made()
        began_s = time.monotonic()
        found = compact(spark, cluster.uri + path, target_bytes=LARGE_BYTES, conf=cluster.conf)
        seconds = time.monotonic() - began_s
        assert [each.files_kept for each in found.changed] == [LARGE], found
        return checked(path, seconds, OURS)

    def by_hand() -> float:
        path = made()
        began_s = time.monotonic()
        names = [s.path for s in fs.list_status(path) if s.length < LARGE_BYTES // 2]
        rows = spark.read.parquet(*(cluster.uri + name for name in names))
        rows.coalesce(1).write.mode("append").parquet(cluster.uri + path)
        for name in names:
            fs.delete(name)
        return checked(path, time.monotonic() - began_s, "Spark")

    return {OURS: ours, "Spark by hand": by_hand}


if __name__ == "__main__":
    main(measure)
