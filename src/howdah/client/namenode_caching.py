"""ClientProtocol's calls about centralised caching, typed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TypeVar

from google.protobuf.message import Message

from howdah.proto import client_namenode_pb2 as calls
from howdah.rpc.client import AnswerType

M = TypeVar("M")


class CachingMethods(ABC):
    """The part of `NamenodeProxy` that is about cache pools and directives."""

    @abstractmethod
    def call(self, method: str, request: Message, response_type: AnswerType[M]) -> M:
        """Any method of the protocol."""

    def add_cache_pool(self, info: calls.CachePoolInfoProto) -> None:
        request = calls.AddCachePoolRequestProto(info=info)
        self.call("addCachePool", request, calls.AddCachePoolResponseProto)

    def modify_cache_pool(self, info: calls.CachePoolInfoProto) -> None:
        request = calls.ModifyCachePoolRequestProto(info=info)
        self.call("modifyCachePool", request, calls.ModifyCachePoolResponseProto)

    def remove_cache_pool(self, name: str) -> None:
        request = calls.RemoveCachePoolRequestProto(poolName=name)
        self.call("removeCachePool", request, calls.RemoveCachePoolResponseProto)

    def cache_pools(self) -> Iterator[calls.CachePoolEntryProto]:
        """All, page by page."""
        after = ""
        while True:
            request = calls.ListCachePoolsRequestProto(prevPoolName=after)
            page = self.call("listCachePools", request, calls.ListCachePoolsResponseProto)
            yield from page.entries
            if not page.hasMore or not page.entries:
                return
            after = page.entries[-1].info.poolName

    def add_cache_directive(self, info: calls.CacheDirectiveInfoProto, *, force: bool) -> int:
        """The id of the directive."""
        request = calls.AddCacheDirectiveRequestProto(info=info, cacheFlags=_flags(force))
        answer = self.call("addCacheDirective", request, calls.AddCacheDirectiveResponseProto)
        return answer.id

    def modify_cache_directive(self, info: calls.CacheDirectiveInfoProto, *, force: bool) -> None:
        request = calls.ModifyCacheDirectiveRequestProto(info=info, cacheFlags=_flags(force))
        self.call("modifyCacheDirective", request, calls.ModifyCacheDirectiveResponseProto)

    def remove_cache_directive(self, directive_id: int) -> None:
        request = calls.RemoveCacheDirectiveRequestProto(id=directive_id)
        self.call("removeCacheDirective", request, calls.RemoveCacheDirectiveResponseProto)

    def cache_directives(
        self, only: calls.CacheDirectiveInfoProto
    ) -> Iterator[calls.CacheDirectiveEntryProto]:
        """Those that fit, page by page."""
        after = 0
        while True:
            request = calls.ListCacheDirectivesRequestProto(prevId=after, filter=only)
            page = self.call("listCacheDirectives", request, calls.ListCacheDirectivesResponseProto)
            yield from page.elements
            if not page.hasMore or not page.elements:
                return
            after = page.elements[-1].info.id


def _flags(force: bool) -> int:
    return calls.FORCE if force else 0
