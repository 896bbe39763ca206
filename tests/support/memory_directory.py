"""The directory of a test run's temporary files, in memory where there is room.

Servers under test sync every edit, block and checkpoint. What a disk does for that is not under
test: power cuts are simulated. On a disk the syncs take more time than the tests themselves.
What is about disks has its directory on one (`disk_directory` in tests/conftest.py).

A run has one directory and holds a lock in it. The run removes the directory if all tests passed.
Otherwise the directory stays until the next run begins, as does that of a run that was killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

MEMORY: Final = Path("/dev/shm")
ROOM_BYTES: Final = 8 << 30
"""A run writes two gigabytes or so. Servers and JVMs need memory beside them."""

# Short, as paths of sockets have little room.
_PREFIX: Final = "ht"
_LOCK: Final = "howdah-tests.lock"


class MemoryDirectory:
    """The directory of one run, from its start on."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def make(cls, parent: Path) -> MemoryDirectory:
        """Make one below `parent`, and remove those of runs that have ended."""
        remove_leftovers(parent)
        while True:
            path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
            lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if (path / _LOCK).exists():
                return cls(path, lock)
            os.close(lock)  # Another run has found it without its owner, and removed it.

    def close(self, *, keep: bool) -> None:
        """End the run's use of the directory; `keep` leaves it for somebody to look at."""
        if not keep:
            shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def remove_leftovers(parent: Path) -> None:
    """Remove this user's directories whose runs have ended."""
    for path in parent.glob(f"{_PREFIX}*"):
        try:
            lock = os.open(path / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue  # Another user's, or one that is being made at this moment.
        try:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(lock)


def has_room(
    directory: Path = MEMORY, *, mounts: str | None = None, memory: str | None = None
) -> bool:
    """Whether a directory is in memory, does what a disk's does, and has `ROOM_BYTES` to take.

    `mounts` and `memory` are the texts of /proc/mounts and /proc/meminfo."""
    try:
        mounts = Path("/proc/mounts").read_text() if mounts is None else mounts
        memory = Path("/proc/meminfo").read_text() if memory is None else memory
        status = os.statvfs(directory)
    except OSError:
        return False
    mounted = [line.split() for line in mounts.splitlines()]
    kind, options = next(
        ((each[2], each[3].split(",")) for each in reversed(mounted) if each[1] == str(directory)),
        ("", []),
    )
    # Tests run programs that they write.
    if kind != "tmpfs" or "noexec" in options or not os.access(directory, os.W_OK):
        return False
    available = next(
        (int(line.split()[1]) << 10 for line in memory.splitlines() if "MemAvailable:" in line), 0
    )
    room = min(available, status.f_bavail * status.f_frsize)
    return room >= ROOM_BYTES and _is_like_a_disk(directory)


def _is_like_a_disk(directory: Path) -> bool:
    """Whether files there can have extended attributes and be opened past the page cache, as in
    Linux from 6.6 on. Otherwise tests of these would be skipped."""
    with tempfile.NamedTemporaryFile(prefix=_PREFIX, dir=directory) as file:
        try:
            os.setxattr(file.name, "user.howdah", b"1")
            os.close(os.open(file.name, os.O_RDWR | os.O_CLOEXEC | os.O_DIRECT))
        except OSError:
            return False
    return True
