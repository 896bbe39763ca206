"""The blocks of the cluster: which replicas there are, where new ones go, what is repaired (pure).

Part of Hadoop's `BlockManager`. The parts are in `state.blocks`, and are used as such: the map of
replicas, the placement of new ones, and the redundancy work. Here is what takes several of them,
the settings and the role.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from typing import Final

from howdah.namenode.service.calls.settings import Clock, Settings
from howdah.namenode.service.role import Role
from howdah.namenode.state.blocks.block_map import BlockMap
from howdah.namenode.state.blocks.datanodes import Datanode, DatanodeRegistry
from howdah.namenode.state.blocks.placement import Placement
from howdah.namenode.state.blocks.reconstruction import Reconstruction, Streams
from howdah.namenode.state.blocks.slow_nodes import SlowPeers
from howdah.namenode.state.inodes import storage_policies
from howdah.namenode.state.inodes.inodes import Block
from howdah.namenode.state.inodes.limits import GROUP_IDS
from howdah.namenode.state.tree.namespace import Namespace
from howdah.protocol.striping.layout import next_group_id


class BlockManager:
    """Follows replicas, and keeps blocks as often as they are meant to be there."""

    def __init__(
        self,
        namespace: Namespace,
        datanodes: DatanodeRegistry,
        slow_peers: SlowPeers,
        placement: Placement,
        settings: Settings,
        clock: Clock,
        role: Role,
    ) -> None:
        self.blocks: Final = BlockMap(
            namespace.blocks,
            settings.min_replication,
            namespace.measuring.wanted_replication,
            namespace.may_come,
            lambda: namespace.generation_stamp,
            settings.maintenance_replication,
            placement,
            namespace.was_given_out,
        )
        self.placement: Final = placement
        self.avoids_slow = settings.avoid_slow_for_writing
        """Whether datanodes that others find slow get replicas only where there is no other."""
        self.deletions_after_ms = settings.deletions_after_ms
        """No replica is deleted in so long a time after the start."""
        self.group_placement: Final = Placement(
            placement.network, placement.dice, settings.group_placement, settings.load
        )
        """Where internal blocks of groups go."""
        self.blocks.redundancy.group_policy = settings.group_placement
        self.reconstruction: Final = Reconstruction(
            self.blocks,
            datanodes,
            placement,
            pending_timeout_ms=settings.pending_copy_ms,
            blocks_per_node=settings.copies_per_node,
            streams=Streams(settings.max_streams, max(settings.max_streams, settings.most_streams)),
            avoid=self.avoided_targets,
            group_placement=self.group_placement,
            kinds_of=lambda block, replicas: storage_policies.kinds_on_repair(
                namespace.file_of(block), replicas, namespace.snapshots.shown_in
            ),
        )
        self._namespace = namespace
        self._datanodes = datanodes
        self._slow_peers = slow_peers
        self._clock = clock
        self._role = role
        namespace.follow_blocks(self.blocks.follow)

    def new_block_id(self) -> int:
        """The next id; it counts as used once an edit carries it. Not one under which a datanode
        has a replica from the future: that would be taken for the new block's. Nor that of a block
        that is there: an image may have blocks beyond its last id."""
        block_id = self._namespace.last_block_id + 1
        while block_id in self.blocks.postponed or block_id in self._namespace.blocks:
            block_id += 1
        return block_id

    def new_group_id(self) -> int:
        """The next id of a block group, by the same rule."""
        group_id = next_group_id(self._namespace.last_group_id)
        while group_id in self._namespace.blocks or any(
            group_id + index in self.blocks.postponed for index in range(GROUP_IDS)
        ):
            group_id = next_group_id(group_id)
        return group_id

    def is_open(self, block: Block) -> bool:
        """Whether the file of the block is being written."""
        return self._namespace.file_of(block).under_construction

    # Where replicas may be, and where they may go.

    def avoided_targets(self, now_ms: int) -> Callable[[Datanode], bool]:
        """The question whether a datanode gets replicas only where there is no other: one that is
        stale, or one that others find slow, if these are to be avoided."""
        slow: Collection[Datanode] = ()
        if self.avoids_slow:
            slow = self._slow_peers.slow(now_ms)
        if not slow:
            # As `is_stale`, without a call for each of them.
            heard_before_ms = now_ms - self._datanodes.stale_ms
            return lambda node: node.last_heartbeat_ms < heard_before_ms
        return lambda node: node in slow or self._datanodes.is_stale(node, now_ms)

    def unreported_holder(self, block: Block, patience_ms: int | None = None) -> str | None:
        """Which datanode may have a replica of an open block and has not reported since this
        namenode is active, in words; None if there is none. The pipelines of an active before
        are not known. A live datanode comes back before it would be called stale, and
        reports; others have `patience_ms` for it, if that is given."""
        if self.blocks.knows_pipeline(block):
            return None
        left_ms = self._return_left_ms(patience_ms or self._datanodes.stale_ms)
        if left_ms > 0:
            return (
                f"datanodes have {left_ms / 1000:g} s more to come back since this namenode "
                "became active"
            )
        for node in self._datanodes.live():
            if not node.storages or not all(s.reported for s in node.storages.values()):
                return f"datanode {node.name} has not reported yet what it has"
        return None

    @property
    def return_left_ms(self) -> int:
        """So long, since this namenode is active, datanodes that it does not know may still
        come back; 0 if they had the time."""
        return self._return_left_ms(self._datanodes.stale_ms)

    def _return_left_ms(self, patience_ms: int) -> int:
        until_ms = self._role.active_since_ms + patience_ms
        return max(0, until_ms - self._clock.monotonic_ms())

    @property
    def postpones_deletions(self) -> bool:
        """Whether no replica is deleted yet: this namenode started a moment ago."""
        after_ms = self.deletions_after_ms
        return after_ms > 0 and self._clock.monotonic_ms() < self._role.started_ms + after_ms

    # Redundancy work.

    def redundancy_round(self) -> Generator[None, None, None]:
        """Sort out which blocks need something, and give out copies and deletions, in
        slices; nothing is given out in safe mode, or by a standby."""
        role = self._role
        if not role.gives_orders:
            yield from self.reconstruction.sort()
            return
        for _ in self.reconstruction.work(self._clock.monotonic_ms()):
            yield
            if not role.gives_orders:
                return

    def lacks_nothing(self) -> bool:
        """Whether no block lacks a replica, and no copy is under way."""
        counts = self.reconstruction.counts()
        lacking = counts.too_few + counts.missing + self.reconstruction.pending_count
        return not lacking and not self.blocks.redundancy.changed

    # Roles.

    def become_standby(self) -> None:
        self.blocks.become_standby(self._datanodes)
        self.reconstruction.start_over()

    def become_active(self) -> None:
        safe_mode = self._role.safe_mode
        for replica in self.blocks.postponed.beyond(self._namespace.generation_stamp):
            safe_mode.found_future(replica.block_id, replica.length_bytes)
        self.blocks.become_active(self._datanodes)
        self.reconstruction.start_over()
