"""Moves leave a block in as many upgrade domains as it was in."""

from __future__ import annotations

import pytest

from howdah.balancer.namenode import _node_report
from howdah.balancer.state.iteration import Iteration, Limits, ListBlocks, Move, RecentMoves
from howdah.balancer.state.matching import Task
from howdah.balancer.state.nodes import BlockPlaces, Group, NodeReport, StorageFigures, domains_of
from howdah.balancer.state.satisfier_queue import Cluster
from howdah.balancer.state.violations import repair
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.data_transfer.blocks import DatanodeAddress, StorageType

DISK, SSD = StorageType.DISK, StorageType.SSD


def group(number: int, kind: StorageType = DISK) -> Group:
    node = DatanodeAddress(f"10.0.0.{number}", f"dn{number}", f"uuid-{number}", 9866)
    return Group(node, "/r", kind, 0.0, 1000)


HELD, OTHER, TARGET = group(0), group(1), group(2)
BLOCK = BlockPlaces(7, 1001, 10, (HELD.key, OTHER.key))
CASES = [
    ({}, True),
    ({0: "a", 1: "b", 2: "a"}, True),
    ({0: "a", 1: "b", 2: "c"}, True),
    ({0: "a", 1: "b", 2: "b"}, False),
    ({0: "a", 1: "a", 2: "a"}, True),
    ({0: "a", 1: "b"}, False),  # nobody knows when the target goes
    ({1: "b", 2: "b"}, True),
]


def named(domains: dict[int, str]) -> dict[str, str]:
    return {f"uuid-{number}": domain for number, domain in domains.items()}


@pytest.mark.parametrize(("domains", "may_go"), CASES)
def test_a_balancer_leaves_blocks_in_as_many(domains: dict[int, str], may_go: bool) -> None:
    groups = [HELD, OTHER, TARGET]
    subject = Iteration(
        [Task(HELD, TARGET, 500)],
        groups,
        {each.node.uuid: each.rack for each in groups},
        Limits(),
        RecentMoves(1000),
        0,
        named(domains),
    )
    (asked,) = subject.next(0)
    assert isinstance(asked, ListBlocks)
    subject.listed(HELD, [BLOCK], 0)
    assert any(isinstance(action, Move) for action in subject.next(0)) == may_go


@pytest.mark.parametrize(("domains", "may_go"), CASES)
def test_a_mover_does_so_too(domains: dict[int, str], may_go: bool) -> None:
    groups = {each.key: each for each in (HELD, OTHER, group(2, SSD))}
    racks = {each.node.uuid: each.rack for each in groups.values()}
    left = {key: 1000 for key in groups}
    # The policy wants the second replica on another type.
    block = BlockPlaces(7, 1001, 10, (OTHER.key, HELD.key))
    found = repair(block, (DISK, SSD), groups, racks, left, domains=named(domains))
    assert bool(found.moves) == may_go


def test_domains_are_those_that_datanodes_report() -> None:
    message = pb.DatanodeStorageReportProto()
    message.datanodeInfo.id.datanodeUuid = "uuid-0"
    message.datanodeInfo.upgradeDomain = "a"
    reports = [
        _node_report(message),
        NodeReport(OTHER.node, "/r", (StorageFigures(DISK, 100, 0, 100, 0),)),
    ]
    assert domains_of(reports) == {"uuid-0": "a"}
    assert Cluster(reports).domains == {"uuid-0": "a"}
