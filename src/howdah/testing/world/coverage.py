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
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
_EXEMPTIONS: Final = Path(__file__).with_name("not_in_worlds.txt")


def exemptions(text: str | None = None) -> dict[str, str]:
    """Return why a world cannot run something, by `module` or `module:function`."""
    lines = (_EXEMPTIONS.read_text("utf-8") if text is None else text).splitlines()
    found: dict[str, str] = {}
    for line in lines:
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition(" ")
            assert reason.strip(), f"{name} is exempt without a reason"
            assert name not in found, f"{name} is exempt twice"
            found[name] = reason.strip()
    return found


def exemption_of(place: Statement, known: Mapping[str, str]) -> str | None:
    """Return the name under which a statement is exempt: that of its module, of a package above,
    of its function or of a class or function around that."""
    name = place.module
    while name:
        if name in known:
            return name
        name = name.rpartition(".")[0]
    inner = place.function
    while inner:
        name = f"{place.module}:{inner}"
        if name in known:
            return name
        inner = inner.rpartition(".")[0]
    return None


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
    exempt: tuple[Statement, ...] = ()
    """No world can run them."""
    idle_exemptions: tuple[str, ...] = ()
    """Names of the list under which nothing is, or something has run."""

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
    run_places = [place for number, place in enumerate(marks.places) if marks.has_run(number)]
    rest = [place for number, place in enumerate(marks.places) if not marks.has_run(number)]
    return sort(run_places, rest, exemptions()), failed


def sort(ran: Sequence[Statement], rest: Sequence[Statement], known: Mapping[str, str]) -> Coverage:
    """Tell what was missed from what no world can run. What runs when its module is loaded says
    nothing against its exemption."""
    missed, exempt = list[Statement](), list[Statement]()
    used = Counter[str]()
    for place in rest:
        name = exemption_of(place, known)
        (missed if name is None else exempt).append(place)
        used[name or ""] += 1
    wrong = {
        name
        for place in ran
        if place.function != "<module>" and (name := exemption_of(place, known)) is not None
        if ":" in name
    }
    packages = {place.module for place in (*ran, *rest)}
    idle = [
        name
        for name in known
        if name in wrong
        or (
            not used[name]
            and any(
                each == name.partition(":")[0] or each.startswith(f"{name}.") for each in packages
            )
        )
    ]
    return Coverage(tuple(ran), tuple(missed), tuple(exempt), tuple(idle))


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
        print(
            json.dumps(
                {
                    "packages": figures,
                    "missing": coverage.missing(),
                    "exempt": len(coverage.exempt),
                    "idle_exemptions": coverage.idle_exemptions,
                }
            )
        )
    else:
        for name, (ran, count) in figures.items():
            print(f"{100 * ran / count:5.1f} % of {count:5} statements in {name}")
        ran, count = (sum(each) for each in zip(*figures.values(), strict=True))
        print(f"{100 * ran / count:5.1f} % of {count:5} statements in all")
        print(f"{len(coverage.exempt)} statements are exempt: no world can run them")
        for name in coverage.idle_exemptions:
            print(f"{name} is exempt, and runs, or is not there")
        if arguments.missing:
            for module, functions in coverage.missing().items():
                print(f"\n{module}")
                for function, lines in functions.items():
                    print(f"  {function}: {ranges(lines)}")
    for result in failed:
        print(f"{result.scenario} {result.seed} failed:\n{result.problem}")
    return int(bool(failed))
