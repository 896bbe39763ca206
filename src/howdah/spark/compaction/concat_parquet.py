"""Parquet files of one schema, joined by Arrow: each file is read once, in one piece.

Spark opens each file several times, and takes two milliseconds for the smallest. It knows more
of Parquet than Arrow does, so it has whatever this module does not take (`NotJoinable`):

- files of several schemas, which Spark merges, or of several codecs;
- columns of columns, of which there are older layouts than those that Arrow writes;
- types that Arrow would change: INT96, nanoseconds, unsigned numbers, fixed lengths and others;
- bloom filters, and key-value metadata of other programs;
- files by versions of Spark that counted days and times in different ways. Both say in their
  metadata which one they used, and the new file has the metadata of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from howdah.fs.api import FileSystem
from howdah.fs.status import FileStatus
from howdah.spark.compaction.concat_lines import Joined, NotJoinable
from howdah.spark.compaction.footers import foreign_metadata, kind_of, reading

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_BYTES: Final = 64 << 20
"""Of columns in memory, that become one row group."""
WHOLE_BYTES: Final = 32 << 20
"""Files up to this size are read in one piece."""

_KINDS: Final = frozenset(
    (
        "integer",
        "number",
        "boolean",
        "bytes",
        "string",
        "date",
        "decimal",
        "timestamp",
        "local timestamp",
    )
)
_CODECS: Final = {
    "UNCOMPRESSED": "none",
    "SNAPPY": "snappy",
    "GZIP": "gzip",
    "ZSTD": "zstd",
    "BROTLI": "brotli",
}
_INTEGERS: Final = ("INT32", "INT64")


class _Kind:
    """What files must have in common to be joined. Raises `NotJoinable` for one that is not to be
    joined with any other."""

    def __init__(self, metadata: Any, schema: pa.Schema, path: str) -> None:
        self.schema = schema
        self._columns = repr(metadata.schema).partition("\n")[2]
        self._said = {k: v for k, v in (metadata.metadata or {}).items() if k != b"ARROW:schema"}
        self.has_arrows_schema = len(self._said) != len(metadata.metadata or {})
        self.codec: str | None = None
        self.decimals_are_integers = False
        for name in foreign_metadata(self._said):
            raise NotJoinable(f"{path} has the metadata {name}")
        self._check_columns(metadata.schema, path)
        for number in range(metadata.num_row_groups):
            self._check_group(metadata.row_group(number), path)

    def _check_columns(self, schema: Any, path: str) -> None:
        for number in range(len(schema)):
            leaf = schema.column(number)
            if leaf.max_repetition_level or leaf.path != leaf.name:
                raise NotJoinable(f"the column {leaf.path} of {path} has columns")
            kind = kind_of(leaf)
            if kind not in _KINDS or leaf.physical_type == "INT96":
                raise NotJoinable(f"the column {leaf.path} of {path} is of {kind}")
            if kind == "decimal" and leaf.physical_type in _INTEGERS:
                self.decimals_are_integers = True

    def _check_group(self, group: Any, path: str) -> None:
        for column in map(group.column, range(group.num_columns)):
            codec = _CODECS.get(column.compression)
            if codec is None or codec != (self.codec or codec):
                raise NotJoinable(f"{path} is compressed as {column.compression}")
            if getattr(column, "bloom_filter_offset", None) is not None:
                raise NotJoinable(f"{path} has bloom filters")
            self.codec = codec

    def check(self, other: _Kind, path: str) -> None:
        """Raise `NotJoinable` if another file is of another kind."""
        same = (self._columns, self._said) == (other._columns, other._said)
        if not same or not self.schema.equals(other.schema, check_metadata=False):
            raise NotJoinable(f"{path} has another schema than others")
        if other.codec is not None:
            if self.codec not in (None, other.codec):
                raise NotJoinable(f"{path} is compressed as {other.codec}, others as {self.codec}")
            self.codec = other.codec


def join(
    fs: FileSystem, sources: Iterable[FileStatus], out: Any, group_bytes: int | None = None
) -> Joined:
    """Write the rows of all sources as one file, in the order of the sources. `group_bytes`: of a
    row group, as its columns are in memory; if None, row groups are put together to 64 MiB, and
    larger ones stay as they are.

    Raises `NotJoinable`, and `NotReadable` for a file that is corrupt or encrypted.
    """
    made = Joined()
    writer = _Writer(out, group_bytes)
    for status in sources:
        made.files += 1
        made.records += writer.add(fs, status)
    writer.close()
    return made


class _Writer:
    """Gathers rows, and writes them when they are a row group."""

    def __init__(self, out: Any, group_bytes: int | None) -> None:
        self._out = out
        self._divides = group_bytes is not None
        self._group_bytes = group_bytes or GROUP_BYTES
        self._kind: _Kind | None = None
        self._tables: list[pa.Table] = []
        self._bytes = 0
        self._writer: Any = None

    def add(self, fs: FileSystem, status: FileStatus) -> int:
        """The rows of a file; how many they are."""
        with fs.open(status.path) as stream, reading(status.path):
            return self._add(_source_of(stream, status.length), status.path)

    def _add(self, source: Any, path: str) -> int:
        from pyarrow import parquet

        file = parquet.ParquetFile(source)
        metadata = file.metadata
        kind = _Kind(metadata, file.schema_arrow, path)
        if self._kind is None:
            self._kind = kind
        else:
            self._kind.check(kind, path)
        rows = 0
        for number in range(metadata.num_row_groups):
            table = file.read_row_group(number)
            rows += table.num_rows
            self._tables.append(table)
            self._bytes += table.nbytes
            if self._bytes >= self._group_bytes:
                self._write()
        if rows != metadata.num_rows:
            raise OSError(f"it has {rows} rows, and its footer says {metadata.num_rows}")
        return rows

    def _write(self) -> None:
        """One row group of all that was gathered."""
        import pyarrow as pa
        from pyarrow import parquet

        kind = self._kind
        assert kind is not None, "there are rows of no file"
        if self._writer is None:
            self._writer = parquet.ParquetWriter(
                self._out,
                kind.schema,
                compression=kind.codec or "none",
                store_schema=kind.has_arrows_schema,
                store_decimal_as_integer=kind.decimals_are_integers,
                write_page_index=True,
                write_page_checksum=True,
            )
        table = pa.concat_tables(self._tables)
        groups = -(-self._bytes // self._group_bytes) if self._divides else 1
        self._tables, self._bytes = [], 0
        self._writer.write_table(table, row_group_size=max(-(-table.num_rows // max(groups, 1)), 1))

    def close(self) -> None:
        """Write what is left, and the footer."""
        if self._writer is None and not self._tables and self._kind is not None:
            self._tables = [self._kind.schema.empty_table()]
        if self._tables:
            self._write()
        if self._writer is not None:
            self._writer.close()


def _source_of(stream: Any, length: int) -> Any:
    import pyarrow as pa

    return pa.BufferReader(stream.read()) if length <= WHOLE_BYTES else stream


def count(stream: Any, path: str) -> int:
    """The number of rows that the footer of a file says. Raises `NotReadable`."""
    from pyarrow import parquet

    with reading(f"the footer of {path}"):
        return int(parquet.ParquetFile(stream).metadata.num_rows)


def check_some(fs: FileSystem, sources: Iterable[FileStatus]) -> None:
    """Raise `NotJoinable` unless these files may be joined, as far as their footers say."""
    from pyarrow import parquet

    first: _Kind | None = None
    for status in sources:
        with fs.open(status.path) as stream, reading(f"the footer of {status.path}"):
            file = parquet.ParquetFile(stream)
            kind = _Kind(file.metadata, file.schema_arrow, status.path)
        if first is None:
            first = kind
        else:
            first.check(kind, status.path)


def some_of(files: Iterator[FileStatus]) -> list[FileStatus]:
    """Return the first and the last file: where files differ, these mostly do."""
    listed = list(files)
    return listed if len(listed) < 2 else [listed[0], listed[-1]]
