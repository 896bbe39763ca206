"""Summaries, statistics and reports of several nameservices as one (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeVar

from google.protobuf.message import Message

from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2

M = TypeVar("M", bound=Message)
Status = types_pb2.HdfsFileStatusProto

_UINT64: Final = 1 << 64


_WithTypes = types_pb2.ContentSummaryProto | types_pb2.QuotaUsageProto


def statuses(candidates: Sequence[Status]) -> Status | None:
    """Merge the statuses of one path in several destinations: a directory before a file, with all
    its children."""
    directories = [status for status in candidates if status.fileType == Status.IS_DIR]
    if not directories:
        return candidates[0] if candidates else None
    one = Status()
    one.CopyFrom(directories[0])
    one.childrenNum = sum(max(directory.childrenNum, 0) for directory in directories)
    one.modification_time = max(directory.modification_time for directory in directories)
    one.access_time = max(directory.access_time for directory in directories)
    return one


def summed(messages: Iterable[M], kind: type[M]) -> M:
    """All numbers of all messages, added field by field; those that say "none" (-1) are left
    out where others have one."""
    total = kind()
    for message in messages:
        for field, value in message.ListFields():
            known = getattr(total, field.name) if total.HasField(field.name) else 0
            setattr(total, field.name, (known + value) % _UINT64)
    unset: Any = total
    for name in unset.FindInitializationErrors():
        setattr(total, name, 0)
    return total


def content_summaries(
    summaries: Sequence[types_pb2.ContentSummaryProto],
) -> types_pb2.ContentSummaryProto:
    """Sum the summaries; the quota is that of the first."""
    one = types_pb2.ContentSummaryProto()
    one.CopyFrom(summaries[0])
    for other in summaries[1:]:
        for name in (
            "length",
            "fileCount",
            "directoryCount",
            "spaceConsumed",
            "snapshotLength",
            "snapshotFileCount",
            "snapshotDirectoryCount",
            "snapshotSpaceConsumed",
        ):
            if one.HasField(name) or other.HasField(name):
                setattr(one, name, getattr(one, name) + getattr(other, name))
        _add_types(one, other)
    return one


def quota_usages(usages: Sequence[types_pb2.QuotaUsageProto]) -> types_pb2.QuotaUsageProto:
    """Sum the usages; the quota is that of the first."""
    one = types_pb2.QuotaUsageProto()
    one.CopyFrom(usages[0])
    for other in usages[1:]:
        one.fileAndDirectoryCount += other.fileAndDirectoryCount
        one.spaceConsumed += other.spaceConsumed
        _add_types(one, other)
    return one


def _add_types(one: _WithTypes, other: _WithTypes) -> None:
    """Add what is used of storage types that have a quota."""
    by_type = {usage.type: usage for usage in one.typeQuotaInfos.typeQuotaInfo}
    for usage in other.typeQuotaInfos.typeQuotaInfo:
        if usage.type in by_type:
            by_type[usage.type].consumed += usage.consumed
        else:
            one.typeQuotaInfos.typeQuotaInfo.add().CopyFrom(usage)


def _xfer(node: types_pb2.DatanodeInfoProto) -> str:
    return f"{node.id.ipAddr}:{node.id.xferPort}"


def datanodes(
    reports: Iterable[tuple[str, Iterable[types_pb2.DatanodeInfoProto]]],
) -> list[types_pb2.DatanodeInfoProto]:
    """Return every datanode once, as the namenode has it that heard from it last; the nameservice
    stands in front of its rack."""
    nodes: dict[str, types_pb2.DatanodeInfoProto] = {}
    for nameservice, reported in reports:
        for node in reported:
            known = nodes.get(_xfer(node))
            if known is None or node.lastUpdate > known.lastUpdate:
                node.location = f"/{nameservice}{node.location}"
                nodes[_xfer(node)] = node
    return list(nodes.values())


def storage_reports(
    reports: Iterable[pb.DatanodeStorageReportProto],
) -> list[pb.DatanodeStorageReportProto]:
    """Return every datanode once, as the namenode has it that heard from it last."""
    nodes: dict[str, pb.DatanodeStorageReportProto] = {}
    for report in reports:
        known = nodes.get(_xfer(report.datanodeInfo))
        if known is None or report.datanodeInfo.lastUpdate > known.datanodeInfo.lastUpdate:
            nodes[_xfer(report.datanodeInfo)] = report
    return list(nodes.values())


def cache_pools(
    pages: Sequence[pb.ListCachePoolsResponseProto],
) -> pb.ListCachePoolsResponseProto:
    """Return one page of pools by their names, with the sums, as far as every nameservice has
    listed them."""
    ends = [page.entries[-1].info.poolName for page in pages if page.hasMore and page.entries]
    end = min(ends, default=None)
    named: dict[str, list[pb.CachePoolEntryProto]] = {}
    for page in pages:
        for entry in page.entries:
            named.setdefault(entry.info.poolName, []).append(entry)
    answer = pb.ListCachePoolsResponseProto(hasMore=bool(ends))
    for name in sorted(named):
        if end is not None and name > end:
            answer.hasMore = True
            break
        # One that the caller may not read has nothing but its name.
        fullest = max(named[name], key=lambda pool: len(pool.info.ListFields()))
        stats = summed((pool.stats for pool in named[name]), pb.CachePoolStatsProto)
        answer.entries.add(info=fullest.info, stats=stats)
    return answer


def cache_directives(
    pages: Sequence[pb.ListCacheDirectivesResponseProto],
) -> pb.ListCacheDirectivesResponseProto:
    """Return one page of directives of one nameservice, which was asked for several paths."""
    ends = [page.elements[-1].info.id for page in pages if page.hasMore and page.elements]
    end = min(ends, default=None)
    by_id = {entry.info.id: entry for page in pages for entry in page.elements}
    kept = [by_id[number] for number in sorted(by_id) if end is None or number <= end]
    return pb.ListCacheDirectivesResponseProto(elements=kept, hasMore=bool(ends))
