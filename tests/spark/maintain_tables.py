"""Tables of Delta Lake and Iceberg made, compacted while they are read, and read as they were: a
program for a Spark that fits both, with their jars. Prints what it found as JSON.

By Spark Connect the session is at the other end of a wire.

usage: maintain_tables.py URI JARS (classic|connect)
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from pyspark.sql import SparkSession

from howdah.spark import Maintenance, compact
from howdah.spark.compaction.outcome import Compaction

ROWS, VERSIONS = 10, 4


def session(uri: str, jars: str, mode: str) -> SparkSession:
    settings = {
        "spark.jars": jars,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        # Datanodes have names of their own here: its scheduler would wait for them for ever.
        "spark.locality.wait": "0s",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,"
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": f"{uri}/iceberg",
        "spark.sql.catalog.lake.cache-enabled": "false",
    }
    builder: Any = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    made: SparkSession
    if mode == "connect":
        made = builder.remote("local[2]").getOrCreate()
    else:
        made = builder.master("local[2]").getOrCreate()
        made.sparkContext.setLogLevel("ERROR")
    return made


def rows_of(frame: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in frame.select("id", "part", "name").collect())


@contextmanager
def reading(count: Callable[[], int]) -> Iterator[set[int]]:
    """Count the rows again and again; the different counts that were seen."""
    ends = threading.Event()
    counts: set[int] = set()
    failures: list[BaseException] = []

    def read() -> None:
        while not ends.wait(0.2):  # others need the processor, too
            try:
                counts.add(count())
            except Exception as error:  # noqa: BLE001 - raised below
                failures.append(error)
                return

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield counts
    finally:
        ends.set()
        thread.join()
    if failures:
        raise failures[0]


def told(found: Compaction) -> list[dict[str, Any]]:
    return [asdict(table) for table in found.tables]


def ordered_avro(spark: SparkSession, uri: str) -> dict[str, Any]:
    """Rows of Avro, ordered."""
    schema = """{"type": "record", "name": "Point", "namespace": "n", "fields": [
        {"name": "id", "type": "long"},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "note", "type": ["null", "string"], "default": null}]}"""
    rows = spark.range(100).selectExpr(
        "99 - id AS id", "if(id % 2 = 0, 'A', 'B') AS kind", "if(id % 3 = 0, null, 'ä') AS note"
    )
    writer = rows.repartition(5).write.format("avro").option("avroSchema", schema)
    writer.option("compression", "deflate").save(uri)
    before = spark.read.format("avro").load(uri)
    schema_before, rows_before = before.schema, Counter(map(tuple, before.collect()))
    found = compact(spark, uri, maintenance=Maintenance(sort_by=("kind", "id")))
    after = spark.read.format("avro").load(uri)
    (directory,) = found.directories
    rows_after = list(map(tuple, after.collect()))
    return {
        "reason": directory.reason,
        "files": [directory.files_before, directory.files_after],
        "is_same": after.schema == schema_before and Counter(rows_after) == rows_before,
        "is_ordered": rows_after == sorted(rows_after, key=lambda row: (row[1], row[0])),
    }


def _show(step: str) -> None:
    """How far the program is: it takes minutes."""
    print(f"{time.monotonic():.0f} s: {step}", file=sys.stderr, flush=True)


def main(uri: str, jars: str, mode: str) -> None:
    spark = session(uri, jars, mode)
    delta, iceberg = f"{uri}/delta", f"{uri}/iceberg/db/t"
    spark.sql("CREATE TABLE lake.db.t (id bigint, part bigint, name string) USING iceberg")
    for number in range(VERSIONS):
        rows = spark.range(number * ROWS, (number + 1) * ROWS).selectExpr(
            "id", "id % 2 AS part", "concat('name ', id) AS name"
        )
        rows.write.format("delta").partitionBy("part").mode("append").save(delta)
        rows.writeTo("lake.db.t").append()

    def read_delta() -> Any:
        return spark.read.format("delta").load(delta)

    def read_iceberg() -> Any:
        return spark.read.format("iceberg").load(iceberg)

    seen: dict[str, Any] = {}
    _show("made")
    before = rows_of(read_delta()), rows_of(read_iceberg())
    seen["preview"] = told(compact(spark, uri, dry_run=True))
    _show("preview")
    with reading(lambda: read_delta().count()) as delta_counts:
        with reading(lambda: read_iceberg().count()) as iceberg_counts:
            found = compact(spark, uri)
    seen["compacted"] = told(found)
    seen["directories"] = [directory.path for directory in found.directories]
    seen["counts"] = [sorted(delta_counts), sorted(iceberg_counts)]
    seen["equal"] = (rows_of(read_delta()), rows_of(read_iceberg())) == before
    _show("equal")
    for order in ({"z_order_by": ("id", "name")}, {"sort_by": ("name",)}):
        seen["/".join(order)] = told(compact(spark, uri, maintenance=Maintenance(**order)))
    seen["equal_ordered"] = (rows_of(read_delta()), rows_of(read_iceberg())) == before
    _show("equal_ordered")

    travelled = []
    for table in found.tables:
        if table.format == "Iceberg":
            old = f"SELECT * FROM lake.db.t VERSION AS OF {table.version_before}"
        else:
            old = f"SELECT * FROM delta.`{delta}` VERSION AS OF {table.version_before}"
        travelled.append(rows_of(spark.sql(old)) == before[0])
    seen["travelled"] = travelled
    _show("travelled")

    cleaning = Maintenance(vacuums=True, expires=True, retain_hours=168)
    seen["cleaned"] = told(compact(spark, uri, maintenance=cleaning))
    _show("cleaned")
    expiring = Maintenance(expires=True, removes_orphans=True, retain_hours=0)
    seen["orphans"] = told(compact(spark, iceberg, maintenance=expiring))
    _show("orphans")
    expiring = Maintenance(expires=True, retain_hours=0, name="lake.db.t")
    seen["expired"] = told(compact(spark, iceberg, maintenance=expiring))
    seen["snapshots"] = spark.sql("SELECT * FROM lake.db.t.snapshots").count()
    spark.sql("CREATE TABLE lake.db.other (id bigint) USING iceberg")
    seen["misnamed"] = told(compact(spark, iceberg, maintenance=Maintenance(name="lake.db.other")))
    seen["equal_cleaned"] = (rows_of(read_delta()), rows_of(read_iceberg())) == before
    _show("equal_cleaned")
    seen["settings"] = [
        name
        for name in ("spark.databricks.delta.optimize.maxFileSize", "spark.sql.catalog.howdah_0")
        if spark.conf.get(name, None) is not None
    ]
    seen["avro"] = ordered_avro(spark, f"{uri}/avro")
    spark.stop()
    print(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
