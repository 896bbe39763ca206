from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.formats.malformed import MalformedRecord
from howdah.formats.primitives import (
    Cursor,
    decode_modified_utf8,
    encode_modified_utf8,
    pack_string,
    pack_text,
    pack_vlong,
)
from howdah.protocol.varint import encode_varint

LONGS = st.integers(-(1 << 63), (1 << 63) - 1)


@given(LONGS)
def test_every_long_comes_back_from_its_vlong(value: int) -> None:
    cursor = Cursor(pack_vlong(value))
    assert cursor.vlong() == value
    assert cursor.remaining == 0


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (127, "7f"),
        (-1, "ff"),
        (-112, "90"),
        (128, "8f80"),
        (-113, "8770"),
        (255, "8fff"),
        (256, "8e0100"),
        (134217728, "8c08000000"),
        (-134217728, "8407ffffff"),
        ((1 << 63) - 1, "887fffffffffffffff"),
        (-(1 << 63), "807fffffffffffffff"),
    ],
)
def test_vlongs_have_the_bytes_of_hadoop(value: int, encoded: str) -> None:
    assert pack_vlong(value).hex() == encoded


@pytest.mark.parametrize("value", [1 << 63, -(1 << 63) - 1])
def test_what_is_wider_than_a_long_is_refused(value: int) -> None:
    with pytest.raises(errors.IllegalArgument, match="64 bits"):
        pack_vlong(value)


def test_a_vint_that_is_wider_than_an_int_is_malformed() -> None:
    with pytest.raises(MalformedRecord, match="32 bits"):
        Cursor(pack_vlong(1 << 31)).vint()


@given(st.text())
def test_every_string_comes_back_from_modified_utf8(text: str) -> None:
    assert decode_modified_utf8(encode_modified_utf8(text)) == text


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ("a\0b", "61c08062"),
        ("é", "c3a9"),
        ("漢", "e6bca2"),
        ("\U0001f600", "eda0bdedb880"),
    ],
)
def test_modified_utf8_has_the_bytes_of_java(text: str, encoded: str) -> None:
    assert encode_modified_utf8(text).hex() == encoded


def test_ordinary_utf8_beyond_the_basic_plane_is_understood() -> None:
    assert decode_modified_utf8("\U0001f600".encode()) == "\U0001f600"


def test_half_a_surrogate_pair_survives() -> None:
    assert decode_modified_utf8(encode_modified_utf8("x\ud83dy")) == "x\ud83dy"


def test_a_string_of_65535_bytes_fits() -> None:
    assert Cursor(pack_string("x" * 65535)).string() == "x" * 65535


def test_a_longer_string_is_refused_by_name() -> None:
    with pytest.raises(errors.IllegalArgument, match="65536 bytes"):
        pack_string("x" * 65536)


def test_a_group_of_over_a_mebibyte_is_refused() -> None:
    with pytest.raises(errors.IllegalArgument, match="1048577"):
        pack_text("g" * ((1 << 20) + 1))


@given(st.binary(max_size=300))
def test_a_delimited_message_comes_back(message: bytes) -> None:
    cursor = Cursor(encode_varint(len(message)) + message + b"tail")
    assert cursor.delimited() == message
    assert cursor.remaining == 4


def test_a_lying_length_is_refused_before_anything_is_read() -> None:
    cursor = Cursor(b"\xff\xff" + b"x" * 10)
    with pytest.raises(MalformedRecord, match="65535 bytes does not fit into the 10 bytes left"):
        cursor.string()


def test_a_message_length_without_end_is_malformed() -> None:
    with pytest.raises(MalformedRecord, match="32 bits"):
        Cursor(b"\xff" * 10).delimited()


def test_bytes_that_are_not_utf8_are_malformed() -> None:
    with pytest.raises(MalformedRecord, match="modified UTF-8"):
        Cursor(b"\0\1\xff").string()


def test_a_text_that_is_not_utf8_is_malformed() -> None:
    with pytest.raises(MalformedRecord, match="not UTF-8"):
        Cursor(b"\1\xff").text()


def test_a_negative_length_is_malformed() -> None:
    with pytest.raises(MalformedRecord, match="negative length"):
        Cursor(pack_vlong(-5)).text()


@given(st.binary(max_size=40))
def test_no_bytes_make_a_cursor_read_past_their_end(raw: bytes) -> None:
    for method in (Cursor.string, Cursor.text, Cursor.vlong, Cursor.delimited, Cursor.i64):
        cursor = Cursor(raw)
        try:
            method(cursor)
        except MalformedRecord:
            pass
        assert cursor.position <= len(raw)
