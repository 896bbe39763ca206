"""The pure planner over random clusters: it comes to an end, and breaks no rule on the way."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from howdah.balancer.state.iteration import Iteration, Limits, ListBlocks, Move, RecentMoves
from howdah.balancer.state.matching import pair
from howdah.balancer.state.nodes import (
    BlockPlaces,
    Group,
    GroupKey,
    NodeLists,
    NodeReport,
    StorageFigures,
)
from howdah.balancer.state.termination import Result, Rounds, Status
from howdah.balancer.state.utilization import Policy, Rules, survey
from howdah.protocol.data_transfer.blocks import DatanodeAddress, StorageType

CAPACITY = 1000


def address(number: int) -> DatanodeAddress:
    return DatanodeAddress(f"10.0.0.{number}", f"dn{number}", f"uuid-{number}", 9866)


@dataclass
class World:
    """Datanodes with replicas, and a namenode that follows the hints of moves."""

    racks: dict[str, str]
    capacities: dict[GroupKey, int]
    blocks: dict[int, tuple[int, set[GroupKey]]]
    """Length, and places."""
    dice: random.Random
    failures: float = 0.0

    def used(self, key: GroupKey) -> int:
        return sum(length for length, places in self.blocks.values() if key in places)

    def reports(self) -> list[NodeReport]:
        reports = []
        for number, (uuid, rack) in enumerate(self.racks.items()):
            storages = tuple(
                StorageFigures(
                    kind,
                    capacity,
                    self.used(key),
                    max(capacity - self.used(key), 0),
                    self.used(key),
                )
                for key, capacity in self.capacities.items()
                for kind in (key[1],)
                if key[0] == uuid
            )
            reports.append(NodeReport(address(number), rack, storages))
        return reports

    def list(self, source: Group, size_bytes: int) -> list[BlockPlaces]:
        held = [item for item in self.blocks.items() if source.key in item[1][1]]
        self.dice.shuffle(held)
        listed: list[BlockPlaces] = []
        for block_id, (length, places) in held:
            if size_bytes <= 0:
                break
            size_bytes -= length
            listed.append(BlockPlaces(block_id, 1001, length, tuple(sorted(places))))
        return listed

    def racks_of(self, places: set[GroupKey]) -> set[str]:
        return {self.racks[uuid] for uuid, _ in places}

    def carry_out(self, move: Move) -> bool:
        """A move, held against the rules. False where it fails."""
        length, places = self.blocks[move.block.block_id]
        assert move.source.key in places, "a source without the replica"
        assert (move.proxy.uuid, move.target.storage_type) in places, "a proxy without the replica"
        assert move.source.storage_type is move.target.storage_type
        if self.dice.random() < self.failures:
            return False
        after = places - {move.source.key} | {move.target.key}
        assert len({uuid for uuid, _ in after}) == len(places), "two replicas on a node"
        assert len(self.racks_of(after)) >= len(self.racks_of(places)), "fewer racks"
        self.blocks[move.block.block_id] = length, after
        return True


def balance(world: World, rules: Rules, limits: Limits, max_idle: int = 3) -> Result:
    """As `running` does it, with a clock that only goes where somebody waits."""
    rounds = Rounds(max_idle)
    now_ms = 0
    while True:
        # Between two iterations the namenode has deleted what was in excess.
        recent = RecentMoves(1)
        overview = survey(world.reports(), rules)
        result = rounds.surveyed(overview.left_bytes, is_upgrading=False)
        if result is not None:
            return result
        tasks = pair(overview, world.dice)
        iteration = Iteration(tasks, overview.groups, world.racks, limits, recent, now_ms)
        result = rounds.paired(overview.left_bytes, iteration.planned_bytes)
        if result is not None:
            return result
        running: list[Move] = []
        listings: list[ListBlocks] = []
        while not iteration.is_over(now_ms):
            for action in iteration.next(now_ms):
                if isinstance(action, Move):
                    running.append(action)
                else:
                    listings.append(action)
            check_load(running, iteration, limits)
            if not running and not listings:
                now_ms += 1000
                continue
            which = world.dice.randrange(len(running) + len(listings))
            if which < len(running):
                move = running.pop(which)
                iteration.ended(move, is_success=world.carry_out(move), now_ms=now_ms)
            else:
                asked = listings.pop(which - len(running))
                iteration.listed(asked.source, world.list(asked.source, asked.size_bytes), now_ms)
        result = rounds.moved(
            overview.left_bytes,
            iteration.planned_bytes,
            iteration.moved_bytes,
            iteration.moved_blocks,
        )
        if result.status is not Status.IN_PROGRESS:
            return result
        assert result.number < 1000, "it comes to no end"


def check_load(running: list[Move], iteration: Iteration, limits: Limits) -> None:
    assert iteration.running == len(running) <= limits.moves
    for uuid in {move.target.node.uuid for move in running} | {m.proxy.uuid for m in running}:
        load = sum(uuid in (move.target.node.uuid, move.proxy.uuid) for move in running)
        assert load <= limits.moves_per_node
    ids = [move.block.block_id for move in running]
    assert len(ids) == len(set(ids)), "a block moves twice at once"


@st.composite
def worlds(draw: st.DrawFn) -> World:
    count = draw(st.integers(2, 8))
    racks = {f"uuid-{n}": f"/r{draw(st.integers(0, 3))}" for n in range(count)}
    kinds = draw(st.sampled_from([(StorageType.DISK,), (StorageType.DISK, StorageType.ARCHIVE)]))
    capacities = {
        (uuid, kind): draw(st.sampled_from([CAPACITY, 2 * CAPACITY]))
        for uuid in racks
        for kind in kinds
    }
    seed = draw(st.integers(0, 1 << 30))
    dice = random.Random(seed)
    world = World(racks, capacities, {}, dice, draw(st.sampled_from([0.0, 0.0, 0.2])))
    room = {key: capacity for key, capacity in capacities.items()}
    weights = [draw(st.integers(0, 10)) for _ in racks]
    for block_id in range(draw(st.integers(0, 120))):
        kind = dice.choice(kinds)
        length = dice.choice((1, 10, 20))
        wanted = min(dice.randint(1, 3), count)
        order = sorted(racks, key=lambda uuid: -weights[int(uuid[5:])] * dice.random())
        places = {(uuid, kind) for uuid in order[:wanted] if room[uuid, kind] >= length}
        if places:
            for key in places:
                room[key] -= length
            world.blocks[block_id] = length, places
    return world


@pytest.mark.req("FS-144", "FS-013")
@settings(max_examples=300, deadline=None, phases=[Phase.generate])
@given(
    worlds(),
    st.sampled_from([1.0, 5.0, 10.0]),
    st.builds(
        Limits,
        moves_per_node=st.integers(1, 5),
        moves=st.integers(1, 12),
        list_bytes=st.sampled_from([30, 1000]),
    ),
)
def test_balancing_ends_and_keeps_the_rules(world: World, threshold: float, limits: Limits) -> None:
    replicas = {block_id: len(places) for block_id, (_, places) in world.blocks.items()}
    rules = Rules(threshold=threshold)
    before = survey(world.reports(), rules).left_bytes
    result = balance(world, rules, limits)
    assert {b: len(places) for b, (_, places) in world.blocks.items()} == replicas
    after = survey(world.reports(), rules)
    assert after.is_balanced == (result.status is Status.SUCCESS)
    assert result.status in (Status.SUCCESS, Status.NO_MOVE_BLOCK, Status.NO_MOVE_PROGRESS)
    if result.moved_blocks == 0:
        assert after.left_bytes == before


# --- single rules ---


def node_report(
    number: int, used: int, capacity: int = CAPACITY, *, rack: str = "/r", **more: Any
) -> NodeReport:
    storage = StorageFigures(StorageType.DISK, capacity, used, capacity - used, used // 2)
    return NodeReport(address(number), rack, (storage,), **more)


def names(groups: Iterable[Group]) -> list[str]:
    return [group.node.uuid for group in groups]


def test_groups_are_sorted_by_their_distance_from_the_mean() -> None:
    reports = [node_report(n, used) for n, used in enumerate([900, 550, 450, 100])]
    overview = survey(reports, Rules(threshold=10))
    assert names(overview.over) == ["uuid-0"]
    assert names(overview.above) == ["uuid-1"]
    assert names(overview.below) == ["uuid-2"]
    assert names(overview.under) == ["uuid-3"]
    assert overview.left_bytes == 300
    assert [group.most_bytes for group in overview.groups] == [400, 50, 50, 400]


def test_a_difference_of_just_the_threshold_is_balanced() -> None:
    overview = survey([node_report(0, 600), node_report(1, 400)], Rules(threshold=10))
    assert overview.is_balanced
    assert not overview.over + overview.under


def test_who_is_not_in_service_or_left_out_counts_for_nothing() -> None:
    reports = [
        node_report(0, 600),
        node_report(1, 400),
        node_report(2, 1000, in_service=False),
        node_report(3, 1000),
    ]
    rules = Rules(lists=NodeLists(excluded=frozenset({"10.0.0.3"})))
    assert survey(reports, rules).is_balanced
    rules = Rules(lists=NodeLists(included=frozenset({"dn0", "dn1:9866"})))
    assert survey(reports, rules).is_balanced
    assert not survey(reports, Rules()).is_balanced


def test_sources_and_targets_may_be_named() -> None:
    reports = [node_report(n, used) for n, used in enumerate([900, 900, 100, 100])]
    rules = Rules(lists=NodeLists(sources=frozenset({"dn0"}), excluded_targets=frozenset({"dn3"})))
    overview = survey(reports, rules)
    assert names(overview.over) == ["uuid-0"]
    assert names(overview.under) == ["uuid-2"]


def test_the_block_pool_may_be_what_is_evened_out() -> None:
    reports = [node_report(0, 1000), node_report(1, 0)]
    overview = survey(reports, Rules(policy=Policy.BLOCKPOOL, threshold=20))
    assert overview.groups[0].utilization == 50.0
    assert overview.left_bytes == 50


def test_only_so_many_of_the_fullest_take_part() -> None:
    reports = [node_report(n, used) for n, used in enumerate([700, 900, 800, 0, 0])]
    overview = survey(reports, Rules(most_over_utilized=2))
    assert names(overview.over) == ["uuid-1", "uuid-2"]
    tasks = pair(overview, random.Random(1), keeps_order=True)
    assert tasks[0].source.node.uuid == "uuid-1"


def test_types_of_storage_are_evened_out_each_for_itself() -> None:
    def both(number: int, disk: int, ssd: int) -> NodeReport:
        storages = tuple(
            StorageFigures(kind, CAPACITY, used, CAPACITY - used, used)
            for kind, used in ((StorageType.DISK, disk), (StorageType.SSD, ssd))
        )
        return NodeReport(address(number), "/r", storages)

    overview = survey([both(0, 900, 100), both(1, 100, 900)], Rules())
    tasks = pair(overview, random.Random(1))
    assert {(t.source.key, t.target.key, t.size_bytes) for t in tasks} == {
        (("uuid-0", StorageType.DISK), ("uuid-1", StorageType.DISK), 400),
        (("uuid-1", StorageType.SSD), ("uuid-0", StorageType.SSD), 400),
    }


def test_memory_is_not_balanced() -> None:
    storage = StorageFigures(StorageType.RAM_DISK, CAPACITY, CAPACITY, 0, CAPACITY)
    reports = [NodeReport(address(0), "/r", (storage,)), node_report(1, 0)]
    assert survey(reports, Rules()).is_balanced


def test_pairs_within_a_rack_come_first() -> None:
    reports = [
        node_report(0, 900, rack="/a"),
        node_report(1, 100, rack="/b"),
        node_report(2, 100, rack="/a"),
        node_report(3, 900, rack="/b"),
    ]
    for seed in range(20):
        tasks = pair(survey(reports, Rules()), random.Random(seed))
        assert {(t.source.node.uuid, t.target.node.uuid) for t in tasks} == {
            ("uuid-0", "uuid-2"),
            ("uuid-3", "uuid-1"),
        }


def test_a_target_takes_no_more_than_it_has_room_for() -> None:
    full = StorageFigures(StorageType.DISK, CAPACITY, 0, 30, 0)
    reports = [node_report(0, 900), NodeReport(address(1), "/r", (full,))]
    (task,) = pair(survey(reports, Rules()), random.Random(1))
    assert task.size_bytes == 30


# --- one iteration ---


class Bench:
    """Two datanodes, or more, and an iteration between the first and the second."""

    def __init__(self, *used: int, racks: tuple[str, ...] = (), **limits: int) -> None:
        reports = [node_report(n, u, rack=racks[n] if racks else "/r") for n, u in enumerate(used)]
        overview = survey(reports, Rules())
        self.recent = RecentMoves(1000)
        self.subject = Iteration(
            pair(overview, random.Random(1)),
            overview.groups,
            {report.node.uuid: report.rack for report in reports},
            Limits(**limits),
            self.recent,
            0,
        )

    def begin(self, now_ms: int = 0) -> list[Move]:
        """The moves that begin when the lists that were asked for are there."""
        return [action for action in self.subject.next(now_ms) if isinstance(action, Move)]

    def asked(self, now_ms: int = 0) -> list[ListBlocks]:
        return [a for a in self.subject.next(now_ms) if isinstance(a, ListBlocks)]

    def list(self, source: Group, *blocks: tuple[int, tuple[int, ...]], length: int = 10) -> None:
        self.subject.listed(
            source,
            [
                BlockPlaces(
                    block_id, 1, length, tuple((f"uuid-{n}", StorageType.DISK) for n in places)
                )
                for block_id, places in blocks
            ],
            0,
        )


def test_a_source_asks_for_twice_what_it_is_to_give() -> None:
    bench = Bench(900, 100)
    (asked,) = bench.asked()
    assert (asked.source.node.uuid, asked.size_bytes) == ("uuid-0", 800)
    assert bench.asked() == [], "not twice"


def test_a_block_that_the_target_has_is_not_moved() -> None:
    bench = Bench(900, 100)
    (asked,) = bench.asked()
    bench.list(asked.source, (1, (0, 1)), (2, (0,)), (3, (1,)))
    assert [move.block.block_id for move in bench.begin()] == [2]


@pytest.mark.parametrize(
    ("racks", "places", "moves"),
    [
        (("/a", "/b", "/c"), (0, 2), True),
        (("/a", "/a", "/b"), (0, 2), True),
        (("/a", "/b", "/b"), (0, 2), False),
        (("/a", "/b", "/a"), (0, 2), True),
    ],
)
def test_a_move_never_costs_a_rack(
    racks: tuple[str, ...], places: tuple[int, ...], moves: bool
) -> None:
    bench = Bench(900, 100, 500, racks=racks)
    (asked,) = bench.asked()
    bench.list(asked.source, (1, places))
    assert bool(bench.begin()) is moves


def test_the_proxy_is_one_in_the_targets_rack() -> None:
    bench = Bench(900, 100, 500, 500, racks=("/a", "/b", "/a", "/b"))
    (asked,) = bench.asked()
    bench.list(asked.source, (1, (0, 2, 3)))
    (move,) = bench.begin()
    assert (move.source.node.uuid, move.proxy.uuid) == ("uuid-0", "uuid-3")


def test_a_datanode_takes_part_in_so_many_moves_at_a_time() -> None:
    bench = Bench(900, 100, moves_per_node=2)
    (asked,) = bench.asked()
    bench.list(asked.source, *((n, (0,)) for n in range(10)))
    first, _ = bench.begin()
    assert bench.begin() == []
    bench.subject.ended(first, is_success=True, now_ms=1)
    assert len(bench.begin()) == 1


def test_after_a_failure_both_ends_have_some_peace() -> None:
    bench = Bench(900, 100, moves_per_node=1)
    (asked,) = bench.asked()
    bench.list(asked.source, *((n, (0,)) for n in range(10)))
    (move,) = bench.begin()
    bench.subject.ended(move, is_success=False, now_ms=5)
    assert move.block.block_id not in bench.recent, "it may be tried again"
    assert bench.begin(10_004) == []
    assert len(bench.begin(10_005)) == 1
    assert (bench.subject.moved_blocks, bench.subject.failed_blocks) == (0, 1)


def test_no_move_begins_when_the_time_is_over() -> None:
    bench = Bench(900, 100, iteration_ms=100, moves_per_node=1)
    (asked,) = bench.asked()
    bench.list(asked.source, (1, (0,)), (2, (0,)))
    (move,) = bench.begin()
    assert bench.subject.next(100) == []
    assert not bench.subject.is_over(100), "one is under way"
    bench.subject.ended(move, is_success=True, now_ms=101)
    bench.subject.listing_failed(asked.source, 101)
    assert bench.subject.is_over(101)


def test_a_source_without_blocks_is_done() -> None:
    bench = Bench(900, 100)
    (asked,) = bench.asked()
    assert not bench.subject.is_over(0)
    bench.subject.listing_failed(asked.source, 0)
    assert bench.subject.next(0) == []
    assert bench.subject.is_over(0)


def test_a_block_is_not_moved_twice_in_a_while() -> None:
    recent = RecentMoves(1000)
    recent.add(1, 0)
    recent.add(2, 500)
    recent.forget_old(1000)
    assert 1 not in recent
    assert 2 in recent
    assert len(recent) == 1


def test_a_block_that_would_do_more_harm_than_good_stays() -> None:
    bench = Bench(600, 380)
    (asked,) = bench.asked()
    bench.list(asked.source, (1, (0,)), length=220)
    assert bench.begin() == []
    bench.list(asked.source, (2, (0,)), length=219)
    assert len(bench.begin()) == 1


# --- rounds ---


def test_an_upgrade_stops_it_unless_told_otherwise() -> None:
    result = Rounds().surveyed(5, is_upgrading=True)
    assert result is not None
    assert (result.status, result.status.exit_code) == (Status.UNFINALIZED_UPGRADE, 249)
    assert Rounds(runs_during_upgrade=True).surveyed(5, is_upgrading=True) is None


def test_it_ends_after_some_iterations_that_move_nothing() -> None:
    rounds = Rounds(2)
    outcomes = [rounds.moved(9, 5, moved, 1).status for moved in (0, 5, 0, 0)]
    assert outcomes == [Status.IN_PROGRESS] * 3 + [Status.NO_MOVE_PROGRESS]
    endless = Rounds(-1)
    assert {endless.moved(9, 5, 0, 0).status for _ in range(50)} == {Status.IN_PROGRESS}


def test_without_pairs_there_is_nothing_to_move() -> None:
    rounds = Rounds()
    assert rounds.paired(9, 1) is None
    result = rounds.paired(9, 0)
    assert result == Result(0, Status.NO_MOVE_BLOCK, 9, 0, 0, 0)
