"""Iceberg's own maintenance, by its procedures in Spark.

They take the name of a table in a catalog. A table whose newest version the filesystem says
(`v3.metadata.json`, `version-hint.text`) is named by a catalog that is made for it in the session,
and forgotten afterwards. A table of another catalog (Hive, REST …) has to be named, and is refused
unless the name leads to this directory: a commit past its catalog would be a second history.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.fs import paths
from howdah.spark.compaction.statements import run_sql
from howdah.spark.compaction.table_formats import (
    DataFile,
    Maintained,
    Maintenance,
    Table,
    cost,
    iceberg_expire,
    iceberg_orphans,
    iceberg_rewrite,
    is_of_a_catalog,
    quoted,
)

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

_CATALOG: Final = "org.apache.iceberg.spark.SparkCatalog"
_numbers = itertools.count()


class IcebergBySpark:
    """rewrite_data_files, expire_snapshots and remove_orphan_files of one table."""

    def __init__(
        self,
        spark: SparkSession,
        uri: str,
        table: Table,
        metadata: Sequence[str],
        asked: Maintenance,
        target_bytes: int,
    ) -> None:
        """`uri`: of the table's directory; `metadata`: the names of its metadata files."""
        self._spark = spark
        self._uri = uri
        self._table = table
        self._metadata = metadata
        self._asked = asked
        self._target_bytes = target_bytes

    def preview(self) -> Maintained:
        with self._named() as (catalog, name):
            files = [
                DataFile(int(row["size"]), (str(row["partition"]),)) for row in self._files(name)
            ]
            orders = bool(self._asked.sort_by or self._asked.z_order_by)
            before, after, size = cost(files, self._target_bytes, rewrites_all=orders)
            deleted: int | None = None if self._asked.expires else 0
            steps = self._steps(catalog, name)
            if self._asked.removes_orphans:
                orphans = self._sql(iceberg_orphans(catalog, name, self._until(), dry_run=True))
                deleted = None if deleted is None else len(orphans)
            snapshot = self._snapshot(name)
        return self._outcome(before, after, size, deleted, snapshot, snapshot, steps)

    def compact(self) -> Maintained:
        """rewrite_data_files."""
        with self._named() as (catalog, name):
            before = self._snapshot(name)
            step = self._steps(catalog, name)[0]
            (done,) = self._sql(step)
            after = self._snapshot(name)
        counts = done.asDict()
        if failed := int(counts.get("failed_data_files_count") or 0):
            raise errors.RemoteError(f"Iceberg could not rewrite {failed} files")
        return self._outcome(
            int(counts["rewritten_data_files_count"]),
            int(counts["added_data_files_count"]),
            int(counts["rewritten_bytes_count"]),
            0,
            before,
            after,
            [step],
        )

    def clean(self, done: Maintained) -> Iterator[Maintained]:
        """expire_snapshots and remove_orphan_files, as they were asked for; the outcome after
        each of them."""
        with self._named() as (catalog, name):
            for step in self._steps(catalog, name)[1:]:
                rows = self._sql(step)
                deleted = len(rows)
                if "expire_snapshots" in step:
                    counts = rows[0].asDict().items()
                    deleted = sum(int(n or 0) for key, n in counts if key.startswith("deleted_"))
                done = replace(
                    done,
                    files_deleted=(done.files_deleted or 0) + deleted,
                    steps=(*done.steps, step),
                )
                yield done

    def _outcome(
        self,
        before: int,
        after: int,
        size: int,
        deleted: int | None,
        snapshot_before: str,
        snapshot_after: str,
        steps: Sequence[str],
    ) -> Maintained:
        return Maintained(
            self._table.path,
            self._table.format.value,
            "Spark",
            before,
            after,
            size,
            deleted,
            snapshot_before,
            snapshot_after,
            tuple(steps),
        )

    def _steps(self, catalog: str, name: str) -> list[str]:
        asked = self._asked
        steps = [iceberg_rewrite(catalog, name, asked, self._target_bytes)]
        if asked.expires:
            steps.append(iceberg_expire(catalog, name, self._until()))
        if asked.removes_orphans:
            steps.append(iceberg_orphans(catalog, name, self._until(), dry_run=False))
        return steps

    def _until(self) -> str:
        age = dt.timedelta(hours=self._asked.retain_hours)
        return f"{dt.datetime.now(dt.UTC) - age:%Y-%m-%d %H:%M:%S}"

    def _files(self, name: str) -> list[Row]:
        return self._sql(
            "SELECT file_size_in_bytes AS size, "
            f"{self._partition(name)} AS partition FROM {quoted(name)}.files WHERE content = 0"
        )

    def _partition(self, name: str) -> str:
        """The expression for a file's partition: tables without partitions have no such column."""
        columns = self._spark.table(f"{quoted(name)}.files").columns
        return "to_json(partition)" if "partition" in columns else "''"

    def _snapshot(self, name: str) -> str:
        rows = self._sql(f"SELECT snapshot_id FROM {quoted(name)}.refs WHERE name = 'main'")
        return str(rows[0]["snapshot_id"]) if rows else ""

    def _sql(self, statement: str) -> list[Row]:
        return run_sql(self._spark, statement)

    @contextmanager
    def _named(self) -> Iterator[tuple[str, str]]:
        """The catalog, and the table's name in it."""
        if self._asked.name:
            yield self._given()
            return
        if is_of_a_catalog(self._metadata):
            raise errors.UnsupportedOperation(
                f"it is an Iceberg table of a catalog, which says what its newest version is: give "
                f"its name (--table CATALOG.DATABASE.TABLE); its metadata files are named like "
                f"{self._metadata[-1]}"
            )
        directory, _, last = self._uri.rpartition(paths.SEPARATOR)
        if "." in last or "`" in last:
            raise errors.UnsupportedOperation(
                f"a catalog's table cannot be called {last!r}: give its name (--table)"
            )
        catalog = f"howdah_{next(_numbers)}"
        key = f"spark.sql.catalog.{catalog}"
        settings = {
            key: _CATALOG,
            f"{key}.type": "hadoop",
            f"{key}.warehouse": directory,
            f"{key}.cache-enabled": "false",
        }
        for setting, value in settings.items():
            self._spark.conf.set(setting, value)
        try:
            yield catalog, f"{catalog}.{last}"
        finally:
            for setting in settings:
                self._spark.conf.unset(setting)

    def _given(self) -> tuple[str, str]:
        """The name that the user gave, which must lead to this directory."""
        name = self._asked.name
        catalog, _, rest = name.partition(".")
        if not rest:
            raise errors.IllegalArgument(f"{name!r} names no table of a catalog (CATALOG.…)")
        rows = self._sql(
            f"SELECT file FROM {quoted(name)}.metadata_log_entries ORDER BY timestamp DESC LIMIT 1"
        )
        newest = paths.parse(str(rows[0]["file"])).path if rows else ""
        if not self._table.contains(newest):
            raise errors.IllegalArgument(
                f"the newest metadata of {name} is {newest or 'nowhere'}, not in {self._table.path}"
            )
        return catalog, name
