"""The new files of a directory, made and put in place.

Tasks join files of Avro and of lines without decoding them, and Parquet of one plain schema by
Arrow (`compaction.joining`). Spark's own reader and writer rewrite all other Parquet and ORC,
since they know schemas and merge them. No row may be lost: files read, rows or lines written, and
rows or lines found afterwards are counted.

A directory is left alone if somebody writes to it, or if its files differ in owner, group,
mode, ACL, storage policy or extended attributes.

Spark is told to fail at files that are missing or corrupt, whatever the session says. Rows of
a file stay together and in order, as far as Spark reads the file in one piece.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from howdah import errors
from howdah.copy.common.attempt_files import remove_unfinished
from howdah.copy.common.failures import from_spark
from howdah.copy.common.filesystems import Place
from howdah.copy.common.task_errors import raise_failed
from howdah.fs import glob, paths
from howdah.fs.api import FileSystem
from howdah.fs.status import FileStatus
from howdah.spark.compaction import avro_rows, concat_parquet
from howdah.spark.compaction.attributes import order_of
from howdah.spark.compaction.concat import (
    COUNTED_SCHEMA,
    JOINED_SCHEMA,
    SHARES,
    Count,
    Join,
    data_files,
)
from howdah.spark.compaction.concat_avro import CorruptAvro
from howdah.spark.compaction.concat_lines import HeadersDiffer, NotJoinable, check_headers
from howdah.spark.compaction.directory_state import (
    DirectoryState,
    reason_to_skip,
    reason_to_stay,
    state_of,
)
from howdah.spark.compaction.directory_swap import Exchange
from howdah.spark.compaction.footers import Footer, NotReadable, check_kinds, footer_of
from howdah.spark.compaction.ordering import order_name, ordered
from howdah.spark.compaction.outcome import Compacted, outcome_of
from howdah.spark.compaction.plan import SUCCESS, Format, Plan, named_suffix_of
from howdah.spark.compaction.reading_footers import Footers
from howdah.spark.compaction.shared_jobs import SharedJobs
from howdah.spark.compaction.table_formats import Maintenance

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_log = logging.getLogger(__name__)

_GROUPS: Final = {Format.PARQUET: "parquet.block.size", Format.ORC: "orc.stripe.size"}
_TIMESTAMPS: Final = "spark.sql.parquet.outputTimestampType"
_READING: Final = {
    "mergeSchema": "true",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "recursiveFileLookup": "false",
}


REWRITTEN_AT_ONCE: Final = 8
"""Directories that Spark rewrites; each of them takes jobs of its own."""
_OWN_FAILURES: Final = (HeadersDiffer, NotJoinable, CorruptAvro, NotReadable)


class RowsLost(errors.HowdahError, RuntimeError):
    """The new files have another number of rows than the old ones, and are discarded."""


class MetadataLost(errors.HowdahError, ValueError):
    """Footers have key-value metadata that Spark would not write."""


@dataclass(frozen=True, slots=True)
class RewriteOptions:
    """`has_headers`: whether CSV files have headers; None if unknown. `drops_metadata`: whether
    metadata of other programs in the footers of Parquet files may be lost. `asked`: the order of
    rows. `row_group_bytes`: of Parquet's row groups and ORC's stripes. `quiet_s`: for how long no
    file of a directory may have been modified."""

    has_headers: bool | None = None
    drops_metadata: bool = False
    most_tasks: int = 20
    asked: Maintenance = field(default_factory=Maintenance)
    row_group_bytes: int | None = None
    quiet_s: float = 0.0


def _check_rows(exchange: Exchange, *, written: int, counted: int) -> None:
    if written != counted:
        raise RowsLost(
            f"of {exchange.directory} {written} rows were written, and {counted} are in its files"
        )


def _metadata_lost(exchange: Exchange, names: Sequence[str]) -> MetadataLost:
    return MetadataLost(
        f"files of {exchange.directory} have metadata that the new ones would not have: "
        f"{', '.join(names)} (--drop-metadata rewrites them all the same)"
    )


def _text_of(error: BaseException) -> str:
    """The message of an error, with its notes."""
    return "; ".join([str(error), *getattr(error, "__notes__", ())])


class Rewriter:
    """Rewrites directories; threads may do several at a time."""

    def __init__(
        self,
        spark: SparkSession,
        fs: FileSystem,
        place: Place,
        options: RewriteOptions,
        confirm: Callable[[], None],
        block_bytes: int,
    ) -> None:
        self._spark = spark
        self._fs = fs
        self._place = place
        self._options = options
        self._confirm = confirm
        self._block_bytes = block_bytes
        self._order = order_name(options.asked)
        self._timestamps = _Timestamps(spark)
        self._footers = Footers(spark, fs, place, options.most_tasks)
        join, count = (
            Join(place, options.has_headers, options.row_group_bytes),
            Count(place),
        )
        self._joins = SharedJobs(spark, join, SHARES, JOINED_SCHEMA, options.most_tasks)
        self._counts = SharedJobs(spark, count, SHARES, COUNTED_SCHEMA, options.most_tasks)
        self._rewrites = threading.BoundedSemaphore(REWRITTEN_AT_ONCE)

    def compact(self, chosen: Plan, run: str) -> Compacted:
        """Rewrite one directory. If that fails, the outcome says why, and the directory stays."""
        try:
            exchange = Exchange(
                self._fs,
                chosen.contents.path,
                run=run,
                confirm=self._confirm,
                most_bytes=chosen.most_bytes,
            )
            reason = self._reason(chosen, exchange.before, exchange.status)
            if not reason and len(exchange.kept) != chosen.kept:
                reason = "it has changed since the tree was listed"
            if reason:
                return outcome_of(replace(chosen, skipped=reason), self._block_bytes)
            kept_at = self._compact(chosen, exchange)
            if chosen.orders:
                made = sum(1 for _ in data_files(self._fs, exchange.directory))
                chosen = replace(chosen, files_after=made)
        except (errors.HowdahError, OSError) as error:
            return outcome_of(chosen, self._block_bytes, failed=_text_of(error))
        return outcome_of(chosen, self._block_bytes, kept_at=kept_at)

    def _reason(self, chosen: Plan, state: DirectoryState, status: FileStatus) -> str:
        """Why a directory is left alone as it is now; "" if it is not."""
        if chosen.if_ordered and order_of(self._fs, status.path) == self._order:
            return f"its rows are in this order, and {chosen.if_ordered}"
        quiet_s = self._options.quiet_s
        quiet_since_ms = int((time.time() - quiet_s) * 1000) if quiet_s else 0
        reason = reason_to_skip(self._fs, state, quiet_since_ms, chosen.most_bytes)
        return reason or reason_to_stay(self._fs, status, keeps_files=bool(chosen.kept))

    def preview(self, chosen: Plan) -> Compacted:
        """The outcome that `compact` would have."""
        fs, path = self._fs, chosen.contents.path
        try:
            reason = self._reason(chosen, state_of(fs, path), fs.get_file_status(path))
        except (errors.HowdahError, OSError) as error:
            return outcome_of(chosen, self._block_bytes, failed=_text_of(error))
        return outcome_of(replace(chosen, skipped=reason), self._block_bytes)

    def _compact(self, chosen: Plan, exchange: Exchange) -> str:
        exchange.begin()
        try:
            if chosen.orders and chosen.format is Format.AVRO:
                self._order_avro(chosen, exchange)
            elif not chosen.is_by_spark:
                self._join(chosen, exchange, chosen.suffix)
            elif (
                chosen.orders
                or chosen.format is not Format.PARQUET
                or not self._join_parquet(chosen, exchange)
            ):
                self._rewrite(chosen, exchange)
            self._keep_success(chosen, exchange)
            return exchange.finish(self._order)
        except BaseException as error:
            try:
                exchange.drop()
            except (errors.HowdahError, OSError) as failure:
                error.add_note(f"{exchange.building} could not be removed: {failure}")
            raise

    def _keep_success(self, chosen: Plan, exchange: Exchange) -> None:
        mark = paths.join(exchange.building, SUCCESS)
        if chosen.contents.has_success:
            with self._fs.create(mark, overwrite=True):
                return
        if self._fs.exists(mark):
            self._fs.delete(mark)

    # --- files joined ------------------------------------------------------------

    def _join(self, chosen: Plan, exchange: Exchange, suffix: str) -> None:
        run = uuid.uuid4().hex
        places = (exchange.directory, exchange.building, suffix, run)
        assert exchange.like.file is not None, "there are files to join"
        size = exchange.like.file.block_size
        after = chosen.files_after
        shares = [(*places, number, after, size, chosen.most_bytes) for number in range(after)]
        joined = self._joins.run(shares)
        raise_failed(joined, *_OWN_FAILURES)
        remove_unfinished(self._fs, exchange.building)
        counted = self._count(chosen, exchange, shares)
        files = sum(row["files"] for row in joined)
        if files != chosen.contents.files:
            raise RowsLost(
                f"{files} of the {chosen.contents.files} files of {exchange.directory} were read"
            )
        made = sum(1 for _ in data_files(self._fs, exchange.building))
        if made != len(shares):
            raise RowsLost(f"{exchange.building} has {made} files, and {len(shares)} were made")
        _check_rows(
            exchange,
            written=sum(row["records"] for row in joined),
            counted=counted,
        )
        has_headers = self._options.has_headers if chosen.format is Format.CSV else None
        if chosen.format is Format.CSV:
            check_headers([(row["filled"], row["header"]) for row in joined], has_headers)
        elif chosen.format is Format.AVRO:
            check_headers([(row["filled"], row["header"]) for row in joined], True)

    def _count(self, chosen: Plan, exchange: Exchange, shares: list[tuple[Any, ...]]) -> int:
        """The number of lines, records or rows in the new files."""
        if chosen.format is not Format.PARQUET:
            counts = self._counts.run(shares)
            raise_failed(counts, *_OWN_FAILURES)
            return sum(row["records"] for row in counts)
        (first, *_) = data_files(self._fs, exchange.directory, chosen.most_bytes)
        new = self._footers.read(exchange.building, chosen.format)
        check_kinds(footer_of(self._fs, first.path, chosen.format), new)
        return new.rows

    def _join_parquet(self, chosen: Plan, exchange: Exchange) -> bool:
        """Join the files by Arrow. False if it is Spark that has to rewrite them: then nothing is
        left of the new files."""
        try:
            old = data_files(self._fs, exchange.directory, chosen.most_bytes)
            some = concat_parquet.some_of(old)
            concat_parquet.check_some(self._fs, some)
            self._join(chosen, exchange, named_suffix_of(some[0].name))
        except NotJoinable as reason:
            _log.info("Spark rewrites %s: %s", exchange.directory, reason)
            remove_unfinished(self._fs, exchange.building)
            for status in list(data_files(self._fs, exchange.building)):
                self._fs.delete(status.path)
            return False
        return True

    # --- rows rewritten -------------------------------------------------------------

    def _rewrite(self, chosen: Plan, exchange: Exchange) -> None:
        with self._rewrites:
            self._rewrite_now(chosen, exchange)

    def _rewrite_now(self, chosen: Plan, exchange: Exchange) -> None:
        old = self._footers.read(exchange.directory, chosen.format, chosen.most_bytes)
        if old.metadata and not self._options.drops_metadata:
            raise _metadata_lost(exchange, sorted(old.metadata))
        try:
            written = self._write(chosen, exchange, old)
        except errors.HowdahError:
            raise
        except Exception as error:
            raise from_spark(error) from error
        new = self._footers.read(exchange.building, chosen.format)
        check_kinds(old, new)
        _check_rows(exchange, written=written, counted=new.rows)
        _check_rows(exchange, written=written, counted=old.rows)

    def _write(self, chosen: Plan, exchange: Exchange, footer: Footer) -> int:
        """Write the new files; return the number of rows that the writer got."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        rows = self._read(chosen, exchange.directory, footer)
        if chosen.orders:
            rows = ordered(rows, self._options.asked, chosen.files_after, footer.rows)
        else:
            rows = rows.coalesce(chosen.files_after)
        # Behind the order: Spark reads rows twice to find the ranges of one.
        seen = Observation()
        counted = rows.observe(seen, F.count(F.lit(1)).alias("rows"))
        options = {f"parquet.bloom.filter.enabled#{column}": "true" for column in footer.blooms}
        if footer.codec is not None:
            options["compression"] = footer.codec
        if self._options.row_group_bytes:
            options[_GROUPS[chosen.format]] = str(self._options.row_group_bytes)
        writer = counted.write.format(chosen.format.value)
        with self._timestamps.written_as(footer.timestamps):
            writer.mode("append").options(**options).save(self._uri(exchange.building))
        return int(seen.get["rows"])

    def _order_avro(self, chosen: Plan, exchange: Exchange) -> None:
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        header = avro_rows.common_header(self._fs, exchange.directory)
        lost = avro_rows.foreign_entries(header)
        if lost and not self._options.drops_metadata:
            raise _metadata_lost(exchange, lost)
        old_uri, new_uri = self._uri(exchange.directory), self._uri(exchange.building)
        with self._rewrites:
            counted = avro_rows.count(self._spark, old_uri, header, _READING)
            rows = avro_rows.read(self._spark, old_uri, header, _READING)
            rows = ordered(rows, self._options.asked, chosen.files_after, counted)
            seen = Observation()
            writer = rows.observe(seen, F.count(F.lit(1)).alias("rows")).write.format("avro")
            writer = writer.option("avroSchema", avro_rows.schema_of(header))
            writer = writer.option("compression", avro_rows.codec_of(header))
            try:
                writer.mode("append").save(new_uri)
                written = int(seen.get["rows"])
            except Exception as error:
                raise from_spark(error) from error
            made = avro_rows.common_header(self._fs, exchange.building)
            after = avro_rows.count(self._spark, new_uri, made, _READING)
        _check_rows(exchange, written=written, counted=after)
        _check_rows(exchange, written=written, counted=counted)

    def _read(self, chosen: Plan, directory: str, footer: Footer) -> DataFrame:
        reader = self._spark.read.format(chosen.format.value).options(**_READING)
        files = list(data_files(self._fs, directory, chosen.most_bytes))
        if chosen.most_bytes is not None:
            names = ",".join(glob.escape(status.name) for status in files)
            reader = reader.option("pathGlobFilter", f"{{{names}}}")
        if footer.has_one_schema:
            # Not left to Spark: it would take the schema of a summary file, were there one.
            first = self._fs.uri + glob.escape(files[0].path)
            reader.schema(reader.load(first).schema)
        return reader.load(self._uri(directory))

    def _uri(self, path: str) -> str:
        return self._fs.uri + path


class _Timestamps:
    """Sets the Parquet type of timestamps of a session. The setting holds for the session as a
    whole, and not every Spark Connect can open another one; so threads that need another type
    wait."""

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
