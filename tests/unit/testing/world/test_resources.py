"""What a simulated process holds is counted: descriptors, threads, and objects by their types."""

from __future__ import annotations

import os
from typing import Any

from howdah.testing.world import Process, World
from howdah.testing.world.resources import held


def _world(run: Any) -> tuple[World, Process]:
    world = World(1)
    process = world.process(world.machine("one"), "holder")
    process.start(run)
    world.run_for(1.0)
    return world, process


def test_descriptors_threads_and_objects_that_stay_are_found() -> None:
    def run(process: Process) -> None:
        system, time = process.modules.load("os"), process.modules.load("time")
        threading = process.modules.load("threading")
        state = process.modules.load("howdah.errors")
        state.kept = []
        for number in range(3):
            system.open("/kept", os.O_CREAT | os.O_RDWR)
            threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
            state.kept.append({number})
            time.sleep(10)

    world, process = _world(run)
    first = held(process)
    world.run_for(10.0)
    second = held(process)
    growth = second.growth(first)
    assert growth["descriptors"] == growth["threads"] == 1
    assert growth["builtins.set"] == 1
    assert growth["items of builtins.list"] >= 1
    assert second.growth(second) == {}


def test_what_a_thread_has_on_its_stack_is_held() -> None:
    def run(process: Process) -> None:
        kept = [{"a": number} for number in range(100)]
        process.modules.load("time").sleep(1000)
        kept.clear()

    _, process = _world(run)
    assert held(process).objects["builtins.dict"] >= 100
