"""Which directories are worth compacting, and into how many files (pure).

A directory is compacted as a whole or not at all, for a directory is what can be
exchanged in one step. So it has to be one that only has data files, all of one format; and the
gain has to be worth the bytes that are written anew: no more of them for each file
saved than the target's size.

What another program keeps a list of is left alone: a table of Delta Lake, Iceberg or
Hudi and the output of a streaming query name their files in a log of their own.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

BYTES_AN_OBJECT: Final = 150
"""What a file, directory or block takes of the namenode's memory: HDFS's rule of thumb."""

PREFIX: Final = ".howdah-compact."
BUILDING: Final = "~building"
READY: Final = "~ready"

LOGS: Final = frozenset(("_spark_metadata", "_delta_log", ".hoodie"))
"""Directories in which others name the files beside them."""
ICEBERG_SUFFIX: Final = ".metadata.json"
"""Files of Iceberg, in a directory that does so."""

# Spark takes these in a path for a pattern.
_PATTERN: Final = re.compile(r"[*?\[\]{}\\]")
_EXTENSION: Final = re.compile(r"\.(parquet|orc|avro|jsonl?|csv|txt|log|text)(\.gz)?$", re.I)
_CODEC: Final = re.compile(r"\.(snappy|gz|zstd|lz4|zlib|brotli)\.(parquet|orc)$", re.I)


class Format(enum.StrEnum):
    PARQUET = "parquet"
    ORC = "orc"
    AVRO = "avro"
    LINES = "lines"
    """Text, JSON: files that may be put one after the other."""
    CSV = "csv"
    """The same, but each may begin with a header."""


_FORMATS: Final = {
    "parquet": Format.PARQUET,
    "orc": Format.ORC,
    "avro": Format.AVRO,
    "csv": Format.CSV,
}


def suffix_of(name: str) -> str | None:
    """The extension that says what a file is, `.gz` included; None for others.

    >>> suffix_of("part-0.snappy.parquet"), suffix_of("a.JSON.gz"), suffix_of("x.bin")
    ('.parquet', '.json.gz', None)
    """
    found = _EXTENSION.search(name)
    return found.group(0).lower() if found else None


def format_of(suffix: str) -> Format:
    return _FORMATS.get(suffix.removesuffix(".gz").lstrip("."), Format.LINES)


def codec_of(name: str) -> str | None:
    """What a Parquet or ORC file is compressed with, as far as its name says."""
    found = _CODEC.search(name)
    if found is None:
        return None
    codec = found.group(1).lower()
    return "gzip" if codec == "gz" else codec


def is_hidden(name: str) -> bool:
    """Whether readers pass the name over, as Hadoop's and Spark's do."""
    return name.startswith(("_", "."))


@dataclass(frozen=True, slots=True)
class Contents:
    """What is directly in one directory. `suffixes` are those of its data files, "" of any
    that nothing is known about; `blocks` are those of its data files."""

    path: str
    files: int
    bytes: int
    blocks: int
    largest_bytes: int
    suffixes: tuple[str, ...]
    directories: int
    has_success: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to become of a directory: `files_after` of them, or left alone for a reason."""

    contents: Contents
    files_after: int
    skipped: str = ""

    @property
    def suffix(self) -> str:
        return self.contents.suffixes[0]

    @property
    def format(self) -> Format:
        return format_of(self.suffix)

    @property
    def files_saved(self) -> int:
        return 0 if self.skipped else self.contents.files - self.files_after

    def blocks_saved(self, block_bytes: int) -> int:
        if self.skipped:
            return 0
        full = -(-self.contents.bytes // block_bytes)
        return max(self.contents.blocks - max(full, self.files_after), 0)

    def memory_saved(self, block_bytes: int) -> int:
        """Bytes of the namenode's memory."""
        return BYTES_AN_OBJECT * (self.files_saved + self.blocks_saved(block_bytes))


def plan(contents: Contents, target_bytes: int, logged: Sequence[str] = ()) -> Plan:
    """Decide. `logged` are the directories of which others keep a list.

    >>> plan(Contents("/d", 100, 5000, 100, 50, (".json",), 0), 1000).files_after
    5
    """
    after = max(1, -(-contents.bytes // target_bytes))
    return Plan(contents, after, _reason(contents, after, target_bytes, logged))


def _reason(contents: Contents, after: int, target_bytes: int, logged: Sequence[str]) -> str:
    if contents.files < 2:
        return "it has fewer than two files"
    for directory in logged:
        if contents.path == directory or contents.path.startswith(directory.rstrip("/") + "/"):
            return f"another program keeps a list of the files below {directory}"
    if contents.directories:
        return "it has subdirectories beside its files"
    if "" in contents.suffixes:
        return "it has files of an unknown format"
    if len(contents.suffixes) > 1:
        return f"it has files of several formats: {', '.join(sorted(contents.suffixes))}"
    if _PATTERN.search(contents.path) and format_of(contents.suffixes[0]) in _BY_SPARK:
        return "Spark would take its name for a pattern"
    saved = contents.files - after
    if saved < 1:
        return "its files are large enough"
    if contents.bytes > saved * target_bytes:
        return "too many bytes would have to be written for the files that it saves"
    return ""


_BY_SPARK: Final = (Format.PARQUET, Format.ORC, Format.AVRO)


def building_name(name: str) -> str:
    """Of the directory in which the new files are made, beside the old one."""
    return f"{PREFIX}{name}{BUILDING}"


def ready_name(name: str) -> str:
    """The same, once it is complete and waits for its place."""
    return f"{PREFIX}{name}{READY}"


def parse_name(name: str) -> tuple[str, bool] | None:
    """For such a name: of which directory it is, and whether it is complete."""
    if not name.startswith(PREFIX):
        return None
    for suffix, is_ready in ((BUILDING, False), (READY, True)):
        if name.endswith(suffix):
            return name[len(PREFIX) : -len(suffix)], is_ready
    return None
