"""The pure planner over random clusters: it comes to an end, and breaks no rule on the way."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from howdah.balancer.iteration import Iteration, Limits, ListBlocks, Move, RecentMoves
from howdah.balancer.nodes import (
    BlockPlaces,
    Group,
    GroupKey,
    NodeReport,
    StorageFigures,
)
from howdah.balancer.pairing import pair
from howdah.balancer.rounds import Result, Rounds, Status
from howdah.balancer.utilization import Rules, survey
from howdah.transfer.blocks import DatanodeAddress, StorageType

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
