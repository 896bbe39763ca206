"""The footers of all files of a directory: a few are read here, many by tasks.

All of them, for a column may have come later than others, or be of another type in one file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.spark.common.failures import from_spark
from howdah.spark.common.filesystems import Place
from howdah.spark.common.rows import batches, decode, encode
from howdah.spark.compaction.footers import Facts, facts_of
from howdah.spark.compaction.joining import data_files
from howdah.spark.compaction.plan import Format

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

FEW_FILES: Final = 16
"""So many footers are read here sooner than Spark begins to."""
FILES_A_TASK: Final = 64
PATH_SCHEMA: Final = "path binary"
FACTS_SCHEMA: Final = "facts string"


@dataclass(frozen=True, slots=True)
class ReadFooters:
    """A task's work: what the footers of its files say together."""

    place: Place
    kind: Format

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        fs = self.place.connect()
        paths = (decode(path) for batch in given for path in batch.column(0).to_pylist())
        found = facts_of_all(fs, paths, self.kind)
        yield from batches(((found.to_json(),),), FACTS_SCHEMA)


def facts_of_all(fs: FileSystem, paths: Iterable[str], kind: Format) -> Facts:
    """Raises `NotReadable`."""
    return sum((facts_of(fs, path, kind) for path in paths), Facts())


class Footers:
    """Reads those of a directory, with so many tasks at most."""

    def __init__(self, spark: SparkSession, fs: FileSystem, place: Place, most_tasks: int) -> None:
        self._spark = spark
        self._fs = fs
        self._place = place
        self._tasks = most_tasks

    def read(self, directory: str, kind: Format) -> Facts:
        """Raises `NotReadable`."""
        paths = [status.path for status in data_files(self._fs, directory)]
        if len(paths) <= FEW_FILES:
            return facts_of_all(self._fs, paths, kind)
        rows = [(encode(path),) for path in paths]
        parts = min(self._tasks, -(-len(paths) // FILES_A_TASK))
        task = ReadFooters(self._place, kind)
        frame = self._spark.createDataFrame(rows, PATH_SCHEMA).repartition(parts, "path")
        try:
            found = frame.mapInArrow(task, FACTS_SCHEMA).collect()
        except errors.HowdahError:
            raise
        except Exception as error:
            raise from_spark(error) from error
        return sum((Facts.from_json(row["facts"]) for row in found), Facts())
