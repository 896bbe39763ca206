"""Whether a job may go on while Spark runs its tasks (shell).

The driver waits for Spark, for hours perhaps. Meanwhile a thread looks whether the job has the lock
of its target still, and whatever else its caller has to have. If not, it sets marks that tasks look
at: they begin no further file, and give none its name.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self

from howdah import errors
from howdah.copy.results import FailureMark

CHECKED_S: Final = 5.0


class Watch:
    """Calls `check` again and again while the context is entered, and once more at its end. What it
    raises is raised when the context is left, whatever the tasks did then."""

    def __init__(
        self,
        check: Callable[[], None],
        marks: Sequence[FailureMark],
        interval_s: float = CHECKED_S,
    ) -> None:
        self._check = check
        self._marks = marks
        self._interval_s = interval_s
        self._ends = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def _run(self) -> None:
        while not self._ends.wait(self._interval_s):
            try:
                self._check()
            except (errors.HowdahError, OSError) as error:
                self._error = error
                for mark in self._marks:
                    mark.set(error)
                return

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ends.set()
        self._thread.join()
        if self._error is not None and (error is None or isinstance(error, Exception)):
            raise self._error from error
        if kind is None:
            self._check()
