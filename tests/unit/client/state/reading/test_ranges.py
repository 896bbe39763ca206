"""Which reads a vectored read comes down to."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.client.state.reading.ranges import DEFAULT_RULES, MergedRead, MergeRules, merge
from howdah.options import FileRange, check_ranges

RULES = MergeRules(min_seek_bytes=10, max_merged_bytes=100)


@st.composite
def disjoint(draw: st.DrawFn) -> list[FileRange]:
    at, ranges = 0, []
    for gap, length in draw(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 120)))):
        ranges.append(FileRange(at + gap, length))
        at += gap + length
    return draw(st.permutations(ranges))


rules = st.builds(MergeRules, st.integers(0, 40), st.integers(0, 300))


def test_the_defaults_are_those_of_hadoop() -> None:
    assert MergeRules(4096, 1 << 20) == DEFAULT_RULES


def test_ranges_with_a_small_gap_are_read_together() -> None:
    assert merge([FileRange(0, 10), FileRange(19, 10)], RULES) == [MergedRead(0, 29, (0, 1))]


def test_a_gap_of_the_minimum_is_skipped() -> None:
    assert len(merge([FileRange(0, 10), FileRange(20, 10)], RULES)) == 2


def test_nothing_is_merged_beyond_the_limit() -> None:
    ranges = [FileRange(start, 40) for start in range(0, 200, 40)]
    assert [read.length for read in merge(ranges, RULES)] == [80, 80, 40]


def test_a_limit_of_zero_merges_nothing() -> None:
    ranges = [FileRange(0, 1), FileRange(1, 1)]
    assert len(merge(ranges, MergeRules(10, 0))) == 2


def test_empty_range_overlaps_none_that_begins_where_it_is() -> None:
    for ranges in itertools.permutations([FileRange(5, 0), FileRange(5, 3), FileRange(5, 0)]):
        check_ranges(ranges)


@given(disjoint(), rules)
def test_every_range_is_served_once_by_a_read_that_holds_it(
    ranges: list[FileRange], limits: MergeRules
) -> None:
    check_ranges(ranges)
    reads = merge(ranges, limits)
    served = sorted(part for read in reads for part in read.parts)
    assert served == [index for index, each in enumerate(ranges) if each.length]
    for read in reads:
        for part in read.parts:
            assert read.offset <= ranges[part].offset
            assert ranges[part].end <= read.end


@given(disjoint(), rules)
def test_reads_are_in_order_disjoint_and_within_the_limit(
    ranges: list[FileRange], limits: MergeRules
) -> None:
    reads = merge(ranges, limits)
    for before, after in itertools.pairwise(reads):
        assert before.end <= after.offset
    for read in reads:
        assert len(read.parts) == 1 or read.length <= limits.max_merged_bytes


@given(disjoint(), rules)
def test_what_could_be_merged_is_merged_and_no_gap_is_too_wide(
    ranges: list[FileRange], limits: MergeRules
) -> None:
    reads = merge(ranges, limits)
    for before, after in itertools.pairwise(reads):
        first = ranges[after.parts[0]]
        close = first.offset - before.end < limits.min_seek_bytes
        fits = first.end - before.offset <= limits.max_merged_bytes
        assert not (close and fits)
    for read in reads:
        parts = [ranges[part] for part in read.parts]
        for one, other in itertools.pairwise(parts):
            assert other.offset - one.end < limits.min_seek_bytes


@pytest.mark.parametrize("bad", [FileRange(-1, 5), FileRange(0, -1)])
def test_a_negative_number_is_refused(bad: FileRange) -> None:
    with pytest.raises(ValueError, match="range"):
        check_ranges([bad])


def test_ranges_that_overlap_are_refused_as_an_illegal_argument() -> None:
    with pytest.raises(ValueError, match="overlap"):
        check_ranges([FileRange(5, 10), FileRange(0, 6)])


def test_a_range_behind_the_end_is_an_end_of_file_error() -> None:
    with pytest.raises(EOFError):
        check_ranges([FileRange(5, 6)], file_length=10)
    check_ranges([FileRange(5, 5)], file_length=10)
