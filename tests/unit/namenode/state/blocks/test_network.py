"""Datanodes by rack, and draws from them."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.blocks.datanodes import Datanode, DatanodeIdentity
from howdah.namenode.state.blocks.network import Network, Pool


def node(name: str, rack: str, *kinds: int, load: int = 0) -> Datanode:
    made = Datanode(DatanodeIdentity(name, "10.0.0.1", name, 9866, 9864, 9867), rack, 0)
    made.xceivers = load
    for kind in kinds or (1,):
        made.storage(f"{name}-{kind}", kind)
    return made


@pytest.mark.parametrize("seed", range(20))
def test_a_draw_gives_each_node_of_its_scope_once_whatever_came_and_went(seed: int) -> None:
    dice, pool = random.Random(seed), Pool()
    there: dict[Datanode, str] = {}
    for step in range(200):
        if there and dice.random() < 0.45:
            gone = dice.choice(list(there))
            del there[gone]
            pool.remove(gone, 0)
        else:
            new = node(f"n{step}", f"/r{dice.randrange(8)}")
            there[new] = new.location
            pool.add(new, new.location, 0)
        outside = {f"/r{dice.randrange(8)}" for _ in range(dice.randrange(4))}
        drawn = list(pool.draw(dice, outside=outside))
        assert len(drawn) == len(set(drawn))
        assert set(drawn) == {n for n, rack in there.items() if rack not in outside}
        rack = f"/r{dice.randrange(8)}"
        assert set(pool.draw(dice, rack=rack)) == {n for n, r in there.items() if r == rack}
    assert len(pool) == len(there)


def test_every_node_is_as_likely_as_any_other() -> None:
    """However the racks differ in size."""
    dice, pool = random.Random(1), Pool()
    for rack, count in enumerate((1, 9, 2, 20)):
        for number in range(count):
            pool.add(node(f"n{rack}-{number}", f"/r{rack}"), f"/r{rack}", 0)
    drawn = Counter(next(pool.draw(dice, outside={"/r1"})) for _ in range(23_000))
    assert len(drawn) == 23
    assert max(drawn.values()) < 1.25 * min(drawn.values())


@pytest.mark.parametrize("racks", [1, 3])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8, 9, 40])
def test_a_draw_is_a_shuffle_by_throws_of_randrange(count: int, racks: int) -> None:
    pool, nodes = Pool(), [node(f"n{number}", f"/r{number % racks}") for number in range(count)]
    nodes.sort(key=lambda each: each.location)
    for each in nodes:
        pool.add(each, each.location, 0)
    for seed in range(50):
        dice, shuffled = random.Random(seed), list(nodes)
        for at in range(count):
            other = at + dice.randrange(count - at)
            shuffled[at], shuffled[other] = shuffled[other], shuffled[at]
        assert list(pool.draw(random.Random(seed))) == shuffled


def test_a_node_that_is_dead_or_leaves_is_in_no_pool() -> None:
    network = Network()
    dead, leaves, stays = node("a", "/a", 1), node("b", "/b", 1), node("c", "/c", 1)
    for each in (dead, leaves, stays):
        network.note(each)
    dead.alive = False
    leaves.admin_state = AdminState.DECOMMISSION_INPROGRESS
    for each in (dead, leaves, stays):
        network.note(each)
    assert list(network.all.draw(random.Random(1))) == [stays]
    assert network.rack_count == 1
    leaves.admin_state = AdminState.NORMAL
    network.note(leaves)
    assert network.rack_count == 2


def test_a_pool_of_a_type_has_those_with_a_volume_of_it_that_works() -> None:
    network = Network()
    both = node("a", "/a", 1, 2)
    network.note(both)
    network.note(node("b", "/b", 1))
    assert (len(network.pool(1)), len(network.pool(2)), len(network.pool(3))) == (2, 1, 0)
    both.storages["a-2"].failed = True
    network.note(both)
    assert (len(network.pool(1)), len(network.pool(2))) == (2, 0)


def test_the_mean_load_is_that_of_the_nodes_in_the_pool() -> None:
    network = Network()
    busy, idle = node("a", "/a", 1, 2, load=30), node("b", "/b", 1, load=10)
    network.note(busy)
    network.note(idle)
    assert (network.all.mean_load, network.pool(2).mean_load) == (20, 30)
    busy.xceivers = 50
    network.note(busy)
    assert (network.all.mean_load, network.pool(2).mean_load) == (30, 50)
    busy.alive = False
    network.note(busy)
    assert (network.all.mean_load, network.pool(2).mean_load) == (10, 0)


def test_the_version_changes_with_racks_and_upgrade_domains_only() -> None:
    network = Network()
    first, second = node("a", "/a"), node("b", "/a")

    def changes(*nodes: Datanode) -> bool:
        before = network.version
        for each in nodes:
            network.note(each)
        return network.version != before

    assert changes(first)
    assert not changes(second)
    second.xceivers = 7
    second.storage("b-9", 9)
    assert not changes(second)
    second.alive = False
    assert not changes(second)
    second.alive = True
    second.location = "/b"
    assert changes(second)
    second.alive = False
    assert changes(second), "a rack is gone"
    first.upgrade_domain = "u1"
    assert changes(first)


def test_a_node_without_an_upgrade_domain_is_one_of_its_own() -> None:
    network = Network()
    nodes = [node(f"n{n}", "/a") for n in range(4)]
    nodes[0].upgrade_domain = nodes[1].upgrade_domain = "u"
    for each in nodes:
        network.note(each)
    assert network.domain_count == 3
