"""Blocks with too few or too many replicas: queues and figures (pure; FS-015).

Hadoop's `LowRedundancyBlocks`, with the blocks of its `ExcessRedundancyMap` and
`CorruptReplicasMap`; and its `NumberReplicas`: of a datanode that is decommissioned the
replicas are there for readers, and do not count otherwise; one in maintenance stands for
itself, as long as enough others are live.

Every block has somebody who brings it back to its replication, whoever its owner is (a file, an
open file, a snapshot alone):

- a block of final length, complete or committed, is copied. Hadoop leaves committed ones alone,
  so that one which never got its least replicas is lost with the next datanode;
- a block that nobody writes any more (`left_open`) is recovered (`writing.block_recovery`), and
  is complete then. Until then it is in the queues by the datanodes that may have a replica, so
  that figures say what is so, and has no turn there;
- a block that a client writes is the client's business.

Any code that changes the replicas of a block notes the block here. `Reconstruction` then
sorts the noted blocks into the queues, in slices, and works the queues off. So the figures
need no counting, and a block that does not change costs nothing but its turn: each round
takes a limited number of blocks from every queue, first those that changed, then the others in
turn. Sets that have every block when no datanode is there are of bits.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from howdah.namenode.state.blocks.balancer_moves import MoveHints
from howdah.namenode.state.blocks.datanodes import Datanode
from howdah.namenode.state.blocks.placement import Placement
from howdah.namenode.state.blocks.policies import SPREAD
from howdah.namenode.state.inodes.block_table import Block
from howdah.namenode.state.inodes.group_table import Group
from howdah.namenode.state.inodes.id_bitmap import IdBitmap

MOST_FRESH: Final = 10_000
"""So many blocks that changed of late are taken before the others of their queue."""


class Need(enum.IntEnum):
    """The worst first."""

    MISSING = 0
    """No good replica is known."""
    HIGHEST = 1
    """One is left of several expected ones, or only such as are about to leave."""
    VERY_LOW = 2
    """Fewer than a third of the expected ones."""
    LOW = 3
    """Others that have fewer than expected."""
    MISPLACED = 4
    """Enough, but on too few racks, or in too few upgrade domains."""
    EXCESS = 5
    """Enough, and others that may be deleted: excess replicas, or corrupt ones."""


TOO_FEW: Final = (Need.HIGHEST, Need.VERY_LOW, Need.LOW)
TO_COPY: Final = (*TOO_FEW, Need.MISPLACED)
"""The queues of which blocks are copied: Hadoop's priorities."""


class ReplicaCounts(NamedTuple):
    """The good replicas of a block: `live` ones are on datanodes in service, the others on
    datanodes that are or will be decommissioned, or are in or entering maintenance."""

    live: int
    decommission: int
    maintenance: int

    @property
    def leaving(self) -> int:
        return self.decommission + self.maintenance


class BlockQueue(IdBitmap):
    """A set of block ids that take turns: first those that were added or changed of late, the
    newest of them first, and then all in a round, each as often as the others.

    Whatever happens its size is that of the set, and a bound: when every block is missing, it
    has all of them.
    """

    __slots__ = ("_fresh", "_round")

    def __init__(self) -> None:
        super().__init__()
        # May have ids that were discarded, and some twice.
        self._fresh: deque[int] = deque(maxlen=MOST_FRESH)
        self._round: Iterator[int] = iter(())

    def add(self, block_id: int) -> None:
        IdBitmap.add(self, block_id)
        self._fresh.append(block_id)

    def discard(self, block_id: int) -> None:
        IdBitmap.discard(self, block_id)
        if not self.count:
            self._fresh.clear()

    def pop(self, count: int) -> list[int]:
        """Up to `count` ids, each once."""
        taken: dict[int, None] = {}
        wanted = min(count, self.count)
        while len(taken) < wanted:
            block_id = self._fresh.pop() if self._fresh else self._next_of_round()
            if block_id in self:
                taken[block_id] = None
        return list(taken)

    def _next_of_round(self) -> int:
        """It was a member when the round reached its neighbours, and may be none any more. There
        are members."""
        for block_id in self._round:
            return block_id
        self._round = iter(self)
        return next(self._round)


class Redundancy:
    """The blocks that need work, by the kind of work."""

    def __init__(
        self,
        expected_replication: Callable[[Block], int],
        min_maintenance: int = 1,
        placement: Placement | None = None,
        *,
        may_hold: Callable[[Block], Iterable[Datanode]] = lambda block: (),
        awaits_reports: Callable[[Block], bool] = lambda block: False,
    ) -> None:
        """`min_maintenance` replicas must be live while others are in maintenance; `placement`
        knows which blocks are badly placed: without it none is. `may_hold` are the datanodes that
        may have a replica of a block under construction; `awaits_reports` says of a block that
        was just closed whether datanodes have yet to report their replicas."""
        self._placement = placement
        self.group_policy = SPREAD
        """On which racks internal blocks of groups should be."""
        self._may_hold = may_hold
        self._awaits_reports = awaits_reports
        self.expected_replication: Final = expected_replication
        """How many replicas a block should have."""
        self.min_maintenance: Final = min_maintenance
        self.out_of_service: Final[set[Datanode]] = set()
        """The datanodes that are not in service: `membership` keeps it. While it is empty,
        nobody looks at where replicas are."""
        self._watched: set[int] | None = None
        self.changed: set[int] = set()
        """Blocks that changed since they were last sorted."""
        self.left_open: Final[set[int]] = set()
        """Blocks under construction that nobody writes any more: they are being recovered."""
        self.queues: Final[tuple[BlockQueue, ...]] = tuple(BlockQueue() for _ in Need)
        self.postponed: Final[set[int]] = set()
        """Blocks with replicas too many, of which none could be deleted at their last turn."""
        self.corrupt: Final[set[int]] = set()
        """Blocks with corrupt replicas."""
        self.missing_single: Final = IdBitmap()
        """Missing blocks whose expected replication is 1."""
        self.move_hints: Final = MoveHints()
        """Which replicas in excess are to go, because they were moved elsewhere."""

    def note(self, block_id: int) -> None:
        """The block, or one of its replicas, has changed."""
        self.changed.add(block_id)

    @contextmanager
    def watched(self) -> Iterator[Callable[[], set[int]]]:
        """In this context the given function says which blocks have changed since it began; it
        may name others as well. One context at a time."""
        taken: set[int] = set()
        self._watched = taken
        try:
            yield lambda: self.changed | taken
        finally:
            self._watched = None

    def counts(self, block: Block) -> ReplicaCounts:
        """The good replicas of the block by the states of their datanodes; of a group, its
        internal blocks, each by the best of its holders."""
        if isinstance(block, Group):
            return _counts_of(block)
        if not self.out_of_service:
            return ReplicaCounts(block.replica_count, 0, 0)
        live = maintenance = 0
        replicas = block.replicas
        for storage in replicas:
            node = storage.node
            if node.in_service:
                live += 1
            elif node.admin_state.is_maintenance:
                maintenance += 1
        return ReplicaCounts(live, len(replicas) - live - maintenance, maintenance)

    def live_count(self, block: Block) -> int:
        """How many good replicas are on datanodes in service."""
        return self.counts(block).live

    def required(self, block: Block, counts: ReplicaCounts) -> int:
        """How many live replicas the block needs: as many as it should have, but for those in
        maintenance, of which some have to be live all the same."""
        if isinstance(block, Group):
            layout = block.layout
            return max(len(layout.block_indices) - counts.maintenance, layout.data_blocks)
        expected = self.expected_replication(block)
        if not counts.maintenance:
            return expected
        return max(expected - counts.maintenance, min(self.min_maintenance, expected))

    def forget(self, block_id: int) -> None:
        """The block was removed, or is under construction again."""
        self.changed.discard(block_id)
        self._move(block_id, None, is_new=False)
        self.corrupt.discard(block_id)
        self.missing_single.discard(block_id)
        self.move_hints.forget(block_id)

    def standing(self, block: Block) -> list[Datanode]:
        """The datanodes whose good replicas count for the places of the block: all but those
        that are decommissioned, or are to be."""
        nodes = [storage.node for storage in block.replicas]
        if not self.out_of_service:
            return nodes
        return [n for n in nodes if n.in_service or n.admin_state.is_maintenance]

    def is_misplaced(self, block: Block, expected: int) -> bool:
        """Whether the block's replicas are on too few racks, or in too few upgrade domains. A
        group is to be on as many racks as there are."""
        placement = self._placement
        if isinstance(block, Group):
            return self.racks_lacking(block, self.standing(block)) > 0
        if placement is None or expected < 2 or placement.is_trivial:
            return False
        return placement.lacking(self.standing(block), expected) > 0

    def racks_lacking(self, group: Group, nodes: Sequence[Datanode]) -> int:
        """On how many more racks a group should be whose internal blocks are on these nodes."""
        if self._placement is None:
            return 0
        replicas, network = len(group.layout.block_indices), self._placement.network
        return self.group_policy.lacking(nodes, replicas, network)

    def too_few(self) -> Iterator[int]:
        """The blocks that have fewer replicas than expected, the worst first."""
        for need in TOO_FEW:
            yield from self.queues[need]

    def settle(self, block: Block) -> None:
        """Nothing of the block is to be deleted any more, or the orders are given."""
        is_misplaced = self.is_misplaced(block, self.expected_replication(block))
        self._move(block.block_id, Need.MISPLACED if is_misplaced else None, is_new=False)
        self.move_hints.forget(block.block_id)
        self._on_scheduled(block.block_id)

    def _on_scheduled(self, block_id: int) -> None:
        self.changed.discard(block_id)
        if self._watched is not None:
            self._watched.add(block_id)

    def sort(self, block: Block) -> Need | None:
        """Put the block into the queue where it belongs. None: it has the expected replicas."""
        block_id = block.block_id
        if not block.is_settled:
            return self._sort_open(block)
        if isinstance(block, Group):
            return self._sort_group(block)
        has_changed = block_id in self.changed
        if has_changed:
            self._on_scheduled(block_id)
        expected, has_corrupt = self.expected_replication(block), bool(block.corrupt)
        if self.out_of_service:
            counts = self.counts(block)
            required = self.required(block, counts)
            need = _need(counts.live, counts.leaving, required, expected, has_corrupt)
        else:  # As nearly always: these 0.6 us are a third of what a change costs.
            need = _need(block.replica_count, 0, expected, expected, has_corrupt)
        if need is Need.MISSING and self._awaits_reports(block):
            need = Need.HIGHEST  # Its writer says that datanodes have it.
        if need is None and self.is_misplaced(block, expected):
            need = Need.MISPLACED
        self._move(block_id, need, is_new=has_changed)
        if need is not Need.EXCESS and self.move_hints:
            self.move_hints.forget(block_id)
        _set_membership(self.corrupt, block_id, has_corrupt)
        if need is Need.MISSING and expected == 1:
            self.missing_single.add(block_id)
        elif self.missing_single.count:
            self.missing_single.discard(block_id)
        return need

    def _sort_group(self, group: Group) -> Need | None:
        """The same for a block group."""
        block_id = group.block_id
        has_changed = block_id in self.changed
        if has_changed:
            self._on_scheduled(block_id)
        counts, has_corrupt = _counts_of(group), bool(group.corrupt)
        need = _need_of_group(group, counts, self.required(group, counts))
        if need is Need.MISSING and self._awaits_reports(group):
            need = Need.HIGHEST
        if need is None and (has_corrupt or _has_duplicates(group)):
            need = Need.EXCESS
        if need is None and self.is_misplaced(group, 0):
            need = Need.MISPLACED
        self._move(block_id, need, is_new=has_changed)
        if need is not Need.EXCESS and self.move_hints:
            self.move_hints.forget(block_id)
        _set_membership(self.corrupt, block_id, has_corrupt)
        return need

    def _sort_open(self, block: Block) -> Need | None:
        """The same for a block under construction. Of a group nothing is told: how much of it must
        be there is known when it has been recovered."""
        block_id = block.block_id
        if block_id not in self.left_open or isinstance(block, Group):
            self.forget(block_id)
            return None
        has_changed = block_id in self.changed
        if has_changed:
            self._on_scheduled(block_id)
        nodes = [node for node in self._may_hold(block) if node.alive]
        live = sum(node.in_service for node in nodes)
        maintenance = sum(node.admin_state.is_maintenance for node in nodes)
        counts = ReplicaCounts(live, len(nodes) - live - maintenance, maintenance)
        expected = self.expected_replication(block)
        need = _need(live, counts.leaving, self.required(block, counts), expected, False)
        if need is Need.EXCESS or (need is Need.MISSING and not block.length_bytes):
            need = None  # The recovery finds the replicas that are one too many, or none.
        self._move(block_id, need, is_new=has_changed)
        _set_membership(self.missing_single, block_id, need is Need.MISSING and expected == 1)
        return need

    def _move(self, block_id: int, need: Need | None, *, is_new: bool) -> None:
        if self.postponed and need is not Need.EXCESS:
            self.postponed.discard(block_id)
        for kind, queue in enumerate(self.queues):
            if kind == need:
                if is_new or block_id not in queue:
                    queue.add(block_id)
            elif queue.count and block_id in queue:  # Most queues are empty at most times.
                queue.discard(block_id)


def _need(live: int, leaving: int, required: int, expected: int, has_corrupt: bool) -> Need | None:
    if live == 0 and leaving == 0:
        return Need.MISSING
    if live < required:
        if live <= 1:
            return Need.HIGHEST
        return Need.VERY_LOW if 3 * live < expected else Need.LOW
    return Need.EXCESS if live > expected or (has_corrupt and live) else None


def _counts_of(group: Group) -> ReplicaCounts:
    best: dict[int, int] = {}
    for index, storage in group.held:
        node = storage.node
        rank = 0 if node.in_service else 2 if node.admin_state.is_maintenance else 1
        best[index] = min(rank, best.get(index, rank))
    ranks = [best[index] for index in group.layout.block_indices if index in best]
    return ReplicaCounts(ranks.count(0), ranks.count(1), ranks.count(2))


def _has_duplicates(group: Group) -> bool:
    """Return whether an internal block is on two datanodes in service."""
    in_service = [index for index, storage in group.held if storage.node.in_service]
    return len(set(in_service)) < len(in_service)


def _need_of_group(group: Group, counts: ReplicaCounts, required: int) -> Need | None:
    """Hadoop: `LowRedundancyBlocks.getPriorityStriped`."""
    data_blocks, live = group.data_blocks, counts.live
    if live >= required:
        return None
    if live < data_blocks:
        return Need.HIGHEST if live + counts.leaving >= data_blocks else Need.MISSING
    if live == data_blocks:
        return Need.HIGHEST
    if (live - data_blocks) * 3 < group.policy.schema.parity_units + 1:
        return Need.VERY_LOW
    return Need.LOW


def _set_membership(ids: set[int] | IdBitmap, block_id: int, belongs: bool) -> None:
    if belongs:
        ids.add(block_id)
    else:
        ids.discard(block_id)
