"""`register`: the tables as sources of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.config import Configuration
from howdah.spark.sessions import as_spark_is
from howdah.spark.tables.table import Home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PUSHDOWN: Final = "spark.sql.python.filterPushdown.enabled"


def register(
    spark: SparkSession, *, conf: Configuration | None = None, user: str | None = None
) -> None:
    """Register the sources `howdah.namespace`, `howdah.edits`, `howdah.audit`, `howdah.blocks` and
    `howdah.changes` with a session, for `spark.read.format` and SQL.

    They read as `user`, with the configuration `conf` (by default that of this process). Filters
    of queries are handed to them: the setting `spark.sql.python.filterPushdown.enabled` of the
    session is turned on, where Spark has it (4.1 and newer).

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
    pushes_filters = _turn_on_pushdown(spark)
    for source in sources(home_of(spark, conf, user), pushes_filters=pushes_filters):
        spark.dataSource.register(source)


def home_of(spark: SparkSession, conf: Configuration | None, user: str | None) -> Home:
    """The configuration and the user of a session's tables."""
    configuration, user = as_spark_is(spark, conf, user)
    return Home(tuple(configuration.items()), user)


def _turn_on_pushdown(spark: SparkSession) -> bool:
    """Whether Spark hands filters to sources: from 4.1 on."""
    from pyspark.sql import datasource

    if not hasattr(datasource, "Filter"):
        return False
    spark.conf.set(PUSHDOWN, "true")
    return True
