"""How the kernel's reads become those of one stream that reads on."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from howdah.mount.state.read_plan import MOST_HELD, REACH_BYTES, Plan, ReadAlone, Reading, ReadOn

KIB, MIB = 1 << 10, 1 << 20
REQUEST = 128 * KIB


def done(reading: Reading, offset: int, size: int) -> Plan:
    """Plan a request, and read what it wants."""
    plan = reading.plan(offset, size)
    if isinstance(plan, ReadOn):
        if plan.moves_to is not None:
            reading.moved(plan.moves_to)
        if plan.held_bytes < size:
            reading.held_on(plan.early_bytes)
            reading.read_on(size - plan.held_bytes)
    return plan


def test_a_reading_in_order_holds_nothing() -> None:
    reading = Reading()
    plans = [done(reading, at, REQUEST) for at in range(0, 64 * MIB, REQUEST)]
    assert plans == [ReadOn(moves_to=0)] + [ReadOn()] * 511
    assert not reading.held


def test_requests_of_one_reading_may_come_out_of_order() -> None:
    reading, length = Reading(), 32 * MIB
    shuffled: list[int] = []
    chance = random.Random(3)
    for at in range(0, length, 4 * REQUEST):
        four = [at + REQUEST * number for number in range(4)]
        chance.shuffle(four)
        shuffled += four
    shuffled.remove(0)
    plans = [done(reading, at, REQUEST) for at in (0, *shuffled)]
    assert not [plan for plan in plans if isinstance(plan, ReadAlone)]
    assert reading.place == length
    assert reading.held


def test_a_jump_is_read_alone_and_the_stream_goes_to_the_next_one_behind_it() -> None:
    reading = Reading()
    assert done(reading, 50 * MIB, 4 * KIB) == ReadAlone()
    assert done(reading, 20 * MIB, 4 * KIB) == ReadAlone()
    assert done(reading, 20 * MIB + 4 * KIB, 4 * KIB) == ReadOn(moves_to=20 * MIB + 4 * KIB)
    assert done(reading, 20 * MIB + 8 * KIB, 4 * KIB) == ReadOn()


def test_a_jump_leaves_the_stream_where_it_is() -> None:
    reading = Reading()
    done(reading, 0, REQUEST)
    assert done(reading, 90 * MIB, REQUEST) == ReadAlone()
    assert done(reading, REQUEST, REQUEST) == ReadOn()


def test_what_was_given_away_is_read_again_alone() -> None:
    reading = Reading()
    done(reading, 0, REQUEST)
    assert done(reading, 4 * KIB, KIB) == ReadAlone()


def test_what_is_held_serves_the_beginning_of_a_request() -> None:
    reading = Reading()
    done(reading, 0, REQUEST)
    assert done(reading, 2 * REQUEST, REQUEST) == ReadOn(early_bytes=REQUEST)
    assert reading.held == [(REQUEST, 2 * REQUEST)]
    assert done(reading, REQUEST, REQUEST) == ReadOn(held_bytes=REQUEST)
    assert done(reading, REQUEST, 2 * REQUEST) == ReadAlone()
    reading = Reading()
    done(reading, 0, REQUEST)
    reading.held_on(REQUEST)
    assert done(reading, REQUEST, 3 * REQUEST) == ReadOn(held_bytes=REQUEST)
    assert reading.place == 4 * REQUEST


def test_nothing_is_held_after_forgetting() -> None:
    reading = Reading()
    done(reading, 0, REQUEST)
    done(reading, 2 * REQUEST, REQUEST)
    reading.forget()
    assert not reading.held
    assert done(reading, 0, REQUEST) == ReadOn(moves_to=0)


def test_many_open_files_hold_less() -> None:
    reading = Reading()
    done(reading, 0, REQUEST)
    assert reading.plan(3 * REQUEST, REQUEST, REQUEST) == ReadAlone()
    assert reading.plan(2 * REQUEST, REQUEST, REQUEST) == ReadOn(early_bytes=REQUEST)


requests = st.lists(
    st.tuples(st.integers(0, 1 << 24), st.integers(1, 1 << 20)), max_size=40
) | st.lists(
    st.tuples(st.integers(0, 64).map(lambda number: number * REQUEST), st.just(REQUEST)),
    max_size=40,
)


@given(requests)
def test_every_byte_comes_from_where_it_is_asked(asked: list[tuple[int, int]]) -> None:
    """What is taken from memory is held, what is read from the stream is where the stream is, and
    little is held."""
    reading = Reading()
    for offset, size in asked:
        held = [byte for begin, end in reading.held for byte in (begin, end)]
        assert held == sorted(held)
        plan = reading.plan(offset, size)
        if isinstance(plan, ReadAlone):
            continue
        assert 0 <= plan.held_bytes <= size
        parts = [
            (max(begin, offset), min(end, offset + plan.held_bytes)) for begin, end in reading.held
        ]
        assert sum(max(end - begin, 0) for begin, end in parts) == plan.held_bytes
        if plan.moves_to is not None:
            reading.moved(plan.moves_to)
        if plan.held_bytes < size:
            assert offset + plan.held_bytes == reading.place + plan.early_bytes
            reading.held_on(plan.early_bytes)
            reading.read_on(size - plan.held_bytes)
        assert sum(end - begin for begin, end in reading.held) <= MOST_HELD * REACH_BYTES
