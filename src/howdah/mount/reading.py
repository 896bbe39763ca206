"""A file that is open for reading (shell).

It has one stream, which reads on (`howdah.mount.state.read_plan`). Several threads may ask at once:
one reads from the stream, while others hand to the kernel what they have read before. What lies
elsewhere is read beside it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from howdah import errors
from howdah.fs.streams import FSDataInputStream
from howdah.mount.state.read_plan import REACH_BYTES, Reading, ReadOn


class Reader:
    """Reads one file. Thread-safe."""

    def __init__(
        self,
        open_stream: Callable[[], FSDataInputStream],
        reach_bytes: Callable[[], int] = lambda: REACH_BYTES,
    ) -> None:
        """Opens the file. `reach_bytes` is how much of what comes too early it may hold now, and
        a few times that in all. Raises what `open_stream` does."""
        self._reach_bytes = reach_bytes
        self._open = open_stream
        self._stream = open_stream()
        self._openings = 1
        self._lock = threading.Lock()
        self._reading = Reading()
        self._held: dict[int, memoryview] = {}
        """What `_reading` holds, by the begin of each part."""

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

    def read_into(self, offset: int, room: memoryview) -> int:
        """Fill `room` with bytes from `offset`; how many there were, fewer only at the end of the
        file."""
        with self._lock:
            stream = self._stream
            room = room[: max(stream.size - offset, 0)]
            if not room:
                return 0
            plan = self._reading.plan(offset, len(room), self._reach_bytes())
            if isinstance(plan, ReadOn):
                return self._read_on(plan, offset, room)
        try:
            return stream.pread_into(offset, room)
        except errors.ClosedStream:
            if stream is self._stream:
                raise
            # It was opened again meanwhile.
            return self._stream.pread_into(offset, room)

    def _read_on(self, plan: ReadOn, offset: int, room: memoryview) -> int:
        for begin, part in self._held.items():
            first, last = max(begin, offset), min(begin + len(part), offset + plan.held_bytes)
            if first < last:
                room[first - offset : last - offset] = part[first - begin : last - begin]
        rest = room[plan.held_bytes :]
        if not rest:
            return len(room)
        try:
            if plan.moves_to is not None:
                self._reading.moved(plan.moves_to)
            place = self._reading.place
            if self._stream.tell() != place:
                self._stream.seek(place)
            if plan.early_bytes:
                early = memoryview(bytearray(plan.early_bytes))
                count = self._from_stream(early)
                self._held[place] = early[:count]
                self._reading.held_on(count)
                if count < plan.early_bytes:
                    return 0
            count = self._from_stream(rest)
            self._reading.read_on(count)
        except BaseException:
            self._forget()
            raise
        if self._held:
            begins = {begin for begin, _ in self._reading.held}
            self._held = {begin: part for begin, part in self._held.items() if begin in begins}
        return plan.held_bytes + count

    def _from_stream(self, room: memoryview) -> int:
        """Fill `room` by reading on; how much there was, less only at the end of the file."""
        filled = 0
        while filled < len(room):
            count = self._stream.readinto(room[filled:])
            if not count:
                break
            filled += count
        return filled

    def _forget(self) -> None:
        self._reading.forget()
        self._held.clear()

    def close(self) -> None:
        with self._lock:
            self._stream.close()
            self._forget()
