"""Java's DataOutput formats."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.fs.typed_data import codec
from howdah.fs.typed_data.input import DataInput
from howdah.fs.typed_data.output import DataOutput

if TYPE_CHECKING:
    from typing_extensions import Buffer

TEXT = st.text(st.characters(exclude_categories=()))


class Output(io.BytesIO, DataOutput):
    """Keeps what is written, and how often."""

    writes = 0

    def write(self, data: Buffer) -> int:
        self.writes += 1
        return super().write(data)


class Input(io.BytesIO, DataInput):
    """Bytes to be read."""


# As java.io.DataOutputStream writes them.
@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ("", "0000"),
        ("abc", "0003616263"),
        ("\0", "0002c080"),
        ("é", "0002c3a9"),
        ("€", "0003e282ac"),
        ("\U0001f993", "0006eda0beedb693"),
        ("a\ud800b", "000561eda08062"),
    ],
)
@pytest.mark.req("OS-023")
def test_text_has_javas_bytes(text: str, encoded: str) -> None:
    assert codec.encode_utf(text).hex() == encoded


@pytest.mark.req("OS-023")
@given(TEXT)
def test_text_comes_back(text: str) -> None:
    encoded = codec.encode_modified_utf8(text)
    assert b"\0" not in encoded
    # A surrogate pair that was given as two characters comes back as the one that it is.
    units = text.encode("utf-16-be", "surrogatepass")
    assert codec.decode_modified_utf8(encoded) == units.decode("utf-16-be", "surrogatepass")


@pytest.mark.req("OS-023")
@pytest.mark.parametrize("text", ["x" * 65536, "é" * 32768, "\0" * 32768, "€" * 21846])
def test_a_text_of_more_than_65535_bytes_is_refused(text: str) -> None:
    with pytest.raises(errors.MalformedText, match="65535 are the most"):
        codec.encode_utf(text)


def test_a_text_of_65535_bytes_is_written() -> None:
    assert len(codec.encode_utf("€" * 21845)) == 65537


@pytest.mark.parametrize("data", [b"\xff", b"\xc3", b"\xf0\x9f\xa6\x93", b"\xc1\x81", b"a\x80"])
def test_bytes_that_are_no_modified_utf8_are_refused(data: bytes) -> None:
    with pytest.raises(errors.MalformedText):
        codec.decode_modified_utf8(data)


@given(st.binary(max_size=20))
def test_any_bytes_are_text_or_malformed(data: bytes) -> None:
    try:
        codec.decode_modified_utf8(data)
    except errors.MalformedText:
        pass


@pytest.mark.req("OS-023")
def test_numbers_are_big_endian() -> None:
    out = Output()
    out.write_boolean(True)
    out.write_byte(-1)
    out.write_short(-2)
    out.write_char("A")
    out.write_int(-3)
    out.write_long(-4)
    out.write_float(0.5)
    out.write_double(0.25)
    assert out.getvalue() == struct.pack(">?bhHiqfd", True, -1, -2, 65, -3, -4, 0.5, 0.25)


@pytest.mark.req("OS-036")
@pytest.mark.parametrize(("value", "byte"), [(0, 0), (256, 0), (511, 255), (-1, 255)])
def test_a_byte_is_the_low_one_of_any_integer(value: int, byte: int) -> None:
    out = Output()
    out.write_byte(value)
    assert out.getvalue() == bytes([byte])


def test_a_short_and_a_char_are_the_low_two_bytes_of_any_integer() -> None:
    out = Output()
    out.write_short(0x12345)
    out.write_char(0x12345)
    assert out.getvalue() == b"\x23\x45" * 2


@pytest.mark.req("OS-026")
def test_each_value_is_one_write() -> None:
    out = Output()
    out.write_utf("abc")
    out.write_long(1)
    out.write_chars("abc")
    assert out.writes == 3


@pytest.mark.parametrize(
    "write",
    [
        lambda out: out.write_int(2**31),
        lambda out: out.write_int(-(2**31) - 1),
        lambda out: out.write_long(2**63),
        lambda out: out.write_char("\U0001f993"),
        lambda out: out.write_float(1e300),
    ],
)
def test_a_value_that_does_not_fit_writes_nothing(write: Callable[[Output], None]) -> None:
    out = Output()
    with pytest.raises(OverflowError):
        write(out)
    assert out.getvalue() == b""


@given(
    st.booleans(), st.integers(-128, 127), st.integers(-(2**31), 2**31 - 1),
    st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), TEXT,
)  # fmt: skip
def test_what_was_written_is_read(
    truth: bool, byte: int, integer: int, long: int, double: float, text: str
) -> None:
    out = Output()
    out.write_boolean(truth)
    out.write_byte(byte)
    out.write_short(byte * 256)
    out.write_int(integer)
    out.write_long(long)
    out.write_double(double)
    out.write_char("x")
    stream = Input(out.getvalue())
    assert stream.read_boolean() == truth
    assert stream.read_byte() == byte
    assert stream.read_short() == byte * 256
    assert stream.read_int() == integer
    assert stream.read_long() == long
    assert stream.read_double() == double
    assert stream.read_char() == "x"


def test_unsigned_reads_have_no_sign() -> None:
    stream = Input(b"\xff\xff\xff")
    assert (stream.read_unsigned_byte(), stream.read_unsigned_short()) == (255, 65535)


def test_a_float_is_read_as_it_was_written() -> None:
    assert Input(struct.pack(">f", 1.5)).read_float() == 1.5


@pytest.mark.parametrize("data", [b"", b"\0\0\0", b"\0\5abc"])
def test_a_file_that_ends_within_a_value_is_an_end_of_file_error(data: bytes) -> None:
    stream = Input(data)
    with pytest.raises(EOFError, match="too early"):
        stream.read_utf() if len(data) > 3 else stream.read_int()


def test_a_negative_length_is_refused() -> None:
    with pytest.raises(ValueError, match="-1 bytes"):
        Input(b"abc").read_exactly(-1)
