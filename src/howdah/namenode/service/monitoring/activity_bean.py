"""NameNodeActivity, what FSNamesystem has beside the status, and the names of `nntop` (pure)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from howdah.namenode.service.audit.calls import RULES
from howdah.namenode.service.ha.tailer_metrics import TailerMetrics
from howdah.namenode.service.monitoring.startup import Phase, Seen
from howdah.runtime.metrics.histogram import Rates, Times
from howdah.runtime.metrics.rpc import RpcMetrics
from howdah.runtime.metrics.top_users import TopWindow
from howdah.web.monitoring.families import Family, one

Bean = dict[str, object]

OPERATIONS: Final[Mapping[str, str]] = {
    method: rule.cmd or ("rename" if method == "rename2" else method)
    for method, rule in RULES.items()
}
"""The operation that the audit log, and with it `nntop`, has for each method."""

_COUNTED: Final[Mapping[str, tuple[str, ...]]] = {
    "CreateFileOps": ("create",),
    "FilesCreated": ("create", "mkdirs"),
    "FilesAppended": ("append",),
    "FilesTruncated": ("truncate",),
    "GetBlockLocations": ("getBlockLocations", "getLocatedFileInfo"),
    "FilesRenamed": ("rename", "rename2"),
    "GetListingOps": ("getListing", "getBatchedListing"),
    "DeleteFileOps": ("delete",),
    "FileInfoOps": ("getFileInfo", "getFileLinkInfo"),
    "AddBlockOps": ("addBlock",),
    "GetAdditionalDatanodeOps": ("getAdditionalDatanode",),
    "CreateSymlinkOps": ("createSymlink",),
    "GetLinkTargetOps": ("getLinkTarget",),
    "AllowSnapshotOps": ("allowSnapshot",),
    "DisallowSnapshotOps": ("disallowSnapshot",),
    "CreateSnapshotOps": ("createSnapshot",),
    "DeleteSnapshotOps": ("deleteSnapshot",),
    "RenameSnapshotOps": ("renameSnapshot",),
    "ListSnapshotOps": ("getSnapshotListing",),
    "ListSnapshottableDirOps": ("getSnapshottableDirListing",),
    "SnapshotDiffReportOps": ("getSnapshotDiffReport", "getSnapshotDiffReportListing"),
    "BlockReceivedAndDeletedOps": ("blockReceivedAndDeleted",),
}
"""Attributes that are the number of calls of some methods, done ones only."""
_TIMED: Final[Mapping[str, str]] = {
    "StorageBlockReport": "blockReport",
    "CacheReport": "cacheReport",
}


@dataclass(frozen=True, slots=True)
class Counted:
    """What is counted beside calls and syncs, since the start of the process."""

    deleted: int
    """Inodes that were freed; what snapshots show is freed with the last of them."""
    listed: int
    timed_out_copies: int
    retries: int
    """Calls that the retry cache knew; answers that it took, and answers that left it."""
    retry_answers: int
    retry_answers_gone: int
    resource_looks: Times
    tail: TailerMetrics | None
    """Of a namenode that shares its log."""


@dataclass(frozen=True, slots=True)
class LogFacts:
    """Where the log stands now."""

    pending: int
    """Edits that are not durable yet."""
    in_segment: int
    """In the segment that is being written, with its first; 0 without one."""
    writers: int
    """Clients that hold a lease."""
    tail_age_ms: int
    """How long ago a standby has applied edits; 0 of an active one."""


def operation_of(method: str) -> str | None:
    """As Hadoop's `nntop` calls it; None for calls that it does not count, such as heartbeats.

    >>> operation_of("getFileInfo")
    'getfileinfo'
    """
    return OPERATIONS.get(method)


def activity(
    ports: Iterable[RpcMetrics],
    transactions: int,
    syncs: Times,
    rates: Rates,
    counted: Counted,
    pending_edits: int,
    startup: Seen,
    *,
    started_ms: int,
    now_ns: int,
) -> Bean:
    """The bean NameNodeActivity. `transactions` were written since the start, with `syncs`."""

    def timed(name: str, times: Times) -> None:
        mean_ns = rates.mean_ns(name, times.count, times.total_ns, now_ns)
        attributes[f"{name}NumOps"], attributes[f"{name}AvgTime"] = times.count, mean_ns / 1e6

    times = _by_method(ports)
    attributes: Bean = {
        "name": "Hadoop:service=NameNode,name=NameNodeActivity",
        "modelerType": "NameNodeActivity",
        "tag.ProcessName": "NameNode",
        "tag.Context": "dfs",
    }
    for attribute, methods in _COUNTED.items():
        attributes[attribute] = sum(times[method].count for method in methods if method in times)
    tail = counted.tail or TailerMetrics()
    for name, durations in (
        *((name, times.get(method, Times())) for name, method in _TIMED.items()),
        ("Syncs", syncs),
        ("ResourceCheckTime", counted.resource_looks),
        ("EditLogFetchTime", tail.reads),
        ("EditLogTailTime", tail.turns),
        ("EditLogTailInterval", tail.pauses),
    ):
        timed(name, durations)
    took_ms = {seen.phase: seen.elapsed_ms for seen in startup.phases if seen.is_complete}
    attributes |= {
        "TransactionsNumOps": transactions,
        "NumEditLogLoadedNumOps": tail.loads,
        "NumEditLogLoadedAvgCount": tail.edits / tail.loads if tail.loads else 0.0,
        "FilesDeleted": counted.deleted,
        "FilesInGetListingOps": counted.listed,
        "TimeoutReReplications": counted.timed_out_copies,
        "PendingEditsCount": pending_edits,
        "FsImageLoadTime": took_ms.get(Phase.IMAGE, 0) + took_ms.get(Phase.EDITS, 0),
        "SafeModeTime": took_ms.get(Phase.SAFE_MODE, 0),
        "TransactionsBatchedInSync": max(0, transactions - syncs.count),
        "TotalFileOps": sum(times[method].count for method in OPERATIONS if method in times),
        "NNStartedTimeInMillis": started_ms,
    }
    return attributes


def retry_cache(counted: Counted) -> Bean:
    """The bean of the answers that are kept for those who ask again."""
    return {
        "name": "Hadoop:service=NameNode,name=RetryCache.NameNodeRetryCache",
        "modelerType": "RetryCache.NameNodeRetryCache",
        "tag.Context": "rpc",
        "CacheHit": counted.retries,
        "CacheUpdated": counted.retry_answers,
        "CacheCleared": counted.retry_answers_gone,
    }


def namesystem_extras(
    windows: Iterable[TopWindow], syncs: Times, log: LogFacts, *, wall_ms: int
) -> Bean:
    """What FSNamesystemState and FSNamesystem have beside the status."""
    return {
        "TransactionsSinceLastLogRoll": log.in_segment,
        "NumActiveClients": log.writers,
        "MillisSinceLastLoadedEdits": log.tail_age_ms,
        "TopUserOpCounts": top_user_op_counts(windows, wall_ms),
        "TotalSyncCount": syncs.count,
        "tag.TotalSyncTimes": f"{syncs.total_ns // 1_000_000} ",
    }


def top_user_op_counts(windows: Iterable[TopWindow], wall_ms: int) -> str:
    """JSON, as `nntop` has it."""
    at = datetime.fromtimestamp(wall_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S%z")
    return json.dumps(
        {
            "timestamp": at,
            "windows": [
                {
                    "windowLenMs": window.length_ms,
                    "ops": [
                        {
                            "opType": calls.operation,
                            "topUsers": [
                                {"user": user, "count": count} for user, count in calls.users
                            ],
                            "totalCount": calls.total,
                        }
                        for calls in window.operations
                    ],
                }
                for window in windows
            ],
        }
    )


def journal_families(transactions: int, syncs: Times) -> Iterator[Family]:
    """For Prometheus."""
    yield one("howdah_edits", "counter", "Edits that this namenode has written.", transactions)
    yield Family(
        "howdah_journal_sync_seconds",
        "histogram",
        "From the taking of a batch of edits until it is durable in every journal.",
        (({}, syncs),),
    )


def _by_method(ports: Iterable[RpcMetrics]) -> dict[str, Times]:
    by_method: dict[str, Times] = {}
    for figures in ports:
        for method, metrics in list(figures.methods.items()):
            into = by_method.setdefault(method, Times())
            into.count += metrics.times.count
            into.total_ns += metrics.times.total_ns
    return by_method
