"""Jobs and tables on a Spark that has no Python data sources: a program for Spark 3.5. Prints what
it found as JSON.

usage: jobs_on_older_spark.py URI
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

import pyspark
from pyspark.sql import SparkSession

import howdah
from howdah import errors
from howdah.spark import Options, compact, distcp, namespace, register, table, verify
from howdah.spark import namespace_reports as reports


def session() -> SparkSession:
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.catalogImplementation": "in-memory",
        # Datanodes have names of their own here: its scheduler would wait for them for ever.
        "spark.locality.wait": "0s",
    }
    builder: Any = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    made: SparkSession = builder.master("local[2]").getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


def rows_of(frame: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in frame.collect())


def main(uri: str) -> None:
    spark = session()
    seen: dict[str, Any] = {"version": pyspark.__version__}
    # By Arrow, and by Spark's own writer.
    for name, more in (("plain", "id"), ("nested", "struct(id, id + 1 AS next) AS id")):
        frame = spark.range(400).selectExpr(more, "concat('name ', id) AS name", "id % 2 AS part")
        where = f"{uri}/{name}"
        frame.repartition(8).write.partitionBy("part").parquet(where)
        before = rows_of(spark.read.parquet(where))
        found = compact(spark, where)
        seen[name] = {
            "files": [[each.files_before, each.files_after] for each in found.changed],
            "reasons": [each.reason for each in found.directories if each.reason],
            "equal": rows_of(spark.read.parquet(where)) == before,
        }
    try:
        register(spark)
    except errors.UnsupportedOperation as error:
        seen["register"] = str(error)
    listed = table(spark, "namespace", f"{uri}/plain", columns="path,type,length")
    seen["table"] = dict(listed.groupBy("type").count().collect())
    seen["blocks"] = table(spark, "blocks", f"{uri}/plain").count()
    rows = namespace(spark, f"{uri}/plain")
    seen["small"] = [row["small_files"] for row in reports.small_files(rows).collect()]
    rows.unpersist()
    copied = distcp(spark, f"{uri}/plain", f"{uri}/copy", options=Options(update=True))
    seen["copied"] = copied.counters.files_copied
    seen["equal_copy"] = rows_of(spark.read.parquet(f"{uri}/copy")) == rows_of(
        spark.read.parquet(f"{uri}/plain")
    )
    with verify(spark, f"{uri}/copy") as verified:
        seen["problems"] = verified.replicas.where("verdict != 'sound'").count()
    with howdah.connect(uri) as fs:
        fs.write_bytes(f"{fs.resolve(uri)}/t/_delta_log/0.json", b"{}")
        fs.write_bytes(f"{fs.resolve(uri)}/t/a.parquet", b"1")
    seen["tables"] = [[each.format, each.reason] for each in compact(spark, f"{uri}/t").tables]
    spark.stop()
    print(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
