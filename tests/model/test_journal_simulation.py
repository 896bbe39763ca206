"""The edit log on a quorum of journal nodes, under every fault that the dice or a count give.

The writers of `howdah.namenode.journal.quorum` and the acceptors of `howdah.journalnode`, as they
are, in `tests.support.journals`. Always: what a writer recovers is at least what was
acknowledged; there is one history; no two writers serve at the same time.

A run that fails says its seed: `python -m tests.support.journals.seeds --plan PLAN
--seeds SEED` does it again. HOWDAH_SEEDS=0-20000 are other seeds, also in ./dev test.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product

import pytest

from howdah.journalnode.state.acceptor import Acceptor
from howdah.namenode.state.quorum import recovery
from howdah.namenode.state.quorum.messages import Prepared, Request, StartSegment
from howdah.namenode.state.quorum.quorum import QuorumCall
from tests.support.journals import seeds
from tests.support.journals.history import Violation
from tests.support.journals.node import Crashes
from tests.support.journals.world import NONE, PLANS, Process, World
from tests.support.torture import times

SEEDS = seeds.seeds_of(os.environ.get("HOWDAH_SEEDS", "0-250"))
MANY_SEEDS = seeds.seeds_of(os.environ.get("HOWDAH_SEEDS") or f"0-{times(2500)}")
SEED = int(os.environ.get("HOWDAH_SEED", "1"))
"""Of what the writers write, where the faults are counted and not diced."""
BATCHES = 6


def clean(nodes: int) -> World:
    """A writer, and a second one that takes over, without any fault."""
    world = World(random.Random(SEED), nodes)
    assert world.run_writer(BATCHES).has_finished
    assert world.run_writer(2).has_finished
    return world


def run_with(world: World, what: str) -> World:
    """Writers try until one is not hit by a fault any more; then everything has to be there."""
    try:
        for batches in (BATCHES, 2, 2, 2):
            if world.run_writer(batches).has_finished:
                break
        world.heal()
    except Exception as failure:
        story = [f"HOWDAH_SEED={SEED}, {what}: {failure}", *world.trace]
        raise AssertionError("\n".join(story)) from failure
    return world


def dropped(nodes: int, at: Sequence[str]) -> Iterator[World]:
    """Each pair of requests: the first number is dropped at the last of the nodes `at`, the
    other at all before it; once before and once after a node has done what it is asked."""
    requests = range(1, clean(nodes).sent["jn0"] + 1)
    for first, second, answers in product(requests, requests, (False, True)):
        world = World(random.Random(SEED), nodes)
        world.drops = {name: frozenset([second]) for name in at} | {at[-1]: frozenset([first])}
        world.drops_answers = answers
        yield run_with(world, f"drops {world.drops}, answers: {answers}")


def run_all(some: range, plan: str) -> int:
    """How many edits were promised in all runs."""
    return sum(len(seeds.run(seed, plan).history.log) for seed in some)


@pytest.mark.req("FS-060", "FS-061", "LM-015")
def test_nothing_acknowledged_is_lost_whichever_two_requests_are_dropped() -> None:
    ended_early = sum(world.generations > 2 for world in dropped(3, ["jn0", "jn1"]))
    assert ended_early > 20, "drops end writers"


@pytest.mark.req("FS-060", "FS-061", "LM-015")
def test_nor_of_five_nodes_with_three_that_miss_a_request() -> None:
    assert sum(world.generations > 2 for world in dropped(5, ["jn0", "jn1", "jn2"])) > 20


@pytest.mark.req("FS-060", "FS-061", "FS-071", "LM-015", "LM-016")
@pytest.mark.parametrize("seed", range(SEED, SEED + 4))
@pytest.mark.parametrize("plan", sorted(PLANS))
def test_500_writers_while_nodes_go_up_and_down(plan: str, seed: int) -> None:
    """Of "storm" with probability 0.1 a call. An even seed has three nodes, an odd one five."""
    world = seeds.run(seed, plan, generations=500, steps=200_000)
    assert world.generations == 501
    assert world.history.log, "some of them got on"


@pytest.mark.req("FS-060", "LM-015")
@pytest.mark.parametrize("nodes", [3, 5])
def test_nothing_acknowledged_is_lost_whenever_a_node_dies_before_or_after_a_write(
    nodes: int,
) -> None:
    for at in range(1, clean(nodes).crashes.seen + 1):
        dice = random.Random(SEED)
        run_with(World(dice, nodes, NONE, Crashes(dice, at=at)), f"a crash at write {at}")


@pytest.mark.req("FS-060", "FS-061", "FS-070", "FS-071", "LM-015", "LM-016", "LM-018")
@pytest.mark.parametrize("plan", sorted(PLANS))
def test_what_was_acknowledged_outlives_any_history(plan: str) -> None:
    assert run_all(SEEDS, plan) > 5 * len(SEEDS), "writers got on"


def test_seeds_are_one_or_a_range_without_its_end() -> None:
    assert (seeds.seeds_of("1359"), seeds.seeds_of("0-20000")) == (range(1359, 1360), range(20000))


def test_a_seed_tells_the_whole_story() -> None:
    assert seeds.run(7, "cuts").trace == seeds.run(7, "cuts").trace
    assert seeds.run(7, "cuts").trace != seeds.run(9, "cuts").trace


def drive(world: World, process: Process, until: Callable[[], bool]) -> None:
    for _ in range(200):
        if until():
            return
        assert process.is_alive
        for name in world.names:
            world.send(process, name)
        process.go_on()
        world.check_serving()
    raise AssertionError(f"{process} does not get that far")


def check_wait(world: World, active: Process, last: Process) -> None:
    """`last` takes over from `active`, which sees no node any more, and has a longer lease."""
    drive(world, last, lambda: last.serve_from_ms is not None)
    assert active.serves(world.now_ms)
    assert active.writer.lease_ms > last.writer.lease_ms
    assert not last.serves(world.now_ms)
    world.now_ms = last.serve_from_ms or 0
    drive(world, last, lambda: last.serves(world.now_ms))


@pytest.mark.req("FS-070", "LM-016", "LM-018")
def test_a_takeover_that_fails_does_not_end_the_lease_of_who_served_before() -> None:
    """A second writer gives up when it has recovered the log, and a third one takes over."""
    world = World(random.Random(SEED))
    active = world.begin(100)
    drive(world, active, lambda: active.serves(world.now_ms))
    active.unseen = set(world.names)
    world.faults = replace(NONE, give_up=1.0)
    second = world.begin()
    drive(world, second, lambda: second.has_finished)
    world.faults = NONE
    check_wait(world, active, world.begin(100))


@pytest.mark.req("FS-070", "LM-016", "LM-018")
def test_a_lease_outlives_the_node_that_knew_of_it() -> None:
    """Two nodes know of the active's lease. One loses its disk, the other one is not asked."""
    world = World(random.Random(SEED))
    active = world.begin(100)
    active.unseen = {"jn2"}
    drive(world, active, lambda: active.serves(world.now_ms))
    active.unseen = set(world.names)
    second = world.begin(100)
    second.unseen = {"jn0"}
    drive(world, second, lambda: isinstance(_request(second), StartSegment))
    world.nodes["jn1"].replace([world.nodes["jn0"], world.nodes["jn2"]], world.now_ms)
    drive(world, second, lambda: not world.nodes["jn1"].is_joining)
    second.unseen = set(world.names)
    third = world.begin(100)
    third.unseen = {"jn0"}
    check_wait(world, active, third)


def _request(process: Process) -> Request | None:
    return None if process.waits_for is None else process.waits_for.request


def _ignores_length(prepared: Prepared) -> tuple[int, int, int]:
    return int(prepared.segment is not None), prepared.writer_epoch, 0


def _waits_for_nobody(call: QuorumCall, promises: object, lease_ms: int) -> int:
    return 0


@pytest.mark.parametrize(
    ("name", "wrong", "plan"),
    [("_weight", _ignores_length, "crashes"), ("_serve_from_ms", _waits_for_nobody, "cuts")],
)
def test_the_simulation_finds_a_writer_that_is_wrong(
    name: str, wrong: Callable[..., object], plan: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, name, wrong)
    with pytest.raises(AssertionError, match=rf"{plan}, seed \d+: ") as failure:
        run_all(range(400), plan)
    assert isinstance(failure.value.__cause__, Violation)


def test_the_simulation_finds_that_a_new_node_must_not_vote(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A node in the place of one that lost its disk does not know what that one acknowledged."""
    monkeypatch.setattr(Acceptor, "_check_vote", lambda acceptor: None)
    with pytest.raises(AssertionError, match=r"losses, seed \d+: ") as failure:
        run_all(range(400), "losses")
    assert isinstance(failure.value.__cause__, Violation)


def test_writers_go_on_behind_restarts_of_their_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    original, gone_on = Acceptor._can_reopen, []

    def can_reopen(acceptor: Acceptor, segment_txid: int, first_txid: int) -> bool:
        can = original(acceptor, segment_txid, first_txid)
        gone_on.append(can)
        return can

    monkeypatch.setattr(Acceptor, "_can_reopen", can_reopen)
    run_all(range(40), "restarts")
    assert gone_on.count(True) > 40


@pytest.mark.parametrize(("seed", "plan"), [(18171, "cuts"), (9098, "losses")])
def test_histories_that_failed_once(seed: int, plan: str) -> None:
    seeds.run(seed, plan)


@pytest.mark.torture
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("plan", sorted(PLANS))
def test_long_histories(plan: str) -> None:
    """HOWDAH_TORTURE=10 are 100,000 seeds in all."""
    assert run_all(MANY_SEEDS, plan)


@pytest.mark.torture
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("nodes", [3, 5])
def test_two_requests_are_dropped_at_any_nodes(nodes: int) -> None:
    """As many as may fail, and one more."""
    for at in combinations(clean(nodes).names, nodes // 2 + 1):
        assert sum(world.generations > 2 for world in dropped(nodes, at)) > 20


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_a_node_that_dies_at_any_write_while_another_one_misses_any_request() -> None:
    world = clean(3)
    for at, number in product(range(1, world.crashes.seen + 1), range(1, world.sent["jn0"] + 1)):
        for name in world.names:
            dice = random.Random(SEED)
            hit = World(dice, 3, NONE, Crashes(dice, at=at))
            hit.drops = {name: frozenset([number])}
            run_with(hit, f"a crash at write {at}, drops {hit.drops}")


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_500_writers_of_many_seeds() -> None:
    for seed in range(times(20)):
        seeds.run(seed, "storm", generations=500, steps=200_000)
