"""What blocks lack, or have too much: queues by need, and their lengths (pure; FS-015).

Whoever changes something about a block notes it here; `Repair` sorts what was noted, in
slices, and goes through the queues. So figures are there without counting, and a block
of which nothing changes costs nothing but its turn: each round takes so many of every
queue, first those of which something changed, then those that waited longest.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from howdah.namenode.inodes.block_table import Block, BlockState

_SPARE_TURNS: Final = 64


class Need(enum.IntEnum):
    """The worst first."""

    MISSING = 0
    """No good replica is known."""
    LAST = 1
    """One is left of more that are wanted."""
    LOW = 2
    """More than one, and fewer than are wanted."""
    SURPLUS = 3
    """Enough, and others that may go: too many, or bad ones."""


class Turns:
    """A set of block ids that take turns. A new one, or one of which something changed,
    is next."""

    __slots__ = ("_members", "_queue")

    def __init__(self) -> None:
        self._members: set[int] = set()
        # Also names ids that were discarded, and some twice; at most as many again.
        self._queue: deque[int] = deque()

    def add(self, block_id: int) -> None:
        self._members.add(block_id)
        self._queue.appendleft(block_id)
        if len(self._queue) > 2 * len(self._members) + _SPARE_TURNS:
            self._queue = deque(dict.fromkeys(i for i in self._queue if i in self._members))

    def discard(self, block_id: int) -> None:
        self._members.discard(block_id)
        if not self._members:
            self._queue.clear()

    def take(self, count: int) -> list[int]:
        """Up to so many, each once; they are behind all others from now on."""
        taken: dict[int, None] = {}
        for _ in range(len(self._queue)):
            if len(taken) >= count:
                break
            block_id = self._queue.popleft()
            if block_id in self._members and block_id not in taken:
                taken[block_id] = None
        self._queue.extend(taken)
        return list(taken)

    def __contains__(self, block_id: object) -> bool:
        return block_id in self._members

    def __iter__(self) -> Iterator[int]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)


class Redundancy:
    """The complete blocks that need something, by what they need."""

    def __init__(self, wanted: Callable[[Block], int]) -> None:
        self.wanted: Final = wanted
        """How many replicas a block is to have."""
        self.changed: set[int] = set()
        """Blocks of which something changed since they were sorted."""
        self.queues: Final[tuple[Turns, ...]] = tuple(Turns() for _ in Need)
        self.corrupt: Final[set[int]] = set()
        """Blocks with bad replicas."""
        self.missing_single: Final[set[int]] = set()
        """Of those that are missing, those that were to have one replica only."""

    def note(self, block_id: int) -> None:
        """Something about the block has changed."""
        self.changed.add(block_id)

    def forget(self, block_id: int) -> None:
        """The block is gone, or open again."""
        self.changed.discard(block_id)
        self._move(block_id, None, is_new=False)
        self.corrupt.discard(block_id)
        self.missing_single.discard(block_id)

    def settle(self, block_id: int) -> None:
        """All that there was to do about the block is under way."""
        self._move(block_id, None, is_new=False)
        self.changed.discard(block_id)

    def sort(self, block: Block) -> Need | None:
        """Put the block where it belongs; None: it has what it is to have, and no more."""
        block_id = block.block_id
        if block.state is not BlockState.COMPLETE:
            self.forget(block_id)
            return None
        has_changed = block_id in self.changed
        self.changed.discard(block_id)
        live, wanted, has_bad = block.replica_count, self.wanted(block), bool(block.corrupt)
        need = _need(live, wanted, has_bad)
        self._move(block_id, need, is_new=has_changed)
        _keep(self.corrupt, block_id, has_bad)
        _keep(self.missing_single, block_id, live == 0 and wanted == 1)
        return need

    def _move(self, block_id: int, need: Need | None, *, is_new: bool) -> None:
        for kind, queue in enumerate(self.queues):
            if kind == need:
                if is_new or block_id not in queue:
                    queue.add(block_id)
            elif block_id in queue:
                queue.discard(block_id)


def _need(live: int, wanted: int, has_bad: bool) -> Need | None:
    if live == 0:
        return Need.MISSING
    if live < wanted:
        return Need.LAST if live == 1 else Need.LOW
    return Need.SURPLUS if live > wanted or has_bad else None


def _keep(ids: set[int], block_id: int, belongs: bool) -> None:
    if belongs:
        ids.add(block_id)
    else:
        ids.discard(block_id)
