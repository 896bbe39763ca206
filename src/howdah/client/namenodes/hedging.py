"""All namenodes at once: RequestHedgingProxyProvider in Hadoop.

The first call goes to all namenodes at the same time. The first answer counts, and the client
stays with the namenode that gave it; the others refuse the call, as they are not active. When
that namenode fails, the next call goes to all others at once, and so on. It costs threads and
calls while the active namenode is not known, and finds it in the time of one call even where a
namenode does not answer at all.

All these calls have one client id and one call id. Only the active namenode runs calls; if the
role changes in between, the retry cache of the new one knows what ran before.
"""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from google.protobuf.message import Message

from howdah import errors
from howdah.client.namenodes import remembered
from howdah.client.namenodes.calls import say_again
from howdah.client.namenodes.connections import Connections
from howdah.client.namenodes.failover import FAILOVER_ERRORS, given_up
from howdah.client.namenodes.impatience import while_waiting
from howdah.kinds import Address
from howdah.rpc.client import AnswerType
from howdah.rpc.failover import Attempts, FailoverPolicy, Step

M = TypeVar("M")
T = TypeVar("T")


class HedgingFailover:
    """A nameservice's `NamenodeCalls`."""

    def __init__(
        self,
        connections: Connections,
        policy: FailoverPolicy,
        *,
        probe_interval_s: float = 0,
        sleep: Callable[[float], None] = time.sleep,
        draw: Callable[[], float] = random.random,
    ) -> None:
        """`probe_interval_s`: see `impatience`; 0 for never."""
        self._connections = connections
        self._probe_interval_s = probe_interval_s
        self._policy = policy
        self._sleep = sleep
        self._draw = draw
        self._chosen = remembered.active(connections.target)
        self._failed: str | None = None

    @property
    def user(self) -> str:
        return self._connections.user

    @property
    def address(self) -> Address:
        return self._connections.address(self._chosen or self._connections.names[0])

    def call(
        self,
        method: str,
        request: Message,
        response_type: AnswerType[M],
        *,
        call_id: int | None = None,
    ) -> M:
        """Raises what the active namenode answers; `NoActiveNamenode`."""
        connections = self._connections
        if call_id is None:
            call_id = connections.identity.next_call_id()
        attempts = Attempts(self._policy, connections.names)
        began_s = time.monotonic()
        while True:
            namenodes = self._to_be_asked()

            def ask(namenode: str, retry_count: int = attempts.count or -1) -> M:
                return connections.rpc[namenode].call(
                    method,
                    request,
                    response_type,
                    call_id=call_id,
                    retry_count=retry_count,
                    meanwhile=while_waiting(connections, namenode, self._probe_interval_s),
                )

            answer, failures = first_answer(ask, namenodes)
            if answer is not None:
                self._chosen, self._failed = answer.namenode, None
                remembered.keep(connections.target, answer.namenode)
                return answer.result()
            step = self._after(failures, attempts)
            if step is None:
                raise given_up(connections, method, attempts, began_s)
            said = "; ".join(
                f"{connections.target.shown(name)}: {error}" for name, error in failures.items()
            )
            pauses = attempts.pauses if step.pause_s else 0
            said += f"; trying again, for up to {self._policy.longest_s:.3g} s in all"
            say_again(method, said, step.pause_s, pauses)
            if step.pause_s:
                self._sleep(step.pause_s)

    def _to_be_asked(self) -> tuple[str, ...]:
        names = self._connections.names
        if self._chosen is not None:
            return (self._chosen,)
        return tuple(name for name in names if name != self._failed) or names

    def _after(self, failures: dict[str, errors.HowdahError], attempts: Attempts) -> Step | None:
        """What follows when all that were asked failed."""
        steps = []
        for namenode, error in failures.items():
            step = attempts.failed(namenode, error, self._draw())
            if step is None:
                return None
            steps.append(step)
        longest = max(steps, key=lambda step: step.pause_s)
        if any(step.elsewhere for step in steps):
            self._failed, self._chosen = self._chosen, None
        return longest

    def close(self) -> None:
        self._connections.close()


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What a namenode said: a message, or an error that no other would answer better."""

    namenode: str
    message: T | None
    error: Exception | None = None

    def result(self) -> T:
        """The message; raises the error."""
        if self.error is not None:
            raise self.error
        assert self.message is not None, "an answer is a message or an error"
        return self.message


def first_answer(
    ask: Callable[[str], T], namenodes: tuple[str, ...]
) -> tuple[Answer[T] | None, dict[str, errors.HowdahError]]:
    """Ask all at once: the first answer, and who failed before it came.

    Those that have not answered then go on in the background, and nobody hears of it.
    """
    outcomes: queue.SimpleQueue[Answer[T]] = queue.SimpleQueue()

    def work(namenode: str) -> None:
        try:
            outcomes.put(Answer(namenode, ask(namenode)))
        except Exception as error:  # noqa: BLE001 - it goes to the caller
            outcomes.put(Answer(namenode, None, error))

    if len(namenodes) == 1:
        work(namenodes[0])
    else:
        for namenode in namenodes:
            name = f"howdah-hedged-{namenode}"
            asking = threading.Thread(target=work, args=(namenode,), name=name, daemon=True)
            try:
                asking.start()
            except RuntimeError:
                # The system has no thread for it: its turn comes here.
                work(namenode)
    failures: dict[str, errors.HowdahError] = {}
    while len(failures) < len(namenodes):
        outcome = outcomes.get()
        if not isinstance(outcome.error, FAILOVER_ERRORS) or isinstance(
            outcome.error, errors.FilesystemClosed
        ):
            return outcome, failures
        failures[outcome.namenode] = outcome.error
    return None, failures
