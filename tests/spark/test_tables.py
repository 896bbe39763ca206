"""Spark's tables of a live cluster and of its image, by the Python Data Source API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from howdah.config import Configuration
from howdah.fs.hdfs.administration import Administration
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.spark import namespace, register
from howdah.spark import namespace_reports as reports
from howdah.testing import MiniCluster

pytestmark = pytest.mark.timeout(240)

FILES = {
    "/w/a/one": b"1" * 3000,
    "/w/a/two": b"2" * 3000,
    "/w/a/deep/er/three": b"3" * 100,
    "/w/b/twin": b"1" * 3000,
    "/w/b/new\nline": b"",
    "/w/b/50% ünï": b"x",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=1) as cluster:
        with cluster.connect() as fs:
            assert isinstance(fs, HdfsFileSystem)
            for path, content in FILES.items():
                with fs.create(path, replication=1, block_size=1 << 20) as out:
                    out.write(content)
            fs.set_owner("/w/b/twin", "anna", "staff")
            fs.set_quota("/w/a", names=100, space_bytes=1 << 30)
            fs.allow_snapshot("/w/b")
            fs.create_snapshot("/w/b", "s1")
            fs.set_safe_mode("enter")
            assert Administration(fs.client.namenode).save_namespace()
            fs.set_safe_mode("leave")
        yield cluster


@pytest.fixture(scope="module")
def image(cluster: MiniCluster) -> str:
    images = Path(cluster.dir).glob("namenode/name*/current/fsimage_*")
    return max(path for path in images if path.suffix != ".md5").as_uri()


@pytest.fixture(scope="module")
def tables(spark: Any, cluster: MiniCluster) -> Any:
    """A session that has the sources."""
    register(spark, conf=cluster.conf)
    return spark


def by_path(frame: Any) -> dict[str, dict[str, Any]]:
    return {row["path"]: row.asDict(recursive=True) for row in frame.collect()}


def test_live_rows_are_those_of_the_image(tables: Any, image: str) -> None:
    live = by_path(tables.read.format("howdah.namespace").load("/"))
    stored = by_path(tables.read.format("howdah.namespace").load(image))
    assert live.keys() == stored.keys() >= FILES.keys()
    only_images_have = {"quota_names", "quota_space"}
    for path, row in live.items():
        for column in row.keys() - only_images_have:
            if column == "is_open" and row["type"] != "file":
                continue
            if column == "block_list" and row["type"] != "file":
                continue
            assert row[column] == stored[path][column], (path, column)
    assert stored["/w/a"]["quota_names"] == 100
    assert live["/w/b"]["snapshot_names"] == ["s1"]
    assert live["/w/a/one"]["block_list"][0]["length"] == 3000


def test_reports_take_the_table(tables: Any, image: str) -> None:
    rows = tables.read.format("howdah.namespace").load(image)
    before = namespace(tables, image, conf=Configuration({}))
    try:
        assert reports.growth(before, rows).collect() == []
        assert reports.owners(rows).collect() == reports.owners(before).collect()
    finally:
        before.unpersist()


FILTERS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "path like '/w/a/%'": lambda row: row["path"].startswith("/w/a/"),
    "parent = '/w/b'": lambda row: row["parent"] == "/w/b",
    "owner = 'anna'": lambda row: row["owner"] == "anna",
    "type = 'file' and length > 100": lambda row: row["type"] == "file" and row["length"] > 100,
    "modification_time > timestamp'2020-01-01'": lambda row: True,
    "modification_time < timestamp'2020-01-01'": lambda row: False,
    "access_time is null": lambda row: row["access_time"] is None,
    "not (owner in ('anna', 'bert'))": lambda row: row["owner"] != "anna",
    "storage_policy = 0 and depth <= 2": lambda row: row["depth"] <= 2,
}


@pytest.mark.parametrize("where", ["live", "image"])
def test_filters_are_pushed_and_change_nothing(tables: Any, image: str, where: str) -> None:
    rows = tables.read.format("howdah.namespace").load("/" if where == "live" else image)
    everything = by_path(rows)
    for condition, is_wanted in FILTERS.items():
        expected = {path for path, row in everything.items() if is_wanted(row)}
        assert {row["path"] for row in rows.where(condition).collect()} == expected, condition


def test_spark_evaluates_nothing_that_the_table_does(tables: Any, image: str) -> None:
    rows = tables.read.format("howdah.namespace").load(image)
    chosen = rows.where("path like '/w/a/%' and owner = 'root'").select("path")
    plan = chosen._jdf.queryExecution().executedPlan().toString()
    # What a node of the plan evaluates is named in it; RuntimeFilters are something else.
    assert "Filter " not in plan
    assert "StartsWith(path, /w/a/)" not in plan
    left = rows.where("length % 2 = 1")._jdf.queryExecution().executedPlan().toString()
    assert "Filter " in left


def test_chosen_columns_are_read_alone(tables: Any, image: str) -> None:
    reader = tables.read.format("howdah.namespace")
    chosen = reader.option("columns", "path, length").load(image)
    assert chosen.columns == ["path", "length"]
    declared = tables.read.format("howdah.namespace").schema("length long, path string").load(image)
    assert declared.columns == ["length", "path"]
    assert {(row["path"], row["length"]) for row in chosen.collect()} == {
        (row["path"], row["length"]) for row in declared.collect()
    }


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"colums": "path"}, "has no option 'colums'"),
        ({"columns": "path, size"}, "has no column 'size'; it has: path"),
        ({"partitions": "0"}, "option partitions = '0' is less than 1"),
    ],
)
def test_wrong_options_are_refused_by_name(
    tables: Any, image: str, options: dict[str, str], problem: str
) -> None:
    with pytest.raises(Exception, match=problem):
        tables.read.format("howdah.namespace").options(**options).load(image).collect()


def test_what_is_not_there_is_named(tables: Any, tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"PathNotFound.*/nowhere"):
        tables.read.format("howdah.namespace").load("/nowhere").collect()
    notes = tmp_path / "notes"
    notes.write_text("these are no inodes")
    with pytest.raises(Exception, match="neither a directory nor an image"):
        tables.read.format("howdah.namespace").load(notes.as_uri()).collect()
