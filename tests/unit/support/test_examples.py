from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from tests.support.examples import set_examples

LIMIT_S = 1200.0


class Item:
    """What is asked of one of pytest's."""

    def __init__(self, obj: Any, *markers: pytest.MarkDecorator, cls: type | None = None) -> None:
        self.obj, self.cls = obj, cls
        self.markers = [marker.mark for marker in markers]

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next((mark for mark in self.markers if mark.name == name), None)

    def add_marker(self, marker: pytest.MarkDecorator, append: bool = True) -> None:
        self.markers.insert(len(self.markers) if append else 0, marker.mark)


def set_of(*items: Item, limit_s: float | None = None) -> None:
    set_examples(cast("list[pytest.Item]", items), limit_s)


def tried(stated: int, limit_s: float | None, *markers: pytest.MarkDecorator) -> int:
    """How many examples a property is tried with, of which so many are stated."""
    calls = []

    @settings(max_examples=stated, database=None)
    @given(st.integers())
    def holds(number: int) -> None:
        calls.append(number)

    item = Item(holds, *markers)
    # As items of one function with parameters are several.
    set_of(item, item, limit_s=limit_s)
    holds()
    return len(calls)


@pytest.mark.parametrize(("stated", "wanted"), [(3, 3), (20, 20), (30, 20), (100, 40)])
def test_a_short_run_tries_some_of_the_examples(stated: int, wanted: int) -> None:
    assert tried(stated, None) == wanted


def test_a_long_run_tries_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOWDAH_TORTURE", raising=False)
    assert tried(50, LIMIT_S) == 200
    monkeypatch.setenv("HOWDAH_TORTURE", "2")
    assert tried(50, LIMIT_S) == 400


@pytest.mark.parametrize("limit_s", [None, LIMIT_S])
def test_a_property_that_is_long_itself_keeps_its_number(limit_s: float | None) -> None:
    assert tried(50, limit_s, pytest.mark.torture) == 50


def test_a_property_is_part_of_a_long_run_with_its_limit() -> None:
    @given(st.integers())
    def holds(number: int) -> None:
        pass

    item, other = Item(holds, pytest.mark.timeout(60)), Item(lambda: None)
    set_of(item, other)
    assert item.get_closest_marker("torture") is None
    set_of(item, other, limit_s=LIMIT_S)
    assert item.get_closest_marker("torture") is not None
    limit = item.get_closest_marker("timeout")
    assert limit is not None
    assert limit.args == (LIMIT_S,)
    assert not other.markers


def test_a_state_machine_has_fewer_histories() -> None:
    begun = []

    class Machine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            begun.append(self)

        @rule(number=st.integers())
        def act(self, number: int) -> None:
            pass

    case = Machine.TestCase
    case.settings = settings(case.settings, max_examples=60, stateful_step_count=2, database=None)
    set_of(Item(case.runTest, cls=case))
    case("runTest").runTest()
    # Hypothesis makes one more before all, to see what it has.
    assert len(begun) in (24, 25)
