"""What a router tells monitoring, under the names of Hadoop's routers (pure). Hadoop: RBFMetrics,
FederationRPCMetrics, StateStoreMetrics, RouterClientMetrics.

Of each nameservice the active namenode counts. Capacity and blocks in trouble are what it answers
to the router's heartbeats. The rest is what its own `/jmx` says; where that is not known, as the
configuration may not say where it is, the attribute is left out: a sum without it would be wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from howdah import __version__
from howdah.router.state.metrics import ProxyFigures
from howdah.router.state.namenodes.membership import Namenode, State
from howdah.router.state.table.mount_table import MountEntry
from howdah.runtime.metrics.histogram import Rates, Times
from howdah.runtime.metrics.rpc import RpcMetrics
from howdah.web.jmx import Bean
from howdah.web.pages.cluster import Member

SERVICE: Final = "Router"
_SUMMED: Final = {
    "NumFiles": "FilesTotal",
    "NumBlocks": "BlocksTotal",
    "NumLiveNodes": "NumLiveDataNodes",
    "NumDeadNodes": "NumDeadDataNodes",
    "NumStaleNodes": "StaleDataNodes",
    "NumDecommissioningNodes": "NumDecommissioningDataNodes",
    "NumDecomLiveNodes": "NumDecomLiveDataNodes",
    "NumDecomDeadNodes": "NumDecomDeadDataNodes",
    "NumInMaintenanceLiveDataNodes": "NumInMaintenanceLiveDataNodes",
    "NumInMaintenanceDeadDataNodes": "NumInMaintenanceDeadDataNodes",
    "NumEnteringMaintenanceDataNodes": "NumEnteringMaintenanceDataNodes",
    "NumOfBlocksPendingReplication": "PendingReplicationBlocks",
    "ScheduledReplicationBlocks": "ScheduledReplicationBlocks",
    "PendingSPSPaths": "PendingSPSPaths",
    "HighestPriorityLowRedundancyReplicatedBlocks": "HighestPriorityLowRedundancyReplicatedBlocks",
}
"""Attributes of the bean FederationState, and of which attribute of FSNamesystem they are sums."""
_OF_A_NAMENODE: Final = {
    "numOfFiles": "NumFiles",
    "numOfBlocks": "NumBlocks",
    "numOfActiveDatanodes": "NumLiveNodes",
    "numOfDeadDatanodes": "NumDeadNodes",
    "numOfStaleDatanodes": "NumStaleNodes",
    "numOfDecommissioningDatanodes": "NumDecommissioningNodes",
    "numOfDecomActiveDatanodes": "NumDecomLiveNodes",
    "numOfDecomDeadDatanodes": "NumDecomDeadNodes",
    "numOfBlocksPendingReplication": "NumOfBlocksPendingReplication",
}
"""What is told of one namenode, and the attribute above that is the sum of it."""
_NAMED: Final = {
    "removeXAttr": "RemoveXAttrs",
    "getFsStats": "GetStats",
    "getFsReplicatedBlockStats": "GetReplicatedBlockStats",
    "getFsECBlockGroupStats": "GetECBlockGroupStats",
}
"""Methods that Hadoop's bean calls otherwise."""


@dataclass(frozen=True, slots=True)
class FederationFacts:
    """What the router knows at one moment."""

    name: str
    """`host:port` of its clients' port."""
    started_ms: int
    safe_mode: bool
    nameservices: Sequence[str]
    namenodes: Sequence[Namenode]
    disabled: frozenset[str]
    entries: Sequence[MountEntry]
    now_s: float


def federation(facts: FederationFacts, members: Sequence[Member]) -> list[Bean]:
    """Return FederationState and Router. `members` are what the namenodes' own `/jmx` says."""
    active = [namenode for namenode in facts.namenodes if namenode.state is State.ACTIVE]
    counted = _counted(active, members)
    used = sum(namenode.capacity_bytes - namenode.available_bytes for namenode in active)
    total, left = _sum(active, "capacity_bytes"), _sum(active, "available_bytes")
    common = {
        "HostAndPort": facts.name,
        "RouterId": facts.name,
        "RouterStarted": _timestamp(facts.started_ms),
        "RouterStatus": "SAFEMODE" if facts.safe_mode else "RUNNING",
        "ClusterId": _set(namenode.cluster for namenode in facts.namenodes),
        "BlockPoolId": _set(namenode.block_pool for namenode in facts.namenodes),
        "Version": f"{__version__}, howdah",
        "CompileInfo": f"howdah {__version__}",
        "SecurityEnabled": False,
        "CurrentTokensCount": 0,
    }
    return [
        {
            "name": f"Hadoop:service={SERVICE},name=FederationState",
            "modelerType": "org.apache.hadoop.hdfs.server.federation.metrics.RBFMetrics",
            **common,
            "NumNameservices": len(facts.nameservices),
            "NumNamenodes": len(facts.namenodes),
            "TotalCapacity": total,
            "TotalCapacityBigInt": total,
            "UsedCapacity": used,
            "UsedCapacityBigInt": used,
            "RemainingCapacity": left,
            "RemainingCapacityBigInt": left,
            "ProvidedSpace": 0,
            "NumOfMissingBlocks": _sum(active, "missing_blocks"),
            "NumberOfMissingBlocksWithReplicationFactorOne": _sum(active, "missing_single_blocks"),
            "NumOfBlocksUnderReplicated": _sum(active, "low_redundancy_blocks"),
            "NumOfBlocksPendingDeletion": _sum(active, "pending_deletion_blocks"),
            "HighestPriorityLowRedundancyECBlocks": 0,
            **_sums(active, counted),
            "Namenodes": json.dumps(
                {str(namenode): _namenode(namenode, facts, members) for namenode in facts.namenodes}
            ),
            "Nameservices": json.dumps(
                {namenode.nameservice: _namenode(namenode, facts, members) for namenode in active}
            ),
            "MountTable": json.dumps([_mount(entry) for entry in facts.entries]),
        },
        {
            "name": f"Hadoop:service={SERVICE},name=Router",
            "modelerType": "org.apache.hadoop.hdfs.server.federation.metrics.RBFMetrics",
            **common,
            "Safemode": "Safe mode is ON. It was turned on by an administrator, or the state "
            "store cannot be read."
            if facts.safe_mode
            else "",
        },
    ]


def _counted(active: Iterable[Namenode], members: Sequence[Member]) -> list[Mapping[str, int]]:
    known = (_member(namenode, members) for namenode in active)
    return [member.numbers for member in known if member is not None and member.numbers]


def _member(namenode: Namenode, members: Sequence[Member]) -> Member | None:
    return next(
        (
            member
            for member in members
            if (member.nameservice, member.name) == (namenode.nameservice, namenode.name)
            and not member.trouble
        ),
        None,
    )


def _sums(active: Sequence[Namenode], counted: Sequence[Mapping[str, int]]) -> Bean:
    """Nothing unless every active namenode has said so much."""
    if len(counted) < len(active):
        return {}
    return {
        name: sum(numbers[of] for numbers in counted)
        for name, of in _SUMMED.items()
        if all(of in numbers for numbers in counted)
    }


def _sum(namenodes: Iterable[Namenode], attribute: str) -> int:
    return sum(int(getattr(namenode, attribute)) for namenode in namenodes)


def _set(texts: Iterable[str]) -> str:
    """As Java writes a set."""
    return f"[{', '.join(sorted({text for text in texts if text}))}]"


def _timestamp(unix_ms: int) -> str:
    return datetime.fromtimestamp(unix_ms / 1000, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")


def _namenode(namenode: Namenode, facts: FederationFacts, members: Sequence[Member]) -> Bean:
    member = _member(namenode, members)
    numbers = {} if member is None else member.numbers
    state = "DISABLED" if namenode.nameservice in facts.disabled else namenode.state.value
    contact_s = namenode.contact_s
    bean: Bean = {
        "nameserviceId": namenode.nameservice,
        "namenodeId": namenode.name,
        "clusterId": namenode.cluster,
        "blockPoolId": namenode.block_pool,
        "rpcAddress": namenode.address_text,
        "state": state,
        "isSafeMode": namenode.is_in_safe_mode,
        "lastHeartbeat": -1 if contact_s is None else round(facts.now_s - contact_s),
        "totalSpace": namenode.capacity_bytes,
        "availableSpace": namenode.available_bytes,
        "used": namenode.capacity_bytes - namenode.available_bytes,
        "numOfBlocksMissing": namenode.missing_blocks,
        "numOfBlocksUnderReplicated": namenode.low_redundancy_blocks,
        "numOfBlocksPendingDeletion": namenode.pending_deletion_blocks,
    }
    if member is not None:
        bean |= {"webAddress": member.address, "webScheme": member.scheme}
    for name, summed in _OF_A_NAMENODE.items():
        of = _SUMMED[summed]
        if of in numbers:
            bean[name] = numbers[of]
    return bean


def _mount(entry: MountEntry) -> Bean:
    return {
        "sourcePath": entry.source,
        "nameserviceId": ",".join(destination.nameservice for destination in entry.destinations),
        "path": ",".join(dict.fromkeys(destination.path for destination in entry.destinations)),
        "order": entry.order.value,
        "readonly": entry.read_only,
        "faulttolerant": entry.fault_tolerant,
        "ownerName": entry.owner,
        "groupName": entry.group,
        "mode": f"{entry.mode:o}",
        "dateCreated": entry.created_ms,
        "dateModified": entry.modified_ms,
    }


@dataclass(frozen=True, slots=True)
class Connected:
    """Connections: to namenodes, by their addresses (open ones, and of these idle ones), and how
    many are being made; of clients, and how many of their calls wait."""

    to_namenodes: Mapping[str, tuple[int, int]]
    being_made: int
    of_clients: int
    waiting_calls: int


def passing_on(
    figures: ProxyFigures, connected: Connected, rates: Rates, now_ns: int
) -> Iterator[Bean]:
    """Yield FederationRPC, and NameserviceActivity of each nameservice. Means are in
    milliseconds."""
    total = figures.all()
    count = sum(opened for opened, _ in connected.to_namenodes.values())
    idle = sum(opened for _, opened in connected.to_namenodes.values())
    yield {
        "name": f"Hadoop:service={SERVICE},name=FederationRPC",
        "modelerType": "org.apache.hadoop.hdfs.server.federation.metrics.FederationRPCMetrics",
        "ProxyOps": total.proxied.count,
        "ProxyAvg": _mean_ms(rates, "proxied", total.proxied, now_ns),
        "ActiveProxyOps": total.proxied.count - total.of_observers,
        "ObserverProxyOps": total.of_observers,
        "ProxyOpFailureCommunicate": total.communicate,
        "ProxyOpFailureStandby": total.standby,
        "ProxyOpNoNamenodes": total.no_namenodes,
        "ProxyOpRetries": figures.retries,
        "RouterFailureSafemodeOps": figures.safe_mode,
        "RouterFailureReadOnlyOps": figures.read_only,
        "RpcServerCallQueue": connected.waiting_calls,
        "RpcServerNumOpenConnections": connected.of_clients,
        "RpcClientNumConnections": count,
        "RpcClientNumActiveConnections": count - idle,
        "RpcClientNumIdleConnections": idle,
        "RpcClientNumCreatingConnections": connected.being_made,
        "RpcClientNumConnectionPools": len(connected.to_namenodes),
        "RpcClientConnections": json.dumps(
            {
                address: {"active": opened - unused, "idle": unused, "total": opened}
                for address, (opened, unused) in connected.to_namenodes.items()
            }
        ),
    }
    for nameservice, of in sorted(list(figures.by_nameservice.items())):
        yield {
            "name": f"Hadoop:service={SERVICE},name=NameserviceActivity-{nameservice}",
            "modelerType": f"NameserviceActivity-{nameservice}",
            "tag.Context": "dfs",
            "tag.ns": nameservice,
            "ProxyOp": of.proxied.count,
            "ProxyNumOps": of.proxied.count,
            "ProxyAvgTime": _mean_ms(rates, f"of {nameservice}", of.proxied, now_ns),
            "ProxyOpFailureCommunicate": of.communicate,
            "ProxyOpFailureStandby": of.standby,
            "ProxyOpNoNamenodes": of.no_namenodes,
        }


def state_store(
    done: Mapping[str, Times], mount_points: int, disabled: int, rates: Rates, now_ns: int
) -> Iterator[Bean]:
    """StateStore and StateStoreActivity. `done` has Read, Write, Remove and Failure."""
    means = {name: _mean_ms(rates, f"store {name}", done[name], now_ns) for name in done}
    yield {
        "name": f"Hadoop:service={SERVICE},name=StateStore",
        "modelerType": "org.apache.hadoop.hdfs.server.federation.metrics.StateStoreMetrics",
        **{f"{name}Ops": done[name].count for name in done},
        **{f"{name}Avg": mean for name, mean in means.items()},
    }
    yield {
        "name": f"Hadoop:service={SERVICE},name=StateStoreActivity",
        "modelerType": "StateStoreActivity",
        "tag.Context": "dfs",
        "tag.ProcessName": "Router",
        **{f"{name}sNumOps": done[name].count for name in done},
        **{f"{name}sAvgTime": mean for name, mean in means.items()},
        "CacheMountTableSize": mount_points,
        "CacheDisabledNameserviceSize": disabled,
    }


def client_activity(methods: Iterable[str], ports: Iterable[RpcMetrics]) -> Bean:
    """Return RouterClientActivity: calls that were answered, by method."""
    figures = list(ports)
    bean: Bean = {
        "name": f"Hadoop:service={SERVICE},name=RouterClientActivity",
        "modelerType": "RouterClientActivity",
        "tag.Context": "router",
        "tag.ProcessName": "Router",
    }
    for method in methods:
        counts = [port.methods[method].times.count for port in figures if method in port.methods]
        bean[f"{_NAMED.get(method, method[:1].upper() + method[1:])}Ops"] = sum(counts)
    return bean


def _mean_ms(rates: Rates, name: str, times: Times, now_ns: int) -> float:
    return rates.mean_ns(name, times.count, times.total_ns, now_ns) / 1e6
