"""Ask the data process about itself (shell): where its threads are, and what it has logged.

Questions go over a socket pair of their own. The thread that answers them takes no lock of the
store and touches no disk. So it answers while a hung disk blocks every other thread, which is when
somebody asks.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from howdah.datanode.channel.frames import Link, LinkClosed, wait_readable
from howdah.datanode.state.messages import Answer, Question, Subject

log = logging.getLogger(__name__)

TIMEOUT_S: Final = 10.0


def serve(link: Link, report: Callable[[Subject], str]) -> None:
    """In the data process: answer questions on a thread until the control process is gone."""

    def text_of(subject: Subject) -> str:
        try:
            return report(subject)
        except Exception as error:
            # No other thread answers questions, and the next one may have an answer.
            log.exception(
                "answering the control process about %s failed on a defect", subject.value
            )
            return f"it cannot say: {error!r}\n"

    def run() -> None:
        try:
            while True:
                for message in link.receive():
                    if isinstance(message, Question):
                        link.send(Answer(message.number, text_of(message.subject)))
        except LinkClosed:
            log.debug("the control process has closed the link for questions")

    threading.Thread(target=run, name="questions of the control process", daemon=True).start()


class IntrospectionClient:
    """In the control process: asks one question at a time. Thread-safe."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._lock = threading.Lock()
        self._numbers = itertools.count()

    def request(self, subject: Subject) -> str:
        """Return the answer, or the reason why there is none."""
        deadline_s = time.monotonic() + TIMEOUT_S
        if not self._lock.acquire(timeout=TIMEOUT_S):
            return f"others have waited for its answer for {TIMEOUT_S:.0f} s\n"
        try:
            return self._exchange(Question(next(self._numbers), subject), deadline_s)
        except LinkClosed as error:
            return f"{error.message}\n"
        finally:
            self._lock.release()

    def _exchange(self, question: Question, deadline_s: float) -> str:
        self._link.send(question)
        # A late answer to an earlier question may come first.
        while (left_s := deadline_s - time.monotonic()) > 0:
            if wait_readable(self._link.fileno(), timeout_s=left_s):
                for message in self._link.receive(once=True):
                    if isinstance(message, Answer) and message.number == question.number:
                        return message.text
        return f"it has not answered for {TIMEOUT_S:.0f} s\n"

    def close(self) -> None:
        self._link.close()
