"""Which replicas in memory are saved, and what they take."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from howdah.datanode.state.memory.metrics import Figure, attributes
from howdah.datanode.state.memory.tracker import Copy, Discarded, Record, Stage, Tracker

pytestmark = pytest.mark.req("FS-211", "FS-213")

PAGE = 4096
LIMIT = 8 * PAGE
RAM = "ram"
KEYS = [("BP-1", n) for n in range(3)] + [("BP-2", 0)]
TARGETS = ["disk0", "disk1"]


def saved(tracker: Tracker, key: tuple[str, int], length: int = PAGE) -> Record:
    """A replica that has a copy."""
    assert tracker.reserve(key, RAM, length, 0.0)
    tracker.finalize(key, 1, length)
    return save_next(tracker)


def save_next(tracker: Tracker, target: str = TARGETS[0]) -> Record:
    record = tracker.next_to_save()
    assert record is not None
    assert tracker.aim(record.key, record.turn, target)
    assert tracker.saved(record.key, record.turn)
    return record


def test_a_new_replica_holds_room_for_its_block_and_a_final_one_what_it_has() -> None:
    tracker = Tracker(LIMIT, PAGE)
    assert tracker.reserve(KEYS[0], RAM, LIMIT, 0.0)
    assert tracker.free_bytes == 0
    assert not tracker.reserve(KEYS[1], RAM, 1, 0.0)
    tracker.finalize(KEYS[0], 1, PAGE + 1)
    assert tracker.locked_bytes == 2 * PAGE
    assert tracker.reserve(KEYS[1], RAM, 1, 0.0)


def test_replicas_are_saved_in_the_order_in_which_they_were_finalized() -> None:
    tracker = Tracker(LIMIT, PAGE)
    for key in KEYS[:3]:
        assert tracker.reserve(key, RAM, 1, 0.0)
    for key in (KEYS[2], KEYS[0], KEYS[1]):
        tracker.finalize(key, 1, 1)
    order = [record.key for _ in range(3) if (record := tracker.next_to_save())]
    assert order == [KEYS[2], KEYS[0], KEYS[1]]
    assert tracker.next_to_save() is None


def test_what_could_not_be_saved_is_tried_again_behind_the_others() -> None:
    tracker = Tracker(LIMIT, PAGE)
    for key in KEYS[:2]:
        assert tracker.reserve(key, RAM, 1, 0.0)
        tracker.finalize(key, 1, 1)
    first = tracker.next_to_save()
    assert first is not None
    tracker.not_saved(first.key, first.turn)
    assert [r.key for _ in range(2) if (r := tracker.next_to_save())] == [KEYS[1], KEYS[0]]


def test_the_one_that_was_used_least_recently_leaves_first() -> None:
    tracker = Tracker(LIMIT, PAGE)
    for key in KEYS[:3]:
        saved(tracker, key)
    assert tracker.touch(KEYS[0])
    order = [record.key for _ in range(3) if (record := tracker.next_to_evict())]
    assert order == [KEYS[1], KEYS[2], KEYS[0]]


def test_what_no_disk_has_never_leaves() -> None:
    tracker = Tracker(LIMIT, PAGE)
    assert tracker.reserve(KEYS[0], RAM, 1, 0.0)
    assert tracker.next_to_evict() is None
    tracker.finalize(KEYS[0], 1, 1)
    assert tracker.next_to_evict() is None
    assert tracker.next_to_save() is not None
    assert tracker.next_to_evict() is None


def test_a_replica_that_is_written_again_is_saved_by_no_copy_of_before() -> None:
    tracker = Tracker(LIMIT, PAGE)
    assert tracker.reserve(KEYS[0], RAM, 1, 0.0)
    tracker.finalize(KEYS[0], 1, 1)
    record = tracker.next_to_save()
    assert record is not None
    turn = record.turn
    assert tracker.aim(KEYS[0], turn, TARGETS[0])
    assert tracker.reopen(KEYS[0]) == Copy(KEYS[0], 1, TARGETS[0])
    tracker.finalize(KEYS[0], 2, 5)
    assert not tracker.saved(KEYS[0], turn)
    assert record.stage is Stage.UNSAVED


def test_a_block_that_was_deleted_and_made_anew_is_saved_by_no_copy_of_before() -> None:
    tracker = Tracker(LIMIT, PAGE)
    assert tracker.reserve(KEYS[0], RAM, 1, 0.0)
    tracker.finalize(KEYS[0], 1, 1)
    record = tracker.next_to_save()
    assert record is not None
    turn = record.turn
    gone = tracker.discard(KEYS[0])
    assert gone is not None
    tracker.freed(gone.locked_bytes)
    assert tracker.reserve(KEYS[0], RAM, 1, 0.0)
    tracker.finalize(KEYS[0], 2, 1)
    again = tracker.next_to_save()
    assert again is not None
    assert not tracker.aim(KEYS[0], turn, TARGETS[0])
    assert not tracker.saved(KEYS[0], turn)


def test_a_lost_volume_makes_its_copies_be_made_anew() -> None:
    tracker = Tracker(LIMIT, PAGE)
    saved(tracker, KEYS[0])
    assert tracker.lose_target(TARGETS[1]) == 0
    assert tracker.lose_target(TARGETS[0]) == 1
    assert tracker.next_to_evict() is None
    assert save_next(tracker, TARGETS[1]).key == KEYS[0]


def test_a_lost_copy_is_made_anew_and_another_replica_leaves_instead() -> None:
    tracker = Tracker(LIMIT, PAGE)
    saved(tracker, KEYS[0])
    saved(tracker, KEYS[1])
    first = tracker.next_to_evict()
    assert first is not None
    tracker.not_evicted(first.key, first.turn, is_lost=True)
    second = tracker.next_to_evict()
    assert second is not None
    assert second.key == KEYS[1]
    assert save_next(tracker).key == KEYS[0]


def test_bytes_are_locked_until_their_files_are_gone() -> None:
    tracker = Tracker(LIMIT, PAGE)
    saved(tracker, KEYS[0], LIMIT)
    record = tracker.next_to_evict()
    assert record is not None
    locked = tracker.evicted(record.key, record.turn)
    assert locked == LIMIT
    assert not tracker.reserve(KEYS[1], RAM, 1, 0.0)
    tracker.freed(locked)
    assert tracker.reserve(KEYS[1], RAM, 1, 0.0)


def test_what_a_start_finds_counts_though_it_is_more_than_the_limit() -> None:
    tracker = Tracker(PAGE, PAGE)
    for key in KEYS[:3]:
        tracker.adopt(key, RAM, 1, PAGE, 0.0, is_final=True)
    assert tracker.locked_bytes == 3 * PAGE
    assert tracker.free_bytes == 0
    assert not tracker.reserve(KEYS[3], RAM, 1, 0.0)
    assert tracker.unsaved == 3


def test_a_mean_is_shown_of_times() -> None:
    values = dict.fromkeys(Figure, 0)
    assert attributes(values)["RamDiskBlocksLazyPersistWindowMsAvgTime"] == 0.0
    values[Figure.RamDiskBlocksLazyPersisted] = 4
    values[Figure.RamDiskBlocksLazyPersistWindowMs] = 10
    shown = attributes(values)
    assert shown["RamDiskBlocksLazyPersistWindowMsAvgTime"] == 2.5
    assert shown["RamDiskBlocksLazyPersistWindowMsNumOps"] == 4
    assert shown["RamDiskBlocksLazyPersisted"] == 4


class Memory(RuleBasedStateMachine):
    """A datanode that does everything in any order, and its disks.

    `content` is what each replica is, by a number that changes whenever it does; `disks` has
    what each volume was given, and an attempt to save copies what the replica is when it begins.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tracker = Tracker(LIMIT, PAGE)
        self.content: dict[tuple[str, int], int] = {}
        self.disks: dict[tuple[str, tuple[str, int]], int] = {}
        self.attempts: list[tuple[Record, int, str, int]] = []
        self.evictions: list[tuple[Record, int]] = []
        self.leaving: list[int] = []
        self.on_disk: dict[tuple[str, int], int] = {}
        self.versions = 0

    def stage(self, key: tuple[str, int]) -> Stage | None:
        record = self.tracker.find(key)
        return None if record is None else record.stage

    def version(self) -> int:
        self.versions += 1
        return self.versions

    @rule(key=st.sampled_from(KEYS), pages=st.integers(0, 5), less=st.integers(0, PAGE - 1))
    def create(self, key: tuple[str, int], pages: int, less: int) -> None:
        count = max(pages * PAGE - less, 0)
        known, free = self.tracker.find(key), self.tracker.free_bytes
        done = self.tracker.reserve(key, RAM, count, 0.0)
        assert done == (known is None and self.tracker.round_up(count) <= free)
        if done:
            self.content[key] = self.version()

    @rule(key=st.sampled_from(KEYS), part=st.floats(0, 1))
    def finalize(self, key: tuple[str, int], part: float) -> None:
        record = self.tracker.find(key)
        if record is not None and record.stage is Stage.OPEN:
            stamp = record.generation_stamp + 1
            self.tracker.finalize(key, stamp, int(record.locked_bytes * part))

    @rule(key=st.sampled_from(KEYS), pages=st.integers(0, 9))
    def append(self, key: tuple[str, int], pages: int) -> None:
        if self.stage(key) in (None, Stage.EVICTING):
            return
        copy = self.tracker.reopen(key)
        if copy is not None:
            self.delete_copy(copy)
        self.content[key] = self.version()
        free = self.tracker.free_bytes
        record = self.tracker.find(key)
        assert record is not None
        more = pages * PAGE - record.locked_bytes
        assert self.tracker.grow(key, pages * PAGE) == (more <= 0 or more <= free)

    def delete_copy(self, copy: Copy) -> None:
        if not self.tracker.has_copy_at(copy.key, copy.target_id):
            self.disks.pop((copy.target_id, copy.key), None)

    @rule(key=st.sampled_from(KEYS))
    def delete(self, key: tuple[str, int]) -> None:
        known = self.tracker.find(key)
        stage = None if known is None else known.stage
        gone: Discarded | None = self.tracker.discard(key)
        assert (gone is None) == (known is None)
        if gone is not None:
            assert gone.was_saved == (stage in (Stage.SAVED, Stage.EVICTING))
            del self.content[key]
            self.leaving.append(gone.locked_bytes)
            if gone.copy is not None:
                self.delete_copy(gone.copy)

    @precondition(lambda self: self.leaving)
    @rule()
    def free(self) -> None:
        self.tracker.freed(self.leaving.pop())

    @rule(disk=st.sampled_from(TARGETS))
    def begin_to_save(self, disk: str) -> None:
        record = self.tracker.next_to_save()
        if record is not None:
            assert self.tracker.aim(record.key, record.turn, disk)
            self.attempts.append((record, record.turn, disk, self.content[record.key]))

    @precondition(lambda self: self.attempts)
    @rule(data=st.data(), fails=st.booleans())
    def end_to_save(self, data: st.DataObject, fails: bool) -> None:
        number = data.draw(st.integers(0, len(self.attempts) - 1))
        record, turn, target, copied = self.attempts.pop(number)
        if fails:
            self.tracker.not_saved(record.key, turn)
            return
        # The files of a copy get their names only while its turn is the record's.
        present = self.tracker.find(record.key)
        if present is record and record.turn == turn and record.stage is Stage.SAVING:
            self.disks[target, record.key] = copied
        counts = self.tracker.saved(record.key, turn)
        if counts:
            assert self.content[record.key] == copied, "saved is what it is not any more"

    @rule()
    def begin_to_evict(self) -> None:
        record = self.tracker.next_to_evict()
        if record is not None:
            self.evictions.append((record, record.turn))

    @precondition(lambda self: self.evictions)
    @rule(data=st.data(), fate=st.sampled_from(["left", "stays", "lost"]))
    def end_to_evict(self, data: st.DataObject, fate: str) -> None:
        number = data.draw(st.integers(0, len(self.evictions) - 1))
        record, turn = self.evictions.pop(number)
        target = record.target_id
        if fate != "left":
            self.tracker.not_evicted(record.key, turn, is_lost=fate == "lost")
            return
        locked = self.tracker.evicted(record.key, turn)
        if locked is not None:
            # It is read from the disk from now on: that had better be what it was.
            assert self.disks.pop((target, record.key)) == self.content.pop(record.key)
            self.leaving.append(locked)

    @rule(disk=st.sampled_from(TARGETS))
    def lose_disk(self, disk: str) -> None:
        count = sum(r.target_id == disk for r in self.tracker)
        assert self.tracker.lose_target(disk) == count
        self.disks = {where: what for where, what in self.disks.items() if where[0] != disk}

    @rule(key=st.sampled_from(KEYS))
    def read(self, key: tuple[str, int]) -> None:
        assert self.tracker.touch(key) == (key in self.content)

    @invariant()
    def bytes_are_those_of_a_recount(self) -> None:
        assert self.tracker.locked_bytes == self.tracker.recount()
        assert 0 <= self.tracker.locked_bytes <= LIMIT

    @invariant()
    def each_replica_has_one_record(self) -> None:
        assert sorted(r.key for r in self.tracker) == sorted(self.content)

    @invariant()
    def what_counts_as_saved_is_on_its_disk(self) -> None:
        for record in self.tracker:
            if record.stage in (Stage.SAVED, Stage.EVICTING):
                where = record.target_id, record.key
                assert self.disks[where] == self.content[record.key]


TestMemory = Memory.TestCase
TestMemory.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
