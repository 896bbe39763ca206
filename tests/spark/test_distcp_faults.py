"""`distcp` when something goes wrong: the outcome is right, or the error says what it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from howdah.copy.common.failures import CopyFailed, ReadFailed
from howdah.copy.common.staging import key_of
from howdah.copy.layout import InvalidInput
from howdah.copy.outcome import ListingChanged
from howdah.copy.results import summed
from howdah.spark import Options, distcp
from howdah.spark.copy_job import job as jobs

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def after_listing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Does something when all is listed and nothing copied yet."""

    def arrange(action: Callable[[], object]) -> None:
        original = jobs._Job._copy

        def copy(self: Any, *rest: Any) -> Any:
            action()
            return original(self, *rest)

        monkeypatch.setattr(jobs._Job, "_copy", copy)

    return arrange


def names(bench: Any) -> list[str]:
    return [status.name for status in bench.fs.list_status(bench.path(""))]


@pytest.mark.req("OS-065")
def test_file_that_is_deleted_after_it_was_listed_is_said(
    bench: Any, after_listing: Callable[[Callable[[], object]], None]
) -> None:
    bench.make("src", {"a": b"1", "b": b"2"})
    after_listing(lambda: bench.fs.delete(bench.path("src/b")))
    with pytest.raises(ReadFailed) as raised:
        bench.copy("src", "dst")
    assert bench.uri("src/b") in str(raised.value)
    assert bench.uri("dst/b") in str(raised.value)
    bench.make("src", {"b": b"2"})
    # Without the file the rest is copied, and the failure is counted.
    outcome = bench.copy("src", "dst2", ignore_failures=True)
    assert bench.tree("dst2") == {"a": b"1"}
    assert (outcome.counters.files_copied, outcome.counters.files_failed) == (1, 1)
    assert names(bench) == ["dst", "dst2", "src"]


def test_file_that_changes_after_it_was_listed_is_copied_as_it_is(
    bench: Any, after_listing: Callable[[Callable[[], object]], None]
) -> None:
    bench.make("src", {"a": b"old"})
    after_listing(lambda: bench.make("src", {"a": b"newer"}))
    outcome = bench.copy("src", "dst")
    assert bench.tree("dst") == {"a": b"newer"}
    assert outcome.counters.files_retried == 1


@pytest.mark.parametrize("reading", [True, False])
def test_forbidden_path_is_named(bench: Any, reading: bool) -> None:
    bench.make("src", {"a": b"1"})
    bench.make("dst", {})
    bench.fs.set_permission(bench.path("src/a"), 0o600 if reading else 0o644)
    if reading:
        bench.fs.set_permission(bench.path("dst"), 0o777)
    with pytest.raises(ReadFailed if reading else CopyFailed) as raised:
        distcp(
            bench.spark,
            bench.uri("src"),
            bench.uri("dst"),
            options=Options(update=True),
            conf=bench.cluster.conf,
            user="eve",
        )
    assert "Permission denied: user=eve" in str(raised.value)
    assert bench.tree("dst") == {}


@pytest.mark.req("OS-061")
def test_full_target_fails_the_copy_and_keeps_what_was_there(bench: Any) -> None:
    bench.make("src", {"a": b"x" * 2048})
    bench.make("dst", {"a": b"old"})
    bench.fs.set_quota(bench.path("dst"), space_bytes=100)
    with pytest.raises(CopyFailed, match=r"(?i)quota"):
        bench.copy("src", "dst", update=True)
    bench.fs.set_quota(bench.path("dst"), space_bytes=None)
    assert bench.tree("dst") == {"a": b"old"}


def test_next_run_removes_what_a_killed_one_left(bench: Any) -> None:
    bench.make("src", {"a": b"1"})
    key = key_of([bench.uri("src")], bench.uri("dst"))
    debris = {f".distcp.tmp.{key}/run/00000-0-1": b"half", "b": b"2"}
    bench.make("dst", debris)
    bench.copy("src", "dst", update=True)
    assert bench.tree("dst") == {"a": b"1", "b": b"2"}


def test_next_atomic_run_begins_anew(bench: Any) -> None:
    bench.make("src", {"a": b"1"})
    key = key_of([bench.uri("src")], bench.uri("dst"))
    for old in (key, f"{key}.0123456789ab"):
        bench.make(f"._WIP_dst.{old}", {"stale": b"0"})
    bench.copy("src", "dst", atomic=True)
    assert bench.tree("dst") == {"a": b"1"}
    assert names(bench) == ["dst", "src"]


def test_file_system_that_executors_cannot_reach_is_refused(bench: Any) -> None:
    from howdah.errors import UnsupportedOperation

    bench.make("src", {"a": b"1"})
    with pytest.raises(UnsupportedOperation, match="memory of one process"):
        bench.copy("src", "mem://x/dst")


def test_what_executors_held_that_are_lost_is_not_listed_again(
    bench: Any, after_listing: Callable[[Callable[[], object]], None]
) -> None:
    tree = {f"d{number}/f": b"1" for number in range(9)}
    bench.make("src", tree)
    bench.make("dst", {"d0/old": b"2"})

    def lose() -> None:
        """As when executors die over a busy source."""
        bench.make("src", {"new": b"2"})
        bench.fs.create(bench.path("src/d1/new")).close()
        bench.spark.catalog.clearCache()

    after_listing(lose)
    outcome = bench.copy("src", "dst", update=True, delete=True, direct=True)
    assert {k: v for k, v in bench.tree("dst").items() if v is not None} == tree
    assert outcome.counters.files_copied == len(tree)
    assert names(bench) == ["dst", "src"]


def test_rows_that_are_not_those_that_were_listed_are_said(
    bench: Any, after_listing: Callable[[Callable[[], object]], None]
) -> None:
    bench.make("src", {"a": b"1"})
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(jobs, "summed", lambda rows: (summed(rows)[0], 7))
        with pytest.raises(ListingChanged, match="Copy again, with -update"):
            bench.copy("src", "dst")


def test_first_failure_is_told_and_how_many_there_are(
    bench: Any, after_listing: Callable[[Callable[[], object]], None]
) -> None:
    bench.make("src", {f"{number}": b"x" for number in range(60)})
    after_listing(lambda: bench.fs.delete(bench.path("src"), recursive=True))
    with pytest.raises(ReadFailed) as raised:
        bench.copy("src", "dst", max_maps=2)
    assert "File copy failed: " in str(raised.value)
    assert bench.uri("src/") in str(raised.value)
    assert "Traceback" not in str(raised.value)


def test_many_sources_are_looked_up_and_listed_by_many(bench: Any) -> None:
    bench.make("src", {f"d{number:02}/f": b"x" for number in range(12)})
    sources = [f"src/d{number:02}" for number in range(12)]
    outcome = bench.copy(sources, "dst")
    assert bench.tree("dst") == bench.tree("src")
    assert (outcome.listed.files, outcome.listed.directories) == (12, 12)
    with pytest.raises(InvalidInput, match="src/none doesn't exist"):
        bench.copy([*sources, "src/none"], "dst")
