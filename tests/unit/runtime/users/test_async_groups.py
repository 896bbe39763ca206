"""What is asked beside the loop: kept, bounded, given up."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from howdah import errors
from howdah.runtime.users.async_groups import Lookups, Loop
from howdah.runtime.users.groups import KnownGroups
from howdah.testing.waiting import wait_until


class World:
    """A slow service, and a loop that is turned by hand."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.answers = threading.Event()
        self.posted: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.timers: list[Callable[[], None]] = []
        self.loop = Loop(self.posted.put, lambda delay_s, call: self.timers.append(call))
        self.told: list[object] = []

    def ask(self, keys: Sequence[str]) -> list[str]:
        self.asked.append(list(keys))
        assert self.answers.wait(30)
        if "broken" in keys:
            raise OSError("the service is broken")
        return [key.upper() for key in keys]

    def turn(self, count: int) -> None:
        """Run what was posted, which is to come."""
        for _ in range(count):
            self.posted.get(timeout=30)()


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.answers.set()  # No thread stays behind.


def lookups(world: World, **how: Any) -> Lookups[str]:
    settings = {"fresh_s": 60.0, **how}
    return Lookups("words", world.ask, world.loop, **settings)


def test_it_is_asked_once_and_kept(world: World) -> None:
    found = lookups(world, answered=lambda key: world.told.append(f"new {key}"))
    assert found.get("a") is None
    found.look_up("a", world.told.append)
    found.look_up("a", world.told.append)
    assert world.told == []
    world.answers.set()
    world.turn(3)
    assert world.told == ["new a", "A", "A"]
    assert found.get("a") == "A"
    assert world.asked == [["a"]]


def test_many_are_asked_together(world: World) -> None:
    found = lookups(world, batch=10)
    for key in "abcd":
        found.look_up(key, world.told.append)
    world.answers.set()
    world.turn(8)
    assert world.told == ["A", "B", "C", "D"]
    assert [key for keys in world.asked for key in keys] == list("abcd")
    assert len(world.asked) <= 2


def test_a_stale_answer_is_used_while_the_next_one_is_fetched(world: World) -> None:
    world.answers.set()
    now_s = [0.0]
    found = lookups(world, fresh_s=60.0, clock_s=lambda: now_s[0])
    found.look_up("a", world.told.append)
    world.turn(2)
    now_s[0] = 61.0
    assert found.get("a") == "A"
    world.turn(1)
    assert len(world.asked) == 2
    now_s[0] = 61.0 + 121.0
    assert found.get("a") is None, "too old to be used"


def test_who_waits_too_long_is_told_so(world: World, caplog: pytest.LogCaptureFixture) -> None:
    found = lookups(world)
    found.look_up("a", world.told.append)
    world.timers[0]()
    (error,) = world.told
    assert isinstance(error, errors.RetriableError)
    assert "no answer about words of a in 30 s" in caplog.text
    world.answers.set()
    world.turn(1)
    assert found.get("a") == "A", "the next one need not wait"
    assert len(world.told) == 1


def test_so_many_wait_and_no_more(world: World) -> None:
    found = lookups(world, max_waiting=2)
    for key in ("a", "b", "c"):
        found.look_up(key, world.told.append)
    world.turn(1)
    (error,) = world.told
    assert isinstance(error, errors.RetriableError)
    assert "too many wait" in str(error)


def test_so_many_are_kept_and_no_more(world: World) -> None:
    world.answers.set()
    found = lookups(world, max_known=2)
    for key in ("a", "b", "c"):
        found.look_up(key, world.told.append)
        world.turn(2)
    assert [found.get(key) for key in ("a", "b", "c")] == [None, "B", "C"]


def test_a_service_that_fails_is_told_and_asked_again(world: World) -> None:
    world.answers.set()
    found = lookups(world)
    found.look_up("broken", world.told.append)
    world.turn(1)
    (error,) = world.told
    assert isinstance(error, errors.RetriableError)
    assert "the service is broken" in str(error)
    found.look_up("a", world.told.append)
    world.turn(2)
    assert found.get("a") == "A"


def test_a_service_that_leaves_answers_out_is_told_and_asked_again(world: World) -> None:
    world.answers.set()
    few = Lookups("words", lambda keys: world.ask(keys)[1:], world.loop, fresh_s=60.0)
    for _ in range(2):
        few.look_up("a", world.told.append)
        world.turn(1)
        assert "0 answers about 1 names" in str(world.told.pop())


def test_what_was_asked_before_all_was_forgotten_is_asked_again(world: World) -> None:
    found = lookups(world)
    found.look_up("a", world.told.append)
    wait_until(lambda: bool(world.asked), timeout_s=30)
    found.forget()
    world.answers.set()
    world.turn(2)
    assert world.asked == [["a"], ["a"]]


def test_one_user_whose_groups_hang_holds_up_nobody_else(world: World) -> None:
    def groups(user: str) -> tuple[str, ...]:
        if user == "slow":
            assert world.answers.wait(30)
        return (f"{user}s",)

    known = KnownGroups(
        groups, {"fixed"}.__contains__, world.loop, fresh_s=60.0, changed=lambda user: None
    )
    assert known.is_known("fixed")
    assert not known.is_known("slow")
    known.when_known("slow", world.told.append)
    known.when_known("quick", world.told.append)
    world.turn(2)
    assert world.told == [None]
    assert known.is_known("quick")
    assert known("quick") == ("quicks",)
    assert not known.is_known("slow")


def test_without_a_thread_whoever_asks_is_told_and_the_next_one_is_answered(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_thread(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    found = lookups(world)
    with monkeypatch.context() as without:
        without.setattr(threading.Thread, "start", no_thread)
        found.look_up("a", world.told.append)
    world.turn(1)
    assert isinstance(world.told.pop(), errors.RetriableError)
    world.answers.set()
    found.look_up("a", world.told.append)
    while not world.told:
        world.turn(1)
    assert world.told == ["A"]
