"""Rows of a listing, to Arrow and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from howdah.copy.listing.entries import Entry, Kind, batches, entries

NAMES = st.binary(min_size=1, max_size=6)


@given(st.lists(st.tuples(NAMES, NAMES, st.integers(0, 1 << 50)), max_size=5))
def test_row_with_any_name_survives_arrow(rows: list[tuple[bytes, bytes, int]]) -> None:
    given = [Entry(Kind.FILE, 0, b"/" + a, b"/" + b, length=n) for a, b, n in rows]
    assert [entry for batch in batches(given) for entry in entries(batch)] == given
