"""A disk that hangs or fails costs what lies on it, and nothing of the others."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from howdah import errors
from howdah.datanode.channel.shared_counters import Gauges
from howdah.datanode.control.control_process import ControlProcess
from howdah.datanode.control.directories import DataDirectories
from howdah.datanode.control.replica_index import ReplicaIndex
from howdah.datanode.control.reports import Namespace
from howdah.datanode.process.volume_workers import VolumeWorkers
from howdah.datanode.replicas import store
from howdah.datanode.replicas.files import delete_files
from howdah.datanode.replicas.startup_scan import scan_all
from howdah.datanode.state.messages import (
    CorruptFound,
    DeletionEnded,
    ReplicaDeleted,
    Transfer,
    VolumeFailed,
)
from howdah.datanode.state.replicas.replicas import ReplicaMap
from howdah.datanode.transfer.copies import Copies
from howdah.datanode.volumes import usage as volume_usage
from howdah.datanode.volumes import volumes
from howdah.datanode.volumes.volumes import Volume
from howdah.protocol.data_transfer.blocks import StorageType
from howdah.protocol.data_transfer.op_requests import BlockChecksum, encode_request
from howdah.protocol.data_transfer.responses import read_response
from howdah.protocol.data_transfer.status import Status
from howdah.runtime.sockets import Connection
from howdah.testing.waiting import wait_until

Lab = Any
Patch = pytest.MonkeyPatch
DATA = bytes(3000)
NAMESPACE = Namespace(5, "CID-1", 0, "BP-1-127.0.0.1-1", "3.5.0")


@pytest.fixture
def node(lab: Lab) -> Any:
    """Two volumes, with block 1 and 3 on the first, 2 and 4 on the second."""
    made = lab.node(types=(StorageType.DISK, StorageType.DISK))
    for block_id in range(1, 5):
        lab.write_block(made, lab.block(block_id), DATA)
    assert [made.replicas.find(lab.POOL, number).volume_id for number in range(1, 5)] == [
        "DS-0",
        "DS-1",
        "DS-0",
        "DS-1",
    ]
    return made


class Hanging:
    """Calls of `os.name` for paths below a volume wait until they are let go."""

    def __init__(self, monkeypatch: Patch, volume: Volume, name: str) -> None:
        self._real: Callable[..., Any] = getattr(os, name)
        self._below = volume.path
        self._go = threading.Event()
        self.entered = threading.Event()
        monkeypatch.setattr(os, name, self._call)

    def _call(self, path: Any, *arguments: Any, **options: Any) -> Any:
        if str(path).startswith(self._below) and not self._go.is_set():
            self.entered.set()
            assert self._go.wait(60)
        return self._real(path, *arguments, **options)

    def end(self) -> None:
        self._go.set()


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def failing(monkeypatch: Patch, name: str, code: int, meant: Callable[[str], bool]) -> None:
    """`os.name` fails for paths that are meant."""
    real = getattr(os, name)

    def maybe(path: Any, *arguments: Any, **options: Any) -> Any:
        if meant(str(path)):
            raise OSError(code, os.strerror(code))
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, name, maybe)


# --- hangs ---


def test_a_disk_that_hangs_in_a_change_keeps_nobody_from_the_other_disks(
    node: Any, lab: Lab, monkeypatch: Patch, threads: ThreadPoolExecutor
) -> None:
    hanging = Hanging(monkeypatch, node.volumes.all[0], "rename")
    try:
        writing = threads.submit(lab.write_block, node, lab.block(5), DATA)
        assert hanging.entered.wait(10)
        reading = threads.submit(lab.read_block, node, lab.read_request(lab.block(2), 0, 3000))
        assert reading.result(10).data == DATA
        assert threads.submit(node.store.visible_length, lab.block(3)).result(10) == 3000
        assert threads.submit(node.store.invalidate, lab.block(4)).result(10)
        assert not writing.done()
    finally:
        hanging.end()
    writing.result(10)
    assert node.content(5) == DATA


def test_a_reader_of_a_disk_that_hangs_in_a_change_goes_on_with_what_is_there(
    node: Any, lab: Lab, monkeypatch: Patch, threads: ThreadPoolExecutor
) -> None:
    hanging = Hanging(monkeypatch, node.volumes.all[0], "rename")
    try:
        writing = threads.submit(lab.write_block, node, lab.block(5), DATA)
        assert hanging.entered.wait(10)
        reading = threads.submit(lab.read_block, node, lab.read_request(lab.block(3), 0, 3000))
        assert reading.result(10).data == DATA
    finally:
        hanging.end()
    writing.result(10)


def test_deletions_of_one_disk_do_not_wait_for_those_of_another(
    node: Any, lab: Lab, monkeypatch: Patch
) -> None:
    workers = VolumeWorkers(node.store)
    workers.start()
    hanging = Hanging(monkeypatch, node.volumes.all[0], "unlink")
    try:
        workers.invalidate([lab.block(1), lab.block(9), lab.block(2), lab.block(4)])
        assert hanging.entered.wait(10)
        wait_until(
            lambda: (
                {e.block.block_id for e in node.events if isinstance(e, ReplicaDeleted)}
                == {2, 4, 9}
            )
        )
    finally:
        hanging.end()
    wait_until(lambda: node.replicas.find(lab.POOL, 1) is None)


def test_a_disk_that_does_not_answer_a_check_in_time_is_left(
    node: Any, lab: Lab, monkeypatch: Patch
) -> None:
    real, go = Volume.probe, threading.Event()

    def probe(volume: Volume, pools: Any) -> OSError | None:
        if volume is node.volumes.all[0]:
            assert go.wait(60)
        return real(volume, pools)

    monkeypatch.setattr(Volume, "probe", probe)
    VolumeWorkers(node.store, check_timeout_s=0.05).check()
    failed = node.wait_for(VolumeFailed)
    assert (failed.storage_id, "does not answer" in failed.reason) == ("DS-0", True)
    go.set()
    assert node.store.block_counts() == {"DS-0": 0, "DS-1": 2}


def test_new_blocks_go_round_a_disk_that_hangs_and_it_has_to_prove_itself(
    node: Any, lab: Lab, monkeypatch: Patch, threads: ThreadPoolExecutor
) -> None:
    monkeypatch.setattr(volumes, "HANGS_AFTER_S", 0.05)
    checks: list[str] = []
    node.volumes.on_hang = lambda: checks.append("check")
    hanging = Hanging(monkeypatch, node.volumes.all[0], "rename")
    try:
        writing = threads.submit(lab.write_block, node, lab.block(5), DATA)
        assert hanging.entered.wait(10)
        wait_until(lambda: node.volumes.all[0].hangs)
        for block_id in range(6, 10):
            threads.submit(lab.write_block, node, lab.block(block_id), DATA).result(10)
            assert node.replicas.find(lab.POOL, block_id).volume_id == "DS-1"
    finally:
        hanging.end()
    writing.result(10)
    assert checks
    assert not node.volumes.all[0].hangs


def test_a_heartbeat_waits_for_no_disk_that_hangs(node: Any, lab: Lab, monkeypatch: Patch) -> None:
    monkeypatch.setattr(volume_usage.ask_all, "__defaults__", (0.05,))
    inventory = ReplicaIndex(node.volumes, node.replicas, Gauges(2))
    before = inventory.states(lab.POOL)
    assert [state.hangs for state in before] == [False, False]
    hanging = Hanging(monkeypatch, node.volumes.all[0], "statvfs")
    try:
        states = inventory.states(lab.POOL)
        assert [state.hangs for state in states] == [True, False]
        assert states[0].usage is not None
        assert states[0].failure is None
        assert inventory.states(lab.POOL)[0].hangs
        unheard = ReplicaIndex(node.volumes, node.replicas, Gauges(2)).states(lab.POOL)
        assert "does not say" in (unheard[0].failure or "")
    finally:
        hanging.end()
    wait_until(lambda: not inventory.states(lab.POOL)[0].hangs)


def test_a_defect_in_a_deletion_leaves_the_next_one_its_turn(
    node: Any, lab: Lab, monkeypatch: Patch, caplog: pytest.LogCaptureFixture
) -> None:
    real = node.store.invalidate

    def invalidate(block: Any) -> bool:
        if block.block_id == 1:
            raise RuntimeError("a defect")
        return bool(real(block))

    monkeypatch.setattr(node.store, "invalidate", invalidate)
    workers = VolumeWorkers(node.store)
    workers.start()
    workers.invalidate([lab.block(1), lab.block(3)])
    wait_until(lambda: node.replicas.find(lab.POOL, 3) is None)
    assert "failed on a defect" in caplog.text


def test_the_control_process_hears_of_the_end_of_each_deletion_order(
    node: Any, lab: Lab, monkeypatch: Patch
) -> None:
    real = node.store.invalidate

    def invalidate(block: Any) -> bool:
        if block.block_id == 1:
            raise OSError("the disk refuses")
        return bool(real(block))

    monkeypatch.setattr(node.store, "invalidate", invalidate)
    workers = VolumeWorkers(node.store)
    workers.start()
    there_is_none = lab.block(99)
    workers.invalidate([lab.block(1), there_is_none, lab.block(3)])
    wait_until(
        lambda: (
            {event.block.block_id for event in node.events if isinstance(event, DeletionEnded)}
            == {1, 3, 99}
        )
    )


def test_an_order_that_is_given_again_deletes_no_replica_that_comes_after_the_first(
    node: Any, lab: Lab, monkeypatch: Patch
) -> None:
    deleted: list[int] = []
    real = node.store.invalidate

    def invalidate(block: Any) -> bool:
        deleted.append(block.block_id)
        return bool(real(block))

    monkeypatch.setattr(node.store, "invalidate", invalidate)
    workers = VolumeWorkers(node.store)
    workers.invalidate([lab.block(1), lab.block(1), lab.block(99), lab.block(99)])
    workers.start()
    wait_until(lambda: sum(isinstance(event, DeletionEnded) for event in node.events) == 4)
    assert sorted(deleted) == [1, 99]
    lab.write_block(node, lab.block(1), DATA)
    workers.invalidate([lab.block(1)])
    wait_until(lambda: node.replicas.find(lab.POOL, 1) is None)


def test_a_volume_report_counts_without_a_walk(node: Any, lab: Lab, monkeypatch: Patch) -> None:
    def walk(replicas: ReplicaMap, volume_id: str) -> Any:
        raise AssertionError("all replicas are walked over")

    monkeypatch.setattr(ReplicaMap, "of_volume", walk)
    assert node.store.block_counts() == {"DS-0": 2, "DS-1": 2}
    node.store.invalidate(lab.block(1))
    lab.write_block(node, lab.block(5), DATA)
    assert node.store.block_counts() == {"DS-0": 2, "DS-1": 2}


# --- errors ---


def scanned(node: Any) -> ReplicaMap:
    for volume in node.volumes.all:
        volume.failure = None
    replicas = ReplicaMap()
    scan_all(node.volumes, replicas)
    return replicas


@pytest.mark.parametrize("what", ["", "/current/BP-7-127.0.0.1-1/current/finalized"])
def test_a_disk_that_cannot_be_scanned_costs_its_volume_alone(
    node: Any, lab: Lab, monkeypatch: Patch, what: str
) -> None:
    bad = node.volumes.all[0]
    for name in ("scandir", "listdir"):
        failing(monkeypatch, name, errno.EIO, lambda path: path.startswith(bad.path + what))
    replicas = scanned(node)
    assert {replica.block_id for replica in replicas.of_pool(lab.POOL)} == {2, 4}
    assert "Input/output error" in bad.failure
    assert node.volumes.all[1].failure is None


def test_a_file_that_cannot_be_read_costs_its_block_alone(
    node: Any, lab: Lab, monkeypatch: Patch
) -> None:
    failing(monkeypatch, "stat", errno.EIO, lambda path: path.endswith("/blk_1"))
    replicas = scanned(node)
    assert {replica.block_id for replica in replicas.of_pool(lab.POOL)} == {2, 3, 4}
    assert [volume.failure for volume in node.volumes.all] == [None, None]


def test_a_disk_that_reads_no_file_and_cannot_be_written_is_left(
    node: Any, lab: Lab, monkeypatch: Patch
) -> None:
    bad = node.volumes.all[0]
    failing(monkeypatch, "stat", errno.EIO, lambda path: "blk_" in path and bad.path in path)
    monkeypatch.setattr(
        Volume, "probe", lambda self, pools: OSError(errno.EIO, "dead") if self is bad else None
    )
    replicas = scanned(node)
    assert {replica.block_id for replica in replicas.of_pool(lab.POOL)} == {2, 4}
    assert "dead" in bad.failure


@pytest.mark.parametrize(("tolerated", "stops"), [(0, True), (1, False), (-1, False)])
def test_a_volume_that_failed_at_the_start_counts_against_what_is_tolerated(
    node: Any, tolerated: int, stops: bool
) -> None:
    control: Any = object.__new__(ControlProcess)
    control._tolerated, control._failed_at_start = tolerated, 0
    assert ControlProcess._too_many_failures(control, node.volumes) == ""
    node.volumes.all[0].failure = "its scan failed"
    assert ("its scan failed" in ControlProcess._too_many_failures(control, node.volumes)) is stops
    node.volumes.all[1].failure = "too"
    assert ControlProcess._too_many_failures(control, node.volumes)


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_a_volume_that_cannot_join_is_left_and_the_others_do(
    tmp_path: Path, monkeypatch: Patch, code: int
) -> None:
    directories = DataDirectories.open([("DISK", tmp_path / "a"), ("DISK", tmp_path / "b")])
    first, second = directories.volumes.all
    real = Volume.make_pool_directories

    def make(volume: Volume, pool_id: str) -> None:
        if volume is first:
            raise OSError(code, os.strerror(code))
        real(volume, pool_id)

    monkeypatch.setattr(Volume, "make_pool_directories", make)
    ((left, reason),) = directories.join(NAMESPACE)
    assert (left, os.strerror(code) in reason) == (first, True)
    assert os.path.isdir(second.rbw_path(NAMESPACE.pool_id))
    directories.close()


def test_a_process_without_descriptors_leaves_no_volume(tmp_path: Path, monkeypatch: Patch) -> None:
    directories = DataDirectories.open([("DISK", tmp_path / "a")])

    def make(volume: Volume, pool_id: str) -> None:
        raise OSError(errno.EMFILE, "too many open files")

    monkeypatch.setattr(Volume, "make_pool_directories", make)
    with pytest.raises(OSError, match="too many"):
        directories.join(NAMESPACE)
    directories.close()


# --- what is met while a replica is read ---


@pytest.fixture(params=[3000, 200_000])
def unreadable_bytes(request: Any, node: Any, lab: Lab, monkeypatch: Patch) -> int:
    """The length of block 5, on the first volume, whose bytes cannot be read. Those of a short
    replica go by way of memory, others from file to socket."""

    def unreadable(*_: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Connection, "send_file", unreadable)
    monkeypatch.setattr("howdah.datanode.transfer.sender.read_exactly", unreadable)
    length: int = request.param
    lab.write_block(node, lab.block(5), bytes(length))
    return length


def test_a_disk_error_while_a_replica_is_copied_is_told(
    node: Any, lab: Lab, unreadable_bytes: int
) -> None:
    target = lab.node()
    order = Transfer(lab.block(5, length=unreadable_bytes), (target.address,), (), ())
    Copies(node.store, node.settings).start(order).join(20)
    told = node.wait_for(CorruptFound)
    assert (told.block.block_id, told.storage_id, told.node) == (5, "DS-0", None)
    assert "unreadable" in told.reason


def test_a_disk_that_dies_while_a_replica_is_copied_is_left(
    node: Any, lab: Lab, unreadable_bytes: int, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(Volume, "probe", lambda self, pools: OSError(errno.EIO, "dead"))
    target = lab.node()
    order = Transfer(lab.block(5, length=unreadable_bytes), (target.address,), (), ())
    Copies(node.store, node.settings).start(order).join(20)
    assert node.wait_for(VolumeFailed).storage_id == "DS-0"


def test_a_far_end_that_breaks_off_a_copy_is_no_damage(
    node: Any, lab: Lab, monkeypatch: Patch
) -> None:
    target = lab.node()
    target.close()
    order = Transfer(lab.block(1, length=3000), (target.address,), (), ())
    Copies(node.store, node.settings).start(order).join(20)
    assert not [e for e in node.events if isinstance(e, CorruptFound | VolumeFailed)]


def test_a_replica_that_lacks_bytes_which_the_namenode_knows_of_is_no_source(
    node: Any, lab: Lab
) -> None:
    target = lab.node()
    order = Transfer(lab.block(1, length=3001), (target.address,), (), ())
    Copies(node.store, node.settings).start(order).join(20)
    assert "3001" in node.wait_for(CorruptFound).reason


def test_a_disk_error_while_a_replica_is_summed_is_told(
    node: Any, lab: Lab, monkeypatch: Patch
) -> None:
    def pread(fd: int, count: int, offset: int) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("howdah.datanode.transfer.sender.os", SimpleNamespace(pread=pread))
    with node.connect() as connection:
        connection.send_all(encode_request(BlockChecksum(lab.block(1, length=3000))))
        assert not read_response(connection).is_success
    assert "unreadable" in node.wait_for(CorruptFound).reason


# --- a block that comes back ---


def test_a_copy_of_a_block_that_is_just_deleted_keeps_its_files(
    lab: Lab, monkeypatch: Patch, threads: ThreadPoolExecutor
) -> None:
    node, source = lab.node(), lab.node()
    for one in (node, source):
        lab.write_block(one, lab.block(1), DATA)
    entered, go = threading.Event(), threading.Event()

    def slowly(paths: tuple[str, ...]) -> int:
        entered.set()
        assert go.wait(30)
        return delete_files(paths)

    monkeypatch.setattr(store, "delete_files", slowly)
    deleting = threads.submit(node.store.invalidate, lab.block(1))
    assert entered.wait(10)
    order = Transfer(lab.block(1, length=3000), (node.address,), (), ())
    Copies(source.store, source.settings).start(order).join(20)
    wait_until(lambda: node.replicas.find(lab.POOL, 1) is not None)
    node.wait_idle()
    go.set()
    assert deleting.result(10)
    assert node.content(1) == DATA
    assert lab.read_block(node, lab.read_request(lab.block(1), 0, 3000)).data == DATA
    assert node.files("tmp") == set()


@pytest.mark.parametrize("with_mirror", [False, True])
def test_who_writes_to_a_volume_that_is_left_is_stopped(lab: Lab, with_mirror: bool) -> None:
    """Or it would acknowledge bytes of a replica that nobody finds any more."""
    node = lab.node()
    mirrors = [lab.node()] if with_mirror else []
    writer = lab.Writer(node, lab.write_request(lab.block(7), *mirrors))
    writer.send(0, DATA[:700])
    assert writer.ack().replies[0] is Status.SUCCESS
    volume = node.volumes.all[0]
    node.store.trouble.remove_volume(volume, "it was taken out", tell=False)
    assert node.store.find_id(lab.POOL, 7) is None
    with pytest.raises((errors.HowdahError, OSError)):  # noqa: PT012 - the first may still leave
        for start in (700, 1000, 1300):
            writer.send(start, DATA[start : start + 300], sync=True)
            writer.ack()
    writer.close()
    node.wait_idle()


def test_a_new_replica_is_told_behind_the_absence_of_the_old_one(lab: Lab) -> None:
    node = lab.node(types=(StorageType.DISK, StorageType.DISK))
    target = lab.block(7)
    is_telling, may_go_on = threading.Event(), threading.Event()
    told, plain = [], node.store._notify

    def notify(event: Any) -> None:
        if isinstance(event, ReplicaDeleted) and not is_telling.is_set():
            is_telling.set()
            assert may_go_on.wait(60)
        told.append(type(event).__name__)
        plain(event)

    node.store._notify = notify
    with ThreadPoolExecutor(2) as pool:
        deletion = pool.submit(node.store.invalidate, target)
        assert is_telling.wait(60)
        writing = pool.submit(lab.write_block, node, target, DATA)
        assert not wait([writing], 0.2).done, "it waits for who tells"
        may_go_on.set()
        assert deletion.result(60) is False
        writing.result(60)
    assert told[:2] == ["ReplicaDeleted"] * 2
    assert "ReplicaDeleted" not in told[2:]
    assert node.store.find_id(lab.POOL, 7) is not None
