"""Long histories by their seeds: many of them, spread over processes.

    python -m howdah.testing.simulator.seeds --plan power --seeds 0-20000 --processes 2
    python -m howdah.testing.simulator.seeds --plan power --seeds 1359 --trace 200

The first runs 20,000 histories, says each seed that fails, and how many were green; with
`--save FILE` these lines are added to a file as they come. The second tells one story. A
seed makes the same history as long as no rule changes that it comes across.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from howdah.testing.simulator.cluster import Simulation
from howdah.testing.simulator.fault_rates import (
    AMNESIA,
    CALM,
    FAILOVER,
    ONE_FAILS,
    POWER,
    TAKEOVERS,
    Plan,
)

PLANS = {
    "calm": CALM,
    "one fails": ONE_FAILS,
    "all fails": Plan(),
    "power": POWER,
    "takeovers": TAKEOVERS,
    "amnesia": AMNESIA,
    "failover": FAILOVER,
}
STEPS = 1000
TRACE_LINES = 60
SEEDS_AT_ONCE = 50
_SILENCE = logging.NullHandler()


class Dice:
    """Choices by a seed."""

    def __init__(self, seed: int) -> None:
        self._bits = random.Random(seed).getrandbits

    def below(self, count: int) -> int:
        """As `Random.randrange` does it, without the look at its arguments."""
        width = count.bit_length()
        number = self._bits(width)
        while number >= count:
            number = self._bits(width)
        return number


def finish(simulation: Simulation, steps: int, name: str, lines: int = TRACE_LINES) -> Simulation:
    """Run, heal and check. `AssertionError` with what happened last, if it fails."""
    try:
        simulation.run(steps)
        simulation.heal()
    except Exception as failure:
        trace = simulation.world.trace
        story = [f"{name}: {failure}", *trace[max(len(trace) - lines, 0) :]]
        raise AssertionError("\n".join(story)) from failure
    return simulation


def run(seed: int, plan: Plan, steps: int = STEPS, lines: int = TRACE_LINES) -> Simulation:
    return finish(Simulation(Dice(seed), plan), steps, f"seed {seed}", lines)


@dataclass(frozen=True, slots=True)
class Batch:
    """What came of some seeds in a row."""

    seeds: range
    failures: dict[int, str]


def run_batch(plan: str, steps: int, seeds: range) -> Batch:
    # What the namenode logs is in no trace, and would be all that is seen of 20,000 runs.
    logging.getLogger("howdah").addHandler(_SILENCE)
    failures = {}
    for seed in seeds:
        try:
            run(seed, PLANS[plan], steps)
        except AssertionError as failure:
            failures[seed] = str(failure)
    return Batch(seeds, failures)


def run_many(plan: str, seeds: range, steps: int = STEPS, processes: int = 1) -> Iterator[Batch]:
    """All seeds, batch by batch in their order."""
    starts = range(seeds.start, seeds.stop, SEEDS_AT_ONCE)
    batches = [range(start, min(start + SEEDS_AT_ONCE, seeds.stop)) for start in starts]
    work = partial(run_batch, plan, steps)
    if processes == 1:
        yield from map(work, batches)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap(work, batches)


def seeds_of(text: str) -> range:
    """`0-20000` is 20,000 seeds, the last is 19999; `1359` is one."""
    start, _, stop = text.partition("-")
    return range(int(start), int(stop) if stop else int(start) + 1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run histories of the simulator by their seeds.")
    parser.add_argument("--plan", choices=sorted(PLANS), action="append", help="all, if not given")
    parser.add_argument("--seeds", type=seeds_of, default=range(1000, 2000), metavar="FROM-TO")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--trace", type=int, metavar="LINES", help="tell how a failure came about")
    parser.add_argument("--save", type=Path, metavar="FILE", help="add what is said to a file")
    return parser.parse_args()


def main() -> int:
    arguments = _arguments()

    def print_line(line: str) -> None:
        print(line, flush=True)
        if arguments.save is not None:
            with arguments.save.open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    failed = 0
    for plan in arguments.plan or sorted(PLANS):
        begun_s, green = time.monotonic(), 0
        for batch in run_many(plan, arguments.seeds, arguments.steps, arguments.processes):
            for seed in batch.failures:
                try:
                    run(seed, PLANS[plan], arguments.steps, arguments.trace or 0)
                except AssertionError as failure:
                    print_line(f"{plan}: {failure}")
            failed += len(batch.failures)
            green += len(batch.seeds) - len(batch.failures)
            if batch.seeds.stop % 1000 == 0 or batch.seeds.stop == arguments.seeds.stop:
                print_line(
                    f"{plan}: seeds {arguments.seeds.start}-{batch.seeds.stop}, "
                    f"{arguments.steps} steps: {green} green, "
                    f"{batch.seeds.stop - arguments.seeds.start - green} failed, "
                    f"{time.monotonic() - begun_s:.0f} s"
                )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
