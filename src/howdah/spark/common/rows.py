"""Rows of a task as Arrow's batches, which is how Spark takes and gives them; rows dealt out."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Row = tuple[Any, ...]
ROWS_A_BATCH: Final = 2000


def arrow_schema(ddl: str) -> pa.Schema:
    """A schema of Spark, written as DDL, for Arrow."""
    import pyarrow as pa

    kinds: dict[str, Any] = {
        "int": pa.int32(),
        "long": pa.int64(),
        "binary": pa.binary(),
        "string": pa.string(),
        "boolean": pa.bool_(),
    }
    columns = (column.strip().split(" ") for column in ddl.split(","))
    return pa.schema([(name.strip("`"), kinds[kind]) for name, kind in columns])


def batches(rows: Iterable[Row], ddl: str) -> Iterator[pa.RecordBatch]:
    """Rows as Spark takes them from a task."""
    source = iter(rows)
    while some := list(itertools.islice(source, ROWS_A_BATCH)):
        yield batch_of(tuple(zip(*some, strict=True)), ddl)


def batch_of(columns: Sequence[Sequence[Any]], ddl: str) -> pa.RecordBatch:
    """The same of columns."""
    import pyarrow as pa

    schema = arrow_schema(ddl)
    arrays = [pa.array(c, type=f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def partitioned(rows: DataFrame, parts: int, *key: str) -> DataFrame:
    """The rows in so many partitions; its key alone says in which a row is.

    What an executor held when it died is made again, from a filesystem that has changed
    since. Dealt out in turn, as `repartition` does without a key, the rows would then
    come into other partitions than before, and those that others still hold would make
    up the set no longer: some rows would be there twice and some not at all.
    """
    return rows.repartition(parts, *key)


def encode(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def decode(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")
