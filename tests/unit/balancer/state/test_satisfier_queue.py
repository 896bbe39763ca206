"""What a satisfier does next, and that it comes to an end."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah.balancer.state.iteration import Move
from howdah.balancer.state.nodes import (
    BlockPlaces,
    FileBlocks,
    GroupKey,
    NodeReport,
    StorageFigures,
)
from howdah.balancer.state.satisfier_queue import (
    AskForMark,
    Cluster,
    Facts,
    Limits,
    List,
    Look,
    Outcome,
    SatisfierWork,
    Unmark,
)
from howdah.balancer.state.violations import types_for
from howdah.protocol.data_transfer.blocks import DatanodeAddress, StorageType

pytestmark = pytest.mark.req("FS-185")

DISK, SSD, ARCHIVE = StorageType.DISK, StorageType.SSD, StorageType.ARCHIVE
LENGTH = 10
LIMITS = Limits(pause_ms=3000, recheck_ms=60_000, timeout_ms=300_000)


def report(number: int, *kinds: StorageType, room: int = 1000, rack: str = "/r") -> NodeReport:
    node = DatanodeAddress(f"10.0.0.{number}", f"dn{number}", f"uuid-{number}", 9866)
    figures = tuple(StorageFigures(kind, 2000, 0, room, 0) for kind in kinds)
    return NodeReport(node, rack, figures)


def facts(
    policy: tuple[StorageType, ...],
    *places: tuple[int, StorageType],
    replication: int | None = None,
    **how: bool,
) -> Facts:
    keys = tuple((f"uuid-{number}", kind) for number, kind in places)
    blocks = (BlockPlaces(1, 1001, LENGTH, keys),) if keys else ()
    return Facts(
        FileBlocks(blocks, **how), len(places) if replication is None else replication, policy
    )


POLICIES = [(DISK,), (SSD,), (ARCHIVE,), (SSD, DISK), (DISK, ARCHIVE)]
TWO_NODES = Cluster([report(0, DISK, ARCHIVE), report(1, DISK, ARCHIVE)])


def with_file(limits: Limits = LIMITS) -> SatisfierWork:
    """Mark 1, below which is file 7."""
    work = SatisfierWork(limits)
    assert work.next(0) == AskForMark()
    assert work.marked(1)
    assert work.next(0) == List(1, limits.files)
    work.add_file(7, "/seven", 0)
    work.listed()
    return work


def look(
    work: SatisfierWork, found: Facts | None, now_ms: int, cluster: Cluster = TWO_NODES
) -> list[Move]:
    assert work.next(now_ms) == Look(7, "/seven")
    return list(work.judge(7, found, cluster, now_ms).moves)


def test_a_mark_is_taken_off_when_its_file_is_where_it_belongs() -> None:
    work = with_file()
    (move,) = look(work, facts((ARCHIVE,), (0, DISK)), 0)
    assert move.target.key == ("uuid-0", ARCHIVE)
    work.ended(move, is_success=True, now_ms=5)
    assert work.next(5) == AskForMark(), "the namenode has to hear of the move first"
    work.no_mark(5)
    assert look(work, facts((ARCHIVE,), (0, ARCHIVE)), 60_005) == []
    assert work.next(60_005) == Unmark(1)
    assert work.unmarked(1, is_success=True, now_ms=60_005) == Outcome(1, 1, LENGTH, 0, 0)
    assert (work.files, work.marks, work.running) == (0, 0, 0)


def test_an_empty_directory_is_done_at_once() -> None:
    work = SatisfierWork(LIMITS)
    assert work.marked(1)
    work.listed()
    assert work.next(0) == Unmark(1)


@pytest.mark.parametrize(
    "found",
    [
        None,
        facts((ARCHIVE,)),
        facts((ARCHIVE,), is_striped=True),
        facts((DISK,), (0, DISK)),
        facts((), (0, DISK)),
    ],
    ids=["gone", "without blocks", "erasure coded", "in its place", "without a policy"],
)
def test_of_some_files_nothing_is_moved(found: Facts | None) -> None:
    work = with_file()
    assert look(work, found, 0) == []
    assert work.next(0) == Unmark(1)


def test_a_namenode_that_does_not_answer_is_asked_again_later() -> None:
    work = with_file()
    assert work.next(0) == Look(7, "/seven")
    work.look_failed(7, 0)
    work.no_mark(0)
    assert work.next(2999) is None
    look(work, None, 3000)
    assert work.next(3000) == Unmark(1)
    assert work.unmarked(1, is_success=False, now_ms=3000) is None
    assert work.next(5999) == AskForMark()
    assert work.next(6000) == Unmark(1)


def test_a_mark_that_is_in_hand_is_not_taken_twice() -> None:
    work = with_file()
    assert not work.marked(1)
    assert work.marks == 1


def test_a_file_below_two_marks_is_looked_at_once() -> None:
    work = with_file()
    work.marked(2)
    work.add_file(7, "/seven", 0)
    work.listed()
    look(work, facts((DISK,), (0, DISK)), 0)
    for mark in (1, 2):
        assert work.next(0) == Unmark(mark)
        work.unmarked(mark, is_success=True, now_ms=0)


def test_no_further_files_are_listed_while_there_are_enough_in_hand() -> None:
    work = SatisfierWork(Limits(files=2))
    work.marked(1)
    assert work.next(0) == List(1, 2)
    for file in (7, 8):
        work.add_file(file, "", 0)
    work.judge(7, facts((ARCHIVE,), (0, DISK)), TWO_NODES, 0)
    work.judge(8, facts((ARCHIVE,), (0, DISK), is_open=True), TWO_NODES, 0)
    assert work.next(0) is None
    work.judge(8, None, TWO_NODES, 0)
    assert work.next(0) == List(1, 1)


def test_after_some_moves_it_pauses() -> None:
    work = SatisfierWork(Limits(moves_per_node=1))
    work.marked(1)
    for file in (7, 8):
        work.add_file(file, "/file", 0)
    work.listed()
    work.no_mark(0)
    places = [(number, DISK) for number in range(3)]
    cluster = Cluster([report(number, DISK, ARCHIVE) for number in range(3)])
    one = Cluster([report(0, DISK, ARCHIVE)])
    assert len(work.judge(7, facts((ARCHIVE,), *places), cluster, 0).moves) == 3
    assert work.next(0) == Look(8, "/file"), "a move for each datanode"
    more = Facts(FileBlocks((BlockPlaces(2, 1001, LENGTH, (("uuid-0", DISK),)),)), 1, (ARCHIVE,))
    assert len(work.judge(8, more, one, 0).moves) == 1
    assert work.next(2999) is None


def test_a_file_that_is_being_written_waits() -> None:
    work = with_file()
    judged = work.judge(7, facts((ARCHIVE,), (0, DISK), is_open=True), TWO_NODES, 0)
    assert judged.moves == ()
    assert "/seven is being written" in judged.line
    work.no_mark(0)
    assert work.next(299_999) == AskForMark()
    assert work.next(300_000) == Look(7, "/seven")


def test_a_file_is_given_up_after_some_attempts() -> None:
    work = with_file()
    now_ms = 0
    for _ in range(LIMITS.attempts):
        (move,) = look(work, facts((ARCHIVE,), (0, DISK)), now_ms)
        work.ended(move, is_success=False, now_ms=now_ms)
        now_ms += LIMITS.recheck_ms
    judged = work.judge(7, facts((ARCHIVE,), (0, DISK)), TWO_NODES, now_ms)
    assert judged.moves == ()
    assert "/seven is given up" in judged.line
    assert work.next(now_ms) == Unmark(1)
    assert work.unmarked(1, is_success=True, now_ms=now_ms) == Outcome(1, 0, 0, 3, 1)


def test_what_the_last_attempt_has_brought_home_is_not_given_up() -> None:
    work = with_file(Limits(attempts=1))
    (move,) = look(work, facts((ARCHIVE,), (0, DISK)), 0)
    work.ended(move, is_success=True, now_ms=0)
    assert look(work, facts((ARCHIVE,), (0, ARCHIVE)), 60_000) == []
    outcome = work.unmarked(1, is_success=True, now_ms=60_000) if work.next(60_000) else None
    assert outcome == Outcome(1, 1, LENGTH, 0, 0)


@pytest.mark.req("FS-186")
def test_a_move_that_does_not_end_is_not_asked_for_again() -> None:
    work = with_file()
    (move,) = look(work, facts((ARCHIVE,), (0, DISK)), 0)
    assert look(work, facts((ARCHIVE,), (0, DISK)), 300_000) == []
    assert work.running == 1
    work.ended(move, is_success=True, now_ms=300_001)
    assert look(work, facts((ARCHIVE,), (0, ARCHIVE)), 360_001) == []
    assert work.next(360_001) == Unmark(1)


def test_a_file_for_which_there_is_no_place_waits_ever_longer_for_one() -> None:
    work = with_file()
    lines, times, now_ms = [], [], 0
    none = Cluster([report(0, DISK)])
    for _ in range(8):
        while work.next(now_ms) != Look(7, "/seven"):
            now_ms += 1000
        times.append(now_ms)
        lines.append(work.judge(7, facts((SSD,), (0, DISK)), none, now_ms).line)
    assert [b - a for a, b in itertools.pairwise(times)] == [
        *(3000, 6000, 12_000, 24_000, 48_000),
        *(60_000, 60_000),
    ]
    assert "no datanode has a storage of the right type" in lines[0]
    assert lines[1:] == [""] * 7, "it is said once"
    assert (
        len(look(work, facts((SSD,), (0, DISK)), now_ms + 60_000, Cluster([report(0, DISK, SSD)])))
        == 1
    )


@pytest.mark.parametrize(
    "found",
    [
        facts((DISK,), (0, DISK), replication=2),
        facts((DISK,), (0, DISK), has_corrupt=True),
        facts((DISK,), has_corrupt=True),
    ],
)
def test_a_file_that_lacks_replicas_is_not_done(found: Facts) -> None:
    work = with_file()
    judged = work.judge(7, found, TWO_NODES, 0)
    assert "are missing or corrupt" in judged.line
    work.no_mark(0)
    assert work.next(0) is None
    assert look(work, facts((DISK,), (0, DISK)), 3000) == []
    assert work.next(3000) == Unmark(1)


# --- histories ---


@dataclass
class World:
    """Datanodes with replicas, which do as they are told, or fail."""

    dice: random.Random
    kinds: dict[int, set[StorageType]]
    policies: dict[int, tuple[StorageType, ...]]
    files: dict[int, list[int]]
    replicas: dict[int, dict[int, StorageType]]
    replication: dict[int, int]
    failures: float
    now_ms: int = 0
    running: list[Move] = field(default_factory=list)
    unmarked: Counter[int] = field(default_factory=Counter)

    def cluster(self) -> Cluster:
        return Cluster(
            [
                report(number, *sorted(kinds), rack=f"/r{number % 2}")
                for number, kinds in self.kinds.items()
            ]
        )

    def facts(self, file: int) -> Facts | None:
        if file not in self.files:
            return None
        return Facts(
            FileBlocks(
                tuple(
                    BlockPlaces(
                        block,
                        1001,
                        LENGTH,
                        tuple((f"uuid-{n}", kind) for n, kind in self.replicas[block].items()),
                    )
                    for block in self.files[file]
                )
            ),
            self.replication[file],
            self.policies[file],
        )

    def begin(self, move: Move) -> None:
        """What must hold of every move."""
        holders = self.replicas[move.block.block_id]
        source, target = number_of(move.source.key), number_of(move.target.key)
        assert holders[source] == move.source.storage_type, "the replica is there"
        assert target == source or target not in holders, "no two replicas on a datanode"
        assert move.target.storage_type in self.kinds[target]
        of_block = [each for each in self.running if each.block.block_id == move.block.block_id]
        for other in of_block:
            assert other.source.key != move.source.key, "nothing is asked for twice at once"
            assert other.target.node.uuid != move.target.node.uuid, "nor two to one datanode"
        self.running.append(move)

    def end_one(self, work: SatisfierWork) -> None:
        move = self.running.pop(self.dice.randrange(len(self.running)))
        source, target = number_of(move.source.key), number_of(move.target.key)
        holders = self.replicas[move.block.block_id]
        is_success = (
            source in holders
            and target in self.kinds
            and self.dice.random() >= self.failures
            and (target == source or target not in holders)
        )
        if is_success:
            # The new replica is there before the old one goes.
            holders[target] = move.target.storage_type
            if target != source:
                del holders[source]
        assert holders, "the last replica is never lost"
        work.ended(move, is_success=is_success, now_ms=self.now_ms)

    def lose_one(self) -> None:
        """A datanode dies, but for the last holder of a block; others make up for it."""
        number = self.dice.choice(sorted(self.kinds))
        if len(self.kinds) < 5 or any(set(h) == {number} for h in self.replicas.values()):
            return
        del self.kinds[number]
        for file, blocks in self.files.items():
            for block in blocks:
                holders = self.replicas[block]
                if holders.pop(number, None) is None:
                    continue
                busy = {
                    number_of(move.target.key)
                    for move in self.running
                    if move.block.block_id == block
                }
                free = [n for n in sorted(self.kinds) if n not in holders and n not in busy]
                if free and len(holders) < self.replication[file]:
                    holders[free[0]] = DISK

    def is_satisfied(self, file: int) -> bool:
        return all(
            Counter(self.replicas[block].values())
            == Counter(types_for(self.policies[file], len(self.replicas[block])))
            for block in self.files.get(file, [])
        )


def number_of(key: GroupKey) -> int:
    return int(key[0].rpartition("-")[2])


def make_world(seed: int, failures: float) -> tuple[World, dict[int, list[int]]]:
    """All datanodes have all types, so that every policy can be satisfied."""
    dice = random.Random(seed)
    kinds = {number: {DISK, SSD, ARCHIVE} for number in range(dice.randint(3, 7))}
    world = World(dice, kinds, {}, {}, {}, {}, failures)
    marks: dict[int, list[int]] = defaultdict(list)
    for file in range(10, 10 + dice.randint(1, 12)):
        replication = dice.randint(1, 3)
        world.policies[file] = dice.choice(
            [(DISK,), (SSD,), (ARCHIVE,), (SSD, DISK), (DISK, ARCHIVE)]
        )
        world.replication[file] = replication
        world.files[file] = []
        for index in range(dice.randint(0, 3)):
            block = 100 * file + index
            world.files[file].append(block)
            nodes = dice.sample(sorted(kinds), replication)
            world.replicas[block] = {n: dice.choice([DISK, SSD, ARCHIVE]) for n in nodes}
        for mark in dice.sample(range(4), dice.randint(1, 2)):
            marks[mark].append(file)
    return world, marks


@pytest.mark.req("FS-186")
@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 1 << 32),
    st.sampled_from([0.0, 0.3]),
    st.booleans(),
    st.sampled_from([1000, 300_000]),
)
def test_every_history_ends_with_all_marks_off(
    seed: int, failures: float, loses: bool, timeout_ms: int
) -> None:
    world, marks = make_world(seed, failures)
    limits = Limits(
        files=4, moves_per_node=2, moves=6, attempts=50, recheck_ms=5000, timeout_ms=timeout_ms
    )
    work = SatisfierWork(limits)
    waiting = sorted(marks)
    listing: list[int] = []
    for _ in range(20_000):
        action = work.next(world.now_ms)
        match action:
            case None:
                if not waiting and not work.marks:
                    break
                world.now_ms += 500
            case AskForMark():
                if waiting:
                    mark = waiting.pop(0)
                    assert work.marked(mark)
                    listing = list(marks[mark])
                else:
                    work.no_mark(world.now_ms)
                    if not work.marks:
                        break
            case List(_, most):
                for _ in range(min(most, len(listing), 2)):
                    work.add_file(listing.pop(), "/file", world.now_ms)
                if not listing:
                    work.listed()
            case Look(file, _):
                if world.dice.random() < 0.1:
                    work.look_failed(file, world.now_ms)
                    continue
                judged = work.judge(file, world.facts(file), world.cluster(), world.now_ms)
                for move in judged.moves:
                    world.begin(move)
            case Unmark(mark):
                is_success = world.dice.random() >= 0.2
                outcome = work.unmarked(mark, is_success=is_success, now_ms=world.now_ms)
                assert (outcome is not None) is is_success
                if outcome is not None:
                    world.unmarked[mark] += 1
                    assert outcome.given_up or loses or all(map(world.is_satisfied, marks[mark]))
        assert work.files <= limits.files
        assert work.running == len(world.running)
        if world.running and world.dice.random() < 0.3:
            world.end_one(work)
        if loses and world.dice.random() < 0.01:
            world.lose_one()
    assert world.unmarked == dict.fromkeys(marks, 1)
    assert (work.files, work.marks) == (0, 0)
