"""A namespace as a DataFrame, live and out of its image."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.cli import namespace as command
from howdah.config import Configuration
from howdah.copy.common.filesystems import Place
from howdah.fs.hdfs.administration import Administration
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.spark import namespace
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
DAY_MS = 86_400_000
OLD_MS = 1_500_000_000_000


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=1) as cluster:
        with cluster.connect() as fs:
            for path, content in FILES.items():
                with fs.create(path, replication=1, block_size=1 << 20) as out:
                    out.write(content)
            fs.set_owner("/w/b/twin", "anna", "staff")
            fs.set_times("/w/a/one", OLD_MS, OLD_MS)
            fs.set_quota("/w/a", names=100, space_bytes=1 << 30)
            fs.set_safe_mode("enter")
            assert isinstance(fs, HdfsFileSystem)
            assert Administration(fs.client.namenode).save_namespace()
            fs.set_safe_mode("leave")
        yield cluster


@pytest.fixture(scope="module")
def image(cluster: MiniCluster) -> str:
    images = Path(cluster.dir).glob("namenode/name*/current/fsimage_*")
    return max(path for path in images if path.suffix != ".md5").as_uri()


def as_dicts(frame: Any) -> dict[str, dict[str, Any]]:
    return {row["path"]: row.asDict() for row in frame.collect()}


@pytest.fixture(scope="module")
def live(cluster: MiniCluster, spark: Any) -> Iterator[Any]:
    rows = namespace(spark, "/", conf=cluster.conf)
    yield rows
    rows.unpersist()


@pytest.fixture(scope="module")
def stored(image: str, spark: Any) -> Iterator[Any]:
    rows = namespace(spark, image, conf=Configuration({}))
    yield rows
    rows.unpersist()


def test_live_namespace_has_a_row_for_everything(live: Any) -> None:
    found = as_dicts(live)
    assert {path for path, row in found.items() if row["type"] == "file"} == set(FILES)
    one = found["/w/a/one"]
    assert (one["parent"], one["name"], one["depth"]) == ("/w/a", "one", 3)
    assert (one["length"], one["space"], one["blocks"]) == (3000, 3000, 1)
    assert one["modification_time"].timestamp() * 1000 == OLD_MS
    assert (found["/"]["parent"], found["/"]["depth"], found["/w"]["parent"]) == ("", 0, "/")
    assert found["/w/b/twin"]["owner"] == "anna"


def test_image_has_the_same_rows_as_the_live_namespace(live: Any, stored: Any) -> None:
    known_by_image_alone = {"quota_names", "quota_space", "is_open", "snapshots"}
    # Listings have no policies but those that are set.
    ours, theirs = as_dicts(live), as_dicts(stored)
    assert ours.keys() == theirs.keys()
    for path, row in ours.items():
        for column, value in row.items():
            if column not in known_by_image_alone:
                assert theirs[path][column] == value, (path, column)
    quota = theirs["/w/a"]
    assert (quota["quota_names"], quota["quota_space"]) == (100, 1 << 30)
    assert theirs["/"]["quota_names"] is None
    assert theirs["/w/a/one"]["is_open"] is False


def test_directories_have_what_is_below_them(live: Any) -> None:
    found = {row["path"]: row["length"] for row in reports.directories(live).collect()}
    assert found == {
        "/": 9101,
        "/w": 9101,
        "/w/a": 6100,
        "/w/a/deep": 100,
        "/w/a/deep/er": 100,
        "/w/b": 3001,
    }
    shallow = [row["path"] for row in reports.directories(live, depth=1).collect()]
    assert shallow == ["/", "/w"]


@pytest.mark.req("LM-003")
def test_small_files_are_counted_where_they_lie(live: Any) -> None:
    found = {row["path"]: row.asDict() for row in reports.small_files(live, 3000).collect()}
    assert {path: row["small_files"] for path, row in found.items()} == {
        "/w/b": 2,
        "/w/a/deep/er": 1,
    }
    # Two files, one of which has a block.
    assert found["/w/b"]["namenode_bytes"] == 450


def test_ages_owners_and_sizes_sum_up_all_files(live: Any) -> None:
    now_ms = int(datetime.now(UTC).timestamp() * 1000) + DAY_MS
    ages = {row["older_than_days"]: row["files"] for row in reports.ages(live, now_ms).collect()}
    assert ages == {0: 5, 1095: 1}
    owners = {row["owner"]: row["length"] for row in reports.owners(live).collect()}
    assert owners["anna"] == 3000
    sizes = {row["at_least"]: row["files"] for row in reports.sizes(live).collect()}
    assert sizes == {0: 1, 1: 1, 64: 1, 2048: 3}


def test_quotas_stand_beside_what_is_used(stored: Any) -> None:
    (row,) = reports.quotas(stored).collect()
    # The directory itself, two below it, three files.
    assert (row["path"], row["names"], row["space"]) == ("/w/a", 6, 6100)


def test_growth_is_what_came_and_went(live: Any, stored: Any) -> None:
    assert reports.growth(stored, live).collect() == []
    without = stored.where("path != '/w/b/twin'")
    grown = {row["path"]: row["length"] for row in reports.growth(without, live, 2).collect()}
    assert grown == {"/": 3000, "/w": 3000, "/w/b": 3000}


def test_duplicates_have_equal_checksums(cluster: MiniCluster, live: Any) -> None:
    place = Place.of(None, cluster.conf, None)
    (row,) = reports.duplicates(live, place).collect()
    assert (row["length"], row["files"], row["wasted"]) == (3000, 2, 3000)
    assert row["paths"] == ["/w/a/one", "/w/b/twin"]


def test_command_reports_as_table_json_parquet_and_page(
    cluster: MiniCluster, spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    html, parquet = tmp_path / "page.html", tmp_path / "table"
    words = ["/w", "--report", "owners", "--html", str(html), "--parquet", parquet.as_uri()]
    assert command.main(words, cluster.conf) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Owners:\n")
    assert "2.93 KB" in printed
    assert "<svg" in html.read_text()
    assert spark.read.parquet(parquet.as_uri()).where("type = 'file'").count() == len(FILES)

    assert command.main(["/w", "-m", "1", "--report", "sizes", "--json"], cluster.conf) == 0
    assert json.loads(capsys.readouterr().out)["sizes"][0]["at_least"] == 0


def test_what_is_no_image_is_refused(tmp_path: Path, spark: Any) -> None:
    wrong = tmp_path / "notes"
    wrong.write_text("these are no inodes")
    with pytest.raises(errors.IllegalArgument, match="neither a directory nor an image"):
        namespace(spark, wrong.as_uri(), conf=Configuration({}))


def test_damaged_image_is_told_as_what_it_is(image: str, tmp_path: Path, spark: Any) -> None:
    content = bytearray(Path(image.removeprefix("file://")).read_bytes())
    # The tag and the length before a name, which a message then does not end with.
    at = content.index(b"three") - 1
    content[at] = 0x7F
    damaged = tmp_path / "fsimage_0000000000000000001"
    damaged.write_bytes(content)
    with pytest.raises(errors.CorruptImage, match="fsimage_0000000000000000001"):
        namespace(spark, damaged.as_uri(), conf=Configuration({}))


@pytest.mark.torture
def test_image_of_deep_trees_is_read_over_spark_connect(
    image: str, stored: Any, spark_connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("howdah.spark.usage_report.job.PLAIN_ROUNDS", 0)
    rows = namespace(spark_connect, image, conf=Configuration({}))
    assert as_dicts(rows) == as_dicts(stored)
    rows.unpersist()
