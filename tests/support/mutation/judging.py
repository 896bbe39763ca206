"""Judges mutants: who notices one, if anybody."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from howdah.testing.world import loader, runner
from howdah.testing.world.blanks import BlankProcesses
from tests.support.mutation.mutants import Mutant
from tests.support.mutation.reach import Reach, World, run_tests

_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_START_S: Final = 60.0
"""How long tests may take to be collected, and a world to be loaded, on a busy machine."""
_TIMES: Final = 5.0
"""How much longer a test may take than without the change."""
_WORLD_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """Says what became of a mutant."""

    mutant: Mutant
    noticed_by: str
    """A test, or a world; empty if nothing notices it."""
    why: str
    tests: int
    """How many reach its line."""
    worlds: int

    @property
    def is_reached(self) -> bool:
        return bool(self.tests or self.worlds)

    def __str__(self) -> str:
        if self.noticed_by:
            return f"{self.mutant}\n    noticed by {self.noticed_by}: {self.why}"
        reached = f"{self.tests} tests and {self.worlds} worlds" if self.is_reached else "nothing"
        return f"{self.mutant}\n    not noticed; {reached} reached the line"


def judge(mutant: Mutant, reach: Reach, shown: Worlds, *, most_tests_s: float) -> Verdict:
    """Show a mutant to the tests that reach its line, the fast ones first, and then to worlds."""
    place = mutant.module, mutant.line
    tests = _within(reach, reach.tests.get(place, ()), most_tests_s)
    worlds = reach.worlds.get(place, [])
    source = mutant.source(loader.source_of(mutant.module))
    noticed_by, why = "", ""
    if tests:
        noticed_by, why = _show_to_tests(mutant.module, source, tests, reach)
    if not noticed_by and worlds:
        noticed_by, why = shown.show(mutant.module, source, worlds)
    return Verdict(mutant, noticed_by, why, len(reach.tests.get(place, ())), len(worlds))


def _within(reach: Reach, tests: Sequence[str], most_s: float) -> list[str]:
    chosen, took_s = list[str](), 0.0
    for test in tests:
        took_s += reach.seconds[test]
        if chosen and took_s > most_s:
            break
        chosen.append(test)
    return chosen


def _show_to_tests(module: str, source: str, tests: Sequence[str], reach: Reach) -> tuple[str, str]:
    limit_s = _START_S + _TIMES * sum(reach.seconds[test] for test in tests)
    with tempfile.TemporaryDirectory() as directory:
        changes = {"sources": {module: source}}
        try:
            status, printed = run_tests(
                Path(directory), changes, ["-x", "--tb=line", *tests], timeout_s=limit_s
            )
        except subprocess.TimeoutExpired:
            return "unit tests", f"not over after {limit_s:.0f} s"
    if status == pytest.ExitCode.OK:
        return "", ""
    if status in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise RuntimeError(f"no test was run: {printed}")
    found = _FAILED.search(printed)
    last = printed.strip().splitlines()[-1] if printed.strip() else f"status {status}"
    return (found.group(1) if found else "unit tests"), last


class Worlds:
    """Shows changes to worlds, which run in children of this process. It has loaded all code."""

    def __init__(self) -> None:
        self._blanks: BlankProcesses | None = None
        self._kinds: Counter[str] = Counter()

    def show(self, module: str, source: str, worlds: Sequence[World]) -> tuple[str, str]:
        """Return the world that goes wrong with a module's new text, and why; or nothing."""
        if self._blanks is None:
            runner.warm_up()
            self._blanks = BlankProcesses()
        blanks = self._blanks

        def change() -> None:
            loader.replace_code(module, source)
            blanks.refresh(module)

        for scenario, seed in worlds:
            result = runner.run_forked(
                scenario, seed, blanks=blanks, limit_s=_WORLD_S, before=change
            )
            if result.problem:
                return f"{scenario} {seed}", reason(result.problem)
            self._kinds |= Counter(result.processes)
            runner.provide(blanks, self._kinds)
        return "", ""


def reason(problem: str) -> str:
    """Return the line of a world's problem that says most."""
    lines = problem.strip().rpartition("Unexpected: ")[2].splitlines()
    return " | ".join(lines[:2])[:300]
