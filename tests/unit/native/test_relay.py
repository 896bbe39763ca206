"""Packets that pass through the kernel: the bytes that leave, and what is left to Python.

That a datanode does the same with the kernel and without is in
`tests/unit/datanode/transfer/test_relay.py`.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.datanode.transfer.relay import NONE, Reason
from howdah.native.loader import kernel
from howdah.protocol.data_transfer.checksum import (
    ChecksumSpec,
    ChecksumType,
    checksum_chunks,
    verify_chunks,
)
from howdah.protocol.data_transfer.packets import (
    HEARTBEAT,
    PacketHeader,
    ack_tail,
    encode_ack,
    encode_packet,
)
from howdah.protocol.data_transfer.status import Status
from howdah.testing.waiting import wait_until

SPEC = ChecksumSpec(ChecksumType.CRC32C, 8)
META_HEADER = 7
PRELUDE = 31
LIMIT = 700
ROOM = 1000
MS = 1_000_000
TIMES = (0, 0, 0, 0, 60_000 * MS)
OK = Status.SUCCESS
ALONE, TWO = (OK,), (OK, OK)
BEAT = encode_packet(HEARTBEAT)


@pytest.fixture(scope="module")
def native() -> ModuleType:
    found = kernel()
    if found is None:
        pytest.skip("the kernel is not built here")
    return found


def sums_of(data: bytes, spec: ChecksumSpec = SPEC) -> bytes:
    out = bytearray(spec.sums_length(len(data)))
    checksum_chunks(spec, data, out)
    return bytes(out)


def packet(
    offset: int, seqno: int, data: bytes, spec: ChecksumSpec = SPEC, *, sync: bool = False
) -> bytes:
    header = PacketHeader(offset, seqno, False, len(data), sync)
    return encode_packet(header, sums_of(data, spec), data)


@dataclass
class End:
    """What came of a relay."""

    reason: Reason
    code: int
    written: int
    last_sum: bytes
    acked: int
    data: bytes
    sums: bytes
    to_mirror: bytes
    to_front: bytes
    packets: bytes
    forwarded: int
    acks: bytes
    unsent: bytes
    due: list[tuple[int, int]]


class Place:
    """Two files, a connection in front, and one to a mirror."""

    def __init__(
        self,
        native: ModuleType,
        directory: Path,
        *,
        mirror: bool = False,
        came: bytes = b"",
        written: int = 0,
        room: int = ROOM,
        limit: int = LIMIT,
        times: tuple[int, int, int, int, int] = TIMES,
        spec: ChecksumSpec = SPEC,
        files: tuple[str, str] | None = None,
        mode: int = os.O_RDWR,
    ) -> None:
        self.front, self._front = socket.socketpair()
        self.mirror, self._mirror = socket.socketpair()
        paths = files or (str(directory / "blk"), str(directory / "blk.meta"))
        for path in paths if files is None else ():
            Path(path).write_bytes(b"")
        self._files = [os.open(path, mode) for path in paths]
        self._bell = os.eventfd(0) if hasattr(os, "eventfd") else NONE
        self._start = written
        self._spec = spec
        self.synced: list[int] = []
        self.relay = native.PacketRelay(
            (
                self._front.fileno(),
                self._mirror.fileno() if mirror else NONE,
                *self._files,
                self._bell,
            ),
            (int(spec.type), spec.bytes_per_checksum, META_HEADER),
            (written, 0),
            (limit, room),
            (ack_tail(TWO if mirror else ALONE), ack_tail(ALONE)),
            times,
            came,
        )

    def narrow(self) -> None:
        """Little fits between the relay and whoever is in front."""
        self._front.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)

    def run(self) -> End:
        """Until it is over. Nobody writes to it any more, or it would not be. Where a sync is due
        it is noted what is written."""
        reason = Reason.TICK
        while reason in (Reason.TICK, Reason.SYNC_DUE):
            number, code = self.relay.run()
            reason = Reason(number)
            if reason is Reason.SYNC_DUE:
                self.synced.append(self.relay.tail[0])
                self.relay.synced(False)
        packets, forwarded, acks, unsent, due = self.relay.rest()
        written, last_sum = self.relay.tail
        chunk = self._spec.bytes_per_checksum
        return End(
            reason,
            code,
            written,
            last_sum,
            self.relay.acked_bytes,
            os.pread(self._files[0], 1 << 24, self._start),
            os.pread(self._files[1], 1 << 24, META_HEADER + self._start // chunk * 4),
            drain(self.mirror),
            drain(self.front),
            packets,
            forwarded,
            acks,
            unsent,
            due,
        )

    def close(self) -> None:
        for end in (self.front, self._front, self.mirror, self._mirror):
            end.close()
        for fd in (*self._files, self._bell):
            if fd != NONE:
                os.close(fd)


def drain(end: socket.socket) -> bytes:
    found = bytearray()
    try:
        while piece := end.recv(1 << 16, socket.MSG_DONTWAIT):
            found += piece
    except OSError:
        pass  # There is no more, or it is closed.
    return bytes(found)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("relay")


@pytest.fixture
def place(native: ModuleType, tmp_path: Path) -> Iterator[Callable[..., Place]]:
    made: list[Place] = []

    def make(**options: Any) -> Place:
        made.append(Place(native, tmp_path, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


# -- any packets ------------------------------------------------------------------------


def look(wire: bytes, at: int, end: int, *, verify: bool) -> bytes | bool:
    """The data of the ordinary packet at `wire[at:]`, from the begin of the chunk that holds `end`;
    False if it is none; True if more is to come of it."""
    if len(wire) - at < 6:
        return True
    plen, hlen = struct.unpack_from(">iH", wire, at)
    if hlen not in (25, 27) or plen < 4 or plen + hlen > LIMIT or plen + 2 + hlen > ROOM:
        return False
    prelude = 6 + hlen
    if len(wire) - at < prelude:
        return True
    if hlen == 27 and wire[at + PRELUDE : at + prelude] != b"\x28\x01":
        return False
    tag1, start, tag2, seqno, tag3, last, tag4, length = struct.unpack_from(
        "<BqBqBBBi", wire, at + 6
    )
    if (tag1, tag2, tag3, tag4, last) != (0x09, 0x11, 0x18, 0x25, 0):
        return False
    known = end % SPEC.bytes_per_checksum
    if (hlen, start, seqno, length, plen) == (25, 0, -1, 0, 4):
        return b""
    is_empty = hlen == 27 and length == 0
    if start != (end if is_empty else end - known) or seqno < 0:
        return False
    if length <= known and not is_empty:
        return False
    middle = at + prelude + SPEC.sums_length(length)
    if plen - 4 != SPEC.sums_length(length) + length:
        return False
    if len(wire) < middle + length:
        return True
    sums, data = wire[at + prelude : middle], wire[middle : middle + length]
    return data if not verify or verify_chunks(SPEC, data, sums) < 0 else False


def ordinary(wire: bytes, start: int, *, verify: bool) -> tuple[bytes, int, list[int], bool]:
    """(data of the ordinary packets that `wire` begins with, where they end, their seqnos,
    whether more may come of what follows). Of a chunk that comes again its new bytes count."""
    data, at, seqnos = b"", 0, []
    while not isinstance(found := look(wire, at, start + len(data), verify=verify), bool):
        seqnos.append(struct.unpack_from("<q", wire, at + 16)[0])
        data += found[len(data) % SPEC.bytes_per_checksum :]
        at += 6 + wire[at + 5] + SPEC.sums_length(len(found)) + len(found)
    return data, at, seqnos, found


@st.composite
def wires(draw: st.DrawFn, *, syncs: bool = False) -> bytes:
    """Packets that follow one another, with a part of a chunk once more where one ended within
    it, then anything, and now and then a byte that is wrong. With `syncs` some order one."""
    wire, content = b"", b""
    for seqno in range(draw(st.integers(0, 12))):
        data = draw(st.binary(min_size=1, max_size=8)) * draw(st.sampled_from([1, 8, 16, 48]))
        offset = len(content) - len(content) % 8
        content += data
        sent = content[offset:]
        wire += draw(st.sampled_from([b""] * 7 + [BEAT]))
        sync = syncs and draw(st.booleans())
        wire += packet(offset, seqno * draw(st.sampled_from([1, 1, 1, 70])), sent, sync=sync)
        if syncs and draw(st.booleans()):
            wire += packet(len(content), seqno, b"", sync=True)
    offset = len(content) - len(content) % 8
    kind = draw(st.sampled_from(["nothing", "bytes", "packet", "wrong"]))
    if kind == "bytes":
        wire += draw(st.binary(max_size=80))
    elif kind == "packet":
        size = draw(st.sampled_from([0, 7, 8, 16, 640]))
        header = PacketHeader(
            draw(st.sampled_from([0, 8, offset, offset + 8, offset - 8, -8, 1 << 62])),
            draw(st.sampled_from([-1, 0, 99, 1 << 62])),
            draw(st.booleans()),
            size,
            syncs and draw(st.booleans()),
        )
        wire += encode_packet(header, draw(st.sampled_from([b"", b"1234", bytes(8)])), bytes(size))
        wire += wire[: draw(st.integers(0, 200))]
    elif wire and kind == "wrong":
        at = draw(st.integers(0, len(wire) - 1))
        wire = wire[:at] + draw(st.binary(min_size=1, max_size=9)) + wire[at + 1 :]
    return wire


@given(wire=wires() | wires(syncs=True), came=st.integers(0, ROOM))
def test_at_the_end_of_a_pipeline_ordinary_packets_are_written_and_acked(
    native: ModuleType, directory: Path, wire: bytes, came: int
) -> None:
    place = Place(native, directory, came=wire[:came])
    try:
        place.front.sendall(wire[came:])
        place.front.shutdown(socket.SHUT_WR)
        end = place.run()
    finally:
        place.close()
    data, at, seqnos, may_go_on = ordinary(wire, 0, verify=True)
    assert end.reason is (Reason.FRONT_CLOSED if may_go_on else Reason.ODD_PACKET)
    assert (end.data, end.sums) == (data, sums_of(data))
    assert end.to_front == b"".join(encode_ack(seqno, ALONE) for seqno in seqnos)
    assert end.written == end.acked == len(data)
    assert end.last_sum == (sums_of(data)[-4:] if len(data) % 8 else b"")
    # What follows is left as it came, as far as it was received.
    assert wire[at:].startswith(end.packets)
    assert may_go_on is False or end.packets == wire[at:]
    assert (end.acks, end.unsent, end.due, end.forwarded) == (b"", b"", [], 0)


replies = st.sampled_from([ALONE, TWO, (Status.ERROR,), (Status.OOB_RESTART,), ()])


@given(
    wire=wires().filter(lambda wire: len(wire) <= ROOM),
    good=st.integers(0, 14),
    said=st.lists(st.tuples(st.sampled_from([-2, -1, 0, 5, 1 << 62]), replies), max_size=2),
    more=st.binary(max_size=12),
    cut=st.integers(0, 3),
)
def test_what_a_mirror_acks_is_acked_in_front_and_the_rest_is_due(
    native: ModuleType,
    directory: Path,
    wire: bytes,
    good: int,
    said: list[tuple[int, tuple[Status, ...]]],
    more: bytes,
    cut: int,
) -> None:
    data, at, seqnos, may_go_on = ordinary(wire, 0, verify=False)
    acks = b"".join(encode_ack(seqno, ALONE) for seqno in seqnos[:good])
    acks += b"".join(encode_ack(seqno, each) for seqno, each in said) + more
    acks = acks[: len(acks) - cut] if cut else acks
    place = Place(native, directory, mirror=True, came=wire)
    try:
        place.mirror.sendall(acks)
        place.front.shutdown(socket.SHUT_WR)
        end = place.run()
    finally:
        place.close()
    matched = heard = 0
    while matched < len(seqnos):
        expected = encode_ack(seqnos[matched], ALONE)
        if not acks.startswith(expected, heard):
            break
        matched, heard = matched + 1, heard + len(expected)
    assert (end.data, end.sums) == (data, sums_in(wire[:at]))
    assert end.last_sum == (end.sums[-4:] if len(data) % 8 else b"")
    assert end.to_mirror == wire[:at]
    ends = list(ends_in(wire[:at]))
    assert end.written == len(data)
    if not may_go_on:
        # It is seen before any ack is listened to.
        assert end.reason is Reason.ODD_PACKET
        matched = heard = 0
    elif end.reason is Reason.ODD_ACK:
        left = acks[heard:]
        following = b"" if matched == len(seqnos) else encode_ack(seqnos[matched], ALONE)
        assert left
        assert not following or left[: len(following)] != following[: len(left)]
    else:
        assert end.reason is Reason.FRONT_CLOSED
    assert end.acked == (ends[matched - 1] if matched else 0)
    assert end.to_front + end.unsent == b"".join(encode_ack(each, TWO) for each in seqnos[:matched])
    assert end.due == list(zip(seqnos, ends, strict=True))[matched:]
    assert end.packets == wire[at:]
    assert acks[heard:].startswith(end.acks)


def sums_in(wire: bytes) -> bytes:
    """A chunk that comes again has a new one."""
    sums, at = b"", 0
    while at < len(wire):
        if wire.startswith(BEAT, at):
            at += len(BEAT)
            continue
        start, length = (
            struct.unpack_from("<q", wire, at + 7)[0],
            struct.unpack_from("<i", wire, at + 27)[0],
        )
        sums = sums[: start // 8 * 4] + wire[at + PRELUDE : at + PRELUDE + SPEC.sums_length(length)]
        at += PRELUDE + SPEC.sums_length(length) + length
    return sums


def ends_in(wire: bytes) -> Iterator[int]:
    at = end = 0
    while at < len(wire):
        if wire.startswith(BEAT, at):
            at += len(BEAT)
            yield end
            continue
        start, length = (
            struct.unpack_from("<q", wire, at + 7)[0],
            struct.unpack_from("<i", wire, at + 27)[0],
        )
        end = start + length
        yield end
        at += PRELUDE + SPEC.sums_length(length) + length


# -- orders to sync -----------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", bytes(13)])
def test_a_sync_is_the_callers_and_its_packet_is_acked_behind_it(
    place: Callable[..., Place], data: bytes
) -> None:
    first, order = packet(0, 0, bytes(16)), packet(16, 1, data, sync=True)
    here = place(came=first + order)
    assert here.relay.run() == (Reason.SYNC_DUE, 0)
    # It is written, and what was in front of it is acknowledged.
    assert here.relay.tail[0] == 16 + len(data)
    assert drain(here.front) == encode_ack(0, ALONE)
    assert here.relay.acked_bytes == 16
    with pytest.raises(RuntimeError, match="it waits for a sync"):
        here.relay.run()
    here.relay.synced(False)
    assert here.relay.acked_bytes == 16 + len(data)
    with pytest.raises(RuntimeError, match="no sync is due"):
        here.relay.synced(False)
    here.front.sendall(packet(16 + len(data) // 8 * 8, 2, bytes(16)))
    here.front.shutdown(socket.SHUT_WR)
    end = here.run()
    assert end.reason is Reason.FRONT_CLOSED
    assert end.to_front == encode_ack(1, ALONE) + encode_ack(2, ALONE)
    assert here.synced == []
    _, _, _, _, _, packets, *_ = here.relay.figures()
    assert packets == 3


@pytest.mark.parametrize("mirror", [False, True])
def test_what_comes_after_a_sync_may_be_synced_without_its_caller(
    place: Callable[..., Place], mirror: bool
) -> None:
    """All that follows is in one piece: nothing more comes that would wake it up."""
    first = packet(0, 0, bytes(16), sync=True)
    follows = (
        packet(16, 1, bytes(16)),
        packet(32, 2, b"", sync=True),
        packet(32, 3, bytes(13), sync=True),
        packet(40, 4, bytes(16)),
    )
    here = place(mirror=mirror, came=first)
    assert here.relay.run() == (Reason.SYNC_DUE, 0)
    assert here.relay.synced_bytes == 0
    here.relay.synced(True)
    here.front.sendall(b"".join(follows))
    thread = threading.Thread(target=here.relay.run, daemon=True)
    thread.start()
    if mirror:
        for seqno, passed_on in enumerate((first, *follows)):
            assert here.mirror.recv(len(passed_on), socket.MSG_WAITALL) == passed_on
            here.mirror.sendall(encode_ack(seqno, ALONE))
    wanted = b"".join(encode_ack(seqno, TWO if mirror else ALONE) for seqno in range(5))
    assert here.front.recv(len(wanted), socket.MSG_WAITALL) == wanted
    here.front.shutdown(socket.SHUT_WR)
    thread.join(30)
    assert not thread.is_alive()
    *_, packets, syncs, sync_ns = here.relay.figures()
    assert (packets, syncs) == (5, 2)
    assert sync_ns > 0
    assert (here.relay.synced_bytes, here.relay.tail[0], here.relay.acked_bytes) == (45, 56, 56)
    assert here.relay.block_is_synced, "a checksum that was synced is replaced behind its data"


@pytest.mark.parametrize("which", [0, 1], ids=["data", "checksums"])
def test_what_cannot_be_synced_without_the_caller_is_a_failing_disk(
    place: Callable[..., Place], which: int
) -> None:
    """/dev/null takes what is written to it, and cannot be synced."""
    here = place(came=packet(0, 0, bytes(16), sync=True))
    assert here.relay.run() == (Reason.SYNC_DUE, 0)
    here.relay.synced(True)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, here._files[which])
    os.close(null)
    order = packet(16, 1, b"", sync=True)
    here.front.sendall(order)
    assert here.relay.run() == (Reason.DISK_FAILED, errno.EINVAL)
    packets, _, _, unsent, due = here.relay.rest()
    assert packets == order, "what is told of it is its caller's affair"
    assert (unsent, due) == (b"", [])
    assert here.relay.acked_bytes == 16
    assert here.relay.synced_bytes == 16


def test_a_sync_that_failed_leaves_the_packet_and_its_number(place: Callable[..., Place]) -> None:
    order = packet(0, 7, bytes(16), sync=True)
    here = place(came=order + packet(16, 8, bytes(8)))
    assert here.relay.run() == (Reason.SYNC_DUE, 0)
    packets, _, acks, unsent, due = here.relay.rest()
    assert packets.startswith(order)
    assert (acks, unsent, due) == (b"", b"", [])


def test_a_mirror_has_the_order_before_it_is_carried_out_here(
    place: Callable[..., Place],
) -> None:
    order = packet(0, 0, bytes(16), sync=True)
    here = place(mirror=True, came=order)
    assert here.relay.run() == (Reason.SYNC_DUE, 0)
    assert drain(here.mirror) == order
    # It may be through with it sooner.
    here.mirror.sendall(encode_ack(0, ALONE))
    here.relay.synced(False)
    here.front.shutdown(socket.SHUT_WR)
    end = here.run()
    assert (end.reason, end.to_front, end.due) == (
        Reason.FRONT_CLOSED,
        encode_ack(0, TWO),
        [],
    )
    assert end.to_mirror == b""


def test_nobody_waits_for_a_disk_while_the_mirror_owes_acks_of_what_was_before(
    place: Callable[..., Place],
) -> None:
    first, order = packet(0, 0, bytes(16)), packet(16, 1, b"", sync=True)
    here = place(mirror=True, came=first + order)
    found: list[tuple[int, int]] = []
    thread = threading.Thread(target=lambda: found.append(here.relay.run()), daemon=True)
    thread.start()
    passed_on = here.mirror.recv(len(first + order), socket.MSG_WAITALL)
    assert passed_on == first + order
    assert not found
    here.mirror.sendall(encode_ack(0, ALONE))
    assert here.front.recv(64) == encode_ack(0, TWO)
    thread.join(30)
    assert found == [(Reason.SYNC_DUE, 0)]
    here.relay.synced(False)
    here.front.shutdown(socket.SHUT_WR)
    end = here.run()
    assert (end.written, end.acked, end.due) == (16, 16, [(1, 16)])


@pytest.mark.parametrize("ack", [encode_ack(0, (Status.ERROR,)), encode_ack(5, ALONE)])
def test_an_order_that_waits_is_handed_back_with_what_the_mirror_has_of_it(
    place: Callable[..., Place], ack: bytes
) -> None:
    first, order = packet(0, 0, bytes(16)), packet(16, 1, bytes(8), sync=True)
    here = place(mirror=True, came=first + order)
    here.mirror.sendall(ack)
    end = here.run()
    assert (end.reason, end.acks, end.due) == (Reason.ODD_ACK, ack, [(0, 16)])
    assert (end.packets, end.forwarded, end.written) == (order, len(order), 16)
    assert end.to_mirror == first + order


def test_a_mirror_that_is_silent_while_an_order_waits_is_lost(
    place: Callable[..., Place],
) -> None:
    first, order = packet(0, 0, bytes(16)), packet(16, 1, b"", sync=True)
    end = place(mirror=True, came=first + order, times=(0, 0, 5 * MS, 0, MS)).run()
    assert (end.reason, end.code) == (Reason.MIRROR_LOST, errno.ETIMEDOUT)
    assert (end.packets, end.forwarded, end.due) == (order, len(order), [(0, 16)])


def test_an_order_with_data_for_a_disk_that_fails_leaves_the_packet(
    place: Callable[..., Place], tmp_path: Path
) -> None:
    wire = packet(0, 0, bytes(16), sync=True)
    end = place(came=wire, files=("/dev/full", "/dev/full"), mode=os.O_RDWR).run()
    assert (end.reason, end.code) == (Reason.DISK_FAILED, errno.ENOSPC)
    assert (end.written, end.packets, end.to_front) == (0, wire, b"")


# -- heartbeats --------------------------------------------------------------------------


def test_heartbeats_are_acked_in_their_place(place: Callable[..., Place]) -> None:
    wire = BEAT + packet(0, 0, bytes(13)) + BEAT + packet(8, 1, bytes(8)) + BEAT
    here = place(came=wire)
    here.front.shutdown(socket.SHUT_WR)
    end = here.run()
    acks = b"".join(encode_ack(each, ALONE) for each in (-1, 0, -1, 1, -1))
    assert (end.reason, end.to_front, end.packets) == (Reason.FRONT_CLOSED, acks, b"")
    assert (end.written, end.acked) == (16, 16)


def test_heartbeats_are_passed_on_and_acked_when_the_mirror_has(
    place: Callable[..., Place],
) -> None:
    wire = packet(0, 0, bytes(13)) + BEAT
    here = place(mirror=True, came=wire)
    here.mirror.sendall(encode_ack(0, ALONE))
    here.front.shutdown(socket.SHUT_WR)
    end = here.run()
    assert (end.to_mirror, end.to_front) == (wire, encode_ack(0, TWO))
    assert end.due == [(-1, 13)]


# -- a whole stream ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ChecksumType.CRC32, ChecksumType.CRC32C])
def test_a_stream_passes_both_ways_at_once(place: Callable[..., Place], kind: ChecksumType) -> None:
    """More packets than may be due, and more bytes than fit in any buffer."""
    spec = ChecksumSpec(kind, 512)
    size, count = 512 * 3, 5000
    data = os.urandom(size) * count
    here = place(
        mirror=True, written=1024, room=1 << 15, limit=1 << 14, spec=spec, times=(0, 0, 0, 0, 1)
    )
    wire = [packet(1024 + number * size, number, data[:size], spec) for number in range(count)]
    behind, heard = bytearray(), bytearray()
    total = sum(map(len, wire))

    def write() -> None:
        here.front.sendall(b"".join(wire))

    def read() -> None:
        acked = 0
        while len(behind) < total:
            behind.extend(here.mirror.recv(1 << 16))
            whole = len(behind) // len(wire[0])
            for seqno in range(acked, whole):
                here.mirror.sendall(encode_ack(seqno, ALONE))
            acked = whole

    def hear() -> None:
        while len(heard) < len(expected):
            heard.extend(here.front.recv(1 << 16))
        here.relay.interrupt()

    expected = b"".join(encode_ack(number, TWO) for number in range(count))
    threads = [threading.Thread(target=each, daemon=True) for each in (write, read, hear)]
    for thread in threads:
        thread.start()
    end = here.run()
    for thread in threads:
        thread.join(60)
    assert end.reason is Reason.INTERRUPTED
    assert bytes(behind) == b"".join(wire)
    assert bytes(heard) == expected
    assert end.data == data
    assert end.sums == sums_of(data, spec)
    assert end.written == end.acked == 1024 + len(data)
    writes, _, sends, _, written, packets, *_ = here.relay.figures()
    assert (written, packets) == (len(data), count)
    assert writes == sends <= count


def test_figures_come_with_each_tick_and_once(place: Callable[..., Place]) -> None:
    here = place(times=(0, 0, 0, 0, 1), came=packet(0, 0, bytes(16)))
    assert here.relay.run() == (Reason.TICK, 0)
    writes, write_ns, sends, send_ns, written, packets, *_ = here.relay.figures()
    assert (writes, sends, send_ns, written, packets) == (1, 0, 0, 16, 1)
    assert write_ns > 0
    assert here.relay.figures() == (0,) * 8


def test_a_stream_that_only_orders_syncs_has_ticks_too(place: Callable[..., Place]) -> None:
    here = place(times=(0, 0, 0, 0, 1), came=packet(0, 0, bytes(16), sync=True))
    assert here.relay.run() == (Reason.SYNC_DUE, 0)
    here.relay.figures()
    here.relay.synced(True)
    here.front.sendall(packet(16, 1, b"", sync=True))
    here.front.shutdown(socket.SHUT_WR)
    assert here.relay.run() == (Reason.TICK, 0)
    *_, packets, syncs, _ = here.relay.figures()
    assert (packets, syncs) == (2, 1), "the first sync was its caller's"


def test_others_see_how_far_it_is_while_it_runs_and_may_end_it(
    place: Callable[..., Place],
) -> None:
    here = place(mirror=True)
    ended: list[End] = []
    thread = threading.Thread(target=lambda: ended.append(here.run()), daemon=True)
    thread.start()
    here.front.sendall(packet(0, 0, bytes(16)) + packet(16, 1, bytes(8)))
    wait_until(lambda: here.relay.tail == (24, b""), timeout_s=30, what="both are written")
    assert here.relay.acked_bytes == 0
    here.mirror.sendall(encode_ack(0, ALONE))
    wait_until(lambda: here.relay.acked_bytes == 16, timeout_s=30, what="one is acked")
    with pytest.raises(RuntimeError, match="it runs"):
        here.relay.run()
    for ask in (here.relay.rest, here.relay.figures):
        with pytest.raises(RuntimeError, match="it runs"):
            ask()
    here.relay.interrupt()
    thread.join(30)
    assert ended[0].reason is Reason.INTERRUPTED
    assert ended[0].due == [(1, 24)]
    assert here.relay.run() == (Reason.INTERRUPTED, 0)


# -- what ends it -----------------------------------------------------------------------


def test_a_silent_front_is_told_from_one_that_is_gone(place: Callable[..., Place]) -> None:
    assert place(times=(MS, 0, 0, 0, MS)).run().reason is Reason.FRONT_SILENT
    here = place()
    here.front.close()
    assert here.run().reason is Reason.FRONT_CLOSED


def test_a_mirror_that_owes_an_ack_too_long_is_lost(place: Callable[..., Place]) -> None:
    end = place(mirror=True, came=packet(0, 3, bytes(16)), times=(0, 0, MS, 0, MS)).run()
    assert (end.reason, end.code) == (Reason.MIRROR_LOST, errno.ETIMEDOUT)
    assert end.due == [(3, 16)]


def test_a_mirror_that_owes_nothing_may_be_silent(place: Callable[..., Place]) -> None:
    here = place(mirror=True, times=(5 * MS, MS, MS, MS, MS))
    assert here.run().reason is Reason.FRONT_SILENT


def test_a_mirror_that_takes_nothing_is_lost_with_what_it_has_of_a_packet(
    place: Callable[..., Place],
) -> None:
    wire = packet(0, 0, bytes(8 << 20))
    here = place(
        mirror=True, came=wire, room=16 << 20, limit=16 << 20, times=(0, 20 * MS, 0, 0, MS)
    )
    end = here.run()
    assert (end.reason, end.code) == (Reason.MIRROR_LOST, errno.ETIMEDOUT)
    assert 0 < end.forwarded < len(wire)
    assert end.to_mirror == wire[: end.forwarded]
    assert end.packets == wire
    assert (end.written, end.data) == (0, b"")


def test_a_mirror_that_is_gone_is_lost_or_its_end_is_left_to_be_found(
    place: Callable[..., Place],
) -> None:
    here = place(mirror=True, came=packet(0, 0, bytes(8)))
    here.mirror.close()
    end = here.run()
    assert end.reason is Reason.MIRROR_LOST
    assert end.code in (errno.EPIPE, errno.ECONNRESET)
    assert end.packets == packet(0, 0, bytes(8))
    here = place(mirror=True, came=packet(0, 0, bytes(8)))
    here.mirror.shutdown(socket.SHUT_WR)
    end = here.run()
    assert (end.reason, end.due) == (Reason.ODD_ACK, [(0, 8)])


def test_while_a_packet_is_passed_on_acks_and_interruptions_are_seen(
    place: Callable[..., Place],
) -> None:
    first, second = packet(0, 0, bytes(8)), packet(8, 1, bytes(8 << 20))
    here = place(mirror=True, came=first, room=16 << 20, limit=16 << 20)
    ended: list[End] = []
    thread = threading.Thread(target=lambda: ended.append(here.run()), daemon=True)
    thread.start()
    here.front.sendall(second)
    here.mirror.sendall(encode_ack(0, ALONE))
    assert here.front.recv(64) == encode_ack(0, TWO)
    here.relay.interrupt()
    thread.join(30)
    end = ended[0]
    assert end.reason is Reason.INTERRUPTED
    assert first + second[: end.forwarded] == end.to_mirror
    assert second.startswith(end.packets)
    assert (end.written, end.acked, end.due) == (8, 8, [])


def test_a_front_that_takes_no_acks_stops_the_stream_and_then_ends_it(
    place: Callable[..., Place],
) -> None:
    spec = ChecksumSpec(ChecksumType.CRC32C, 1)
    wire = b"".join(packet(number, number, b"x", spec) for number in range(20_000))
    here = place(came=wire, room=1 << 20, spec=spec, times=(0, 0, 0, 5 * MS, MS))
    here.narrow()
    end = here.run()
    assert end.reason is Reason.FRONT_STUCK
    assert 0 < end.written < 20_000
    acks = b"".join(encode_ack(number, ALONE) for number in range(end.written))
    assert end.to_front + end.unsent == acks
    assert end.packets == wire[end.written * (len(wire) // 20_000) :]


@pytest.mark.parametrize("place_of_it", [0, 1])
def test_a_disk_that_fails_leaves_the_packet_and_its_number(
    place: Callable[..., Place], tmp_path: Path, place_of_it: int
) -> None:
    paths = [str(tmp_path / "good"), str(tmp_path / "good")]
    Path(paths[0]).touch()
    paths[place_of_it] = "/dev/full"
    wire = packet(0, 0, bytes(16))
    end = place(came=wire, files=tuple(paths), mode=os.O_RDWR).run()
    assert (end.reason, end.code) == (Reason.DISK_FAILED, errno.ENOSPC)
    assert (end.written, end.packets, end.to_front) == (0, wire, b"")


def test_what_is_no_relay_is_refused(native: ModuleType) -> None:
    good: list[Any] = [(0, 1, 2, 2, -1), (2, 8, 7), (0, 0), (700, 1000), (b"", b""), TIMES, b""]
    native.PacketRelay(*good)
    bad = [
        (0, (-1, 1, 2, 2, -1)),
        (0, (0, -2, 2, 2, -1)),
        (0, (0, 1, -1, 2, -1)),
        (0, (0, 1, 2, -1)),
        (0, (0, 1, 2, 1 << 40, -1)),
        (0, (0, 1, 2, 2, -2)),
        (1, (0, 8, 7)),
        (1, (3, 8, 7)),
        (1, (2, 0, 7)),
        (1, (2, 1 << 31, 7)),
        (1, (2, 8, -1)),
        (2, (8, 9)),
        (2, (7, 0)),
        (2, (-8, -8)),
        (2, (1 << 62, 0)),
        (2, (0, -1)),
        (3, (-1, 1000)),
        (3, (700, 30)),
        (3, (700, 1 << 40)),
        (3, (700, 1 << 70)),
        (4, (bytes(65), b"")),
        (4, (b"", bytes(65))),
        (4, ("", b"")),
        (5, (-1, 0, 0, 0, 0)),
        (5, (0, 0, 0, 0, -1)),
        (5, (0, 0, 0)),
        (6, bytes(1001)),
        (6, None),
    ]
    for index, value in bad:
        with pytest.raises((ValueError, TypeError, OverflowError)):
            native.PacketRelay(*good[:index], value, *good[index + 1 :])
    with pytest.raises(TypeError):
        native.PacketRelay(*good[:-1])
    with pytest.raises(TypeError):
        native.PacketRelay(*good, more=1)
    relay = native.PacketRelay(*good)
    for name in ("run", "interrupt", "figures", "rest"):
        with pytest.raises(TypeError):
            getattr(relay, name)(1)
