"""What a disk has of files whose syncs fail: nothing, and the system says so once."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from howdah.runtime import disk


class PageCache:
    """Pages that were written and not synced. A sync that fails takes them for written, as Linux
    does: they are read as before, later syncs pass them over, and a power cut loses them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fails = 0
        """So many syncs of files are going to fail."""
        self._disk: dict[int, bytearray] = {}
        self._dirty: dict[int, list[range]] = {}
        self._pwrite, self._ftruncate = os.pwrite, os.ftruncate
        monkeypatch.setattr(os, "pwrite", self.pwrite)
        monkeypatch.setattr(os, "ftruncate", self.ftruncate)
        monkeypatch.setattr(os, "fsync", self.fsync)
        monkeypatch.setattr(disk, "_fdatasync", self.fsync)

    def pwrite(self, descriptor: int, data: bytes, offset: int) -> int:
        count = self._pwrite(descriptor, data, offset)
        inode = os.fstat(descriptor).st_ino
        self._dirty.setdefault(inode, []).append(range(offset, offset + count))
        return count

    def ftruncate(self, descriptor: int, length: int) -> None:
        self._ftruncate(descriptor, length)
        on_disk = self._disk.setdefault(os.fstat(descriptor).st_ino, bytearray())
        del on_disk[length:]

    def fsync(self, descriptor: int) -> None:
        facts = os.fstat(descriptor)
        dirty = self._dirty.pop(facts.st_ino, [])
        if dirty and self.fails:
            self.fails -= 1
            raise OSError(errno.EIO, "the disk is broken")
        on_disk = self._disk.setdefault(facts.st_ino, bytearray())
        for piece in dirty:
            on_disk.extend(bytes(max(0, piece.stop - len(on_disk))))
            readable = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY)
            try:
                on_disk[piece.start : piece.stop] = os.pread(readable, len(piece), piece.start)
            finally:
                os.close(readable)

    def cut_power(self, path: Path) -> None:
        """The file has what the disk has."""
        path.write_bytes(self._disk.get(path.stat().st_ino, b""))
