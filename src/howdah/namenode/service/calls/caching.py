"""Centralised caching in a namenode: the planner with its times (pure).

Without `dfs.namenode.caching.enabled` pools and directives are kept all the same, and nothing
is cached for them.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from howdah.namenode.service.role import Role
from howdah.namenode.state.blocks.block_map import BlockMap
from howdah.namenode.state.blocks.datanodes import Datanode, DatanodeRegistry
from howdah.namenode.state.caching.adaptive import Adaptive
from howdah.namenode.state.caching.planner import (
    MOST_REPORTED,
    CacheableFile,
    CachePlanner,
    CachingNode,
    Dice,
)
from howdah.namenode.state.inodes.inodes import BlockState, Directory, File
from howdah.namenode.state.tree.namespace import Namespace

# What the planner of centralised caching sees of the namenode.


class Clock(Protocol):
    """`settings.Clock`."""

    def wall_ms(self) -> int: ...

    def monotonic_ms(self) -> int: ...


class CacheView:
    """`caching.planner.View` of a namenode."""

    def __init__(
        self, namespace: Namespace, blocks: BlockMap, datanodes: DatanodeRegistry, clock: Clock
    ) -> None:
        self._namespace: Final = namespace
        self._blocks: Final = blocks
        self._datanodes: Final = datanodes
        self._clock: Final = clock

    def files(self, path: str) -> Iterator[CacheableFile]:
        """Links are not followed, and directories below the path not entered."""
        inode = self._namespace.find(path)
        if isinstance(inode, File):
            yield _cacheable(inode)
        elif isinstance(inode, Directory):
            for name in list(inode.entries):
                child = inode.child(name)  # It may be gone since the last slice.
                if isinstance(child, File):
                    yield _cacheable(child)

    def needed_bytes(self, path: str) -> int:
        """Of one replica of each block below a directive's path: what it asks of its pool."""
        return sum(file.needed_bytes for file in self.files(path))

    def length_bytes(self, block_id: int) -> int | None:
        block = self._namespace.blocks.get(block_id)
        if block is None or block.state is not BlockState.COMPLETE:
            return None
        return block.length_bytes

    def holders(self, block_id: int) -> Sequence[Datanode]:
        block = self._namespace.blocks.get(block_id)
        if block is None:
            return ()
        live = self._blocks.live_replicas(block)
        return list(dict.fromkeys(storage.node for storage in live))

    def is_stale(self, node: CachingNode) -> bool:
        assert isinstance(node, Datanode), node
        return self._datanodes.is_stale(node, self._clock.monotonic_ms())

    def wall_ms(self) -> int:
        return self._clock.wall_ms()

    def monotonic_ms(self) -> int:
        return self._clock.monotonic_ms()


def _cacheable(file: File) -> CacheableFile:
    """What of a file may be in memory: of one that is erasure coded nothing, as in Hadoop."""
    if file.coding_policy_id:
        return CacheableFile(0, [])
    blocks = file.blocks
    return CacheableFile(
        sum(b.length_bytes for b in blocks if b.state is not BlockState.UNDER_CONSTRUCTION),
        [(b.block_id, b.length_bytes) for b in blocks if b.state is BlockState.COMPLETE],
    )


NEWS_MS: Final = 1000
"""Reports of datanodes alone are no reason for more than one rescan in this time."""


log = logging.getLogger(__name__)


class Caching:
    """The plan of this namenode, made in rounds."""

    def __init__(
        self,
        namespace: Namespace,
        blocks: BlockMap,
        datanodes: DatanodeRegistry,
        clock: Clock,
        dice: Dice,
        role: Role,
        *,
        enabled: bool,
        refresh_ms: int,
        retry_ms: int,
        adaptive: Adaptive | None,
    ) -> None:
        """With `adaptive` hot blocks are cached more often than directives ask for."""
        self.view: Final = CacheView(namespace, blocks, datanodes, clock)
        self.planner: Final = CachePlanner(
            namespace.caching, self.view, dice, retry_ms=retry_ms, adaptive=adaptive
        )
        self.enabled = enabled
        self._clock = clock
        self._role = role
        self._refresh_ms = refresh_ms
        self._scanned_ms = clock.monotonic_ms()

    def reported(self, node: Datanode, block_ids: Iterable[int], count: int) -> bool:
        """All that a datanode caches; False if that is not heeded."""
        if not self.enabled or count > MOST_REPORTED:
            return False
        self.planner.reported(node, block_ids)
        return True

    def registered(self, node: Datanode) -> None:
        self.planner.registered(node)

    def heard_of(self, node: Datanode) -> None:
        """A heartbeat has said what memory it has. One without any sends no cache reports, so
        nothing else tells that what it cached before it was started anew is gone."""
        if not node.cache_capacity_bytes:
            self.planner.forget(node)

    def node_gone(self, node: Datanode) -> None:
        self.planner.forget(node)

    def role_changed(self) -> None:
        self.planner.start_over()

    def orders(self, node: Datanode) -> tuple[list[int], list[int]]:
        """What it is to cache, and to give up."""
        if not self.enabled:
            return [], []
        return self.planner.orders(node, self._clock.monotonic_ms())

    def cached_on(self, block_id: int) -> Iterable[CachingNode]:
        planner = self.planner
        return planner.cached_on(block_id) if planner.caches_something else ()

    def read(self, block_ids: Iterable[int]) -> None:
        """The active namenode has told somebody where these blocks are, who is to read them."""
        if self.planner.adaptive is not None and self.planner.caches_something:
            now_ms = self._clock.monotonic_ms()
            for block_id in block_ids:
                self.planner.read(block_id, now_ms)

    def round(self) -> Generator[None, None, None] | None:
        """A rescan in slices, if one is due: something was changed, or time has passed. A standby
        makes none, and neither does a namenode in safe mode."""
        planner = self.planner
        if not self._role.gives_orders:
            return None
        if not self.enabled or (planner.is_idle and not planner.is_outdated):
            return None
        if not planner.is_outdated and self._age_ms() < self._refresh_ms:
            return None
        return self._rescan()

    def refreshed(self) -> Generator[None, None, None]:
        """For a call that shows statistics, or goes by them: they are as of now."""
        planner = self.planner
        if planner.is_outdated or (planner.has_news and self._age_ms() >= NEWS_MS):
            yield from self._rescan()

    def _rescan(self) -> Generator[None, None, None]:
        self._scanned_ms = self._clock.monotonic_ms()
        adaptive = self.planner.adaptive
        before = {} if adaptive is None else adaptive.extra
        yield from self.planner.rescan()
        if adaptive is not None and adaptive.extra != before:
            _log_hot(adaptive, before)

    def _age_ms(self) -> int:
        return self._clock.monotonic_ms() - self._scanned_ms


def _log_hot(adaptive: Adaptive, before: Mapping[int, int]) -> None:
    extra = adaptive.extra
    changed = [b for b in {**before, **extra} if before.get(b, 0) != extra.get(b, 0)]
    shown = ", ".join(f"blk_{b}: {before.get(b, 0)} -> {extra.get(b, 0)}" for b in changed[:5])
    log.info(
        "hot blocks: %d of them are to have %d cached replicas more than their directives ask for "
        "(howdah.cache.adaptive); %d have changed: %s%s",
        len(extra),
        sum(extra.values()),
        len(changed),
        shown,
        ", …" if len(changed) > 5 else "",
    )
