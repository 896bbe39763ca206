"""Where lists, filters, logs and trees of a copy may be, and who may copy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.copy.common.failures import CopyFailed
from howdah.copy.options import attributes
from howdah.spark import Options, Outcome, distcp
from howdah.testing.trees import make_tree, read_tree

pytestmark = pytest.mark.timeout(240)


def test_lists_filters_and_logs_may_be_on_another_filesystem(bench: Any, tmp_path: Path) -> None:
    bench.make("src", {"a": b"1", "b.tmp": b"2"})
    bench.make("dst", {"src/a": b"1", "src/extra": b"3"})
    (tmp_path / "list").write_text(f"{bench.uri('src')}\n")
    (tmp_path / "filters").write_text(".*[.]tmp\n")
    bench.copy(
        [],
        "dst/src",
        update=True,
        source_listing=f"file://{tmp_path}/list",
        filters_file=f"file://{tmp_path}/filters",
        log_path=f"file://{tmp_path}/log",
        track_path=f"file://{tmp_path}/track",
    )
    assert bench.tree("dst/src") == {"a": b"1", "extra": b"3"}
    log = "".join(path.read_text() for path in (tmp_path / "log").glob("part-*"))
    assert log == f"SKIP: {bench.uri('src/a')}\n"
    tracked = "".join(path.read_text() for path in (tmp_path / "track").glob("missing-*"))
    assert [json.loads(line)["path"] for line in tracked.splitlines()] == [
        bench.uri("dst/src/extra")
    ]


def test_paths_without_a_scheme_are_of_the_default_filesystem_and_the_home_directory(
    bench: Any,
) -> None:
    home = f"{bench.fs.home_directory()}/distcp-places"
    make_tree(bench.fs, home, {"src/a": b"1", "list": b"distcp-places/src\n"})

    def copy(sources: str | list[str], target: str, **options: Any) -> Outcome:
        conf = bench.cluster.conf
        return distcp(bench.spark, sources, target, options=Options(**options), conf=conf)

    copy("distcp-places/src", "distcp-places/one", log_path="distcp-places/log")
    copy([], f"{home}/two", source_listing="distcp-places/list")
    copy(f"{home}/src/a", "distcp-places/three", atomic=True)
    found = read_tree(bench.fs, home)
    assert [found[name] for name in ("one/a", "two/a", "three")] == [b"1"] * 3
    assert "log" in found
    bench.fs.delete(home, recursive=True)


@pytest.mark.parametrize(
    ("closed", "mode", "message"),
    [
        ("src/d/secret", 0o600, "Cannot read hdfs:.*/src/d/secret: Permission denied: user=bob"),
        ("src/d", 0o700, "Cannot list .*/src/d: Permission denied: user=bob"),
        ("dst", 0o755, "Permission denied: user=bob, access=WRITE, inode=.*/dst"),
    ],
)
def test_who_may_not_copy_is_told_where(bench: Any, closed: str, mode: int, message: str) -> None:
    bench.make("src", {"d/secret": b"1"})
    bench.make("dst", {})
    bench.fs.set_permission(bench.path("dst"), 0o777)
    bench.fs.set_permission(bench.path(closed), mode)
    with pytest.raises((CopyFailed, errors.AccessDenied), match=message):
        distcp(
            bench.spark,
            bench.uri("src"),
            bench.uri("dst"),
            options=Options(update=True),
            conf=bench.cluster.conf,
            user="bob",
        )
    assert bench.tree("dst") in ({}, {"d": None})


def test_owner_is_preserved_by_who_may_give_files_away_alone(bench: Any) -> None:
    bench.make("src", {"a": b"1"})
    bench.make("dst", {})
    bench.fs.set_permission(bench.path("dst"), 0o777)
    sources = (bench.uri("src"), bench.uri("dst"))
    given = {"conf": bench.cluster.conf, "user": "bob"}
    with pytest.raises(CopyFailed, match=r"/src/a --> .*: AccessDenied: "):
        distcp(
            bench.spark, *sources, options=Options(update=True, preserve=attributes("u")), **given
        )
    assert bench.tree("dst") == {}
    distcp(bench.spark, *sources, options=Options(update=True), **given)
    assert bench.fs.get_file_status(bench.path("dst/a")).owner == "bob"
