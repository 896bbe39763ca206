"""The blocking connection: exact reads, read-ahead, time-outs."""

from __future__ import annotations

import array
import errno
import fcntl
import os
import random
import select
import socket
import tempfile
import termios
import threading
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.client.reading import short_read
from howdah.native.socket_io import Outcome
from howdah.protocol.data_transfer.packets import PacketHeader, encode_packet
from howdah.protocol.varint import encode_varint, read_delimited
from howdah.runtime.sockets import READ_AHEAD_BYTES, Connection, PeerClosed, PeerSilent, connect
from howdah.testing.waiting import wait_until


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
    assert bytes(view) == b"tail"


def test_bytes_pushed_back_are_read_first(pair: tuple[Connection, socket.socket]) -> None:
    connection, far = pair
    far.sendall(b"xyz")
    assert connection.recv_exactly(1) == b"x"
    connection.push_back(b"ab")
    assert connection.recv_exactly(4) == b"abyz"


def test_what_is_expected_is_received_with_its_message_and_lent(
    pair: tuple[Connection, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, far = pair
    data = os.urandom(60_000)
    far.sendall(b"head" + data + b"tail")
    received: list[int] = []
    really = Connection._recv_into

    def counted(self: Connection, view: memoryview, flags: int = 0) -> int:
        received.append(really(self, view, flags))
        return received[-1]

    monkeypatch.setattr(Connection, "_recv_into", counted)
    connection.expect(len(data) + 100)
    assert connection.recv_exactly(4) == b"head"
    lent = connection.lend(len(data))
    assert lent is not None
    assert bytes(lent) == data
    assert connection.recv_exactly(4) == b"tail"
    assert received == [len(data) + 8]
    assert not connection.has_read_ahead


def test_what_was_lent_stays_as_it_was(pair: tuple[Connection, socket.socket]) -> None:
    connection, far = pair
    pieces = [os.urandom(5000) for _ in range(20)]
    lent = []
    for piece in pieces:
        far.sendall(piece + b"!")
        connection.expect(6000)
        assert connection.recv_exactly(100) == piece[:100]
        lent.append(connection.lend(4900))
        assert connection.recv_exactly(1) == b"!"
    assert [view if view is None else bytes(view) for view in lent] == [p[100:] for p in pieces]


def test_what_does_not_fit_is_not_lent_and_comes_all_the_same(
    pair: tuple[Connection, socket.socket],
) -> None:
    connection, far = pair
    data = os.urandom(READ_AHEAD_BYTES + 500)
    far.sendall(data)
    assert connection.recv_exactly(1) == data[:1]
    assert connection.lend(READ_AHEAD_BYTES) is None
    rest = memoryview(bytearray(len(data) - 1))
    connection.recv_into_exactly(rest)
    assert rest == data[1:]


@given(
    st.binary(max_size=40_000),
    st.lists(
        st.tuples(
            st.sampled_from(["exactly", "into", "lend", "expect", "push back", "look"]),
            st.integers(0, 20_000),
        ),
        max_size=40,
    ),
)
def test_however_bytes_are_read_they_come_once_and_in_order(
    data: bytes, steps: list[tuple[str, int]]
) -> None:
    left, right = socket.socketpair()
    with Connection(left, read_timeout_s=5) as connection, right:
        sender = threading.Thread(target=right.sendall, args=(data,))
        sender.start()
        at = 0
        lent: list[tuple[int, memoryview]] = []
        for step, number in steps:
            count = min(number, len(data) - at)
            match step:
                case "exactly":
                    assert connection.recv_exactly(count) == data[at : at + count]
                    at += count
                case "into":
                    view = memoryview(bytearray(count))
                    connection.recv_into_exactly(view)
                    assert view == data[at : at + count]
                    at += count
                case "lend":
                    found = connection.lend(count)
                    if found is not None:
                        lent.append((at, found))
                        at += count
                case "push back":
                    connection.push_back(data[max(at - number, 0) : at])
                    at = max(at - number, 0)
                case "look" if at < len(data):
                    connection.look_ahead()
                    assert connection.has_read_ahead
                case "expect":
                    connection.expect(number)
        assert connection.recv_exactly(len(data) - at) == data[at:]
        for begin, found in lent:
            assert found == data[begin : begin + len(found)]
        sender.join(30)


def test_a_look_that_comes_too_early_can_be_had_again() -> None:
    left, right = socket.socketpair()
    with Connection(left, read_timeout_s=0.05) as connection, right:
        with pytest.raises(PeerSilent):
            connection.look_ahead()
        connection.set_read_timeout(30)
        sender = threading.Timer(0.1, right.sendall, (b"abc",))
        sender.start()
        connection.look_ahead()
        assert connection.recv_exactly(3) == b"abc"
        sender.join(30)


def test_the_kernel_hears_of_a_time_out_when_it_may_have_to_wait(
    pair: tuple[Connection, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, far = pair
    told: list[float] = []
    monkeypatch.setattr(Connection, "_set_timeout", lambda self, what, value: told.append(value))
    far.sendall(b"abcdef")
    connection.set_read_timeout(7)
    assert told == []
    assert connection.recv_exactly(1) == b"a"
    connection.set_read_timeout(8)
    connection.set_read_timeout(7)
    assert connection.recv_exactly(5) == b"bcdef"
    far.sendall(b"g")
    assert connection.recv_exactly(1) == b"g"
    assert told == [7]


def test_whether_there_is_input_is_told_and_nothing_taken(
    pair: tuple[Connection, socket.socket],
) -> None:
    connection, far = pair
    assert not connection.has_input
    far.sendall(b"ab")
    assert connection.has_input
    assert connection.recv_exactly(1) == b"a"
    assert connection.has_input
    assert connection.recv_exactly(1) == b"b"
    assert not connection.has_input
    far.close()
    assert connection.has_input


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


@pytest.mark.parametrize(
    "code", [errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN]
)
def test_an_unreachable_peer_is_an_error_of_the_connection_and_not_of_the_disk(
    pair: tuple[Connection, socket.socket], monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """The kernel says so of a peer that lost its power."""
    connection, _ = pair
    monkeypatch.setattr(os, "sendfile", raising(OSError(code, os.strerror(code))))
    with tempfile.TemporaryFile() as file:
        os.truncate(file.fileno(), 1 << 20)
        with pytest.raises(PeerClosed, match=os.strerror(code)):
            connection.send_file(file.fileno(), 0, 1 << 20)


def test_an_error_of_the_disk_is_none_of_the_connection(
    pair: tuple[Connection, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, _ = pair
    monkeypatch.setattr(os, "sendfile", raising(OSError(errno.EIO, os.strerror(errno.EIO))))
    with tempfile.TemporaryFile() as file, pytest.raises(OSError, match="Input/output") as failed:
        connection.send_file(file.fileno(), 0, 1)
    assert not isinstance(failed.value, PeerClosed)


def raising(error: OSError) -> Callable[..., int]:
    def raises(*_: object) -> int:
        raise error

    return raises


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
    reader.join(30)
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


def test_a_plain_address_is_dialled_without_the_resolver(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: object, **__: object) -> None:
        raise AssertionError("nobody need be asked what 127.0.0.1 is")

    monkeypatch.setattr(socket, "getaddrinfo", asked)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        with connect(address) as connection:
            assert connection.peer == f"127.0.0.1:{address[1]}"
            assert connection.is_same_machine


def test_the_ends_of_a_connection_are_asked_for_once() -> None:
    asked: list[str] = []

    class Counted(socket.socket):
        def getpeername(self) -> object:
            asked.append("peer")
            return super().getpeername()

        def getsockname(self) -> object:
            asked.append("here")
            return super().getsockname()

    with socket.create_server(("127.0.0.1", 0)) as server, Counted() as sock:
        sock.connect(server.getsockname())
        asked.clear()
        Connection(sock)
    assert asked == ["peer", "here"]


def test_a_connection_whose_peer_is_gone_says_so() -> None:
    with socket.socket() as sock:
        connection = Connection(sock)
        assert connection.peer == "a peer that is gone"
        assert not connection.is_same_machine


class Said:
    """A word, and how often it was said."""

    after_s = 0.01

    def __init__(self) -> None:
        self.count = 0

    def show(self) -> None:
        self.count += 1


def test_a_word_is_said_once_before_the_time_out() -> None:
    left, right = socket.socketpair()
    with Connection(left, read_timeout_s=0.1) as connection, right:
        connection.wait_notice = said = Said()
        for _ in range(2):
            with pytest.raises(PeerSilent, match=r"in 0\.1 s"):
                connection.recv_exactly(1)
        assert said.count == 1


def test_a_read_waits_no_longer_for_having_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(Connection, "_set_timeout", lambda *told: waits.append(told[-1]))
    left, right = socket.socketpair()
    with Connection(left, read_timeout_s=0.1) as connection, right:
        left.setblocking(False)
        waits.clear()
        connection.wait_notice = Said()
        with pytest.raises(PeerSilent):
            connection.recv_exactly(1)
    assert waits == [0.01, pytest.approx(0.09)]


def test_a_word_is_said_while_a_connection_is_not_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []

    class Poll:
        def register(self, *what: object) -> None: ...

        def poll(self, timeout_ms: float) -> list[object]:
            waits.append(timeout_ms)
            return []

    monkeypatch.setattr(select, "poll", Poll)
    monkeypatch.setattr(socket.socket, "connect_ex", lambda *_: errno.EINPROGRESS)
    said = Said()
    with pytest.raises(errors.Unreachable, match=r"no answer in 0\.1 s"):
        connect(("127.0.0.1", 9), connect_timeout_s=0.1, word=said)
    assert said.count == 1
    assert waits == [10, pytest.approx(90)]


def test_a_word_is_said_while_a_small_read_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    waits_ns: list[int] = []

    def silent(*how: object) -> tuple[object, ...]:
        waits_ns.append(how[5])  # type: ignore[arg-type]
        return Outcome.SILENT, 0, b"", 0, 0

    monkeypatch.setattr(short_read, "read_short", silent)
    left, right = socket.socketpair()
    with Connection(left, read_timeout_s=0.1) as connection, right:
        connection.wait_notice = said = Said()
        assert short_read.read_range(connection, b"", 0, 1, 100, b"") is None, (
            "it is read on as usual"
        )
        assert said.count == 1
        with pytest.raises(PeerSilent, match=r"in 0\.1 s"):
            short_read.read_range(connection, b"", 0, 1, 100, b"")
    assert waits_ns == [10_000_000, 100_000_000]


def test_what_comes_after_the_word_is_read(pair: tuple[Connection, socket.socket]) -> None:
    connection, far = pair

    class Wakes(Said):
        def show(self) -> None:
            super().show()
            far.sendall(b"abc")

    connection.wait_notice = said = Wakes()
    assert connection.recv_exactly(3) == b"abc"
    assert said.count == 1
    far.sendall(b"d")
    assert connection.recv_exactly(1) == b"d"


def test_no_word_is_said_where_the_time_out_comes_first() -> None:
    left, right = socket.socketpair()
    with Connection(left, read_timeout_s=0.005) as connection, right:
        connection.wait_notice = said = Said()
        with pytest.raises(PeerSilent):
            connection.recv_exactly(1)
        assert said.count == 0


def test_a_word_takes_no_further_call_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []
    tell = Connection._set_timeout

    def counting(connection: Connection, option: int, timeout_s: float) -> None:
        if option == socket.SO_RCVTIMEO:
            told.append(timeout_s)
        tell(connection, option, timeout_s)

    monkeypatch.setattr(Connection, "_set_timeout", counting)
    word = Said()
    with socket.create_server(("127.0.0.1", 0)) as server:
        connection = connect(server.getsockname(), word=word)
        far, _ = server.accept()
        with connection, far:
            for _ in range(3):
                connection.wait_notice = word
                far.sendall(b"a")
                connection.recv_exactly(1)
                connection.wait_notice = None
    assert told == [word.after_s]


def tcp_pair() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
    return near, far


@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_many_bytes_that_have_to_come_are_waited_for_together(kind: str) -> None:
    near, far = tcp_pair() if kind == "tcp" else socket.socketpair()
    data = random.Random(1).randbytes(300_000)

    def send() -> None:
        for start in range(0, len(data), 5000):
            far.sendall(data[start : start + 5000])
        far.sendall(b"short")

    with far, Connection(near) as connection:
        sender = threading.Thread(target=send)
        sender.start()
        came = connection.have(100_000)
        assert bytes(came) == data[: len(came)]
        assert len(came) >= 100_000
        connection.pass_over(100_000)
        assert bytes(connection.have(200_000)[:200_000]) == data[100_000:]
        connection.pass_over(200_000)
        # What is short is not waited for any longer than it takes.
        assert connection.recv_exactly(5) == b"short"
        sender.join()


def test_what_has_come_of_many_bytes_is_taken_from_the_kernel_at_once() -> None:
    """Who sends small packets may send more of them when these are acknowledged, which what lies in
    the kernel is after a delay only."""
    near, far = tcp_pair()
    far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with far, Connection(near) as connection:
        reader = threading.Thread(target=connection.have, args=(100_000,))
        reader.start()
        for _ in range(9):
            for _ in range(11):
                far.sendall(bytes(1000))
            wait_until(lambda: not waiting_bytes(near), 30)
        assert reader.is_alive()
        far.sendall(bytes(1000))
        reader.join()


def waiting_bytes(sock: socket.socket) -> int:
    """How much lies in the kernel, to be received."""
    count = array.array("i", [0])
    fcntl.ioctl(sock, termios.FIONREAD, count)
    return count[0]


@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_who_waits_for_many_bytes_hears_of_the_end(kind: str) -> None:
    near, far = tcp_pair() if kind == "tcp" else socket.socketpair()
    with Connection(near) as connection:
        far.sendall(bytes(1000))
        far.close()
        with pytest.raises(PeerClosed):
            connection.have(100_000)


def test_who_waits_for_many_bytes_waits_no_longer_than_is_allowed() -> None:
    near, far = tcp_pair()
    with far, Connection(near, read_timeout_s=0.2) as connection:
        far.sendall(b"abc")
        with pytest.raises(PeerSilent):
            connection.have(100_000)
        assert connection.recv_exactly(3) == b"abc"
