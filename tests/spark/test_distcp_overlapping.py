"""Copies that meet: two at once, and what others do to a copy while it works.

One job at a time changes a target. What is done to its files all the same, or to its
source, is found before anything is committed, counted as copied, or deleted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from howdah.copy.common.failures import CopyFailed
from howdah.copy.common.staging import WORK_PREFIX, is_staging
from howdah.copy.locks.files import TreeLocked
from howdah.copy.locks.tree_lock import LockLost, is_lock, locked, places_of
from howdah.copy.options import attributes
from howdah.spark.copy_job import job as jobs

pytestmark = pytest.mark.timeout(240)

BLOCK = 1 << 20
LARGE = b"x" * (2 * BLOCK + 5)
TREE = {"a": LARGE, "d/b": b"y" * 300, "empty": b""}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "atomic": {"atomic": True},
    "parts": {"blocks_per_chunk": 1},
    "mirror": {"update": True, "delete": True},
}


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[..., object]], None]:
    """Does something right before a step of the first copy that comes to it."""

    def arrange(step: str, action: Callable[..., object]) -> None:
        original = getattr(jobs._Job, step)

        def stepped(self: Any, *rest: Any) -> Any:
            monkeypatch.setattr(jobs._Job, step, original)
            action(self)
            return original(self, *rest)

        monkeypatch.setattr(jobs._Job, step, stepped)

    return arrange


def make_blocks(bench: Any, tree: dict[str, bytes]) -> None:
    """Files of small blocks, so that they have parts."""
    for name, content in tree.items():
        with bench.fs.create(bench.path(f"src/{name}"), overwrite=True, block_size=BLOCK) as out:
            out.write(content)


def files(tree: dict[str, Any]) -> dict[str, bytes]:
    return {name: content for name, content in tree.items() if content is not None}


def debris(bench: Any) -> list[str]:
    """What no job was to leave."""
    found = []
    for _, directories, some in bench.fs.walk(bench.path("")):
        for status in (*directories, *some):
            if is_staging(status.name) or is_lock(status.name) or WORK_PREFIX in status.name:
                found.append(status.path)
    return found


@pytest.mark.parametrize("how", OPTIONS)
def test_second_copy_at_once_is_told_of_the_first(bench: Any, before: Any, how: str) -> None:
    make_blocks(bench, TREE)
    told: list[str] = []

    def start_another(_: Any) -> None:
        with pytest.raises(TreeLocked) as raised:
            bench.copy("src", "dst", **OPTIONS[how])
        told.append(str(raised.value))

    before("_copy", start_another)
    outcome = bench.copy("src", "dst", **OPTIONS[how])
    assert "is held by distcp of " in told[0]
    assert files(bench.tree("dst")) == TREE
    assert outcome.counters.files_copied == len(TREE)
    assert debris(bench) == []


def test_copy_into_a_tree_that_another_job_has_is_refused(bench: Any) -> None:
    bench.make("src", {"a": b"1"})
    with locked(bench.fs, bench.path("dst"), "compact"):
        for target in ("dst", "dst/below"):
            with pytest.raises(TreeLocked, match="held by compact of"):
                bench.copy("src", target)
        # A dry run changes nothing.
        bench.copy("src", "dst", dry_run=True)
    assert debris(bench) == []


def test_copy_that_comes_across_the_lock_of_a_tree_below_is_refused(bench: Any) -> None:
    bench.make("src", {"d/a": b"1"})
    bench.make("dst", {"d/b": b"2"})
    with (
        locked(bench.fs, bench.path("dst/d"), "compact"),
        pytest.raises(CopyFailed, match=r"dst/\.howdah\.lock\.d is held by compact of"),
    ):
        bench.copy("src", "dst", update=True, delete=True)
    assert bench.tree("dst")["d/b"] == b"2"


def test_locks_and_staging_directories_of_others_are_not_copied(bench: Any) -> None:
    bench.make("src", {"a": b"1", ".distcp.tmp.0123456789abcdef/run/half": b"2"})
    with locked(bench.fs, bench.path("src/d"), "compact"):
        bench.copy("src", "dst")
    assert bench.tree("dst") == {"a": b"1"}


def test_times_of_the_target_are_kept_wherever_the_lock_is(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.make("src", {"a": b"1"})
    bench.make("dst", {})
    bench.fs.set_times(bench.path("src"), 1_000_000_000_000)
    # As one who may not write to the directory above.
    from howdah.copy.locks import tree_lock

    monkeypatch.setattr(tree_lock, "places_of", lambda tree: places_of(tree)[1:])
    bench.copy("src", "dst", update=True, update_root=True, preserve=attributes("t"))
    assert bench.fs.get_file_status(bench.path("dst")).modification_time_ms == 1_000_000_000_000


@pytest.mark.parametrize("how", ["atomic", "mirror"])
def test_copy_that_has_lost_its_lock_commits_and_deletes_nothing(
    bench: Any, before: Any, how: str
) -> None:
    bench.make("src", {"a": b"1"})
    if how == "mirror":
        bench.make("dst", {"b": b"2"})
    step = {"atomic": "_commit", "mirror": "_missing"}[how]
    before(step, lambda job: bench.fs.delete(job._lock.path))
    with pytest.raises(LockLost):
        bench.copy("src", "dst", **OPTIONS[how])
    if how == "mirror":
        assert bench.tree("dst")["b"] == b"2"
    else:
        assert not bench.fs.exists(bench.path("dst"))


# --- atomic -------------------------------------------------------------------------------


def test_atomic_copy_is_not_committed_by_halves(bench: Any, before: Any) -> None:
    bench.make("src", TREE)

    before("_commit", lambda job: bench.fs.delete(f"{job._path}/a"))
    with pytest.raises(CopyFailed, match="nothing is committed"):
        bench.copy("src", "dst", atomic=True)
    assert not bench.fs.exists(bench.path("dst"))
    bench.copy("src", "dst", atomic=True)
    assert files(bench.tree("dst")) == TREE
    assert debris(bench) == []


# --- parts --------------------------------------------------------------------------------


@pytest.mark.parametrize(("lost", "ignores"), [("all", True), ("one", False)])
def test_parts_that_vanish_fail_the_copy(bench: Any, before: Any, lost: str, ignores: bool) -> None:
    make_blocks(bench, {"a": LARGE, "small": b"1"})

    def lose(job: Any) -> None:
        (chunks,) = [s.path for s in bench.fs.list_status(job._staging.own) if "chunks" in s.name]
        gone = chunks if lost == "all" else bench.fs.list_status(chunks)[1].path
        bench.fs.delete(gone, recursive=True)

    before("_join", lose)
    with pytest.raises(CopyFailed, match=r"arts of .*/dst/a are"):
        bench.copy("src", "dst", blocks_per_chunk=1, ignore_failures=ignores)
    assert "a" not in bench.tree("dst")


def test_file_of_which_a_part_cannot_be_read_is_not_counted_as_copied(
    bench: Any, before: Any
) -> None:
    make_blocks(bench, {"a": LARGE, "b": LARGE, "small": b"1"})
    before("_copy", lambda _: bench.fs.delete(bench.path("src/a")))
    outcome = bench.copy("src", "dst", blocks_per_chunk=1, ignore_failures=True)
    assert sorted(bench.tree("dst")) == ["b", "small"]
    assert (outcome.counters.files_copied, outcome.counters.files_failed) == (2, 1)
    assert outcome.counters.bytes_failed == len(LARGE)


def test_parts_that_are_left_out_need_not_be_there(bench: Any) -> None:
    make_blocks(bench, {"a": LARGE})
    for options in ({}, {"overwrite": True}):
        bench.copy("src", "dst", blocks_per_chunk=1, **options)
    outcome = bench.copy("src", "dst", blocks_per_chunk=1, update=True)
    assert (outcome.counters.files_copied, outcome.counters.files_skipped) == (0, 1)
    assert bench.tree("dst")["a"] == LARGE


# --- a source that goes -------------------------------------------------------------------


@pytest.mark.parametrize(("when", "ignores"), [("_list", True), ("_missing", False)])
def test_root_that_is_gone_fails_the_copy_and_deletes_nothing(
    bench: Any, before: Any, when: str, ignores: bool
) -> None:
    bench.make("src", {"a": b"1"})
    bench.make("dst", {"a": b"1", "b": b"2"})
    before(when, lambda _: bench.fs.rename(bench.path("src"), bench.path("away")))
    with pytest.raises(CopyFailed, match="/src is gone"):
        bench.copy("src", "dst", update=True, delete=True, ignore_failures=ignores)
    assert bench.tree("dst") == {"a": b"1", "b": b"2"}


def test_root_that_was_replaced_deletes_nothing(bench: Any, before: Any) -> None:
    bench.make("src", {"a": b"1"})
    bench.make("dst", {"a": b"1", "b": b"2"})

    def replace(_: Any) -> None:
        bench.fs.rename(bench.path("src"), bench.path("away"))
        bench.make("src", {})

    before("_missing", replace)
    with pytest.raises(CopyFailed, match="/src was replaced"):
        bench.copy("src", "dst", update=True, delete=True)
    assert bench.tree("dst") == {"a": b"1", "b": b"2"}
