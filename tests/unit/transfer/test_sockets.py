"""The blocking connection: exact reads, read-ahead, time-outs."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
from collections.abc import Iterator

import pytest

from howdah import errors
from howdah.transfer.packets import PacketHeader, encode_packet
from howdah.transfer.sockets import Connection, PeerClosed, PeerSilent, connect
from howdah.transfer.varint import encode_varint, read_delimited


@pytest.fixture
def pair() -> Iterator[tuple[Connection, socket.socket]]:
    left, right = socket.socketpair()
    with Connection(left, read_timeout_s=5) as connection, right:
        yield connection, right


def test_bytes_that_came_with_a_message_are_read_next(
    pair: tuple[Connection, socket.socket],
) -> None:
    connection, far = pair
    far.sendall(encode_varint(3) + b"abc" + encode_varint(2) + b"de" + b"tail")
    assert read_delimited(connection) == b"abc"
    assert connection.has_read_ahead
    assert read_delimited(connection) == b"de"
    view = memoryview(bytearray(4))
    connection.recv_into_exactly(view)
    assert view == b"tail"


def test_bytes_pushed_back_are_read_first(pair: tuple[Connection, socket.socket]) -> None:
    connection, far = pair
    far.sendall(b"xyz")
    assert connection.recv_exactly(1) == b"x"
    connection.push_back(b"ab")
    assert connection.recv_exactly(4) == b"abyz"


def test_the_end_of_the_stream_is_an_error_that_names_the_peer(
    pair: tuple[Connection, socket.socket],
) -> None:
    connection, far = pair
    far.sendall(b"ab")
    far.close()
    with pytest.raises(PeerClosed, match="closed the connection"):
        connection.recv_exactly(3)


def test_silence_is_an_error_after_the_time_out() -> None:
    left, right = socket.socketpair()
    with Connection(left, read_timeout_s=0.05) as connection, right:
        with pytest.raises(PeerSilent, match="nothing came"):
            connection.recv_exactly(1)


def test_a_peer_that_takes_no_bytes_is_an_error_after_the_time_out() -> None:
    left, right = socket.socketpair()
    with Connection(left, write_timeout_s=0.05) as connection, right:
        with pytest.raises(PeerSilent, match="took no bytes"):
            connection.send_all(bytes(64 << 20))


def test_many_buffers_arrive_in_order_and_whole(pair: tuple[Connection, socket.socket]) -> None:
    connection, far = pair
    buffers = [bytes([i]) * 70_000 for i in range(20)]
    received = bytearray()

    def drain() -> None:
        while len(received) < 20 * 70_000:
            received.extend(far.recv(1 << 16))

    reader = threading.Thread(target=drain)
    reader.start()
    connection.send_buffers([b"", *buffers])
    reader.join(10)
    assert bytes(received) == b"".join(buffers)


def test_a_file_is_sent_behind_its_packet_header(pair: tuple[Connection, socket.socket]) -> None:
    connection, far = pair
    with tempfile.TemporaryFile() as file:
        file.write(b"0123456789")
        file.flush()
        connection.send_more(b"head")
        connection.send_file(file.fileno(), 3, 4)
    assert far.recv(100, socket.MSG_WAITALL | socket.MSG_DONTWAIT) == b"head3456"


def test_a_file_that_is_too_short_is_an_error(pair: tuple[Connection, socket.socket]) -> None:
    connection, _ = pair
    with tempfile.TemporaryFile() as file:
        file.write(b"0123")
        file.flush()
        with pytest.raises(errors.BlockMissing, match="1 bytes before it should"):
            connection.send_file(file.fileno(), 2, 3)


def test_a_broken_peer_is_an_error_of_the_connection_and_not_of_the_disk(
    pair: tuple[Connection, socket.socket],
) -> None:
    connection, far = pair
    far.close()
    with tempfile.TemporaryFile() as file:
        os.truncate(file.fileno(), 1 << 20)
        with pytest.raises(PeerClosed):
            connection.send_file(file.fileno(), 0, 1 << 20)


def test_shutdown_wakes_a_blocked_reader(pair: tuple[Connection, socket.socket]) -> None:
    connection, _ = pair
    failed: list[BaseException] = []

    def read() -> None:
        try:
            connection.recv_exactly(1)
        except PeerClosed as error:
            failed.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    connection.shutdown()
    reader.join(5)
    assert len(failed) == 1


def test_nobody_at_the_address_is_unreachable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(errors.Unreachable, match=f"127.0.0.1:{port}"):
            connect(("127.0.0.1", port), connect_timeout_s=2)


def test_a_heartbeat_over_a_real_socket_is_six_and_twenty_five_bytes() -> None:
    assert len(encode_packet(PacketHeader(0, -1, False, 0))) == 31


@pytest.mark.skipif(not hasattr(socket, "TCP_CONGESTION"), reason="Linux only")
def test_nothing_is_paced_between_processes_of_one_machine() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
        with Connection(near), Connection(far):
            for sock in (near, far):
                used = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
                assert used.rstrip(b"\0") == b"reno"
