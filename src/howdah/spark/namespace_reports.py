"""Reports on a namespace, over the DataFrame of `howdah.spark.namespace`, or of the table
`howdah.namespace`.

Each function takes that frame and returns a small one, the largest first: a row for each
directory, owner or class of age, whose number does not depend on that of files. Only `duplicates`
asks the filesystem again, for checksums.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.copy.common.arrow_rows import Row, batches
from howdah.copy.common.filesystems import Place
from howdah.protocol.striping.policies import Policy, policy_named
from howdah.spark.compaction.plan import BYTES_AN_OBJECT
from howdah.spark.listing.tree import DIRECTORY, FILE

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

SMALL_BYTES: Final = 16 << 20
AGES_DAYS: Final = (7, 30, 90, 365, 1095)
_DAY_MS: Final = 86_400_000


def _ancestors(path: Column) -> Column:
    """Return the directories above a path, the root first."""
    from pyspark.sql import functions as F

    names = F.split(path, "/")
    depths = F.sequence(F.lit(1), F.size(names) - 1)
    joined = F.transform(depths, lambda n: F.array_join(F.slice(names, 1, n), "/"))
    return F.transform(joined, lambda directory: F.when(directory == "", "/").otherwise(directory))


def _files(rows: DataFrame) -> DataFrame:
    return rows.where(rows["type"] == FILE)


def directories(rows: DataFrame, depth: int | None = None) -> DataFrame:
    """The files below each directory: `path, files, length, space, blocks`; the largest first.

    `depth`: only directories that deep or less; the root has depth 0.
    """
    from pyspark.sql import functions as F

    below = _files(rows).select(
        F.explode(_ancestors(F.col("path"))).alias("directory"), "length", "space", "blocks"
    )
    if depth is not None:
        slashes = F.length("directory") - F.length(F.regexp_replace("directory", "/", ""))
        below = below.where((F.col("directory") == "/") | (slashes <= depth))
        if depth == 0:
            below = below.where(F.col("directory") == "/")
    summed = below.groupBy(F.col("directory").alias("path")).agg(
        F.count("*").alias("files"),
        F.sum("length").alias("length"),
        F.sum("space").alias("space"),
        F.sum("blocks").alias("blocks"),
    )
    return summed.orderBy(F.desc("space"), "path")


def small_files(rows: DataFrame, below_bytes: int = SMALL_BYTES) -> DataFrame:
    """Report directories with small files: `path, small_files, length, mean_length, space,
    namenode_bytes, coded_files, coded_copies`.

    `space` is with all replicas and parity; `namenode_bytes` is the memory that the files and their
    blocks take in the namenode. `coded_files` of the small files are erasure coded, and take
    `coded_copies` times their length on disks (null where none is): one that is smaller than a
    cell has as many whole copies as there are parity units, and its own, so it may take more than
    with replication.
    """
    from pyspark.sql import functions as F

    small = _files(rows).where(F.col("length") < below_bytes)
    objects = F.count("*") + F.sum("blocks")
    coded = F.col("erasure_coding_policy").isNotNull()
    coded_length = F.sum(F.when(coded, F.col("length")))
    copies = F.sum(F.when(coded, F.col("space"))) / F.when(coded_length > 0, coded_length)
    by_directory = small.groupBy(F.col("parent").alias("path")).agg(
        F.count("*").alias("small_files"),
        F.sum("length").alias("length"),
        F.avg("length").cast("long").alias("mean_length"),
        F.sum("space").alias("space"),
        (objects * BYTES_AN_OBJECT).alias("namenode_bytes"),
        F.count_if(coded).alias("coded_files"),
        F.round(copies, 2).alias("coded_copies"),
    )
    return by_directory.orderBy(F.desc("small_files"), "path")


def ages(rows: DataFrame, now_ms: int) -> DataFrame:
    """Report files by the time since their last use: `older_than_days, files, length, space`.

    Use is an access, or a modification if access times are not kept.
    """
    from pyspark.sql import functions as F

    used = F.greatest(F.col("access_time"), F.col("modification_time"))
    days = (F.lit(now_ms) - F.unix_millis(used)) / _DAY_MS
    age = F.lit(0)
    for bound in AGES_DAYS:
        age = F.when(days >= bound, bound).otherwise(age)
    by_age = _files(rows).groupBy(age.alias("older_than_days")).agg(*_sums())
    return by_age.orderBy("older_than_days")


def _sums() -> list[Column]:
    from pyspark.sql import functions as F

    return [
        F.count("*").alias("files"),
        F.coalesce(F.sum("length"), F.lit(0)).alias("length"),
        F.coalesce(F.sum("space"), F.lit(0)).alias("space"),
    ]


def owners(rows: DataFrame) -> DataFrame:
    """Report `owner, files, length, space, oldest, newest`, the largest first."""
    from pyspark.sql import functions as F

    times = F.col("modification_time")
    by_owner = (
        _files(rows)
        .groupBy("owner")
        .agg(*_sums(), F.min(times).alias("oldest"), F.max(times).alias("newest"))
    )
    return by_owner.orderBy(F.desc("space"), "owner")


def sizes(rows: DataFrame) -> DataFrame:
    """Files by powers of two: `at_least, files, length, space`; 0 stands for empty ones."""
    from pyspark.sql import functions as F

    length = F.col("length")
    power = F.floor(F.log2(F.greatest(length, F.lit(1))))
    at_least = F.when(length > 0, F.pow(F.lit(2.0), power)).otherwise(0).cast("long")
    return _files(rows).groupBy(at_least.alias("at_least")).agg(*_sums()).orderBy("at_least")


def growth(before: DataFrame, after: DataFrame, depth: int = 1) -> DataFrame:
    """Report the growth below each directory: `path, files, length, space`, as differences."""
    from pyspark.sql import functions as F

    def signed(rows: DataFrame, sign: int) -> DataFrame:
        totals = directories(rows, depth)
        return totals.select("path", *((F.col(name) * sign).alias(name) for name in _GROWING))

    both = signed(before, -1).unionAll(signed(after, 1)).groupBy("path")
    summed = both.agg(*(F.sum(name).alias(name) for name in _GROWING))
    changed = (F.col("files") != 0) | (F.col("length") != 0) | (F.col("space") != 0)
    return summed.where(changed).orderBy(F.desc(F.abs("space")), "path")


_GROWING: Final = ("files", "length", "space")


@dataclass(frozen=True, slots=True)
class ChecksumTask:
    """A task that adds the checksums of files, which datanodes compute."""

    place: Place

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches(self._rows(given), SUM_SCHEMA)

    def _rows(self, given: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        fs = self.place.with_settings({"dfs.checksum.combine.mode": "COMPOSITE_CRC"}).connect()
        for batch in given:
            for row in batch.to_pylist():
                try:
                    checksum = fs.get_file_checksum(row["path"])
                except (errors.PathNotFound, errors.FileIsOpen):
                    continue
                if checksum is not None:
                    yield row["path"], row["length"], row["space"], str(checksum)


SUM_SCHEMA: Final = "path string, length long, space long, checksum string"


def duplicates(rows: DataFrame, place: Place, at_least_bytes: int = 1) -> DataFrame:
    """Files with the same length and checksum: `length, checksum, files, wasted, paths`.

    `wasted` is the space of all but one of them; `paths` has at most ten.
    """
    from pyspark.sql import functions as F

    files = _files(rows).where(F.col("length") >= at_least_bytes)
    twice = files.groupBy("length").count().where("count > 1").select("length")
    candidates = files.join(twice, "length").select("path", "length", "space")
    summed = candidates.mapInArrow(ChecksumTask(place), SUM_SCHEMA)
    groups = summed.groupBy("length", "checksum").agg(
        F.count("*").alias("files"),
        (F.sum("space") - F.max("space")).alias("wasted"),
        F.slice(F.sort_array(F.collect_list("path")), 1, 10).alias("paths"),
    )
    return groups.where("files > 1").orderBy(F.desc("wasted"), "checksum")


def by_day(rows: DataFrame) -> DataFrame:
    """Report what each owner wrote on each day and still has: `day, owner, files, length, space`,
    the newest day first. A day is one of the session's time zone."""
    from pyspark.sql import functions as F

    day = F.to_date("modification_time").alias("day")
    written = _files(rows).groupBy(day, "owner").agg(*_sums())
    return written.orderBy(F.desc("day"), F.desc("space"), "owner")


def _directory_of(path: Column, depth: int) -> Column:
    """The directory of a file that is `depth` below the root, or less where the file is."""
    from pyspark.sql import functions as F

    names = F.split(path, "/")
    above = F.array_join(F.slice(names, 1, F.least(F.lit(depth + 1), F.size(names) - 1)), "/")
    return F.when(above == "", "/").otherwise(above)


def coldest(rows: DataFrame, audit: DataFrame, depth: int = 2) -> DataFrame:
    """Report when the files of each directory `depth` below the root were last read, by audit
    logs: `path, files, length, space, last_written, reads, last_read`. Those that nobody read come
    first, then those that were not read for longest.

    `audit` is the table `howdah.audit`. A read is an `open` that was allowed, of a file that is
    still there or not.
    """
    from pyspark.sql import functions as F

    directory = _directory_of(F.col("path"), depth).alias("path")
    tables = (
        _files(rows)
        .groupBy(directory)
        .agg(*_sums(), F.max("modification_time").alias("last_written"))
    )
    opened = audit.where("allowed and cmd = 'open' and src is not null")
    read = opened.groupBy(_directory_of(F.col("src"), depth).alias("path")).agg(
        F.count("*").alias("reads"), F.max("time").alias("last_read")
    )
    joined = tables.join(read, "path", "left").fillna(0, ["reads"])
    return joined.orderBy(F.asc_nulls_first("last_read"), F.desc("space"), "path")


LEFTOVERS: Final = (
    "_temporary",
    r"\.spark-staging-[^/]*",
    r"\.hive-staging[^/]*",
    r"\.distcp\.tmp\.[^/]*",
    r"\._WIP_[^/]*",
    r"[^/]*\._COPYING_(?:\.[0-9a-f]+)?",
)
"""Names, as regular expressions, of what Spark, Hive, distcp, the shell and `put` of the API remove
at their end."""


def orphans(rows: DataFrame, now_ms: int, idle_days: int = 2) -> DataFrame:
    """Report what jobs that were killed left behind: `path, files, length, space, last_written`.

    `path` is what such a job makes beside its output and removes at its end. What was written
    within the last `idle_days` may be of a job that still runs, and is left out.
    """
    from pyspark.sql import functions as F

    pattern = f"(?s)^(.*?/(?:{'|'.join(LEFTOVERS)}))(?:/|$)"
    left = F.regexp_extract("path", pattern, 1).alias("path")
    is_file = F.col("type") == FILE
    found = rows.where(F.col("path").rlike(pattern)).groupBy(left)
    summed = found.agg(
        F.count_if(is_file).alias("files"),
        F.sum("length").alias("length"),
        F.sum("space").alias("space"),
        F.max("modification_time").alias("last_written"),
    )
    idle = F.unix_millis("last_written") < now_ms - idle_days * _DAY_MS
    return summed.where(idle).orderBy(F.desc("space"), "path")


def coded_space(policy: Policy) -> Column:
    """What a file with the columns `length` and `block_size` takes with an erasure coding policy,
    parity included."""
    from pyspark.sql import functions as F

    length, block_size = F.col("length"), F.col("block_size")
    data_units, cell = policy.schema.data_units, policy.cell_bytes
    # Of full groups, of full stripes of the last one, and of its last stripe.
    groups = F.floor(length / (block_size * data_units))
    rest = length - groups * block_size * data_units
    stripes = F.floor(rest / (cell * data_units))
    last = F.least(rest - stripes * cell * data_units, F.lit(cell))
    parity_length = groups * block_size + stripes * cell + last
    return (length + parity_length * policy.schema.parity_units).cast("long")


def coding_savings(
    rows: DataFrame,
    now_ms: int,
    idle_days: int = 90,
    policy: str = "RS-6-3-1024k",
    depth: int = 2,
) -> DataFrame:
    """Report what erasure coding would save of the replicated files that nobody used for
    `idle_days`, by their directories: `path, files, length, space, coded_space, saved`. Files that
    would take more are left out.

    Raises UnsupportedOperation for a policy whose name does not say what it is.
    """
    from pyspark.sql import functions as F

    try:
        coded = coded_space(policy_named(policy))
    except ValueError as error:
        raise errors.UnsupportedOperation(f"erasure coding policy: {error}") from error
    used = F.greatest(F.col("access_time"), F.col("modification_time"))
    cold = _files(rows).where(
        F.col("erasure_coding_policy").isNull()
        & (F.col("block_size") > 0)
        & (F.unix_millis(used) < now_ms - idle_days * _DAY_MS)
    )
    smaller = cold.withColumn("coded_space", coded).where("coded_space < space")
    by_directory = smaller.groupBy(_directory_of(F.col("path"), depth).alias("path")).agg(
        *_sums(),
        F.sum("coded_space").alias("coded_space"),
        F.sum(F.col("space") - F.col("coded_space")).alias("saved"),
    )
    return by_directory.orderBy(F.desc("saved"), "path")


def quotas(rows: DataFrame) -> DataFrame:
    """Directories with quotas: `path, quota_names, quota_space, names, space` (images only)."""
    from pyspark.sql import functions as F

    bounded = rows.where(
        (F.col("type") == DIRECTORY)
        & (F.col("quota_names").isNotNull() | F.col("quota_space").isNotNull())
    ).select("path", "quota_names", "quota_space")
    inside = rows.select(
        F.explode(F.concat(_ancestors(F.col("path")), F.array("path"))).alias("path"), "space"
    ).groupBy("path")
    used = inside.agg(F.count("*").alias("names"), F.sum("space").alias("space"))
    return bounded.join(used, "path").orderBy("path")
