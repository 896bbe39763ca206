"""Reads on an observer, and what their callers have seen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.namenode.service.ha.categories import CATEGORIES
from howdah.namenode.service.ha.observer_reads import ObserverReads
from howdah.namenode.service.ha.states import HAContext, HAState
from howdah.namenode.service.protocols import client
from howdah.protocol.client_methods import OBSERVER_METHODS, Category
from howdah.protocol.rpc.call import Call, Caller

ANNA = Caller("anna", b"c" * 16, 1, -1, "10.0.0.1")


def call(state_id: int | None, method: str = "getFileInfo", protocol: str = "") -> Call:
    return Call(ANNA, protocol or client.PROTOCOL, 1, method, b"", state_id=state_id)


class Observer:
    """An observer whose log is at `txid` at `now_ms`."""

    def __init__(self, state: HAState = HAState.OBSERVER, **limits: int) -> None:
        self.context = HAContext(lambda: 0)
        self.context.enter(state)
        self.txid = 100
        self.now_ms = 0
        self.reads = ObserverReads(self.context, lambda: self.txid, lambda: self.now_ms, **limits)
        self.outcomes: dict[str, errors.HowdahError | None] = {}

    def wait(self, name: str, state_id: int) -> None:
        wanted = call(state_id)
        assert self.reads.must_wait(wanted)
        self.reads.when_reached(wanted, lambda error: self.outcomes.update({name: error}))


def test_a_read_waits_until_what_its_caller_has_seen_is_applied() -> None:
    observer = Observer()
    assert not observer.reads.must_wait(call(100))
    observer.wait("b", 103)
    observer.wait("a", 101)
    observer.txid = 102
    observer.reads.advanced()
    assert observer.outcomes == {"a": None}
    observer.txid = 103
    observer.reads.advanced()
    assert observer.outcomes == {"a": None, "b": None}
    assert observer.reads.waiting == 0


def test_a_caller_that_knows_of_no_observers_is_sent_away() -> None:
    with pytest.raises(errors.StandbyError, match="ObserverReadProxyProvider"):
        Observer().reads.must_wait(call(None))


@pytest.mark.parametrize(
    "wanted",
    [call(None, "getHAServiceState"), call(None, "msync"), call(None, protocol="another")],
)
def test_other_calls_do_not_wait(wanted: Call) -> None:
    assert not Observer().reads.must_wait(wanted)


@pytest.mark.parametrize("state", [HAState.ACTIVE, HAState.STANDBY])
def test_in_other_roles_nothing_waits(state: HAState) -> None:
    assert not Observer(state).reads.must_wait(call(1 << 60))
    assert not Observer(state).reads.must_wait(call(None))


def test_an_observer_that_is_far_behind_says_so() -> None:
    observer = Observer(far_behind_txns=10)
    assert observer.reads.must_wait(call(110))
    with pytest.raises(errors.RetriableError, match="at transaction 100, the caller has seen 111"):
        observer.reads.must_wait(call(111))


def test_no_more_than_so_many_calls_wait() -> None:
    observer = Observer(max_waiting=2)
    observer.wait("a", 101)
    observer.wait("b", 101)
    with pytest.raises(errors.RetriableError):
        observer.reads.must_wait(call(101))


def test_nobody_waits_for_ever() -> None:
    observer = Observer(max_wait_ms=50)
    observer.wait("a", 101)
    observer.now_ms = 30
    observer.wait("b", 102)
    observer.now_ms = 50
    observer.reads.tick()
    assert isinstance(observer.outcomes["a"], errors.RetriableError)
    assert "b" not in observer.outcomes
    observer.txid = 102
    observer.reads.advanced()
    assert observer.outcomes["b"] is None


def test_who_waits_is_judged_anew_in_another_role() -> None:
    observer = Observer()
    observer.wait("a", 101)
    observer.context.enter(HAState.STANDBY)
    observer.reads.role_changed()
    assert observer.outcomes == {"a": None}
    assert observer.reads.waiting == 0


def test_an_answer_shows_what_is_applied() -> None:
    observer = Observer()
    observer.txid = 7
    assert observer.reads.state_id() == 7


@given(st.lists(st.tuples(st.integers(101, 130), st.booleans()), max_size=40))
def test_nobody_is_served_before_its_time(steps: list[tuple[int, bool]]) -> None:
    observer = Observer()
    wanted: dict[str, int] = {}
    for number, (txid, advances) in enumerate(steps):
        if advances:
            observer.txid = max(observer.txid, txid)
            observer.reads.advanced()
        elif txid > observer.txid:
            wanted[str(number)] = txid
            observer.wait(str(number), txid)
        assert observer.outcomes.keys() == {
            name for name, seen in wanted.items() if seen <= observer.txid
        }


def test_what_clients_send_to_observers_is_served_there() -> None:
    categories = CATEGORIES[client.PROTOCOL]
    assert {categories[name] for name in OBSERVER_METHODS} == {Category.READ, Category.UNCHECKED}
    reads = {name for name, category in categories.items() if category is Category.READ}
    assert reads - OBSERVER_METHODS == {"getQuotaUsage", "metaSave"}
