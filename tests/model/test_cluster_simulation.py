"""The write path as a whole, under whatever the strategy and the dice can dream up.

Client pipeline, namenode core and datanode rules together (`howdah.testing.simulator`):
packets, acks, deaths, frozen machines, broken and silent networks, lost power, failing
disks, leases that run out, writers that take over from each other, a namenode that is
killed; in any order. A run that fails says its seed: `run(seed, plan)` does it again.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah.testing.simulator.cluster import (
    AMNESIA,
    CALM,
    ONE_FAILS,
    POWER,
    TAKEOVERS,
    Plan,
    Simulation,
)

PLANS = {
    "calm": CALM,
    "one fails": ONE_FAILS,
    "all fails": Plan(),
    "power": POWER,
    "takeovers": TAKEOVERS,
    "amnesia": AMNESIA,
}
TRACE_LINES = 60


class Dice:
    """Choices by a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def below(self, count: int) -> int:
        return self._random.randrange(count)


class Drawn:
    """Choices by Hypothesis, as far as it wants to choose; the tamest ones from then on."""

    def __init__(self, choices: list[int]) -> None:
        self._choices = iter(choices)

    def below(self, count: int) -> int:
        # The tamest is 0 in both: the strategy tends to it as it looks for a short story.
        return next(self._choices, 0) % count


def finish(simulation: Simulation, steps: int, told: str) -> Simulation:
    """Run, heal and check; what happened, if it fails."""
    try:
        simulation.run(steps)
        simulation.heal()
    except Exception as failure:
        story = "\n".join(simulation.world.trace[-TRACE_LINES:])
        raise AssertionError(f"{told}: {failure}\n{story}") from failure
    return simulation


def run(seed: int, plan: Plan, steps: int = 600) -> Simulation:
    return finish(Simulation(Dice(seed), plan), steps, f"seed {seed}")


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
    total = run_all(range(60), PLANS[name])
    # The runs are about something: it all happened, and writers and readers got on.
    for what in ("kill", "freeze", "cut", "kill_writer", "kill_namenode", "announce", "disk"):
        assert total[what] > 0
    assert total["power"] > 0 or name != "power"
    assert min(total["flushes"], total["syncs"], total["closes"], total["reads"]) > 10


@pytest.mark.req("AP-022", "AP-025", "AP-047", "AP-048", "FS-156")
@pytest.mark.parametrize("name", ["takeovers", "amnesia"])
def test_whoever_takes_a_file_over_finds_what_was_promised_before(name: str) -> None:
    total = run_all(range(40), PLANS[name], 900)
    assert total["disaster"] > 40
    assert min(total["flushes"], total["closes"], total["reads"]) > 10


@pytest.mark.req("FS-127", "FS-131")
def test_nobody_notices_that_one_datanode_fails() -> None:
    total = run_all(range(100), ONE_FAILS, 400)
    assert total["kill"] > 10
    assert total["failed_writers"] == total["failed_reads"] == 0


@pytest.mark.req("OS-082", "OS-090")
def test_no_order_of_things_alone_makes_anything_fail() -> None:
    total = run_all(range(60), CALM, 400)
    assert total["reads"] > 100
    assert total["failed_writers"] == total["failed_reads"] == 0


def test_a_seed_tells_the_whole_story() -> None:
    assert run(7, POWER).world.trace == run(7, POWER).world.trace
    assert run(7, POWER).world.trace != run(8, POWER).world.trace


@pytest.mark.req("AP-047", "AP-048", "FS-131", "FS-156", "LM-062")
@given(
    choices=st.lists(st.integers(0, 999), min_size=100, max_size=600),
    plan=st.sampled_from((Plan(), POWER, TAKEOVERS, AMNESIA)),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_strategy_finds_a_history_that_breaks_a_promise(choices: list[int], plan: Plan) -> None:
    finish(Simulation(Drawn(choices), plan), 400, "these choices")


@pytest.mark.torture
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", sorted(PLANS))
def test_long_histories(name: str) -> None:
    run_all(range(1000, 2000), PLANS[name], 1000)


@pytest.mark.torture
@pytest.mark.timeout(3600)
@given(
    choices=st.lists(st.integers(0, 999), min_size=200, max_size=3000),
    plan=st.sampled_from((Plan(), POWER, TAKEOVERS, AMNESIA)),
)
@settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_strategy_finds_one_in_a_long_time(choices: list[int], plan: Plan) -> None:
    finish(Simulation(Drawn(choices), plan), 1500, "these choices")
