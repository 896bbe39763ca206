"""The files that a word of a user names.

Names may have the characters of patterns in them (`howdah.fs.glob`). So a word is the path that
exists as it is, and only else a pattern: a name that was listed can be handed on, and never means
its neighbours. Hadoop's shell and distcp take such a word for a pattern only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.fs import glob

if TYPE_CHECKING:
    from howdah.fs.api import FileSystem
    from howdah.fs.status import FileStatus

_NO_SUCH_NAME: Final = (
    errors.PathNotFound,
    errors.ParentNotDirectory,
    errors.InvalidPath,
    errors.PathComponentTooLong,
)


def named(fs: FileSystem, path: str, pattern: str | None = None) -> list[FileStatus]:
    """The status of `path`, or of what matches it (as `pattern`); empty if nothing does."""
    if glob.has_wildcard(path):
        try:
            return [fs.get_file_status(path)]
        except _NO_SUCH_NAME:
            pass  # it is a pattern, which may be no path at all: `/{a,b:c}`
    return fs.glob_status(path if pattern is None else pattern)
