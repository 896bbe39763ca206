"""Spark's tables of a live cluster and of its image, by the Python Data Source API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.cli import namespace as command
from howdah.cli import report
from howdah.cli.arguments.usage import UsageError
from howdah.config import Configuration
from howdah.fs.hdfs.administration import Administration
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.spark import namespace, register, table
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


def test_a_frame_without_a_source_has_the_same_rows(
    tables: Any, cluster: MiniCluster, image: str
) -> None:
    for path in (image, "/w"):
        read = tables.read.format("howdah.namespace").load(path)
        made = table(tables, "namespace", path, conf=cluster.conf, columns=",".join(read.columns))
        assert made.columns == read.columns
        assert by_path(made) == by_path(read)
    with pytest.raises(errors.IllegalArgument, match=r"there is no table 'howdah\.nothing'"):
        table(tables, "nothing", "/", conf=cluster.conf)


def test_replicas_are_rows(tables: Any, cluster: MiniCluster) -> None:
    blocks = tables.read.format("howdah.blocks").load("/w").where("length > 1")
    found = {row["path"]: row.asDict() for row in blocks.collect()}
    assert found.keys() == {path for path, content in FILES.items() if len(content) > 1}
    assert {row["health"] for row in found.values()} == {"healthy"}
    one = tables.read.format("howdah.blocks").load("/w/a/one").collect()
    assert [row.asDict() for row in one] == [found["/w/a/one"]]
    assert one[0]["storage_type"] == "DISK"


def test_edits_are_rows(tables: Any, cluster: MiniCluster) -> None:
    (current,) = Path(cluster.dir).glob("namenode/name*/current")
    edits = tables.read.format("howdah.edits").load(current.as_uri())
    renamed = edits.where("opcode = 'SET_OWNER' and path = '/w/b/twin'").collect()
    assert [dict(row["fields"]) for row in renamed] == [{"owner": "anna", "group": "staff"}]
    txids = [row["txid"] for row in edits.select("txid").collect()]
    assert sorted(txids) == list(range(1, len(txids) + 1))
    assert edits.where("txid between 3 and 5").count() == 3


def test_audit_lines_are_rows(tables: Any, tmp_path: Path) -> None:
    line = (
        "2026-11-23 03:40:35,123 INFO FSNamesystem.audit: allowed=true\tugi=ann (auth:SIMPLE)\t"
        "ip=/10.0.0.7\tcmd=open\tsrc=/w/{}\tdst=null\tperm=null\tproto=rpc\n"
    )
    (tmp_path / "audit.log").write_text("".join(line.format(n) for n in range(30)))
    audit = tables.read.format("howdah.audit").option("timeZone", "UTC").load(tmp_path.as_uri())
    audit.createOrReplaceTempView("audit")
    (row,) = tables.sql("select count(*) as lines, max(time) as last from audit").collect()
    assert (row["lines"], f"{row['last']:%H:%M}") == (30, "03:40")


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
    "owner not in ('anna', 'bert')": lambda row: row["owner"] != "anna",
    "storage_policy = 0 and depth between 1 and 2": lambda row: 1 <= row["depth"] <= 2,
}


@pytest.mark.parametrize("where", ["live", "image"])
def test_conditions_of_the_table_choose_what_those_of_spark_do(
    tables: Any, image: str, where: str
) -> None:
    rows = tables.read.format("howdah.namespace").load("/" if where == "live" else image)
    everything = by_path(rows)
    for condition, is_wanted in FILTERS.items():
        expected = {path for path, row in everything.items() if is_wanted(row)}
        reader = tables.read.format("howdah.namespace").option("where", condition)
        chosen = reader.option("columns", "path").load("/" if where == "live" else image)
        assert {row["path"] for row in chosen.collect()} == expected, condition
        assert {row["path"] for row in rows.where(condition).collect()} == expected, condition


def test_queries_on_one_frame_do_not_know_of_each_other(tables: Any, image: str) -> None:
    rows = tables.read.format("howdah.namespace").load(image)
    count = rows.count()
    assert rows.where("owner = 'anna'").count() == 1
    assert rows.count() == count
    both = rows.where("owner = 'anna'").union(rows.where("owner != 'anna'"))
    assert both.count() == count


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
        ({"where": "size > 1"}, "has no column 'size'; it has: path"),
        ({"where": "length > 'x'"}, "length is of type bigint, and cannot be compared with 'x'"),
        ({"where": "length > 1 or depth = 2"}, "and is expected, not 'or'"),
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


def test_command_writes_a_page_of_an_image_and_audit_logs(
    spark: Any, cluster: MiniCluster, image: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = (
        "2026-11-23 03:40:35,123 INFO FSNamesystem.audit: allowed=true\tugi=ann (auth:SIMPLE)\t"
        "ip=/10.0.0.7\tcmd=open\tsrc=/w/a/one\tdst=null\tperm=null\tproto=rpc\nno line\n"
    )
    (tmp_path / "audit.log").write_text(line)
    page = tmp_path / "page.html"
    words = ["--audit", (tmp_path / "audit.log").as_uri(), image, str(page)]
    assert report.main(words, cluster.conf) == 0
    assert capsys.readouterr().out == f"Written to {page}\n"
    text = page.read_text("utf-8")
    for title in ("By day and owner", "Left by killed jobs", "Not read for longest", "anna"):
        assert title in text
    assert "<svg" in text
    assert text.index("/w/b") < text.index("2026-11-23 03:40:35")
    assert report.main(["--json", "--audit", words[1], image], cluster.conf) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == [
        *("directories", "small-files", "owners", "sizes", "ages"),
        *("days", "orphans", "savings", "coldest"),
    ]
    assert {row["owner"] for row in found["owners"]} >= {"anna"}
    assert found["directories"][0]["path"] == "/"
    assert found["coldest"][0]["path"] in text
    with pytest.raises(UsageError, match="there is no directory for"):
        report.main([image, str(tmp_path / "nowhere" / "page.html")], cluster.conf)
    with pytest.raises(UsageError, match="name a file for the page, or give --json"):
        report.main([image], cluster.conf)


def test_command_reports_days_and_savings(
    spark: Any, cluster: MiniCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["/w", "--report", "days", "--report", "orphans", "--report", "savings", "--json"]
    assert command.main(words, cluster.conf) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["owner"] for row in found["days"]} >= {"anna"}
    assert (found["orphans"], found["savings"]) == ([], [])
