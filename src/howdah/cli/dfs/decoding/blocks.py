"""The block formats of Snappy and LZ4, and how Hadoop's codecs put blocks into a file (pure).

Mirrors BlockDecompressorStream: each block is its length without compression (four bytes), then
pieces (a length of four bytes, and compressed bytes) until it is complete. A block of length 0 ends
the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from howdah import errors
from howdah.cli.dfs.decoding.source import Damaged, Source
from howdah.protocol.varint import MAX_VARINT32_BYTES, decode_varint


def in_blocks(source: Source, decompress: Callable[[bytes], bytes]) -> Iterator[bytes]:
    """The content of a file of Hadoop's block codecs, piece by piece."""
    while length := source.number_or_end():
        if length < 0:
            raise Damaged(f"a block of {length} bytes can't be")
        while length > 0:
            piece = decompress(source.exactly(source.number()))
            length -= len(piece)
            if length < 0 or not piece:
                raise Damaged("a block has another length than it says")
            yield piece


def snappy(data: bytes) -> bytes:
    """The content of a block of Snappy's.

    >>> snappy(bytes([5, 0, 97, 1, 1]))
    b'aaaaa'
    """
    wanted, at = _length(data)
    out = bytearray()
    end = len(data)
    try:
        while at < end:
            tag = data[at]
            at += 1
            if not tag & 3:
                length = tag >> 2
                if length >= 60:
                    more = length - 59
                    length = int.from_bytes(data[at : at + more], "little")
                    at += more
                length += 1
                if at + length > end:
                    raise Damaged("a literal ends too early")
                out += data[at : at + length]
                at += length
                continue
            if tag & 3 == 1:
                length = 4 + (tag >> 2 & 7)
                offset = (tag >> 5) << 8 | data[at]
                at += 1
            else:
                width = 2 if tag & 3 == 2 else 4
                length = 1 + (tag >> 2)
                if at + width > end:
                    raise Damaged("a copy ends too early")
                offset = int.from_bytes(data[at : at + width], "little")
                at += width
            _copy(out, offset, length)
    except IndexError as error:
        raise Damaged("it ends too early") from error
    if len(out) != wanted:
        raise Damaged(f"a block of {wanted} bytes has {len(out)}")
    return bytes(out)


def _length(data: bytes) -> tuple[int, int]:
    try:
        decoded = decode_varint(data, 0, MAX_VARINT32_BYTES)
    except errors.ProtocolViolation:
        decoded = None
    if decoded is None:
        raise Damaged("its length is none")
    return decoded


def lz4(data: bytes) -> bytes:
    """The content of a block of LZ4's.

    >>> lz4(bytes([0x11, 97, 1, 0, 0x10, 98]))
    b'aaaaaab'
    """
    out = bytearray()
    at, end = 0, len(data)
    try:
        while at < end:
            token = data[at]
            at += 1
            length = token >> 4
            if length == 15:
                more, at = _more(data, at)
                length += more
            if at + length > end:
                raise Damaged("a literal ends too early")
            out += data[at : at + length]
            at += length
            if at == end:
                break  # the last sequence has no match
            offset = data[at] | data[at + 1] << 8
            at += 2
            length = token & 15
            if length == 15:
                more, at = _more(data, at)
                length += more
            _copy(out, offset, length + 4)
    except IndexError as error:
        raise Damaged("it ends too early") from error
    return bytes(out)


def _more(data: bytes, at: int) -> tuple[int, int]:
    total = 0
    while (byte := data[at]) == 255:
        total += byte
        at += 1
    return total + byte, at + 1


def _copy(out: bytearray, offset: int, length: int) -> None:
    """Repeat what was written so far back; the copy may run into itself."""
    start = len(out) - offset
    if offset <= 0 or start < 0:
        raise Damaged("a copy begins before the block")
    if offset >= length:
        out += out[start : start + length]
        return
    pattern = out[start:]
    times = -(-length // offset)
    out += (pattern * times)[:length]
