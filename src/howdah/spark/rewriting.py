"""The new files of a directory, made and put in place.

Parquet and ORC by Spark's own reader and writer, which know schemas and merge them;
Avro and lines by tasks that put files together as they are (`howdah.spark.joining`). All of
it has to be there: files that were read, rows that were written and rows that are found
afterwards are counted.

Spark is told to fail at files that are missing or corrupt, whatever the session says.
Rows of a file stay together and in order, as far as Spark reads it in one piece.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.spark.attempts import remove_unfinished
from howdah.spark.compacted import Compacted, told
from howdah.spark.compaction_plan import SUCCESS, Format, Plan
from howdah.spark.exchange import Exchange
from howdah.spark.filesystems import Place
from howdah.spark.footers import Facts, check_kinds, facts_of
from howdah.spark.joining import JOINED_SCHEMA, SHARE_SCHEMA, Join, data_files
from howdah.spark.joining_lines import check_headers
from howdah.spark.outcome import from_spark
from howdah.spark.rows import dealt

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TIMESTAMPS: Final = "spark.sql.parquet.outputTimestampType"
FEW_FILES: Final = 16
"""So many footers are read here sooner than Spark begins to."""
_READING: Final = {
    "mergeSchema": "true",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "recursiveFileLookup": "false",
}


class RowsLost(errors.HowdahError, RuntimeError):
    """The new files have another number of rows than the old ones: they are not taken."""


class Rewriting:
    """Makes the new files of directories; several at a time, from as many threads."""

    def __init__(
        self,
        spark: SparkSession,
        fs: FileSystem,
        place: Place,
        has_headers: bool | None,
        most_tasks: int,
        block_bytes: int,
    ) -> None:
        self._spark = spark
        self._fs = fs
        self._place = place
        self._has_headers = has_headers
        self._tasks = most_tasks
        self._block_bytes = block_bytes
        self._timestamps = _Timestamps(spark)

    def compact(self, chosen: Plan) -> Compacted:
        """One directory; what can't be done is told, and leaves it as it was."""
        try:
            kept_at = self._compact(chosen)
        except (errors.HowdahError, OSError) as error:
            return told(chosen, self._block_bytes, failed=str(error))
        return told(chosen, self._block_bytes, kept_at=kept_at)

    def _compact(self, chosen: Plan) -> str:
        exchange = Exchange(self._fs, chosen.contents.path)
        exchange.begin()
        try:
            if chosen.is_by_spark:
                self._rewrite(chosen, exchange)
            else:
                self._join(chosen, exchange)
            self._keep_success(chosen, exchange)
            return exchange.finish()
        except BaseException:
            exchange.drop()
            raise

    def _keep_success(self, chosen: Plan, exchange: Exchange) -> None:
        mark = paths.join(exchange.building, SUCCESS)
        if chosen.contents.has_success:
            with self._fs.create(mark, overwrite=True):
                return
        if self._fs.exists(mark):
            self._fs.delete(mark)

    # --- files put together ------------------------------------------------------------

    def _join(self, chosen: Plan, exchange: Exchange) -> None:
        run = uuid.uuid4().hex
        places = (exchange.directory, exchange.building, chosen.suffix, run)
        shares = [(*places, number, chosen.files_after) for number in range(chosen.files_after)]
        frame = self._spark.createDataFrame(shares, SHARE_SCHEMA)
        parts = min(self._tasks, len(shares))
        task = Join(self._place, self._has_headers)
        try:
            joined = dealt(frame, parts, "number").mapInArrow(task, JOINED_SCHEMA).collect()
        except errors.HowdahError:
            raise
        except Exception as error:
            raise from_spark(error) from error
        remove_unfinished(self._fs, exchange.building)
        files = sum(row["files"] for row in joined)
        if files != chosen.contents.files:
            raise RowsLost(
                f"{files} of the {chosen.contents.files} files of {exchange.directory} were read"
            )
        has_headers = self._has_headers if chosen.format is Format.CSV else None
        if chosen.format is Format.CSV:
            check_headers([(row["files"], row["header"]) for row in joined], has_headers)
        elif chosen.format is Format.AVRO:
            check_headers([(row["files"], row["header"]) for row in joined], True)

    # --- rows written anew -------------------------------------------------------------

    def _rewrite(self, chosen: Plan, exchange: Exchange) -> None:
        facts = self._facts(exchange.directory, chosen.format)
        try:
            written = self._write(chosen, exchange, facts)
            check_kinds(facts, self._facts(exchange.building, chosen.format))
            found = self._count(chosen, exchange.building)
        except errors.HowdahError:
            raise
        except Exception as error:
            raise from_spark(error) from error
        if written != found:
            raise RowsLost(f"{exchange.directory} has {written} rows, its new files have {found}")

    def _write(self, chosen: Plan, exchange: Exchange, facts: Facts) -> int:
        """Returns how many rows the writer got."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        old = self._read(chosen, exchange.directory)
        seen = Observation()
        counted = old.observe(seen, F.count(F.lit(1)).alias("rows"))
        options = {f"parquet.bloom.filter.enabled#{column}": "true" for column in facts.blooms}
        if facts.codec is not None:
            options["compression"] = facts.codec
        writer = counted.coalesce(chosen.files_after).write.format(chosen.format.value)
        with self._timestamps.written_as(facts.timestamps):
            writer.mode("append").options(**options).save(self._uri(exchange.building))
        return int(seen.get["rows"])

    def _read(self, chosen: Plan, directory: str) -> DataFrame:
        reader = self._spark.read.format(chosen.format.value).options(**_READING)
        return reader.load(self._uri(directory))

    def _count(self, chosen: Plan, directory: str) -> int:
        """The rows that the new files have."""
        if chosen.files_after > FEW_FILES:
            return self._read(chosen, directory).count()
        files = data_files(self._fs, directory)
        return sum(facts_of(self._fs, file.path, chosen.format).rows for file in files)

    def _facts(self, directory: str, kind: Format) -> Facts:
        first = next(data_files(self._fs, directory), None)
        return Facts() if first is None else facts_of(self._fs, first.path, kind)

    def _uri(self, path: str) -> str:
        return self._fs.uri + path


class _Timestamps:
    """Sees to it that a session writes timestamps of one type, as long as somebody needs
    that; who needs another one waits. It can only be said for a session as a whole, and
    there is no way to another session that every Spark Connect has."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._changed = threading.Condition()
        self._users = 0
        self._now: str | None = None
        self._before: str | None = None

    @contextmanager
    def written_as(self, kind: str | None) -> Iterator[None]:
        if kind is None:
            yield
            return
        with self._changed:
            self._changed.wait_for(lambda: not self._users or self._now == kind)
            if not self._users:
                self._before = self._spark.conf.get(_TIMESTAMPS)
                self._spark.conf.set(_TIMESTAMPS, kind)
                self._now = kind
            self._users += 1
        try:
            yield
        finally:
            with self._changed:
                self._users -= 1
                if not self._users and self._before is not None:
                    self._spark.conf.set(_TIMESTAMPS, self._before)
                self._changed.notify_all()
