"""What datanodes tell in figures, brought to what can be (pure).

Sums over a cluster have to fit the fields in which they are told on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from howdah import errors
from howdah.namenode.service.protocols import encoders
from howdah.namenode.state.blocks.datanodes import StorageReport, VolumeFailures
from howdah.namenode.state.blocks.pending_reports import ReplicaState, ReportedReplica
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.proto import types_pb2

_STATES: Final = tuple(ReplicaState)
_MOST_FAILURES: Final = 1000
"""Failed volumes of a datanode that are remembered."""
_NO_FAILURES: Final = VolumeFailures()
_MOST_MS: Final = (1 << 63) - 1
MAX_VOLUME_BYTES: Final = 1 << 50


def volume_failures(request: pb.HeartbeatRequestProto) -> VolumeFailures:
    if not request.HasField("volumeFailureSummary"):
        return _NO_FAILURES
    proto = request.volumeFailureSummary
    return VolumeFailures(
        tuple(proto.failedStorageLocations[:_MOST_FAILURES]),
        min(proto.lastVolumeFailureDate, _MOST_MS),
        min(proto.estimatedCapacityLostTotal, MAX_VOLUME_BYTES),
    )


def slow_disks(request: pb.HeartbeatRequestProto) -> Iterator[tuple[str, dict[str, float]]]:
    for report in request.slowDisks:
        latencies = {
            "METADATA": figure(report.meanMetadataOpLatency),
            "READ": figure(report.meanReadIoLatency),
            "WRITE": figure(report.meanWriteIoLatency),
        }
        yield report.basePath, {name: mean for name, mean in latencies.items() if mean > 0}


def figure(told: float) -> float:
    return told if math.isfinite(told) else 0.0


def storage_report(report: types_pb2.StorageReportProto) -> StorageReport:
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
