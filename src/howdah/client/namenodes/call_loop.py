"""A call to the namenodes of a nameservice, made until the active one answers it.

Whom to ask is the business of a subclass: one namenode after the other (`failover`), or several
at once (`hedging`). What follows a failure, `howdah.protocol.rpc.failover` says. All attempts of a
call have one client id and one call id: only the active namenode runs calls, and if the role
changes in between, the retry cache of the new one knows what ran before.
"""

from __future__ import annotations

import abc
import queue
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from google.protobuf.message import Message

from howdah import errors
from howdah.client.namenodes import active_cache
from howdah.client.namenodes.calls import say_again
from howdah.client.namenodes.connections import Connections
from howdah.client.namenodes.failover_probe import while_waiting
from howdah.config.value_types import Address
from howdah.protocol.rpc.failover import Attempts, FailoverPolicy, Step
from howdah.rpc.client import AnswerType

M = TypeVar("M")
T = TypeVar("T")

FAILOVER_ERRORS: Final = (
    errors.Unreachable,
    errors.StandbyError,
    errors.RetriableError,
    errors.CallTimeout,
)
"""What another namenode, or another attempt, may answer better."""


class NoActiveNamenode(errors.Unreachable):
    """No namenode of a nameservice answered as the active one; the message names them all."""


class FailoverCalls(abc.ABC):
    """Calls the namenodes of a nameservice, as its `NamenodeCalls`. Subclasses choose whom to
    ask."""

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

    @abc.abstractmethod
    def _next(self) -> str:
        """The namenode that the next call goes to, as far as is known."""

    @abc.abstractmethod
    def _to_be_asked(self) -> tuple[str, ...]:
        """The namenodes that are asked now, at the same time."""

    def _answered(self, namenode: str) -> None:
        """This one is active."""
        active_cache.remember(self._connections.target, namenode)

    @abc.abstractmethod
    def _go_elsewhere(self, namenodes: tuple[str, ...]) -> None:
        """None of these is active: the next attempt goes elsewhere."""

    @property
    def user(self) -> str:
        return self._connections.user

    @property
    def address(self) -> Address:
        return self._connections.address(self._next())

    def close(self) -> None:
        self._connections.close()

    def call(
        self,
        method: str,
        request: Message,
        response_type: AnswerType[M],
        *,
        call_id: int | None = None,
    ) -> M:
        """Call the active namenode. Raises what it answers; `NoActiveNamenode`."""
        connections = self._connections
        if call_id is None:
            call_id = connections.identity.next_call_id()
        attempts = Attempts(self._policy, connections.names)
        began_s = time.monotonic()
        while True:
            asked = self._to_be_asked()

            def call_one(namenode: str, retry_count: int = attempts.count or -1) -> M:
                return connections.rpc[namenode].call(
                    method,
                    request,
                    response_type,
                    call_id=call_id,
                    retry_count=retry_count,
                    meanwhile=while_waiting(connections, namenode, self._probe_interval_s),
                )

            failures: dict[str, errors.HowdahError] = {}
            if len(asked) == 1:
                try:
                    message = call_one(asked[0])
                except errors.FilesystemClosed:
                    raise
                except FAILOVER_ERRORS as error:
                    failures[asked[0]] = error
                else:
                    self._answered(asked[0])
                    return message
            else:
                answer, failures = first_answer(call_one, asked)
                if answer is not None:
                    self._answered(answer.namenode)
                    return answer.result()
            step = self._after(failures, attempts)
            if step is None:
                raise given_up(connections, method, attempts, began_s) from next(
                    reversed(failures.values())
                )
            if step.elsewhere:
                self._go_elsewhere(asked)
            said = "; ".join(
                f"{connections.target.display_name(name)}: {error}"
                for name, error in failures.items()
            )
            following = self._to_be_asked()
            where = "again"
            if step.elsewhere and len(following) == 1:
                where = f"namenode {following[0]}"
            notice = f"{said}; trying {where}, for up to {self._policy.longest_s:.3g} s in all"
            say_again(method, notice, step.pause_s, attempts.pauses if step.pause_s else 0)
            if step.pause_s:
                self._sleep(step.pause_s)

    def _after(self, failures: dict[str, errors.HowdahError], attempts: Attempts) -> Step | None:
        """What follows when all that were asked failed."""
        pause_s, elsewhere = 0.0, False
        for namenode, error in failures.items():
            step = attempts.failed(namenode, error, self._draw())
            if step is None:
                return None
            pause_s = max(pause_s, step.pause_s)
            elsewhere = elsewhere or step.elsewhere
        return Step(pause_s, elsewhere)


def given_up(
    connections: Connections, method: str, attempts: Attempts, began_s: float
) -> errors.HowdahError:
    """The error of a call that no namenode answered: what each one last said."""
    last = next(reversed(attempts.failures.values()))
    if isinstance(last, errors.RetriableError) or len(connections.names) == 1:
        return last
    said = "; ".join(
        f"{connections.target.display_name(name)}: {error}"
        for name, error in attempts.failures.items()
    )
    return NoActiveNamenode(
        f"no active namenode of {connections.target.nameservice} answers {method} "
        f"({attempts.count} attempts in {time.monotonic() - began_s:.1f} s): {said}"
    )


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
