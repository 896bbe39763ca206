"""A `DirectWriter` whose thread runs, and what it says."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from howdah.native._kernel import DirectWriter

REFUSED, QUEUED, DURABLE = 0, 1, 2
ALLOCATING, WRITING, SYNCING = 0, 1, 2
STEP_BYTES = 1 << 20
WAIT_S = 60.0


class Running:
    """A writer whose thread is in `run`."""

    def __init__(self, writer: DirectWriter) -> None:
        self.writer = writer
        self.outcome: list[tuple[int, int, int] | None] = []
        self._thread = threading.Thread(target=lambda: self.outcome.append(writer.run()))
        self._thread.start()

    def join(self) -> tuple[int, int, int] | None:
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()
        return self.outcome[0]

    def end(self) -> tuple[list[tuple[int, int]], int, int, bytes]:
        self.writer.interrupt()
        assert self.join() is None
        return self.writer.close()
