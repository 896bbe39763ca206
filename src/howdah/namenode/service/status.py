"""What the namenode's web server says of it: figures of the namesystem as plain values (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from howdah import __version__
from howdah.namenode.service.calls.encryption_zones import zones_after
from howdah.namenode.service.fsck.corrupt_files import some_corrupt
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.blocks.datanodes import Datanode
from howdah.protocol.data_transfer.blocks import STORAGE_TYPES
from howdah.web.status import (
    NO_ENCRYPTION,
    EditsDirectoryStatus,
    EncryptionStatus,
    GroupStatus,
    NamenodeStatus,
    NodeStatus,
    SlowPeerStatus,
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the namesystem does not know."""

    cluster_id: str
    block_pool_id: str
    host_and_port: str
    started_ms: int
    durable_txid: int
    image_txid: int
    image_ms: int
    upgrade_finalized: bool
    edits_directories: tuple[EditsDirectoryStatus, ...]
    warnings: tuple[str, ...] = ()
    ha_state: str = "active"
    last_transition_ms: int = 0
    rollback_image: bool = False
    encryption: EncryptionStatus = NO_ENCRYPTION
    defects: Mapping[str, int] = field(default_factory=dict)


def nodes_shown(namesystem: Namesystem, nodes: Iterable[Datanode]) -> list[NodeStatus]:
    """Some datanodes as of now."""
    now_ms = namesystem.clock.monotonic_ms()
    return [_node(namesystem, node, now_ms) for node in nodes]


def namenode_status(
    namesystem: Namesystem, around: Surroundings, nodes: Sequence[NodeStatus] | None = None
) -> NamenodeStatus:
    """As of now, with these datanodes, or with all."""
    reconstruction = namesystem.block_manager.reconstruction
    datanodes = namesystem.datanode_manager.datanodes
    counts = reconstruction.counts()
    now_ms = namesystem.clock.monotonic_ms()
    return NamenodeStatus(
        version=__version__,
        cluster_id=around.cluster_id,
        block_pool_id=around.block_pool_id,
        safe_mode=namesystem.safe_mode.on,
        safe_mode_status=namesystem.safe_mode.status() if namesystem.safe_mode.on else "",
        last_txid=namesystem.last_txid,
        durable_txid=around.durable_txid,
        inodes=len(namesystem.namespace.inodes),
        blocks=len(namesystem.namespace.blocks),
        block_groups=GroupStatus(
            total=counts.groups.total,
            corrupt=counts.groups.corrupt,
            missing=counts.groups.missing,
            highest=counts.groups.highest,
            low_redundancy=counts.groups.low_redundancy,
            under_way=counts.groups.under_way,
            policies=tuple(
                sorted(policy.name for policy in namesystem.namespace.coding_policies.enabled())
            ),
        ),
        under_replicated_blocks=counts.low_redundancy,
        corrupt_blocks=counts.corrupt,
        missing_blocks=counts.missing,
        open_files=namesystem.leases.open_files,
        edits_directories=around.edits_directories,
        datanodes=nodes_shown(namesystem, datanodes) if nodes is None else nodes,
        host_and_port=around.host_and_port,
        started_ms=around.started_ms,
        image_txid=around.image_txid,
        image_ms=around.image_ms,
        future_bytes=namesystem.safe_mode.future_bytes,
        missing_single_blocks=counts.missing_single,
        last_replica_blocks=counts.last_replica,
        very_low_blocks=counts.very_low,
        misplaced_blocks=counts.misplaced,
        excess_blocks=counts.excess,
        postponed_blocks=counts.postponed,
        timed_out_blocks=reconstruction.timed_out,
        scheduled_blocks=sum(number for _, _, number in reconstruction.under_way()),
        marks_waiting=namesystem.namespace.marks.waiting,
        pending_blocks=reconstruction.pending_count,
        pending_deletion_blocks=datanodes.pending_deletions,
        upgrade_finalized=around.upgrade_finalized,
        rolling_upgrade_start_ms=namesystem.namespace.rolling_upgrade.start_ms,
        rollback_image=around.rollback_image,
        snapshots=namesystem.namespace.snapshots.count,
        snapshottable_directories=len(namesystem.namespace.snapshots.roots),
        encryption_zones=len(zones_after(namesystem)),
        encryption=around.encryption,
        warnings=around.warnings,
        ha_state=around.ha_state,
        last_transition_ms=around.last_transition_ms,
        defects=around.defects,
        slow_peers=tuple(_slow_peers(namesystem, now_ms)),
        slow_disks=tuple(
            (
                f"{disk.node.identity.ip}:{disk.node.identity.ipc_port}:{disk.path}",
                disk.latencies_ms,
            )
            for disk in namesystem.datanode_manager.slow_peers.disks(now_ms)
        ),
        safe_mode_blocks=namesystem.safe_mode.safe_blocks,
        safe_mode_needed_blocks=namesystem.safe_mode.needed_blocks,
        corrupt_files=some_corrupt(namesystem),
        expired_datanodes=datanodes.expired,
        delegation_tokens=len(namesystem.namespace.tokens),
    )


def _slow_peers(namesystem: Namesystem, now_ms: int) -> Iterator[SlowPeerStatus]:
    for node, latencies in namesystem.datanode_manager.slow_peers.latencies(now_ms):
        for uuid, latency in latencies.items():
            reporter = namesystem.datanode_manager.datanodes.get(uuid)
            yield SlowPeerStatus(
                node.name,
                uuid if reporter is None else reporter.name,
                latency.mean_ms,
                latency.median_ms,
                latency.deviation_ms,
                latency.limit_ms,
            )


def _node(namesystem: Namesystem, node: Datanode, now_ms: int) -> NodeStatus:
    identity = node.identity
    totals = node.totals()
    return NodeStatus(
        name=node.name,
        rack=node.location,
        live=node.alive,
        last_heartbeat_s=(now_ms - node.last_heartbeat_ms) / 1000,
        capacity_bytes=totals.capacity_bytes,
        used_bytes=totals.used_bytes,
        remaining_bytes=totals.remaining_bytes,
        blocks=totals.blocks,
        uuid=identity.uuid,
        info_address=f"{identity.ip}:{identity.info_port}",
        info_secure_address=f"{identity.ip}:{identity.info_secure_port}",
        version=identity.software_version,
        stale=namesystem.datanode_manager.datanodes.is_stale(node, now_ms),
        stale_storages=totals.unreported,
        connections=node.xceivers,
        non_dfs_used_bytes=totals.non_dfs_used_bytes,
        pool_used_bytes=totals.pool_used_bytes,
        failed_volumes=len(node.volume_failures.locations),
        failed_locations=node.volume_failures.locations,
        last_volume_failure_ms=node.volume_failures.last_ms,
        lost_capacity_bytes=node.volume_failures.lost_bytes,
        admin_state=node.admin_state.name,
        low_redundancy_blocks=node.leaving.low_redundancy,
        only_leaving_blocks=node.leaving.only_leaving,
        open_low_redundancy_blocks=node.leaving.open_files,
        cache_capacity_bytes=node.cache_capacity_bytes,
        cache_used_bytes=node.cache_used_bytes,
        by_storage_type=_by_storage_type(node),
    )


def _by_storage_type(node: Datanode) -> dict[str, dict[str, int]]:
    by_type: dict[str, dict[str, int]] = {}
    for storage in node.storages.values():
        if storage.failed:
            continue
        figures = {
            "capacity_bytes": storage.capacity_bytes,
            "used_bytes": storage.used_bytes,
            "remaining_bytes": storage.remaining_bytes,
            "non_dfs_used_bytes": storage.non_dfs_used_bytes,
            "pool_used_bytes": storage.pool_used_bytes,
        }
        name = STORAGE_TYPES[storage.storage_type].name
        former = by_type.get(name)
        by_type[name] = (
            figures
            if former is None
            else {figure: former[figure] + value for figure, value in figures.items()}
        )
    return by_type
