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
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

TEMPORARY_SUFFIX = ".tmp"


def fsync_directory(directory: Path) -> None:
    """Makes creations, renames and removals in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def replacing(target: Path, *, mode: int = 0o644) -> Iterator[BinaryIO]:
    """A file to write the new content of `target` into.

    The target changes when the block is left in order; if it raises, the target
    stays as it was and the temporary file is removed.

    >>> with replacing(directory / "seen_txid") as file:
    ...     file.write(b"17\\n")
    """
    temporary = target.with_name(target.name + TEMPORARY_SUFFIX)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    fsync_directory(target.parent)


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
    os.rename(source, target)
    fsync_directory(target.parent)
