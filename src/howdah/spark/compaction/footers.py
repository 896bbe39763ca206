"""The footers of Parquet and ORC files: what Spark's reader and writer would lose.

So that the new files are like the old ones, Spark is told what to write: the codec; Parquet's
type of timestamps, since INT96, Spark's default, has no statistics; bloom filters. What Spark
cannot write is found here: it turns unsigned numbers, fixed lengths, UUIDs and others into other
types, and drops metadata of other programs, such as pandas' or GeoParquet's.

The footers of all files are read, since a column may be absent from some files, or have another
type in one. A few are read by the driver, many by tasks. Where all files have one schema, Spark
need not read the footers once more to merge it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.spark.common.failures import from_spark
from howdah.spark.common.filesystems import Place
from howdah.spark.common.reported import Reported, most_attempts, raise_failed, with_failures
from howdah.spark.common.rows import batches, decode, encode
from howdah.spark.compaction.joining import data_files
from howdah.spark.compaction.plan import Format

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

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
    """The footer of a file cannot be read: it is encrypted or corrupt."""


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
        kinds = {name: sorted(each) for name, each in self.kinds.items()}
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
            {name: frozenset(map(tuple, each)) for name, each in kinds.items()},
            *map(frozenset, sets),
        )


def footer_of(fs: FileSystem, path: str, kind: Format) -> Footer:
    """Read a footer.

    Raises `NotReadable`.
    """
    import pyarrow as pa

    with fs.open(path) as stream:
        try:
            return _of_parquet(stream) if kind is Format.PARQUET else _of_orc(stream)
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, errors.HowdahError):
                raise
            reason = str(error).strip().partition("\n")[0]
            raise NotReadable(f"the footer of {path} can't be read: {reason}") from error


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
        kinds.setdefault(leaf.path.partition(".")[0], []).append(_kind(leaf))
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
        {name: frozenset([tuple(each)]) for name, each in kinds.items()},
        frozenset(blooms),
        frozenset(_foreign(metadata.metadata or {})),
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


def _foreign(metadata: dict[bytes, bytes]) -> Iterator[str]:
    for key in metadata:
        name = key.decode("utf-8", "replace")
        if not name.startswith(_SPARKS_METADATA) and name not in _DERIVED_METADATA:
            yield name


def _kind(leaf: Any) -> str:
    logical = leaf.logical_type
    name = logical.type
    if name == "NONE":
        return _PHYSICAL.get(leaf.physical_type, str(leaf.physical_type))
    said = logical.to_json()
    if name == "INT":
        return "integer" if '"isSigned": true' in said else "unsigned integer"
    if name == "TIMESTAMP":
        where = "" if '"isAdjustedToUTC": true' in said else "local "
        return f"{where}timestamp{' in nanoseconds' if 'nanoseconds' in said else ''}"
    return str(name).lower()


_PHYSICAL: Final = {
    "INT32": "integer",
    "INT64": "integer",
    "INT96": "timestamp",
    "FLOAT": "number",
    "DOUBLE": "number",
    "BYTE_ARRAY": "bytes",
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


FEW_FILES: Final = 16
"""So many footers are read by the driver in less time than Spark takes to start a job."""
FILES_A_TASK: Final = 64
PATH_SCHEMA: Final = "path binary"
FOOTER_SCHEMA: Final = "footer string"


@dataclass(frozen=True, slots=True)
class ReadFooters:
    """A task that reads the footers of its files."""

    place: Place
    kind: Format

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        fs = self.place.connect()
        paths = (decode(path) for batch in given for path in batch.column(0).to_pylist())
        found = combined_footer(fs, paths, self.kind)
        yield from batches(((found.to_json(),),), FOOTER_SCHEMA)


def combined_footer(fs: FileSystem, paths: Iterable[str], kind: Format) -> Footer:
    """The footers of several files together. Raises `NotReadable`."""
    return sum((footer_of(fs, path, kind) for path in paths), Footer())


class Footers:
    """Reads the footers of directories."""

    def __init__(self, spark: SparkSession, fs: FileSystem, place: Place, most_tasks: int) -> None:
        self._spark = spark
        self._fs = fs
        self._place = place
        self._tasks = most_tasks

    def read(self, directory: str, kind: Format) -> Footer:
        """The footers of all files of a directory together. Raises `NotReadable`."""
        paths = [status.path for status in data_files(self._fs, directory)]
        if len(paths) <= FEW_FILES:
            return combined_footer(self._fs, paths, kind)
        rows = [(encode(path),) for path in paths]
        parts = min(self._tasks, -(-len(paths) // FILES_A_TASK))
        task = Reported(ReadFooters(self._place, kind), FOOTER_SCHEMA, most_attempts(self._spark))
        frame = self._spark.createDataFrame(rows, PATH_SCHEMA).repartition(parts, "path")
        try:
            found = frame.mapInArrow(task, with_failures(FOOTER_SCHEMA)).collect()
        except errors.HowdahError:
            raise
        except Exception as error:
            raise from_spark(error) from error
        raise_failed(found, NotReadable)
        return sum((Footer.from_json(row["footer"]) for row in found), Footer())
