"""What is done after a call to one of several namenodes failed (pure).

Mirrors Hadoop's RetryPolicies.FailoverOnNetworkExceptionRetry. The first rule that fits holds:

1. No connection was made: the same namenode again, as often as
   `dfs.client.failover.connection.retries` (`…on.timeouts` for one that did not accept in
   time) says; then rule 2.
2. `StandbyException`, no connection, a connection that ended: another namenode.
3. `RetriableException`: the same namenode again, at most `dfs.client.retry.max.attempts` times.
4. A time-out: another namenode. All calls of ClientProtocol may be made twice under one call
   id: they change nothing, or the retry cache answers those that happened.
5. Anything else is an answer, and goes to the caller.

Pauses double from `dfs.client.failover.sleep.base.millis` to `…sleep.max.millis`, and are
half to one and a half times as long as that by chance, so that clients do not come in step.
Unlike Hadoop's client, which pauses before every namenode but the second, this one pauses
when it has asked all namenodes in vain: a *round*. `dfs.client.failover.max.attempts` counts
the rounds after the first one; a call gives up after that, or when in a whole round no
namenode's host was known. A failover may take a tenth of a second, so the first pause is cut
into pieces with a round between them; these rounds are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from howdah import errors

_LARGEST_EXPONENT = 32
FIRST_PAUSE = (0.125, 0.125, 0.25, 0.5)
"""The pieces of the first pause."""


@dataclass(frozen=True, slots=True)
class FailoverPolicy:
    """How often and how fast; see the module."""

    max_failovers: int = 15
    max_retries: int = 10
    sleep_base_s: float = 0.5
    sleep_max_s: float = 15.0
    connection_retries: int = 0
    connection_retries_on_timeouts: int = 0
    connect_delay_s: float = 1.0

    @property
    def longest_s(self) -> float:
        """About how long is waited in all, where no namenode answers as the active one."""
        return sum(self.pause_s(before, 0.5) for before in range(self.max_failovers))

    def pause_s(self, before: int, draw: float) -> float:
        """The pause when there were `before` pauses already; `draw` is by chance, in [0, 1)."""
        base_s = self.sleep_base_s * 2.0 ** min(before, _LARGEST_EXPONENT)
        return min(base_s, self.sleep_max_s) * (0.5 + draw)


@dataclass(frozen=True, slots=True)
class Step:
    """Wait, then call again: the same namenode, or the next one."""

    pause_s: float
    elsewhere: bool


class Attempts:
    """One call's way through the namenodes of a nameservice.

    >>> attempts = Attempts(FailoverPolicy(), ("nn1", "nn2"))
    >>> attempts.failed("nn1", errors.StandbyError("standby"), 0.5)
    Step(pause_s=0.0, elsewhere=True)
    >>> attempts.failed("nn2", errors.Unreachable("refused"), 0.5)
    Step(pause_s=0.0625, elsewhere=True)
    """

    def __init__(self, policy: FailoverPolicy, namenodes: tuple[str, ...]) -> None:
        self._policy = policy
        self._namenodes = namenodes
        self._retries = 0
        self._connects = 0
        self.count = 0
        """Calls that failed."""
        self.rounds = 0
        """So many times all namenodes were asked in vain, but for the rounds within a pause."""
        self.pauses = 0
        self.failures: dict[str, errors.HowdahError] = {}
        """What each namenode last failed with, in the order in which they were asked."""
        self._failed_in_round: set[str] = set()

    def failed(self, namenode: str, error: errors.HowdahError, draw: float) -> Step | None:
        """What to do after `namenode` failed the call; None: give up."""
        policy = self._policy
        if isinstance(error, errors.FilesystemClosed):
            return None
        self.count += 1
        self.failures.pop(namenode, None)
        self.failures[namenode] = error
        if isinstance(error, errors.RetriableError):
            self._retries += 1
            if self._retries > policy.max_retries:
                return None
            return Step(policy.pause_s(self._retries - 1, draw), elsewhere=False)
        if isinstance(error, errors.Unreachable):
            self._connects += 1
            if self._connects <= self._connections_retried(error):
                return Step(policy.connect_delay_s, elsewhere=False)
        elif not isinstance(error, errors.StandbyError | errors.CallTimeout):
            return None
        return self._next_namenode(namenode, draw)

    def _connections_retried(self, error: errors.Unreachable) -> int:
        if isinstance(error, errors.UnknownHost):
            return 0
        if isinstance(error, TimeoutError):
            return self._policy.connection_retries_on_timeouts
        return self._policy.connection_retries

    def _next_namenode(self, namenode: str, draw: float) -> Step | None:
        self._connects = 0
        self._failed_in_round.add(namenode)
        if len(self._failed_in_round) < len(self._namenodes):
            return Step(0.0, elsewhere=True)
        self._failed_in_round.clear()
        pieces, self.pauses = self.pauses, self.pauses + 1
        if 0 < pieces < len(FIRST_PAUSE):
            return Step(FIRST_PAUSE[pieces] * self._policy.pause_s(0, draw), elsewhere=True)
        self.rounds += 1
        unknown = [isinstance(error, errors.UnknownHost) for error in self.failures.values()]
        if self.rounds > self._policy.max_failovers or all(unknown):
            return None
        pause_s = self._policy.pause_s(self.rounds - 1, draw)
        return Step(pause_s if pieces else FIRST_PAUSE[0] * pause_s, elsewhere=True)
