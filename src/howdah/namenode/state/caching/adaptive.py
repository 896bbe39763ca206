"""Which cached blocks are hot, and how many more cached replicas that earns them (pure).

Hadoop has nothing like it: there a block is cached as often as its directives say, however
often it is read (LM-026).

A read is a call of `getBlockLocations` that names the block: readers make one when they open
a file, and one for each further stretch of it. So opens are counted, not bytes, and blocks
that a reader was told of and never came to are counted too. The figures are the active
namenode's own: what an observer answers is not counted, and after a failover it begins at 0.

Rules:
- only blocks that are cached, for a directive, are counted: what is not cached by order never
  will be by heat;
- of the reads that were counted, half are forgotten in each half-life;
- `reads_per_replica` of them are one cached replica's fair share. A block gets as many as its
  heat has shares. It loses one only when the others would have half a share each, so that a
  block whose heat goes up and down a little is not cached and uncached all the time;
- beyond what directives ask for, there is only what the pool's limit leaves, and the hottest
  blocks come first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Final

SLICE: Final = 1000
"""Blocks that are looked at in one go."""
SLACK: Final = 2
"""How many times cooler than for getting a replica a block has to be for losing it."""
_COLD: Final = 0.01


class Heat:
    """Reads of blocks, of which half are forgotten in each half-life. What is not asked about
    for long is to be dropped by its owner: `drop`."""

    def __init__(self, half_life_ms: int) -> None:
        assert half_life_ms > 0, f"a half-life of {half_life_ms} ms"
        self._half_life_ms = half_life_ms
        self._counted: dict[int, tuple[float, int]] = {}

    def read(self, block_id: int, now_ms: int) -> None:
        """`now_ms` is by a clock that only runs forward."""
        self._counted[block_id] = (self.of(block_id, now_ms) + 1, now_ms)

    def of(self, block_id: int, now_ms: int) -> float:
        """Return the reads, each worth half for each half-life since."""
        counted = self._counted.get(block_id)
        if counted is None:
            return 0.0
        count, at_ms = counted
        return count * math.exp2((at_ms - now_ms) / self._half_life_ms)

    def drop(self, block_id: int) -> None:
        self._counted.pop(block_id, None)

    def clear(self) -> None:
        self._counted.clear()

    def blocks(self) -> list[int]:
        return list(self._counted)

    def __len__(self) -> int:
        return len(self._counted)


def replicas_for(heat: float, reads_per_replica: int, before: int) -> int:
    """As many cached replicas as the block has earned, which has had `before`."""
    earned = math.ceil(heat / reads_per_replica)
    kept = math.ceil(heat * SLACK / reads_per_replica)
    return max(earned, min(before, kept))


@dataclass(slots=True)
class Wish:
    """A block as directives want it, and what more of it there could be."""

    replication: int
    length_bytes: int
    pool: str
    """Of the oldest directive that asks for it: there it is counted against the limit."""


@dataclass(slots=True)
class Adaptive:
    """The heat of cached blocks, and what it has earned them."""

    half_life_ms: int
    reads_per_replica: int
    extra: dict[int, int] = field(default_factory=dict)
    """Cached replicas beyond what directives ask for, as planned last."""
    heat: Heat = field(init=False)

    def __post_init__(self) -> None:
        assert self.reads_per_replica > 0, f"{self.reads_per_replica} reads for a replica"
        self.heat = Heat(self.half_life_ms)

    def start_over(self) -> None:
        self.heat.clear()
        self.extra = {}

    def plan(
        self,
        wishes: Mapping[int, Wish],
        most: Callable[[int], int],
        room_bytes: Mapping[str, int],
        now_ms: int,
    ) -> Generator[None, None, dict[int, int]]:
        """Make `extra` anew, in slices. `wishes` are all blocks that directives ask for, `most`
        says on how many datanodes a block could be, `room_bytes` how much each pool has left of its
        limit."""
        hot: list[tuple[float, int, int]] = []
        for number, block_id in enumerate(self.heat.blocks(), 1):
            wish = wishes.get(block_id)
            heat = self.heat.of(block_id, now_ms)
            if wish is None or heat < _COLD:
                self.heat.drop(block_id)
            else:
                had = self.extra.get(block_id, 0)
                earned = replicas_for(heat, self.reads_per_replica, wish.replication + had)
                more = min(earned, most(block_id)) - wish.replication
                if more > 0:
                    hot.append((heat * (SLACK if had else 1), block_id, more))
            if number % SLICE == 0:
                yield
        hot.sort(key=lambda candidate: (-candidate[0], candidate[1]))
        left = dict(room_bytes)
        extra = {}
        for _, block_id, more in hot:
            wish = wishes[block_id]
            if wish.length_bytes > 0:
                granted = min(more, left.get(wish.pool, 0) // wish.length_bytes)
                if granted > 0:
                    left[wish.pool] -= granted * wish.length_bytes
                    extra[block_id] = granted
        self.extra = extra
        return extra
