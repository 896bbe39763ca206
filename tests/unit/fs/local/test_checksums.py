"""`.NAME.crc` files: what is written, and that nothing wrong is ever read."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.config import Configuration
from howdah.fs.local.checksums import decode_header, encode_header, sums_path
from howdah.fs.local.filesystem import LocalFileSystem

pytestmark = pytest.mark.kind("checksummed")


def local(bytes_per_checksum: int = 512) -> LocalFileSystem:
    return LocalFileSystem(conf=Configuration({"file.bytes-per-checksum": str(bytes_per_checksum)}))


def expected_sums(data: bytes, chunk: int = 512) -> bytes:
    """Written down from the format alone, with nothing of howdah."""
    sums = [zlib.crc32(data[at : at + chunk]) for at in range(0, len(data), chunk)]
    return b"crc\0" + struct.pack(f">{len(sums) + 1}I", chunk, *sums)


def write(fs: LocalFileSystem, path: Path, data: bytes) -> Path:
    """Write a file; where its checksums are."""
    with fs.create(path, overwrite=True) as out:
        out.write(data)
    return path.with_name(f".{path.name}.crc")


@pytest.mark.parametrize("length", [0, 1, 511, 512, 513, 1024, 65535, 65536, 65537, 200_000])
def test_checksums_are_those_of_the_format(tmp_path: Path, length: int) -> None:
    data = os.urandom(length)
    sums = write(local(), tmp_path / "f", data)
    assert (tmp_path / "f").read_bytes() == data
    assert sums.read_bytes() == expected_sums(data)


@pytest.mark.parametrize("path", ["/a/b", "/b", "/a/.hidden", "/a/.x.crc"])
def test_the_checksum_file_is_beside_its_file(path: str) -> None:
    found = sums_path(path)
    assert os.path.dirname(found) == os.path.dirname(path)
    assert os.path.basename(found) == f".{os.path.basename(path)}.crc"


@given(st.integers(1, 2**31 - 1))
def test_a_header_is_read_back(bytes_per_checksum: int) -> None:
    spec = decode_header("/f", encode_header(bytes_per_checksum))
    assert spec.bytes_per_checksum == bytes_per_checksum


@pytest.mark.parametrize(
    "header", [b"", b"crc\0\0\0\2", b"crc\1\0\0\2\0", b"crc\0\0\0\0\0", b"crc\0\xff\0\0\0"]
)
def test_what_is_no_header_is_refused(header: bytes) -> None:
    with pytest.raises(errors.ChecksumMismatch, match=r"/d/\.f\.crc is damaged"):
        decode_header("/d/f", header)


STEPS = st.lists(
    st.tuples(st.sampled_from(["write", "bytes", "slice", "flush"]), st.integers(0, 300)),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(steps=STEPS, chunk=st.integers(1, 70), buffer=st.integers(1, 200))
@pytest.mark.req("OS-162")
def test_any_writes_give_the_right_checksums(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[str, int]],
    chunk: int,
    buffer: int,
) -> None:
    path = tmp_path_factory.mktemp("any") / "f"
    content = b""
    with local(chunk).create(path, buffer_size=buffer) as out:
        for kind, length in steps:
            data = os.urandom(length)
            if kind == "write":
                out.write(data)
            elif kind == "bytes":
                data = data[:5]
                for value in data:
                    out.write(value)
            elif kind == "slice":
                out.write(b"no" + data + b"t this", 2, length)
            else:
                out.flush()
                data = b""
                # Whole chunks are in the file, and nothing that is not in it yet has a meaning.
                assert path.read_bytes() == content[: len(content) // chunk * chunk]
            content += data
            assert out.get_pos() == len(content)
    assert path.read_bytes() == content
    assert path.with_name(".f.crc").read_bytes() == expected_sums(content, chunk)


@settings(max_examples=80, deadline=None)
@given(
    length=st.integers(1, 400),
    chunk=st.integers(1, 70),
    reads=st.lists(st.tuples(st.integers(0, 450), st.integers(0, 450)), max_size=8),
    buffer=st.integers(1, 150),
)
def test_any_reads_give_the_content(
    tmp_path_factory: pytest.TempPathFactory,
    length: int,
    chunk: int,
    reads: list[tuple[int, int]],
    buffer: int,
) -> None:
    path = tmp_path_factory.mktemp("any") / "f"
    data = os.urandom(length)
    fs = local(chunk)
    write(fs, path, data)
    with fs.open(path, buffer) as stream:
        assert stream.read() == data
        for offset, count in reads:
            assert stream.pread(offset, count) == data[offset : offset + count]
            stream.seek(offset)
            assert stream.read(count) == data[offset : offset + count]


@settings(max_examples=80, deadline=None)
@given(
    length=st.integers(1, 400),
    chunk=st.integers(1, 70),
    place=st.floats(0, 1, exclude_max=True),
    bit=st.integers(0, 7),
    in_sums=st.booleans(),
)
def test_no_flipped_bit_gives_wrong_content(
    tmp_path_factory: pytest.TempPathFactory,
    length: int,
    chunk: int,
    place: float,
    bit: int,
    in_sums: bool,
) -> None:
    path = tmp_path_factory.mktemp("any") / "f"
    data = os.urandom(length)
    fs = local(chunk)
    sums = write(fs, path, data)
    damaged = sums if in_sums else path
    content = bytearray(damaged.read_bytes())
    at = int(place * len(content))
    content[at] ^= 1 << bit
    damaged.write_bytes(content)
    try:
        with fs.open(path) as stream:
            found = stream.read()
    except errors.ChecksumMismatch:
        return
    # A header may say a size of chunks that is as right for so short a file.
    assert in_sums
    assert found == data


def damage(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0xFF
    path.write_bytes(content)


def test_a_mismatch_names_file_and_offset(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write(local(), path, bytes(2000))
    damage(path, 1100)
    with local().open(path) as stream, pytest.raises(errors.ChecksumMismatch) as raised:
        stream.read()
    assert f"{path} at 1024" in str(raised.value)


def test_chunks_that_are_whole_can_be_read_around_a_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "f"
    data = os.urandom(2000)
    write(local(), path, data)
    damage(path, 700)
    with local().open(path) as stream:
        assert stream.pread(0, 512) == data[:512]
        assert stream.pread(1024, 2000) == data[1024:]
        with pytest.raises(errors.ChecksumMismatch):
            stream.pread(1023, 1)


def test_verification_can_be_switched_off(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write(local(), path, bytes(10))
    damage(path, 3)
    fs = local()
    fs.set_verify_checksum(False)
    with fs.open(path) as stream:
        assert stream.read() == path.read_bytes()


def test_a_file_that_is_cut_within_a_chunk_is_found(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write(local(), path, os.urandom(1000))
    os.truncate(path, 900)
    with local().open(path) as stream, pytest.raises(errors.ChecksumMismatch, match="at 512"):
        stream.read()


def test_bytes_without_a_checksum_are_found(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write(local(), path, bytes(512))
    with path.open("ab") as file:
        file.write(b"more")
    with local().open(path) as stream:
        assert stream.pread(0, 512) == bytes(512)
        with pytest.raises(errors.ChecksumMismatch, match=r"at 512.*no checksum"):
            stream.read()


def test_a_checksum_file_says_itself_how_long_chunks_are(tmp_path: Path) -> None:
    path = tmp_path / "f"
    data = os.urandom(1000)
    write(local(100), path, data)
    with local(512).open(path) as stream:
        assert stream.read() == data


def test_a_chunk_may_be_larger_than_the_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    data = os.urandom(1000)
    write(local(2**31 - 1), path, data)
    with local().open(path) as stream:
        assert stream.pread(10, 5) == data[10:15]
        assert stream.read() == data


@pytest.mark.req("OS-162", "LM-053")
def test_the_tail_stays_in_memory_until_close(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with local().create(path) as out:
        out.write(bytes(1300))
        out.flush()
        assert path.stat().st_size == 1024
    assert path.stat().st_size == 1300


def test_a_file_that_is_being_written_can_be_read_without_a_false_alarm(tmp_path: Path) -> None:
    path = tmp_path / "f"
    fs = local()
    with fs.create(path) as out:
        with fs.open(path) as empty:
            assert empty.read() == b""
        out.write(bytes(1300))
        out.flush()
        with fs.open(path) as stream:
            assert stream.read() == bytes(1024)
