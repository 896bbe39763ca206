"""What the verification of a volume does next (pure).

VolumeScanner in Hadoop. Rules:

1. A suspicious replica comes first: a reader or a copy met an error there. One that was
   suspicious within the last ten minutes is not looked at again: each retry of a reader would
   begin it anew.
2. Otherwise the block pools have their turns. One that is at its end rests until its round is
   `period_ms` old.
3. After so many bytes were read, nothing is read for as long as `bytes_per_second` allows for
   them. What was not used does not add up.
4. A place is saved when it is `save_ms` old, when a pool is at its end, and at a stop.

Times that are compared with what is on the disk are Unix milliseconds (`wall_ms`), all others
those of a clock that does not jump (`now_ms`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from howdah.datanode.state.scanners.cursor import Cursor
from howdah.runtime.byte_rate import Throttle

RECENT_MS: Final = 10 * 60_000
MOST_RECENT: Final = 1000
MOST_SUSPECTS: Final = 10_000
_HOUR_MS: Final = 3_600_000
_MINUTE_MS: Final = 60_000
FOREVER_MS: Final = 1 << 62

Suspect = tuple[str, int]
"""(block pool, block id)"""


@dataclass(frozen=True, slots=True)
class Verify:
    """A suspicious replica."""

    pool_id: str
    block_id: int


@dataclass(frozen=True, slots=True)
class Advance:
    """Find the block file behind the cursor, and verify it; then `moved`."""

    pool_id: str
    cursor: Cursor


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing to do, unless a replica becomes suspicious."""

    for_ms: int


Step = Verify | Advance | Rest


@dataclass(slots=True)
class Figures:
    """What Hadoop's page says of a volume."""

    blocks_in_round: int = 0
    blocks: int = 0
    rounds: int = 0
    errors: int = 0
    last_block: str = ""


class VolumeSchedule:
    """Of one volume. Its owner has the lock."""

    def __init__(self, period_ms: int, bytes_per_second: int, save_ms: int) -> None:
        assert period_ms > 0, "a scanner that is switched off has no schedule"
        assert bytes_per_second > 0, "a scanner that is switched off has no schedule"
        self.period_ms = period_ms
        self._save_ms = save_ms
        self._pools: dict[str, Cursor] = {}
        self._current: str | None = None
        self._suspects: OrderedDict[Suspect, None] = OrderedDict()
        self._recent: OrderedDict[Suspect, int] = OrderedDict()
        self._throttle = Throttle(bytes_per_second)
        self._read: OrderedDict[int, int] = OrderedDict()
        self._ended: set[str] = set()
        self.figures = Figures()

    # --- what there is to do ---

    @property
    def pools(self) -> tuple[str, ...]:
        return tuple(self._pools)

    def cursor(self, pool_id: str) -> Cursor:
        return self._pools[pool_id]

    def add_pool(self, pool_id: str, cursor: Cursor | None, wall_ms: int) -> None:
        """`cursor` is where it was before, if that is known."""
        if pool_id not in self._pools:
            self._pools[pool_id] = cursor or Cursor(wall_ms, wall_ms)

    def remove_pool(self, pool_id: str) -> None:
        """It is not verified any more, nor is its place saved."""
        self._pools.pop(pool_id, None)
        self._ended.discard(pool_id)
        for keys in (self._suspects, self._recent):
            for key in [key for key in keys if key[0] == pool_id]:
                del keys[key]
        if self._current == pool_id:
            self._current = None

    def suspect(self, pool_id: str, block_id: int, now_ms: int) -> bool:
        """Whether the replica will be looked at out of turn."""
        key = pool_id, block_id
        self._forget(now_ms)
        if key in self._recent or key in self._suspects or len(self._suspects) >= MOST_SUSPECTS:
            return False
        self._suspects[key] = None
        return True

    def _forget(self, now_ms: int) -> None:
        recent = self._recent
        while recent:
            since_ms = next(iter(recent.values()))
            if len(recent) <= MOST_RECENT and now_ms - since_ms < RECENT_MS:
                return
            recent.popitem(last=False)

    def next(self, now_ms: int, wall_ms: int) -> Step:
        if self._suspects:
            key, _ = self._suspects.popitem(last=False)
            self._recent[key] = now_ms
            self._forget(now_ms)
            return Verify(*key)
        shortest_ms = FOREVER_MS
        for pool_id in self._in_turn():
            cursor = self._pools[pool_id]
            if cursor.at_end:
                # A clock that was set back must not make it rest for longer than a period.
                age_ms = max(wall_ms - cursor.round_began_ms, 0)
                if age_ms < self.period_ms:
                    shortest_ms = min(shortest_ms, self.period_ms - age_ms)
                    continue
                cursor = self._pools[pool_id] = cursor.rewound(wall_ms)
            if pool_id != self._current or cursor.entry is None:
                self.figures.blocks_in_round = 0
            self._current = pool_id
            return Advance(pool_id, cursor)
        return Rest(shortest_ms)

    def _in_turn(self) -> Iterator[str]:
        """The pool that is under way, and then those behind it."""
        pools = list(self._pools)
        first = pools.index(self._current) if self._current in self._pools else 0
        yield from pools[first:]
        yield from pools[:first]

    # --- what was done ---

    def moved(self, pool_id: str, cursor: Cursor) -> None:
        """The block file at `cursor` is done with, or the round is. Nothing, if the pool was
        removed meanwhile."""
        if pool_id not in self._pools:
            return
        self._pools[pool_id] = cursor
        if cursor.at_end:
            self.figures.rounds += 1
            self._ended.add(pool_id)
            # Another pool has its turn, whatever this one's period is.
            pools = list(self._pools)
            self._current = pools[(pools.index(pool_id) + 1) % len(pools)]

    def verified(self, block: str) -> None:
        self.figures.blocks_in_round += 1
        self.figures.blocks += 1
        self.figures.last_block = block

    def failed(self, block: str) -> None:
        self.figures.errors += 1
        self.figures.last_block = block

    # --- how fast ---

    @property
    def piece_bytes(self) -> int:
        """What to read at once."""
        return self._throttle.piece_bytes

    def read(self, count_bytes: int, now_ms: int) -> float:
        """So many bytes have been read: for how many seconds nothing may be, from now on."""
        minute = now_ms // _MINUTE_MS
        self._read[minute] = self._read.get(minute, 0) + count_bytes
        while next(iter(self._read)) <= minute - _HOUR_MS // _MINUTE_MS:
            self._read.popitem(last=False)
        return self._throttle.delay_s(count_bytes, now_ms / 1000)

    def bytes_in_last_hour(self, now_ms: int) -> int:
        first = now_ms // _MINUTE_MS - _HOUR_MS // _MINUTE_MS
        return sum(count for minute, count in self._read.items() if minute > first)

    # --- saving ---

    def to_save(self, wall_ms: int, *, stopping: bool = False) -> list[tuple[str, Cursor]]:
        """Cursors that belong on the disk now. They count as saved."""
        due = []
        for pool_id, cursor in self._pools.items():
            age_ms = wall_ms - cursor.saved_ms
            if stopping or pool_id in self._ended or age_ms >= self._save_ms or age_ms < 0:
                self._pools[pool_id] = replace(cursor, saved_ms=wall_ms)
                due.append((pool_id, self._pools[pool_id]))
        self._ended.clear()
        return due
