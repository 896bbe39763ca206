"""A writer that syncs hears its acks and the answer to what it tells in one step of the kernel."""

from __future__ import annotations

import errno
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.native.loader import kernel
from howdah.native.socket_io import Outcome
from howdah.protocol.data_transfer.packets import encode_ack
from howdah.protocol.data_transfer.status import Status
from howdah.testing.waiting import wait_until

MS = 1_000_000
LONG = 60_000 * MS
ACK = encode_ack(7, (Status.SUCCESS,) * 3)
SYNCED = encode_ack(8, (Status.SUCCESS,) * 3)
REQUEST = b"so long is it"
ANSWER = b"well"
RAISED = 5

Found = list[tuple[int, int, int, bytes]]


def frame(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


@pytest.fixture
def native() -> Any:
    found = kernel()
    if found is None:
        pytest.skip("the kernel is not built here")
    return found


class Ends:
    """The near and the far end of the acks' connection, and of the calls'."""

    def __init__(self) -> None:
        self.acks, self.datanode = socket.socketpair()
        self.calls, self.namenode = socket.socketpair()

    def close(self) -> None:
        for each in (self.acks, self.datanode, self.calls, self.namenode):
            each.close()


@pytest.fixture
def ends() -> Iterator[Ends]:
    made = Ends()
    yield made
    made.close()


def hear(
    native: Any, ends: Ends, *, then: bytes = b"", request: bytes = REQUEST, wait_ns: int = LONG
) -> Found:
    found: Found = []
    due = ACK + then
    native.hear_acks(ends.acks, due, len(ACK), wait_ns, found, ends.calls, request, wait_ns)
    return found


# --- the packet -------------------------------------------------------------------------------


def test_what_a_socket_takes_of_a_packet_is_told(native: Any, ends: Ends) -> None:
    found: list[tuple[int, int]] = []
    native.send_now(ends.acks, b"packet", found)
    assert found == [(6, 0)]
    assert ends.datanode.recv(100) == b"packet"


def test_a_socket_that_is_full_takes_a_part_of_a_packet_and_then_nothing(
    native: Any, ends: Ends
) -> None:
    packet = os.urandom(16 << 20)
    found: list[tuple[int, int]] = []
    native.send_now(ends.acks, packet, found)
    native.send_now(ends.acks, packet, found)
    (sent, code), again = found
    assert 0 < sent < len(packet)
    assert (code, again) == (0, (0, 0))
    came = ends.datanode.recv(sent, socket.MSG_WAITALL)
    assert came == packet[:sent]


def test_a_packet_for_a_connection_that_has_ended_is_an_error_by_its_number(
    native: Any, ends: Ends
) -> None:
    ends.datanode.close()
    found: list[tuple[int, int]] = []
    native.send_now(ends.acks, b"packet", found)
    assert found == [(0, errno.EPIPE)]


# --- the ack ----------------------------------------------------------------------------------


def test_behind_the_ack_that_is_due_the_call_is_made(native: Any, ends: Ends) -> None:
    ends.datanode.sendall(ACK)
    ends.namenode.sendall(frame(ANSWER))
    assert hear(native, ends) == [(1, Outcome.WHOLE, 0, b""), (1, Outcome.WHOLE, 0, ANSWER)]
    assert ends.namenode.recv(100) == REQUEST


def test_without_a_request_there_is_no_call(native: Any, ends: Ends) -> None:
    ends.datanode.sendall(ACK)
    found: Found = []
    native.hear_acks(ends.acks, ACK, len(ACK), LONG, found, None, b"", 1)
    assert found == [(1, Outcome.WHOLE, 0, b"")]


def test_no_call_is_made_before_the_whole_ack_is_there(native: Any, ends: Ends) -> None:
    """A length that no datanode may have is told to nobody."""
    ends.namenode.setblocking(False)
    found: Found = []
    waiter = threading.Thread(target=lambda: found.extend(hear(native, ends)))
    waiter.start()
    for byte in ACK:
        with pytest.raises(BlockingIOError):
            ends.namenode.recv(100)
        ends.datanode.sendall(bytes((byte,)))
    ends.namenode.setblocking(True)
    assert ends.namenode.recv(100) == REQUEST
    for byte in frame(ANSWER):
        ends.namenode.sendall(bytes((byte,)))
    waiter.join(60)
    assert found == [(1, Outcome.WHOLE, 0, b""), (1, Outcome.WHOLE, 0, ANSWER)]


BAD = encode_ack(7, (Status.SUCCESS, Status.ERROR, Status.SUCCESS))
OTHER = encode_ack(8, (Status.SUCCESS,) * 3)
FEWER = encode_ack(7, (Status.SUCCESS,) * 2)


@pytest.mark.parametrize("came", [BAD, OTHER, FEWER, b"\0", b"\xff" * 4000, ACK[:-1] + b"x"])
def test_another_ack_is_handed_back_whole_and_nothing_is_told(
    native: Any, ends: Ends, came: bytes
) -> None:
    ends.datanode.sendall(came)
    assert hear(native, ends) == [(0, Outcome.ODD, 0, came)]
    ends.namenode.setblocking(False)
    with pytest.raises(BlockingIOError):
        ends.namenode.recv(100)


@pytest.mark.parametrize("behind", [OTHER, b"\x01", ACK])
def test_what_comes_behind_the_ack_is_handed_back_and_nothing_is_told(
    native: Any, ends: Ends, behind: bytes
) -> None:
    """It may say that the datanode restarts; who reads it knows."""
    ends.datanode.sendall(ACK + behind)
    assert hear(native, ends) == [(1, Outcome.WHOLE, 0, behind)]


@given(st.binary(min_size=1, max_size=300), st.integers(0, 300), st.booleans())
def test_no_byte_that_came_is_lost(junk: bytes, cut: int, two: bool) -> None:
    native = kernel()
    if native is None:
        pytest.skip("the kernel is not built here")
    due = ACK + SYNCED if two else ACK
    wire = due[:cut] + junk
    ends = Ends()
    try:
        ends.datanode.sendall(wire)
        ends.datanode.shutdown(socket.SHUT_WR)
        found: Found = []
        native.hear_acks(ends.acks, due, len(ACK), LONG, found, None, b"", 1)
        heard, outcome, code, came = found[0]
        assert ((b"", ACK, ACK + SYNCED)[heard] + came, code, len(found)) == (wire, 0, 1)
        assert (heard > 0) == wire.startswith(ACK)
        assert (outcome == Outcome.WHOLE) == wire.startswith(due)
    finally:
        ends.close()


@pytest.mark.parametrize("came", [b"", ACK[:3]])
def test_silence_and_an_end_are_told_apart(native: Any, ends: Ends, came: bytes) -> None:
    ends.datanode.sendall(came)
    assert hear(native, ends, wait_ns=20 * MS) == [(0, Outcome.SILENT, 0, came)]
    ends.datanode.sendall(came)
    ends.datanode.close()
    assert hear(native, ends) == [(0, Outcome.BROKEN, 0, came)]


# --- an order to sync behind it ---------------------------------------------------------------


@pytest.mark.parametrize("cut", range(len(SYNCED) + 1))
def test_the_call_is_made_behind_the_first_ack_and_the_second_is_waited_for(
    native: Any, ends: Ends, cut: int
) -> None:
    """As much of the second as may come with the first."""
    ends.datanode.sendall(ACK + SYNCED[:cut])
    found: Found = []
    waiter = threading.Thread(target=lambda: found.extend(hear(native, ends, then=SYNCED)))
    waiter.start()
    assert ends.namenode.recv(100) == REQUEST
    ends.namenode.sendall(frame(ANSWER))
    ends.datanode.sendall(SYNCED[cut:])
    waiter.join(60)
    assert found == [(2, Outcome.WHOLE, 0, b""), (1, Outcome.WHOLE, 0, ANSWER)]


def test_a_second_ack_that_does_not_come_leaves_the_first_and_the_answer(
    native: Any, ends: Ends
) -> None:
    answer = (1, Outcome.WHOLE, 0, ANSWER)
    ends.namenode.sendall(frame(ANSWER))
    ends.datanode.sendall(ACK + SYNCED[:3])
    found = hear(native, ends, then=SYNCED, wait_ns=20 * MS)
    assert found == [(1, Outcome.SILENT, 0, SYNCED[:3]), answer]
    ends.namenode.sendall(frame(ANSWER))
    ends.datanode.sendall(ACK)
    ends.datanode.shutdown(socket.SHUT_WR)
    assert hear(native, ends, then=SYNCED) == [(1, Outcome.BROKEN, 0, b""), answer]


@pytest.mark.parametrize("came", [BAD, ACK, b"\0", SYNCED[:-1] + b"x"])
def test_a_second_ack_that_is_another_is_handed_back(native: Any, ends: Ends, came: bytes) -> None:
    ends.datanode.sendall(ACK + came)
    found = hear(native, ends, then=SYNCED)
    assert found == [(1, Outcome.ODD, 0, came)]
    ends.namenode.setblocking(False)
    with pytest.raises(BlockingIOError):
        ends.namenode.recv(100)


def test_what_comes_behind_both_acks_is_handed_back(native: Any, ends: Ends) -> None:
    ends.datanode.sendall(ACK + SYNCED + b"x")
    assert hear(native, ends, then=SYNCED) == [(2, Outcome.WHOLE, 0, b"x")]


def test_a_namenode_that_is_gone_does_not_undo_the_second_ack(native: Any, ends: Ends) -> None:
    ends.datanode.sendall(ACK + SYNCED)
    ends.namenode.close()
    acked, (heard, outcome, _, frame) = hear(native, ends, then=SYNCED)
    assert acked == (2, Outcome.WHOLE, 0, b"")
    assert (heard, outcome, frame) == (0, Outcome.BROKEN, b"")


# --- the call ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "came",
    [
        pytest.param(frame(ANSWER) + b"x", id="more than one frame"),
        pytest.param((5000).to_bytes(4, "big"), id="a long frame"),
        pytest.param(b"\xff" * 10, id="no length"),
    ],
)
def test_an_answer_that_is_not_ordinary_is_handed_back(
    native: Any, ends: Ends, came: bytes
) -> None:
    ends.datanode.sendall(ACK)
    ends.namenode.sendall(came)
    assert hear(native, ends) == [(1, Outcome.WHOLE, 0, b""), (0, Outcome.ODD, 0, came)]


@pytest.mark.parametrize("came", [b"", b"\0\0", frame(ANSWER)[:-1]])
def test_a_namenode_that_is_silent_or_gone_does_not_undo_the_ack(
    native: Any, ends: Ends, came: bytes
) -> None:
    ends.datanode.sendall(ACK)
    ends.namenode.sendall(came)
    whole = (1, Outcome.WHOLE, 0, b"")
    assert hear(native, ends, wait_ns=20 * MS) == [whole, (0, Outcome.SILENT, 0, came)]
    ends.datanode.sendall(ACK)
    ends.namenode.recv(100)
    ends.namenode.sendall(came)
    ends.namenode.shutdown(socket.SHUT_WR)
    assert hear(native, ends) == [whole, (0, Outcome.BROKEN, 0, came)]


def test_who_takes_no_bytes_of_a_call_is_not_waited_for_for_ever(native: Any, ends: Ends) -> None:
    ends.datanode.sendall(ACK)
    found = hear(native, ends, request=bytes(10 << 20), wait_ns=20 * MS)
    assert found == [(1, Outcome.WHOLE, 0, b""), (0, Outcome.STUCK, 0, b"")]


# --- signals ----------------------------------------------------------------------------------


@contextmanager
def handler(act: Any) -> Iterator[None]:
    def run(number: int, at: FrameType | None) -> None:
        act()

    before = signal.signal(signal.SIGUSR1, run)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


def is_waiting(thread_id: int) -> bool:
    with open(f"/proc/self/task/{thread_id}/syscall") as file:
        return file.read().split()[0] in ("7", "73", "271")  # poll, or ppoll


def signal_when_it_waits(main: int) -> threading.Thread:
    def run() -> None:
        wait_until(lambda: is_waiting(main), 60)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


class Interrupted(Exception):
    pass


def interrupt() -> None:
    raise Interrupted


needs_proc = pytest.mark.skipif(
    not os.path.exists("/proc/self/syscall"), reason="this system does not say who waits"
)


@needs_proc
@pytest.mark.parametrize("acked", [False, True], ids=["for the ack", "for the answer"])
def test_a_handler_that_raises_ends_the_wait_and_what_came_is_there(
    native: Any, ends: Ends, acked: bool
) -> None:
    ends.datanode.sendall(ACK if acked else ACK[:3])
    ends.namenode.sendall(b"\0")
    found: Found = []
    with handler(interrupt):
        sender = signal_when_it_waits(threading.get_native_id())
        with pytest.raises(Interrupted):
            native.hear_acks(ends.acks, ACK, len(ACK), LONG, found, ends.calls, REQUEST, LONG)
        sender.join(60)
    if acked:
        assert found == [(1, Outcome.WHOLE, 0, b""), (0, RAISED, 0, b"\0")]
    else:
        assert found == [(0, RAISED, 0, ACK[:3])]


@needs_proc
def test_a_handler_that_raises_behind_the_answer_leaves_it_and_the_first_ack(
    native: Any, ends: Ends
) -> None:
    """While the ack of the order to sync is waited for."""
    ends.datanode.sendall(ACK + SYNCED[:3])
    ends.namenode.sendall(frame(ANSWER))
    found: Found = []
    due = ACK + SYNCED
    with handler(interrupt):
        sender = signal_when_it_waits(threading.get_native_id())
        with pytest.raises(Interrupted):
            native.hear_acks(ends.acks, due, len(ACK), LONG, found, ends.calls, REQUEST, LONG)
        sender.join(60)
    assert found == [(1, RAISED, 0, SYNCED[:3]), (1, Outcome.WHOLE, 0, ANSWER)]


@needs_proc
def test_a_handler_that_only_looks_does_not_end_the_wait(native: Any, ends: Ends) -> None:
    with handler(lambda: ends.datanode.sendall(ACK)):
        ends.namenode.sendall(frame(ANSWER))
        sender = signal_when_it_waits(threading.get_native_id())
        found = hear(native, ends)
        sender.join(60)
    assert found == [(1, Outcome.WHOLE, 0, b""), (1, Outcome.WHOLE, 0, ANSWER)]


# --- arguments --------------------------------------------------------------------------------


def test_arguments_that_cannot_be_are_refused(native: Any, ends: Ends) -> None:
    acks, calls = ends.acks, ends.calls
    wrong: tuple[Any, ...]
    for wrong in (
        (acks, b"", 1, LONG, [], calls, b"", LONG),
        (acks, bytes(5000), 1, LONG, [], calls, b"", LONG),
        (acks, ACK, 0, LONG, [], calls, b"", LONG),
        (acks, ACK, -1, LONG, [], calls, b"", LONG),
        (acks, ACK, len(ACK) + 1, LONG, [], calls, b"", LONG),
        (acks, ACK, len(ACK), 0, [], calls, b"", LONG),
        (acks, ACK, len(ACK), LONG, [], calls, b"", 0),
    ):
        with pytest.raises(ValueError, match=r"acks of|a first ack of|a wait of"):
            native.hear_acks(*wrong)
    for wrong in (
        (acks, ACK, len(ACK), LONG, (), calls, b"", LONG),
        (acks, "ack", 1, LONG, [], calls, b"", LONG),
        (acks, ACK, "1", LONG, [], calls, b"", LONG),
        (acks, ACK, len(ACK), LONG, [], None, REQUEST, LONG),
        (acks, ACK, len(ACK), LONG, []),
    ):
        with pytest.raises(TypeError):
            native.hear_acks(*wrong)
    for wrong in ((acks, b"x", ()), (acks, "x", []), (acks, b"x"), (None, b"x", [])):
        with pytest.raises(TypeError):
            native.send_now(*wrong)
