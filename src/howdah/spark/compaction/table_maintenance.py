"""The maintenance of tables, called in the program that knows them.

Delta Lake: by Spark, if the session has Delta's extension; otherwise by the library `deltalake`,
in this process. Iceberg: by Spark with Iceberg's extension (`compaction.iceberg_tables`). Each
commits a version of its own, or fails and leaves the table as it is; a writer that commits at the
same time makes one of the two fail or try again, as the format says.

Where neither is there, the outcome says what is missing.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.config import keys
from howdah.copy.common.filesystems import Place
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.spark.compaction.delta_tables import LIBRARY, DeltaByLibrary, DeltaBySpark
from howdah.spark.compaction.iceberg_tables import IcebergBySpark
from howdah.spark.compaction.table_formats import (
    AT_WORK_NAME,
    FIRST_PAIMON_SCHEMA,
    HIVE_NAME,
    ICEBERG_DIRECTORY,
    ICEBERG_NAME,
    MARKS,
    Maintained,
    Maintenance,
    Table,
    TableFormat,
    refusal,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Keeper = DeltaBySpark | DeltaByLibrary | IcebergBySpark

DELTA_EXTENSION: Final = "DeltaSparkSessionExtension"
ICEBERG_EXTENSION: Final = "IcebergSparkSessionExtensions"
_SCHEMES_OF_THE_LIBRARY: Final = ("hdfs", "file")


def table_above(fs: FileSystem, path: str) -> Table | None:
    """The table in whose directory `path` is, without being that directory."""
    child, above = path, paths.parent_of(path)
    while above is not None:
        table = _table_at(fs, above)
        if table is None and HIVE_NAME.match(paths.name_of(child)):
            table = Table(above, TableFormat.HIVE, paths.name_of(child))
        if table is None and "=" in paths.name_of(child) and (mark := _unknown_log(fs, above)):
            table = Table(above, TableFormat.UNKNOWN, mark)
        if table is not None:
            return table
        child, above = above, paths.parent_of(above)
    return None


def _table_at(fs: FileSystem, directory: str) -> Table | None:
    for mark, kind in MARKS.items():
        if fs.exists(paths.join(directory, mark)):
            return Table(directory, kind, mark)
    if metadata := iceberg_metadata(fs, directory):
        return Table(directory, TableFormat.ICEBERG, metadata[-1])
    if fs.exists(paths.join(directory, FIRST_PAIMON_SCHEMA)):
        return Table(directory, TableFormat.PAIMON, FIRST_PAIMON_SCHEMA)
    return None


def iceberg_metadata(fs: FileSystem, directory: str) -> list[str]:
    """The names of the metadata files of an Iceberg table; none if it is no such table."""
    try:
        listed = fs.list_status(paths.join(directory, ICEBERG_DIRECTORY))
    except (errors.PathNotFound, errors.ParentNotDirectory):
        return []
    return sorted(s.name for s in listed if s.is_file and ICEBERG_NAME.search(s.name))


def _unknown_log(fs: FileSystem, directory: str) -> str:
    """A hidden directory beside partitions that may be a table's log; "" if there is none."""
    for status in fs.list_status_iter(directory):
        is_hidden = status.is_directory and status.name.startswith(("_", "."))
        if is_hidden and "=" not in status.name and not AT_WORK_NAME.match(status.name):
            return status.name
    return ""


class TableKeeper:
    """Maintains the tables of one filesystem, one at a time."""

    def __init__(
        self,
        spark: SparkSession,
        fs: FileSystem,
        place: Place,
        asked: Maintenance,
        target_bytes: int,
        most_tasks: int,
    ) -> None:
        self._spark = spark
        self._fs = fs
        self._place = place
        self._asked = asked
        self._target_bytes = target_bytes
        self._most_tasks = most_tasks
        extensions = spark.conf.get("spark.sql.extensions", None) or ""
        self._has_delta = DELTA_EXTENSION in extensions
        self._has_iceberg = ICEBERG_EXTENSION in extensions

    def preview(self, table: Table) -> Maintained:
        """What `maintain` would do, and what that would cost."""
        return self._done(table, lambda keeper: keeper.preview())

    def maintain(self, table: Table) -> Maintained:
        """Compact a table, and whatever else was asked for. If that fails, the outcome says why."""
        return self._done(table, _maintained)

    def _done(self, table: Table, do: Callable[[Keeper], Maintained]) -> Maintained:
        reason = "tables are to be left alone" if self._asked.skips else refusal(table)
        if reason:
            return Maintained(table.path, table.format.value, reason=reason)
        nothing = Maintained(table.path, table.format.value)
        try:
            return do(self._keeper(table))
        except _Unable as unable:
            return replace(nothing, reason=unable.message)
        except (errors.HowdahError, OSError) as error:
            return replace(nothing, reason=str(error), failed=True)

    def _keeper(self, table: Table) -> Keeper:
        uri = self._fs.uri + table.path
        if table.format is TableFormat.ICEBERG:
            if not self._has_iceberg:
                raise _Unable(
                    "it is an Iceberg table, and this Spark has no Iceberg: set "
                    "spark.jars.packages (org.apache.iceberg:iceberg-spark-runtime-…) and "
                    "spark.sql.extensions in spark-defaults.conf"
                )
            metadata = iceberg_metadata(self._fs, table.path)
            if not metadata:
                raise _Unable(
                    f"it looks like an Iceberg table ({table.mark}), but has no metadata in a "
                    f"directory {ICEBERG_DIRECTORY}"
                )
            return IcebergBySpark(
                self._spark,
                uri,
                table,
                metadata,
                self._asked,
                self._target_bytes,
            )
        if self._asked.sort_by:
            raise errors.UnsupportedOperation(
                "Delta Lake's OPTIMIZE orders rows by a z-order only (--z-order-by)"
            )
        if self._has_delta:
            return DeltaBySpark(
                self._spark, uri, table, self._asked, self._target_bytes, self._most_tasks
            )
        self._check_library()
        return DeltaByLibrary(uri, table, self._asked, self._target_bytes, self._settings())

    def _check_library(self) -> None:
        """Raise `_Unable` unless the library can be used for this filesystem and user."""
        spark = (
            "Spark with Delta's extension can do it: set spark.jars.packages "
            "(io.delta:delta-spark_…), spark.sql.extensions and "
            "spark.sql.catalog.spark_catalog in spark-defaults.conf"
        )
        if find_spec(LIBRARY) is None:
            raise _Unable(
                f"it is a Delta Lake table, and neither has this Spark Delta's extension nor is "
                f"{LIBRARY} installed (pip install {LIBRARY}); {spark}"
            )
        if self._fs.scheme not in _SCHEMES_OF_THE_LIBRARY:
            raise _Unable(
                f"it is a Delta Lake table, and {LIBRARY} has settings of its own for "
                f"{self._fs.scheme}://, which howdah does not know; {spark}"
            )
        if self._fs.scheme != "hdfs":
            return
        user = getattr(self._fs, "user", None)
        own = os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
        if str(user) != own and self._is_simple():
            raise _Unable(
                f"it is a Delta Lake table, and {LIBRARY} would write as {own}, not as {user} "
                f"(HADOOP_USER_NAME says who); {spark}"
            )

    def _is_simple(self) -> bool:
        settings = dict(self._place.settings)
        name = keys.HADOOP_SECURITY_AUTHENTICATION.name
        return settings.get(name, "simple") == "simple"

    def _settings(self) -> dict[str, str]:
        """The configuration of the filesystem, for the library's client of HDFS."""
        if self._fs.scheme != "hdfs":
            return {}
        return {
            name: value
            for name, value in self._place.settings
            if name.startswith(("dfs.", "fs.", "hadoop."))
        }


def _maintained(keeper: Keeper) -> Maintained:
    done = keeper.compact()
    try:
        for cleaned in keeper.clean(done):
            done = cleaned  # so the outcome has the steps before one that fails
    except (errors.HowdahError, OSError) as error:
        return replace(done, reason=f"it was compacted, but then: {error}", failed=True)
    return done


class _Unable(errors.HowdahError, RuntimeError):
    """A program is missing, so the table is left alone."""
