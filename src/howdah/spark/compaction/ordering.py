"""Rows in an order: by columns one after the other, or by several at once along a z-curve.

A z-order keeps rows together that are near each other in each of the columns. Each column's values
are divided into ranges that have about equally many rows of a sample, and the bits of the ranges'
numbers are interleaved. (Orenstein and Merrett, "A Class of Data Structures for Associative
Searching", 1984.)
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Final

from howdah import errors
from howdah.spark.compaction.table_formats import Maintenance, quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MOST_COLUMNS: Final = 8
"""Of a z-order: with more, rows that are near each other in one column are everywhere."""
BITS: Final = 8
"""Of the number of a column's range."""
SAMPLE: Final = 20_000
"""Rows, of which the ranges are made."""
_LONGEST: Final = 64
"""Characters or bytes of a boundary: a longer one divides no better."""


def order_name(asked: Maintenance) -> str:
    """The name of an order, which a directory is marked with; "" for none.

    >>> order_name(Maintenance(z_order_by=("a", "b")))
    'z-order a,b'
    """
    if asked.z_order_by:
        return f"z-order {','.join(asked.z_order_by)}"
    return f"sort {','.join(asked.sort_by)}" if asked.sort_by else ""


def boundaries(values: Sequence[Any], ranges: int) -> list[Any]:
    """At most `ranges` - 1 values that divide a sample into ranges of equal size. Values must be of
    one type; those that are None or no number (NaN) do not count.

    >>> boundaries([5, 1, 3, 2, 4, 4, None], 3)
    [3, 4]
    """
    sample = sorted(_cut(value) for value in values if value is not None and value == value)
    if not sample:
        return []
    places = (len(sample) * number // ranges for number in range(1, ranges))
    found: list[Any] = []
    for place in places:
        value = sample[place]
        if value != sample[0] and (not found or value != found[-1]):
            found.append(value)
    return found


def _cut(value: Any) -> Any:
    return value[:_LONGEST] if isinstance(value, (str, bytes, bytearray)) else value


def interleaved(numbers: Sequence[int], bits: int) -> int:
    """The place on the z-curve of a point; the first number has the highest bit.

    >>> [interleaved((x, y), 1) for x in (0, 1) for y in (0, 1)]
    [0, 1, 2, 3]
    """
    count = len(numbers)
    return sum(
        (number >> bit & 1) << (bit * count + count - 1 - place)
        for place, number in enumerate(numbers)
        for bit in range(bits)
    )


def ordered(frame: DataFrame, asked: Maintenance, files: int, rows: int) -> DataFrame:
    """The rows in the order that is asked for, in as many partitions as there are to be files; the
    files' ranges do not overlap. `rows`: how many there are.

    Raises `IllegalArgument` for columns that are not there or have no order.
    """
    columns = asked.z_order_by or asked.sort_by
    _check(frame, columns)
    if not asked.z_order_by:
        keys = [_column(name) for name in columns]
        return frame.repartitionByRange(files, *keys).sortWithinPartitions(*keys)
    place = f"howdah_{uuid.uuid4().hex}"
    with_place = frame.withColumn(place, _position_on_curve(frame, columns, rows))
    return with_place.repartitionByRange(files, place).sortWithinPartitions(place).drop(place)


def _column(name: str) -> Column:
    from pyspark.sql import functions as F

    return F.col(quoted(name))


def _check(frame: DataFrame, columns: Sequence[str]) -> None:
    from pyspark.sql import types as T

    for name in columns:
        kind: Any = frame.schema
        for part in name.split("."):
            if not isinstance(kind, T.StructType) or part not in kind.fieldNames():
                raise errors.IllegalArgument(f"there is no column {name!r} to order by")
            kind = kind[part].dataType
        if isinstance(kind, (T.StructType, T.ArrayType, T.MapType)) or "variant" in repr(kind):
            raise errors.IllegalArgument(
                f"rows are not ordered by the column {name!r}, which is of {kind.simpleString()}"
            )
    if len(columns) > MOST_COLUMNS:
        raise errors.IllegalArgument(f"a z-order of more than {MOST_COLUMNS} columns orders none")


def _position_on_curve(frame: DataFrame, columns: Sequence[str], rows: int) -> Column:
    """The expression for a row's place on the z-curve."""
    from pyspark.sql import functions as F

    bits = min(BITS, 63 // len(columns))
    chosen = frame.select([_column(name).alias(str(at)) for at, name in enumerate(columns)])
    if rows > SAMPLE:
        chosen = chosen.sample(fraction=SAMPLE / rows, seed=1)
    sample = chosen.collect()
    numbers = []
    for at, name in enumerate(columns):
        bounds = boundaries([row[at] for row in sample], 1 << bits)
        numbers.append(_range_number(_column(name), bounds, 0).cast("long"))
    terms = [
        F.shiftleft(
            F.shiftright(number, bit).bitwiseAND(F.lit(1).cast("long")),
            bit * len(numbers) + len(numbers) - 1 - at,
        )
        for at, number in enumerate(numbers)
        for bit in range(bits)
    ]
    return reduce(add, terms)


def _range_number(column: Column, bounds: Sequence[Any], first: int) -> Column:
    """The number of the range that a value is in, by bisection; of nulls the last one."""
    from pyspark.sql import functions as F

    if not bounds:
        return F.lit(first)
    middle = len(bounds) // 2
    return F.when(
        column < F.lit(bounds[middle]), _range_number(column, bounds[:middle], first)
    ).otherwise(_range_number(column, bounds[middle + 1 :], first + middle + 1))
