"""Replicas in memory: what each of them takes, and whether a disk has a copy of it (pure).

RamDiskReplicaLruTracker in Hadoop, with the reservations of FsDatasetCache. The states of one:

    OPEN       a client writes it, or a recovery changes it; room for a whole block is held
    UNSAVED    finalized, and waits for its turn to be copied to a disk
    SAVING     it is being copied; `turn` says by which attempt
    SAVED      a disk has a copy of it, durably: it may leave the memory
    EVICTING   its place is about to be taken by that copy

    OPEN -finalize-> UNSAVED -next_to_save-> SAVING -saved-> SAVED -next_to_evict-> EVICTING
    SAVING -not_saved-> UNSAVED     EVICTING -not_evicted-> SAVED, or UNSAVED if the copy is lost
    EVICTING -evicted-> gone
    any but OPEN -reopen-> OPEN     any -discard-> gone
    SAVING, SAVED -lose_target-> UNSAVED, where the copy's volume is used no more

Rules, asserted here and nowhere else:
- a replica has one record, whatever becomes of it;
- what an attempt says counts only while its turn is the record's: a replica that was written
  again, or deleted and made anew, meanwhile is not saved by it;
- locked bytes are those of all records, of what is leaving, and of replicas on disks that are
  cached (`datanode.caching`); no reservation takes them beyond the limit. Only what a start
  finds in memory may be more than that.

Room is counted in whole pages, as the kernel would lock them. Of those that are saved the one
that was used least recently is evicted first; to be saved, and to be read, is a use.
"""

from __future__ import annotations

import enum
from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass

Key = tuple[str, int]
"""(pool id, block id)."""


class Stage(enum.Enum):
    OPEN = "open"
    UNSAVED = "unsaved"
    SAVING = "saving"
    SAVED = "saved"
    EVICTING = "evicting"


@dataclass(slots=True)
class Record:
    """One replica in memory. Changed by the tracker alone."""

    key: Key
    volume_id: str
    """The volume in memory."""
    locked_bytes: int
    created_s: float
    stage: Stage = Stage.OPEN
    generation_stamp: int = 0
    length_bytes: int = 0
    target_id: str = ""
    """The volume that has the copy, or is to have it."""
    turn: int = 0
    """Of the attempt that copies or evicts it; a new one with each change of the replica."""
    reads: int = 0


@dataclass(frozen=True, slots=True)
class Copy:
    """A replica's copy on a disk that is there, or may be: (key, stamp) at this volume."""

    key: Key
    generation_stamp: int
    target_id: str


@dataclass(frozen=True, slots=True)
class Discarded:
    """What is left of a record that is gone: bytes to free, and a copy to delete."""

    locked_bytes: int
    copy: Copy | None
    was_saved: bool
    was_open: bool


class Tracker:
    """Not locked: its owner is."""

    def __init__(self, limit_bytes: int, page_bytes: int) -> None:
        assert limit_bytes >= 0, f"a limit of {limit_bytes} bytes"
        assert page_bytes > 0, f"pages of {page_bytes} bytes"
        self.limit_bytes = limit_bytes
        self.page_bytes = page_bytes
        self._records: dict[Key, Record] = {}
        self._unsaved: deque[tuple[Key, int]] = deque()
        # The least recently used first.
        self._saved: OrderedDict[Key, None] = OrderedDict()
        self._leaving_bytes = 0
        self._cached_bytes = 0
        self._locked_bytes = 0
        self._turns = 0

    # --- looking ---

    @property
    def locked_bytes(self) -> int:
        return self._locked_bytes

    @property
    def free_bytes(self) -> int:
        return max(self.limit_bytes - self._locked_bytes, 0)

    def recount(self) -> int:
        """Locked bytes, added up."""
        held = self._leaving_bytes + self._cached_bytes
        return held + sum(record.locked_bytes for record in self._records.values())

    def find(self, key: Key) -> Record | None:
        return self._records.get(key)

    def __iter__(self) -> Iterator[Record]:
        return iter(tuple(self._records.values()))

    def __len__(self) -> int:
        return len(self._records)

    @property
    def unsaved(self) -> int:
        """Replicas that are final and that no disk has."""
        return sum(r.stage in (Stage.UNSAVED, Stage.SAVING) for r in self._records.values())

    def round_up(self, count_bytes: int) -> int:
        """In whole pages."""
        return -(-count_bytes // self.page_bytes) * self.page_bytes

    def is_whole_pages(self, count_bytes: int) -> bool:
        return count_bytes % self.page_bytes == 0

    # --- room ---

    def reserve(self, key: Key, volume_id: str, count_bytes: int, now_s: float) -> bool:
        """Room for a new replica, which is OPEN then; False if there is none left, or the block
        has a replica in memory already."""
        needed = self.round_up(count_bytes)
        if key in self._records or needed > self.free_bytes:
            return False
        self._put(Record(key, volume_id, needed, now_s))
        return True

    def hold_cached(self, count_bytes: int) -> bool:
        """Room for a replica on a disk that is to be kept in memory, too; False if there is
        none left."""
        assert self.is_whole_pages(count_bytes), f"{count_bytes} bytes are no whole pages"
        if count_bytes > self.free_bytes:
            return False
        self._cached_bytes += count_bytes
        self._locked_bytes += count_bytes
        return True

    def free_cached(self, count_bytes: int) -> None:
        """It is kept in memory no more."""
        assert 0 <= count_bytes <= self._cached_bytes, (
            f"{count_bytes} bytes are said to be free, and {self._cached_bytes} are cached"
        )
        self._cached_bytes -= count_bytes
        self._locked_bytes -= count_bytes

    def assign_volume(self, key: Key, volume_id: str) -> None:
        """An OPEN replica whose volume is chosen now."""
        record = self._records[key]
        assert record.stage is Stage.OPEN, f"{record} is no new replica"
        record.volume_id = volume_id

    def grow(self, key: Key, total_bytes: int) -> bool:
        """An OPEN replica may get as long as `total_bytes`; False if there is no room."""
        record = self._records[key]
        assert record.stage is Stage.OPEN, f"{record} does not grow"
        more = self.round_up(total_bytes) - record.locked_bytes
        if more <= 0:
            return True
        if more > self.free_bytes:
            return False
        self._lock(record, record.locked_bytes + more)
        return True

    def adopt(
        self,
        key: Key,
        volume_id: str,
        generation_stamp: int,
        length_bytes: int,
        now_s: float,
        *,
        is_final: bool,
    ) -> None:
        """A replica that a start found in memory. It is there, so it counts, limit or not."""
        assert key not in self._records, f"{key} has a record already"
        self._put(Record(key, volume_id, self.round_up(length_bytes), now_s))
        if is_final:
            self.finalize(key, generation_stamp, length_bytes)

    # --- the life of a replica ---

    def finalize(self, key: Key, generation_stamp: int, length_bytes: int) -> None:
        """All its bytes are there. What was held beyond them is free."""
        record = self._records[key]
        assert record.stage is Stage.OPEN, f"{record} is final already"
        record.generation_stamp, record.length_bytes = generation_stamp, length_bytes
        self._lock(record, self.round_up(length_bytes))
        self._queue(record)

    def reopen(self, key: Key) -> Copy | None:
        """It is about to change. The copy that there is, if any, is one of what it was."""
        record = self._records[key]
        copy = self._copy_of(record)
        self._saved.pop(key, None)
        record.stage, record.target_id = Stage.OPEN, ""
        record.turn = self._next_turn()
        return copy

    def touch(self, key: Key) -> bool:
        """Somebody reads it. False if it is not in memory."""
        record = self._records.get(key)
        if record is None:
            return False
        record.reads += 1
        if key in self._saved:
            self._saved.move_to_end(key)
        return True

    def discard(self, key: Key) -> Discarded | None:
        """It is there no more; its bytes stay locked until they are `freed`."""
        record = self._records.pop(key, None)
        if record is None:
            return None
        self._saved.pop(key, None)
        self._leaving_bytes += record.locked_bytes
        return Discarded(
            record.locked_bytes,
            self._copy_of(record),
            was_saved=record.stage in (Stage.SAVED, Stage.EVICTING),
            was_open=record.stage is Stage.OPEN,
        )

    def freed(self, count_bytes: int) -> None:
        """The memory of what left is free again."""
        assert 0 <= count_bytes <= self._leaving_bytes, (
            f"{count_bytes} bytes are said to be free, and {self._leaving_bytes} are leaving"
        )
        self._leaving_bytes -= count_bytes
        self._locked_bytes -= count_bytes

    # --- saving ---

    def next_to_save(self) -> Record | None:
        """SAVING from now on."""
        while self._unsaved:
            key, turn = self._unsaved.popleft()
            record = self._records.get(key)
            if record is not None and record.stage is Stage.UNSAVED and record.turn == turn:
                record.stage = Stage.SAVING
                return record
        return None

    def aim(self, key: Key, turn: int, target_id: str) -> bool:
        """Where the copy goes; False if the turn is over."""
        record = self._at(key, turn, Stage.SAVING)
        if record is None:
            return False
        record.target_id = target_id
        return True

    def saved(self, key: Key, turn: int) -> bool:
        """The copy is on the disk. False if the turn is over: it is a copy of nothing."""
        record = self._at(key, turn, Stage.SAVING)
        if record is None:
            return False
        assert record.target_id, f"{record} is saved nowhere"
        record.stage = Stage.SAVED
        self._saved[key] = None
        return True

    def not_saved(self, key: Key, turn: int) -> None:
        """The attempt failed, and another one follows when all others had their turn."""
        record = self._at(key, turn, Stage.SAVING)
        if record is not None:
            self._queue(record)

    def has_copy_at(self, key: Key, target_id: str) -> bool:
        """Whether files of the block's copy at this volume are those of the present replica."""
        record = self._records.get(key)
        return record is not None and record.target_id == target_id

    def lose_target(self, target_id: str) -> int:
        """What the volume has copies of is to be saved elsewhere; how many."""
        count = 0
        for record in self._records.values():
            if record.target_id == target_id:
                self._saved.pop(record.key, None)
                self._queue(record)
                count += 1
        return count

    # --- leaving the memory ---

    def next_to_evict(self) -> Record | None:
        """EVICTING from now on."""
        if not self._saved:
            return None
        key, _ = self._saved.popitem(last=False)
        record = self._records[key]
        assert record.stage is Stage.SAVED, f"{record} is not saved"
        record.stage = Stage.EVICTING
        return record

    def not_evicted(self, key: Key, turn: int, *, is_lost: bool = False) -> None:
        """It could not be. Others come first the next time; if its copy `is_lost`, it is to be
        saved anew."""
        record = self._at(key, turn, Stage.EVICTING)
        if record is not None and is_lost:
            self._queue(record)
        elif record is not None:
            record.stage = Stage.SAVED
            self._saved[key] = None

    def evicted(self, key: Key, turn: int) -> int | None:
        """The copy has taken its place; the bytes that are to be `freed`. None if the turn is
        over, which nobody may find out who has its files."""
        record = self._at(key, turn, Stage.EVICTING)
        if record is None:
            return None
        del self._records[key]
        self._leaving_bytes += record.locked_bytes
        return record.locked_bytes

    # --- within ---

    def _at(self, key: Key, turn: int, stage: Stage) -> Record | None:
        record = self._records.get(key)
        if record is None or record.turn != turn or record.stage is not stage:
            return None
        return record

    def _next_turn(self) -> int:
        self._turns += 1
        return self._turns

    def _queue(self, record: Record) -> None:
        record.stage, record.target_id = Stage.UNSAVED, ""
        record.turn = self._next_turn()
        self._unsaved.append((record.key, record.turn))

    def _put(self, record: Record) -> None:
        record.turn = self._next_turn()
        self._records[record.key] = record
        self._locked_bytes += record.locked_bytes

    def _lock(self, record: Record, locked_bytes: int) -> None:
        self._locked_bytes += locked_bytes - record.locked_bytes
        record.locked_bytes = locked_bytes

    @staticmethod
    def _copy_of(record: Record) -> Copy | None:
        if not record.target_id:
            return None
        return Copy(record.key, record.generation_stamp, record.target_id)
