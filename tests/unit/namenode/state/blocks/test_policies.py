"""What each placement policy promises, over many random clusters (FS-136 to FS-144)."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.namenode.server.process.settings import settings_from
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.blocks.datanodes import Datanode, DatanodeIdentity, StorageReport
from howdah.namenode.state.blocks.network import Network
from howdah.namenode.state.blocks.placement import TWICE_THE_MEAN, LoadRule, Placement
from howdah.namenode.state.blocks.policies import (
    Policy,
    PolicyFigures,
    RoomFirst,
    domain_of,
    policy_named,
)

CLUSTERS = 300
"""For each policy."""
each_count = pytest.mark.parametrize(
    "clusters", [CLUSTERS, pytest.param(20 * CLUSTERS, marks=pytest.mark.torture)]
)

BLOCK = 100
CAPACITY = 1000
DISK, SSD = 1, 2
NAMES = (
    "BlockPlacementPolicyDefault",
    "BlockPlacementPolicyRackFaultTolerant",
    "AvailableSpaceBlockPlacementPolicy",
    "AvailableSpaceRackFaultTolerantBlockPlacementPolicy",
    "BlockPlacementPolicyWithUpgradeDomain",
)


def named(name: str) -> Policy:
    return policy_named(name, PolicyFigures(), "key")


def node(
    name: str, rack: str, *, free: int = CAPACITY, kinds: tuple[int, ...] = (DISK,), load: int = 0
) -> Datanode:
    made = Datanode(DatanodeIdentity(name, name, name, 9866, 9864, 9867), rack, 0)
    made.xceivers = load
    for kind in kinds:
        report = StorageReport(f"{name}-{kind}", kind, False, CAPACITY, CAPACITY - free, free, 0, 0)
        made.storage(report.storage_id, kind).update(report)
    return made


def placement(
    nodes: list[Datanode],
    policy: Policy,
    seed: int = 0,
    load: LoadRule | None = TWICE_THE_MEAN,
) -> Placement:
    network = Network()
    for each in nodes:
        network.note(each)
    return Placement(network, random.Random(seed), policy, load)


@dataclass
class Case:
    """A random cluster, and what is asked of it."""

    nodes: list[Datanode]
    count: int
    present: list[Datanode]
    excluded: set[str]
    stale: set[Datanode]
    writer: Datanode | None

    @classmethod
    def random(cls, dice: random.Random) -> Case:
        depth = dice.randrange(1, 5)
        width = dice.randrange(1, 4)
        nodes = []
        for number in range(dice.randrange(1, 25)):
            rack = "".join(f"/{chr(97 + dice.randrange(width))}{level}" for level in range(depth))
            made = node(
                f"n{number}",
                rack,
                free=dice.choice((CAPACITY, CAPACITY // 2, BLOCK, BLOCK - 1, 0)),
                kinds=dice.choice(((DISK,), (DISK,), (SSD,), (DISK, SSD))),
                load=dice.choice((0, 1, 2, 40)),
            )
            made.upgrade_domain = dice.choice(("", "u1", "u2", "u3"))
            made.alive = dice.random() < 0.9
            if dice.random() < 0.1:
                made.admin_state = dice.choice(list(AdminState))
            nodes.append(made)
        return cls(
            nodes,
            dice.randrange(1, 7),
            dice.sample(nodes, min(len(nodes), dice.choice((0, 0, 0, 1, 2, 3)))),
            {n.identity.uuid for n in nodes if dice.random() < 0.1},
            {n for n in nodes if dice.random() < 0.2},
            dice.choice([None, *nodes]),
        )

    def fit(self, kinds: set[int] | None = None) -> list[Datanode]:
        """Those that may get a replica."""
        return [
            n
            for n in self.nodes
            if n.alive
            and n.in_service
            and n not in self.present
            and n.identity.uuid not in self.excluded
            and any(
                s.remaining_bytes >= BLOCK and (kinds is None or s.storage_type in kinds)
                for s in n.storages.values()
            )
        ]


@pytest.mark.req("FS-144", "FS-141", "LM-024")
@pytest.mark.parametrize("name", NAMES)
@each_count
def test_a_policy_keeps_its_promise_wherever_that_can_be(name: str, clusters: int) -> None:
    policy, dice = named(name), random.Random(name)
    for number in range(clusters):
        case = Case.random(dice)
        placing = placement(case.nodes, policy, number)
        storages = placing.choose(
            case.count,
            block_size_bytes=BLOCK,
            writer=case.writer,
            present=case.present,
            excluded=case.excluded,
            avoid=case.stale.__contains__,
        )
        chosen = [storage.node for storage in storages]
        fit = case.fit()
        assert set(chosen) <= set(fit), number
        assert len(chosen) == len(set(chosen)) == min(case.count, len(fit)), number
        assert all(storage.remaining_bytes >= BLOCK for storage in storages)

        holders = [*case.present, *chosen]
        there = {n.location for n in case.present}
        racks = {n.location for n in holders}
        new = len({n.location for n in fit} - there)
        possible = min(len(there) + new, len(there) + len(chosen))
        promised = len(holders) if policy.spreads else min(2, len(holders))
        assert len(racks) >= min(promised, possible), number
        if policy.spreads:
            check_even(case, chosen, number)
        if policy.domains and not case.present and len({n.location for n in fit}) < 2:
            domains = {domain_of(n) for n in chosen}
            all_domains = {domain_of(n) for n in fit}
            assert len(domains) >= min(policy.domains, len(chosen), len(all_domains)), number


def check_even(case: Case, chosen: list[Datanode], number: int) -> None:
    """A rack has two more than another one only where that one had no more nodes, or had
    been given them before."""
    counts = Counter(n.location for n in [*case.present, *chosen])
    left = Counter(n.location for n in case.fit())
    left.subtract(Counter(n.location for n in chosen))
    for rack in {n.location for n in chosen}:
        for other, unused in left.items():
            assert unused == 0 or counts[rack] <= counts[other] + 1, number


@pytest.mark.parametrize("name", NAMES)
@each_count
def test_types_of_storage_are_those_that_are_wanted_or_may_stand_in(
    name: str, clusters: int
) -> None:
    policy, dice = named(name), random.Random(name)
    for number in range(clusters):
        case = Case.random(dice)
        kinds = dice.choice(([DISK], [SSD], [SSD, DISK]))
        wanted = (kinds + [kinds[-1]] * case.count)[: case.count]
        fallbacks = dice.choice(([], [DISK], [SSD, DISK]))
        storages = placement(case.nodes, policy, number).choose(
            case.count,
            block_size_bytes=BLOCK,
            kinds=wanted,
            fallbacks=fallbacks,
            writer=case.writer,
            present=case.present,
            excluded=case.excluded,
        )
        assert {s.storage_type for s in storages} <= {*wanted, *fallbacks}
        assert {s.node for s in storages} <= set(case.fit({*wanted, *fallbacks}))
        if len(set(wanted)) == 1 and set(fallbacks) <= set(wanted):
            assert len(storages) == min(case.count, len(case.fit(set(wanted)))), number


@pytest.mark.parametrize("name", NAMES)
@each_count
def test_another_replica_makes_a_badly_placed_block_better_or_is_not_made(
    name: str, clusters: int
) -> None:
    """And with it goes one whose loss does not make it worse again."""
    policy, dice = named(name), random.Random(name)
    found = 0
    for number in range(clusters):
        case = Case.random(dice)
        holders = [n for n in case.nodes if n.alive and n.in_service][: dice.randrange(2, 5)]
        placing = placement(case.nodes, policy, number)
        before = placing.lacking(holders, len(holders))
        if not before:
            continue
        storage = placing.choose_better(
            len(holders), block_size_bytes=BLOCK, present=holders, removable=holders
        )
        if storage is None:
            continue
        found += 1
        assert storage.node not in holders
        after = [*holders, storage.node]
        left = [[n for n in after if n is not gone] for gone in holders]
        assert min(placing.lacking(each, len(holders)) for each in left) < before, number
    assert found > 10


# What a choice costs.


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("racks", [1, 2, 10, 50])
@pytest.mark.parametrize("size", [50, 1000])
def test_a_choice_looks_at_as_many_nodes_in_a_large_cluster_as_in_a_small_one(
    name: str, racks: int, size: int
) -> None:
    """Each tenth node is full, and each tenth stale."""
    nodes = [
        node(f"n{n}", f"/d{n % 2}/r{n % racks}", free=0 if n % 10 == 1 else CAPACITY)
        for n in range(size)
    ]
    for number, each in enumerate(nodes):
        each.upgrade_domain = f"u{number % 7}"
    policy = named(name)
    placing = placement(nodes, policy)
    stale = set(nodes[2::10])
    blocks = 200
    for _ in range(blocks):
        placing.choose(3, block_size_bytes=BLOCK, avoid=lambda n: n in stale)
    assert placing.looks / (3 * blocks) < (4 if policy.room else 2)


def test_a_rack_of_one_among_a_thousand_nodes_is_found_at_once() -> None:
    nodes = [node(f"n{n}", "/large") for n in range(999)] + [node("alone", "/small")]
    placing = placement(nodes, Policy())
    for _ in range(100):
        chosen = placing.choose(2, block_size_bytes=BLOCK, writer=nodes[0])
        assert [storage.node for storage in chosen] == [nodes[0], nodes[999]]
    assert placing.looks == 100


def test_a_type_of_storage_that_few_have_is_found_at_once() -> None:
    nodes = [
        node(f"n{n}", f"/r{n % 20}", kinds=(SSD,) if n % 100 == 0 else (DISK,)) for n in range(1000)
    ]
    placing = placement(nodes, Policy())
    for _ in range(100):
        chosen = placing.choose(3, block_size_bytes=BLOCK, kinds=[SSD] * 3)
        assert {storage.storage_type for storage in chosen} == {SSD}
    assert placing.looks < 1000


# Room.


def test_the_emptier_of_two_nodes_is_taken_in_so_many_of_a_hundred_cases() -> None:
    full, empty = node("full", "/r", free=CAPACITY // 10), node("empty", "/r")
    placing = placement([full, empty], Policy(room=RoomFirst(percent=80)))
    taken = Counter(
        storage.node for _ in range(2000) for storage in placing.choose(1, block_size_bytes=BLOCK)
    )
    assert 0.7 < taken[empty] / 2000 < 0.9


def test_nodes_that_differ_by_less_than_the_tolerance_are_equal() -> None:
    nodes = [node("a", "/r", free=500), node("b", "/r", free=530)]
    placing = placement(nodes, Policy(room=RoomFirst(percent=100, tolerance_percent=5)))
    taken = Counter(placing.choose(1, block_size_bytes=1)[0].node for _ in range(400))
    assert min(taken.values()) > 100
    placing = placement(nodes, Policy(room=RoomFirst(percent=100, tolerance_percent=2)))
    assert {placing.choose(1, block_size_bytes=1)[0].node for _ in range(100)} == {nodes[1]}


def test_there_is_no_tolerance_for_nodes_as_full_as_the_limit() -> None:
    nodes = [node("a", "/r", free=20), node("b", "/r", free=40)]
    placing = placement(nodes, Policy(room=RoomFirst(100, 5, limit_percent=95)))
    assert {placing.choose(1, block_size_bytes=1)[0].node for _ in range(100)} == {nodes[1]}


@pytest.mark.parametrize(
    ("local", "free", "own"), [(False, 100, True), (True, 100, False), (True, 600, True)]
)
def test_a_writers_own_node_competes_with_its_rack_where_that_is_wanted(
    local: bool, free: int, own: bool
) -> None:
    writer = node("writer", "/a", free=free)
    nodes = [writer, node("near", "/a"), node("far", "/b")]
    placing = placement(nodes, Policy(room=RoomFirst(percent=100, local=local)))
    for _ in range(20):
        (storage,) = placing.choose(1, block_size_bytes=BLOCK, writer=writer)
        assert (storage.node is writer) == own
        assert storage.node.location == "/a"


# What a writer says.


def test_a_writer_that_is_to_be_spared_gets_none_as_long_as_there_are_others() -> None:
    writer = node("writer", "/a")
    nodes = [writer, node("near", "/a"), node("far", "/b")]
    placing = placement(nodes, Policy())
    for _ in range(20):
        two = placing.choose(2, block_size_bytes=BLOCK, writer=writer, spare_writer=True)
        assert {storage.node for storage in two} == {*nodes[1:]}
        three = placing.choose(3, block_size_bytes=BLOCK, writer=writer, spare_writer=True)
        assert {storage.node for storage in three} == {*nodes}


@pytest.mark.req("FS-138", "LM-025")
def test_a_writer_outside_whose_rack_is_known_gets_its_first_replica_there() -> None:
    nodes = [node(f"n{n}", f"/r{n % 3}") for n in range(9)]
    placing = placement(nodes, Policy())
    for _ in range(20):
        first, *others = placing.choose(3, block_size_bytes=BLOCK, writer_location="/r1")
        assert first.node.location == "/r1"
        assert {storage.node.location for storage in others} != {"/r1"}


@pytest.mark.req("FS-138", "LM-025")
def test_load_is_compared_among_those_with_the_type_of_storage_where_that_is_wanted() -> None:
    """By the mean of all it is busy, among its like it is not."""
    fast = [node(f"s{n}", "/r", kinds=(SSD,), load=30) for n in range(2)]
    quiet = node("quiet", "/r", kinds=(SSD,), load=5)
    slow = [node(f"d{n}", "/r", load=0) for n in range(20)]
    nodes = [*fast, quiet, *slow]

    def taken(rule: LoadRule) -> set[Datanode]:
        placing = placement(nodes, Policy(), load=rule)
        return {placing.choose(1, block_size_bytes=BLOCK, kinds=[SSD])[0].node for _ in range(100)}

    assert taken(LoadRule(2.0)) == {quiet}
    assert taken(LoadRule(2.0, by_kind=True)) == {*fast, quiet}


# Names.


@pytest.mark.parametrize("name", NAMES)
def test_policies_have_the_names_of_hadoops_classes(name: str) -> None:
    package = "org.apache.hadoop.hdfs.server.blockmanagement."
    assert named(name).name == named(package + name).name == name


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("org.example.MyPolicy", "it is not known"),
        ("BlockPlacementPolicyWithNodeGroup", "node groups are not supported"),
        ("", "it is not known"),
    ],
)
def test_another_name_stops_the_start_and_says_what_there_is(name: str, why: str) -> None:
    key = "dfs.block.replicator.classname"
    with pytest.raises(errors.InvalidConfiguration, match=f"{key} = {name}: {why}; there are"):
        settings_from(Configuration({key: name}), "BP-1")


def test_the_figures_of_a_policy_come_from_the_configuration() -> None:
    room = "dfs.namenode.available-space-block-placement-policy."
    spread = "dfs.namenode.available-space-rack-fault-tolerant-block-placement-policy."
    conf = {
        f"{room}balanced-space-preference-fraction": "0.7",
        f"{room}balanced-space-tolerance": "9",
        f"{room}balanced-space-tolerance-limit": "90",
        f"{room}balance-local-node": "true",
        f"{spread}balanced-space-preference-fraction": "0.8",
        f"{spread}balanced-space-tolerance": "4",
        "dfs.namenode.upgrade.domain.factor": "2",
        "dfs.namenode.redundancy.considerLoadByStorageType": "true",
        "dfs.namenode.replication.work.multiplier.per.iteration": "7",
    }

    def policy(name: str) -> Policy:
        found = Configuration({**conf, "dfs.block.replicator.classname": name})
        return settings_from(found, "BP-1").placement

    assert policy(NAMES[2]).room == RoomFirst(70, 9, 90, local=True)
    assert policy(NAMES[3]).room == RoomFirst(80, 4)
    assert policy(NAMES[3]).spreads
    assert policy(NAMES[4]).domains == 2
    settings = settings_from(Configuration(conf), "BP-1")
    assert settings.load == LoadRule(by_kind=True)
    assert settings.copies_per_node == 7
    by_replication = {"dfs.block.replicator.classname": NAMES[4], "dfs.replication": "5"}
    assert settings_from(Configuration(by_replication), "BP-1").placement.domains == 5


def test_a_fraction_beyond_one_is_refused() -> None:
    key = "dfs.namenode.available-space-block-placement-policy.balanced-space-preference-fraction"
    with pytest.raises(errors.InvalidConfiguration, match="a fraction of 1"):
        settings_from(Configuration({key: "1.5"}), "BP-1")
