"""A file that is open for reading (shell).

It holds a window of the file (`howdah.mount.state.read_plan`), which a sequential stream fills.
Several threads may ask at once: one fills the window, and the others wait for it. What lies
elsewhere is read beside it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from howdah import errors
from howdah.fs.streams import FSDataInputStream
from howdah.mount.protocol.answers import Buffer
from howdah.mount.state.read_plan import (
    LONGEST_STEP_BYTES,
    Extend,
    ReadAlone,
    Serve,
    Window,
)


class Reader:
    """Reads one file. Thread-safe."""

    def __init__(
        self,
        open_stream: Callable[[], FSDataInputStream],
        longest_step_bytes: Callable[[], int] = lambda: LONGEST_STEP_BYTES,
    ) -> None:
        """Opens the file. `longest_step_bytes` is how much may be read ahead now. Raises what
        `open_stream` does."""
        self._longest_step_bytes = longest_step_bytes
        self._open = open_stream
        self._stream = open_stream()
        self._openings = 1
        self._lock = threading.Lock()
        self._window = Window()
        self._held = bytearray()

    @property
    def opened(self) -> tuple[int, int]:
        """How often it was opened, and how many bytes there were in the file then."""
        with self._lock:
            return self._openings, self._stream.size

    def reopen(self, openings: int) -> None:
        """Open the file again, unless another thread did so since it was opened so often."""
        with self._lock:
            if self._openings != openings:
                return
            stream = self._open()
            self._stream.close()
            self._stream = stream
            self._openings += 1
            self._window.forget()
            self._held = bytearray()

    def read(self, offset: int, size: int) -> Buffer:
        """Up to `size` bytes from `offset`; fewer only at the end of the file."""
        with self._lock:
            stream = self._stream
            if offset >= stream.size or size <= 0:
                return b""
            plan = self._window.plan(offset, size, stream.size, self._longest_step_bytes())
            if isinstance(plan, Extend):
                self._extend(plan)
                plan = Serve(offset - self._window.begin)
            if isinstance(plan, Serve):
                return bytes(memoryview(self._held)[plan.start : plan.start + size])
        assert isinstance(plan, ReadAlone)
        try:
            return stream.pread(offset, size)
        except errors.ClosedStream:
            if stream is self._stream:
                raise
            return self._stream.pread(offset, size)

    def _extend(self, plan: Extend) -> None:
        if plan.restarts_at is not None:
            self._held = bytearray()
        del self._held[: plan.drop_bytes]
        kept = len(self._held)
        self._held += bytes(plan.read_bytes)
        filled = 0
        try:
            if self._stream.tell() != self._window.end:
                self._stream.seek(self._window.end)
            with memoryview(self._held) as view:
                while filled < plan.read_bytes:
                    count = self._stream.readinto(view[kept + filled :])
                    if not count:
                        break
                    filled += count
        except BaseException:
            self._window.forget()
            self._held = bytearray()
            raise
        del self._held[kept + filled :]
        self._window.extended(plan, filled)

    def close(self) -> None:
        with self._lock:
            self._stream.close()
            self._window.forget()
            self._held = bytearray()
