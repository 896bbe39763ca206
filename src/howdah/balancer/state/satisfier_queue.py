"""What a satisfier has in hand, and what it does next (pure).

Hadoop's `StoragePolicySatisfier`, `BlockStorageMovementNeeded` and
`BlockStorageMovementAttemptedItems`. The rules:

1. A mark is a path whose storage policy is to be satisfied: a file, or a directory with all
   that is below it. One mark is listed at a time, and no further file is taken while
   `Limits.files` are in hand.
2. A file that is looked at gets all moves that its blocks need and for which there are places
   (`violations.repairs`). While a move of a block is under way, no other one of it begins, nor of
   its block group.
3. When its moves have ended, well or not, the file is looked at again after `recheck_ms`: the
   namenode has heard of them by then. Moves that do not end are waited for `timeout_ms`.
4. A file is done when its replicas are where they belong, and none is missing; when it is gone,
   has no blocks, or is erasure coded with a policy that means nothing there. It is given up after
   `attempts` looks that led to moves, or found it open for writing.
5. A file for whose replicas there is no place, or of which replicas are missing, is looked at
   again and again, ever more rarely: places and replicas may come. That is no attempt.
6. A mark is taken off when all its files were listed, and each of them is done or given up.
7. After `moves_per_node` moves for each live datanode no file is looked at for `pause_ms`.

Nothing is kept on disk: a satisfier that starts is told of all marks, and finds out the rest.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from howdah.balancer.state.iteration import Move
from howdah.balancer.state.nodes import (
    FileBlocks,
    Group,
    GroupKey,
    NodeReport,
    domains_of,
    groups_of,
)
from howdah.balancer.state.violations import Repair, repairs
from howdah.protocol.data_transfer.blocks import StorageType

_LONGEST_BACKOFF: Final = 10


@dataclass(frozen=True, slots=True)
class Limits:
    """`moves` is how many are under way at a time, over all datanodes."""

    files: int = 1000
    moves_per_node: int = 1
    moves: int = 1000
    attempts: int = 3
    pause_ms: int = 3000
    recheck_ms: int = 60_000
    timeout_ms: int = 300_000


class Cluster:
    """The datanodes as they were reported last, and how much room is left by what was planned
    since."""

    def __init__(self, reports: Iterable[NodeReport]) -> None:
        known = list(reports)
        self.live: Final = len(known)
        self.groups: Final[Mapping[GroupKey, Group]] = {
            group.key: group for report in known for group in groups_of(report)
        }
        self.racks: Final[Mapping[str, str]] = {r.node.uuid: r.rack for r in known}
        self.domains: Final = domains_of(known)
        self.left_bytes: Final = {key: group.most_bytes for key, group in self.groups.items()}


@dataclass(frozen=True, slots=True)
class Facts:
    """What the namenode says of a file. `policy` are the types that its policy names; None where
    its blocks stay."""

    blocks: FileBlocks
    replication: int
    policy: tuple[StorageType, ...] | None

    @property
    def is_nothing(self) -> bool:
        """Whether nothing of it can be moved, now or later."""
        blocks = self.blocks
        has_any = blocks.blocks or blocks.is_open or blocks.has_corrupt or blocks.lacks_parts
        return self.policy is None or not has_any

    @property
    def lacks_replicas(self) -> bool:
        blocks = self.blocks
        return (
            blocks.has_corrupt
            or blocks.lacks_parts
            or any(len(block.places) < self.replication for block in blocks.blocks)
        )

    def repairs(self, cluster: Cluster, left_bytes: dict[GroupKey, int]) -> Iterator[Repair]:
        """Yield what its blocks need; `left_bytes` is how much room there is."""
        return repairs(
            self.blocks.blocks,
            self.policy or (),
            cluster.groups,
            cluster.racks,
            left_bytes,
            cluster.domains,
        )


# What is to be done.


@dataclass(frozen=True, slots=True)
class AskForMark:
    """Ask the namenode for a mark, and say `marked`, or `no_mark`."""


@dataclass(frozen=True, slots=True)
class List:
    """List more of what is below a mark, up to so many files, and say `found` and `listed`."""

    mark: int
    files: int


@dataclass(frozen=True, slots=True)
class Look:
    """Ask what the namenode knows of a file, and say `judge`."""

    file: int
    name: str


@dataclass(frozen=True, slots=True)
class Unmark:
    """Take the mark off, and say `unmarked`."""

    mark: int


Action = AskForMark | List | Look | Unmark


@dataclass(slots=True)
class Outcome:
    """What came of a mark: its files, the replicas that were moved for them, moves that failed,
    and files that were given up."""

    files: int = 0
    moved: int = 0
    moved_bytes: int = 0
    failed: int = 0
    given_up: int = 0


@dataclass(slots=True)
class _Mark:
    mark: int
    is_listed: bool = False
    files_left: int = 0
    unmark_at_ms: int = 0
    outcome: Outcome = field(default_factory=Outcome)


@dataclass(slots=True)
class _File:
    file: int
    name: str
    marks: list[_Mark]
    attempts: int = 0
    backoff: int = 0
    running: int = 0
    turn: int = 0
    """Which entry of the queue counts."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of a look: moves to begin, and a line for the log where an operator wants one."""

    moves: tuple[Move, ...] = ()
    line: str = ""


class SatisfierWork:
    """All that is under way. `next` says what to do; what came of it is told by the events."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._marks: dict[int, _Mark] = {}
        self._finished: dict[int, _Mark] = {}
        """Of which all files are done, or given up."""
        self._listing: _Mark | None = None
        self._files: dict[int, _File] = {}
        self._queue: list[tuple[int, int, int]] = []
        """(when, turn, file): the file is due then, if that is its turn."""
        self._turns = 0
        self._of_block: dict[int, _File] = {}
        """The file of each block of which a move is under way, and how many there are."""
        self._moves_of_block: dict[int, int] = {}
        self._running = 0
        self._begun = 0
        self._paused_until_ms = 0
        self._ask_at_ms = 0

    @property
    def files(self) -> int:
        """Files in hand."""
        return len(self._files)

    @property
    def marks(self) -> int:
        """Marks in hand."""
        return len(self._marks)

    @property
    def running(self) -> int:
        """Moves under way."""
        return self._running

    def next(self, now_ms: int) -> Action | None:
        """What to do now; None if nothing is due."""
        for mark in self._finished.values():
            if now_ms >= mark.unmark_at_ms:
                return Unmark(mark.mark)
        file = self._next_due(now_ms)
        if file is not None:
            return Look(file.file, file.name)
        if now_ms < self._ask_at_ms:
            return None
        room = self._limits.files - len(self._files)
        if room <= 0:
            return None
        if self._listing is not None:
            return List(self._listing.mark, room)
        return AskForMark()

    def _note(self, mark: _Mark) -> None:
        """Rule 6."""
        if mark.is_listed and not mark.files_left:
            self._finished[mark.mark] = mark

    def _next_due(self, now_ms: int) -> _File | None:
        if now_ms < self._paused_until_ms or self._running >= self._limits.moves:
            return None
        queue = self._queue
        while queue and queue[0][0] <= now_ms:
            _, turn, file_id = queue[0]
            file = self._files.get(file_id)
            if file is not None and file.turn == turn:
                return file
            heapq.heappop(queue)
        return None

    # --- events: marks ---

    def marked(self, mark: int) -> bool:
        """The namenode has named a mark. False if it is in hand already."""
        if mark in self._marks:
            return False
        self._marks[mark] = self._listing = _Mark(mark)
        return True

    def no_mark(self, now_ms: int) -> None:
        """The namenode has none, or did not answer; also when a list could not be had."""
        self._ask_at_ms = now_ms + self._limits.pause_ms

    def add_file(self, file_id: int, name: str, now_ms: int) -> None:
        """A file is below the mark that is being listed, or is that mark."""
        mark = self._listing
        assert mark is not None, "nothing is being listed"
        file = self._files.get(file_id)
        if file is None:
            file = self._files[file_id] = _File(file_id, name, [])
            self._look_at(file, now_ms)
        if mark not in file.marks:
            file.marks.append(mark)
            mark.files_left += 1
            mark.outcome.files += 1

    def listed(self) -> None:
        """All that is below the mark was found."""
        assert self._listing is not None, "nothing is being listed"
        self._listing.is_listed = True
        self._note(self._listing)
        self._listing = None

    def unmarked(self, mark: int, *, is_success: bool, now_ms: int) -> Outcome | None:
        """The mark was taken off, or is gone: what came of it. None if the namenode did not
        answer."""
        state = self._marks[mark]
        if not is_success:
            state.unmark_at_ms = now_ms + self._limits.pause_ms
            return None
        del self._marks[mark], self._finished[mark]
        return state.outcome

    # --- events: files ---

    def look_failed(self, file_id: int, now_ms: int) -> None:
        """The namenode did not answer."""
        self._look_at(self._files[file_id], now_ms + self._limits.pause_ms)

    def judge(self, file_id: int, facts: Facts | None, cluster: Cluster, now_ms: int) -> Judgement:
        """What the namenode says of a file; None if it is gone. The moves that come back have
        begun: each of them ends with `ended`."""
        file = self._files[file_id]
        if facts is None or facts.is_nothing:
            self._drop(file)
            if facts is not None and facts.policy is None:
                return Judgement(
                    line=f"{file.name} is erasure coded and has none of the storage policies that "
                    "count for such files: its blocks stay where they are"
                )
            return Judgement()
        if file.attempts >= self._limits.attempts:
            return self._judge_last(file, facts, cluster)
        if facts.blocks.is_open:
            file.attempts += 1
            self._look_at(file, now_ms + self._limits.timeout_ms)
            return Judgement(
                line=f"{file.name} is being written: it is looked at again in "
                f"{self._limits.timeout_ms / 1000:g} s"
            )
        moves: list[Move] = []
        unplaced = 0
        idle = [b for b in facts.blocks.blocks if b.moved_as not in self._moves_of_block]
        waits = len(facts.blocks.blocks) - len(idle)
        facts = replace(facts, blocks=replace(facts.blocks, blocks=tuple(idle)))
        for needed in facts.repairs(cluster, cluster.left_bytes):
            unplaced += needed.unplaced
            moves += needed.moves
        if moves or waits:
            self._begin(file, moves, cluster, now_ms)
            return Judgement(tuple(moves))
        if not unplaced and not facts.lacks_replicas:
            self._drop(file)
            return Judgement()
        return self._wait_for_better(file, unplaced, now_ms)

    def _judge_last(self, file: _File, facts: Facts, cluster: Cluster) -> Judgement:
        """All attempts were made: whether they were enough."""
        left_bytes = dict(cluster.left_bytes)
        is_satisfied = not facts.blocks.is_open and not any(
            needed.moves or needed.unplaced for needed in facts.repairs(cluster, left_bytes)
        )
        for mark in file.marks:
            mark.outcome.given_up += not is_satisfied
        attempts = file.attempts
        self._drop(file)
        if is_satisfied:
            return Judgement()
        return Judgement(
            line=f"{file.name} is given up: its storage policy is not satisfied after "
            f"{attempts} attempts. Mark it again, or run the mover"
        )

    def _wait_for_better(self, file: _File, unplaced: int, now_ms: int) -> Judgement:
        is_first = not file.backoff
        longest_ms = max(self._limits.recheck_ms, self._limits.pause_ms)
        after_ms = min(self._limits.pause_ms << file.backoff, longest_ms)
        file.backoff = min(file.backoff + 1, _LONGEST_BACKOFF)
        self._look_at(file, now_ms + after_ms)
        if not is_first:
            return Judgement()
        why = (
            f"for {unplaced} replicas of {file.name} no datanode has a storage of the right type "
            "with room"
            if unplaced
            else f"replicas of {file.name} are missing or corrupt"
        )
        return Judgement(line=f"{why}: it is looked at again until that has changed")

    def _begin(self, file: _File, moves: list[Move], cluster: Cluster, now_ms: int) -> None:
        file.backoff = 0
        for move in moves:
            block_id = move.block.moved_as
            self._of_block[block_id] = file
            self._moves_of_block[block_id] = self._moves_of_block.get(block_id, 0) + 1
        if moves or file.running:
            file.attempts += 1
        file.running += len(moves)
        self._running += len(moves)
        self._begun += len(moves)
        after_ms = self._limits.timeout_ms if file.running else self._limits.recheck_ms
        self._look_at(file, now_ms + after_ms)
        if self._begun > cluster.live * self._limits.moves_per_node:
            self._begun = 0
            self._paused_until_ms = now_ms + self._limits.pause_ms

    def ended(self, move: Move, *, is_success: bool, now_ms: int) -> None:
        """A move has come to its end."""
        block_id = move.block.moved_as
        file = self._of_block[block_id]
        self._moves_of_block[block_id] -= 1
        if not self._moves_of_block[block_id]:
            del self._moves_of_block[block_id], self._of_block[block_id]
        self._running -= 1
        file.running -= 1
        for mark in file.marks:
            if is_success:
                mark.outcome.moved += 1
                mark.outcome.moved_bytes += move.block.length_bytes
            else:
                mark.outcome.failed += 1
        if not file.running and self._files.get(file.file) is file:
            self._look_at(file, now_ms + self._limits.recheck_ms)

    def _look_at(self, file: _File, at_ms: int) -> None:
        self._turns += 1
        file.turn = self._turns
        heapq.heappush(self._queue, (at_ms, file.turn, file.file))

    def _drop(self, file: _File) -> None:
        """It is done, or given up."""
        del self._files[file.file]
        for mark in file.marks:
            mark.files_left -= 1
            self._note(mark)
