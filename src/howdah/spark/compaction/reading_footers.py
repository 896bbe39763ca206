"""Reads the footers of directories: a few by the driver, many by tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.copy.common.arrow_rows import batches, decode, encode
from howdah.copy.common.failures import from_spark
from howdah.copy.common.filesystems import Place
from howdah.copy.common.task_errors import Reported, most_attempts, raise_failed, with_failures
from howdah.fs.api import FileSystem
from howdah.spark.compaction.concat import data_files
from howdah.spark.compaction.footers import Footer, NotReadable, combined_footer
from howdah.spark.compaction.plan import Format

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

FEW_FILES: Final = 16
"""So many footers are read by the driver in less time than Spark takes to start a job."""
FILES_A_TASK: Final = 64
PATH_SCHEMA: Final = "path binary"
FOOTER_SCHEMA: Final = "footer string"


@dataclass(frozen=True, slots=True)
class ReadFooters:
    """Reads the footers of its files, as a task."""

    place: Place
    kind: Format

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        fs = self.place.connect()
        paths = (decode(path) for batch in given for path in batch.column(0).to_pylist())
        footer = combined_footer(fs, paths, self.kind)
        yield from batches(((footer.to_json(),),), FOOTER_SCHEMA)


class Footers:
    """Reads the footers of directories."""

    def __init__(self, spark: SparkSession, fs: FileSystem, place: Place, most_tasks: int) -> None:
        self._spark = spark
        self._fs = fs
        self._place = place
        self._tasks = most_tasks

    def read(self, directory: str, kind: Format, most_bytes: int | None = None) -> Footer:
        """Read the footers of all files of a directory together; with `most_bytes` of those that
        are no longer. Raises `NotReadable`."""
        paths = [status.path for status in data_files(self._fs, directory, most_bytes)]
        if len(paths) <= FEW_FILES:
            return combined_footer(self._fs, paths, kind)
        rows = [(encode(path),) for path in paths]
        parts = min(self._tasks, -(-len(paths) // FILES_A_TASK))
        task = Reported(ReadFooters(self._place, kind), FOOTER_SCHEMA, most_attempts(self._spark))
        frame = self._spark.createDataFrame(rows, PATH_SCHEMA).repartition(parts, "path")
        try:
            footers = frame.mapInArrow(task, with_failures(FOOTER_SCHEMA)).collect()
        except errors.HowdahError:
            raise
        except Exception as error:
            raise from_spark(error) from error
        raise_failed(footers, NotReadable)
        return sum((Footer.from_json(row["footer"]) for row in footers), Footer())
