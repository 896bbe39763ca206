"""Spark jobs on paths of a view: they are jobs of the filesystem that has the path."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.copy.common.filesystems import behind_view, sources_behind_views
from howdah.copy.layout import InvalidInput
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.spark import Options, compact, distcp, namespace, verify

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def conf(bench: Any) -> Configuration:
    """The cluster's, with a view of two directories of the test's."""
    table = {"link./in/src": bench.uri("src"), "link./dst": bench.uri("dst")}
    values = {f"fs.viewfs.mounttable.v.{key}": value for key, value in table.items()}
    found: Configuration = bench.cluster.conf.with_values(values)
    return found


@pytest.mark.req("FS-047", "FS-158")
def test_a_copy_between_mount_points_is_one_of_their_targets(
    bench: Any, conf: Configuration
) -> None:
    bench.make("src", {"d/a": b"1", "d/b": b"22", "e": b"333"})
    bench.make("dst", {"d/old": b"4"})
    default = conf.with_values({"fs.defaultFS": "viewfs://v/"})
    outcome = distcp(
        bench.spark,
        ["viewfs://v/in/src/[d]", "/in/src/e"],
        "/dst",
        conf=default,
    )
    assert outcome.counters.files_copied == 3
    assert bench.tree("dst") == {
        "d": None,
        "d/a": b"1",
        "d/b": b"22",
        "d/old": b"4",
        "e": b"333",
    }


def test_snapshots_behind_a_mount_point_are_compared(bench: Any, conf: Configuration) -> None:
    bench.make("src", {"a": b"1"})
    assert isinstance(bench.fs, HdfsFileSystem)
    for name in ("src", "dst"):
        bench.fs.mkdirs(bench.path(name))
        bench.fs.allow_snapshot(bench.path(name))
    distcp(bench.spark, ["viewfs://v/in/src/a"], "viewfs://v/dst/a", conf=conf)
    for name in ("src", "dst"):
        bench.fs.create_snapshot(bench.path(name), "s1")
    bench.make("src", {"b": b"2"})
    bench.fs.create_snapshot(bench.path("src"), "s2")
    options = dataclasses.replace(Options(), update=True, diff=("s1", "s2"))
    distcp(bench.spark, ["viewfs://v/in/src"], "viewfs://v/dst", options=options, conf=conf)
    assert bench.tree("dst") == {"a": b"1", "b": b"2"}
    for name in ("src", "dst"):
        for snapshot in bench.fs.list_snapshots(bench.path(name)):
            bench.fs.delete_snapshot(bench.path(name), snapshot.name)
        bench.fs.disallow_snapshot(bench.path(name))


def test_compaction_report_and_check_go_behind_the_mount_point(
    bench: Any, conf: Configuration
) -> None:
    bench.make("src", {"t/a.csv": b"1\n", "t/b.csv": b"2\n"})
    found = compact(bench.spark, "viewfs://v/in/src/t", conf=conf)
    assert found.changed
    rows = namespace(bench.spark, "viewfs://v/in/src", conf=conf)
    assert rows.where("type = 'file'").count() == 1
    rows.unpersist()
    with verify(bench.spark, "viewfs://v/in/src", conf=conf) as checked:
        assert checked.sums.is_healthy


def test_the_mount_table_itself_is_no_place_for_a_job(bench: Any, conf: Configuration) -> None:
    bench.make("src", {"a": b"1"})
    with pytest.raises(errors.UnsupportedOperation, match="/in is a directory of the mount table"):
        distcp(bench.spark, ["viewfs://v/in"], bench.uri("dst"), conf=conf)
    with pytest.raises(errors.UnsupportedOperation, match="name what is in its mount points"):
        distcp(bench.spark, [bench.uri("src")], "viewfs://v/", conf=conf)
    with pytest.raises(InvalidInput, match="viewfs://v/in/src/none doesn't exist"):
        distcp(bench.spark, ["viewfs://v/in/src/none"], bench.uri("dst"), conf=conf)


def test_names_behind_views(bench: Any, conf: Configuration) -> None:
    bench.make("src", {"x*y": b"", "xzy": b""})
    assert behind_view("viewfs://v/dst/none", conf, None) == bench.uri("dst/none")
    assert behind_view(bench.uri("src"), conf, None) == bench.uri("src")
    found = sources_behind_views([r"viewfs://v/in/src/x\*y", bench.uri("src/*")], conf, None)
    assert found == (bench.uri("src/x*y"), bench.uri("src/*"))
    laid_over = conf.with_values(
        {"fs.hdfs.impl": "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"}
    )
    assert behind_view("viewfs://v/dst/a", laid_over, None) == "viewfs://v/dst/a"
