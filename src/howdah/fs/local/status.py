"""What the operating system says of local files, in the terms of `howdah.fs`.

Statuses are made of `os.stat`, errors of the operating system become members of
`howdah.errors` with the path in the message, as every other filesystem raises them.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from howdah import errors
from howdah.fs.status import FileStatus

BLOCK_SIZE_BYTES = 32 << 20
"""What Hadoop says of local files, which have no blocks (`fs.local.block.size`)."""

_MODE_BITS = 0o1777
_MOST_ID = 2**32 - 2
"""The number behind it says "as it was" to the system."""
_ERRORS: dict[int, type[errors.HowdahError]] = {
    errno.ENOENT: errors.PathNotFound,
    # What lies below a file doesn't exist, to whoever looks for it.
    errno.ENOTDIR: errors.PathNotFound,
    # Links that lead to each other lead nowhere.
    errno.ELOOP: errors.PathNotFound,
    errno.EEXIST: errors.PathExists,
    errno.EISDIR: errors.PathIsDirectory,
    errno.ENOTEMPTY: errors.DirectoryNotEmpty,
    errno.EACCES: errors.AccessDenied,
    errno.EPERM: errors.AccessDenied,
    errno.ENOSPC: errors.DiskOutOfSpace,
    errno.EDQUOT: errors.SpaceQuotaExceeded,
    errno.ENAMETOOLONG: errors.PathComponentTooLong,
}
_WORDS = {
    errno.ENOENT: "No such file or directory",
    errno.ENOTDIR: "No such file or directory",
}


def from_os_error(path: str, error: OSError) -> errors.HowdahError:
    """Return the member of `howdah.errors` for an error of the operating system about a path."""
    number = error.errno or errno.EIO
    said = _WORDS.get(number) or error.strerror or os.strerror(number)
    exception = _ERRORS.get(number, errors.RemoteError)(f"`{path}': {said}")
    if isinstance(exception, OSError):
        exception.errno = number
    return exception


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Raise what the operating system says inside as members of `howdah.errors`."""
    try:
        yield
    except errors.HowdahError:
        raise
    except OSError as error:
        raise from_os_error(path, error).about(path) from error


def status_of(path: str, info: os.stat_result, target: str | None = None) -> FileStatus:
    """The status of what `os.stat` saw; `target` is where a link that is not followed leads."""
    return FileStatus(
        path=path,
        length=info.st_size,
        is_directory=stat.S_ISDIR(info.st_mode),
        replication=1,
        block_size=BLOCK_SIZE_BYTES,
        modification_time_ms=info.st_mtime_ns // 1_000_000,
        access_time_ms=info.st_atime_ns // 1_000_000,
        permission=stat.S_IMODE(info.st_mode) & _MODE_BITS,
        owner=_user_name(info.st_uid),
        group=_group_name(info.st_gid),
        symlink=target,
        file_id=info.st_ino,
    )


def link_status_of(path: str) -> FileStatus:
    """The status of what is at `path`, of a link itself if it is one."""
    info = os.lstat(path)
    return status_of(path, info, os.readlink(path) if stat.S_ISLNK(info.st_mode) else None)


_SPECIAL = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def special_kind(path: str) -> str | None:
    """What is at a path, or where a link there leads, if it has no content of its own; else None.
    Whoever copies a tree leaves it out: to open a pipe is to wait for a writer, maybe for ever."""
    with translated(path):
        return _SPECIAL.get(stat.S_IFMT(os.stat(path).st_mode))


@lru_cache(maxsize=256)
def _user_name(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


@lru_cache(maxsize=256)
def _group_name(number: int) -> str:
    import grp

    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def user_id(name: str) -> int:
    """The id of a user: by name, else the number itself, as of chown(1). Raises LookupError."""
    import pwd

    try:
        return pwd.getpwnam(name).pw_uid
    except (KeyError, ValueError):
        return _number(name, "user")


def group_id(name: str) -> int:
    """The id of a group: by name, else the number itself. Raises LookupError."""
    import grp

    try:
        return grp.getgrnam(name).gr_gid
    except (KeyError, ValueError):
        return _number(name, "group")


def _number(name: str, kind: str) -> int:
    if name.isascii() and name.isdigit() and int(name) <= _MOST_ID:
        return int(name)
    raise LookupError(f"no such {kind}: {name!r}")
