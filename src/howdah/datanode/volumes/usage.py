"""How full the volumes are, asked on a thread a volume: heartbeats wait for no disk that hangs.

A volume that doesn't answer in time has what it said last. Whoever asks sees that, and has
the volume prove itself.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from howdah.datanode.volumes.volumes import Usage

log = logging.getLogger(__name__)

PATIENCE_S = 1.0
"""How long a heartbeat waits for all volumes together."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`usage` or `error`, or neither if the volume has never answered."""

    usage: Usage | None
    error: OSError | None
    is_late: bool
    """It is from before: the volume has not answered this time."""


class UsageAsker:
    """Asks one volume. Any thread may; the question itself has a thread of its own."""

    def __init__(self, name: str, ask: Callable[[], Usage]) -> None:
        self._name = name
        self._ask = ask
        self._changed = threading.Condition()
        self._asked = self._answered = 0
        self._last: Usage | OSError | None = None
        self._thread: threading.Thread | None = None

    def request(self) -> int:
        """Begin to ask; the number of the question."""
        with self._changed:
            if self._thread is None:
                # Not before: the process may have forked until now.
                thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                try:
                    thread.start()
                    self._thread = thread
                except RuntimeError as error:
                    # Who asks next tries again; until then it is as if the volume were slow.
                    log.error("no thread for the %s: %s", self._name, error)
            self._asked += 1
            self._changed.notify_all()
            return self._asked

    def answer(self, question: int, deadline_s: float) -> Answer:
        """What the volume says, or has said when it is later than `deadline_s`."""
        with self._changed:
            left_s = max(deadline_s - time.monotonic(), 0.0)
            in_time = self._changed.wait_for(lambda: self._answered >= question, left_s)
            last = self._last
        if isinstance(last, OSError):
            return Answer(None, last, not in_time)
        return Answer(last, None, not in_time)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._asked > self._answered)
                question = self._asked
            answer: Usage | OSError | None
            try:
                answer = self._ask()
            except OSError as error:
                answer = error
            except Exception:
                # The only thread for these. It says nothing of the volume, which is as it was.
                log.exception("the %s cannot be had, on a defect", self._name)
                answer = self._last
            with self._changed:
                self._last, self._answered = answer, question
                self._changed.notify_all()


def ask_all(askers: Sequence[UsageAsker], patience_s: float = PATIENCE_S) -> list[Answer]:
    """All at once, and no longer than `patience_s` for all of them."""
    questions = [asker.request() for asker in askers]
    deadline_s = time.monotonic() + patience_s
    return [asker.answer(n, deadline_s) for asker, n in zip(askers, questions, strict=True)]
