"""A storage directory: its state, its lock, and the small files at its root.

Mirrors what namenodes, datanodes and journal nodes of Hadoop have in common:

    in_use.lock          locked while a server uses the directory; "pid@host"
    current/VERSION      its presence is what makes a directory formatted
    current/seen_txid    namenode: a transaction id that the log has reached

The lock is a POSIX record lock, as Java's is, so that a Hadoop server and one of
ours exclude each other too. Such locks have two traps, which `StorageDirectory`
answers for: they do not exclude the own process, and closing any descriptor of
the file gives the lock up.

This is a shell around the file system. What VERSION says is in `version`.
"""

from __future__ import annotations

import enum
import errno
import fcntl
import os
import socket
from pathlib import Path
from typing import Final, TypeVar

from howdah import errors
from howdah.config.value_types import parse_decimal
from howdah.formats.version import (
    BlockPoolVersion,
    DatanodeVersion,
    JournalVersion,
    NamenodeVersion,
)
from howdah.runtime import disk
from howdah.runtime.atomic_files import fsync_directory, replace_file

LOCK_NAME: Final = "in_use.lock"
CURRENT_NAME: Final = "current"
PREVIOUS_NAME: Final = "previous"
"""What was `current` before an upgrade, until that is finalized."""
FILLING_NAME: Final = "current.filling"
"""A `current` that is being copied from another directory, until it is complete."""
VERSION_NAME: Final = "VERSION"
SEEN_TXID_NAME: Final = "seen_txid"

# Left behind by an upgrade, rollback or finalization that was interrupted.
_UNFINISHED: Final = ("previous.tmp", "removed.tmp", "finalized.tmp", "lastcheckpoint.tmp")
# What may stand in a directory that counts as empty.
_IGNORED: Final = frozenset({LOCK_NAME, "lost+found", FILLING_NAME})

# Locks that this process holds, by device and inode, and its pid: the kernel would
# grant a second one to the same process, and a forked child holds none.
_held: dict[tuple[int, int], int] = {}

Version = TypeVar("Version", NamenodeVersion, JournalVersion, DatanodeVersion, BlockPoolVersion)


class StorageState(enum.Enum):
    """What a directory is to a server that wants to start on it."""

    MISSING = "missing"
    EMPTY = "empty"
    NOT_FORMATTED = "not formatted"
    """There is something, but no `current/VERSION`."""
    UNFINISHED = "in the middle of an upgrade or rollback"
    NORMAL = "normal"


class StorageLock:
    """A held `in_use.lock`. Released by `release`, by leaving the block, or by death."""

    def __init__(self, path: Path, descriptor: int, identity: tuple[int, int]) -> None:
        self.path = path
        self._descriptor: int | None = descriptor
        self._identity = identity

    def release(self) -> None:
        """Gives the lock up; a second call does nothing.

        In a forked child it only closes the descriptor: the lock is the parent's.
        """
        if self._descriptor is None:
            return
        os.close(self._descriptor)
        self._descriptor = None
        _held.pop(self._identity, None)

    def __enter__(self) -> StorageLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class StorageDirectory:
    """One directory of `dfs.namenode.name.dir`, `dfs.datanode.data.dir` and the like."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.current = root / CURRENT_NAME
        self.version_file = self.current / VERSION_NAME
        self.seen_txid_file = self.current / SEEN_TXID_NAME
        self.lock_file = root / LOCK_NAME

    def __repr__(self) -> str:
        return f"StorageDirectory({str(self.root)!r})"

    def state(self) -> StorageState:
        """Raises `InconsistentStorage` if `root` is not a directory, or unreadable."""
        try:
            entries = {entry.name for entry in os.scandir(self.root)}
        except FileNotFoundError:
            return StorageState.MISSING
        except (NotADirectoryError, PermissionError) as error:
            raise errors.InconsistentStorage(
                f"Storage directory {self.root} cannot be used: {error.strerror}"
            ) from error
        if entries.intersection(_UNFINISHED):
            return StorageState.UNFINISHED
        if self.version_file.is_file():
            return StorageState.NORMAL
        return StorageState.NOT_FORMATTED if entries - _IGNORED else StorageState.EMPTY

    def create(self) -> None:
        """Makes `current`, readable by the owner alone, and what is above it."""
        disk.make_directory(self.current, 0o700)
        fsync_directory(self.root)

    def is_locked_here(self) -> bool:
        """Whether this process holds the lock of what is at `root` now."""
        try:
            return _held.get(_identity(os.stat(self.lock_file))) == os.getpid()
        except FileNotFoundError:
            return False

    def lock(self) -> StorageLock:
        """Takes `in_use.lock`, or raises `StorageLocked` naming directory and holder."""
        # Asked before the file is opened: to close it again would release the lock.
        if self.is_locked_here():
            raise errors.StorageLocked(
                f"Storage directory {self.root} is in use by this process, {os.getpid()}"
            )
        descriptor = disk.open_file(self.lock_file, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(descriptor, 256, 0).decode("utf-8", "replace").strip()
            os.close(descriptor)
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                raise
            raise errors.StorageLocked(
                f"Storage directory {self.root} is in use by {holder or 'another process'}, "
                f"which has locked {self.lock_file}"
            ) from error
        try:
            disk.truncate(descriptor, 0, self.lock_file)
            mine = f"{os.getpid()}@{socket.gethostname()}"
            disk.write(descriptor, mine.encode(), 0, self.lock_file)
        except BaseException:
            os.close(descriptor)
            raise
        identity = _identity(os.fstat(descriptor))
        _held[identity] = os.getpid()
        return StorageLock(self.lock_file, descriptor, identity)

    def read_version(self, kind: type[Version]) -> Version:
        """`current/VERSION`, which has to be of the given kind.

        Raises `InconsistentStorage` or `IncorrectVersion`, naming the file.
        """
        try:
            text = self.version_file.read_text("latin-1")
        except FileNotFoundError as error:
            raise errors.InconsistentStorage(
                f"Storage directory {self.root} is not formatted: {self.version_file} is missing"
            ) from error
        return kind.parse(text, str(self.version_file))

    def write_version(
        self,
        version: NamenodeVersion | JournalVersion | DatanodeVersion | BlockPoolVersion,
        now_ms: int,
    ) -> None:
        """Replaces `current/VERSION`; done last, this makes a directory formatted."""
        replace_file(self.version_file, version.format(now_ms).encode("latin-1"))

    def read_seen_txid(self) -> int:
        """A transaction id that the log has reached for certain; 0 in a new directory.

        A log that ends before it has lost its tail.
        """
        try:
            # Hadoop's has no line end, and takes blanks.
            return parse_decimal(self.seen_txid_file.read_bytes().strip().decode("latin-1"))
        except FileNotFoundError as error:
            raise errors.InconsistentStorage(f"{self.seen_txid_file} is missing") from error
        except ValueError as error:
            raise errors.InconsistentStorage(
                f"{self.seen_txid_file} does not hold a transaction id"
            ) from error

    def write_seen_txid(self, txid: int) -> None:
        """Replaces `seen_txid`; durable on return."""
        replace_file(self.seen_txid_file, b"%d\n" % txid)


def _identity(facts: os.stat_result) -> tuple[int, int]:
    return facts.st_dev, facts.st_ino
