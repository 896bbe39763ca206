"""Files that say who may do what at a server (shell): who may read and write them, and how they are
changed.

Whoever can write such a file can be anybody, so one that others than its owner, root or this
process's user can change is refused, and so is one in a directory of that kind. Where links lead
to it, whoever can replace one of these can choose the file: their directories count as well.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.runtime.atomic_files import Rights, replace_file

_MOST_BYTES: Final = 16 << 20
_MOST_LINKS: Final = 40
"""As many as the system follows."""
_NEW_MODE: Final = 0o600
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_READ: Final = stat.S_IRGRP | stat.S_IROTH


def read_guarded(path: Path) -> tuple[str, bool]:
    """Return the text of a file, and whether others than its owner can read it.

    Raises InvalidConfiguration where it is none, cannot be read, or others can write it.
    """
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            _check_owned(path, status)
            for directory in _directories_of(path):
                _check_directory(directory)
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise errors.InvalidConfiguration(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > _MOST_BYTES:
        raise errors.InvalidConfiguration(f"{path} has more than {_MOST_BYTES} bytes")
    try:
        return data.decode(), bool(status.st_mode & _OTHERS_READ)
    except UnicodeDecodeError:
        raise errors.InvalidConfiguration(f"{path} is not in UTF-8") from None


def change_guarded(
    path: Path, edit: Callable[[Path | None], str], *, creates: bool = False
) -> None:
    """Replace a file by the text that `edit` makes of it (None: there is none): whoever reads it
    sees all of that or nothing, and one process at a time changes it. With `creates` it need not
    be there.

    Raises InvalidConfiguration, and what `edit` raises.
    """
    named, path = path, path.resolve()
    with locked(path.parent):
        for directory in _directories_of(named):
            _check_directory(directory)
        try:
            status = path.stat()
        except FileNotFoundError:
            if not creates:
                raise errors.InvalidConfiguration(f"there is no file {path}") from None
            status = None
        content = edit(None if status is None else path).encode()
        try:
            replace_file(path, content, rights=_rights_after(status))
        except OSError as error:
            raise errors.InvalidConfiguration(
                f"{path} cannot be written: {error.strerror}"
            ) from error


def signature_of(path: Path) -> tuple[int, ...]:
    """Return what differs where a file was changed, replaced, or given other rights, or its
    directory, or that of a link to it."""
    return Watched(path).signature()


class Watched:
    """A file that is looked at again and again. For one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = os.fspath(path)
        self._seen: tuple[int, int] | None = None
        self._directories: list[str] = []

    def signature(self) -> tuple[int, ...]:
        """As `signature_of`. Links are followed again when they lead to another file."""
        try:
            file = os.stat(self._name)
            if (file.st_dev, file.st_ino) != self._seen:
                self._directories = [os.fspath(each) for each in _directories_of(self._path)]
                self._seen = (file.st_dev, file.st_ino)
            directories = [os.stat(each) for each in self._directories]
        except OSError as error:
            self._seen = None
            return (error.errno or 0,)
        return _facts(file, directories)


def _facts(file: os.stat_result, directories: Iterable[os.stat_result]) -> tuple[int, ...]:
    facts: tuple[int, ...] = (
        file.st_dev,
        file.st_ino,
        file.st_size,
        file.st_mtime_ns,
        file.st_ctime_ns,
    )
    for directory in directories:
        facts += (
            directory.st_dev,
            directory.st_ino,
            directory.st_mode,
            directory.st_uid,
            directory.st_ctime_ns,
        )
    return facts


def _directories_of(path: Path) -> list[Path]:
    """Return those in which a file can be replaced, or a link that leads to it. Raises OSError."""
    place = path.absolute()
    found: list[Path] = []
    for _ in range(_MOST_LINKS):
        directory = place.parent.resolve()
        found.append(directory)
        if not place.is_symlink():
            return found
        place = directory / place.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _rights_after(status: os.stat_result | None) -> Rights:
    """Return those of the file that replaces one."""
    if status is None:
        return Rights(os.geteuid(), os.getegid(), _NEW_MODE)
    return Rights(status.st_uid, status.st_gid, status.st_mode & ~_OTHERS_WRITE & 0o777)


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Let one process at a time change files in a directory. Raises InvalidConfiguration."""
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
