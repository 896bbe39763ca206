"""Centralised caching: what HDFS keeps in the memory of datanodes, and who may ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from howdah.fs.hdfs.namespace import HdfsNamespace
from howdah.fs.paths import PathLike
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


class HdfsCaching(HdfsNamespace):
    """The part of `HdfsFileSystem` that is about cache pools and directives."""

    def add_cache_pool(
        self,
        name: str,
        *,
        owner: str | None = None,
        group: str | None = None,
        mode: int | None = None,
        limit_bytes: int | None = None,
        max_ttl_ms: int | None = None,
        default_replication: int | None = None,
    ) -> None:
        """Make a pool: the caller's, with mode 0o755, and without bounds unless they are given.
        Only for the superuser. Raises InvalidRequest if there is one of that name."""
        self._namenode.add_cache_pool(
            _pool_info(name, owner, group, mode, limit_bytes, max_ttl_ms, default_replication)
        )

    def modify_cache_pool(
        self,
        name: str,
        *,
        owner: str | None = None,
        group: str | None = None,
        mode: int | None = None,
        limit_bytes: int | None = None,
        max_ttl_ms: int | None = None,
        default_replication: int | None = None,
    ) -> None:
        """Change what is given of a pool. Only for the superuser. Raises InvalidRequest."""
        self._namenode.modify_cache_pool(
            _pool_info(name, owner, group, mode, limit_bytes, max_ttl_ms, default_replication)
        )

    def remove_cache_pool(self, name: str) -> None:
        """The pool goes with its directives. Only for the superuser. Raises InvalidRequest."""
        self._namenode.remove_cache_pool(name)

    def list_cache_pools(self) -> list[CachePool]:
        """All pools, by name."""
        return [_pool(entry) for entry in self._namenode.cache_pools()]

    def add_cache_directive(
        self,
        path: PathLike,
        pool: str,
        *,
        replication: int | None = None,
        ttl_ms: int | None = None,
        force: bool = False,
    ) -> int:
        """Keep a file, or all files right in a directory, in the memory of as many datanodes as
        `replication` says (else the pool), for `ttl_ms` from now (else as long as the pool
        allows). The id of the directive.

        Raises InvalidRequest where it would be more than the pool may hold, unless `force`
        is set, and AccessDenied for those who may not write to the pool.
        """
        return self._namenode.add_cache_directive(
            _directive_info(None, self.resolve(path), pool, replication, ttl_ms), force=force
        )

    def modify_cache_directive(
        self,
        directive_id: int,
        *,
        path: PathLike | None = None,
        pool: str | None = None,
        replication: int | None = None,
        ttl_ms: int | None = None,
        force: bool = False,
    ) -> None:
        """Change what is given of a directive. Raises what `add_cache_directive` does."""
        resolved = None if path is None else self.resolve(path)
        self._namenode.modify_cache_directive(
            _directive_info(directive_id, resolved, pool, replication, ttl_ms), force=force
        )

    def remove_cache_directive(self, directive_id: int) -> None:
        """What no other directive asks for is not cached any more. Raises InvalidRequest."""
        self._namenode.remove_cache_directive(directive_id)

    def list_cache_directives(
        self,
        *,
        path: PathLike | None = None,
        pool: str | None = None,
        directive_id: int | None = None,
    ) -> list[CacheDirective]:
        """Those of pools that the caller may read, by id; with this path, of this pool, or of
        this id only. Raises InvalidRequest if there is none of that id."""
        resolved = None if path is None else self.resolve(path)
        only = _directive_info(directive_id, resolved, pool, None, None)
        return [_directive(entry) for entry in self._namenode.cache_directives(only)]


def _pool_info(
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


def _directive_info(
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


def _pool(entry: pb.CachePoolEntryProto) -> CachePool:
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


def _directive(entry: pb.CacheDirectiveEntryProto) -> CacheDirective:
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
