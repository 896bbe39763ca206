"""The figures of `bench/`: what is printed is what was measured."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("harness", BENCH / "harness.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "harness", module)
    spec.loader.exec_module(module)
    return module


def test_a_figure_is_the_median_of_its_repeats(harness: ModuleType) -> None:
    assert harness.figure("a", "s", [9.0, 1.0, 2.0]).value == 2.0


def test_a_peer_that_was_skipped_is_left_out(harness: ModuleType) -> None:
    assert harness.figure("a", "s", [1.0], {"b": [], "c": [2.0]}).peers == {"c": (2.0,)}


def test_results_survive_the_way_through_json(harness: ModuleType) -> None:
    for result in (
        harness.figure("a", "MB/s", [1.0, 2.5], {"b": [3.0]}, target="≥ 2"),
        harness.Skipped("c", "no Java"),
    ):
        assert harness.from_json(harness.to_json(result)) == result


def test_the_table_shows_the_ratio_to_every_peer(harness: ModuleType) -> None:
    lines = harness.table([harness.figure("a", "s", [4.0], {"b": [8.0], "c": [2.0]})]).split("\n")
    assert [line.split()[-3:] for line in lines[2:]] == [["b", "8", "0.50"], ["c", "2", "2.00"]]


def test_a_result_is_told_as_it_comes(harness: ModuleType) -> None:
    found = harness.figure("a", "s", [4.0], {"b": [8.0], "nothing": [0.0]})
    assert harness.line(found) == "a: 4 s, 0.50 × b"
    assert harness.line(harness.Skipped("c", "no Java")) == "c: skipped: no Java"


def test_subjects_are_measured_in_turn_and_warmed_up(harness: ModuleType) -> None:
    order: list[str] = []

    def run(name: str) -> float:
        order.append(name)
        return float(len(order))

    found = harness.in_turn({"a": lambda: run("a"), "b": lambda: run("b")}, 2)
    assert order == ["a", "b", "a", "b", "a", "b"]
    assert found == {"a": [3.0, 5.0], "b": [4.0, 6.0]}


def test_subjects_may_be_measured_in_turn_and_back(harness: ModuleType) -> None:
    order: list[str] = []

    def run(name: str) -> float:
        order.append(name)
        return float(len(order))

    runs = {"a": lambda: run("a"), "b": lambda: run("b"), "c": lambda: run("c")}
    assert harness.in_turn(runs, 2, both_ways=True) == {
        "a": [6.0, 7.0],
        "b": [5.0, 8.0],
        "c": [4.0, 9.0],
    }
    assert "".join(order) == "abccbaabc"


def test_the_cpu_time_of_a_group_grows_as_its_leader_works(harness: ModuleType) -> None:
    before = harness.group_cpu(os.getpgrp())
    if before is None:
        pytest.skip("the system does not tell")
    deadline_s = time.monotonic() + 10
    while harness.group_cpu(os.getpgrp()).total_s <= before.total_s:
        assert time.monotonic() < deadline_s, "ten seconds of work were not counted"
        sum(range(10_000))
