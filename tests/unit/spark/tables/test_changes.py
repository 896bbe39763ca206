"""The stream of changes against a log in memory: every transaction once, whatever the batches."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.copy.common.filesystems import Place
from howdah.formats.edits import edits as ed
from howdah.fs.inotify import MissingEvents
from howdah.namenode.state.edit_log.inotify import EventsBuilder
from howdah.proto import client_namenode_pb2 as pb
from howdah.spark.tables.change_table import ChangeTable
from howdah.spark.tables.table import Home
from tests.support.tables.following import Followed
from tests.support.tables.frames import Row, as_rows

ANN = ed.Permission("ann", "staff", 0o755)
NOWHERE = Place("hdfs://nowhere:1")


class Log:
    """A namenode with transactions of which every third one has no event."""

    def __init__(self, last: int, *, page: int = 3) -> None:
        self.oldest = 1
        self.durable = last
        self.written = last
        self.page = page
        self.refusals: list[errors.HowdahError] = []
        self.durable_after: list[int] = []
        """What is durable with each further call."""

    def edit(self, txid: int) -> ed.Edit:
        if txid % 3 == 0:
            return ed.SetGenstampV2Op(txid)
        if txid % 7 == 0:
            return ed.RenameOldOp(f"/d{txid - 5}", f"/e/d{txid - 5}", txid * 1000)
        return ed.MkdirOp(20000 + txid, f"/d{txid}", txid * 1000, ANN)

    def call(self, method: str, request: Any, response_type: object) -> Message:
        if self.refusals:
            raise self.refusals.pop(0)
        if self.durable_after:
            self.durable = self.durable_after.pop(0)
        if method == "getCurrentEditLogTxid":
            return pb.GetCurrentEditLogTxidResponseProto(txid=self.written)
        assert method == "getEditsFromTxid"
        builder = EventsBuilder(1 << 20, self.durable)
        first = max(request.txid, self.oldest)
        for txid in range(first, min(first + self.page - 1, self.durable) + 1):
            builder.add(ed.LoggedEdit(txid, self.edit(txid)))
        return pb.GetEditsFromTxidResponseProto(eventsList=builder.events)

    def with_events(self, begin: int, end: int) -> list[int]:
        return [txid for txid in range(begin + 1, end + 1) if txid % 3]


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("howdah.spark.tables.change_table.time.sleep", lambda seconds: None)


def opened(log: Log, path: str = "/", **options: object) -> ChangeTable:
    table = ChangeTable({"path": path, **options}, Home(()))
    setattr(table, "_namenode_at", lambda place: log)  # noqa: B010 - in the place of a cluster
    table._place = NOWHERE
    return table


def read(table: ChangeTable, parts: list[Any]) -> list[Row]:
    return [row for part in parts for batch in table.read(part) for row in as_rows(batch)]


def txids(rows: list[Row]) -> list[int]:
    return [row["txid"] for row in rows]


@given(
    st.integers(0, 60),
    st.integers(1, 9),
    st.integers(1, 25),
    st.integers(1, 25),
    st.data(),
)
def test_batches_have_every_transaction_once(
    last: int, page: int, most: int, in_a_part: int, data: st.DataObject
) -> None:
    log = Log(last, page=page)
    table = opened(log, starting="earliest", transactionsPerPartition=in_a_part)
    offset = table.initial_offset()
    rows: list[Row] = []
    for _ in range(100):
        end = table.latest_offset(offset, most)
        # What Spark writes into its log of offsets.
        end = json.loads(json.dumps(end))
        if end == offset:
            if log.durable >= last + 10:
                break
            log.durable = log.written = log.durable + data.draw(st.integers(0, 10)) + 1
            continue
        assert 0 < end["txid"] - offset["txid"] <= most
        parts = table.parts_between(offset, end)
        found = read(table, parts)
        # A batch that is done again is the same, though the log has grown.
        log.durable = log.written = log.durable + data.draw(st.integers(0, 2))
        assert read(table, parts) == found
        rows += found
        offset = end
    assert txids(rows) == log.with_events(0, offset["txid"])
    assert offset["txid"] >= last + 10


def test_a_time_that_no_timestamp_has_does_not_end_a_stream() -> None:
    class Far(Log):
        def edit(self, txid: int) -> ed.Edit:
            return ed.TimesOp("/a", 1 << 60, 1500) if txid == 5 else super().edit(txid)

    table = opened(Far(8))
    found = read(table, table.parts_between({"txid": 3}, {"txid": 8}))
    assert txids(found) == [4, 5, 7, 8]
    times = found[1]["modification_time"], found[1]["access_time"]
    assert times == (None, datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC))


def test_an_empty_range_has_no_parts() -> None:
    table = opened(Log(5), starting="now")
    offset = table.initial_offset()
    assert offset == {"txid": 5}
    assert table.latest_offset(offset, None) == offset
    assert table.parts_between(offset, offset) == []


def test_only_what_is_durable_ends_a_batch() -> None:
    log = Log(20)
    log.durable = 14
    table = opened(log, startingTxid=11)
    assert table.latest_offset(table.initial_offset(), None) == {"txid": 14}


@pytest.mark.parametrize(
    ("options", "begin"),
    [
        ({"startingTxid": 11}, 10),
        ({"startingTxid": 0}, 0),
        ({"starting": "earliest"}, 6),
        ({}, 20),
        ({"startingTimestamp": "1970-01-01T00:00:11Z"}, 10),
        ({"startingTimestamp": 11_500}, 12),
        ({"startingTimestamp": 1}, 6),
        ({"startingTimestamp": "2030-01-01"}, 20),
    ],
)
def test_streams_begin_where_options_say(options: dict[str, Any], begin: int) -> None:
    log = Log(20)
    log.oldest = 7
    assert opened(log, **options).initial_offset() == {"txid": begin}


def test_edits_that_are_gone_are_an_error_that_says_so() -> None:
    log = Log(20)
    table = opened(log, startingTxid=3)
    start = table.initial_offset()
    parts = table.parts_between(start, {"txid": 10})
    log.oldest = 8
    for ask in (lambda: table.latest_offset(start, None), lambda: read(table, parts)):
        with pytest.raises(MissingEvents, match="from transaction 3 on were purged") as raised:
            ask()
        assert (raised.value.expected_txid, raised.value.first_txid) == (3, 8)
        assert "onMissing=listing" in str(raised.value)


def test_a_listing_replaces_edits_that_are_gone(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_bytes(b"123")
    log = Log(20)
    log.oldest = 8
    table = opened(log, tmp_path.as_uri(), startingTxid=3, onMissing="listing")
    end = table.latest_offset(table.initial_offset(), 5)
    assert end == {"txid": 20, "is_listing": True}
    rows = read(table, table.parts_between(table.initial_offset(), end))
    assert {(row["event"], row["path"]) for row in rows} == {
        ("reset", str(tmp_path)),
        *(("listed", str(tmp_path / name)) for name in ("", "d", "d/f")),
    }
    assert {row["txid"] for row in rows} == {20}
    model = Followed()
    model.apply_all(rows)
    assert model.entries[str(tmp_path / "d" / "f")]["length"] == 3
    log.durable = log.written = 22
    assert table.latest_offset(end, None) == {"txid": 22}


def test_a_stream_may_begin_with_a_listing(tmp_path: Path) -> None:
    table = opened(Log(20), tmp_path.as_uri(), starting="listing")
    start = table.initial_offset()
    end = table.latest_offset(start, 5)
    assert end == {"txid": 20, "is_listing": True}
    assert {row["event"] for row in read(table, table.parts_between(start, end))} == {
        "reset",
        "listed",
    }
    assert table.latest_offset(end, 5) == end


def test_a_namenode_that_lags_is_asked_again() -> None:
    log = Log(20)
    table = opened(log, startingTxid=11)
    parts = table.parts_between(table.initial_offset(), {"txid": 20})
    log.durable_after = [12, 12, 12, 15, 15, 15, 20]
    assert txids(read(table, parts)) == log.with_events(10, 20)


def test_a_namenode_that_is_away_is_asked_again() -> None:
    log = Log(20)
    table = opened(log, startingTxid=11)
    log.refusals = [errors.Unreachable("nobody answers"), errors.StandbyError("not active")]
    end = table.latest_offset(table.initial_offset(), None)
    log.refusals = [errors.RemoteError("the edits cannot be read")]
    assert txids(read(table, table.parts_between(table.initial_offset(), end))) == [
        *log.with_events(10, 20)
    ]


def test_what_does_not_pass_is_not_asked_again() -> None:
    log = Log(20)
    log.refusals = [errors.AccessDenied("superuser privilege is required")]
    with pytest.raises(errors.AccessDenied):
        opened(log).initial_offset()


def test_a_namenode_that_never_catches_up_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [0.0]
    monkeypatch.setattr("howdah.spark.tables.change_table.time.monotonic", lambda: now_s[0])
    monkeypatch.setattr(
        "howdah.spark.tables.change_table.time.sleep",
        lambda seconds: now_s.__setitem__(0, now_s[0] + seconds),
    )
    log = Log(20)
    table = opened(log, startingTxid=11, timeoutSeconds=30)
    parts = table.parts_between(table.initial_offset(), {"txid": 30})
    with pytest.raises(errors.RetriableError, match="up to transaction 20, and this batch ends w"):
        read(table, parts)
    assert 25 <= now_s[0] <= 30


def test_a_log_that_does_not_reach_to_the_offset_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds = itertools.count()
    monkeypatch.setattr(
        "howdah.spark.tables.change_table.time.monotonic", lambda: float(next(seconds))
    )
    table = opened(Log(7))
    with pytest.raises(errors.RetriableError, match="up to transaction 7, and this stream is behi"):
        table.latest_offset({"txid": 8}, None)
    assert table.latest_offset({"txid": 7}, None) == {"txid": 7}


def test_a_directory_has_its_changes_alone() -> None:
    log = Log(30)
    rows = read(table := opened(log, "/e", starting="earliest"), table.parts())
    # What is renamed into it; /d2 became /e/d2.
    assert [(row["event"], row["path"], row["destination"]) for row in rows] == [
        ("rename", f"/d{txid - 5}", f"/e/d{txid - 5}") for txid in (7, 14, 28)
    ]


def test_without_a_stream_it_is_the_range_up_to_now() -> None:
    log = Log(20)
    table = opened(log, startingTxid=11)
    assert txids(read(table, table.parts())) == log.with_events(10, 20)


def test_starts_exclude_each_other() -> None:
    with pytest.raises(errors.IllegalArgument, match="starting and startingTxid exclude each"):
        opened(Log(1), starting="now", startingTxid=1)
