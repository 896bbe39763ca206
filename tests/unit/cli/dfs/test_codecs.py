"""What `-text` makes of files."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import random
import struct
import sys
import zlib
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.cli.dfs.commands.codecs import decoded
from howdah.cli.dfs.decoding.blocks import lz4, snappy
from howdah.cli.dfs.decoding.java_text import double_text, float_text
from howdah.cli.dfs.shell.error_text import PathProblem
from howdah.spark.compaction.concat_avro import encode_long


def text(content: bytes, name: str = "/f") -> bytes:
    return b"".join(decoded(io.BytesIO(content), name))


@given(st.binary(), st.binary())
def test_glued_gzip_members_are_read_to_the_end(first: bytes, second: bytes) -> None:
    assert text(gzip.compress(first) + gzip.compress(second)) == first + second


@given(st.binary(min_size=1))
def test_bzip2_and_zlib_go_by_the_name(content: bytes) -> None:
    assert text(bz2.compress(content), "/f.bz2") == content
    assert text(zlib.compress(content), "/f.deflate") == content


@given(
    st.binary().filter(lambda data: data[:2] != b"\x1f\x8b" and data[:3] not in (b"SEQ", b"Obj"))
)
def test_everything_else_is_as_it_is(content: bytes) -> None:
    assert text(content, "/f.txt") == content


@pytest.mark.parametrize("name", ["/f.gz", "/f.bz2", "/f.deflate", "/f.snappy", "/f.lz4", "/f.zst"])
def test_an_empty_file_is_empty_whatever_its_name(name: str) -> None:
    assert text(b"", name) == b""


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (b"SEQ\x03...", "/f", "is a SequenceFile of version 3"),
        (b"SEQ\x06\x06a.B.CD\x06a.B.CD\0\0", "/f", "is a SequenceFile of a.B.CD"),
        (b"Obj\x01\x00" + bytes(16), "/f", "its schema is none"),
        (b"Obj\x01...", "/f", "ends too early"),
        (b"....", "/f.snappy", "damaged Snappy data"),
        (b"....", "/f.lz4", "damaged LZ4 data"),
        (b"....", "/f.zst", "damaged Zstandard data"),
        (b"no gzip", "/f.gz", "damaged gzip data"),
        (b"no bzip2", "/f.bz2", "damaged bzip2 data"),
        (gzip.compress(b"x", mtime=0)[:-9], "/f.gz", "gzip data ends too early"),
        (gzip.compress(b"x", mtime=0) + b"garbage", "/f.gz", "damaged gzip data"),
    ],
)
def test_what_cannot_be_shown_is_named(content: bytes, name: str, said: str) -> None:
    with pytest.raises(PathProblem, match=said):
        text(content, name)


# -- padding -------------------------------------------------------------------------------


@pytest.mark.parametrize("zeros", [1, 20, 1 << 20, (1 << 20) + 5])
def test_gzip_may_be_padded_with_zeros(zeros: int) -> None:
    packed = gzip.compress(b"one\n", mtime=0)
    assert text(packed + bytes(zeros)) == b"one\n"
    assert text(packed + bytes(zeros) + packed + bytes(zeros)) == b"one\none\n"
    with pytest.raises(PathProblem, match="damaged gzip data"):
        text(packed + bytes(zeros) + b"garbage")


# -- blocks of Hadoop's codecs ----------------------------------------------------------------


def in_blocks(pieces: list[bytes], compress: Callable[[bytes], bytes]) -> bytes:
    """As Hadoop's block codecs write: a block for each piece, in chunks of 100 bytes."""
    made = b""
    for piece in pieces:
        made += len(piece).to_bytes(4, "big")
        for at in range(0, len(piece), 100):
            chunk = compress(piece[at : at + 100])
            made += len(chunk).to_bytes(4, "big") + chunk
    return made


CODECS = {"snappy": (".snappy", snappy), "lz4_raw": (".lz4", lz4)}


@given(
    data=st.lists(st.sampled_from([b"a", b"b", b"abcabc", bytes(70), b"xyz" * 30])).map(b"".join),
    codec=st.sampled_from(sorted(CODECS)),
)
def test_blocks_have_what_was_compressed(data: bytes, codec: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    packed = pyarrow.compress(data, codec=codec, asbytes=True)
    suffix, decompress = CODECS[codec]
    assert decompress(packed) == data
    compress = partial(pyarrow.compress, codec=codec, asbytes=True)
    pieces = [data[at : at + 250] for at in range(0, len(data), 250)]
    assert text(in_blocks(pieces, compress), f"/f{suffix}") == data


def test_large_blocks_are_decompressed() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    chance = random.Random(5)
    data = b"".join(chance.randbytes(200) + b"repeated " * 100 for _ in range(300))
    for codec, (_, decompress) in CODECS.items():
        assert decompress(pyarrow.compress(data, codec=codec, asbytes=True)) == data


def test_zstandard_is_read_to_the_end() -> None:
    zstandard = pytest.importorskip("zstandard")
    one = zstandard.ZstdCompressor().compress(b"one\n" * 1000)
    assert text(one + one, "/f.zst") == b"one\n" * 2000
    with pytest.raises(PathProblem, match="Zstandard data ends too early"):
        text(one[:-5], "/f.zst")


def test_zstandard_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("zstandard", "compression.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(PathProblem, match="pip install zstandard"):
        text(b"....", "/f.zst")


# -- Avro and SequenceFiles -------------------------------------------------------------------


def avro(schema: str, block: bytes, count: int, codec: str = "null") -> bytes:
    """A container with one block."""
    entries = b""
    for key, value in (("avro.schema", schema), ("avro.codec", codec)):
        entries += encode_long(len(key)) + key.encode()
        entries += encode_long(len(value)) + value.encode()
    mark = b"m" * 16
    head = b"Obj\x01" + encode_long(2) + entries + encode_long(0) + mark
    return head + encode_long(count) + encode_long(len(block)) + block + mark


RECORD = (
    '{"type":"record","name":"r","fields":[{"name":"a","type":"long"},{"name":"b","type":'
    '["null","string",{"type":"map","values":"double"}]}]}'
)
ROW = encode_long(7) + encode_long(1) + encode_long(3) + "xü".encode()
MAP = (
    encode_long(-1)
    + encode_long(2)
    + encode_long(1)
    + encode_long(1)
    + b"k"
    + struct.pack("<d", 0.1)
)
TWO = ROW + MAP + encode_long(0)
SHOWN = '{"a":7,"b":{"string":"xü"}}\n{"a":-1,"b":{"map":{"k":0.1}}}\n'.encode()


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("codec", "pack"),
    [("null", bytes), ("deflate", raw_deflate), ("bzip2", bz2.compress), ("xz", lzma.compress)],
)
def test_avro_is_a_line_of_json_for_each_record(codec: str, pack: Callable[[bytes], bytes]) -> None:
    assert text(avro(RECORD, pack(TWO), 2, codec)) == SHOWN


def test_avro_of_itself_within_itself_is_damage_and_no_defect() -> None:
    schema = '{"type":"record","name":"r","fields":[{"name":"r","type":"r"}]}'
    with pytest.raises(PathProblem, match="nested too deeply"):
        text(avro(schema, b"", 1))


def sequence(pairs: list[tuple[str, str]], *, codec: str = "") -> bytes:
    """A SequenceFile of texts, as it is or in one block."""

    def written(value: str) -> bytes:
        data = value.encode()
        assert len(data) < 113, "a vint of one byte"
        return bytes([len(data)]) + data

    def named(name: str) -> bytes:
        return bytes([len(name)]) + name.encode()

    kind, sync = named("org.apache.hadoop.io.Text") * 2, b"s" * 16
    head = b"SEQ\x06" + kind + (b"\x01\x01" + named(codec) if codec else b"\0\0") + bytes(4) + sync
    if not codec:
        body = b"\xff\xff\xff\xff" + sync
        for key, value in pairs:
            parts = written(key), written(value)
            body += (len(parts[0]) + len(parts[1])).to_bytes(4, "big")
            body += len(parts[0]).to_bytes(4, "big") + parts[0] + parts[1]
        return head + body
    body = b"\xff\xff\xff\xff" + sync + bytes([len(pairs)])
    for column in zip(*((written(key), written(value)) for key, value in pairs), strict=True):
        for buffer in (bytes(map(len, column)), b"".join(column)):
            packed = zlib.compress(buffer)
            body += bytes([len(packed)]) + packed
    return head + body


@pytest.mark.parametrize("codec", ["", "org.apache.hadoop.io.compress.DefaultCodec"])
def test_sequence_file_is_a_line_for_each_record(codec: str) -> None:
    pairs = [("a", "1"), ("ü", ""), ("", "b c")]
    assert text(sequence(pairs, codec=codec)) == "a\t1\nü\t\n\tb c\n".encode()


VALID = [avro(RECORD, TWO, 2), sequence([("a", "1")]), sequence(
    [("a", "1"), ("b", "2")], codec="org.apache.hadoop.io.compress.DefaultCodec"
)]  # fmt: skip


@given(
    data=st.sampled_from(VALID),
    place=st.integers(3, 400),
    byte=st.integers(0, 255),
    cut=st.integers(4, 400),
)
def test_damage_is_named_whatever_it_is(data: bytes, place: int, byte: int, cut: int) -> None:
    damaged = bytearray(data)
    damaged[min(place, len(damaged) - 1)] = byte
    with contextlib.suppress(PathProblem):
        text(bytes(damaged[:cut]))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.0"), (-0.0, "-0.0"), (1e7, "1.0E7"), (9999999.0, "9999999.0"), (0.001, "0.001"),
        (0.00099, "9.9E-4"), (100.0, "100.0"), (123456.789, "123456.789"), (5e-324, "4.9E-324"),
        (float("nan"), "NaN"), (float("-inf"), "-Infinity"),
    ],
)  # fmt: skip
def test_numbers_are_those_of_java(value: float, shown: str) -> None:
    assert double_text(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.1, "0.1"), (16777216.0, "1.6777216E7"), (123456.789, "123456.79"), (3e38, "3.0E38")],
)
def test_short_numbers_are_those_of_java(value: float, shown: str) -> None:
    assert float_text(struct.unpack(">f", struct.pack(">f", value))[0]) == shown
