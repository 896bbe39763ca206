"""The file of the audit log, and the older ones (log4j's RollingFileAppender; shell).

When the file has its size it becomes `FILE.1`, that one `FILE.2`, and the oldest goes. A file that
somebody else has moved away (logrotate) is made anew before the next lines.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from howdah import errors

log = logging.getLogger(__name__)


class RotatedFile:
    """Lines at the end of a file. One thread writes."""

    def __init__(self, path: Path, max_bytes: int, backups: int) -> None:
        """Raises `InvalidConfiguration` if the file cannot be opened."""
        self._path = path
        self._max_bytes = max_bytes
        self._backups = backups
        self._descriptor = -1
        self._size = 0
        try:
            self._open()
        except OSError as error:
            raise errors.InvalidConfiguration(
                f"the audit log {path} cannot be written: {error.strerror or error}"
            ) from error

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(self._path, flags, 0o640)
        self._size = os.fstat(self._descriptor).st_size

    def write(self, data: bytes) -> None:
        """Write whole lines. Raises OSError; then it is not known how much of them is there."""
        if self._descriptor >= 0 and self._is_moved():
            self.close()
        if self._descriptor < 0:
            self._open()
        if self._size and self._size + len(data) > self._max_bytes:
            self._rotate()
        left = memoryview(data)
        while left:
            count = os.write(self._descriptor, left)
            self._size += count
            left = left[count:]

    def _is_moved(self) -> bool:
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            return True
        ours = os.fstat(self._descriptor)
        return (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino)

    def _rotate(self) -> None:
        self.close()
        for number in range(self._backups, 0, -1):
            older = self._path if number == 1 else self._numbered(number - 1)
            try:
                os.replace(older, self._numbered(number))
            except FileNotFoundError:
                continue  # not so many yet
        if not self._backups:
            os.truncate(self._path, 0)
        self._open()

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
