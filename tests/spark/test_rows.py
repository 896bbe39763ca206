"""How rows are dealt out to tasks."""

from __future__ import annotations

from typing import Any

from howdah.copy.common.arrow_rows import partitioned


def test_rows_that_are_made_again_come_to_the_tasks_that_had_them(spark: Any) -> None:
    def parts(length: str) -> dict[int, int]:
        rows = spark.range(0, 200, 1, 3).selectExpr("id", f"{length} as length")
        found = partitioned(rows, 7, "id").selectExpr("*", "spark_partition_id() as part").collect()
        return {row["id"]: row["part"] for row in found}

    assert parts("id") == parts("xxhash64(id)")
    assert len(set(parts("id").values())) == 7
