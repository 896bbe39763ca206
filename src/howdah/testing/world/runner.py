"""Run scenarios for many seeds: each in a forked process, after all modules were loaded once.

A world that ends leaves threads that never ended. Python would run their handlers when it frees
them, in the middle of the next world: so each world has a process for itself.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Final

from howdah.testing.world.scenarios import SCENARIOS
from howdah.testing.world.world import World

_WARM: Final = (
    "howdah.namenode.server.process.server",
    "howdah.namenode.server.process.format",
    "howdah.datanode.server",
    "howdah.fs.registry",
    "howdah.fs.hdfs.filesystem",
    "howdah.client.writing.output",
    "howdah.client.reading.input",
)
_TAIL_LINES: Final = 60


@dataclass(frozen=True, slots=True)
class Result:
    """Says how a seed went."""

    scenario: str
    seed: int
    problem: str
    """Empty if all was well."""
    trace: str
    simulated_s: float
    real_s: float
    turns: int
    planned_faults: int = 0
    figures: dict[str, object] = field(default_factory=dict)
    story: tuple[str, ...] = ()
    """Its last lines, where there was a problem."""


def run_seed(
    scenario: str,
    seed: int,
    *,
    left_out: Collection[int] = (),
    tell: Callable[[str], None] | None = None,
) -> Result:
    """Run one world here. The process must not run another one, nor go on for long."""
    gc.disable()
    began_s = time.monotonic()
    world = World(seed, left_out=left_out)
    world.story.listener = tell
    problem, figures = "", dict[str, object]()
    try:
        figures = dict(SCENARIOS[scenario](world))
    except Exception:  # noqa: BLE001 - whatever it is, it is the answer
        problem = traceback.format_exc()
    return Result(
        scenario,
        seed,
        problem,
        world.scheduler.trace,
        round(world.now_s, 3),
        round(time.monotonic() - began_s, 3),
        world.scheduler.turns,
        world.planned_faults,
        figures,
        tuple(world.story.lines)[-_TAIL_LINES:] if problem else (),
    )


def run_seeds(scenario: str, seeds: Iterable[int]) -> Iterator[Result]:
    """Run worlds one after another, each in a forked child of this process."""
    warm_up()
    yield from run_warm(scenario, seeds)


def run_warm(scenario: str, seeds: Iterable[int]) -> Iterator[Result]:
    """Do the same where `warm_up` was called, or code was changed behind it."""
    for seed in seeds:
        yield _run_forked(scenario, seed)


def shrink(scenario: str, seed: int) -> tuple[Result, list[int]]:
    """Leave out one fault after the other, as long as the world still fails; the last failure, and
    what was left out."""
    warm_up()
    result = _run_forked(scenario, seed)
    left_out: list[int] = []
    if not result.problem:
        return result, left_out
    for place in range(result.planned_faults):
        smaller = _run_forked(scenario, seed, [*left_out, place])
        if smaller.problem:
            result = smaller
            left_out.append(place)
    return result, left_out


def _run_forked(scenario: str, seed: int, left_out: Collection[int] = ()) -> Result:
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reading)
            result = run_seed(scenario, seed, left_out=left_out)
            with os.fdopen(writing, "w") as pipe:
                json.dump(asdict(result), pipe, default=str)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    _, status = os.waitpid(pid, 0)
    if not said:
        why = f"its process ended with status {os.waitstatus_to_exitcode(status)}"
        return Result(scenario, seed, why, "", 0.0, 0.0, 0)
    fields = json.loads(said)
    return Result(**{**fields, "story": tuple(fields["story"])})


def warm_up() -> None:
    """Load the code of all servers once; children share it."""
    world = World(0)
    machine = world.machine("warm")

    def load(process: object) -> None:
        for name in _WARM:
            machine.processes[warm.pid].modules.load(name)

    warm = world.process(machine, "warm")
    warm.start(load)
    world.run(lambda: warm.is_dead)
    gc.collect()
    gc.freeze()
