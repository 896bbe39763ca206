"""Run scenarios for many seeds: each in a forked process, after all modules were loaded once.

A world that ends leaves threads that never ended. Python would run their handlers when it frees
them, in the middle of the next world: so each world has a process for itself.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import sys
import time
import traceback
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Final

from howdah.testing.world.blanks import BlankProcesses
from howdah.testing.world.profiling import Profile
from howdah.testing.world.scenarios import SCENARIOS, Scenario
from howdah.testing.world.world import Unexpected, World

_WARM: Final = (
    "howdah.namenode.server.process.server",
    "howdah.namenode.server.process.format",
    "howdah.datanode.server",
    "howdah.fs.registry",
    "howdah.fs.hdfs.filesystem",
    "howdah.client.writing.output",
    "howdah.client.reading.input",
)
_MOST_BLANKS: Final = 32
"""Of a kind: each has a few megabytes."""
_TAIL_LINES: Final = 60
_REAL_TIMES: Final = 10
"""A world that waits for something real takes no time of the processor."""


def seeds_of(text: str) -> list[int]:
    """Return the seeds that a number, or a range such as 1-20, says."""
    first, dash, last = text.partition("-")
    return list(range(int(first), int(last) + 1)) if dash else [int(first)]


@dataclass(frozen=True, slots=True)
class Result:
    """Says how a seed went."""

    scenario: str
    seed: int
    problem: str
    """Empty if all was well."""
    trace: str
    simulated_s: float
    cpu_s: float
    """Processor time, modules that had to be loaded included."""
    real_s: float
    turns: int
    planned_faults: int = 0
    processes: dict[str, int] = field(default_factory=dict)
    """How many there were, by the module that they needed first."""
    figures: dict[str, object] = field(default_factory=dict)
    story: tuple[str, ...] = ()
    """Its last lines, where there was a problem."""
    faults: tuple[str, ...] = ()
    """Those that happened, each behind its place in the plan."""
    profile: tuple[str, ...] = ()
    """Where its time went, if that was asked."""


def run_seed(
    scenario: str | Scenario,
    seed: int,
    *,
    left_out: Collection[int] = (),
    tell: Callable[[str], None] | None = None,
    blanks: BlankProcesses | None = None,
    whole_story: bool = False,
    limit_s: float | None = None,
    when_stuck: Callable[[Result], None] | None = None,
) -> Result:
    """Run one world here. The process must not run another one, nor go on for long."""
    if isinstance(scenario, str):
        name, run = scenario, SCENARIOS[scenario]
    else:
        name, run = getattr(scenario, "__name__", "scenario"), scenario
    gc.disable()
    began_s, began_cpu_s = time.monotonic(), time.process_time()
    world = World(seed, left_out=left_out, blanks=blanks)
    world.story.listener = tell
    figures = dict[str, object]()

    def result(problem: str) -> Result:
        lines = tuple(world.story.lines)
        return Result(
            name,
            seed,
            problem,
            world.scheduler.trace,
            round(world.now_s, 3),
            round(time.process_time() - began_cpu_s, 3),
            round(time.monotonic() - began_s, 3),
            world.scheduler.turns,
            world.planned_faults,
            dict(world.kinds),
            figures,
            lines if whole_story else lines[-_TAIL_LINES:] if problem else (),
            faults=tuple(world.faults),
        )

    def stuck(number: int, frame: types.FrameType | None) -> None:
        assert when_stuck is not None
        assert limit_s is not None
        running = "".join(traceback.format_stack(frame))
        if number == signal.SIGALRM:
            why = f"not over after {_REAL_TIMES * limit_s:g} real seconds"
        else:
            why = f"not over after {limit_s:g} seconds of the processor"
        when_stuck(result(f"{why}; it runs\n{running}\nand these wait\n{world.stacks()}"))

    if when_stuck is not None and limit_s is not None:
        # Other work on the machine makes a world slow, and is no fault of its.
        signal.signal(signal.SIGVTALRM, stuck)
        signal.setitimer(signal.ITIMER_VIRTUAL, limit_s)
        signal.signal(signal.SIGALRM, stuck)
        signal.setitimer(signal.ITIMER_REAL, _REAL_TIMES * limit_s)
    problem = ""
    try:
        figures = dict(run(world))
    except Unexpected as error:
        # Of what a scenario waited for, its message says all but where.
        place = traceback.extract_tb(error.__traceback__)[1:2]
        problem = "".join([*traceback.format_list(place), f"Unexpected: {error}"])
    except Exception:  # noqa: BLE001 - whatever it is, it is the answer
        problem = traceback.format_exc()
    finally:
        for timer in (signal.ITIMER_VIRTUAL, signal.ITIMER_REAL):
            signal.setitimer(timer, 0.0)
    return result(problem)


def run_seeds(scenario: str, seeds: Iterable[int]) -> Iterator[Result]:
    """Run worlds one after another, each in a forked child of this process."""
    warm_up()
    yield from run_warm(scenario, seeds)


def run_warm(scenario: str, seeds: Iterable[int]) -> Iterator[Result]:
    """Do the same where `warm_up` was called, or code was changed behind it."""
    blanks = BlankProcesses()
    for seed in seeds:
        result = run_forked(scenario, seed, blanks=blanks)
        yield result
        # For the next one, which needs about as many.
        provide(blanks, result.processes)


def profile(scenario: str, seeds: Iterable[int]) -> Iterator[tuple[Result, str]]:
    """Run worlds as `run_seeds` does, and say of each where its processor time went."""
    warm_up()
    blanks = BlankProcesses()
    for seed in seeds:
        result = run_forked(scenario, seed, blanks=blanks, profiled=True)
        yield result, "\n".join(result.profile)
        provide(blanks, result.processes)


def provide(blanks: BlankProcesses, kinds: Mapping[str, int]) -> None:
    """Make blank processes for the worlds of forked children."""
    blanks.provide({kind: min(count, _MOST_BLANKS) for kind, count in kinds.items()})
    gc.freeze()


def shrink(
    scenario: str | Scenario, seed: int, *, limit_s: float | None = None
) -> tuple[Result, list[int]]:
    """Leave out one fault after the other, as long as the world still fails; the last failure, and
    what was left out."""
    warm_up()
    blanks = BlankProcesses()
    result = run_forked(scenario, seed, blanks=blanks, limit_s=limit_s)
    left_out: list[int] = []
    if not result.problem:
        return result, left_out
    for place in range(result.planned_faults):
        provide(blanks, result.processes)
        smaller = run_forked(scenario, seed, [*left_out, place], blanks, limit_s=limit_s)
        if smaller.problem:
            result = smaller
            left_out.append(place)
    return result, left_out


def run_forked(
    scenario: str | Scenario,
    seed: int,
    left_out: Collection[int] = (),
    blanks: BlankProcesses | None = None,
    *,
    profiled: bool = False,
    whole_story: bool = False,
    limit_s: float | None = None,
    before: Callable[[], None] | None = None,
) -> Result:
    """Run one world in a forked child of this process. After `limit_s` seconds of the processor, or
    ten times as many real ones, the child ends, and the stacks of all threads are the problem. The
    child calls `before` first, which may change
    code for this world alone."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reading)

            def give(result: Result) -> None:
                with os.fdopen(writing, "w") as pipe:
                    json.dump(asdict(result), pipe, default=str)

            def give_and_end(result: Result) -> None:
                give(result)
                os._exit(0)

            if before is not None:
                before()
            with Profile() if profiled else contextlib.nullcontext() as samples:
                result = run_seed(
                    scenario,
                    seed,
                    left_out=left_out,
                    blanks=blanks,
                    whole_story=whole_story,
                    limit_s=limit_s,
                    when_stuck=give_and_end,
                )
            if samples is not None:
                result = replace(result, profile=tuple(samples.report().splitlines()))
            give(result)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    _, status = os.waitpid(pid, 0)
    if not said:
        name = scenario if isinstance(scenario, str) else "scenario"
        why = f"its process ended with status {os.waitstatus_to_exitcode(status)}"
        return Result(name, seed, why, "", 0.0, 0.0, 0.0, 0)
    fields = json.loads(said)
    lists = {name: tuple(fields[name]) for name in ("story", "faults", "profile")}
    return Result(**{**fields, **lists})


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
