"""How many bytes go from which storages to which (pure).

Balancer.chooseStorageGroups in Hadoop. Pairs are made of groups with one type of storage, first
within racks, since that costs no bandwidth between them, then across:

1. over-utilized groups give to under-utilized ones;
2. what is left of over-utilized groups goes to those below the mean;
3. what is left for under-utilized groups comes from those above the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from howdah.balancer.state.nodes import Group, GroupKey
from howdah.balancer.state.utilization import Overview


class Dice(Protocol):
    """The random source: `random.Random` fits."""

    def shuffle(self, x: list[Group], /) -> None: ...


@dataclass(frozen=True, slots=True)
class Task:
    """So many bytes are to go from one group to another."""

    source: Group
    target: Group
    size_bytes: int


def pair(overview: Overview, dice: Dice, *, keeps_order: bool = False) -> list[Task]:
    """What one iteration is to move. Groups are taken in random order, so that iterations differ;
    with `keeps_order` the over-utilized ones as they stand."""
    over, above, below, under = (
        list(groups) for groups in (overview.over, overview.above, overview.below, overview.under)
    )
    for groups in (above, below, under) if keeps_order else (over, above, below, under):
        dice.shuffle(groups)
    left_bytes = {group.key: group.most_bytes for group in overview.groups}
    tasks: list[Task] = []
    for may_go in (_on_one_rack, _anywhere):
        _match(over, under, may_go, left_bytes, tasks)
        _match(over, below, may_go, left_bytes, tasks)
        _match(above, under, may_go, left_bytes, tasks)
    return tasks


def _on_one_rack(source: Group, target: Group) -> bool:
    return source.rack == target.rack


def _anywhere(source: Group, target: Group) -> bool:
    return True


def _match(
    sources: Iterable[Group],
    targets: Iterable[Group],
    may_go: Callable[[Group, Group], bool],
    left_bytes: dict[GroupKey, int],
    tasks: list[Task],
) -> None:
    targets = list(targets)
    for source in sources:
        for target in targets:
            size_bytes = min(left_bytes[source.key], left_bytes[target.key])
            if (
                size_bytes > 0
                and source.storage_type is target.storage_type
                and may_go(source, target)
            ):
                left_bytes[source.key] -= size_bytes
                left_bytes[target.key] -= size_bytes
                tasks.append(Task(source, target, size_bytes))
