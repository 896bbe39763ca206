"""Making a request again that failed: S3A's rules (shell: it waits).

What the store had no time for is asked for again after `throttle_interval_s`, what failed or
was not answered after `interval_s`; pauses double up to `MAX_PAUSE_S`, with up to half of each
drawn by lot. Every request of this room may be made twice: what must not happen twice has a
condition in the request, and whoever asked finds out what became of it.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from howdah import errors
from howdah.rpc import wait_notices

log = logging.getLogger(__name__)
T = TypeVar("T")
MAX_PAUSE_S: Final = 20.0
_MOST_DOUBLED: Final = 64
_TOLD_S: Final = 1.0
"""A person at a terminal is told of pauses that are as long."""


class Throttled(errors.RetriableError):
    """The store has no time for the request now."""


class Failed(errors.RetriableError):
    """The store failed, and may not the next time."""


class Damaged(errors.ChecksumMismatch):
    """What arrived at the store has another checksum than what was sent; it kept nothing."""


def refusal(status: int, said: str, *, where: str, place: str) -> errors.HowdahError:
    """Return the error for a request that a store refused with this HTTP status for good."""
    if status == 401:
        return errors.AccessDenied(f"{where}: {place} refuses the credentials: {said}")
    if status == 403:
        return errors.AccessDenied(f"{where}: access denied by {place}: {said}")
    if status == 416:
        return errors.EndOfFile(f"{where}: {said}")
    if status == 404:
        return errors.PathNotFound(f"File does not exist: {where}")
    return errors.RemoteError(f"{where}: {said}")


@dataclass(frozen=True, slots=True)
class RetryRules:
    """How often, and how long to wait before the first time, in seconds."""

    limit: int
    interval_s: float
    throttle_limit: int
    throttle_interval_s: float

    def pause_s(self, error: errors.HowdahError, failures: int) -> float | None:
        """How long to wait after that many failures before it is tried again; None: not at
        all. Raises nothing."""
        if isinstance(error, errors.UnknownHost):
            return None
        if isinstance(error, Throttled):
            limit, first_s = self.throttle_limit, self.throttle_interval_s
        elif isinstance(error, Failed | Damaged | errors.Unreachable | errors.CallTimeout):
            limit, first_s = self.limit, self.interval_s
        else:
            return None
        if failures > limit:
            return None
        return min(first_s * 2.0 ** min(failures - 1, _MOST_DOUBLED), MAX_PAUSE_S)


class Retrying:
    """Repeats requests by the rules."""

    def __init__(
        self,
        rules: RetryRules,
        *,
        sleep: Callable[[float], None] = time.sleep,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._rules = rules
        self._sleep = sleep
        self._draw = draw

    def __call__(self, operation: str, ask: Callable[[], T]) -> T:
        """Call `ask` until it succeeds, and return its result. Raises its last error."""
        failures = 0
        while True:
            try:
                return ask()
            except errors.HowdahError as error:
                failures += 1
                self.wait(operation, error, failures)

    def wait(self, operation: str, error: errors.HowdahError, failures: int) -> None:
        """Wait before the next attempt. Raises the error if there is to be none."""
        pause_s = self._rules.pause_s(error, failures)
        if pause_s is None:
            raise error
        pause_s *= 0.5 + self._draw() / 2
        log.info(
            "%s failed, again in %.1f s (attempt %d): %s", operation, pause_s, failures + 1, error
        )
        if pause_s >= _TOLD_S:
            wait_notices.show(f"{error}; trying again in {pause_s:.0f} s")
        self._sleep(pause_s)
