"""`compact` on a cluster: fewer files with the same rows, while somebody reads."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from howdah.cli import compact as command
from howdah.fs.trash import Trash
from howdah.spark import compact
from howdah.spark.compaction.directory_state import state_of
from howdah.spark.compaction.plan import kept_name, ready_name

pytestmark = pytest.mark.timeout(240)


def names(bench: Any, path: str) -> list[str]:
    return [status.name for status in bench.fs.list_status(bench.path(path))]


@pytest.fixture
def table(bench: Any) -> Callable[..., Any]:
    """A table of small Parquet files in partitions."""

    def make(path: str, files: int, partitions: int = 2) -> None:
        frame = bench.spark.range(files * 10).selectExpr(
            "id", f"id % {partitions} AS part", "concat('name ', id) AS name"
        )
        writer = frame.repartition(files).write.partitionBy("part")
        writer.option("compression", "zstd").parquet(bench.uri(path))

    return make


@pytest.mark.req("LM-003")
def test_partitions_of_parquet_have_the_same_rows_in_one_file_each(
    bench: Any, table: Callable[..., Any]
) -> None:
    table("t", 12)
    before = bench.spark.read.parquet(bench.uri("t"))
    rows = sorted(map(tuple, before.collect()))
    bench.fs.set_permission(bench.path("t/part=0"), 0o750)
    found = compact(bench.spark, bench.uri("t"), conf=bench.cluster.conf)
    assert [each.files_after for each in found.changed] == [1, 1]
    assert names(bench, "t") == ["_SUCCESS", "part=0", "part=1"]
    (new,) = names(bench, "t/part=0")
    assert new.endswith(".zstd.parquet")
    assert bench.fs.get_file_status(bench.path("t/part=0")).permission == 0o750
    after = bench.spark.read.parquet(bench.uri("t"))
    assert after.schema == before.schema
    assert sorted(map(tuple, after.collect())) == rows

    # And back again.
    first = found.changed[0]
    bench.fs.delete(first.path, recursive=True)
    bench.fs.rename(first.kept_at, first.path)
    assert len(names(bench, "t/part=0")) == first.files_before


def test_dry_run_says_what_would_be_won_and_changes_nothing(
    bench: Any, table: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    table("t", 4, partitions=1)
    before = names(bench, "t/part=0")
    words = [bench.uri("t"), "--dry-run", "--json"]
    assert command.main(words, bench.cluster.conf) == 0
    (told,) = json.loads(capsys.readouterr().out)["directories"]
    assert (told["files_before"], told["files_after"], told["kept_at"]) == (4, 1, "")
    assert told["memory_saved"] == 6 * 150
    assert names(bench, "t/part=0") == before


def test_lines_are_joined_and_odd_directories_are_left_alone(
    bench: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.make(
        "logs",
        {
            "day=1/a.json": b'{"x":1}\n{"x":2}',
            "day=1/b.json": b'{"x":3}\n',
            "mixed/a.json": b"{}",
            "mixed/b.csv": b"1",
            "stream/_spark_metadata/0": b"v1",
            "stream/a.json": b"{}",
            "stream/b.json": b"{}",
        },
    )
    assert command.main([bench.uri("logs")], bench.cluster.conf) == 0
    assert list(bench.tree("logs/day=1").values()) == [b'{"x":1}\n{"x":2}\n{"x":3}\n']
    assert names(bench, "logs/stream") == ["_spark_metadata", "a.json", "b.json"]
    printed = capsys.readouterr().out
    assert "files of several formats: .csv, .json" in printed
    assert "another program keeps a list" in printed


def test_run_that_was_killed_between_the_renames_is_finished_by_the_next(
    bench: Any, table: Callable[..., Any]
) -> None:
    table("t", 3, partitions=1)
    directory = bench.path("t/part=0")
    old = bench.fs.get_file_status(directory).file_id
    digest = state_of(bench.fs, directory).digest
    kept_at = Trash(bench.fs, now=time.time).make_place(kept_name(directory, "ab"))
    bench.fs.rename(directory, kept_at)
    ready = bench.path(f"t/{ready_name('part=0', old, 'ab', digest)}")
    for status in bench.fs.list_status(kept_at):
        with bench.fs.open(status.path) as source, bench.fs.create(f"{ready}/{status.name}") as out:
            out.write(source.read())
    found = compact(bench.spark, bench.uri("t"), conf=bench.cluster.conf)
    assert found.recovered == (bench.path("t/part=0"),)
    assert bench.spark.read.parquet(bench.uri("t")).count() == 30
    assert names(bench, "t") == ["_SUCCESS", "part=0"]


def test_directory_whose_files_do_not_fit_together_is_told_and_left(bench: Any) -> None:
    bench.spark.sql("SELECT 1 AS x").write.parquet(bench.uri("t"))
    bench.spark.sql("SELECT 'a' AS x").write.mode("append").parquet(bench.uri("t"))
    before = names(bench, "t")
    found = compact(bench.spark, bench.uri("t"), conf=bench.cluster.conf)
    (failed,) = found.failed
    assert "CANNOT_MERGE" in failed.reason
    assert names(bench, "t") == before
    assert names(bench, "") == ["t"]
