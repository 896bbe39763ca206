"""Redundancy work: copies of blocks with low redundancy, deletion of excess (pure; FS-015).

Hadoop's `RedundancyMonitor` and `PendingReconstructionBlocks`.

`Reconstruction.work(now_ms)` is one round of work, with the steps of
docs/how-it-works/blocks.md:

1. Sort the blocks that changed into the queues of `redundancy`.
2. Give up copies that did not arrive before their deadline.
3. Find missing blocks on datanodes with orders to delete them.
4. Invalidate corrupt and excess replicas.
5. Order copies of blocks with too few replicas, the worst first, then of badly placed ones.
6. The heartbeats of the datanodes take the orders.

Where the racks or upgrade domains have changed since all blocks were last looked at, a round
looks at some more of them (`SCAN_BLOCKS`): blocks that nothing happened to may be badly
placed now, or well placed again.

A copy that is ordered is pending. It is ordered again:

- when it did not arrive before the deadline, to other datanodes if there are any;
- at once when its source is gone or corrupt, when one of its datanodes has registered
  again, or when all its targets have a replica of the block that does not count:
  a datanode refuses a copy until it has deleted such a replica.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from howdah.namenode.state.blocks import coding_work
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.blocks.block_map import BlockMap
from howdah.namenode.state.blocks.datanodes import (
    Datanode,
    DatanodeRegistry,
    GroupReconstruction,
    Storage,
    Transfer,
)
from howdah.namenode.state.blocks.excess_replicas import choose_excess
from howdah.namenode.state.blocks.placement import Placement, without
from howdah.namenode.state.blocks.redundancy import TO_COPY, TOO_FEW, Need
from howdah.namenode.state.blocks.replica_map import reported_ids
from howdah.namenode.state.inodes.group_table import Group, Internal
from howdah.namenode.state.inodes.inodes import Block


@dataclass(frozen=True, slots=True)
class Streams:
    """How many copies a source has to send at a time: `ordinary` ones
    (dfs.namenode.replication.max-streams), and `most` if the block has one live replica at
    most, or the source itself is about to leave (…max-streams-hard-limit)."""

    ordinary: int = 2
    most: int = 4

    def may_run(self, node: Datanode) -> int:
        """How many copies the datanode may be sending at a time."""
        return self.most if node.admin_state.is_under_way else self.ordinary


Kinds = tuple[Sequence[int], Sequence[int]]
"""Types of storage by their numbers on the wire, and those to take in their place."""

PENDING_TIMEOUT_MS: Final = 300_000
"""dfs.namenode.reconstruction.pending.timeout-sec."""

SLICE_BLOCKS: Final = 1000
"""Blocks that are sorted, or cut down, in one go."""

SLICE_COPIES: Final = 4
"""Blocks for which targets are chosen in one go, among all datanodes."""

SCAN_BLOCKS: Final = 100_000
"""Blocks that one round looks at because the racks have changed: some 0.2 s, in slices."""

SPREAD_LOOKS: Final = 20_000
"""At so many datanodes one round looks for better places: where all other racks are full, each
badly placed block costs a look at all of their nodes, and none is helped."""

MAX_CUTS: Final = 10_000
"""Blocks with excess or corrupt replicas that one round handles."""

MAX_PENDING_DELETIONS: Final = 10_000
"""A datanode with that many pending deletions gets no orders to delete excess replicas."""


LEAVING_LAST: Final = {
    AdminState.NORMAL: 0,
    AdminState.ENTERING_MAINTENANCE: 1,
    AdminState.DECOMMISSION_INPROGRESS: 2,
    AdminState.DECOMMISSIONED: 3,
    AdminState.IN_MAINTENANCE: 4,
}
"""In which order the holders of a block are asked for it, by readers and for copies."""


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """The same of block groups alone, which the figures of blocks have as well."""

    total: int = 0
    corrupt: int = 0
    missing: int = 0
    highest: int = 0
    """Those that the loss of one more internal block would make missing."""
    low_redundancy: int = 0
    under_way: int = 0
    """Those with internal blocks that are copied or made anew."""


NO_GROUPS: Final = GroupCounts()


@dataclass(frozen=True, slots=True)
class BlockCounts:
    """`missing` have no good replica, of which `missing_single` were meant to have but one;
    `corrupt` have bad replicas. The others are in one queue each."""

    corrupt: int = 0
    missing: int = 0
    missing_single: int = 0
    last_replica: int = 0
    """One is left, or only such as are about to leave: Hadoop's highest priority."""
    very_low: int = 0
    low: int = 0
    misplaced: int = 0
    """Enough replicas, badly distributed."""
    excess: int = 0
    """Replicas that are one too many, and that datanodes are to delete."""
    postponed: int = 0
    """Blocks with replicas too many, of which none can be deleted yet."""
    groups: GroupCounts = NO_GROUPS

    @property
    def too_few(self) -> int:
        """Blocks that have fewer replicas than they should have, but some."""
        return self.last_replica + self.very_low + self.low

    @property
    def low_redundancy(self) -> int:
        """Hadoop's figure of that name has the badly distributed ones as well."""
        return self.too_few + self.misplaced


@dataclass(frozen=True, slots=True)
class _PendingCopies:
    """Copies of a block that were ordered and have not arrived."""

    source: Datanode
    targets: tuple[Storage, ...]
    deadline_ms: int


class Reconstruction:
    """Turns the queues of the block map into orders for datanodes."""

    def __init__(
        self,
        block_map: BlockMap,
        registry: DatanodeRegistry,
        placement: Placement,
        *,
        pending_timeout_ms: int = PENDING_TIMEOUT_MS,
        max_blocks_per_round: int = 1000,
        blocks_per_node: int = 2,
        streams: Streams | None = None,
        kinds_of: Callable[[Block, int], Kinds] = lambda block, replicas: ((), ()),
        avoid: Callable[[int], Callable[[Datanode], bool]] | None = None,
        group_placement: Placement | None = None,
    ) -> None:
        """A round looks at `max_blocks_per_round` of each queue, and orders copies of
        `blocks_per_node` blocks for each live datanode. `avoid` gives at a time the question
        whether a node gets copies last; without it stale ones do. `kinds_of` says on which types of
        storage so many replicas of a block should be, and which to take in their place.
        `group_placement` chooses where internal blocks of groups go."""
        self._map = block_map
        self._registry = registry
        self._placement = placement
        self._group_placement = group_placement or placement
        self._blocks_per_node = blocks_per_node
        self._kinds_of = kinds_of
        self._avoid = avoid or (lambda now_ms: lambda node: registry.is_stale(node, now_ms))
        # What is left of a look at all blocks because the places changed, and as of which
        # change.
        self._rescan: Iterator[int] | None = None
        self._scanned_version = -1
        self.timed_out = 0
        """Blocks whose copies did not arrive in time, since the start."""
        self._pending_timeout_ms = pending_timeout_ms
        self._max_blocks = max_blocks_per_round
        self.streams = streams or Streams()
        self._pending: dict[int, _PendingCopies] = {}
        # When the datanodes of a block's last pipeline must have reported their replicas.
        self._reports_deadline_ms: dict[int, int] = {}
        # When orders for invalidated replicas that are in the way of copies are sent again.
        self._resend_ms: dict[int, int] = {}
        # Targets of copies of a block that did not arrive.
        self._failed: dict[int, set[str]] = {}
        self._has_scanned = False

    def pace(self, *, blocks_per_node: int, streams: Streams, pending_timeout_ms: int) -> None:
        """From now on; what was ordered before stays as it was ordered."""
        self._blocks_per_node = blocks_per_node
        self.streams = streams
        self._pending_timeout_ms = pending_timeout_ms

    @property
    def has_scanned(self) -> bool:
        """Whether it has looked at each block once, so that its figures are whole."""
        return self._has_scanned

    def start_over(self) -> None:
        """The role of the namenode has changed: what was ordered is none of its business, or
        was ordered by another one."""
        for orders in (self._pending, self._reports_deadline_ms, self._resend_ms, self._failed):
            orders.clear()
        self._map.redundancy.move_hints.clear()
        self._has_scanned = False
        self._rescan = None

    @property
    def pending_count(self) -> int:
        """Blocks with a copy under way."""
        return len(self._pending)

    def under_way(self) -> list[tuple[int, int, int]]:
        """Of each block with copies under way: its id, their deadline, their number."""
        return [
            (block_id, order.deadline_ms, len(order.targets))
            for block_id, order in self._pending.items()
        ]

    def counts(self) -> BlockCounts:
        """Of the blocks in question; as of the last round where very many have
        changed since."""
        needs = self._map.redundancy
        if len(needs.changed) <= SLICE_BLOCKS:
            for block_id in list(needs.changed):
                self._sort(block_id)
        lengths = [len(queue) for queue in needs.queues]
        return BlockCounts(
            corrupt=len(needs.corrupt),
            missing=lengths[Need.MISSING],
            missing_single=len(needs.missing_single),
            last_replica=lengths[Need.HIGHEST],
            very_low=lengths[Need.VERY_LOW],
            low=lengths[Need.LOW],
            misplaced=lengths[Need.MISPLACED],
            excess=self._map.invalidation.excess,
            postponed=len(needs.postponed),
            groups=self._group_counts(),
        )

    def _group_counts(self) -> GroupCounts:
        total = len(self._map.blocks.groups)
        if not total:
            return NO_GROUPS
        needs = self._map.redundancy
        by_need = {need: needs.queues[need].count_below_zero for need in (Need.MISSING, *TO_COPY)}
        return GroupCounts(
            total=total,
            corrupt=sum(block_id < 0 for block_id in needs.corrupt),
            missing=by_need[Need.MISSING],
            highest=by_need[Need.HIGHEST],
            low_redundancy=sum(by_need[need] for need in TO_COPY),
            under_way=sum(block_id < 0 for block_id in self._pending),
        )

    def work(self, now_ms: int) -> Generator[None, None, None]:
        """One round: excess replicas are invalidated, then blocks are copied, the worst first.

        A generator that yields every few milliseconds, as there may be a million blocks
        in question and a thousand nodes to choose from; each block is checked again
        when its turn comes. A round handles a limited number of them, those first that
        changed.
        """
        if not self._has_scanned:
            self._scanned_version, self._rescan = self._places_version, None
            yield from self._scan()
            self._has_scanned = True
        yield from self.sort()
        yield from self._look_at_places()
        self._forget_late(now_ms)
        queues = self._map.redundancy.queues
        self._find_missing(queues[Need.MISSING].pop(self._max_blocks))
        yield
        for number, block_id in enumerate(queues[Need.EXCESS].pop(MAX_CUTS), 1):
            block = self._map.blocks.get(block_id)
            if block is not None and self._sort(block_id) is Need.EXCESS:
                self._remove_excess(block, now_ms)
            if number % SLICE_BLOCKS == 0:
                yield
        yield from self._copy(now_ms)

    def _copy(self, now_ms: int) -> Generator[None, None, None]:
        """Order copies, of a limited number of blocks. Those that have no turn are next."""
        left = self._blocks_per_node * len(self._registry.live())
        for need in TO_COPY:
            queue, looks = self._map.redundancy.queues[need], self._looks
            turns = min(self._max_blocks, len(queue))
            for taken in range(0, turns, SLICE_COPIES):
                for block_id in queue.pop(min(SLICE_COPIES, turns - taken)):
                    block = self._map.blocks.get(block_id)
                    if block is not None and left > 0:
                        left -= self._mend(block, self._sort(block_id), now_ms)
                if left <= 0:
                    return
                if need is Need.MISPLACED and self._looks - looks > SPREAD_LOOKS:
                    return
                yield

    @property
    def _looks(self) -> int:
        """At how many datanodes it has looked for places, of blocks and of groups."""
        looks = self._placement.looks
        if self._group_placement is not self._placement:
            looks += self._group_placement.looks
        return looks

    def sort(self) -> Generator[None, None, None]:
        """Put the blocks that changed into their queues; in slices."""
        changed = self._map.redundancy.changed
        for number, block_id in enumerate(list(changed), 1):
            self._sort(block_id)
            if number % SLICE_BLOCKS == 0:
                yield
        if not changed:
            changed.clear()  # After first reports it had all blocks: it gives back its table.

    def _scan(self) -> Generator[None, None, None]:
        """After a start: a block without any reported replica was never noted as changed."""
        for number, block_id in enumerate(self._map.blocks, 1):
            self._sort(block_id)
            if number % SLICE_BLOCKS == 0:
                yield

    @property
    def is_rescanning(self) -> bool:
        """Whether the places have changed, and not all blocks were looked at since."""
        return self._rescan is not None or self._scanned_version != self._places_version

    @property
    def _places_version(self) -> int:
        return self._placement.network.version

    def _look_at_places(self) -> Generator[None, None, None]:
        """The racks or upgrade domains have changed: look at some more blocks."""
        if self._rescan is None:
            if self._scanned_version == self._places_version:
                return
            self._scanned_version = self._places_version
            self._rescan = iter(self._map.blocks)
        for number, block_id in enumerate(itertools.islice(self._rescan, SCAN_BLOCKS), 1):
            self._sort(block_id)
            if number % SLICE_BLOCKS == 0:
                yield
                if self._rescan is None:
                    return
            if number == SCAN_BLOCKS:
                return
        self._rescan = None

    def _sort(self, block_id: int) -> Need | None:
        block = self._map.blocks.get(block_id)
        need = None
        if block is None:
            self._map.redundancy.forget(block_id)
        else:
            need = self._map.redundancy.sort(block)
        if need in (None, Need.MISSING):
            self._pending.pop(block_id, None)
            self._failed.pop(block_id, None)
        if need not in TO_COPY:
            self._reports_deadline_ms.pop(block_id, None)
            if self._resend_ms:
                for reported_id in (block_id,) if block is None else reported_ids(block):
                    self._resend_ms.pop(reported_id, None)
        return need

    def _find_missing(self, block_ids: list[int]) -> None:
        """A datanode with orders to delete replicas of these blocks may still have them."""
        for block_id in block_ids:
            block = self._map.blocks.get(block_id)
            if isinstance(block, Group):
                self._revoke_excess_of(block, sent=True)
            elif block is not None and not block.replica_count:
                self._map.invalidation.revoke_excess(block, sent=True)

    def registered(self, node: Datanode) -> None:
        """The node has registered: pending copies from it and to it will not arrive."""
        for block_id, order in list(self._pending.items()):
            if order.source is node or any(target.node is node for target in order.targets):
                del self._pending[block_id]
                self._map.redundancy.note(block_id)

    def _forget_late(self, now_ms: int) -> None:
        for block_id, order in list(self._pending.items()):
            if now_ms >= order.deadline_ms:
                del self._pending[block_id]
                self.timed_out += 1
                if self._sort(block_id) in TO_COPY:
                    failed = self._failed.setdefault(block_id, set())
                    failed |= {target.node.identity.uuid for target in order.targets}

    def _awaits_copies(self, block: Block) -> bool:
        """True if copies are pending."""
        order = self._pending.get(block.block_id)
        if order is None:
            return False
        # By node: which of its volumes takes the copy is the target's own choice.
        holders = [storage.node for storage in block.replicas]
        if order.source in holders and any(
            target.node.alive
            and target.node.in_service
            and target.node not in holders
            and not _is_in_the_way(target.node, block)
            for target in order.targets
        ):
            return True
        del self._pending[block.block_id]
        return False

    def _remove_excess(self, block: Block, now_ms: int) -> None:
        """The block has enough replicas: invalidate corrupt and excess ones. A block with
        replicas that must stay for now gets another turn."""
        if isinstance(block, Group):
            self._remove_excess_of(block, now_ms)
            return
        self._map.invalidate_corrupt(block)
        self._invalidate_excess(block, now_ms)
        expected, live = self._expected_replication(block), self._map.live_replicas(block)
        if len(live) <= expected and all(
            block.block_id in storage.node.invalidated for storage in block.corrupt
        ):
            self._map.redundancy.settle(block)
            return
        self._map.redundancy.postponed.add(block.block_id)
        uncertain = expected - self._map.invalidation.count_certain(block)
        if len(live) > expected and uncertain > 0 and all(storage.reported for storage in live):
            # Orders that were sent before may still delete any of the excess replicas. None is
            # invalidated before there is a copy that no order can delete.
            self._order_copies(block, uncertain, now_ms)

    def _mend(self, block: Block, need: Need | None, now_ms: int) -> bool:
        """A block that should be copied has its turn. Returns whether copies were ordered."""
        if not block.is_settled:
            return False  # It is recovered first.
        if isinstance(block, Group):
            return self._mend_group(block, need, now_ms)
        before = self._pending.get(block.block_id)
        if need in TOO_FEW:
            self._reconstruct(block, now_ms)
        elif need is Need.MISPLACED:
            self._spread(block, now_ms)
        after = self._pending.get(block.block_id)
        return after is not None and after is not before

    def _remove_excess_of(self, group: Group, now_ms: int) -> None:
        """All internal blocks are there: invalidate corrupt ones, and those that are there
        twice."""
        is_done = True
        for part in group.parts:
            self._map.invalidate_corrupt(part)
            self._invalidate_excess(part, now_ms)
            is_done &= len(self._map.live_replicas(part)) <= 1 and all(
                part.block_id in storage.node.invalidated for storage in part.corrupt
            )
        if is_done:
            self._map.redundancy.settle(group)
        else:
            self._map.redundancy.postponed.add(group.block_id)

    def _revoke_excess_of(self, group: Group, *, sent: bool) -> None:
        for part in group.parts:
            if not part.replica_count:
                self._map.invalidation.revoke_excess(part, sent=sent)

    def _mend_group(self, group: Group, need: Need | None, now_ms: int) -> bool:
        """A group that lacks internal blocks has its turn. Returns whether they were ordered."""
        if need is Need.MISPLACED:
            return self._spread_group(group, now_ms)
        if need not in TOO_FEW:
            return False
        self._revoke_excess_of(group, sent=False)
        if self._awaits_parts(group):
            return False
        awaited: set[int] = set()
        if self._awaited_count(group, now_ms):
            awaited = {part.index for part in group.parts if self._map.awaited_reports(part)}
        lack = coding_work.lack_of(group, awaited)
        if lack.missing:
            return self._order_reconstruction(group, lack.missing, need, now_ms)
        if lack.leaving:
            return self._order_part_copies(group, lack.leaving, now_ms)
        return False

    def _spread_group(self, group: Group, now_ms: int) -> bool:
        """The group is on too few racks, or in too few upgrade domains: copy an internal block to
        where it is better placed. With that copy the first one is in excess."""
        if self._awaits_parts(group):
            return False
        free = [
            (index, storage)
            for index, storage in group.held
            if storage.node.alive
            and storage.node.in_service
            and len(storage.node.to_transfer) < self.streams.may_run(storage.node)
        ]
        if not free:
            return False
        needs, failed = self._map.redundancy, self._failed.pop(group.block_id, set())
        standing, unfit = needs.standing(group), self._unfit_for_parts(group)
        kinds, fallbacks = self._kinds_of(group, 1)
        for excluded in (unfit | failed, unfit) if failed else (unfit,):
            target = self._group_placement.choose_better(
                len(group.layout.block_indices),
                block_size_bytes=self._part_bytes(group),
                present=standing,
                removable=[storage.node for _, storage in free],
                kinds=[*kinds, *fallbacks],
                excluded=excluded,
                avoid=self._avoid(now_ms),
            )
            if target is not None:
                break
        else:
            return False
        self._placement.dice.shuffle(free)
        nodes = [*standing, target.node]

        def lacking_without(part: tuple[int, Storage]) -> int:
            return needs.racks_lacking(group, without(nodes, part[1].node))

        index, source = min(free, key=lacking_without)
        source.node.to_transfer.append(Transfer(group.block_id + index, (target,)))
        self._pending[group.block_id] = _PendingCopies(
            source.node, (target,), now_ms + self._pending_timeout_ms
        )
        return True

    def _awaits_parts(self, group: Group) -> bool:
        """True if internal blocks that were ordered are still to come."""
        order = self._pending.get(group.block_id)
        if order is None:
            return False
        holders = {storage.node for storage in group.replicas}
        if order.source.alive and any(
            target.node.alive and target.node.in_service and target.node not in holders
            for target in order.targets
        ):
            return True
        del self._pending[group.block_id]
        return False

    def _order_reconstruction(
        self, group: Group, missing: Sequence[int], need: Need | None, now_ms: int
    ) -> bool:
        """Order that the first of the new holders makes internal blocks from the others. One that
        has as many orders as it may have gets no more: it takes them in their order, and late ones
        would keep the urgent ones of later rounds from it."""
        streams = self.streams

        def is_busy(node: Datanode) -> bool:
            most = streams.most if need is Need.HIGHEST else streams.may_run(node)
            return len(node.to_transfer) + len(node.to_reconstruct) >= most

        sources = coding_work.sources_of(group, is_busy)
        if len(sources) < group.data_blocks:
            return False
        targets = self._part_targets(group, len(missing), now_ms, is_busy)
        if not targets:
            return False
        targets = tuple(sorted(targets, key=lambda target: len(target.node.to_reconstruct)))
        worker = targets[0].node
        if is_busy(worker):
            return False
        read = {index for index, _ in sources}
        # The worker makes what is neither read nor excluded, in order.
        excluded = tuple(
            index
            for index in group.layout.block_indices
            if index not in read and index not in missing
        )
        worker.to_reconstruct.append(
            GroupReconstruction(group.block_id, sources, targets, excluded)
        )
        self._pending[group.block_id] = _PendingCopies(
            worker, targets, now_ms + self._pending_timeout_ms
        )
        return True

    def is_pending(self, order: GroupReconstruction) -> bool:
        """Whether the group still waits for what was ordered. Another order may have taken the
        place of one that waited too long for its worker: what both made would be there twice."""
        pending = self._pending.get(order.group_id)
        return pending is not None and pending.targets is order.targets

    def _order_part_copies(
        self, group: Group, leaving: Sequence[tuple[int, Storage]], now_ms: int
    ) -> bool:
        """Order copies of internal blocks whose holders are about to leave."""
        streams = self.streams
        free = [
            (index, storage)
            for index, storage in leaving
            if len(storage.node.to_transfer) < streams.may_run(storage.node)
        ]
        targets = self._part_targets(group, len(free), now_ms)
        if not targets:
            return False
        for (index, source), target in zip(free, targets, strict=False):
            source.node.to_transfer.append(Transfer(group.block_id + index, (target,)))
        self._pending[group.block_id] = _PendingCopies(
            free[0][1].node, targets, now_ms + self._pending_timeout_ms
        )
        return True

    def _part_targets(
        self,
        group: Group,
        count: int,
        now_ms: int,
        is_busy: Callable[[Datanode], bool] = lambda node: False,
    ) -> tuple[Storage, ...]:
        """Where up to so many more internal blocks go: to datanodes that have none of the group,
        and rather to such as are not busy. Racks of datanodes that are about to leave are as free
        as any."""
        if not count:
            return ()
        kinds, fallbacks = self._kinds_of(group, count)
        is_avoided = self._avoid(now_ms)
        chosen = self._group_placement.choose(
            count,
            block_size_bytes=self._part_bytes(group),
            kinds=kinds,
            fallbacks=fallbacks,
            present=self._map.redundancy.standing(group),
            excluded=self._unfit_for_parts(group) | self._failed.get(group.block_id, set()),
            avoid=lambda node: is_busy(node) or is_avoided(node),
        )
        if not chosen:
            # As for copies: targets that failed, and holders of corrupt replicas, come next.
            self._failed.pop(group.block_id, None)
            for part in group.parts:
                self._map.invalidate_corrupt(part)
                self._make_room(part, now_ms)
        return tuple(chosen)

    @staticmethod
    def _part_bytes(group: Group) -> int:
        """How much room an internal block takes, at most."""
        return group.layout.block_length(group.policy.schema.data_units)

    def _unfit_for_parts(self, group: Group) -> set[str]:
        """Nodes that are to get no internal block: those with one, be it corrupt or invalidated,
        and those that have yet to report theirs."""
        return {uuid for part in group.parts for uuid in self._unfit(part)}

    def _spread(self, block: Block, now_ms: int) -> None:
        """The block has enough replicas on too few racks: order a copy on another one. With
        that copy one of the others is in excess."""
        if self._awaited_count(block, now_ms) or self._awaits_copies(block):
            return
        source = self._source(block)
        if source is None:
            return
        expected = self._expected_replication(block)
        live = self._map.live_replicas(block)
        kinds, fallbacks = self._kinds_of(block, expected)
        unfit, failed = self._unfit(block), self._failed.pop(block.block_id, set())
        for excluded in (unfit | failed, unfit) if failed else (unfit,):
            target = self._placement.choose_better(
                expected,
                block_size_bytes=block.length_bytes,
                present=self._map.redundancy.standing(block),
                removable=[s.node for s in live] if len(live) >= expected else [],
                kinds=[*kinds, *fallbacks],
                excluded=excluded,
                avoid=self._avoid(now_ms),
            )
            if target is not None:
                self._order(block, source, [target], now_ms)
                return

    def _reconstruct(self, block: Block, now_ms: int) -> None:
        """The block has too few replicas: order copies of a good one."""
        self._map.invalidation.revoke_excess(block, sent=False)
        needs = self._map.redundancy
        counts = needs.counts(block)
        lacking = needs.required(block, counts) - counts.live - self._awaited_count(block, now_ms)
        if lacking > 0:
            self._order_copies(block, lacking, now_ms)

    def _awaited_count(self, block: Block, now_ms: int) -> int:
        """How many datanodes in service of the block's last pipeline have yet to report their
        replica. They have as much time as a copy."""
        count = sum(node.in_service for node in self._map.awaited_reports(block))
        if count and now_ms >= self._reports_deadline_ms.setdefault(
            block.block_id, now_ms + self._pending_timeout_ms
        ):
            self._map.stop_awaiting_reports(block)
            count = 0
        if not count:
            self._reports_deadline_ms.pop(block.block_id, None)
        return count

    def _order_copies(self, block: Block, count: int, now_ms: int) -> None:
        """Order `count` copies on other datanodes, unless some are pending."""
        if self._awaits_copies(block):
            return
        source = self._source(block)
        if source is None:
            return
        live = self._map.live_replicas(block)
        kinds, fallbacks = self._kinds_of(block, len(live) + count)
        chosen = self._placement.choose(
            count,
            block_size_bytes=block.length_bytes,
            kinds=left_to_place(kinds, live, count),
            fallbacks=fallbacks,
            present=[storage.node for storage in live],
            excluded=self._unfit(block) | self._failed.get(block.block_id, set()),
            avoid=self._avoid(now_ms),
        )
        if not chosen:
            # Next time the targets that failed are tried again. Where only holders of corrupt
            # replicas are left, these make room.
            self._failed.pop(block.block_id, None)
            self._map.invalidate_corrupt(block)
            self._make_room(block, now_ms)
            return
        self._order(block, source, chosen, now_ms)

    def _order(
        self, block: Block, source: Datanode, chosen: Sequence[Storage], now_ms: int
    ) -> None:
        source.to_transfer.append(Transfer(block.block_id, tuple(chosen)))
        self._pending[block.block_id] = _PendingCopies(
            source, tuple(chosen), now_ms + self._pending_timeout_ms
        )

    def _make_room(self, block: Block, now_ms: int) -> None:
        """Invalidated replicas may be in the way of copies: send their orders again, as often
        as a copy is ordered again."""
        block_id = block.block_id
        if now_ms >= self._resend_ms.setdefault(block_id, now_ms + self._pending_timeout_ms):
            self._resend_ms[block_id] = now_ms + self._pending_timeout_ms
            self._map.invalidation.send_again(block)

    def _source(self, block: Block) -> Datanode | None:
        """A holder that has few copies to send; one that is about to leave only where no
        other can, one that is decommissioned last."""
        streams = self.streams
        is_urgent = self._map.redundancy.live_count(block) <= 1
        nodes = [
            node
            for node in (storage.node for storage in block.replicas if storage.node.alive)
            if len(node.to_transfer) < (streams.most if is_urgent else streams.may_run(node))
        ]
        self._placement.dice.shuffle(nodes)
        return min(
            nodes,
            key=lambda n: (LEAVING_LAST[n.admin_state], len(n.to_transfer)),
            default=None,
        )

    def _unfit(self, block: Block) -> set[str]:
        """Nodes that cannot take a copy: those with a replica, be it corrupt or invalidated, and
        those of the last pipeline that have yet to report theirs."""
        nodes = {
            *self._map.awaited_reports(block),
            *self._map.invalidation.ordered(block.block_id),
            *(storage.node for storage in (*block.replicas, *block.corrupt)),
        }
        return {node.identity.uuid for node in nodes}

    def _invalidate_excess(self, block: Block, now_ms: int) -> None:
        """Invalidate excess replicas: those that were moved elsewhere, then as `excess` chooses
        them. Enough certain replicas always stay."""
        certain, expected = (
            self._map.invalidation.count_certain(block),
            self._expected_replication(block),
        )
        for _ in range(self._map.redundancy.live_count(block) - expected):
            if certain < expected:
                return
            victim = self._choose_excess(block, now_ms, spare_certain=certain == expected)
            if victim is None:
                return
            certain -= self._map.invalidation.is_certain(victim, block.block_id)
            self._map.invalidate_excess(victim, block)

    def _choose_excess(self, block: Block, now_ms: int, *, spare_certain: bool) -> Storage | None:
        block_id, expected = block.block_id, self._expected_replication(block)
        live = self._map.live_replicas(block)
        standing = self._map.redundancy.standing(block)
        removable = [
            storage
            for storage in live
            if storage.node.pending_deletions < MAX_PENDING_DELETIONS
            and not (spare_certain and self._map.invalidation.is_certain(storage, block_id))
        ]
        if isinstance(block, Internal):
            # A datanode that has another internal block, too, would take both with it.
            others = {s.node for index, s in block.group.held if index != block.index}
            removable = [s for s in removable if s.node in others] or removable

        def lacking_without(storage: Storage) -> int:
            if isinstance(block, Internal):
                group = block.group
                left = [
                    other.node
                    for index, other in group.held
                    if (index, other) != (block.index, storage)
                ]
                return self._map.redundancy.racks_lacking(group, left)
            return self._placement.lacking(
                [node for node in standing if node is not storage.node], expected
            )

        racks = Counter(storage.node.location for storage in live)
        moved = self._map.redundancy.move_hints.victim(block_id, removable, racks, lacking_without)
        if moved is not None:
            return moved
        wanted, _ = self._kinds_of(block, expected)
        return choose_excess(
            block_id,
            removable,
            live,
            lacking_without=lacking_without,
            wanted_kinds=wanted,
            now_ms=now_ms,
        )

    def _expected_replication(self, block: Block) -> int:
        return self._map.redundancy.expected_replication(block)


def left_to_place(kinds: Sequence[int], placed: Sequence[Storage], count: int) -> Sequence[int]:
    """Of the types that all replicas should be on, those for the next `count` ones."""
    left = list(kinds)
    for storage in placed:
        if storage.storage_type in left:
            left.remove(storage.storage_type)
    return left[:count]


def _is_in_the_way(node: Datanode, block: Block) -> bool:
    """True if the node has a corrupt or invalidated replica of the block."""
    return block.block_id in node.invalidated or any(
        block.block_id in storage.corrupt for storage in node.storages.values()
    )
