"""The write path as a whole, under whatever the strategy and the dice can dream up.

Client pipeline, namesystem and datanode rules together (`howdah.testing.simulator`):
packets, acks, deaths, frozen machines, broken and silent networks, lost power, failing
disks, leases that run out, writers that take over from each other, a namenode that is
killed, or two that take over from each other; in any order. A run that fails says its
seed: `python -m howdah.testing.simulator.seeds --plan PLAN --seeds SEED` does it again.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah.formats.edits.codec import decode_record
from howdah.formats.edits.edits import AddOp, AppendOp
from howdah.testing.simulator.cluster import Simulation
from howdah.testing.simulator.fault_rates import (
    AMNESIA,
    CALM,
    FAILOVER,
    ONE_FAILS,
    POWER,
    TAKEOVERS,
    Plan,
)
from howdah.testing.simulator.history import Violation
from howdah.testing.simulator.namenode import Namenode
from howdah.testing.simulator.seeds import PLANS, Dice, finish, run, run_many, seeds_of
from tests.support.torture import times

SEEDS = seeds_of(os.environ.get("HOWDAH_SEEDS") or f"1000-{1000 + times(200)}")
PROCESSES = int(os.environ.get("HOWDAH_PROCESSES", "1"))
FOUND = (
    # A damaged final replica beat whole ones in recovery, could not be set, and so for ever.
    ("amnesia", 1663),
    # The only replica had been reported as damaged: nobody was asked how long the block is.
    ("amnesia", 3215),
    # Final replicas whose meta files a power cut had taken were datanodes that don't answer.
    ("power", 2551),
    ("power", 2567),
    # Of two syncs the namenode forgot the longer one, and recovery took replicas without it.
    ("amnesia", 2600),
    # Copies of what was synced were on no disk, and took the place of replicas that were.
    ("amnesia", 342),
    # The checker took for decided what was not in the log yet when the namenode was killed.
    ("amnesia", 2557),
    ("amnesia", 3149),
    ("power", 1359),
    # A crash between two edits kept a file open for its writer without the block that it wrote.
    ("power", 1456),
    # A replica that had fallen out of the pipeline was asked for, in vain, for ever.
    ("power", 2094),
    ("power", 2787),
    ("power", 11182),
    ("power", 12387),
    ("power", 14860),
    ("power", 16203),
    # Orders to delete replicas, one lost and one for none, kept two datanodes from taking copies.
    ("power", 8873),
    # The registration of a process that had died came behind the report of the next one.
    ("power", 10199),
    # The checker took replicas for good that a new pipeline, which lost its power, made stale.
    ("power", 8991),
    # The checker took copies that ended early for replicas: an older one came after a newer one.
    ("takeovers", 3405),
)
"""Histories of 1,000 steps that failed once, and why."""


class Drawn:
    """Choices by Hypothesis, as far as it wants to choose; the tamest ones from then on."""

    def __init__(self, choices: list[int]) -> None:
        self._choices = iter(choices)

    def below(self, count: int) -> int:
        # The tamest is 0 in both: the strategy tends to it as it looks for a short story.
        return next(self._choices, 0) % count


def run_all(seeds: range, plan: Plan, steps: int = 600) -> Counter[str]:
    """What came of the runs, taken together."""
    total: Counter[str] = Counter()
    for seed in seeds:
        counts = run(seed, plan, steps).counts
        total.update(counts.faults)
        for name in ("flushes", "syncs", "closes", "reads", "failed_reads", "failed_writers"):
            total[name] += getattr(counts, name)
    return total


@pytest.mark.req("AP-022", "AP-025", "AP-047", "AP-048", "FS-125", "FS-126", "FS-127", "FS-128")
@pytest.mark.req("FS-156", "OS-151", "LM-062")
@pytest.mark.parametrize("name", ["all fails", "power"])
def test_what_was_promised_outlives_any_history(name: str) -> None:
    total = run_all(range(30), PLANS[name])
    # The runs are about something: it all happened, and writers and readers got on.
    for what in ("kill", "freeze", "cut", "kill_writer", "kill_namenode", "announce", "disk"):
        assert total[what] > 0
    assert total["power"] > 0 or name != "power"
    assert min(total["flushes"], total["syncs"], total["closes"], total["reads"]) > 10


@pytest.mark.req("AP-022", "AP-025", "AP-047", "AP-048", "FS-156")
@pytest.mark.parametrize("name", ["takeovers", "amnesia"])
def test_whoever_takes_a_file_over_finds_what_was_promised_before(name: str) -> None:
    total = run_all(range(20), PLANS[name], 900)
    assert total["disaster"] > 20
    assert min(total["flushes"], total["closes"], total["reads"]) > 10


@pytest.mark.req("FS-055", "FS-056", "FS-063", "FS-070", "LM-012")
def test_what_was_promised_outlives_any_failover() -> None:
    total = run_all(range(20), FAILOVER, 900)
    for what in ("take_over", "hand_over", "elect", "freeze_namenode", "end_stale", "replicate"):
        assert total[what] > 0
    assert min(total["flushes"], total["closes"], total["reads"]) > 10


@pytest.mark.req("FS-127", "FS-131")
def test_nobody_notices_that_one_datanode_fails() -> None:
    total = run_all(range(50), ONE_FAILS, 400)
    assert total["kill"] > 10
    assert total["failed_writers"] == total["failed_reads"] == 0


@pytest.mark.req("OS-082", "OS-090")
def test_no_order_of_things_alone_makes_anything_fail() -> None:
    total = run_all(range(30), CALM, 400)
    assert total["reads"] > 50
    assert total["failed_writers"] == total["failed_reads"] == 0


def test_a_seed_tells_the_whole_story() -> None:
    assert run(7, POWER, 600).world.trace == run(7, POWER, 600).world.trace
    assert run(7, POWER, 600).world.trace != run(8, POWER, 600).world.trace


def test_nothing_is_a_promise_before_it_is_in_the_log_for_good() -> None:
    simulation = Simulation(Dice(1663), AMNESIA)
    behind = 0
    for _ in range(300):
        simulation.step()
        namenode = simulation.namenode
        assert isinstance(namenode, Namenode)
        edits = [decode_record(record).edit for record in namenode.inner.log]
        opened = [isinstance(edit, AddOp | AppendOp) for edit in edits]
        assert len(namenode.history.openings) <= sum(opened[: namenode.durable])
        behind += not namenode.is_durable
    assert behind > 3


def test_seeds_are_run_in_batches_and_each_that_fails_is_told() -> None:
    batches = list(run_many("calm", range(3, 6), 50))
    assert [(batch.seeds, batch.failures) for batch in batches] == [(range(3, 6), {})]
    assert (seeds_of("1359"), seeds_of("0-20000")) == (range(1359, 1360), range(20000))


def test_a_history_that_fails_is_told_with_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def heal(simulation: Simulation) -> None:
        raise Violation("a promise was broken")

    monkeypatch.setattr(Simulation, "heal", heal)
    (batch,) = run_many("calm", range(3, 4), 50)
    first, *story = batch.failures[3].splitlines()
    assert first == "seed 3: a promise was broken"
    assert 0 < len(story) <= 60


@pytest.mark.req("AP-047", "AP-048", "FS-131", "FS-156", "LM-062")
@given(
    choices=st.lists(st.integers(0, 999), min_size=100, max_size=600),
    plan=st.sampled_from((Plan(), POWER, TAKEOVERS, AMNESIA, FAILOVER)),
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_strategy_finds_a_history_that_breaks_a_promise(choices: list[int], plan: Plan) -> None:
    finish(Simulation(Drawn(choices), plan), 400, "these choices")


@pytest.mark.req("AP-022", "AP-025", "AP-047", "AP-048", "FS-156")
@pytest.mark.parametrize(("name", "seed"), FOUND)
def test_a_history_that_failed_once_keeps_its_promises(name: str, seed: int) -> None:
    run(seed, PLANS[name], 1000)


@pytest.mark.torture
@pytest.mark.timeout(6 * 3600)
@pytest.mark.parametrize("name", sorted(PLANS))
def test_long_histories(name: str) -> None:
    """HOWDAH_SEEDS=0-20000 are more of them, spread over HOWDAH_PROCESSES."""
    failures = {}
    for batch in run_many(name, SEEDS, 1000, PROCESSES):
        failures.update(batch.failures)
    assert not failures, (
        f"seeds {sorted(failures)} fail; the first: {next(iter(failures.values()))}"
    )


@pytest.mark.torture
@pytest.mark.timeout(3600)
@given(
    choices=st.lists(st.integers(0, 999), min_size=200, max_size=3000),
    plan=st.sampled_from((Plan(), POWER, TAKEOVERS, AMNESIA, FAILOVER)),
)
@settings(max_examples=times(200), deadline=None, suppress_health_check=list(HealthCheck))
def test_no_strategy_finds_one_in_a_long_time(choices: list[int], plan: Plan) -> None:
    finish(Simulation(Drawn(choices), plan), 1500, "these choices")
