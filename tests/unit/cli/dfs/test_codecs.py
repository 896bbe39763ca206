"""What `-text` makes of files."""

from __future__ import annotations

import bz2
import gzip
import io
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.cli.dfs.commands.codecs import decoded
from howdah.cli.dfs.shell.problems import PathProblem


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


@pytest.mark.parametrize("name", ["/f.gz", "/f.bz2", "/f.deflate", "/f.snappy"])
def test_an_empty_file_is_empty_whatever_its_name(name: str) -> None:
    assert text(b"", name) == b""


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (b"SEQ\x06...", "/f", "is a SequenceFile"),
        (b"Obj\x01...", "/f", "is an Avro file"),
        (b"....", "/f.snappy", "compressed with Snappy"),
        (b"....", "/f.zst", "compressed with Zstandard"),
        (b"no bzip2", "/f.bz2", "damaged bzip2 data"),
        (gzip.compress(b"x", mtime=0)[:-9], "/f.gz", "gzip data ends too early"),
        (gzip.compress(b"x", mtime=0) + b"garbage", "/f.gz", "damaged gzip data"),
    ],
)
def test_what_cannot_be_shown_is_named(content: bytes, name: str, said: str) -> None:
    with pytest.raises(PathProblem, match=said):
        text(content, name)
