"""Delta Lake's own maintenance: OPTIMIZE and VACUUM by Spark, or the same by the library
`deltalake` in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from howdah import errors
from howdah.copy.common.failures import MOST_CHARS
from howdah.spark.compaction.statements import run_sql
from howdah.spark.compaction.table_formats import (
    DataFile,
    Maintained,
    Maintenance,
    Table,
    cost,
    delta_at,
    delta_optimize,
    delta_vacuum,
)

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

_SIZES: Final = (
    "spark.databricks.delta.optimize.maxFileSize",
    "spark.databricks.delta.optimize.minFileSize",
)
_LISTING: Final = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
"""The tasks by which VACUUM lists a table: 10000, if nothing is said, however small it is."""
LIBRARY: Final = "deltalake"


class MaintenanceFailed(errors.HowdahError, RuntimeError):
    """A table's own program could not do it; the table is as it was before the failed step."""


class DeltaBySpark:
    """Delta's OPTIMIZE and VACUUM."""

    def __init__(
        self,
        spark: SparkSession,
        uri: str,
        table: Table,
        asked: Maintenance,
        target_bytes: int,
        most_tasks: int,
    ) -> None:
        self._spark = spark
        self._uri = uri
        self._table = table
        self._asked = asked
        self._target_bytes = target_bytes
        self._most_tasks = most_tasks

    def preview(self) -> Maintained:
        """An upper bound: Delta's SQL does not say the lengths of single files."""
        (detail,) = self._sql(f"DESCRIBE DETAIL {delta_at(self._uri)}")
        size, files = int(detail["sizeInBytes"]), int(detail["numFiles"])
        steps = [delta_optimize(self._uri, self._asked)]
        deleted = 0
        if self._asked.vacuums:
            steps.append(delta_vacuum(self._uri, self._asked, dry_run=False))
            with self._set(_LISTING, value=self._most_tasks):
                deleted = len(self._sql(delta_vacuum(self._uri, self._asked, dry_run=True)))
        after = min(files, max(1, -(-size // self._target_bytes)))
        version = self._version()
        found = self._outcome(steps, version, version)
        return replace(
            found, files_before=files, files_after=after, bytes=size, files_deleted=deleted
        )

    def compact(self) -> Maintained:
        """OPTIMIZE."""
        before = self._version()
        statement = delta_optimize(self._uri, self._asked)
        with self._set(*_SIZES, value=self._target_bytes):
            (row,) = self._sql(statement)
        metrics = row["metrics"]
        return replace(
            self._outcome([statement], before, self._version()),
            files_before=int(metrics["numFilesRemoved"]),
            files_after=int(metrics["numFilesAdded"]),
            bytes=int(metrics["filesRemoved"]["totalSize"]),
        )

    def clean(self, done: Maintained) -> Iterator[Maintained]:
        """VACUUM, if it was asked for; the outcome then. Delta says how many files it deleted only
        where it logs that."""
        if not self._asked.vacuums:
            return
        statement = delta_vacuum(self._uri, self._asked, dry_run=False)
        with self._set(_LISTING, value=self._most_tasks):
            self._sql(statement)
        yield replace(
            done,
            files_deleted=None,
            version_after=self._version(),
            steps=(*done.steps, statement),
        )

    def _outcome(self, steps: list[str], before: str, after: str) -> Maintained:
        return Maintained(
            self._table.path,
            self._table.format.value,
            "Spark",
            version_before=before,
            version_after=after,
            steps=tuple(steps),
        )

    def _version(self) -> str:
        (row,) = self._sql(f"DESCRIBE HISTORY {delta_at(self._uri)} LIMIT 1")
        return str(row["version"])

    def _sql(self, statement: str) -> list[Row]:
        return run_sql(self._spark, statement)

    @contextmanager
    def _set(self, *names: str, value: int) -> Iterator[None]:
        """Set what these statements take from nowhere but the session."""
        before = {name: self._spark.conf.get(name, None) for name in names}
        try:
            for name in names:
                self._spark.conf.set(name, str(value))
            yield
        finally:
            for name, old in before.items():
                if old is None:
                    self._spark.conf.unset(name)
                else:
                    self._spark.conf.set(name, old)


class DeltaByLibrary:
    """The same by the library `deltalake`, in this process."""

    def __init__(
        self,
        uri: str,
        table: Table,
        asked: Maintenance,
        target_bytes: int,
        settings: Mapping[str, str],
    ) -> None:
        self._uri = uri
        self._at = table
        self._asked = asked
        self._target_bytes = target_bytes
        self._settings = dict(settings)

    def preview(self) -> Maintained:
        with _library_errors():
            table = self._open()
            files = _files_of(table)
            version = str(table.version())
            deleted = len(self._vacuum(table, dry_run=True)) if self._asked.vacuums else 0
        rewrites_all = bool(self._asked.z_order_by)
        before, after, size = cost(files, self._target_bytes, rewrites_all=rewrites_all)
        return Maintained(
            self._at.path,
            self._at.format.value,
            LIBRARY,
            before,
            after,
            size,
            deleted,
            version,
            version,
            self._steps(),
        )

    def compact(self) -> Maintained:
        """`optimize.compact` or `optimize.z_order`."""
        with _library_errors():
            table = self._open()
            before = str(table.version())
            optimizer = table.optimize
            if self._asked.z_order_by:
                columns = list(self._asked.z_order_by)
                done = optimizer.z_order(columns, target_size=self._target_bytes)
            else:
                done = optimizer.compact(target_size=self._target_bytes)
            after = str(table.version())
        return Maintained(
            self._at.path,
            self._at.format.value,
            LIBRARY,
            int(done["numFilesRemoved"]),
            int(done["numFilesAdded"]),
            int(json.loads(done["filesRemoved"])["totalSize"]),
            0,
            before,
            after,
            self._steps()[:1],
        )

    def clean(self, done: Maintained) -> Iterator[Maintained]:
        """`vacuum`, if it was asked for; the outcome then."""
        if not self._asked.vacuums:
            return
        with _library_errors():
            table = self._open()
            deleted = self._vacuum(table, dry_run=False)
            version = str(self._open().version())
        yield replace(done, files_deleted=len(deleted), version_after=version, steps=self._steps())

    def _open(self) -> Any:
        from deltalake import DeltaTable

        return DeltaTable(self._uri, storage_options=self._settings)

    def _vacuum(self, table: Any, *, dry_run: bool) -> list[str]:
        hours = self._asked.retain_hours
        if hours != int(hours):
            raise errors.UnsupportedOperation(
                f"{LIBRARY} keeps versions for whole hours, not for {hours:g}"
            )
        deleted: list[str] = table.vacuum(retention_hours=int(hours), dry_run=dry_run)
        return deleted

    def _steps(self) -> tuple[str, ...]:
        order = ", ".join(self._asked.z_order_by)
        first = f"optimize.z_order({order})" if order else "optimize.compact()"
        if not self._asked.vacuums:
            return (first,)
        return first, f"vacuum({self._asked.retain_hours:g} hours)"


def _files_of(table: Any) -> list[DataFile]:
    import pyarrow as pa

    rows = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    return [
        DataFile(
            int(row["size_bytes"]),
            tuple(str(row[name]) for name in sorted(row) if name.startswith("partition.")),
        )
        for row in rows
    ]


@contextmanager
def _library_errors() -> Iterator[None]:
    """Errors of the library as ours, which have its message."""
    from deltalake.exceptions import DeltaError

    try:
        yield
    except DeltaError as error:
        raise MaintenanceFailed(f"{LIBRARY}: {str(error)[:MOST_CHARS]}") from error
