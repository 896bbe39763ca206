"""Streams of a target under their names in the view.

A stream knows its file by the path in the target, and its errors say that one. These hand
everything on and raise the errors about the path that the caller opened.
"""

from __future__ import annotations

import io
from contextlib import AbstractContextManager
from typing import Any

from howdah.fs.streams import FSDataInputStream, FSDataOutputStream, SyncFlag, Writable
from howdah.fs.viewfs.delegation import Reached, renamed_errors


def output(stream: FSDataOutputStream, reached: Reached) -> FSDataOutputStream:
    """A stream that is being written, as the view's."""
    return FSDataOutputStream(_Output(stream, reached))


def input(
    stream: FSDataInputStream, reached: Reached, buffer_size: int | None
) -> FSDataInputStream:
    """A stream that is read, as the view's."""
    return FSDataInputStream(_Input(stream.detach(), reached), buffer_size or _BUFFER_BYTES)


_BUFFER_BYTES = 64 * 1024


class _Named:
    """What knows the names of a file."""

    def __init__(self, reached: Reached) -> None:
        self._reached = reached

    def _naming(self) -> AbstractContextManager[None]:
        return renamed_errors({self._reached.path: self._reached.name}, self._reached.name)


class _Output(_Named):
    """An `InnerOutput` over a whole stream, which has all that one may have."""

    def __init__(self, stream: FSDataOutputStream, reached: Reached) -> None:
        super().__init__(reached)
        self._stream = stream

    @property
    def path(self) -> str:
        return self._reached.name

    @property
    def closed(self) -> bool:
        return self._stream.closed

    def write(self, data: Writable) -> None:
        with self._naming():
            self._stream.write(data)

    def flush(self) -> None:
        with self._naming():
            self._stream.flush()

    def hflush(self) -> None:
        with self._naming():
            self._stream.hflush()

    def hsync(self, flags: SyncFlag = SyncFlag.NONE) -> None:
        with self._naming():
            self._stream.hsync(flags)

    def get_pos(self) -> int:
        return self._stream.get_pos()

    def has_capability(self, capability: str) -> bool:
        return self._stream.has_capability(capability)

    def set_drop_behind(self, drop: bool | None) -> None:
        with self._naming():
            self._stream.set_drop_behind(drop)

    def abort(self) -> object:
        with self._naming():
            return self._stream.abort()

    def statistics(self) -> object:
        with self._naming():
            return self._stream.statistics()

    def close(self) -> None:
        with self._naming():
            self._stream.close()

    def dropped(self) -> None:
        """Nobody has the view's stream any more."""
        self._stream._dropped()


class _Input(_Named, io.RawIOBase):
    """Wraps the raw stream of a target. Attributes that only some streams have are looked up by
    name."""

    def __init__(self, raw: Any, reached: Reached) -> None:
        super().__init__(reached)
        self._raw = raw

    @property
    def name(self) -> str:
        return self._reached.name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        with self._naming():
            member = getattr(self._raw, attribute)
        if not callable(member):
            return member

        def named(*arguments: Any, **named_arguments: Any) -> Any:
            with self._naming():
                return member(*arguments, **named_arguments)

        return named

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._raw.seekable())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with self._naming():
            return int(self._raw.seek(offset, whence))

    def tell(self) -> int:
        with self._naming():
            return int(self._raw.tell())

    def readinto(self, buffer: Any) -> int | None:
        with self._naming():
            count: int | None = self._raw.readinto(buffer)
            return count

    def readall(self) -> bytes:
        with self._naming():
            return bytes(self._raw.readall())

    def fileno(self) -> int:
        with self._naming():
            return int(self._raw.fileno())

    def close(self) -> None:
        try:
            with self._naming():
                self._raw.close()
        finally:
            super().close()
