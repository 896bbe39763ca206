"""How the kernel's reads of one open file become reads of the filesystem (pure).

The kernel reads ahead in requests of 128 KiB, several at once and not always in order, and a
request costs a filesystem a round trip. So a window of the file is kept, which a sequential stream
fills in growing steps up to whole megabytes. Rules:

1. What is within the window is served from it.
2. A request that begins within the window or not far behind its end extends it, so far as the
   request needs, and by at least a step; the step doubles each time, up to what the caller
   allows, who may have many files open. Bytes further behind than `KEPT_BYTES` are dropped.
3. Any other request is read by itself (`pread`). If the next one continues it, a window begins
   there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

FIRST_STEP_BYTES: Final = 256 << 10
LONGEST_STEP_BYTES: Final = 4 << 20
KEPT_BYTES: Final = 1 << 20
"""Behind the last request: others of the same reading may come later than it."""
REACH_BYTES: Final = 1 << 20
"""A request so far behind the end of the window still belongs to it."""


@dataclass(frozen=True, slots=True)
class Extend:
    """Drop the first `drop_bytes` of the window, and read `read_bytes` more behind its end. With
    `restarts_at` the window begins anew there, empty."""

    drop_bytes: int
    read_bytes: int
    restarts_at: int | None = None


@dataclass(frozen=True, slots=True)
class Serve:
    """All is in the window, from `start` of it."""

    start: int


@dataclass(frozen=True, slots=True)
class ReadAlone:
    """Read what is asked for, and leave the window as it is."""


Plan = Extend | Serve | ReadAlone


class Window:
    """Which part of a file is held."""

    def __init__(self) -> None:
        self.begin = 0
        self.end = 0
        self._step_bytes = FIRST_STEP_BYTES
        self._last_alone_end = -1
        self._is_new = True

    def plan(
        self,
        offset: int,
        size: int,
        file_length: int,
        longest_step_bytes: int = LONGEST_STEP_BYTES,
    ) -> Plan:
        """What to do for a request of which at least a byte is within the file."""
        self._step_bytes = min(self._step_bytes, longest_step_bytes)
        wanted_end = min(offset + size, file_length)
        if self.begin <= offset and wanted_end <= self.end:
            return Serve(offset - self.begin)
        if self._is_new and offset == 0:
            return self._extended(0, wanted_end, file_length, restarts=True)
        if not self._is_new and self.begin <= offset <= self.end + REACH_BYTES:
            return self._extended(offset, wanted_end, file_length, restarts=False)
        if offset == self._last_alone_end:
            return self._extended(offset, wanted_end, file_length, restarts=True)
        self._last_alone_end = wanted_end
        return ReadAlone()

    def _extended(
        self, offset: int, wanted_end: int, file_length: int, *, restarts: bool
    ) -> Extend:
        if restarts:
            self.begin = self.end = offset
            self._step_bytes = FIRST_STEP_BYTES
            self._is_new = False
        read_bytes = min(max(wanted_end - self.end, self._step_bytes), file_length - self.end)
        self._step_bytes = min(self._step_bytes * 2, LONGEST_STEP_BYTES)
        drop_bytes = min(max(offset - KEPT_BYTES - self.begin, 0), self.end - self.begin)
        return Extend(drop_bytes, read_bytes, offset if restarts else None)

    def extended(self, plan: Extend, read_bytes: int) -> None:
        """`read_bytes` were read, which are fewer where the file ends earlier."""
        self.begin += plan.drop_bytes
        self.end += read_bytes

    def forget(self) -> None:
        """Nothing is held any more."""
        self.begin = self.end = 0
        self._is_new = True
        self._last_alone_end = -1
