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

from howdah import errors

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

SCALARS: Final = frozenset((STRING, BOOLEAN, INT, LONG, TIMESTAMP))
"""Types that filters can be evaluated on."""


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
        import pyarrow as pa

        return self.batch(
            {
                name: pa.array(values[name], type=arrow_type(kind))
                for name, kind in self.types.items()
            }
        )

    def batch_of_rows(self, rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
        """The same of rows, which may have other columns too."""
        return self.batch_of_lists({name: [row[name] for row in rows] for name in self.types})


def micros(milliseconds: int | None) -> int | None:
    """The time of a timestamp's column. HDFS keeps 0, or less, where it has no time."""
    return milliseconds * 1000 if milliseconds is not None and milliseconds > 0 else None


def as_text(data: bytes | str) -> str:
    """A name as valid UTF-8: bytes that are none are shown as U+FFFD."""
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    return data.decode("utf-8", "replace")
