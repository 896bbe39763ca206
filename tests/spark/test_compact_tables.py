"""`compact` and tables with a log of their files: their own maintenance, or nothing."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from howdah import errors
from howdah.cli import compact as command
from howdah.spark import compact
from howdah.spark.compaction.table_formats import Maintenance

pytestmark = pytest.mark.timeout(240)

deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")


def make_delta(bench: Any, name: str, versions: int = 6) -> str:
    """A Delta table with partitions and a version for each of some small appends."""
    uri: str = bench.uri(name)
    for number in range(versions):
        ids = list(range(number * 10, number * 10 + 10))
        rows = pa.table({"id": ids, "part": [each % 2 for each in ids], "x": ["é"] * 10})
        deltalake.write_deltalake(uri, rows, mode="append", partition_by=["part"])
    return uri


def rows_of(uri: str, version: int | None = None) -> Counter[tuple[Any, ...]]:
    table = deltalake.DeltaTable(uri, version=version)
    rows = pa.table(table.to_pyarrow_table()).to_pylist()
    return Counter(tuple(sorted(row.items())) for row in rows)


@contextmanager
def reading(uri: str) -> Iterator[list[int]]:
    """Read a table all the time; the counts of rows that were seen."""
    ends = threading.Event()
    counts: list[int] = []
    failures: list[Exception] = []

    def read() -> None:
        while not ends.wait(0.05):
            try:
                counts.append(sum(rows_of(uri).values()))
            except Exception as error:  # noqa: BLE001 - shown below
                failures.append(error)
                return

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield counts
    finally:
        ends.set()
        thread.join()
    assert failures == []


def files_of(bench: Any, name: str) -> dict[str, bytes]:
    tree: dict[str, bytes] = bench.tree(name)
    return {path: data for path, data in tree.items() if data is not None}


def test_delta_table_gets_a_version_of_fewer_files_and_keeps_its_history(bench: Any) -> None:
    uri = make_delta(bench, "w/t")
    bench.make("w/logs", {"a.json": b'{"x":1}\n', "b.json": b'{"x":2}\n'})
    old_files, old = files_of(bench, "w/t"), rows_of(uri)
    with reading(uri) as counts:
        found = compact(bench.spark, bench.uri("w"), conf=bench.cluster.conf)
    (table,) = found.tables
    assert not table.reason
    assert (table.format, table.by) == ("Delta Lake", "deltalake")
    assert (table.files_before, table.files_after) == (12, 2)
    assert (table.version_before, table.version_after) == ("5", "6")
    assert set(counts) == {60}
    assert rows_of(uri) == old
    assert len(deltalake.DeltaTable(uri).file_uris()) == 2
    for version in range(6):
        assert sum(rows_of(uri, version).values()) == 10 * (version + 1)
    # No file of an old version was touched, and the directory beside was compacted as always.
    assert old_files.items() <= files_of(bench, "w/t").items()
    assert [directory.path for directory in found.changed] == [bench.path("w/logs")]
    assert all(directory.path == bench.path("w/logs") for directory in found.directories)


def test_delta_table_is_ordered_and_vacuumed_on_request_after_a_dry_run_says_the_cost(
    bench: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    uri = make_delta(bench, "t", versions=3)
    before, old = files_of(bench, "t"), rows_of(uri)
    words = [uri, "--z-order-by", "id,x", "--vacuum", "--json"]
    assert command.main([*words, "--dry-run"], bench.cluster.conf) == 0
    (told,) = json.loads(capsys.readouterr().out)["tables"]
    assert (told["files_before"], told["files_after"]) == (6, 2)
    assert told["bytes"] == sum(
        len(data) for path, data in before.items() if path.endswith(".parquet")
    )
    assert files_of(bench, "t") == before

    assert command.main(words, bench.cluster.conf) == 0
    (told,) = json.loads(capsys.readouterr().out)["tables"]
    assert told["steps"] == ["optimize.z_order(id, x)", "vacuum(168 hours)"]
    assert told["files_deleted"] == 0, "all versions are younger than a week"
    assert rows_of(uri) == old
    assert rows_of(uri, 2) == old


def test_vacuum_that_delta_refuses_is_told_and_the_compaction_stays(bench: Any) -> None:
    uri = make_delta(bench, "t", versions=2)
    asked = Maintenance(vacuums=True, retain_hours=0)
    (table,) = compact(bench.spark, uri, conf=bench.cluster.conf, maintenance=asked).failed_tables
    assert "it was compacted, but then: deltalake" in table.reason
    assert (table.files_before, table.files_after) == (4, 2)
    assert sum(rows_of(uri, 1).values()) == 20


def test_a_partition_of_a_table_is_never_compacted_by_itself(bench: Any) -> None:
    make_delta(bench, "t", versions=2)
    before = files_of(bench, "t")
    with pytest.raises(errors.UnsupportedOperation, match="is in a Delta Lake table") as caught:
        compact(bench.spark, bench.uri("t/part=0"), conf=bench.cluster.conf)
    assert bench.path("t") in str(caught.value)
    assert files_of(bench, "t") == before


def test_tables_that_are_not_known_are_refused_by_name(
    bench: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    data = {"p=1/a.json": b"{}\n", "p=1/b.json": b"{}\n"}
    marks = {
        "hudi": (".hoodie/hoodie.properties", "Hudi's; its own procedures `run_clustering`"),
        "iceberg": ("metadata/v1.metadata.json", "this Spark has no Iceberg: set spark.jars"),
        "lance": ("_versions/1.manifest", "howdah calls no maintenance of Lance's"),
        "paimon": ("schema/schema-0", "howdah calls no maintenance of Paimon's"),
        "hive": ("delta_0000001_0000001/a.json", "ALTER TABLE … COMPACT"),
        "odd": ("_own_log/1", "_own_log beside its partitions may be a log"),
    }
    for name, (mark, _) in marks.items():
        bench.make(f"w/{name}", {**data, mark: b"{}"})
    bench.make("w/plain", {**data, "_temporary/0/x": b""})
    before = {name: files_of(bench, f"w/{name}") for name in marks}
    assert command.main([bench.uri("w")], bench.cluster.conf) == 0
    printed = capsys.readouterr().out
    for name, (_, reason) in marks.items():
        (line,) = [line for line in printed.splitlines() if f"/w/{name}: left alone" in line]
        assert reason in line
        assert files_of(bench, f"w/{name}") == before[name]
    assert len(files_of(bench, "w/plain/p=1")) == 1
    # One that the user has named is not passed over in silence.
    assert command.main([bench.uri("w/hudi")], bench.cluster.conf) == 1
    assert command.main([bench.uri("w/hudi"), "--skip-tables"], bench.cluster.conf) == 0


def test_tables_are_left_alone_on_request(bench: Any) -> None:
    uri = make_delta(bench, "t", versions=2)
    asked = Maintenance(skips=True)
    found = compact(bench.spark, uri, conf=bench.cluster.conf, maintenance=asked)
    assert [table.reason for table in found.tables] == ["tables are to be left alone"]
    assert deltalake.DeltaTable(uri).version() == 1


def test_an_order_that_delta_does_not_have_is_refused_by_name(bench: Any) -> None:
    uri = make_delta(bench, "t", versions=2)
    asked = Maintenance(sort_by=("id",))
    (table,) = compact(bench.spark, uri, conf=bench.cluster.conf, maintenance=asked).failed_tables
    assert "--z-order-by" in table.reason
    assert deltalake.DeltaTable(uri).version() == 1
