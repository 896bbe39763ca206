"""`verify`: every replica of every block below some paths, read and compared by Spark.

1. List the trees in parallel (`listing.tree`).
2. Look up the replicas of the files' finished blocks, and block groups of erasure coded files.
3. Read each replica whole, against its checksums (`verification.tasks`), at its own node where
   that matters (`verification.placement`).
4. Compare the replicas of each block (`verification.verdict`), and report the bad ones to the
   namenode if `mark` is given. The internal blocks of a group are read by one task, which codes
   the data again.
5. With a manifest: compare digests of the files with those of the last run.

The driver gets sums, and of the replicas only those that `problems` returns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.config import Configuration
from howdah.copy.common.arrow_rows import partitioned
from howdah.copy.common.failures import from_spark
from howdah.copy.common.filesystems import Place, sources_behind_views
from howdah.copy.common.job_tokens import job_tokens
from howdah.copy.common.progress import (
    ProgressLine,
    clock,
    listing_progress,
    of_bytes,
    progress_directory,
    reported,
)
from howdah.copy.common.task_errors import (
    FAILURE_COLUMNS,
    Reported,
    most_attempts,
    raise_reported,
    with_failures,
)
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.replicas import Replicas
from howdah.fs.path_expansion import named
from howdah.fs.registry import connect
from howdah.fs.status import FileStatus
from howdah.runtime.units import iec_size
from howdah.spark.listing.tree import FILE, Tree, list_tree
from howdah.spark.locality.plan_files import one_file_a_partition, runs_elsewhere
from howdah.spark.sessions import as_spark_is
from howdah.spark.verification.manifest import (
    ChangeCounts,
    Manifest,
    changes_between,
    with_last_crcs,
)
from howdah.spark.verification.tasks import (
    DIGEST_SCHEMA,
    JUDGED_SCHEMA,
    READ_SCHEMA,
    REPLICA_SCHEMA,
    Digest,
    Judge,
    LookUp,
    ReadReplicas,
)
from howdah.spark.verification.verdict import Verdict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession
from typing import TYPE_CHECKING

from howdah.spark.locality.nodes import busiest, hosts, shares
from howdah.spark.locality.plan_files import NOT_NEAR, PlanFiles, nodes_of, part_by, share_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# Replicas read by tasks, each at the node that has it, if Spark runs there.
#
# Every replica is to be read, and each is on one host: a task on that host reads it without the
# network. If all tasks run on the driver's host, or all replicas are on one host, replicas are
# partitioned by hash.

COST_A_REPLICA: Final = 256 << 10
"""The time to open a replica, as bytes that could be read meanwhile."""
_READ: Final = with_failures(READ_SCHEMA)
_KEY: Final = ("path", "block_id", "node")
_FINGERPRINT: Final = f"xxhash64({', '.join(_KEY)})"
_COST: Final = f"(length + {COST_A_REPLICA})"


@contextmanager
def read_all(
    spark: SparkSession,
    located: DataFrame,
    task: Reported,
    place: Place,
    parts: int,
    most_parts: int,
    *,
    at_nodes: bool,
) -> Iterator[tuple[DataFrame, str | None]]:
    """The findings, and a note if replicas were to be read at their nodes and are not.

    `parts` are enough; there may be up to `most_parts`, so that each node has one. With
    `at_nodes` the first computation must be within `plan_files.one_file_a_partition`.
    """
    note = None
    if at_nodes and parts > 1:
        files = PlanFiles(spark, place)
        note = files.prepare()
        if note is None:
            try:
                if _write(spark, files, located, parts, most_parts):
                    yield files.map(task, _READ), None
                    return
            finally:
                files.forget()
    reason = None if note is None else f"{NOT_NEAR}: {note}"
    yield partitioned(located, parts, *_KEY).mapInArrow(task, _READ), reason


def _write(
    spark: SparkSession, files: PlanFiles, located: DataFrame, parts: int, most_parts: int
) -> bool:
    """Write the plan. Return False if all replicas are on one host."""
    from pyspark.sql import functions as F

    kept = located.persist()
    try:
        raise_reported(kept)
        there = kept.where("address <> ''").selectExpr("address", f"{_COST} as cost")
        costs = there.groupBy("address").agg(F.sum("cost").alias("cost")).collect()
        work = {row["address"]: float(row["cost"]) for row in costs}
        if len(hosts(work)) < 2:
            return False
        count = min(max(parts, len(work)), most_parts)
        own = shares(busiest(work, count), count)
        part = part_by("xxhash64(path, block_id)", count)
        table = share_table(spark, own).withColumnRenamed("node", "address")
        joined = kept.join(table, "address", "left")
        rows = joined.selectExpr(
            "*", f"{part} as part", f"{_COST} as cost", f"{_FINGERPRINT} as fingerprint"
        )
        written, _ = files.write(rows, REPLICA_SCHEMA, nodes_of(own, count))
        # A replica's part depends on its own row only, so no row can be lost between parts.
        return written > 0
    finally:
        kept.unpersist()


PARTS_A_TASK: Final = 4
"""More parts than tasks, as replicas differ in size and nodes in speed."""
# Less work than this is not worth a part of its own.
FILES_A_PART: Final = 200
BYTES_A_PART: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class VerifySummary:
    """The sums of a run. `replicas` by verdict; `short`: blocks with too few replicas."""

    files: int = 0
    bytes: int = 0
    blocks: int = 0
    short: int = 0
    marked: int = 0
    replicas: dict[str, int] = field(default_factory=dict)
    changes: ChangeCounts | None = None
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def is_healthy(self) -> bool:
        """True if every replica is sound, and no file has rotted."""
        rotten = self.changes is not None and self.changes.rotten > 0
        return not rotten and not any(
            count for verdict, count in self.replicas.items() if verdict != Verdict.SOUND
        )

    def as_dict(self) -> dict[str, object]:
        return asdict(self) | {"healthy": self.is_healthy}


class Verified:
    """The findings of a run. `replicas` has a row for each replica, `changes` for each path."""

    def __init__(self, sums: VerifySummary, replicas: DataFrame, changed: DataFrame | None) -> None:
        self.sums = sums
        self.replicas = replicas
        self.changes = changed

    def problems(self, limit: int) -> list[Row]:
        """Up to `limit` replicas that are not sound."""
        bad = self.replicas.where(self.replicas["verdict"] != Verdict.SOUND.value)
        return bad.orderBy("path", "offset", "node").limit(limit).collect()

    def rotten(self, limit: int) -> list[bytes]:
        """Up to `limit` paths whose bytes changed though nobody wrote them."""
        if self.changes is None:
            return []
        rows = self.changes.where("change = 'rotten'").orderBy("path").limit(limit).collect()
        return [bytes(row["path"]) for row in rows]


@contextmanager
def verify(
    spark: SparkSession,
    targets: str | Sequence[str],
    *,
    mark: bool = False,
    manifest: str | None = None,
    most_tasks: int = 20,
    locality: bool | None = None,
    conf: Configuration | None = None,
    user: str | None = None,
    shows_progress: bool = False,
) -> Iterator[Verified]:
    """Read every replica below `targets`: URIs of one `hdfs://`, or paths, or patterns.

    The findings can be read within the `with` block. `mark`: report replicas that are corrupt
    or in the minority to the namenode, which replaces them. `manifest`: a directory in which
    digests of the files are kept over time. `locality`: whether each replica is to be read at
    its own node; None: where that can matter. `shows_progress`: on standard error.

    Raises `PathNotFound`, and `UnsupportedOperation` for other filesystems than `hdfs://`.

    >>> with verify(spark, "hdfs://a:8020/data") as found:  # doctest: +SKIP
    ...     print(found.sums.replicas)
    """
    wanted = [targets] if isinstance(targets, str) else list(targets)
    began_s = time.monotonic()
    tree: Tree | None = None
    kept: DataFrame | None = None
    plans = ExitStack()
    plans.enter_context(job_tokens())
    try:
        configuration, user = as_spark_is(spark, conf, user)
        place, roots = _look_at(wanted, configuration, user)
        digests = None if manifest is None else Manifest(spark, manifest, configuration, user)
        try:
            fs = place.connect()
            with ProgressLine(shows_progress) as shown, progress_directory(fs, shown) as progress:
                tree = list_tree(spark, place, roots, most_tasks, listing_progress(shown))
                files = tree.rows.where((tree.rows["type"] == FILE) & (tree.rows["length"] > 0))
                work = _work_of(files)
                shown.set_text(_reading(fs, progress, work))
                by_files = 1 + work.files // FILES_A_PART
                most_parts = most_tasks * PARTS_A_TASK
                attempts = most_attempts(spark)
                reading = read_all(
                    spark,
                    _located(files, place, min(by_files, most_tasks), attempts),
                    Reported(ReadReplicas(place, progress), READ_SCHEMA, attempts),
                    place,
                    min(by_files + work.bytes // BYTES_A_PART, most_parts),
                    most_parts,
                    at_nodes=runs_elsewhere(spark) if locality is None else locality,
                )
                read, note = plans.enter_context(reading)
                with one_file_a_partition(spark):
                    kept = _judged(read, place, mark, attempts).persist()
                    raise_reported(kept)
                    judged = kept.drop(*FAILURE_COLUMNS)
                    sums = _sums(work, judged)
                shown.set_text("comparing with the last run")
                changed = None if digests is None else _update_manifest(files, judged, digests)
                counts = ChangeCounts() if changed is None else _counted(changed)
        except errors.HowdahError:
            raise
        except Exception as error:
            raise from_spark(error) from error
        seen = asdict(sums) | {"seconds": round(time.monotonic() - began_s, 3)}
        seen["changes"] = counts if changed is not None else None
        seen["notes"] = () if note is None else (note,)
        yield Verified(VerifySummary(**seen), judged, changed)
    finally:
        if kept is not None:
            kept.unpersist()
        if tree is not None:
            tree.forget()
        plans.close()


def _look_at(
    targets: list[str], conf: Configuration, user: str | None
) -> tuple[Place, list[FileStatus]]:
    places: dict[Place, None] = {}
    roots: dict[str, FileStatus] = {}
    for target in sources_behind_views(targets, conf, user):
        located = target if "://" in target else None
        fs = connect(located, conf=conf, user=user)
        Replicas(fs)  # refuses filesystems without replicas
        places[Place.of(located, conf, user)] = None
        statuses = named(fs, target)
        if not statuses:
            raise errors.PathNotFound(f"{target} does not exist")
        roots.update((status.path, status) for status in statuses)
    if len(places) != 1:
        listed = ", ".join(place.uri for place in places) or "none"
        raise errors.IllegalArgument(f"one filesystem at a time, not {listed}")
    (place,) = places
    return place, _outermost(roots)


def _outermost(roots: dict[str, FileStatus]) -> list[FileStatus]:
    """The statuses of paths that are not below others."""
    outer: list[FileStatus] = []
    # By components, what is below a path follows it directly.
    for path in sorted(roots, key=lambda path: path.rstrip("/").split("/")):
        if not outer or not _is_below(path, outer[-1].path):
            outer.append(roots[path])
    return outer


def _is_below(path: str, other: str) -> bool:
    return path != other and path.startswith(other.rstrip("/") + "/")


@dataclass(frozen=True, slots=True)
class _Work:
    """The work of a run. `space` is the bytes of all replicas and internal blocks that there
    should be."""

    files: int
    bytes: int
    space: int


def _work_of(files: DataFrame) -> _Work:
    from pyspark.sql import functions as F

    (row,) = files.agg(
        F.count("*").alias("n"),
        F.sum("length").alias("bytes"),
        F.sum("space").alias("space"),
    ).collect()
    return _Work(row["n"], row["bytes"] or 0, row["space"] or 0)


def _reading(fs: FileSystem, progress: str, work: _Work) -> str | Callable[[float], str]:
    if not progress:
        return f"reading {iec_size(work.space)}"

    def progress_text(seconds: float) -> str:
        done = reported(fs, progress)
        if not done.files:
            return f"reading {iec_size(work.space)}, {clock(seconds)}"
        return f"{done.files} replicas, {of_bytes(done.bytes, work.space, seconds)}"

    return progress_text


def _located(files: DataFrame, place: Place, tasks: int, attempts: int) -> DataFrame:
    task = Reported(LookUp(place), REPLICA_SCHEMA, attempts)
    return partitioned(files, tasks, "path").mapInArrow(task, with_failures(REPLICA_SCHEMA))


def _judged(read: DataFrame, place: Place, mark: bool, attempts: int) -> DataFrame:
    from pyspark.sql import functions as F

    readings = F.struct(
        *("replication", "offset", "length", "node", "storage", "located", "policy", "index"),
        *("state", "crc", "message"),
    )
    blocks = read.groupBy("path", "block_id", "generation_stamp").agg(
        F.collect_list(readings).alias("readings"),
        F.max(F.struct(*FAILURE_COLUMNS)).alias("failed"),
    )
    rows = blocks.select(*blocks.columns[:-1], *(f"failed.{name}" for name in FAILURE_COLUMNS))
    task = Reported(Judge(place, mark), JUDGED_SCHEMA, attempts)
    return rows.mapInArrow(task, with_failures(JUDGED_SCHEMA))


def _sums(work: _Work, judged: DataFrame) -> VerifySummary:
    from pyspark.sql import functions as F

    replicas = judged.groupBy("verdict").agg(
        F.count("*").alias("n"), F.sum(F.col("marked").cast("int")).alias("marked")
    )
    by_verdict = {row["verdict"]: row for row in replicas.collect()}
    is_short = (F.col("replicas") < F.col("replication")).cast("int")
    blocks = judged.groupBy("path", "offset").agg(F.max(is_short).alias("short"))
    of_blocks = blocks.agg(F.count("*").alias("n"), F.sum("short").alias("short")).collect()[0]
    return VerifySummary(
        files=work.files,
        bytes=work.bytes,
        blocks=of_blocks["n"],
        short=of_blocks["short"] or 0,
        marked=sum(row["marked"] for row in by_verdict.values()),
        replicas={verdict: row["n"] for verdict, row in sorted(by_verdict.items())},
    )


def _update_manifest(files: DataFrame, judged: DataFrame, manifest: Manifest) -> DataFrame:
    """Write digests of the files, and compare them with those of the last run."""
    from pyspark.sql import functions as F

    one_each = judged.select("path", "offset", "length", "block_crc").distinct()
    blocks = one_each.groupBy("path").agg(
        F.collect_list(F.struct("offset", "length", "block_crc")).alias("blocks")
    )
    there = files.select("path", "length", "modification_time_ms")
    digests = there.join(blocks, "path", "left").mapInArrow(Digest(), DIGEST_SCHEMA)
    last = manifest.last()
    before = last if last is not None else digests.limit(0)
    written = manifest.read(manifest.write(with_last_crcs(before, digests)))
    return changes_between(before, written)


def _counted(changed: DataFrame) -> ChangeCounts:
    counted = changed.groupBy("change").count().collect()
    return ChangeCounts(**{row["change"]: row["count"] for row in counted})
