"""Long histories of a quorum by their seeds.

    python -m tests.support.journals.seeds --plan cuts --seeds 0-20000
    python -m tests.support.journals.seeds --plan cuts --seeds 1359 --trace 200

The first says each seed that fails, the second tells one story. An even seed has three nodes,
an odd one five.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

from tests.support.journals.world import PLANS, World

GENERATIONS = 10
STEPS = 2000
TRACE_LINES = 60


def seeds_of(text: str) -> range:
    """`0-20000` is 20,000 seeds, the last is 19999; `1359` is one."""
    start, _, stop = text.partition("-")
    return range(int(start), int(stop) if stop else int(start) + 1)


def run(
    seed: int, plan: str, generations: int = GENERATIONS, steps: int = STEPS, lines: int = 60
) -> World:
    """One history, healed and checked. `AssertionError` with what happened last, if it fails."""
    world = World(random.Random(seed), 3 + 2 * (seed % 2), PLANS[plan])
    try:
        world.run(generations, steps)
        world.heal()
    except Exception as failure:
        trace = world.trace[max(len(world.trace) - lines, 0) :]
        story = [f"{plan}, seed {seed}: {type(failure).__name__}: {failure}", *trace]
        raise AssertionError("\n".join(story)) from failure
    return world


def main() -> int:
    parser = argparse.ArgumentParser(description="Run histories of a quorum by their seeds.")
    parser.add_argument("--plan", choices=sorted(PLANS), action="append", help="all, if not given")
    parser.add_argument("--seeds", type=seeds_of, default=range(1000), metavar="FROM-TO")
    parser.add_argument("--generations", type=int, default=GENERATIONS)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--trace", type=int, default=TRACE_LINES, metavar="LINES")
    arguments = parser.parse_args()
    failed = 0
    for plan in arguments.plan or sorted(PLANS):
        begun_s, promised = time.process_time(), 0
        for seed in arguments.seeds:
            try:
                world = run(seed, plan, arguments.generations, arguments.steps, arguments.trace)
                promised += len(world.history.log)
            except AssertionError as failure:
                failed += 1
                print(failure, flush=True)
        seconds = time.process_time() - begun_s
        print(
            f"{plan}: {len(arguments.seeds)} seeds, {promised} edits, {seconds:.0f} s", flush=True
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
