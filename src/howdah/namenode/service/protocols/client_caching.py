"""Cache pools and directives (pure): the part of ClientProtocol that Hadoop's CacheManager
serves.
"""

from __future__ import annotations

from howdah.namenode.service.calls.at_most_once import AtMostOnce
from howdah.namenode.service.calls.cache_calls import (
    CacheCalls,
    DirectiveInfo,
    Expiration,
    PoolInfo,
)
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.caching.planner import CacheFigures
from howdah.namenode.state.caching.pools import CacheDirective, CachePool
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Slices


class CacheMethods:
    """Calls that make, change, list and remove pools and directives."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem
        self._once = AtMostOnce(namesystem)
        self._calls = CacheCalls(namesystem)

    def add_cache_pool(
        self, request: pb.AddCachePoolRequestProto, caller: Caller
    ) -> pb.AddCachePoolResponseProto:
        def run() -> pb.AddCachePoolResponseProto:
            self._calls.add_pool(caller, _pool_info(request.info))
            return pb.AddCachePoolResponseProto()

        return self._once(caller, run, pb.AddCachePoolResponseProto)

    def modify_cache_pool(
        self, request: pb.ModifyCachePoolRequestProto, caller: Caller
    ) -> pb.ModifyCachePoolResponseProto:
        def run() -> pb.ModifyCachePoolResponseProto:
            self._calls.modify_pool(caller, _pool_info(request.info))
            return pb.ModifyCachePoolResponseProto()

        return self._once(caller, run, pb.ModifyCachePoolResponseProto)

    def remove_cache_pool(
        self, request: pb.RemoveCachePoolRequestProto, caller: Caller
    ) -> pb.RemoveCachePoolResponseProto:
        def run() -> pb.RemoveCachePoolResponseProto:
            self._calls.remove_pool(caller, request.poolName)
            return pb.RemoveCachePoolResponseProto()

        return self._once(caller, run, pb.RemoveCachePoolResponseProto)

    def list_cache_pools(self, request: pb.ListCachePoolsRequestProto, caller: Caller) -> Slices:
        yield from self._namesystem.caching.refreshed()
        pools, has_more = self._calls.list_pools(caller, request.prevPoolName)
        answer = pb.ListCachePoolsResponseProto(hasMore=has_more)
        for listed in pools:
            entry = answer.entries.add()
            entry.info.poolName = listed.pool.name
            entry.stats.CopyFrom(_pool_stats(listed.pool, listed.figures))
            if listed.figures is not None:
                _tell_pool(listed.pool, entry.info)
        return answer

    def add_cache_directive(
        self, request: pb.AddCacheDirectiveRequestProto, caller: Caller
    ) -> Slices:
        force = bool(request.cacheFlags & pb.FORCE)
        if not force:
            yield from self._namesystem.caching.refreshed()

        def run() -> pb.AddCacheDirectiveResponseProto:
            directive_id = self._calls.add_directive(
                caller, _directive_info(request.info), force=force
            )
            return pb.AddCacheDirectiveResponseProto(id=directive_id)

        def rebuild() -> pb.AddCacheDirectiveResponseProto:
            found = self._calls.added(_directive_info(request.info))
            return pb.AddCacheDirectiveResponseProto(id=found)

        return self._once(caller, run, rebuild)

    def modify_cache_directive(
        self, request: pb.ModifyCacheDirectiveRequestProto, caller: Caller
    ) -> Slices:
        force = bool(request.cacheFlags & pb.FORCE)
        if not force:
            yield from self._namesystem.caching.refreshed()

        def run() -> pb.ModifyCacheDirectiveResponseProto:
            self._calls.modify_directive(caller, _directive_info(request.info), force=force)
            return pb.ModifyCacheDirectiveResponseProto()

        return self._once(caller, run, pb.ModifyCacheDirectiveResponseProto)

    def remove_cache_directive(
        self, request: pb.RemoveCacheDirectiveRequestProto, caller: Caller
    ) -> pb.RemoveCacheDirectiveResponseProto:
        def run() -> pb.RemoveCacheDirectiveResponseProto:
            self._calls.remove_directive(caller, request.id)
            return pb.RemoveCacheDirectiveResponseProto()

        return self._once(caller, run, pb.RemoveCacheDirectiveResponseProto)

    def list_cache_directives(
        self, request: pb.ListCacheDirectivesRequestProto, caller: Caller
    ) -> Slices:
        yield from self._namesystem.caching.refreshed()
        directives, has_more = self._calls.list_directives(
            caller, request.prevId, _directive_info(request.filter)
        )
        answer = pb.ListCacheDirectivesResponseProto(hasMore=has_more)
        for listed in directives:
            entry = answer.elements.add()
            _tell_directive(listed.directive, entry.info)
            figures = listed.figures
            entry.stats.bytesNeeded = figures.bytes_needed
            entry.stats.bytesCached = figures.bytes_cached
            entry.stats.filesNeeded = figures.files_needed
            entry.stats.filesCached = figures.files_cached
            entry.stats.hasExpired = listed.has_expired
        return answer


def _pool_info(info: pb.CachePoolInfoProto) -> PoolInfo:
    has = info.HasField
    return PoolInfo(
        info.poolName,
        info.ownerName if has("ownerName") else None,
        info.groupName if has("groupName") else None,
        info.mode if has("mode") else None,
        info.limit if has("limit") else None,
        info.maxRelativeExpiry if has("maxRelativeExpiry") else None,
        _signed_short(info.defaultReplication) if has("defaultReplication") else None,
    )


def _directive_info(info: pb.CacheDirectiveInfoProto) -> DirectiveInfo:
    has = info.HasField
    return DirectiveInfo(
        info.id if has("id") else None,
        info.path if has("path") else None,
        _signed_short(info.replication) if has("replication") else None,
        info.pool if has("pool") else None,
        Expiration(info.expiration.millis, info.expiration.isRelative)
        if has("expiration")
        else None,
    )


def _signed_short(number: int) -> int:
    """As Hadoop reads the unsigned field that holds a Java short."""
    number &= 0xFFFF
    return number - 0x10000 if number & 0x8000 else number


def _tell_pool(pool: CachePool, info: pb.CachePoolInfoProto) -> None:
    info.ownerName = pool.owner
    info.groupName = pool.group
    info.mode = pool.mode
    info.limit = pool.limit_bytes
    info.maxRelativeExpiry = pool.max_relative_expiry_ms
    info.defaultReplication = pool.default_replication & 0xFFFFFFFF


def _pool_stats(pool: CachePool, figures: CacheFigures | None) -> pb.CachePoolStatsProto:
    shown = figures or CacheFigures()
    return pb.CachePoolStatsProto(
        bytesNeeded=shown.bytes_needed,
        bytesCached=shown.bytes_cached,
        bytesOverlimit=0 if figures is None else max(shown.bytes_needed - pool.limit_bytes, 0),
        filesNeeded=shown.files_needed,
        filesCached=shown.files_cached,
    )


def _tell_directive(directive: CacheDirective, info: pb.CacheDirectiveInfoProto) -> None:
    info.id = directive.directive_id
    info.path = directive.path
    info.replication = directive.replication & 0xFFFFFFFF
    info.pool = directive.pool
    info.expiration.millis = directive.expiry_ms
    info.expiration.isRelative = False
