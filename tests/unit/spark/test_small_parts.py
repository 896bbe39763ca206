"""Staging names, shares, throttles, counters: the small pieces of a copy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import howdah
from howdah.spark.common.gauge import LINE_BYTES, Amount, Gauge, last_of, line_of
from howdah.spark.common.progress import reported
from howdah.spark.common.staging import Staging, is_staging, key_of
from howdah.spark.copy.copier import BandwidthLimit
from howdah.spark.copy.counters import Counters
from howdah.spark.copy.options import Options, Strategy
from howdah.spark.copy_job.partitions import assign_largest_first, part_count
from howdah.spark.listing.entries import Entry, Kind, batches, entries
from howdah.spark.listing.rounds import Totals
from howdah.spark.listing.tree import signed

NAMES = st.binary(min_size=1, max_size=6)


def test_same_copy_finds_its_staging_directory_again() -> None:
    first = Staging.of("/dst", False, key_of(["/a", "/b"], "/dst"), "run1")
    second = Staging.of("/dst", False, key_of(["/b", "/a"], "/dst"), "run2")
    assert first.directory == second.directory
    assert first.own != second.own


def test_other_copies_have_other_staging_directories() -> None:
    assert key_of(["/a", "/b"], "/dst") != key_of(["/a"], "/dst")
    assert key_of(["/a"], "/dst") != key_of(["/a"], "/dst2")


@pytest.mark.parametrize(
    ("target", "is_file", "parent"),
    [("/t/d", False, "/t/d"), ("/t/f", True, "/t"), ("/f", True, ""), ("/", False, "")],
)
def test_staging_lies_in_the_target_or_beside_a_file(
    target: str, is_file: bool, parent: str
) -> None:
    directory = Staging.of(target, is_file, "0123456789abcdef", "run").directory
    assert directory == f"{parent}/.distcp.tmp.0123456789abcdef"
    assert is_staging(directory.rpartition("/")[2])


def test_attempts_at_a_task_do_not_meet() -> None:
    staging = Staging.of("/t", False, "k", "r")
    assert len({staging.file(p, a, n) for p in (0, 1) for a in (0, 1) for n in (0, 1)}) == 8


@given(st.lists(st.integers(0, 100), max_size=30), st.integers(1, 5))
def test_shares_differ_by_no_more_than_one_file(lengths: list[int], parts: int) -> None:
    sums = [0] * parts
    for length, part in zip(lengths, assign_largest_first(lengths, parts), strict=True):
        sums[part] += length
    assert max(sums) - min(sums) <= max(lengths, default=0)


@given(st.integers(0, 10**6), st.integers(0, 10**5), st.integers(0, 1 << 45), st.integers(1, 50))
def test_there_are_never_more_tasks_than_asked_for(
    files: int, directories: int, size: int, maps: int
) -> None:
    totals = Totals(files=files, directories=directories, bytes=size)
    assert 1 <= part_count(totals, Options(max_maps=maps)) <= maps
    dynamic = Options(max_maps=maps, strategy=Strategy.DYNAMIC)
    assert part_count(totals, dynamic) >= part_count(totals, Options(max_maps=maps))


def test_throttle_waits_for_what_was_moved_too_early() -> None:
    now_s, slept = [0.0], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now_s[0] += seconds

    limit = BandwidthLimit(100, clock=lambda: now_s[0], sleep=sleep)
    limit.moved(50)
    now_s[0] += 1.0
    limit.moved(100)
    assert slept == [0.5]
    assert limit.slept_s == 0.5


def test_no_limit_is_no_waiting() -> None:
    def sleep(_: float) -> None:
        raise AssertionError

    BandwidthLimit(None, sleep=sleep).moved(1 << 40)


def test_counters_add_up_and_print_as_hadoops() -> None:
    total = Counters(files_copied=2, bytes_copied=10) + Counters(files_copied=1)
    assert list(total.lines()) == [
        "\tDistCp Counters",
        "\t\tBytes Copied=10",
        "\t\tFiles Copied=3",
    ]


def test_sum_over_no_task_is_zero() -> None:
    assert Counters.of({"files_copied": None}) == Counters()


@given(st.lists(st.tuples(NAMES, NAMES, st.integers(0, 1 << 50)), max_size=5))
def test_row_with_any_name_survives_arrow(rows: list[tuple[bytes, bytes, int]]) -> None:
    given = [Entry(Kind.FILE, 0, b"/" + a, b"/" + b, length=n) for a, b, n in rows]
    assert [entry for batch in batches(given) for entry in entries(batch)] == given


def test_progress_is_told_by_the_last_whole_line() -> None:
    lines = line_of(Amount(1, 5)) + line_of(Amount(3, 1 << 40))
    assert len(lines) == 2 * LINE_BYTES
    assert last_of(lines + b"   4") == Amount(3, 1 << 40)
    assert last_of(b"  4") == last_of(b"") == Amount()


def test_task_tells_where_somebody_looks_and_nowhere_else() -> None:
    now_s = [0.0]
    fs = howdah.connect("mem://gauge/")
    fs.mkdirs("/progress")
    gauge = Gauge(fs, "/progress", "00001-7", clock=lambda: now_s[0])
    for count in (10, 20, 30):
        gauge.add(1, count)
        now_s[0] += 0.6
    assert reported(fs, "/progress") == Amount(3, 60)
    assert [status.name for status in fs.list_status("/progress")] == ["00001-7"]
    # The job has ended; a task that Spark runs once more leaves nothing behind.
    fs.delete("/progress", recursive=True)
    now_s[0] += 2.0
    gauge.add(1, 1)
    gauge.close()
    assert list(fs.list_status("/")) == []


def test_of_attempts_at_one_task_the_farther_one_counts() -> None:
    fs = howdah.connect("mem://told/")
    for name, done in (("00000-1", (5, 50)), ("00000-9", (2, 20)), ("00001-2", (1, 1))):
        with fs.create(f"/progress/{name}") as out:
            out.write(line_of(Amount(0, 0)) + line_of(Amount(*done)))
    with fs.create("/progress/stray") as out:
        out.write(b"no numbers\n")
    fs.mkdirs("/progress/a directory")
    assert reported(fs, "/progress") == Amount(6, 51)


def test_times_before_1970_are_listed_with_their_sign() -> None:
    assert [signed(each) for each in (0, 5, (1 << 64) - 5)] == [0, 5, -5]
