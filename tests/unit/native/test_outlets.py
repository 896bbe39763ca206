"""`Outlet` of the kernel, and answers that a `DirectWriter` sends whole, or gives back."""

from __future__ import annotations

import os
import select
import socket
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from howdah.native.loader import kernel
from howdah.testing.waiting import wait_until

if TYPE_CHECKING:
    from howdah.native._kernel import DirectWriter, Outlet

WAIT_S = 60.0


@pytest.fixture
def native() -> ModuleType:
    found = kernel()
    if found is None:
        pytest.skip("the kernel is not built")
    return found


class Connection:
    """Two ends; the near one has little room, and is never waited for."""

    def __init__(self, native: ModuleType, room_bytes: int = 0) -> None:
        self.near, self.far = socket.socketpair()
        self.near.setblocking(False)
        self.far.settimeout(WAIT_S)
        if room_bytes:
            self.near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, room_bytes)
        self.outlet: Outlet = native.Outlet(self.near.fileno())

    def receive(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            piece = self.far.recv(count - len(found))
            assert piece, "the end came first"
            found += piece
        return found

    def close(self) -> None:
        self.outlet.close()
        self.near.close()
        self.far.close()


class World:
    """A writer whose thread runs, to a file whose syncs are quick."""

    def __init__(self, native: ModuleType) -> None:
        self.native = native
        self.bell = os.eventfd(0, os.EFD_NONBLOCK)
        self.file = os.memfd_create("segment")
        self.writer: DirectWriter = native.DirectWriter(self.bell)
        self.txid = 0
        self.back: list[tuple[str, bytes]] = []
        self._thread: threading.Thread | None = None
        self._connections: list[Connection] = []

    def connect(self, room_bytes: int = 0) -> Connection:
        self._connections.append(Connection(self.native, room_bytes))
        return self._connections[-1]

    def start(self) -> None:
        size = os.fstat(self.file).st_size
        self.writer.open([(self.file, -1, size, size)], self.txid)
        self._thread = threading.Thread(target=self.writer.run)
        self._thread.start()

    def put(self, *, now: bool = False) -> int:
        self.txid += 1
        return self.writer.put([b"record"], self.txid, now)

    def leave(self, connection: Connection, data: bytes, txid: int, name: str = "") -> int:
        return self.writer.answer(
            connection.outlet, data, txid, lambda rest: self.back.append((name, rest))
        )

    def has_rung(self) -> bool:
        return bool(select.select([self.bell], [], [], 0)[0])

    def take_back(self) -> list[tuple[str, bytes]]:
        for back, data in self.writer.returned(0):
            back(data)
        found, self.back = self.back, []
        return found

    def stop(self) -> None:
        if self._thread is not None:
            self.writer.interrupt()
            self._thread.join(WAIT_S)
            assert not self._thread.is_alive()
            self.writer.close()
            self._thread = None

    def end(self) -> None:
        self.stop()
        for each in self._connections:
            each.close()
        os.close(self.bell)
        os.close(self.file)


@pytest.fixture
def world(native: ModuleType) -> Iterator[World]:
    found = World(native)
    yield found
    found.end()


def test_an_outlet_sends_what_there_is_room_for_and_is_closed_then(native: ModuleType) -> None:
    connection = Connection(native, room_bytes=4096)
    outlet = connection.outlet
    assert outlet.send(b"first") == 5
    assert outlet.is_open
    sent = outlet.send(bytes(1 << 20))
    assert 0 < sent < 1 << 20
    assert not outlet.is_open
    connection.receive(5 + sent)
    assert outlet.send(b"more") == 0, "it is the caller's to send what is left first"
    assert outlet.reopen()
    assert outlet.send(b"more") == 4
    assert connection.receive(4) == b"more"
    connection.close()


def test_who_has_gone_is_no_error_here(native: ModuleType) -> None:
    connection = Connection(native)
    connection.far.close()
    assert connection.outlet.send(b"data") == 0
    assert not connection.outlet.is_open
    connection.close()
    assert not connection.outlet.reopen()
    assert connection.outlet.send(b"data") == 0


def test_an_outlet_outlives_the_number_of_its_connection(native: ModuleType) -> None:
    connection = Connection(native)
    connection.near.close()
    other, _far = socket.socketpair()  # It may have the number now.
    assert connection.outlet.send(b"data") == 4
    assert connection.receive(4) == b"data"
    other.setblocking(False)
    with pytest.raises(BlockingIOError):
        other.recv(1)
    connection.close()
    other.close()
    _far.close()


def test_no_descriptor_is_left_open(native: ModuleType) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(200):
        connection = Connection(native)
        connection.close()
        dropped = Connection(native)
        dropped.near.close()
        dropped.far.close()
        del dropped
    # Other threads of this process may have opened some meanwhile.
    assert len(os.listdir("/proc/self/fd")) < before + 100
    with pytest.raises(OSError, match="Bad file descriptor"):
        native.Outlet(-1)


def test_an_answer_leaves_when_its_record_is_durable(world: World) -> None:
    one, other = world.connect(), world.connect()
    world.start()
    assert world.leave(one, b"first", 1) == 1
    assert world.leave(other, b"second", 2) == 2
    assert one.outlet.waiting_bytes == 5
    world.put()
    assert one.receive(5) == b"first"
    assert not select.select([other.far], [], [], 0)[0]
    world.put()
    assert other.receive(6) == b"second"
    wait_until(lambda: one.outlet.waiting_bytes == other.outlet.waiting_bytes == 0)
    assert not world.has_rung(), "nobody asked for it"
    assert world.leave(one, b"third", 2) == 0, "it is durable"
    assert world.take_back() == []


def test_answers_of_a_connection_stay_in_order(world: World) -> None:
    connection = world.connect()
    world.start()
    for number in range(500):
        world.leave(connection, b"%4d" % number, number + 1)
        if number % 7 == 0:
            world.txid = number
            world.put()
    world.txid = 499
    world.put()
    assert connection.receive(2000) == b"".join(b"%4d" % number for number in range(500))


def test_a_record_that_is_durable_at_once_sends_its_answer(world: World) -> None:
    connection = world.connect()
    world.start()

    def is_sent_at_once() -> bool:
        world.leave(connection, b"answer", world.txid + 1)
        was_durable = world.put(now=True) == 2
        connection.far.settimeout(0 if was_durable else WAIT_S)
        assert connection.receive(6) == b"answer"
        return was_durable

    wait_until(is_sent_at_once)


def test_who_reads_slowly_has_all_of_it_from_the_loop(world: World) -> None:
    """What was begun is gone on with, and nothing comes in between."""
    connection = world.connect(room_bytes=4096)
    world.start()
    answers = [bytes([65 + number]) * 20_000 for number in range(20)]
    for number, each in enumerate(answers):
        world.leave(connection, each, number + 1, str(number))
    world.txid = 19
    world.put()
    wait_until(world.has_rung)
    assert not connection.outlet.is_open
    assert connection.outlet.send(b"between") == -1
    owed_bytes = connection.outlet.waiting_bytes
    assert not connection.outlet.reopen(), "what it owes comes first"
    found = world.take_back()
    names = [int(name) for name, _ in found]
    assert names == list(range(names[0], 20))
    assert 0 < len(found[0][1]) < 20_000 or names[0] > 0
    rest = b"".join(data for _, data in found)
    assert owed_bytes == len(rest), "it waits until it is given back"
    sent = connection.receive(400_000 - len(rest))
    assert sent + rest == b"".join(answers)
    assert connection.outlet.reopen()
    assert connection.outlet.send(b"behind") == 6
    assert connection.receive(6) == b"behind"
    assert connection.outlet.waiting_bytes == 0


def test_who_has_gone_holds_nobody_up(world: World) -> None:
    gone, there = world.connect(), world.connect()
    world.start()
    gone.far.close()
    world.leave(gone, b"lost", 1, "gone")
    world.leave(there, b"kept", 1)
    world.put()
    assert there.receive(4) == b"kept"
    wait_until(world.has_rung)
    assert world.take_back() == [("gone", b"lost")]


def test_what_became_durable_elsewhere_is_sent_by_who_says_so(world: World) -> None:
    """A segment that ends takes the records with it that were put, and leaves the answers."""
    connection = world.connect()
    world.start()
    world.leave(connection, b"one", 1, "one")
    world.leave(connection, b"two", 2, "two")
    world.stop()
    assert world.writer.returned(0) == []
    assert world.writer.returned(1) == []
    assert connection.receive(3) == b"one"
    assert connection.outlet.waiting_bytes == 3
    world.txid = 1
    world.start()
    world.put()
    assert connection.receive(3) == b"two"


def test_nothing_comes_into_what_became_durable_elsewhere(world: World) -> None:
    """It had no room; there was some when the thread had the next answer to send."""
    connection = world.connect(room_bytes=4096)
    world.leave(connection, b"1" * 200_000, 1, "one")
    world.leave(connection, b"2" * 10, 2, "two")
    ((back, rest),) = world.writer.returned(1)
    assert 0 < len(rest) < 200_000
    assert connection.receive(200_000 - len(rest)) == b"1" * (200_000 - len(rest))
    world.txid = 1
    world.start()
    world.put()
    wait_until(world.has_rung)
    assert not select.select([connection.far], [], [], 0)[0], "the rest comes first"
    back(rest)
    assert world.take_back() == [("one", rest), ("two", b"2" * 10)]


def test_what_still_waits_is_let_go_of_with_the_writer(native: ModuleType) -> None:
    connection = Connection(native)
    writer = native.DirectWriter(-1)
    kept = {"back": lambda data: None}
    gone: list[bool] = []

    class Watched:
        def __call__(self, data: bytes) -> None: ...

        def __del__(self) -> None:
            gone.append(True)

    writer.answer(connection.outlet, b"data", 1, Watched())
    del writer
    assert gone == [True]
    assert kept
    connection.close()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((object(), b"data", 1, print), TypeError),
        (("outlet", "data", 1, print), TypeError),
        (("outlet", b"data", "1", print), TypeError),
        (("outlet", b"data", 1 << 64, print), OverflowError),
        (("outlet", b"data", 1), TypeError),
    ],
)
def test_what_is_no_answer_is_refused(
    native: ModuleType, arguments: tuple[Any, ...], error: type[Exception]
) -> None:
    connection = Connection(native)
    writer = native.DirectWriter(-1)
    with pytest.raises(error):
        writer.answer(*(connection.outlet if each == "outlet" else each for each in arguments))
    connection.close()


def test_transactions_of_answers_only_rise(native: ModuleType) -> None:
    connection = Connection(native)
    writer = native.DirectWriter(-1)
    assert writer.answer(connection.outlet, b"data", 3, print) == 1
    with pytest.raises(ValueError, match="later than 2"):
        writer.answer(connection.outlet, b"data", 2, print)
    assert writer.answer(connection.outlet, b"data", 3, print) == 2
    connection.close()


class Busy:
    """A loop that leaves answers with a log whose thread is sent away and comes back, as
    `howdah.namenode.journal.edit_log` does at each end of a segment. Clients read meanwhile."""

    SIZE = 700

    def __init__(self, native: ModuleType, clients: int) -> None:
        self.bell = os.eventfd(0, os.EFD_NONBLOCK)
        self.file = os.memfd_create("segment")
        self.writer: DirectWriter = native.DirectWriter(self.bell)
        self.connections = [Connection(native, room_bytes=4096) for _ in range(clients)]
        self.received = [bytearray() for _ in self.connections]
        self.elsewhere_txid = 0
        """So far it is durable by what the thread did without the writer."""
        self._pending_txid = 0
        self._lock = threading.Lock()
        self._stopping = False
        self._threads = [threading.Thread(target=self._journal)]
        for connection, received in zip(self.connections, self.received, strict=True):
            connection.near.settimeout(WAIT_S)
            self._threads.append(threading.Thread(target=self._read, args=(connection, received)))
        for thread in self._threads:
            thread.start()

    def _journal(self) -> None:
        size_bytes = durable_txid = 0
        while True:
            with self._lock:
                durable_txid = max(durable_txid, self._pending_txid)
                self.elsewhere_txid = durable_txid
                if self._stopping:
                    return
                self.writer.open([(self.file, -1, size_bytes, size_bytes)], durable_txid)
            assert self.writer.run() is None
            with self._lock:
                ((size_bytes, _),), _, durable_txid, rest = self.writer.close()
                size_bytes += os.pwrite(self.file, rest, size_bytes)

    @staticmethod
    def _read(connection: Connection, received: bytearray) -> None:
        while data := connection.far.recv(300):
            received += data

    def put(self, txid: int, *, now: bool) -> None:
        with self._lock:
            if self.writer.put([b"record"], txid, now) == 0:
                self._pending_txid = txid

    def answer(self, number: int, txid: int) -> None:
        connection, data = self.connections[number], txid.to_bytes(4, "big") * (self.SIZE // 4)
        if self.writer.answer(
            connection.outlet, data, txid, lambda rest: self._carry(connection, rest)
        ):
            self.writer.want(txid)
            return
        while (sent := connection.outlet.send(data)) < 0:
            self.hear()
        self._carry(connection, data[sent:])

    def hear(self) -> None:
        self.writer.durable()
        for back, data in self.writer.returned(max(self.elsewhere_txid, self.writer.look())):
            back(data)

    @staticmethod
    def _carry(connection: Connection, rest: bytes) -> None:
        """What the outlet had no room for."""
        connection.near.sendall(rest)
        connection.outlet.reopen()

    def end_segment(self) -> None:
        self.writer.interrupt()

    def end(self) -> None:
        with self._lock:
            self._stopping = True
            self.writer.interrupt()
        self._threads[0].join(WAIT_S)
        assert not self._threads[0].is_alive()
        wait_until(self._is_all_sent)
        for connection in self.connections:
            connection.near.shutdown(socket.SHUT_WR)
        for thread in self._threads:
            thread.join(WAIT_S)
            assert not thread.is_alive()
        for connection in self.connections:
            connection.close()
        os.close(self.bell)
        os.close(self.file)

    def _is_all_sent(self) -> bool:
        self.hear()
        return not any(each.outlet.waiting_bytes for each in self.connections)


def test_everybody_gets_whole_answers_once_whatever_comes_between(native: ModuleType) -> None:
    busy, rounds = Busy(native, clients=3), 600
    sent: list[list[int]] = [[] for _ in busy.connections]
    for txid in range(1, rounds + 1):
        busy.put(txid, now=txid % 7 == 0)
        for number, connection in enumerate(busy.connections):
            if (txid + number) % 3:
                busy.answer(number, txid)
                sent[number].append(txid)
            assert connection.outlet.waiting_bytes <= rounds * busy.SIZE
        if txid % 5 == 0:
            busy.hear()
        if txid % 40 == 0:
            busy.end_segment()
    busy.end()
    for wanted, received in zip(sent, busy.received, strict=True):
        pieces = [
            received[at : at + 4] * (busy.SIZE // 4) for at in range(0, len(received), busy.SIZE)
        ]
        assert b"".join(pieces) == received, "each answer is one piece"
        assert sorted(int.from_bytes(each[:4], "big") for each in pieces) == wanted
