"""The one way in which a file is replaced durably.

A reader, and a restart after power loss, finds either the whole old content or
the whole new one. The order is what makes it so: write a temporary file beside
the target, fsync it, rename it over the target, fsync the directory. Everything
that replaces a small file (VERSION, seen_txid, images, ready files) goes
through here.

A temporary file that a crash leaves behind ends in `.tmp`, and the next
replacement of the same target removes it. Nothing is written into a file that
is there already, and no link is followed: another user may have put it there.
Two writers of one target at a time are the caller's mistake; storage
directories have a lock against it.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from howdah.runtime import disk

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

TEMPORARY_SUFFIX: Final = ".tmp"
_BUFFER_BYTES: Final = 1 << 16
_PRIVATE: Final = 0o600


def fsync_directory(directory: Path) -> None:
    """Makes creations, renames and removals in a directory durable."""
    disk.sync_directory(directory)


@contextlib.contextmanager
def replacing(
    target: Path, *, mode: int = 0o644, rights: Rights | None = None
) -> Iterator[BinaryIO]:
    """A file to write the new content of `target` into.

    With `rights` the new file has exactly these, and nobody else reads it before;
    `mode` is what the process's umask leaves of it.

    The target changes when the block is left in order; if it raises, the target
    stays as it was and the temporary file is removed.

    >>> with replacing(directory / "seen_txid") as file:
    ...     file.write(b"17\\n")
    """
    temporary = target.with_name(target.name + TEMPORARY_SUFFIX)
    file = NewFile(temporary, mode=mode if rights is None else _PRIVATE)
    try:
        with file:
            if rights is not None:
                file.give(rights)
            yield file
            file.sync()
        disk.rename(temporary, target)
    except BaseException:
        disk.unlink(temporary, missing_ok=True)
        raise
    fsync_directory(target.parent)


@dataclass(frozen=True, slots=True)
class Rights:
    """Who a file belongs to, and who may do what with it."""

    uid: int
    gid: int
    mode: int


class NewFile(io.BufferedWriter):
    """A file that is written from its beginning. One that has its name is removed: what a crash
    left behind, or a link."""

    def __init__(self, path: Path, *, mode: int = 0o644) -> None:
        """Raises OSError."""
        self.path = path
        # Together they follow no link, and open nothing that is there.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        try:
            self._descriptor = disk.open_file(path, flags, mode)
        except FileExistsError:
            disk.unlink(path, missing_ok=True)
            self._descriptor = disk.open_file(path, flags, mode)
        super().__init__(_Raw(self._descriptor, path), _BUFFER_BYTES)

    def give(self, rights: Rights) -> None:
        """Have the file belong to somebody, with a mode whatever the umask. Raises OSError."""
        status = os.fstat(self._descriptor)
        if (status.st_uid, status.st_gid) != (rights.uid, rights.gid):
            os.fchown(self._descriptor, rights.uid, rights.gid)
        os.fchmod(self._descriptor, rights.mode)

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


def replace_file(
    target: Path, content: bytes, *, mode: int = 0o644, rights: Rights | None = None
) -> None:
    """Replaces the whole content of `target`, or creates it; durable on return. `mode` and
    `rights` as for `replacing`."""
    with replacing(target, mode=mode, rights=rights) as file:
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
