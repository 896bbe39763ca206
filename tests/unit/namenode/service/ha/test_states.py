"""The roles of a namenode, and how one becomes another."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.namenode.service.ha import states
from howdah.namenode.service.ha.states import SERVED, TRANSITIONS, HAContext, HAState
from howdah.protocol.client_methods import Category

WAYS = {
    HAState.INITIALIZING: [],
    HAState.ACTIVE: [HAState.ACTIVE],
    HAState.STANDBY: [HAState.STANDBY],
    HAState.OBSERVER: [HAState.OBSERVER],
    HAState.STOPPING: [HAState.STOPPING],
}


def in_state(state: HAState) -> HAContext:
    context = HAContext(lambda: 0)
    for step in WAYS[state]:
        context.enter(step)
    return context


@pytest.mark.parametrize(("before", "after"), list(itertools.product(HAState, HAState)))
def test_a_role_changes_as_the_table_says_and_never_otherwise(
    before: HAState, after: HAState
) -> None:
    context = in_state(before)
    if after in TRANSITIONS[before]:
        context.enter(after)
        assert context.state is after
    else:
        with pytest.raises(errors.IllegalArgument, match=f"{before.value} cannot become"):
            context.enter(after)
        assert context.state is before


@given(st.lists(st.sampled_from(HAState)))
def test_only_an_active_namenode_serves_writes(steps: list[HAState]) -> None:
    context = HAContext(lambda: 0)
    for step in steps:
        if step in TRANSITIONS[context.state]:
            context.enter(step)
        assert context.is_active == (context.state is HAState.ACTIVE)
        writes = SERVED[context.state] & {Category.WRITE, Category.JOURNAL, Category.CHECKPOINT}
        assert bool(writes) == context.is_active


def test_a_change_of_role_has_its_time_and_the_first_role_has_none() -> None:
    times = itertools.count(100)
    context = HAContext(lambda: next(times))
    context.enter(HAState.STANDBY)
    assert context.last_transition_ms == 0
    context.enter(HAState.ACTIVE)
    assert context.last_transition_ms == 100
    with pytest.raises(errors.IllegalArgument):
        context.enter(HAState.OBSERVER)
    assert context.last_transition_ms == 100


def test_nobody_comes_back_from_stopping() -> None:
    assert not TRANSITIONS[HAState.STOPPING]


def test_the_printed_table_is_the_one_that_the_code_runs_on() -> None:
    """Rows of the docstring: from, may become, serves; a row may go on in the next line."""
    assert states.__doc__ is not None
    lines = states.__doc__.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("    -----"))
    columns = [match.span() for match in re.finditer("-+", lines[start])]
    printed: dict[str, tuple[str, str]] = {}
    name = ""
    for line in itertools.takewhile(str.strip, lines[start + 1 :]):
        first, becomes, serves = (line[begin:end].strip() for begin, end in columns)
        name = first or name
        before = printed.get(name, ("", ""))
        printed[name] = (f"{before[0]} {becomes}", before[1] + serves)
    assert set(printed) == {state.value for state in HAState}
    for state in HAState:
        becomes, serves = printed[state.value]
        found = set(re.findall(r"\w+", becomes))
        assert found == {after.value for after in TRANSITIONS[state]}
        whole = {"everything": set(Category), "nothing": set()}
        wanted = whole.get(serves)
        if wanted is None:
            wanted = {Category[word] for word in serves.split(", ")}
        assert wanted == set(SERVED[state])


@pytest.mark.req("LM-016")
def test_an_active_in_doubt_refuses_with_the_reason_what_only_an_active_serves() -> None:
    context = in_state(HAState.ACTIVE)
    context.doubt("two nodes are silent")
    assert context.is_active
    assert not context.is_open
    for category in Category:
        if category is Category.UNCHECKED:
            context.check(category)
        else:
            with pytest.raises(errors.StandbyError, match="two nodes are silent"):
                context.check(category)
    context.doubt("")
    assert context.is_open
    context.doubt("two nodes are silent")
    context.enter(HAState.STANDBY)
    assert not context.is_open
    with pytest.raises(errors.StandbyError, match="in state standby"):
        context.check(Category.READ)
    context.doubt("")
    assert not context.is_open
