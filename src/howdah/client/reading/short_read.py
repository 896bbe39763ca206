"""A short range of a block, in one step: asked for, received whole, checked, and said so.

A datanode answers a READ_BLOCK of up to 64 KiB with its status, a packet or a few, and an empty
last one, which mostly arrive together. `read_short` is the kernel's where that is there: the
interpreter's lock is given away once, and taken back once, where three sends and receives would
do so each time. `read_short_here` is its twin. Ordinary is a success that is laid out as every
datanode does, packets with headers of the usual length, one behind the other, and checksums that
are right; all else is handed back as it came, for the ordinary way to understand or to refuse.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable
from typing import Final

from howdah.native.loader import kernel
from howdah.native.socket_io import Ended, Outcome, deadline_ns, receive_some, send_whole
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType, verify_chunks
from howdah.protocol.data_transfer.packets import HEADER_BYTES, LENGTHS_BYTES
from howdah.protocol.varint import decode_varint
from howdah.runtime.sockets import Connection, PeerClosed, PeerSilent, comes_before

MOST_ROOM: Final = 1 << 20
_PRELUDE: Final = struct.Struct("<BqBqBBBi")
_PRELUDE_BYTES: Final = LENGTHS_BYTES + HEADER_BYTES
_TAGS: Final = (0x09, 0x11, 0x18, 0x25)
_SUCCESS_WITH_SUMS: Final = b"\x08\x00\x22"
_MOST_CHUNK: Final = 16 << 20
_MOST_VARINT_BYTES: Final = 9

Read = tuple[int, int, bytes, int, int]
"""An `Outcome`, the number of the system's error, bytes, where in them the range begins, and
whether the status was sent. The bytes are what has come, unless the outcome is WHOLE."""


class _Odd(Exception):
    """It is not ordinary."""


class _InPart(Exception):
    """More is to come."""


def read_range(
    connection: Connection, request: bytes, start: int, end: int, room: int, status: bytes
) -> tuple[memoryview, bool] | None:
    """Return the bytes `start` to `end` of a block, and whether the datanode knows that they are
    right; None if what it answers, which is read from `connection`, has to be looked at.

    As much as fits into `room` is received. Raises `PeerClosed` and `PeerSilent`.
    """
    assert not connection.has_read_ahead
    word = connection.wait_notice
    silence_s = connection.read_timeout_s
    if comes_before(word, silence_s):
        silence_s = word.after_s
    silence_ns = int(silence_s * 1e9)
    outcome, code, came, begin, notified = read_short(
        connection.socket, request, start, end, room, silence_ns, status
    )
    if outcome == Outcome.WHOLE:
        return memoryview(came)[begin : begin + end - start], bool(notified)
    if came:
        connection.push_back(came)
        return None
    if outcome == Outcome.SILENT and connection.say_word() is not None:
        # What is asked for may come yet, and is waited for in the ordinary way.
        return None
    if outcome == Outcome.SILENT:
        raise PeerSilent(f"nothing came from {connection.peer} in {connection.read_timeout_s:g} s")
    if outcome == Outcome.STUCK:
        raise PeerSilent(f"{connection.peer} took no bytes for {connection.read_timeout_s:g} s")
    if code:
        error = OSError(code, os.strerror(code))
        raise PeerClosed(
            f"the connection to {connection.peer} broke: {error}{connection.note_closing()}"
        ) from error
    raise PeerClosed(f"{connection.peer} closed the connection{connection.note_closing()}")


def read_short_here(
    sock: socket.socket,
    request: bytes,
    start: int,
    end: int,
    room: int,
    silence_ns: int,
    status: bytes,
) -> Read:
    """Read as described above; no wait is longer than `silence_ns` (0: no limit)."""
    if not 0 <= start < end or not 0 < room <= MOST_ROOM or silence_ns < 0:
        raise ValueError(f"a range from {start} to {end}, room for {room}, {silence_ns} ns")
    buffer = memoryview(bytearray(room))
    have = 0
    try:
        send_whole(sock, request, deadline_ns(silence_ns))
        while True:
            if have == room:
                raise _Odd
            have += receive_some(sock, buffer[have:], deadline_ns(silence_ns))
            try:
                first, spec, packets = _packets(bytes(buffer[:have]), start, end, room)
            except _InPart:
                continue
            break
        if any(verify_chunks(spec, data, sums) >= 0 for sums, data in packets):
            raise _Odd
    except _Odd:
        return Outcome.ODD, 0, bytes(buffer[:have]), 0, 0
    except Ended as ended:
        return ended.outcome, ended.code, bytes(buffer[:have]), 0, 0
    try:
        send_whole(sock, status, deadline_ns(silence_ns))
        notified = 1
    except Ended:
        notified = 0  # The bytes are here and right.
    return Outcome.WHOLE, 0, b"".join([data for _, data in packets]), start - first, notified


def _packets(
    came: bytes, start: int, end: int, room: int
) -> tuple[int, ChecksumSpec, list[tuple[bytes, bytes]]]:
    """Return where the packets begin in the block, how they are summed, and the sums and data of
    each."""
    at, first, spec = _answer(came, start)
    packets: list[tuple[bytes, bytes]] = []
    offset = first
    while True:
        if len(came) - at < _PRELUDE_BYTES:
            raise _InPart
        payload = int.from_bytes(came[at : at + 4], "big") - 4
        header = int.from_bytes(came[at + 4 : at + LENGTHS_BYTES], "big")
        if header != HEADER_BYTES or not 0 <= payload <= room - at - _PRELUDE_BYTES:
            raise _Odd
        tag1, its_offset, tag2, _, tag3, last, tag4, length = _PRELUDE.unpack_from(
            came, at + LENGTHS_BYTES
        )
        is_last = offset >= end
        if (tag1, tag2, tag3, tag4) != _TAGS or last != is_last or (length != 0) == is_last:
            raise _Odd
        if length < 0 or (not is_last and its_offset != offset):
            raise _Odd
        sums = spec.sums_length(length)
        if payload != sums + length:
            raise _Odd
        middle = at + _PRELUDE_BYTES + sums
        if len(came) < middle + length:
            raise _InPart
        if is_last:
            if len(came) > middle:
                raise _Odd
            return first, spec, packets
        packets.append((came[middle - sums : middle], came[middle : middle + length]))
        at = middle + length
        offset += length


def _answer(came: bytes, start: int) -> tuple[int, int, ChecksumSpec]:
    """Where the answer ends, where the packets begin in the block, and how they are summed."""
    length = came[0]
    if not 10 <= length < 0x80:
        raise _Odd
    if len(came) < length + 1:
        raise _InPart
    body = came[1 : length + 1]
    sums_end = 6 + body[5]
    if not body.startswith(_SUCCESS_WITH_SUMS) or body[3] != length - 4 or body[4] != 0x0A:
        raise _Odd
    if sums_end >= length or body[6] != 0x08 or body[7] not in (1, 2) or body[8] != 0x10:
        raise _Odd
    chunk = _number(body[9:sums_end])
    if not 0 < chunk <= _MOST_CHUNK or body[sums_end] != 0x10:
        raise _Odd
    first = _number(body[sums_end + 1 :])
    if not start - start % chunk <= first <= start:
        raise _Odd
    return length + 1, first, ChecksumSpec(ChecksumType(body[7]), chunk)


def _number(encoded: bytes) -> int:
    """Return the varint that these bytes are, all of them."""
    varint = decode_varint(encoded) if len(encoded) <= _MOST_VARINT_BYTES else None
    if varint is None or varint[1] != len(encoded):
        raise _Odd
    return varint[0]


read_short: Final[Callable[[socket.socket, bytes, int, int, int, int, bytes], Read]] = getattr(
    kernel(), "read_short", read_short_here
)
