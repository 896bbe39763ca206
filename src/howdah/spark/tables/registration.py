"""`register`: the tables as sources of a session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Self

from howdah import errors
from howdah.config import Configuration, keys
from howdah.copy.common.job_tokens import begin_job, carrying_tokens, end_with
from howdah.fs.registry import connect
from howdah.spark.sessions import as_spark_is
from howdah.spark.tables.table import Home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from howdah.formats.tokens.token import Token

FILESYSTEMS: Final = "spark.kerberos.access.hadoopFileSystems"
"""The filesystems of which Spark gets tokens, beside the default one."""


class Registered:
    """The registration of tables with a session: `close`, or the end of a `with`, cancels the
    delegation tokens that the tables have."""

    def __init__(self, end: Callable[[], None]) -> None:
        self._end = end

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel the tokens; without security nothing changes."""
        self._end()


def register(
    spark: SparkSession,
    *,
    conf: Configuration | None = None,
    user: str | None = None,
    filesystems: Sequence[str] = (),
) -> Registered:
    """Register the sources `howdah.namespace`, `howdah.edits`, `howdah.audit`, `howdah.blocks` and
    `howdah.changes` with a session, for `spark.read.format`, `spark.readStream.format` and SQL.

    They read as `user`, with the configuration `conf` (by default that of this process). On a
    secured cluster they have delegation tokens of the default filesystem, of those that
    `spark.kerberos.access.hadoopFileSystems` names, and of `filesystems`. The tokens are renewed.
    They are cancelled when what this returns is closed, or else with the session object or this
    process.

    Raises UnsupportedOperation before Spark 4.0; there `howdah.spark.table` makes the frames.

    >>> registered = register(spark)  # doctest: +SKIP
    >>> spark.read.format("howdah.namespace").load("hdfs://a:8020/data")  # doctest: +SKIP
    """
    if find_spec("pyspark.sql.datasource") is None:
        raise errors.UnsupportedOperation(
            "this version of Spark has no Python data sources: use howdah.spark.table(spark, "
            "NAME, PATH)"
        )
    from howdah.spark.tables.sources import sources

    home = home_of(spark, conf, user)
    end: Callable[[], None] = _nothing
    if home.configuration().get(keys.HADOOP_SECURITY_AUTHENTICATION) != "simple":
        named = spark.conf.get(FILESYSTEMS, "") or ""
        end = begin_job()
        end_with(spark, end)
        try:
            home = _with_tokens(home, (*named.replace(",", " ").split(), *filesystems))
        except BaseException:
            end()
            raise
    for source in sources(home):
        spark.dataSource.register(source)
    return Registered(end)


def _nothing() -> None:
    pass


def home_of(spark: SparkSession, conf: Configuration | None, user: str | None) -> Home:
    """The configuration and the user of a session's tables."""
    configuration, user = as_spark_is(spark, conf, user)
    return Home(tuple(configuration.items()), user)


def _with_tokens(home: Home, filesystems: Sequence[str]) -> Home:
    """The same with a user who carries tokens: Spark plans in processes that may have neither a
    ticket nor a keytab. Raises LoginFailed."""
    from howdah.security.users import SecuredUser

    conf = home.configuration()
    tokens: list[Token] = []
    default = (None,) if conf.is_set(keys.FS_DEFAULTFS) else ()
    for uri in (*default, *filesystems):
        fs = connect(uri, conf=conf, user=home.user)
        whose = carrying_tokens(fs, getattr(fs, "user", home.user))
        if isinstance(whose, SecuredUser):
            tokens += (token for token in whose.carried if token not in tokens)
    if not tokens or not isinstance(home.user, SecuredUser):
        return home
    return replace(home, user=home.user.carrying(tokens))
