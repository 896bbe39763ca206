"""A client that asks and hears in one step: the kernel's functions and their twins in Python."""

from __future__ import annotations

import errno
import signal
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.client.reading.short_read import MOST_ROOM, read_short_here
from howdah.native.loader import kernel
from howdah.native.socket_io import Outcome
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType, checksum_chunks
from howdah.protocol.data_transfer.packets import PacketHeader, encode_packet
from howdah.protocol.data_transfer.responses import BlockOpResponse, encode_read_answer
from howdah.protocol.data_transfer.status import Status
from howdah.rpc.connection import MOST_FRAME, exchange_here

MS = 1_000_000
LONG = 60_000 * MS
REQUEST = b"give me that"
STATUS = b"\x02\x08\x06"
SPEC = ChecksumSpec(ChecksumType.CRC32C, 8)
ROOM = 700
CALLS: list[tuple[str, Callable[..., Any]]] = [
    ("exchange", exchange_here),
    ("read_short", read_short_here),
]
WAYS = [pytest.param(True, id="kernel"), pytest.param(False, id="python")]


def function(name: str, native: bool) -> Callable[..., Any]:
    if not native:
        return dict(CALLS)[name]
    found = kernel()
    if found is None:
        pytest.skip("the kernel is not built here")
    here: Callable[..., Any] = getattr(found, name)
    return here


@pytest.fixture(params=WAYS)
def exchange(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return function("exchange", request.param)


@pytest.fixture(params=WAYS)
def read_short(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return function("read_short", request.param)


@contextmanager
def line() -> Iterator[tuple[socket.socket, socket.socket]]:
    near, far = socket.socketpair()
    with near, far:
        yield near, far


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    with line() as both:
        yield both


def heard(end: socket.socket) -> bytes:
    found = bytearray()
    try:
        while piece := end.recv(1 << 16, socket.MSG_DONTWAIT):
            found += piece
    except BlockingIOError:
        pass
    return bytes(found)


def frame(payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + payload


Ends = tuple[socket.socket, socket.socket]


# --- exchange ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 4091, 4092, 4093, 100_000, MOST_FRAME - 4])
def test_a_frame_is_received_whole(exchange: Any, ends: Ends, size: int) -> None:
    near, far = ends
    payload = bytes(range(256)) * (size // 256) + bytes(size % 256)
    sender = threading.Thread(target=far.sendall, args=(frame(payload),), daemon=True)
    sender.start()
    assert exchange(near, REQUEST, LONG, 64 << 20) == payload
    sender.join(60)
    assert heard(far) == REQUEST


def test_a_long_request_goes_out_as_the_far_end_takes_it(exchange: Any, ends: Ends) -> None:
    near, far = ends
    request, found = bytes(range(256)) * 40_000, bytearray()

    def serve() -> None:
        while len(found) < len(request):
            found.extend(far.recv(1 << 16))
        for piece in (b"\0\0", b"\0\2", b"o", b"k"):
            far.sendall(piece)

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    answer = exchange(near, request, LONG, 100)
    server.join(60)
    assert bytes(found) == request
    # Of the length alone, or of a part of it, nobody can say yet what it begins.
    assert answer in (b"ok", (Outcome.ODD, 0, b"\0\0"))


@pytest.mark.parametrize(
    ("came", "limit"),
    [
        (b"\0\0\0\5hello!", 100),
        (b"\0\0\0\5hel", 8),
        (b"HTTP/1.1 400", 1 << 40),
        (struct.pack(">I", MOST_FRAME - 3) + b"x", 1 << 40),
        (b"\xff\xff\xff\xff", 1 << 40),
        (b"\0\0\0", 100),
    ],
)
def test_what_is_no_usual_frame_is_handed_back(
    exchange: Any, ends: Ends, came: bytes, limit: int
) -> None:
    near, far = ends
    far.sendall(came)
    assert exchange(near, REQUEST, LONG, limit) == (Outcome.ODD, 0, came)


@pytest.mark.parametrize("came", [b"", b"\0\0\0\5hel"])
def test_silence_and_an_end_are_told_apart(exchange: Any, came: bytes) -> None:
    with line() as (near, far):
        far.sendall(came)
        assert exchange(near, REQUEST, 20 * MS, 100) == (Outcome.SILENT, 0, came)
    with line() as (near, far):
        far.sendall(came)
        far.shutdown(socket.SHUT_WR)
        assert exchange(near, REQUEST, LONG, 100) == (Outcome.BROKEN, 0, came)
    with line() as (near, far):
        far.close()
        assert exchange(near, REQUEST, LONG, 100) == (Outcome.BROKEN, errno.EPIPE, b"")


def test_who_takes_no_bytes_is_not_waited_for_for_ever(exchange: Any, ends: Ends) -> None:
    near, _ = ends
    assert exchange(near, bytes(10 << 20), 20 * MS, 100) == (Outcome.STUCK, 0, b"")


@given(came=st.binary(max_size=40), limit=st.integers(0, 60))
def test_any_bytes_mean_the_same_to_both(came: bytes, limit: int) -> None:
    answers = []
    for native in (True, False):
        with line() as (near, far):
            far.sendall(came)
            far.shutdown(socket.SHUT_WR)
            answers.append(function("exchange", native)(near, REQUEST, LONG, limit))
    assert answers[0] == answers[1]


# --- read_short -------------------------------------------------------------------------


def sums_of(data: bytes, spec: ChecksumSpec = SPEC) -> bytes:
    out = bytearray(spec.sums_length(len(data)))
    checksum_chunks(spec, data, out)
    return bytes(out)


def packets(first: int, data: bytes, size: int, spec: ChecksumSpec = SPEC) -> bytes:
    """`data` from `first` of the block on, and the empty last packet."""
    wire = b""
    for place in range(0, len(data), size):
        piece = data[place : place + size]
        header = PacketHeader(first + place, place // size, False, len(piece))
        wire += encode_packet(header, sums_of(piece, spec), piece)
    return wire + encode_packet(PacketHeader(first + len(data), 99, True, 0))


def answer(first: int, data: bytes, size: int = 64, spec: ChecksumSpec = SPEC) -> bytes:
    return encode_read_answer(spec, first) + packets(first, data, size, spec)


DATA = bytes(range(1, 201))


@pytest.mark.parametrize("kind", [ChecksumType.CRC32, ChecksumType.CRC32C])
@pytest.mark.parametrize("size", [8, 64, 200])
@pytest.mark.parametrize(("start", "end"), [(0, 200), (3, 5), (7, 9), (192, 200), (0, 1)])
def test_a_range_is_received_whole(
    read_short: Any, ends: Ends, kind: ChecksumType, size: int, start: int, end: int
) -> None:
    near, far = ends
    spec = ChecksumSpec(kind, 8)
    first = start // 8 * 8
    wire = answer(first, DATA[first : (end + 7) // 8 * 8], size, spec)
    far.sendall(wire)
    outcome, code, found, begin, told = read_short(
        near, REQUEST, start, end, max(len(wire), 1), LONG, STATUS
    )
    assert (outcome, code, told) == (Outcome.WHOLE, 0, 1)
    assert found[begin : begin + end - start] == DATA[start:end]
    assert heard(far) == REQUEST + STATUS


def test_a_range_that_comes_byte_by_byte_is_received_whole(read_short: Any, ends: Ends) -> None:
    near, far = ends
    wire = answer(0, DATA)

    def serve() -> None:
        for place in range(len(wire)):
            far.sendall(wire[place : place + 1])

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    outcome, _, found, begin, _ = read_short(near, REQUEST, 0, 200, 1000, LONG, STATUS)
    server.join(60)
    assert (outcome, found[begin : begin + 200]) == (Outcome.WHOLE, DATA)


OTHERS = {
    "an error": BlockOpResponse(Status.ERROR, "no such replica").encode(),
    "no checksums": answer(0, DATA, spec=ChecksumSpec(ChecksumType.NULL, 8)),
    "another begin": answer(8, DATA[8:]),
    "a wrong sum": answer(0, DATA)[:-32] + b"!" + answer(0, DATA)[-31:],
    "an end that is early": answer(0, DATA[:192]),
    "no end": encode_read_answer(SPEC, 0) + packets(0, DATA * 2, 64),
    "more behind the end": answer(0, DATA) + b"x",
    "a gap": encode_read_answer(SPEC, 0)
    + packets(0, DATA[:64], 64)[: 31 + 32 + 64]
    + packets(72, DATA[72:], 64),
    "a flag to sync": encode_read_answer(SPEC, 0)
    + encode_packet(PacketHeader(0, 0, False, 200, True), sums_of(DATA), DATA),
}


@pytest.mark.parametrize("what", OTHERS)
def test_another_answer_is_handed_back_as_it_came(read_short: Any, ends: Ends, what: str) -> None:
    near, far = ends
    far.sendall(OTHERS[what])
    outcome, code, found, *_ = read_short(near, REQUEST, 0, 200, 1000, LONG, STATUS)
    assert (outcome, code, found) == (Outcome.ODD, 0, OTHERS[what])
    assert heard(far) == REQUEST


def test_what_does_not_fit_is_handed_back_as_far_as_it_does(read_short: Any, ends: Ends) -> None:
    near, far = ends
    wire = answer(0, DATA)
    far.sendall(wire)
    outcome, _, found, *_ = read_short(near, REQUEST, 0, 200, 100, LONG, STATUS)
    assert (outcome, found + heard(near)) == (Outcome.ODD, wire)


@pytest.mark.parametrize("came", [b"", answer(0, DATA)[:300]], ids=["nothing", "a part"])
def test_a_datanode_that_is_silent_or_gone_is_told_apart(read_short: Any, came: bytes) -> None:
    with line() as (near, far):
        far.sendall(came)
        found = read_short(near, REQUEST, 0, 200, 1000, 20 * MS, STATUS)
        assert found == (Outcome.SILENT, 0, came, 0, 0)
    with line() as (near, far):
        far.sendall(came)
        far.shutdown(socket.SHUT_WR)
        found = read_short(near, REQUEST, 0, 200, 1000, 0, STATUS)
        assert found == (Outcome.BROKEN, 0, came, 0, 0)


def test_bytes_that_are_here_and_right_count_whether_the_datanode_hears_of_it_or_not(
    read_short: Any, ends: Ends
) -> None:
    near, far = ends
    far.sendall(answer(0, DATA))
    # It hears the request, and no more.
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    outcome, _, found, begin, told = read_short(
        near, REQUEST, 0, 200, 1000, 20 * MS, bytes(1 << 20)
    )
    assert (outcome, found[begin : begin + 200], told) == (Outcome.WHOLE, DATA, 0)


@st.composite
def wires(draw: st.DrawFn) -> tuple[bytes, int, int]:
    """An answer for a range, mostly with something wrong."""
    start = draw(st.integers(0, 100))
    end = draw(st.integers(start + 1, start + 120))
    first = draw(st.sampled_from([start // 8 * 8, start, start + 8, 0]))
    data = DATA[first : draw(st.sampled_from([end, (end + 7) // 8 * 8, end + 20]))]
    wire = answer(first, data, draw(st.sampled_from([8, 16, 64, 200])))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, min(len(wire), 60) - 1) | st.integers(0, len(wire) - 1))
        wire = wire[:at] + draw(st.binary(max_size=2)) + wire[at + draw(st.integers(0, 2)) :]
        wire = wire or b"?"
    return wire[: draw(st.sampled_from([len(wire), len(wire), len(wire) // 2]))], start, end


@given(given_=wires())
def test_any_answer_means_the_same_to_both(given_: tuple[bytes, int, int]) -> None:
    wire, start, end = given_
    answers = []
    for native in (True, False):
        with line() as (near, far):
            far.sendall(wire)
            far.shutdown(socket.SHUT_WR)
            outcome, code, found, begin, told = function("read_short", native)(
                near, REQUEST, start, end, ROOM, LONG, STATUS
            )
            if outcome == Outcome.WHOLE:
                found = found[begin : begin + end - start]
                assert found == DATA[start:end]
            answers.append((outcome, code, found, told, heard(far)))
    assert answers[0] == answers[1]


@given(wire=st.binary(max_size=120))
def test_any_bytes_are_handed_back(wire: bytes) -> None:
    for native in (True, False):
        with line() as (near, far):
            far.sendall(wire)
            far.shutdown(socket.SHUT_WR)
            found = function("read_short", native)(near, REQUEST, 0, 9, ROOM, LONG, STATUS)
            assert found[0] in (Outcome.ODD, Outcome.BROKEN)
            assert found[2] == wire


# --- both -------------------------------------------------------------------------------

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "exchange": (REQUEST, LONG, 100),
    "read_short": (REQUEST, 0, 200, 1000, LONG, STATUS),
}


@contextmanager
def signalled(
    handler: Callable[[int, FrameType | None], None], stop: threading.Event
) -> Iterator[None]:
    """Signals for the main thread, until it is enough: one that comes before the wait ends none.
    However this ends none comes after the handler is gone, as it would end the process."""
    main = threading.main_thread().ident
    assert main is not None

    def run() -> None:
        while not stop.wait(0.01):
            signal.pthread_kill(main, signal.SIGUSR1)

    thread = threading.Thread(target=run, daemon=True)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        thread.start()
        yield
    finally:
        stop.set()
        thread.join(60)
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("native", WAYS)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_what_a_signals_handler_raises_ends_the_wait(ends: Ends, name: str, native: bool) -> None:
    near, _ = ends
    stop = threading.Event()

    class Enough(Exception):
        pass

    def handler(number: int, frame: FrameType | None) -> None:
        if not stop.is_set():
            stop.set()
            raise Enough

    with pytest.raises(Enough), signalled(handler, stop):
        function(name, native)(near, *ARGUMENTS[name])


@pytest.mark.parametrize("native", WAYS)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_signals_that_are_handled_lose_no_bytes(ends: Ends, name: str, native: bool) -> None:
    near, far = ends
    wire = {"exchange": frame(b"hello"), "read_short": answer(0, DATA)}[name]
    stop, seen = threading.Event(), [0]

    def handler(number: int, frame: FrameType | None) -> None:
        seen[0] += 1
        if seen[0] == 3:
            far.sendall(wire[:50])
        if seen[0] == 6:
            far.sendall(wire[50:])

    with signalled(handler, stop):
        found = function(name, native)(near, *ARGUMENTS[name])
    if name == "exchange":
        assert found == b"hello"
    else:
        assert found[0] == Outcome.WHOLE
        assert found[2][found[3] : found[3] + 200] == DATA


@pytest.mark.parametrize("native", WAYS)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_signals_do_not_put_off_the_end_of_a_wait(ends: Ends, name: str, native: bool) -> None:
    near, _ = ends
    stop = threading.Event()
    arguments = tuple(200 * MS if each == LONG else each for each in ARGUMENTS[name])
    with signalled(lambda number, frame: None, stop):
        found = function(name, native)(near, *arguments)
    assert found[:2] == (Outcome.SILENT, 0)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("exchange", ("text", LONG, 100)),
        ("exchange", (REQUEST, 0, 100)),
        ("exchange", (REQUEST, LONG, -1)),
        ("exchange", (REQUEST, LONG)),
        ("read_short", (REQUEST, -1, 200, 1000, LONG, STATUS)),
        ("read_short", (REQUEST, 5, 5, 1000, LONG, STATUS)),
        ("read_short", (REQUEST, 0, 200, 0, LONG, STATUS)),
        ("read_short", (REQUEST, 0, 200, MOST_ROOM + 1, LONG, STATUS)),
        ("read_short", (REQUEST, 0, 200, 1000, -1, STATUS)),
        ("read_short", (REQUEST, 0, 1 << 63, 1000, LONG, STATUS)),
        ("read_short", (REQUEST, 0, 200, 1000, LONG, "text")),
    ],
)
def test_arguments_that_make_no_sense_are_refused(
    ends: Ends, name: str, wrong: tuple[Any, ...]
) -> None:
    near, far = ends
    with pytest.raises((TypeError, ValueError, OverflowError)):
        function(name, True)(near, *wrong)
    assert heard(far) == b""
    near.close()
    with pytest.raises(ValueError, match="descriptor"):
        function(name, True)(near, *ARGUMENTS[name])
