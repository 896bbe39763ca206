"""Tells the kernel what `page_cache` has decided.

`sync_file_range` is not in Python's `os`; it comes from the C library. Where that has
none, the kernel writes when it likes, and waiting for it is `fdatasync`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from howdah.datanode.state.replicas.page_cache import Advice, CacheAdvice
from howdah.runtime.libc import find_sync_file_range

_WAIT_BEFORE, _WRITE, _WAIT_AFTER = 1, 2, 4
_FADVICE = {
    Advice.SEQUENTIAL: os.POSIX_FADV_SEQUENTIAL,
    Advice.WILL_NEED: os.POSIX_FADV_WILLNEED,
    Advice.DONT_NEED: os.POSIX_FADV_DONTNEED,
}
_sync_file_range = find_sync_file_range()


def advise(fd: int, advice: Iterable[CacheAdvice]) -> None:
    """Pass the advice on, in order. `OSError` is the disk's: pages could not be written."""
    for one in advice:
        match one.what:
            case Advice.START_WRITING:
                if _sync_file_range is not None:
                    _sync_file_range(fd, one.offset, one.length_bytes, _WRITE)
            case Advice.FINISH_WRITING:
                if _sync_file_range is None:
                    os.fdatasync(fd)
                else:
                    flags = _WAIT_BEFORE | _WRITE | _WAIT_AFTER
                    _sync_file_range(fd, one.offset, one.length_bytes, flags)
            case other:
                os.posix_fadvise(fd, one.offset, one.length_bytes, _FADVICE[other])
