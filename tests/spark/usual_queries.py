"""Queries of the shapes that hang where a local scheduler waits for other hosts.

As a program: on each of the directories that it is given, by a Spark as it comes.
"""

from __future__ import annotations

import sys
from typing import Any


def run(spark: Any, root: str) -> None:
    """Each says its name first, so that the one that hangs is known."""

    def say(name: str) -> None:
        print(name, flush=True)

    def table(name: str) -> Any:
        return spark.read.parquet(f"{root}/{name}")

    say("write")
    for name in ("a", "b"):
        spark.range(100).repartition(4).write.parquet(f"{root}/{name}")
    say("union")
    assert table("a").repartition(2).union(table("b")).count() == 200
    say("union of a cache")
    kept = table("a").repartition(2).cache()
    assert kept.union(table("b")).count() == 200
    kept.unpersist()
    say("join")
    # Not by a broadcast, which has no stage of two kinds of tasks.
    joined = table("a").hint("merge").join(table("b").repartition(3), "id")
    assert joined.union(table("a")).count() == 200
    say("stream")
    stream = spark.readStream.schema("id long").parquet(f"{root}/a")
    query = (
        stream.union(stream.repartition(2))
        .writeStream.format("parquet")
        .option("path", f"{root}/out")
        .option("checkpointLocation", f"{root}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert table("out").count() == 200


def main() -> None:
    from pyspark.sql import SparkSession

    # Of 200 parts, Spark's default, most would be empty.
    builder = SparkSession.builder.config("spark.sql.shuffle.partitions", 2)
    spark = builder.master("local[2]").getOrCreate()
    for root in sys.argv[1:]:
        print(root, flush=True)
        run(spark, root)
    print("done", flush=True)


if __name__ == "__main__":
    main()
