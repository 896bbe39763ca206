"""Giving a file a name that nothing has yet, in one step.

POSIX's rename replaces what is there; a look before it leaves a moment in which
somebody else's file can come to be, and be lost. Linux has a call that refuses
instead (`renameat2`). Where the system, or the filesystem that the files are on,
doesn't have it, looking first is the best there is.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable
from functools import cache

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
# What kernels and filesystems without the call, or without the flag, answer.
_NOT_OFFERED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


@cache
def _renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    call.restype = ctypes.c_int
    found: Callable[[int, bytes, int, bytes, int], int] = call
    return found


def rename_new(source: str, target: str) -> None:
    """Rename; `FileExistsError` if something has the name `target`, which is kept."""
    call = _renameat2()
    if call is None:
        _rename_after_a_look(source, target)
        return
    ends = (_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target))
    if call(*ends, _RENAME_NOREPLACE) == 0:
        return
    number = ctypes.get_errno()
    if number in _NOT_OFFERED:
        _rename_after_a_look(source, target)
    else:
        raise OSError(number, os.strerror(number), source, None, target)


def _rename_after_a_look(source: str, target: str) -> None:
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    os.rename(source, target)
