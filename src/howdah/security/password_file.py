"""The file of passwords as servers read it, and as `howdah passwd` changes it (shell).

Whoever can write the file can be anybody, so a file that others than its owner, root or this
process's user can change is refused, and so is one in a directory of that kind. It is read anew
when it or its directory has changed, and once a second while it is refused. A file that cannot be
read, or is none, lets nobody in: an administrator who takes a user out must not be ignored since a
line beside it is wrong.
"""

from __future__ import annotations

import fcntl
import logging
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.formats.malformed import MalformedRecord
from howdah.formats.passwords import PasswordRecord, parse, written
from howdah.runtime.atomic_files import Rights, replace_file

log = logging.getLogger(__name__)

_MOST_BYTES: Final = 16 << 20
_AGAIN_S: Final = 1.0
"""A file that is refused is read again no sooner."""
_NEW_MODE: Final = 0o600
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_READ: Final = stat.S_IRGRP | stat.S_IROTH


class PasswordFile:
    """Of one server. Thread-safe."""

    def __init__(self, path: Path, now_s: Callable[[], float] = time.monotonic) -> None:
        self.path: Final = path
        self._now_s = now_s
        self._lock = threading.Lock()
        self._seen: tuple[int, ...] | None = None
        self._records: Mapping[str, PasswordRecord] = {}
        self._problem: str | None = None
        self._again_s = 0.0

    def records(self) -> Mapping[str, PasswordRecord]:
        """Return what the file has now, by users. Raises InvalidConfiguration."""
        with self._lock:
            seen = _signature(self.path)
            # What is wrong may be mended by something that no signature has.
            is_due = self._problem is not None and self._now_s() >= self._again_s
            if seen != self._seen or is_due:
                self._read(seen)
            if self._problem is not None:
                raise errors.InvalidConfiguration(self._problem)
            return self._records

    def _read(self, seen: tuple[int, ...]) -> None:
        was_read, problem_before, before = self._seen is not None, self._problem, self._records
        self._seen = seen
        try:
            self._records, self._problem = read_passwords(self.path), None
        except errors.InvalidConfiguration as error:
            self._records, self._problem = {}, error.message
            self._again_s = self._now_s() + _AGAIN_S
            if self._problem != problem_before:
                log.error("nobody can log in: %s", error)
            return
        if was_read and (problem_before is not None or self._records != before):
            log.info("%s has changed: %d users can log in", self.path, len(self._records))


def read_passwords(path: Path) -> dict[str, PasswordRecord]:
    """Return the records of a file.

    Raises InvalidConfiguration where it is none, cannot be read, or others can write it.
    """
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            _check_owned(path, status)
            _check_directory(path.resolve().parent)
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise errors.InvalidConfiguration(f"{path} cannot be read: {error.strerror}") from error
    if status.st_mode & _OTHERS_READ:
        log.warning(
            "%s can be read by others than its owner, who can guess passwords by it: chmod 600",
            path,
        )
    if len(data) > _MOST_BYTES:
        raise errors.InvalidConfiguration(f"{path} has more than {_MOST_BYTES} bytes")
    try:
        return parse(data.decode())
    except UnicodeDecodeError:
        raise errors.InvalidConfiguration(f"{path} is not in UTF-8") from None
    except MalformedRecord as error:
        raise errors.InvalidConfiguration(f"{path}: {error.message}") from None


def change(
    path: Path, edit: Callable[[dict[str, PasswordRecord]], None], *, creates: bool = False
) -> None:
    """Change the records of a file: whoever reads it sees all of that or nothing, and one process
    at a time changes it. With `creates` it need not be there.

    Raises InvalidConfiguration, and what `edit` raises.
    """
    path = path.resolve()
    with _locked(path.parent):
        _check_directory(path.parent)
        try:
            status = path.stat()
        except FileNotFoundError:
            if not creates:
                raise errors.InvalidConfiguration(f"there is no file {path}") from None
            status, records = None, {}
        else:
            records = read_passwords(path)
        edit(records)
        content = written(records.values()).encode()
        try:
            replace_file(path, content, rights=_rights_after(status))
        except OSError as error:
            raise errors.InvalidConfiguration(
                f"{path} cannot be written: {error.strerror}"
            ) from error


def _rights_after(status: os.stat_result | None) -> Rights:
    """Return those of the file that replaces one."""
    if status is None:
        return Rights(os.geteuid(), os.getegid(), _NEW_MODE)
    return Rights(status.st_uid, status.st_gid, status.st_mode & ~_OTHERS_WRITE & 0o777)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Raises InvalidConfiguration."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise errors.InvalidConfiguration(
            f"{directory} cannot be opened: {error.strerror}"
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _signature(path: Path) -> tuple[int, ...]:
    """Return what differs where a file was changed, replaced, or given other rights, or its
    directory."""
    try:
        file, directory = path.stat(), path.resolve().parent.stat()
    except OSError as error:
        return (error.errno or 0,)
    return (
        file.st_dev,
        file.st_ino,
        file.st_size,
        file.st_mtime_ns,
        file.st_ctime_ns,
        directory.st_dev,
        directory.st_ino,
        directory.st_mode,
        directory.st_uid,
        directory.st_ctime_ns,
    )


def _check_owned(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise errors.InvalidConfiguration(f"{path} is no file")
    if status.st_mode & _OTHERS_WRITE:
        raise errors.InvalidConfiguration(
            f"{path} can be written by others than its owner, who could log in as anybody: "
            "chmod 600"
        )
    if status.st_uid not in (0, os.geteuid()):
        raise errors.InvalidConfiguration(
            f"{path} belongs to user {status.st_uid}, who could log in as anybody: it has to be "
            f"root's, or of the user of the server, {os.geteuid()}"
        )


def _check_directory(directory: Path) -> None:
    status = directory.stat()
    if status.st_uid not in (0, os.geteuid()):
        raise errors.InvalidConfiguration(
            f"{directory} belongs to user {status.st_uid}, who can replace files in it, and so log "
            f"in as anybody: it has to be root's, or of user {os.geteuid()}"
        )
    is_sticky = status.st_mode & stat.S_ISVTX
    if status.st_mode & _OTHERS_WRITE and not is_sticky:
        raise errors.InvalidConfiguration(
            f"others than its owner can replace files in {directory}, and so log in as anybody: "
            "chmod go-w"
        )
