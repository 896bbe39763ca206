"""`compact`: the files of a tree, made fewer and larger.

1. Put right what a killed run left (`howdah.spark.exchange`).
2. List the tree in parallel, and sum up each directory.
3. Decide for each (`howdah.spark.compaction_plan`).
4. Make the new files: Parquet, ORC and Avro by Spark's own readers and writers, which
   know their schemas; lines by tasks that put files together (`howdah.spark.joining_lines`).
5. See that rows or lines are as many as before, and exchange the directories.

Each directory stands for itself: one that fails is left as it is, and told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.config import Configuration
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.registry import connect
from howdah.fs.status import FileStatus
from howdah.spark.compaction_plan import (
    ICEBERG_SUFFIX,
    LOGS,
    PREFIX,
    Contents,
    Format,
    Plan,
    codec_of,
    is_hidden,
    parse_name,
    plan,
    ready_name,
    suffix_of,
)
from howdah.spark.exchange import Exchange, recover
from howdah.spark.filesystems import Place
from howdah.spark.joining_lines import JOINED_SCHEMA, SHARE_SCHEMA, JoinLines
from howdah.spark.listing import Totals
from howdah.spark.outcome import from_spark
from howdah.spark.progress import Shown, listing_of, size
from howdah.spark.reports import Done
from howdah.spark.tree import DIRECTORY, FILE, Tree, list_tree

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TARGET_BYTES: Final = 128 << 20
DEFAULT_BLOCK_BYTES: Final = 128 << 20
SUCCESS: Final = "_SUCCESS"


class RowsLost(errors.HowdahError, RuntimeError):
    """The new files have another number of rows than the old ones: they are not taken."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """What became of one directory. `kept_at`: where its old files are; empty if nothing
    was done, and then `reason` says why."""

    path: str
    files_before: int
    files_after: int
    bytes: int
    blocks_saved: int
    memory_saved: int
    kept_at: str = ""
    reason: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Compaction:
    """What a run did, or with a dry run would do."""

    directories: tuple[Compacted, ...]
    recovered: tuple[str, ...] = field(default=())

    @property
    def changed(self) -> tuple[Compacted, ...]:
        return tuple(each for each in self.directories if not each.reason)

    @property
    def failed(self) -> tuple[Compacted, ...]:
        return tuple(each for each in self.directories if each.failed)


def compact(
    spark: SparkSession,
    target: str,
    *,
    target_bytes: int = TARGET_BYTES,
    dry_run: bool = False,
    has_headers: bool = False,
    most_tasks: int = 20,
    conf: Configuration | None = None,
    user: str | None = None,
    shows_progress: bool = False,
) -> Compaction:
    """Make the files below `target` fewer, each about as large as `target_bytes`.

    The old files go to the trash. `dry_run`: only say what would be done. `has_headers`:
    CSV files begin with a line of names. One run at a time for a tree.

    `shows_progress` does so on standard error.

    Raises `PathNotFound`.

    >>> compact(spark, "hdfs://a:8020/logs", dry_run=True).changed  # doctest: +SKIP
    """
    if target_bytes <= 0:
        raise errors.IllegalArgument(f"files of {target_bytes} bytes can't be made")
    configuration = Configuration.load() if conf is None else conf
    located = target if "://" in target else None
    fs = connect(located, conf=configuration, user=user)
    place = Place.of(located, configuration, user)
    path = fs.resolve(target)
    recovered = [] if dry_run else _recover_beside(fs, path)
    status = fs.get_file_status(path)
    if not status.is_directory:
        raise errors.PathIsNotDirectory(f"{target} is no directory")
    tree: Tree | None = None
    try:
        with Shown(shows_progress) as shown:
            tree = list_tree(spark, place, [status], most_tasks, listing_of(shown))
        if not dry_run:
            recovered += _recover_below(fs, tree)
        if recovered:
            # The tree has changed.
            tree.forget()
            tree = list_tree(spark, place, [status], most_tasks)
        logged = _logged(tree)
        plans = [plan(each, target_bytes, logged) for each in _contents(tree)]
    except errors.HowdahError:
        raise
    except Exception as error:
        raise from_spark(error) from error
    finally:
        if tree is not None:
            tree.forget()
    work = _Work(spark, fs, place, has_headers, most_tasks)
    left = [each for each in plans if not each.skipped and not dry_run]
    files, bytes_ = (sum(getattr(e.contents, name) for e in left) for name in ("files", "bytes"))
    totals = Totals(files=files, bytes=bytes_)
    done: list[Compacted] = []
    so_far = Done()
    with Shown(shows_progress and bool(left)) as shown:
        for each in plans:
            if each.skipped or dry_run:
                done.append(_told(each))
                continue
            shown.say(_shown(so_far, totals, each.contents.path))
            done.append(work.compact(each))
            so_far += Done(each.contents.files, each.contents.bytes)
    return Compaction(tuple(done), tuple(recovered))


def _shown(done: Done, totals: Totals, path: str) -> str:
    return f"{done.files}/{totals.files} files, {size(done.bytes)}/{size(totals.bytes)}, now {path}"


def _recover_beside(fs: FileSystem, path: str) -> list[str]:
    """What a killed run of this very directory left stands beside it."""
    parent = paths.parent_of(path)
    if parent is None:
        return []
    ready = paths.join(parent, ready_name(paths.name_of(path)))
    found = recover(fs, ready) if fs.exists(ready) else None
    return [found] if found else []


def _recover_below(fs: FileSystem, tree: Tree) -> list[str]:
    from pyspark.sql import functions as F

    name = F.regexp_extract(F.col("path").cast("string"), r"(?s)([^/]*)$", 1)
    rows = tree.rows.where((tree.rows["type"] == DIRECTORY) & name.startswith(PREFIX))
    leftovers = [bytes(row["path"]).decode("utf-8", "surrogateescape") for row in rows.collect()]
    recovered = []
    for leftover in leftovers:
        if parse_name(paths.name_of(leftover)) is not None:
            found = recover(fs, leftover)
            if found:
                recovered.append(found)
    return recovered


def _named(rows: DataFrame) -> DataFrame:
    """With `parent` and `name`, and without what is in hidden directories."""
    from pyspark.sql import functions as F

    text = F.col("path").cast("string")
    return (
        rows.withColumn("name", F.regexp_extract(text, r"(?s)([^/]*)$", 1))
        .withColumn("parent", F.regexp_extract(text, r"(?s)^(.*)/[^/]*$", 1))
        .where(~F.col("parent").rlike(r"/[._][^/=]*(/|$)"))
    )


def _logged(tree: Tree) -> list[str]:
    """The directories of which some other program keeps a list."""
    from pyspark.sql import functions as F

    named = _named(tree.rows)
    above = F.regexp_extract(F.col("parent"), r"(?s)^(.*)/[^/]*$", 1)
    is_log = (F.col("type") == DIRECTORY) & F.col("name").isin(sorted(LOGS))
    is_iceberg = (F.col("type") == FILE) & F.col("name").endswith(ICEBERG_SUFFIX)
    of = F.when(is_log, F.col("parent")).when(is_iceberg, above)
    found = named.select(of.alias("table")).where("table IS NOT NULL").distinct()
    return [row["table"] or "/" for row in found.collect()]


def _contents(tree: Tree) -> Iterator[Contents]:
    """The directories with data files, one after the other, with sums of what is in them."""
    from pyspark.sql import functions as F

    named = _named(tree.rows)
    hidden = F.col("name").startswith("_") | F.col("name").startswith(".")
    is_file = F.col("type") == FILE
    is_data = is_file & ~hidden
    suffix = F.regexp_extract(
        F.lower("name"), r"(\.(?:parquet|orc|avro|jsonl?|csv|txt|log|text)(?:\.gz)?)$", 1
    )
    blocks = F.ceil(F.col("length") / F.greatest(F.col("block_size"), F.lit(1)))
    sums = named.groupBy("parent").agg(
        F.count_if(is_data).alias("files"),
        F.coalesce(F.sum(F.when(is_data, F.col("length"))), F.lit(0)).alias("bytes"),
        F.coalesce(F.sum(F.when(is_data, blocks)), F.lit(0)).alias("blocks"),
        F.coalesce(F.max(F.when(is_data, F.col("length"))), F.lit(0)).alias("largest"),
        F.collect_set(F.when(is_data, suffix)).alias("suffixes"),
        F.count_if((F.col("type") != FILE) & ~hidden).alias("directories"),
        F.count_if(F.col("name") == SUCCESS).alias("success"),
    )
    for row in sums.where("files > 0").orderBy("parent").toLocalIterator():
        yield Contents(
            row["parent"] or "/",
            row["files"],
            row["bytes"],
            row["blocks"],
            row["largest"],
            tuple(sorted(row["suffixes"])),
            row["directories"],
            bool(row["success"]),
        )


def _told(chosen: Plan, *, kept_at: str = "", failed: str = "") -> Compacted:
    contents = chosen.contents
    return Compacted(
        contents.path,
        contents.files,
        contents.files if chosen.skipped or failed else chosen.files_after,
        contents.bytes,
        0 if failed else chosen.blocks_saved(DEFAULT_BLOCK_BYTES),
        0 if failed else chosen.memory_saved(DEFAULT_BLOCK_BYTES),
        kept_at,
        failed or chosen.skipped,
        bool(failed),
    )


class _Work:
    """Makes the new files of one directory after the other."""

    def __init__(
        self,
        spark: SparkSession,
        fs: FileSystem,
        place: Place,
        has_headers: bool,
        most_tasks: int,
    ) -> None:
        self._spark = spark
        self._fs = fs
        self._place = place
        self._has_headers = has_headers
        self._tasks = most_tasks

    def compact(self, chosen: Plan) -> Compacted:
        """One directory; what can't be done is told, and leaves it as it was."""
        try:
            exchange = Exchange(self._fs, chosen.contents.path)
            exchange.begin()
            try:
                if chosen.format in (Format.LINES, Format.CSV):
                    self._join(chosen, exchange)
                else:
                    self._rewrite(chosen, exchange)
                self._keep_success(chosen, exchange)
                kept_at = exchange.finish()
            except BaseException:
                exchange.drop()
                raise
        except (errors.HowdahError, OSError) as error:
            return _told(chosen, failed=str(error))
        return _told(chosen, kept_at=kept_at)

    def _keep_success(self, chosen: Plan, exchange: Exchange) -> None:
        mark = paths.join(exchange.building, SUCCESS)
        if chosen.contents.has_success:
            with self._fs.create(mark, overwrite=True):
                return
        if self._fs.exists(mark):
            self._fs.delete(mark)

    def _join(self, chosen: Plan, exchange: Exchange) -> None:
        shares = [
            (exchange.directory, exchange.building, chosen.suffix, number, chosen.files_after)
            for number in range(chosen.files_after)
        ]
        task = JoinLines(self._place, self._has_headers and chosen.format is Format.CSV)
        frame = self._spark.createDataFrame(shares, SHARE_SCHEMA)
        parts = min(self._tasks, len(shares))
        try:
            joined = frame.repartition(parts).mapInArrow(task, JOINED_SCHEMA).collect()
        except errors.HowdahError:
            raise
        except Exception as error:
            raise from_spark(error) from error
        files = sum(row["files"] for row in joined)
        if files != chosen.contents.files:
            raise RowsLost(
                f"{files} of the {chosen.contents.files} files of {exchange.directory} were read"
            )

    def _rewrite(self, chosen: Plan, exchange: Exchange) -> None:
        kind = chosen.format.value
        options = {} if chosen.format is Format.AVRO else {"mergeSchema": "true"}
        codec = self._codec(exchange.directory)
        try:
            reader = self._spark.read.format(kind).options(**options)
            old = reader.load(self._uri(exchange.directory))
            writer = old.coalesce(chosen.files_after).write.format(kind).mode("append")
            if codec is not None:
                writer = writer.option("compression", codec)
            writer.save(self._uri(exchange.building))
            new = self._spark.read.format(kind).options(**options)
            before, after = old.count(), new.load(self._uri(exchange.building)).count()
        except errors.HowdahError:
            raise
        except Exception as error:
            raise from_spark(error) from error
        if before != after:
            raise RowsLost(f"{exchange.directory} has {before} rows, its new files have {after}")

    def _codec(self, directory: str) -> str | None:
        for status in self._fs.list_status_iter(directory):
            if _is_data(status):
                return codec_of(status.name)
        return None

    def _uri(self, path: str) -> str:
        return self._fs.uri + path


def _is_data(status: FileStatus) -> bool:
    return status.is_file and not is_hidden(status.name) and suffix_of(status.name) is not None


def summary(found: Sequence[Compacted]) -> tuple[int, int, int]:
    """Files, blocks and bytes of the namenode's memory that directories save."""
    return (
        sum(each.files_before - each.files_after for each in found),
        sum(each.blocks_saved for each in found),
        sum(each.memory_saved for each in found),
    )
