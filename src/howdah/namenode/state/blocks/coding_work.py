"""What is to be done for a block group that lacks internal blocks (pure).

Hadoop's `ErasureCodingWork` and `BlockManager.scheduleReconstruction`. Internal blocks that nobody
holds are made from the others by a datanode, which is the first of those that get them. Internal
blocks whose last holders are about to leave are copied, since that costs one read instead of many.

A datanode that has many copies to send is spared.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass

from howdah.namenode.state.blocks.datanodes import Datanode, Storage
from howdah.namenode.state.inodes.group_table import Group


@dataclass(frozen=True, slots=True)
class Lack:
    """`missing` are the indices of internal blocks that nobody in reach holds, `leaving` those
    of which no datanode in service has one, and some are about to leave, with one of these."""

    missing: tuple[int, ...]
    leaving: tuple[tuple[int, Storage], ...]


def lack_of(group: Group, awaited: Container[int]) -> Lack:
    """Return what a group of final length lacks. Of `awaited` indices a report is to come."""
    live: set[int] = set()
    resting: dict[int, Storage | None] = {}
    leaving: dict[int, Storage] = {}
    for index, storage in group.held:
        node = storage.node
        if node.in_service:
            live.add(index)
        elif node.admin_state.is_maintenance:
            resting[index] = resting.get(index) or (storage if node.alive else None)
        elif node.alive:
            leaving.setdefault(index, storage)
    existing = group.layout.block_indices
    indices = [i for i in existing if i not in live and i not in awaited]
    missing = [i for i in indices if i not in leaving and i not in resting]
    # One that rests, too, counts as leaving (`redundancy.counts`): nobody else would copy it.
    copied = [(i, leaving[i]) for i in indices if i in leaving]
    # While others rest, as many must be in reach as a reader needs.
    short = max(
        group.data_blocks - len(live.intersection(existing)) - len(missing) - len(copied), 0
    )
    in_reach = [
        (i, place) for i in indices if i not in leaving and (place := resting.get(i)) is not None
    ]
    return Lack(tuple(missing), (*copied, *in_reach[:short]))


def sources_of(
    group: Group, is_busy: Callable[[Datanode], bool]
) -> tuple[tuple[int, Storage], ...]:
    """Return where a group can be read, from datanodes in service before others: index and
    storage, each index once."""
    readable: dict[int, Storage] = {}
    held = sorted(group.held, key=lambda part: (part[0], not part[1].node.in_service))
    wanted = set(group.layout.block_indices)
    for index, storage in held:
        if not storage.node.alive or index not in wanted:
            continue
        if not is_busy(storage.node):
            readable.setdefault(index, storage)
    return tuple(readable.items())
