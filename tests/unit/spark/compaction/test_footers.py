"""What the footers of several files say together."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

import howdah
from howdah.fs.api import FileSystem
from howdah.fs.memory import filesystem as memory
from howdah.spark.compaction.footers import Footer, TypesChanged, check_kinds, combined_footer
from howdah.spark.compaction.plan import Format

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow has no Parquet")

_numbers = itertools.count()


@pytest.fixture
def fs() -> Iterator[FileSystem]:
    name = f"footers-{next(_numbers)}"
    with howdah.connect(f"mem://{name}/") as connected:
        yield connected
    memory.forget(name)


def facts(fs: FileSystem, *tables: Any) -> Footer:
    paths = []
    for table in tables:
        made = io.BytesIO()
        pq.write_table(table, made)
        paths.append(f"/{next(_numbers)}.parquet")
        with fs.create(paths[-1]) as out:
            out.write(made.getvalue())
    found = combined_footer(fs, paths, Format.PARQUET)
    assert Footer.from_json(found.to_json()) == found
    return found


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (pa.uint32(), "the column x is of unsigned integer, and would become integer"),
        (pa.timestamp("ns", "UTC"), "timestamp in nanoseconds, and would become integer"),
    ],
)
def test_column_that_only_a_later_file_has_otherwise_is_found(
    fs: FileSystem, kind: Any, why: str
) -> None:
    first = pa.table({"x": pa.array([1], pa.int64())})
    later = pa.table({"x": pa.array([1], kind)})
    new = facts(fs, first)
    check_kinds(facts(fs, first, first), new)
    with pytest.raises(TypesChanged, match=why):
        check_kinds(facts(fs, first, later), new)


def test_column_that_came_later_has_to_be_in_the_new_files(fs: FileSystem) -> None:
    first, later = pa.table({"x": [1]}), pa.table({"x": [1], "y": ["a"]})
    check_kinds(facts(fs, first, later), facts(fs, later))
    with pytest.raises(TypesChanged, match="y is of string, and would become nothing"):
        check_kinds(facts(fs, first, later), facts(fs, first))


def test_rows_are_those_of_all_files_and_metadata_that_of_any(fs: FileSystem) -> None:
    plain = pa.table({"x": [1, 2]})
    found = facts(fs, plain, plain.replace_schema_metadata({"geo": "{}"}), plain)
    assert (found.rows, found.metadata) == (6, frozenset({"geo"}))
    # What Spark and Arrow say of their columns is said anew.
    spark = plain.replace_schema_metadata({"org.apache.spark.version": "4"})
    assert facts(fs, spark).metadata == frozenset()


@pytest.mark.parametrize(
    ("units", "type_"),
    [(["ms", "ms"], "TIMESTAMP_MILLIS"), (["ms", "us"], "TIMESTAMP_MICROS"), ([], None)],
)
def test_timestamps_are_written_so_that_none_loses_anything(
    fs: FileSystem, units: list[str], type_: str | None
) -> None:
    tables = [pa.table({"t": pa.array([1], pa.timestamp(unit, "UTC"))}) for unit in units]
    assert facts(fs, pa.table({"x": [1]}), *tables).timestamps == type_


NUMBERS = pa.table({"x": pa.array([1], pa.int64()), "y": pa.array([{"z": 1}])})


def test_files_of_one_schema_are_known_as_such(fs: FileSystem) -> None:
    more = pa.table({"x": pa.array([2, None], pa.int64()), "y": pa.array([{"z": 1}, None])})
    assert facts(fs, NUMBERS, more, NUMBERS).has_one_schema
    assert not Footer().has_one_schema


@pytest.mark.parametrize(
    "other",
    [
        NUMBERS.rename_columns(["X", "y"]),
        NUMBERS.select(["y", "x"]),
        NUMBERS.select(["x"]),
        NUMBERS.append_column("more", [[1]]),
        NUMBERS.set_column(0, "x", [pa.array([1], pa.int32())]),
        NUMBERS.set_column(0, pa.field("x", pa.int64(), nullable=False), [[1]]),
        NUMBERS.set_column(1, "y", [pa.array([{"z": "1"}])]),
        NUMBERS.set_column(1, "y", [pa.array([{"z": 1, "more": 1}])]),
        NUMBERS.replace_schema_metadata(
            {"org.apache.spark.sql.parquet.row.metadata": '{"type":"struct","fields":[]}'}
        ),
        NUMBERS.replace_schema_metadata({"org.apache.spark.timeZone": "UTC"}),
    ],
)
def test_a_file_whose_schema_differs_in_anything_is_noticed(fs: FileSystem, other: Any) -> None:
    assert not facts(fs, NUMBERS, NUMBERS, other).has_one_schema


def test_versions_of_spark_are_no_part_of_the_schema(fs: FileSystem) -> None:
    old, new = (
        NUMBERS.replace_schema_metadata({"org.apache.spark.version": version})
        for version in ("3.5.0", "4.0.0")
    )
    assert facts(fs, old, new).has_one_schema


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (pa.int8(), "integer"),
        (pa.uint8(), "unsigned integer"),
        (pa.int64(), "integer"),
        (pa.timestamp("us", "UTC"), "timestamp"),
        (pa.timestamp("ms"), "local timestamp"),
        (pa.timestamp("ns", "UTC"), "timestamp in nanoseconds"),
        (pa.bool_(), "boolean"),
        (pa.binary(3), "bytes of a fixed length"),
    ],
)
def test_types_of_columns_have_their_names(fs: FileSystem, kind: Any, name: str) -> None:
    found = facts(fs, pa.table({"x": pa.array([None], kind)}))
    assert found.kinds == {"x": frozenset([(name,)])}
