"""Records of centralised caching, from and to the protocol's messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from howdah.proto import client_namenode_pb2 as pb

UNLIMITED_BYTES: Final = (1 << 63) - 1
"""The limit of a pool without one."""
NEVER_MS: Final = ((1 << 63) - 1) // 4
"""A time to live that does not end."""


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """Bytes count once for each replica that is to be cached."""

    bytes_needed: int
    bytes_cached: int
    files_needed: int
    files_cached: int
    bytes_over_limit: int = 0
    """Of a pool: what its directives need beyond its limit."""


@dataclass(frozen=True, slots=True)
class CachePool:
    """A cache pool. Of one that the caller may not read, all but the name is None."""

    name: str
    owner: str | None
    group: str | None
    mode: int | None
    limit_bytes: int | None
    max_ttl_ms: int | None
    default_replication: int | None
    statistics: CacheStatistics


@dataclass(frozen=True, slots=True)
class CacheDirective:
    """What is to be cached. `expiry_ms` is in Unix milliseconds."""

    directive_id: int
    path: str
    replication: int
    pool: str
    expiry_ms: int
    has_expired: bool
    statistics: CacheStatistics

    @property
    def never_expires(self) -> bool:
        """Whether it has no end, as good as."""
        return self.expiry_ms > NEVER_MS // 2


def pool_message(
    name: str,
    owner: str | None,
    group: str | None,
    mode: int | None,
    limit_bytes: int | None,
    max_ttl_ms: int | None,
    default_replication: int | None,
) -> pb.CachePoolInfoProto:
    return pb.CachePoolInfoProto(
        poolName=name,
        ownerName=owner,
        groupName=group,
        mode=mode,
        limit=limit_bytes,
        maxRelativeExpiry=max_ttl_ms,
        defaultReplication=None
        if default_replication is None
        else default_replication & 0xFFFFFFFF,
    )


def directive_message(
    directive_id: int | None,
    path: str | None,
    pool: str | None,
    replication: int | None,
    ttl_ms: int | None,
) -> pb.CacheDirectiveInfoProto:
    return pb.CacheDirectiveInfoProto(
        id=directive_id,
        path=path,
        pool=pool,
        replication=None if replication is None else replication & 0xFFFFFFFF,
        expiration=None
        if ttl_ms is None
        else pb.CacheDirectiveInfoExpirationProto(millis=ttl_ms, isRelative=True),
    )


def cache_pool(entry: pb.CachePoolEntryProto) -> CachePool:
    info, stats = entry.info, entry.stats
    has = info.HasField
    return CachePool(
        info.poolName,
        info.ownerName if has("ownerName") else None,
        info.groupName if has("groupName") else None,
        info.mode if has("mode") else None,
        info.limit if has("limit") else None,
        info.maxRelativeExpiry if has("maxRelativeExpiry") else None,
        info.defaultReplication if has("defaultReplication") else None,
        CacheStatistics(
            stats.bytesNeeded,
            stats.bytesCached,
            stats.filesNeeded,
            stats.filesCached,
            stats.bytesOverlimit,
        ),
    )


def cache_directive(entry: pb.CacheDirectiveEntryProto) -> CacheDirective:
    info, stats = entry.info, entry.stats
    return CacheDirective(
        info.id,
        info.path,
        info.replication,
        info.pool,
        info.expiration.millis,
        stats.hasExpired,
        CacheStatistics(stats.bytesNeeded, stats.bytesCached, stats.filesNeeded, stats.filesCached),
    )
