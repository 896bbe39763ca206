"""A few threads for reads at the same time, which nobody has to start or stop.

Unlike `concurrent.futures.ThreadPoolExecutor`: threads end when they are idle, and
never keep the program from ending (a read may hang for a minute); a forked child
starts without any; and a caller can ask whether there is a thread to be had now.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from howdah.runtime.fork_safety import PerProcess

_log = logging.getLogger(__name__)

T = TypeVar("T")
IDLE_S = 5.0


class _Crew:
    """The threads of one process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.threads = 0
        self.outstanding = 0
        """Tasks that wait or run."""


class Workers:
    """Runs tasks, at most `limit` at a time. Thread-safe and fork-safe."""

    def __init__(self, limit: int, name: str, *, idle_s: float = IDLE_S) -> None:
        assert limit > 0, limit
        self.limit = limit
        self._name = name
        self._idle_s = idle_s
        self._crew = PerProcess(_Crew)

    def submit(self, task: Callable[[], T]) -> Future[T]:
        """Run `task` as soon as a thread is free."""
        future: Future[T] = Future()
        self._start(self._crew.get(), task, future, only_now=False)
        return future

    def try_submit(self, task: Callable[[], T]) -> Future[T] | None:
        """Run `task` now; None if all threads are busy, or the system has no more."""
        future: Future[T] = Future()
        if self._start(self._crew.get(), task, future, only_now=True):
            return future
        return None

    def _start(
        self, crew: _Crew, task: Callable[[], T], future: Future[T], *, only_now: bool
    ) -> bool:
        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = task()
            except BaseException as error:  # noqa: BLE001 - it is the one who waits that gets it
                future.set_exception(error)
            else:
                future.set_result(result)

        with crew.lock:
            if only_now and crew.outstanding >= self.limit:
                return False
            if crew.threads < min(self.limit, crew.outstanding + 1):
                try:
                    self._add_thread(crew)
                except RuntimeError:
                    # The system has no thread for us; those that run would come to the task.
                    if only_now:
                        return False
                    if not crew.threads:
                        raise
            crew.outstanding += 1
            crew.tasks.put(run)
        return True

    def _add_thread(self, crew: _Crew) -> None:
        thread = threading.Thread(target=self._work, args=(crew,), name=self._name, daemon=True)
        thread.start()
        crew.threads += 1

    def _work(self, crew: _Crew) -> None:
        while True:
            try:
                task = crew.tasks.get(timeout=self._idle_s)
            except queue.Empty:
                with crew.lock:
                    # Between the time-out and here somebody may have counted on us.
                    if not crew.tasks.empty():
                        continue
                    crew.threads -= 1
                    return
            try:
                task()
            except BaseException:  # noqa: BLE001 - it is in the log
                # What it raised is its future's; this is the system's, or a callback's. Others
                # may wait behind it, for whom there is no other thread.
                _log.exception("the end of a task of %s failed on a defect", self._name)
            del task  # and with it what it gave, which may be large
            with crew.lock:
                crew.outstanding -= 1
