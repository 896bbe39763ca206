"""Several who want one replica at once, and disks and machines that fail in between.

Whatever happens, the books of a volume agree with its files, nobody holds a replica that
he doesn't write, and what was acknowledged is found by whoever comes next.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.datanode.recovery import replica_recovery
from howdah.datanode.replicas import files as replica_files
from howdah.datanode.replicas import store
from howdah.datanode.replicas.writer_registry import BriefHold, Writers
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.messages import ReplicaDeleted
from howdah.datanode.state.replicas.page_cache import CachePolicy
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.transfer import relay
from howdah.datanode.transfer.data_server import listen
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock, StorageType
from howdah.protocol.data_transfer.op_requests import (
    Stage,
    TransferBlock,
    WriteBlock,
    encode_request,
)
from howdah.protocol.data_transfer.packets import PacketHeader, encode_packet
from howdah.protocol.data_transfer.responses import read_response
from howdah.protocol.data_transfer.short_circuit import SlotId
from howdah.runtime.sockets import PeerClosed

Lab = Any
DATA = bytes(range(256)) * 10
ID = 1007
STREAMING = Stage.PIPELINE_SETUP_STREAMING_RECOVERY
Patch = pytest.MonkeyPatch


@pytest.fixture
def node(lab: Lab) -> Any:
    return lab.node()


def open_replica(lab: Lab, node: Any, data: bytes = DATA, block_id: int = 1) -> Any:
    """A writer whose bytes are acknowledged."""
    writer = lab.Writer(node, lab.write_request(lab.block(block_id, length=1 << 20)))
    writer.send(0, data)
    assert writer.ack().is_success
    return writer


def again(lab: Lab, stage: Stage, acked: int, stamp: int, block_id: int = 1) -> WriteBlock:
    request: WriteBlock = lab.write_request(lab.block(block_id, length=1 << 20), stage=stage)
    return replace(
        request,
        min_bytes_received=acked,
        max_bytes_received=len(DATA),
        latest_generation_stamp=stamp,
    )


def take_and_settle(lab: Lab, node: Any, length: int, recovery_id: int, block_id: int = 1) -> None:
    found = replica_recovery.init_recovery(node.store, lab.block(block_id), recovery_id)
    assert found is not None
    replica_recovery.settle(node.store, found.as_block(lab.POOL), recovery_id, length)


def check_books(lab: Lab, node: Any) -> None:
    """No writer, no promise, and the volumes count just what their files have."""
    node.wait_idle()
    assert len(node.store.writers) == 0
    for volume in node.volumes.all:
        assert volume.promised_bytes == 0
        current = Path(volume.pool_path(lab.POOL))
        used = sum(
            path.stat().st_size
            for path in current.rglob("blk_*")
            if path.is_file() and "quarantine" not in path.parts
        )
        assert volume.pool_used_bytes(lab.POOL) == used


def failing_once(monkeypatch: Patch, name: str, code: int, meant: Callable[..., bool]) -> None:
    """`os.name` fails at the first call that is meant."""
    real, left = getattr(os, name), [1]

    def maybe(*arguments: Any, **options: Any) -> Any:
        if left and meant(*arguments):
            left.clear()
            raise OSError(code, os.strerror(code))
        return real(*arguments, **options)

    monkeypatch.setattr(os, name, maybe)


# --- several at once ---


def test_a_reader_that_comes_while_a_replica_is_made_does_no_harm(
    lab: Lab, node: Any, monkeypatch: Patch
) -> None:
    real, entered, go = replica_files.create_files, threading.Event(), threading.Event()

    def slowly(*arguments: Any) -> Any:
        entered.set()
        assert go.wait(10)
        return real(*arguments)

    monkeypatch.setattr(store, "create_files", slowly)
    with ThreadPoolExecutor(2) as threads:
        writing = threads.submit(lab.write_block, node, lab.block(), DATA)
        assert entered.wait(10)
        reading = threads.submit(lambda: node.store.open(lab.block()).close())
        go.set()
        reading.result(10)
        writing.result(10)
    assert node.content(1) == DATA


@pytest.mark.req("FS-124")
def test_of_two_clients_that_rebuild_one_pipeline_at_once_one_has_it(lab: Lab, node: Any) -> None:
    for block_id in range(1, 9):
        open_replica(lab, node, DATA[:700], block_id)
        start = threading.Barrier(2)

        def rebuild(stamp: int, block_id: int = block_id, start: Any = start) -> bool:
            start.wait(10)
            try:
                writer = lab.Writer(node, again(lab, STREAMING, 700, stamp, block_id))
                if not writer.response.is_success:
                    return False
                writer.send(512, DATA[512:])
                writer.send(len(DATA), b"", last=True)
                return bool(writer.ack().is_success and writer.ack().is_success)
            except PeerClosed:
                return False

        with ThreadPoolExecutor(2) as threads:
            won = list(threads.map(rebuild, (1002, 1003)))
        # The one with the newer stamp, unless the other had come to the end before; who is
        # stopped at the very end may have lost no more than its last ack.
        assert won.count(True) <= 1
        replica = node.store.find(lab.block(block_id))
        assert replica.generation_stamp == 1002 + (won.index(True) if any(won) else 0)
        assert node.content(block_id) == DATA
    check_books(lab, node)


@pytest.mark.req("FS-124")
def test_a_late_attempt_at_a_pipeline_does_not_stop_the_one_that_overtook_it(
    lab: Lab, node: Any
) -> None:
    open_replica(lab, node, DATA[:700]).close()
    present = lab.Writer(node, again(lab, STREAMING, 700, 1003))
    assert (
        "one under 1003 has it"
        in lab.Writer(node, again(lab, STREAMING, 700, 1002)).response.message
    )
    present.send(512, DATA[512:])
    assert present.ack().is_success


def test_a_recovery_does_not_wait_for_a_copy_of_its_replica(lab: Lab, node: Any) -> None:
    data = DATA * 4000  # more than sockets take that nobody reads
    writer = lab.Writer(node, lab.write_request(lab.block(length=1 << 24)))
    writer.send(0, data)
    assert writer.ack().is_success
    with listen(("127.0.0.1", 0)) as silent, node.connect() as connection:
        target = DatanodeAddress("127.0.0.1", "localhost", "uuid-s", silent.getsockname()[1])
        request = TransferBlock(lab.block(), "client", (target,), (StorageType.DISK,), ("",))
        connection.send_all(encode_request(request))
        accepted, _ = silent.accept()
        take_and_settle(lab, node, len(data) - 100, ID)
        accepted.close()
        assert not read_response(connection).is_success
    writer.close()
    assert node.content(1) == data[:-100]
    check_books(lab, node)


def test_an_append_does_not_wait_for_a_copy_of_its_replica(lab: Lab, node: Any) -> None:
    data = DATA * 4000
    lab.write_block(node, lab.block(), data, packet_bytes=1 << 20)
    with listen(("127.0.0.1", 0)) as silent, node.connect() as connection:
        target = DatanodeAddress("127.0.0.1", "localhost", "uuid-s", silent.getsockname()[1])
        request = TransferBlock(lab.block(), "client", (target,), (StorageType.DISK,), ("",))
        connection.send_all(encode_request(request))
        accepted, _ = silent.accept()
        appending = again(lab, Stage.PIPELINE_SETUP_APPEND, len(data), 1002)
        lab.Writer(node, appending).close()
        accepted.close()
        assert not read_response(connection).is_success
    check_books(lab, node)


def test_the_books_are_right_when_a_replica_is_deleted_under_its_writer(
    lab: Lab, node: Any
) -> None:
    for _ in range(10):
        writer = open_replica(lab, node)
        writer.send(len(DATA), DATA)
        assert node.store.invalidate(lab.block())
        writer.close()
        check_books(lab, node)


def test_a_replica_whose_writer_does_not_end_is_not_deleted(lab: Lab, tmp_path: Path) -> None:
    node = lab.node()
    node.store.writers = Writers(stop_timeout_s=0.05)
    lab.write_block(node, lab.block(), DATA)
    node.store.writers.claim(lab.block(), BriefHold("a test"), 1001)
    with pytest.raises(errors.RemoteError, match=r"blk_1_1001.*does not stop"):
        node.store.invalidate(lab.block())
    assert node.content(1) == DATA


def test_how_long_a_writer_may_take_to_end_is_configured() -> None:
    key = "dfs.datanode.xceiver.stop.timeout.millis"
    assert DataSettings.of(Configuration({key: "1500"})).stop_timeout_s == 1.5


@pytest.mark.parametrize(
    "change", ["append", "close again", "recovery", "deletion", "a vanished file", "overtaken"]
)
def test_local_readers_are_told_of_every_change(lab: Lab, node: Any, change: str) -> None:
    lab.write_block(node, lab.block(), DATA)
    registry, block = node.store.short_circuit, lab.block()
    name, _ = registry.open_segment("reader")
    slots = registry._segments[name].slots
    slots.claim(0)
    registry.register(block, SlotId(name, 0))
    match change:
        case "append":
            lab.Writer(node, again(lab, Stage.PIPELINE_SETUP_APPEND, len(DATA), 1002))
        case "close again":
            request = again(lab, Stage.PIPELINE_CLOSE_RECOVERY, len(DATA), 1002)
            assert lab.Writer(node, request).response.is_success
        case "recovery":
            take_and_settle(lab, node, len(DATA), ID)
        case "deletion":
            node.store.invalidate(block)
        case "a vanished file":
            node.block_path(1).unlink()
            with pytest.raises(errors.ReplicaNotFound):
                node.store.open(block)
        case "overtaken":
            lab.Writer(node, lab.write_request(lab.block(generation_stamp=1002)))
    assert not slots.is_valid(0)
    registry.close_segment(name)


# --- disks that fail ---


@pytest.mark.req("FS-126")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("name", ["blk_1", "blk_1_1001.meta"])
def test_a_replica_that_could_not_be_finalized_is_whole_and_can_be(
    lab: Lab, node: Any, monkeypatch: Patch, code: int, name: str
) -> None:
    writer = open_replica(lab, node)
    failing_once(monkeypatch, "rename", code, lambda old, new: str(old).endswith(f"/{name}"))
    writer.send(len(DATA), b"", last=True)
    assert not writer.ack().is_success
    writer.close()
    node.wait_idle()
    assert node.files("rbw") == {"blk_1", "blk_1_1001.meta"}
    request = again(lab, Stage.PIPELINE_CLOSE_RECOVERY, len(DATA), 1002)
    assert lab.Writer(node, request).response.is_success
    assert node.content(1) == DATA
    check_books(lab, node)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("call", ["rename", "fsync", "ftruncate", "sendfile"])
def test_a_recovery_that_fails_on_the_disk_can_be_done_again(
    lab: Lab, node: Any, monkeypatch: Patch, call: str, code: int
) -> None:
    node.store.short_circuit.gives_files = True
    lab.write_block(node, lab.block(), DATA)
    failing_once(monkeypatch, call, code, lambda *_: True)
    with pytest.raises(OSError, match=os.strerror(code)):
        take_and_settle(lab, node, 700, ID)
    take_and_settle(lab, node, 700, ID + 1)
    assert node.content(1) == DATA[:700]
    assert node.files("tmp") == set()
    check_books(lab, node)


@pytest.mark.parametrize("call", ["fdatasync", "pwritev"])
def test_a_disk_that_is_full_at_a_sync_costs_the_pipeline_and_no_acknowledged_byte(
    lab: Lab, node: Any, monkeypatch: Patch, call: str
) -> None:
    # Python writes and syncs, so that it can fail here; the kernel does it without `os`.
    monkeypatch.setattr(relay, "kernel", lambda: None)
    writer = open_replica(lab, node, DATA[:700])
    failing_once(monkeypatch, call, errno.ENOSPC, lambda *_: True)
    writer.send(512, DATA[512:], sync=True)
    assert not writer.ack().is_success
    writer.close()
    node.wait_idle()
    second = lab.Writer(node, again(lab, STREAMING, 700, 1002))
    assert second.response.is_success, second.response
    second.send(512, DATA[512:])
    second.send(len(DATA), b"", last=True)
    assert second.ack().is_success
    assert second.ack().is_success
    second.close()
    assert node.content(1) == DATA
    check_books(lab, node)


def test_a_pipeline_whose_rename_fails_after_the_cut_can_be_rebuilt_again(
    lab: Lab, node: Any, monkeypatch: Patch
) -> None:
    writer = open_replica(lab, node, DATA[:700])
    failing_once(monkeypatch, "fdatasync", errno.EIO, lambda *_: True)
    writer.send(512, DATA[512:], sync=True)
    assert not writer.ack().is_success
    writer.close()
    node.wait_idle()
    replica = node.replicas.find(lab.POOL, 1)
    assert (replica.length_bytes, replica.acked_bytes) == (len(DATA), 700)
    failing_once(monkeypatch, "rename", errno.EIO, lambda path, *_: path.endswith(".meta"))
    second = lab.Writer(node, again(lab, STREAMING, 700, 1002))
    assert "Input/output error" in second.response.message
    second.close()
    node.wait_idle()
    block_path, _ = node.store.paths(lab.POOL, replica)
    assert replica.length_bytes == os.path.getsize(block_path) == 700
    check_books(lab, node)
    take_and_settle(lab, node, 700, ID)
    assert node.content(1) == DATA[:700]
    check_books(lab, node)


def test_checksums_that_find_no_room_cost_the_pipeline_and_no_acknowledged_byte(
    lab: Lab, node: Any, monkeypatch: Patch
) -> None:
    # Python writes them, so that a write can fail here; in the kernel none is a function of `os`.
    monkeypatch.setattr(relay, "kernel", lambda: None)
    writer = open_replica(lab, node, DATA[:700])
    failing_once(monkeypatch, "pwritev", errno.ENOSPC, lambda fd, *_: _path(fd).endswith(".meta"))
    writer.send(512, DATA[512:])
    assert not writer.ack().is_success
    writer.close()
    node.wait_idle()
    take_and_settle(lab, node, 700, ID)
    assert node.content(1) == DATA[:700]
    check_books(lab, node)


def _path(fd: int) -> str:
    return os.readlink(f"/proc/self/fd/{fd}")


# --- machines that have no more ---


def test_a_write_that_gets_no_thread_is_refused_and_lets_go(
    lab: Lab, node: Any, monkeypatch: Patch
) -> None:
    behind, real = lab.node(), threading.Thread.start

    def no_thread(thread: threading.Thread) -> None:
        if thread.name.startswith("acks of"):
            raise RuntimeError("can't start new thread")
        real(thread)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        writer = lab.Writer(node, lab.write_request(lab.block(length=1 << 20), behind))
        assert "can't start new thread" in writer.response.message
        assert "blk_1_1001" in writer.response.message
        writer.close()
        node.wait_idle()
    check_books(lab, node)
    assert node.files("rbw") == set()


def test_a_write_that_gets_no_descriptor_is_refused_and_lets_go(
    lab: Lab, monkeypatch: Patch
) -> None:
    node = lab.node(DataSettings(socket_timeout_s=5, cache=CachePolicy(drop_behind_writes=True)))
    failing_once(monkeypatch, "dup", errno.EMFILE, lambda *_: True)
    writer = lab.Writer(node, lab.write_request(lab.block(length=1 << 20)))
    assert "Too many open files" in writer.response.message
    writer.close()
    check_books(lab, node)
    lab.write_block(node, lab.block(), DATA)


# --- clients that lie ---


def test_an_append_that_wants_more_room_than_there_is_takes_none(lab: Lab, node: Any) -> None:
    lab.write_block(node, lab.block(), DATA)
    request = again(lab, Stage.PIPELINE_SETUP_APPEND, len(DATA), 1002)
    writer = lab.Writer(node, replace(request, block=lab.block(length=1 << 62)))
    assert "Insufficient space" in writer.response.message
    assert node.store.find(lab.block()).state is ReplicaState.FINALIZED
    check_books(lab, node)


def test_a_pipeline_that_goes_on_is_promised_no_more_than_there_is(lab: Lab, node: Any) -> None:
    open_replica(lab, node).close()
    request = again(lab, STREAMING, len(DATA), 1002)
    writer = lab.Writer(node, replace(request, block=lab.block(length=1 << 62)))
    assert writer.response.is_success
    volume = node.volumes.all[0]
    assert volume.promised_bytes <= volume.usage().capacity_bytes
    writer.close()
    check_books(lab, node)


def test_a_copy_that_ends_too_early_leaves_nothing(
    lab: Lab, node: Any, caplog: pytest.LogCaptureFixture
) -> None:
    writer = lab.Writer(node, lab.write_request(lab.block(length=len(DATA)), client=""))
    writer.send(0, DATA[:700])
    writer.send(700, b"", last=True)
    lab.wait_until(lambda: "ended after 700 bytes of 2560" in caplog.text)
    writer.close()
    check_books(lab, node)
    assert node.files("tmp") | node.files("finalized") == set()


@pytest.mark.parametrize("stage", [STREAMING, Stage.PIPELINE_SETUP_APPEND_RECOVERY])
@pytest.mark.parametrize(("least", "most"), [(701, 900), (0, 699), (1 << 63, 1 << 63), (900, 0)])
def test_lengths_that_do_not_fit_are_refused_and_nothing_is_cut(
    lab: Lab, node: Any, stage: Stage, least: int, most: int
) -> None:
    open_replica(lab, node, DATA[:700]).close()
    request = replace(again(lab, stage, least, 1002), max_bytes_received=most)
    writer = lab.Writer(node, request)
    assert "Unmatched length replica blk_1_1001" in writer.response.message
    assert node.store.find(lab.block()).length_bytes == 700
    writer.close()
    check_books(lab, node)


def test_a_second_last_packet_is_no_operation(
    lab: Lab, node: Any, caplog: pytest.LogCaptureFixture
) -> None:
    writer = open_replica(lab, node)
    last = encode_packet(PacketHeader(len(DATA), 1, True, 0))
    writer.connection.send_all(last + last)
    assert writer.ack().is_success
    with pytest.raises(PeerClosed):
        writer.ack()
    assert node.content(1) == DATA
    check_books(lab, node)
    assert "data transfer version" in caplog.text


def test_packets_that_go_back_change_nothing(lab: Lab, node: Any) -> None:
    writer = open_replica(lab, node)
    for offset in (0, 512, 1024):
        writer.seqno += 7
        writer.send(offset, bytes(512))
        assert writer.ack().seqno == writer.seqno - 1
    writer.send(0, b"", last=True)
    assert writer.ack().is_success
    writer.close()
    assert node.content(1) == DATA
    check_books(lab, node)


def test_two_hundred_slow_connections_keep_nobody_waiting(lab: Lab, node: Any) -> None:
    request = encode_request(lab.write_request(lab.block(5)))
    slow = [node.connect() for _ in range(200)]
    for number, connection in enumerate(slow):
        connection.send_all(request[: number % len(request)])
    lab.write_block(node, lab.block(6), DATA)
    for connection in slow:
        connection.close()
    check_books(lab, node)


# --- what it comes to ---


def _one_round(lab: Lab, node: Any, number: int) -> None:
    block_id = number + 1
    block: ExtendedBlock = lab.block(block_id)
    match number % 6:
        case 0:
            lab.write_block(node, block, DATA)
            assert lab.read_block(node, lab.read_request(block, 0, len(DATA))).data == DATA
        case 1:
            open_replica(lab, node, DATA, block_id).close()
        case 2:
            open_replica(lab, node, DATA, block_id)
            take_and_settle(lab, node, 700, ID, block_id)
        case 3:
            open_replica(lab, node, DATA[:700], block_id)
            lab.Writer(node, again(lab, STREAMING, 700, 1002, block_id)).close()
        case 4:
            writer = lab.Writer(node, lab.write_request(block, client=""))
            writer.send(0, DATA)
            writer.close()
        case _:
            lab.write_block(node, block, DATA)
            node.store.invalidate(block)


def test_nothing_is_held_after_writes_reads_recoveries_and_failures(lab: Lab, node: Any) -> None:
    for number in range(12):
        _one_round(lab, node, number)
    check_books(lab, node)
    before = len(os.listdir("/proc/self/fd")), threading.active_count()
    for number in range(12, 48):
        _one_round(lab, node, number)
    check_books(lab, node)
    lab.wait_until(lambda: (len(os.listdir("/proc/self/fd")), threading.active_count()) <= before)


@pytest.mark.req("FS-131")
def test_a_kill_in_any_state_is_followed_by_what_recovery_needs_on_every_volume(
    lab: Lab,
) -> None:
    types = (StorageType.DISK,) * 3
    node = lab.node(types=types)
    for block_id in range(1, 4):
        lab.write_block(node, lab.block(block_id), DATA)
    for block_id in range(4, 7):
        open_replica(lab, node, DATA, block_id)
    for block_id in range(7, 10):
        open_replica(lab, node, DATA, block_id).close()
        replica_recovery.init_recovery(node.store, lab.block(block_id), ID)
    copiers = [lab.Writer(node, lab.write_request(lab.block(i), client="")) for i in range(10, 13)]
    for copier in copiers:
        copier.send(0, DATA)
    lab.wait_until(lambda: len(node.files("tmp")) == 6)
    found = lab.node(types=types, root=node.root)
    states = {i: r.state for i in range(1, 13) if (r := found.store.find(lab.block(i)))}
    assert states == dict.fromkeys(range(1, 4), ReplicaState.FINALIZED) | dict.fromkeys(
        range(4, 10), ReplicaState.RWR
    )
    for block_id in range(1, 10):
        take_and_settle(lab, found, len(DATA), ID + 1, block_id)
        volume = int(found.store.find(lab.block(block_id)).volume_id[-1])
        assert found.content(block_id, volume) == DATA
    assert not any(isinstance(event, ReplicaDeleted) for event in found.events)
    for copier in copiers:
        copier.close()
