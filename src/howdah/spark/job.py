"""`distcp`: the whole of a copy, from the driver's side.

1. Look at sources and target, and place the sources (`howdah.spark.layout`).
2. Remove what an earlier run of the same copy left, if it was killed.
3. List sources and target in parallel (`howdah.spark.listing`).
4. Refuse two sources with one place.
5. Copy: tasks with about as many bytes each (`howdah.spark.plan`, `howdah.spark.tasks`).
6. Delete what only the target has, where that is asked for.
7. Remove the staging directory, give an atomic copy its name, and set the attributes of
   directories, which everything before has changed.

The driver asks filesystems for a few statuses and gives a few renames; it sees no byte
of a file, and no row of a list but those of the largest files.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from howdah import errors, keys
from howdah.config import Configuration
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.registry import connect
from howdah.fs.status import FileStatus
from howdah.spark.copying import COMPOSITE
from howdah.spark.counters import Counters
from howdah.spark.entries import Entry, Kind, decode, found_of
from howdah.spark.filesystems import Place
from howdah.spark.layout import Found, InvalidInput, Placed, Source, place
from howdah.spark.listing import Listing, make_listing
from howdah.spark.options import Options
from howdah.spark.outcome import DuplicateFile, Outcome, from_spark
from howdah.spark.plan import parts_of, plan
from howdah.spark.preserving import check_support
from howdah.spark.staging import Staging, key_of, work_path
from howdah.spark.tasks import COUNTER_SCHEMA, CopyTask
from howdah.spark.walking import Walk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def distcp(
    spark: SparkSession,
    sources: str | Sequence[str],
    target: str,
    *,
    options: Options | None = None,
    conf: Configuration | None = None,
    user: str | None = None,
) -> Outcome:
    """Copy files and trees in parallel; the executors of `spark` move the bytes.

    `sources` and `target` are URIs, or paths on `fs.defaultFS`; sources may be patterns.
    Raises what `howdah.spark.outcome` knows: `CopyFailed` with source, target and reason,
    `InvalidInput`, `DuplicateFile` …

    >>> distcp(spark, "hdfs://a:8020/data", "hdfs://b:8020/data")  # doctest: +SKIP
    """
    configuration = Configuration.load() if conf is None else conf
    wanted = [sources] if isinstance(sources, str) else list(sources)
    job = _Job(spark, wanted, target, options or Options(), configuration, user)
    return job.run()


@dataclass(frozen=True, slots=True)
class _Target:
    """Where everything goes: the place, the path to write to, and what is there."""

    place: Place
    fs: FileSystem
    path: str
    status: FileStatus | None

    @property
    def found(self) -> Found:
        return found_of(self.status)

    @property
    def uri(self) -> str:
        return self.fs.uri + self.path


class _Job:
    def __init__(
        self,
        spark: SparkSession,
        sources: list[str],
        target: str,
        options: Options,
        conf: Configuration,
        user: str | None,
    ) -> None:
        self._spark = spark
        self._options = options
        self._conf = conf
        self._user = user
        self._began_s = time.monotonic()
        self._names = sources
        self._target = self._look_at_target(target)

    def _refuse_what_is_missing(self) -> None:
        chosen = {
            "-delete": self._options.delete,
            "-xtrack": self._options.track_path is not None,
            "-f": self._options.source_listing is not None,
            "-filters": self._options.filters_file is not None,
            "-atomic": self._options.atomic,
            "-diff": self._options.diff is not None,
            "-rdiff": self._options.reverse_diff is not None,
            "-blocksperchunk": self._options.blocks_per_chunk > 0,
            "-log": self._options.log_path is not None,
            "--dry-run": self._options.dry_run,
        }
        for name, is_chosen in chosen.items():
            if is_chosen:
                raise errors.UnsupportedOperation(f"{name} is not supported yet")

    # --- 1. what there is ---------------------------------------------------------------

    def _look_at_target(self, target: str) -> _Target:
        fs = connect(_located(target), conf=self._conf, user=self._user)
        target_place = Place.of(_located(target), self._conf, self._user)
        path = fs.resolve(target)
        return _Target(target_place, fs, path, _status(fs, path))

    def _look_at_sources(self) -> tuple[list[Place], list[tuple[Source, FileStatus]]]:
        places: dict[str, Place] = {}
        found: list[tuple[Source, FileStatus]] = []
        for name in self._names:
            fs = connect(_located(name), conf=self._conf, user=self._user)
            if fs.uri not in places:
                places[fs.uri] = Place.of(_located(name), self._conf, self._user)
            number = list(places).index(fs.uri)
            statuses = fs.glob_status(name)
            if not statuses:
                raise InvalidInput(f"{name} doesn't exist")
            for status in statuses:
                uri = fs.uri + status.path
                found.append((Source(number, status.path, uri, status.is_directory), status))
        return list(places.values()), found

    # --- the run -----------------------------------------------------------------------

    def run(self) -> Outcome:
        self._refuse_what_is_missing()
        places, found = self._look_at_sources()
        placed = place(
            [source for source, _ in found], self._target.found, self._target.uri, self._options
        )
        for each in (*places, self._target.place):
            check_support(each.connect(), self._options.preserve)
        key = key_of([source.uri for source, _ in found], self._target.uri)
        # An atomic copy is made beside its target, where nothing is yet.
        path = self._target.path
        if self._options.atomic:
            path = work_path(self._target.path, self._options.work_path, key)
        alone = len(placed) == 1 and not placed[0].source.is_directory
        is_file = alone and not placed[0].relative
        staging = Staging.of(path, is_file, key, uuid.uuid4().hex[:12])
        self._remove(staging.directory)
        if path != self._target.path:
            self._remove(path)
        walk = Walk(
            sources=tuple(places),
            target=self._target.place,
            target_path=_prefix(path),
            wants_missing=self._options.wants_missing,
            threads=self._options.list_threads,
        )
        roots = [
            row
            for each, (_, status) in zip(placed, found, strict=True)
            for row in self._roots(each, status)
        ]
        task = CopyTask(
            sources=tuple(places),
            target=self._target.place,
            target_path=_prefix(path),
            options=self._options,
            staging=staging,
            replaces_file=self._target.found is Found.FILE,
            combine_mode=self._combine_mode(),
        )
        listing = None
        try:
            listing = make_listing(self._spark, roots, walk, self._options.max_maps)
            if len(placed) > 1:
                self._refuse_duplicates(listing)
            counters = self._copy(listing, task)
        except errors.HowdahError:
            raise
        except Exception as error:
            raise from_spark(error) from error
        finally:
            if listing is not None:
                listing.forget()
            self._remove(staging.directory)
        return Outcome(
            counters,
            listing.totals,
            time.monotonic() - self._began_s,
            parts_of(listing.totals, self._options),
        )

    def _combine_mode(self) -> str:
        if self._conf.is_set(keys.DFS_CHECKSUM_COMBINE_MODE):
            return str(self._conf.get(keys.DFS_CHECKSUM_COMBINE_MODE))
        return COMPOSITE

    def _roots(self, placed: Placed, status: FileStatus) -> list[Entry]:
        """The rows that the listing begins with: a source, and the content of a directory."""
        there = None
        if self._target.status is not None and not self._options.atomic:
            there = self._target.status
            if placed.relative:
                there = _status(self._target.fs, _prefix(self._target.path) + placed.relative)
        relative = placed.relative.encode("utf-8", "surrogateescape")
        kind = Kind.DIRECTORY if status.is_directory else Kind.FILE
        entry = Entry.of(kind, placed.source.filesystem, status, relative, there)
        rows = [] if placed.skips_itself else [entry]
        if status.is_directory:
            rows.append(replace(entry, kind=Kind.PENDING))
        return rows

    def _refuse_duplicates(self, listing: Listing) -> None:
        from pyspark.sql import functions as F

        rows = listing.of(Kind.FILE, Kind.DIRECTORY)
        twice = rows.groupBy("relative").agg(
            F.count("*").alias("n"), F.min("source").alias("a"), F.max("source").alias("b")
        )
        for row in twice.where("n > 1").limit(1).collect():
            first, second = decode(bytes(row["a"])), decode(bytes(row["b"]))
            raise DuplicateFile(f"File {first} and {second} would cause duplicates. Aborting")

    def _copy(self, listing: Listing, task: CopyTask) -> Counters:
        rows = listing.of(Kind.FILE, Kind.DIRECTORY)
        planned = plan(self._spark, rows, listing.totals, self._options)
        return _summed(planned.mapInArrow(task, COUNTER_SCHEMA))

    def _remove(self, path: str) -> None:
        try:
            self._target.fs.delete(path, recursive=True)
        except (errors.PathNotFound, errors.ParentNotDirectory):
            return


def _summed(counted: DataFrame) -> Counters:
    """The sums of what all tasks counted; a row each, so there are not many."""
    return sum((Counters.of(row.asDict()) for row in counted.collect()), Counters())


def _status(fs: FileSystem, path: str) -> FileStatus | None:
    try:
        return fs.get_file_status(path)
    except (errors.PathNotFound, errors.ParentNotDirectory):
        return None


def _prefix(path: str) -> str:
    """A path to which a relative one that starts with a slash can be added."""
    return "" if path == paths.SEPARATOR else path


def _located(name: str) -> str | None:
    """A URI as `connect` takes it, None for a path of the default filesystem."""
    return name if paths.parse(name).is_qualified else None
