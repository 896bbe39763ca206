"""The checker of histories, by histories whose verdict is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.testing.histories.linearizability import (
    Answer,
    Append,
    Call,
    Create,
    Delete,
    Operation,
    Read,
    Rename,
    State,
    check,
    perform,
)

EMPTY: State = frozenset()
OneLine = tuple[str, Call, float, float | None, Answer]


def history(*lines: OneLine) -> list[Operation]:
    return [Operation(*line) for line in lines]


def test_nothing_is_linearizable() -> None:
    assert check([])


def test_a_file_is_created_once() -> None:
    both = history(("a", Create("/x"), 0, 3, True), ("b", Create("/x"), 1, 2, True))
    assert not check(both)
    assert check([both[0], replace(both[1], answer=False)])


def test_what_was_answered_is_seen_by_whoever_asks_later() -> None:
    created = ("a", Create("/x"), 0, 1, True)
    assert not check(history(created, ("b", Read("/x"), 2, 3, None)))
    assert check(history(created, ("b", Read("/x"), 0.5, 3, None)))


def test_readers_do_not_go_back() -> None:
    stale = history(
        ("w", Create("/x"), 0, 1, True),
        ("w", Append("/x", "1"), 2, 9, True),
        ("r", Read("/x"), 3, 4, ("1",)),
        ("r", Read("/x"), 5, 6, ()),
    )
    verdict = check(stale)
    assert not verdict
    assert {operation.client for operation in verdict.stuck} >= {"r"}


def test_two_answers_of_two_namenodes_at_once_are_found() -> None:
    """The old active still answers what the new one has changed."""
    split = history(
        ("w", Create("/x"), 0, 1, True),
        ("w", Delete("/x"), 2, 3, True),
        ("r", Read("/x"), 4, 5, ()),
    )
    assert not check(split)


def test_a_call_without_an_answer_may_have_happened_late_or_never() -> None:
    created = ("a", Create("/x"), 0, None, None)
    assert check(history(created, ("b", Read("/x"), 5, 6, None)))
    assert check(history(created, ("b", Read("/x"), 5, 6, ())))
    assert check(history(created, ("b", Read("/x"), 5, 6, None), ("b", Read("/x"), 7, 8, ())))
    gone = history(created, ("b", Read("/x"), 5, 6, ()), ("b", Read("/x"), 7, 8, None))
    assert not check(gone)


def test_a_call_that_ran_twice_is_found() -> None:
    """What a retry does where no retry cache is."""
    twice = history(
        ("w", Create("/x"), 0, 1, True),
        ("w", Append("/x", "1"), 2, 9, True),
        ("r", Read("/x"), 10, 11, ("1", "1")),
    )
    assert not check(twice)


def test_a_rename_moves_the_content_and_no_other() -> None:
    begin = history(
        ("w", Create("/x"), 0, 1, True),
        ("w", Append("/x", "1"), 1, 2, True),
        ("w", Rename("/x", "/y"), 3, 6, True),
    )
    assert check([*begin, Operation("r", Read("/y"), 4, 5, ("1",))])
    assert check([*begin, Operation("r", Read("/y"), 4, 5, None)])
    assert not check([*begin, Operation("r", Read("/x"), 7, 8, ("1",))])
    both = [Operation("r", Read("/y"), 4, 4.5, ("1",)), Operation("r", Read("/x"), 5, 6, ("1",))]
    assert not check([*begin, *both])


@pytest.mark.parametrize("call", [Rename("/y", "/z"), Append("/y", "1"), Delete("/y")])
def test_what_is_not_there_is_not_changed(call: Call) -> None:
    assert perform(EMPTY, call) == (EMPTY, False)


def test_a_verdict_says_what_cannot_be() -> None:
    bad = history(("a", Create("/x"), 0, 1, True), ("b", Read("/x"), 2, 3, ("9",)))
    told = str(check(bad))
    assert "after 1 operations" in told
    assert "cannot be next" in told
    assert "'9'" in told


def test_a_long_history_of_many_clients_is_checked_at_once() -> None:
    """Each answer narrows what may be: the search is no search."""
    state, operations = EMPTY, []
    calls: list[Call] = [Create("/x"), *(Append("/x", str(n)) for n in range(600))]
    for number, call in enumerate(calls):
        state, answer = perform(state, call)
        operations.append(Operation(str(number), call, number - 5, number + 5, answer))
        operations.append(
            Operation("r", Read("/x"), number, number + 0.5, perform(state, Read("/x"))[1])
        )
    assert check(operations)


PATHS = st.sampled_from(["/x", "/y"])
CALLS: st.SearchStrategy[Call] = st.one_of(
    st.builds(Create, PATHS),
    st.builds(Rename, PATHS, PATHS),
    st.builds(Append, PATHS, st.sampled_from("12")),
    st.builds(Delete, PATHS),
    st.builds(Read, PATHS),
)
ANSWERS: st.SearchStrategy[Answer] = st.one_of(
    st.booleans(), st.none(), st.sampled_from([(), ("1",), ("2",), ("1", "2")])
)


@given(st.lists(st.tuples(CALLS, st.integers(0, 6), st.integers(0, 6), st.booleans()), max_size=30))
def test_what_one_filesystem_answered_is_accepted(
    steps: list[tuple[Call, int, int, bool]],
) -> None:
    state, operations = EMPTY, []
    for now, (call, before, after, is_answered) in enumerate(steps):
        state, answer = perform(state, call)
        end = now + after if is_answered else None
        operations.append(Operation("c", call, now - before, end, answer))
    assert check(operations)


@given(
    st.lists(
        st.builds(
            lambda call, asked, lasts, answer: Operation(
                "c", call, asked, None if lasts is None else asked + lasts, answer
            ),
            CALLS,
            st.integers(0, 5),
            st.one_of(st.none(), st.integers(0, 5)),
            ANSWERS,
        ),
        max_size=5,
    )
)
def test_verdicts_are_those_of_trying_every_order(operations: list[Operation]) -> None:
    assert bool(check(operations)) == has_order(operations)


def has_order(operations: Sequence[Operation]) -> bool:
    answered = [op for op in operations if op.answered_at is not None]
    unanswered = [op for op in operations if op.answered_at is None]
    some = chain.from_iterable(
        combinations(unanswered, count) for count in range(len(unanswered) + 1)
    )
    return any(
        explains(order) for happened in some for order in permutations([*answered, *happened])
    )


def explains(order: Sequence[Operation]) -> bool:
    state = EMPTY
    for number, operation in enumerate(order):
        if any(
            later.answered_at is not None and later.answered_at < operation.asked_at
            for later in order[number + 1 :]
        ):
            return False
        state, answer = perform(state, operation.call)
        if operation.answered_at is not None and answer != operation.answer:
            return False
    return True
