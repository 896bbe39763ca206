"""What the verification of a volume does next."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.datanode.state.scanners.cursor import Cursor
from howdah.datanode.state.scanners.volume_schedule import (
    MOST_RECENT,
    RECENT_MS,
    Advance,
    Rest,
    Verify,
    VolumeSchedule,
)

PERIOD_MS, SAVE_MS = 1_000_000, 60_000
WALL_MS = 1_700_000_000_000


def schedule(*pools: str, bytes_per_second: int = 1000) -> VolumeSchedule:
    made = VolumeSchedule(PERIOD_MS, bytes_per_second, SAVE_MS)
    for pool in pools:
        made.add_pool(pool, None, WALL_MS)
    return made


def end(of: VolumeSchedule, pool: str) -> None:
    of.moved(pool, replace(of.cursor(pool), at_end=True))


def test_without_a_pool_there_is_nothing_to_do() -> None:
    step = schedule().next(0, WALL_MS)
    assert isinstance(step, Rest)


def test_a_pool_that_is_done_rests_until_its_round_is_a_period_old() -> None:
    one = schedule("BP-1")
    assert isinstance(one.next(0, WALL_MS), Advance)
    end(one, "BP-1")
    assert one.next(10, WALL_MS + 10) == Rest(PERIOD_MS - 10)
    step = one.next(20, WALL_MS + PERIOD_MS)
    assert isinstance(step, Advance)
    assert step.cursor == Cursor(WALL_MS + PERIOD_MS, WALL_MS)


def test_a_clock_that_was_set_back_lets_a_pool_rest_for_a_period_at_most() -> None:
    one = schedule("BP-1")
    end(one, "BP-1")
    assert one.next(0, WALL_MS - 10 * PERIOD_MS) == Rest(PERIOD_MS)


def test_pools_have_their_turns() -> None:
    both = schedule("BP-1", "BP-2")
    first = both.next(0, WALL_MS)
    assert isinstance(first, Advance)
    assert first.pool_id == "BP-1"
    end(both, "BP-1")
    # However short the period: the other one is next.
    second = both.next(0, WALL_MS + PERIOD_MS)
    assert isinstance(second, Advance)
    assert second.pool_id == "BP-2"


def test_a_pool_that_is_removed_is_neither_verified_nor_saved() -> None:
    both = schedule("BP-1", "BP-2")
    first = both.next(0, WALL_MS)
    assert isinstance(first, Advance)
    both.suspect(first.pool_id, 1, 0)
    both.remove_pool(first.pool_id)
    both.moved(first.pool_id, replace(first.cursor, at_end=True))
    (other,) = {"BP-1", "BP-2"} - {first.pool_id}
    second = both.next(0, WALL_MS)
    assert isinstance(second, Advance)
    assert second.pool_id == other
    assert [pool for pool, _ in both.to_save(WALL_MS, stopping=True)] == [other]
    both.remove_pool(other)
    assert isinstance(both.next(0, WALL_MS), Rest)


def test_a_suspect_comes_first_and_once() -> None:
    one = schedule("BP-1")
    assert one.suspect("BP-1", 7, 0)
    assert not one.suspect("BP-1", 7, 0)
    assert one.next(0, WALL_MS) == Verify("BP-1", 7)
    assert isinstance(one.next(0, WALL_MS), Advance)
    assert not one.suspect("BP-1", 7, RECENT_MS - 1)
    assert one.suspect("BP-1", 7, RECENT_MS)


def test_a_pool_that_comes_again_has_no_suspects_from_before() -> None:
    one = schedule("BP-1")
    one.suspect("BP-1", 7, 0)
    assert one.next(0, WALL_MS) == Verify("BP-1", 7)
    one.remove_pool("BP-1")
    one.add_pool("BP-1", None, WALL_MS)
    assert one.suspect("BP-1", 7, 1)


def test_so_many_recent_suspects_are_remembered() -> None:
    one = schedule("BP-1")
    for block_id in range(MOST_RECENT + 1):
        one.suspect("BP-1", block_id, 0)
        one.next(0, WALL_MS)
    assert one.suspect("BP-1", 0, 1), "the oldest one is forgotten"
    assert not one.suspect("BP-1", 1, 1)


@given(
    st.integers(min_value=1, max_value=1 << 30),
    st.lists(
        st.tuples(
            st.integers(min_value=0, max_value=5 << 20), st.integers(min_value=0, max_value=90_000)
        ),
        min_size=1,
        max_size=30,
    ),
)
def test_no_more_is_read_than_the_limit_allows(rate: int, reads: list[tuple[int, int]]) -> None:
    one = schedule(bytes_per_second=rate)
    now_ms, total = 0.0, 0
    for count, idle_ms in reads:
        now_ms += idle_ms
        start_ms = now_ms
        pause_s = one.read(count, round(now_ms))
        assert pause_s * rate >= count - rate / 500, "each read waits for its own time"
        now_ms = start_ms + pause_s * 1000
        total += count
    assert total <= rate * now_ms / 1000 + rate / 100 + 1


def test_the_last_hour_is_counted_by_minutes() -> None:
    one = schedule()
    one.read(100, 0)
    one.read(11, 59 * 60_000)
    assert one.bytes_in_last_hour(59 * 60_000) == 111
    assert one.bytes_in_last_hour(60 * 60_000) == 11
    one.read(5, 119 * 60_000)
    assert one.bytes_in_last_hour(119 * 60_000) == 5


@pytest.mark.parametrize("passed_ms", [SAVE_MS, -1])
def test_a_place_is_saved_when_it_is_old_or_the_clock_was_set_back(passed_ms: int) -> None:
    one = schedule("BP-1")
    assert one.to_save(WALL_MS + SAVE_MS - 1) == []
    ((pool, cursor),) = one.to_save(WALL_MS + passed_ms)
    assert (pool, cursor.saved_ms) == ("BP-1", WALL_MS + passed_ms)
    assert one.to_save(WALL_MS + passed_ms) == []


def test_the_end_of_a_round_is_saved_at_once_and_once() -> None:
    one = schedule("BP-1", "BP-2")
    end(one, "BP-1")
    assert [pool for pool, _ in one.to_save(WALL_MS)] == ["BP-1"]
    assert one.to_save(WALL_MS) == []


def test_everything_is_saved_at_a_stop() -> None:
    both = schedule("BP-1", "BP-2")
    assert len(both.to_save(WALL_MS, stopping=True)) == 2


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("suspect"), st.integers(min_value=0, max_value=3)),
            st.tuples(st.just("next"), st.integers(min_value=0, max_value=PERIOD_MS // 3)),
        ),
        max_size=60,
    ),
    st.integers(min_value=0, max_value=4),
)
def test_every_round_visits_every_replica_whatever_is_suspicious(
    script: list[tuple[str, int]], replicas: int
) -> None:
    one = schedule("BP-1")
    now_ms, position, in_round, suspects = 0, 0, 0, 0
    for what, number in script:
        if what == "suspect":
            suspects += one.suspect("BP-1", number, now_ms)
            continue
        now_ms += number
        match one.next(now_ms, WALL_MS + now_ms):
            case Verify():
                suspects -= 1
            case Advance(pool_id, cursor):
                if cursor.entry is None:
                    position = in_round = 0
                if position == replicas:
                    assert in_round == replicas
                    one.moved(pool_id, replace(cursor, entry=None, at_end=True))
                else:
                    position += 1
                    in_round += 1
                    one.moved(pool_id, replace(cursor, entry=f"blk_{position}"))
            case Rest(for_ms):
                assert not suspects
                assert 0 < for_ms <= PERIOD_MS
