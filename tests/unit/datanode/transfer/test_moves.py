"""COPY_BLOCK and REPLACE_BLOCK over real sockets: how replicas are moved for balancing."""

from __future__ import annotations

import dataclasses
import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from howdah import errors
from howdah.datanode.replicas.pinning import pin
from howdah.datanode.replicas.volume_move import move_to_type
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.messages import CorruptFound, ReplicaReceived
from howdah.datanode.transfer.balancing import Balancing
from howdah.protocol.data_transfer.blocks import StorageType
from howdah.protocol.data_transfer.op_requests import CopyBlock, ReplaceBlock, encode_request
from howdah.protocol.data_transfer.packet_stream import PacketStream
from howdah.protocol.data_transfer.responses import BlockOpResponse, read_response
from howdah.protocol.data_transfer.status import Status
from howdah.runtime.sockets import Connection, PeerClosed

Lab = Any
DATA = os.urandom(1_000_003)
LENGTH = len(DATA)


@pytest.fixture
def source(lab: Lab) -> Any:
    node = lab.node()
    lab.write_block(node, lab.block(), DATA, packet_bytes=64 * 1024)
    return node


def ask(node: Any, request: ReplaceBlock | CopyBlock) -> BlockOpResponse:
    """The last answer of the node, and those before it that say that it is at work."""
    with node.connect() as connection:
        connection.send_all(encode_request(request))
        return final_answer(connection)


def final_answer(connection: Connection) -> BlockOpResponse:
    while (answer := read_response(connection)).status is Status.IN_PROGRESS:
        pass
    return answer


def replace(lab: Lab, proxy: Any, **more: Any) -> ReplaceBlock:
    return ReplaceBlock(lab.block(length=LENGTH), "uuid-of-the-source", proxy.address, **more)


def test_a_replica_is_fetched_from_the_proxy_and_reported_with_the_hint(
    lab: Lab, source: Any
) -> None:
    target = lab.node()
    assert ask(target, replace(lab, source)).is_success
    assert target.content(1) == DATA
    assert target.wait_for(ReplicaReceived) == ReplicaReceived(
        lab.block(length=LENGTH), "DS-0", "uuid-of-the-source"
    )
    assert target.server.balancing.running == 0
    lab.wait_until(lambda: source.server.balancing.running == 0)
    assert source.content(1) == DATA, "whether it goes is for the namenode to say"


def test_a_copy_is_its_checksums_its_packets_and_a_character(lab: Lab, source: Any) -> None:
    with source.connect() as connection:
        connection.send_all(encode_request(CopyBlock(lab.block(length=LENGTH))))
        answer = read_response(connection)
        assert answer.is_success
        assert answer.read_checksum is not None
        assert (answer.read_checksum.checksum, answer.read_checksum.chunk_offset) == (lab.SPEC, 0)
        stream, data, last = PacketStream(), bytearray(), False
        while not last:
            stream.filled(connection.recv_some_into(stream.writable()))
            while not last and (packet := stream.next_packet()) is not None:
                data += packet.data
                last = packet.header.last_in_block
        connection.push_back(stream.take_pending())
        assert bytes(data) == DATA
        assert connection.recv_exactly(2) == b"\0d"


def test_a_replica_that_is_there_already_is_not_fetched(lab: Lab, source: Any) -> None:
    target = lab.node()
    lab.write_block(target, lab.block(), DATA)
    answer = ask(target, replace(lab, source))
    assert answer.status is Status.ERROR
    assert "opReplaceBlock" in answer.message


def test_a_replica_that_the_proxy_lacks_is_refused_with_its_words(lab: Lab) -> None:
    target, proxy = lab.node(), lab.node()
    answer = ask(target, replace(lab, proxy))
    assert answer.status is Status.ERROR
    assert "Replica not found" in answer.message
    assert not target.files("tmp")


def test_a_proxy_that_is_gone_is_an_error(lab: Lab, source: Any) -> None:
    target = lab.node()
    source.close()
    assert ask(target, replace(lab, source)).status is Status.ERROR


def test_a_replica_that_is_being_written_is_not_copied(lab: Lab) -> None:
    node = lab.node()
    writer = lab.Writer(node, lab.write_request(lab.block()))
    writer.send(0, DATA[:1000])
    writer.ack()
    answer = ask(node, CopyBlock(lab.block()))
    assert answer.status is Status.ERROR
    assert "only a finalized replica is moved" in answer.message
    writer.close()


def test_a_length_that_no_block_has_is_refused(lab: Lab, source: Any) -> None:
    target = lab.node()
    request = ReplaceBlock(lab.block(length=-1), "uuid", source.address)
    answer = ask(target, request)
    assert answer.status is Status.ERROR
    assert "which no block has" in answer.message


def test_damage_is_found_by_the_target_and_told_of_the_proxy(lab: Lab, source: Any) -> None:
    with open(source.block_path(1), "r+b") as file:
        file.seek(70_000)
        file.write(b"damage")
    target = lab.node()
    assert ask(target, replace(lab, source)).status is Status.ERROR
    found = target.wait_for(CorruptFound)
    assert found.node == source.address
    assert not target.files("finalized")


# --- limits ---


def test_as_many_moves_as_may_be_are_served_and_no_more(lab: Lab) -> None:
    node = lab.node(DataSettings(balance_moves=1))
    lab.write_block(node, lab.block(), DATA)
    with node.server.balancing.turn("wait"):
        answer = ask(node, CopyBlock(lab.block(length=LENGTH)))
        assert answer.status is Status.ERROR
        assert "threads quota=1 is exceeded" in answer.message
        assert "quota=1 is exceeded" in ask(node, replace(lab, node)).message
    target = lab.node()
    assert ask(target, replace(lab, node)).is_success


def test_bytes_wait_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    naps: list[float] = []
    monkeypatch.setattr(time, "sleep", naps.append)
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    told: list[None] = []
    limits = Balancing(1, 1000)
    limits.moved(500, lambda: told.append(None))
    limits.moved(2000)
    assert sum(naps) == pytest.approx(0.5 + 2.5)
    assert max(naps) <= 1.0
    assert len(told) == 1
    limits.set_bandwidth(10_000)
    naps.clear()
    limits.moved(5000)
    assert sum(naps) == pytest.approx(0.5)


def test_a_bandwidth_that_is_not_positive_changes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    limits = Balancing(1, 1000)
    with caplog.at_level(logging.INFO):
        limits.set_bandwidth(0)
    assert limits.bytes_per_s == 1000
    assert "keeps its 1000 bytes a second" in caplog.text


def test_the_balancer_hears_that_a_slow_move_goes_on(lab: Lab, source: Any) -> None:
    target = lab.node(DataSettings(socket_timeout_s=0.5, balance_bandwidth=2_000_000))
    with target.connect() as connection:
        connection.send_all(encode_request(replace(lab, source)))
        assert read_response(connection).status is Status.IN_PROGRESS
        assert final_answer(connection).is_success


def test_a_move_ends_when_nobody_waits_for_it(lab: Lab, source: Any) -> None:
    target = lab.node(DataSettings(socket_timeout_s=0.2, balance_bandwidth=100_000))
    connection = target.connect()
    connection.send_all(encode_request(replace(lab, source)))
    assert read_response(connection).status is Status.IN_PROGRESS
    connection.close()
    lab.wait_until(lambda: not target.files("tmp"))
    assert not target.files("finalized")


# --- pinning ---


def test_a_pinned_replica_is_not_copied_away(lab: Lab) -> None:
    node = lab.node(DataSettings(block_pinning=True))
    lab.write_block(node, lab.block(), DATA)
    pin(str(node.block_path(1)))
    assert ask(node, CopyBlock(lab.block(length=LENGTH))).status is Status.ERROR_BLOCK_PINNED
    answer = ask(lab.node(), replace(lab, node))
    assert answer.status is Status.ERROR_BLOCK_PINNED
    assert "pinned" in answer.message


@pytest.mark.parametrize("enabled", [False, True])
def test_a_client_pins_where_the_datanode_allows_it(lab: Lab, enabled: bool) -> None:
    node = lab.node(DataSettings(block_pinning=enabled))
    writer = lab.Writer(node, dataclasses.replace(lab.write_request(lab.block()), pinning=True))
    writer.send(0, DATA[:1000])
    writer.ack()
    writer.send(1000, b"", last=True)
    writer.ack()
    writer.close()
    assert bool(node.block_path(1).stat().st_mode & 0o1000) is enabled


# --- from volume to volume ---


@pytest.fixture
def tiered(lab: Lab) -> Any:
    node = lab.node(types=(StorageType.DISK, StorageType.ARCHIVE))
    lab.write_block(node, lab.block(), DATA)
    node.server.balancing.uuid = node.address.uuid
    return node


def test_a_replica_goes_to_a_volume_of_another_type(lab: Lab, tiered: Any) -> None:
    answer = ask(tiered, replace(lab, tiered, storage_type=StorageType.ARCHIVE))
    assert answer.is_success
    assert tiered.content(1, volume=1) == DATA
    assert not tiered.block_path(1, volume=0).exists()
    assert tiered.events[-1] == ReplicaReceived(lab.block(length=LENGTH), "DS-1")
    assert lab.read_block(tiered, lab.read_request(lab.block(), 0, LENGTH)).data == DATA
    disk, archive = tiered.volumes.all
    assert disk.pool_used_bytes(lab.POOL) == 0
    assert archive.pool_used_bytes(lab.POOL) > LENGTH
    assert archive.promised_bytes == 0


def test_a_reader_of_the_old_files_goes_on(lab: Lab, tiered: Any) -> None:
    with tiered.store.open(lab.block()) as opened:
        move_to_type(tiered.store, lab.block(length=LENGTH), StorageType.ARCHIVE)
        assert os.pread(opened.block_fd, LENGTH, 0) == DATA


@pytest.mark.parametrize("kind", [StorageType.DISK, StorageType.SSD])
def test_a_move_to_where_it_is_or_to_no_volume_is_refused(
    lab: Lab, tiered: Any, kind: StorageType
) -> None:
    assert ask(tiered, replace(lab, tiered, storage_type=kind)).status is Status.ERROR
    assert tiered.content(1) == DATA


def test_an_older_replica_is_not_moved(lab: Lab, tiered: Any) -> None:
    with pytest.raises(errors.ReplicaNotFound):
        move_to_type(tiered.store, lab.block(1, 1000, LENGTH), StorageType.ARCHIVE)
    assert len(tiered.store.writers) == 0


def test_an_append_ends_the_move(lab: Lab, tiered: Any) -> None:
    started, goes_on = threading.Event(), threading.Event()

    def took(count_bytes: int) -> None:
        started.set()
        assert goes_on.wait(30)

    outcome: list[Exception] = []
    mover = caught(
        outcome,
        lambda: move_to_type(tiered.store, lab.block(length=LENGTH), StorageType.ARCHIVE, took),
    )
    assert started.wait(30)
    holder = tiered.store.writers.of(lab.block())
    holder.stop("a client appends")
    goes_on.set()
    mover.join(30)
    assert isinstance(outcome[0], errors.RecoveryInProgress)
    assert tiered.content(1) == DATA
    assert not tiered.files("tmp")


def caught(outcome: list[Exception], call: Callable[[], None]) -> threading.Thread:
    def run() -> None:
        try:
            call()
        except errors.HowdahError as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_a_disk_that_fails_leaves_the_replica_where_it_is(
    lab: Lab, tiered: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise OSError(5, "input/output error")

    monkeypatch.setattr(os, "fchmod", fails)
    with pytest.raises(OSError, match="input/output"):
        move_to_type(tiered.store, lab.block(length=LENGTH), StorageType.ARCHIVE)
    assert tiered.content(1) == DATA
    assert not tiered.files("tmp")
    assert len(tiered.store.writers) == 0


def test_a_connection_that_breaks_in_the_middle_of_a_copy_ends(lab: Lab, source: Any) -> None:
    with open(source.block_path(1), "r+b") as file:
        file.truncate(300_000)
    with source.connect() as connection:
        connection.send_all(encode_request(CopyBlock(lab.block(length=LENGTH))))
        assert read_response(connection).is_success
        with pytest.raises(PeerClosed):
            connection.recv_exactly(LENGTH)
