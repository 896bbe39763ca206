"""Statements of SQL, with Spark's errors as ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from howdah.copy.common.failures import from_spark

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession


def run_sql(spark: SparkSession, statement: str) -> list[Row]:
    """The rows of a statement. Raises `JobFailed` with what Spark says."""
    try:
        rows: list[Row] = spark.sql(statement).collect()
    except Exception as error:
        raise from_spark(error) from error
    return rows
