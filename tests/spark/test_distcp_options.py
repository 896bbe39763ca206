"""The options of `distcp`, on a cluster."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

from howdah.cli.dfs import main as dfs
from howdah.copy.layout import InvalidInput
from howdah.copy.listing.entries import Entry, Kind
from howdah.copy.options import Options, attributes
from howdah.copy.preserving import preserve
from howdah.spark import distcp
from howdah.testing import MiniCluster

pytestmark = pytest.mark.timeout(240)

KIB = 1024


def statuses(bench: Any, name: str, *paths: str) -> list[tuple[Any, ...]]:
    """What `-p` preserves of paths below a name."""
    found = []
    for path in paths:
        status = bench.fs.get_file_status(f"{bench.path(name)}/{path}".rstrip("/"))
        found.append(
            (
                path,
                status.permission,
                status.owner,
                status.group,
                status.replication,
                status.block_size,
                status.modification_time_ms,
                bench.fs.get_xattrs(status.path),
                bench.fs.get_acl_status(status.path).all_entries() if status.has_acl else None,
            )
        )
    return found


def test_everything_is_preserved_of_files_and_directories(bench: Any) -> None:
    from howdah.fs.acl import parse_acl

    fs, src = bench.fs, bench.path("src")
    bench.make("src", {"d": None, "d/closed": None, "empty": b""})
    with fs.create(f"{src}/d/closed/f", replication=2, block_size=1 << 20) as out:
        out.write(b"content")
    fs.set_xattr(f"{src}/d/closed/f", "user.mark", b"x")
    fs.set_acl(f"{src}/d", parse_acl("user::rwx,user:bob:r-x,group::---,other::---"))
    for path, mode in (("d/closed/f", 0o640), ("d/closed", 0o055), ("empty", 0o1777), ("", 0o700)):
        fs.set_permission(f"{src}/{path}".rstrip("/"), mode)
        fs.set_owner(f"{src}/{path}".rstrip("/"), "anna", "staff")
        fs.set_times(f"{src}/{path}".rstrip("/"), 1_000_000_000_000 + mode)
    every = ("d/closed/f", "d/closed", "d", "empty", "")
    bench.copy("src", "dst", preserve=attributes("rbugpcaxt"))
    assert statuses(bench, "dst", *every) == statuses(bench, "src", *every)


def test_files_that_are_left_out_get_their_attributes_all_the_same(bench: Any) -> None:
    bench.make("src", {"a": b"1"})
    bench.copy("src", "dst")
    bench.fs.set_permission(bench.path("src/a"), 0o600)
    outcome = bench.copy("src", "dst", update=True, preserve=attributes("p"))
    assert outcome.counters.files_skipped == 1
    assert bench.fs.get_file_status(bench.path("dst/a")).permission == 0o600


def test_owner_preserves_what_is_said_of_a_file_that_he_may_not_write(
    howdah_cluster: MiniCluster, bench: Any
) -> None:
    bench.make("", {"src": None, "dst": None})
    for name in ("src", "dst"):
        bench.fs.set_owner(bench.path(name), "ute")
    source, dst = bench.path("src/a"), bench.path("dst/a")
    with howdah_cluster.connect(user="ute") as fs:
        fs.write_bytes(source, b"1")
        fs.set_xattr(source, "user.note", b"kept")
        fs.set_times(source, 5000, 6000)
        fs.set_permission(source, 0o444)
        status = fs.get_file_status(source)
        fs.write_bytes(dst, b"1")
        preserve(fs, Entry.of(Kind.FILE, 0, status, b"a", None), fs, dst, attributes("rbugpaxt"))
        found = fs.get_file_status(dst)
        assert (found.permission, found.modification_time_ms) == (0o444, 5000)
        assert fs.get_xattrs(dst) == {"user.note": b"kept"}
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HADOOP_USER_NAME", "ute")
            to = howdah_cluster.uri + bench.path("dst/b")
            done = dfs(["-cp", "-ptpx", howdah_cluster.uri + source, to], howdah_cluster.conf)
        assert done == 0
        found = fs.get_file_status(bench.path("dst/b"))
        assert (found.permission, found.modification_time_ms) == (0o444, 5000)
        assert fs.get_xattrs(bench.path("dst/b")) == {"user.note": b"kept"}


def test_update_root_gives_the_target_the_attributes_of_the_source(bench: Any) -> None:
    bench.make("src", {"a": b"1"})
    bench.make("dst", {})
    bench.fs.set_permission(bench.path("src"), 0o711)
    bench.copy("src", "dst", update=True, preserve=attributes("p"))
    assert bench.fs.get_file_status(bench.path("dst")).permission == 0o755
    bench.copy("src", "dst", update=True, preserve=attributes("p"), update_root=True)
    assert bench.fs.get_file_status(bench.path("dst")).permission == 0o711


def test_delete_removes_what_only_the_target_has(bench: Any) -> None:
    bench.make("src", {"a": b"1", "d/x": b"2"})
    bench.make("dst", {"a": b"1", "d/y": b"3", "gone/deep/z": b"4", "w": b"5"})
    outcome = bench.copy("src", "dst", update=True, delete=True)
    assert bench.tree("dst") == {"a": b"1", "d": None, "d/x": b"2"}
    assert outcome.counters.entries_deleted == 3


def test_delete_with_several_sources_keeps_what_any_of_them_has(bench: Any) -> None:
    bench.make("", {"x/only-x": b"1", "y/only-y": b"2", "f": b"3"})
    bench.make("dst", {"only-x": b"1", "only-y": b"2", "f": b"3", "none": b"4"})
    bench.copy(["x", "y", "f"], "dst", update=True, delete=True)
    assert bench.tree("dst") == {"only-x": b"1", "only-y": b"2", "f": b"3"}


def test_delete_keeps_what_one_of_several_sources_could_not_list(bench: Any) -> None:
    bench.make("", {"x/only-x": b"1", "y/only-y": b"2"})
    bench.make("dst", {"only-x": b"1", "only-y": b"2", "none": b"4"})
    bench.fs.set_owner(bench.path("dst"), "anna")
    bench.fs.set_permission(bench.path("x"), 0o700)
    distcp(
        bench.spark,
        [bench.uri("x"), bench.uri("y")],
        bench.uri("dst"),
        options=Options(update=True, delete=True, ignore_failures=True),
        conf=bench.cluster.conf,
        user="anna",
    )
    assert bench.tree("dst") == {"only-x": b"1", "only-y": b"2", "none": b"4"}


def test_missing_is_written_down_where_it_is_tracked(bench: Any) -> None:
    bench.make("src", {"a": b"1"})
    bench.make("dst", {"a": b"1", "extra\n": b"22"})
    bench.copy("src", "dst", update=True, track_path=bench.uri("track"))
    lines = b"".join(v or b"" for v in bench.tree("track").values()).decode().splitlines()
    assert [(line["path"], line["length"]) for line in map(json.loads, lines)] == [
        (bench.uri("dst/extra\n"), 2)
    ]


def test_filters_leave_out_and_protect_what_they_match(bench: Any, tmp_path: Path) -> None:
    bench.make("src", {"a": b"1", "b.tmp": b"2", "d.tmp/x": b"3"})
    bench.make("dst", {"c.tmp": b"4", "e": b"5"})
    filters = tmp_path / "filters"
    filters.write_text(".*\\.tmp\n.*/_SUCCESS\n")
    bench.copy("src", "dst", update=True, delete=True, filters_file=str(filters))
    assert bench.tree("dst") == {"a": b"1", "c.tmp": b"4", "d.tmp": None, "d.tmp/x": b"3"}


@pytest.mark.parametrize("sources", [["src"], ["other", "src"]])
def test_what_lies_below_a_filtered_directory_is_not_deleted(
    bench: Any, tmp_path: Path, sources: list[str]
) -> None:
    bench.make("src", {"a": b"1", "d/x": b"2"})
    bench.make("other", {"o": b"3"})
    bench.make("dst", {"a": b"1", "d/x": b"2", "d/extra": b"4"})
    filters = tmp_path / "filters"
    filters.write_text(".*/src/d\n")
    bench.copy(sources, "dst", update=True, delete=True, filters_file=str(filters))
    others = {} if len(sources) == 1 else {"o": b"3"}
    assert bench.tree("dst") == {"a": b"1", "d": None, "d/x": b"2", **others}


def test_sources_may_stand_in_a_file(bench: Any) -> None:
    bench.make("", {"x/a": b"1", "y": b"2"})
    listing = f"{bench.uri('x')}\n\n{bench.path('y')}\n"
    bench.make("", {"list": listing.encode()})
    bench.copy([], "dst", source_listing=bench.uri("list"))
    assert bench.tree("dst") == {"x": None, "x/a": b"1", "y": b"2"}


@pytest.mark.parametrize("tree", [{"a": b"1", "d/b": b"2"}, {}])
def test_atomic_copy_appears_as_a_whole(bench: Any, tree: dict[str, bytes]) -> None:
    bench.make("src", tree)
    bench.copy("src", "new/dst", atomic=True, preserve=attributes("t"))
    assert {k: v for k, v in bench.tree("new/dst").items() if v is not None} == tree
    assert [status.name for status in bench.fs.list_status(bench.path("new"))] == ["dst"]
    with pytest.raises(InvalidInput, match="already exists"):
        bench.copy("src", "new/dst", atomic=True)


def test_large_file_is_copied_in_parts_and_joined(bench: Any) -> None:
    content = bytes(range(251)) * 20 * KIB
    with bench.fs.create(bench.path("big"), block_size=1 << 20) as out:
        out.write(content)
    outcome = bench.copy("big", "dst", blocks_per_chunk=2)
    with bench.fs.open(bench.path("dst")) as stream:
        assert stream.read() == content
    status = bench.fs.get_file_status(bench.path("dst"))
    assert (status.length, status.block_size) == (len(content), 1 << 20)
    assert outcome.counters.files_copied == 1
    assert outcome.counters.bytes_copied == len(content)
    assert [s.name for s in bench.fs.list_status(bench.path(""))] == ["big", "dst"]


def test_append_adds_what_is_new(bench: Any) -> None:
    bench.make("src", {"log": b"one", "other": b"abc"})
    bench.make("dst", {"log": b"one", "other": b"XY"})
    with bench.fs.append(bench.path("src/log")) as out:
        out.write(b"two")
    outcome = bench.copy("src", "dst", update=True, append=True)
    assert bench.tree("dst") == {"log": b"onetwo", "other": b"abc"}
    assert outcome.counters.bytes_copied == len(b"two") + len(b"abc")


def test_log_says_what_was_skipped_and_why(bench: Any) -> None:
    bench.make("src", {"a": b"1", "b": b"22"})
    bench.make("dst", {"a": b"1"})
    bench.copy("src", "dst", update=True, log_path=bench.uri("log"), verbose=True)
    log = b"".join(v or b"" for v in bench.tree("log").values()).decode().splitlines()
    src, dst = bench.uri("src"), bench.uri("dst")
    assert sorted(log) == [
        f"FILE_COPIED: source={src}/b, size=2 --> target={dst}/b (not at the target; verified by "
        "COMPOSITE-CRC32C)",
        f"FILE_SKIPPED: source={src}/a, size=1 --> target={dst}/a, size=1 (checksums are equal)",
        f"SKIP: {src}/a",
    ]


def test_dry_run_says_what_would_be_done_and_does_nothing(bench: Any) -> None:
    from howdah.spark import Options, distcp

    bench.make("src", {"a": b"1", "b": b"22", "d": None})
    before = {"a": b"1", "c": b"3"}
    bench.make("dst", before)
    said: list[str] = []
    outcome = distcp(
        bench.spark,
        bench.uri("src"),
        bench.uri("dst"),
        options=Options(update=True, delete=True, dry_run=True),
        conf=bench.cluster.conf,
        tell=said.append,
    )
    src, dst = bench.uri("src"), bench.uri("dst")
    assert sorted(said) == [
        f"copy {src}/b --> {dst}/b (not at the target)",
        f"delete {dst}/c (not at the source)",
        f"mkdir {src}/d --> {dst}/d",
        f"skip {src}/a --> {dst}/a (checksums are equal)",
    ]
    assert bench.tree("dst") == before
    assert outcome.counters.files_copied == 1


def test_local_files_are_copied_to_the_cluster_and_back(bench: Any, tmp_path: Path) -> None:
    (tmp_path / "in" / "d").mkdir(parents=True)
    (tmp_path / "in" / "d" / "50% \nü").write_bytes(b"x" * 1000)
    bench.copy(f"file://{tmp_path}/in", "dst", preserve=attributes("t"))
    outcome = bench.copy("dst", f"file://{tmp_path}/out", direct=True)
    assert (tmp_path / "out" / "d" / "50% \nü").read_bytes() == b"x" * 1000
    assert outcome.counters.files_copied == 1
    # No checksums in common, so times decide.
    again = bench.copy(f"file://{tmp_path}/in", "dst", update=True)
    assert again.counters.skipped_by_time == 1


def test_many_directories_are_listed_in_rounds_and_by_threads(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from howdah.copy.listing import walking

    tree = {f"d{i}/e{j}/f": b"x" for i in range(4) for j in range(3)}
    bench.make("src", tree)
    parameters = inspect.signature(walking.Walk).parameters.values()
    defaults = {each.name: each.default for each in parameters if each.default is not each.empty}
    defaults["most_entries"] = 5
    monkeypatch.setattr(walking.Walk.__init__, "__defaults__", tuple(defaults.values()))
    outcome = bench.copy("src", "dst", list_threads=3)
    assert {k: v for k, v in bench.tree("dst").items() if v is not None} == tree
    assert outcome.listed.rounds > 1
    assert outcome.listed.files == 12


def test_bandwidth_is_kept_below_a_limit(bench: Any) -> None:
    bench.make("src", {"a": b"x" * 100 * KIB})
    outcome = bench.copy("src", "dst", bandwidth_mb=0.1)
    assert 0 < outcome.counters.sleep_time_ms <= 1000


def test_dynamic_strategy_copies_the_same(bench: Any) -> None:
    from howdah.copy.options import Strategy

    tree = {f"f{i}": b"x" * i for i in range(60)}
    bench.make("src", tree)
    bench.copy("src", "dst", strategy=Strategy.DYNAMIC, max_maps=2)
    assert bench.tree("dst") == tree


def test_files_that_fsspec_opens_are_copied_to_the_cluster_and_back(
    bench: Any, tmp_path: Path
) -> None:
    tree = {"d/a b": b"1", "c%20": b"22"}
    bench.make("src", tree)
    bench.copy("src", f"local://{tmp_path}/out")
    assert (tmp_path / "out" / "d" / "a b").read_bytes() == b"1"
    again = bench.copy("src", f"local://{tmp_path}/out", update=True)
    assert again.counters.files_skipped == 2
    bench.copy(f"local://{tmp_path}/out", "back")
    assert {k: v for k, v in bench.tree("back").items() if v is not None} == tree
