"""Lists the files that a mark is about, page by page (shell).

Hadoop's `ExternalSPSFilePathCollector`. Directories are named by their inode ids, so a tree that
is renamed meanwhile is listed all the same. A page that cannot be had may be asked for again:
nothing is forgotten before it was given out. What is waiting is one page for each level of the
tree.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from howdah import errors
from howdah.proto import types_pb2

log = logging.getLogger(__name__)

Page = types_pb2.DirectoryListingProto
ListPage = Callable[[str, bytes], "Page | None"]
"""The page of a directory after a name; of a file the page is the file itself. None if there is
no such path."""


def path_of(inode_id: int) -> str:
    """By which every call finds the inode, wherever it is."""
    return f"/.reserved/.inodes/{inode_id}"


@dataclass(slots=True)
class _Level:
    """A directory, and what is left of its last page. `after` is the name to go on after; None
    if there are no further pages."""

    inode_id: int
    name: str
    after: bytes | None = b""
    entries: list[types_pb2.HdfsFileStatusProto] = field(default_factory=list)


class Walk:
    """Everything that is below one mark, or the file that is marked."""

    def __init__(self, mark: int, list_page: ListPage) -> None:
        self._list_page = list_page
        self._levels = [_Level(mark, path_of(mark))]

    @property
    def is_over(self) -> bool:
        return not self._levels

    def more(self, most: int) -> list[tuple[int, str]]:
        """Up to so many files, by id and name, perhaps none; it asks for one page at most.
        Raises what keeps the namenode from answering."""
        files: list[tuple[int, str]] = []
        while self._levels and len(files) < most:
            level = self._levels[-1]
            if not level.entries:
                if level.after is None:
                    self._levels.pop()
                    continue
                if files:
                    break
                self._turn_page(level)
                if not level.entries:
                    continue
            entry = level.entries.pop()
            below = entry.path.decode("utf-8", "replace")
            name = f"{level.name}/{below}" if below else level.name
            if entry.fileType == types_pb2.HdfsFileStatusProto.IS_DIR:
                self._levels.append(_Level(entry.fileId, name))
                break
            if entry.fileType == types_pb2.HdfsFileStatusProto.IS_FILE:
                files.append((entry.fileId, name))
        return files

    def _turn_page(self, level: _Level) -> None:
        assert level.after is not None
        try:
            page = self._list_page(path_of(level.inode_id), level.after)
        except errors.PathNotFound:
            page = None
        if page is None:
            log.info("%s is gone", level.name)
            level.after = None
            return
        level.entries = list(reversed(page.partialListing))
        level.after = (
            page.partialListing[-1].path if page.remainingEntries and level.entries else None
        )
