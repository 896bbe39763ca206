"""The one way in which a file is replaced durably.

A reader, and a restart after power loss, finds either the whole old content or
the whole new one. The order is what makes it so: write a temporary file beside
the target, fsync it, rename it over the target, fsync the directory. Everything
that replaces a small file (VERSION, seen_txid, images, ready files) goes
through here.

A temporary file that a crash leaves behind ends in `.tmp`, and the next
replacement of the same target overwrites it. Two writers of one target at a time
are the caller's mistake; storage directories have a lock against it.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from howdah.runtime import disk

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

TEMPORARY_SUFFIX: Final = ".tmp"
_BUFFER_BYTES: Final = 1 << 16


def fsync_directory(directory: Path) -> None:
    """Makes creations, renames and removals in a directory durable."""
    disk.sync_directory(directory)


@contextlib.contextmanager
def replacing(target: Path, *, mode: int = 0o644) -> Iterator[BinaryIO]:
    """A file to write the new content of `target` into.

    The target changes when the block is left in order; if it raises, the target
    stays as it was and the temporary file is removed.

    >>> with replacing(directory / "seen_txid") as file:
    ...     file.write(b"17\\n")
    """
    temporary = target.with_name(target.name + TEMPORARY_SUFFIX)
    file = NewFile(temporary, mode=mode)
    try:
        with file:
            yield file
            file.sync()
        disk.rename(temporary, target)
    except BaseException:
        disk.unlink(temporary, missing_ok=True)
        raise
    fsync_directory(target.parent)


class NewFile(io.BufferedWriter):
    """A file that is written from its beginning, emptied if it was there."""

    def __init__(self, path: Path, *, mode: int = 0o644) -> None:
        """Raises OSError."""
        self.path = path
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        self._descriptor = disk.open_file(path, flags, mode)
        super().__init__(_Raw(self._descriptor, path), _BUFFER_BYTES)

    def sync(self) -> None:
        """What was written is on the disk."""
        self.flush()
        disk.sync(self._descriptor, self.path)


class _Raw(io.RawIOBase):
    """A new file whose writes are seen by `files`."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor = descriptor
        self._path = path
        self._written_bytes = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._written_bytes

    def write(self, data: ReadableBuffer, /) -> int:
        piece = bytes(data)
        disk.write(self._descriptor, piece, self._written_bytes, self._path)
        self._written_bytes += len(piece)
        return len(piece)

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()


def replace_file(target: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Replaces the whole content of `target`, or creates it; durable on return."""
    with replacing(target, mode=mode) as file:
        file.write(content)


def rename_durably(source: Path, target: Path) -> None:
    """Renames within one directory; durable on return.

    Raises `FileExistsError` rather than overwrite: what a storage directory
    already has under a name is not to be lost.
    """
    if target.exists():
        raise FileExistsError(f"{source} cannot be renamed to {target}, which exists")
    disk.rename(source, target)
    fsync_directory(target.parent)
