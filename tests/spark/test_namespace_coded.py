"""Erasure-coded files in reports of a namespace, and in compaction."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from howdah.cli import compact as compact_command
from howdah.cli import namespace as command
from howdah.config import Configuration
from howdah.fs.hdfs.administration import Administration
from howdah.spark import namespace
from howdah.spark import namespace_reports as reports
from howdah.testing import MiniCluster

pytestmark = pytest.mark.timeout(240)

POLICY = "XOR-2-1-1024k"
MIB = 1 << 20
FILES = {
    "/w/coded/empty": 0,
    "/w/coded/tiny": 10,
    "/w/coded/cell": MIB,
    "/w/coded/more": MIB + 1,
    # Two full groups of two blocks, and one more.
    "/w/coded/groups": 5 * MIB + 7,
    "/w/plain/tiny": 10,
}
LINES = {f"/w/lines/{number}.json": 50_000 for number in range(4)}


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    conf: dict[str, str | int | float | bool] = {
        "dfs.namenode.ec.system.default.policy": POLICY,
        "dfs.replication": 3,
    }
    with MiniCluster(datanodes=3, conf=conf) as cluster:
        with cluster.connect() as fs:
            for directory in ("/w/coded", "/w/lines"):
                fs.mkdirs(directory)
                fs.set_erasure_coding_policy(directory, POLICY)
            for path, length in FILES.items():
                with fs.create(path, block_size=MIB) as out:
                    out.write(bytes(length))
            for path, length in LINES.items():
                with fs.create(path, block_size=MIB) as out:
                    out.write(b'{"x": 1}\n' * (length // 9))
            fs.set_safe_mode("enter")
            assert Administration(fs.client.namenode).save_namespace()
            fs.set_safe_mode("leave")
        yield cluster


@pytest.fixture(scope="module")
def live(cluster: MiniCluster, spark: Any) -> Iterator[Any]:
    rows = namespace(spark, "/w", conf=cluster.conf)
    yield rows
    rows.unpersist()


@pytest.fixture(scope="module")
def stored(cluster: MiniCluster, spark: Any) -> Iterator[Any]:
    images = Path(cluster.dir).glob("namenode/name*/current/fsimage_*")
    image = max(path for path in images if path.suffix != ".md5").as_uri()
    rows = namespace(spark, image, conf=Configuration({}))
    yield rows
    rows.unpersist()


def files_of(frame: Any) -> dict[str, tuple[Any, ...]]:
    columns = ("length", "replication", "space", "blocks", "erasure_coding_policy")
    rows = frame.where("type = 'file'").collect()
    return {row["path"]: tuple(row[column] for column in columns) for row in rows}


def test_coded_files_are_counted_with_their_parity(
    cluster: MiniCluster, live: Any, stored: Any
) -> None:
    found = files_of(live)
    assert found["/w/coded/tiny"] == (10, 1, 20, 1, POLICY)
    assert found["/w/coded/groups"] == (5 * MIB + 7, 1, 8 * MIB + 7, 3, POLICY)
    assert found["/w/plain/tiny"] == (10, 3, 30, 1, None)
    assert files_of(stored) == found
    (top,) = reports.directories(live, 1).where("path = '/w'").collect()
    with cluster.connect() as fs:
        assert top["space"] == fs.content_summary("/w").space_consumed


def test_small_coded_files_are_told_with_their_copies(live: Any) -> None:
    found = {row["path"]: row.asDict() for row in reports.small_files(live, 2 * MIB).collect()}
    coded, plain = found["/w/coded"], found["/w/plain"]
    assert (coded["small_files"], coded["coded_files"]) == (4, 4)
    assert (coded["space"], coded["coded_copies"]) == (2 * (10 + MIB) + 2 * MIB + 1, 2.0)
    assert (plain["space"], plain["coded_files"], plain["coded_copies"]) == (30, 0, None)
    # Empty files have no copies, and no group.
    (empty,) = reports.small_files(live, 1).collect()
    assert (empty["coded_copies"], empty["namenode_bytes"]) == (None, 150)


def test_the_page_says_what_coded_files_cost(
    cluster: MiniCluster, spark: Any, tmp_path: Path
) -> None:
    html = tmp_path / "page.html"
    assert command.main(["/w", "--html", str(html)], cluster.conf) == 0
    page = html.read_text()
    assert "with all replicas and parity" in page
    assert "copies of these" in page


def test_compact_says_what_coded_files_save(
    cluster: MiniCluster, spark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compact_command.main(["/w/lines", "--dry-run", "--json"], cluster.conf) == 0
    (told,) = json.loads(capsys.readouterr().out)["directories"]
    assert (told["files_before"], told["files_after"]) == (4, 1)
    # Four files that are smaller than a cell have as much parity as one that is.
    assert told["space_saved"] == 0
    assert compact_command.main(["/w/lines"], cluster.conf) == 0
    assert "on disks" not in capsys.readouterr().out
    with cluster.connect() as fs:
        (made,) = fs.list_status("/w/lines")
        assert made.erasure_coding_policy == POLICY


def test_compact_saves_the_parity_of_files_smaller_than_a_stripe(
    cluster: MiniCluster, spark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with cluster.connect() as fs:
        fs.mkdirs("/w/stripes")
        fs.set_erasure_coding_policy("/w/stripes", POLICY)
        for number in range(4):
            with fs.create(f"/w/stripes/{number}.txt", block_size=4 * MIB) as out:
                out.write(b"x\n" * (MIB // 2))
        before = fs.content_summary("/w/stripes").space_consumed
        assert compact_command.main(["/w/stripes", "--json"], cluster.conf) == 0
        (told,) = json.loads(capsys.readouterr().out)["directories"]
        after = fs.content_summary("/w/stripes").space_consumed
    assert before - after == told["space_saved"] == 2 * MIB
