"""`python -m howdah.testing.world`: run scenarios, or tell the story of one seed."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys

from howdah.testing.world import coverage, night, runner
from howdah.testing.world.scenarios import SCENARIOS


def _line(result: runner.Result) -> str:
    return (
        f"{result.scenario} {result.seed}: {result.simulated_s} s in {result.cpu_s} s of processor "
        f"time ({result.real_s} s), {result.turns} turns, trace {result.trace[:12]}, "
        f"{result.figures}"
    )


def main() -> int:
    if sys.argv[1:2] == ["coverage"]:
        return coverage.main(sys.argv[2:])
    if sys.argv[1:2] == ["night"]:
        return night.main(sys.argv[2:])
    parser = argparse.ArgumentParser(
        prog="python -m howdah.testing.world",
        description="Run howdah's servers in simulated worlds. The status is 1 if a seed fails.",
        epilog="`coverage` and `night` in place of a scenario have options of their own.",
    )
    parser.add_argument("scenario", choices=sorted(SCENARIOS))
    parser.add_argument("seeds", nargs="+", help="numbers, or ranges such as 1-20")
    parser.add_argument("--story", action="store_true", help="tell what happens, of one seed")
    parser.add_argument(
        "--shrink",
        action="store_true",
        help="of a seed that fails, leave out each fault that the failure does not need",
    )
    parser.add_argument(
        "--without",
        type=lambda text: [int(word) for word in text.split(",")],
        default=[],
        metavar="PLACES",
        help="faults that do not happen, by their places in the plan, such as 0,3",
    )
    parser.add_argument(
        "--profile", action="store_true", help="say where the processor time of each world went"
    )
    parser.add_argument("--json", action="store_true", help="print each result as a line of JSON")
    arguments = parser.parse_args()
    seeds = [seed for word in arguments.seeds for seed in runner.seeds_of(word)]
    if arguments.story:
        result = runner.run_seed(
            arguments.scenario,
            seeds[0],
            left_out=arguments.without,
            tell=lambda line: print(line, flush=True),
        )
        print(result.problem or f"seed {result.seed}: {result.figures}", flush=True)
        # The threads of the world must not run any more.
        os._exit(bool(result.problem))
    if arguments.shrink:
        result, left_out = runner.shrink(arguments.scenario, seeds[0])
        print("\n".join([*result.story, result.problem or "it does not fail"]))
        print(f"--without {','.join(map(str, left_out))}" if left_out else "all faults are needed")
        return int(bool(result.problem))
    if arguments.profile:
        for result, report in runner.profile(arguments.scenario, seeds):
            print(f"{_line(result)}\n{report}\n", flush=True)
        return 0
    failed = 0
    for result in runner.run_seeds(arguments.scenario, seeds):
        failed += bool(result.problem)
        if arguments.json:
            print(json.dumps(dataclasses.asdict(result), default=str), flush=True)
            continue
        print(_line(result), flush=True)
        if result.problem:
            print("\n".join([*result.story, result.problem]), file=sys.stderr, flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
