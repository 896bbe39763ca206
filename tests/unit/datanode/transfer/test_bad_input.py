"""What strangers send to the data port: a clear line in the log, and nothing leaks."""

from __future__ import annotations

import os
import socket
import struct
import threading
from typing import Any

import pytest

from howdah.datanode.settings import DataSettings
from howdah.proto import client_namenode_pb2 as nn
from howdah.protocol.data_transfer.op_requests import encode_request
from howdah.protocol.data_transfer.packets import PacketHeader, encode_packet, encode_prelude
from howdah.protocol.data_transfer.responses import read_response
from howdah.protocol.varint import encode_varint
from howdah.rpc.client import RpcClient
from howdah.rpc.http_detection import NotAnRpcServer
from howdah.runtime.sockets import PeerClosed

Lab = Any
DATA = bytes(5000)


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture
def node(lab: Lab) -> Any:
    return lab.node(DataSettings(socket_timeout_s=1, keepalive_s=1))


def assert_closed_and_well(node: Any, lab: Lab) -> None:
    """The connection is over, its thread gone, and others are served."""
    node.wait_idle()
    lab.write_block(node, lab.block(777), DATA)
    assert node.content(777) == DATA


def assert_hung_up(writer: Any) -> None:
    for _ in range(2):
        try:
            assert not writer.ack().is_success
        except PeerClosed:
            return
    pytest.fail("the node goes on talking")


@pytest.mark.parametrize(
    ("wire", "told"),
    [
        (struct.pack(">hB", 27, 80), "data transfer version 27"),
        (struct.pack(">hB", 28, 200), "unknown data transfer opcode 200"),
        (b"GET / HTTP/1.1\r\n\r\n", "data transfer version 18245"),
        (b"\x00\x1c\x51" + b"\xff" * 11, "a varint of more than 10 bytes"),
        (b"\x00\x1c\x51" + encode_varint(1 << 31), "2147483648 bytes was announced"),
        (b"\x00\x1c\x51" + encode_varint(4) + b"\xff\xff\xff\xff", "READ_BLOCK that cannot be"),
        (b"\x00\x1c\x50" + encode_varint(0), "WRITE_BLOCK that cannot be read"),
    ],
)
def test_a_request_that_is_none_ends_the_connection_with_a_clear_line(
    node: Any, lab: Lab, caplog: pytest.LogCaptureFixture, wire: bytes, told: str
) -> None:
    with node.connect() as connection:
        connection.send_all(wire)
        with pytest.raises(PeerClosed):
            connection.recv_exactly(1)
        assert_closed_and_well(node, lab)
        lines = [record.getMessage() for record in caplog.records if told in record.getMessage()]
        assert len(lines) == 1
        assert connection.local in lines[0]


@pytest.mark.parametrize(
    ("packet", "told"),
    [
        (struct.pack(">ih", (1 << 31) - 1, 25), "the limit is 16777216"),
        (struct.pack(">ih", -5, 25), "must count its 4 bytes"),
        (struct.pack(">ih", 100, -1), "a packet header of -1 bytes"),
        (struct.pack(">ih", 4, 25) + b"\xff" * 25, "a packet header that is not one"),
        (encode_prelude(PacketHeader(0, 0, False, 512), 4)[:-4] + b"\xff\xff\xff\x7f", "payload"),
        (encode_packet(PacketHeader(0, 0, False, 512), b"12", bytes(512)), "4 are right"),
        (encode_packet(PacketHeader(1024, 0, False, 512), b"1234", bytes(512)), "out of seq|fit"),
        (encode_packet(PacketHeader(-512, 0, False, 512), b"1234", bytes(512)), "for offset -512"),
        (b"\xde\xad\xbe\xef" * 1000, "must count its 4 bytes"),
    ],
)
def test_a_packet_that_lies_ends_the_write_with_a_clear_line(
    node: Any, lab: Lab, caplog: pytest.LogCaptureFixture, packet: bytes, told: str
) -> None:
    writer = lab.Writer(node, lab.write_request(lab.block()))
    writer.send(0, DATA[:512])
    assert writer.ack().is_success
    writer.connection.send_all(packet)
    # Where the packet's own checksums don't fit, an ack says so first.
    assert_hung_up(writer)
    assert_closed_and_well(node, lab)
    text = caplog.text
    assert any(part in text for part in told.split("|"))
    assert "blk_1_1001" in text
    assert node.replicas.find(lab.POOL, 1).length_bytes == 512


def test_a_hole_in_a_block_is_out_of_sequence(
    node: Any, lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    writer = lab.Writer(node, lab.write_request(lab.block()))
    writer.send(512, DATA[:512])
    with pytest.raises(PeerClosed):
        writer.ack()
    node.wait_idle()
    assert "out of sequence" in caplog.text


def test_a_packet_that_is_cut_off_leaves_what_came_before(node: Any, lab: Lab) -> None:
    writer = lab.Writer(node, lab.write_request(lab.block()))
    writer.send(0, DATA[:512])
    assert writer.ack().is_success
    whole = encode_packet(PacketHeader(512, 1, False, 512), lab.sums_of(DATA[:512]), DATA[:512])
    writer.connection.send_all(whole[:-1])
    writer.close()
    assert_closed_and_well(node, lab)
    assert node.replicas.find(lab.POOL, 1).length_bytes == 512


def test_a_writer_that_says_nothing_more_is_given_up(
    node: Any, lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    writer = lab.Writer(node, lab.write_request(lab.block()))
    with pytest.raises(PeerClosed):
        writer.ack()
    node.wait_idle()
    assert "nothing came from" in caplog.text


def test_a_slow_client_holds_nothing_but_its_thread(node: Any, lab: Lab) -> None:
    slow = node.connect()
    request = encode_request(lab.write_request(lab.block(5)))
    stop = threading.Event()

    def trickle() -> None:
        for byte in request:
            if stop.wait(0.01):
                return
            slow.send_all(bytes([byte]))

    trickler = threading.Thread(target=trickle)
    trickler.start()
    lab.write_block(node, lab.block(6), DATA)
    lab.write_block(node, lab.block(7), DATA)
    assert node.content(7) == DATA
    trickler.join(20)
    assert read_response(slow).is_success
    stop.set()
    slow.close()


def test_five_hundred_idle_connections_disturb_nobody_and_go_after_their_time(
    lab: Lab,
) -> None:
    # Long enough for all of them to be there before the first one goes.
    node = lab.node(DataSettings(socket_timeout_s=8))
    before = descriptors()
    threads = threading.active_count()
    idle = [socket.create_connection(("127.0.0.1", node.port)) for _ in range(500)]
    lab.wait_until(lambda: node.server.active == 500)
    lab.write_block(node, lab.block(), DATA)
    assert node.content(1) == DATA
    node.wait_idle(30)
    for sock in idle:
        sock.close()
    lab.wait_until(lambda: threading.active_count() <= threads)
    lab.wait_until(lambda: descriptors() <= before)


def test_connections_over_the_limit_are_closed_at_once(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    node = lab.node(DataSettings(max_connections=2))
    kept = [node.connect() for _ in range(2)]
    lab.wait_until(lambda: node.server.active == 2)
    with pytest.raises(PeerClosed):
        node.connect().recv_exactly(1)
    assert "exceeds the limit of concurrent xceivers: 2" in caplog.text
    for connection in kept:
        connection.close()
    assert_closed_and_well(node, lab)


def test_broken_writes_leave_no_descriptor_thread_or_writer_behind(node: Any, lab: Lab) -> None:
    mirror = lab.node()
    before, threads = descriptors(), threading.active_count()
    for block_id in range(20):
        writer = lab.Writer(node, lab.write_request(lab.block(block_id), mirror))
        writer.send(0, DATA)
        writer.close()
    node.wait_idle()
    mirror.wait_idle()
    lab.wait_until(lambda: threading.active_count() <= threads)
    lab.wait_until(lambda: descriptors() <= before)
    assert len(node.store.writers) == 0
    assert node.volumes.all[0].promised_bytes == 0


def test_a_reader_that_hangs_up_in_the_middle_leaves_nothing(node: Any, lab: Lab) -> None:
    lab.write_block(node, lab.block(), bytes(8 << 20), packet_bytes=1 << 20)
    before = descriptors()
    for _ in range(10):
        connection = node.connect()
        connection.send_all(encode_request(lab.read_request(lab.block(), 0, 8 << 20)))
        assert read_response(connection).is_success
        connection.close()
    node.wait_idle()
    lab.wait_until(lambda: descriptors() <= before)


def test_a_client_that_takes_the_data_port_for_the_namenodes_hears_so_at_once(lab: Lab) -> None:
    node = lab.node()
    client = RpcClient(
        ("127.0.0.1", node.port), "org.apache.hadoop.hdfs.protocol.ClientProtocol", user="anna"
    )
    with pytest.raises(NotAnRpcServer, match=f"a datanode answers at 127.0.0.1:{node.port}"):
        client.call("getFileInfo", nn.GetFileInfoRequestProto(src="/"), nn.GetFileInfoResponseProto)
    client.close()
