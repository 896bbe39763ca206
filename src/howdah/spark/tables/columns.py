"""The columns of a table: their types in Spark and in Arrow (pure).

A type is named as Spark prints it (`DataType.simpleString`), so a schema that a user gives is
compared by text. Arrow's types are those that Spark makes of a schema, with the names that it gives
to the elements of arrays and maps: Spark takes batches of these types alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from howdah import errors
from howdah.spark.listing.kinds import LAST_MS

if TYPE_CHECKING:
    import pyarrow as pa

STRING: Final = "string"
BOOLEAN: Final = "boolean"
INT: Final = "int"
LONG: Final = "bigint"
TIMESTAMP: Final = "timestamp"
STRINGS: Final = "array<string>"
TEXTS: Final = "map<string,string>"
BYTES: Final = "map<string,binary>"
BLOCKS: Final = "array<struct<block_id:bigint,length:bigint,generation_stamp:bigint>>"

_INT_MIN, _INT_MAX = -(1 << 31), (1 << 31) - 1
_MOST_TEXT_BYTES: Final = (1 << 31) - 1
"""Of all texts of an array."""

SCALARS: Final = frozenset((STRING, BOOLEAN, INT, LONG, TIMESTAMP))
"""Types that filters can be evaluated on."""

_DTYPES: Final[Mapping[str, type[np.generic]]] = {
    BOOLEAN: np.bool_,
    INT: np.int32,
    LONG: np.int64,
    TIMESTAMP: np.int64,
}


@cache
def arrow_type(name: str) -> pa.DataType:
    """Arrow's type for the name of one of Spark's."""
    import pyarrow as pa

    string, long = pa.string(), pa.int64()
    block = pa.struct([(name, long) for name in ("block_id", "length", "generation_stamp")])
    types = {
        STRING: string,
        BOOLEAN: pa.bool_(),
        INT: pa.int32(),
        LONG: long,
        TIMESTAMP: pa.timestamp("us", tz="UTC"),
        STRINGS: pa.list_(pa.field("element", string)),
        TEXTS: pa.map_(string, pa.field("value", string)),
        BYTES: pa.map_(string, pa.field("value", pa.binary())),
        BLOCKS: pa.list_(pa.field("element", block)),
    }
    return types[name]


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns in their order, each with the name of its type."""

    types: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.types)

    @property
    def ddl(self) -> str:
        """The schema as Spark reads it.

        >>> Columns({"path": STRING, "group": STRING}).ddl
        '`path` string, `group` string'
        """
        return ", ".join(f"`{name}` {kind}" for name, kind in self.types.items())

    @property
    def arrow(self) -> pa.Schema:
        import pyarrow as pa

        return pa.schema([(name, arrow_type(kind)) for name, kind in self.types.items()])

    def named(self, names: Iterable[str], table: str) -> Columns:
        """These columns alone, in this order. Raises IllegalArgument for one that is not there."""
        chosen: dict[str, str] = {}
        for name in names:
            if name not in self.types:
                raise errors.IllegalArgument(
                    f"{table} has no column {name!r}; it has: {', '.join(self.types)}"
                )
            chosen[name] = self.types[name]
        if not chosen:
            raise errors.IllegalArgument(f"{table}: no columns are named")
        return Columns(chosen)

    def declared(self, fields: Iterable[tuple[str, str]], table: str) -> Columns:
        """The columns of a schema that a user gave: names and types. Raises IllegalArgument for a
        column that is not there, or is of another type."""
        given = dict(fields)
        chosen = self.named(given, table)
        for name, kind in given.items():
            if kind != self.types[name]:
                raise errors.IllegalArgument(
                    f"{table}: column {name} is of type {self.types[name]}, not {kind}"
                )
        return chosen

    def batch(self, arrays: Mapping[str, pa.Array]) -> pa.RecordBatch:
        """One batch of the arrays of these columns; others are left out."""
        import pyarrow as pa

        return pa.RecordBatch.from_arrays([arrays[name] for name in self.types], schema=self.arrow)

    def batch_of_lists(self, values: Mapping[str, Sequence[Any]]) -> pa.RecordBatch:
        """The same of lists of Python's values. A timestamp is a number of microseconds."""
        return self.batch({name: array(values[name], kind) for name, kind in self.types.items()})

    def batch_of_rows(self, rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
        """The same of rows, which may have other columns too."""
        return self.batch_of_lists({name: [row[name] for row in rows] for name in self.types})


# Arrays. `pyarrow.array` imports pandas, which takes a task longer than the rows of a hundred
# thousand inodes: what is usual is made of buffers.


def array(values: Sequence[Any], kind: str) -> pa.Array:
    """Python's values, None among them, as an array of a type. A timestamp is a number of
    microseconds, or a datetime. Raises what `pyarrow.array` raises for values of another type."""
    import pyarrow as pa

    is_there = None
    if None in values or not values:
        is_there = np.fromiter((value is not None for value in values), np.bool_, len(values))
        if not is_there.any():
            return pa.nulls(len(values), arrow_type(kind))
    if kind == STRING:
        return _texts(values, is_there)
    if kind in SCALARS:
        nothing = False if kind == BOOLEAN else 0
        given = values
        if is_there is not None:
            given = [nothing if value is None else value for value in values]
        made = np.array(given)
        fits = made.dtype == (np.bool_ if kind == BOOLEAN else np.int64)
        if fits and (kind != INT or (made.min() >= _INT_MIN and made.max() <= _INT_MAX)):
            return numbers(made, kind, is_there=is_there)
    return pa.array(values, type=arrow_type(kind))


def numbers(
    values: npt.NDArray[Any],
    kind: str | None = None,
    *,
    is_there: npt.NDArray[np.bool_] | None = None,
) -> pa.Array:
    """Numbers as an array, of their own type if none is named. Those that are not there are
    nulls."""
    import pyarrow as pa

    if kind is None:
        types = {"int64": pa.int64(), "int32": pa.int32()}
        type_ = types[values.dtype.name]
    else:
        type_ = arrow_type(kind)
        values = values.astype(_DTYPES[kind], copy=False)
    data = np.packbits(values, bitorder="little") if kind == BOOLEAN else values
    buffers = [_validity(is_there), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(type_, len(values), buffers)


def texts_between(ends: bytes, data: bytes) -> pa.Array:
    """Texts that follow each other in valid UTF-8. `ends` has 32 bits each, and begins with 0."""
    import pyarrow as pa

    buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(ends) // 4 - 1, buffers)


def _texts(values: Sequence[str | None], is_there: npt.NDArray[np.bool_] | None) -> pa.Array:
    import pyarrow as pa

    texts = [text or "" for text in values]
    joined = "".join(texts)
    if joined.isascii():
        data, lengths = joined.encode(), map(len, texts)
    else:
        encoded = list(map(_utf8, texts))
        data, lengths = b"".join(encoded), map(len, encoded)
    ends = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, len(texts)), out=ends[1:])
    if len(data) > _MOST_TEXT_BYTES:
        raise errors.IllegalArgument(
            f"{len(texts)} texts have {len(data)} bytes, and an array at most {_MOST_TEXT_BYTES}"
        )
    buffers = [_validity(is_there), pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers)


def _validity(is_there: npt.NDArray[np.bool_] | None) -> pa.Buffer | None:
    import pyarrow as pa

    if is_there is None or is_there.all():
        return None
    return pa.py_buffer(np.packbits(is_there, bitorder="little"))


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # Java's halves of characters, which are not UTF-8.
        return as_text(text).encode()


def micros(milliseconds: int | None) -> int | None:
    """The time of a timestamp's column; None for what no timestamp can be. HDFS keeps 0, or less,
    where it has no time."""
    return milliseconds * 1000 if milliseconds is not None and 0 < milliseconds <= LAST_MS else None


def as_text(data: bytes | str) -> str:
    """A name as valid UTF-8: bytes that are none are shown as U+FFFD."""
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    return data.decode("utf-8", "replace")
