"""What a keeper asks its data process about that process (shell): where its threads are, and what
it has logged.

Over a socket pair of their own, and answered by a thread that takes no lock of the store and
touches no disk. So there is an answer while everything else there waits for a disk that hangs,
which is when somebody asks.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from howdah.datanode.channel.link import Link, LinkClosed, wait_readable
from howdah.datanode.channel.messages import Ask, Told, What

log = logging.getLogger(__name__)

TIMEOUT_S: Final = 10.0


def answer(link: Link, tell: Callable[[What], str]) -> None:
    """In the data process: answer on a thread, until the keeper is gone."""

    def told(what: What) -> str:
        try:
            return tell(what)
        except Exception as error:
            # The only thread for these; the next question may have an answer.
            log.exception("a question of the keeper met a defect")
            return f"it cannot say: {error!r}\n"

    def run() -> None:
        try:
            while True:
                for message in link.receive():
                    if isinstance(message, Ask):
                        link.send(Told(message.number, told(message.what)))
        except LinkClosed:
            log.debug("the keeper asks nothing any more")

    threading.Thread(target=run, name="questions of the keeper", daemon=True).start()


class Questions:
    """In the keeper. Thread-safe; one question at a time."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._lock = threading.Lock()
        self._numbers = itertools.count()

    def ask(self, what: What) -> str:
        """The answer, or in its place why there is none."""
        deadline_s = time.monotonic() + TIMEOUT_S
        if not self._lock.acquire(timeout=TIMEOUT_S):
            return f"others have waited for its answer for {TIMEOUT_S:.0f} s\n"
        try:
            return self._asked(Ask(next(self._numbers), what), deadline_s)
        except LinkClosed as error:
            return f"{error.message}\n"
        finally:
            self._lock.release()

    def _asked(self, question: Ask, deadline_s: float) -> str:
        self._link.send(question)
        # One that came too late for an earlier question may come before the answer.
        while (left_s := deadline_s - time.monotonic()) > 0:
            if wait_readable(self._link.fileno(), timeout_s=left_s):
                for message in self._link.receive(once=True):
                    if isinstance(message, Told) and message.number == question.number:
                        return message.text
        return f"it has not answered for {TIMEOUT_S:.0f} s\n"

    def close(self) -> None:
        self._link.close()
