"""Replicas in memory and their copies on disks: whatever comes in between, nothing is mixed up."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration, keys
from howdah.datanode.lazy_persist import evicting
from howdah.datanode.lazy_persist.lazy_writer import LazyWriter
from howdah.datanode.recovery import replica_recovery
from howdah.datanode.replicas.files import sync_directories
from howdah.datanode.replicas.volume_move import move_to_type
from howdah.datanode.settings import DataSettings
from howdah.datanode.state import fault_points
from howdah.datanode.state.fault_points import Point
from howdah.datanode.state.memory.tracker import Stage
from howdah.datanode.state.messages import CorruptFound, ReplicaDeleted, ReplicaReceived
from howdah.datanode.volumes.volumes import Volume
from howdah.protocol.data_transfer.blocks import StorageType
from howdah.testing.waiting import wait_until

pytestmark = pytest.mark.req("FS-211", "FS-212", "FS-213")

Lab = Any
PAGE = 4096
LIMIT = 8 * PAGE
DATA = os.urandom(5000)
SETTINGS = DataSettings(socket_timeout_s=5, write_timeout_s=5, keepalive_s=2, memory_bytes=LIMIT)
DISK, RAM = StorageType.DISK, StorageType.RAM_DISK
BLOCK_BYTES = 2 * PAGE
CALLS = ("open", "rename", "fsync", "sendfile", "unlink", "stat", "mkdir", "pread")
MOST_CALLS = 40


class Node:
    """A lab's node with memory, and its lazy writer, which works when it is told to."""

    def __init__(self, lab: Lab, types: tuple[StorageType, ...] = (DISK, RAM), **more: Any) -> None:
        self.lab = lab
        self.node = lab.node(SETTINGS, types, **more)
        self.store = self.node.store
        self.memory = self.store.in_memory
        self.lazy_writer = LazyWriter(self.store, 3600.0)
        self.volumes = self.node.volumes.all
        self.ram = next(volume for volume in self.volumes if volume.is_transient)

    def write(self, block_id: int = 1, data: bytes = DATA, length: int = BLOCK_BYTES) -> None:
        target = self.lab.block(block_id, length=length)
        request = replace(self.lab.write_request(target), allow_lazy_persist=True)
        writer = self.lab.Writer(self.node, request)
        assert writer.response.is_success, writer.response
        writer.send(0, data)
        writer.send(len(data), b"", last=True)
        for _ in range(writer.seqno):
            writer.ack()
        writer.close()

    def save(self) -> list[bool]:
        """A round of the lazy writer, on this thread; what came of each."""
        outcomes = []
        for _ in range(len(self.memory.tracker)):
            with self.memory.lock:
                record = self.memory.tracker.next_to_save()
            if record is None:
                break
            turn = record.turn
            volume = self.store.volumes.choose(DISK, record.length_bytes, self.store.disk_failed)
            assert self.memory.tracker.aim(record.key, turn, volume.storage_id)
            outcomes.append(self.lazy_writer.attempt(record, turn, volume))
        return outcomes

    def evict(self) -> None:
        evicting.make_room(self.store, LIMIT)

    def read(self, block_id: int = 1, length: int = len(DATA), stamp: int = 1001) -> bytes:
        block = self.lab.block(block_id, stamp)
        found = self.lab.read_block(self.node, self.lab.read_request(block, 0, length)).data
        return bytes(found)

    def volume_of(self, block_id: int = 1) -> str:
        found = self.store.find_id(self.lab.POOL, block_id)
        assert found is not None
        return str(found.volume_id)

    def stage(self, block_id: int = 1) -> Stage | None:
        record = self.memory.tracker.find((self.lab.POOL, block_id))
        return None if record is None else record.stage

    def check(self) -> None:
        """What is counted is there, and nothing more."""
        tracker = self.memory.tracker
        assert tracker.locked_bytes == tracker.recount() <= LIMIT
        for volume in self.volumes:
            if volume.failure is not None:
                continue
            pool = Path(volume.pool_path(self.lab.POOL))
            there = sum(
                path.stat().st_size
                for path in pool.rglob("blk_*")
                if path.is_file() and "quarantine" not in path.parts
            )
            assert volume.pool_used_bytes(self.lab.POOL) == there, volume
        in_memory = {
            replica.block_id
            for pool_id, replica in self.node.replicas.of_volume(self.ram.storage_id)
        }
        assert in_memory == {record.key[1] for record in tracker}


@pytest.fixture
def node(lab: Lab) -> Node:
    return Node(lab)


@pytest.fixture
def at() -> Iterator[Callable[[Point, Callable[[], None]], None]]:
    """Have something happen at a point of a copy, once."""
    armed: dict[Point, Callable[[], None]] = {}

    def listener(point: Point, block_id: int, behind: int) -> None:
        act = armed.pop(point, None)
        if act is not None:
            act()

    fault_points.listen(listener)
    try:
        yield armed.__setitem__
    finally:
        fault_points._listeners.remove(listener)


def test_a_replica_is_written_to_memory_saved_and_evicted(lab: Lab, node: Node) -> None:
    node.write()
    assert (node.volume_of(), node.stage()) == (node.ram.storage_id, Stage.UNSAVED)
    assert node.read() == DATA
    node.check()
    assert node.save() == [True]
    assert node.stage() is Stage.SAVED
    assert node.node.files("lazypersist") == {"blk_1", "blk_1_1001.meta"}
    assert node.read() == DATA
    node.check()
    node.evict()
    assert (node.volume_of(), node.stage()) == ("DS-0", None)
    assert node.node.content(1) == DATA
    assert node.read() == DATA
    assert not node.node.files("lazypersist")
    assert node.memory.tracker.locked_bytes == 0
    received = [e for e in node.node.events if isinstance(e, ReplicaReceived)]
    assert [event.storage_id for event in received] == [node.ram.storage_id, "DS-0"]
    node.check()


@pytest.mark.parametrize("length", [BLOCK_BYTES + 1, LIMIT + PAGE])
def test_blocks_of_no_whole_pages_or_without_room_go_to_a_disk(
    lab: Lab, node: Node, length: int
) -> None:
    node.write(length=length)
    assert (node.volume_of(), node.stage()) == ("DS-0", None)
    node.check()


def test_clients_on_other_machines_write_to_disks(
    lab: Lab, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    from howdah.runtime import sockets

    monkeypatch.setattr(sockets, "_is_on_one_machine", lambda peer, here: False)
    node.write()
    assert node.volume_of() == "DS-0"


def test_readers_that_are_in_the_middle_of_an_eviction_go_on(lab: Lab, node: Node) -> None:
    node.write()
    node.save()
    with node.store.open(lab.block()) as opened:
        node.evict()
        assert os.pread(opened.block_fd, len(DATA), 0) == DATA


def delete(node: Node) -> None:
    assert node.store.invalidate(node.lab.block(1))


@pytest.mark.parametrize("point", [Point.SAVE_BEGUN, Point.SAVE_COPIED, Point.SAVE_NAMED])
def test_a_replica_that_is_deleted_while_it_is_saved_leaves_nothing(
    lab: Lab, node: Node, at: Callable[..., None], point: Point
) -> None:
    node.write()
    at(point, lambda: delete(node))
    assert node.save() == [False]
    for kind in ("lazypersist", "tmp", "finalized"):
        assert not node.node.files(kind)
    node.check()


def append(node: Node) -> None:
    """More bytes, under a newer stamp."""
    lab = node.lab
    request = replace(
        lab.write_request(lab.block(length=BLOCK_BYTES), stage=lab.Stage.PIPELINE_SETUP_APPEND),
        latest_generation_stamp=1002,
        min_bytes_received=len(DATA),
    )
    writer = lab.Writer(node.node, request)
    assert writer.response.is_success, writer.response
    writer.send(len(DATA), b"more")
    writer.send(len(DATA) + 4, b"", last=True)
    for _ in range(writer.seqno):
        writer.ack()
    writer.close()


@pytest.mark.parametrize(
    "point", [Point.SAVE_BEGUN, Point.SAVE_COPIED, Point.SAVE_NAMED, Point.SAVED]
)
def test_a_replica_that_is_appended_to_while_it_is_saved_is_saved_anew(
    lab: Lab, node: Node, at: Callable[..., None], point: Point
) -> None:
    node.write()
    at(point, lambda: append(node))
    node.save()
    assert node.stage() is Stage.UNSAVED
    assert not node.node.files("lazypersist")
    node.check()
    assert node.save() == [True]
    assert node.node.files("lazypersist") == {"blk_1", "blk_1_1002.meta"}
    node.check()
    node.evict()
    assert node.node.content(1) == DATA + b"more"
    assert node.read(length=len(DATA) + 4, stamp=1002) == DATA + b"more"
    # Its last checksum was another one than that of what was copied.
    assert not any(isinstance(event, CorruptFound) for event in node.node.events)


def test_a_replica_is_not_evicted_while_somebody_has_it(lab: Lab, node: Node) -> None:
    node.write()
    node.save()

    class Holder:
        def stop(self, why: str) -> None:
            raise AssertionError(f"nobody is to be stopped: {why}")

    holder = Holder()
    node.store.writers.claim(lab.block(), holder, lab.block().generation_stamp)
    node.evict()
    assert (node.volume_of(), node.stage()) == (node.ram.storage_id, Stage.SAVED)
    node.store.writers.release(lab.block(), holder)
    node.evict()
    assert node.volume_of() == "DS-0"


def test_a_recovery_that_cuts_a_saved_replica_makes_its_copy_be_made_anew(
    lab: Lab, node: Node
) -> None:
    node.write()
    node.save()
    assert replica_recovery.init_recovery(node.store, lab.block(), 2000) is not None
    node.evict()  # Nobody has it, but it is under recovery.
    assert node.volume_of() == node.ram.storage_id
    replica_recovery.settle(node.store, lab.block(length=len(DATA)), 2000, 700)
    assert node.stage() is Stage.UNSAVED
    assert not node.node.files("lazypersist")
    assert node.save() == [True]
    node.check()
    node.evict()
    assert node.node.content(1) == DATA[:700]


def test_a_replica_that_is_moved_to_a_disk_leaves_no_copy(lab: Lab, node: Node) -> None:
    node.write()
    node.save()
    move_to_type(node.store, lab.block(length=len(DATA)), DISK)
    assert (node.volume_of(), node.stage()) == ("DS-0", None)
    assert not node.node.files("lazypersist")
    assert node.read() == DATA
    node.check()


def test_a_damaged_replica_is_told_of_and_is_not_saved(lab: Lab, node: Node) -> None:
    node.write()
    path = node.node.block_path(1, volume=1)
    with path.open("r+b") as file:
        file.write(b"damage")
    assert node.save() == [False]
    assert isinstance(node.node.events[-1], CorruptFound)
    assert not node.node.files("lazypersist")
    assert not node.node.files("tmp")


def test_a_replica_that_hadoop_left_without_sums_gets_them_when_it_is_saved(
    lab: Lab, node: Node
) -> None:
    node.write()
    (meta,) = node.node.block_path(1, volume=1).parent.glob("*.meta")
    with meta.open("r+b") as file:
        file.truncate(7)
    node.ram.count(lab.POOL, -(len(lab.sums_of(DATA))))
    assert node.read() == DATA
    assert node.save() == [True]
    (copy,) = Path(node.volumes[0].lazy_persist_path(lab.POOL)).rglob("*.meta")
    assert copy.read_bytes()[7:] == lab.sums_of(DATA)
    node.evict()
    assert node.read() == DATA


def test_a_lost_disk_makes_its_copies_be_made_on_another(lab: Lab) -> None:
    node = Node(lab, (DISK, RAM, DISK))
    node.write()
    node.save()
    record = node.memory.tracker.find((lab.POOL, 1))
    assert record is not None
    lost = node.store.volumes[record.target_id]
    node.store.trouble.remove_volume(lost, "it is unplugged")
    assert node.stage() is Stage.UNSAVED
    assert node.save() == [True]
    assert record.target_id != lost.storage_id
    node.evict()
    assert node.read() == DATA
    node.check()


def test_a_lost_memory_gives_its_room_back(lab: Lab) -> None:
    node = Node(lab)
    node.write()
    node.store.trouble.remove_volume(node.ram, "it is unmounted")
    assert len(node.memory.tracker) == 0
    assert node.memory.tracker.locked_bytes == 0
    node.write(2)
    assert node.volume_of(2) == "DS-0"


def test_copies_take_the_places_of_what_was_lost_with_its_memory(lab: Lab) -> None:
    node = Node(lab)
    node.write(1)
    node.save()
    node.write(2)
    node.store.trouble.remove_volume(node.ram, "it was taken out", tell=False)
    received = ReplicaReceived(lab.block(1, length=len(DATA)), "DS-0")
    lab.wait_until(lambda: received in node.node.events)
    assert node.read(1) == DATA
    assert node.store.find_id(lab.POOL, 2) is None
    assert not node.node.files("lazypersist")
    assert node.memory.tracker.locked_bytes == 0
    assert len(node.store.writers) == 0
    node.check()


def test_a_deletion_that_comes_with_a_rescue_is_told_after_it(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(lab)
    node.write()
    assert node.save() == [True]
    node.node.events.clear()
    deletion = threading.Thread(target=delete, args=(node,))

    def sync_late(directories: tuple[str, ...]) -> None:
        deletion.start()
        deletion.join(0.3)
        sync_directories(directories)

    monkeypatch.setattr(evicting, "sync_directories", sync_late)
    node.store.trouble.remove_volume(node.ram, "it was taken out", tell=False)
    wait_until(lambda: any(isinstance(event, ReplicaReceived) for event in node.node.events))
    deletion.join(30)
    assert [type(event) for event in node.node.events] == [ReplicaReceived, ReplicaDeleted]
    node.check()


def failing(patch: pytest.MonkeyPatch, name: str, number: int) -> list[bool]:
    """Call `number` of `os.<name>` fails; the list has an entry when it has."""
    call, seen, failed = getattr(os, name), [0], []

    def fake(*arguments: Any, **more: Any) -> Any:
        seen[0] += 1
        if seen[0] == number + 1:
            failed.append(True)
            raise OSError(errno.ENOSPC, "no room", str(arguments[0]))
        return call(*arguments, **more)

    patch.setattr(os, name, fake)
    return failed


@pytest.mark.parametrize("name", CALLS)
def test_wherever_a_disk_fails_in_a_save_it_is_saved_the_next_time(
    lab: Lab, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(MOST_CALLS):
        node = Node(lab)
        node.write()
        with monkeypatch.context() as patch:
            failed = failing(patch, name, number)
            with contextlib.suppress(OSError):
                node.save()
        if not failed:
            assert number, f"a save calls os.{name}"
            return
        assert node.read() == DATA
        node.save()
        assert node.stage() is Stage.SAVED
        node.evict()
        assert node.read() == DATA
        assert node.volume_of() == "DS-0"
    raise AssertionError(f"os.{name} is called more than {MOST_CALLS} times")


@pytest.mark.parametrize("name", [name for name in CALLS if name not in ("sendfile", "pread")])
def test_wherever_a_disk_fails_in_an_eviction_the_replica_can_be_read(
    lab: Lab, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(MOST_CALLS):
        node = Node(lab)
        node.write()
        node.save()
        with monkeypatch.context() as patch:
            failed = failing(patch, name, number)
            node.evict()
        if not failed:
            return
        assert node.read() == DATA
        received = [e for e in node.node.events if isinstance(e, ReplicaReceived)]
        assert received[-1].storage_id == node.volume_of()
        assert len(node.store.writers) == 0
        node.save()
        node.evict()
        assert node.read() == DATA
    raise AssertionError(f"os.{name} is called more than {MOST_CALLS} times")


# --- starts ---


def again(node: Node) -> Node:
    """The datanode starts anew on its directories."""
    node.node.close()
    return Node(node.lab, root=node.node.root)


def test_a_start_takes_what_was_saved_before_what_is_in_memory(lab: Lab, node: Node) -> None:
    node.write(1)
    node.save()
    node.write(2)
    node = again(node)
    assert [node.volume_of(n) for n in (1, 2)] == ["DS-0", node.ram.storage_id]
    assert node.stage(2) is Stage.UNSAVED
    assert (node.read(1), node.read(2)) == (DATA, DATA)
    assert not Path(node.volumes[0].lazy_persist_path(lab.POOL)).exists()
    node.check()


def files_of(node: Node, stamp: int = 1001) -> tuple[Path, Path, Path]:
    """(block and meta file below `lazypersist`, the directory of the finalized replica)."""
    disk, pool = node.volumes[0], node.lab.POOL
    below = Path(disk.lazy_persist_path(pool), "subdir0", "subdir0")
    final = Path(disk.finalized_directory(pool, 1))
    return below / "blk_1", below / f"blk_1_{stamp}.meta", final


def lose_memory(node: Node) -> None:
    for path in Path(node.ram.finalized_path(node.lab.POOL)).rglob("blk_*"):
        path.unlink()


def test_a_start_ends_an_eviction_that_was_cut_off(lab: Lab, node: Node) -> None:
    node.write()
    node.save()
    block, meta, final = files_of(node)
    final.mkdir(parents=True)
    meta.rename(final / meta.name)
    assert block.exists()
    lose_memory(node)
    node = again(node)
    assert node.read() == DATA
    node.check()


def test_a_start_deletes_the_sums_of_a_copy_that_was_cut_off(lab: Lab, node: Node) -> None:
    node.write()
    node.save()
    block, _, _ = files_of(node)
    block.unlink()
    lose_memory(node)
    node = again(node)
    assert node.store.find(lab.block()) is None
    assert not node.node.files("finalized")
    assert not node.node.files("quarantine")


def test_a_start_moves_a_block_without_sums_aside(lab: Lab, node: Node) -> None:
    node.write()
    node.save()
    _, meta, _ = files_of(node)
    meta.unlink()
    lose_memory(node)
    node = again(node)
    assert node.store.find(lab.block()) is None
    assert node.node.files("quarantine") == {"blk_1"}


def test_a_start_prefers_what_is_newer_in_memory(lab: Lab, node: Node) -> None:
    node.write()
    node.save()
    block, meta, _ = files_of(node)
    old = block.read_bytes(), meta.read_bytes()
    append(node)
    block.write_bytes(old[0])
    meta.write_bytes(old[1])
    node = again(node)
    assert node.volume_of() == node.ram.storage_id
    assert node.read(length=len(DATA) + 4, stamp=1002) == DATA + b"more"


@pytest.mark.parametrize(("saved", "final"), [(1002, 1001), (1001, 1002)])
def test_a_start_keeps_the_newer_of_a_copy_and_a_replica(
    lab: Lab, node: Node, saved: int, final: int
) -> None:
    node.write()
    node.save()
    block, meta, directory = files_of(node)
    directory.mkdir(parents=True)
    (directory / "blk_1").write_bytes(block.read_bytes())
    (directory / f"blk_1_{final}.meta").write_bytes(meta.read_bytes())
    meta.rename(meta.with_name(f"blk_1_{saved}.meta"))
    lose_memory(node)
    node = again(node)
    found = node.store.find(lab.block())
    assert found is not None
    assert found.generation_stamp == max(saved, final)
    assert node.read(stamp=max(saved, final)) == DATA
    assert node.node.files("quarantine") == {"blk_1", f"blk_1_{min(saved, final)}.meta"}


# --- limits ---


def test_more_memory_than_the_system_grants_stops_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (65536, 65536))
    conf = Configuration({"dfs.datanode.max.locked.memory": "65537"})
    with pytest.raises(
        errors.InvalidConfiguration, match=r"of 65537 bytes is more than .* of 65536 bytes"
    ):
        DataSettings.of(conf)
    fits = Configuration({"dfs.datanode.max.locked.memory": "65536"})
    assert DataSettings.of(fits).memory_bytes == 65536


def test_another_order_of_eviction_is_refused() -> None:
    name = keys.DFS_DATANODE_RAM_DISK_REPLICA_TRACKER.name
    conf = Configuration({name: "org.example.Fifo"})
    with pytest.raises(errors.InvalidConfiguration, match=name):
        DataSettings.of(conf)


def test_an_append_without_room_in_memory_is_refused(lab: Lab, node: Node) -> None:
    node.write(1)
    for number in range(2, 5):
        node.write(number)
    node.memory.tracker.limit_bytes = node.memory.tracker.locked_bytes
    replica = node.store.find(lab.block())
    assert replica is not None
    node.memory.reopen(lab.POOL, replica)
    with pytest.raises(errors.DiskOutOfSpace, match="which is in memory"):
        node.memory.grow(lab.POOL, replica, LIMIT)
    node.memory.settled(lab.POOL, replica)
    assert node.stage() is Stage.UNSAVED


def test_a_volume_that_was_taken_out_and_comes_back_gets_copies_as_what_it_is_now(
    node: Node,
) -> None:
    """Its account, and its lock, are those of the volume that is used."""
    node.write(1)
    assert node.lazy_writer.deal() == 1
    wait_until(lambda: node.stage(1) is Stage.SAVED)
    old = next(volume for volume in node.volumes if not volume.is_transient)
    node.store.trouble.remove_volume(old, "it was taken out", tell=False)
    node.store.volumes.remove(old)
    new = Volume(old.path, old.storage_id)
    new.count(node.lab.POOL, old.pool_used_bytes(node.lab.POOL))
    node.store.volumes.add(new)
    node.write(2)
    used = new.pool_used_bytes(node.lab.POOL)
    assert node.lazy_writer.deal() == 2
    wait_until(lambda: [node.stage(each) for each in (1, 2)] == [Stage.SAVED] * 2)
    assert new.pool_used_bytes(node.lab.POOL) > used + len(DATA)


def test_a_replica_that_no_thread_could_save_is_saved_in_the_next_round(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_thread(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    node = Node(lab)
    node.write()
    with monkeypatch.context() as without:
        without.setattr(threading.Thread, "start", no_thread)
        with pytest.raises(RuntimeError):
            node.lazy_writer.deal()
    assert node.memory.tracker.unsaved == 1
    assert node.lazy_writer.deal() == 1
    wait_until(lambda: node.memory.tracker.unsaved == 0)


def test_the_memory_of_a_replica_that_left_is_free_though_its_old_files_stay(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(pool_id: str, replica: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    node = Node(lab)
    node.write()
    assert node.save() == [True]
    monkeypatch.setattr(node.store, "delete_left_behind", fails)
    evicting.make_room(node.store, LIMIT)
    assert node.memory.tracker.locked_bytes == 0
    assert node.store.find_id(lab.POOL, 1).volume_id != node.ram.storage_id


def test_the_control_process_hears_of_a_rescued_copy_whose_directories_cannot_be_synced(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(directories: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    node = Node(lab)
    node.write()
    assert node.save() == [True]
    node.node.events.clear()
    monkeypatch.setattr(evicting, "sync_directories", fails)
    node.store.trouble.remove_volume(node.ram, "it is unmounted")
    wait_until(lambda: any(isinstance(each, ReplicaReceived) for each in node.node.events))
    replica = node.store.find_id(lab.POOL, 1)
    assert replica is not None
    assert replica.volume_id != node.ram.storage_id


def test_a_copy_whose_files_cannot_be_closed_holds_its_block_no_more(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Holder:
        def stop(self, why: str) -> None:
            raise AssertionError("nobody writes any more")

    node = Node(lab).node
    spec = lab.SPEC
    block = lab.block(9)
    writer = node.store.create(block, spec, DISK, temporary=True, holder=Holder())
    monkeypatch.setattr(type(writer), "close", failing_close)
    with pytest.raises(OSError, match="Input/output error"):
        node.store.abandon(writer)
    assert node.store.find_id(lab.POOL, 9) is None
    assert len(node.store.writers) == 0


def failing_close(writer: object) -> None:
    raise OSError(errno.EIO, "Input/output error")
