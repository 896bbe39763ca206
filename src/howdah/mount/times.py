"""Times of files, which their owners may always set (shell)."""

from __future__ import annotations

from typing import Final

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem

_OWNER_WRITES: Final = 0o200


def set_times(fs: FileSystem, path: str, mtime_ms: int, atime_ms: int) -> None:
    """Set modification and access, -1 for one that stays.

    HDFS asks for the right to write the file, POSIX lets its owner do it in any case: `cp -p` and
    `tar` do, with files that are read-only already. An owner without that right has it for the
    moment. Raises AccessDenied for others.
    """
    try:
        fs.set_times(path, mtime_ms, atime_ms)
        return
    except errors.AccessDenied:
        mode = fs.get_file_status(path).permission
        if mode & _OWNER_WRITES or not _set_mode(fs, path, mode | _OWNER_WRITES):
            raise
    try:
        fs.set_times(path, mtime_ms, atime_ms)
    finally:
        fs.set_permission(path, mode)


def are_kept(fs: FileSystem, path: str) -> bool:
    """Whether times can be set there, at least by somebody; object stores keep none."""
    if isinstance(fs, HdfsFileSystem):
        return True
    try:
        fs.set_times(path, -1, -1)
    except errors.UnsupportedOperation:
        return False
    except (errors.AccessDenied, errors.PathNotFound):
        return True  # It is asked for when the file is complete.
    return True


def _set_mode(fs: FileSystem, path: str, mode: int) -> bool:
    """Whether the user may, who is the owner then."""
    try:
        fs.set_permission(path, mode)
    except errors.AccessDenied:
        return False
    return True
