"""The footers of Parquet and ORC files: what Spark's reader and writer would lose.

So that the new files are like the old ones, Spark is told what to write: the codec; Parquet's
type of timestamps, since INT96, Spark's default, has no statistics; bloom filters. What Spark
cannot write is found here: it turns unsigned numbers, fixed lengths, UUIDs and others into other
types, and drops metadata of other programs, such as pandas' or GeoParquet's.

The footers of all files are read (`reading_footers`), since a column may be absent from some
files, or have another type in one. Where all files have one schema, Spark need not read the
footers once more to merge it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.spark.compaction.plan import Format

_CODECS: Final = {"lz4": "lz4_raw"}
"""Spark's names of codecs where they differ from Arrow's. Not all readers know Parquet's old
`lz4`."""
TIMESTAMPS: Final = {"milliseconds": "TIMESTAMP_MILLIS", "microseconds": "TIMESTAMP_MICROS"}
INT96: Final = "INT96"
_SPARKS_METADATA: Final = "org.apache.spark."
_SPARKS_VERSIONS: Final = frozenset((b"org.apache.spark.version",))
_DERIVED_METADATA: Final = ("ARROW:schema", "writer.model.name")
"""Metadata that Arrow and others derive from the columns."""


class NotReadable(errors.HowdahError, ValueError):
    """A file cannot be read: it is encrypted or corrupt."""


class TypesChanged(errors.HowdahError, ValueError):
    """A column would have another type in the new files."""


Kinds = tuple[str, ...]
"""The types of a column's leaves."""


@dataclass(frozen=True, slots=True)
class Footer:
    """The footer of a file, or of several together. `timestamps` is Spark's name for their
    type, `kinds` has the types of each column in all files, `blooms` the columns with bloom
    filters, `metadata` the keys of metadata of other programs than Spark, `schemas` has a digest
    of each schema, all of it."""

    rows: int = 0
    codec: str | None = None
    timestamps: str | None = None
    kinds: dict[str, frozenset[Kinds]] = field(default_factory=dict)
    blooms: frozenset[str] = frozenset()
    metadata: frozenset[str] = frozenset()
    schemas: frozenset[str] = frozenset()

    @property
    def has_one_schema(self) -> bool:
        """Whether it is known that all files have the same columns, to the last detail."""
        return len(self.schemas) == 1

    def __add__(self, other: Footer) -> Footer:
        """The footer of these files and others. The codec is the first one's; of several types of
        timestamps the result is one that loses no precision."""
        kinds = dict(self.kinds)
        for name, more in other.kinds.items():
            kinds[name] = kinds.get(name, frozenset()) | more
        types = {self.timestamps, other.timestamps} - {None}
        return Footer(
            self.rows + other.rows,
            self.codec or other.codec,
            types.pop() if len(types) == 1 else TIMESTAMPS["microseconds"] if types else None,
            kinds,
            self.blooms | other.blooms,
            self.metadata | other.metadata,
            self.schemas | other.schemas,
        )

    def to_json(self) -> str:
        kinds = {name: sorted(values) for name, values in self.kinds.items()}
        first = (self.rows, self.codec, self.timestamps, kinds)
        sets = map(sorted, (self.blooms, self.metadata, self.schemas))
        return json.dumps([*first, *sets])

    @classmethod
    def from_json(cls, text: str) -> Footer:
        rows, codec, timestamps, kinds, *sets = json.loads(text)
        return cls(
            rows,
            codec,
            timestamps,
            {name: frozenset(map(tuple, values)) for name, values in kinds.items()},
            *map(frozenset, sets),
        )


@contextmanager
def reading(source: str) -> Iterator[None]:
    """Let Arrow read `source` in this context, and raise `NotReadable` for what it cannot read."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, errors.HowdahError):
            raise
        reason = str(error).strip().partition("\n")[0]
        raise NotReadable(f"{source} can't be read: {reason}") from error


def footer_of(fs: FileSystem, path: str, kind: Format) -> Footer:
    """Read a footer.

    Raises `NotReadable`.
    """
    with fs.open(path) as stream, reading(f"the footer of {path}"):
        return _of_parquet(stream) if kind is Format.PARQUET else _of_orc(stream)


def _of_orc(stream: Any) -> Footer:
    from pyarrow import orc

    file = orc.ORCFile(stream)
    codec = file.compression.lower()
    return Footer(file.nrows, "none" if codec == "uncompressed" else codec)


def _of_parquet(stream: Any) -> Footer:
    from pyarrow import parquet

    metadata = parquet.ParquetFile(stream).metadata
    schema = metadata.schema
    kinds: dict[str, list[str]] = {}
    timestamps = None
    for number in range(len(schema)):
        leaf = schema.column(number)
        kinds.setdefault(leaf.path.partition(".")[0], []).append(kind_of(leaf))
        timestamps = timestamps or _timestamps(leaf)
    codec, blooms = None, []
    if metadata.num_row_groups:
        group = metadata.row_group(0)
        for column in map(group.column, range(group.num_columns)):
            codec = codec or column.compression.lower()
            if getattr(column, "bloom_filter_offset", None) is not None:
                blooms.append(column.path_in_schema)
    return Footer(
        metadata.num_rows,
        _CODECS.get(codec, codec) if codec else None,
        timestamps,
        {name: frozenset([tuple(leaf_kinds)]) for name, leaf_kinds in kinds.items()},
        frozenset(blooms),
        frozenset(foreign_metadata(metadata.metadata or {})),
        frozenset([_digest(schema, metadata.metadata or {})]),
    )


def _digest(schema: Any, metadata: dict[bytes, bytes]) -> str:
    """Of the columns, and of what Spark's writer says that they are in its own terms."""
    # The first line of it is where the object is in memory.
    said = repr(schema).partition("\n")[2]
    sparks = sorted(
        (key, value)
        for key, value in metadata.items()
        if key.startswith(_SPARKS_METADATA.encode()) and key not in _SPARKS_VERSIONS
    )
    return hashlib.sha256(repr((said, sparks)).encode()).hexdigest()


def foreign_metadata(metadata: Iterable[bytes]) -> Iterator[str]:
    """The keys of metadata of other programs than Spark."""
    for key in metadata:
        name = key.decode("utf-8", "replace")
        if not name.startswith(_SPARKS_METADATA) and name not in _DERIVED_METADATA:
            yield name


def kind_of(leaf: Any) -> str:
    """The type of a column's leaf, as far as a change of it would be a loss."""
    logical = leaf.logical_type
    name = logical.type
    if name == "NONE":
        return _PHYSICAL.get(leaf.physical_type, str(leaf.physical_type))
    if name == "INT":
        said = json.loads(logical.to_json())
        return "integer" if said["isSigned"] else "unsigned integer"
    if name == "TIMESTAMP":
        said = json.loads(logical.to_json())
        where = "" if said["isAdjustedToUTC"] else "local "
        return f"{where}timestamp{' in nanoseconds' if said['timeUnit'] == 'nanoseconds' else ''}"
    return str(name).lower()


_PHYSICAL: Final = {
    "INT32": "integer",
    "INT64": "integer",
    "INT96": "timestamp",
    "FLOAT": "number",
    "DOUBLE": "number",
    "BYTE_ARRAY": "bytes",
    "BOOLEAN": "boolean",
    "FIXED_LEN_BYTE_ARRAY": "bytes of a fixed length",
}


def _timestamps(leaf: Any) -> str | None:
    if leaf.physical_type == INT96:
        return INT96
    if leaf.logical_type.type == "TIMESTAMP":
        said = leaf.logical_type.to_json()
        return next((name for unit, name in TIMESTAMPS.items() if unit in said), None)
    return None


def check_kinds(old: Footer, new: Footer) -> None:
    """Raise `TypesChanged` unless each column of each old file has the same type in the new
    files. Columns, and fields of columns, may have been added by other old files."""
    for name, all_before in old.kinds.items():
        for before in sorted(all_before):
            for after in sorted(new.kinds.get(name, frozenset([()]))):
                _check_kind(name, before, after)


def _check_kind(name: str, before: Kinds, after: Kinds) -> None:
    left: Iterator[str] = iter(after)
    for kind in before:
        if kind not in left:
            new = ", ".join(after) or "nothing"
            raise TypesChanged(f"the column {name} is of {kind}, and would become {new}")


def combined_footer(fs: FileSystem, paths: Iterable[str], kind: Format) -> Footer:
    """The footers of several files together. Raises `NotReadable`."""
    return sum((footer_of(fs, path, kind) for path in paths), Footer())
