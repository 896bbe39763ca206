"""Hot blocks: how reads are counted, what they earn, and what becomes of it in the plan."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.namenode.state.caching.adaptive import SLACK, SLICE, Adaptive, Heat, Wish, replicas_for

pytestmark = pytest.mark.req("LM-026")

HALF_LIFE_MS = 1000
SHARE = 10
"""Reads for a replica."""


def planned(
    adaptive: Adaptive,
    wishes: Mapping[int, Wish],
    now_ms: int,
    *,
    most: int = 9,
    room_bytes: Mapping[str, int] | None = None,
) -> dict[int, int]:
    slices = adaptive.plan(wishes, lambda _: most, room_bytes or {"p": 1 << 40}, now_ms)
    while True:
        try:
            next(slices)
        except StopIteration as end:
            found: dict[int, int] = end.value
            return found


def read(adaptive: Adaptive, block_id: int, times: int, now_ms: int = 0) -> None:
    for _ in range(times):
        adaptive.heat.read(block_id, now_ms)


def one(replication: int = 1, length_bytes: int = 100) -> dict[int, Wish]:
    return {1: Wish(replication, length_bytes, "p")}


def test_half_of_the_reads_are_forgotten_in_each_half_life() -> None:
    heat = Heat(HALF_LIFE_MS)
    for _ in range(8):
        heat.read(1, 0)
    assert [heat.of(1, ms) for ms in (0, 1000, 2000, 3000)] == [8, 4, 2, 1]
    assert heat.of(2, 0) == 0


@given(at=st.lists(st.integers(0, 20_000), max_size=30).map(sorted), later=st.integers(0, 20_000))
def test_reads_at_any_times_add_up(at: list[int], later: int) -> None:
    heat = Heat(HALF_LIFE_MS)
    for ms in at:
        heat.read(1, ms)
    now_ms = max(at, default=0) + later
    expected = sum(0.5 ** ((now_ms - ms) / HALF_LIFE_MS) for ms in at)
    assert heat.of(1, now_ms) == pytest.approx(expected)


# A share of less than the least number is nothing: 5e-324 / 10 == 0.0.
@given(heat=st.floats(0, 1e6, allow_subnormal=False), before=st.integers(0, 100))
def test_a_replica_is_earned_by_a_whole_share_and_lost_below_half_a_share(
    heat: float, before: int
) -> None:
    now = replicas_for(heat, SHARE, before)
    assert now * SHARE >= heat
    if now > before:
        assert heat > (now - 1) * SHARE
    elif now < before:
        assert now * SHARE >= heat * SLACK
    assert replicas_for(heat, SHARE, now) == now, "the same heat changes nothing more"


@given(
    heats=st.dictionaries(st.integers(0, 20), st.integers(0, 60)),
    wishes=st.dictionaries(
        st.integers(0, 20),
        st.builds(Wish, st.integers(1, 4), st.integers(0, 300), st.sampled_from("pq")),
    ),
    room=st.fixed_dictionaries({"p": st.integers(-500, 3000)}),
    most=st.integers(0, 6),
    rounds=st.integers(1, 3),
)
def test_what_is_granted_fits(
    heats: dict[int, int], wishes: dict[int, Wish], room: dict[str, int], most: int, rounds: int
) -> None:
    """The pools' limits, the datanodes with a replica, and what the heat has earned."""
    adaptive = Adaptive(HALF_LIFE_MS, SHARE)
    for block_id, count in heats.items():
        read(adaptive, block_id, count)
    for number in range(rounds):
        extra = planned(adaptive, wishes, number * 700, most=most, room_bytes=room)
        taken = dict.fromkeys("pq", 0)
        for block_id, more in extra.items():
            wish = wishes[block_id]
            assert more > 0
            assert wish.replication + more <= most
            assert (wish.replication + more - 1) * SHARE < heats[block_id]
            taken[wish.pool] += more * wish.length_bytes
        assert all(taken[pool] <= max(room.get(pool, 0), 0) for pool in "pq")
        assert set(adaptive.heat.blocks()) <= wishes.keys()


def test_a_block_gets_more_replicas_as_it_is_read_and_loses_them_as_it_cools() -> None:
    adaptive = Adaptive(HALF_LIFE_MS, SHARE)
    read(adaptive, 1, 35)
    assert planned(adaptive, one(), 0) == {1: 3}
    assert planned(adaptive, one(), 1000) == {1: 3}  # 17.5 reads: less than four shares.
    assert planned(adaptive, one(), 2000) == {1: 1}
    assert planned(adaptive, one(), 4000) == {}
    assert len(adaptive.heat) == 1
    planned(adaptive, one(), 20_000)
    assert len(adaptive.heat) == 0


def test_what_directives_ask_for_is_no_extra() -> None:
    adaptive = Adaptive(HALF_LIFE_MS, SHARE)
    read(adaptive, 1, 30)
    assert planned(adaptive, one(replication=3), 0) == {}


def test_the_hottest_come_first_when_a_pool_has_little_left() -> None:
    adaptive = Adaptive(HALF_LIFE_MS, SHARE)
    wishes = {block_id: Wish(1, 100, "p") for block_id in (1, 2, 3)}
    for block_id, count in ((1, 12), (2, 30), (3, 13)):
        read(adaptive, block_id, count)
    assert planned(adaptive, wishes, 0, room_bytes={"p": 399}) == {2: 2, 3: 1}


def test_who_has_an_extra_replica_keeps_it_from_one_that_is_hardly_hotter() -> None:
    adaptive = Adaptive(HALF_LIFE_MS, SHARE)
    wishes = {block_id: Wish(1, 100, "p") for block_id in (1, 2)}
    read(adaptive, 2, 12)
    assert planned(adaptive, wishes, 0, room_bytes={"p": 100}) == {2: 1}
    read(adaptive, 1, 15)
    assert planned(adaptive, wishes, 0, room_bytes={"p": 100}) == {2: 1}
    read(adaptive, 1, 15)
    assert planned(adaptive, wishes, 0, room_bytes={"p": 100}) == {1: 1}


def test_many_hot_blocks_are_looked_at_in_slices() -> None:
    adaptive = Adaptive(HALF_LIFE_MS, SHARE)
    for block_id in range(3 * SLICE):
        read(adaptive, block_id, 1)
    slices = adaptive.plan({}, lambda _: 1, {}, 0)
    assert sum(1 for _ in slices) == 3


def test_heat_is_counted_anew_after_a_change_of_role() -> None:
    adaptive = Adaptive(HALF_LIFE_MS, SHARE)
    read(adaptive, 1, 30)
    planned(adaptive, one(), 0)
    adaptive.start_over()
    assert (adaptive.extra, planned(adaptive, one(), 0)) == ({}, {})
