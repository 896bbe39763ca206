"""A file in memory that the kernel may not take back: mmap and mlock.

Hadoop's MemoryMappedBlock. Python's `mmap` has no `mlock`, and keeps a descriptor for each
mapping, so both come from the C library. The calls let other threads run: to lock a file means
to read it.
"""

from __future__ import annotations

import ctypes
import mmap
import os

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_longlong,
)
for _call in (_libc.mlock, _libc.munmap):
    _call.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_FAILED = ctypes.c_void_p(-1).value


class MappedFile:
    """The first `length_bytes` of a file, mapped until `release`. They come from the disk when
    they are needed."""

    __slots__ = ("_address", "length_bytes")

    def __init__(self, fd: int, length_bytes: int) -> None:
        """`OSError` if the file cannot be mapped."""
        assert length_bytes > 0, f"{length_bytes} bytes cannot be mapped"
        self.length_bytes = length_bytes
        address = _libc.mmap(None, length_bytes, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
        if address == _FAILED:
            raise _error("mmap", length_bytes)
        self._address: int | None = address

    def view(self) -> memoryview:
        """The mapped bytes, for system calls that are over before `release`. Who looks at them
        here ends this process if the file was cut meanwhile."""
        assert self._address is not None, "it was released"
        mapped = (ctypes.c_ubyte * self.length_bytes).from_address(self._address)
        return memoryview(mapped).cast("B").toreadonly()

    def release(self) -> None:
        """Unmapped memory is not locked any more. Safe to repeat."""
        address, self._address = self._address, None
        if address is not None:
            _libc.munmap(address, self.length_bytes)


class LockedFile(MappedFile):
    """The same, read and locked at once."""

    __slots__ = ()

    def __init__(self, fd: int, length_bytes: int) -> None:
        """`OSError` if the process may not lock so much, or the file cannot be read."""
        super().__init__(fd, length_bytes)
        if _libc.mlock(self._address, length_bytes):
            error = _error("mlock", length_bytes)
            self.release()
            raise error


def _error(call: str, length_bytes: int) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{call} of {length_bytes} bytes: {os.strerror(number)}")
