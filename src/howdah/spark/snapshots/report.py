"""A snapshot report that stays with the executors, from the driver's side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from howdah.copy.common.arrow_rows import created_frame, decode, encode
from howdah.copy.common.failures import error_from
from howdah.copy.common.filesystems import Place
from howdah.copy.listing.walking import Walk
from howdah.copy.snapshots.changes import Change, Changes
from howdah.copy.snapshots.following import COPIES
from howdah.copy.snapshots.resuming import Key
from howdah.spark.listing.row_stores import RowStore
from howdah.spark.listing.spark_rounds import Listing, list_rounds
from howdah.spark.snapshots.report_tasks import (
    FAILED,
    KEY_SCHEMA,
    SCHEMA,
    ChangesTask,
    ExplainTask,
    ReportTask,
    change_of,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkReport:
    """A report whose entries the executors keep, except renames and deletions."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._rows: DataFrame | None = None

    def read(self, place: Place, path: str, old: str, new: str) -> list[Change]:
        task = ReportTask(place, path, old, new)
        self._rows = self._spark.range(0, 1, 1, 1).mapInArrow(task, SCHEMA).persist()
        rows = self._rows.where(f"label in ('-', 'R', '{FAILED}')").collect()
        for row in rows:
            if row["label"] == FAILED:
                raise error_from(decode(bytes(row["target"])), decode(bytes(row["path"])))
        return [change_of(row) for row in rows]

    def unexplained(
        self, left: Sequence[tuple[Change, Key | None]], changes: Changes, most: int
    ) -> list[Change]:
        """As `Report` says. Tasks compare the changes: there may be as many as there are files to
        copy."""
        import pyarrow as pa

        if not left:
            return []
        keys = [key or ("", "") for _, key in left]
        table = pa.table(
            {
                "label": pa.array([label for label, _ in keys], type=pa.string()),
                "path": pa.array([encode(path) for _, path in keys], type=pa.binary()),
                "number": pa.array(range(len(keys)), type=pa.int64()),
            }
        )
        explained = self._copies().mapInArrow(ExplainTask(changes), KEY_SCHEMA)
        strange = created_frame(self._spark, table).join(explained, ["label", "path"], "left_anti")
        rows = strange.orderBy("number").limit(most).collect()
        return [left[row["number"]][0] for row in rows]

    def listing(
        self,
        changes: Changes,
        source: str,
        also_root: bool,
        walk: Walk,
        max_maps: int,
        kept: RowStore,
    ) -> Listing:
        """List what is to be copied."""
        task = ChangesTask(changes, source, also_root)
        return list_rounds(self._copies(), task, walk, max_maps, kept)

    def forget(self) -> None:
        """Let the executors drop the report."""
        if self._rows is not None:
            self._rows.unpersist()

    def _copies(self) -> DataFrame:
        assert self._rows is not None, "the report is read first"
        return self._rows.where(f"label in {COPIES}")
