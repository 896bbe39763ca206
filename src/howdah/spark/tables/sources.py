"""Tables as sources of Spark 4: `spark.read.format("howdah.namespace")`.

Spark makes a source in a process of its own beside the driver, and pickles it to the tasks. So a
source is a class that holds nothing but the driver's configuration and user (`Home`), and the
options. Imported where PySpark has the Python Data Source API only: Spark 4.0 and newer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)

from howdah import errors
from howdah.copy.common.job_tokens import begin_job
from howdah.runtime.fork_safety import PerProcess
from howdah.spark.tables.catalog import CHANGES, TABLES, open_table
from howdah.spark.tables.table import Home, Table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from howdah.spark.tables.change_table import ChangeTable, Offset

_AVAILABLE_NOW: Any = ()
"""What a reader inherits that ends with what is there at its start; before Spark 4.2 nothing."""
try:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
except ImportError:
    pass
else:
    _AVAILABLE_NOW = (SupportsTriggerAvailableNow,)


class _Planner:
    """Whether this process plans queries."""

    def __init__(self) -> None:
        self.has_begun = False


_planner: Final = PerProcess(_Planner)


def begin_planning() -> None:
    """Begin a job of this process, in which Spark plans queries: tasks then have tokens of
    filesystems for which the user carries none. Spark does not say when a query is over, so the job
    ends with the process, and its tokens expire."""
    planner = _planner.get()
    if not planner.has_begun:
        planner.has_begun = True
        begin_job()


class TablePart(InputPartition):
    """One part of a table."""

    def __init__(self, part: Any) -> None:
        self.part = part


class TableSource(DataSource):
    """One table. `register` makes a class of it for each, with `table` and `home`."""

    table: ClassVar[str] = ""
    home: ClassVar[Home] = Home()

    @classmethod
    def name(cls) -> str:
        return cls.table

    def _open(self) -> Table:
        return open_table(self.table, self.options, self.home)

    def schema(self) -> str:
        return self._open().columns.ddl

    def reader(self, schema: StructType) -> DataSourceReader:
        return TableReader(self._chosen(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        table = self._chosen(schema)
        if self.table != CHANGES:
            raise errors.UnsupportedOperation(
                f"{self.table} is no stream: spark.read reads it; howdah.changes is one"
            )
        return ChangeReader(cast("ChangeTable", table))

    def _chosen(self, schema: StructType) -> Table:
        table = self._open()
        table.choose([(field.name, field.dataType.simpleString()) for field in schema.fields])
        return table


class TableReader(DataSourceReader):
    """Reads a table in parts."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def partitions(self) -> list[InputPartition]:
        begin_planning()
        return [TablePart(part) for part in self.table.parts()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Spark makes a partition of its own where there is none.
        if isinstance(partition, TablePart):
            yield from self.table.read(partition.part)


# Which bases there are depends on Spark's version, which no type can say.
class ChangeReader(DataSourceStreamReader, *_AVAILABLE_NOW):  # type: ignore[misc]
    """Reads the stream of changes.

    Spark 4.2 and newer say where a batch begins when they ask for its end. Older ones do not, and
    their batches end with the newest transaction.
    """

    def __init__(self, table: ChangeTable) -> None:
        begin_planning()
        self.table = table
        self._begun: Offset | None = None
        self._target: int | None = None

    def initialOffset(self) -> Offset:
        self._begun = self.table.initial_offset()
        return self._begun

    def latestOffset(self, start: Offset | None = None, limit: object = None) -> Offset:
        if start is None:
            start, self._begun = self._begun, None
        if start is None:
            return {"txid": self.table.durable_txid()}
        return self.table.latest_offset(start, getattr(limit, "max_rows", None), self._target)

    def getDefaultReadLimit(self) -> Any:
        """At most so many transactions a batch."""
        from pyspark.sql.streaming.datasource import ReadMaxRows

        return ReadMaxRows(self.table.most_transactions)

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self.table.durable_txid()

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        return [TablePart(part) for part in self.table.parts_between(start, end)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, TablePart):
            yield from self.table.read(partition.part)

    def commit(self, end: Offset) -> None:
        """Nothing is kept that a batch which is done would free."""


def sources(home: Home) -> list[type[TableSource]]:
    """A class for each table."""
    return [type("Source", (TableSource,), {"table": name, "home": home}) for name in TABLES]
