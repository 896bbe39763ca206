"""Which segments of which journals make up the log."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.namenode.state.edit_log.segment_selection import SegmentCopy, choose, first_readable


def finished(first: int, last: int, source: str = "a", *, damage: str | None = None) -> SegmentCopy:
    return SegmentCopy(source, f"{source}/edits_{first}-{last}", first, last, last, damage)


def unfinished(
    first: int, reach: int | None, source: str = "a", *, damage: str | None = None
) -> SegmentCopy:
    return SegmentCopy(source, f"{source}/edits_inprogress_{first}", first, None, reach, damage)


def chosen(copies: list[SegmentCopy], from_txid: int, to_txid: int | None = None) -> list[str]:
    """The paths that are read first."""
    parts = choose(copies, from_txid, to_txid).complete()
    return [part.copies[0].path for part in parts]


def test_a_log_is_read_from_the_segment_that_holds_the_first_needed_transaction() -> None:
    found = [finished(1, 10), finished(11, 20), unfinished(21, 25)]
    assert chosen(found, 15) == ["a/edits_11-20", "a/edits_inprogress_21"]


def test_a_log_that_ends_before_the_first_needed_transaction_has_no_segments() -> None:
    assert chosen([finished(1, 10)], 11) == []


def test_a_gap_between_segments_is_told_with_its_transactions() -> None:
    with pytest.raises(errors.CorruptEditLog, match="no transactions 11 to 14"):
        chosen([finished(1, 10), finished(15, 20)], 1)


def test_a_gap_before_the_first_segment_is_told() -> None:
    with pytest.raises(errors.CorruptEditLog, match="no transactions 1 to 4"):
        chosen([finished(5, 10)], 1)


def test_overlapping_segments_are_refused() -> None:
    with pytest.raises(errors.CorruptEditLog, match="overlap: a/edits_1-10 and b/edits_8-20"):
        chosen([finished(1, 10), finished(8, 20, "b")], 1)


def test_nothing_may_be_missing_between_an_unfinished_segment_and_what_follows_it() -> None:
    with pytest.raises(errors.CorruptEditLog, match="no transactions 6 to 7"):
        chosen([unfinished(1, 5), finished(8, 20)], 1)


def test_a_gap_in_one_journal_is_filled_by_another() -> None:
    found = [finished(1, 10), finished(21, 30), finished(11, 20, "b")]
    assert chosen(found, 1) == ["a/edits_1-10", "b/edits_11-20", "a/edits_21-30"]


def test_the_longest_copy_goes_first_and_the_others_stand_by() -> None:
    (part,) = choose([unfinished(1, 5), unfinished(1, 9, "b"), finished(1, 7, "c")], 1).complete()
    assert part.last_txid == 9
    assert [copy.source for copy in part.copies] == ["b", "c", "a"]


def test_among_equals_sound_goes_before_damaged_and_finished_before_unfinished() -> None:
    found = [
        finished(1, 9, "damaged", damage="rotten"),
        unfinished(1, 9, "unfinished"),
        finished(1, 9, "first"),
        finished(1, 9, "second"),
    ]
    (part,) = choose(found, 1).complete()
    sources = [copy.source for copy in part.copies]
    assert sources == ["first", "second", "unfinished", "damaged"]


@pytest.mark.req("LM-009")
def test_a_damaged_copy_that_reaches_further_decides_the_end() -> None:
    """A shorter one that is whole must not hide that something acknowledged is at stake."""
    (part,) = choose([finished(1, 5), unfinished(1, 9, "b", damage="rotten")], 1).complete()
    assert (part.last_txid, part.copies[0].source) == (9, "b")


def test_a_segment_without_a_record_counts_for_nothing() -> None:
    assert chosen([finished(1, 10), unfinished(11, 10)], 1) == ["a/edits_1-10"]
    assert chosen([unfinished(1, 0)], 1) == []


def test_unfinished_segments_may_be_left_out() -> None:
    found = [finished(1, 10), unfinished(11, None)]
    (part,) = choose(found, 5, unfinished=False).complete()
    assert part.last_txid == 10


def test_who_reads_to_a_transaction_needs_nothing_behind_it() -> None:
    found = [finished(1, 10), finished(11, 20), finished(31, 40)]
    assert chosen(found, 5, 20) == ["a/edits_1-10", "a/edits_11-20"]
    assert choose(found, 5, 15).parts[-1].last_txid == 15


def test_a_log_that_does_not_reach_the_durable_transaction_is_a_problem() -> None:
    with pytest.raises(errors.CorruptEditLog, match="no transactions 11 to 12"):
        chosen([finished(1, 10)], 1, 12)


def test_an_unfinished_segment_reaches_as_far_as_the_log_is_durable() -> None:
    (part,) = choose([unfinished(1, None)], 1, 7).complete()
    assert part.last_txid == 7


def test_an_unfinished_copy_that_was_dropped_reaches_no_further_than_the_others() -> None:
    dropped = unfinished(1, None, "dropped")
    parts = choose([dropped, finished(1, 10), unfinished(11, None)], 1, 15).complete()
    assert [part.last_txid for part in parts] == [10, 15]
    assert parts[0].copies[0].source == "a"
    parts = choose([dropped, unfinished(11, None)], 1, 15).complete()
    assert [part.last_txid for part in parts] == [10, 15]


def test_the_log_is_chosen_as_far_as_it_goes_and_the_problem_said() -> None:
    choice = choose([finished(1, 10), finished(15, 20)], 3)
    assert [part.last_txid for part in choice.parts] == [10]
    assert choice.problem is not None
    assert "no transactions 11 to 14" in choice.problem


def test_reading_begins_later_where_the_beginning_was_purged() -> None:
    found = [finished(11, 20), unfinished(21, None)]
    assert first_readable(found, 1, 25) == 11
    assert first_readable(found, 15, 25) == 15
    assert first_readable([finished(1, 5), *found], 1, 25) == 11
    assert first_readable(found, 26, 30) == 26
    assert first_readable(found, 1, 10) == 1


# Any journals.

ENDS = st.lists(st.integers(1, 4), min_size=1, max_size=6)


@st.composite
def journals(draw: st.DrawFn) -> tuple[int, list[SegmentCopy]]:
    """One log, cut into segments, of which three journals have each some, whole or by half.
    The last transaction of the log, and the copies."""
    copies = []
    first = 1
    for length in draw(ENDS):
        last = first + length - 1
        for source in "abc":
            match draw(st.sampled_from(["whole", "whole", "unfinished", "short", "none"])):
                case "whole":
                    copies.append(finished(first, last, source))
                case "unfinished":
                    copies.append(unfinished(first, last, source))
                case "short":
                    copies.append(unfinished(first, draw(st.integers(first - 1, last)), source))
        first = last + 1
    return first - 1, draw(st.permutations(copies))


@given(journals(), st.integers(1, 26))
def test_all_is_chosen_or_what_is_missing_is_named(
    found: tuple[int, list[SegmentCopy]], from_txid: int
) -> None:
    _, copies = found
    held = {txid for copy in copies for txid in range(copy.first_txid, (copy.reach_txid or 0) + 1)}
    wanted = {txid for txid in range(from_txid, max(held, default=0) + 1)}
    choice = choose(copies, from_txid)
    read = [
        txid
        for part in choice.parts
        for txid in range(max(from_txid, part.first_txid), part.last_txid + 1)
    ]
    assert read == sorted(set(read)), "each once, in order"
    assert set(read) <= held
    assert (choice.problem is None) == (wanted <= held)
    if choice.problem is None:
        assert set(read) == wanted
    else:
        assert f"no transactions {min(wanted - held)} to " in choice.problem


@given(journals(), st.integers(1, 26), st.integers(0, 26))
def test_what_is_chosen_to_a_transaction_ends_there(
    found: tuple[int, list[SegmentCopy]], from_txid: int, to_txid: int
) -> None:
    _, copies = found
    choice = choose(copies, from_txid, to_txid)
    read = [
        txid
        for part in choice.parts
        for txid in range(max(from_txid, part.first_txid), part.last_txid + 1)
    ]
    assert read == list(range(from_txid, from_txid + len(read)))
    assert all(txid <= to_txid for txid in read)
    assert (choice.problem is None) == (from_txid + len(read) > to_txid)
    for part in choice.parts:
        assert {copy.first_txid for copy in part.copies} == {part.first_txid}


@given(journals())
def test_the_order_in_which_copies_are_described_changes_no_end(
    found: tuple[int, list[SegmentCopy]],
) -> None:
    _, copies = found
    ends = [[part.last_txid for part in choose(some, 1).parts] for some in (copies, copies[::-1])]
    assert ends[0] == ends[1]
