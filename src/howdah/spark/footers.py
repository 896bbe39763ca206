"""What the footers of Parquet and ORC files say that Spark's reader forgets.

Spark reads rows and writes rows. So that the new files are like the old ones, it is told
what to write: the codec; Parquet's type of timestamps, for the one that it takes by
itself (INT96) has no statistics; bloom filters. And what it cannot write is found out: it
turns unsigned numbers, fixed lengths, UUIDs and others into something else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.spark.compaction_plan import Format

_CODECS: Final = {"lz4": "lz4_raw"}
"""By other names than Arrow's. The old `lz4` of Parquet is not read by all."""
TIMESTAMPS: Final = {"milliseconds": "TIMESTAMP_MILLIS", "microseconds": "TIMESTAMP_MICROS"}
INT96: Final = "INT96"


class NotReadable(errors.HowdahError, ValueError):
    """A file's footer can't be read: it is encrypted, or corrupt."""


class TypesChanged(errors.HowdahError, ValueError):
    """A column would have another type in the new files."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Of one file, which has so many `rows`. `timestamps` is Spark's name for their type,
    `kinds` are what the leaves of each column are, `blooms` the columns with bloom filters."""

    rows: int = 0
    codec: str | None = None
    timestamps: str | None = None
    kinds: dict[str, tuple[str, ...]] = field(default_factory=dict)
    blooms: tuple[str, ...] = ()


def facts_of(fs: FileSystem, path: str, kind: Format) -> Facts:
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
            told = str(error).strip().partition("\n")[0]
            raise NotReadable(f"the footer of {path} can't be read: {told}") from error


def _of_orc(stream: Any) -> Facts:
    from pyarrow import orc

    file = orc.ORCFile(stream)
    codec = file.compression.lower()
    return Facts(file.nrows, "none" if codec == "uncompressed" else codec)


def _of_parquet(stream: Any) -> Facts:
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
    return Facts(
        metadata.num_rows,
        _CODECS.get(codec, codec) if codec else None,
        timestamps,
        {name: tuple(each) for name, each in kinds.items()},
        tuple(blooms),
    )


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


def check_kinds(old: Facts, new: Facts) -> None:
    """Raise `TypesChanged` unless each column of an old file is of the same kind in a new
    one. Columns, and fields of columns, may have been added by other old files."""
    for name, before in old.kinds.items():
        after = new.kinds.get(name, ())
        left: Iterator[str] = iter(after)
        for kind in before:
            if kind not in left:
                told = ", ".join(after) or "nothing"
                raise TypesChanged(f"the column {name} is of {kind}, and would become {told}")
