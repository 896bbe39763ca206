"""Descriptors for local readers: slots, the socket, and what goes over it."""

from __future__ import annotations

import mmap
import os
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.datanode.replicas.short_circuit import ShortCircuitRegistry
from howdah.datanode.settings import DataSettings
from howdah.datanode.transfer.data_server import DataServer
from howdah.datanode.transfer.short_circuit_socket import effective_path, listen_local
from howdah.protocol.data_transfer.op_requests import Request, encode_request
from howdah.protocol.data_transfer.responses import (
    BlockOpResponse,
    SegmentGiven,
    SlotReleased,
    read_response,
)
from howdah.protocol.data_transfer.short_circuit import (
    SEGMENT_BYTES,
    SLOT_BYTES,
    ReleaseSlot,
    RequestDescriptors,
    RequestSegment,
    SegmentId,
    SlotId,
    Slots,
)
from howdah.protocol.data_transfer.status import Status
from howdah.protocol.varint import read_delimited
from howdah.runtime.sockets import Connection, PeerClosed, connect_local

Lab = Any
DATA = bytes(range(256)) * 10


# --- slots ---


@pytest.fixture
def registry() -> ShortCircuitRegistry:
    return ShortCircuitRegistry()


@pytest.fixture
def segment(registry: ShortCircuitRegistry) -> Iterator[tuple[SegmentId, Slots]]:
    """A segment as its reader sees it."""
    name, descriptor = registry.open_segment("a client")
    with mmap.mmap(descriptor, SEGMENT_BYTES) as memory:
        slots = Slots(memoryview(memory))
        yield name, slots
        slots.release()


def test_a_segment_has_128_slots(segment: tuple[SegmentId, Slots]) -> None:
    assert segment[1].count == SEGMENT_BYTES // SLOT_BYTES == 128


def test_a_segment_can_not_be_shortened_by_its_reader(registry: ShortCircuitRegistry) -> None:
    _, descriptor = registry.open_segment("a client")
    with pytest.raises(PermissionError):
        os.ftruncate(descriptor, 0)


def test_a_revoked_slot_is_seen_by_its_reader(
    lab: Lab, registry: ShortCircuitRegistry, segment: tuple[SegmentId, Slots]
) -> None:
    name, slots = segment
    slots.claim(5)
    registry.register(lab.block(), SlotId(name, 5))
    assert slots.is_valid(5)
    registry.revoke(lab.POOL, 1)
    assert not slots.is_valid(5)


def test_the_flags_are_where_hadoop_has_them(segment: tuple[SegmentId, Slots]) -> None:
    _, slots = segment
    slots.claim(2)
    word = int.from_bytes(slots._memory[2 * SLOT_BYTES : 2 * SLOT_BYTES + 8], sys.byteorder)
    assert word == 1 << 63


def test_revoking_leaves_the_count_of_anchors(segment: tuple[SegmentId, Slots]) -> None:
    _, slots = segment
    slots.claim(0)
    anchored = (1 << 63 | 1 << 62 | 7).to_bytes(8, sys.byteorder)
    slots._memory[0:8] = anchored
    slots.revoke(0)
    assert int.from_bytes(slots._memory[0:8], sys.byteorder) == 7


def test_other_blocks_are_not_revoked(
    lab: Lab, registry: ShortCircuitRegistry, segment: tuple[SegmentId, Slots]
) -> None:
    name, slots = segment
    slots.claim(0)
    registry.register(lab.block(), SlotId(name, 0))
    registry.revoke(lab.POOL, 2)
    registry.revoke("another pool", 1)
    assert slots.is_valid(0)


@pytest.mark.parametrize("index", [-1, 128, 1 << 30])
def test_a_slot_that_a_segment_has_not_is_refused(
    lab: Lab,
    registry: ShortCircuitRegistry,
    segment: tuple[SegmentId, Slots],
    index: int,
) -> None:
    with pytest.raises(errors.IllegalArgument, match="there is no slot"):
        registry.register(lab.block(), SlotId(segment[0], index))


def test_a_slot_of_an_unknown_segment_is_refused(lab: Lab, registry: ShortCircuitRegistry) -> None:
    with pytest.raises(errors.IllegalArgument, match="no shared memory segment"):
        registry.register(lab.block(), SlotId(SegmentId(1, 2), 0))


def test_a_slot_that_its_reader_did_not_mark_is_refused(
    lab: Lab, registry: ShortCircuitRegistry, segment: tuple[SegmentId, Slots]
) -> None:
    with pytest.raises(errors.IllegalArgument, match="not marked as valid"):
        registry.register(lab.block(), SlotId(segment[0], 0))


def test_a_slot_serves_one_replica_at_a_time(
    lab: Lab, registry: ShortCircuitRegistry, segment: tuple[SegmentId, Slots]
) -> None:
    name, slots = segment
    slots.claim(0)
    registry.register(lab.block(), SlotId(name, 0))
    with pytest.raises(errors.IllegalArgument, match="in use"):
        registry.register(lab.block(2), SlotId(name, 0))
    registry.release(SlotId(name, 0))
    slots.claim(0)
    registry.register(lab.block(2), SlotId(name, 0))


def test_a_slot_that_is_free_can_not_be_freed(
    registry: ShortCircuitRegistry, segment: tuple[SegmentId, Slots]
) -> None:
    with pytest.raises(errors.IllegalArgument, match="not in use"):
        registry.release(SlotId(segment[0], 0))


def test_the_slots_of_a_segment_end_with_it(
    lab: Lab, registry: ShortCircuitRegistry, segment: tuple[SegmentId, Slots]
) -> None:
    name, slots = segment
    for index in range(3):
        slots.claim(index)
        registry.register(lab.block(index), SlotId(name, index))
    assert registry.readers_of(lab.POOL, 1) == {"a client"}
    registry.close_segment(name)
    assert len(registry) == 0
    assert not slots.is_valid(0)


# --- the socket's place ---


@pytest.fixture
def directory() -> Iterator[Path]:
    """Short, for a socket's path has to be, and nobody else's."""
    with tempfile.TemporaryDirectory(prefix="howdah-") as made:
        yield Path(made)


def test_the_data_port_can_be_part_of_the_path() -> None:
    assert effective_path("/run/howdah/dn._PORT", 9866) == "/run/howdah/dn.9866"


def test_everybody_may_connect(directory: Path) -> None:
    with listen_local(str(directory / "s")):
        assert stat.S_IMODE((directory / "s").stat().st_mode) == 0o666


@pytest.mark.parametrize("path", ["s", "run/s", "/run/howdah/"])
def test_a_path_that_is_not_that_of_a_socket_is_refused(path: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=r"dfs\.domain\.socket\.path"):
        listen_local(path)


def test_a_path_that_is_too_long_is_refused(directory: Path) -> None:
    with pytest.raises(errors.InvalidConfiguration, match="has at most 107"):
        listen_local(str(directory / ("s" * 120)))


def test_a_directory_that_is_not_there_is_refused(directory: Path) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=r"failed to stat .*missing"):
        listen_local(str(directory / "missing" / "s"))


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o757])
def test_a_directory_that_everybody_may_write_to_is_refused(directory: Path, mode: int) -> None:
    open_to_all = directory / "open"
    open_to_all.mkdir()
    open_to_all.chmod(mode)
    with pytest.raises(errors.InvalidConfiguration, match=r"open' of .* is world-writable"):
        listen_local(str(open_to_all / "s"))


def test_a_directory_above_may_be_open_if_it_is_sticky(directory: Path) -> None:
    above = directory / "above"
    (above / "own").mkdir(parents=True)
    above.chmod(0o1777)
    listen_local(str(above / "own" / "s")).close()
    above.chmod(0o777)
    with pytest.raises(errors.InvalidConfiguration, match="world-writable"):
        listen_local(str(above / "own" / "s2"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
@pytest.mark.parametrize(
    ("mode", "user", "group", "trouble"),
    [(0o770, 0, 1234, "group-writable"), (0o755, 1234, 0, "owned by user 1234")],
)
def test_a_directory_that_another_may_write_to_is_refused(
    directory: Path, mode: int, user: int, group: int, trouble: str
) -> None:
    foreign = directory / "foreign"
    foreign.mkdir()
    foreign.chmod(mode)
    os.chown(foreign, user, group)
    with pytest.raises(errors.InvalidConfiguration, match=trouble):
        listen_local(str(foreign / "s"))


def test_the_socket_of_a_dead_datanode_makes_room(directory: Path) -> None:
    listen_local(str(directory / "s")).close()
    listen_local(str(directory / "s")).close()


def test_the_socket_of_a_living_datanode_is_left_alone(directory: Path) -> None:
    with listen_local(str(directory / "s")):
        with pytest.raises(errors.InvalidConfiguration, match=r"another process .* _PORT"):
            listen_local(str(directory / "s"))


def test_a_file_in_the_sockets_place_is_left_alone(directory: Path) -> None:
    (directory / "s").write_text("mine")
    with pytest.raises(errors.InvalidConfiguration, match="no socket"):
        listen_local(str(directory / "s"))


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({}, None),
        ({"dfs.domain.socket.path": "/s"}, None),
        ({"dfs.client.read.shortcircuit": "true"}, None),
        ({"dfs.client.read.shortcircuit": "true", "dfs.domain.socket.path": "/s"}, "/s"),
        ({"dfs.client.domain.socket.data.traffic": "true", "dfs.domain.socket.path": "/s"}, "/s"),
    ],
)
def test_a_datanode_listens_where_it_is_switched_on(
    values: dict[str, str], path: str | None
) -> None:
    assert DataSettings.of(Configuration().with_values(values)).local_socket_path == path


# --- over the socket ---


class Local:
    """A datanode with a replica, and its Unix socket."""

    def __init__(self, lab: Lab, path: str) -> None:
        self.node = lab.node()
        self.store = self.node.store
        lab.write_block(self.node, lab.block(), DATA)
        self.path = path
        self.server = DataServer(listen_local(path), self.store, self.node.settings)
        self.server.start()

    def connect(self) -> Connection:
        return connect_local(self.path, timeout_s=5, takes_descriptors=True)


@pytest.fixture
def local(lab: Lab, directory: Path) -> Iterator[Local]:
    made = Local(lab, str(directory / "s"))
    yield made
    made.server.close()


def ask(connection: Connection, request: Request) -> BlockOpResponse:
    connection.send_all(encode_request(request))
    return read_response(connection)


def test_a_reader_gets_the_block_file_and_the_meta_file(lab: Lab, local: Local) -> None:
    with local.connect() as connection:
        response = ask(connection, RequestDescriptors(lab.block(), gives_receipt=False))
        assert response == BlockOpResponse(Status.SUCCESS, short_circuit_version=1)
        assert connection.recv_exactly(1) == b"\0"
        block_fd, meta_fd = connection.take_descriptors()
    try:
        assert os.pread(block_fd, 1 << 20, 0) == DATA
        assert os.pread(meta_fd, 1 << 20, 7) == lab.sums_of(DATA)
    finally:
        os.close(block_fd)
        os.close(meta_fd)


def test_a_reader_can_not_write_with_what_it_gets(lab: Lab, local: Local) -> None:
    with local.connect() as connection:
        ask(connection, RequestDescriptors(lab.block(), gives_receipt=False))
        connection.recv_exactly(1)
        descriptors = connection.take_descriptors()
    for descriptor in descriptors:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.pwrite(descriptor, b"x", 0)
        os.close(descriptor)


def give_segment(connection: Connection) -> tuple[SegmentId, Slots, mmap.mmap]:
    connection.send_all(encode_request(RequestSegment("a client")))
    answer = SegmentGiven.decode(read_delimited(connection))
    assert answer.status is Status.SUCCESS
    assert answer.segment is not None
    assert connection.recv_exactly(1) == b"\0"
    (descriptor,) = connection.take_descriptors()
    memory = mmap.mmap(descriptor, SEGMENT_BYTES)
    os.close(descriptor)
    return answer.segment, Slots(memoryview(memory)), memory


def test_the_slot_is_the_readers_until_it_is_released(lab: Lab, local: Local) -> None:
    with local.connect() as held, local.connect() as connection:
        name, slots, _ = give_segment(held)
        slots.claim(3)
        slot = SlotId(name, 3)
        assert ask(connection, RequestDescriptors(lab.block(), slot)).is_success
        assert connection.recv_exactly(1) == b"\1"
        connection.send_all(b"\0")
        assert local.store.short_circuit.readers_of(lab.POOL, 1) == {"a client"}
        connection.send_all(encode_request(ReleaseSlot(slot)))
        assert SlotReleased.decode(read_delimited(connection)).status is Status.SUCCESS
        assert len(local.store.short_circuit) == 0


def test_a_reader_that_gives_no_receipt_loses_its_slot(lab: Lab, local: Local) -> None:
    with local.connect() as held:
        name, slots, _ = give_segment(held)
        slots.claim(3)
        with local.connect() as connection:
            assert ask(connection, RequestDescriptors(lab.block(), SlotId(name, 3))).is_success
        lab.wait_until(lambda: len(local.store.short_circuit) == 0)
        assert not slots.is_valid(3)


def test_the_end_of_a_reader_ends_its_slots(lab: Lab, local: Local) -> None:
    with local.connect() as held, local.connect() as connection:
        name, slots, _ = give_segment(held)
        slots.claim(3)
        ask(connection, RequestDescriptors(lab.block(), SlotId(name, 3)))
        connection.recv_exactly(1)
        connection.send_all(b"\0")
        lab.wait_until(lambda: len(local.store.short_circuit) == 1)
        held.shutdown()
        lab.wait_until(lambda: len(local.store.short_circuit) == 0)


def test_a_datanode_that_stops_ends_its_segments(lab: Lab, local: Local) -> None:
    with local.connect() as held:
        give_segment(held)
        local.server.close()
        with pytest.raises(PeerClosed):
            held.recv_exactly(1)


def test_a_deleted_replica_is_revoked(lab: Lab, local: Local) -> None:
    with local.connect() as held, local.connect() as connection:
        name, slots, _ = give_segment(held)
        slots.claim(3)
        ask(connection, RequestDescriptors(lab.block(), SlotId(name, 3)))
        connection.recv_exactly(1)
        connection.send_all(b"\0")
        local.store.invalidate(lab.block())
        assert not slots.is_valid(3)


def test_all_replicas_of_a_failed_volume_are_revoked(
    lab: Lab, local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    with local.connect() as held, local.connect() as connection:
        name, slots, _ = give_segment(held)
        slots.claim(3)
        ask(connection, RequestDescriptors(lab.block(), SlotId(name, 3)))
        connection.recv_exactly(1)
        connection.send_all(b"\0")
        volume = local.node.volumes.all[0]
        monkeypatch.setattr(volume, "probe", lambda pools: OSError(5, "dead"))
        local.store.disk_failed(volume, OSError(5, "dead"))
        assert not slots.is_valid(3)


def test_a_replica_that_is_written_is_refused_without_closing_the_socket_to_its_reader(
    lab: Lab, local: Local
) -> None:
    writer = lab.Writer(local.node, lab.write_request(lab.block(2)))
    with local.connect() as connection:
        response = ask(connection, RequestDescriptors(lab.block(2)))
        assert response.status is Status.ERROR_UNSUPPORTED
        assert response.short_circuit_version == 1
        assert "is being written" in response.message
        assert ask(connection, RequestDescriptors(lab.block(), gives_receipt=False)).is_success
    writer.connection.close()


def test_a_replica_that_is_not_here_is_refused(lab: Lab, local: Local) -> None:
    with local.connect() as connection:
        response = ask(connection, RequestDescriptors(lab.block(99)))
        assert response.status is Status.ERROR
        assert "Replica not found" in response.message


def test_a_refused_reader_loses_its_slot(lab: Lab, local: Local) -> None:
    with local.connect() as held, local.connect() as connection:
        name, slots, _ = give_segment(held)
        slots.claim(3)
        ask(connection, RequestDescriptors(lab.block(99), SlotId(name, 3)))
        assert len(local.store.short_circuit) == 0
        assert not slots.is_valid(3)


def test_a_reader_that_is_too_old_is_told_the_version(lab: Lab, local: Local) -> None:
    with local.connect() as connection:
        response = ask(connection, RequestDescriptors(lab.block(), max_version=0))
        assert response.status is Status.ERROR_UNSUPPORTED
        assert response.short_circuit_version == 1


def test_an_unknown_slot_is_told_as_such(local: Local) -> None:
    with local.connect() as connection:
        connection.send_all(encode_request(ReleaseSlot(SlotId(SegmentId(1, 2), 0))))
        answer = SlotReleased.decode(read_delimited(connection))
        assert answer.status is Status.ERROR_INVALID
        assert "no shared memory segment" in answer.error


def test_a_machine_without_memory_gives_no_segment(
    local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(name: str, flags: int) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "memfd_create", full)
    with local.connect() as connection:
        connection.send_all(encode_request(RequestSegment("a client")))
        answer = SegmentGiven.decode(read_delimited(connection))
        assert answer.status is Status.ERROR
        assert "Too many open files" in answer.error


def test_descriptors_do_not_pass_the_data_port(lab: Lab, local: Local) -> None:
    with local.node.connect() as connection:
        response = ask(connection, RequestDescriptors(lab.block()))
        assert response.status is Status.ERROR
        assert "anything but a UNIX domain socket" in response.message


def test_shared_memory_does_not_pass_the_data_port(local: Local) -> None:
    with local.node.connect() as connection:
        connection.send_all(encode_request(RequestSegment("a client")))
        answer = SegmentGiven.decode(read_delimited(connection))
        assert answer.status is Status.ERROR_INVALID
        assert "UNIX domain socket" in answer.error


def test_blocks_are_read_over_the_socket_as_over_the_data_port(lab: Lab, local: Local) -> None:
    with local.connect() as connection:
        for _ in range(2):
            request = lab.read_request(lab.block(), 0, 512)
            assert lab.read_block(local.node, request, connection).data == DATA[:512]


def test_what_comes_on_a_segments_connection_ends_the_segment(lab: Lab, local: Local) -> None:
    with local.connect() as held:
        give_segment(held)
        held.send_all(b"x")
        with pytest.raises(PeerClosed):
            held.recv_exactly(1)


def test_too_many_descriptors_are_noticed() -> None:
    left, right = socket.socketpair()
    with Connection(left) as sender, Connection(right, takes_descriptors=True) as receiver:
        sender.send_with_descriptors(b"x", [0] * 40)
        with pytest.raises(errors.ProtocolViolation, match="were lost"):
            receiver.recv_exactly(1)


def test_descriptors_that_nobody_took_are_closed_with_the_connection() -> None:
    left, right = socket.socketpair()
    reader, writer = os.pipe()
    with Connection(left) as sender, Connection(right, takes_descriptors=True) as receiver:
        sender.send_with_descriptors(b"xy", [writer])
        receiver.recv_exactly(2)
    os.close(writer)
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_a_segment_that_is_closed_leaves_no_descriptor(registry: ShortCircuitRegistry) -> None:
    before = set(os.listdir("/proc/self/fd"))
    name, _ = registry.open_segment("a client")
    registry.close_segment(name)
    # What other tests left behind may be closed meanwhile.
    assert set(os.listdir("/proc/self/fd")) <= before
