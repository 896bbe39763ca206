"""`namespace`: a namespace as a DataFrame, listed live or read from an image.

Both ways give the same columns, with a row for each file, directory and link:

    path, parent, name string   type string: file, directory, symlink
    owner, group string         permission int: mode bits
    length long: bytes          replication int, block_size long
    space long: bytes with all replicas, or with parity   blocks long: or block groups
    erasure_coding_policy string: null for replicated files
    modification_time, access_time timestamp (null where HDFS keeps none)
    storage_policy int          inode_id long, depth int: 0 for the root

An image has more: `quota_names`, `quota_space`, `is_open`, and the number of `snapshots` of a
directory; these columns are null in a live listing. Bytes of a name that are not UTF-8 are shown
as U+FFFD.

The inodes of an image have no paths. Paths are made by joins: one for each doubling of the depth
of directories, and one for all files.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.config import Configuration
from howdah.copy.common.failures import from_spark
from howdah.copy.common.filesystems import Place, behind_view
from howdah.copy.common.job_tokens import begin_job, end_with
from howdah.copy.common.progress import ProgressLine, listing_progress
from howdah.copy.common.task_errors import (
    FAILURE_COLUMNS,
    Reported,
    Task,
    most_attempts,
    raise_reported,
    with_failures,
)
from howdah.formats.image.fsimage import ImageReader
from howdah.fs.registry import connect
from howdah.spark.listing.kinds import LAST_MS
from howdah.spark.listing.tree import DIRECTORY, list_tree
from howdah.spark.sessions import as_spark_is
from howdah.spark.usage_report.image_tasks import (
    CHILD_SCHEMA,
    CHILDREN,
    INODE_SCHEMA,
    INODES,
    MESSAGES_SCHEMA,
    ParseChildren,
    ParseInodes,
    ReadSections,
    coding_policies_of,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

ROOT_INODE_ID: Final = 16385
COLUMNS: Final = (
    "path",
    "parent",
    "name",
    "type",
    "owner",
    "group",
    "permission",
    "length",
    "replication",
    "block_size",
    "space",
    "blocks",
    "erasure_coding_policy",
    "modification_time",
    "access_time",
    "storage_policy",
    "inode_id",
    "depth",
    "quota_names",
    "quota_space",
    "is_open",
    "snapshots",
)
_MAGIC: Final = b"HDFSIMG1"
BYTES_A_TASK: Final = 4 << 20
PLAIN_ROUNDS: Final = 5
MOST_LEVELS: Final = 2000
"""The most levels of directories. By default HDFS has no deeper paths (8000 characters)."""


def namespace(
    spark: SparkSession,
    where: str,
    *,
    most_tasks: int = 20,
    conf: Configuration | None = None,
    user: str | None = None,
    shows_progress: bool = False,
) -> DataFrame:
    """Everything at and below a directory (`hdfs://…/data`), or in an image (a file).

    The executors keep the rows: `unpersist()` the frame after use. `shows_progress`: on
    standard error.

    Raises `PathNotFound`, `CorruptImage`.

    >>> ns = namespace(spark, "hdfs://a:8020/")  # doctest: +SKIP
    >>> ns.where("type = 'file'").groupBy("owner").sum("space").show()  # doctest: +SKIP
    """
    end = begin_job()
    try:
        configuration, user = as_spark_is(spark, conf, user)
        rows = _rows(spark, where, most_tasks, configuration, user, shows_progress)
    except BaseException:
        end()
        raise
    end_with(rows, end)
    return rows


def _rows(
    spark: SparkSession,
    where: str,
    most_tasks: int,
    configuration: Configuration,
    user: str | None,
    shows_progress: bool,
) -> DataFrame:
    where = behind_view(where, configuration, user)
    located = where if "://" in where else None
    fs = connect(located, conf=configuration, user=user)
    path = fs.resolve(where)
    status = fs.get_file_status(path)
    place = Place.of(located, configuration, user)
    try:
        with ProgressLine(shows_progress) as shown:
            if status.is_directory:
                tree = list_tree(spark, place, [status], most_tasks, listing_progress(shown))
                rows = _of_listing(tree.rows).persist()
                rows.count()
                tree.forget()
                return rows
            with fs.open(path) as file:
                if file.pread(0, len(_MAGIC)) != _MAGIC:
                    raise errors.IllegalArgument(f"{where} is neither a directory nor an image")
                tasks = min(most_tasks, 1 + status.length // BYTES_A_TASK)
                shown.set_text("reading the image")
                return _Image(spark, place, path, ImageReader(file, where), tasks).rows(shown)
    except errors.HowdahError:
        raise
    except Exception as error:
        raise from_spark(error) from error


def _time(milliseconds: Column) -> Column:
    from pyspark.sql import functions as F

    is_there = (milliseconds > 0) & (milliseconds <= LAST_MS)
    return F.when(is_there, F.timestamp_millis(milliseconds))


def _finished(rows: DataFrame) -> DataFrame:
    """Add the columns that follow from others, and order all columns."""
    from pyspark.sql import functions as F

    # Without regular expressions, which would take most of the time.
    slashes = F.length("path") - F.length(F.translate("path", "/", ""))
    is_root = F.col("path") == "/"
    name = F.substring_index("path", "/", -1)
    above = F.length("path") - F.length(name) - 1
    parent = F.when(above > 0, F.left("path", above)).otherwise("/")
    return (
        rows.withColumn("depth", F.when(is_root, 0).otherwise(slashes))
        .withColumn("parent", F.when(is_root, "").otherwise(parent))
        .withColumn("name", name)
        .withColumn("modification_time", _time(F.col("modification_time_ms")))
        .withColumn("access_time", _time(F.col("access_time_ms")))
        .select(*COLUMNS)
    )


def _of_listing(rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return _finished(
        rows.withColumn("path", _valid_text(F.col("path")))
        .withColumn("inode_id", F.col("file_id"))
        .withColumn("quota_names", F.lit(None).cast("long"))
        .withColumn("quota_space", F.lit(None).cast("long"))
        .withColumn("is_open", F.lit(None).cast("boolean"))
        .withColumn("snapshots", F.lit(None).cast("int"))
    )


def _valid_text(path: Column) -> Column:
    """Bytes as a text in which those that are no UTF-8 are U+FFFD."""
    from pyspark.sql import functions as F

    if hasattr(F, "make_valid_utf8"):
        return F.make_valid_utf8(path.cast("string"))
    return F.decode(path, "UTF-8")  # Spark 4 refuses such bytes here, older ones replace them


class _Image:
    """One image. The driver reads its index of sections and the short sections: strings,
    snapshots and references."""

    def __init__(
        self, spark: SparkSession, place: Place, path: str, reader: ImageReader, most_tasks: int
    ) -> None:
        self._spark = spark
        self._tasks = most_tasks
        self._attempts = most_attempts(spark)
        self._read = ReadSections(place, path)
        mask_bits = reader.mask_bits
        policies = coding_policies_of(reader.erasure_coding())
        self._parse_inodes = ParseInodes(path, mask_bits, reader.strings, policies)
        references = tuple(reference.inode_id or 0 for reference in reader.references())
        self._parse_children = ParseChildren(path, references)
        self._snapshots = Counter(
            snapshot.root.inode_id for snapshot in reader.snapshots().snapshots
        )

    def rows(self, shown: ProgressLine) -> DataFrame:
        from pyspark.sql import functions as F

        kept: list[DataFrame] = []
        try:
            inodes = self._parsed(INODES, self._parse_inodes, INODE_SCHEMA, kept)
            children = self._parsed(CHILDREN, self._parse_children, CHILD_SCHEMA, kept)
            places = inodes.join(children, inodes["inode_id"] == children["child_id"], "left")
            directories = places.where(F.col("type") == DIRECTORY).select(
                "inode_id", "parent_id", "name"
            )
            paths = self._paths(directories.persist(), kept, shown)
            kept.append(directories)
            above = paths.select(F.col("inode_id").alias("above"), F.col("path").alias("prefix"))
            prefix = F.when(F.col("prefix") == "/", "").otherwise(F.col("prefix"))
            below = places.join(above, F.col("parent_id") == F.col("above"))
            located = below.withColumn("path", F.concat(prefix, F.lit("/"), F.col("name")))
            root = inodes.where(F.col("inode_id") == ROOT_INODE_ID).withColumn("path", F.lit("/"))
            shown.set_text("paths of files")
            columns = [*inodes.columns, "path"]
            everything = located.select(columns).unionAll(root.select(columns))
            snapshots = self._spark.createDataFrame(
                list(self._snapshots.items()), "inode_id long, snapshots int"
            )
            rows = _finished(
                everything.withColumn("blocks", F.col("blocks").cast("long"))
                .join(F.broadcast(snapshots), "inode_id", "left")
                .withColumn("snapshots", F.coalesce(F.col("snapshots"), F.lit(0)))
            ).persist()
            rows.count()
            return rows
        finally:
            for frame in kept:
                frame.unpersist()

    def _parsed(self, name: str, parse: Task, ddl: str, kept: list[DataFrame]) -> DataFrame:
        """The rows of a section; `kept` is appended to. Raises the error of a task that failed."""
        begin = self._spark.createDataFrame([(name,)], "section string").coalesce(1)
        reading = Reported(self._read, MESSAGES_SCHEMA, self._attempts)
        read = begin.mapInArrow(reading, with_failures(MESSAGES_SCHEMA))
        parsing = Reported(parse, ddl, self._attempts)
        parted = read.repartition(self._tasks)
        rows = parted.mapInArrow(parsing, with_failures(ddl)).persist()
        kept.append(rows)
        raise_reported(rows)
        return rows.drop(*FAILURE_COLUMNS)

    def _paths(
        self, directories: DataFrame, kept: list[DataFrame], shown: ProgressLine
    ) -> DataFrame:
        """The paths of all directories.

        At first each has its path from its parent. In a round, a path that does not begin at
        the root yet is appended to the path of the directory where it begins. So the number
        of levels that a path spans doubles: 1,000 levels take 10 rounds.
        """
        from pyspark.sql import functions as F

        is_root = F.col("inode_id") == ROOT_INODE_ID
        is_done = F.col("above") == ROOT_INODE_ID
        root = directories.where(is_root).select("inode_id", F.lit("/").alias("path"))
        path = F.concat(F.lit("/"), F.col("name")).alias("path")
        rows = directories.where(~is_root).select(
            "inode_id", F.col("parent_id").alias("above"), path
        )
        for doubled in range(MOST_LEVELS.bit_length() + 1):
            shown.set_text(f"paths of directories, down to level {1 << doubled}")
            # The plan of a round contains that of the last one twice. After several rounds the
            # rows are checkpointed, though they cannot be computed again then.
            rows = rows.persist() if doubled < PLAIN_ROUNDS else rows.localCheckpoint()
            kept.append(rows)
            if not rows.where(~is_done).count():
                break
            further = rows.select(
                F.col("inode_id").alias("joint"),
                F.col("above").alias("further"),
                F.col("path").alias("prefix"),
            )
            # Complete paths join nothing, and are partitioned by their own inode ids.
            key = F.when(is_done, -F.col("inode_id")).otherwise(F.col("above"))
            joined = rows.join(further, key == F.col("joint"), "left")
            longer = F.concat(F.col("prefix"), F.col("path"))
            rows = joined.select(
                "inode_id",
                F.when(is_done, F.col("above")).otherwise(F.col("further")).alias("above"),
                F.when(is_done, F.col("path")).otherwise(longer).alias("path"),
            ).where("above is not null")
        else:
            raise errors.CorruptImage(f"its directories are deeper than {MOST_LEVELS} levels")
        return rows.select("inode_id", "path").unionAll(root)
