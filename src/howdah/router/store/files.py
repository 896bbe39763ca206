"""Records in a directory that routers share (shell). Hadoop: StateStoreFileImpl.

A directory for each kind of record, a file for each record, replaced as a whole. Routers on
several machines share it on a network filesystem.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Final

from howdah import errors
from howdah.router.store.state_store import MOST_BYTES, PRIVATE, damaged
from howdah.runtime import disk
from howdah.runtime.atomic_files import fsync_directory, replace_file

_TEMPORARY: Final = ".tmp"
_LOCK: Final = ".lock"
_MOST_NAME_BYTES: Final = 255
_LOCK_LIMIT_S: Final = 10.0
_LOCK_LOOK_S: Final = 0.02


class FileRecords:
    """See `state_store.Records`."""

    def __init__(self, directory: Path, lock_limit_s: float = _LOCK_LIMIT_S) -> None:
        self.directory = directory
        self._lock_limit_s = lock_limit_s

    @property
    def location(self) -> str:
        return str(self.directory)

    def prepare(self, kinds: Iterable[str]) -> None:
        """Raises PermissionError for records of a private kind that strangers can read, or may
        have put there."""
        for kind in kinds:
            is_private = kind in PRIVATE
            directory = self.directory / kind
            disk.make_directory(directory, 0o700 if is_private else 0o755)
            if is_private:
                self._check_private(kind, directory)

    def _check_private(self, kind: str, directory: Path) -> None:
        facts = directory.stat()
        if facts.st_mode & 0o077:
            why = "others than its owner can read what delegation tokens are made by: chmod 700"
            raise PermissionError(errno.EACCES, why, str(directory))
        own = os.geteuid()
        if own not in (0, facts.st_uid):
            why = f"its owner is the user {facts.st_uid}, and not {own}, who runs this router"
            raise PermissionError(errno.EACCES, why, str(directory))
        for path in self._paths(kind):
            try:
                record = path.lstat()
            except FileNotFoundError:
                continue  # removed meanwhile
            is_own = stat.S_ISREG(record.st_mode) and record.st_uid == facts.st_uid
            if not is_own or record.st_mode & 0o077:
                why = (
                    "it is no file that the owner of its directory alone can read and write. "
                    "Whoever could write there may have planted a key by which they can be "
                    f"anybody: remove all files of {directory}, which ends the delegation tokens "
                    "of the routers; or, if nobody else could, chmod 600"
                )
                raise PermissionError(errno.EACCES, why, str(path))

    def names(self, kind: str) -> list[str]:
        return sorted(path.name for path in self._paths(kind))

    def get(self, kind: str, name: str) -> bytes | None:
        try:
            return self._content(kind, self._path(kind, name))
        except FileNotFoundError:
            return None

    def _paths(self, kind: str) -> Iterator[Path]:
        for path in (self.directory / kind).iterdir():
            if not path.name.endswith(_TEMPORARY) and not path.name.startswith("."):
                yield path

    def _content(self, kind: str, path: Path) -> bytes:
        if path.stat().st_size > MOST_BYTES:
            why = f"it is larger than {MOST_BYTES} bytes"
            raise damaged(self.location, kind, path.name, why)
        return path.read_bytes()

    def read(self, kind: str) -> Iterator[tuple[str, bytes]]:
        for path in sorted(self._paths(kind)):
            try:
                content = self._content(kind, path)
            except FileNotFoundError:
                continue  # removed meanwhile
            yield path.name, content

    def create(self, kind: str, name: str, content: bytes) -> bool:
        return self._write(kind, name, content, is_there=False)

    def replace(self, kind: str, name: str, content: bytes) -> bool:
        return self._write(kind, name, content, is_there=True)

    def remove(self, kind: str, name: str) -> bool:
        with self._locked():
            path = self._path(kind, name)
            if not path.exists():
                return False
            disk.unlink(path)
            fsync_directory(path.parent)
            return True

    def close(self) -> None:
        """Nothing is held."""

    def _write(self, kind: str, name: str, content: bytes, *, is_there: bool) -> bool:
        with self._locked():
            path = self._path(kind, name)
            if path.exists() is not is_there:
                return False
            replace_file(path, content + b"\n", mode=0o600 if kind in PRIVATE else 0o644)
            return True

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """One router at a time writes: two must not use the same temporary file. Raises OSError
        where another one does not come to its end: it may be stopped, or its machine."""
        path = self.directory / _LOCK
        with _opened(path) as lock:
            until_s = time.monotonic() + self._lock_limit_s
            while not _is_taken(lock.fileno()):
                if time.monotonic() > until_s:
                    why = f"another router has held the lock for {self._lock_limit_s:g} s"
                    raise OSError(errno.ETIMEDOUT, why, str(path))
                time.sleep(_LOCK_LOOK_S)
            yield

    def _path(self, kind: str, name: str) -> Path:
        if len(os.fsencode(name)) > _MOST_NAME_BYTES:
            raise errors.IllegalArgument(f"{name} is too long for a record of the state store")
        return self.directory / kind / name


def _opened(path: Path) -> IO[bytes]:
    """The lock, which the owner alone can open: whoever can, can hold it for ever."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    lock = os.fdopen(os.open(path, flags, 0o600), "ab")
    facts = os.fstat(lock.fileno())
    if facts.st_mode & 0o077 and os.geteuid() in (0, facts.st_uid):
        path.chmod(0o600)
    return lock


def _is_taken(lock: int) -> bool:
    """Whether the lock of a descriptor could be had now."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
