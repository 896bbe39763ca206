"""What reaches which lines, where nothing is changed: the unit tests and worlds that a mutant is
shown to."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from howdah.testing.world import loader, runner
from howdah.testing.world.instrumenting import Marks

ROOT: Final = Path(__file__).parents[3]
UNIT_TESTS: Final = ROOT / "tests" / "unit"
World = tuple[str, int]
"""A scenario and a seed."""


@dataclass
class Reach:
    """Says what reaches each line of some modules."""

    tests: dict[tuple[str, int], list[str]] = field(default_factory=lambda: defaultdict(list))
    """By module and line; the fastest first."""
    worlds: dict[tuple[str, int], list[World]] = field(default_factory=lambda: defaultdict(list))
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each test takes."""
    failed: list[str] = field(default_factory=list)
    """Tests and worlds that fail where nothing is changed: they judge nothing."""

    def add_tests(self, reached: Mapping[str, Mapping[str, Any]]) -> None:
        for name, test in sorted(reached.items(), key=lambda item: (item[1]["seconds"], item[0])):
            if not test["passed"]:
                self.failed.append(name)
                continue
            self.seconds[name] = test["seconds"]
            for module, lines in test["lines"].items():
                for line in sorted(set(lines)):
                    self.tests[module, line].append(name)

    def add_world(self, world: World, lines: Mapping[str, Iterable[int]]) -> None:
        for module, numbers in lines.items():
            for line in sorted(set(numbers)):
                self.worlds[module, line].append(world)

    # -- a file, for the next call

    def write(self, path: Path) -> None:
        numbers = {name: number for number, name in enumerate(self.seconds)}
        path.write_text(
            json.dumps(
                {
                    "tests": [
                        [*place, [numbers[name] for name in names]]
                        for place, names in self.tests.items()
                    ],
                    "worlds": [[*place, worlds] for place, worlds in self.worlds.items()],
                    "seconds": self.seconds,
                    "failed": self.failed,
                }
            ),
            "utf-8",
        )

    @classmethod
    def read(cls, path: Path) -> Reach:
        said = json.loads(path.read_text("utf-8"))
        reach = cls(seconds=said["seconds"], failed=said["failed"])
        names = list(reach.seconds)
        for module, line, numbers in said["tests"]:
            reach.tests[module, line] = [names[number] for number in numbers]
        for module, line, worlds in said["worlds"]:
            reach.worlds[module, line] = [(scenario, seed) for scenario, seed in worlds]
        return reach


def measure(modules: Sequence[str], worlds: Sequence[World], *, timeout_s: float) -> Reach:
    """Run the unit tests that import the modules, and the worlds, and note what they reach."""
    reach = Reach()
    with tempfile.TemporaryDirectory() as directory:
        reached = Path(directory, "reached.json")
        files = sorted(str(path.relative_to(ROOT)) for path in importers(modules))
        if files:
            changes = {"marked": list(modules), "reached": str(reached)}
            run_tests(Path(directory), changes, files, timeout_s=timeout_s)
            if not reached.exists():
                raise RuntimeError(f"the tests were not over after {timeout_s:g} s")
            reach.add_tests(json.loads(reached.read_text("utf-8")))
    for world, lines, problem in _reached_by(modules, worlds):
        if problem:
            reach.failed.append(f"{world[0]} {world[1]}")
        else:
            reach.add_world(world, lines)
    return reach


def run_tests(
    directory: Path, changes: Mapping[str, Any], words: Sequence[str], *, timeout_s: float
) -> tuple[int, str]:
    """Run unit tests over changed code; the status, and the end of what they print. Raises
    TimeoutExpired."""
    path = directory / "changes.json"
    path.write_text(json.dumps(changes), "utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        "HOWDAH_COMPILED": "off",
    }
    command = [sys.executable, "-m", "tests.support.mutation.unit_tests", str(path)]
    # pytest would rewrite assertions of howdah's modules, too, and find them before we do.
    options = ["-q", "--assert=plain", "-p", "no:cacheprovider", "-m", "not torture", "--no-header"]
    with subprocess.Popen(
        [*command, *options, *words],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as running:
        try:
            printed, _ = running.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            # Servers that tests have started are of its session.
            os.killpg(running.pid, 9)
            raise
    return running.returncode, printed


def _reached_by(
    modules: Sequence[str], worlds: Sequence[World]
) -> Iterator[tuple[World, Mapping[str, Iterable[int]], str]]:
    """Run worlds in a child, which has marks in the modules: in this process they stay as they
    are."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        with os.fdopen(writing, "w") as pipe:
            marks = Marks()
            loader.mark_statements(marks, modules)
            runner.warm_up()
            marks.take()
            for scenario, seed in worlds:
                (result,) = runner.run_warm(scenario, [seed])
                pipe.write(json.dumps([scenario, seed, marks.take(), result.problem]) + "\n")
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        for line in pipe:
            scenario, seed, lines, problem = json.loads(line)
            yield (scenario, seed), lines, problem
    os.waitpid(pid, 0)


# -- which tests import a module


def importers(modules: Iterable[str]) -> set[Path]:
    """Return the unit tests that import one of the modules: themselves, or by what of the tests'
    own (`tests.support`) they import."""
    wanted, found = frozenset(modules), set[Path]()
    for path in sorted(UNIT_TESTS.rglob("test_*.py")):
        if _all_imports(path) & wanted:
            found.add(path)
    return found


_imports: dict[Path, frozenset[str]] = {}


def _all_imports(path: Path) -> frozenset[str]:
    seen, todo, names = {path}, [path], set[str]()
    while todo:
        for name in _own_imports(todo.pop()):
            names.add(name)
            if name.startswith("tests."):
                base = ROOT.joinpath(*name.split("."))
                for file in (base.with_suffix(".py"), base / "__init__.py"):
                    if file not in seen and file.exists():
                        seen.add(file)
                        todo.append(file)
    return frozenset(names)


def _own_imports(path: Path) -> frozenset[str]:
    known = _imports.get(path)
    if known is None:
        names = set[str]()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        known = _imports[path] = frozenset(names)
    return known
