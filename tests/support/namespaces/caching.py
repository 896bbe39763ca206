"""Cache pools and directives, listed and expiring, beside a tree that changes; and restarts.

Limits of pools are set and kept, and all directives are forced past them: how much a pool has
left follows from files and is the planner's (`tests/unit/namenode/state/caching`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from howdah.model.caching import NEVER_MS, Expiry, ModelCaches, ModelDirective
from howdah.proto import client_namenode_pb2 as pb
from howdah.testing.in_memory import InMemoryNamenode, reloaded
from tests.support.namespaces.histories import there
from tests.support.namespaces.survival import NotedNamespace
from tests.support.namespaces.tree import TreeHistories

PAGE = 2
pool_names = st.sampled_from(["p", "q", "ü", ""])
known_pools = st.runner().flatmap(
    lambda machine: st.integers(0, 9).flatmap(
        lambda dice: st.sampled_from(sorted(machine.caches.pools) or ["p"]) if dice else pool_names
    )
)
known_ids = st.runner().flatmap(
    lambda machine: st.integers(0, 9).flatmap(
        lambda dice: (
            st.sampled_from(sorted(machine.caches.directives) or [1])
            if dice
            else st.integers(-1, 9)
        )
    )
)
counts = st.sampled_from([1, 1, 2, 2, 3, 3, 4, 5, 32767, 0, -1])
spans_ms = st.sampled_from([0, 1, 5, 5, 40, 40, 1000, 1000, NEVER_MS, NEVER_MS + 1, -1])
expiries = (
    st.none()
    | st.builds(Expiry, spans_ms, st.just(True))
    | st.builds(
        # By the clock: from before the beginning of the history to some time behind its end.
        lambda millis: Expiry(millis, is_relative=False),
        st.integers(0, 3).map(lambda thousands: thousands * 10**12),
    )
)
fields = st.fixed_dictionaries(
    {},
    optional={
        "owner": st.sampled_from(["ann", "bob"]),
        "mode": st.sampled_from([0o755, 0o700, 0o777]),
        "limit_bytes": st.sampled_from([0, 100, -1]),
        "max_expiry_ms": spans_ms,
        "replication": counts,
    },
)
FIELDS = {
    "owner": "ownerName",
    "group": "groupName",
    "mode": "mode",
    "limit_bytes": "limit",
    "max_expiry_ms": "maxRelativeExpiry",
    "replication": "defaultReplication",
}


def pool_message(name: str, said: dict[str, Any]) -> pb.CachePoolInfoProto:
    message = pb.CachePoolInfoProto(poolName=name)
    for field, value in said.items():
        setattr(message, FIELDS[field], value & 0xFFFFFFFF if field == "replication" else value)
    return message


def directive_message(
    path: str | None,
    pool: str | None,
    replication: int | None,
    expiry: Expiry | None,
    number: int | None = None,
) -> pb.CacheDirectiveInfoProto:
    message = pb.CacheDirectiveInfoProto(
        id=number,
        path=path,
        pool=pool,
        replication=None if replication is None else replication & 0xFFFFFFFF,
    )
    if expiry is not None:
        message.expiration.millis = expiry.millis
        message.expiration.isRelative = expiry.is_relative
    return message


class CacheHistories(TreeHistories):
    """Operations on pools and directives, whose paths come and go."""

    def __init__(self) -> None:
        super().__init__()
        self.caches = ModelCaches()
        self._begin(NotedNamespace())

    def _begin(self, namespace: NotedNamespace) -> None:
        clock = self.namenode.clock
        settings = replace(
            self.namenode.settings, cache_pools_limit=PAGE, cache_directives_limit=PAGE
        )
        self.namenode = InMemoryNamenode(settings, namespace=namespace, clock=clock)

    @initialize(pools=st.integers(0, 2))
    def ask_for_some(self, pools: int) -> None:
        """Something to begin with: drawn at random hardly any request is about what is there."""
        for name in ["p", "q"][:pools]:
            self.add_pool(name, "g", {})
            self.add_directive("/b", name, None, None)

    # Pools.

    @rule(name=pool_names, group=st.sampled_from(["g", "h"]), said=fields)
    def add_pool(self, name: str, group: str, said: dict[str, Any]) -> None:
        said = {"owner": "root", "group": group, **said}
        request = pb.AddCachePoolRequestProto(info=pool_message(name, said))
        real = self.do("addCachePool", request)
        self.both(real, lambda: self.caches.add_pool(name, **said))

    @rule(name=known_pools, said=fields)
    def modify_pool(self, name: str, said: dict[str, Any]) -> None:
        request = pb.ModifyCachePoolRequestProto(info=pool_message(name, said))
        real = self.do("modifyCachePool", request)
        self.both(real, lambda: self.caches.modify_pool(name, **said))

    @rule(name=known_pools)
    def remove_pool(self, name: str) -> None:
        real = self.do("removeCachePool", pb.RemoveCachePoolRequestProto(poolName=name))
        self.both(real, lambda: self.caches.remove_pool(name))

    # Directives.

    @rule(
        path=there | st.none(),
        pool=known_pools | st.none(),
        replication=st.none() | counts,
        expiry=expiries,
    )
    def add_directive(
        self, path: str | None, pool: str | None, replication: int | None, expiry: Expiry | None
    ) -> None:
        now_ms = self.now()
        info = directive_message(path, pool, replication, expiry)
        request = pb.AddCacheDirectiveRequestProto(info=info, cacheFlags=pb.FORCE)
        self.both(
            lambda: self.call("addCacheDirective", request).id,
            lambda: self.caches.add(path, pool, replication, expiry, now_ms=now_ms),
        )

    @rule(
        number=known_ids,
        path=st.none() | there,
        pool=st.none() | known_pools,
        replication=st.none() | counts,
        expiry=expiries,
    )
    def modify_directive(
        self,
        number: int,
        path: str | None,
        pool: str | None,
        replication: int | None,
        expiry: Expiry | None,
    ) -> None:
        now_ms = self.now()
        info = directive_message(path, pool, replication, expiry, number)
        request = pb.ModifyCacheDirectiveRequestProto(info=info, cacheFlags=pb.FORCE)
        self.both(
            self.do("modifyCacheDirective", request),
            lambda: self.caches.modify(number, path, pool, replication, expiry, now_ms=now_ms),
        )

    @rule(number=known_ids)
    def remove_directive(self, number: int) -> None:
        real = self.do("removeCacheDirective", pb.RemoveCacheDirectiveRequestProto(id=number))
        self.both(real, lambda: self.caches.remove(number))

    # Time, and starts.

    @rule(ms=st.sampled_from([1, 5, 50, 2000]))
    def time_passes(self, ms: int) -> None:
        """What expires stays, and is shown as expired."""
        self.namenode.tick(ms)

    @rule()
    def restart(self) -> None:
        """From its log; an image would have kept the same."""
        imaged = reloaded(self.namenode.namesystem.namespace)
        assert imaged.caching == self.namenode.namesystem.namespace.caching
        log, edits = list(self.namenode.log), self.namenode.edits()
        noted = NotedNamespace()
        for edit in edits:
            noted.apply(edit)
        while noted.must_reap:
            noted.reap(1000)
        self._begin(noted)
        self.namenode.log = log
        self.namenode.namesystem.last_txid = len(log)

    # What must hold.

    @rule(after=st.integers(0, 6), path=st.none() | there, pool=st.none() | known_pools)
    def list_some(self, after: int, path: str | None, pool: str | None) -> None:
        expected = self.caches.listed(after, path, pool, self.namenode.clock.wall_ms())
        assert self._directives(after, path, pool) == expected

    @invariant()
    def caches_are_the_models(self) -> None:
        now_ms = self.namenode.clock.wall_ms()
        assert self._directives(0, None, None) == self.caches.listed(0, None, None, now_ms)
        assert self._pools() == [
            (
                name,
                each.owner,
                each.group,
                each.mode,
                each.limit_bytes,
                each.max_expiry_ms,
                each.replication,
            )
            for name, each in sorted(self.caches.pools.items())
        ]

    def _directives(
        self, after: int, path: str | None, pool: str | None
    ) -> list[tuple[int, Any, bool]]:
        """Page by page."""
        found: list[tuple[int, Any, bool]] = []
        while True:
            wanted = pb.CacheDirectiveInfoProto(path=path, pool=pool)
            request = pb.ListCacheDirectivesRequestProto(prevId=after, filter=wanted)
            page = self.call("listCacheDirectives", request)
            assert len(page.elements) <= PAGE
            for each in page.elements:
                info = each.info
                assert not info.expiration.isRelative
                directive = ModelDirective(
                    info.path, info.pool, info.replication, info.expiration.millis
                )
                found.append((info.id, directive, each.stats.hasExpired))
            if not page.hasMore:
                return found
            after = found[-1][0]

    def _pools(self) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        after = ""
        while True:
            page = self.call("listCachePools", pb.ListCachePoolsRequestProto(prevPoolName=after))
            assert len(page.entries) <= PAGE
            for each in page.entries:
                info = each.info
                found.append(
                    (
                        info.poolName,
                        info.ownerName,
                        info.groupName,
                        info.mode,
                        info.limit,
                        info.maxRelativeExpiry,
                        info.defaultReplication,
                    )
                )
            if not page.hasMore:
                return found
            after = found[-1][0]
