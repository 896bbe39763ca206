"""The bytes of a part are those that were written, kept or copied."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.fs.objects.amazon.http_requests import _sha256
from howdah.fs.objects.parts import Pieces
from howdah.fs.objects.store import crc_of_body, in_one
from howdah.protocol.data_transfer.checksum import ChecksumType, crc

LONG = bytes(range(256)) * 1024


def of(*written: bytes | bytearray | memoryview) -> Pieces:
    pieces = Pieces()
    for each in written:
        with memoryview(each) as view:
            pieces.add(view)
    return pieces


@pytest.mark.req("OS-044")
def test_what_can_be_changed_is_copied() -> None:
    data = bytearray(LONG)
    long, short = memoryview(data), memoryview(data)[:10]
    pieces = of(data, long, short)
    data[:] = bytes(len(data))
    assert pieces.joined() == LONG + LONG + LONG[:10]


def test_what_nobody_can_change_is_kept() -> None:
    pieces = of(LONG, memoryview(LONG)[1:], LONG)
    first, second, third = pieces
    assert first is third is LONG
    assert isinstance(second, memoryview)
    assert second.obj is LONG
    assert pieces.joined() == LONG + LONG[1:] + LONG
    assert of(LONG).joined() is LONG


@pytest.mark.req("LM-057")
def test_a_small_piece_of_something_large_does_not_keep_it() -> None:
    large = bytes(3 << 20)
    for each in of(memoryview(large)[: 1 << 20], memoryview(large)[: 70 << 10]):
        assert isinstance(each, bytearray)
        assert len(each) <= 1 << 20


def test_what_is_short_is_put_together() -> None:
    pieces = of(*[b"0123456789"] * 1000, LONG, b"a", b"b")
    assert [len(each) for each in pieces] == [10_000, len(LONG), 2]
    assert len(pieces) == 10_002 + len(LONG)
    assert not of(b"")
    assert of(b"").joined() == b""


@given(st.lists(st.tuples(st.integers(0, len(LONG)), st.integers(0, len(LONG)), st.booleans())))
def test_checksums_of_pieces_are_those_of_the_whole(cuts: list[tuple[int, int, bool]]) -> None:
    written = [
        bytearray(LONG[start:end]) if copied else memoryview(LONG)[start:end]
        for start, end, copied in cuts
    ]
    pieces, whole = of(*written), b"".join(written)
    assert in_one(pieces) == in_one(whole) == whole
    assert len(pieces) == len(whole)
    assert crc_of_body(pieces) == crc_of_body(whole) == crc(ChecksumType.CRC32C, whole)
    assert _sha256(pieces) == _sha256(whole) == hashlib.sha256(whole).hexdigest()
