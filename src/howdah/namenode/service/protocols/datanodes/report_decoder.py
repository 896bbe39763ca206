"""What datanodes tell in figures, brought to what can be (pure).

Sums over a cluster have to fit the fields in which they are told on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from howdah import errors
from howdah.namenode.service.datanode_manager import Heartbeat
from howdah.namenode.service.protocols import encoders
from howdah.namenode.state.blocks.datanodes import (
    Datanode,
    DatanodeRegistry,
    StorageReport,
    VolumeFailures,
)
from howdah.namenode.state.blocks.pending_reports import ReplicaState, ReportedReplica
from howdah.namenode.state.blocks.slow_nodes import Latency
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.proto import types_pb2

_STATES: Final = tuple(ReplicaState)
_MOST_FAILURES: Final = 1000
"""Failed volumes of a datanode that are remembered."""
_NO_FAILURES: Final = VolumeFailures()
_MOST_MS: Final = (1 << 63) - 1
MAX_VOLUME_BYTES: Final = 1 << 50


def heartbeat(request: pb.HeartbeatRequestProto, datanodes: DatanodeRegistry) -> Heartbeat:
    """Datanodes that are not known are left out of what others say of them."""
    return Heartbeat(
        [_storage_report(report) for report in request.reports],
        request.xceiverCount,
        request.xmitsInProgress,
        request.cacheCapacity,
        request.cacheUsed,
        _volume_failures(request),
        dict(_slow_peers(request, datanodes)),
        list(_slow_disks(request)),
    )


def _slow_peers(
    request: pb.HeartbeatRequestProto, datanodes: DatanodeRegistry
) -> Iterator[tuple[Datanode, Latency]]:
    for report in request.slowPeers:
        peer = datanodes.at(report.dataNodeId)
        if peer is not None:
            latency = Latency(
                _figure(report.aggregateLatency),
                _figure(report.median),
                _figure(report.mad),
                _figure(report.upperLimitLatency),
            )
            yield peer, latency


def _volume_failures(request: pb.HeartbeatRequestProto) -> VolumeFailures:
    if not request.HasField("volumeFailureSummary"):
        return _NO_FAILURES
    proto = request.volumeFailureSummary
    return VolumeFailures(
        tuple(proto.failedStorageLocations[:_MOST_FAILURES]),
        min(proto.lastVolumeFailureDate, _MOST_MS),
        min(proto.estimatedCapacityLostTotal, MAX_VOLUME_BYTES),
    )


def _slow_disks(request: pb.HeartbeatRequestProto) -> Iterator[tuple[str, dict[str, float]]]:
    for report in request.slowDisks:
        latencies = {
            "METADATA": _figure(report.meanMetadataOpLatency),
            "READ": _figure(report.meanReadIoLatency),
            "WRITE": _figure(report.meanWriteIoLatency),
        }
        yield report.basePath, {name: mean for name, mean in latencies.items() if mean > 0}


def _figure(told: float) -> float:
    return told if math.isfinite(told) else 0.0


def _storage_report(report: types_pb2.StorageReportProto) -> StorageReport:
    return StorageReport(
        storage_id=report.storage.storageUuid or report.storageUuid,
        storage_type=report.storage.storageType,
        failed=report.failed,
        capacity_bytes=_volume_bytes(report.capacity),
        used_bytes=_volume_bytes(report.dfsUsed),
        remaining_bytes=_volume_bytes(report.remaining),
        pool_used_bytes=_volume_bytes(report.blockPoolUsed),
        non_dfs_used_bytes=_volume_bytes(report.nonDfsUsed),
    )


def _volume_bytes(told: int) -> int:
    """What a volume can have, so that sums over a cluster fit the field that they are
    told in: a figure below zero, in an unsigned field, counts as nothing."""
    return min(max(encoders.signed(told), 0), MAX_VOLUME_BYTES)


def reported_replica(
    block_id: int, length_bytes: int, generation_stamp: int, state: int
) -> ReportedReplica:
    if state >= len(_STATES):
        raise errors.ProtocolViolation(f"a replica is reported in state {state}")
    return ReportedReplica(block_id, length_bytes, generation_stamp, _STATES[state])
