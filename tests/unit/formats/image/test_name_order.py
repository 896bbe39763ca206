"""Names in the order in which Hadoop looks for them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from howdah.formats.image.name_order import in_order, name_key

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=4)


def signed(name: str) -> list[int]:
    return [byte - 256 if byte > 127 else byte for byte in name.encode()]


@given(st.lists(NAMES, max_size=8))
def test_order_is_that_of_javas_bytes(names: list[str]) -> None:
    assert in_order(names) == sorted(names, key=signed)


@given(NAMES, NAMES)
def test_keys_tell_names_apart(one: str, other: str) -> None:
    assert (name_key(one) == name_key(other)) == (one == other)


def test_accents_come_before_letters() -> None:
    assert in_order(["a", "z", "é", "漢"]) == ["é", "漢", "a", "z"]
