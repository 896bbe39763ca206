"""Which internal blocks of a group are made anew, and from which others (pure).

StripedReconstructor and StripedWriter in Hadoop. What is lost is what no datanode has, in the
order of the indices, one block for each target, but for those whose datanodes are only busy. As
many blocks are read as there are data units; a data block that a short group does not have
counts as zeros and is not read. Sources may be more than that, and several may have the same
block: the others take the place of those that fail.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from howdah import errors
from howdah.datanode.state.messages import Reconstruct
from howdah.protocol.striping.layout import GroupLayout


@dataclass(frozen=True, slots=True)
class Plan:
    """`lost`: the indices to make, one for each of the first targets. `zeros`: data units that do
    not exist. `needed`: how many internal blocks are read."""

    layout: GroupLayout
    lost: tuple[int, ...]
    zeros: tuple[int, ...]
    needed: int

    @property
    def length_bytes(self) -> int:
        """Return the length of the longest block that is made: so far are others read."""
        return max(map(self.layout.block_length, self.lost))

    def piece(self, index: int, start: int, end: int) -> int:
        """Return how many of the bytes from `start` to `end` a block has."""
        return max(0, min(self.layout.block_length(index), end) - start)


def plan(order: Reconstruct) -> Plan:
    """Raises `RemoteError` where nothing is lost, or too few blocks are left."""
    layout = GroupLayout(order.policy, order.group.length_bytes)
    live = frozenset(order.live)
    lost = [
        index for index in layout.block_indices if index not in live and index not in order.excluded
    ]
    if not lost or not order.targets:
        raise errors.RemoteError(
            f"{order.group} is to be made anew at {len(order.targets)} datanodes, and has lost "
            f"the internal blocks {lost}"
        )
    data_units = order.policy.schema.data_units
    zeros = tuple(range(layout.data_blocks, data_units))
    needed = data_units - len(zeros)
    left = live.intersection(layout.block_indices)
    if len(left) < needed:
        raise errors.RemoteError(
            f"{order.group} of {order.policy.name} has the internal blocks {sorted(left)}, and "
            f"{needed} are needed to make others"
        )
    return Plan(layout, tuple(lost[: len(order.targets)]), zeros, needed)


def next_source(order: Reconstruct, in_use: Collection[int], tried: Collection[int]) -> int | None:
    """Return the number of the next source to read, among those of the order: one that was not
    `tried`, of an index that is not `in_use`. None if there is no other."""
    for number, index in enumerate(order.live):
        if number not in tried and index not in in_use:
            return number
    return None
