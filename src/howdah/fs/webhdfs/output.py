"""A file that is written over HTTP: one request, whose body is what is written (shell)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from howdah import errors
from howdah.fs.plain_output import Writable
from howdah.fs.webhdfs.connections import AnswerLost, Exchange
from howdah.options import SyncFlag
from howdah.web.webhdfs.answers import remote_error

PIECE_BYTES: Final = 256 * 1024
"""Less is collected before it is sent."""
_MAX_ERROR_BYTES: Final = 1 << 20


class RestOutput:
    """The inside of an `FSDataOutputStream` on a file behind HTTP.

    Bytes are on their way when a piece is full, and in the file when `close` has returned:
    nothing in HTTP asks the other side for more than that, so `hflush` and `hsync` are refused.
    """

    def __init__(
        self,
        path: str,
        exchange: Exchange,
        position: int,
        ended: Callable[[RestOutput], None],
        progress: Callable[[], None] | None = None,
    ) -> None:
        """`ended` is called once, when the stream is closed."""
        self._path = path
        self._exchange = exchange
        self._position = position
        self._ended = ended
        self._progress = progress
        self._pending = bytearray()
        self._failure: errors.HowdahError | None = None
        self._closed = False
        self._lock = threading.RLock()

    @property
    def path(self) -> str:
        return self._path

    @property
    def closed(self) -> bool:
        return self._closed

    def get_pos(self) -> int:
        return self._position

    def write(self, data: Writable) -> None:
        with self._lock:
            self._check_open()
            size = memoryview(data).nbytes
            self._pending += data
            self._position += size
            if len(self._pending) >= PIECE_BYTES:
                self._send()
        if self._progress is not None:
            self._progress()

    def _send(self) -> None:
        pending, self._pending = self._pending, bytearray()
        try:
            with memoryview(pending) as view:
                for start in range(0, len(view), PIECE_BYTES):
                    self._exchange.send(view[start : start + PIECE_BYTES])
        except (errors.Unreachable, errors.CallTimeout) as error:
            self._failure = self._answer_instead(error)
            raise self._failure from error

    def _answer_instead(self, error: errors.HowdahError) -> errors.HowdahError:
        """Who takes no more of a body has mostly said why."""
        try:
            head = self._exchange.head()
            body = self._exchange.body(_MAX_ERROR_BYTES)
        except errors.HowdahError:
            return AnswerLost(f"{self._path}: {error}").about(self._path)
        return remote_error(head.status, body, self._path).about(self._path)

    def _check_open(self) -> None:
        if self._closed:
            raise errors.ClosedStream(f"{self._path} is closed").about(self._path)
        if self._failure is not None:
            raise self._failure

    def flush(self) -> None:
        """Promises nothing."""

    def hflush(self) -> None:
        self._check_open()
        raise errors.UnsupportedOperation(f"{self._path}: WebHDFS has no hflush").about(self._path)

    def hsync(self, flags: SyncFlag = SyncFlag.NONE) -> None:
        self._check_open()
        raise errors.UnsupportedOperation(f"{self._path}: WebHDFS has no hsync").about(self._path)

    def has_capability(self, capability: str) -> bool:
        return False

    def set_drop_behind(self, drop: bool | None) -> None:
        raise errors.UnsupportedOperation(f"{self._path}: WebHDFS has no set_drop_behind")

    def close(self) -> None:
        """The file is whole when this returns. Raises what the datanode answers, AnswerLost."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                if self._failure is None:
                    self._finish()
            finally:
                self._exchange.close()
                self._ended(self)

    def _finish(self) -> None:
        if self._pending:
            self._send()
        try:
            self._exchange.end()
            head = self._exchange.head()
            body = self._exchange.body(_MAX_ERROR_BYTES)
        except (errors.Unreachable, errors.CallTimeout) as error:
            raise AnswerLost(
                f"nobody knows whether all of {self._path} was written: {error}"
            ).about(self._path) from error
        if head.status >= 300:
            raise remote_error(head.status, body, self._path).about(self._path)
