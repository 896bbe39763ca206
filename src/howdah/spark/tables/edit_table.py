"""`howdah.edits`: a row for each transaction of an edit log.

The path is a directory of segments (a namenode's or a journal node's `current`, on any filesystem),
one segment, or `qjournal://host:port;…/JOURNAL`, whose journal nodes hand out theirs. A task reads
a segment. Every transaction has one row, even where segments overlap.

An unfinished segment is read as far as it is written; on journal nodes, as far as it is committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from howdah import errors
from howdah.config.journal_uri import SCHEME, JournalUri
from howdah.copy.common.filesystems import Place
from howdah.formats.edits.edits import LoggedEdit
from howdah.formats.edits.segment_scan import SegmentReader
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.spark.tables.columns import Columns
from howdah.spark.tables.edit_rows import EDITS, row_of
from howdah.spark.tables.journal_nodes import JournalNodes
from howdah.spark.tables.predicates import number_bounds
from howdah.spark.tables.table import PATH, Table
from howdah.storage.segments import finished_name, in_progress_name, parse_name

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_A_BATCH = 5000
FROM_TXID, TO_TXID = "fromTxid", "toTxid"


@dataclass(frozen=True, slots=True)
class EditPart:
    """A segment, and where its copies are. Of its transactions those from `begin` to `end` have
    rows; `last_txid` is None where it is unfinished. `committed_txid` is the last one of the newest
    segment that counts, where that is known: it must be there."""

    source: Place | JournalNodes
    copies: tuple[str, ...]
    first_txid: int
    last_txid: int | None
    begin: int
    end: int | None
    committed_txid: int | None = None


class EditTable(Table):
    """See the module."""

    name = "howdah.edits"
    all_columns: ClassVar[Columns] = EDITS
    known_options = (FROM_TXID, TO_TXID)

    def parts(self) -> list[Any]:
        """Raises PathNotFound; IllegalArgument for a path that has no segments."""
        where = self.options.required(PATH, "a directory of segments, or qjournal://…")
        if where.startswith(f"{SCHEME}://"):
            return self._parts_of_nodes(where)
        place, path = self.home.place(where)
        fs = place.connect()
        status = fs.get_file_status(path)
        found = [status] if not status.is_directory else list(fs.list_status_iter(path))
        segments = []
        for each in found:
            named = None if each.is_directory else parse_name(Path(each.name))
            if named is not None:
                segments.append((each.path, named.first_txid, named.last_txid))
        if not segments:
            raise errors.IllegalArgument(f"{self.name}: there are no segments of edits at {where}")
        return self._chosen(
            EditPart(place, (name,), first, last, first, None) for name, first, last in segments
        )

    def _parts_of_nodes(self, where: str) -> list[Any]:
        conf = self.home.configuration()
        nodes = JournalNodes.of(JournalUri.parse(where), conf, self.home.user)
        return self._chosen(
            EditPart(
                nodes,
                each.urls,
                each.first_txid,
                each.last_txid,
                each.first_txid,
                None,
                each.committed_txid,
            )
            for each in nodes.segments()
        )

    def _chosen(self, parts: Iterable[EditPart]) -> list[Any]:
        """Parts without the transactions that others have, and within the bounds of the query."""
        low, high = number_bounds(self.conditions, "txid")
        low = max(low, self.options.number(FROM_TXID) or 0)
        upper = self.options.number(TO_TXID)
        high = upper if high is None else high if upper is None else min(high, upper)
        return list(without_overlaps(parts, low, high))

    def batches(self, part: Any) -> Iterator[pa.RecordBatch]:
        """Raises CorruptEditLog."""
        assert isinstance(part, EditPart)
        segment = _name_of(part)
        rows: list[dict[str, Any]] = []
        for logged in self._edits(part):
            rows.append(row_of(logged, segment))
            if len(rows) == ROWS_A_BATCH:
                yield self.made_columns.batch_of_rows(rows)
                rows = []
        if rows:
            yield self.made_columns.batch_of_rows(rows)

    def _edits(self, part: EditPart) -> Iterator[LoggedEdit]:
        opened: Any
        last_txid = part.last_txid
        if isinstance(part.source, JournalNodes):
            opened = part.source.open(part.copies)
        else:
            fs = part.source.connect()
            path = part.copies[0]
            if last_txid is None and not fs.exists(path):
                path, last_txid = _finished_since(fs, path)
            opened = fs.open(path)
        with opened as source:
            reader = SegmentReader(
                source, part.copies[0], first_txid=part.first_txid, last_txid=last_txid
            )
            reached = part.first_txid - 1
            for placed in reader:
                txid = placed.logged.txid
                if part.end is not None and txid > part.end:
                    return
                if part.committed_txid is not None and txid > part.committed_txid:
                    return
                reached = txid
                if txid >= part.begin:
                    yield placed.logged
        known = [txid for txid in (part.committed_txid, part.end) if txid is not None]
        if part.committed_txid is not None and reached < min(known):
            raise errors.RetriableError(
                f"{self.name}: the segment of transaction {part.first_txid} that a journal node "
                f"handed out ends with {reached}, and the log is committed up to "
                f"{part.committed_txid}: this node lags, and no other one could be asked"
            )


def without_overlaps(parts: Iterable[EditPart], low: int, high: int | None) -> Iterator[EditPart]:
    """Segments in order, each with the transactions that no segment before has: a directory may
    have a segment twice, unfinished and finished."""
    reached = low - 1
    ordered = sorted(
        parts, key=lambda part: (part.first_txid, part.last_txid is None, -(part.last_txid or 0))
    )
    for part in ordered:
        if high is not None and part.first_txid > high:
            return
        if part.last_txid is not None and part.last_txid <= reached:
            continue
        if part.last_txid is None and part.first_txid <= reached and _is_finished(part, ordered):
            continue
        begin = max(part.first_txid, reached + 1)
        if part.last_txid is None:
            part = _before_the_next(part, ordered)
        ends = [end for end in (part.end, high) if end is not None]
        yield replace(part, begin=begin, end=min(ends, default=None))
        if part.last_txid is not None:
            reached = part.last_txid


def _before_the_next(part: EditPart, others: Iterable[EditPart]) -> EditPart:
    """An unfinished segment without what comes behind it in others: its writer lost the quorum, or
    died, and what it wrote last was never acknowledged."""
    later = [other.first_txid for other in others if other.first_txid > part.first_txid]
    return replace(part, end=min(later) - 1, committed_txid=None) if later else part


def _is_finished(part: EditPart, others: Iterable[EditPart]) -> bool:
    """Whether a finished segment has the transactions of an unfinished one."""
    return any(
        other.last_txid is not None and other.first_txid <= part.first_txid <= other.last_txid
        for other in others
    )


def _finished_since(fs: FileSystem, path: str) -> tuple[str, int | None]:
    """The file of a segment that was unfinished when it was planned, and its last transaction."""
    unfinished = parse_name(Path(path))
    assert unfinished is not None, path
    for status in fs.list_status_iter(paths.parent_of(path) or "/"):
        named = parse_name(Path(status.name))
        if named is not None and named.first_txid == unfinished.first_txid:
            return status.path, named.last_txid
    raise errors.PathNotFound(f"File does not exist: {path}")


def _name_of(part: EditPart) -> str:
    """The name of the file of a segment."""
    if part.last_txid is None:
        return in_progress_name(part.first_txid)
    return finished_name(part.first_txid, part.last_txid)
