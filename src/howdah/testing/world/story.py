"""What happened in a world, told line by line: virtual time, who, and what."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from howdah.testing.world.scheduler import Scheduler

_KEPT_LINES: Final = 2000


class Story:
    """Keeps the last lines, and passes all of them on to a listener."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self.listener: Callable[[str], None] | None = None

    def record(self, who: str, event: str) -> None:
        line = f"{self._scheduler.elapsed_s:12.6f} {who:12} {event}"
        self.lines.append(line)
        self._scheduler.note("story", who, event.partition("\n")[0])
        if self.listener is not None:
            self.listener(line)

    def logger(self, name: str) -> Callable[[str, str, str], None]:
        """Takes the lines that a process logs."""

        def log(level: str, logger: str, message: str) -> None:
            line = f"{self._scheduler.elapsed_s:12.6f} {name:12} {level} {logger}: {message}"
            self.lines.append(line)
            if self.listener is not None:
                self.listener(line)

        return log
