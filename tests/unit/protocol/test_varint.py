"""Varints and length-prefixed messages from strangers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.proto import data_transfer_pb2 as pb
from howdah.protocol.varint import (
    BytesSource,
    decode_varint,
    delimited,
    encode_varint,
    read_delimited,
)


@given(st.integers(0, (1 << 64) - 1), st.binary(max_size=3))
def test_a_varint_comes_back_as_it_was(value: int, rest: bytes) -> None:
    encoded = encode_varint(value)
    assert decode_varint(encoded + rest) == (value, len(encoded))


@given(st.integers(128, (1 << 64) - 1))
def test_a_varint_that_is_cut_short_is_not_read(value: int) -> None:
    assert decode_varint(encode_varint(value)[:-1]) is None


def test_an_endless_varint_is_refused() -> None:
    with pytest.raises(errors.ProtocolViolation):
        decode_varint(b"\xff" * 11)
    with pytest.raises(errors.ProtocolViolation):
        read_delimited(BytesSource(b"\xff" * 11))


def test_a_negative_length_is_not_encoded() -> None:
    with pytest.raises(ValueError, match="negative"):
        encode_varint(-1)


@given(st.text(max_size=300))
def test_a_message_is_read_up_to_its_end(text: str) -> None:
    message = pb.BlockOpResponseProto(status=pb.ERROR, message=text)
    source = BytesSource(delimited(message) + b"rest")
    assert pb.BlockOpResponseProto.FromString(read_delimited(source)) == message
    assert source.recv_exactly(4) == b"rest"


def test_a_message_over_the_limit_is_refused_before_it_is_read() -> None:
    source = BytesSource(encode_varint(1 << 31))
    with pytest.raises(errors.ProtocolViolation, match="2147483648 bytes was announced"):
        read_delimited(source)


def test_a_truncated_message_is_refused() -> None:
    with pytest.raises(errors.ProtocolViolation):
        read_delimited(BytesSource(b"\x05abc"))
