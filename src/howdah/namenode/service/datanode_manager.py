"""What registrations, heartbeats, host lists and the loss of datanodes change (pure).

Part of Hadoop's `DatanodeManager` and `HeartbeatManager`. A protocol decodes what a datanode sends
and encodes the answer; what the namenode makes of it is here.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from howdah import errors
from howdah.namenode.service.block_manager import BlockManager
from howdah.namenode.service.calls.caching import Caching
from howdah.namenode.service.calls.settings import Clock, Settings
from howdah.namenode.service.lifelines import LifelineRegistry
from howdah.namenode.service.role import Role
from howdah.namenode.state.blocks.datanodes import (
    Datanode,
    DatanodeIdentity,
    DatanodeRegistry,
    Storage,
    StorageReport,
    VolumeFailures,
)
from howdah.namenode.state.blocks.decommission import DecommissionMonitor, MembershipSettings
from howdah.namenode.state.blocks.host_lists import Hosts
from howdah.namenode.state.blocks.slow_nodes import Latency, SlowPeers
from howdah.namenode.state.blocks.topology import RackMap
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
    """Follows which datanodes belong to the cluster, which live, and what they are made of."""

    def __init__(
        self,
        datanodes: DatanodeRegistry,
        slow_peers: SlowPeers,
        racks: RackMap,
        block_manager: BlockManager,
        caching: Caching,
        settings: Settings,
        clock: Clock,
        role: Role,
    ) -> None:
        self.datanodes: Final = datanodes
        self.slow_peers: Final = slow_peers
        self.racks = racks
        self.hosts = Hosts()
        self.membership: Final = DecommissionMonitor(
            block_manager.blocks,
            MembershipSettings(
                default_replication=settings.default_replication,
                interval_ms=settings.leaving_interval_ms,
                blocks_per_round=settings.leaving_blocks_per_round,
                max_tracked=settings.leaving_nodes_at_once,
            ),
            lacks_nothing=block_manager.lacks_nothing,
            is_open=block_manager.is_open,
            changed=block_manager.placement.network.note,
        )
        self.lifelines: Final = LifelineRegistry()
        """Filled by threads; see `lifelines`."""
        self._blocks = block_manager.blocks
        self._reconstruction = block_manager.reconstruction
        self._caching = caching
        self._clock = clock
        self._role = role
        self._late_heartbeats = LogThrottleBySubject(60_000)

    # Registrations, host lists and racks.

    def register(self, identity: DatanodeIdentity, location: str) -> Datanode:
        """A datanode came, or came back. Forget those that were known under its address with
        another uuid."""
        now_ms = self._clock.monotonic_ms()
        known = self.datanodes.get(identity.uuid)
        before = None if known is None else (known.alive, now_ms - known.last_heartbeat_ms)
        node, displaced = self.datanodes.register(identity, location, now_ms)
        _log_registration(node, before)
        _warn_if_unplaced(self.racks, node)
        self._blocks.registered(node)
        self._reconstruction.registered(node)
        self._caching.registered(node)
        for other in displaced:
            log.warning(
                "datanode %s is known as %s from now on: %s, which had that address, is forgotten "
                "with its %d replicas",
                node.name,
                identity.uuid,
                other.identity.uuid,
                other.block_count,
            )
            self._blocks.node_gone(other)
            self._caching.node_gone(other)
            self.membership.forget(other)
        self.membership.obey(node, self.hosts, self._clock.wall_ms())
        return node

    def apply_hosts(self, hosts: Hosts) -> None:
        """From now on these are the lists."""
        self.hosts = hosts
        wall_ms = self._clock.wall_ms()
        for node in self.datanodes:
            if hosts.allows(node.identity):
                self.membership.obey(node, hosts, wall_ms)
                continue
            self.membership.forget(node)
            if node.alive:
                self.lose(node)

    def apply_racks(self, racks: RackMap) -> None:
        """From now on datanodes are where this says, those that are here already as well. A
        node whose place has to be asked for moves when the answer comes.

        Hadoop's namenode reads its table once, and wants a restart for another one."""
        self.racks = racks
        for node in self.datanodes.live():
            identity = node.identity
            _warn_if_unplaced(racks, node)
            location = racks.known_location(identity.ip, identity.hostname)
            if location is not None:
                self._relocate(node, location)
            else:
                racks.look_up(identity.ip, partial(self._relocate, node))

    def _relocate(self, node: Datanode, location: str | errors.HowdahError) -> None:
        before = node.location
        if not isinstance(location, str):
            log.warning("datanode %s stays on rack %s: %s", node.name, before, location)
        elif self.datanodes.relocate(node, location):
            log.info(
                "datanode %s is on rack %s, no more on %s; blocks are looked at again, and those "
                "that are badly placed now are spread",
                node.name,
                location,
                before,
            )

    def membership_round(self) -> Generator[None, None, None] | None:
        """Datanodes that leave the service, or come back; in slices, if it is time for a round.
        None leaves it by the word of a standby, or of a namenode that is in safe mode."""
        now_ms = self._clock.monotonic_ms()
        if not self.membership.is_due(now_ms):
            return None
        role = self._role
        return self.membership.round(now_ms, self._clock.wall_ms(), lambda: role.gives_orders)

    # Heartbeats.

    def heartbeat(self, node: Datanode, beat: Heartbeat) -> None:
        """The datanode lives, and is as it says."""
        now_ms = self._clock.monotonic_ms()
        if beat.slow_peers:
            self.slow_peers.reported(node, beat.slow_peers, now_ms)
        if beat.slow_disks:
            self.slow_peers.disks_reported(node, beat.slow_disks, now_ms)
        node.transfers_running = beat.transfers_running
        node.cache_capacity_bytes = beat.cache_capacity_bytes
        node.cache_used_bytes = beat.cache_used_bytes
        self._caching.heard_of(node)
        node.volume_failures = beat.volume_failures
        for storage in self.datanodes.heartbeat(node, beat.storages, beat.xceivers, now_ms):
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
        return node in self.slow_peers.slow(self._clock.monotonic_ms())

    def lose(self, node: Datanode) -> None:
        """It said itself that it cannot go on: its replicas do not count any more."""
        self.datanodes.lose(node)
        self._blocks.node_gone(node)
        self._caching.node_gone(node)

    def expire(self) -> None:
        """Count those as dead that said nothing for too long."""
        now_ms = self._clock.monotonic_ms()
        self._take_lifelines(now_ms)
        for node in self.datanodes.expire(now_ms):
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
            self.membership.died(node)
            self._caching.node_gone(node)

    def _take_lifelines(self, now_ms: int) -> None:
        """Of datanodes that were heard of while their heartbeats were late."""
        for line in self.lifelines.pop_all():
            late_ms = self.datanodes.note_alive(line.uuid, line.address, line.at_ms)
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


def _warn_if_unplaced(racks: RackMap, node: Datanode) -> None:
    """Log that a datanode is not in the table of racks: what nobody placed may be on the rack of
    any other replica."""
    if racks.lacks(node.identity.ip, node.identity.hostname):
        log.warning(
            "datanode %s (%s) is not in the table of net.topology.table.file.name: it counts as "
            "being on %s until its address is there and 'howdah dfsadmin -refreshNodes' was run",
            node.name,
            node.identity.hostname,
            node.location,
        )


def _log_registration(node: Datanode, before: tuple[bool, int] | None) -> None:
    """`before`: whether it lived, and for how long it had said nothing."""
    if before is None:
        how = "for the first time since this namenode was started"
    else:
        was_alive, silent_ms = before
        how = f"again, after {silent_ms / 1000:.0f} s" + ("" if was_alive else "; it was lost")
    log.info(
        "datanode %s (%s, version %s) registered in rack %s %s; its block report comes next",
        node.name,
        node.identity.uuid,
        node.identity.software_version,
        node.location,
        how,
    )
