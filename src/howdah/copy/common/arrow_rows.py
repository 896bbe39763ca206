"""Encode the rows of a task as batches of Arrow, which is how Spark takes and gives them (pure)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

Row = tuple[Any, ...]
ROWS_A_BATCH: Final = 2000


def arrow_schema(ddl: str) -> pa.Schema:
    """The Arrow schema of a Spark schema in DDL."""
    import pyarrow as pa

    kinds: dict[str, Any] = {
        "int": pa.int32(),
        "long": pa.int64(),
        "binary": pa.binary(),
        "string": pa.string(),
        "boolean": pa.bool_(),
        "array<binary>": pa.list_(pa.binary()),
    }
    columns = (column.strip().split(" ") for column in ddl.split(","))
    return pa.schema([(name.strip("`"), kinds[kind]) for name, kind in columns])


def batches(rows: Iterable[Row], ddl: str) -> Iterator[pa.RecordBatch]:
    """Rows as record batches, as a task gives them to Spark."""
    source = iter(rows)
    while some := list(itertools.islice(source, ROWS_A_BATCH)):
        yield batch_of(tuple(zip(*some, strict=True)), ddl)


def batch_of(columns: Sequence[Sequence[Any]], ddl: str) -> pa.RecordBatch:
    """One record batch of columns."""
    import pyarrow as pa

    schema = arrow_schema(ddl)
    arrays = [pa.array(c, type=f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def partitioned(rows: DataFrame, parts: int, *key: str) -> DataFrame:
    """The rows in `parts` partitions; only its key decides in which one a row is.

    If an executor dies, Spark computes its rows again, from a filesystem that has changed
    since. `repartition` without a key assigns rows in turn: the rows would then come into
    other partitions than before, and together with the partitions that other executors still
    hold, some rows would be there twice and some not at all.
    """
    return rows.repartition(parts, *key)


def encode(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def decode(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def created_frame(spark: SparkSession, table: pa.Table, schema: str | None = None) -> DataFrame:
    """A DataFrame of a table of Arrow, as Spark 4 makes it by itself; `schema` if Arrow's types do
    not say all."""
    from pyspark import __version__

    is_new = int(__version__.partition(".")[0]) >= 4
    if is_new and schema is None:
        return spark.createDataFrame(table)
    if is_new:
        return spark.createDataFrame(table, schema)
    from pyspark.sql.pandas.types import from_arrow_schema

    columns = [column.to_pylist() for column in table.columns]
    kind: Any = schema or from_arrow_schema(table.schema)
    return spark.createDataFrame(list(zip(*columns, strict=True)), kind)
