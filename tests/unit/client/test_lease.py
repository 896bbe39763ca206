"""The thread that keeps leases alive."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from howdah import errors
from howdah.client import lease
from howdah.client.lease import LeaseRenewer
from howdah.runtime.fork_safety import PerProcess


def wait_until(condition: Callable[[], bool]) -> None:
    tick = threading.Event()
    for _ in range(6000):
        if condition():
            return
        tick.wait(0.01)
    raise AssertionError("the condition did not come true")


def test_no_thread_runs_without_an_open_file() -> None:
    assert not LeaseRenewer(lambda: None).is_running


@pytest.mark.req("OS-066")
def test_the_lease_is_renewed_on_a_thread_of_its_own() -> None:
    renewed: list[str] = []
    enough = threading.Event()

    def renew() -> None:
        renewed.append(threading.current_thread().name)
        if len(renewed) == 3:
            enough.set()

    renewer = LeaseRenewer(renew, interval_s=0.01)
    renewer.add("file")
    assert enough.wait(30)
    renewer.remove("file")
    assert set(renewed) == {"howdah-lease-renewer"}


def test_the_thread_ends_with_the_last_file() -> None:
    renewer = LeaseRenewer(lambda: None, interval_s=60, linger_s=0.01)
    renewer.add("a")
    renewer.add("b")
    renewer.remove("a")
    assert renewer.is_running
    renewer.remove("b")
    wait_until(lambda: not renewer.is_running)


def test_files_that_come_and_go_share_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[threading.Thread] = []
    start = threading.Thread.start

    def counted(thread: threading.Thread) -> None:
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", counted)
    renewer = LeaseRenewer(lambda: None, interval_s=60, linger_s=60)
    for _ in range(20):
        renewer.add("a")
        renewer.remove("a")
    assert len(started) == 1
    assert renewer.rest() is started[0]
    wait_until(lambda: not renewer.is_running)


def test_a_file_that_stays_open_is_renewed_when_others_have_come_and_gone() -> None:
    renewed = threading.Event()
    renewer = LeaseRenewer(renewed.set, interval_s=0.2, linger_s=0.01)
    renewer.add("a")
    for _ in range(20):
        renewer.add("b")
        renewer.remove("b")
    assert renewed.wait(30)
    renewer.remove("a")
    wait_until(lambda: not renewer.is_running)


def test_a_thread_that_rests_goes_on_for_a_file_that_is_opened() -> None:
    renewed = threading.Event()
    renewer = LeaseRenewer(renewed.set, interval_s=0.05, linger_s=60)
    for _ in range(20):
        renewer.add("a")
        renewer.remove("a")
        renewer.rest()
    renewer.add("b")
    assert renewer.rest() is None
    assert renewed.wait(30)
    renewer.remove("b")
    renewer.rest()
    wait_until(lambda: not renewer.is_running)


def test_no_thread_that_has_nothing_to_do_is_there_at_a_fork() -> None:
    renewer = LeaseRenewer(lambda: None, interval_s=60, linger_s=60)
    renewer.add("a")
    renewer.remove("a")
    assert renewer.is_running
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    assert not renewer.is_running


class Stuck:
    """A renewer whose thread waits for a namenode that does not answer: it does not end."""

    def __init__(self, clock: list[float]) -> None:
        self._clock = clock
        self.rests = False

    def rest(self) -> Stuck:
        self.rests = True
        return self

    def join(self, timeout_s: float) -> None:
        self._clock[0] += timeout_s


def test_a_fork_waits_for_all_threads_together_no_longer_than_for_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    stuck = [Stuck(clock) for _ in range(20)]
    renewers = weakref.WeakValueDictionary(enumerate(stuck))
    monkeypatch.setattr(lease, "_renewers", PerProcess(lambda: renewers))
    monkeypatch.setattr(lease, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    lease._before_fork()
    assert clock[0] == lease.LONGEST_ENDING_S
    assert all(each.rests for each in stuck)


def test_the_hard_limit_counts_from_when_a_file_was_opened_again() -> None:
    calls: list[float] = []
    enough = threading.Event()

    def away() -> None:
        calls.append(time.monotonic())
        if len(calls) == 2:
            enough.set()
        raise errors.Unreachable("namenode is away")

    def give_up(why: str) -> None:
        raise AssertionError(why)

    renewer = LeaseRenewer(away, interval_s=0.01, hard_limit_s=60, lost=give_up)
    renewer.add("a")
    assert enough.wait(30)
    renewer.remove("a")
    before_s = time.monotonic()
    renewer.add("b")
    assert renewer._renewed_s >= before_s
    renewer.remove("b")


def test_a_file_after_the_last_one_starts_it_again() -> None:
    renewed = threading.Event()
    renewer = LeaseRenewer(renewed.set, interval_s=0.01)
    for _ in range(20):
        renewer.add("a")
        renewer.remove("a")
    renewed.clear()
    renewer.add("b")
    assert renewed.wait(30)
    renewer.remove("b")


def test_a_failed_renewal_is_tried_again() -> None:
    calls = 0
    succeeded = threading.Event()

    def renew() -> None:
        nonlocal calls
        calls += 1
        if calls < 3:
            raise errors.Unreachable("namenode is away")
        succeeded.set()

    renewer = LeaseRenewer(renew, interval_s=0.01)
    renewer.add("a")
    assert succeeded.wait(30)
    renewer.remove("a")


def test_files_are_given_up_when_the_hard_limit_has_passed_without_a_renewal() -> None:
    lost: list[str] = []
    told = threading.Event()

    def away() -> None:
        raise errors.Unreachable("namenode is away")

    def give_up(why: str) -> None:
        lost.append(why)
        renewer.remove("a")
        told.set()

    renewer = LeaseRenewer(away, interval_s=0.01, hard_limit_s=0.03, lost=give_up)
    renewer.add("a")
    assert told.wait(30)
    wait_until(lambda: not renewer.is_running)
    assert len(lost) == 1
    assert "namenode is away" in lost[0]


def test_a_renewal_in_time_keeps_the_files() -> None:
    calls = 0
    enough = threading.Event()

    def now_and_then() -> None:
        nonlocal calls
        calls += 1
        if calls == 20:
            enough.set()
        if calls % 2:
            raise errors.Unreachable("namenode is away")

    def give_up(why: str) -> None:
        raise AssertionError(why)

    renewer = LeaseRenewer(now_and_then, interval_s=0.001, hard_limit_s=60, lost=give_up)
    renewer.add("a")
    assert enough.wait(30)
    renewer.remove("a")


# --- what nobody foresees ---


@pytest.mark.req("OS-066")
@pytest.mark.parametrize(
    "error", [RuntimeError("can't start new thread"), MemoryError(), AttributeError("a defect")]
)
def test_a_renewal_that_fails_for_no_reason_of_the_network_is_tried_again(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("howdah.client.lease.FIRST_RETRY_S", 0.01)
    calls: list[int] = []

    def renew() -> None:
        calls.append(1)
        if len(calls) < 3:
            raise error

    renewer = LeaseRenewer(renew, interval_s=0.01)
    renewer.add("file")
    wait_until(lambda: len(calls) > 3)
    renewer.remove("file")
    assert repr(error) in caplog.text


def test_files_are_given_up_when_renewals_fail_for_no_reason_of_the_network_for_too_long() -> None:
    lost: list[str] = []

    def renew() -> None:
        raise MemoryError

    renewer = LeaseRenewer(renew, interval_s=0.01, hard_limit_s=0.02, lost=lost.append)
    renewer.add("file")
    wait_until(lambda: bool(lost))
    renewer.remove("file")
    assert "MemoryError" in lost[0]


def test_renewals_go_on_when_giving_up_meets_a_defect() -> None:
    calls: list[int] = []

    def renew() -> None:
        calls.append(1)
        raise errors.Unreachable("nobody is there")

    def lost(reason: str) -> None:
        raise AttributeError("a defect of this test")

    renewer = LeaseRenewer(renew, interval_s=0.01, hard_limit_s=0.0, lost=lost)
    renewer.add("file")
    wait_until(lambda: len(calls) > 2)
    renewer.remove("file")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_ended_all_the_same_is_replaced_by_the_next_file() -> None:
    calls: list[int] = []

    def renew() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise SystemExit

    renewer = LeaseRenewer(renew, interval_s=0.01)
    renewer.add("a")
    wait_until(lambda: not renewer.is_running)
    renewer.add("b")
    wait_until(lambda: len(calls) > 2)
    renewer.remove("a")
    renewer.remove("b")
