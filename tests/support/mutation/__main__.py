"""`python -m tests.support.mutation PACKAGE... --count 100`: which changes does nobody notice?

For 100 changes, which `--seed` draws from the functions of the packages' modules:

    python -m tests.support.mutation howdah.datanode.transfer howdah.namenode.journal --count 100

`--reach FILE` keeps what reaches which line, so that the next call need not find it out again:
`--skip 100` goes on where this one has ended. The status is 1 if a mutant was not noticed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import howdah
from howdah.testing.world import loader, runner
from howdah.testing.world.scenarios import SCENARIOS
from tests.support.mutation.judging import Verdict, Worlds, judge
from tests.support.mutation.mutants import mutants_of, sample
from tests.support.mutation.reach import Reach, World, measure

_ROOT: Final = Path(howdah.__file__).parent.parent
_WORLDS: Final = ("namenode=1", "datanodes=1-2", "highly-available=1")


def modules_in(names: Iterable[str]) -> list[str]:
    """Return these modules, and all in these packages."""
    found = set[str]()
    for name in names:
        base = _ROOT.joinpath(*name.split("."))
        if base.with_suffix(".py").exists():
            found.add(name)
            continue
        for path in base.rglob("*.py"):
            parts = path.relative_to(_ROOT).with_suffix("").parts
            found.add(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return sorted(found)


def worlds_in(words: Iterable[str]) -> list[World]:
    """Return the worlds that words such as datanodes=1-2 say."""
    worlds: list[World] = []
    for word in words:
        scenario, _, seeds = word.partition("=")
        if scenario not in SCENARIOS:
            raise ValueError(f"there is no scenario {scenario!r}")
        worlds += [(scenario, seed) for seed in runner.seeds_of(seeds)]
    return worlds


def run(
    modules: Sequence[str],
    reach: Reach,
    *,
    seed: int,
    skip: int,
    count: int,
    seconds: float,
    most_tests_s: float,
    only_reached: bool,
) -> Iterator[Verdict]:
    """Judge mutants in the order that the seed decides, until there are enough or time is up."""
    until_s, shown = time.monotonic() + seconds, Worlds()
    every = [each for name in modules for each in mutants_of(name, loader.source_of(name))]
    if only_reached:
        every = [
            each
            for each in every
            if reach.tests.get((each.module, each.line))
            or reach.worlds.get((each.module, each.line))
        ]
    for mutant in sample(every, seed)[skip : skip + count]:
        if time.monotonic() > until_s:
            return
        yield judge(mutant, reach, shown, most_tests_s=most_tests_s)


def _report(verdicts: Sequence[Verdict], reach: Reach) -> str:
    lines = []
    if reach.failed:
        lines.append(f"{len(reach.failed)} fail without a change: {', '.join(reach.failed[:5])}")
    noticed = Counter(verdict.mutant.operator for verdict in verdicts if verdict.noticed_by)
    every = Counter(verdict.mutant.operator for verdict in verdicts)
    by_world = sum(v.noticed_by.partition(" ")[0] in SCENARIOS for v in verdicts)
    lines.append(
        f"{noticed.total()} of {every.total()} mutants were noticed, {by_world} of them by worlds "
        "alone; by what was changed:"
    )
    lines += [f"  {noticed[name]:4} of {every[name]:4} {name}" for name in sorted(every)]
    missed = [verdict for verdict in verdicts if not verdict.noticed_by]
    lines += ["", "not noticed:", *map(str, missed)] if missed else []
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.mutation",
        description="Change lines of modules, and tell which changes no test and no world notices.",
    )
    parser.add_argument("packages", nargs="+", metavar="PACKAGE", help="or modules")
    parser.add_argument("--seed", type=int, default=1, help="decides which mutants, in which order")
    parser.add_argument("--count", type=int, default=100, help="how many mutants")
    parser.add_argument("--skip", type=int, default=0, help="mutants that were judged before")
    parser.add_argument("--seconds", type=float, default=3600.0, help="when to end at the latest")
    parser.add_argument(
        "--tests-seconds", type=float, default=30.0, help="of unit tests a mutant at most"
    )
    parser.add_argument(
        "--world",
        action="append",
        metavar="SCENARIO=SEEDS",
        help=f"worlds that mutants are shown to, instead of {', '.join(_WORLDS)}",
    )
    parser.add_argument("--reach", type=Path, metavar="FILE", help="keeps what reaches which line")
    parser.add_argument(
        "--reached", action="store_true", help="only mutants whose line is reached by something"
    )
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each mutant")
    arguments = parser.parse_args()
    try:
        worlds = worlds_in(arguments.world or _WORLDS)
    except ValueError as error:
        parser.error(str(error))
    modules = modules_in(arguments.packages)
    if not modules:
        parser.error(f"there is no module in {', '.join(arguments.packages)}")
    if arguments.reach is not None and arguments.reach.exists():
        reach = Reach.read(arguments.reach)
    else:
        reach = measure(modules, worlds, timeout_s=arguments.seconds)
        if arguments.reach is not None:
            reach.write(arguments.reach)
    verdicts = []
    for verdict in run(
        modules,
        reach,
        seed=arguments.seed,
        skip=arguments.skip,
        count=arguments.count,
        seconds=arguments.seconds,
        most_tests_s=arguments.tests_seconds,
        only_reached=arguments.reached,
    ):
        verdicts.append(verdict)
        if arguments.json:
            print(json.dumps(dataclasses.asdict(verdict)), flush=True)
        elif verdict.noticed_by:
            print(f"{len(verdicts)}: {verdict}", flush=True)
    if not arguments.json:
        print(_report(verdicts, reach))
    return int(not all(verdict.noticed_by for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
