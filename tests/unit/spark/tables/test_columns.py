"""Arrays that are made of buffers are those that Arrow would make, and do not need pandas."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.spark.tables import columns as of

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
VALUES = {
    of.STRING: TEXTS,
    of.BOOLEAN: st.booleans(),
    of.INT: st.integers(-(1 << 31), (1 << 31) - 1),
    of.LONG: LONGS,
    of.TIMESTAMP: LONGS,
    of.STRINGS: st.lists(TEXTS, max_size=3),
}


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
def test_an_array_is_the_one_that_arrow_makes(kind: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | VALUES[kind], max_size=20))
    made = of.array(values, kind)
    made.validate(full=True)
    assert made.equals(pa.array(values, type=of.arrow_type(kind)))


def test_halves_of_javas_characters_are_shown() -> None:
    assert of.array(["a\ud800b", "ü", None], of.STRING).to_pylist() == [
        of.as_text("a\ud800b"),
        "ü",
        None,
    ]


def test_rows_of_usual_columns_need_no_pandas() -> None:
    """It takes a task half a second to import."""
    script = (
        "import sys; from howdah.spark.tables.inode_rows import NAMESPACE;"
        "row = dict.fromkeys(NAMESPACE.types) | {'path': '/a', 'length': 7, 'is_open': False};"
        "assert NAMESPACE.batch_of_rows([row]).num_rows == 1; assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(
    ("kind", "value"),
    [(of.INT, 1 << 31), (of.LONG, 1 << 63), (of.LONG, "7"), (of.BOOLEAN, "x")],
)
def test_a_value_that_does_not_fit_is_refused(kind: str, value: object) -> None:
    for values in ([value], [None, value]):
        with pytest.raises((pa.ArrowException, OverflowError, TypeError)):
            of.array(values, kind)


def test_a_time_may_be_a_datetime() -> None:
    time = datetime(2026, 11, 30, 20, 9, 56, 906000, tzinfo=UTC)
    assert of.array([time, None], of.TIMESTAMP).to_pylist() == [time, None]
