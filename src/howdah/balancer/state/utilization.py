"""How full datanodes are, and how far from the mean (pure).

Balancer.init and BalancingPolicy in Hadoop. For each type of storage there is a mean over the
cluster; a group of storages is over- or under-utilized if it differs from the mean by more than
the threshold, in percent of its capacity. The rules:

1. Datanodes that are not in service, or that the lists leave out, count for nothing.
2. Policy `datanode` goes by all that is used, `blockpool` by what the block pool uses.
3. What is to be moved is the larger of what over-utilized groups have too much, and of what
   under-utilized ones have too little. With nothing to move the cluster is balanced.
4. In one iteration a group gives away, or takes, no more than what brings it to the mean, and
   takes no more than it has room for.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from howdah.balancer.state.nodes import MOVABLE_TYPES, Group, NodeLists, NodeReport
from howdah.protocol.data_transfer.blocks import StorageType


class Policy(enum.Enum):
    """By what the utilization goes; the values are the words of the command line."""

    DATANODE = "datanode"
    BLOCKPOOL = "blockpool"


@dataclass(frozen=True, slots=True)
class Rules:
    """What an administrator has decided. `threshold` is in percent, `most_bytes` what one group
    moves in an iteration (`dfs.balancer.max-size-to-move`); `most_over_utilized` over-utilized
    groups take part in one, None is all."""

    threshold: float = 10.0
    policy: Policy = Policy.DATANODE
    lists: NodeLists = field(default_factory=NodeLists)
    most_bytes: int = 10 << 30
    fullest_first: bool = False
    most_over_utilized: int | None = None


@dataclass(frozen=True, slots=True)
class Overview:
    """The groups, by how they differ from the mean."""

    over: tuple[Group, ...]
    above: tuple[Group, ...]
    below: tuple[Group, ...]
    under: tuple[Group, ...]
    left_bytes: int
    """What has to be moved until the cluster is balanced."""

    @property
    def is_balanced(self) -> bool:
        return self.left_bytes == 0

    @property
    def groups(self) -> tuple[Group, ...]:
        return self.over + self.above + self.below + self.under


def survey(reports: Iterable[NodeReport], rules: Rules) -> Overview:
    """Sort the storages of the datanodes by how full they are."""
    taking_part = [
        report for report in reports if report.in_service and rules.lists.takes_part(report.node)
    ]
    capacities: dict[StorageType, int] = defaultdict(int)
    used: dict[StorageType, int] = defaultdict(int)
    for report in taking_part:
        for kind in MOVABLE_TYPES:
            capacity_bytes, used_bytes, _ = _sums(report, kind, rules.policy)
            capacities[kind] += capacity_bytes
            used[kind] += used_bytes
    over: list[Group] = []
    above: list[Group] = []
    below: list[Group] = []
    under: list[Group] = []
    too_much_bytes = too_little_bytes = 0
    for report in taking_part:
        for kind in MOVABLE_TYPES:
            capacity_bytes, used_bytes, remaining_bytes = _sums(report, kind, rules.policy)
            if not capacity_bytes:
                continue
            utilization = used_bytes * 100 / capacity_bytes
            difference = utilization - used[kind] * 100 / capacities[kind]
            is_source = difference > 0
            may = rules.lists.may_be_source if is_source else rules.lists.may_be_target
            if not may(report.node):
                continue
            most_bytes = int(abs(difference) * capacity_bytes / 100)
            if not is_source:
                most_bytes = min(most_bytes, remaining_bytes)
            group = Group(
                report.node, report.rack, kind, utilization, min(most_bytes, rules.most_bytes)
            )
            beyond = abs(difference) - rules.threshold
            beyond_bytes = int(beyond * capacity_bytes / 100)
            if is_source and beyond > 0:
                over.append(group)
                too_much_bytes += beyond_bytes
            elif is_source:
                above.append(group)
            elif beyond > 0:
                under.append(group)
                too_little_bytes += beyond_bytes
            else:
                below.append(group)
    if rules.fullest_first or rules.most_over_utilized is not None:
        over.sort(key=lambda group: -group.utilization)
    if rules.most_over_utilized is not None:
        over = over[: rules.most_over_utilized]
    return Overview(
        tuple(over), tuple(above), tuple(below), tuple(under), max(too_much_bytes, too_little_bytes)
    )


def _sums(report: NodeReport, kind: StorageType, policy: Policy) -> tuple[int, int, int]:
    """(capacity, used, remaining) of the datanode's storages of that type, in bytes."""
    storages = [storage for storage in report.storages if storage.storage_type is kind]
    return (
        sum(storage.capacity_bytes for storage in storages),
        sum(
            storage.used_bytes if policy is Policy.DATANODE else storage.pool_used_bytes
            for storage in storages
        ),
        sum(storage.remaining_bytes for storage in storages),
    )
