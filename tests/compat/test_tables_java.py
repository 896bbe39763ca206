"""Spark's tables of a cluster whose namenodes and journal nodes are Hadoop's, without a Spark."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.spark.tables.catalog import open_table
from howdah.spark.tables.change_table import ChangeTable
from howdah.spark.tables.table import Home, Table
from tests.support.hadoop.mixed import MixedCluster
from tests.support.tables.changing import change, drain, live
from tests.support.tables.following import Followed
from tests.support.tables.frames import rows_of

pytestmark = pytest.mark.timeout(400)

HADOOPS = {
    f"{role}{number}"
    for role, count in (("namenode", 2), ("journalnode", 3))
    for number in range(count)
}


@pytest.fixture(scope="module")
def cluster(hadoop_classpath: str) -> Iterator[MixedCluster]:
    conf: dict[str, str | int] = {"dfs.ha.tail-edits.period": "1s"}
    with MixedCluster(hadoop_classpath, HADOOPS, conf=conf) as cluster:
        with cluster.connect() as fs:
            assert isinstance(fs, HdfsFileSystem)
            change(fs, random.Random(1), 60)
        yield cluster


def table(cluster: MixedCluster, name: str, path: str = "/", **options: object) -> Table:
    home = Home(tuple(cluster.conf.items()))
    return open_table(name, {"path": path, **options}, home)


def changes(cluster: MixedCluster, **options: Any) -> ChangeTable:
    opened = table(cluster, "howdah.changes", **options)
    assert isinstance(opened, ChangeTable)
    return opened


def in_the_tree(model: Followed) -> Followed:
    model.entries.pop("/", None)
    return model


def test_namespace_and_blocks_are_those_that_hadoops_namenode_lists(cluster: MixedCluster) -> None:
    with cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        expected = live(fs)
    rows = {row["path"]: row for row in rows_of(table(cluster, "howdah.namespace"))}
    assert rows.keys() == expected.keys() | {"/"}
    for path, entry in expected.items():
        assert {name: rows[path][name] for name in entry} == entry
    lengths = {path: entry["length"] for path, entry in expected.items() if entry["length"]}
    blocks = rows_of(table(cluster, "howdah.blocks"))
    assert {row["path"]: row["length"] for row in blocks} == lengths
    assert {row["health"] for row in blocks} == {"healthy"}


def test_an_image_of_hadoops_has_the_rows_of_the_live_tree(
    cluster: MixedCluster, tmp_path: Path
) -> None:
    with cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        fs.set_safe_mode("enter")
        assert fs.administration.save_namespace()
        fs.set_safe_mode("leave")
    images = Path(cluster.dir).glob(f"{cluster.active()}/name*/current/fsimage_*")
    image = max(path for path in images if path.suffix != ".md5")
    stored = {
        row["path"]: row for row in rows_of(table(cluster, "howdah.namespace", image.as_uri()))
    }
    shown = {row["path"]: row for row in rows_of(table(cluster, "howdah.namespace"))}
    assert stored.keys() == shown.keys()
    only_of_images = {"quota_names", "quota_space", "is_open", "block_list"}
    for path, row in shown.items():
        own = {name: value for name, value in row.items() if name not in only_of_images}
        assert {name: stored[path][name] for name in own} == own


def test_edits_come_from_hadoops_journal_nodes(cluster: MixedCluster) -> None:
    with cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        fs.mkdirs("/marked/before")
        fs.administration.roll_edits()
        fs.mkdirs("/marked/behind")
        fs.mkdirs("/marked/at-the-end")
    shared = cluster.conf.raw("dfs.namenode.shared.edits.dir") or _shared(cluster)
    rows = rows_of(table(cluster, "howdah.edits", shared))
    txids = [row["txid"] for row in rows]
    assert txids == list(range(txids[0], txids[0] + len(txids)))
    made = [row["path"] for row in rows if (row["path"] or "").startswith("/marked/")]
    # The last transaction may not be known to be committed.
    assert made[:2] == ["/marked/before", "/marked/behind"]


def _shared(cluster: MixedCluster) -> str:
    nodes = [cluster.process(f"journalnode{number}").addresses["rpc"] for number in range(3)]
    return f"qjournal://{';'.join(nodes)}/howdah"


@pytest.mark.parametrize("starting", ["earliest", "listing"])
def test_changes_lead_to_the_live_namespace_through_a_failover(
    cluster: MixedCluster, starting: str
) -> None:
    stream = changes(cluster, starting=starting, transactionsPerPartition=30)
    chance = random.Random(starting)
    offset: dict[str, Any] = stream.initial_offset()
    model = Followed()
    if starting == "earliest":
        # What was before the oldest edits is in none: begin where they do, with a listing of then.
        stream = changes(cluster, starting="listing", transactionsPerPartition=30)
        offset = stream.initial_offset()
    with cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        for turn in range(3):
            change(fs, chance, 30)
            if turn == 1:
                old = cluster.active()
                cluster.kill(old)
                change(fs, chance, 10)
                cluster.active(but=old)
                cluster.restart(old)
            rows, offset = drain(stream, offset, 25)
            model.apply_all(rows)
            assert in_the_tree(model).differences(live(fs)) == []


def test_lines_of_hadoops_audit_log_are_rows(cluster: MixedCluster) -> None:
    """They are in the namenode's log here, among others."""
    with cluster.connect() as fs:
        fs.mkdirs("/audited\tü")
        fs.set_permission("/audited\tü", 0o1750)
    log = Path(cluster.dir) / "logs" / f"{cluster.active()}.log"
    rows = rows_of(table(cluster, "howdah.audit", log.as_uri(), malformed="drop"))
    (row,) = [row for row in rows if row["cmd"] == "setPermission" and "audited" in row["src"]]
    assert (row["src"], row["permission"], row["allowed"]) == ("/audited\tü", 0o1750, True)
    assert row["ip"] == "127.0.0.1"
    assert row["time"] is not None
