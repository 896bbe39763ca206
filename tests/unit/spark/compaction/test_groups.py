"""Which files of a directory are put together, and what becomes of the others: nothing."""

from __future__ import annotations

import itertools
from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

import howdah
from howdah.fs.api import FileSystem
from howdah.fs.memory import filesystem as memory
from howdah.spark.compaction.concat import join
from howdah.spark.compaction.directory_swap import Exchange, new_run
from howdah.spark.compaction.plan import MOST_KEPT, Contents, Plan, plan, small_bytes

TARGET_BYTES = 64
_numbers = itertools.count()


def planned(fs: FileSystem, target_bytes: int) -> Plan:
    """As `tree_listing` counts the files of /t/d."""
    files = fs.list_status("/t/d")
    kept = [status for status in files if status.length > small_bytes(target_bytes)]
    contents = Contents(
        "/t/d",
        len(files),
        sum(status.length for status in files),
        len(files),
        max((status.length for status in files), default=0),
        (".txt",),
        0,
        kept=len(kept),
        kept_bytes=sum(status.length for status in kept),
        kept_blocks=len(kept),
    )
    return plan(contents, target_bytes)


def lines_of(fs: FileSystem) -> Counter[bytes]:
    return Counter(
        line
        for status in fs.list_status("/t/d")
        for line in fs.open(status.path).read().splitlines()
    )


@given(lengths=st.lists(st.integers(1, 2 * TARGET_BYTES), max_size=20))
@example(lengths=[100, *[10] * 6, 33, 32])
@example(lengths=[100, 90, 10])
def test_lines_stay_and_so_do_files_that_are_long_enough(lengths: list[int]) -> None:
    name = f"groups-{next(_numbers)}"
    with howdah.connect(f"mem://{name}/") as fs:
        fs.mkdirs("/t/d")
        for number, length in enumerate(lengths):
            with fs.create(f"/t/d/{number:02}.txt") as out:
                out.write((b"%02d" % number).ljust(length - 1, b".")[: length - 1] + b"\n")
        before, old = lines_of(fs), {status.name: status for status in fs.list_status("/t/d")}
        chosen = planned(fs, TARGET_BYTES)
        if not chosen.skipped:
            exchange = Exchange(fs, "/t/d", most_bytes=chosen.most_bytes, now=lambda: 1.0)
            exchange.begin()
            run = new_run()
            share = {
                "directory": "/t/d",
                "building": exchange.building,
                "suffix": ".txt",
                "run": run,
                "shares": chosen.files_after,
                "most_bytes": chosen.most_bytes,
            }
            made = [join(fs, {**share, "number": n}) for n in range(chosen.files_after)]
            assert sum(each.files for each in made) == chosen.contents.files
            exchange.finish()
        new = {status.name: status for status in fs.list_status("/t/d")}
        stayed = {n: status for n, status in old.items() if chosen.skipped or n in new}
        assert lines_of(fs) == before
        assert all(new[n] == status for n, status in stayed.items())
        if not chosen.skipped:
            assert len(stayed) == chosen.kept
            assert len(new) == chosen.kept + chosen.files_after < len(old)
            assert all(s.length > TARGET_BYTES // 2 for s in stayed.values()) or not chosen.kept
            # At most the target size is written again for each file that is saved.
            assert chosen.contents.bytes <= chosen.files_saved * TARGET_BYTES
        assert [status.name for status in fs.list_status("/t")] == ["d"]
    memory.forget(name)


def contents(small: int, kept: int) -> Contents:
    small_total, kept_total = small * 10, kept * 1000
    return Contents(
        "/t/d",
        small + kept,
        small_total + kept_total,
        small + kept,
        1000,
        (".parquet",),
        0,
        kept=kept,
        kept_bytes=kept_total,
        kept_blocks=kept,
    )


def test_few_small_files_among_large_ones_are_put_together() -> None:
    chosen = plan(contents(5, 100), 1000)
    assert not chosen.skipped
    assert (chosen.contents.files, chosen.files_after, chosen.kept) == (5, 1, 100)
    assert (chosen.most_bytes, chosen.contents.bytes, chosen.files_saved) == (500, 50, 4)


def test_one_small_file_among_large_ones_stays() -> None:
    assert plan(contents(1, 100), 1000).skipped
    assert plan(contents(0, 100), 1000).skipped == "its files are large enough"


def test_all_rows_are_ordered_and_all_files_rewritten() -> None:
    chosen = plan(contents(5, 100), 1000, orders=True)
    assert (chosen.kept, chosen.most_bytes, chosen.contents.files) == (0, None, 105)


def test_no_more_files_stay_than_a_namenode_moves_in_one_turn() -> None:
    assert plan(contents(5000, MOST_KEPT), 1000).kept == MOST_KEPT
    assert plan(contents(5000, MOST_KEPT + 1), 1000).kept == 0
