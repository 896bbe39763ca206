"""Calls for WebHDFS: what they wait for, and what becomes of them when nobody waits."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator
from typing import Any, cast

import pytest
from google.protobuf.message import Message

from howdah import errors
from howdah.namenode.server.webhdfs.calls import RestCalls
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc.call import Call
from howdah.protocol.rpc.service import Answer, Deferred, Registry
from howdah.runtime import unexpected_errors
from howdah.runtime.users.names import ProxyUser
from howdah.web.channel import Gone
from howdah.web.webhdfs.call_chain import Rpc

DONE = pb.DeleteResponseProto(result=True)


class World:
    """The loop, the log and the groups of users by hand; the registry answers `handler`."""

    def __init__(self, handler: Callable[[Call], Answer]) -> None:
        self.turns: deque[Callable[[], None]] = deque()
        self.came = threading.Event()
        self.handler = handler
        self.known = True
        self.refusal: errors.HowdahError | None = None
        self.asked_groups: list[Callable[[errors.HowdahError | None], None]] = []
        self.holds = False
        self.held: list[tuple[Callable[[], None], Callable[[], None] | None]] = []
        self.left = threading.Event()
        self.outcome: Any = None
        # It stands for registry, admission and barrier at once.
        registry = cast(Registry, self)
        self.calls = RestCalls("p", registry, self, self, self.post, self.turns.append, self)
        self.callers: list[str] = []
        self.rules: list[Callable[[errors.HowdahError | None], None]] = []

    def post(self, act: Callable[[], None]) -> None:
        self.turns.append(act)
        self.came.set()

    def dispatch(self, call: Call) -> Answer:
        caller = call.caller
        assert (caller.user, caller.address, caller.client_id) == ("ann", "10.0.0.1", b"")
        assert type(caller.user) is str, "it goes into the namespace"
        self.callers.append(caller.real_user or "")
        assert caller.proto == "webhdfs"
        return self.handler(call)

    def authorize(
        self,
        real_user: str,
        user: str,
        address: str,
        done: Callable[[errors.HowdahError | None], None],
    ) -> None:
        assert (real_user, user, address) == ("hive", "ann", "10.0.0.1")
        if self.handler is fail:
            raise LookupError("a defect")
        self.rules.append(done)

    def is_known(self, user: str) -> bool:
        return self.known

    def when_known(self, user: str, go_on: Callable[[errors.HowdahError | None], None]) -> None:
        self.asked_groups.append(go_on)

    def must_wait(self, *, early: bool = False) -> bool:
        return self.holds

    def left_early(self) -> None:
        raise AssertionError("no answer leaves early here")

    def when_clear(
        self, send: Callable[[], None], give_up: Callable[[], None] | None = None
    ) -> None:
        self.held.append((send, give_up))

    def begin(self, user: str = "ann") -> threading.Thread:
        """A client asks; its call is served as far as it gets without more."""

        def ask() -> object:
            request = Rpc("delete", pb.DeleteRequestProto(src="/a", recursive=True))
            return self.calls.call(user, "10.0.0.1", request, self.left.is_set)

        return self.on_thread(ask)

    def begin_acting(self) -> threading.Thread:
        """A client wants to act for another."""
        whose = "hive", "ann", "10.0.0.1"
        return self.on_thread(lambda: self.calls.check_may_act(*whose, self.left.is_set))

    def on_thread(self, act: Callable[[], object]) -> threading.Thread:
        def ask() -> None:
            try:
                self.outcome = act()
            except (errors.HowdahError, Gone) as error:
                self.outcome = error

        thread = threading.Thread(target=ask)
        thread.start()
        assert self.came.wait(20)
        self.turn()
        return thread

    def turn(self) -> None:
        while self.turns:
            self.turns.popleft()()


def refuse(call: Call) -> Answer:
    raise errors.StandbyError("not active")


def fail(call: Call) -> Answer:
    raise LookupError("a defect")


def test_answer_and_refusal_reach_the_thread_that_asks() -> None:
    world = World(lambda call: DONE)
    world.begin().join(20)
    assert world.outcome == DONE
    world = World(refuse)
    world.begin().join(20)
    assert isinstance(world.outcome, errors.StandbyError)


def test_a_call_says_who_acts_for_its_user() -> None:
    world = World(lambda call: DONE)
    world.begin(ProxyUser("ann", "hive")).join(20)
    world.came.clear()
    world.begin().join(20)
    assert world.callers == ["hive", ""]


def test_whoever_acts_for_another_waits_until_he_may() -> None:
    world = World(lambda call: DONE)
    thread = world.begin_acting()
    assert thread.is_alive()
    world.rules.pop()(None)
    thread.join(20)
    assert (thread.is_alive(), world.outcome) == (False, None)
    refusal = errors.AuthorizationFailed("User: hive is not allowed to impersonate ann")
    world.came.clear()
    thread = world.begin_acting()
    world.rules.pop()(refusal)
    thread.join(20)
    assert world.outcome is refusal


def test_nobody_waits_for_rules_whose_client_has_gone() -> None:
    world = World(lambda call: DONE)
    thread = world.begin_acting()
    world.left.set()
    thread.join(20)
    assert isinstance(world.outcome, Gone)
    world.rules.pop()(None)


def test_a_defect_of_the_rules_is_told() -> None:
    world = World(fail)
    world.begin_acting().join(20)
    assert isinstance(world.outcome, errors.RemoteError)


def test_defect_is_counted_and_told() -> None:
    before = unexpected_errors.seen["delete"]
    world = World(fail)
    world.begin().join(20)
    assert isinstance(world.outcome, errors.RemoteError)
    assert unexpected_errors.seen["delete"] == before + 1


@pytest.mark.req("FS-217")
def test_answer_waits_for_the_log() -> None:
    world = World(lambda call: DONE)
    world.holds = True
    thread = world.begin()
    assert world.outcome is None
    world.held[0][0]()
    thread.join(20)
    assert world.outcome == DONE


def test_answer_that_may_not_leave_is_asked_for_again() -> None:
    world = World(lambda call: DONE)
    world.holds = True
    thread = world.begin()
    give_up = world.held[0][1]
    assert give_up is not None
    give_up()
    thread.join(20)
    assert isinstance(world.outcome, errors.RetriableError)


@pytest.mark.parametrize("refusal", [None, errors.RemoteError("the directory service hangs")])
def test_call_waits_for_the_groups_of_its_user(refusal: errors.HowdahError | None) -> None:
    world = World(lambda call: DONE)
    world.known = False
    thread = world.begin()
    assert world.outcome is None
    world.asked_groups[0](refusal)
    thread.join(20)
    assert world.outcome == (DONE if refusal is None else refusal)


def test_long_work_is_done_in_turns() -> None:
    steps: list[int] = []

    def slices(call: Call) -> Answer:
        def run() -> Generator[None, None, Message]:
            for number in range(3):
                steps.append(number)
                yield
            return DONE

        return run()

    world = World(slices)
    world.begin().join(20)
    assert (steps, world.outcome) == ([0, 1, 2], DONE)


@pytest.mark.parametrize("error", [errors.PathNotFound("/a"), LookupError("a defect")])
def test_long_work_may_fail(error: Exception) -> None:
    def slices(call: Call) -> Answer:
        def run() -> Generator[None, None, Message]:
            yield
            raise error

        return run()

    world = World(slices)
    world.begin().join(20)
    assert isinstance(world.outcome, errors.HowdahError)


def test_call_whose_client_went_away_is_withdrawn() -> None:
    answer = Deferred()
    world = World(lambda call: answer)
    thread = world.begin()
    world.left.set()
    thread.join(20)
    assert isinstance(world.outcome, Gone)
    world.turn()
    assert answer.withdrawn
