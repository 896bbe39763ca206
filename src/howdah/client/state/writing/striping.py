"""What a writer of an erasure coded file decides: whose turn it is, and which failures it bears
(pure).

DFSStripedOutputStream and its Coordinator in Hadoop, without threads and sockets. Rules:

1. Data goes cell by cell to the data blocks in turn. With a stripe's last cell its parity is made.
   Of a stripe that is short, since the file ends, the first cell says how long parity is.
2. A group ends when its data blocks have the file's block size on average; the next data begins
   another one.
3. The datanode of an internal block that failed gets nothing more of that group. Whether there were
   failures is looked up at the end of each stripe, and of the group: then the group gets a new
   generation stamp, by which what the datanode has is known to be stale.
4. More failures than the policy has parity end the stream, or fewer, where
   `dfs.client.ec.write.failed.blocks.tolerated` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from howdah.errors import PipelineFailed
from howdah.protocol.striping.layout import GroupLayout
from howdah.protocol.striping.policies import Policy


@dataclass(frozen=True, slots=True)
class Turn:
    """So many bytes are for the cell of internal block `index`, from `start` of the cell on."""

    index: int
    start: int
    length: int


class CellTurns:
    """Where the writer stands in the current group, whose data has `position` bytes so far."""

    def __init__(self, policy: Policy, block_bytes: int) -> None:
        """`block_bytes` is the file's block size, which is that of one data block."""
        self._cell = policy.cell_bytes
        self._data_units = policy.schema.data_units
        self._stripe_bytes = self._cell * self._data_units
        self._group_bytes = block_bytes * self._data_units
        self.position = 0

    def begin_group(self) -> None:
        """The next byte is the first of a group."""
        self.position = 0

    def next_turn(self, available: int) -> Turn:
        """Take as many bytes as go to one cell; `available` are there, which is at least one."""
        assert available > 0
        assert not self.is_group_full
        number, start = divmod(self.position, self._cell)
        length = min(available, self._cell - start, self._group_bytes - self.position)
        self.position += length
        return Turn(number % self._data_units, start, length)

    @property
    def is_group_full(self) -> bool:
        """Whether the next byte belongs to another group."""
        return self.position == self._group_bytes

    @property
    def ends_stripe(self) -> bool:
        """Whether the last byte was the last of a whole stripe."""
        return self.position > 0 and self.position % self._stripe_bytes == 0

    @property
    def cell_lengths(self) -> tuple[int, ...]:
        """How much each data cell has of the stripe that the last byte is in."""
        if not self.position:
            return (0,) * self._data_units
        taken = (self.position - 1) % self._stripe_bytes + 1
        return tuple(
            min(max(taken - index * self._cell, 0), self._cell) for index in range(self._data_units)
        )


class GroupFailures:
    """Which internal blocks of the current group are given up, and why."""

    def __init__(self, path: str, policy: Policy, tolerated: int) -> None:
        """`tolerated` is how many may fail, unless there is less parity."""
        self._path = path
        self._policy = policy
        self._tolerated = min(tolerated, policy.schema.parity_units)
        self.reasons: dict[int, str] = {}
        self._unmarked: set[int] = set()

    def begin_group(self) -> None:
        """All internal blocks of the new group are well."""
        self.reasons.clear()
        self._unmarked.clear()

    def never_begun(self, index: int) -> None:
        """The namenode had no datanode for this one: it counts, but nothing of it is stale."""
        self.reasons[index] = "the namenode gave no datanode for it"

    def failed(self, index: int, reason: str) -> None:
        """The datanode of this one takes nothing more."""
        if index not in self.reasons:
            self.reasons[index] = reason
            self._unmarked.add(index)

    def __contains__(self, index: int) -> bool:
        return index in self.reasons

    @property
    def must_be_marked(self) -> bool:
        """Whether some failed since the group got its present generation stamp."""
        return bool(self._unmarked)

    def begin_marking(self) -> None:
        """The group gets a new stamp, which these don't get; further ones need another."""
        self._unmarked.clear()

    def check(self) -> None:
        """Raise `PipelineFailed` where more have failed than may."""
        if len(self.reasons) > self._tolerated:
            said = "; ".join(f"{index}: {why}" for index, why in sorted(self.reasons.items()))
            raise PipelineFailed(
                f"{self._path}: Failed: the number of failed blocks = {len(self.reasons)} > the "
                f"number of failed blocks tolerated = {self._tolerated} "
                f"({self._policy.name}; {said})"
            )


def acknowledged_length(policy: Policy, written: int, lengths: Mapping[int, int]) -> int:
    """Return how much of a group's data is safe, of which `written` bytes were handed over.

    `lengths` are what the internal blocks that are well have acknowledged. Whole stripes count
    that as many of them have as there are data units; the short one at the end counts where as many
    have all of theirs.
    """
    layout = GroupLayout(policy, written)
    data_units, cell = policy.schema.data_units, policy.cell_bytes
    complete = sum(
        lengths[index] == layout.block_length(index)
        for index in range(policy.schema.units)
        if index in lengths
    )
    if complete >= data_units:
        return written
    stripes = sorted((length // cell for length in lengths.values()), reverse=True)
    if len(stripes) < data_units:
        return 0
    return min(stripes[data_units - 1] * layout.stripe_bytes, written)
