"""Judges mutants: who notices one, if anybody."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
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


def judge(mutant: Mutant, reach: Reach, *, most_tests_s: float) -> Verdict:
    """Show a mutant to the tests that reach its line, the fast ones first, and then to worlds."""
    place = mutant.module, mutant.line
    tests = _within(reach, reach.tests.get(place, ()), most_tests_s)
    worlds = reach.worlds.get(place, [])
    source = mutant.source(loader.source_of(mutant.module))
    noticed_by, why = "", ""
    if tests:
        noticed_by, why = _show_to_tests(mutant.module, source, tests, reach)
    if not noticed_by and worlds:
        noticed_by, why = _show_to_worlds(mutant.module, source, worlds)
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


def _show_to_worlds(module: str, source: str, worlds: Sequence[World]) -> tuple[str, str]:
    """A change stays in a process: so each mutant has one."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        with os.fdopen(writing, "w") as pipe:
            pipe.write("\n".join(_in_worlds(module, source, worlds)))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        noticed_by, _, why = pipe.read().partition("\n")
    _, status = os.waitpid(pid, 0)
    if status:
        return "worlds", f"their process ended with {os.waitstatus_to_exitcode(status)}"
    return noticed_by, why


def _in_worlds(module: str, source: str, worlds: Sequence[World]) -> tuple[str, str]:
    loader.replace_code(module, source)
    blanks = BlankProcesses()
    # What is wrong at the start is told by the world that does not start, not by a traceback.
    with contextlib.suppress(Exception):
        runner.warm_up()
    for scenario, seed in worlds:
        result = runner.run_forked(scenario, seed, blanks=blanks, limit_s=_WORLD_S)
        if result.problem:
            return f"{scenario} {seed}", reason(result.problem)
    return "", ""


def reason(problem: str) -> str:
    """Return the line of a world's problem that says most."""
    lines = problem.strip().rpartition("Unexpected: ")[2].splitlines()
    return " | ".join(lines[:2])[:300]
