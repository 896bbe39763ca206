"""Conditions as texts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.spark.tables.predicates import Condition
from howdah.spark.tables.where_clause import parse_where

AT = datetime(2026, 11, 30, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("owner = 'ann'", [("EqualTo", "owner", "ann", False)]),
        ("owner<>'it''s'", [("EqualTo", "owner", "it's", True)]),
        (
            "length >= -5 AND length < 10",
            [
                ("GreaterThanOrEqual", "length", -5, False),
                ("LessThan", "length", 10, False),
            ],
        ),
        ("path like '/a/%'", [("StringStartsWith", "path", "/a/", False)]),
        ("path not like '%.tmp'", [("StringEndsWith", "path", ".tmp", True)]),
        ("path like '%_x%'.", None),
        ("path like '%ab%'", [("StringContains", "path", "ab", False)]),
        ("path like '/a'", [("EqualTo", "path", "/a", False)]),
        ("owner in ('a', 'b')", [("In", "owner", ("a", "b"), False)]),
        ("depth not in (1,2)", [("In", "depth", (1, 2), True)]),
        (
            "depth between 1 and 2 and is_open = true",
            [
                ("GreaterThanOrEqual", "depth", 1, False),
                ("LessThanOrEqual", "depth", 2, False),
                ("EqualTo", "is_open", True, False),
            ],
        ),
        ("`group` is null", [("IsNull", "group", None, False)]),
        ("access_time is not null", [("IsNotNull", "access_time", None, False)]),
        ("at > timestamp'2026-11-30 04:00:00'", [("GreaterThan", "at", AT, False)]),
        ("at > TIMESTAMP '2026-11-30T05:00:00+01:00'", [("GreaterThan", "at", AT, False)]),
    ],
)
def test_texts_are_conditions(text: str, expected: list[tuple[Any, ...]] | None) -> None:
    if expected is None:
        with pytest.raises(errors.IllegalArgument, match="is not understood"):
            parse_where(text)
        return
    assert parse_where(text) == tuple(Condition(*each) for each in expected)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "a column is missing at its end"),
        ("owner", "a comparison is missing at its end"),
        ("owner = ", "a value is missing at its end"),
        ("owner = ann", "'ann' is no value: texts are in quotes"),
        ("owner = 'ann' or depth = 1", "and is expected, not 'or'"),
        ("'ann' = owner", "is no column"),
        ("and = 1", "'and' is no column"),
        ("length = 1.5", "is not understood"),
        ("length + 1 = 2", "is not understood"),
        ("path like 'a%b'", "has more than % at its beginning and end"),
        ("path like 5", "like compares with a text"),
        ("path in 'a'", r"\( is expected, not"),
        ("path in ('a' 'b')", "is not expected in a list"),
        ("depth not between 1 and 2", "'between' is no comparison"),
        ("at > timestamp'tomorrow'", "is no time"),
        ("owner is 5", "'5' is not null"),
    ],
)
def test_other_texts_are_refused_with_the_reason(text: str, problem: str) -> None:
    with pytest.raises(errors.IllegalArgument, match=f"where .*{problem}"):
        parse_where(text)


words = st.sampled_from(
    [
        "path",
        "length",
        "'a'",
        "5",
        "and",
        "not",
        "like",
        "in",
        "between",
        "is",
        "null",
        "(",
        ")",
        ",",
        "=",
        "<",
        "<>",
        "true",
    ]
)


@given(st.lists(words).map(" ".join) | st.text())
def test_any_text_is_understood_or_refused(text: str) -> None:
    try:
        found = parse_where(text)
    except errors.IllegalArgument:
        return
    assert found


@given(st.text(), st.integers())
def test_literals_are_what_they_were(text: str, number: int) -> None:
    quoted = text.replace("'", "''")
    assert parse_where(f"a = '{quoted}' and b = {number}") == (
        Condition("EqualTo", "a", text),
        Condition("EqualTo", "b", number),
    )
