"""The production servers in simulated worlds: some seeds always, many in the long run.

A seed that fails is told by `python -m howdah.testing.world SCENARIO SEED --story`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from howdah.testing.world.runner import seeds_of
from tests.support.torture import times
from tests.support.worlds import Worlds

Run = Callable[[str, str], list[dict[str, Any]]]
_TIMEOUT_S: Final = 3000

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def worlds() -> Iterator[Worlds]:
    worlds = Worlds()
    yield worlds
    worlds.close()


@pytest.fixture
def run(worlds: Worlds) -> Run:
    """Runs worlds one after another; fails where one of them does."""

    def run(scenario: str, seeds: str) -> list[dict[str, Any]]:
        results = [worlds.run(scenario, seed) for seed in seeds_of(seeds)]
        _check(results)
        return results

    return run


def _check(results: list[dict[str, Any]]) -> None:
    for result in results:
        if result["problem"]:
            story = "\n".join(result["story"])
            pytest.fail(f"{result['scenario']} {result['seed']}\n{story}\n{result['problem']}")


def run_anew(scenario: str, *seeds: str, hash_seed: str) -> list[dict[str, Any]]:
    """Run worlds in a fresh interpreter; fail where one of them does."""
    done = subprocess.run(
        [sys.executable, "-m", "howdah.testing.world", scenario, *seeds, "--json"],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT_S,
    )
    results: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    _check(results)
    assert done.returncode == 0, done.stderr[-4000:]
    return results


@pytest.mark.parametrize("scenario", ["rpc", "namenode", "datanodes", "highly-available"])
def test_a_seed_is_the_same_world_in_every_interpreter(run: Run, scenario: str) -> None:
    """Whatever the order of hashes and addresses is there, and whether processes load their
    modules in it or had loaded them before it began (as those of the third one)."""
    (first,) = run_anew(scenario, "1", hash_seed="1")
    (second,), (third,) = run(scenario, "1"), run(scenario, "1")
    assert first["turns"] == second["turns"] == third["turns"]
    assert first["trace"] == second["trace"] == third["trace"]


@pytest.mark.req("FS-030")
def test_what_a_namenode_has_answered_survives_power_cuts(run: Run) -> None:
    results = run("namenode", "10-12")
    assert sum(each["figures"]["calls"] for each in results) > 300
    assert any(each["figures"]["images"] > 1 for each in results)


def test_what_writers_were_promised_survives_faults(run: Run) -> None:
    results = run("datanodes", "10")
    assert sum(results[0]["figures"]["operations"].values()) > 200
    assert results[0]["figures"]["faults"] > 2
    assert results[0]["figures"]["compared"] > 5


@pytest.mark.req("FS-055", "FS-056", "FS-063", "FS-070", "LM-012")
def test_what_writers_were_promised_survives_faults_of_a_highly_available_cluster(run: Run) -> None:
    results = run("highly-available", "10")
    assert sum(results[0]["figures"]["operations"].values()) > 200
    assert results[0]["figures"]["answers"] > 500


@pytest.mark.req("AP-022", "AP-025", "AP-047", "AP-048", "FS-125", "FS-126", "FS-127", "FS-128")
@pytest.mark.req("FS-131", "FS-156", "LM-062", "OS-151")
def test_whoever_takes_a_file_over_finds_what_was_promised_before(run: Run) -> None:
    """In these worlds machines lose their power."""
    results = run("takeovers", "7-9")
    figures = [result["figures"] for result in results]
    assert sum(each["openings"] for each in figures) > 15
    assert sum(each["counts"]["disasters"] for each in figures) > 10
    assert sum(each["power_losses"] for each in figures) > 2
    # What was promised was looked for on disks, and in pipelines, all the time.
    assert all(each["looks"] > 300 for each in figures)
    assert sum(each["pipelines"] for each in figures) > 50


@pytest.mark.req("OS-082", "OS-090")
def test_no_order_of_things_alone_makes_anything_fail(run: Run) -> None:
    (result,) = run("nothing-fails", "2")
    assert result["figures"]["faults"] == 0
    assert sum(result["figures"]["operations"].values()) > 200


@pytest.mark.req("FS-127", "FS-131", "OS-082")
def test_nobody_notices_that_one_datanode_fails(run: Run) -> None:
    (result,) = run("nothing-fails", "1")
    assert result["figures"]["faults"] == 1
    assert sum(result["figures"]["operations"].values()) > 200


def test_every_way_to_read_brings_the_bytes_of_the_file(run: Run) -> None:
    (result,) = run("reading", "1")
    ways = {"whole", "in parts", "anywhere", "into a buffer", "without copying", "ranges"}
    assert all(result["figures"]["counts"][way] > 5 for way in ways)


def test_what_writers_were_promised_survives_faults_of_a_secured_cluster(run: Run) -> None:
    (result,) = run("secured", "3")
    assert sum(result["figures"]["operations"].values()) > 200
    assert result["figures"]["faults"] > 5


FOUND: Final = [
    # A datanode that kept a state from before an upgrade left its trash alone.
    ("upgrades", "2"),
    # A replica in excess had missed an append, and counted again when there were too few.
    ("replication", "123"),
]


@pytest.mark.torture
@pytest.mark.timeout(_TIMEOUT_S)
@pytest.mark.parametrize(("scenario", "seed"), FOUND)
def test_worlds_that_found_a_fault(run: Run, scenario: str, seed: str) -> None:
    """Seeds belong to a commit: what they found has tests of its own."""
    run(scenario, seed)


@pytest.mark.torture
@pytest.mark.timeout(_TIMEOUT_S)
@pytest.mark.parametrize(
    ("scenario", "count"),
    [
        ("rpc", 50),
        ("namenode", 100),
        ("datanodes", 60),
        ("highly-available", 40),
        ("administered", 20),
        ("observers", 20),
        ("rivals", 20),
        ("federation", 20),
        ("striped", 10),
        ("striped-kills", 20),
        ("recoveries", 40),
        ("failovers", 40),
        ("replication", 40),
        ("lost-messages", 20),
        ("late-journal-nodes", 10),
        ("striped-losses", 10),
        ("webhdfs", 20),
        ("nothing-fails", 20),
        ("takeovers", 100),
        ("reading", 10),
        ("placing", 10),
        ("upgrades", 10),
        ("operated", 10),
        ("operated-by-hand", 10),
        ("routed", 10),
        ("secured", 40),
        ("resources", 4),
    ],
)
def test_many_seeds(run: Run, scenario: str, count: int) -> None:
    assert len(run(scenario, f"100-{99 + times(count)}")) == times(count)
