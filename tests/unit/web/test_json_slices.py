"""JSON of many things, as if it were made in one go."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.web.json_slices import SLICE, list_of, object_of


@pytest.mark.parametrize("number", [0, 1, SLICE - 1, SLICE, SLICE + 1, 3 * SLICE])
def test_slices_are_one_text(number: int) -> None:
    things = list(range(number))
    whole = {f"n{each}": {"é": [each, None]} for each in things}
    assert object_of(things, lambda each: (f"n{each}", whole[f"n{each}"])) == json.dumps(whole)
    assert list_of(things, lambda each: [each, "x"]) == json.dumps([[each, "x"] for each in things])


@given(st.lists(st.text() | st.integers() | st.booleans(), max_size=2 * SLICE))
def test_any_values_are_as_the_encoder_writes_them(values: list[object]) -> None:
    assert list_of(values, lambda each: each) == json.dumps(values)


def test_no_call_of_the_encoder_has_more_than_a_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a loop beside stands while one is made."""
    sizes: list[int] = []
    dumps = json.dumps

    def counted(value: list[int]) -> str:
        sizes.append(len(value))
        return dumps(value)

    monkeypatch.setattr(json, "dumps", counted)
    list_of(list(range(10 * SLICE + 1)), lambda each: each)
    assert max(sizes) == SLICE
    assert len(sizes) == 11
