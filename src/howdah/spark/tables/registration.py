"""`register`: the tables as sources of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from howdah import errors
from howdah.config import Configuration
from howdah.spark.sessions import as_spark_is
from howdah.spark.tables.table import Home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(
    spark: SparkSession, *, conf: Configuration | None = None, user: str | None = None
) -> None:
    """Register the sources `howdah.namespace`, `howdah.edits`, `howdah.audit`, `howdah.blocks` and
    `howdah.changes` with a session, for `spark.read.format` and SQL.

    They read as `user`, with the configuration `conf` (by default that of this process).

    Raises UnsupportedOperation before Spark 4.0; there `howdah.spark.table` makes the frames.

    >>> register(spark)  # doctest: +SKIP
    >>> spark.read.format("howdah.namespace").load("hdfs://a:8020/data")  # doctest: +SKIP
    """
    try:
        from howdah.spark.tables.sources import sources
    except ImportError as error:
        raise errors.UnsupportedOperation(
            "this version of Spark has no Python data sources: use howdah.spark.table(spark, "
            "NAME, PATH)"
        ) from error
    for source in sources(home_of(spark, conf, user)):
        spark.dataSource.register(source)


def home_of(spark: SparkSession, conf: Configuration | None, user: str | None) -> Home:
    """The configuration and the user of a session's tables."""
    configuration, user = as_spark_is(spark, conf, user)
    return Home(tuple(configuration.items()), user)
