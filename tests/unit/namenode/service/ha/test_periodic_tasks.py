"""What a role does by itself, and what becomes of a defect in it."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from howdah.namenode.service.ha.periodic_tasks import LONGEST_PAUSE_MS, PeriodicTask, PeriodicTasks
from howdah.namenode.service.incremental_tasks import Round
from howdah.namenode.state.inodes.block_events import NamespaceBroken
from howdah.runtime import unexpected_errors


class World:
    """Duties with a clock and a loop that the test turns."""

    def __init__(self, *duties: PeriodicTask) -> None:
        self.now_ms = 0
        self.soon: list[Callable[[], None]] = []
        self.duties = PeriodicTasks(duties, self.soon.append, lambda: self.now_ms)

    def turn(self) -> None:
        soon, self.soon[:] = list(self.soon), []
        for call in soon:
            call()


def test_each_duty_has_a_turn_at_each_tick() -> None:
    done: list[str] = []
    world = World(
        PeriodicTask("one", lambda: done.append("one")),
        PeriodicTask("two", lambda: done.append("two")),
    )
    world.duties.tick()
    world.duties.tick()
    assert done == ["one", "two"] * 2


def test_a_duty_that_is_due_at_once_has_a_turn_of_its_own() -> None:
    done: list[str] = []

    def begin() -> Round:
        done.append("two")
        yield ()

    world = World(PeriodicTask("one", lambda: done.append("one")), PeriodicTask("two", begin))
    world.duties.run_now("two")
    world.duties.run_now("two")
    assert done == ["two"]
    world.turn()
    world.duties.run_now("two")
    assert done == ["two"] * 2


def test_a_duty_has_no_other_turn_while_its_round_is_under_way() -> None:
    begun: list[int] = []

    def begin() -> Round:
        begun.append(1)

        def slices() -> Round:
            yield []
            yield []

        return slices()

    world = World(PeriodicTask("long", begin))
    world.duties.tick()
    world.duties.tick()
    assert (len(begun), world.duties.is_running("long")) == (1, True)
    world.turn()
    world.turn()
    assert not world.duties.is_running("long")
    world.duties.tick()
    assert len(begun) == 2


def fail() -> None:
    raise AssertionError("nobody foresaw this")


def test_a_defect_in_a_turn_is_logged_and_counted_and_the_others_have_theirs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    done: list[str] = []
    before = unexpected_errors.seen["the broken duty"]
    world = World(
        PeriodicTask("the broken duty", fail), PeriodicTask("other", lambda: done.append("other"))
    )
    world.duties.tick()
    assert done == ["other"]
    assert unexpected_errors.seen["the broken duty"] == before + 1
    assert "the broken duty failed on a defect" in caplog.text
    assert "nobody foresaw this" in caplog.text, "with its trace"


def test_a_duty_that_fails_is_tried_again_with_growing_pauses_of_a_minute_at_most() -> None:
    tried_ms: list[int] = []

    def turn() -> None:
        tried_ms.append(world.now_ms)
        fail()

    world = World(PeriodicTask("broken", turn))
    for world.now_ms in range(0, 300_000, 250):
        world.duties.tick()
    pauses = [after - before for before, after in itertools.pairwise(tried_ms)]
    assert pauses[:6] == [1000, 2000, 4000, 8000, 16_000, 32_000]
    assert set(pauses[6:]) == {LONGEST_PAUSE_MS}


def test_a_duty_that_works_again_has_all_its_turns_again() -> None:
    done: list[int] = []
    broken = [True]

    def turn() -> None:
        if broken:
            broken.pop()
            fail()
        done.append(world.now_ms)

    world = World(PeriodicTask("mended", turn))
    for world.now_ms in range(0, 2000, 250):
        world.duties.tick()
    assert done == [1000, 1250, 1500, 1750]


def test_a_defect_in_a_slice_ends_the_round_and_another_begins_after_the_pause() -> None:
    begun: list[int] = []

    def begin() -> Round:
        begun.append(world.now_ms)
        yield []
        fail()

    world = World(PeriodicTask("long", begin))
    world.duties.tick()
    world.turn()
    assert not world.duties.is_running("long")
    for world.now_ms in (250, 500, 1000):
        world.duties.tick()
    assert begun == [0, 1000]


def test_what_was_stopped_runs_no_more() -> None:
    done: list[str] = []

    def slices() -> Round:
        while True:
            done.append("slice")
            yield []

    world = World(PeriodicTask("long", slices))
    world.duties.tick()
    world.duties.stop()
    world.turn()
    assert done == ["slice"]
    assert (world.soon, world.duties.is_running("long")) == ([], False)


def test_an_edit_that_failed_ends_the_tick_without_another_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The process ends, and the namesystem has said why."""
    done: list[str] = []

    def turn() -> None:
        raise NamespaceBroken("applying OP_ADD failed")

    world = World(PeriodicTask("broken", turn), PeriodicTask("other", lambda: done.append("other")))
    world.duties.tick()
    assert (done, caplog.text) == ([], "")
