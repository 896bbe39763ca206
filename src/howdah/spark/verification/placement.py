"""Replicas read by tasks, each at the node that has it, if Spark runs there.

Every replica is to be read, and each is on one host: a task on that host reads it without the
network. If all tasks run on the driver's host, or all replicas are on one host, replicas are
partitioned by hash.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from howdah.copy.common.arrow_rows import partitioned
from howdah.copy.common.filesystems import Place
from howdah.copy.common.task_errors import Reported, raise_reported, with_failures
from howdah.spark.locality.nodes import busiest, hosts, shares
from howdah.spark.locality.plan_files import NOT_NEAR, PlanFiles, nodes_of, part_by, share_table
from howdah.spark.verification.tasks import READ_SCHEMA, REPLICA_SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COST_A_REPLICA: Final = 256 << 10
"""The time to open a replica, as bytes that could be read meanwhile."""
_READ: Final = with_failures(READ_SCHEMA)
_KEY: Final = ("path", "block_id", "node")
_FINGERPRINT: Final = f"xxhash64({', '.join(_KEY)})"
_COST: Final = f"(length + {COST_A_REPLICA})"


@contextmanager
def read_all(
    spark: SparkSession,
    located: DataFrame,
    task: Reported,
    place: Place,
    parts: int,
    most_parts: int,
    *,
    at_nodes: bool,
) -> Iterator[tuple[DataFrame, str | None]]:
    """The findings, and a note if replicas were to be read at their nodes and are not.

    `parts` are enough; there may be up to `most_parts`, so that each node has one. With
    `at_nodes` the first computation must be within `plan_files.one_file_a_partition`.
    """
    note = None
    if at_nodes and parts > 1:
        files = PlanFiles(spark, place)
        note = files.prepare()
        if note is None:
            try:
                if _write(spark, files, located, parts, most_parts):
                    yield files.map(task, _READ), None
                    return
            finally:
                files.forget()
    reason = None if note is None else f"{NOT_NEAR}: {note}"
    yield partitioned(located, parts, *_KEY).mapInArrow(task, _READ), reason


def _write(
    spark: SparkSession, files: PlanFiles, located: DataFrame, parts: int, most_parts: int
) -> bool:
    """Write the plan; False if all replicas are on one host."""
    from pyspark.sql import functions as F

    kept = located.persist()
    try:
        raise_reported(kept)
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
        # A replica's part depends on its own row only, so no row can be lost between parts.
        return written > 0
    finally:
        kept.unpersist()
