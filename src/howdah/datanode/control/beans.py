"""The beans of a datanode (shell: they are made of what is counted in shared memory).

Hadoop: DataNodeMetrics, FSDatasetMBean, DataNodeMXBean.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from howdah import __version__
from howdah.datanode.channel.shared_counters import Gauges
from howdah.datanode.control.replica_index import ReplicaIndex
from howdah.datanode.latency.activity import SHOWN, Work, read_count, read_work
from howdah.datanode.state.actor_status import ActorStatus
from howdah.datanode.state.latency import volume_metrics
from howdah.datanode.state.memory.metrics import Figure, attributes
from howdah.datanode.state.messages import OutliersFound
from howdah.datanode.volumes.volumes import Volume
from howdah.runtime import unexpected_errors
from howdah.runtime.metrics.histogram import Rates
from howdah.web.jmx import Bean

_SERVICE: Final = "Hadoop:service=DataNode,name="
_NANOSECONDS: Final = {
    Work.DiskWrite: "FlushNanos",
    Work.Fsync: "FsyncNanos",
    Work.PacketSend: "SendDataPacketTransferNanos",
}
"""What Hadoop tells in nanoseconds; the rest is in milliseconds."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the control process knows beside what is counted."""

    uuid: str
    name: str
    """`host:port` of the data port."""
    ipc_port: int
    http_port: int
    started_ms: int
    memory_bytes: int
    """What may be cached."""
    cluster_id: str
    namenodes: Sequence[ActorStatus]
    cached_blocks: int
    verified: int
    """Replicas that scanners have verified, and those that did not stand it."""
    damaged: int
    scanned_ms: int
    """When disks and memory were compared to the end last; 0: never."""
    slow: OutliersFound


def activity(figure: Callable[[int], int], rates: Rates, now_ns: int) -> Bean:
    """Return the attributes of DataNodeActivity: numbers and means of what was done."""
    bean: Bean = {shown.name: read_count(figure, shown) for shown in SHOWN}
    for work in Work:
        count, total_ns = read_work(figure, work)
        mean_ns = rates.mean_ns(work.name, count, total_ns, now_ns)
        name = _NANOSECONDS.get(work, work.name)
        bean[f"{name}NumOps"] = count
        bean[f"{name}AvgTime"] = mean_ns if work in _NANOSECONDS else mean_ns / 1e6
    bean["FsyncCount"] = read_work(figure, Work.Fsync)[0]
    bean["TotalReadTime"] = read_work(figure, Work.PacketSend)[1] // 1_000_000
    bean["TotalWriteTime"] = read_work(figure, Work.DiskWrite)[1] // 1_000_000
    return bean


def beans(inventory: ReplicaIndex, gauges: Gauges, known: Known, rates: Rates) -> list[Bean]:
    """What monitoring of Hadoop's datanodes asks for, as far as it is counted."""
    volumes = [state.volume for state in inventory.states("")]
    now_ns = time.monotonic_ns()
    own = f"DataNodeActivity-{known.name.replace(':', '-')}"
    figures = {figure: gauges.figure(figure) for figure in Figure}
    return [
        {
            "name": f"{_SERVICE}{own}",
            "modelerType": own,
            "tag.Context": "dfs",
            **attributes(figures),
            **activity(gauges.figure, rates, now_ns),
            "BlocksVerified": known.verified,
            "BlockVerificationFailures": known.damaged,
            "BlocksInPendingIBR": sum(namenode.pending_news for namenode in known.namenodes),
            "DataNodeActiveXceiversCount": gauges.connections,
        },
        *(_volume(volume, gauges, rates, now_ns) for volume in volumes),
        _dataset(inventory, gauges, known),
        _info(inventory, gauges, known),
        {
            "name": f"{_SERVICE}HowdahDefects",
            "modelerType": "howdah.defects",
            "Total": sum(unexpected_errors.seen.values()),
            "ByPlace": json.dumps(dict(unexpected_errors.seen)),
        },
    ]


def _volume(volume: Volume, gauges: Gauges, rates: Rates, now_ns: int) -> Bean:
    own = f"DataNodeVolume-{volume.path.replace(':', '-')}"
    figure = partial(gauges.volume_figure, volume.number)
    return {
        "name": f"{_SERVICE}{own}",
        "modelerType": own,
        **volume_metrics.attributes(volume.path, volume.number, figure, rates, now_ns),
    }


def _dataset(inventory: ReplicaIndex, gauges: Gauges, known: Known) -> Bean:
    states = inventory.states("")
    usages = [state.usage for state in states if state.usage is not None]
    paths = ", ".join(state.volume.path for state in states)
    failures = inventory.failures()
    return {
        "name": f"{_SERVICE}FSDatasetState",
        "modelerType": "FSDatasetState",
        "tag.Context": "FSDatasetState",
        "Capacity": sum(usage.capacity_bytes for usage in usages),
        "DfsUsed": sum(usage.used_bytes for usage in usages),
        "Remaining": sum(usage.remaining_bytes for usage in usages),
        "StorageInfo": f"FSDataset{{dirpath='[{paths}]'}}",
        "NumFailedVolumes": len(states) - len(usages),
        "CacheCapacity": known.memory_bytes,
        "CacheUsed": gauges.locked_bytes,
        "NumBlocksCached": known.cached_blocks,
        "LastDirectoryScannerFinishTime": known.scanned_ms,
        "LastVolumeFailureDate": 0 if failures is None else failures.last_ms,
        "EstimatedCapacityLostTotal": 0 if failures is None else failures.lost_bytes,
        "FailedStorageLocations": [] if failures is None else list(failures.locations),
    }


def _info(inventory: ReplicaIndex, gauges: Gauges, known: Known) -> Bean:
    working = [
        (state.volume, state.usage) for state in inventory.states("") if state.usage is not None
    ]
    return {
        "name": f"{_SERVICE}DataNodeInfo",
        "modelerType": "org.apache.hadoop.hdfs.server.datanode.DataNode",
        "DatanodeHostname": known.name.rpartition(":")[0],
        "XceiverCount": gauges.connections,
        "VolumeInfo": json.dumps(
            {
                volume.path: {
                    "storageType": volume.storage_type.name,
                    "usedSpace": usage.used_bytes,
                    "freeSpace": usage.remaining_bytes,
                    "reservedSpace": volume.reserved_bytes,
                }
                for volume, usage in working
            }
        ),
        "DatanodeUuid": known.uuid,
        "ClusterId": known.cluster_id,
        "Version": __version__,
        "SoftwareVersion": __version__,
        "DataPort": known.name.rpartition(":")[2],
        "RpcPort": str(known.ipc_port),
        "HttpPort": str(known.http_port),
        "DNStartedTimeInMillis": known.started_ms,
        "XmitsInProgress": gauges.copies,
        "SecurityEnabled": False,
        "NamenodeAddresses": json.dumps(
            {namenode.namenode.rpartition(":")[0]: namenode.pool_id for namenode in known.namenodes}
        ),
        "BPServiceActorInfo": json.dumps([_actor(namenode) for namenode in known.namenodes]),
        "SlowDisks": json.dumps({disk.path: dict(disk.means()) for disk in known.slow.disks})
        if known.slow.disks
        else None,
    }


def _actor(facts: ActorStatus) -> dict[str, str]:
    """One entry of BPServiceActorInfo, where every value is text."""
    shown = {
        "NamenodeAddress": facts.namenode,
        "NamenodeHaState": facts.ha_state or "Unknown",
        "BlockPoolID": facts.pool_id,
        "ActorState": facts.running,
    }
    for name, age_s in (
        ("LastHeartbeat", facts.heartbeat_age_s),
        ("LastBlockReport", facts.report_age_s),
    ):
        if age_s is not None:
            shown[name] = str(round(age_s))
    return shown
