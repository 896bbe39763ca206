"""Conditions that a table evaluates where it makes its rows (pure).

They are a conjunction: a row is wanted where all of them are true. As in SQL a comparison with
null is null, which is not true, and neither is its negation. Operators have the names of Spark's
filters.

A table evaluates them on its batches (`wanted`). Before that, `PathBounds` says which directories
can have rows that are wanted at all, and `number_bounds` which numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from howdah.spark.tables.columns import (
    BOOLEAN,
    INT,
    LONG,
    SCALARS,
    STRING,
    TIMESTAMP,
    Columns,
    arrow_type,
)

if TYPE_CHECKING:
    import pyarrow as pa

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_COMPARED: Final = {
    "EqualTo": "equal",
    "GreaterThan": "greater",
    "GreaterThanOrEqual": "greater_equal",
    "LessThan": "less",
    "LessThanOrEqual": "less_equal",
}
_OF_TEXT: Final = {
    "StringStartsWith": "starts_with",
    "StringEndsWith": "ends_with",
    "StringContains": "match_substring",
}
_WITHOUT_VALUE: Final = ("IsNull", "IsNotNull")


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison: an operator, a column, a value."""

    operator: str
    column: str
    value: Any = None
    is_negated: bool = False


def understood(condition: Condition, columns: Columns) -> Condition | None:
    """The condition with a value as Arrow compares it; None for values of another type."""
    kind = columns.types.get(condition.column)
    if kind is None or kind not in SCALARS:
        return None
    operator, value = condition.operator, condition.value
    if operator in _WITHOUT_VALUE:
        return condition
    if operator in _OF_TEXT:
        return condition if kind == STRING and isinstance(value, str) else None
    if operator == "In":
        values = [_value(each, kind) for each in value]
        if not values or None in values:
            return None
        return Condition(operator, condition.column, tuple(values), condition.is_negated)
    if operator in (*_COMPARED, "EqualNullSafe"):
        own = _value(value, kind)
        if own is None:
            return None
        return Condition(operator, condition.column, own, condition.is_negated)
    return None


def _value(value: Any, kind: str) -> Any:
    """A literal as the column has its values; None for one of another type."""
    if kind == TIMESTAMP:
        if isinstance(value, datetime) and value.tzinfo is not None:
            return (value - _EPOCH) // _MICROSECOND
        return None
    if kind in (INT, LONG):
        is_number = isinstance(value, int) and not isinstance(value, bool)
        bits = 31 if kind == INT else 63
        return value if is_number and -(1 << bits) <= value < 1 << bits else None
    expected: dict[str, type] = {STRING: str, BOOLEAN: bool}
    return value if isinstance(value, expected[kind]) else None


def wanted(batch: pa.RecordBatch, conditions: Iterable[Condition], columns: Columns) -> Any:
    """The rows of a batch for which all conditions are true."""
    import pyarrow.compute as pc

    mask: Any = None
    for condition in conditions:
        one = _mask(batch, condition, columns.types[condition.column])
        mask = one if mask is None else pc.and_kleene(mask, one)
    return batch if mask is None else batch.filter(mask)


def _mask(batch: pa.RecordBatch, condition: Condition, kind: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    column = batch.column(condition.column)
    operator, value = condition.operator, condition.value
    mask: Any
    if operator in _WITHOUT_VALUE:
        mask = pc.is_null(column) if operator == "IsNull" else pc.is_valid(column)
    elif operator in _OF_TEXT:
        function: Callable[..., Any] = getattr(pc, _OF_TEXT[operator])
        mask = function(column, value)
    elif operator == "In":
        values = pa.array(list(value), type=arrow_type(kind))
        found = pc.is_in(column, value_set=values)
        mask = pc.if_else(pc.is_valid(column), found, pa.scalar(None, pa.bool_()))
    else:
        scalar = pa.scalar(value, type=arrow_type(kind))
        if operator == "EqualNullSafe":
            mask = pc.fill_null(pc.equal(column, scalar), False)
        else:
            mask = getattr(pc, _COMPARED[operator])(column, scalar)
    return pc.invert(mask) if condition.is_negated else mask


# Paths.

_PREFIX, _EXACT, _PARENT = "prefix", "exact", "parent"


@dataclass(frozen=True, slots=True)
class _Alternative:
    """Rows whose path begins with a text, is the text, or is in the directory of that name."""

    kind: str
    text: str

    def is_in(self, directory: str) -> bool:
        """Whether an entry of the directory, which ends in a slash, can be such a row."""
        if self.kind == _PARENT:
            return self.text == directory
        if self.kind == _PREFIX and directory.startswith(self.text):
            return True
        return self.text.startswith(directory) and "/" not in self.text[len(directory) :]

    def is_below(self, directory: str) -> bool:
        """Whether an entry of the directory, or of one below, can be such a row."""
        if self.kind == _PREFIX and directory.startswith(self.text):
            return True
        return self.text.startswith(directory)


@dataclass(frozen=True, slots=True)
class PathBounds:
    """Which directories can have rows that are wanted. Directories end in a slash here."""

    groups: tuple[tuple[_Alternative, ...], ...] = ()

    @classmethod
    def of(cls, conditions: Iterable[Condition]) -> PathBounds:
        groups = [_alternatives(each) for each in conditions if not each.is_negated]
        return cls(tuple(group for group in groups if group))

    @property
    def is_bounded(self) -> bool:
        return bool(self.groups)

    def has_rows_in(self, directory: str) -> bool:
        """Whether entries of the directory itself may be wanted."""
        return all(any(each.is_in(directory) for each in group) for group in self.groups)

    def has_rows_below(self, directory: str) -> bool:
        """Whether entries of the directory, or of those below it, may be wanted."""
        return all(any(each.is_below(directory) for each in group) for group in self.groups)


def _alternatives(condition: Condition) -> tuple[_Alternative, ...]:
    operator, value = condition.operator, condition.value
    values: Sequence[str] = ()
    if operator in ("EqualTo", "EqualNullSafe"):
        values = (value,)
    elif operator == "In":
        values = value
    if condition.column == "path":
        if operator == "StringStartsWith":
            return (_Alternative(_PREFIX, value),)
        return tuple(_Alternative(_EXACT, each) for each in values)
    if condition.column == "parent":
        return tuple(_Alternative(_PARENT, f"{each.rstrip('/')}/") for each in values)
    return ()


def number_bounds(conditions: Iterable[Condition], column: str) -> tuple[int, int | None]:
    """The least number of a column that can be wanted, at least 0, and the greatest; None where
    there is no upper bound."""
    low, high = 0, None
    for condition in conditions:
        if condition.column != column or condition.is_negated:
            continue
        least, greatest = _bounds(condition)
        low = low if least is None else max(low, least)
        if greatest is not None:
            high = greatest if high is None else min(high, greatest)
    return low, high


def _bounds(condition: Condition) -> tuple[int | None, int | None]:
    value = condition.value
    match condition.operator:
        case "EqualTo" | "EqualNullSafe":
            return value, value
        case "In":
            return min(value), max(value)
        case "GreaterThan":
            return value + 1, None
        case "GreaterThanOrEqual":
            return value, None
        case "LessThan":
            return None, value - 1
        case "LessThanOrEqual":
            return None, value
    return None, None
