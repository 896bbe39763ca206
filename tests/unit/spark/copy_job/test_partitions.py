"""How many tasks there are, and which files each gets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from howdah.copy.listing.entries import Totals
from howdah.copy.options import Options, Strategy
from howdah.spark.copy_job.partitions import assign_largest_first, part_count


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
