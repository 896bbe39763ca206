"""What the planner of centralised caching sees of the namenode (pure)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from howdah.namenode.state.blocks.block_map import BlockMap
from howdah.namenode.state.blocks.datanodes import Datanode, DatanodeRegistry
from howdah.namenode.state.caching.planner import CacheableFile, CachingNode
from howdah.namenode.state.inodes.inodes import BlockState, Directory, File
from howdah.namenode.state.tree.namespace import Namespace


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
    blocks = file.blocks
    return CacheableFile(
        sum(b.length_bytes for b in blocks if b.state is not BlockState.UNDER_CONSTRUCTION),
        [(b.block_id, b.length_bytes) for b in blocks if b.state is BlockState.COMPLETE],
    )
