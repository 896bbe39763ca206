"""Replicas that are kept in memory: when they come, when they go, and what they take."""

from __future__ import annotations

import mmap
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.datanode.caching.block_cache import BlockCache
from howdah.datanode.caching.locked_memory import LockedFile
from howdah.datanode.channel.messages import CacheChanged, ReplicaSuspect
from howdah.datanode.settings import DataSettings
from howdah.testing.waiting import wait_until
from howdah.transfer.blocks import ExtendedBlock, StorageType
from howdah.transfer.short_circuit import SlotId, Slots

POOL = "BP-7-127.0.0.1-1"
PAGE = mmap.PAGESIZE
DATA = bytes(range(256)) * 40
LIMIT = 8 * PAGE

pytestmark = pytest.mark.req("FS-037")


class Lab:
    """A datanode with a cache."""

    def __init__(self, lab: Any, **how: Any) -> None:
        self.lab = lab
        types = how.pop("types", (StorageType.DISK,))
        settings = DataSettings(
            socket_timeout_s=5, write_timeout_s=5, keepalive_s=2, memory_bytes=LIMIT
        )
        self.node = lab.node(settings, types)
        self.store = self.node.store
        self.cache = BlockCache(
            self.store, **{"revocation_timeout_s": 60, "polling_s": 0.01, **how}
        )

    def write(self, block_id: int = 1, data: bytes = DATA) -> ExtendedBlock:
        block = ExtendedBlock(POOL, block_id, 1001, len(data))
        self.lab.write_block(self.node, block, data)
        return block

    def wait_until_cached(self, block_id: int = 1) -> None:
        wait_until(lambda: self.cache.is_cached(POOL, block_id), 30)

    def wait_until_free(self) -> None:
        wait_until(lambda: self.locked_bytes == 0, 30)

    @property
    def locked_bytes(self) -> int:
        tracker = self.store.in_memory.tracker
        with self.store.in_memory.lock:
            assert tracker.locked_bytes == tracker.recount()
        return int(tracker.locked_bytes)

    def told(self) -> list[CacheChanged]:
        return [event for event in self.node.events if isinstance(event, CacheChanged)]


@pytest.fixture
def cached(lab: Any) -> Lab:
    """With block 1 in memory."""
    found = Lab(lab)
    found.write()
    found.cache.cache(POOL, [1])
    found.wait_until_cached()
    return found


def test_a_replica_is_cached_and_uncached_and_the_keeper_hears_of_both(cached: Lab) -> None:
    assert cached.locked_bytes == 3 * PAGE
    cached.cache.uncache(POOL, [1])
    cached.wait_until_free()
    assert not cached.cache.is_cached(POOL, 1)
    wait_until(lambda: len(cached.told()) == 2, 30)
    assert cached.told() == [CacheChanged(POOL, (1,), ()), CacheChanged(POOL, (), (1,))]


def test_a_pool_that_is_left_takes_no_memory(cached: Lab) -> None:
    cached.cache.leave_pool("BP-another")
    assert cached.cache.is_cached(POOL, 1)
    cached.cache.leave_pool(POOL)
    cached.wait_until_free()
    assert not cached.cache.is_cached(POOL, 1)


def test_an_order_that_is_repeated_is_one_order(cached: Lab) -> None:
    cached.cache.cache(POOL, [1, 1])
    cached.write(2)
    cached.cache.cache(POOL, [2])
    cached.wait_until_cached(2)
    assert cached.locked_bytes == 6 * PAGE


def test_an_empty_replica_takes_no_memory(lab: Any) -> None:
    subject = Lab(lab)
    subject.write(1, b"")
    subject.cache.cache(POOL, [1])
    subject.wait_until_cached()
    assert subject.locked_bytes == 0


def test_no_more_is_cached_than_the_limit_allows(cached: Lab) -> None:
    cached.write(2)
    cached.write(3)
    cached.cache.cache(POOL, [2, 3])
    cached.wait_until_cached(2)
    assert cached.locked_bytes == 6 * PAGE
    assert not cached.cache.is_cached(POOL, 3)
    cached.cache.uncache(POOL, [1])
    wait_until(lambda: cached.locked_bytes == 3 * PAGE, 30)
    cached.cache.cache(POOL, [3])
    cached.wait_until_cached(3)


def test_replicas_in_memory_and_cached_ones_share_one_budget(cached: Lab) -> None:
    memory = cached.store.in_memory
    with memory.lock:
        assert not memory.tracker.reserve((POOL, 9), "DS-0", 6 * PAGE, 0)
        assert memory.tracker.reserve((POOL, 9), "DS-0", 5 * PAGE, 0)
    assert not memory.hold_cached(PAGE)


@pytest.mark.parametrize("block_id", [1, 77])
def test_what_is_not_there_or_not_final_is_not_cached(lab: Any, block_id: int) -> None:
    subject = Lab(lab)
    writer = lab.Writer(subject.node, lab.write_request(lab.block(1)))
    subject.cache.cache(POOL, [block_id])
    assert subject.locked_bytes == 0
    assert not subject.cache.is_cached(POOL, block_id)
    writer.connection.close()


def test_a_deleted_replica_is_cached_no_more(cached: Lab) -> None:
    assert cached.store.invalidate(ExtendedBlock(POOL, 1, 1001, len(DATA)))
    assert not cached.cache.is_cached(POOL, 1)
    cached.wait_until_free()


def test_a_replica_that_is_appended_to_is_cached_no_more(cached: Lab) -> None:
    cached.store.short_circuit.revoke(POOL, 1)  # What every change does first.
    assert not cached.cache.is_cached(POOL, 1)
    cached.wait_until_free()
    cached.cache.cache(POOL, [1])
    cached.wait_until_cached()


def test_a_replica_that_goes_while_it_is_cached_leaves_nothing(lab: Any) -> None:
    begun, may_go_on = threading.Event(), threading.Event()

    def slow(fd: int, length_bytes: int) -> LockedFile:
        begun.set()
        assert may_go_on.wait(60)
        return LockedFile(fd, length_bytes)

    subject = Lab(lab, lock_memory=slow)
    block = subject.write()
    subject.cache.cache(POOL, [1])
    assert begun.wait(60)
    assert subject.store.invalidate(block)
    may_go_on.set()
    subject.wait_until_free()
    assert not subject.cache.is_cached(POOL, 1)
    assert subject.told() == []


def test_a_damaged_replica_is_not_cached_and_is_to_be_looked_at(
    lab: Any, caplog: pytest.LogCaptureFixture
) -> None:
    subject = Lab(lab)
    subject.write()
    path = Path(subject.node.block_path(1))
    path.write_bytes(DATA[:600] + b"\xff" + DATA[601:])
    subject.cache.cache(POOL, [1])
    found = subject.node.wait_for(ReplicaSuspect)
    assert found.block.block_id == 1
    subject.wait_until_free()
    assert not subject.cache.is_cached(POOL, 1)
    wait_until(lambda: "the chunk at 512" in caplog.text, 30)


def test_memory_that_cannot_be_locked_is_given_back(lab: Any) -> None:
    def refuse(fd: int, length_bytes: int) -> LockedFile:
        raise OSError(12, "mlock: Cannot allocate memory")

    subject = Lab(lab, lock_memory=refuse)
    subject.write()
    subject.cache.cache(POOL, [1])
    subject.wait_until_free()
    assert not subject.cache.is_cached(POOL, 1)


def test_replicas_on_volumes_in_memory_are_not_cached_once_more(lab: Any) -> None:
    subject = Lab(lab, types=(StorageType.RAM_DISK,))
    target = lab.block(1, length=4 * PAGE)
    writer = lab.Writer(subject.node, replace(lab.write_request(target), allow_lazy_persist=True))
    writer.send(0, DATA)
    writer.send(len(DATA), b"", last=True)
    wait_until(lambda: subject.locked_bytes == 3 * PAGE, 30)
    subject.cache.cache(POOL, [1])
    assert subject.locked_bytes == 3 * PAGE
    assert not subject.cache.is_cached(POOL, 1)


# Local readers.


def slot_of(subject: Lab) -> tuple[Slots, SlotId]:
    registry = subject.store.short_circuit
    name, _ = registry.open_segment("reader")
    slots = registry._segments[name].slots
    slots.claim(0)
    slot = SlotId(name, 0)
    registry.register(ExtendedBlock(POOL, 1, 1001, len(DATA)), slot)
    return slots, slot


def test_local_readers_may_anchor_what_is_cached(cached: Lab) -> None:
    slots, _ = slot_of(cached)
    assert slots.anchor(0)
    assert slots.is_anchored(0)
    slots.lift(0)
    assert not slots.is_anchored(0)


def test_readers_that_were_there_before_may_anchor_it_too(lab: Any) -> None:
    subject = Lab(lab)
    subject.write()
    slots, _ = slot_of(subject)
    assert not slots.anchor(0)
    subject.cache.cache(POOL, [1])
    subject.wait_until_cached()
    assert slots.anchor(0)


def test_uncaching_waits_for_a_reader_that_is_in_the_middle_of_it(cached: Lab) -> None:
    slots, _ = slot_of(cached)
    assert slots.anchor(0)
    cached.cache.uncache(POOL, [1])
    assert not cached.cache.is_cached(POOL, 1)
    assert not slots.anchor(0)
    assert slots.is_valid(0)
    cached.cache.let_go()
    assert cached.locked_bytes == 3 * PAGE
    slots.lift(0)
    cached.wait_until_free()


def test_a_reader_that_does_not_let_go_is_not_waited_for_for_ever(lab: Any) -> None:
    subject = Lab(lab, revocation_timeout_s=0.05)
    subject.write()
    subject.cache.cache(POOL, [1])
    subject.wait_until_cached()
    slots, _ = slot_of(subject)
    assert slots.anchor(0)
    subject.cache.uncache(POOL, [1])
    subject.wait_until_free()


def test_a_change_of_the_replica_waits_for_nobody(cached: Lab) -> None:
    slots, _ = slot_of(cached)
    assert slots.anchor(0)
    cached.cache.uncache(POOL, [1])
    assert cached.store.invalidate(ExtendedBlock(POOL, 1, 1001, len(DATA)))
    cached.wait_until_free()
    assert not slots.is_valid(0)


# Memory.


def test_a_file_is_locked_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(DATA)

    def locked_kib() -> int:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmLck:"):
                return int(line.split()[1])
        raise AssertionError("no VmLck")

    before = locked_kib()
    with path.open("rb") as file:
        memory = LockedFile(file.fileno(), len(DATA))
    assert locked_kib() == before + 12
    memory.release()
    memory.release()
    assert locked_kib() == before


def test_what_cannot_be_mapped_is_told_with_its_size(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file, pytest.raises(OSError, match="mmap of 10 bytes"):
        LockedFile(file.fileno(), 10)


def test_a_limit_beyond_what_the_system_grants_stops_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda which: (65536, 65536))
    conf = Configuration({"dfs.datanode.max.locked.memory": "65537"})
    with pytest.raises(errors.InvalidConfiguration, match="RLIMIT_MEMLOCK ulimit of 65536 bytes"):
        DataSettings.of(conf)


def test_a_defect_costs_one_replica_its_place_and_the_others_nothing(
    lab: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Each volume has one thread for all of its orders."""
    troubles = [ZeroDivisionError("nobody foresaw it")]

    def lock_memory(fd: int, length_bytes: int) -> LockedFile:
        if troubles:
            raise troubles.pop()
        return LockedFile(fd, length_bytes)

    found = Lab(lab, lock_memory=lock_memory)
    found.write(1)
    found.write(2)
    found.cache.cache(POOL, [1, 2])
    found.wait_until_cached(2)
    assert not found.cache.is_cached(POOL, 1)
    assert found.locked_bytes == 3 * PAGE
    assert "caching block 1 failed on a defect" in caplog.text
    found.cache.cache(POOL, [1])
    found.wait_until_cached(1)
