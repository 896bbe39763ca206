"""Checksums of files that two filesystems can be compared by."""

from __future__ import annotations

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.status import FileChecksum


def checksum_of(
    fs: FileSystem, path: str, combine_mode: str, length: int | None = None
) -> FileChecksum | None:
    """The checksum of a file, or of its beginning; None where the filesystem has none of this
    kind, as `webhdfs://`, which tells a sum of whole files that depends on their blocks, or while
    the file is being written."""
    try:
        return fs.get_file_checksum(path, length=length, combine_mode=combine_mode)
    except (errors.UnsupportedOperation, errors.FileIsOpen):
        return None
