"""Where replicas go, over clusters of all shapes."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.namenode.state.blocks.datanodes import (
    Datanode,
    DatanodeIdentity,
    Storage,
    StorageReport,
)
from howdah.namenode.state.blocks.network import Network
from howdah.namenode.state.blocks.placement import (
    TWICE_THE_MEAN,
    LoadRule,
    Placement,
    usable_storage,
)
from howdah.namenode.state.blocks.policies import Policy

BLOCK = 128 << 20
ROOM = 10 * BLOCK


def node(name: str, rack: str, *, free_bytes: int = ROOM, connections: int = 0) -> Datanode:
    made = Datanode(DatanodeIdentity(name, "10.0.0.1", name, 9866, 9864, 9867), rack, 0)
    made.storage(f"DS-{name}", 0).update(
        StorageReport(f"DS-{name}", 0, False, ROOM, 0, free_bytes, 0, 0)
    )
    made.xceivers = connections
    return made


def cluster(shape: list[int]) -> list[Datanode]:
    """`shape[i]` nodes on rack i."""
    return [
        node(f"n{rack}-{number}", f"/r{rack}")
        for rack, count in enumerate(shape)
        for number in range(count)
    ]


def placement(
    nodes: list[Datanode],
    seed: int = 0,
    policy: Policy | None = None,
    load: LoadRule | None = TWICE_THE_MEAN,
) -> Placement:
    network = Network()
    for each in nodes:
        network.note(each)
    return Placement(network, random.Random(seed), policy, load)


def choose(
    nodes: list[Datanode],
    count: int,
    seed: int = 0,
    policy: Policy | None = None,
    load: LoadRule | None = TWICE_THE_MEAN,
    **how: Any,
) -> list[Datanode]:
    targets = placement(nodes, seed, policy, load).choose(
        count,
        block_size_bytes=BLOCK,
        **how,
    )
    return [target.node for target in targets]


def racks(nodes: list[Datanode]) -> list[str]:
    return [n.location for n in nodes]


shapes = st.lists(st.integers(1, 4), min_size=1, max_size=5)
wide = st.lists(st.integers(2, 4), min_size=2, max_size=5)
seeds = st.integers(0, 1 << 16)


@pytest.mark.req("FS-144", "FS-013")
@given(shapes, st.integers(1, 12), seeds)
def test_no_two_replicas_are_on_one_node(shape: list[int], count: int, seed: int) -> None:
    chosen = choose(cluster(shape), count, seed)
    assert len(set(chosen)) == len(chosen)


@given(shapes, st.integers(1, 12), seeds)
def test_there_are_as_many_as_wanted_or_as_there_are_nodes(
    shape: list[int], count: int, seed: int
) -> None:
    assert len(choose(cluster(shape), count, seed)) == min(count, sum(shape))


@pytest.mark.req("FS-137")
@given(shapes, st.integers(1, 5), seeds, st.data())
def test_first_replica_is_on_the_writers_own_node(
    shape: list[int], count: int, seed: int, data: st.DataObject
) -> None:
    nodes = cluster(shape)
    writer = data.draw(st.sampled_from(nodes))
    assert choose(nodes, count, seed, writer=writer)[0] is writer


@pytest.mark.req("FS-139", "FS-140", "FS-142", "FS-143")
@given(wide, seeds, st.data())
def test_three_replicas_are_on_two_racks_with_one_border_crossed(
    shape: list[int], seed: int, data: st.DataObject
) -> None:
    nodes = cluster(shape)
    writer = data.draw(st.none() | st.sampled_from(nodes))
    first, second, third = racks(choose(nodes, 3, seed, writer=writer))
    assert first != second
    assert second == third


@pytest.mark.req("FS-138")
def test_writer_outside_the_cluster_gets_any_node() -> None:
    nodes = cluster([2, 2, 2])
    firsts = Counter(choose(nodes, 3, seed)[0].identity.uuid for seed in range(600))
    assert set(firsts) == {n.identity.uuid for n in nodes}
    assert min(firsts.values()) > 50


@pytest.mark.req("FS-138")
def test_nodes_that_are_too_full_are_passed_over() -> None:
    nodes = [node("full", "/r1", free_bytes=BLOCK - 1), node("a", "/r1"), node("b", "/r2")]
    for seed in range(50):
        assert nodes[0] not in choose(nodes, 3, seed)


@pytest.mark.req("FS-138")
def test_busy_nodes_are_taken_only_when_nothing_else_is_left() -> None:
    busy = node("busy", "/r1", connections=100)
    nodes = [busy, *(node(f"n{i}", "/r1") for i in range(5))]
    for seed in range(50):
        assert busy not in choose(nodes, 3, seed)
    assert busy in choose(nodes, 6)


def test_writer_that_is_full_does_not_get_a_replica() -> None:
    full = node("full", "/r1", free_bytes=0)
    nodes = [full, node("near", "/r1"), node("far", "/r2")]
    for seed in range(20):
        chosen = choose(nodes, 2, seed, writer=full)
        assert chosen[0].location == "/r1"
        assert full not in chosen


@pytest.mark.req("FS-141")
@given(wide, st.integers(3, 12), seeds)
def test_further_replicas_do_not_crowd_a_rack(shape: list[int], count: int, seed: int) -> None:
    nodes = cluster(shape)
    wanted = min(count, len(nodes))
    most = (count - 1) // len(shape) + 2
    spare = sum(min(size, most) for size in shape)
    if spare >= wanted:
        assert max(Counter(racks(choose(nodes, count, seed))).values()) <= most


@pytest.mark.req("FS-143")
def test_load_can_be_left_out_of_account() -> None:
    nodes = [node("busy", "/r1", connections=100), node("idle", "/r1")]
    first = {choose(nodes, 1, seed, load=None)[0].identity.uuid for seed in range(20)}
    assert first == {"busy", "idle"}


@pytest.mark.req("FS-137", "FS-138")
def test_beside_the_writer_each_pair_of_nodes_is_as_likely_as_any_other() -> None:
    nodes = cluster([10])
    placing = placement(nodes, 11)
    pairs: Counter[frozenset[str]] = Counter()
    for _ in range(36 * 200):
        own, *others = placing.choose(3, block_size_bytes=BLOCK, writer=nodes[4])
        assert own.node is nodes[4]
        pairs[frozenset(target.node.identity.uuid for target in others)] += 1
    assert len(pairs) == 36
    deviation = sum((count - 200) ** 2 / 200 for count in pairs.values())
    assert deviation < 66.6, "of 35 degrees of freedom, one of a thousand even ones"


@pytest.mark.req("LM-023")
def test_over_many_blocks_the_load_is_spread_evenly() -> None:
    nodes = cluster([3, 3, 3, 3])
    placing = placement(nodes, 7)
    held: Counter[str] = Counter()
    for _ in range(2000):
        for target in placing.choose(3, block_size_bytes=BLOCK):
            held[target.node.identity.uuid] += 1
    assert len(held) == 12
    assert max(held.values()) < 1.3 * min(held.values())


@pytest.mark.req("FS-143")
@given(wide, seeds, st.data())
def test_writers_rack_gets_one_replica_of_three(
    shape: list[int], seed: int, data: st.DataObject
) -> None:
    nodes = cluster(shape)
    writer = data.draw(st.sampled_from(nodes))
    assert racks(choose(nodes, 3, seed, writer=writer)).count(writer.location) == 1


@given(shapes, seeds, st.data())
def test_excluded_nodes_are_never_chosen(shape: list[int], seed: int, data: st.DataObject) -> None:
    nodes = cluster(shape)
    out = data.draw(st.sets(st.sampled_from([n.identity.uuid for n in nodes])))
    chosen = choose(nodes, 3, seed, excluded=out)
    assert not {n.identity.uuid for n in chosen} & out
    assert len(chosen) == min(3, len(nodes) - len(out))


@given(shapes, seeds, st.data())
def test_nodes_that_hold_one_already_get_no_second(
    shape: list[int], seed: int, data: st.DataObject
) -> None:
    nodes = cluster(shape)
    present = data.draw(st.lists(st.sampled_from(nodes), unique=True, max_size=3))
    assert not set(choose(nodes, 2, seed, present=present)) & set(present)


@given(seeds)
def test_copy_of_a_lone_replica_goes_to_another_rack(seed: int) -> None:
    nodes = cluster([3, 3])
    (target,) = choose(nodes, 1, seed, present=[nodes[0]])
    assert target.location == "/r1"


def test_dead_nodes_are_not_chosen() -> None:
    nodes = cluster([2, 1])
    nodes[0].alive = False
    for seed in range(20):
        assert nodes[0] not in choose(nodes, 3, seed)


def test_nodes_to_avoid_are_the_last_resort() -> None:
    nodes = cluster([4])
    for seed in range(20):
        assert nodes[0] not in choose(nodes, 3, seed, avoid=lambda n: n is nodes[0])
    assert nodes[0] in choose(nodes, 4, avoid=lambda n: n is nodes[0])


def test_emptiest_volume_with_room_is_taken() -> None:
    made = node("n", "/r")
    for name, free, failed in (("small", 1, False), ("big", ROOM + 1, False), ("bad", 9**15, True)):
        made.storage(name, 0).update(StorageReport(name, 0, failed, ROOM, 0, free, 0, 0))
    found = usable_storage(made, BLOCK)
    assert isinstance(found, Storage)
    assert found.storage_id == "big"


def test_no_nodes_are_no_targets() -> None:
    assert choose([], 3) == []


# --- favored nodes --------------------------------------------------------------------------


@given(wide, st.integers(1, 5), seeds, st.data())
def test_favored_nodes_come_first_where_no_rack_is_crowded(
    shape: list[int], count: int, seed: int, data: st.DataObject
) -> None:
    nodes = cluster(shape)
    favored = data.draw(st.permutations(nodes))[:count]
    chosen = choose(nodes, count, seed, favored=favored)
    # `(n - 1) // racks + 2` of a rack are none too many.
    most = (count - 1) // len(shape) + 2
    on_rack: Counter[str] = Counter()
    for n in favored:
        on_rack[n.location] += 1
        assert n in chosen or on_rack[n.location] > most


@given(wide, seeds, st.data())
def test_a_favored_node_is_preferred_to_the_writers_own(
    shape: list[int], seed: int, data: st.DataObject
) -> None:
    nodes = cluster(shape)
    favored = data.draw(st.sampled_from(nodes))
    assert choose(nodes, 1, seed, favored=[favored], writer=nodes[0]) == [favored]


@given(shapes, st.integers(1, 12), seeds, st.data())
def test_favored_nodes_cost_no_replica(
    shape: list[int], count: int, seed: int, data: st.DataObject
) -> None:
    nodes = cluster(shape)
    favored = data.draw(st.lists(st.sampled_from(nodes)))
    chosen = choose(nodes, count, seed, favored=favored)
    assert len(chosen) == len(set(chosen)) == min(count, len(nodes))


def test_a_favored_node_that_cannot_take_it_is_passed_over() -> None:
    full = node("full", "/r", free_bytes=BLOCK - 1)
    dead = node("dead", "/r")
    dead.alive = False
    busy = node("busy", "/r", connections=50)
    stale = node("stale", "/r")
    excluded = node("excluded", "/r")
    good = node("good", "/r")
    chosen = choose(
        [full, dead, busy, stale, excluded, good],
        1,
        favored=[full, dead, busy, stale, excluded],
        excluded=("excluded",),
        avoid=lambda n: n is stale,
    )
    assert chosen == [good]
