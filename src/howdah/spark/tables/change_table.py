"""`howdah.changes`: what happens to a namespace, in the order of its edit log, by inotify.

Offsets are ids of transactions: `{"txid": N}` is behind transaction N. A batch is the range between
two offsets, so a batch that is done again has the same rows, whichever namenode is asked. Its end
is a transaction that no crash takes back.

1. A stream begins behind a transaction, at a time, with the oldest edits that are left, with what
   happens from now on, or with a listing.
2. A listing is a batch of its own, `{"txid": N, "is_listing": true}`. N is the last transaction
   before it began: what happens meanwhile is in the listing, and again in the changes behind it.
   Whoever follows the changes meets creations of what is there and removals of what is not.
3. Where edits are gone that a stream has not read, it fails, and says which; or it begins again
   with a listing.
4. A namenode that does not answer, or that has not caught up behind a failover, is asked again.

Without a stream the table is the range from its beginning to now.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from howdah import errors
from howdah.client.namenode import NamenodeProxy
from howdah.copy.common.filesystems import Place
from howdah.fs import paths
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.inotify import Event, EventBatch, InotifyStream, MissingEvents, RenameEvent
from howdah.spark.tables.change_rows import (
    CHANGES,
    LISTING,
    event_path,
    listed_rows,
    reset_row,
    rows_of,
    time_of,
)
from howdah.spark.tables.columns import Columns, as_text
from howdah.spark.tables.namespace_table import LivePart, NamespaceTable
from howdah.spark.tables.table import PARTITIONS, PATH, Home, Table

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_A_BATCH: Final = 5000
STARTING: Final = "starting"
STARTING_TXID: Final = "startingTxid"
STARTING_TIMESTAMP: Final = "startingTimestamp"
ON_MISSING: Final = "onMissing"
MOST_TRANSACTIONS: Final = "maxTransactionsPerBatch"
TRANSACTIONS_A_PART: Final = "transactionsPerPartition"
TIMEOUT: Final = "timeoutSeconds"
NOW, EARLIEST, LISTING_FIRST = "now", "earliest", "listing"
FAIL, LIST_AGAIN = "fail", "listing"
DEFAULT_MOST: Final = 1_000_000
DEFAULT_A_PART: Final = 100_000
DEFAULT_TIMEOUT_S: Final = 60
_TXID, _IS_LISTING = "txid", "is_listing"
_BEFORE_LISTING: Final = -1
_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 2.0
_PASSING: Final = (
    errors.Unreachable,
    errors.CallTimeout,
    errors.StandbyError,
    errors.RetriableError,
    errors.NoNamenodes,
)
Offset = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RangePart:
    """The changes of the transactions behind `begin`, up to `end`."""

    place: Place
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class ListingPart:
    """A part of a listing; the first one says that a listing begins."""

    listing: NamespaceTable
    txid: int
    part: LivePart
    is_first: bool


class ChangeTable(Table):
    """See the module."""

    name = "howdah.changes"
    all_columns: ClassVar[Columns] = CHANGES
    known_options = (
        STARTING,
        STARTING_TXID,
        STARTING_TIMESTAMP,
        ON_MISSING,
        MOST_TRANSACTIONS,
        TRANSACTIONS_A_PART,
        TIMEOUT,
    )

    _place: Place | None = None

    def __init__(self, given: Mapping[str, object], home: Home) -> None:
        super().__init__(given, home)
        options = self.options
        named = [each for each in self.known_options[:3] if options.text(each) is not None]
        if len(named) > 1:
            raise errors.IllegalArgument(f"{self.name}: {' and '.join(named)} exclude each other")
        self._starting = options.choice(STARTING, (NOW, EARLIEST, LISTING_FIRST))
        self._txid = options.number(STARTING_TXID)
        self._time_ms = options.moment_ms(STARTING_TIMESTAMP)
        self._lists_again = options.choice(ON_MISSING, (FAIL, LIST_AGAIN)) == LIST_AGAIN
        self.most_transactions = options.count(MOST_TRANSACTIONS, DEFAULT_MOST)
        self._a_part = options.count(TRANSACTIONS_A_PART, DEFAULT_A_PART)
        self._timeout_s = options.count(TIMEOUT, DEFAULT_TIMEOUT_S)
        where = paths.parse(options.text(PATH) or "/").path or "/"
        self._top = paths.normalize(where)

    # Offsets, in the driver.

    def initial_offset(self) -> Offset:
        """Where a new stream begins."""
        if self._txid is not None:
            return {_TXID: max(self._txid - 1, 0)}
        if self._time_ms is not None:
            return {_TXID: self._txid_at(self._time_ms)}
        if self._starting == LISTING_FIRST:
            return {_TXID: _BEFORE_LISTING}
        if self._starting == EARLIEST:
            return {_TXID: self._oldest_txid() - 1}
        return {_TXID: self._durable_txid()}

    def latest_offset(self, start: Offset, most: int | None, target: int | None = None) -> Offset:
        """Where a batch that begins at `start` ends: at most `most` transactions later, and not
        behind `target`. `start` itself if there is nothing new.

        Raises MissingEvents where edits behind `start` are gone, unless a listing is to replace
        them, and RetriableError where the log does not reach to `start`.
        """
        begin = start[_TXID]
        if begin == _BEFORE_LISTING:
            return {_TXID: self._durable_txid(), _IS_LISTING: True}
        try:
            durable = self._patiently(lambda: _durable_behind(self._namenode(), begin))
        except MissingEvents as error:
            if not self._lists_again:
                raise self._missing(error) from error
            return {_TXID: self._durable_txid(), _IS_LISTING: True}
        bounds = [durable]
        if most is not None:
            bounds.append(begin + most)
        if target is not None:
            bounds.append(target)
        end = min(bounds)
        return start if end <= begin else {_TXID: end}

    def parts_between(self, start: Offset, end: Offset) -> list[Any]:
        """The parts of a batch."""
        if end == start:
            return []
        if end.get(_IS_LISTING):
            return self._listing_parts(end[_TXID])
        begin, last = max(start[_TXID], 0), end[_TXID]
        place = self._connect()
        return [
            RangePart(place, first, min(first + self._a_part, last))
            for first in range(begin, last, self._a_part)
        ]

    def parts(self) -> list[Any]:
        start = self.initial_offset()
        parts: list[Any] = []
        if start[_TXID] == _BEFORE_LISTING:
            end = self.latest_offset(start, None)
            parts, start = self.parts_between(start, end), end
        return parts + self.parts_between(start, self.latest_offset(start, None))

    def durable_txid(self) -> int:
        """The last transaction that no crash takes back."""
        return self._durable_txid()

    # Reading, in tasks.

    def batches(self, part: Any) -> Iterator[pa.RecordBatch]:
        """Raises MissingEvents, CallTimeout."""
        if isinstance(part, ListingPart):
            yield from self._listed(part)
            return
        assert isinstance(part, RangePart)
        rows: list[dict[str, Any]] = []
        for batch in self._batches_of(part):
            numbered = zip(batch.events, rows_of(batch), strict=True)
            rows += (row for event, row in numbered if self._concerns(event))
            if len(rows) >= ROWS_A_BATCH:
                yield self.made_columns.batch_of_rows(rows)
                rows = []
        if rows:
            yield self.made_columns.batch_of_rows(rows)

    def _batches_of(self, part: RangePart) -> Iterator[EventBatch]:
        rest = part
        while rest.begin < rest.end:
            read, rest = self._patiently(partial(self._read_on, rest))
            yield from read

    def _read_on(self, part: RangePart) -> tuple[list[EventBatch], RangePart]:
        """The next events of a range, and the rest of it. Raises RetriableError where the namenode
        does not have the edits yet."""
        stream = InotifyStream(self._namenode_at(part.place), part.begin)
        found: list[EventBatch] = []
        try:
            while (batch := stream.poll()) is not None:
                if batch.txid > part.end:
                    return found, replace(part, begin=part.end)
                found.append(batch)
                if len(found) >= ROWS_A_BATCH:
                    return found, replace(part, begin=batch.txid)
        except MissingEvents as error:
            raise self._missing(error) from error
        if stream.read_txid >= part.end:
            return found, replace(part, begin=part.end)
        if found:
            return found, replace(part, begin=found[-1].txid)
        raise errors.RetriableError(
            f"the namenode has edits up to transaction {stream.read_txid}, and this batch ends "
            f"with {part.end}"
        )

    def _concerns(self, event: Event) -> bool:
        """Whether an event is about a path that the table is of, or one above it."""
        if self._top == "/":
            return True
        named = [event_path(event)]
        if isinstance(event, RenameEvent):
            named.append(event.destination)
        return any(
            paths.is_under(each, self._top) or paths.is_under(self._top, each) for each in named
        )

    def _missing(self, error: MissingEvents) -> MissingEvents:
        own = MissingEvents(error.expected_txid, error.first_txid)
        own.message = (
            f"{self.name}: {error.message}. What happened in between is lost to this stream: "
            f"begin a new one, or let it begin again with a listing ({ON_MISSING}={LIST_AGAIN})"
        )
        return own

    # Listings.

    def _listing_parts(self, txid: int) -> list[Any]:
        given = {
            PATH: self.options.text(PATH) or "/",
            PARTITIONS: self.most_parts,
            "columns": ",".join(LISTING),
        }
        listing = NamespaceTable(given, self.home)
        parts = listing.parts()
        return [ListingPart(listing, txid, each, number == 0) for number, each in enumerate(parts)]

    def _listed(self, part: ListingPart) -> Iterator[pa.RecordBatch]:
        if part.is_first:
            yield self.made_columns.batch_of_rows([reset_row(part.txid, as_text(self._top))])
        for batch in part.listing.read(part.part):
            rows = list(listed_rows(batch.to_pylist(), part.txid))
            yield self.made_columns.batch_of_rows(rows)

    # The namenode.

    def _connect(self) -> Place:
        if self._place is None:
            self._place, _ = self.home.place(self.options.text(PATH) or "/")
        return self._place

    def _namenode(self) -> NamenodeProxy:
        return self._namenode_at(self._connect())

    def _namenode_at(self, place: Place) -> NamenodeProxy:
        fs = place.connect()
        if not isinstance(fs, HdfsFileSystem):
            raise errors.UnsupportedOperation(f"{self.name}: {fs.uri} has no changes; HDFS has")
        return fs.client.namenode

    def _patiently(self, ask: Callable[[], T]) -> T:
        """The answer of a namenode, which may be away for a while."""
        deadline_s = time.monotonic() + self._timeout_s
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                return ask()
            except errors.HowdahError as error:
                may_pass = isinstance(error, _PASSING) or type(error) is errors.RemoteError
                if not may_pass or time.monotonic() + pause_s > deadline_s:
                    raise
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    def _durable_txid(self) -> int:
        return self._patiently(lambda: _durable_txid(self._namenode()))

    def _oldest_txid(self) -> int:
        return self._patiently(lambda: _oldest_txid(self._namenode()))

    def _txid_at(self, time_ms: int) -> int:
        """The last transaction before the first event of that time, or later."""

        def find() -> int:
            namenode = self._namenode()
            stream = InotifyStream(namenode, _oldest_txid(namenode) - 1)
            while (batch := stream.poll()) is not None:
                for event in batch.events:
                    then_ms = time_of(event)
                    if then_ms is not None and then_ms >= time_ms:
                        return batch.txid - 1
            return stream.read_txid

        return self._patiently(find)


def _durable_behind(namenode: NamenodeProxy, txid: int) -> int:
    """The last durable transaction; `txid` itself if nothing is behind it. Raises MissingEvents,
    and RetriableError where the namenode does not have that one."""
    stream = InotifyStream(namenode, txid)
    if stream.poll() is None and stream.durable_txid < 0:
        newest = InotifyStream(namenode).read_txid
        if 0 <= newest < txid:
            raise errors.RetriableError(
                f"the namenode has edits up to transaction {newest}, and this stream is behind "
                f"{txid}: is it that of another filesystem, or was it set back?"
            )
    return max(stream.durable_txid, txid)


def _durable_txid(namenode: NamenodeProxy) -> int:
    """The newest transaction, if it is durable: of one that was just written it is not known."""
    newest = InotifyStream(namenode).read_txid
    stream = InotifyStream(namenode, max(newest - 1, 0))
    try:
        stream.poll()
    except MissingEvents as error:
        return max(error.first_txid - 1, 0)
    return max(stream.durable_txid, stream.read_txid)


def _oldest_txid(namenode: NamenodeProxy) -> int:
    """The first transaction that is left."""
    stream = InotifyStream(namenode, 0)
    try:
        stream.poll()
    except MissingEvents as error:
        return error.first_txid
    return 1
