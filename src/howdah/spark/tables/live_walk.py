"""A live tree, listed by tasks that know nothing of each other.

1. The driver lists the directories at the top, level by level, until there are enough directories
   for all tasks. A part has some of these, which its task lists with all that is below.
2. The directories that the driver listed are in the parts, too: tasks list them again, without what
   is below, and make their rows. A directory that has come into one of them meanwhile belongs to
   nobody else, so that task lists it with all that is below.
3. A directory that goes before its turn has no rows. As in every listing of a live tree, what is
   renamed meanwhile may be listed twice, or not at all; an image has none of this.

Listing is paged (`dfs.ls.limit`), so the namenode never holds its lock for long.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.copy.common.arrow_rows import ROWS_A_BATCH, decode, encode
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.status import FileStatus
from howdah.proto import types_pb2 as pb
from howdah.spark.tables.columns import as_text

DIRECTORIES_A_PART: Final = 4
MOST_LISTED: Final = 20_000
"""Of the driver: entries of directories at the top."""

Entries = Sequence[pb.HdfsFileStatusProto] | Sequence[FileStatus]
"""Of HDFS, or of another filesystem."""


@dataclass(frozen=True, slots=True)
class WalkPart:
    """`shallow` are directories that the driver listed, with the directories that it found in each;
    `deep` those to be listed with all that is below. `top` is the path of the whole listing, in the
    part that makes its row."""

    shallow: tuple[tuple[bytes, frozenset[bytes]], ...]
    deep: tuple[bytes, ...]
    top: str | None = None


def plan_walk(
    fs: FileSystem, top: str, most_parts: int, has_rows_below: Callable[[str], bool]
) -> list[WalkPart]:
    """Parts of the tree at `top`, which is a directory. `has_rows_below` says of a directory, whose
    path ends in a slash, whether anything there is wanted."""
    waiting = deque([encode(top)])
    shallow: list[tuple[bytes, frozenset[bytes]]] = []
    listed = 0
    while waiting and len(waiting) < most_parts * DIRECTORIES_A_PART and listed < MOST_LISTED:
        directory = waiting.popleft()
        found: set[bytes] = set()
        try:
            for entries in pages_of(fs, directory):
                listed += len(entries)
                found.update(path for path in directories_in(directory, entries))
        except errors.PathNotFound:
            continue
        shallow.append((directory, frozenset(found)))
        waiting.extend(path for path in sorted(found) if has_rows_below(with_slash(path)))
    count = max(min(most_parts, len(waiting) + len(shallow)), 1)
    return [
        WalkPart(
            tuple(shallow[number::count]),
            tuple(list(waiting)[number::count]),
            top if number == 0 else None,
        )
        for number in range(count)
    ]


def walked(
    fs: FileSystem,
    part: WalkPart,
    has_rows_below: Callable[[str], bool],
    *,
    with_blocks: bool = False,
) -> Iterator[tuple[bytes, Entries]]:
    """The pages of a part: a directory, and entries in it."""
    waiting = deque(part.deep)
    for directory, known in part.shallow:
        for entries in _pages_if_there(fs, directory, with_blocks):
            waiting.extend(set(directories_in(directory, entries)) - known)
            yield directory, entries
    while waiting:
        directory = waiting.popleft()
        if not has_rows_below(with_slash(directory)):
            continue
        for entries in _pages_if_there(fs, directory, with_blocks):
            waiting.extend(directories_in(directory, entries))
            yield directory, entries


def with_slash(directory: bytes) -> str:
    """The path of a directory as rows have it, with a slash at its end."""
    return as_text(directory).rstrip("/") + "/"


def directories_in(directory: bytes, entries: Entries) -> Iterator[bytes]:
    """The paths of the directories among entries."""
    prefix = directory if directory == b"/" else directory + b"/"
    for entry in entries:
        if isinstance(entry, FileStatus):
            if entry.is_directory and not entry.is_symlink:
                yield encode(entry.path)
        elif entry.fileType == pb.HdfsFileStatusProto.IS_DIR:
            yield prefix + entry.path


def _pages_if_there(fs: FileSystem, directory: bytes, with_blocks: bool) -> Iterator[Entries]:
    try:
        yield from pages_of(fs, directory, with_blocks=with_blocks)
    except errors.PathNotFound:
        return


def pages_of(fs: FileSystem, directory: bytes, *, with_blocks: bool = False) -> Iterator[Entries]:
    """The entries of a directory, page by page. Raises PathNotFound."""
    if isinstance(fs, HdfsFileSystem):
        try:
            yield from _pages_by_namenode(fs, directory, with_blocks)
        except errors.UnresolvedPath:
            pass  # Below a symbolic link, which the client resolves.
        else:
            return
    text = decode(directory)
    some: list[FileStatus] = []
    for status in fs.list_status_iter(text):
        if status.path == text:
            continue
        some.append(status)
        if len(some) == ROWS_A_BATCH:
            yield some
            some = []
    if some:
        yield some


def _pages_by_namenode(
    fs: HdfsFileSystem, directory: bytes, with_blocks: bool
) -> Iterator[Entries]:
    namenode = fs.client.namenode
    path = decode(directory)
    after = b""
    while (page := namenode.get_listing(path, after, need_location=with_blocks)) is not None:
        entries = page.partialListing
        if not entries or not entries[0].path:
            return  # A file, which is its own listing.
        yield list(entries)
        if not page.remainingEntries:
            return
        after = entries[-1].path
    raise errors.PathNotFound(f"File does not exist: {path}")
