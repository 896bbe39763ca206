"""Parquet files that Arrow joins, and those that it leaves to Spark."""

from __future__ import annotations

import datetime as dt
import io
import itertools
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

import howdah
from howdah.fs.api import FileSystem
from howdah.fs.memory import filesystem as memory
from howdah.fs.status import FileStatus
from howdah.spark.compaction import concat_parquet
from howdah.spark.compaction.concat_lines import NotJoinable
from howdah.spark.compaction.concat_parquet import check_some, count, join, some_of
from howdah.spark.compaction.footers import NotReadable

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow has no Parquet")

_numbers = itertools.count()
Put = Callable[..., FileStatus]


@pytest.fixture
def fs() -> Iterator[FileSystem]:
    name = f"parquet-{next(_numbers)}"
    with howdah.connect(f"mem://{name}/") as connected:
        yield connected
    memory.forget(name)


@pytest.fixture
def put(fs: FileSystem) -> Put:
    """Writes a table, or bytes, as a file."""

    def put(table: Any, **how: Any) -> FileStatus:
        made = io.BytesIO()
        if isinstance(table, bytes):
            made.write(table)
        else:
            pq.write_table(table, made, **how)
        path = f"/{next(_numbers):05}.parquet"
        with fs.create(path) as out:
            out.write(made.getvalue())
        return fs.get_file_status(path)

    return put


def joined(fs: FileSystem, sources: list[FileStatus]) -> Any:
    """The file that they become."""
    path = f"/new-{next(_numbers)}"
    with fs.create(path) as out:
        made = join(fs, sources, out)
    assert made.files == len(sources)
    with fs.open(path) as stream:
        new = pq.ParquetFile(io.BytesIO(stream.read()))
    with fs.open(path) as stream:
        assert count(stream, path) == new.metadata.num_rows == made.records
    return new


def plain(number: int) -> Any:
    """A table with a column of each type that is joined."""
    when = dt.datetime(2026, 1, 1, number, tzinfo=dt.UTC)
    required = pa.field("required", pa.int64(), nullable=False)
    columns = {
        "small": pa.array([number, None], pa.int8()),
        "real": pa.array([number / 3, None], pa.float32()),
        "is": pa.array([True, None]),
        "name": pa.array([f"name {number}", None]),
        "raw": pa.array([b"\xff", None]),
        "day": pa.array([dt.date(1500, 1, 1), None]),
        "amount": pa.array([Decimal(number), None], pa.decimal128(20, 2)),
        "time": pa.array([when, None], pa.timestamp("us", "UTC")),
        "local": pa.array([when.replace(tzinfo=None), None], pa.timestamp("ms")),
    }
    table = pa.table(columns)
    return table.append_column(required, pa.array([number, number], pa.int64()))


@pytest.mark.parametrize("codec", ["zstd", "none"])
def test_rows_types_codec_and_metadata_stay(fs: FileSystem, put: Put, codec: str) -> None:
    said = {b"org.apache.spark.version": b"4.1.0"}
    tables = [plain(number).replace_schema_metadata(said) for number in range(5)]
    before = [put(table, compression=codec, store_schema=False) for table in tables]
    with fs.open(before[0].path) as stream:
        old = pq.ParquetFile(io.BytesIO(stream.read()))
    new = joined(fs, before)
    assert new.read() == pa.concat_tables(tables).cast(new.schema_arrow)
    assert (
        repr(new.metadata.schema).partition("\n")[2] == repr(old.metadata.schema).partition("\n")[2]
    )
    assert new.metadata.metadata == old.metadata.metadata
    group = new.metadata.row_group(0)
    assert new.metadata.num_row_groups == 1
    for column in map(group.column, range(group.num_columns)):
        assert column.compression == {"zstd": "ZSTD", "none": "UNCOMPRESSED"}[codec]
        assert column.statistics.has_min_max or column.physical_type == "BYTE_ARRAY"
        assert column.has_column_index


def test_decimals_that_are_integers_stay_so(fs: FileSystem, put: Put) -> None:
    table = pa.table({"x": pa.array([Decimal("1.25")], pa.decimal128(9, 2))})
    new = joined(fs, [put(table, store_decimal_as_integer=True)] * 2)
    assert new.metadata.schema.column(0).physical_type == "INT32"


def test_many_rows_are_several_groups(
    fs: FileSystem, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concat_parquet, "GROUP_BYTES", 1000)
    monkeypatch.setattr(concat_parquet, "WHOLE_BYTES", 1)
    table = pa.table({"x": pa.array(range(100), pa.int64())})
    new = joined(fs, [put(table)] * 5)
    assert [new.metadata.row_group(n).num_rows for n in range(new.num_row_groups)] == [
        200,
        200,
        100,
    ]
    assert new.read().column("x").to_pylist() == [*range(100)] * 5


def test_files_without_rows_are_one_without_rows(fs: FileSystem, put: Put) -> None:
    new = joined(fs, [put(plain(1).slice(0, 0))] * 3)
    assert new.metadata.num_rows == 0
    assert new.schema_arrow.names == plain(1).schema.names


X = {"x": [1, 2]}


@pytest.mark.parametrize(
    ("table", "how", "why"),
    [
        (pa.table({"x": [1], "y": [2]}), {}, "another schema"),
        (pa.table({"x": pa.array([1], pa.int32())}), {}, "another schema"),
        (pa.table(X), {"compression": "zstd"}, "compressed as zstd, others as snappy"),
        (pa.table(X), {"compression": "lz4"}, "compressed as LZ4"),
        (pa.table(X).replace_schema_metadata({"pandas": "{}"}), {}, "metadata pandas"),
        (
            pa.table(X).replace_schema_metadata({"org.apache.spark.version": "2.4.8"}),
            {},
            "another schema",
        ),
        (pa.table({"x": [[1]]}), {}, "has columns"),
        (pa.table({"x": [{"y": 1}]}), {}, "has columns"),
        (pa.table({"x": pa.array([1], pa.uint8())}), {}, "of unsigned integer"),
        (pa.table({"x": pa.array([b"a"], pa.binary(1))}), {}, "fixed length"),
        (pa.table({"x": pa.array([1], pa.timestamp("ns"))}), {}, "nanoseconds"),
        (
            pa.table({"x": pa.array([1], pa.timestamp("us"))}),
            {"use_deprecated_int96_timestamps": True},
            "is of timestamp",
        ),
        (pa.table({"x": pa.array([dt.time(1)])}), {}, "of time"),
        (pa.table(X), {"bloom_filter_options": {"x": True}}, "bloom filters"),
    ],
)
def test_what_arrow_would_change_is_left_to_spark(
    fs: FileSystem, put: Put, table: Any, how: dict[str, Any], why: str
) -> None:
    files = [put(pa.table(X)), put(table, **how)]
    with fs.create("/new") as out, pytest.raises(NotJoinable, match=why):
        join(fs, files, out)
    with pytest.raises(NotJoinable, match=why):
        check_some(fs, some_of(iter([files[0], files[0], files[1]])))


def test_a_file_that_is_damaged_is_named(fs: FileSystem, put: Put) -> None:
    whole = put(pa.table({"x": pa.array([f"text {n}" for n in range(1000)])}), compression="none")
    with fs.open(whole.path) as stream:
        data = bytearray(stream.read())
    data[8:300] = bytes(292)
    bad, none = put(bytes(data)), put(b"PAR1")
    for path, files in ((bad.path, [whole, bad]), (none.path, [none])):
        with fs.create("/new", overwrite=True) as out, pytest.raises(NotReadable, match=path):
            join(fs, files, out)
    with pytest.raises(NotReadable, match=none.path):
        check_some(fs, [none])


def test_one_file_or_none_is_looked_at(put: Put, fs: FileSystem) -> None:
    assert some_of(iter([])) == []
    one = put(pa.table(X))
    assert some_of(iter([one])) == [one]
    check_some(fs, [one, one])
