"""Threads of a failover controller that meet a defect: the controller ends and says why, or goes
on where it can. A thread that ended unheard would watch, elect or obey nobody.

Each handler is entered once. What stands for the thread's owner has only what it uses.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from howdah.failover.controller_loop import RunningController
from howdah.failover.lease import LeaseElection
from howdah.failover.process_watch import DeathWatch
from howdah.failover.zookeeper import _Candidacy
from howdah.runtime import unexpected_errors


class Defect(Exception):
    """What no code expects."""


def meets_a_defect(*_: object) -> Any:
    raise Defect("a defect of this test")


SAID = "Defect: a defect of this test"


@pytest.fixture(autouse=True)
def _noted() -> Iterator[None]:
    """It counts as a defect, which monitoring sees."""
    before = unexpected_errors.seen.total()
    yield
    assert unexpected_errors.seen.total() == before + 1


def test_a_process_whose_watch_failed_is_watched_anew() -> None:
    closed: list[str] = []
    living: Any = SimpleNamespace(
        wait_for_death=meets_a_defect, close=lambda: closed.append("closed")
    )
    identity: Any = "the namenode"
    watch: Any = SimpleNamespace(
        _lock=threading.Lock(), _watched=identity, _on_death=pytest.fail, _last=None
    )
    DeathWatch._watch(watch, identity, living)
    assert watch._watched is None
    assert closed == ["closed"]


def test_an_election_on_journal_nodes_that_failed_ends_the_controller() -> None:
    told: list[str] = []
    election: Any = SimpleNamespace(_turn=meets_a_defect, _on_defect=told.append)
    LeaseElection._run(election)
    assert told == ["the election on journal nodes failed: a defect of this test"]


def test_an_election_on_zookeeper_that_failed_ends_the_controller_and_the_session() -> None:
    told: list[str] = []
    candidacy: Any = SimpleNamespace(
        _connect=meets_a_defect, _failed=told.append, _withdraw=lambda: told.append("left")
    )
    _Candidacy._run(candidacy)
    assert told == [SAID, "left"]


def test_a_controller_whose_loop_failed_says_why_and_lets_all_go() -> None:
    waiter = threading.Event()
    closed: list[str] = []
    controller: Any = SimpleNamespace(
        _work=lambda: None,
        _watch=lambda: None,
        _stopped=threading.Event(),
        _joined=threading.Event(),
        _turn=meets_a_defect,
        _orders=queue.SimpleQueue(),
        _cedes=deque([waiter]),
        _happened=threading.Condition(),
        _failure=None,
    )
    election: Any = SimpleNamespace(close=lambda: closed.append("closed"))
    assert RunningController.run(controller, election) == SAID
    assert waiter.is_set()
    assert closed == ["closed"]
    assert controller._orders.get() is None, "the worker ends"


def test_an_order_that_failed_ends_the_controller() -> None:
    told: list[str] = []
    orders: queue.SimpleQueue[Any] = queue.SimpleQueue()
    orders.put(meets_a_defect)
    controller: Any = SimpleNamespace(_orders=orders, fail=told.append)
    RunningController._work(controller)
    assert told == [SAID]


def test_a_health_monitor_that_failed_ends_the_controller() -> None:
    told: list[str] = []
    controller: Any = SimpleNamespace(_check_until_stopped=meets_a_defect, fail=told.append)
    RunningController._watch(controller)
    assert told == [f"Health monitor failed: {SAID}"]


def test_the_election_is_left_though_what_follows_from_a_death_failed() -> None:
    events: queue.SimpleQueue[Any] = queue.SimpleQueue()
    controller: Any = SimpleNamespace(
        _stopped=threading.Event(),
        _around=SimpleNamespace(own="nn1", on_death=meets_a_defect),
        _deaths_seen=0,
        _controller=SimpleNamespace(died=lambda: ["quit"]),
        _events=events,
    )
    RunningController._died(controller, SimpleNamespace(pid=7))  # type: ignore[arg-type]
    assert events.get()() == ["quit"]
    assert controller._deaths_seen == 1
