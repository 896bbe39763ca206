"""Bulk work by Spark Connect: nothing reaches for a SparkContext.

What differs there: errors of tasks come over the wire, frames are plans that are sent
anew with every question, so that what is kept has to be recognised by the server, and
files for the executors go up through the session.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from howdah.config import Configuration
from howdah.copy.common.failures import ReadFailed
from howdah.copy.common.filesystems import Place
from howdah.copy.options import attributes
from howdah.spark import Options, compact, distcp, namespace, register, table, verify
from howdah.spark import namespace_reports as reports
from howdah.spark.sessions import ship

pytestmark = pytest.mark.timeout(240)

IMAGE = Path(__file__).parents[1] / "unit" / "formats" / "golden" / "fsimage_rich"


@pytest.fixture
def connected(bench: Any, spark_connect: Any) -> Any:
    """The bench, whose Spark is at the other end of a wire."""
    return dataclasses.replace(bench, spark=spark_connect)


@pytest.fixture
def keeps_nothing(spark: Any) -> Iterator[None]:
    """What a job keeps it has to give up: the server's cache is empty afterwards."""
    kept = spark._jsparkSession.sharedState().cacheManager()
    kept.clearCache()
    yield
    assert kept.isEmpty()


@pytest.mark.usefixtures("keeps_nothing")
def test_tree_is_copied_compared_and_tidied_by_spark_connect(connected: Any) -> None:
    connected.make("src", {"a": b"1", "d/b": b"22", "same": b"3"})
    connected.make("dst", {"a": b"2", "c": b"4", "same": b"3"})
    chosen = Options(update=True, delete=True, preserve=attributes("pt"))
    told: list[str] = []
    for options in (dataclasses.replace(chosen, dry_run=True), chosen):
        outcome = distcp(
            connected.spark,
            connected.uri("src"),
            connected.uri("dst"),
            options=options,
            conf=connected.cluster.conf,
            tell=told.append,
            shows_progress=True,
        )
        counters = outcome.counters
        done = (counters.files_copied, counters.files_skipped, counters.entries_deleted)
        assert done == (2, 1, 1)
    assert connected.tree("dst") == {"a": b"1", "d": None, "d/b": b"22", "same": b"3"}
    assert sorted(line.split()[0] for line in told) == ["copy", "copy", "delete", "mkdir", "skip"]


@pytest.mark.usefixtures("keeps_nothing")
def test_error_of_a_task_comes_back_as_what_it_was(connected: Any) -> None:
    # Longer than what fits into the status of a call.
    name = "long " * 40 + "ü"
    connected.make("src", {name: b"1", "fine": b"2"})
    connected.make("dst", {})
    connected.fs.set_permission(connected.path(f"src/{name}"), 0o600)
    connected.fs.set_permission(connected.path("dst"), 0o777)
    wanted = (connected.spark, connected.uri("src"), connected.uri("dst"))
    conf = connected.cluster.conf
    with pytest.raises(ReadFailed) as raised:
        distcp(*wanted, options=Options(update=True), conf=conf, user="eve")
    assert connected.uri(f"src/{name}") in str(raised.value)
    assert "Permission denied: user=eve" in str(raised.value)
    passed_over = Options(update=True, ignore_failures=True)
    outcome = distcp(*wanted, options=passed_over, conf=conf, user="eve")
    assert outcome.counters.files_failed == 1
    assert connected.tree("dst") == {"fine": b"2"}


@pytest.mark.usefixtures("keeps_nothing")
def test_replicas_are_read_compared_and_remembered_by_spark_connect(connected: Any) -> None:
    connected.make("data", {"a": b"1" * 3000, "d/b": b"2" * 3000})
    manifest = connected.uri("digests")
    uri, conf = connected.uri("data"), connected.cluster.conf
    for run in range(2):
        with verify(connected.spark, uri, manifest=manifest, conf=conf) as found:
            assert found.sums.is_healthy
            assert (found.sums.files, found.sums.blocks) == (2, 2)
            assert found.replicas.where("verdict = 'sound'").count() == 6
            assert found.problems(10) == []
            assert found.rotten(10) == []
            changes = found.sums.changes
            assert changes is not None
            assert (changes.added, changes.unchanged) == ((2, 0) if run == 0 else (0, 2))


@pytest.mark.usefixtures("keeps_nothing")
def test_namespace_is_listed_and_reported_by_spark_connect(connected: Any) -> None:
    connected.make("data", {"d/a": b"1" * 300, "d/b": b"1" * 300, "c": b"3", "e": None})
    rows = namespace(connected.spark, connected.uri("data"), conf=connected.cluster.conf)
    try:
        assert rows.where("type = 'file'").count() == 3
        largest = reports.directories(rows).where(f"path like '{connected.root}/data/%'").first()
        assert largest is not None
        assert (largest["path"], largest["files"]) == (connected.path("data/d"), 2)
        twins = reports.duplicates(rows, Place.of(None, connected.cluster.conf, None))
        assert [row["files"] for row in twins.collect()] == [2]
        grown = reports.growth(rows.where("name != 'c'"), rows).first()
        assert grown is not None
        assert grown["files"] == 1
    finally:
        rows.unpersist()


@pytest.mark.usefixtures("keeps_nothing")
def test_image_is_read_by_spark_connect(spark_connect: Any) -> None:
    rows = namespace(spark_connect, IMAGE.as_uri(), conf=Configuration({}))
    try:
        assert rows.where("path = '/user/alice/docs/none'").count() == 1
    finally:
        rows.unpersist()


@pytest.mark.usefixtures("keeps_nothing")
def test_tables_are_read_by_spark_connect(connected: Any) -> None:
    connected.make("data", {"d/a": b"1" * 300, "c": b"3", "e": None})
    session, conf = connected.spark, connected.cluster.conf
    register(session, conf=conf)
    read = session.read.format("howdah.namespace").option("where", "type = 'file'")
    files = read.load(connected.uri("data"))
    made = table(session, "namespace", connected.uri("data"), conf=conf, where="type = 'file'")
    expected = {(connected.path("data/c"), 1), (connected.path("data/d/a"), 300)}
    for frame in (files, made):
        assert {(row["path"], row["length"]) for row in frame.collect()} == expected
    with pytest.raises(Exception, match="has no option 'colour'"):
        session.read.format("howdah.audit").option("colour", "red").load("/x").collect()


@pytest.mark.usefixtures("keeps_nothing")
def test_small_files_are_merged_by_spark_connect(connected: Any) -> None:
    table = connected.uri("table")
    connected.spark.range(100).repartition(4).write.parquet(f"{table}/part=0")
    connected.make("table/logs", {"a.json": b'{"x":1}', "b.json": b'{"x":2}'})
    connected.spark.sql("SELECT 1 AS x").write.parquet(f"{table}/odd")
    connected.spark.sql("SELECT 'a' AS x").write.mode("append").parquet(f"{table}/odd")
    conf = connected.cluster.conf
    planned = compact(connected.spark, table, dry_run=True, conf=conf)
    assert [each.files_after for each in planned.changed] == [1, 1, 1]
    found = compact(connected.spark, table, conf=conf)
    assert {each.path.rpartition("/")[2] for each in found.changed} == {"logs", "part=0"}
    assert connected.spark.read.parquet(f"{table}/part=0").count() == 100
    (failed,) = found.failed
    assert "CANNOT_MERGE" in failed.reason


def test_howdah_is_sent_to_executors_through_the_session(connected: Any) -> None:
    ship(connected.spark)

    def where(batches: Iterator[Any]) -> Iterator[Any]:
        import sys

        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"path": [json.dumps(sys.path)]})

    (row,) = connected.spark.range(0, 1, 1, 1).mapInArrow(where, "path string").collect()
    assert any(Path(entry).name == "howdah.zip" for entry in json.loads(row["path"]))
