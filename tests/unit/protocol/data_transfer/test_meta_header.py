"""The head of a meta file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType
from howdah.protocol.data_transfer.meta_header import decode_meta_header, encode_meta_header


def test_a_meta_header_is_the_seven_bytes_that_hadoop_writes() -> None:
    spec = ChecksumSpec(ChecksumType.CRC32C, 512)
    assert encode_meta_header(spec) == b"\x00\x01\x02\x00\x00\x02\x00"


@given(st.sampled_from(ChecksumType), st.integers(1, (1 << 31) - 1))
def test_a_meta_header_comes_back_as_it_was(kind: ChecksumType, size: int) -> None:
    spec = ChecksumSpec(kind, size)
    assert decode_meta_header(encode_meta_header(spec)) == spec


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\x01\x02\x00\x00\x02",
        b"\x00\x02\x02\x00\x00\x02\x00",
        b"\x00\x01\x09\x00\x00\x02\x00",
        b"\x00\x01\x02\x00\x00\x00\x00",
        b"\x00\x01\x02\xff\xff\xff\xff",
    ],
)
def test_what_is_no_meta_header_is_refused(data: bytes) -> None:
    with pytest.raises(errors.ChecksumMismatch, match="meta file"):
        decode_meta_header(data)
