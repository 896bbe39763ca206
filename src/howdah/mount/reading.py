"""A file that is open for reading (shell).

It has one stream, which reads on (`howdah.mount.state.read_plan`). Requests take their turns at it
in the order in which the kernel has sent them: one reads from the stream, while those before it are
handed to the kernel. What lies elsewhere is read beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from howdah import errors
from howdah.fs.streams import FSDataInputStream
from howdah.mount.state.read_plan import Plan, Reading
from howdah.mount.turns import Turn, Turns


class Reader:
    """Reads one file. Thread-safe, for threads that take turns."""

    def __init__(self, open_stream: Callable[[], FSDataInputStream], turns: Turns) -> None:
        """Opens the file. Raises what `open_stream` does."""
        self.turns: Final = turns
        self._open = open_stream
        self._stream = open_stream()
        self._reading = Reading()

    @property
    def length(self) -> int:
        """How many bytes there were in the file when it was opened."""
        return self._stream.size

    def reopen(self) -> None:
        """Open the file again. For whoever has the turn."""
        stream = self._open()
        self._stream.close()
        self._stream = stream
        self._reading.forget()

    def read_into(self, turn: Turn, offset: int, room: memoryview) -> int:
        """Fill `room` with bytes from `offset`; how many there were, fewer only at the end of the
        file. For whoever has the turn, which ends when others may read."""
        stream = self._stream
        room = room[: max(stream.size - offset, 0)]
        if not room:
            return 0
        plan = self._reading.plan(offset, len(room))
        if plan is not Plan.READ_ALONE:
            return self._read_on(offset, room)
        turn.end()
        try:
            return stream.pread_into(offset, room)
        except errors.ClosedStream:
            if stream is self._stream:
                raise
            # It was opened again meanwhile.
            return self._stream.pread_into(offset, room)

    def _read_on(self, offset: int, room: memoryview) -> int:
        filled = 0
        try:
            if self._stream.tell() != offset:
                self._stream.seek(offset)
            while filled < len(room):
                count = self._stream.readinto(room[filled:])
                if not count:
                    break
                filled += count
        except BaseException:
            self._reading.forget()
            raise
        self._reading.read_on(offset, filled)
        return filled

    def close(self) -> None:
        with self.turns.announce():
            self._stream.close()
