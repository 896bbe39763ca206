"""Snapshot reports as rows: requested and read by tasks.

One task requests the report from the namenode, page by page; other tasks turn its entries into
the rows that the listing begins with. So the driver gets only renames and deletions, and no path
of the entries that were created or modified.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from howdah.copy.common import arrow_rows
from howdah.copy.common.arrow_rows import decode, encode
from howdah.copy.common.failures import FAILURES, error_name, error_text
from howdah.copy.common.filesystems import Place
from howdah.copy.listing.entries import Entry, Sums, batches
from howdah.copy.snapshots.changes import Change, Changes
from howdah.copy.snapshots.following import copied_rows, report
from howdah.copy.snapshots.resuming import explained_by

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA: Final = "label string, path binary, target binary"
KEY_SCHEMA: Final = "label string, path binary"


def change_of(row: Any) -> Change:
    return Change(row["label"], decode(bytes(row["path"])), decode(bytes(row["target"])))


@dataclass(frozen=True, slots=True)
class ReportTask:
    """A task that requests the report on two states of a directory."""

    place: Place
    path: str
    old: str
    new: str

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in given:
            pass  # the row that makes Spark run this task
        yield from arrow_rows.batches(self._lines(), SCHEMA)

    def _lines(self) -> Iterator[arrow_rows.Row]:
        try:
            for line in report(self.place.connect(), self.path, self.old, self.new):
                yield line.label, encode(line.path), encode(line.target)
        except FAILURES as error:
            yield FAILED, error_text(error).encode(), error_name(error).encode()


@dataclass(frozen=True, slots=True)
class ChangesTask:
    """A task that turns the entries of a report into rows of the listing.

    `source` is the path of the second state. With `also_root` it has a row, too.
    """

    changes: Changes
    source: str
    also_root: bool

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches(Sums().counting(self._entries(given)))

    def _entries(self, given: Iterable[pa.RecordBatch]) -> Iterator[Entry]:
        asked = (change_of(row) for batch in given for row in batch.to_pylist())
        yield from copied_rows(asked, self.changes, self.source, self.also_root)


@dataclass(frozen=True, slots=True)
class ExplainTask:
    """A task that turns the entries of a report into what copying them changes at the target."""

    changes: Changes

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        asked = (change_of(row) for batch in given for row in batch.to_pylist())
        keys = explained_by(asked, self.changes)
        yield from arrow_rows.batches(((label, encode(path)) for label, path in keys), KEY_SCHEMA)


FAILED: Final = "!"
"""Label of a row for an error: the message in `path`, the class in `target`."""
