"""How the kernel's reads become those of one stream that reads on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from howdah.mount.state.read_plan import Plan, Reading

KIB, MIB = 1 << 10, 1 << 20
REQUEST = 128 * KIB


def done(reading: Reading, offset: int, size: int) -> Plan:
    """Plan a request, and read what it wants."""
    plan = reading.plan(offset, size)
    if plan is not Plan.READ_ALONE:
        reading.read_on(offset, size)
    return plan


def test_a_file_is_read_on_from_its_beginning() -> None:
    reading = Reading()
    plans = [done(reading, at, REQUEST) for at in range(0, 4 * MIB, REQUEST)]
    assert plans == [Plan.MOVE] + [Plan.READ_ON] * 31


def test_a_jump_is_read_alone_and_the_stream_goes_to_the_next_one_behind_it() -> None:
    reading = Reading()
    assert done(reading, 50 * MIB, 4 * KIB) is Plan.READ_ALONE
    assert done(reading, 20 * MIB, 4 * KIB) is Plan.READ_ALONE
    assert done(reading, 20 * MIB + 4 * KIB, 4 * KIB) is Plan.MOVE
    assert done(reading, 20 * MIB + 8 * KIB, 4 * KIB) is Plan.READ_ON


def test_a_jump_leaves_the_stream_where_it_is() -> None:
    reading = Reading()
    done(reading, 0, REQUEST)
    assert done(reading, 90 * MIB, REQUEST) is Plan.READ_ALONE
    assert done(reading, REQUEST, REQUEST) is Plan.READ_ON
    assert done(reading, 0, REQUEST) is Plan.READ_ALONE


def test_a_file_that_ends_early_is_read_on_where_it_ended() -> None:
    reading = Reading()
    assert reading.plan(0, REQUEST) is Plan.MOVE
    reading.read_on(0, 7)
    assert reading.plan(7, REQUEST) is Plan.READ_ON


def test_after_forgetting_it_begins_anew() -> None:
    reading = Reading()
    done(reading, 0, REQUEST)
    reading.forget()
    assert done(reading, REQUEST, REQUEST) is Plan.READ_ALONE
    assert done(reading, 0, REQUEST) is Plan.MOVE


@given(
    st.lists(st.tuples(st.integers(0, 64).map(lambda number: number * REQUEST), st.just(REQUEST)))
)
def test_the_stream_reads_on_only_where_it_is(asked: list[tuple[int, int]]) -> None:
    reading = Reading()
    place = None
    for offset, size in asked:
        plan = done(reading, offset, size)
        if plan is Plan.READ_ON:
            assert offset == place
        if plan is not Plan.READ_ALONE:
            place = offset + size
        assert reading.place == place
