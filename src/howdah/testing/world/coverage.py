"""Which statements of the servers run in simulated worlds.

    python -m howdah.testing.world coverage namenode=1-5 highly-available=1-20 --missing

marks each statement of howdah's shells (the modules that own sockets, files, threads and time) as
it runs in a world, and says for each package how many did. Pure modules are left out: other tests
run them. What stands below `if TYPE_CHECKING` does not count.
"""

from __future__ import annotations

import argparse
import ast
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import howdah
from howdah.testing.world import loader, runner
from howdah.testing.world.instrumenting import Marks, Statement
from howdah.testing.world.scenarios import SCENARIOS

PACKAGES: Final = (
    "howdah.namenode",
    "howdah.datanode",
    "howdah.journalnode",
    "howdah.failover",
    "howdah.client",
    "howdah.router",
)
_PURE_ROOMS: Final = frozenset({"state", "service", "protocol", "formats", "keys", "model"})
_ROOT: Final = Path(howdah.__file__).parent


def shells(packages: Iterable[str] = PACKAGES) -> Iterator[str]:
    """Go over the modules of packages that do input and output."""
    for package in packages:
        top = _ROOT.joinpath(*package.split(".")[1:])
        for path in sorted(
            [*top.rglob("*.py"), *([top.with_suffix(".py")] if not top.is_dir() else ())]
        ):
            parts = path.relative_to(_ROOT.parent).with_suffix("").parts
            text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
            if _PURE_ROOMS & {*parts[:-1]} or "(pure" in " ".join(
                text.partition("\n\n")[0].split()
            ):
                continue
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Says which statements have run, and which have not."""

    ran: tuple[Statement, ...]
    missed: tuple[Statement, ...]

    def by_package(self) -> dict[str, tuple[int, int]]:
        """Return for each package how many statements ran, and how many there are."""
        ran = Counter(_package(place.module) for place in self.ran)
        missed = Counter(_package(place.module) for place in self.missed)
        return {name: (ran[name], ran[name] + missed[name]) for name in sorted(ran | missed)}

    def missing(self) -> dict[str, dict[str, list[int]]]:
        """Return the lines that did not run, by module and function."""
        lines: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for place in sorted(self.missed, key=lambda place: (place.module, place.line)):
            lines[place.module][place.function].append(place.line)
        return lines


def _package(module: str) -> str:
    return ".".join(module.split(".")[:2])


def measure(
    runs: Sequence[tuple[str, Sequence[int]]], packages: Iterable[str] = PACKAGES
) -> tuple[Coverage, list[runner.Result]]:
    """Run scenarios for seeds, and return what ran in them, and the results that failed."""
    marks = Marks()
    loader.mark_statements(marks, shells(packages))
    runner.warm_up()
    failed = []
    for scenario, seeds in runs:
        failed += [r for r in runner.run_warm(scenario, seeds) if r.problem]
    ran: list[Statement] = []
    missed: list[Statement] = []
    for number, place in enumerate(marks.places):
        (ran if marks.has_run(number) else missed).append(place)
    return Coverage(tuple(ran), tuple(missed)), failed


def ranges(lines: Sequence[int]) -> str:
    """Write lines as numbers and ranges."""
    out: list[list[int]] = []
    for line in lines:
        if out and line <= out[-1][1] + 1:
            out[-1][1] = line
        else:
            out.append([line, line])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


def main(words: Sequence[str]) -> int:
    """Measure, as the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m howdah.testing.world coverage",
        description="Say which statements of the servers' shells run in simulated worlds.",
    )
    parser.add_argument(
        "runs", nargs="+", metavar="SCENARIO=SEEDS", help="such as highly-available=1-20"
    )
    parser.add_argument("--missing", action="store_true", help="list the lines that did not run")
    parser.add_argument("--json", action="store_true", help="print all as JSON")
    parser.add_argument(
        "--package", action="append", metavar="NAME", help="measure these packages or modules only"
    )
    arguments = parser.parse_args(words)
    runs = []
    for word in arguments.runs:
        scenario, _, seeds = word.partition("=")
        if scenario not in SCENARIOS:
            parser.error(f"there is no scenario {scenario!r}; {', '.join(sorted(SCENARIOS))}")
        runs.append((scenario, runner.seeds_of(seeds)))
    coverage, failed = measure(runs, arguments.package or PACKAGES)
    figures = coverage.by_package()
    if arguments.json:
        print(json.dumps({"packages": figures, "missing": coverage.missing()}))
    else:
        for name, (ran, count) in figures.items():
            print(f"{100 * ran / count:5.1f} % of {count:5} statements in {name}")
        ran, count = (sum(each) for each in zip(*figures.values(), strict=True))
        print(f"{100 * ran / count:5.1f} % of {count:5} statements in all")
        if arguments.missing:
            for module, functions in coverage.missing().items():
                print(f"\n{module}")
                for function, lines in functions.items():
                    print(f"  {function}: {ranges(lines)}")
    for result in failed:
        print(f"{result.scenario} {result.seed} failed:\n{result.problem}")
    return int(bool(failed))
