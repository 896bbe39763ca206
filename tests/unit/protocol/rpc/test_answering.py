"""The rules of all RPC servers, without a server: what waits, what is sent, what is counted."""

from __future__ import annotations

from collections.abc import Callable, Generator
from itertools import count
from typing import Any, cast

import pytest

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto.rpc_pb2 import RpcResponseHeaderProto as Header
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.answering import Answering, Held, Outcome, Response, Turn
from howdah.protocol.rpc.call import Call, Caller
from howdah.protocol.rpc.intake import Intake, Refused
from howdah.protocol.rpc.negotiation import Evaluate
from howdah.protocol.rpc.server_hooks import Evaluated, GoOn, IsWanted, OpenBarrier, ServerHooks
from howdah.protocol.rpc.service import (
    Deferred,
    Early,
    Encoded,
    Registry,
    Service,
    next_slice,
    unanswered,
)
from howdah.protocol.rpc.session import ActsFor, Close, Reply, ServerSession
from howdah.protocol.sasl.mechanism import ServerMechanism
from howdah.runtime.metrics.rpc import RpcMetrics
from howdah.runtime.tracing.span import NOTHING, Span
from howdah.runtime.users.service_policy import Speaker

PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
DESCRIPTOR = pb.DESCRIPTOR.services_by_name["ClientNamenodeProtocol"]
CLIENT_ID = b"c" * 16
DONE = pb.MkdirsResponseProto(result=True)
REFUSAL = errors.RetriableError("not now")


class Implementation:
    def __init__(self) -> None:
        self.answer: Callable[[], Any] = lambda: DONE

    def mkdirs(self, request: pb.MkdirsRequestProto, caller: Caller) -> Any:
        return self.answer()


class Barrier(OpenBarrier):
    def __init__(self) -> None:
        self.is_shut = False
        self.early = 0

    def must_wait(self, *, early: bool = False) -> bool:
        return self.is_shut and not early

    def left_early(self) -> None:
        self.early += 1


class Asked:
    """Admission, impersonation and alignment at once: each answers later, or as it is told."""

    def __init__(self) -> None:
        self.waiting: list[GoOn] = []
        self.at_once: list[errors.HowdahError | None] = []
        self.known = False

    def is_known(self, user: str) -> bool:
        return self.known

    def when_known(self, user: str, go_on: GoOn) -> None:
        self.authorize("", user, "", go_on)

    def authorize(self, real_user: str, user: str, address: str, done: GoOn) -> None:
        if self.at_once:
            done(self.at_once.pop())
        else:
            self.waiting.append(done)

    def state_id(self) -> int:
        return 5

    def holds_nobody(self) -> bool:
        return False

    def must_wait(self, call: Call) -> bool:
        if call.state_id is None:
            raise errors.StandbyError("no state")
        return call.state_id > 5

    def when_reached(self, call: Call, go_on: GoOn) -> None:
        self.waiting.append(go_on)


class World:
    """A server without bytes that move: its clock goes one microsecond each time it is read."""

    def __init__(self, **hooks: Any) -> None:
        self.implementation = Implementation()
        rest = unanswered(DESCRIPTOR, self.implementation)
        registry = Registry([Service(PROTOCOL, 1, DESCRIPTOR, self.implementation, refused=rest)])
        self.barrier = Barrier()
        self.figures = RpcMetrics(registry.method_names())
        self.spans: list[Span] = []
        clock = count(1000, 1000)
        self.answering = Answering(
            registry,
            ServerHooks(self.barrier, **hooks),
            self.figures,
            lambda: next(clock),
            self.begin_span,
        )
        self.resumed = 0

    def begin_span(self, call: Call, waited_ns: int) -> Span:
        self.spans.append(Recorded(call.method))
        return self.spans[-1]

    def resume(self) -> None:
        self.resumed += 1

    def intake(self, real_user: str | None = None) -> Intake:
        session = ServerSession(address="10.0.0.1")
        intake = Intake(session, self.answering, self.resume)
        intake.receive(wire.preamble())
        intake.receive(wire.encode_context(PROTOCOL, "ann", CLIENT_ID, real_user))
        return intake

    def served(self, answer: Callable[[], Any], **fields: Any) -> tuple[Turn, Response]:
        self.implementation.answer = answer
        turn = self.answering.begin(call(**fields), 0)
        outcome: Any = self.answering.run(turn)
        return turn, self.answering.respond(turn, outcome)

    @property
    def failures(self) -> dict[str, int]:
        return {name: times.count for name, times in self.figures.failures.items()}


class Recorded:
    """A span that notes how it ended."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ends: list[BaseException | None] = []
        self.children: list[Recorded] = []

    def set(self, attributes: object) -> None: ...

    def wire(self) -> bytes:
        return b""

    def current(self) -> Any:
        return NOTHING.current()

    def child(self, name: str, *_: Any, **__: Any) -> Recorded:
        self.children.append(Recorded(name))
        return self.children[-1]

    def end(self, error: BaseException | None = None) -> None:
        self.ends.append(error)


MKDIRS = pb.MkdirsRequestProto(src="/a", masked={"perm": 0o755}, createParent=True)


def call(
    method: str = "mkdirs", state_id: int | None = None, trace: bytes = b"", call_id: int = 7
) -> Call:
    caller = Caller("ann", CLIENT_ID, call_id, 3, "10.0.0.1")
    body = MKDIRS.SerializeToString()
    return Call(caller, PROTOCOL, 1, method, body, call_id, CLIENT_ID, state_id, trace)


def frame(call_id: int) -> bytes:
    return wire.encode_call(
        protocol=PROTOCOL, method="mkdirs", request=MKDIRS, call_id=call_id, client_id=CLIENT_ID
    )


def decoded(response: Response) -> tuple[Header, bytes]:
    return wire.decode_answer((response.data if isinstance(response, Held) else response)[4:])


# -- answers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [DONE, Encoded(DONE.SerializeToString()), Early(DONE)])
def test_an_answer_has_the_ids_of_its_call(answer: Outcome) -> None:
    world = World()
    turn, response = world.served(lambda: answer)
    header, body = decoded(response)
    assert (header.callId, header.clientId, header.retryCount) == (7, CLIENT_ID, 3)
    assert body == DONE.SerializeToString()
    assert (turn.began_ns, world.figures.queued.total_ns) == (1000, 1000)
    assert world.figures.methods["mkdirs"].times.total_ns == 1000
    assert world.figures.methods["mkdirs"].users == {"ann": 1}


def test_ids_that_identify_nobody_come_back_as_they_came() -> None:
    world = World()
    asked = Call(Caller("ann", b"x", 7, 3, "?"), PROTOCOL, 1, "mkdirs", b"", 7, b"x")
    assert not asked.caller.is_identified
    header, _ = decoded(world.answering.respond(Turn(asked), DONE))
    assert (header.callId, header.clientId) == (7, b"x")


@pytest.mark.parametrize(
    ("error", "name"),
    [(errors.SafeMode("no"), "SafeModeException"), (KeyError("a defect"), "RuntimeException")],
)
def test_an_error_is_an_answer_and_a_defect_is_an_error(error: Exception, name: str) -> None:
    def fail() -> Any:
        raise error

    world = World()
    header, _ = decoded(world.served(fail)[1])
    assert header.exceptionClassName.endswith(name)
    assert world.failures == {name: 1}


def test_an_answer_that_cannot_be_encoded_is_a_defect() -> None:
    world = World()
    header, _ = decoded(world.served(pb.CreateResponseProto)[1])
    assert header.status == Header.SUCCESS
    header, _ = decoded(world.served(pb.MkdirsResponseProto)[1])
    assert (header.status, world.failures) == (Header.ERROR, {"RuntimeException": 1})


def test_a_call_that_is_refused_before_its_turn_took_no_time() -> None:
    world = World()
    world.answering.respond(Turn(call()), REFUSAL)
    times = world.figures.failures["RetriableException"]
    assert (times.count, times.total_ns) == (1, 0)


def test_a_long_answer_ends_with_its_last_slice() -> None:
    def slices(last: Any) -> Generator[None, None, Any]:
        yield
        if isinstance(last, Exception):
            raise last
        return last

    for last, expected in (
        (DONE, DONE),
        (REFUSAL, REFUSAL),
    ):
        running: Any = slices(last)
        assert next_slice("mkdirs", running) is None
        assert next_slice("mkdirs", running) is expected
    running = slices(KeyError("a defect"))
    next_slice("mkdirs", running)
    assert isinstance(next_slice("mkdirs", running), errors.RemoteError)


def test_an_answer_that_comes_later_is_handed_on() -> None:
    world, later = World(), Deferred()
    world.implementation.answer = lambda: later
    assert world.answering.run(world.answering.begin(call(), 0)) is later


# -- what is not durable -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "state_id", "is_held", "early"),
    [
        (DONE, None, True, 0),
        (Early(DONE), None, False, 1),
        (Early(DONE), 5, True, 0),
        (errors.PathNotFound("/a"), None, True, 0),
        (errors.StandbyError("ask another one"), None, False, 0),
    ],
)
@pytest.mark.req("LM-016")
def test_what_is_not_durable_is_held(
    answer: Any, state_id: int | None, is_held: bool, early: int
) -> None:
    def give() -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    world = World()
    world.barrier.is_shut = True
    _, response = world.served(give, state_id=state_id)
    assert isinstance(response, Held) is is_held
    assert world.barrier.early == early


def test_the_span_of_a_held_answer_ends_when_it_leaves() -> None:
    world = World()
    _, left = world.served(lambda: DONE, trace=b"t")
    assert isinstance(left, bytes)
    world.barrier.is_shut = True
    _, held = world.served(lambda: DONE, trace=b"t")
    assert isinstance(held, Held)
    at_once, waiting = world.spans
    assert isinstance(at_once, Recorded)
    assert isinstance(waiting, Recorded)
    assert (at_once.ends, waiting.ends) == ([None], [])
    assert held.over is not None
    held.over(REFUSAL)
    assert [(each.name, each.ends) for each in waiting.children] == [("journal sync", [REFUSAL])]
    assert waiting.ends == [REFUSAL]
    assert world.served(lambda: DONE)[0].span is NOTHING


# -- what calls wait for -----------------------------------------------------------------------


def test_calls_leave_in_their_order_when_their_user_is_known() -> None:
    asked = Asked()
    world = World(admission=asked)
    intake = world.intake()
    intake.receive(frame(1) + frame(2))
    assert intake.next_event() is None
    assert (intake.is_waiting, len(intake.events), len(asked.waiting)) == (True, 2, 1)
    assert intake.next_event() is None
    assert len(asked.waiting) == 1
    asked.known = True
    asked.waiting.pop()(None)
    assert (world.resumed, intake.is_waiting) == (1, False)
    assert [event.call_id for event in drained(intake) if isinstance(event, Call)] == [1, 2]


def drained(intake: Intake) -> list[object]:
    return list(iter(intake.next_event, None))


@pytest.mark.parametrize("at_once", [False, True])
def test_a_call_whose_user_cannot_be_known_is_refused_and_the_next_one_asks_again(
    at_once: bool,
) -> None:
    asked = Asked()
    intake = World(admission=asked).intake()
    intake.receive(frame(1) + frame(2))
    if at_once:
        asked.at_once.append(REFUSAL)
    else:
        assert intake.next_event() is None
        asked.waiting.pop()(REFUSAL)
    refused = intake.next_event()
    assert isinstance(refused, Refused)
    assert (refused.call.call_id, refused.error) == (1, REFUSAL)
    assert intake.next_event() is None
    assert len(asked.waiting) == 1


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("error", [None, errors.AuthorizationFailed("not for joe")])
def test_no_call_leaves_before_its_connection_may_act_for_its_user(
    at_once: bool, error: errors.HowdahError | None
) -> None:
    asked = Asked()
    world = World(impersonation=asked)
    intake = world.intake("hive")
    intake.receive(frame(1))
    if at_once:
        asked.at_once.append(error)
    else:
        assert intake.next_event() is None
        asked.waiting.pop()(error)
    events = drained(intake)
    if error is None:
        (served,) = events
        assert isinstance(served, Call)
        assert (served.caller.user, served.caller.real_user) == ("ann", "hive")
        assert world.failures == {}
    else:
        assert [type(event) for event in events] == [Reply, Close]
        assert world.failures == {"AuthorizationException": 1}


@pytest.mark.parametrize("how", ["without rules", "a defect"])
def test_whose_rules_are_not_there_or_fail_acts_for_nobody(how: str) -> None:
    world = World() if how == "without rules" else World(impersonation=object())
    told: list[errors.HowdahError | None] = []
    world.answering.authorize(ActsFor("hive", "joe"), "10.0.0.1", told.append)
    (error,) = told
    assert error is not None


def test_whose_lists_fail_speaks_no_protocol() -> None:
    world = World(authorization=object())
    told: list[errors.HowdahError | None] = []
    speaker = Speaker(PROTOCOL, "joe", "joe (auth:SIMPLE)", "10.0.0.1")
    world.answering.authorize_protocol(speaker, told.append)
    (error,) = told
    assert "the authorization of a protocol failed on an internal error" in str(error)


def test_bytes_are_held_until_their_calls_have_left() -> None:
    intake = World().intake()
    intake.receive(frame(1) + frame(2)[:-1])
    assert intake.held_bytes == len(MKDIRS.SerializeToString()) + len(frame(2)) - 1
    drained(intake)
    assert intake.held_bytes == len(frame(2)) - 1
    intake.receive(frame(2)[-1:])
    intake.clear()
    assert (len(intake.events), intake.held_bytes) == (0, 0)


def test_a_call_waits_for_what_its_caller_has_seen() -> None:
    asked = Asked()
    answering = World(alignment=asked).answering
    reached: list[tuple[int, errors.HowdahError | None]] = []

    def note(late: Call, error: errors.HowdahError | None) -> None:
        reached.append((late.call_id, error))

    assert answering.is_aligned(call(state_id=5), note)
    assert not answering.is_aligned(call(state_id=6, call_id=8), note)
    assert reached == []
    asked.waiting.pop()(None)
    assert reached == [(8, None)]
    assert not answering.is_aligned(call(call_id=9), note)
    assert reached[1][0] == 9
    assert isinstance(reached[1][1], errors.StandbyError)
    header, _ = decoded(answering.respond(Turn(call()), DONE))
    assert header.stateId == 5


class Proofs:
    """Takes a proof, and never answers."""

    is_wanted: IsWanted

    def evaluate(self, step: Evaluate, done: Evaluated, is_wanted: IsWanted) -> None:
        self.is_wanted = is_wanted


def test_a_proof_is_wanted_until_its_connection_is_lost() -> None:
    proofs = Proofs()
    intake = World(authentication=proofs).intake()
    intake.events.clear()
    intake.events.append(Evaluate(cast(ServerMechanism, object()), b"proof"))
    assert intake.next_event() is None
    assert proofs.is_wanted()
    intake.clear()
    assert not proofs.is_wanted()
