"""Rows of edit logs: each transaction once, with all that its record has."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import pytest

from howdah import errors
from howdah.config.journal_uri import JournalUri
from howdah.formats.edits import edits as ed
from howdah.formats.edits.codec import BODIES, encode_record
from howdah.formats.edits.segment_scan import FILL, encode_header
from howdah.formats.viewers.edits import read_binary
from howdah.proto import qjournal_pb2 as pb
from howdah.spark.tables.edit_rows import EDITS, field_text, layout_of, row_of
from howdah.spark.tables.edit_table import EditPart
from howdah.spark.tables.journal_nodes import JournalNodes, committed_segments
from tests.support.tables.frames import as_rows, rows_of, table

GOLDEN = Path(__file__).parents[2] / "formats" / "golden"
SEGMENT = "edits_0000000000000000001-0000000000000000085"
ANN = ed.Permission("ann", "staff", 0o755)
CLIENT_ID = bytes(range(16))


def mkdirs(first: int, last: int) -> bytes:
    edits = [
        encode_record(n, ed.MkdirOp(20000 + n, f"/d{n}", n, ANN)) for n in range(first, last + 1)
    ]
    return encode_header() + b"".join(edits)


def write(directory: Path, *segments: tuple[int, int | None], upto: int = 0) -> str:
    """Segments of directories; unfinished ones have transactions up to `upto`."""
    for first, last in segments:
        name = f"edits_inprogress_{first:019}" if last is None else f"edits_{first:019}-{last:019}"
        tail = FILL * 100 if last is None else b""
        (directory / name).write_bytes(mkdirs(first, upto if last is None else last) + tail)
    return directory.as_uri()


def txids(rows: list[dict[str, Any]]) -> list[int]:
    return [row["txid"] for row in rows]


def test_hadoops_segment_has_a_row_for_each_transaction() -> None:
    with (GOLDEN / SEGMENT).open("rb") as file:
        logged = list(read_binary(file, SEGMENT).edits)
    rows = rows_of(table("howdah.edits", (GOLDEN / SEGMENT).as_uri()))
    assert txids(rows) == [each.txid for each in logged]
    assert [row["opcode"] for row in rows] == [
        each.edit.opcode.name.removeprefix("OP_") for each in logged
    ]
    assert {row["segment"] for row in rows} == {SEGMENT}
    for row, each in zip(rows, logged, strict=True):
        assert row["path"] == getattr(each.edit, "path", row["path"])


def test_a_call_time_paths_and_other_fields() -> None:
    flags = (ed.RenameFlag.OVERWRITE,)
    rename = ed.RenameOp("/a", "/b", 1500, flags, rpc_client_id=CLIENT_ID, rpc_call_id=7)
    row = row_of(ed.LoggedEdit(9, rename), SEGMENT)
    assert row == {
        "txid": 9,
        "opcode": "RENAME",
        "time": 1_500_000,
        "path": "/a",
        "destination": "/b",
        "paths": ["/a", "/b"],
        "inode_id": None,
        "client_id": "00010203-0405-0607-0809-0a0b0c0d0e0f",
        "call_id": 7,
        "fields": [("options", '["OVERWRITE"]')],
        "segment": SEGMENT,
    }


def test_all_paths_of_a_concat_are_there() -> None:
    row = row_of(ed.LoggedEdit(9, ed.ConcatDeleteOp("/a", ("/b", "/c"), 1500)), SEGMENT)
    assert (row["path"], row["paths"], row["fields"]) == ("/a", ["/a", "/b", "/c"], [])
    assert (row["client_id"], row["call_id"]) == (None, None)


def test_times_that_an_edit_sets_are_not_its_own() -> None:
    row = row_of(ed.LoggedEdit(9, ed.TimesOp("/a", 1500, -1)), SEGMENT)
    assert row["time"] is None
    assert dict(row["fields"]) == {"mtime_ms": "1500", "atime_ms": "-1"}


def test_blocks_and_permissions_are_json() -> None:
    close = ed.CloseOp(5, "/a", 3, 1500, 1500, 1024, ANN, (ed.EditBlock(1, 2, 3),))
    fields = dict(row_of(ed.LoggedEdit(9, close), SEGMENT)["fields"])
    assert json.loads(fields["permission"]) == {"owner": "ann", "group": "staff", "mode": 0o755}
    assert json.loads(fields["blocks"])[0]["length_bytes"] == 2
    assert field_text(True) == "true"
    assert field_text(b"\x01\xff") == "01ff"


def test_keys_of_tokens_are_not_shown() -> None:
    key = ed.DelegationKey(3, 1500, b"secret bytes")
    row = row_of(ed.LoggedEdit(9, ed.UpdateMasterKeyOp(key)), SEGMENT)
    assert b"secret bytes".hex() not in str(row)
    assert json.loads(dict(row["fields"])["key"])["key_id"] == 3


@pytest.mark.parametrize("kind", BODIES, ids=lambda kind: kind.__name__)
def test_every_kind_of_edit_has_a_layout(kind: type[ed.Edit]) -> None:
    layout = layout_of(kind)
    names = {field.name for field in dataclasses.fields(kind)}
    shown = {layout.path, layout.time, "dst", "sources", "inode_id", "rpc_client_id", "rpc_call_id"}
    assert set(layout.others) == names - shown


def test_segments_are_read_in_order_and_once(tmp_path: Path) -> None:
    where = write(tmp_path, (1, 10), (11, 20), (21, None), upto=25)
    (tmp_path / "fsimage_0000000000000000010").write_bytes(b"something else")
    assert txids(rows_of(table("howdah.edits", where))) == list(range(1, 26))


def test_a_segment_that_is_there_unfinished_too_is_read_once(tmp_path: Path) -> None:
    where = write(tmp_path, (1, 10), (1, None), (8, 14), (15, None), upto=18)
    assert txids(rows_of(table("howdah.edits", where))) == list(range(1, 19))


def test_what_a_writer_that_was_cut_off_wrote_behind_the_next_segment_is_no_row(
    tmp_path: Path,
) -> None:
    where = write(tmp_path, (1, 10), (11, None), (15, 20), upto=17)
    rows = rows_of(table("howdah.edits", where))
    assert txids(rows) == list(range(1, 21))
    assert [row["segment"][:13] for row in rows[10:14]] == ["edits_inprogr"] * 4
    assert txids(rows_of(table("howdah.edits", where, toTxid=12))) == list(range(1, 13))


def test_bounds_choose_segments_and_rows(tmp_path: Path) -> None:
    where = write(tmp_path, (1, 10), (11, 20), (21, 30))
    opened = table("howdah.edits", where, fromTxid=5, toTxid=25, where="txid > 12")
    assert txids(rows_of(opened)) == list(range(13, 26))
    assert [part.first_txid for part in opened.parts()] == [11, 21]
    first = table("howdah.edits", where, where="txid <= 3")
    assert txids(rows_of(first)) == [1, 2, 3]
    assert len(first.parts()) == 1


def test_a_segment_that_ends_after_it_was_planned_is_found(tmp_path: Path) -> None:
    opened = table("howdah.edits", write(tmp_path, (1, 10), (11, None), upto=15))
    parts = opened.parts()
    write(tmp_path, (11, 18))
    (tmp_path / "edits_inprogress_0000000000000000011").unlink()
    rows = [row for part in parts for batch in opened.read(part) for row in as_rows(batch)]
    assert txids(rows) == list(range(1, 19))
    (tmp_path / "edits_0000000000000000011-0000000000000000018").unlink()
    with pytest.raises(errors.PathNotFound, match="edits_inprogress_0000000000000000011"):
        list(opened.read(parts[1]))


def test_time_is_a_timestamp(tmp_path: Path) -> None:
    where = write(tmp_path, (1, 2))
    first, _ = rows_of(table("howdah.edits", where))
    assert first["time"] == datetime(1970, 1, 1, 0, 0, 0, 1000, tzinfo=UTC)


def test_damage_is_an_error_with_its_place(tmp_path: Path) -> None:
    where = write(tmp_path, (1, 10))
    (segment,) = tmp_path.iterdir()
    data = bytearray(segment.read_bytes())
    data[60] ^= 0xFF
    segment.write_bytes(data)
    with pytest.raises(errors.CorruptEditLog, match=r"edits_0000000000000000001-00.*is damaged"):
        rows_of(table("howdah.edits", where))


def test_a_place_without_segments_is_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.IllegalArgument, match="there are no segments of edits at"):
        table("howdah.edits", tmp_path.as_uri()).parts()
    with pytest.raises(errors.IllegalArgument, match="is no address of a journal"):
        table("howdah.edits", "qjournal://a:1;b:x/j").parts()


def manifest(*logs: tuple[int, int | None], committed: int) -> pb.GetEditLogManifestResponseProto:
    answer = pb.GetEditLogManifestResponseProto(httpPort=1)
    answer.manifest.committedTxnId = committed
    for first, last in logs:
        answer.manifest.logs.add(startTxId=first, endTxId=last or first, isInProgress=last is None)
    return answer


def test_copies_of_journal_nodes_are_one_segment() -> None:
    listed = [
        ("http://a", manifest((1, 10), (11, None), committed=14)),
        ("http://b", manifest((1, 10), (11, None), committed=15)),
        ("http://c", manifest((1, None), committed=8)),
    ]
    found = {(each.first_txid, each.last_txid): each for each in committed_segments("j", listed)}
    assert [url[:8] for url in found[1, 10].urls] == ["http://a", "http://b"]
    assert len(found[11, None].urls) == 2
    assert found[11, None].committed_txid == 15
    # What is finished counts as a whole: nodes hear of the last commit with the next write.
    assert found[1, 10].committed_txid is None


def test_of_an_unfinished_segment_the_copy_that_has_most_comes_first() -> None:
    short, long = manifest((11, None), committed=15), manifest((11, None), committed=15)
    short.manifest.logs[0].endTxId, long.manifest.logs[0].endTxId = 12, 16
    (found,) = committed_segments("j", [("http://a", short), ("http://b", long)])
    assert [url[:8] for url in found.urls] == ["http://b", "http://a"]


class Nodes(JournalNodes):
    """Journal nodes of which one has this segment."""

    @contextmanager
    def open(self, urls: tuple[str, ...]) -> Iterator[IO[bytes]]:
        with Path(urls[0]).open("rb") as file:
            yield file


@pytest.mark.parametrize(("to_txid", "is_short"), [(None, True), (12, False)])
def test_a_node_that_lags_is_no_shorter_log(
    tmp_path: Path, to_txid: int | None, is_short: bool
) -> None:
    write(tmp_path, (11, None), upto=12)
    (segment,) = tmp_path.iterdir()
    nodes = Nodes(JournalUri.parse("qjournal://a:1;b:1;c:1/j"), (), None)
    part = EditPart(nodes, (str(segment),), 11, None, 11, to_txid, committed_txid=15)
    opened = table("howdah.edits", "qjournal://a:1;b:1;c:1/j")
    if not is_short:
        assert txids([row for batch in opened.read(part) for row in as_rows(batch)]) == [11, 12]
        return
    with pytest.raises(errors.RetriableError, match=r"ends with 12.*committed up to 15"):
        list(opened.read(part))


def test_a_segment_with_nothing_committed_does_not_count() -> None:
    listed = [("http://a", manifest((1, 10), (11, None), committed=10))]
    assert [each.first_txid for each in committed_segments("j", listed)] == [1]


def test_columns_have_a_row_of_every_golden_edit(tmp_path: Path) -> None:
    shutil.copy(GOLDEN / "edits_erasure_coding", tmp_path / "edits_inprogress_0000000000000000001")
    found = rows_of(table("howdah.edits", tmp_path.as_uri()))
    assert found
    assert all(row.keys() == EDITS.types.keys() for row in found)
