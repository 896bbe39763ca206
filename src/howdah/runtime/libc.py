"""Call what the C library has and Python's own modules have not (shell; Linux).

Nothing else of howdah uses `ctypes`. A function that this system's C library lacks is None here, or
raises OSError (ENOSYS); whoever calls it says what is done instead.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from collections.abc import Callable
from functools import cache
from typing import Any, Final

_AT_FDCWD: Final = -100
_RENAME_NOREPLACE: Final = 1
_MAP_FAILED: Final = ctypes.c_void_p(-1).value
_TIMEX_BYTES: Final = 208

SyncFileRange = Callable[[int, int, int, int], None]
"""Takes a descriptor, an offset, a length in bytes, and flags of sync_file_range(2)."""


@cache
def _function(name: str, result: Any, *parameters: Any) -> Any:
    """Return a function of the C library, None if it has none of this name."""
    try:
        function = getattr(ctypes.CDLL(None, use_errno=True), name)
    except (OSError, AttributeError):
        return None
    function.restype, function.argtypes = result, parameters
    return function


def _failed(call: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{call}: {os.strerror(number)}")


def find_sync_file_range() -> SyncFileRange | None:
    """Return sync_file_range(2), which raises OSError, or None."""
    call = _function(
        "sync_file_range",
        ctypes.c_int,
        *(ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint),
    )
    if call is None:
        return None

    def sync_file_range(descriptor: int, offset: int, length_bytes: int, flags: int) -> None:
        if call(descriptor, offset, length_bytes, flags) < 0:
            raise _failed("sync_file_range")

    return sync_file_range


def rename_without_replacing(source: str, target: str) -> None:
    """Rename as renameat2(2) does with RENAME_NOREPLACE. Raises OSError: EEXIST if something has
    the name `target`; ENOSYS, EINVAL or ENOTSUP where the system or the filesystem lacks it."""
    call = _function(
        "renameat2",
        ctypes.c_int,
        *(ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint),
    )
    number = errno.ENOSYS
    if call is not None:
        ends = (_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target))
        if call(*ends, _RENAME_NOREPLACE) == 0:
            return
        number = ctypes.get_errno()
    raise OSError(number, os.strerror(number), source, None, target)


def clock_state() -> bytes | None:
    """Return what adjtimex(2) says of the kernel's clock (`struct timex`), or None."""
    call = _function("adjtimex", ctypes.c_int, ctypes.c_char_p)
    state = ctypes.create_string_buffer(_TIMEX_BYTES)  # all zero: asks, and changes nothing
    return None if call is None or call(state) < 0 else state.raw


def map_file(descriptor: int, length_bytes: int) -> int:
    """Map the beginning of a file to read it; return its address. Unlike Python's `mmap`, a
    mapping keeps no descriptor. Raises OSError."""
    call = _function(
        "mmap",
        ctypes.c_void_p,
        *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int),
        ctypes.c_longlong,
    )
    address = call(None, length_bytes, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    if address == _MAP_FAILED:
        raise _failed(f"mmap of {length_bytes} bytes")
    return int(address)


def lock_memory(address: int, length_bytes: int) -> None:
    """Read all of a mapping, and keep it in memory. Other threads run meanwhile. Raises OSError."""
    if _function("mlock", ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)(address, length_bytes):
        raise _failed(f"mlock of {length_bytes} bytes")


def unmap(address: int, length_bytes: int) -> None:
    """End a mapping. Its memory is not locked any more."""
    _function("munmap", ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)(address, length_bytes)


def view_of(address: int, length_bytes: int) -> memoryview:
    """Show the bytes of a mapping. They must not be looked at once it has ended."""
    mapped = (ctypes.c_ubyte * length_bytes).from_address(address)
    return memoryview(mapped).cast("B").toreadonly()


def mount(source: str, directory: str, kind: str, flags: int, options: str) -> None:
    """Mount a filesystem as mount(2) does. Raises OSError."""
    call = _function(
        "mount",
        ctypes.c_int,
        *(ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p),
    )
    names = (os.fsencode(source), os.fsencode(directory), os.fsencode(kind))
    if call is None:
        raise OSError(errno.ENOSYS, "mount: this system has none")
    if call(*names, flags, os.fsencode(options)) < 0:
        raise _failed(f"mount at {directory}")


def unmount(directory: str, flags: int) -> None:
    """End a mount as umount2(2) does. Raises OSError."""
    call = _function("umount2", ctypes.c_int, ctypes.c_char_p, ctypes.c_int)
    if call is None:
        raise OSError(errno.ENOSYS, "umount2: this system has none")
    if call(os.fsencode(directory), flags) < 0:
        raise _failed(f"umount of {directory}")
