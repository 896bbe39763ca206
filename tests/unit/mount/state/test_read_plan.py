"""How the kernel's reads become reads of whole megabytes."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from howdah.mount.state.read_plan import (
    FIRST_STEP_BYTES,
    KEPT_BYTES,
    LONGEST_STEP_BYTES,
    REACH_BYTES,
    Extend,
    ReadAlone,
    Serve,
    Window,
)

KIB, MIB = 1 << 10, 1 << 20
REQUEST = 128 * KIB


def done(window: Window, offset: int, size: int, length: int) -> Extend | Serve | ReadAlone:
    """Plan a request, and read what it wants."""
    plan = window.plan(offset, size, length)
    if isinstance(plan, Extend):
        window.extended(plan, plan.read_bytes)
    return plan


def test_a_sequential_reading_grows_to_whole_megabytes() -> None:
    window, length = Window(), 64 * MIB
    plans = [done(window, at, REQUEST, length) for at in range(0, length, REQUEST)]
    reads = [plan.read_bytes for plan in plans if isinstance(plan, Extend)]
    assert sum(reads) == length
    assert reads[:3] == [FIRST_STEP_BYTES, 2 * FIRST_STEP_BYTES, 4 * FIRST_STEP_BYTES]
    assert reads[6:-1] == [LONGEST_STEP_BYTES] * len(reads[6:-1])
    assert not [plan for plan in plans if isinstance(plan, ReadAlone)]
    assert window.end - window.begin <= LONGEST_STEP_BYTES + KEPT_BYTES + REQUEST


def test_requests_of_one_reading_may_come_out_of_order() -> None:
    window, length = Window(), 32 * MIB
    shuffled: list[int] = []
    chance = random.Random(3)
    for at in range(0, length, 4 * REQUEST):
        four = [at + REQUEST * number for number in range(4)]
        chance.shuffle(four)
        shuffled += four
    shuffled.remove(0)
    plans = [done(window, at, REQUEST, length) for at in (0, *shuffled)]
    assert not [plan for plan in plans if isinstance(plan, ReadAlone)]


def test_a_jump_is_read_alone_and_the_next_one_behind_it_begins_a_window() -> None:
    window, length = Window(), 100 * MIB
    assert done(window, 50 * MIB, 4 * KIB, length) == ReadAlone()
    assert done(window, 20 * MIB, 4 * KIB, length) == ReadAlone()
    plan = done(window, 20 * MIB + 4 * KIB, 4 * KIB, length)
    assert plan == Extend(0, FIRST_STEP_BYTES, 20 * MIB + 4 * KIB)
    assert done(window, 20 * MIB + 8 * KIB, 4 * KIB, length) == Serve(4 * KIB)


def test_a_jump_leaves_the_window_as_it_is() -> None:
    window, length = Window(), 100 * MIB
    done(window, 0, REQUEST, length)
    assert done(window, 90 * MIB, REQUEST, length) == ReadAlone()
    assert done(window, REQUEST, REQUEST, length) == Serve(REQUEST)


def test_many_open_files_read_less_ahead() -> None:
    window, length = Window(), 64 * MIB
    for at in range(0, 8 * MIB, REQUEST):
        done(window, at, REQUEST, length)
    plan = window.plan(8 * MIB + REQUEST, REQUEST, length, FIRST_STEP_BYTES)
    while not isinstance(plan, Extend):
        at += REQUEST
        plan = window.plan(at, REQUEST, length, FIRST_STEP_BYTES)
    assert plan.read_bytes == FIRST_STEP_BYTES


def test_a_small_file_is_read_at_once() -> None:
    window = Window()
    assert done(window, 0, REQUEST, 10) == Extend(0, 10, 0)
    assert done(window, 4, REQUEST, 10) == Serve(4)


def test_nothing_is_held_after_forgetting() -> None:
    window = Window()
    done(window, 0, REQUEST, MIB)
    window.forget()
    assert done(window, 0, REQUEST, MIB) == Extend(0, FIRST_STEP_BYTES, 0)


@given(
    st.integers(1, 200_000).map(lambda units: units * 100),
    st.lists(st.tuples(st.integers(0, 1 << 24), st.integers(1, 1 << 20)), max_size=40),
)
def test_every_byte_comes_from_where_it_is_asked(
    length: int, requests: list[tuple[int, int]]
) -> None:
    """The window is where it says, and no longer than a step and what is kept."""
    window = Window()
    for offset, size in requests:
        if offset >= length:
            continue
        begin, end = window.begin, window.end
        plan = window.plan(offset, size, length)
        if isinstance(plan, Extend):
            if plan.restarts_at is None:
                assert (window.begin, window.end) == (begin, end)
                assert plan.drop_bytes <= end - begin
            else:
                assert window.begin == window.end == plan.restarts_at == offset
                assert plan.drop_bytes == 0
            assert 0 < plan.read_bytes <= length - window.end
            window.extended(plan, plan.read_bytes)
            plan = Serve(offset - window.begin)
        if isinstance(plan, Serve):
            assert plan.start == offset - window.begin >= 0
            assert min(offset + size, length) <= window.end <= length
        held = window.end - window.begin
        assert held <= KEPT_BYTES + REACH_BYTES + LONGEST_STEP_BYTES + size


def test_a_file_that_ends_early_is_served_so_far() -> None:
    window = Window()
    plan = window.plan(0, REQUEST, MIB)
    assert isinstance(plan, Extend)
    window.extended(plan, 7)
    assert (window.begin, window.end) == (0, 7)
