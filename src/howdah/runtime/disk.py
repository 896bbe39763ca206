"""What is done to metadata on disk, all of it: the seam of the metadata path.

Every change of a name directory goes through one of these functions, and nothing
there changes a file in another way; a test reads the sources for it. So a test
that sets `gate` sees every site, and can make any of them fail, fall short or be
the last thing that the process did.

Each takes the path that it is about, even where a descriptor would do: an
`OSError` that leaves here names a file, which the system's own need not.
"""

from __future__ import annotations

import enum
import mmap
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol, TypeVar

T = TypeVar("T")

# Not every system has it; there a full fsync does.
_fdatasync: Final = getattr(os, "fdatasync", os.fsync)


BLOCK_BYTES: Final = 4096
"""What is written past the page cache is a multiple of this, in memory and in the file."""


class Operation(enum.StrEnum):
    """A kind of change."""

    OPEN = "open"
    WRITE = "write"
    SYNC = "sync"
    TRUNCATE = "truncate"
    RENAME = "rename"
    UNLINK = "unlink"
    MAKE_DIRECTORY = "mkdir"
    LINK = "link"


class Gate(Protocol):
    """What a test puts before and behind every operation. Either may raise."""

    def enter(self, operation: Operation, path: Path) -> None: ...

    def leave(self, operation: Operation, path: Path) -> None: ...

    def room(self, path: Path, length_bytes: int) -> int:
        """How much of a write of this length gets through; all, as a rule."""
        ...


gate: Gate | None = None
"""None but in tests."""


def _run(operation: Operation, path: Path, act: Callable[[], T]) -> T:
    try:
        if gate is None:
            return act()
        gate.enter(operation, path)
        result = act()
        gate.leave(operation, path)
        return result
    except OSError as error:
        if error.filename is None:
            raise type(error)(error.errno, error.strerror, str(path)) from error
        raise


def open_file(path: Path, flags: int, mode: int = 0o644) -> int:
    """A descriptor; `flags` as for `os.open`."""
    return _run(Operation.OPEN, path, lambda: os.open(path, flags | os.O_CLOEXEC, mode))


def open_past_cache(path: Path) -> int:
    """A second descriptor of an open file, for whole blocks that are on the disk as soon as
    they are written; -1 where system and filesystem have no such thing.

    A sync of pages looks for them, writes them back and waits for two answers of the disk. This
    is one call, and where the disk can, one answer.
    """
    direct: int | None = getattr(os, "O_DIRECT", None)
    if direct is None:
        return -1
    try:
        descriptor = open_file(path, os.O_RDWR | os.O_DSYNC | direct)
    except OSError:
        return -1
    # What blocks a filesystem wants it says when it gets others. A read tells, and changes
    # nothing.
    try:
        with mmap.mmap(-1, BLOCK_BYTES) as block:
            os.preadv(descriptor, [block], 0)
    except OSError:
        os.close(descriptor)
        return -1
    return descriptor


def write(descriptor: int, data: bytes, offset_bytes: int, path: Path) -> None:
    """Write all of `data` at an offset, in as many steps as the system needs."""
    left = memoryview(data)
    while left:
        piece = left if gate is None else left[: gate.room(path, len(left))]
        count = _run(
            Operation.WRITE,
            path,
            lambda piece=piece, at=offset_bytes: os.pwrite(descriptor, piece, at),  # type: ignore[misc]
        )
        offset_bytes += count
        left = left[count:]


def sync(descriptor: int, path: Path) -> None:
    """Data and all that is known of the file."""
    _run(Operation.SYNC, path, lambda: os.fsync(descriptor))


def sync_data(descriptor: int, path: Path) -> None:
    """Data, and the length if it changed."""
    _run(Operation.SYNC, path, lambda: _fdatasync(descriptor))


def sync_directory(path: Path) -> None:
    """Creations, renames and removals in a directory."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync(descriptor, path)
    finally:
        os.close(descriptor)


def truncate(descriptor: int, length_bytes: int, path: Path) -> None:
    _run(Operation.TRUNCATE, path, lambda: os.ftruncate(descriptor, length_bytes))


def rename(source: Path, target: Path) -> None:
    """Over whatever has the name. Durable once the directory is synced."""
    _run(Operation.RENAME, source, lambda: os.replace(source, target))


def link(source: Path, target: Path) -> None:
    """A second name for a file that nobody changes any more."""
    _run(Operation.LINK, target, lambda: os.link(source, target))


def unlink(path: Path, *, missing_ok: bool = False) -> None:
    _run(Operation.UNLINK, path, lambda: path.unlink(missing_ok=missing_ok))


def remove_tree(path: Path) -> None:
    """A directory with all that is in it, in no order that could be relied upon."""
    _run(Operation.UNLINK, path, lambda: shutil.rmtree(path))


def make_directory(path: Path, mode: int = 0o777) -> None:
    """One directory and those above it, durably; what is there already is fine.

    A new name is durable when the directory that has it is synced, and a file is no safer than
    the names above it. Only what is missing is made and synced: what was there may belong to
    others. `mode` is for `path` alone.
    """
    if path.is_dir():
        return
    if path.parent != path:
        make_directory(path.parent)
    _run(Operation.MAKE_DIRECTORY, path, lambda: path.mkdir(mode=mode, exist_ok=True))
    sync_directory(path.parent)
