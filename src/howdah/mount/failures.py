"""Errors as the kernel hands them on: numbers (pure).

Most errors of `howdah.errors` know their `errno`. Here is what they mean to a program that calls
the system and has never heard of HDFS.
"""

from __future__ import annotations

import errno
from typing import Final

from howdah import errors

_BY_TYPE: Final[tuple[tuple[type[BaseException], int], ...]] = (
    # From the special to the general: the first that fits counts.
    (errors.InvalidPath, errno.EINVAL),
    (errors.IllegalArgument, errno.EINVAL),
    (errors.InvalidRequest, errno.EINVAL),
    (errors.PathComponentTooLong, errno.ENAMETOOLONG),
    (errors.MaxDirectoryItemsExceeded, errno.EDQUOT),
    (errors.AttributeNotFound, errno.ENODATA),
    (errors.NotInMountPoint, errno.EPERM),
    (errors.NoDatanodes, errno.ENOSPC),
    (errors.FileIsOpen, errno.EBUSY),
    (errors.StandbyError, errno.EIO),
    (errors.RetriableError, errno.EIO),
    (errors.NotReplicatedYet, errno.EIO),
    (errors.Unreachable, errno.EIO),
    (errors.CallTimeout, errno.ETIMEDOUT),
    (EOFError, errno.EIO),
    (UnicodeError, errno.EILSEQ),
)
OF_THE_CALLER: Final = frozenset(
    (
        errno.ENOENT,
        errno.EEXIST,
        errno.ENODATA,
        errno.ENOTEMPTY,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.ERANGE,
    )
)
"""What programs expect every day, and nobody needs to read in a log."""


class Refused(Exception):
    """What a mount does not do, by the `errno` that the program gets."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number = number


def number_of(error: BaseException) -> int:
    """The `errno` of an error; EIO for one that says nothing better."""
    if isinstance(error, Refused):
        return error.number
    for kind, number in _BY_TYPE:
        if isinstance(error, kind):
            return number
    if isinstance(error, OSError) and error.errno:
        return error.errno
    return errno.EINVAL if isinstance(error, ValueError) else errno.EIO
