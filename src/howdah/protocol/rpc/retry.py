"""Whether a failed call is tried again, and after how long (pure).

Mirrors the parts of Hadoop's retry policies that hold for one namenode:

- No connection, or a connection that broke before the answer: again, up to
  `connect_retries` times with a fixed pause (`ipc.client.connect.max.retries`,
  `ipc.client.connect.retry.interval`). Every attempt carries the same call id, so
  the server's retry cache answers a call that did get through.
- `StandbyException` of a namenode that was active before: as often, and with the same pause. It
  was restarted and is about to be elected. From one that never was the caller has it at once, as
  in Hadoop: it is the wrong one, and no other is known.
- `RetriableException`: the server asks for it; again with growing pauses.
- A time-out is not repeated: the server may still be at work on the call, and what
  took too long once would take too long again.
- Anything else is an answer, and goes to the caller.

Which of several namenodes is asked next is the business of failover.
"""

from __future__ import annotations

from dataclasses import dataclass

from howdah import errors

MAX_RETRIABLE_PAUSE_S = 15.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how fast; see the module."""

    connect_retries: int = 10
    connect_delay_s: float = 1.0
    retriable_retries: int = 10
    retriable_delay_s: float = 0.5

    def longest_s(self, error: errors.HowdahError) -> float:
        """About how long is waited in all between attempts that fail with such an error."""
        if not isinstance(error, errors.RetriableError):
            return self.connect_retries * self.connect_delay_s
        pauses = (self.pause_s(error, attempt) for attempt in range(1, self.retriable_retries + 1))
        return sum(pause for pause in pauses if pause is not None)

    def pause_s(self, error: errors.HowdahError, attempts: int) -> float | None:
        """Seconds to wait after `attempts` failed attempts, the last by `error`; None: give up."""
        if isinstance(error, errors.UnknownHost | errors.FilesystemClosed):
            return None
        if isinstance(error, (errors.Unreachable, errors.StandbyError)):
            return self.connect_delay_s if attempts <= self.connect_retries else None
        if isinstance(error, errors.RetriableError):
            if attempts > self.retriable_retries:
                return None
            # The exponent is bounded so that it can't overflow with a large limit.
            return min(self.retriable_delay_s * 2.0 ** min(attempts - 1, 16), MAX_RETRIABLE_PAUSE_S)
        return None
