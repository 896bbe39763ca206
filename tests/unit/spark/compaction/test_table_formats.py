"""How tables of other programs are recognized, and what is asked of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import howdah
from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.memory import filesystem as memory
from howdah.spark.compaction.table_formats import (
    AT_WORK,
    HIVE_DIRECTORY,
    ICEBERG_METADATA,
    PAIMON_SCHEMA,
    DataFile,
    Maintenance,
    Table,
    TableFormat,
    cost,
    delta_optimize,
    delta_vacuum,
    iceberg_expire,
    iceberg_orphans,
    iceberg_rewrite,
    is_of_a_catalog,
    outermost,
    refusal,
)
from howdah.spark.compaction.table_maintenance import table_above


@pytest.fixture
def fs(request: pytest.FixtureRequest) -> Iterator[FileSystem]:
    name = f"tables-{abs(hash(request.node.name))}"
    with howdah.connect(f"mem://{name}/") as connected:
        yield connected
    memory.forget(name)


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ("_delta_log/0.json", TableFormat.DELTA),
        (".hoodie/hoodie.properties", TableFormat.HUDI),
        ("_spark_metadata/0", TableFormat.STREAM),
        ("_versions/1.manifest", TableFormat.LANCE),
        ("metadata/v1.metadata.json", TableFormat.ICEBERG),
        ("metadata/v1.gz.metadata.json", TableFormat.ICEBERG),
        ("schema/schema-0", TableFormat.PAIMON),
        ("_log_of_nobody_knows/x", TableFormat.UNKNOWN),
        ("_temporary/0/x", None),
        (".spark-staging-1/x", None),
        ("metadata/readme.json", None),
    ],
)
def test_a_table_is_found_from_its_partitions(
    fs: FileSystem, entry: str, kind: TableFormat | None
) -> None:
    fs.write_bytes(f"/w/t/{entry}", b"")
    fs.write_bytes("/w/t/p=1/q=2/a.parquet", b"")
    found = table_above(fs, "/w/t/p=1/q=2")
    assert (found and found.format) == kind
    assert found is None or found.path == "/w/t"
    assert table_above(fs, "/w/t") is None


def test_a_directory_of_a_transaction_is_in_a_table_of_hive(fs: FileSystem) -> None:
    fs.mkdirs("/w/t/delta_0000001_0000001_0000")
    found = table_above(fs, "/w/t/delta_0000001_0000001_0000")
    assert found == Table("/w/t", TableFormat.HIVE, "delta_0000001_0000001_0000")


def test_a_table_contains_what_is_below_it_and_no_neighbour() -> None:
    table = Table("/w/t", TableFormat.DELTA, "_delta_log")
    assert table.contains("/w/t")
    assert table.contains("/w/t/p=1")
    assert not table.contains("/w/t2")
    assert Table("/", TableFormat.HUDI, ".hoodie").contains("/w")


def test_of_tables_in_tables_the_outermost_counts() -> None:
    delta = Table("/w/t", TableFormat.DELTA, "_delta_log")
    others = [
        Table("/w/t", TableFormat.UNKNOWN, "_x"),
        Table("/w/t/p=1", TableFormat.HUDI, ".hoodie"),
        Table("/w/u", TableFormat.HUDI, ".hoodie"),
    ]
    assert outermost([*others, delta]) == [delta, others[2]]


@pytest.mark.parametrize("kind", TableFormat)
def test_each_format_is_maintained_or_refused_by_its_name(kind: TableFormat) -> None:
    table = Table("/t", kind, "_mark")
    reason = refusal(table)
    if kind in (TableFormat.DELTA, TableFormat.ICEBERG):
        assert not reason
    else:
        assert (kind.value if kind is not TableFormat.UNKNOWN else "_mark") in reason


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        (HIVE_DIRECTORY, "delta_0000001_0000001_0000", True),
        (HIVE_DIRECTORY, "delete_delta_0000001_0000002", True),
        (HIVE_DIRECTORY, "base_0000005", True),
        (HIVE_DIRECTORY, "base_2024", False),
        (HIVE_DIRECTORY, "delta_of_the_nile", False),
        (PAIMON_SCHEMA, "/w/t/schema/schema-0", True),
        (PAIMON_SCHEMA, "/w/t/schema/schema-new", False),
        (ICEBERG_METADATA, "00001-0f3a.metadata.json", True),
        (ICEBERG_METADATA, "v3.metadata.json.gz", True),
        (ICEBERG_METADATA, "metadata.json", False),
        (AT_WORK, "_temporary", True),
        (AT_WORK, ".hive-staging_hive_2026-11-30_1", True),
        (AT_WORK, "_indices", False),
    ],
)
def test_names_show_tables(pattern: str, name: str, matches: bool) -> None:
    assert bool(re.search(pattern, name)) is matches


def test_the_filesystem_or_a_catalog_says_which_metadata_is_the_newest() -> None:
    assert not is_of_a_catalog(["v1.metadata.json", "v2.gz.metadata.json"])
    assert is_of_a_catalog(["00000-6c9e.metadata.json"])
    assert is_of_a_catalog(["00000-6c9e.metadata.json", "v1.metadata.json"])


def test_statements_quote_what_they_are_given() -> None:
    asked = Maintenance(z_order_by=("a.b", "odd`name"), vacuums=True, retain_hours=200)
    uri = "hdfs://a:1/it's`t"
    assert delta_optimize(uri, asked) == (
        "OPTIMIZE delta.`hdfs://a:1/it's``t` ZORDER BY (`a`.`b`, `odd``name`)"
    )
    assert delta_vacuum(uri, asked, dry_run=True) == (
        "VACUUM delta.`hdfs://a:1/it's``t` RETAIN 200 HOURS DRY RUN"
    )
    order = iceberg_rewrite("c", "c.t", Maintenance(z_order_by=("a", "b.c")), 64)
    assert "sort_order => 'zorder(a, b.c)'" in order
    assert "'rewrite-all', 'true'" in order
    assert "rewrite-all" not in iceberg_rewrite("c", "c.it's", Maintenance(), 64)
    assert "table => 'c.it\\'s'" in iceberg_rewrite("c", "c.it's", Maintenance(), 64)
    with pytest.raises(errors.UnsupportedOperation, match="not 'a b'"):
        iceberg_rewrite("c", "c.t", Maintenance(sort_by=("a b",)), 64)
    until = "2026-11-30 12:00:00"
    assert f"TIMESTAMP '{until}+00:00')" in iceberg_expire("c", "c.t", until)
    assert iceberg_orphans("c", "c.t", until, dry_run=True).endswith("dry_run => true)")


def test_an_order_is_one() -> None:
    with pytest.raises(errors.IllegalArgument, match="not both"):
        Maintenance(sort_by=("a",), z_order_by=("b",))
    with pytest.raises(errors.IllegalArgument, match="no age"):
        Maintenance(retain_hours=-1)


@given(
    st.lists(st.builds(DataFile, st.integers(0, 1000), st.tuples(st.integers(0, 2)))),
    st.integers(1, 500),
    st.booleans(),
)
def test_the_cost_is_never_more_than_all_files(
    files: list[DataFile], target: int, rewrites_all: bool
) -> None:
    before, after, size = cost(files, target, rewrites_all=rewrites_all)
    assert before <= len(files)
    assert size <= sum(file.bytes for file in files)
    if rewrites_all:
        assert (before, size) == (len(files), sum(file.bytes for file in files))
    else:
        assert after <= before
