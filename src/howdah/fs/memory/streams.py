"""The streams of an in-memory filesystem.

A writer's bytes are its own until `hflush`, `hsync` or `close`; then they are in the
file, and every reader that opens it finds them (OS-009). Streams that are open for
reading keep the length that the file had when they were opened (OS-088), and the
content of a file that was replaced.

A stream that was put out of the file (by a delete, an overwrite, a lease that was
taken from it) says so to its writer in every later call.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock

from howdah import errors
from howdah.fs import capabilities
from howdah.fs.file_output import PositionedOutput, Writable
from howdah.fs.input_base import PositionedInput
from howdah.fs.memory.tree import File
from howdah.options import SyncFlag

_INPUT = frozenset((capabilities.READ_BYTE_BUFFER, capabilities.PREAD_BYTE_BUFFER))


class MemoryOutput(PositionedOutput):
    """The inside of an `FSDataOutputStream` on a file in memory."""

    def __init__(
        self,
        path: str,
        file: File,
        lock: RLock,
        now_ms: Callable[[], int],
        progress: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(path, len(file.content))
        self._file = file
        self._lock = lock
        self._now_ms = now_ms
        self._progress = progress
        self._pending = bytearray()
        file.writer = self

    def write(self, data: Writable) -> None:
        with self._lock:
            self._check()
            self._pending += data
            self._position += len(data)
        if self._progress is not None:
            self._progress()

    def hflush(self) -> None:
        """Show everything to new readers."""
        with self._lock:
            self._check()
            self._store()

    def hsync(self, flags: SyncFlag = SyncFlag.NONE) -> None:
        """As `hflush`: the store is the memory of this process, and nothing outlives it."""
        if flags:
            raise errors.UnsupportedOperation(f"{self._path}: {flags} is for files with blocks")
        self.hflush()

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                self._check_writer()
                self._store()
                self._file.writer = None
            finally:
                self._pending = bytearray()

    def _store(self) -> None:
        self._file.content += self._pending
        self._pending.clear()
        self._file.mtime_ms = self._now_ms()

    def _check(self) -> None:
        if self._closed:
            raise errors.ClosedStream(f"{self._path} is closed").about(self._path)
        self._check_writer()

    def _check_writer(self) -> None:
        if self._file.writer is not self:
            raise errors.LeaseExpired(
                f"{self._path} was deleted, overwritten or taken from the writer of this stream"
            ).about(self._path)

    def has_capability(self, capability: str) -> bool:
        return capability in (capabilities.HFLUSH, capabilities.HSYNC)

    def set_drop_behind(self, drop: bool | None) -> None:
        raise errors.UnsupportedOperation(f"{self._path}: memory does not offer set_drop_behind")


class MemoryInput(PositionedInput):
    """The inside of an `FSDataInputStream` on a file in memory."""

    store = "memory"

    def __init__(self, path: str, file: File, lock: RLock) -> None:
        super().__init__(path)
        self._file = file
        self._lock = lock
        self._length = len(file.content)

    @property
    def length(self) -> int:
        """Bytes in the file, as of its opening."""
        return self._length

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        count = self.pread_into(self.tell(), buffer)
        self._position += count
        return count

    def readall(self) -> bytes:
        data = self.pread(self.tell(), self._length)
        self._position += len(data)
        return data

    def pread(self, offset: int, length: int) -> bytes:
        """Up to `length` bytes from `offset`, fewer only at the end of the file."""
        self._check_range(offset, length)
        with self._lock:
            return bytes(self._file.content[offset : min(offset + length, self._length)])

    def pread_into(self, offset: int, buffer: bytearray | memoryview) -> int:
        """Fill `buffer` from `offset`; how many bytes, fewer only at the end of the file."""
        view = memoryview(buffer).cast("B")
        data = self.pread(offset, len(view))
        view[: len(data)] = data
        return len(data)

    def has_capability(self, capability: str) -> bool:
        return capability in _INPUT
