"""Rows of Avro files, read and written by Spark's package `spark-avro`, which is no part of Spark.

Without an order, files are joined as they are (`compaction.concat_avro`). With one, rows are
decoded: by the schema that all files have, which is the schema of the new ones, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from howdah import errors
from howdah.copy.common.failures import from_spark
from howdah.copy.common.filesystems import for_each
from howdah.fs.api import FileSystem
from howdah.spark.compaction.concat import data_files
from howdah.spark.compaction.concat_avro import Header, Reader
from howdah.spark.compaction.concat_lines import NotJoinable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SCHEMA: Final = "avro.schema"
_CODEC: Final = "avro.codec"
_SPARKS: Final = "org.apache.spark."
_NAMES: Final = {"null": "uncompressed"}
"""Spark's names of codecs where they differ from Avro's."""


def common_header(fs: FileSystem, directory: str) -> Header:
    """The header of the files of a directory, which must be alike.

    Raises `NotJoinable`, and `CorruptAvro` for a file that is no container.
    """
    paths = [status.path for status in data_files(fs, directory) if status.length]
    headers = list(for_each(lambda path: _header(fs, path), paths))
    if not headers:
        raise NotJoinable(f"the files of {directory} are empty")
    for path, header in zip(paths, headers, strict=True):
        if header.kind != headers[0].kind:
            raise NotJoinable(f"{path} differs in schema, codec or metadata")
    return headers[0]


def _header(fs: FileSystem, path: str) -> Header:
    with fs.open(path) as stream:
        return Reader(stream, path).header()


def foreign_entries(header: Header) -> list[str]:
    """The metadata of a header that Spark would not write."""
    return sorted(
        name
        for name in header.entries
        if name not in (_SCHEMA, _CODEC) and not name.startswith(_SPARKS)
    )


def schema_of(header: Header) -> str:
    return header.entries[_SCHEMA].decode()


def codec_of(header: Header) -> str:
    """The codec of a container, as Spark calls it."""
    codec = header.entries.get(_CODEC, b"null").decode()
    return _NAMES.get(codec, codec)


def read(spark: SparkSession, uri: str, header: Header, options: dict[str, str]) -> DataFrame:
    """The rows of a directory.

    Raises `UnsupportedOperation` if Spark lacks the package.
    """
    reader: Any = spark.read.format("avro").options(**options)
    with _package():
        frame: DataFrame = reader.option("avroSchema", schema_of(header)).load(uri)
        _ = frame.schema  # over Spark Connect nothing is asked before
    return frame


def count(spark: SparkSession, uri: str, header: Header, options: dict[str, str]) -> int:
    """The number of rows in the files of a directory."""
    try:
        return read(spark, uri, header, options).count()
    except errors.HowdahError:
        raise
    except Exception as error:
        raise from_spark(error) from error


@contextmanager
def _package() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if "find data source: avro" in str(error).lower():
            raise errors.UnsupportedOperation(
                "rows of Avro are ordered by Spark's package spark-avro, which this Spark does not "
                "have: set spark.jars.packages (org.apache.spark:spark-avro_2.13:VERSION, that of "
                "Spark)"
            ) from error
        raise from_spark(error) from error
