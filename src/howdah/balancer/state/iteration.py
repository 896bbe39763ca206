"""One iteration: which replicas are moved, from where to where, and when (pure).

Dispatcher in Hadoop. A state machine: `next` says what to begin now, `listed`, `listing_failed`
and `ended` what came of it. The rules of a move:

1. It goes between storages of one type, as the pairs say. The last block of a pair may be longer
   than what is left, but not twice as long: then no group is further from the mean afterwards
   than it was, and balancing comes to an end also where blocks are large. (Hadoop's takes any
   block, and may move one to and fro for ever.)
2. The target's datanode has no replica of the block, and no other block of its group.
3. The block is on no fewer racks and in no fewer upgrade domains afterwards, and its group on
   none of the racks too often.
4. A block, or a block of a group, is moved once in a while only (`RecentMoves`): the namenode may
   not have deleted the replica in excess yet.
5. The bytes come from any datanode with a replica (the proxy), best from one in the target's
   rack.
6. A datanode takes part in a limited number of moves at a time. After a failure the proxy and
   the target have some peace.
7. After a time no further move begins; after a longer silence a source gives up.

Blocks are asked for as they are needed. A source asks for twice the bytes that it is to give, as
not every block can go to every target.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from howdah.balancer.state.matching import Task
from howdah.balancer.state.nodes import NO_DOMAINS, BlockPlaces, Group, GroupKey
from howdah.protocol.data_transfer.blocks import DatanodeAddress

_FEW_BLOCKS: Final = 5
"""With fewer candidates left a source asks for more."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`moves_per_node` is `dfs.datanode.balance.max.concurrent.moves`, `moves` the threads that a
    balancer has for moves; `list_bytes` how much is asked for in one list of blocks."""

    moves_per_node: int = 100
    moves: int = 1000
    list_bytes: int = 2 << 30
    iteration_ms: int = 1_200_000
    no_move_ms: int = 60_000
    delay_after_failure_ms: int = 10_000


@dataclass(frozen=True, slots=True)
class ListBlocks:
    """Ask the namenode for blocks of a source."""

    source: Group
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Move:
    """Have `target` get the block from `proxy`; `source` loses its replica."""

    block: BlockPlaces
    source: Group
    target: Group
    proxy: DatanodeAddress


class RecentMoves:
    """Blocks that were moved of late (`dfs.balancer.movedWinWidth`), by what they are moved as;
    over all iterations."""

    def __init__(self, window_ms: int) -> None:
        self._window_ms = window_ms
        self._moved_ms: dict[int, int] = {}

    def __contains__(self, block_id: object) -> bool:
        return block_id in self._moved_ms

    def __len__(self) -> int:
        return len(self._moved_ms)

    def add(self, block_id: int, now_ms: int) -> None:
        self._moved_ms[block_id] = now_ms

    def discard(self, block_id: int) -> None:
        self._moved_ms.pop(block_id, None)

    def forget_old(self, now_ms: int) -> None:
        """They are in the order in which they were moved."""
        for block_id, moved_ms in list(self._moved_ms.items()):
            if now_ms - moved_ms < self._window_ms:
                break
            del self._moved_ms[block_id]


class _Pair:
    """What is left of a task, and the blocks that may be moved for it."""

    __slots__ = ("candidates", "left_bytes", "target")

    def __init__(self, task: Task) -> None:
        self.target = task.target
        self.left_bytes = task.size_bytes
        self.candidates: deque[BlockPlaces] = deque()


class _Source:
    """A group that gives replicas away."""

    def __init__(self, group: Group, tasks: Iterable[Task], began_ms: int) -> None:
        self.group = group
        self.pairs = [_Pair(task) for task in tasks]
        self.to_list_bytes = 2 * sum(pair.left_bytes for pair in self.pairs)
        self.seen: set[int] = set()
        self.is_listing = False
        self.running = 0
        self.last_ms = began_ms
        """When it last did something."""
        self.has_given_up = False

    @property
    def left(self) -> list[_Pair]:
        return [pair for pair in self.pairs if pair.left_bytes > 0]

    @property
    def needs_blocks(self) -> bool:
        return (
            not self.is_listing
            and self.to_list_bytes > 0
            and all(len(pair.candidates) < _FEW_BLOCKS for pair in self.left)
        )

    @property
    def is_done(self) -> bool:
        """Whether it begins nothing any more."""
        if self.has_given_up or not self.left:
            return True
        return (
            not self.is_listing
            and self.to_list_bytes <= 0
            and not any(pair.candidates for pair in self.left)
        )


class Iteration:
    """The moves of one iteration."""

    def __init__(
        self,
        tasks: Sequence[Task],
        groups: Iterable[Group],
        racks: Mapping[str, str],
        limits: Limits,
        recent: RecentMoves,
        now_ms: int,
        domains: Mapping[str, str] = NO_DOMAINS,
    ) -> None:
        """`groups` are all that take part, `racks` and `domains` those of all datanodes that are
        known, by uuid, whether or not they take part."""
        self._domains = domains
        self._groups = {group.key: group for group in groups}
        self._racks = racks
        self._limits = limits
        self._recent = recent
        self._began_ms = now_ms
        by_source: dict[GroupKey, list[Task]] = {}
        for task in tasks:
            by_source.setdefault(task.source.key, []).append(task)
        self._sources = {key: _Source(its[0].source, its, now_ms) for key, its in by_source.items()}
        # Hadoop shares its threads out among the targets, so that none takes them all.
        targets = {task.target.key for task in tasks}
        self._moves_per_target = max(
            1, min(limits.moves_per_node, limits.moves // max(len(targets), 1))
        )
        self._pending: dict[str, int] = {}
        self._delayed_until_ms: dict[str, int] = {}
        self._running = 0
        self.planned_bytes: Final = sum(task.size_bytes for task in tasks)
        self.moved_bytes = 0
        self.moved_blocks = 0
        self.failed_blocks = 0

    @property
    def running(self) -> int:
        """Moves that are under way."""
        return self._running

    def is_late(self, now_ms: int) -> bool:
        """No move begins any more, and nobody waits much longer for those under way."""
        return now_ms - self._began_ms >= self._limits.iteration_ms

    def is_over(self, now_ms: int) -> bool:
        """Nothing is under way, and nothing will be begun."""
        if self._running or any(source.is_listing for source in self._sources.values()):
            return False
        return self.is_late(now_ms) or all(source.is_done for source in self._sources.values())

    def next(self, now_ms: int) -> list[ListBlocks | Move]:
        """What to begin now; to be called again after each event, and from time to time."""
        if self.is_late(now_ms):
            return []
        actions: list[ListBlocks | Move] = []
        busy = [source for source in self._sources.values() if not source.is_done]
        while busy:
            # One move each in turn: the first source must not take all that targets can.
            begun: list[_Source] = []
            for source in busy:
                if self._running >= self._limits.moves:
                    return actions
                move = self._choose(source, now_ms)
                if move is not None:
                    actions.append(move)
                    begun.append(source)
                elif source.needs_blocks and source.left:
                    source.is_listing = True
                    size_bytes = min(source.to_list_bytes, self._limits.list_bytes)
                    actions.append(ListBlocks(source.group, size_bytes))
                elif not source.running and not source.is_listing:
                    source.has_given_up = now_ms - source.last_ms >= self._limits.no_move_ms
            busy = begun
        return actions

    # --- events ---

    def listed(self, source: Group, blocks: Iterable[BlockPlaces], now_ms: int) -> None:
        """The namenode has named blocks of the source."""
        state = self._sources[source.key]
        state.is_listing = False
        state.last_ms = now_ms
        fresh = []
        for block in blocks:
            state.to_list_bytes -= block.length_bytes
            if block.block_id not in state.seen:
                state.seen.add(block.block_id)
                fresh.append(block)
        if not fresh:
            # It has no others.
            state.to_list_bytes = 0
        for pair in state.pairs:
            pair.candidates.extend(fresh)

    def listing_failed(self, source: Group, now_ms: int) -> None:
        """The namenode has named none: the source gives what is known already."""
        self.listed(source, (), now_ms)

    def ended(self, move: Move, *, is_success: bool, now_ms: int) -> None:
        """A move has come to its end."""
        source = self._sources[move.source.key]
        source.running -= 1
        source.last_ms = now_ms
        self._running -= 1
        for uuid in {move.target.node.uuid, move.proxy.uuid}:
            self._pending[uuid] -= 1
        if is_success:
            self.moved_bytes += move.block.length_bytes
            self.moved_blocks += 1
            return
        self.failed_blocks += 1
        self._recent.discard(move.block.moved_as)
        until_ms = now_ms + self._limits.delay_after_failure_ms
        for node in (move.target.node, move.proxy):
            self._delayed_until_ms[node.uuid] = until_ms

    # --- choosing ---

    def _choose(self, source: _Source, now_ms: int) -> Move | None:
        for pair in source.left:
            if not self._is_free(pair.target.node.uuid, now_ms, self._moves_per_target):
                continue
            while pair.candidates:
                block = pair.candidates[0]
                if block.length_bytes >= 2 * pair.left_bytes or not self._may_go(
                    block, source.group, pair.target
                ):
                    pair.candidates.popleft()
                    continue
                proxy = self._proxy(block, pair.target, now_ms)
                if proxy is None:
                    # Its holders are busy: another one gets its turn before.
                    pair.candidates.rotate(-1)
                    break
                pair.candidates.popleft()
                return self._begin(Move(block, source.group, pair.target, proxy), pair, now_ms)
        return None

    def _begin(self, move: Move, pair: _Pair, now_ms: int) -> Move:
        source = self._sources[move.source.key]
        pair.left_bytes -= move.block.length_bytes
        source.running += 1
        source.last_ms = now_ms
        self._running += 1
        for uuid in {move.target.node.uuid, move.proxy.uuid}:
            self._pending[uuid] = self._pending.get(uuid, 0) + 1
        self._recent.add(move.block.moved_as, now_ms)
        return move

    def _may_go(self, block: BlockPlaces, source: Group, target: Group) -> bool:
        """Rules 2 to 4."""
        return (
            block.moved_as not in self._recent
            and source.key in block.places
            and target.node.uuid not in block.nodes
            and block.keeps_racks(source.node.uuid, target, self._racks, self._domains)
        )

    def _proxy(self, block: BlockPlaces, target: Group, now_ms: int) -> DatanodeAddress | None:
        free = [
            self._groups[key]
            for key in block.places
            if key in self._groups and self._is_free(key[0], now_ms, self._limits.moves_per_node)
        ]
        if not free:
            return None
        return min(free, key=lambda group: (group.rack != target.rack, self._load(group))).node

    def _load(self, group: Group) -> int:
        return self._pending.get(group.node.uuid, 0)

    def _is_free(self, uuid: str, now_ms: int, limit: int) -> bool:
        return self._pending.get(uuid, 0) < limit and now_ms >= self._delayed_until_ms.get(uuid, 0)
