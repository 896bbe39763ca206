"""Files of lines put one after the other, as an executor does it.

A task makes one file of those of a directory: in the order of their names it takes those
whose bytes begin within its share. Each line stays a line: what doesn't end with a
newline gets one. Compressed files are made one compressed stream. With headers, the
first line of the first file is kept, and that of all others has to be the same.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from howdah import errors
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.status import FileStatus
from howdah.spark.compaction_plan import is_hidden
from howdah.spark.filesystems import Place

if TYPE_CHECKING:
    import pyarrow as pa

SHARE_SCHEMA: Final = "directory string, building string, suffix string, number int, shares int"
JOINED_SCHEMA: Final = "directory string, files long, lines long"
_BUFFER: Final = 4 << 20


class _Source(Protocol):
    def read(self, count: int, /) -> bytes: ...


class _Sink(Protocol):
    def write(self, data: bytes, /) -> object: ...


class HeadersDiffer(errors.HowdahError, ValueError):
    """Two files of one directory have other columns."""


@dataclass(frozen=True, slots=True)
class JoinLines:
    """Called with shares; each becomes a file. A second attempt writes it anew."""

    place: Place
    has_headers: bool

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        fs = self.place.connect()
        for batch in given:
            for row in batch.to_pylist():
                files, lines = join(fs, row, has_headers=self.has_headers)
                yield pa.RecordBatch.from_pydict(
                    {
                        "directory": pa.array([row["directory"]]),
                        "files": pa.array([files], type=pa.int64()),
                        "lines": pa.array([lines], type=pa.int64()),
                    }
                )


def join(fs: FileSystem, share: dict[str, Any], *, has_headers: bool) -> tuple[int, int]:
    """Make the file of one share; how many files went into it, and their lines."""
    name = f"part-{share['number']:05}-compacted{share['suffix']}"
    target = paths.join(share["building"], name)
    is_compressed = share["suffix"].endswith(".gz")
    files = lines = 0
    header: bytes | None = None
    with fs.create(target, overwrite=True) as raw:
        out = gzip.GzipFile(fileobj=cast(Any, raw), mode="wb") if is_compressed else raw
        for status in _share_of(fs, share["directory"], share["number"], share["shares"]):
            with fs.open(status.path) as stream:
                source = gzip.GzipFile(fileobj=cast(Any, stream)) if is_compressed else stream
                if has_headers:
                    first = source.readline()
                    if first and not first.endswith(b"\n"):
                        first += b"\n"
                    if header is None and first:
                        header = first
                        out.write(header)
                        lines += 1
                    elif first and first != header:
                        raise HeadersDiffer(f"{status.path} begins with another line than others")
                lines += _copy(source, out)
                files += 1
        if isinstance(out, gzip.GzipFile):
            out.close()
    return files, lines


def _share_of(fs: FileSystem, directory: str, number: int, shares: int) -> Iterator[FileStatus]:
    """The files of the share: those whose middle lies in it, when all bytes are laid out."""
    total = sum(status.length for status in _data_files(fs, directory))
    at = 0
    for status in _data_files(fs, directory):
        middle = at + status.length // 2
        at += status.length
        if min(middle * shares // max(total, 1), shares - 1) == number:
            yield status


def _data_files(fs: FileSystem, directory: str) -> Iterator[FileStatus]:
    found = (s for s in fs.list_status_iter(directory) if s.is_file and not is_hidden(s.name))
    if fs.scheme == "hdfs":
        return found
    return iter(sorted(found, key=lambda status: status.name))


def _copy(source: _Source, out: _Sink) -> int:
    lines = 0
    last = b"\n"
    while piece := source.read(_BUFFER):
        out.write(piece)
        lines += piece.count(b"\n")
        last = piece[-1:]
    if last != b"\n":
        out.write(b"\n")
        lines += 1
    return lines
