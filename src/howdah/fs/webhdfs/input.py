"""A file that is read over HTTP (shell).

Reading on goes over one answer; a move a little forwards reads over what is between, every other
move asks anew. Positioned reads have a request of their own and disturb nobody. An answer that
breaks off is asked for again from where it ended, up to `ATTEMPTS` times in a row, and not from
the same datanode if there is another.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from howdah import errors
from howdah.fs import capabilities
from howdah.fs.input_base import RemoteInput
from howdah.runtime.fork_safety import process_id
from howdah.web.connections import BrokenOff, Exchange

log = logging.getLogger(__name__)

ATTEMPTS: Final = 3
SHORT_SKIP_BYTES: Final = 512 * 1024
_CAPABILITIES: Final = frozenset(
    (capabilities.UNBUFFER, capabilities.READ_BYTE_BUFFER, capabilities.PREAD_BYTE_BUFFER)
)
Open = Callable[[int, int | None, str | None], Exchange]
"""The bytes from an offset on, so many of them or all, not from a host that has failed."""


class RestInput(RemoteInput):
    """The inside of an `FSDataInputStream` on a file behind HTTP."""

    store = "WebHDFS"

    def __init__(self, path: str, length: int, opened: Open) -> None:
        super().__init__(path)
        self._length = length
        self._open = opened
        self._exchange: Exchange | None = None
        self._exchange_at = 0

    @property
    def length(self) -> int:
        """Bytes in the file, as of its opening."""
        return self._length

    # `io` says "any buffer", for which Python 3.11 has no name in its types.
    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """At least one byte, unless the file ends here or `buffer` is empty."""
        view = memoryview(buffer).cast("B")
        with self._own():
            self._check_open()
            left = self._length - self._position
            if left <= 0 or not len(view):
                return 0
            count = self._tried(lambda failed: self._read_on(view[:left], failed))
            self._position += count
            self._exchange_at = self._position
            return count

    def _read_on(self, view: memoryview, failed: str | None) -> int:
        try:
            exchange = self._here(failed)
            count = exchange.readinto(view)
            if not count:
                raise self._too_short(self._position)
        except BaseException:
            # Whoever interrupts it may come between the bytes and their count.
            self._drop()
            raise
        return count

    def _here(self, failed: str | None) -> Exchange:
        """An answer that goes on at the position."""
        ahead = self._position - self._exchange_at
        if self._exchange is not None and 0 < ahead <= SHORT_SKIP_BYTES:
            waste = memoryview(bytearray(min(ahead, 64 * 1024)))
            while ahead:
                count = self._exchange.readinto(waste[:ahead])
                if not count:
                    raise self._too_short(self._position - ahead)
                ahead -= count
            self._exchange_at = self._position
        if self._exchange is None or ahead:
            self._drop()
            self._exchange = self._open(self._position, None, failed)
            self._exchange_at = self._position
        return self._exchange

    def _tried(self, read: Callable[[str | None], int]) -> int:
        failed: str | None = None
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return read(failed)
            except (errors.Unreachable, errors.CallTimeout) as error:
                self._check_open()
                if attempt == ATTEMPTS:
                    raise
                if isinstance(error, BrokenOff):
                    failed = error.host
                log.info("reading %s again (attempt %d): %s", self._path, attempt + 1, error)
        raise AssertionError("the last attempt returns or raises")

    def _too_short(self, at: int) -> errors.HowdahError:
        return errors.Unreachable(
            f"{self._path} ended at {at}, and had {self._length} bytes when it was opened"
        ).about(self._path)

    def pread_into(self, offset: int, buffer: bytearray | memoryview) -> int:
        """Fill `buffer` from `offset`; how many bytes, fewer only at the end of the file."""
        self._check_range(offset)
        view = memoryview(buffer).cast("B")
        view = view[: max(min(len(view), self._length - offset), 0)]
        filled = 0

        def read(failed: str | None) -> int:
            nonlocal filled
            exchange = self._open(offset + filled, len(view) - filled, failed)
            try:
                while filled < len(view):
                    count = exchange.readinto(view[filled:])
                    if not count:
                        raise self._too_short(offset + filled)
                    filled += count
                # Nothing comes, but the connection can be kept then, if that can be read.
                with suppress(errors.Unreachable, errors.CallTimeout):
                    exchange.readinto(memoryview(bytearray(1)))
            finally:
                exchange.close()
            return filled

        return self._tried(read) if len(view) else 0

    def _forget_connection(self) -> None:
        self._exchange = None

    def _drop(self) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.close()

    def has_capability(self, capability: str) -> bool:
        return capability in _CAPABILITIES

    def unbuffer(self) -> None:
        with self._own():
            self._drop()

    def stop_reading(self) -> None:
        """The stream is about to be closed: wake up who waits for a datanode."""
        if not self.closed:
            super().stop_reading()
            exchange = self._exchange
            if exchange is not None and self._pid == process_id():
                exchange.break_off()
