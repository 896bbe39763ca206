"""Replicas read by tasks, each at the node that has it where Spark runs there.

A replica is on one machine, and every one is to be read: a task on that machine reads it
without the network. Where all tasks run on the driver's machine, or all replicas are on
one, they are dealt out by hash.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from howdah.spark.common.rows import partitioned
from howdah.spark.locality.nodes import busiest, hosts, shares
from howdah.spark.locality.plan_files import NOT_NEAR, PlanFiles, nodes_of, part_by, share_table
from howdah.spark.verification.tasks import READ_SCHEMA, REPLICA_SCHEMA, ReadReplicas

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COST_A_REPLICA: Final = 256 << 10
"""Bytes that could be read in the time that it takes to begin with a replica."""
_KEY: Final = ("path", "block_id", "node")
_FINGERPRINT: Final = f"xxhash64({', '.join(_KEY)})"
_COST: Final = f"(length + {COST_A_REPLICA})"


@contextmanager
def read_all(
    spark: SparkSession,
    located: DataFrame,
    task: ReadReplicas,
    parts: int,
    most_parts: int,
    *,
    at_nodes: bool,
) -> Iterator[tuple[DataFrame, str | None]]:
    """What was read, and why it was not at the replicas' own nodes where it was to be.

    `parts` is how many are enough; there may be `most_parts`, to have one on each node. At
    nodes, the first computation has to be within `howdah.spark.locality.plan_files.placed`.
    """
    note = None
    if at_nodes and parts > 1:
        files = PlanFiles(spark, task.place)
        note = files.prepare()
        if note is None:
            try:
                if _write(spark, files, located, parts, most_parts):
                    yield files.map(task, READ_SCHEMA), None
                    return
            finally:
                files.forget()
    told = None if note is None else f"{NOT_NEAR}: {note}"
    yield partitioned(located, parts, *_KEY).mapInArrow(task, READ_SCHEMA), told


def _write(
    spark: SparkSession, files: PlanFiles, located: DataFrame, parts: int, most_parts: int
) -> bool:
    """False if all is on one machine."""
    from pyspark.sql import functions as F

    kept = located.persist()
    try:
        there = kept.where("address <> ''").selectExpr("address", f"{_COST} as cost")
        found = there.groupBy("address").agg(F.sum("cost").alias("cost")).collect()
        work = {row["address"]: float(row["cost"]) for row in found}
        if len(hosts(work)) < 2:
            return False
        count = min(max(parts, len(work)), most_parts)
        own = shares(busiest(work, count), count)
        part = part_by("xxhash64(path, block_id)", count)
        table = share_table(spark, own).withColumnRenamed("node", "address")
        joined = kept.join(table, "address", "left")
        rows = joined.selectExpr(
            "*", f"{part} as part", f"{_COST} as cost", f"{_FINGERPRINT} as fingerprint"
        )
        written, _ = files.write(rows, REPLICA_SCHEMA, nodes_of(own, count))
        # A replica's part depends on nothing but itself, so nothing can fall between two.
        return written > 0
    finally:
        kept.unpersist()
