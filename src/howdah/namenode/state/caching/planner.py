"""Which block is cached where (pure).

Hadoop's `CacheReplicationMonitor`, and of `CacheManager` what reports change. Facts come in:
what datanodes report that they cache (`reported`), that one is gone (`forget`), and what the
namespace and its datanodes are at the time of a `rescan`. Orders go out: each heartbeat's
answer takes those for its datanode (`orders`).

A rescan has two steps:
1. Directives, the oldest first, say on how many datanodes each block should be. Those that
   have expired, or whose pool is at its limit, say nothing.
2. Each block that should be cached, or is, gets or loses datanodes. A datanode gets no more
   than it has memory for, with all that is under way counted in. So the oldest directives
   come first when memory is short, and what is cached already stays.

With `adaptive` hot blocks are on more datanodes than that, as far as memory and limits of pools
allow, in a third step. What directives ask for comes first: where a block has no place for
lack of memory, those that have more than they ask for give way.

An order stays pending until a report shows that it was carried out, or until it is not wanted
any more; it is repeated after `retry_ms`.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

from howdah.namenode.state.caching.adaptive import Adaptive, Wish
from howdah.namenode.state.caching.pools import CacheDirective, CachePool, CachePools

SLICE: Final = 1000
"""Directives, files or blocks that are looked at in one go."""
MOST_REPORTED: Final = 1 << 20
"""Blocks of one datanode that are taken from its report: with 1 MiB each they fill a TiB."""


class Dice(Protocol):
    """`random.Random` fits."""

    def randrange(self, stop: int, /) -> int: ...


@runtime_checkable
class CachingNode(Protocol):
    """A datanode, as far as the planner knows it."""

    cache_capacity_bytes: int
    cache_used_bytes: int
    xceivers: int
    """Reads and writes under way, as its last heartbeat said."""

    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class CacheableFile:
    """A file under a directive. `needed_bytes` is its length without a last block that is being
    written; `blocks` are the complete ones: (id, bytes)."""

    needed_bytes: int
    blocks: Sequence[tuple[int, int]]


class View(Protocol):
    """What the planner sees of the rest of the namenode."""

    def files(self, path: str) -> Iterator[CacheableFile]:
        """The file at the path, or the files right in the directory there."""

    def length_bytes(self, block_id: int) -> int | None:
        """None unless the block exists and is complete."""

    def holders(self, block_id: int) -> Sequence[CachingNode]:
        """The live datanodes in service with a sound replica, each once."""

    def is_stale(self, node: CachingNode) -> bool:
        """Whether it was not heard of for a while."""

    def wall_ms(self) -> int:
        """Unix milliseconds."""

    def monotonic_ms(self) -> int:
        """By a clock that only runs forward."""


@dataclass(slots=True)
class CacheFigures:
    """Statistics of a directive, or of all of a pool's."""

    bytes_needed: int = 0
    bytes_cached: int = 0
    files_needed: int = 0
    files_cached: int = 0

    def add(self, other: CacheFigures) -> None:
        self.bytes_needed += other.bytes_needed
        self.bytes_cached += other.bytes_cached
        self.files_needed += other.files_needed
        self.files_cached += other.files_cached


@dataclass(slots=True)
class _OnNode:
    """One datanode's part. Pending blocks have their lengths."""

    cached: set[int] = field(default_factory=set)
    to_cache: dict[int, int] = field(default_factory=dict)
    to_uncache: dict[int, int] = field(default_factory=dict)
    balance_bytes: int = 0
    """What all orders together will free, if they are carried out."""
    sent_ms: int | None = None

    def order_cache(self, block_id: int, length_bytes: int) -> None:
        self.to_cache[block_id] = length_bytes
        self.balance_bytes -= length_bytes
        self.sent_ms = None

    def order_uncache(self, block_id: int, length_bytes: int) -> None:
        self.to_uncache[block_id] = length_bytes
        self.balance_bytes += length_bytes
        self.sent_ms = None

    def drop_cache(self, block_id: int) -> bool:
        length_bytes = self.to_cache.pop(block_id, None)
        self.balance_bytes += length_bytes or 0
        return length_bytes is not None

    def drop_uncache(self, block_id: int) -> None:
        self.balance_bytes -= self.to_uncache.pop(block_id, 0)

    def start_over(self) -> None:
        self.to_cache.clear()
        self.to_uncache.clear()
        self.balance_bytes, self.sent_ms = 0, None

    def room(self, node: CachingNode) -> int:
        """Bytes that may be ordered yet."""
        return node.cache_capacity_bytes - node.cache_used_bytes + self.balance_bytes


_NOTHING: Final = CacheFigures()


class CachePlanner:
    """Keeps the plan, and what is known of how far it has come."""

    def __init__(
        self,
        pools: CachePools,
        view: View,
        dice: Dice,
        *,
        retry_ms: int,
        adaptive: Adaptive | None = None,
    ) -> None:
        self._pools = pools
        self.adaptive = adaptive
        self._view = view
        self._dice = dice
        self.retry_ms = retry_ms
        self._nodes: dict[CachingNode, _OnNode] = {}
        self._cached_on: dict[int, dict[CachingNode, None]] = {}
        self._pending_on: dict[int, dict[CachingNode, None]] = {}
        self._by_directive: dict[int, CacheFigures] = {}
        self._by_pool: dict[str, CacheFigures] = {}
        self._scanned_version = pools.version
        self._reports = self._scanned_reports = 0

    # Facts.

    def reported(self, node: CachingNode, block_ids: Iterable[int]) -> None:
        """All that a datanode caches."""
        mine = self._nodes.setdefault(node, _OnNode())
        now = set(block_ids)
        if now != mine.cached:
            self._reports += 1
        for block_id in mine.cached - now:
            _remove(self._cached_on, block_id, node)
            mine.drop_uncache(block_id)
        for block_id in now - mine.cached:
            self._cached_on.setdefault(block_id, {})[node] = None
            if mine.drop_cache(block_id):
                _remove(self._pending_on, block_id, node)
        mine.cached = now

    def registered(self, node: CachingNode) -> None:
        """Its process may be a new one, which knows nothing of its orders: they are repeated at
        once. What it caches it reports itself."""
        mine = self._nodes.get(node)
        if mine is not None:
            mine.sent_ms = None

    def forget(self, node: CachingNode) -> None:
        """The datanode is dead, or has no memory."""
        mine = self._nodes.pop(node, None)
        if mine is None:
            return
        self._reports += 1
        for block_id in mine.cached:
            _remove(self._cached_on, block_id, node)
        for block_id in mine.to_cache:
            _remove(self._pending_on, block_id, node)

    def start_over(self) -> None:
        """The namenode's role has changed: orders that another one gave are not known."""
        for mine in self._nodes.values():
            mine.start_over()
        self._pending_on.clear()
        self._scanned_version = -1
        if self.adaptive is not None:
            self.adaptive.start_over()

    def read(self, block_id: int, now_ms: int) -> None:
        """Somebody is about to read it; `now_ms` by a clock that only runs forward."""
        if self.adaptive is not None and block_id in self._cached_on:
            self.adaptive.heat.read(block_id, now_ms)

    # Looking.

    @property
    def is_outdated(self) -> bool:
        """Whether pools or directives have changed since the last rescan began."""
        return self._scanned_version != self._pools.version

    @property
    def has_news(self) -> bool:
        """Whether what is cached has changed since then."""
        return self._scanned_reports != self._reports

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to cache, and nothing cached."""
        return not len(self._pools) and not self._cached_on and not self._pending_on

    def cached_on(self, block_id: int) -> Iterable[CachingNode]:
        """The datanodes that have reported it as cached."""
        return self._cached_on.get(block_id, ())

    @property
    def cached_blocks(self) -> Container[int]:
        """By their ids: those of which a datanode has a cached replica."""
        return self._cached_on

    @property
    def caches_something(self) -> bool:
        return bool(self._cached_on)

    def of_directive(self, directive: CacheDirective) -> CacheFigures:
        """As of the last rescan."""
        return self._by_directive.get(directive.directive_id, _NOTHING)

    def of_pool(self, pool: CachePool) -> CacheFigures:
        return self._by_pool.get(pool.name, _NOTHING)

    # Orders.

    def orders(self, node: CachingNode, now_ms: int) -> tuple[list[int], list[int]]:
        """What the datanode is to cache, and what it is to give up: nothing, if it was told
        less than `retry_ms` ago (by a clock that only runs forward) and nothing has changed."""
        mine = self._nodes.get(node)
        if mine is None or not (mine.to_cache or mine.to_uncache):
            return [], []
        if mine.sent_ms is not None and now_ms - mine.sent_ms < self.retry_ms:
            return [], []
        mine.sent_ms = now_ms
        return list(mine.to_cache), list(mine.to_uncache)

    # Planning.

    def rescan(self) -> Generator[None, None, None]:
        """Both steps, in slices. What a slice does is whole: others may ask and report between
        them, and a second rescan may run."""
        self._scanned_version = self._pools.version
        self._scanned_reports = self._reports
        wanted: dict[int, Wish] = {}
        yield from self._scan_directives(wanted)
        extra: Mapping[int, int] = {}
        if self.adaptive is not None:
            extra = yield from self.adaptive.plan(
                wanted,
                lambda block_id: len(self._view.holders(block_id)),
                self._room_in_pools(),
                self._view.monotonic_ms(),
            )
        short: set[CachingNode] = set()
        for number, block_id in enumerate([*self._other_blocks(wanted), *wanted], 1):
            wish = wanted.get(block_id)
            self._settle(block_id, wish.replication if wish else 0, extra.get(block_id, 0), short)
            if number % SLICE == 0:
                yield
        for number, block_id in enumerate(extra, 1):
            self._settle_extra(block_id, wanted[block_id].replication, extra[block_id], short)
            if number % SLICE == 0:
                yield

    def _room_in_pools(self) -> dict[str, int]:
        """Return what is left of the limits of the pools that ask for anything."""
        room = {}
        for name, figures in self._by_pool.items():
            pool = self._pools.pool(name)
            if pool is not None:
                room[name] = pool.limit_bytes - figures.bytes_needed
        return room

    def _other_blocks(self, wanted: Mapping[int, Wish]) -> list[int]:
        """First what is not wanted any more: it makes room."""
        return [b for b in {**self._cached_on, **self._pending_on} if b not in wanted]

    def _scan_directives(self, wanted: dict[int, Wish]) -> Generator[None, None, None]:
        by_directive: dict[int, CacheFigures] = {}
        by_pool: dict[str, CacheFigures] = {}
        now_ms, looked_at = self._view.wall_ms(), 0
        for directive in list(self._pools.directives_after(0)):
            figures = by_directive[directive.directive_id] = CacheFigures()
            looked_at += 1
            if looked_at >= SLICE:
                looked_at = 0
                yield
            pool = self._pools.pool(directive.pool)
            if pool is None or directive.expiry_ms <= now_ms:
                continue
            of_pool = by_pool.setdefault(pool.name, CacheFigures())
            for file in self._view.files(directive.path):
                part = self._scan_file(directive, pool, of_pool.bytes_needed, file, wanted)
                figures.add(part)
                of_pool.add(part)
                looked_at += 1 + len(file.blocks)
                if looked_at >= SLICE:
                    looked_at = 0
                    yield
        self._by_directive, self._by_pool = by_directive, by_pool

    def _scan_file(
        self,
        directive: CacheDirective,
        pool: CachePool,
        pool_needs_bytes: int,
        file: CacheableFile,
        wanted: dict[int, Wish],
    ) -> CacheFigures:
        needed = file.needed_bytes * directive.replication
        part = CacheFigures(bytes_needed=needed, files_needed=1)
        if pool_needs_bytes + needed > pool.limit_bytes:
            return part
        for block_id, length_bytes in file.blocks:
            copies = min(len(self._cached_on.get(block_id, ())), directive.replication)
            part.bytes_cached += copies * length_bytes
            wish = wanted.get(block_id)
            if wish is None:
                wanted[block_id] = Wish(directive.replication, length_bytes, pool.name)
            else:
                wish.replication = max(wish.replication, directive.replication)
        part.files_cached = int(part.bytes_cached == needed)
        return part

    def _settle(self, block_id: int, replication: int, spare: int, short: set[CachingNode]) -> None:
        """As often as directives ask for; `spare` more may stay where they are. Datanodes that
        have the replica, and no memory for it, go to `short`."""
        length_bytes = self._view.length_bytes(block_id)
        if length_bytes is None:
            replication = spare = 0
        most = replication + spare
        cached = self._cached_on.get(block_id, {})
        holders = list(self._view.holders(block_id)) if replication else []
        for node in list(self._pending_on.get(block_id, ())):
            if len(cached) >= most or node not in holders:
                self._drop_pending(block_id, node)
        leaving = [node for node in cached if block_id in self._nodes[node].to_uncache]
        if len(cached) - len(leaving) < replication:
            for node in leaving:
                self._nodes[node].drop_uncache(block_id)
            leaving = []
        surplus = len(cached) - len(leaving) - most
        if surplus > 0:
            self._uncache(block_id, length_bytes or 0, surplus)
        pending = self._pending_on.get(block_id, {})
        missing = replication - len(cached) - len(pending)
        if missing > 0 and length_bytes is not None:
            missing -= self._cache(block_id, length_bytes, missing, holders)
            if missing:
                short.update(self._too_full(block_id, length_bytes, holders))

    def _settle_extra(
        self, block_id: int, replication: int, extra: int, short: Collection[CachingNode]
    ) -> None:
        """More often than directives ask for; but what is on datanodes that are `short` of memory
        gives way."""
        length_bytes = self._view.length_bytes(block_id)
        if length_bytes is None:
            return
        cached = self._cached_on.get(block_id, {})
        pending = list(self._pending_on.get(block_id, ()))
        staying = [node for node in cached if block_id not in self._nodes[node].to_uncache]
        spare = len(staying) + len(pending) - replication
        giving_way = [node for node in (*pending, *staying) if node in short][: max(spare, 0)]
        for node in giving_way:
            if node in cached:
                self._nodes[node].order_uncache(block_id, length_bytes)
            else:
                self._drop_pending(block_id, node)
        missing = extra - spare
        if missing <= 0 or giving_way:
            return
        for node in cached:
            mine = self._nodes[node]
            if not missing or node in short or block_id not in mine.to_uncache:
                continue
            # It is there yet; the room that its leaving makes may be planned with already.
            if mine.room(node) >= length_bytes:
                mine.drop_uncache(block_id)
                missing -= 1
        holders = [node for node in self._view.holders(block_id) if node not in short]
        self._cache(block_id, length_bytes, missing, holders)

    def _too_full(
        self, block_id: int, length_bytes: int, holders: Iterable[CachingNode]
    ) -> Iterator[CachingNode]:
        """The datanodes that would cache it if others made room there."""
        for node in holders:
            if node.cache_capacity_bytes >= length_bytes:
                mine = self._nodes.get(node)
                if mine is None or not (block_id in mine.cached or block_id in mine.to_cache):
                    yield node

    def _drop_pending(self, block_id: int, node: CachingNode) -> None:
        self._nodes[node].drop_cache(block_id)
        _remove(self._pending_on, block_id, node)

    def _uncache(self, block_id: int, length_bytes: int, count: int) -> None:
        """Where memory is shortest first."""
        nodes = [n for n in self._cached_on[block_id] if block_id not in self._nodes[n].to_uncache]
        nodes.sort(key=lambda node: self._nodes[node].room(node))
        for node in nodes[:count]:
            self._nodes[node].order_uncache(block_id, length_bytes)

    def _cache(
        self, block_id: int, length_bytes: int, count: int, holders: Sequence[CachingNode]
    ) -> int:
        """On datanodes that have the block and memory for it, on stale ones last; by chance. The
        weight is the share of its memory that is free, and less the busier it is: readers go
        where a block is cached. One at the mean load of the holders weighs about half. On how
        many."""
        cached = self._cached_on.get(block_id, {})
        pending = self._pending_on.get(block_id, {})
        usual = 1 + sum(node.xceivers for node in holders) // max(len(holders), 1)
        fresh: list[tuple[CachingNode, int]] = []
        stale: list[tuple[CachingNode, int]] = []
        for node in holders:
            if node in cached or node in pending:
                continue
            mine = self._nodes.get(node)
            room = _OnNode().room(node) if mine is None else mine.room(node)
            if room >= length_bytes and node.cache_capacity_bytes > 0:
                free = room * 1_000_000 // node.cache_capacity_bytes
                weight = max(1, free * usual // (usual + node.xceivers))
                (stale if self._view.is_stale(node) else fresh).append((node, weight))
        for done in range(count):
            from_these = fresh or stale
            if not from_these:
                return done
            place = self._draw([weight for _, weight in from_these])
            node, _ = from_these.pop(place)
            self._nodes.setdefault(node, _OnNode()).order_cache(block_id, length_bytes)
            self._pending_on.setdefault(block_id, {})[node] = None
        return count

    def _draw(self, weights: list[int]) -> int:
        ticket = self._dice.randrange(sum(weights))
        for place, weight in enumerate(weights):
            ticket -= weight
            if ticket < 0:
                return place
        raise AssertionError("the ticket is less than the sum")


def _remove(index: dict[int, dict[CachingNode, None]], block_id: int, node: CachingNode) -> None:
    nodes = index.get(block_id)
    if nodes is not None:
        nodes.pop(node, None)
        if not nodes:
            del index[block_id]
