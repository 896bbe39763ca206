"""Streams whose reads and writes are awaited.

The operations of a stream that move its position stand in line, in the order in which they were
called. What may happen anywhere (`pread`) does not.
"""

from __future__ import annotations

import asyncio
import io
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final, Generic, Protocol, Self, TypeVar

from howdah import errors
from howdah.aio.threads import Threads
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream, as_bytes
from howdah.options import FileRange, SyncFlag

CHUNK_BYTES: Final = 1 << 20

T = TypeVar("T")


class _Stream(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...


S = TypeVar("S", bound=_Stream)


class _AsyncStream(ABC, Generic[S]):
    """Has what both kinds of streams share: their lane, and how they are closed."""

    def __init__(self, stream: S, data: Threads, calls: Threads) -> None:
        self._stream = stream
        self._data = data
        self._calls = calls
        self._line = asyncio.Lock()

    @property
    def name(self) -> str:
        """The path within the filesystem."""
        return self._stream.name

    @property
    def closed(self) -> bool:
        """Whether the stream was closed."""
        return self._stream.closed

    async def _in_line(
        self, task: Callable[[], T], *, abandoned: Callable[[Future[T]], None] | None = None
    ) -> T:
        loop = asyncio.get_running_loop()
        is_abandoned = False

        def release(_: Future[T]) -> None:
            with suppress(RuntimeError):  # The loop has ended, and nobody stands in line.
                loop.call_soon_threadsafe(self._line.release)

        def keep_place(future: Future[T]) -> None:
            """Keep the place in line of what has begun, though nobody waits for it any more."""
            nonlocal is_abandoned
            is_abandoned = True
            future.add_done_callback(release)
            if abandoned is not None:
                abandoned(future)

        await self._line.acquire()
        try:
            return await self._data.run(task, abandoned=keep_place)
        finally:
            if not is_abandoned:
                self._line.release()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @abstractmethod
    async def close(self) -> None:
        """Close the stream; only the first call does anything."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}{' closed' if self.closed else ''}>"


class AsyncInputStream(_AsyncStream[FSDataInputStream]):
    """A file that is being read; made by `AsyncFileSystem.open`.

    `async for` goes by chunks of bytes, so that a web server's streamed response takes it as it is.

    A `read` that is cancelled returns at once. If it had begun, nobody knows the position any more:
    the stream is closed, which wakes whoever reads, and says so to whom comes later. A `pread` that
    is cancelled leaves the stream as it is; if it had begun, its thread is busy until it ends.
    """

    def __init__(self, stream: FSDataInputStream, data: Threads, calls: Threads) -> None:
        super().__init__(stream, data, calls)
        self._lost: Future[None] | None = None
        """The end of the close that a cancelled read has caused."""

    @property
    def size(self) -> int:
        """Bytes in the file, as of its opening."""
        return self._stream.size

    async def _moving(self, task: Callable[[], T]) -> T:
        return await self._in_line(lambda: self._checked(task), abandoned=self._lose)

    def _checked(self, task: Callable[[], T]) -> T:
        if self._lost is not None:
            raise errors.ClosedStream(
                f"{self.name} was closed when a read of it was cancelled"
            ).about(self.name)
        if self.closed:
            raise errors.ClosedStream(f"{self.name} is closed").about(self.name)
        return task()

    def _lose(self, _: Future[Any]) -> None:
        if self._lost is None:
            self._lost = self._calls.start(self._stream.close)

    async def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes, fewer only at the end of the file; all that is left for -1."""
        return await self._moving(lambda: self._stream.read(size))

    async def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position, and return it. Raises `InvalidSeek`."""
        return await self._moving(lambda: self._stream.seek(offset, whence))

    async def tell(self) -> int:
        """The offset of the next byte that `read` returns."""
        return await self._moving(self._stream.tell)

    async def pread(self, offset: int, length: int) -> bytes:
        """Read up to `length` bytes from `offset`, fewer only at the end of the file. The position
        stays where it is, and many may read at once."""
        return await self._data.run(
            lambda: self._checked(lambda: self._stream.pread(offset, length))
        )

    async def read_fully(self, offset: int, length: int) -> bytes:
        """Read exactly `length` bytes from `offset`. Raises `EOFError` if the file ends before."""
        return await self._data.run(
            lambda: self._checked(lambda: self._stream.read_fully(offset, length))
        )

    async def read_vectored(self, ranges: Sequence[FileRange]) -> list[bytes | memoryview]:
        """Read several ranges in one planned call, in their order.

        Raises `ValueError` for ranges that overlap and `EOFError` for one that goes beyond the end.
        """

        def read() -> list[bytes | memoryview]:
            return [future.result() for future in self._stream.read_vectored(ranges)]

        return await self._data.run(lambda: self._checked(read))

    async def chunks(self, size: int = CHUNK_BYTES) -> AsyncIterator[bytes]:
        """The bytes from the position on, in pieces of `size`; the last one may be shorter."""
        if size <= 0:
            raise ValueError(f"pieces of {size} bytes")
        while data := await self.read(size):
            yield data

    async def lines(self) -> AsyncIterator[bytes]:
        """The lines from the position on, each with its line end."""
        held = bytearray()
        async for chunk in self.chunks():
            head, newline, tail = chunk.rpartition(b"\n")
            held += head + newline
            if newline:
                for line in io.BytesIO(held):
                    yield line
                held = bytearray()
            held += tail
        if held:
            yield bytes(held)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self.chunks()

    async def close(self) -> None:
        """Close the stream, and wake up who reads from it; only the first call does anything.

        If this is cancelled, the stream is closed all the same.
        """
        # Not in line: who stands there may wait for a datanode that does not answer.
        await self._calls.run_to_its_end(self._lost or self._calls.start(self._stream.close))


class AsyncOutputStream(_AsyncStream[FSDataOutputStream]):
    """A file that is being written; made by `AsyncFileSystem.create`, `append` and `open`.

    What is cancelled returns at once. A write that had begun is carried out whole all the same, one
    that stood in line never is; the stream stays open. Each call takes a trip to a thread and back:
    write large pieces.
    """

    def __init__(self, stream: FSDataOutputStream, data: Threads, calls: Threads) -> None:
        super().__init__(stream, data, calls)
        self._closing: asyncio.Future[None] | None = None

    async def write(self, data: object) -> int:
        """Write a bytes-like object; return how many bytes that were, always all of them."""
        # The thread may read it later than its owner expects, if this is cancelled.
        content = data if type(data) is bytes else bytes(as_bytes(data))
        return await self._in_line(lambda: self._stream.write(content))

    async def flush(self) -> None:
        """Hand on what is held back where that is cheap; promises nothing."""
        await self._in_line(self._stream.flush)

    async def hflush(self) -> None:
        """Make all that was written visible to new readers; it is in the datanodes' memory."""
        await self._in_line(self._stream.hflush)

    async def hsync(self, flags: SyncFlag = SyncFlag.NONE) -> None:
        """As `hflush`, and on the disks of the datanodes."""
        await self._in_line(lambda: self._stream.hsync(flags))

    async def tell(self) -> int:
        """The length of the file as its writer sees it."""
        return await self._in_line(self._stream.tell)

    async def close(self) -> None:
        """Write back everything and complete the file, behind the writes that stand in line; only
        the first call does anything.

        If this is cancelled, the file is completed all the same.
        """
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._in_line(self._stream.close))
        await asyncio.shield(self._closing)
