"""Worlds for a night: seeds of all scenarios in turn, and a report of what was found.

    python -m howdah.testing.world night REPORT --hours 8

writes each world as a line of JSON into `REPORT/worlds.jsonl`, and each finding, shrunk, with its
story into `REPORT/findings`. A night that was interrupted goes on where it was: worlds that the
report has are not run again. `--summary` prints figures of a report and runs nothing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from howdah.testing.world import runner
from howdah.testing.world.blanks import BlankProcesses
from howdah.testing.world.scenarios import SCENARIOS

_WORLDS: Final = "worlds.jsonl"
_FINDINGS: Final = "findings"
_HOUR_S: Final = 3600.0
_WORLD_LIMIT_S: Final = 900


class Report:
    """Is what a night has found so far, in a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.worlds: list[dict[str, Any]] = []
        path = directory / _WORLDS
        if path.exists():
            text = path.read_text("utf-8")
            whole, _, rest = text.rpartition("\n")
            if rest:  # The last line, of a night that was interrupted.
                path.write_text(f"{whole}\n" if whole else "", "utf-8")
            self.worlds = [json.loads(line) for line in whole.splitlines()]

    @property
    def done(self) -> set[tuple[str, int]]:
        """Return the worlds that were run, by scenario and seed."""
        return {(each["scenario"], each["seed"]) for each in self.worlds}

    def add(self, result: runner.Result) -> dict[str, Any]:
        """Add a world."""
        world = asdict(result)
        for name in ("story", "profile", "processes"):
            del world[name]
        self.worlds.append(world)
        self.directory.mkdir(parents=True, exist_ok=True)
        with (self.directory / _WORLDS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(world, default=str) + "\n")
        return world

    def add_finding(self, result: runner.Result, left_out: Sequence[int]) -> Path:
        """Add the story of a world that failed."""
        directory = self.directory / _FINDINGS
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"{result.scenario}-{result.seed}.txt"
        again = f"python -m howdah.testing.world {result.scenario} {result.seed} --story"
        if left_out:
            again += f" --without {','.join(map(str, left_out))}"
        lines = [again, "", *result.faults, "", *result.story, "", result.problem, ""]
        path.write_text("\n".join(lines), "utf-8")
        return path

    def summary(self) -> dict[str, Any]:
        """Return figures: of each scenario, and the worlds that failed."""
        by_scenario: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for world in self.worlds:
            by_scenario[world["scenario"]].append(world)
        return {
            "scenarios": {
                name: {
                    "worlds": len(worlds),
                    "failed": sum(bool(world["problem"]) for world in worlds),
                    "faults": sum(len(world["faults"]) for world in worlds),
                    "simulated_s": round(sum(world["simulated_s"] for world in worlds)),
                    "cpu_s": round(sum(world["cpu_s"] for world in worlds), 1),
                    "median_speed": round(
                        statistics.median(w["simulated_s"] / max(w["cpu_s"], 1e-3) for w in worlds),
                        1,
                    ),
                    "turns": sum(world["turns"] for world in worlds),
                }
                for name, worlds in sorted(by_scenario.items())
            },
            "findings": [
                {
                    "scenario": world["scenario"],
                    "seed": world["seed"],
                    "problem": world["problem"].splitlines()[-1:],
                }
                for world in self.worlds
                if world["problem"]
            ],
        }


def worlds(scenarios: Sequence[str], first_seed: int) -> Iterator[tuple[str, int]]:
    """Go over seeds, all scenarios for each."""
    seed = first_seed
    while True:
        for scenario in scenarios:
            yield scenario, seed
        seed += 1


def run(
    report: Report,
    scenarios: Sequence[str],
    *,
    first_seed: int,
    duration_s: float,
    most_worlds: int | None = None,
) -> Iterator[tuple[dict[str, Any], Path | None]]:
    """Run worlds that the report does not have, as long as there is time. A finding is shrunk at
    once."""
    end_s = time.monotonic() + duration_s
    done, blanks = report.done, BlankProcesses()
    count = 0
    runner.warm_up()
    for scenario, seed in worlds(scenarios, first_seed):
        if time.monotonic() >= end_s or count == most_worlds:
            return
        if (scenario, seed) in done:
            continue
        count += 1
        result = runner.run_forked(scenario, seed, blanks=blanks, limit_s=_WORLD_LIMIT_S)
        runner.provide(blanks, result.processes)
        world = report.add(result)
        path = None
        if result.problem:
            smaller, left_out = runner.shrink(scenario, seed, limit_s=_WORLD_LIMIT_S)
            path = report.add_finding(smaller if smaller.problem else result, left_out)
        yield world, path


def main(words: Sequence[str]) -> int:
    """Run a night, as the command line says. The status is 1 if there was a finding."""
    parser = argparse.ArgumentParser(
        prog="python -m howdah.testing.world night",
        description="Run simulated worlds for hours, and report what they find. The status is 1 "
        "if there is a finding.",
    )
    parser.add_argument("report", type=Path, help="a directory, which is made or continued")
    parser.add_argument("scenarios", nargs="*", help="all if none is named")
    parser.add_argument("--hours", type=float, default=8.0)
    parser.add_argument("--worlds", type=int, help="end after so many")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--summary", action="store_true", help="run nothing: print the figures")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args(words)
    for name in arguments.scenarios:
        if name not in SCENARIOS:
            parser.error(f"there is no scenario {name!r}; {', '.join(sorted(SCENARIOS))}")
    report = Report(arguments.report)
    if not arguments.summary:
        for world, path in run(
            report,
            arguments.scenarios or sorted(SCENARIOS),
            first_seed=arguments.first_seed,
            duration_s=arguments.hours * _HOUR_S,
            most_worlds=arguments.worlds,
        ):
            if path is not None and not arguments.json:
                print(f"{world['scenario']} {world['seed']} fails: {path}", flush=True)
    summary = report.summary()
    if arguments.json:
        print(json.dumps(summary))
    else:
        for name, figures in summary["scenarios"].items():
            print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in figures.items()))
        for finding in summary["findings"]:
            print(f"{finding['scenario']} {finding['seed']}: {' '.join(finding['problem'])}")
    return int(bool(summary["findings"]))
