"""A file that is open for reading (shell).

It holds a window of the file (`howdah.mount.state.read_plan`), which a sequential stream fills.
Several threads may ask at once: one fills the window, and the others wait for it. What lies
elsewhere is read beside it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence

from howdah import errors
from howdah.fs.streams import FSDataInputStream
from howdah.mount.protocol.answers import Buffer
from howdah.mount.state.read_plan import (
    LONGEST_STEP_BYTES,
    Extend,
    ReadAlone,
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
        self._held: deque[tuple[int, memoryview]] = deque()
        """Parts of the window in order, each with where it begins."""

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
            self._forget()

    def read(self, offset: int, size: int) -> Sequence[Buffer]:
        """Up to `size` bytes from `offset`, in parts; fewer only at the end of the file. The parts
        are the window's own memory, which does not change."""
        with self._lock:
            stream = self._stream
            if offset >= stream.size or size <= 0:
                return ()
            plan = self._window.plan(offset, size, stream.size, self._longest_step_bytes())
            if isinstance(plan, Extend):
                self._extend(plan)
            if not isinstance(plan, ReadAlone):
                return self._held_parts(offset, min(offset + size, self._window.end))
        try:
            return (stream.pread(offset, size),)
        except errors.ClosedStream:
            if stream is self._stream:
                raise
            return (self._stream.pread(offset, size),)

    def _held_parts(self, offset: int, end: int) -> list[Buffer]:
        parts: list[Buffer] = []
        for start, data in self._held:
            if start < end and offset < start + len(data):
                parts.append(data[max(offset - start, 0) : end - start])
        return parts

    def _extend(self, plan: Extend) -> None:
        if plan.restarts_at is not None:
            self._held.clear()
        at = self._window.end
        data = bytearray(plan.read_bytes)
        filled = 0
        try:
            if self._stream.tell() != at:
                self._stream.seek(at)
            with memoryview(data) as view:
                while filled < len(data):
                    count = self._stream.readinto(view[filled:])
                    if not count:
                        break
                    filled += count
        except BaseException:
            self._forget()
            raise
        self._window.extended(plan, filled)
        self._held.append((at, memoryview(data).toreadonly()[:filled]))
        while self._held and _end(self._held[0]) <= self._window.begin:
            self._held.popleft()

    def _forget(self) -> None:
        self._window.forget()
        self._held.clear()

    def close(self) -> None:
        with self._lock:
            self._stream.close()
            self._forget()


def _end(part: tuple[int, memoryview]) -> int:
    start, data = part
    return start + len(data)
