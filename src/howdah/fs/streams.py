"""The public streams: `FSDataOutputStream` and `FSDataInputStream` (OS-023, FS-091).

They mirror Hadoop's wrapper classes of these names, and they are real `io`
objects: what takes a binary file in Python takes them. The work is done by an
inner stream (`howdah.client` has those of HDFS), which implements one of the two
protocols below; an output stream may also be put around anything else that can be
written to, another `FSDataOutputStream` included (`howdah.fs.file_output`).

Output rules: every form of `write` copies what it is given before it returns
(OS-044), a closed stream refuses writes with `ClosedStream` that names the path
(OS-033, OS-057) and ignores `flush` (OS-051); `flush` costs nothing and promises
nothing (OS-052), `hflush` makes everything written visible, `hsync` durable.

What an inner stream doesn't offer it refuses with `UnsupportedOperation`, and says
false to `has_capability` (OS-075, OS-117, OS-184, OS-186); the presence of a method
on the public stream proves nothing (OS-080).
"""

from __future__ import annotations

import io
import operator
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from types import TracebackType
from typing import Any, ClassVar, NoReturn, Protocol, SupportsIndex, cast, runtime_checkable

from howdah import errors
from howdah.fs import capabilities
from howdah.fs.file_output import BinaryWriter, PlainOutput, Writable
from howdah.fs.typed_data.input import DataInput
from howdah.fs.typed_data.output import DataOutput
from howdah.options import AbortableResult, CreateFlag, FileRange, SyncFlag, check_ranges

__all__ = [
    "AbortableResult",
    "CreateFlag",
    "FSDataInputStream",
    "FSDataOutputStream",
    "FileRange",
    "InnerInput",
    "InnerOutput",
    "SyncFlag",
    "Writable",
    "give_up",
    "whole_or_none",
]


@runtime_checkable
class InnerOutput(Protocol):
    """What does the work under an `FSDataOutputStream`.

    It may have five methods more: `flush()`, without which flushing does nothing;
    `hsync(flags)`, without which sync flags are refused; `abort() -> AbortableResult`,
    which counts if the capability is claimed; `statistics()`; `dropped()`, which is called
    when the public stream is collected, open or not.
    """

    @property
    def path(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    def write(self, data: Writable) -> None: ...
    def hflush(self) -> None: ...
    def hsync(self) -> None: ...
    def get_pos(self) -> int: ...
    def has_capability(self, capability: str) -> bool: ...
    def set_drop_behind(self, drop: bool | None) -> None: ...
    def close(self) -> None: ...


class InnerInput(Protocol):
    """What an `FSDataInputStream` needs beyond `io.RawIOBase`.

    It may have four methods more: `read_vectored(ranges)`, without which the ranges are
    read one after the other, `pread_view(offset, length)`, without which bytes are copied,
    `stop_reading()`, which wakes up who reads since the stream is being closed, and
    `statistics()`.
    """

    @property
    def length(self) -> int: ...
    def pread(self, offset: int, length: int) -> bytes: ...
    def pread_into(self, offset: int, buffer: bytearray | memoryview) -> int: ...
    def has_capability(self, capability: str) -> bool: ...
    def unbuffer(self) -> None: ...
    def set_drop_behind(self, drop: bool | None) -> None: ...
    def set_readahead(self, length: int | None) -> None: ...


class FSDataOutputStream(io.BufferedIOBase, DataOutput):
    """A file that is being written; made by `create` and `append`.

    Leaving a `with` block closes the stream whether or not an exception is on its
    way, as Python's files do: what was written before it stays. `write_int`,
    `write_utf` and their like write what Java's DataInputStream reads.
    """

    _is_given_whole: ClassVar[bool] = False
    """Whether there is never less than an `InnerOutput` under it: to ask costs more than the
    rest of what is made for a file."""

    def __init__(self, inner: InnerOutput | BinaryWriter, path: str | None = None) -> None:
        super().__init__()
        if self._is_given_whole or isinstance(inner, InnerOutput):
            self._inner = cast(InnerOutput, inner)
        else:
            self._inner = PlainOutput(inner, path)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(f"cannot pickle {self.name}, which is being written")

    @property
    def name(self) -> str:
        """The path within the filesystem.

        >>> with fs.create("/docs/b") as out:
        ...     out.name
        '/docs/b'
        """
        return self._inner.path

    @property
    def mode(self) -> str:
        """`wb`, as of a file that Python opened.

        >>> with fs.create("/docs/b") as out:
        ...     out.mode
        'wb'
        """
        return "wb"

    @property
    def closed(self) -> bool:
        """Whether `close` was called.

        >>> with fs.create("/docs/b") as out:
        ...     out.closed
        False
        >>> out.closed
        True
        """
        return self._inner.closed

    def writable(self) -> bool:
        return True

    def write(self, data: object, off: int | None = None, length: int | None = None) -> int:
        """Write a bytes-like object, a slice of it (`off`, `length` in bytes), or one byte.

        An int is written as the one byte `data & 0xFF`, as Hadoop's `write(int)`
        does (OS-036). Returns the number of bytes written, always all of them.
        Raises `TypeError` for what holds no bytes and `IndexError` for a slice
        that is not within the data; nothing is written then.

        >>> with fs.create("/docs/b") as out:
        ...     out.write(b"abc"), out.write(b"0123456789", 2, 5), out.write(65)
        (3, 5, 1)
        >>> fs.read_bytes("/docs/b")
        b'abc23456A'
        """
        if type(data) is bytes and off is None and length is None:
            self._inner.write(data)
            return len(data)
        if self.closed:  # before anything else is found wrong, as in Hadoop (OS-038)
            raise errors.ClosedStream(f"{self.name} is closed").about(self.name)
        if isinstance(data, int) and off is None and length is None:
            self._inner.write(bytes((data & 0xFF,)))
            return 1
        view = as_bytes(data)
        if off is not None or length is not None:
            view = _slice(view, off or 0, length)
        self._inner.write(view)
        return len(view)

    def flush(self) -> None:
        """Hand on what is held back where that is cheap; promises nothing (OS-049, OS-052).

        HDFS does nothing: full packets are on their way already. A closed stream
        ignores it (OS-051).

        >>> with fs.create("/docs/b") as out:
        ...     out.write(b"abc")
        ...     out.flush()
        3
        """
        flush = getattr(self._inner, "flush", None)
        if flush is not None and not self._inner.closed:
            flush()

    def hflush(self) -> None:
        """Make all that was written visible to new readers; it is in the datanodes' memory.

        >>> with fs.create("/docs/b") as out:
        ...     out.write(b"abc")
        ...     out.hflush()
        ...     fs.read_bytes("/docs/b")
        3
        b'abc'
        """
        self._inner.hflush()

    def hsync(self, flags: SyncFlag = SyncFlag.NONE) -> None:
        """As `hflush`, and on the disks of the datanodes; `flags` as `SyncFlag` says.

        Raises `UnsupportedOperation` for flags where files have no blocks.

        >>> with fs.create("/docs/b") as out:
        ...     out.write(b"abc")
        ...     out.hsync()
        3
        """
        if flags:
            # Not part of the protocol: only streams that know blocks take flags.
            inner: Any = self._inner
            inner.hsync(flags)
        else:
            self._inner.hsync()

    def get_pos(self) -> int:
        """The length of the file as its writer sees it.

        >>> with fs.create("/docs/b") as out:
        ...     _ = out.write(b"abc")
        ...     out.get_pos()
        3
        """
        return self._inner.get_pos()

    def tell(self) -> int:
        if self.closed:
            raise errors.ClosedStream(f"{self.name} is closed").about(self.name)
        return self.get_pos()

    def has_capability(self, capability: str) -> bool:
        """Whether this stream offers `hsync`, `hflush`, `dropbehind`, …; closed or not.

        The innermost stream answers (OS-006). Case doesn't matter (OS-100).

        >>> with fs.create("/docs/b") as out:
        ...     out.has_capability("hsync"), out.has_capability("nonsense")
        (True, False)
        """
        return self._inner.has_capability(capabilities.canonical(capability))

    def set_drop_behind(self, drop: bool | None) -> None:
        """Whether datanodes drop the data from their caches; None: as they are configured.

        >>> with fs.create("/docs/b") as out:
        ...     if out.has_capability("dropbehind"):
        ...         out.set_drop_behind(True)
        """
        self._inner.set_drop_behind(drop)

    def abort(self) -> AbortableResult:
        """Close without letting anybody see what was written (OS-183).

        Raises `UnsupportedOperation` unless the stream has the capability
        `fs.capability.outputstream.abortable`. HDFS has not: its files exist from
        `create` on.

        >>> with fs.create("/docs/b") as out:
        ...     if out.has_capability("fs.capability.outputstream.abortable"):
        ...         out.abort()        # on an object store nothing was written then
        """
        if not self.has_capability(capabilities.ABORTABLE_STREAM):
            raise errors.UnsupportedOperation(f"{self.name} cannot be aborted; delete it")
        inner: Any = self._inner
        result: AbortableResult = inner.abort()
        return result

    def statistics(self) -> Any:
        """Counts of what the stream did: a record whose type is the inner stream's own.

        >>> with fs.create("/docs/b") as out:
        ...     _ = out.write(b"abc")
        ...     hasattr(out, "statistics")      # UnsupportedOperation where none are kept
        True
        """
        statistics = getattr(self._inner, "statistics", None)
        if statistics is None:
            raise errors.UnsupportedOperation(f"{self.name} keeps no statistics")
        return statistics()

    def close(self) -> None:
        """Write back everything and complete the file; only the first call does anything.

        >>> out = fs.create("/docs/b")
        >>> out.write(b"abc")
        3
        >>> out.close()
        >>> fs.stat("/docs/b").length
        3
        """
        self._inner.close()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except Exception as failure:
            # Who is told to stop (Ctrl-C, sys.exit) must hear of that, whatever is lost:
            # an error of the file would be taken for one, and handled.
            if error is None or isinstance(error, Exception):
                raise
            error.add_note(f"{self.name} could not be closed: {failure}")

    def __del__(self) -> None:
        """`io` would close the stream; a file that is there from its close on must not be made
        of what an interrupted writer left."""
        self._dropped()
        super().__del__()

    def _dropped(self) -> None:
        """Nobody has the stream any more."""
        dropped = getattr(getattr(self, "_inner", None), "dropped", None)
        if dropped is not None:
            dropped()

    def _dealloc_warn(self, source: object) -> None:
        """What a `TextIOWrapper` around the stream calls before its finalizer closes it."""
        self._dropped()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}{' closed' if self.closed else ''}>"


def give_up(out: FSDataOutputStream, cause: BaseException) -> None:
    """End a stream whose file will not be whole because of `cause`, which gets a note of what
    fails besides. A file that is there from its close on (`abort`) will not be there; another
    one is closed."""
    try:
        if out.has_capability(capabilities.ABORTABLE_STREAM):
            failed = out.abort().cleanup_error
            if failed is not None:
                cause.add_note(f"removing what was written of {out.name} failed as well: {failed}")
        else:
            out.close()
    except (errors.HowdahError, OSError) as error:
        cause.add_note(f"closing {out.name} failed as well: {error}")


@contextmanager
def whole_or_none(out: FSDataOutputStream) -> Iterator[FSDataOutputStream]:
    """Close a stream behind the block, or give it up if the block fails: for who copies, and
    knows that half of a file is none."""
    try:
        yield out
    except BaseException as error:
        give_up(out, error)
        raise
    out.close()


def as_bytes(data: object) -> memoryview:
    """Any contiguous buffer as bytes; `TypeError` for what is none."""
    if data is None or isinstance(data, str):
        raise TypeError(f"a bytes-like object is required, not {type(data).__name__}")
    try:
        view = memoryview(data)  # type: ignore[arg-type]
    except TypeError:
        if isinstance(data, SupportsIndex):  # an integer of another library
            return memoryview(bytes((operator.index(data) & 0xFF,)))
        raise
    if view.format == "B" and view.ndim == 1 and view.contiguous:
        return view
    return view.cast("B") if view.c_contiguous else memoryview(view.tobytes())


def _slice(view: memoryview, off: int, length: int | None) -> memoryview:
    if length is None:
        length = len(view) - off
    if off < 0 or length < 0 or off + length > len(view):
        raise IndexError(
            f"offset {off} and length {length} are not within a buffer of {len(view)} bytes"
        )
    return view[off : off + length]


class FSDataInputStream(io.BufferedReader, DataInput):
    """A file that is being read; made by `open`.

    Sequential reads go through a buffer, large ones past it. `pread` reads anywhere
    without moving the position and may be called from many threads at once.
    `read_int`, `read_utf` and their like read what Java's DataOutputStream writes.
    """

    reopened: Callable[[int], FSDataInputStream] | None = None
    """Opens the file anew at an offset. A stream that has it can be pickled if it can."""

    def __init__(self, inner: io.RawIOBase, buffer_size: int = 64 * 1024) -> None:
        super().__init__(inner, buffer_size)
        self._inner: InnerInput = inner  # type: ignore[assignment]

    def __reduce_ex__(
        self, protocol: SupportsIndex
    ) -> tuple[Callable[[int], FSDataInputStream], tuple[int]]:
        if self.reopened is None:
            raise TypeError(f"cannot pickle the open stream of {self.name}")
        return self.reopened, (self.tell(),)

    @property
    def size(self) -> int:
        """Bytes in the file, as of its opening.

        >>> with fs.open("/docs/a") as stream:
        ...     stream.size
        10
        """
        return self._inner.length

    def get_pos(self) -> int:
        """The offset of the next byte that `read` returns.

        >>> with fs.open("/docs/a") as stream:
        ...     stream.read(4), stream.get_pos()
        (b'0123', 4)
        """
        return self.tell()

    def pread(self, offset: int, length: int) -> bytes:
        """Up to `length` bytes from `offset`; fewer only at the end of the file.

        >>> with fs.open("/docs/a") as stream:
        ...     stream.pread(4, 3), stream.tell()
        (b'456', 0)
        """
        return self._inner.pread(offset, length)

    def pread_into(self, offset: int, buffer: bytearray | memoryview) -> int:
        """Fill `buffer` from `offset`; how many bytes, fewer only at the end of the file.

        >>> with fs.open("/docs/a") as stream:
        ...     room = bytearray(3)
        ...     stream.pread_into(4, room), bytes(room)
        (3, b'456')
        """
        return self._inner.pread_into(offset, buffer)

    def pread_view(self, offset: int, length: int) -> memoryview:
        """Read like `pread`, but as read-only memory that is not copied where possible.

        On `hdfs://` it is not copied for a range within one block that a datanode of this
        machine has, with short-circuit reads switched on. It is then the memory of the
        datanode's file, checked against its checksums, and stays valid while the view exists.

        >>> with fs.open("/docs/a") as stream:
        ...     bytes(stream.pread_view(4, 3))
        b'456'
        """
        view = getattr(self._inner, "pread_view", None)
        if view is None:
            return memoryview(self.pread(offset, length))
        memory: memoryview = view(offset, length)
        return memory

    def read_fully(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes from `offset`; `EOFError` if the file ends before.

        >>> with fs.open("/docs/a") as stream:
        ...     stream.read_fully(7, 3)
        b'789'
        """
        data = self.pread(offset, length)
        if len(data) < length:
            raise EOFError(f"{self.name} ends {length - len(data)} bytes before {offset + length}")
        return data

    def read_vectored(self, ranges: Sequence[FileRange]) -> list[Future[bytes | memoryview]]:
        """Read several ranges at once: a future for each, in the order of `ranges`.

        The position stays where it is. Raises `ValueError` for ranges that overlap and
        `EOFError` for one that goes beyond the end of the file.

        >>> from howdah import FileRange
        >>> with fs.open("/docs/a") as stream:
        ...     futures = stream.read_vectored([FileRange(0, 2), FileRange(8, 2)])
        ...     [bytes(future.result()) for future in futures]
        [b'01', b'89']
        """
        check_ranges(ranges, self.size)
        vectored = getattr(self._inner, "read_vectored", None)
        if vectored is None:
            # Hadoop's rules for filesystems that say nothing else: gaps below 4 KiB are read
            # over, up to 1 MiB in one read. Most programs never need the threads of it.
            from howdah.client.reading.vectored import read_vectored
            from howdah.client.state.reading.ranges import DEFAULT_RULES

            return read_vectored(self, ranges, DEFAULT_RULES)
        futures: list[Future[bytes | memoryview]] = vectored(ranges)
        return futures

    def statistics(self) -> Any:
        """Counts of what the stream did: a record whose type is the inner stream's own.

        >>> with fs.open("/docs/a") as stream:
        ...     hasattr(stream, "statistics")      # UnsupportedOperation where none are kept
        True
        """
        statistics = getattr(self._inner, "statistics", None)
        if statistics is None:
            raise errors.UnsupportedOperation(f"{self.name} keeps no statistics")
        return statistics()

    def has_capability(self, capability: str) -> bool:
        """Whether this stream offers `in:readahead`, `in:unbuffer`, …; closed or not.

        >>> with fs.open("/docs/a") as stream:
        ...     stream.has_capability("nonsense")
        False
        """
        return self._inner.has_capability(capabilities.canonical(capability))

    def unbuffer(self) -> None:
        """Let go of connections until the next read.

        >>> with fs.open("/docs/a") as stream:
        ...     _ = stream.read(4)
        ...     if stream.has_capability("in:unbuffer"):
        ...         stream.unbuffer()
        ...     stream.read()
        b'456789'
        """
        self._inner.unbuffer()

    def close(self) -> None:
        """Let go of everything; a thread that waits for bytes is woken up where that can be.

        >>> stream = fs.open("/docs/a")
        >>> stream.close()
        >>> stream.closed
        True
        """
        # BufferedReader would wait until that thread has read.
        stop_reading = getattr(self._inner, "stop_reading", None)
        if stop_reading is not None:
            stop_reading()
        super().close()

    def set_drop_behind(self, drop: bool | None) -> None:
        """Whether datanodes drop what was read from their caches; None: as they are configured.

        >>> with fs.open("/docs/a") as stream:
        ...     if stream.has_capability("in:dropbehind"):
        ...         stream.set_drop_behind(True)
        """
        self._inner.set_drop_behind(drop)

    def set_readahead(self, length: int | None) -> None:
        """How many bytes datanodes read ahead; None: as they are configured.

        >>> with fs.open("/docs/a") as stream:
        ...     if stream.has_capability("in:readahead"):
        ...         stream.set_readahead(1 << 20)
        """
        self._inner.set_readahead(length)
