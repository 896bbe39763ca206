"""What has come on one connection and has not been served (pure).

Events leave in the order in which they came. What has to be known before the next one may be
served is asked here: what a proof of the client's is worth, whether the connection may act for
its user and speak its protocol, and what groups he has. Until
there is an answer, `next_event` has nothing to give, and `resume` is called when it has again. A
shell that blocks gets its answers at once, and is never told to wait.

Rules: of a connection that may not act for its user, or not speak its protocol, no further call is
served, and what `ServerSession` says of that takes the place of all that came; a call whose user
cannot be known is refused, and the next one asks again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from howdah import errors
from howdah.protocol.rpc.answering import Answering
from howdah.protocol.rpc.call import Call
from howdah.protocol.rpc.negotiation import Evaluate
from howdah.protocol.rpc.session import (
    ActsFor,
    Close,
    Event,
    Protect,
    Reply,
    ServerSession,
    Speaks,
)


class Refused:
    """A call that is not to be served, and what its caller is told."""

    __slots__ = ("call", "error")

    def __init__(self, call: Call, error: errors.HowdahError) -> None:
        self.call: Final = call
        self.error: Final = error


class Intake:
    """Of one connection."""

    __slots__ = ("_answering", "_is_lost", "_resume", "events", "is_waiting", "session")

    def __init__(
        self, session: ServerSession, answering: Answering, resume: Callable[[], None]
    ) -> None:
        self.session: Final = session
        self._answering = answering
        self._resume = resume
        self._is_lost = False
        self.events: Final[deque[Event | Refused]] = deque()
        """What has come and has not left; to be looked at, and left alone."""
        self.is_waiting = False
        """For what has to be known before the next event."""

    @property
    def held_bytes(self) -> int:
        """Of frames that came in part, and of calls that wait for their turn."""
        calls_bytes = sum(len(event.body) for event in self.events if isinstance(event, Call))
        return self.session.pending_bytes + calls_bytes

    def receive(self, data: bytes) -> None:
        """Bytes came."""
        self.events.extend(self.session.receive(data))

    def judge_again(self) -> None:
        """Who may speak which protocol is said anew: what comes from now on is served by that."""
        self.events.extend(self.session.speaks_again())

    def clear(self) -> None:
        """The connection is lost: nobody waits for what came."""
        self.events.clear()
        self._is_lost = True

    def _is_open(self) -> bool:
        return not self._is_lost

    def next_event(self) -> Call | Refused | Reply | Protect | Close | None:
        """What is to be served now; None if nothing came, or it has to wait."""
        events = self.events
        while events and not self.is_waiting:
            event = events[0]
            if isinstance(event, Call):
                self.is_waiting = True
                if self._answering.is_admitted(event.caller.user, self._admitted):
                    self.is_waiting = False
                    events.popleft()
                    return event
            else:
                events.popleft()
                if isinstance(event, Evaluate):
                    self.is_waiting = True
                    self._answering.evaluate(event, self._evaluated, self._is_open)
                    continue
                if not isinstance(event, ActsFor | Speaks):
                    return event
                self.is_waiting = True
                if isinstance(event, ActsFor):
                    self._answering.authorize(event, self.session.address, self._authorized)
                else:
                    speaker = self.session.speaker(event.protocol)
                    self._answering.authorize_protocol(speaker, self._authorized)
        return None

    def _evaluated(self, answer: bytes | errors.HowdahError | None) -> None:
        self.is_waiting = False
        if isinstance(answer, errors.HowdahError):
            self._answering.refused_connection(answer)
            self.events.clear()
        self.events.extendleft(reversed(self.session.evaluated(answer)))
        self._resume()

    def _admitted(self, error: errors.HowdahError | None) -> None:
        self.is_waiting = False
        if error is not None and self.events:
            call = self.events[0]
            assert isinstance(call, Call), "it waits at the front"
            self.events[0] = Refused(call, error)
        self._resume()

    def _authorized(self, error: errors.HowdahError | None) -> None:
        self.is_waiting = False
        if error is not None:
            self._answering.refused_connection(error)
            self.events.clear()
            self.events.extend(self.session.refuse(error))
        self._resume()
