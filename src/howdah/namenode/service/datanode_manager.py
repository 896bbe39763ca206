"""What a heartbeat changes, and what the loss of a datanode does (pure).

Part of Hadoop's DatanodeManager and HeartbeatManager. A protocol decodes what a datanode sends
and encodes the answer; what the namenode makes of it is here.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from howdah.namenode.service.calls.caching import Caching
from howdah.namenode.service.calls.settings import Clock
from howdah.namenode.service.lifelines import LifelineRegistry
from howdah.namenode.state.blocks.block_map import BlockMap
from howdah.namenode.state.blocks.datanodes import (
    Datanode,
    DatanodeRegistry,
    Storage,
    StorageReport,
    VolumeFailures,
)
from howdah.namenode.state.blocks.decommission import DecommissionMonitor
from howdah.namenode.state.blocks.slow_nodes import Latency, SlowPeers
from howdah.runtime.log_throttle import LogThrottleBySubject

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What a datanode says of itself every few seconds."""

    storages: Sequence[StorageReport]
    xceivers: int
    """Threads that move bytes."""
    transfers_running: int
    """Of these, copies that the namenode has ordered."""
    cache_capacity_bytes: int
    cache_used_bytes: int
    volume_failures: VolumeFailures
    slow_peers: Mapping[Datanode, Latency]
    """Other datanodes that it finds slow."""
    slow_disks: Sequence[tuple[str, Mapping[str, float]]]
    """Disks of its own that it finds slow: the directory, and mean latencies in milliseconds."""


class DatanodeManager:
    """Follows which datanodes live, and what they are made of."""

    def __init__(
        self,
        datanodes: DatanodeRegistry,
        blocks: BlockMap,
        membership: DecommissionMonitor,
        caching: Caching,
        slow_peers: SlowPeers,
        clock: Clock,
    ) -> None:
        self._datanodes = datanodes
        self._blocks = blocks
        self._membership = membership
        self._caching = caching
        self._slow_peers = slow_peers
        self._clock = clock
        self.lifelines = LifelineRegistry()
        """Filled by threads; see `lifelines`."""
        self._late_heartbeats = LogThrottleBySubject(60_000)

    def heartbeat(self, node: Datanode, beat: Heartbeat) -> None:
        """The datanode lives, and is as it says."""
        now_ms = self._clock.monotonic_ms()
        if beat.slow_peers:
            self._slow_peers.reported(node, beat.slow_peers, now_ms)
        if beat.slow_disks:
            self._slow_peers.disks_reported(node, beat.slow_disks, now_ms)
        node.transfers_running = beat.transfers_running
        node.cache_capacity_bytes = beat.cache_capacity_bytes
        node.cache_used_bytes = beat.cache_used_bytes
        self._caching.heard_of(node)
        node.volume_failures = beat.volume_failures
        for storage in self._datanodes.heartbeat(node, beat.storages, beat.xceivers, now_ms):
            self._storage_gone(node, storage)

    def _storage_gone(self, node: Datanode, storage: Storage) -> None:
        if storage.reported or storage.block_ids:
            log.warning(
                "volume %s of datanode %s %s: its %d replicas do not count any more",
                storage.storage_id,
                node.name,
                "has failed" if storage.failed else "is gone",
                len(storage.block_ids),
            )
        self._blocks.storage_gone(storage)

    def is_slow(self, node: Datanode) -> bool:
        """Whether other datanodes find it slow now."""
        return node in self._slow_peers.slow(self._clock.monotonic_ms())

    def lose(self, node: Datanode) -> None:
        """It said itself that it cannot go on: its replicas do not count any more."""
        self._datanodes.lose(node)
        self._blocks.node_gone(node)
        self._caching.node_gone(node)

    def expire(self) -> None:
        """Count those as dead that said nothing for too long."""
        now_ms = self._clock.monotonic_ms()
        self._take_lifelines(now_ms)
        for node in self._datanodes.expire(now_ms):
            consequence = (
                "it is in maintenance, and nothing is copied"
                if node.admin_state.is_maintenance
                else f"its {node.block_count} replicas do not count until it registers again"
            )
            log.warning(
                "datanode %s (%s) is lost: it said nothing for %d s; %s",
                node.name,
                node.identity.uuid,
                (now_ms - node.last_heartbeat_ms) // 1000,
                consequence,
            )
            self._membership.died(node)
            self._caching.node_gone(node)

    def _take_lifelines(self, now_ms: int) -> None:
        """Of datanodes that were heard of while their heartbeats were late."""
        for line in self.lifelines.pop_all():
            late_ms = self._datanodes.note_alive(line.uuid, line.address, line.at_ms)
            if late_ms is None:
                continue
            kept_back = self._late_heartbeats.suppressed_count(line.uuid, now_ms)
            if kept_back is not None:
                log.warning(
                    "datanode %s lives by a lifeline: its last heartbeat came %d s before it. "
                    "Either the namenode is slow to serve, or the datanode to send (%d more since "
                    "this line was last logged of it)",
                    line.address,
                    late_ms // 1000,
                    kept_back,
                )
