"""Small disks: filesystems in memory, which only some users may mount."""

from __future__ import annotations

import errno
import io
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

MIB = 1 << 20


class NotMounted(Exception):
    """The system does not let this user have a small disk."""


@contextmanager
def small_disks(size_bytes: int) -> Iterator[Callable[[Path], Path]]:
    """Mounts disks at paths, for the time of the context. Mounting raises NotMounted."""
    mounted: list[Path] = []

    def mount(path: Path) -> Path:
        path.mkdir(parents=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "howdah-test", str(path)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise NotMounted("there is no mount command") from None
        if done.returncode:
            raise NotMounted(f"a small disk cannot be mounted here: {done.stderr.strip()}")
        mounted.append(path)
        return path

    try:
        yield mount
    finally:
        for path in mounted:
            subprocess.run(["umount", "--lazy", path], check=True)


def fill(disk: Path) -> Path:
    """Take all room of a disk, as somebody else's file; its path."""
    hog = disk / "hog"
    with hog.open("wb", buffering=0) as file:
        # Until there is none, as others may write meanwhile.
        while _is_written(file, bytes(MIB)):
            pass
    return hog


def _is_written(file: io.FileIO, data: bytes) -> bool:
    try:
        return bool(file.write(data))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return False
