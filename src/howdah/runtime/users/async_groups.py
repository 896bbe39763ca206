"""Questions that may take long, asked beside the loop (shell).

What a script or a directory service knows of an address or a user: asked on a few
threads, kept for a while, bounded in number. A stale answer is used while it is asked
for anew; who waits for a first one is told after `timeout_s` that there is none.
"""

from __future__ import annotations

import functools
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from howdah import errors

log = logging.getLogger(__name__)

T = TypeVar("T")
Done = Callable[["T | errors.HowdahError"], None]

MAX_KNOWN: Final = 100_000
MAX_WAITING: Final = 10_000
TIMEOUT_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class _Kept(Generic[T]):
    value: T
    asked_s: float


@dataclass(frozen=True, slots=True)
class Loop:
    """How to get back to the loop: `post` from any thread, `later` on the loop itself."""

    post: Callable[[Callable[[], None]], object]
    later: Callable[[float, Callable[[], None]], object]


class Lookups(Generic[T]):
    """Answers by key. `ask` is called on a thread, with up to `batch` keys at once."""

    def __init__(
        self,
        subject: str,
        ask: Callable[[Sequence[str]], Sequence[T]],
        loop: Loop,
        *,
        fresh_s: float,
        batch: int = 1,
        threads: int = 1,
        timeout_s: float = TIMEOUT_S,
        max_known: int = MAX_KNOWN,
        max_waiting: int = MAX_WAITING,
        answered: Callable[[str], None] = lambda _: None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """An answer is good for `fresh_s`, and usable for as long again while the next one
        is fetched. `answered` hears of each new one, on the loop."""
        self._subject = subject
        self._ask = ask
        self._loop = loop
        self._fresh_s = fresh_s
        self._batch = batch
        self._max_threads = threads
        self._timeout_s = timeout_s
        self._max_known = max_known
        self._max_waiting = max_waiting
        self._answered = answered
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._known: dict[str, _Kept[T]] = {}
        self._asked: dict[str, list[Done[T]]] = {}
        self._waiting = 0
        self._age = 0
        self._queue: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._threads = 0

    def get(self, key: str) -> T | None:
        """What is known; None if it has to be looked up first."""
        kept = self._known.get(key)
        if kept is None:
            return None
        age_s = self._clock_s() - kept.asked_s
        if age_s > self._fresh_s:
            if age_s > 2 * self._fresh_s:
                return None
            self.look_up(key)
        return kept.value

    def look_up(self, key: str, done: Done[T] | None = None) -> None:
        """Have it asked; `done` hears what came of it, on the loop."""
        with self._lock:
            refused = not self._enter(key, done)
        if done is None:
            return
        if refused:
            why = f"too many wait for {self._subject} already, or there is no thread: try again"
            self._loop.post(functools.partial(done, errors.RetriableError(why)))
        else:
            self._loop.later(self._timeout_s, lambda: self._give_up(key, done))

    def forget(self) -> None:
        """All that is known, and what is being asked, is asked for anew."""
        with self._lock:
            self._known.clear()
            self._age += 1

    def _enter(self, key: str, done: Done[T] | None) -> bool:
        """False if there is no room for it."""
        if done is not None and self._waiting >= self._max_waiting:
            return False
        waiting = self._asked.get(key)
        if waiting is None:
            if len(self._asked) >= self._max_waiting:
                return False
            if not self._has_thread():
                return False
            waiting = self._asked[key] = []
            self._queue.put(key)
        if done is not None:
            waiting.append(done)
            self._waiting += 1
        return True

    def _has_thread(self) -> bool:
        """Whether there is a thread to ask, a new one if there may be more."""
        if self._threads < self._max_threads:
            thread = threading.Thread(target=self._work, name=self._subject, daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                log.error("no more threads for %s: %s", self._subject, error)
            else:
                self._threads += 1
        return self._threads > 0

    def _give_up(self, key: str, done: Done[T]) -> None:
        with self._lock:
            waiting = self._asked.get(key, [])
            if done not in waiting:
                return
            waiting.remove(done)
            self._waiting -= 1
        why = f"no answer about {self._subject} of {key} in {self._timeout_s:g} s: try again"
        log.error("%s", why)
        done(errors.RetriableError(why))

    # --- on the threads ---

    def _work(self) -> None:
        while True:
            keys = [self._queue.get()]
            while len(keys) < self._batch and not self._queue.empty():
                keys.append(self._queue.get())
            age = self._age
            outcomes: Sequence[T | errors.HowdahError]
            try:
                outcomes = self._ask(keys)
                if len(outcomes) != len(keys):
                    raise ValueError(f"{len(outcomes)} answers about {len(keys)} names")
            except Exception as error:
                log.exception("asking about %s failed", self._subject)
                why = f"asking about {self._subject} failed: {type(error).__name__}: {error}"
                outcomes = [errors.RetriableError(why)] * len(keys)
            try:
                self._settle(keys, outcomes, age)
            except RuntimeError:
                log.debug("the loop has ended; nobody waits for %s", self._subject)
                return

    def _settle(
        self, keys: Sequence[str], outcomes: Sequence[T | errors.HowdahError], age: int
    ) -> None:
        callbacks: list[Callable[[], None]] = []
        with self._lock:
            if age != self._age:
                for key in keys:
                    self._queue.put(key)
                return
            now_s = self._clock_s()
            for key, outcome in zip(keys, outcomes, strict=True):
                waiting = self._asked.pop(key, [])
                self._waiting -= len(waiting)
                if not isinstance(outcome, errors.HowdahError):
                    self._known.pop(key, None)
                    self._known[key] = _Kept(outcome, now_s)
                    callbacks.append(functools.partial(self._answered, key))
                callbacks += [functools.partial(done, outcome) for done in waiting]
            while len(self._known) > self._max_known:
                del self._known[next(iter(self._known))]
        for tell in callbacks:
            self._loop.post(tell)
