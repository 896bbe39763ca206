"""Which replicas a mover moves, and where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.balancer.state.nodes import BlockPlaces, Group, GroupKey
from howdah.balancer.state.violations import Repair, repair, types_for
from howdah.protocol.data_transfer.blocks import DatanodeAddress, StorageType

DISK, SSD, ARCHIVE, RAM = (
    StorageType.DISK,
    StorageType.SSD,
    StorageType.ARCHIVE,
    StorageType.RAM_DISK,
)


def group(number: int, kind: StorageType, rack: str = "/r", room: int = 100) -> Group:
    node = DatanodeAddress(f"10.0.0.{number}", f"dn{number}", f"uuid-{number}", 9866)
    return Group(node, rack, kind, 0.0, room)


def run(
    policy: Sequence[StorageType], present: Sequence[Group], *others: Group, length: int = 10
) -> Repair:
    groups = {each.key: each for each in (*present, *others)}
    return repair(
        BlockPlaces(1, 1001, length, tuple(each.key for each in present)),
        policy,
        groups,
        {each.node.uuid: each.rack for each in groups.values()},
        {key: each.most_bytes for key, each in groups.items()},
    )


def test_the_last_type_of_a_policy_is_for_all_further_replicas() -> None:
    assert types_for([SSD, DISK], 3) == [SSD, DISK, DISK]
    assert types_for([SSD, DISK], 1) == [SSD]
    assert types_for([], 2) == []


def test_what_is_where_it_belongs_stays() -> None:
    assert run([SSD, DISK], [group(0, DISK), group(1, SSD)]) == Repair((), 0)


def test_a_replica_goes_to_another_volume_of_its_datanode_first() -> None:
    here, there = group(0, ARCHIVE, room=10), group(1, ARCHIVE)
    (move,) = run([ARCHIVE], [group(0, DISK)], here, there).moves
    assert (move.target, move.proxy.uuid) == (here, "uuid-0")


def test_else_to_a_datanode_of_its_rack() -> None:
    full, near, far = (
        group(0, ARCHIVE, "/a", 9),
        group(1, ARCHIVE, "/a", 20),
        group(2, ARCHIVE, "/b"),
    )
    (move,) = run([ARCHIVE], [group(0, DISK, "/a")], full, near, far).moves
    assert move.target == near


def test_never_to_one_that_has_a_replica() -> None:
    present = [group(0, DISK), group(1, ARCHIVE)]
    assert run([ARCHIVE], present) == Repair((), 1)


def test_never_where_it_would_cost_a_rack() -> None:
    present = [group(0, DISK, "/a"), group(1, ARCHIVE, "/b")]
    assert run([ARCHIVE], present, group(2, ARCHIVE, "/b")) == Repair((), 1)
    (move,) = run([ARCHIVE], present, group(2, ARCHIVE, "/c")).moves
    assert move.target.node.uuid == "uuid-2"


def test_what_is_in_memory_is_left_to_its_datanode() -> None:
    assert run([RAM, DISK], [group(0, DISK)]) == Repair((), 0)
    assert run([DISK], [group(0, RAM)], group(0, DISK)) == Repair((), 0)


def test_a_policy_that_names_nothing_moves_nothing() -> None:
    assert run([], [group(0, DISK)], group(1, SSD)) == Repair((), 0)


kinds = st.sampled_from([DISK, SSD, ARCHIVE])


@pytest.mark.req("FS-144", "FS-013")
@given(
    policy=st.lists(kinds, min_size=1, max_size=3),
    racks=st.lists(st.sampled_from(["/a", "/b", "/c"]), min_size=1, max_size=6),
    data=st.data(),
)
def test_moves_bring_types_closer_and_keep_nodes_and_racks(
    policy: list[StorageType], racks: list[str], data: st.DataObject
) -> None:
    groups = {
        each.key: each
        for number, rack in enumerate(racks)
        for kind in data.draw(st.sets(kinds, min_size=1))
        for each in [group(number, kind, rack, data.draw(st.sampled_from([5, 15, 40])))]
    }
    by_node: dict[str, list[GroupKey]] = {}
    for key in groups:
        by_node.setdefault(key[0], []).append(key)
    holders = data.draw(st.lists(st.sampled_from(sorted(by_node)), unique=True, max_size=3))
    places = tuple(data.draw(st.sampled_from(by_node[uuid])) for uuid in holders)
    rack_of = {each.node.uuid: each.rack for each in groups.values()}
    room = {key: each.most_bytes for key, each in groups.items()}
    found = repair(BlockPlaces(1, 1, 10, places), policy, groups, rack_of, room)
    after = list(places)
    for move in found.moves:
        after[after.index(move.source.key)] = move.target.key
        assert move.proxy.uuid == move.source.node.uuid
    wanted = Counter(types_for(policy, len(places)))
    wrong = sum((wanted - Counter(kind for _, kind in after)).values())
    assert wrong == found.unplaced
    assert len({uuid for uuid, _ in after}) == len(places)
    assert len({rack_of[uuid] for uuid, _ in after}) >= len({rack_of[u] for u, _ in places})
    assert all(left >= 0 for left in room.values())
