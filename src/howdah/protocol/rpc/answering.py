"""How a call becomes its answer: the rules that all RPC servers have (pure).

A server's shell moves bytes, waits and closes; whatever decides is here, in this order:

1. `evaluate`, `authorize` and `authorize_protocol`: a connection has proven who it is, may act for
   another user, and may speak its protocol, or it ends.
2. `is_admitted`: the groups of the user are known. Until then the connection's calls wait.
3. `is_aligned`: this server has reached what the caller has seen. Until then the call waits, and
   those behind it do not.
4. `begin`: the call's turn comes; its time and its span run.
5. `run`: guard and handler (`Registry`). The answer comes at once, in slices or later, and an
   error is an answer, too.
6. `respond`: the answer becomes bytes and is counted. If it tells anything that is not durable,
   it is `Held` until it is.

Steps 1 and 2 are taken by the connection's `Intake`. A server that has no such thing to ask
passes no hook for it.

Hadoop: Server.Connection, Server.Call, ProtobufRpcEngine2 and CallQueueManager, without threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from google.protobuf.message import Message

from howdah import errors
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.call import Call
from howdah.protocol.rpc.fast_path import Clock
from howdah.protocol.rpc.negotiation import Evaluate
from howdah.protocol.rpc.server_hooks import Evaluated, GoOn, IsWanted, ServerHooks
from howdah.protocol.rpc.service import Deferred, Early, Encoded, Registry, Slices, defect
from howdah.protocol.rpc.session import ActsFor, ServerSession
from howdah.runtime import unexpected_errors
from howdah.runtime.metrics.rpc import RpcMetrics
from howdah.runtime.tracing.span import NOTHING, Span
from howdah.runtime.users.names import not_allowed
from howdah.runtime.users.service_policy import Speaker

GAVE_UP: Final = errors.RetriableError("the journal did not take the edit in time")
"""What the span of a call says whose answer never left."""

Outcome = Message | Encoded | Early | errors.HowdahError
"""What a call ends with."""
AT_ONCE: Final = (Message, Encoded, Early, errors.HowdahError)
"""The same. A union would be made in every call."""

BeginSpan = Callable[[Call, int], Span]
"""Of a call with a context of a span, and how many nanoseconds it waited for its turn."""


class Turn:
    """A call that is served: when that began, and where it stands in a trace. No dataclass, for
    the reason that `call` gives."""

    __slots__ = ("began_ns", "call", "span")

    def __init__(self, call: Call, began_ns: int = 0, span: Span = NOTHING) -> None:
        """Of a call that is refused before its turn the clock did not run: 0."""
        self.call: Final = call
        self.began_ns: Final = began_ns
        self.span: Final = span


class Held:
    """An answer that the barrier keeps. `over` ends the spans of the call and of the wait: it is
    told what went wrong, if something did. None for a call that is not traced."""

    __slots__ = ("data", "over")

    def __init__(
        self, data: bytes, over: Callable[[errors.HowdahError | None], None] | None = None
    ) -> None:
        self.data: Final = data
        self.over: Final = over


Response = bytes | Held
"""An answer as a frame: it leaves at once, or when it is durable."""


class Answering:
    """Answers the calls that come to one port."""

    def __init__(
        self,
        registry: Registry,
        hooks: ServerHooks,
        figures: RpcMetrics,
        clock: Clock,
        begin_span: BeginSpan,
    ) -> None:
        """`clock` is in nanoseconds."""
        self._registry = registry
        self._hooks = hooks
        self._figures = figures
        self._clock = clock
        self._begin_span = begin_span

    def evaluate(self, step: Evaluate, done: Evaluated, is_wanted: IsWanted) -> None:
        """Have a client's proof evaluated, now or later, or never where nobody waits for it."""
        authentication = self._hooks.authentication
        assert authentication is not None, "who knows nobody asks for no proof"
        try:
            authentication.evaluate(step, done, is_wanted)
        except Exception as error:  # noqa: BLE001 - the client is told
            done(defect("authentication", error))

    def authorize(self, wanted: ActsFor, address: str, done: GoOn) -> None:
        """Find out whether a connection may act for its user, now or later. `done` is told why it
        may not, or None."""
        impersonation = self._hooks.impersonation
        whose = wanted.real_user, wanted.user
        if impersonation is None:
            done(not_allowed(*whose))
            return
        try:
            impersonation.authorize(*whose, address, done)
        except Exception as error:  # noqa: BLE001 - the caller is told
            done(defect("the connection's context", error))

    def authorize_protocol(self, speaker: Speaker, done: GoOn) -> None:
        """Find out whether a connection may speak a protocol, now or later. `done` is told why it
        may not, or None."""
        authorization = self._hooks.authorization
        assert authorization is not None, "sessions ask where there are lists"
        try:
            authorization.authorize_protocol(speaker, done)
        except Exception as error:  # noqa: BLE001 - the caller is told
            done(defect("the authorization of a protocol", error))

    def refused_connection(self, error: errors.HowdahError) -> None:
        """A connection is not who it says, or may not act for its user, or not speak its protocol:
        that counts as a call that failed."""
        self._figures.failed(error.remote_class, 0)

    def is_admitted(self, user: str, go_on: GoOn) -> bool:
        """False if calls of a user have to wait, until `go_on` is called."""
        admission = self._hooks.admission
        if admission is None or admission.is_known(user):
            return True
        admission.when_known(user, go_on)
        return False

    def is_aligned(
        self, call: Call, reached: Callable[[Call, errors.HowdahError | None], None]
    ) -> bool:
        """False if the call has to wait, until `reached` is called with it, or is refused: then
        with the reason, maybe at once."""
        alignment = self._hooks.alignment
        if alignment is None:
            return True
        try:
            if not alignment.must_wait(call):
                return True
            alignment.when_reached(call, partial(reached, call))
        except errors.HowdahError as error:
            reached(call, error)
        return False

    def begin(self, call: Call, came_ns: int) -> Turn:
        """The turn of a call comes. `came_ns` is when its bytes did, by the clock."""
        began_ns = self._clock()
        waited_ns = began_ns - came_ns
        self._figures.waited(waited_ns)
        span = self._begin_span(call, waited_ns) if call.trace else NOTHING
        return Turn(call, began_ns, span)

    def run(self, turn: Turn) -> Outcome | Deferred | Slices:
        """The answer of the call's handler. Never raises."""
        call = turn.call
        try:
            if turn.span is NOTHING:
                return self._registry.dispatch_to_wire(call)
            with turn.span.current():
                return self._registry.dispatch_to_wire(call)
        except errors.HowdahError as error:
            return error
        except Exception as error:  # noqa: BLE001 - one call's defect must not end the server
            return defect(call.method, error)

    def respond(self, turn: Turn, outcome: Outcome) -> Response:
        """The call has its answer, which is counted."""
        call, hooks = turn.call, self._hooks
        # A caller that says what it has seen takes that to other namenodes: they would wait for a
        # transaction that a crash has undone.
        is_early = False
        if isinstance(outcome, Early):
            is_early = call.state_id is None
            outcome = outcome.message
        alignment, federated = hooks.alignment, hooks.federated_state
        state_id = None if alignment is None else alignment.state_id()
        states = b"" if federated is None else federated()
        try:
            data = _encode(call, outcome, state_id, states)
        except Exception as error:  # noqa: BLE001 - an answer that cannot be sent is a defect
            outcome = defect(call.method, error)
            data = _encode(call, outcome, state_id, states)
        # A call whose turn never came took no time of this server.
        took_ns = self._clock() - turn.began_ns if turn.began_ns else 0
        failure: errors.HowdahError | None = None
        if isinstance(outcome, errors.HowdahError):
            failure = outcome
            self._figures.failed(failure.remote_class, took_ns)
        else:
            self._figures.answered(call.method, call.caller.user, took_ns)
        barrier = hooks.barrier
        must_wait = barrier.must_wait(early=is_early)
        if is_early and not must_wait:
            barrier.left_early()
        if must_wait and self._registry.shows_state(call.protocol, outcome):
            return Held(data, None if turn.span is NOTHING else held_back(turn.span, failure))
        if turn.span is not NOTHING:
            turn.span.end(failure)
        return data

    def answer_by_bytes(
        self, session: ServerSession, data: bytes, most_calls: int, came_ns: int
    ) -> tuple[Response | None, bytes]:
        """Answer calls at the beginning of what came, where that is allowed (`fast_path`), and at
        most so many. What is left is served as usual. No earlier call may wait for its turn."""
        hooks = self._hooks
        if hooks.federated_state is not None or not self._registry.is_open():
            return None, data
        if hooks.admission is not None and not hooks.admission.is_known(session.user):
            return None, data
        states, alignment = b"", hooks.alignment
        if alignment is not None:
            if not alignment.holds_nobody():
                return None, data
            states = wire.answer_states(alignment.state_id())
        try:
            answered, answers, end = session.answer(data, most_calls, states, self._clock, came_ns)
        except Exception as error:  # noqa: BLE001 - the handlers of these calls are still there
            unexpected_errors.note(
                "a call that is answered by its bytes", error, "it is served as usual"
            )
            return None, data
        if not answered:
            return None, data
        figures, queued_ns = self._figures, 0
        for method, took_ns in answered:
            figures.waited(queued_ns)
            figures.answered(method, session.user, took_ns)
            queued_ns += took_ns
        return (Held(answers) if hooks.barrier.must_wait() else answers), data[end:]


def held_back(
    span: Span, failure: errors.HowdahError | None
) -> Callable[[errors.HowdahError | None], None]:
    """The answer of a traced call waits for the journal; what is returned is called when it does
    no more, with what went wrong, if something did."""
    waiting = span.child("journal sync")

    def over(error: errors.HowdahError | None) -> None:
        waiting.end(error)
        span.end(error or failure)

    return over


def _encode(
    call: Call, outcome: Message | Encoded | errors.HowdahError, state_id: int | None, states: bytes
) -> bytes:
    retry_count = call.caller.retry_count
    if isinstance(outcome, errors.HowdahError):
        whose = call.call_id, call.client_id, retry_count
        return wire.encode_error(*whose, outcome, state_id=state_id, federated_state=states)
    body = outcome.data if isinstance(outcome, Encoded) else outcome.SerializeToString()
    # Not by `*whose`: a call by a list takes a compiled server as long as all of the rest.
    return wire.encode_answer_bytes(
        call.call_id, call.client_id, retry_count, body, state_id, states
    )
