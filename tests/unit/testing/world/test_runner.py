"""Runs of many worlds: findings are shrunk, what stands still is shown, a night goes on."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from howdah.testing.world import Process, Unexpected, World, coverage, night, runner
from howdah.testing.world.coverage import ranges, shells
from howdah.testing.world.instrumenting import Statement
from howdah.testing.world.scenarios import SCENARIOS


def needs_two_faults(world: World) -> Mapping[str, object]:
    """Fails only where the faults 2 and 4 of six happen."""
    world.planned_faults = 6
    if {2, 4} <= set(range(6)) - world.left_out:
        raise Unexpected("both have happened")
    return {}


def spins(world: World) -> Mapping[str, object]:
    def spin(process: Process) -> None:
        while True:
            pass

    world.call(world.machine("one"), "spinner", spin)
    return {}


def waits(world: World) -> Mapping[str, object]:
    threading.Event().wait()
    return {}


def fails_on_odd_seeds(world: World) -> Mapping[str, object]:
    if world.seed % 2:
        raise Unexpected("odd")
    return {}


@pytest.fixture(autouse=True)
def cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """These scenarios need no servers."""
    monkeypatch.setattr(runner, "_WARM", ())


def test_shrinking_leaves_out_each_fault_that_the_failure_does_not_need() -> None:
    result, left_out = runner.shrink(needs_two_faults, 1)
    assert left_out == [0, 1, 3, 5]
    assert "both have happened" in result.problem


def test_a_world_that_never_ends_is_ended_and_shows_what_runs() -> None:
    result = runner.run_forked(spins, 1, limit_s=0.5)
    words = r"not over after 0.5 seconds of the processor.* in spin\n"
    assert re.search(words, result.problem, re.DOTALL)


def test_a_world_that_waits_for_something_real_is_ended_too() -> None:
    result = runner.run_forked(waits, 1, limit_s=0.05)
    assert "not over after 0.5 real seconds" in result.problem


def test_a_night_goes_on_where_it_was_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(SCENARIOS, "odd", fails_on_odd_seeds)
    monkeypatch.setitem(SCENARIOS, "two", needs_two_faults)
    words = [str(tmp_path), "odd", "two", "--first-seed", "2", "--worlds", "3", "--json"]
    assert night.main(words) == 1
    with (tmp_path / "worlds.jsonl").open("a") as file:
        file.write('{"scenario": "od')  # as a night leaves it that is killed
    assert night.main(words) == 1
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (first["scenarios"]["odd"]["worlds"], first["scenarios"]["two"]["worlds"]) == (2, 1)
    assert second["scenarios"]["odd"]["worlds"] == 3
    assert [(each["scenario"], each["seed"]) for each in second["findings"]] == [
        *(("two", 2), ("odd", 3), ("two", 3), ("two", 4))
    ]
    story = (tmp_path / "findings" / "two-3.txt").read_text()
    assert story.startswith("python -m howdah.testing.world two 3 --story --without 0,1,3,5\n")
    assert night.main([str(tmp_path), "--summary", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == second


def test_shells_are_the_modules_that_do_input_and_output() -> None:
    names = set(shells(["howdah.namenode", "howdah.failover"]))
    assert "howdah.namenode.server.process.server" in names
    assert not any(".state." in name for name in names)


def test_coverage_names_what_has_not_run() -> None:
    measured = coverage.Coverage(
        ran=(Statement("howdah.a.b", 1, "f"),),
        missed=(Statement("howdah.a.b", 5, "g"), Statement("howdah.a.b", 4, "g")),
    )
    assert measured.by_package() == {"howdah.a": (1, 3)}
    assert measured.missing() == {"howdah.a.b": {"g": [4, 5]}}
    assert ranges([1, 2, 3, 7, 9, 10]) == "1-3, 7, 9-10"
