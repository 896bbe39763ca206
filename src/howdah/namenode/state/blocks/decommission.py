"""Datanodes leave the service and come back: decommission and maintenance (pure).

Hadoop's `DatanodeAdminManager` and `DatanodeAdminDefaultMonitor`; the states are those of
`admin_states`. The host files say what is to be (`obey`). The rest is done in rounds:

1. A datanode whose maintenance is over returns to service.
2. Where a datanode has left the service or has come back, its blocks are noted as changed.
   Blocks with too few replicas elsewhere are copied then, those with too many cut down.
3. Each datanode that is about to leave is looked at. It has left when all its blocks have
   enough replicas elsewhere, those of open files included. The first look goes over all
   blocks; further ones over those that lacked something; the last one over all again.

A datanode that is alive must have reported in full before it can have left. One that died
meanwhile has left when the whole cluster lacks nothing: nobody knows otherwise whether it
had the only replica of something. A round ends between two datanodes once it has looked at
`blocks_per_round` blocks. `max_tracked` datanodes at most are looked at in turns; others
wait until one of these has left, and dead ones make room for live ones.

A standby does steps 1 and 2: it applies the files itself, and copies nothing. Nobody has
left before it is active.

A datanode that dies in maintenance keeps its place: its replicas stay known, so that they
cost no copies. They are forgotten when it returns to service while it is dead.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Final

from howdah.namenode.state.blocks.admin_states import AdminEvent, AdminState, next_state
from howdah.namenode.state.blocks.block_map import BlockMap
from howdah.namenode.state.blocks.datanodes import Datanode, LeavingFigures
from howdah.namenode.state.blocks.host_lists import Hosts
from howdah.namenode.state.blocks.replica_map import reported_ids
from howdah.namenode.state.inodes.block_table import Block, BlockState
from howdah.namenode.state.inodes.group_table import Group, Internal
from howdah.namenode.state.inodes.row_table import IdSet

log = logging.getLogger(__name__)

SLICE_BLOCKS: Final = 500
"""Blocks that are noted or looked at in one go: about a millisecond."""

MOST_CHANGES: Final = 50_000
"""With more blocks that changed during a look, it is taken again later."""


@dataclass(frozen=True, slots=True)
class MembershipSettings:
    """`default_replication` suffices for a datanode to leave, whatever its files want."""

    default_replication: int = 3
    interval_ms: int = 30_000
    blocks_per_round: int = 500_000
    max_tracked: int = 100
    """0: all."""


class _Look:
    """What a look at one datanode has found. `lacking` are the blocks that keep it."""

    __slots__ = ("lacking", "only_leaving", "open_files")

    def __init__(self) -> None:
        self.lacking = IdSet()
        self.only_leaving = 0
        self.open_files = 0


class DecommissionMonitor:
    """Knows which datanodes are in service, and how far those are that leave it."""

    def __init__(
        self,
        block_map: BlockMap,
        settings: MembershipSettings,
        lacks_nothing: Callable[[], bool],
        is_open: Callable[[Block], bool],
        changed: Callable[[Datanode], None] = lambda node: None,
    ) -> None:
        """`lacks_nothing`: no block of the cluster lacks a replica, and no copy is under way.
        `is_open`: the block's file is being written. `changed` hears of each datanode that has
        another state, or another upgrade domain."""
        self._map = block_map
        self._needs = block_map.redundancy
        self._settings = settings
        self._lacks_nothing = lacks_nothing
        self._is_open = is_open
        self._changed = changed
        self._next_ms = 0
        # Datanodes whose blocks are to be noted as changed.
        self._to_note: dict[Datanode, None] = {}
        # Those that are about to leave, in turns, each with its blocks that lacked replicas
        # elsewhere at the last look; None before the first one.
        self._tracked: dict[Datanode, IdSet | None] = {}
        self._waiting: dict[Datanode, None] = {}

    # Orders.

    def obey(self, node: Datanode, hosts: Hosts, wall_ms: int) -> None:
        """The host files were read, or the datanode has registered: what they say of it holds
        from now on."""
        identity = node.identity
        node.upgrade_domain = hosts.upgrade_domain(identity)
        until_ms = hosts.maintenance_until_ms(identity)
        if until_ms > wall_ms:
            node.maintenance_until_ms = until_ms
            at_once = not node.alive or self._needs.min_maintenance == 0
            event = AdminEvent.MAINTENANCE_AT_ONCE if at_once else AdminEvent.MAINTENANCE
        elif hosts.to_decommission(identity):
            event = AdminEvent.DECOMMISSION if node.alive else AdminEvent.DECOMMISSION_DEAD
        else:
            event = AdminEvent.SERVICE
        self._happened(node, event)
        self._changed(node)

    def died(self, node: Datanode) -> None:
        """The datanode is silent for too long."""
        if node.admin_state.is_maintenance:
            self._map.node_rests(node)
        else:
            self._map.node_gone(node)

    def forget(self, node: Datanode) -> None:
        """The datanode belongs to the cluster no more, or is known by another uuid."""
        self._happened(node, AdminEvent.SERVICE)
        self._to_note.pop(node, None)

    def start_over(self) -> None:
        """The role of the namenode has changed: it looks at everything for itself."""
        self._tracked = dict.fromkeys(self._tracked)
        self._next_ms = 0

    def _happened(self, node: Datanode, event: AdminEvent) -> None:
        before = node.admin_state
        after = next_state(before, event)
        if after is before:
            return
        node.admin_state = after
        node.leaving = LeavingFigures()
        if after is AdminState.NORMAL:
            self._needs.out_of_service.discard(node)
        else:
            self._needs.out_of_service.add(node)
        self._changed(node)
        if before.is_maintenance and not after.is_maintenance and not node.alive:
            self._map.node_gone(node)
        if before.is_maintenance != after.is_maintenance or AdminState.NORMAL in (before, after):
            self._to_note[node] = None
            self._next_ms = 0
        self._tracked.pop(node, None)
        self._waiting.pop(node, None)
        if after.is_under_way:
            self._waiting[node] = None
        log.info(
            "datanode %s is %s now (it was %s): %s; it has %d replicas",
            node.name,
            after.name,
            before.name,
            event.value,
            node.block_count,
        )

    # Rounds.

    def is_due(self, now_ms: int) -> bool:
        return now_ms >= self._next_ms

    def round(
        self, now_ms: int, wall_ms: int, may_leave: Callable[[], bool]
    ) -> Generator[None, None, None]:
        """One round, in slices. `may_leave`: this namenode is active and knows the replicas."""
        self._next_ms = now_ms + self._settings.interval_ms
        for node in list(self._needs.out_of_service):
            if node.admin_state.is_maintenance and wall_ms >= node.maintenance_until_ms:
                self._happened(node, AdminEvent.SERVICE)
        yield from self._note_blocks()
        if may_leave():
            yield from self._look_at_leaving(may_leave)

    def _note_blocks(self) -> Generator[None, None, None]:
        while self._to_note:
            node = next(iter(self._to_note))
            del self._to_note[node]
            for number, block_id in enumerate(_blocks_of(node), 1):
                block = self._map.blocks.reported_as(block_id)
                if block is not None:
                    self._map.note_change(block)
                if number % SLICE_BLOCKS == 0:
                    yield
            for block_id in self._needs.left_open:
                self._needs.note(block_id)

    def _look_at_leaving(self, may_leave: Callable[[], bool]) -> Generator[None, None, None]:
        self._choose_tracked()
        if not self._tracked:
            return
        open_blocks = yield from self._open_blocks()
        looked_at = 0
        for node in list(self._tracked):
            if looked_at >= self._settings.blocks_per_round:
                return
            if node not in self._tracked:
                continue
            self._tracked[node] = self._tracked.pop(node)  # Its next turn is the last one.
            for count in self._look_at(node, open_blocks.get(node, ())):
                looked_at += count
                yield
                if not may_leave():
                    return

    def _choose_tracked(self) -> None:
        most = self._settings.max_tracked
        room = len(self._waiting) if most == 0 else most - len(self._tracked)
        if room < len(self._waiting):
            dead = [node for node in self._tracked if not node.alive]
            live = sum(node.alive for node in self._waiting)
            for node in dead[: max(live - room, 0)]:
                del self._tracked[node]
                self._waiting[node] = None
                room += 1
        for node in sorted(self._waiting, key=lambda n: not n.alive)[: max(room, 0)]:
            del self._waiting[node]
            self._tracked[node] = None

    def _open_blocks(self) -> Generator[None, None, dict[Datanode, list[int]]]:
        """Return for each datanode that is tracked the open blocks of which it may have a
        replica."""
        open_blocks: dict[Datanode, list[int]] = {}
        for number, block_id in enumerate(list(self._map.blocks.unfinished), 1):
            for reported_id, node in self._may_have(block_id):
                if node in self._tracked:
                    open_blocks.setdefault(node, []).append(reported_id)
            if number % SLICE_BLOCKS == 0:
                yield
        return open_blocks

    def _look_at(self, node: Datanode, open_ids: Iterable[int]) -> Generator[int, None, None]:
        """One datanode: what it lacks is noted in `_tracked`, and perhaps it has left. Yields
        how many blocks were looked at."""
        state, known = node.admin_state, self._tracked[node]

        def is_same() -> bool:
            return node.admin_state is state and self._tracked.get(node, False) is known

        if known:
            look = _Look()
            yield from self._collect(node, itertools.chain(known, open_ids), look)
            if not is_same():
                return
            if look.lacking:
                self._after_check(node, look)
                return
        look = _Look()
        with self._needs.watched() as changed:
            yield from self._collect(node, itertools.chain(_blocks_of(node), open_ids), look)
            if not is_same():
                return
            late = changed()
        if not look.lacking:
            # Without a pause, so that it is true when the datanode has left.
            if len(late) > MOST_CHANGES:
                return
            storages = node.storages.values()
            for block_id in late:
                block = self._map.blocks.get(block_id)
                for reported_id in (block_id,) if block is None else reported_ids(block):
                    if any(reported_id in storage.block_ids for storage in storages):
                        self._judge(reported_id, node, look)
            for block_id in self._map.blocks.unfinished:
                for reported_id, holder in self._may_have(block_id):
                    if holder is node:
                        self._judge(reported_id, node, look)
        self._after_check(node, look)
        if not look.lacking and self._may_go(node):
            self._happened(node, AdminEvent.ENOUGH_ELSEWHERE)

    def _collect(
        self, node: Datanode, block_ids: Iterable[int], look: _Look
    ) -> Generator[int, None, None]:
        ids = iter(block_ids)
        while part := list(itertools.islice(ids, SLICE_BLOCKS)):
            for block_id in part:
                self._judge(block_id, node, look)
            yield len(part)

    def _judge(self, block_id: int, node: Datanode, look: _Look) -> None:
        block = self._map.blocks.reported_as(block_id)
        if block is not None and block_id not in look.lacking and self._lacks(block, node):
            look.lacking.add(block_id)
            look.only_leaving += not self._needs.live_count(block)
            look.open_files += self._is_open(block)

    def _after_check(self, node: Datanode, look: _Look) -> None:
        self._tracked[node] = look.lacking
        node.leaving = LeavingFigures(len(look.lacking), look.only_leaving, look.open_files)

    # Questions.

    def is_blocking(self, block_id: int) -> bool:
        """Whether the block keeps a datanode from being decommissioned, as of the last look."""
        block = self._map.blocks.get(block_id)
        block_ids = (block_id,) if block is None else reported_ids(block)
        return any(
            lacking is not None
            and any(map(lacking.__contains__, block_ids))
            and node.admin_state is AdminState.DECOMMISSION_INPROGRESS
            for node, lacking in self._tracked.items()
        )

    def _lacks(self, block: Block, node: Datanode) -> bool:
        """Whether the block keeps the node from leaving."""
        is_maintenance = node.admin_state.is_maintenance
        needs = self._needs
        if block.is_settled and isinstance(block, Internal) and not block.length_bytes:
            return False  # Nobody needs it.
        if is_maintenance and block.is_settled and isinstance(block, Internal):
            # What rests comes back: enough of its group has to be in reach meanwhile.
            group = block.group
            counts = needs.counts(group)
            is_held = any(storage.node is node for storage in block.replicas)
            return is_held and counts.live < needs.required(group, counts)
        if block.is_settled:
            counts = needs.counts(block)
            if counts.live >= needs.required(block, counts):
                return False
            enough = needs.min_maintenance
            if not is_maintenance:
                enough = max(self._settings.default_replication, self._map.min_replication)
            if counts.live < enough and any(s.node is node for s in block.replicas):
                return True
            if block.state is BlockState.COMPLETE:
                return False
        holders = [storage.node for storage in self._map.holders(block)]
        if node not in holders:
            return False
        enough = needs.min_maintenance if is_maintenance else self._map.min_replication
        enough = min(enough, needs.expected_replication(block))
        return sum(other.alive and other.in_service for other in holders) < enough

    def _may_have(self, block_id: int) -> list[tuple[int, Datanode]]:
        """The datanodes that may have a replica of an open block, with the ids that it goes by
        there: those of the internal blocks of a group."""
        block = self._map.blocks.get(block_id)
        if block is None:
            return []
        parts = block.parts if isinstance(block, Group) else [block]
        return [
            (part.block_id, storage.node) for part in parts for storage in self._map.holders(part)
        ]

    def _may_go(self, node: Datanode) -> bool:
        """Whether it is known well enough that nothing is lost with the node."""
        if node.alive:
            storages = [storage for storage in node.storages.values() if not storage.failed]
            return bool(node.storages) and all(storage.reported for storage in storages)
        return node.last_report_ms is not None and self._lacks_nothing()


def _blocks_of(node: Datanode) -> Iterable[int]:
    """The blocks of which it has good replicas; they may change meanwhile."""
    return itertools.chain.from_iterable(
        storage.block_ids for storage in list(node.storages.values())
    )
