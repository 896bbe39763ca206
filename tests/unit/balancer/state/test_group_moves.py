"""Internal blocks of groups: no two of them on a datanode, and on no rack more than before."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.balancer.state.iteration import Iteration, Limits, ListBlocks, Move, RecentMoves
from howdah.balancer.state.matching import Task
from howdah.balancer.state.nodes import (
    BlockPlaces,
    FileBlocks,
    Group,
    GroupKey,
    NodeReport,
    StorageFigures,
    internal_blocks,
)
from howdah.balancer.state.satisfier_queue import (
    AskForMark,
    Cluster,
    Facts,
    List,
    Look,
    SatisfierWork,
    Unmark,
)
from howdah.balancer.state.satisfier_queue import Limits as QueueLimits
from howdah.balancer.state.violations import repairs, wanted_policy
from howdah.protocol.data_transfer.blocks import DatanodeAddress, StorageType

DISK, SSD = StorageType.DISK, StorageType.SSD
GROUP_ID = -(1 << 63) + 16
LENGTH = 10


def group(number: int, kind: StorageType = DISK, rack: str = "/r", room: int = 1000) -> Group:
    node = DatanodeAddress(f"10.0.0.{number}", f"dn{number}", f"uuid-{number}", 9866)
    return Group(node, rack, kind, 0.0, room)


def parts(places: Sequence[Group], group_id: int = GROUP_ID) -> list[BlockPlaces]:
    """A group with one internal block at each of the places."""
    members = [(index, place.key) for index, place in enumerate(places)]
    return list(internal_blocks(group_id, 1001, members, dict.fromkeys(range(16), LENGTH)))


class Bench:
    """An iteration that is to bring bytes from some nodes to others."""

    def __init__(self, sources: Sequence[Group], targets: Sequence[Group], *others: Group) -> None:
        groups = [*sources, *targets, *others]
        self.subject = Iteration(
            [Task(source, target, 500) for source in sources for target in targets],
            groups,
            {each.node.uuid: each.rack for each in groups},
            Limits(),
            RecentMoves(1000),
            0,
        )

    def moves(self, *blocks: BlockPlaces) -> list[Move]:
        begun: list[Move] = []
        while True:
            actions = self.subject.next(0)
            begun += [action for action in actions if isinstance(action, Move)]
            listings = [action for action in actions if isinstance(action, ListBlocks)]
            if not listings:
                return begun
            for asked in listings:
                held = [block for block in blocks if asked.source.key in block.places]
                self.subject.listed(asked.source, held, 0)


def test_an_internal_block_goes_by_its_own_id_and_from_its_own_holder() -> None:
    places = [group(n) for n in range(3)]
    (move,) = Bench(places[1:2], [group(9)], *places).moves(*parts(places))
    assert move.block.block_id == GROUP_ID + 1
    assert move.block.length_bytes == LENGTH
    assert move.proxy == places[1].node


def test_a_datanode_with_another_internal_block_gets_none() -> None:
    places = [group(n) for n in range(3)]
    assert Bench(places[:1], [places[2]], *places).moves(*parts(places)) == []


def test_of_a_group_one_internal_block_moves_at_a_time() -> None:
    places = [group(n) for n in range(5)]
    other = parts(places, GROUP_ID + 16)
    moves = Bench(places[:3], [group(8)], *places).moves(*parts(places), *other)
    assert sorted(move.block.moved_as for move in moves) == [GROUP_ID, GROUP_ID + 16]


@pytest.mark.parametrize(
    ("racks", "target", "may"),
    [
        ("aabbc", "c", True),
        ("aabbc", "b", False),
        ("aabbc", "a", True),
        ("abcde", "b", False),
        ("abcde", "f", True),
        ("aaabbbccc", "b", False),
        ("aaabbbccc", "a", True),
        ("aaaabbccc", "b", True),
    ],
)
@pytest.mark.req("FS-144")
def test_no_rack_gets_more_of_a_group_than_its_share(racks: str, target: str, may: bool) -> None:
    """The first place is the source."""
    places = [group(n, rack=f"/{rack}") for n, rack in enumerate(racks)]
    moves = Bench(places[:1], [group(20, rack=f"/{target}")], *places).moves(*parts(places))
    assert bool(moves) is may


def rack_counts(nodes: Sequence[str], racks: dict[str, str]) -> Counter[str]:
    return Counter(racks[uuid] for uuid in nodes)


@given(
    racks=st.lists(st.sampled_from(["/a", "/b", "/c", "/d"]), min_size=3, max_size=14),
    count=st.integers(2, 9),
    data=st.data(),
)
def test_all_internal_blocks_come_to_their_type_one_on_a_datanode(
    racks: list[str], count: int, data: st.DataObject
) -> None:
    groups = {
        each.key: each
        for number, rack in enumerate(racks)
        for kind in data.draw(st.sets(st.sampled_from([DISK, SSD]), min_size=1))
        for each in [group(number, kind, rack, data.draw(st.sampled_from([5, 15, 40])))]
    }
    by_node: dict[str, Group] = {}
    for each in groups.values():
        by_node.setdefault(each.node.uuid, each)
    places = data.draw(st.permutations(list(by_node.values())))[:count]
    rack_of = {each.node.uuid: each.rack for each in groups.values()}
    room = {key: each.most_bytes for key, each in groups.items()}
    where: dict[int, GroupKey] = {i: place.key for i, place in enumerate(places)}
    seen = {uuid for uuid, _ in where.values()}
    before = rack_counts([uuid for uuid, _ in where.values()], rack_of)
    unplaced = 0
    for needed in repairs(parts(places), [SSD], groups, rack_of, room):
        unplaced += needed.unplaced
        for move in needed.moves:
            index = move.block.block_id & 15
            assert where[index] == move.source.key
            if move.target.node.uuid != move.source.node.uuid:
                assert move.target.node.uuid not in seen, "beside another one, or one that goes"
            seen.add(move.target.node.uuid)
            where[index] = move.target.key
    assert len({uuid for uuid, _ in where.values()}) == len(places)
    assert sum(kind is not SSD for _, kind in where.values()) == unplaced
    after = rack_counts([uuid for uuid, _ in where.values()], rack_of)
    share = -(-len(places) // len(set(racks)))
    assert len(after) >= len(before)
    assert max(after.values()) <= max(share, *before.values())
    assert all(left >= 0 for left in room.values())


@pytest.mark.parametrize(
    ("policy_id", "is_striped", "wanted"),
    [
        (0, False, 7),
        (None, False, 7),
        (10, False, 10),
        (0, True, None),
        (10, True, None),
        (7, True, 7),
        (2, True, 2),
        (12, True, 12),
    ],
)
def test_few_storage_policies_count_for_files_in_stripes(
    policy_id: int | None, is_striped: bool, wanted: int | None
) -> None:
    assert wanted_policy(policy_id, is_striped=is_striped) == wanted


# --- the satisfier ---


def cluster(count: int, *kinds: StorageType) -> Cluster:
    return Cluster(
        NodeReport(
            group(number).node,
            "/r",
            tuple(StorageFigures(kind, 2000, 0, 1000, 0) for kind in kinds),
        )
        for number in range(count)
    )


def with_file() -> SatisfierWork:
    work = SatisfierWork(QueueLimits())
    assert work.next(0) == AskForMark()
    assert work.marked(1)
    assert isinstance(work.next(0), List)
    work.add_file(7, "/seven", 0)
    work.listed()
    assert work.next(0) == Look(7, "/seven")
    return work


def test_while_one_of_a_group_moves_no_other_begins() -> None:
    work, nodes = with_file(), cluster(8, DISK, SSD)
    places = [group(n) for n in range(3)]
    facts = Facts(FileBlocks(tuple(parts(places)), is_striped=True), 1, (SSD,))
    moves = work.judge(7, facts, nodes, 0).moves
    assert [move.block.block_id - GROUP_ID for move in moves] == [0, 1, 2]
    for move in moves[1:]:
        work.ended(move, is_success=False, now_ms=1)
    assert work.judge(7, facts, nodes, 1).moves == ()
    work.ended(moves[0], is_success=True, now_ms=2)
    assert len(work.judge(7, facts, nodes, 2).moves) == 3


@pytest.mark.parametrize("lacks_parts", [True, False])
def test_a_file_whose_group_lacks_internal_blocks_is_not_done(lacks_parts: bool) -> None:
    work, places = with_file(), [group(n, SSD) for n in range(3)]
    file = FileBlocks(tuple(parts(places)), is_striped=True, lacks_parts=lacks_parts)
    assert work.judge(7, Facts(file, 1, (SSD,)), cluster(4, SSD), 0).moves == ()
    assert work.next(0) == (AskForMark() if lacks_parts else Unmark(1))


def test_a_policy_that_means_nothing_for_groups_is_said() -> None:
    work = with_file()
    file = FileBlocks(tuple(parts([group(0), group(1)])), is_striped=True)
    judged = work.judge(7, Facts(file, 1, None), cluster(3, SSD), 0)
    assert "erasure coded" in judged.line
    assert judged.moves == ()
    assert work.next(0) == Unmark(1)


def test_random_balancing_of_groups_keeps_their_spread() -> None:
    """Every source wants to give everything to every target, at once."""
    for seed in range(200):
        dice = random.Random(seed)
        nodes = [group(n, rack=f"/r{dice.randrange(4)}") for n in range(dice.randint(6, 14))]
        racks = {node.node.uuid: node.rack for node in nodes}
        half = len(nodes) // 2
        blocks = []
        where: dict[int, dict[int, str]] = {}
        for number in range(12):
            places = dice.sample(nodes, min(len(nodes), dice.choice((3, 5, 9))))
            group_id = GROUP_ID + 16 * number
            blocks += parts(places, group_id)
            where[group_id] = {i: place.node.uuid for i, place in enumerate(places)}
        old = {group_id: rack_counts([*at.values()], racks) for group_id, at in where.items()}
        for move in Bench(nodes[:half], nodes[half:]).moves(*blocks):
            at = where[move.block.moved_as]
            assert at[move.block.block_id & 15] == move.source.node.uuid == move.proxy.uuid
            at[move.block.block_id & 15] = move.target.node.uuid
        for group_id, at in where.items():
            assert len(set(at.values())) == len(at)
            new, share = rack_counts([*at.values()], racks), -(-len(at) // len(set(racks.values())))
            assert len(new) >= len(old[group_id])
            assert max(new.values()) <= max(share, *old[group_id].values())
