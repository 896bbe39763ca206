"""Replicas that are kept in memory: when they come, when they go, and what they take."""

from __future__ import annotations

import itertools
import mmap
import os
import random
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.datanode.caching import block_cache
from howdah.datanode.caching.block_cache import BlockCache, LockedFile, MappedFile
from howdah.datanode.latency.activity import Activity
from howdah.datanode.replicas.open_replica import OpenReplica
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.messages import CacheChanged, CorruptFound, ReplicaSuspect
from howdah.protocol.data_transfer.blocks import ExtendedBlock, StorageType
from howdah.protocol.data_transfer.op_requests import CachingHints
from howdah.protocol.data_transfer.short_circuit import SlotId, Slots
from howdah.protocol.data_transfer.status import Status
from howdah.runtime.sockets import Connection, PeerClosed
from howdah.testing.waiting import wait_until

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


def test_a_replica_is_cached_and_uncached_and_the_control_process_hears_of_both(
    cached: Lab,
) -> None:
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


def test_a_replica_that_grew_before_its_room_was_held_is_not_locked_beyond_it(lab: Any) -> None:
    subject = Lab(lab)
    subject.write()
    found = subject.store.find_id(POOL, 1)
    assert found is not None
    before = SimpleNamespace(state=found.state, volume_id=found.volume_id, length_bytes=1)
    answers = itertools.chain([before], itertools.repeat(found))
    with mock.patch.object(subject.store, "find_id", side_effect=answers):
        subject.cache.cache(POOL, [1])
        subject.wait_until_free()
    assert not subject.cache.is_cached(POOL, 1)
    subject.cache.cache(POOL, [1])
    subject.wait_until_cached()
    assert subject.locked_bytes == 3 * PAGE


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


def test_persistent_memory_is_refused_by_name() -> None:
    conf = Configuration({"dfs.datanode.pmem.cache.dirs": "/mnt/pmem0,/mnt/pmem1"})
    told = "dfs.datanode.pmem.cache.dirs = /mnt/pmem0,/mnt/pmem1: .* in locked memory only"
    with pytest.raises(errors.InvalidConfiguration, match=told):
        DataSettings.of(conf)
    assert DataSettings.of(Configuration({"dfs.datanode.pmem.cache.dirs": ""}))


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


# Readers elsewhere.


def read(
    subject: Lab, offset: int, length: int, verdict: Status = Status.CHECKSUM_OK, **more: Any
) -> Any:
    block = ExtendedBlock(POOL, 1, 1001, len(DATA))
    request = subject.lab.read_request(block, offset, length, **more)
    return subject.lab.read_block(subject.node, request, verdict=verdict)


class Opened:
    """How often replicas are opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        really = OpenReplica.of

        def counted(*arguments: Any) -> OpenReplica:
            self.count += 1
            return really(*arguments)

        monkeypatch.setattr(OpenReplica, "of", counted)


@pytest.fixture
def opened(cached: Lab, monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Of the reads of this test, not of the caching."""
    return Opened(monkeypatch)


@pytest.mark.parametrize(
    ("offset", "length"),
    [(0, 1), (1, 1), (511, 2), (700, 5000), (512, 512), (10_239, 1), (9_999, 241), (0, 10_240)],
)
def test_a_cached_replica_is_sent_from_memory(
    cached: Lab, opened: Opened, monkeypatch: pytest.MonkeyPatch, offset: int, length: int
) -> None:
    calls: list[int] = []
    really = Connection.send_buffers

    def counted(self: Connection, buffers: Sequence[bytes | bytearray | memoryview]) -> None:
        calls.append(len(buffers))
        really(self, buffers)

    monkeypatch.setattr(Connection, "send_buffers", counted)
    found = read(cached, offset, length)
    start, end = offset // 512 * 512, -(-(offset + length) // 512) * 512
    assert found.response.read_checksum.chunk_offset == start
    assert found.data == DATA[start:end]
    assert found.sums == cached.lab.sums_of(DATA[start:end])
    assert (opened.count, len(calls)) == (0, 1)


def test_a_cached_replica_that_ends_within_a_chunk_is_sent_from_memory(
    lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = Lab(lab)
    subject.write(1, DATA[:-100])
    subject.cache.cache(POOL, [1])
    subject.wait_until_cached()
    opened = Opened(monkeypatch)
    for offset, length in ((len(DATA) - 101, 1), (0, len(DATA) - 100), (512, 513)):
        found = read(subject, offset, length)
        start = offset // 512 * 512
        assert found.data == DATA[start : start + len(found.data)]
        assert len(found.data) >= offset - start + length
        assert found.sums == lab.sums_of(found.data)
    assert opened.count == 0


@pytest.mark.parametrize(
    ("offset", "length", "more"),
    [
        (0, 10, {"send_checksums": False}),
        (0, 10, {"hints": CachingHints(drop_behind=True)}),
        (0, 10, {"block": ExtendedBlock(POOL, 1, 1000, 10)}),
        (10, 0, {}),
    ],
)
def test_what_the_short_way_does_not_do_goes_the_long_one(
    cached: Lab, opened: Opened, offset: int, length: int, more: dict[str, Any]
) -> None:
    found = read(cached, offset, length, **more)
    assert found.response.is_success
    assert found.data == DATA[:512]
    assert opened.count == 1


def test_a_stretch_beyond_a_cached_replica_is_refused(cached: Lab) -> None:
    assert "don't match" in read(cached, 10_000, 241).response.message
    missing = read(cached, 0, 1, block=ExtendedBlock(POOL, 1, 1002, 1))
    assert "older" in missing.response.message


def test_a_cached_read_is_counted_and_its_verdict_heard(cached: Lab) -> None:
    counted: list[tuple[int, int]] = []
    cached.store.activity = Activity(
        lambda number, change: counted.append((number, change)), counted.extend
    )
    assert read(cached, 0, 600, verdict=Status.ERROR_CHECKSUM).data == DATA[:1024]
    assert cached.node.wait_for(ReplicaSuspect).block.block_id == 1
    assert 1024 in [change for _, change in counted]


def test_a_replica_that_is_not_cached_any_more_is_read_from_its_files(
    cached: Lab, opened: Opened
) -> None:
    cached.cache.uncache(POOL, [1])
    assert read(cached, 0, 10).data == DATA[:512]
    assert opened.count == 1
    cached.wait_until_free()
    cached.cache.cache(POOL, [1])
    cached.wait_until_cached()
    before = opened.count
    assert read(cached, 0, 10).data == DATA[:512]
    assert opened.count == before


def test_without_room_for_one_more_mapping_a_replica_is_cached_and_read_from_its_files(
    lab: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(fd: int, length_bytes: int) -> MappedFile:
        raise OSError(12, "mmap: Cannot allocate memory")

    monkeypatch.setattr(block_cache, "MappedFile", refuse)
    subject = Lab(lab)
    subject.write()
    subject.cache.cache(POOL, [1])
    subject.wait_until_cached()
    assert "is cached, and sent as if it were not: [Errno 12] mmap" in caplog.text
    opened = Opened(monkeypatch)
    assert read(subject, 0, 1000).data == DATA[:1024]
    assert opened.count == 1
    subject.cache.uncache(POOL, [1])
    subject.wait_until_free()


def test_memory_that_is_being_sent_stays_until_it_is(cached: Lab) -> None:
    mapped = cached.store.in_memory.mapped[POOL, 1]
    assert mapped.borrow()
    _, _, data = mapped.chunks(0, 512)
    assert cached.store.invalidate(ExtendedBlock(POOL, 1, 1001, len(DATA)))
    assert not cached.cache.is_cached(POOL, 1)
    for _ in range(3):
        cached.cache.let_go()
    assert cached.locked_bytes == 3 * PAGE
    assert bytes(data) == DATA[:512]
    assert not mapped.borrow()
    mapped.give_back()
    cached.wait_until_free()


def test_a_cached_file_that_was_cut_ends_the_read_and_is_reported(cached: Lab) -> None:
    """Whoever looked at memory that is a file's no more would be killed: the kernel looks."""
    os.truncate(cached.node.block_path(1), 0)
    with pytest.raises(PeerClosed):
        read(cached, 0, 8000)
    assert cached.node.wait_for(ReplicaSuspect).block.block_id == 1
    with pytest.raises(PeerClosed):
        read(cached, 0, 8000)
    assert cached.node.wait_for(CorruptFound).block.block_id == 1


def test_a_meta_file_that_was_cut_ends_the_read_and_is_reported(cached: Lab) -> None:
    (meta,) = cached.node.block_path(1).parent.glob("*.meta")
    os.truncate(meta, 0)
    with pytest.raises(PeerClosed):
        read(cached, 0, 8000)
    assert cached.node.wait_for(ReplicaSuspect).block.block_id == 1


def test_damage_to_the_files_of_a_cached_replica_is_not_hidden(cached: Lab) -> None:
    path = cached.node.block_path(1)
    with path.open("r+b") as file:
        file.seek(600)
        file.write(b"\xff\x00\xff")
    found = read(cached, 0, 2048)
    assert found.data != DATA[:2048]
    assert found.sums == cached.lab.sums_of(DATA[:2048])


def test_readers_beside_caching_uncaching_and_deletion_get_all_or_an_error(lab: Any) -> None:
    subject = Lab(lab)
    block = subject.write()
    wrong: list[str] = []
    done = threading.Event()

    def reader(seed: int) -> None:
        chance = random.Random(seed)
        while not done.is_set():
            offset = chance.randrange(len(DATA))
            length = chance.randrange(1, len(DATA) - offset + 1)
            found = read(subject, offset, length)
            if not found.response.is_success:
                if "not found" not in found.response.message:
                    wrong.append(found.response.message)
                continue
            start = offset // 512 * 512
            if found.data != DATA[start : start + len(found.data)]:
                wrong.append(f"data of {offset}, {length}")
            if found.sums != lab.sums_of(found.data):
                wrong.append(f"sums of {offset}, {length}")

    readers = [threading.Thread(target=reader, args=(seed,)) for seed in range(3)]
    for thread in readers:
        thread.start()
    try:
        for _ in range(15):
            subject.cache.cache(POOL, [1])
            subject.wait_until_cached()
            subject.cache.uncache(POOL, [1])
            subject.wait_until_free()
        subject.cache.cache(POOL, [1])
        subject.wait_until_cached()
        assert subject.store.invalidate(block)
        subject.wait_until_free()
    finally:
        done.set()
        for thread in readers:
            thread.join(60)
    assert wrong == []


# --- threads ---


def no_thread(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_a_block_that_no_thread_could_cache_is_cached_by_the_next_order(
    lab: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cached = Lab(lab)
    cached.write()
    with monkeypatch.context() as without:
        without.setattr(threading.Thread, "start", no_thread)
        cached.cache.cache(POOL, [1])
    assert cached.locked_bytes == 0
    assert caplog.text.count("is not cached: there is no thread") == 1
    cached.cache.cache(POOL, [1])
    cached.wait_until_cached()


def test_what_is_cached_is_told_once_there_is_a_thread_for_it(
    lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = Lab(lab)
    start = threading.Thread.start

    def only_others(thread: threading.Thread) -> None:
        if thread.name == "uncaching":
            raise RuntimeError("can't start new thread")
        start(thread)

    cached.write()
    with monkeypatch.context() as without:
        without.setattr(threading.Thread, "start", only_others)
        cached.cache.cache(POOL, [1])
        cached.wait_until_cached()
    cached.cache.uncache(POOL, [1])
    wait_until(lambda: len(cached.told()) == 2)


def test_memory_is_given_back_after_a_defect_in_giving_it_back(
    lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = Lab(lab)

    def fails(file: MappedFile) -> None:
        raise RuntimeError("a defect of this test")

    for block_id in (1, 2):
        cached.write(block_id)
    cached.cache.cache(POOL, [1, 2])
    for block_id in (1, 2):
        cached.wait_until_cached(block_id)
    with monkeypatch.context() as failing:
        failing.setattr(MappedFile, "release", fails)
        cached.cache.uncache(POOL, [1])
        wait_until(lambda: not cached.cache.is_cached(POOL, 1))
        wait_until(
            lambda: cached.locked_bytes == cached.store.in_memory.tracker.round_up(len(DATA))
        )
    cached.cache.uncache(POOL, [2])
    cached.wait_until_free()
