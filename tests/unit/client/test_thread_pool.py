"""Threads for reads at the same time."""

from __future__ import annotations

import os
import threading
import weakref
from concurrent.futures import Future

import pytest

from howdah.client.thread_pool import Workers
from howdah.testing.waiting import wait_until


def threads(name: str) -> int:
    return sum(thread.name == name for thread in threading.enumerate())


def test_a_task_gives_its_result() -> None:
    assert Workers(1, "w").submit(lambda: 7).result(10) == 7


def test_an_error_is_for_who_waits() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Workers(1, "w").submit(fail).result(10)


def test_no_more_than_the_limit_run_at_a_time_and_all_run_in_the_end() -> None:
    workers = Workers(3, "bounded")
    lock = threading.Lock()
    running, most = 0, 0

    def task() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        with lock:
            running -= 1

    for future in [workers.submit(task) for _ in range(100)]:
        future.result(10)
    assert 1 <= most <= 3
    assert threads("bounded") <= 3


def test_nobody_is_kept_waiting_who_does_not_want_to() -> None:
    workers = Workers(1, "w")
    go = threading.Event()
    first = workers.try_submit(go.wait)
    assert first is not None
    assert workers.try_submit(go.wait) is None
    go.set()
    assert first.result(10)

    def free() -> bool:
        again = workers.try_submit(lambda: True)
        return again is not None and again.result(10)

    wait_until(free)


def test_a_task_that_was_cancelled_before_its_turn_does_not_run() -> None:
    workers = Workers(1, "w")
    go, ran = threading.Event(), threading.Event()
    first = workers.submit(go.wait)
    second: Future[None] = workers.submit(ran.set)
    assert second.cancel()
    go.set()
    first.result(10)
    workers.submit(lambda: None).result(10)
    assert not ran.is_set()


def test_idle_threads_end() -> None:
    workers = Workers(4, "idlers", idle_s=0.01)
    for future in [workers.submit(lambda: None) for _ in range(8)]:
        future.result(10)
    wait_until(lambda: threads("idlers") == 0)
    assert workers.submit(lambda: 1).result(10) == 1


def test_a_forked_child_has_threads_of_its_own() -> None:
    workers = Workers(1, "w")
    go = threading.Event()
    first = workers.submit(go.wait)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if workers.submit(lambda: 5).result(10) == 5 else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    go.set()
    assert first.result(10)


@pytest.mark.parametrize("running", [0, 1])
def test_who_wants_a_thread_now_hears_that_the_system_has_none(
    monkeypatch: pytest.MonkeyPatch, running: int
) -> None:
    """A hedged read would stand behind others' reads, and its node count as a silent one."""
    workers, goes_on = Workers(3, "none left"), threading.Event()
    others = [workers.submit(lambda: goes_on.wait(10)) for _ in range(running)]

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        assert workers.try_submit(lambda: 7) is None
        if running:
            later = workers.submit(lambda: 7)
        else:
            with pytest.raises(RuntimeError, match="can't start new thread"):
                workers.submit(lambda: 7)
    goes_on.set()
    assert [each.result(10) for each in others] == [True] * running
    assert not running or later.result(10) == 7
    assert workers.submit(lambda: 8).result(10) == 8


def test_an_idle_thread_keeps_nothing_of_its_last_task() -> None:
    class Bytes:
        """What a task gave, as large as it may be."""

    workers = Workers(1, "idle", idle_s=60)
    result = Bytes()
    gone = weakref.ref(result)
    given = [result]
    del result
    future = workers.submit(given.pop)
    assert future.result(10) is gone()
    del future
    wait_until(lambda: gone() is None)


def test_a_task_that_takes_its_thread_with_it_leaves_the_others_their_turn() -> None:
    """As where a callback of its future would end the thread."""

    def end(future: Future[bool]) -> None:
        raise SystemExit

    workers, goes_on = Workers(1, "ended"), threading.Event()
    first = workers.submit(lambda: goes_on.wait(10))
    second = workers.submit(lambda: 7)
    first.add_done_callback(end)
    goes_on.set()
    assert second.result(10) == 7
    assert workers.submit(lambda: 8).result(10) == 8
