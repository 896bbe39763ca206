"""The beans of a namenode that come from its status (pure).

A figure of a feature that howdah does not have, such as encryption, is 0 where monitoring
asks for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from statistics import median, pstdev
from typing import Final

from howdah.web import jmx
from howdah.web.http import Request
from howdah.web.jmx import Bean
from howdah.web.json_slices import object_of
from howdah.web.status import EditsDirectoryStatus, NamenodeStatus, NodeStatus, SnapshotsOf

_SERVICE: Final = "Hadoop:service=NameNode,name="
_NAMESYSTEM: Final = "org.apache.hadoop.hdfs.server.namenode.FSNamesystem"
_BLOCK_MANAGER: Final = "org.apache.hadoop.hdfs.server.blockmanagement.BlockManager"
_CACHING: Final = frozenset({"NORMAL", "DECOMMISSION_INPROGRESS", "ENTERING_MAINTENANCE"})
"""What datanodes cache that are in these states counts."""
_ABSENT: Final[Mapping[str, object]] = {
    # Provided storage, and locks that somebody waits for.
    "ProvidedCapacityTotal": 0,
    "LockQueueLength": 0,
    "ReadLockLongHoldCount": 0,
    "WriteLockLongHoldCount": 0,
}


def tells_nodes(request: Request) -> bool:
    """Whether the answer has texts about all datanodes, which take longer than all the rest."""
    return jmx.asks_for(request, f"{_SERVICE}NameNodeInfo")


def tells_snapshots(request: Request) -> bool:
    """Whether the answer has `snapshot_info`."""
    return jmx.asks_for(request, f"{_SERVICE}SnapshotInfo")


def snapshot_info(directories: Sequence[SnapshotsOf]) -> Bean:
    """Return the snapshots that the page of snapshots shows; FSNamesystem counts all of them."""
    return _bean(
        "SnapshotInfo",
        "org.apache.hadoop.hdfs.server.namenode.snapshot.SnapshotManager",
        {
            "SnapshottableDirectories": [
                {
                    "path": directory.path,
                    "snapshotNumber": directory.count,
                    "snapshotQuota": directory.most,
                    "modificationTime": directory.mtime_ms,
                    "permission": int(f"{directory.mode:o}"),
                    "owner": directory.owner,
                    "group": directory.group,
                }
                for directory in directories
            ],
            "Snapshots": [
                {
                    "snapshotID": snapshot.snapshot_id,
                    "snapshotDirectory": f"{of.path.rstrip('/')}/.snapshot/{snapshot.name}",
                    "modificationTime": snapshot.mtime_ms,
                    "status": "ACTIVE",
                }
                for of in directories
                for snapshot in reversed(of.newest)
            ],
        },
    )


def beans(status: NamenodeStatus, *, with_nodes: bool = True) -> list[Bean]:
    """What a namenode has to say of itself; `with_nodes` of each datanode as well."""
    return [
        _bean("NameNodeStatus", "org.apache.hadoop.hdfs.server.namenode.NameNode", _state(status)),
        _bean(
            "NameNodeInfo",
            "org.apache.hadoop.hdfs.server.namenode.FSNamesystem",
            _info(status, with_nodes=with_nodes),
        ),
        _bean("FSNamesystem", "FSNamesystem", _namesystem(status)),
        _bean(
            "FSNamesystemState",
            "org.apache.hadoop.hdfs.server.namenode.FSNamesystem",
            _namesystem_state(status),
        ),
        _bean("NameNode", "NameNode", {"tag.Context": "dfs", "NameNodeState": _number(status)}),
        _bean("ReplicatedBlocksState", _NAMESYSTEM, _replicated(status)),
        _bean("BlockStats", _BLOCK_MANAGER, {"StorageTypeStats": _storage_types(status)}),
        _bean("ECBlockGroupsState", _NAMESYSTEM, _block_groups(status)),
        *_journal_nodes(status),
        _bean("HowdahDefects", "howdah.runtime.unexpected_errors", _defects(status)),
    ]


def _number(status: NamenodeStatus) -> int:
    """The state as Hadoop's HAServiceState numbers it; what is none of these is 0."""
    return {"active": 1, "standby": 2, "observer": 3, "stopping": 4}.get(status.ha_state, 0)


def _bean(name: str, kind: str, attributes: Bean) -> Bean:
    return {"name": _SERVICE + name, "modelerType": kind, **attributes}


def _defects(status: NamenodeStatus) -> Bean:
    """Errors that nobody foresaw, since the start: how many, and what failed."""
    return {"Total": sum(status.defects.values()), "ByPlace": json.dumps(dict(status.defects))}


def _state(status: NamenodeStatus) -> Bean:
    return {
        "NNRole": "NameNode",
        "State": status.ha_state,
        "HostAndPort": status.host_and_port,
        "SecurityEnabled": False,
        "LastHATransitionTime": status.last_transition_ms,
        "BytesWithFutureGenerationStamps": status.future_bytes,
        "SlowPeersReport": json.dumps(_slow_peers(status)),
        "SlowDisksReport": json.dumps(
            [{"SlowDiskID": disk, "Latencies": dict(means)} for disk, means in status.slow_disks]
        ),
    }


def _slow_peers(status: NamenodeStatus) -> list[Bean]:
    by_name: dict[str, list[Bean]] = {}
    for peer in status.slow_peers:
        by_name.setdefault(peer.name, []).append(
            {
                "ReportingNode": peer.reporter,
                "ReportedLatency": peer.mean_ms,
                "MedianLatency": peer.median_ms,
                "MadLatency": peer.deviation_ms,
                "UpperLimitLatency": peer.limit_ms,
            }
        )
    return [
        {"SlowNode": name, "SlowPeerLatencyWithReportingNodes": reports}
        for name, reports in by_name.items()
    ]


def _info(status: NamenodeStatus, *, with_nodes: bool) -> Bean:
    capacity, used, left = _room(status)
    pool_used = sum(node.pool_used_bytes for node in _counted(status))
    caching = [node for node in _live(status) if node.admin_state in _CACHING]
    failed = {d.path: d.failure for d in status.edits_directories if d.failure}
    active = {d.path: "IMAGE_AND_EDITS" for d in status.edits_directories if not d.failure}
    return {
        "Total": capacity,
        "Used": used,
        "Free": left,
        "NonDfsUsedSpace": sum(node.non_dfs_used_bytes for node in _counted(status)),
        "PercentUsed": _percent(used, capacity),
        "PercentRemaining": _percent(left, capacity),
        "BlockPoolUsedSpace": pool_used,
        "PercentBlockPoolUsed": _percent(pool_used, capacity),
        "CacheCapacity": sum(node.cache_capacity_bytes for node in caching),
        "CacheUsed": sum(node.cache_used_bytes for node in caching),
        "Safemode": f"Safe mode is ON. {status.safe_mode_status}" if status.safe_mode else "",
        "UpgradeFinalized": status.upgrade_finalized,
        "RollingUpgradeStatus": None
        if status.rolling_upgrade_start_ms is None
        else {
            "blockPoolId": status.block_pool_id,
            "createdRollbackImages": status.rollback_image,
            "finalizeTime": 0,  # It is under way.
            "startTime": status.rolling_upgrade_start_ms,
        },
        "TotalBlocks": status.blocks,
        "TotalFiles": status.inodes,
        "NumberOfMissingBlocks": status.missing_blocks,
        "NumberOfMissingBlocksWithReplicationFactorOne": status.missing_single_blocks,
        "NumberOfBadlyDistributedBlocks": status.misplaced_blocks,
        "HighestPriorityLowRedundancyReplicatedBlocks": status.last_replica_blocks,
        "HighestPriorityLowRedundancyECBlocks": 0,
        "ProvidedCapacity": 0,
        "NumberOfSnapshottableDirs": status.snapshottable_directories,
        "NodeUsage": json.dumps({"nodeUsage": _usage(status)}),
        "DistinctVersionCount": len({node.version for node in _live(status)}),
        "CompileInfo": f"howdah {status.version}",
        "CorruptFiles": json.dumps(list(status.corrupt_files)),
        "CorruptFilesCount": len(status.corrupt_files),
        **(_nodes(status) if with_nodes else {}),
        "ClusterId": status.cluster_id,
        "BlockPoolId": status.block_pool_id,
        "NameDirStatuses": json.dumps({"active": active, "failed": failed}),
        "NameJournalStatus": json.dumps([_journal(d) for d in status.edits_directories]),
        "JournalTransactionInfo": json.dumps(
            {
                "LastAppliedOrWrittenTxId": str(status.last_txid),
                "MostRecentCheckpointTxId": str(status.image_txid),
            }
        ),
        "NNStartedTimeInMillis": status.started_ms,
        "Version": f"{status.version}, howdah",
        "SoftwareVersion": status.version,
        "DistinctVersions": [
            {"key": version, "value": sum(node.version == version for node in _live(status))}
            for version in sorted({node.version for node in _live(status)})
        ],
    }


def _nodes(status: NamenodeStatus) -> Bean:
    """All datanodes, which are told as texts."""
    leaving = _in_state(status, "DECOMMISSION_INPROGRESS")
    entering = _in_state(status, "ENTERING_MAINTENANCE")
    return {
        "LiveNodes": object_of(_live(status), lambda node: (node.name, _live_node(node))),
        "DeadNodes": object_of(_dead(status), lambda node: (node.name, _dead_node(node))),
        "DecomNodes": object_of(
            leaving, lambda node: (node.name, _leaving_node(node, "decommissionOnlyReplicas"))
        ),
        "EnteringMaintenanceNodes": object_of(
            entering, lambda node: (node.name, _leaving_node(node, "maintenanceOnlyReplicas"))
        ),
    }


def _usage(status: NamenodeStatus) -> dict[str, str]:
    """Return how unevenly datanodes are full, in percent."""
    percentages = [_percent(node.used_bytes, node.capacity_bytes) for node in _live(status)] or [
        0.0
    ]
    return {
        name: f"{value:.2f}%"
        for name, value in (
            ("min", min(percentages)),
            ("median", median(percentages)),
            ("max", max(percentages)),
            ("stdDev", pstdev(percentages)),
        )
    }


def _journal(directory: EditsDirectoryStatus) -> dict[str, str]:
    """One entry of NameJournalStatus, where every value is text."""
    newest = max((node.txid for node in directory.nodes), default=0)
    nodes = []
    for node in directory.nodes:
        behind = f" ({newest - node.txid} txns behind)" if node.txid < newest else ""
        resync = " (will try to re-sync on next segment)" if node.left_out else ""
        nodes.append(f"{node.name} (Written txid {node.txid}){behind}{resync}")
    return {
        "manager": directory.path,
        "stream": ", ".join(nodes) or directory.path,
        "required": str(directory.required).lower(),
        "disabled": str(bool(directory.failure)).lower(),
    }


def _journal_nodes(status: NamenodeStatus) -> Iterator[Bean]:
    """How each journal node does that this namenode writes to."""
    for journal in status.edits_directories:
        newest = max((node.txid for node in journal.nodes), default=0)
        for node in journal.nodes:
            name = f"IPCLoggerChannel-{node.name.replace(':', '-')}"
            yield _bean(
                name,
                name,
                {
                    "tag.Context": "dfs",
                    "tag.IsOutOfSync": str(bool(node.left_out)).lower(),
                    "QueuedEditsSize": node.queued_bytes,
                    "CurrentLagTxns": newest - node.txid,
                },
            )


def _namesystem(status: NamenodeStatus) -> Bean:
    capacity, used, left = _room(status)
    return {
        "tag.Context": "dfs",
        "tag.HAState": status.ha_state,
        "MissingBlocks": status.missing_blocks,
        "MissingReplOneBlocks": status.missing_single_blocks,
        "ExpiredHeartbeats": status.expired_datanodes,
        "TransactionsSinceLastCheckpoint": status.last_txid - status.image_txid,
        "LastWrittenTransactionId": status.last_txid,
        "LastCheckpointTime": status.image_ms,
        "CapacityTotal": capacity,
        "CapacityUsed": used,
        "CapacityRemaining": left,
        "CapacityUsedNonDFS": sum(node.non_dfs_used_bytes for node in _counted(status)),
        "TotalLoad": sum(node.connections for node in _live(status)),
        "BlocksTotal": status.blocks,
        "NumFilesUnderConstruction": status.open_files,
        "FilesTotal": status.inodes,
        "PendingReplicationBlocks": status.pending_blocks,
        "PendingReconstructionBlocks": status.pending_blocks,
        "UnderReplicatedBlocks": status.under_replicated_blocks,
        "LowRedundancyBlocks": status.under_replicated_blocks,
        "ScheduledReplicationBlocks": status.scheduled_blocks,
        "NumTimedOutPendingReconstructions": status.timed_out_blocks,
        "CorruptBlocks": status.corrupt_blocks,
        "BadlyDistBlocks": status.misplaced_blocks,
        "PendingDeletionBlocks": status.pending_deletion_blocks,
        "ExcessBlocks": status.excess_blocks,
        "PendingSPSPaths": status.marks_waiting,
        "PostponedMisreplicatedBlocks": status.postponed_blocks,
        **_replicated(status),
        "StaleDataNodes": sum(node.stale for node in _live(status)),
        "NumLiveDataNodes": len(_live(status)),
        "NumDeadDataNodes": len(_dead(status)),
        **_admin_counts(status),
        "NumStaleStorages": sum(node.stale_storages for node in _live(status)),
        **_volume_failures(status),
        "Snapshots": status.snapshots,
        "SnapshottableDirectories": status.snapshottable_directories,
        "NumEncryptionZones": status.encryption_zones,
        **_ABSENT,
        "CurrentTokensCount": status.delegation_tokens,
        **_block_groups(status),
        "HighestPriorityLowRedundancyECBlocks": status.block_groups.highest,
        **{
            f"{name}GB": round(value / (1 << 30), 2)
            for name, value in (
                ("CapacityTotal", capacity),
                ("CapacityUsed", used),
                ("CapacityRemaining", left),
            )
        },
    }


def _namesystem_state(status: NamenodeStatus) -> Bean:
    capacity, used, left = _room(status)
    return {
        "FSState": "safeMode" if status.safe_mode else "Operational",
        "CapacityTotal": capacity,
        "CapacityUsed": used,
        "CapacityRemaining": left,
        "TotalLoad": sum(node.connections for node in _live(status)),
        "BlocksTotal": status.blocks,
        "FilesTotal": status.inodes,
        "MaxObjects": 0,  # No limit.
        "PendingReplicationBlocks": status.pending_blocks,
        "UnderReplicatedBlocks": status.under_replicated_blocks,
        "PendingDeletionBlocks": status.pending_deletion_blocks,
        "NumLiveDataNodes": len(_live(status)),
        "NumDeadDataNodes": len(_dead(status)),
        "NumStaleDataNodes": sum(node.stale for node in _live(status)),
        **_admin_counts(status),
        **_volume_failures(status),
        "LowRedundancyBlocks": status.under_replicated_blocks,
        "PendingReconstructionBlocks": status.pending_blocks,
        "ScheduledReplicationBlocks": status.scheduled_blocks,
        "PendingSPSPaths": status.marks_waiting,
        "NumStaleStorages": sum(node.stale_storages for node in _live(status)),
        "SnapshotStats": json.dumps(
            {
                "SnapshottableDirectories": status.snapshottable_directories,
                "Snapshots": status.snapshots,
            }
        ),
        "FsLockQueueLength": 0,
        "NumEncryptionZones": status.encryption_zones,
        "ProvidedCapacityTotal": 0,
        "CurrentTokensCount": status.delegation_tokens,
    }


def _volume_failures(status: NamenodeStatus) -> Bean:
    live = _live(status)
    return {
        "VolumeFailuresTotal": sum(node.failed_volumes for node in live),
        "EstimatedCapacityLostTotal": sum(node.lost_capacity_bytes for node in live),
    }


def _block_groups(status: NamenodeStatus) -> Bean:
    """As Hadoop's ECBlockGroupsMBean has them. What waits for deletion, and what is newer than
    the metadata, counts with replicated blocks."""
    groups = status.block_groups
    return {
        "LowRedundancyECBlockGroups": groups.low_redundancy,
        "CorruptECBlockGroups": groups.corrupt,
        "MissingECBlockGroups": groups.missing,
        "BytesInFutureECBlockGroups": 0,
        "PendingDeletionECBlocks": 0,
        "TotalECBlockGroups": groups.total,
        "EnabledEcPolicies": ", ".join(groups.policies),
    }


def _replicated(status: NamenodeStatus) -> Bean:
    """Blocks that are not erasure-coded, as Hadoop's ReplicatedBlocksMBean has them."""
    groups = status.block_groups
    return {
        "LowRedundancyReplicatedBlocks": status.under_replicated_blocks - groups.low_redundancy,
        "CorruptReplicatedBlocks": status.corrupt_blocks - groups.corrupt,
        "MissingReplicatedBlocks": status.missing_blocks - groups.missing,
        "MissingReplicationOneBlocks": status.missing_single_blocks,
        "BadlyDistributedBlocks": status.misplaced_blocks,
        "HighestPriorityLowRedundancyReplicatedBlocks": (
            status.last_replica_blocks - groups.highest
        ),
        "BytesInFutureReplicatedBlocks": status.future_bytes,
        "PendingDeletionReplicatedBlocks": status.pending_deletion_blocks,
        "TotalReplicatedBlocks": status.blocks - groups.total,
    }


def _storage_types(status: NamenodeStatus) -> list[Bean]:
    """The sums over all live datanodes by storage type; of one that is not in service only what
    is used counts as room."""
    sums: dict[str, dict[str, int]] = {}
    for node in _live(status):
        for kind, figures in node.by_storage_type.items():
            one = sums.setdefault(
                kind,
                {
                    "blockPoolUsed": 0,
                    "capacityNonDfsUsed": 0,
                    "capacityRemaining": 0,
                    "capacityTotal": 0,
                    "capacityUsed": 0,
                    "nodesInService": 0,
                    "nodesInServiceXceiverCount": 0,
                },
            )
            one["blockPoolUsed"] += figures["pool_used_bytes"]
            one["capacityNonDfsUsed"] += figures["non_dfs_used_bytes"]
            one["capacityUsed"] += figures["used_bytes"]
            if node.in_service:
                one["capacityTotal"] += figures["capacity_bytes"]
                one["capacityRemaining"] += figures["remaining_bytes"]
                one["nodesInService"] += 1
                one["nodesInServiceXceiverCount"] += node.connections
            else:
                one["capacityTotal"] += figures["used_bytes"]
    return [
        {
            "key": kind,
            "value": {
                **one,
                "percentBlockPoolUsed": _percent(one["blockPoolUsed"], one["capacityTotal"]),
                "percentRemaining": _percent(one["capacityRemaining"], one["capacityTotal"]),
                "percentUsed": _percent(one["capacityUsed"], one["capacityTotal"]),
            },
        }
        for kind, one in sorted(sums.items())
    ]


def _counted(status: NamenodeStatus) -> list[NodeStatus]:
    """Those whose room is the cluster's, as Hadoop counts it."""
    return [node for node in _live(status) if node.in_service]


def _live(status: NamenodeStatus) -> list[NodeStatus]:
    return [node for node in status.datanodes if node.live]


def _dead(status: NamenodeStatus) -> list[NodeStatus]:
    return [node for node in status.datanodes if not node.live]


def _in_state(status: NamenodeStatus, *names: str) -> list[NodeStatus]:
    return [node for node in status.datanodes if node.admin_state in names]


def _admin_counts(status: NamenodeStatus) -> Bean:
    """How many datanodes are in each state; of those that have left, alive and dead apart."""
    decommissioned = [node.live for node in _in_state(status, "DECOMMISSIONED")]
    resting = [node.live for node in _in_state(status, "IN_MAINTENANCE")]
    return {
        "NumDecomLiveDataNodes": sum(decommissioned),
        "NumDecomDeadDataNodes": len(decommissioned) - sum(decommissioned),
        "NumDecommissioningDataNodes": len(_in_state(status, "DECOMMISSION_INPROGRESS")),
        "NumInMaintenanceLiveDataNodes": sum(resting),
        "NumInMaintenanceDeadDataNodes": len(resting) - sum(resting),
        "NumEnteringMaintenanceDataNodes": len(_in_state(status, "ENTERING_MAINTENANCE")),
        "NumInServiceLiveDataNodes": sum(node.live for node in _in_state(status, "NORMAL")),
    }


def _leaving_node(node: NodeStatus, only: str) -> Bean:
    return {
        "xferaddr": node.name,
        "location": node.rack,
        "uuid": node.uuid,
        "underReplicatedBlocks": node.low_redundancy_blocks,
        only: node.only_leaving_blocks,
        "underReplicateInOpenFiles": node.open_low_redundancy_blocks,
    }


def _room(status: NamenodeStatus) -> tuple[int, int, int]:
    """Capacity, used, left."""
    counted = _counted(status)
    return (
        sum(node.capacity_bytes for node in counted),
        sum(node.used_bytes for node in counted),
        sum(node.remaining_bytes for node in counted),
    )


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def _live_node(node: NodeStatus) -> Bean:
    return {
        "infoAddr": node.info_address,
        "infoSecureAddr": node.info_secure_address,
        "xferaddr": node.name,
        "location": node.rack,
        "uuid": node.uuid,
        "lastContact": round(node.last_heartbeat_s),
        "usedSpace": node.used_bytes,
        "adminState": node.admin_words,
        "nonDfsUsedSpace": node.non_dfs_used_bytes,
        "capacity": node.capacity_bytes,
        "numBlocks": node.blocks,
        "version": node.version,
        "used": node.used_bytes,
        "remaining": node.remaining_bytes,
        "blockPoolUsed": node.pool_used_bytes,
        "blockPoolUsedPercent": _percent(node.pool_used_bytes, node.capacity_bytes),
        "volfails": node.failed_volumes,
        **_failures(node),
    }


def _failures(node: NodeStatus) -> Bean:
    """Only of a node that has some."""
    if not node.failed_locations:
        return {}
    return {
        "failedStorageIDs": list(node.failed_locations),
        "lastVolumeFailureDate": node.last_volume_failure_ms,
        "estimatedCapacityLostTotal": node.lost_capacity_bytes,
    }


def _dead_node(node: NodeStatus) -> Bean:
    return {
        "lastContact": round(node.last_heartbeat_s),
        "decommissioned": node.admin_state == "DECOMMISSIONED",
        "adminState": node.admin_words,
        "xferaddr": node.name,
        "location": node.rack,
        "uuid": node.uuid,
    }
