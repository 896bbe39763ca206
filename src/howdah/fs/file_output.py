"""`PlainOutput`: any binary writable object as the inner stream of an `FSDataOutputStream`.

An inner stream may implement all, some or none of what the public stream offers
(OS-024). What it lacks is dealt with here: without sync `hflush` and `hsync` come down
to `flush`, as in Hadoop, while `has_capability` says false (OS-079); without caching
hints `set_drop_behind` is refused (OS-117). Writes are serialised (OS-135), and
`close` reaches the inner stream once (OS-019, OS-168).
"""

from __future__ import annotations

import io
import threading
from typing import Protocol

from howdah import errors
from howdah.fs import capabilities
from howdah.options import AbortableResult, SyncFlag

Writable = bytes | bytearray | memoryview
_METHODS = {
    capabilities.HFLUSH: "hflush",
    capabilities.HSYNC: "hsync",
    capabilities.DROP_BEHIND: "set_drop_behind",
    capabilities.ABORTABLE_STREAM: "abort",
}


class BinaryWriter(Protocol):
    """The least that can be written through; an `io` object or one that looks like it."""

    def write(self, data: memoryview, /) -> int | None: ...
    def close(self) -> None: ...


class PositionedOutput:
    """Knows path and position of an inner stream, and whether it is closed."""

    def __init__(self, path: str, position: int = 0) -> None:
        self._path = path
        self._position = position
        self._closed = False

    @property
    def path(self) -> str:
        """The name of the stream below, if it has one."""
        return self._path

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def get_pos(self) -> int:
        """Bytes before the next one to be written."""
        return self._position


class PlainOutput(PositionedOutput):
    """An `InnerOutput` over a stream that is none itself."""

    def __init__(self, stream: BinaryWriter, path: str | None = None) -> None:
        path = str(getattr(stream, "name", stream)) if path is None else path
        super().__init__(path, _start(stream))
        self._stream = stream
        self._lock = threading.RLock()

    def _check_open(self) -> None:
        if self._closed:
            raise errors.ClosedStream(f"{self._path} is closed").about(self._path)

    def write(self, data: Writable) -> None:
        """Write all of `data`, in as many calls as the stream below takes."""
        with self._lock:
            self._check_open()
            rest = memoryview(data)
            while len(rest):
                count = self._stream.write(rest)
                if count is None and isinstance(self._stream, io.RawIOBase):
                    raise BlockingIOError(f"{self._path} does not take more bytes now")
                # What isn't an io object may say nothing about what it took: all of it.
                count = len(rest) if count is None else count
                self._position += count
                rest = rest[count:]

    def flush(self) -> None:
        """Flush the stream below, if it can be; nothing is promised."""
        with self._lock:
            flush = getattr(self._stream, "flush", None)
            if not self._closed and flush is not None:
                flush()

    def hflush(self) -> None:
        """The stream below's own `hflush`; `flush` if it has none."""
        # The lock is not held: others may write, or close, while this one waits (OS-136).
        self._check_open()
        sync = getattr(self._stream, "hflush", self.flush)
        sync()

    def hsync(self, flags: SyncFlag = SyncFlag.NONE) -> None:
        """The stream below's own `hsync`; `flush` if it has none, and `flags` are refused."""
        self._check_open()
        sync = getattr(self._stream, "hsync", None)
        if flags and sync is None:
            raise errors.UnsupportedOperation(f"{self._path} has no sync flags ({flags})")
        if sync is None:
            self.flush()
        else:
            sync(flags) if flags else sync()

    def has_capability(self, capability: str) -> bool:
        """Whether the stream below says that it offers this, and has the method for it."""
        name = capabilities.canonical(capability)
        probe = getattr(self._stream, "has_capability", None)
        if probe is None:
            return False
        # A stream that says it can and has no such method would be downgraded above.
        needed = _METHODS.get(name)
        if needed is not None and not hasattr(self._stream, needed):
            return False
        return bool(probe(name))

    def set_drop_behind(self, drop: bool | None) -> None:
        """Raises `UnsupportedOperation` if the stream below has no such hint."""
        hint = getattr(self._stream, "set_drop_behind", None)
        if hint is None:
            raise errors.UnsupportedOperation(f"{self._path} does not offer set_drop_behind")
        hint(drop)

    def abort(self) -> AbortableResult:
        """Reached only when the inner stream claims that it can."""
        abort = getattr(self._stream, "abort", None)
        if abort is None:
            raise errors.UnsupportedOperation(f"{self._path} cannot be aborted")
        self._closed = True
        result: AbortableResult = abort()
        return result

    def dropped(self) -> None:
        """Nobody has the stream around this one any more; the stream below hears of it."""
        dropped = getattr(self._stream, "_dropped", None) or getattr(self._stream, "dropped", None)
        if dropped is not None:
            dropped()

    def close(self) -> None:
        """Close the stream below; a second call does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._stream.close()


def _start(stream: BinaryWriter) -> int:
    """Where the stream stands already; 0 where it can't say."""
    if isinstance(stream, io.IOBase) and stream.seekable():
        return stream.tell()
    position = getattr(stream, "get_pos", None)
    return 0 if position is None else int(position())
