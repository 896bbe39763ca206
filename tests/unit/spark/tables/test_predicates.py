"""Filters that tables evaluate: as SQL does, and without losing a row by bounds of paths."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.spark.tables.columns import BOOLEAN, LONG, STRING, STRINGS, TIMESTAMP, Columns
from howdah.spark.tables.predicates import (
    Condition,
    PathBounds,
    number_bounds,
    understood,
    wanted,
)

COLUMNS = Columns(
    {"path": STRING, "parent": STRING, "size": LONG, "is_open": BOOLEAN, "at": TIMESTAMP}
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

texts = st.sampled_from(["", "/", "/a", "/a/b", "/a/b/c", "/ab", "/ü €"])
moments = st.integers(-5, 5).map(lambda second: EPOCH + timedelta(seconds=second))
values: dict[str, st.SearchStrategy[Any]] = {
    "path": texts,
    "parent": texts,
    "size": st.integers(-3, 3),
    "is_open": st.booleans(),
    "at": moments,
}
rows = st.lists(
    st.fixed_dictionaries({name: st.none() | some for name, some in values.items()}), max_size=6
)
compared = st.sampled_from(
    ["EqualTo", "EqualNullSafe", "GreaterThan", "GreaterThanOrEqual", "LessThan", "LessThanOrEqual"]
)


@st.composite
def conditions(draw: st.DrawFn) -> Condition:
    column = draw(st.sampled_from(sorted(values)))
    kinds = [compared, st.just("In"), st.sampled_from(["IsNull", "IsNotNull"])]
    if column in ("path", "parent"):
        kinds.append(st.sampled_from(["StringStartsWith", "StringEndsWith", "StringContains"]))
    operator = draw(st.one_of(kinds))
    value = draw(values[column])
    if operator == "In":
        value = tuple(draw(st.lists(values[column], min_size=1, max_size=3)))
    return Condition(operator, column, value, draw(st.booleans()))


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "EqualTo": lambda own, value: own == value,
    "GreaterThan": lambda own, value: own > value,
    "GreaterThanOrEqual": lambda own, value: own >= value,
    "LessThan": lambda own, value: own < value,
    "LessThanOrEqual": lambda own, value: own <= value,
    "In": lambda own, value: own in value,
    "StringStartsWith": lambda own, value: own.startswith(value),
    "StringEndsWith": lambda own, value: own.endswith(value),
    "StringContains": lambda own, value: value in own,
}


def truth(row: dict[str, Any], condition: Condition) -> bool | None:
    """What SQL says of a row; None is null."""
    own, value = row[condition.column], condition.value
    found: bool | None
    if condition.operator == "IsNull":
        found = own is None
    elif condition.operator == "IsNotNull":
        found = own is not None
    elif condition.operator == "EqualNullSafe":
        found = own == value
    elif own is None:
        found = None
    else:
        found = COMPARISONS[condition.operator](own, value)
    return (not found) if condition.is_negated and found is not None else found


def micros(row: dict[str, Any]) -> dict[str, Any]:
    at = row["at"]
    return row | {"at": None if at is None else (at - EPOCH) // timedelta(microseconds=1)}


@given(rows, st.lists(conditions(), max_size=3))
def test_rows_are_wanted_where_all_conditions_are_true(
    given_rows: list[dict[str, Any]], chosen: list[Condition]
) -> None:
    own = [understood(condition, COLUMNS) for condition in chosen]
    assert None not in own
    batch = COLUMNS.batch_of_rows([micros(row) for row in given_rows])
    found = wanted(batch, [each for each in own if each is not None], COLUMNS).to_pylist()
    expected = [row for row in given_rows if all(truth(row, each) for each in chosen)]
    assert found == expected


paths = st.lists(st.sampled_from(["a", "b", "ab"]), max_size=4).map(
    lambda names: "/" + "/".join(names)
)


@given(paths, st.lists(conditions(), max_size=3))
def test_bounds_never_leave_out_a_path_that_is_wanted(path: str, chosen: list[Condition]) -> None:
    bounds = PathBounds.of(chosen)
    parent = "" if path == "/" else path.rpartition("/")[0] or "/"
    row = {"path": path, "parent": parent, "size": 1, "is_open": True, "at": EPOCH}
    if path == "/" or not all(truth(row, condition) for condition in chosen):
        return
    directory = parent.rstrip("/") + "/"
    assert bounds.has_rows_in(directory)
    while True:
        assert bounds.has_rows_below(directory)
        if directory == "/":
            break
        directory = directory.rstrip("/").rpartition("/")[0] + "/"


def test_bounds_leave_out_what_cannot_be_wanted() -> None:
    bounds = PathBounds.of([Condition("StringStartsWith", "path", "/a/b")])
    assert [bounds.has_rows_below(each) for each in ("/", "/a/", "/a/b/", "/a/bc/d/", "/c/")] == [
        *(True, True, True, True),
        False,
    ]
    assert [bounds.has_rows_in(each) for each in ("/", "/a/", "/a/b/", "/c/")] == [
        *(False, True, True),
        False,
    ]
    of_parent = PathBounds.of([Condition("EqualTo", "parent", "/a")])
    assert [of_parent.has_rows_in(each) for each in ("/", "/a/", "/a/b/")] == [False, True, False]
    assert [of_parent.has_rows_below(each) for each in ("/", "/a/", "/a/b/")] == [True, True, False]


@pytest.mark.parametrize(
    "condition",
    [
        Condition("EqualTo", "names", ["a"]),
        Condition("EqualTo", "nothing", 1),
        Condition("EqualTo", "size", "1"),
        Condition("EqualTo", "size", True),
        Condition("EqualTo", "size", 1 << 63),
        Condition("EqualTo", "size", None),
        Condition("In", "size", (1, None)),
        Condition("GreaterThan", "at", datetime(2026, 1, 1)),
        Condition("StringStartsWith", "size", "1"),
        Condition("Unknown", "path", "1"),
    ],
)
def test_what_cannot_be_compared_is_left_to_spark(condition: Condition) -> None:
    columns = Columns({**COLUMNS.types, "names": STRINGS})
    assert understood(condition, columns) is None


@given(st.lists(conditions(), max_size=3), st.integers(0, 3))
def test_bounds_of_numbers_hold_all_that_is_wanted(chosen: list[Condition], size: int) -> None:
    row = {"path": "/", "parent": "", "size": size, "is_open": True, "at": EPOCH}
    if all(truth(row, condition) for condition in chosen if condition.column == "size"):
        low, high = number_bounds(chosen, "size")
        assert low <= size
        assert high is None or size <= high
