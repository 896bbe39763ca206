"""`distcp -diff` and `-rdiff` on a cluster: the target follows, or goes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from howdah.copy.common.failures import CopyFailed
from howdah.copy.layout import InvalidInput
from howdah.copy.options import attributes
from howdah.copy.snapshots.following import SnapshotSync, SyncFailed
from howdah.spark.copy_job import job as jobs

pytestmark = pytest.mark.timeout(240)

BEFORE = {
    "same": b"1",
    "changed": b"old",
    "gone": b"2",
    "swap-a": b"a",
    "swap-b": b"b",
    "d": None,
    "d/x": b"3",
    "d/deep": None,
    "d/deep/y": b"4",
    "lost": None,
    "lost/z": b"5",
    "lost/kept": b"6",
}
AFTER = {
    "same": b"1",
    "changed": b"new",
    "swap-a": b"b",
    "swap-b": b"a",
    "lost": b"a file by now",
    "new": None,
    "new/ü\n": b"7",
    "new/d2": None,
    "new/d2/x": b"33",
    "new/d2/more": b"8",
    "y": b"4",
    "kept": b"6",
}


def change(fs: Any, top: str) -> None:
    """From the first tree to the second one."""

    def write(name: str, content: bytes) -> None:
        with fs.create(f"{top}/{name}", overwrite=True) as out:
            out.write(content)

    fs.rename(f"{top}/swap-a", f"{top}/t")
    fs.rename(f"{top}/swap-b", f"{top}/swap-a")
    fs.rename(f"{top}/t", f"{top}/swap-b")
    fs.mkdirs(f"{top}/new")
    fs.rename(f"{top}/d", f"{top}/new/d2")
    fs.rename(f"{top}/new/d2/deep/y", f"{top}/y")
    fs.delete(f"{top}/new/d2/deep")
    fs.rename(f"{top}/lost/kept", f"{top}/kept")
    fs.delete(f"{top}/lost", recursive=True)
    fs.delete(f"{top}/gone")
    for name in ("changed", "lost", "new/ü\n", "new/d2/more"):
        write(name, AFTER[name] or b"")
    with fs.append(f"{top}/new/d2/x") as out:
        out.write(b"3")


def snapshot(bench: Any, name: str, snapshot: str) -> None:
    bench.fs.allow_snapshot(bench.path(name))
    bench.fs.create_snapshot(bench.path(name), snapshot)


@pytest.fixture
def pair(bench: Any) -> Any:
    """A source that has changed since a snapshot, and a target that has the same one."""
    bench.make("src", BEFORE)
    bench.make("dst", BEFORE)
    for name in ("src", "dst"):
        snapshot(bench, name, "s1")
    change(bench.fs, bench.path("src"))
    snapshot(bench, "src", "s2")
    return bench


@pytest.fixture
def stopped_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], None]:
    """Lets a run end, as if killed, at a certain point."""

    def arrange(name: str, count: int) -> None:
        owner = SnapshotSync if hasattr(SnapshotSync, name) else jobs._Job
        original = getattr(owner, name)
        left = [count]

        def stopping(self: Any, *rest: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                monkeypatch.setattr(owner, name, original)
                raise KeyboardInterrupt
            return original(self, *rest)

        monkeypatch.setattr(owner, name, stopping)

    return arrange


def test_target_follows_from_one_snapshot_to_the_next(pair: Any) -> None:
    assert pair.tree("src") == AFTER
    # What came after the second snapshot is not copied.
    pair.make("src", {"later": b"9", "new/later": b"9"})
    outcome = pair.copy("src", "dst", update=True, diff=("s1", "s2"))
    assert pair.tree("dst") == AFTER
    # Two names are exchanged, and d is renamed with what is in it. What was in a
    # directory that was deleted is copied, as reports don't say where it is now.
    assert outcome.counters.entries_renamed == 3
    assert outcome.counters.bytes_copied < sum(len(data or b"") for data in AFTER.values())


def test_target_goes_back_to_its_snapshot(pair: Any, spark_connect: Any) -> None:
    # By Spark Connect as well.
    pair = replace(pair, spark=spark_connect)
    change(pair.fs, pair.path("dst"))
    snapshot(pair, "dst", "s2")
    pair.copy("src", "dst", update=True, reverse_diff=("s2", "s1"))
    assert pair.tree("dst") == BEFORE
    # The same with what is there now, and from its own snapshot.
    change(pair.fs, pair.path("dst"))
    pair.copy("dst", "dst", update=True, reverse_diff=(".", "s1"))
    assert pair.tree("dst") == BEFORE


@pytest.mark.parametrize("back", [False, pytest.param(True, marks=pytest.mark.torture)])
def test_stopped_run_is_gone_on_with(
    pair: Any,
    stopped_by: Callable[[str, int], None],
    monkeypatch: pytest.MonkeyPatch,
    back: bool,
) -> None:
    wanted: dict[str, Any] = {"update": True, "diff": ("s1", "s2"), "preserve": attributes("p")}
    if back:
        change(pair.fs, pair.path("dst"))
        snapshot(pair, "dst", "s2")
        wanted = {**wanted, "diff": None, "reverse_diff": ("s2", "s1")}
    # In the first phase of moving, in the second one, before copying, and after it.
    # (Moves of one depth are made at the same time, so of those that are left some are made.)
    for point, after in (
        ("_rename", 4),
        ("_rename", 0),
        ("_copy", 0),
        ("_preserve_directories", 0),
    ):
        stopped_by(point, after)
        with pytest.raises(KeyboardInterrupt):
            pair.copy("src", "dst", **wanted)
    # The driver gets no path of what is to be copied, of which there may be very many.
    monkeypatch.delattr(type(pair.spark.range(1)), "toLocalIterator")
    outcome = pair.copy("src", "dst", **wanted)
    assert pair.tree("dst") == (BEFORE if back else AFTER)
    assert "stopped" in outcome.notes[0]


def test_stopped_run_is_not_gone_on_with_if_somebody_has_changed_the_target(
    pair: Any, stopped_by: Callable[[str, int], None]
) -> None:
    stopped_by("_rename", 5)
    with pytest.raises(KeyboardInterrupt):
        pair.copy("src", "dst", update=True, diff=("s1", "s2"))
    pair.make("dst", {"mine": b"1"})
    with pytest.raises(SyncFailed, match=r"modified since snapshot s1: \+ mine\. Undo that"):
        pair.copy("src", "dst", update=True, diff=("s1", "s2"))
    # What it says helps.
    pair.copy("dst", "dst", update=True, reverse_diff=(".", "s1"))
    pair.copy("src", "dst", update=True, diff=("s1", "s2"))
    assert pair.tree("dst") == AFTER


def test_run_that_fails_says_how_to_go_on(pair: Any) -> None:
    pair.fs.set_quota(pair.path(""), space_bytes=10)
    with pytest.raises(CopyFailed, match=r"(?s)quota.*The same command goes on from there"):
        pair.copy("src", "dst", update=True, diff=("s1", "s2"))
    pair.fs.set_quota(pair.path(""), space_bytes=None)
    pair.copy("src", "dst", update=True, diff=("s1", "s2"))
    assert pair.tree("dst") == AFTER


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"diff": ("s0", "s2")}, SyncFailed, "Cannot compare .*dst with its snapshot s0"),
        ({"diff": ("s1", "s0")}, InvalidInput, "Input snapshot is not found: .*/s0"),
        ({"diff": ("s1", ".")}, SyncFailed, "dst has been modified since snapshot s1: M same"),
        ({"reverse_diff": ("s1", ".")}, SyncFailed, "cannot be the directory as it is now"),
        ({"reverse_diff": (".", ".")}, SyncFailed, "cannot be the directory as it is now"),
        ({"reverse_diff": (".", "s3")}, InvalidInput, "not found: .*/src/.snapshot/s3"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_changed(
    pair: Any, options: dict[str, Any], error: type[Exception], says: str
) -> None:
    snapshot(pair, "dst", "s3")
    pair.fs.set_permission(pair.path("dst/same"), 0o600)
    before = pair.fs.snapshot_diff(pair.path("dst"), "s1").entries
    with pytest.raises(error, match=says):
        pair.copy("src", "dst", update=True, **options)
    assert pair.fs.snapshot_diff(pair.path("dst"), "s1").entries == before


def test_sides_without_snapshots_are_refused(pair: Any, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    for sources, target, says in (
        (["src", "dst"], "dst", "2 source paths are provided"),
        (["src"], "new", "new is not there as a directory"),
        (["src"], f"file://{tmp_path}/d", "Unsupported target file system: file://"),
        ([f"file://{tmp_path}/d"], "dst", "Unsupported source file system: file://"),
        (["src/same"], "dst", "not a directory"),
    ):
        with pytest.raises(SyncFailed, match=says):
            pair.copy(sources, target, update=True, diff=("s1", "s2"))


def test_target_that_is_not_what_the_source_was_is_found_out_before_it_is_changed(
    pair: Any,
) -> None:
    pair.make("other", {"same": b"1"})
    snapshot(pair, "other", "s1")
    with pytest.raises(SyncFailed, match="does not exist, though it was in snapshot s1"):
        pair.copy("src", "other", update=True, diff=("s1", "s2"))
    assert pair.tree("other") == {"same": b"1"}


def test_attributes_follow_and_filters_hold(pair: Any, tmp_path: Path) -> None:
    src = pair.path("src")
    pair.fs.set_permission(f"{src}/same", 0o600)
    pair.fs.set_permission(f"{src}/new", 0o711)
    pair.fs.set_permission(src, 0o700)
    snapshot(pair, "src", "s3")
    filters = tmp_path / "filters"
    filters.write_text(".*/new/d2(/.*)?\n.*/gone\n")
    pair.copy(
        "src",
        "dst",
        update=True,
        diff=("s1", "s3"),
        preserve=attributes("p"),
        update_root=True,
        filters_file=str(filters),
    )
    left = {name: data for name, data in AFTER.items() if not name.startswith("new/d2")}
    assert pair.tree("dst") == {**left, "gone": b"2"}
    modes = {"same": 0o600, "new": 0o711, "": 0o700}
    for name, mode in modes.items():
        assert pair.fs.get_file_status(f"{pair.path('dst')}/{name}").permission == mode


def test_command_says_what_it_would_do_and_does_it(
    pair: Any, run_cli: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    pair.make("src2", {"a": b"1", "b": b"2"})
    pair.make("dst2", {"a": b"1", "b": b"2"})
    for name in ("src2", "dst2"):
        snapshot(pair, name, "s1")
    pair.fs.rename(pair.path("src2/a"), pair.path("src2/c"))
    pair.fs.delete(pair.path("src2/b"))
    pair.make("src2", {"d": b"3"})
    snapshot(pair, "src2", "s2")
    words = ("-update", "-diff", "s1", "s2", pair.uri("src2"), pair.uri("dst2"))
    before = pair.tree("dst2")
    assert run_cli("--dry-run", *words) == 0
    src, dst = pair.uri("src2/.snapshot/s2"), pair.uri("dst2")
    assert capsys.readouterr().out.splitlines()[:3] == [
        f"delete {dst}/b (not in the second snapshot)",
        f"rename {dst}/a --> {dst}/c",
        f"copy {src}/d --> {dst}/d (not at the target)",
    ]
    assert pair.tree("dst2") == before
    assert run_cli(*words) == 0
    assert "Entries Deleted=1\n\t\tEntries Renamed=1\n" in capsys.readouterr().out
    assert pair.tree("dst2") == {"c": b"1", "d": b"3"}
    # The target has changed since s1 by now.
    assert run_cli(*words) == 25
    assert "has been modified since snapshot s1" in capsys.readouterr().err
