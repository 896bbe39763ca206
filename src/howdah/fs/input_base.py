"""What the inner input streams of filesystems have in common: a name, a position, bounds.

`PositionedInput` is for files that are at hand, `RemoteInput` for those that are asked for over
a connection. (The inner stream of `hdfs://` is the client's, which knows nothing of filesystems.)
"""

from __future__ import annotations

import io
import threading
from typing import ClassVar

from howdah import errors
from howdah.runtime.fork_safety import PerProcess, process_id


class PositionedInput(io.RawIOBase):
    """Implements a raw stream that reads from a position, which `seek` moves."""

    store: ClassVar[str] = "it"
    """What holds the file, as errors name it."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self._position = 0

    @property
    def name(self) -> str:
        return self._path

    @property
    def mode(self) -> str:
        return "rb"

    @property
    def length(self) -> int:
        """Bytes in the file, as of its opening."""
        raise NotImplementedError

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        self._check_open()
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move. Beyond the end is allowed, and nothing is there."""
        self._check_open()
        match whence:
            case io.SEEK_SET:
                target = offset
            case io.SEEK_CUR:
                target = self._position + offset
            case io.SEEK_END:
                target = self.length + offset
            case _:
                raise ValueError(f"whence must be 0, 1 or 2, not {whence}")
        if target < 0:
            raise errors.InvalidSeek(f"cannot seek to {target} in {self._path}").about(self._path)
        self._position = target
        return target

    def pread(self, offset: int, length: int) -> bytes:
        """Read up to `length` bytes from `offset`, fewer only at the end of the file."""
        self._check_range(offset, length)
        buffer = bytearray(max(min(length, self.length - offset), 0))
        self.pread_into(offset, buffer)
        return bytes(buffer)

    def pread_into(self, offset: int, buffer: bytearray | memoryview) -> int:
        """Fill `buffer` from `offset`; how many bytes, fewer only at the end of the file."""
        raise NotImplementedError

    def _check_range(self, offset: int, length: int = 0) -> None:
        if offset < 0:
            raise ValueError(f"cannot read from offset {offset}")
        if length < 0:
            raise ValueError(f"cannot read {length} bytes")
        self._check_open()

    def _check_open(self) -> None:
        if self.closed:
            raise errors.ClosedStream(f"{self._path} is closed").about(self._path)

    def unbuffer(self) -> None:
        """Nothing is held back."""

    def set_drop_behind(self, drop: bool | None) -> None:
        raise errors.UnsupportedOperation(f"{self._path}: {self.store} has no set_drop_behind")

    def set_readahead(self, length: int | None) -> None:
        raise errors.UnsupportedOperation(f"{self._path}: {self.store} has no set_readahead")


class RemoteInput(PositionedInput):
    """A raw stream over a connection: one thread at a time, and each process by itself."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._is_stopped = False
        self._locks = PerProcess(threading.RLock)
        self._pid = process_id()

    def _own(self) -> threading.RLock:
        """The lock of this process: a forked child has a connection of its own, and a lock
        that no thread of the parent holds."""
        lock = self._locks.get()
        if self._pid != process_id():
            with lock:
                if self._pid != process_id():
                    self._forget_connection()
                    # Last: whoever sees it takes what is there for this process's.
                    self._pid = process_id()
        return lock

    def _forget_connection(self) -> None:
        """In a forked child: it is the parent's, and is not closed here."""
        raise NotImplementedError

    def _drop(self) -> None:
        """Let go of the connection, if there is one; with the lock held."""
        raise NotImplementedError

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move; nothing is asked for before the next read. Beyond the end is allowed."""
        with self._own():
            return super().seek(offset, whence)

    def _check_open(self) -> None:
        if self._is_stopped:
            raise errors.ClosedStream(f"{self._path} is closed").about(self._path)
        super()._check_open()

    def stop_reading(self) -> None:
        """The stream is about to be closed."""
        if not self.closed:
            self._is_stopped = True

    def close(self) -> None:
        if not self.closed:
            self.stop_reading()
            with self._own():
                self._drop()
                super().close()
