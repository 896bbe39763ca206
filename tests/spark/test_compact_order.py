"""`compact` with an order of rows: the same rows, files whose ranges do not overlap."""

from __future__ import annotations

import io
import time
from collections import Counter
from typing import Any

import pytest

from howdah.cli import compact as command
from howdah.fs.acl import parse_acl
from howdah.spark import Maintenance, compact
from howdah.spark.compaction.concat_avro import Header, encode_header, encode_long

pytestmark = pytest.mark.timeout(240)

pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow has no Parquet")

SIDE = 32


def make_grid(bench: Any, name: str, files: int = 6, kind: str = "parquet") -> Counter[Any]:
    """A directory with the points of a square in no order, some of them without a number."""
    frame = bench.spark.range(SIDE * SIDE).selectExpr(
        f"if(id % 100 = 7, null, id % {SIDE}) AS x",
        f"cast(id DIV {SIDE} AS string) AS y",
        "cast(id AS decimal(10,2)) AS id",
    )
    frame.repartition(files).write.format(kind).save(bench.uri(name))
    return Counter(map(tuple, frame.collect()))


def rows_of(bench: Any, name: str, kind: str = "parquet") -> Counter[Any]:
    return Counter(map(tuple, bench.spark.read.format(kind).load(bench.uri(name)).collect()))


def parquet_files(bench: Any, name: str) -> list[Any]:
    listed = bench.fs.list_status(bench.path(name))
    return [
        pq.ParquetFile(io.BytesIO(bench.fs.read_bytes(status.path)))
        for status in listed
        if status.name.endswith(".parquet")
    ]


def ranges(files: list[Any], column: str) -> list[tuple[Any, Any]]:
    found = []
    for file in files:
        values = [each for each in file.read().column(column).to_pylist() if each is not None]
        found.append((min(values), max(values)))
    return sorted(found)


def compacted(bench: Any, name: str, **asked: Any) -> Any:
    how = asked.pop("how", {})
    maintenance = Maintenance(**asked)
    return compact(
        bench.spark, bench.uri(name), conf=bench.cluster.conf, maintenance=maintenance, **how
    )


def test_sorted_files_have_ranges_that_do_not_overlap_and_stay_as_they_are(bench: Any) -> None:
    rows = make_grid(bench, "t")
    size = sum(status.length for status in bench.fs.list_status(bench.path("t")))
    how = {"target_bytes": size // 3 + 1}
    (done,) = compacted(bench, "t", sort_by=("id",), how=how).changed
    files = parquet_files(bench, "t")
    assert len(files) == done.files_after == 3
    assert rows_of(bench, "t") == rows
    for (_, last), (first, _) in zip(ranges(files, "id"), ranges(files, "id")[1:], strict=False):
        assert last < first
    for file in files:
        ids = file.read().column("id").to_pylist()
        assert ids == sorted(ids)
    # The order is remembered: another run has nothing to do, another order has.
    (same,) = compacted(bench, "t", sort_by=("id",), how=how).directories
    assert "its rows are in this order" in same.reason
    assert len(compacted(bench, "t", sort_by=("x", "id"), how=how).changed) == 1
    assert rows_of(bench, "t") == rows


def test_z_order_keeps_files_narrow_in_each_column(bench: Any) -> None:
    rows = make_grid(bench, "t")
    size = sum(status.length for status in bench.fs.list_status(bench.path("t")))
    found = compacted(bench, "t", z_order_by=("x", "y"), how={"target_bytes": size // 4 + 1})
    assert len(found.changed) == 1
    assert rows_of(bench, "t") == rows
    files = parquet_files(bench, "t")
    assert len(files) == 4
    schema = files[0].schema_arrow
    assert schema.names == ["x", "y", "id"]
    # A query by one column skips half of the files; sorted by the other, it would skip none.
    for column, wanted in (("x", 3), ("y", "5")):
        reading = [1 for low, high in ranges(files, column) if low <= wanted <= high]
        assert len(reading) <= 3
    assert sum(len(ranges(files, column)) for column in ("x", "y")) == 8
    area = [
        (high - low + 1) * len(set(file.read().column("y").to_pylist()))
        for file, (low, high) in zip(files, [ranges([file], "x")[0] for file in files], strict=True)
    ]
    assert sum(area) < 2 * SIDE * SIDE, "files are near to squares that do not overlap"


def test_orc_is_ordered_and_what_was_said_of_it_stays(bench: Any) -> None:
    rows = make_grid(bench, "t", kind="orc")
    fs, directory = bench.fs, bench.path("t")
    fs.delete(f"{directory}/_SUCCESS")
    entries = "user::rw-,user:ute:r--,group::r--,mask::r--,other::---"
    for status in fs.list_status(directory):
        fs.set_xattr(status.path, "user.note", b"keep me")
        fs.set_storage_policy(status.path, "COLD")
        fs.set_acl(status.path, parse_acl(entries))
    fs.set_xattr(directory, "user.note", b"keep me, too")
    (done,) = compacted(bench, "t", sort_by=("y", "x"), how={"row_group_bytes": 1 << 20}).changed
    assert done.files_after == 1
    assert rows_of(bench, "t", "orc") == rows
    (new,) = fs.list_status(directory)
    assert fs.get_xattrs(new.path) == {"user.note": b"keep me"}
    assert fs.get_storage_policy(new.path).name == "COLD"
    assert "user:ute:r--" in map(str, fs.get_acl_status(new.path).all_entries())
    marks = {"user.note": b"keep me, too", "user.howdah.order": b"sort y,x"}
    assert fs.get_xattrs(directory) == marks


def test_columns_that_are_not_there_and_lines_are_refused_by_name(bench: Any) -> None:
    make_grid(bench, "w/t", files=2)
    bench.make("w/l", {"a.csv": b"1\n", "b.csv": b"2\n"})
    before = bench.tree("w")
    found = compacted(bench, "w", sort_by=("nowhere",))
    reasons = {each.path.rpartition("/")[2]: each.reason for each in found.directories}
    assert "there is no column 'nowhere'" in reasons["t"]
    assert "rows of .csv files are not ordered" in reasons["l"]
    assert bench.tree("w") == before


def test_avro_is_ordered_by_a_package_that_is_named_where_it_is_missing(bench: Any) -> None:
    schema = b'{"type": "record", "name": "R", "fields": [{"name": "x", "type": "long"}]}'
    header = Header({"avro.schema": schema}, b"m" * 16)
    for number in range(2):
        block = encode_long(1) + encode_long(1) + encode_long(number) + header.mark
        bench.fs.write_bytes(bench.path(f"t/{number}.avro"), encode_header(header) + block)
    before = bench.tree("t")
    (failed,) = compacted(bench, "t", sort_by=("x",)).failed
    assert "org.apache.spark:spark-avro" in failed.reason
    assert bench.tree("t") == before
    assert [status.name for status in bench.fs.list_status(bench.path(""))] == ["t"]


def test_row_groups_have_the_size_that_was_asked_for(bench: Any) -> None:
    rows = make_grid(bench, "t", files=8)
    (done,) = compacted(bench, "t", how={"row_group_bytes": 8 << 10}).changed
    assert done.files_after == 1
    (file,) = parquet_files(bench, "t")
    assert file.metadata.num_row_groups > 2
    assert rows_of(bench, "t") == rows


def test_directories_that_were_written_a_short_time_ago_are_left_alone(
    bench: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.make("w", {"d/a.json": b"{}\n", "d/b.json": b"{}\n"})
    old_ms = int((time.time() - 7200) * 1000)
    bench.fs.set_times(bench.path("w/d/a.json"), old_ms)
    words = [bench.uri("w"), "--quiet-for", "1h"]
    assert command.main(words, bench.cluster.conf) == 0
    assert "left alone, b.json was modified a short time ago" in capsys.readouterr().out
    assert len(bench.tree("w/d")) == 2
    bench.fs.set_times(bench.path("w/d/b.json"), old_ms)
    assert command.main(words, bench.cluster.conf) == 0
    assert len(bench.tree("w/d")) == 1
