"""Small files joined, as an executor does it: a task writes one file of several.

In the order of names, a task takes the files of a directory whose bytes lie within its share.
`concat_lines`, `concat_avro` and `concat_parquet` know the formats.

The files that were written are read again and their lines or records counted (`Count`): as many
must be found as were written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from howdah.copy.common.arrow_rows import batches
from howdah.copy.common.attempt_files import attempt_file, attempt_id
from howdah.copy.common.filesystems import Place
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.status import FileStatus
from howdah.spark.compaction import concat_avro, concat_lines, concat_parquet
from howdah.spark.compaction.concat_lines import Joined
from howdah.spark.compaction.plan import Format, format_of, is_hidden
from howdah.spark.compaction.shared_jobs import Shares

if TYPE_CHECKING:
    import pyarrow as pa

SHARES: Final = Shares(
    "directory string, building string, suffix string, run string, number int, shares int, "
    "block_size long, most_bytes long",
    "number",
)
"""A file to be written, of files that are no longer than `most_bytes` (null: of all). `run` makes
its name unique among all runs, so a reader that listed the directory earlier never opens another
file than the one that it listed."""
JOINED_SCHEMA: Final = "files long, records long, header binary, filled long"
COUNTED_SCHEMA: Final = "records long"


@dataclass(frozen=True, slots=True)
class Join:
    """A task that writes a file for each share; the file of a second attempt replaces it."""

    place: Place
    has_headers: bool | None
    group_bytes: int | None = None

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        fs = self.place.connect()
        shares = (row for batch in given for row in batch.to_pylist())
        unique = attempt_id()
        made = (
            join(fs, share, unique, has_headers=self.has_headers, group_bytes=self.group_bytes)
            for share in shares
        )
        yield from batches(((m.files, m.records, m.header, m.filled) for m in made), JOINED_SCHEMA)


def join(
    fs: FileSystem,
    share: dict[str, Any],
    unique: int = 0,
    *,
    has_headers: bool | None = None,
    group_bytes: int | None = None,
) -> Joined:
    """Write the file of one share; `group_bytes`: of a row group of Parquet."""
    suffix, name = share["suffix"], name_of(share)
    target = paths.join(share["building"], name)
    files = list(data_files(fs, share["directory"], share.get("most_bytes")))
    sources = _share_of(files, share["number"], share["shares"])
    # Without parents: if the directory is gone, the run has ended.
    size = share.get("block_size")
    with attempt_file(fs, target, unique, create_parent=False, block_size=size) as out:
        if format_of(suffix) is Format.AVRO:
            return concat_avro.join(fs, sources, out, name)
        if format_of(suffix) is Format.PARQUET:
            return concat_parquet.join(fs, sources, out, group_bytes)
        return concat_lines.join(fs, sources, out, suffix, has_headers)


def name_of(share: dict[str, Any]) -> str:
    """The name of the file of a share."""
    return f"part-{share['number']:05}-{share['run']}{share['suffix']}"


@dataclass(frozen=True, slots=True)
class Count:
    """A task that counts the lines or records of each share's file."""

    place: Place

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        fs = self.place.connect()
        shares = (row for batch in given for row in batch.to_pylist())
        yield from batches(((count(fs, share),) for share in shares), COUNTED_SCHEMA)


def count(fs: FileSystem, share: dict[str, Any]) -> int:
    """The number of lines or records in the file of a share.

    Raises `PathNotFound`, and the errors of reading a corrupt file.
    """
    path, suffix = paths.join(share["building"], name_of(share)), share["suffix"]
    with fs.open(path) as stream:
        if format_of(suffix) is Format.AVRO:
            return concat_avro.count(stream, path, fs.get_file_status(path).length)
        if format_of(suffix) is Format.PARQUET:
            return concat_parquet.count(stream, path)
        return concat_lines.count(stream, suffix)


def _share_of(files: Sequence[FileStatus], number: int, shares: int) -> Iterator[FileStatus]:
    """The files of a share: those whose middle lies in it, counting the bytes of all files; but
    no share is without a file, as the middle of a huge one would have it."""
    total = sum(status.length for status in files)
    at = 0
    given = -1
    for index, status in enumerate(files):
        middle = at + status.length // 2
        at += status.length
        meant = min(middle * shares // max(total, 1), shares - 1)
        left = len(files) - index
        given = max(min(meant, given + 1), shares - left)
        if given == number:
            yield status


def data_files(
    fs: FileSystem, directory: str, most_bytes: int | None = None
) -> Iterator[FileStatus]:
    """Return the files that are not hidden, in the order of their names; with `most_bytes` those
    that are no longer."""
    files = (
        status
        for status in fs.list_status_iter(directory)
        if status.is_file
        and not is_hidden(status.name)
        and (most_bytes is None or status.length <= most_bytes)
    )
    if fs.scheme == "hdfs":
        return files
    return iter(sorted(files, key=lambda status: status.name))
