"""Digests of files over time: which files changed, and which changed though nobody wrote them.

A manifest is a directory with a subdirectory of Parquet for each run, named `at=` and the time in
UTC. A run is compared with the last one before it. A file with another CRC, but the same length
and modification time, was not written: it is rotten.

A file that cannot be read in a run keeps the CRC of the last run, if it was not written since, and
has none otherwise.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.config import Configuration
from howdah.fs import glob, paths
from howdah.fs.registry import connect

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_PREFIX: Final = "at="
_UNFINISHED: Final = "_writing-"


@dataclass(frozen=True, slots=True)
class ChangeCounts:
    """The number of files by kind of change."""

    added: int = 0
    gone: int = 0
    modified: int = 0
    rotten: int = 0
    unchanged: int = 0


class Manifest:
    """A directory of digests."""

    def __init__(
        self, spark: SparkSession, uri: str, conf: Configuration, user: str | None
    ) -> None:
        self._spark = spark
        self._fs = connect(uri, conf=conf, user=user)
        self._path = self._fs.resolve(uri)

    def last(self) -> DataFrame | None:
        """The digests of the last run; None before the first."""
        try:
            names = [status.name for status in self._fs.list_status(self._path)]
        except errors.PathNotFound:
            return None
        runs = sorted(name for name in names if name.startswith(_PREFIX))
        return self.read(self._uri(runs[-1])) if runs else None

    def read(self, run: str) -> DataFrame:
        """The digests of a run, by its URI."""
        # Spark reads patterns.
        return self._spark.read.parquet(self._fs.uri + glob.escape(self._fs.resolve(run)))

    def write(self, digests: DataFrame) -> str:
        """Add a run; return its URI. It appears as a whole, by a rename."""
        unfinished = f"{_UNFINISHED}{uuid.uuid4().hex[:12]}"
        digests.write.parquet(self._uri(unfinished))
        name = _PREFIX + time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        self._fs.rename(paths.join(self._path, unfinished), paths.join(self._path, name))
        return self._uri(name)

    def _uri(self, name: str) -> str:
        return self._fs.uri + paths.join(self._path, name)


def with_last_crcs(before: DataFrame, digests: DataFrame) -> DataFrame:
    """Return the digests of a run; a file that could not be read and was not written since has the
    CRC of the last run."""
    from pyspark.sql import functions as F

    both = digests.join(_renamed(before), "path", "left")
    known = F.when(_is_not_written(), F.col("old_crc"))
    crc = F.coalesce(F.col("crc"), known).alias("crc")
    return both.select("path", "length", "modification_time_ms", crc)


def changes_between(before: DataFrame, now: DataFrame) -> DataFrame:
    """One row a path: `path binary, change string` (added, gone, modified, rotten, unchanged).

    Both have a row for each file of their time; `crc` is null if it is unknown.
    """
    from pyspark.sql import functions as F

    both = _renamed(before).join(now, "path", "full_outer")
    change = (
        F.when(F.col("old_length").isNull(), "added")
        .when(F.col("length").isNull(), "gone")
        .when(~_is_not_written(), "modified")
        .when(F.col("crc") != F.col("old_crc"), "rotten")
        .otherwise("unchanged")
    )
    return both.select("path", change.alias("change"))


def _renamed(before: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return before.select(
        "path",
        F.col("length").alias("old_length"),
        F.col("modification_time_ms").alias("old_time"),
        F.col("crc").alias("old_crc"),
    )


def _is_not_written() -> Column:
    from pyspark.sql import functions as F

    return (F.col("old_length") == F.col("length")) & (
        F.col("old_time") == F.col("modification_time_ms")
    )
