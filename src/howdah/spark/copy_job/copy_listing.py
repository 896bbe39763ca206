"""The beginning of a listing, from the driver's side (Hadoop's CopyListing).

The driver makes a row for each source, several at a time; tasks list the rest
(`listing.rounds`, `listing.walking`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from howdah import errors
from howdah.copy.common.arrow_rows import decode
from howdah.copy.common.filesystems import prefix
from howdah.copy.common.staging import Staging
from howdah.copy.context import CopyContext
from howdah.copy.layout import Placed
from howdah.copy.listing.entries import Entry, Kind
from howdah.copy.listing.walking import Walk
from howdah.copy.locks.tree_lock import TreeLock
from howdah.copy.options import Options
from howdah.copy.outcome import DuplicateFile
from howdah.copy.roots import is_unpaired, own_roots, roots_of
from howdah.spark.listing.row_stores import NotStored, RowsInFiles, RowsInMemory, RowStore
from howdah.spark.listing.spark_rounds import Listing, make_listing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class CopyListing:
    """Makes the listing of one run; `notes` is appended to."""

    def __init__(
        self,
        spark: SparkSession,
        context: CopyContext,
        options: Options,
        placed: Sequence[Placed],
        staging: Staging,
        path: str,
        lock: TreeLock,
        notes: list[str],
    ) -> None:
        self._spark = spark
        self._context = context
        self._options = options
        self._placed = placed
        self._staging = staging
        self._path = path
        self._lock = lock
        self._notes = notes
        self.own_roots: list[Entry] = []
        """The sources of the attributes of the target's own directory, which are set last."""

    def walk(self) -> Walk:
        """The task that lists."""
        return Walk(
            sources=self._context.places,
            target=self._context.target,
            target_path=prefix(self._path),
            wants_missing=self._options.wants_missing,
            filters=self._context.filters,
            ignore_failures=self._options.ignore_failures,
            threads=self._options.list_threads,
            own_lock=None if self._options.dry_run else self._lock.path or "",
            refuses_encrypted=self._options.refuses_encrypted,
        )

    def make(self) -> Listing:
        """List the sources, and the entries that are at the target only."""
        roots = roots_of(self._context, self._options, self._placed, self._path)
        self.own_roots = own_roots(roots)
        walk, most = self.walk(), self._options.max_maps
        return self.build(lambda kept: make_listing(self._spark, roots, walk, most, kept))

    def build(self, make: Callable[[RowStore], Listing]) -> Listing:
        """Make a listing with its rows in the staging directory; in memory for a dry run, or if
        the target has no room or permission for them."""
        if self._options.dry_run:
            return make(RowsInMemory())
        try:
            self._context.target_fs.mkdirs(self._staging.listing)
            return make(RowsInFiles(self._spark, self._context.target, self._staging.listing))
        except (NotStored, errors.QuotaExceeded, errors.AccessDenied) as error:
            if self._trusts_names:
                raise  # if listed again later, incomplete files would be skipped
            self._notes.append(
                f"A lost executor would fail this copy, as its listing is in memory: {error}"
            )
            return make(RowsInMemory())

    @property
    def lists_target_alone(self) -> bool:
        """Whether no source is paired with the target's own directory."""
        return is_unpaired(self._context, self._options, self._placed)

    @property
    def _trusts_names(self) -> bool:
        """Whether files at the target are skipped unseen, and may be incomplete."""
        options = self._options
        return options.direct and not (options.update or options.overwrite)


def refuse_duplicates(listing: Listing) -> None:
    """Raise `DuplicateFile` if two sources have the same path at the target."""
    rows = listing.of(Kind.FILE, Kind.DIRECTORY).select("relative", "source")
    twice = rows.groupBy("relative").count().where("count > 1").limit(1)
    duplicates = [decode(bytes(row["source"])) for row in rows.join(twice, "relative").collect()]
    if duplicates:
        first, second, *_ = sorted(duplicates)
        raise DuplicateFile(f"File {first} and {second} would cause duplicates. Aborting")
