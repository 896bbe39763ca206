"""`howdah.testing.simulate`: users' functions on a simulated cluster that fails."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import howdah.errors
from howdah.testing import SimulationFailed, simulate
from howdah.testing.world import Process, World
from howdah.testing.world.primitives import NotSimulated
from howdah.testing.world.user_code import bring_into

_PAGE = Path(__file__).parents[4] / "docs" / "simulation.md"
_HOUR_S = 3600


class Sleeper:
    def sleep(self) -> None:
        time.sleep(_HOUR_S)


class Point:
    def __init__(self, x: int) -> None:
        self.x = x


def pause() -> float:
    before = time.monotonic()
    time.sleep(_HOUR_S)
    return time.monotonic() - before


def run_in_world(function: Any) -> Any:
    world = World(1)

    def run(process: Process) -> Any:
        return bring_into(process, function)(process)

    return world.call(world.machine("one"), "user", run, timeout_s=3 * _HOUR_S)


def test_functions_of_the_users_module_wait_in_virtual_time() -> None:
    began = time.monotonic()
    assert _HOUR_S <= run_in_world(lambda process: pause()) < _HOUR_S + 1
    assert time.monotonic() - began < _HOUR_S


def test_modules_and_classes_of_the_process_stand_for_the_real_ones() -> None:
    def look(number: int, process: Process) -> int:
        assert threading is process.modules.load("threading")
        assert howdah.errors is process.modules.load("howdah.errors")
        assert Path is process.modules.load("pathlib").Path
        assert Point(number).x == number
        return number

    assert run_in_world(functools.partial(look, 7)) == 7


def test_variables_of_an_outer_function_are_shared() -> None:
    seen: list[int] = []

    def add(process: Process) -> None:
        seen.append(process.pid)

    run_in_world(add)
    assert seen


def test_a_class_that_would_wait_in_real_time_is_refused_by_name() -> None:
    with pytest.raises(Exception, match=r"uses the class Sleeper, whose method sleep uses time"):
        run_in_world(lambda process: Sleeper().sleep())


def test_what_is_no_function_is_refused() -> None:
    world = World(1)
    process = world.process(world.machine("one"), "user")
    with pytest.raises(NotSimulated, match=r"a workload is a function"):
        bring_into(process, Sleeper().sleep)


def test_a_seed_is_the_same_simulation_and_a_failing_one_is_named() -> None:
    def work(fs: Any) -> int:
        try:
            fs.open("/none")
        except howdah.errors.HowdahError:
            print("there is no such file")
        fs.write_bytes("/file", b"0123456789")
        time.sleep(20)
        return len(fs.read_bytes("/file"))

    def check(fs: Any) -> None:
        assert fs.exists("/never"), "the file is not there"

    faults = {"slow disk": 12, "pause": 6}
    report = simulate(work, seed=5, faults=faults)
    assert report.values == (10,)
    assert report.simulated_s >= 20
    assert report.faults
    assert all(re.match(r"\d+: (slow disk|pause) ", fault) for fault in report.faults)
    assert any("there is no such file" in line for line in report.story)
    assert simulate(work, seed=5, faults=faults).trace == report.trace
    with pytest.raises(SimulationFailed, match=r"(?s)seed=5\).*the file is not there") as failed:
        simulate(work, seed=5, faults=faults, check=check)
    assert failed.value.report.faults == report.faults
    everything = range(len(report.faults) + 40)
    assert not simulate(work, seed=5, faults=faults, without=everything).faults


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"faults": {"earthquake": 1}}, "'earthquake' is no kind of fault; these are: kill, "),
        ({"faults": -1}, "less than none"),
        ({"namenodes": 3}, "namenodes is 1 or 2"),
        ({"datanodes": 2}, "at least 3"),
    ],
)
def test_wrong_arguments_are_refused_by_name(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simulate(lambda fs: None, seed=1, **options)


def test_the_example_of_the_guide_runs(tmp_path: Path) -> None:
    page = _PAGE.read_text("utf-8")
    (example,) = re.findall(r"```python\n(import time\n.*?)```", page, flags=re.DOTALL)
    script = tmp_path / "example.py"
    script.write_text(example)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith("(5, None)\n")
