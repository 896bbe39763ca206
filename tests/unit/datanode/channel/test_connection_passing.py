"""Connections from the control process to the data process."""

from __future__ import annotations

import os
import random
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah import errors
from howdah.client.settings.short_circuit import ShortCircuitSettings
from howdah.client.shortcircuit.access import OwnDatanode
from howdah.client.shortcircuit.cache import ShortCircuitCache
from howdah.client.state.blocks import LocatedBlock
from howdah.datanode.channel import connection_passing
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.messages import Event
from howdah.datanode.state.replicas.replicas import ReplicaMap
from howdah.datanode.transfer.data_server import DataServer
from howdah.datanode.volumes.volumes import Volume, VolumeSet
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock, StorageType
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType, checksum_chunks
from howdah.protocol.data_transfer.packet_stream import PacketStream
from howdah.protocol.data_transfer.packets import PacketHeader, encode_packet
from howdah.testing.waiting import wait_until

POOL = "BP-7-127.0.0.1-1"
SPEC = ChecksumSpec(ChecksumType.CRC32C, 512)
DATA = random.Random(5).randbytes(100_001)
OWN = DatanodeAddress("127.0.0.1", "localhost", "own", 9866)
OTHER = DatanodeAddress("127.0.0.1", "localhost", "other", 9866)


class _Holder:
    def stop(self, why: str) -> None:
        raise AssertionError(f"nobody else writes here: {why}")


def _notify(event: Event) -> None:
    """There is no control process to tell."""


class Node:
    """A store that is reached by dialing alone, and what reads from it."""

    def __init__(self, root: Path) -> None:
        volume = Volume(str(root / "data"), "DS-0", StorageType.DISK)
        volume.make_pool_directories(POOL)
        self.store = BlockStore(VolumeSet([volume]), ReplicaMap(), _notify)
        self.store.serve_pool(POOL)
        self.dialer, dialed = connection_passing.pair()
        self.server = DataServer(dialed, self.store, DataSettings(socket_timeout_s=20))
        self.server.start()
        self.has_read: list[int] = []
        way = OwnDatanode("own", self.dialer.dial, self.has_read.append)
        self.cache = ShortCircuitCache(
            ShortCircuitSettings(cache_size=4, cache_expiry_s=60, disable_interval_s=0),
            lambda: "a control process",
            20.0,
            way,
        )

    def put(self, data: bytes) -> LocatedBlock:
        block = ExtendedBlock(POOL, 1, 1001)
        writer = self.store.create(block, SPEC, StorageType.DISK, holder=_Holder())
        sums = bytearray(SPEC.sums_length(len(data)))
        checksum_chunks(SPEC, data, sums)
        encoded = encode_packet(PacketHeader(0, 0, False, len(data)), bytes(sums), data)
        stream = PacketStream(limit_bytes=len(encoded) + 1)
        packet, left = None, memoryview(encoded)
        while packet is None:
            room = stream.writable()
            count = min(len(room), len(left))
            room[:count] = left[:count]
            left = left[count:]
            stream.filled(count)
            packet = stream.next_packet()
        writer.write([packet])
        self.store.finalize(writer)
        return LocatedBlock(block.with_length(len(data)), 0, (OWN, OTHER))

    def close(self) -> None:
        self.cache.close()
        self.server.close()
        self.dialer.close()


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    made = Node(tmp_path)
    yield made
    made.close()


@pytest.mark.req("FS-257")
def test_files_of_its_own_replicas_come_to_the_control_process_and_are_taken_back(
    node: Node,
) -> None:
    block = node.put(DATA)
    replica = node.cache.acquire(block, OWN)
    assert replica is not None
    found = bytearray(len(DATA))
    replica.read_into(0, memoryview(found))
    assert found == DATA
    assert replica.is_current
    node.store.short_circuit.revoke(POOL, block.block.block_id)
    assert not replica.is_current
    node.cache.release(replica, stale=True, read_bytes=len(DATA))
    assert node.has_read == [len(DATA)]


@pytest.mark.req("FS-257")
def test_another_datanode_of_the_machine_is_not_asked_this_way(node: Node) -> None:
    assert node.cache.acquire(node.put(DATA), OTHER) is None
    assert node.server.active == 0


def test_a_connection_that_the_dialer_lets_go_of_ends_at_the_other_side(node: Node) -> None:
    with node.dialer.dial():
        wait_until(lambda: node.server.active == 1, 60)
    wait_until(lambda: node.server.active == 0, 60)


def test_a_server_that_is_closed_accepts_nobody_and_a_data_process_that_is_gone_is_unreachable(
    node: Node,
) -> None:
    block = node.put(DATA)
    node.server.close()
    way = OwnDatanode("own", node.dialer.dial)
    with pytest.raises(errors.Unreachable, match="the data process of datanode own"):
        way.connect("own", 20)
    assert node.cache.acquire(block, OWN) is None


def test_a_control_process_that_is_gone_leaves_the_data_process_waiting_for_its_own_end() -> None:
    dialer, dialed = connection_passing.pair()
    dialer.close()
    raised: list[OSError] = []

    def accept() -> None:
        try:
            dialed.accept()
        except OSError as error:
            raised.append(error)

    waits = threading.Thread(target=accept, daemon=True)
    waits.start()
    waits.join(0.2)
    assert not raised  # else the acceptor would try again and again
    dialed.shutdown(socket.SHUT_RDWR)
    waits.join(60)
    assert len(raised) == 1
    dialed.close()


def test_a_data_process_that_may_open_no_more_files_says_so() -> None:
    control, data = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    dialed = connection_passing.Dialed(data)
    control.send(b"\0")  # as where the kernel has dropped the descriptor
    with pytest.raises(OSError, match="may open no more files") as raised:
        dialed.accept()
    assert raised.value.errno is not None
    assert os.strerror(raised.value.errno)
    control.close()
    dialed.close()
