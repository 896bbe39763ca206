"""The streams of local files: what works under the wrappers of `howdah.fs.streams`.

`LocalOutput` is the part that raw and checksummed files share: it collects small
writes and hands on runs of whole units (a byte, a checksum chunk), is safe for
several threads, closes once and for all (OS-019, OS-168), refuses writes when it
is closed (OS-033, OS-169) and ignores flushes then (OS-170). A write that has
failed leaves a file of unknown content: the stream says so to every later call,
the close included (OS-070).

`RawOutput` is a plain file: flushed data is in the hands of the operating system,
where every process of this machine sees it (hflush), or on the disk (hsync; with
the directories that are new, without which the file could not be found again).
"""

from __future__ import annotations

import io
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from howdah import errors
from howdah.fs import capabilities
from howdah.fs.file_output import PositionedOutput, Writable
from howdah.fs.input_base import PositionedInput
from howdah.fs.local.status import from_os_error
from howdah.options import SyncFlag

BUFFER_BYTES = 64 * 1024


def fsync_directory(path: str) -> None:
    """Make the entries of a directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, view: memoryview) -> None:
    """Write everything, however often the system takes only a part of it."""
    while view:
        view = view[os.write(descriptor, view) :]


class LocalOutput(PositionedOutput, ABC):
    """The inside of an `FSDataOutputStream` of a local file."""

    def __init__(
        self,
        path: str,
        *,
        position: int,
        unit_bytes: int,
        buffer_bytes: int | None,
        progress: Callable[[], None] | None,
    ) -> None:
        super().__init__(path, position)
        self._unit_bytes = unit_bytes
        units = max((buffer_bytes or BUFFER_BYTES) // unit_bytes, 1)
        self._buffer_bytes = units * unit_bytes
        self._progress = progress
        self._buffer = bytearray()
        self._failure: errors.HowdahError | None = None
        self._has_handed_on = False
        self._lock = threading.RLock()

    @abstractmethod
    def _emit(self, view: memoryview) -> None:
        """Write whole units (at the end of the file, a part of one) to the file."""

    @abstractmethod
    def _release(self) -> None:
        """Close the descriptors."""

    def write(self, data: Writable) -> None:
        with self._lock:
            self._check()
            view = memoryview(data)
            try:
                self._accept(view)
            except BaseException as error:
                self._give_up(error)
                raise
            self._tell_progress()

    def _accept(self, view: memoryview) -> None:
        self._position += len(view)
        if self._buffer:
            room = self._buffer_bytes - len(self._buffer)
            self._buffer += view[:room]
            view = view[room:]
            if len(self._buffer) < self._buffer_bytes:
                return
            self._drain(whole=False)
        if len(view) >= self._buffer_bytes:
            whole = len(view) // self._unit_bytes * self._unit_bytes
            self._hand_on(view[:whole])
            view = view[whole:]
        self._buffer += view

    def _give_up(self, cause: BaseException) -> None:
        """How much of the write was taken is unknown: what is buffered may be in the file."""
        if self._failure is None:
            self._failure = errors.WriteInterrupted(
                f"{self._path}: a write was interrupted half-way ({type(cause).__name__}); its "
                "end is missing. Write it again"
            ).about(self._path)

    def flush(self) -> None:
        """Hand on whole units; a closed stream has nothing left to flush."""
        with self._lock:
            if not self._closed:
                self._check()
                self._drain_or_give_up(whole=False)

    def close(self) -> None:
        """Write what is left; only the first call does anything."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                if self._failure is not None:
                    raise self._failure
                self._drain_or_give_up(whole=True)
            finally:
                self._buffer = bytearray()
                try:
                    self._release()
                except OSError as error:
                    raise from_os_error(self._path, error) from error

    def _check(self) -> None:
        if self._closed:
            raise errors.ClosedStream(f"{self._path} is closed").about(self._path)
        if self._failure is not None:
            raise self._failure

    def _drain_or_give_up(self, *, whole: bool) -> None:
        try:
            self._drain(whole=whole)
        except BaseException as error:
            self._give_up(error)
            raise
        self._tell_progress()

    def _drain(self, *, whole: bool) -> None:
        """Hand on what is buffered: all of it, or as many whole units as there are."""
        length = len(self._buffer)
        if not whole:
            length -= length % self._unit_bytes
        if length:
            with memoryview(self._buffer) as view:
                self._hand_on(view[:length])
            # Another buffer, for this one could not shrink while a view of it is alive
            # somewhere: as one is in a frame that a traceback or a debugger holds.
            self._buffer = self._buffer[length:]

    def _hand_on(self, view: memoryview) -> None:
        with view:
            self._or_fail(lambda: self._emit(view))
        self._has_handed_on = True

    def _tell_progress(self) -> None:
        if self._has_handed_on and self._progress is not None:
            self._has_handed_on = False
            self._progress()

    def _or_fail(self, step: Callable[[], None]) -> None:
        try:
            step()
        except OSError as error:
            self._failure = from_os_error(self._path, error)
            raise self._failure from error

    def hflush(self) -> None:
        """Not offered, unless a kind of stream does."""
        self._no_sync("hflush")

    def hsync(self, flags: SyncFlag = SyncFlag.NONE) -> None:
        """Not offered, unless a kind of stream does."""
        self._no_sync("hsync")

    def _no_sync(self, operation: str) -> None:
        with self._lock:
            self._check()
        raise errors.UnsupportedOperation(
            f"{self._path}: no {operation}, since the checksum of the last chunk is known when "
            "the file is closed; set_write_checksum(False) gives streams that have it"
        )

    def has_capability(self, capability: str) -> bool:
        return False

    def set_drop_behind(self, drop: bool | None) -> None:
        raise errors.UnsupportedOperation(f"{self._path}: local files do not offer set_drop_behind")


class RawOutput(LocalOutput):
    """A file without checksums, open at its end.

    `new_in` are the directories that the first `hsync` makes durable as well: where
    the file was created, and those above directories that were created for it.
    """

    def __init__(
        self,
        path: str,
        descriptor: int,
        *,
        position: int = 0,
        buffer_bytes: int | None = None,
        progress: Callable[[], None] | None = None,
        new_in: Sequence[str] = (),
    ) -> None:
        super().__init__(
            path, position=position, unit_bytes=1, buffer_bytes=buffer_bytes, progress=progress
        )
        self._descriptor = descriptor
        self._new_in = tuple(new_in)

    def _emit(self, view: memoryview) -> None:
        write_all(self._descriptor, view)

    def _release(self) -> None:
        os.close(self._descriptor)

    def hflush(self) -> None:
        """Give everything to the operating system, which shows it to every reader."""
        with self._lock:
            self._check()
            self._drain_or_give_up(whole=True)

    def hsync(self, flags: SyncFlag = SyncFlag.NONE) -> None:
        """As `hflush`, and wait until it is on the disk."""
        if flags:
            raise errors.UnsupportedOperation(f"{self._path}: {flags} is for files with blocks")
        with self._lock:
            self.hflush()
            self._or_fail(self._sync)

    def _sync(self) -> None:
        os.fsync(self._descriptor)
        for directory in self._new_in:
            fsync_directory(directory)
        self._new_in = ()

    def has_capability(self, capability: str) -> bool:
        return capability in (capabilities.HFLUSH, capabilities.HSYNC)


class LocalInput(PositionedInput):
    """A local file as the inside of an `FSDataInputStream`; reads no more than is asked for.

    Positioned reads move nothing and may run in many threads at once. What has no
    positions (a pipe) can be read from start to end.
    """

    store = "a local file"

    def __init__(self, path: str, descriptor: int) -> None:
        super().__init__(path)
        self._descriptor = descriptor
        self._seekable = _has_positions(descriptor)

    @property
    def length(self) -> int:
        """Bytes in the file now."""
        self._check_open()
        return os.fstat(self._descriptor).st_size

    def fileno(self) -> int:
        self._check_open()
        return self._descriptor

    def seekable(self) -> bool:
        return self._seekable

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move. Beyond the end is allowed, and nothing is there."""
        self._check_open()
        if not self._seekable:
            raise errors.UnsupportedOperation(f"{self._path} cannot seek")
        return super().seek(offset, whence)

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        self._check_open()
        view = memoryview(buffer).cast("B")
        try:
            if self._seekable:
                count = self._read_at(self._position, view)
            else:
                count = os.readv(self._descriptor, [view])
        except errors.HowdahError:
            raise
        except OSError as error:
            raise from_os_error(self._path, error) from error
        self._position += count
        return count

    def readall(self) -> bytes:
        """Everything from the position on, however long that has become by then."""
        self._check_open()
        pieces: list[bytes] = []
        while piece := _filled(max(self.length - self._position, BUFFER_BYTES), self._read_on):
            pieces.append(piece)
        return b"".join(pieces)

    def _read_on(self, view: memoryview) -> int:
        filled = 0
        while filled < len(view) and (count := self.readinto(view[filled:])):
            filled += count
        return filled

    def pread(self, offset: int, length: int) -> bytes:
        """Up to `length` bytes from `offset`, fewer only at the end of the file."""
        self._check_range(0, length)
        # Nobody gets more memory than the file could fill.
        most = max(min(length, self.length - offset), 0)
        return _filled(most, lambda view: self.pread_into(offset, view))

    def pread_into(self, offset: int, buffer: bytearray | memoryview) -> int:
        """Fill `buffer` from `offset`; how many bytes, fewer only at the end of the file."""
        self._check_range(offset)
        view = memoryview(buffer).cast("B")
        filled = 0
        try:
            while filled < len(view):
                count = self._read_at(offset + filled, view[filled:])
                if not count:
                    break
                filled += count
        except errors.HowdahError:
            raise
        except OSError as error:
            raise from_os_error(self._path, error) from error
        return filled

    def _read_at(self, offset: int, view: memoryview) -> int:
        """Some bytes from `offset`, none only at the end of the file."""
        return os.preadv(self._descriptor, [view], offset)

    def has_capability(self, capability: str) -> bool:
        return capability in (capabilities.READ_BYTE_BUFFER, capabilities.PREAD_BYTE_BUFFER)

    def close(self) -> None:
        """Let go of the file; safe to repeat."""
        try:
            if not self.closed:
                self._release()
        finally:
            super().close()

    def _release(self) -> None:
        os.close(self._descriptor)


def _filled(length: int, fill: Callable[[memoryview], int]) -> bytes:
    """Up to `length` bytes that `fill` writes; nothing is copied to make bytes of them."""
    out = io.BytesIO(bytes(length))
    view = out.getbuffer()
    count = fill(view)
    view.release()
    try:
        out.truncate(count)
    except BufferError:
        # Somebody still sees a part of the buffer: a profiler that samples frames, say.
        return out.getvalue()[:count]
    return out.getvalue()


def _has_positions(descriptor: int) -> bool:
    try:
        os.lseek(descriptor, 0, os.SEEK_CUR)
    except OSError:
        return False
    return True
