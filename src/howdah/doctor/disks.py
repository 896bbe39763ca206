"""The directories of servers (shell)."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from howdah.doctor.inputs import Directory

_TEMPORARY: Final = (Path("/tmp"), Path("/run"), Path("/dev/shm"))


def inspect_directory(
    key: str, role: str, path: Path, *, kind: str = "DISK", reserved: int = 0
) -> Directory:
    """Return what can be seen of a directory; of one that is not there, of the nearest above it."""
    error = ""
    there = path.absolute()
    is_there = True
    mode = device = free = total = flags = 0
    try:
        while not os.path.lexists(there) and there != there.parent:
            there, is_there = there.parent, False
        status = there.stat()
        mode, device = status.st_mode, status.st_dev
        room = os.statvfs(there)
        free, total = room.f_bavail * room.f_frsize, room.f_blocks * room.f_frsize
        flags = room.f_flag
    except OSError as failed:
        error = failed.strerror or str(failed)
    in_memory = kind == "RAM_DISK"
    return Directory(
        key=key,
        role=role,
        path=str(path),
        is_there=is_there,
        is_directory=stat.S_ISDIR(mode),
        device=device,
        free_bytes=free,
        total_bytes=total,
        reserved_bytes=reserved,
        is_read_only=bool(flags & os.ST_RDONLY),
        is_writable=not error and os.access(there, os.W_OK | os.X_OK),
        is_temporary=not in_memory and any(parent in path.parents for parent in _TEMPORARY),
        kind=kind,
        error=error,
    )
