"""A file that is written over HTTP: one request, whose body is what is written (shell)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from howdah import errors
from howdah.fs.output_base import OutputUntilClose
from howdah.web.connections import AnswerLost, Exchange
from howdah.web.webhdfs.answers import remote_error

PIECE_BYTES: Final = 256 * 1024
"""Less is collected before it is sent."""
_MAX_ERROR_BYTES: Final = 1 << 20


class RestOutput(OutputUntilClose):
    """The inside of an `FSDataOutputStream` on a file behind HTTP.

    Bytes are on their way when a piece is full, and in the file when `close` has returned:
    nothing in HTTP asks the other side for more than that, so `hflush` and `hsync` are refused.
    """

    store = "WebHDFS"

    def __init__(
        self,
        path: str,
        exchange: Exchange,
        position: int,
        ended: Callable[[RestOutput], None],
        progress: Callable[[], None] | None = None,
    ) -> None:
        """`ended` is called once, when the stream is closed."""
        super().__init__(path, progress)
        self._exchange = exchange
        self._position = position
        self._ended = ended
        self._pending = bytearray()

    def _accept(self, view: memoryview) -> None:
        self._pending += view
        self._position += view.nbytes
        if len(self._pending) >= PIECE_BYTES:
            self._send()

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

    def has_capability(self, capability: str) -> bool:
        return False

    def close(self) -> None:
        """The file is whole when this returns. Raises what the datanode answers, AnswerLost."""
        if self._is_parents():
            self._closed = True
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                if self._failure is not None:
                    # Without its end the body is none, and the datanode closes no file.
                    raise self._failure
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
