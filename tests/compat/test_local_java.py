"""Hadoop's LocalFileSystem and ours on the same directory: each verifies the other's files."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.fs.local.filesystem import LocalFileSystem

pytestmark = [pytest.mark.timeout(240), pytest.mark.kind("checksummed")]

LENGTHS = [0, 1, 511, 512, 513, 4608, 65536, 200_001]
CHUNKS = [512, 100, 4096]


def content(length: int) -> bytes:
    return random.Random(length).randbytes(length)


class Java:
    """Hadoop's LocalFileSystem, with Python's types on this side."""

    def __init__(self, spark: Any, chunk: int = 512) -> None:
        jvm = spark._jvm
        self.path = jvm.org.apache.hadoop.fs.Path
        conf = jvm.org.apache.hadoop.conf.Configuration(spark._jsc.hadoopConfiguration())
        conf.setInt("file.bytes-per-checksum", chunk)
        # newInstance: get() would find one in its cache, with other settings.
        self.fs = jvm.org.apache.hadoop.fs.FileSystem.newInstance(
            jvm.java.net.URI("file:///"), conf
        )

    def at(self, path: Path) -> Any:
        return self.path(f"file://{path}")

    def write(self, path: Path, data: bytes) -> None:
        out = self.fs.create(self.at(path), True)
        out.write(data)
        out.close()

    def read(self, path: Path) -> bytes:
        stream = self.fs.open(self.at(path))
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()


def java_class(call: Callable[[], object]) -> str:
    """The class of what a call through the gateway throws."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors.exceptions.captured import CapturedException

    with pytest.raises((Py4JJavaError, CapturedException)) as raised:
        call()
    # PySpark replaces some of Java's own by exceptions that keep them.
    thrown: Any = raised.value
    origin = thrown.java_exception if isinstance(thrown, Py4JJavaError) else thrown._origin
    return str(origin.getClass().getName())


@pytest.fixture(scope="module")
def java(spark: Any) -> Iterator[Java]:
    java = Java(spark)
    yield java
    java.fs.close()


def ours(chunk: int = 512) -> LocalFileSystem:
    return LocalFileSystem(conf=Configuration({"file.bytes-per-checksum": str(chunk)}))


@pytest.fixture
def fs() -> LocalFileSystem:
    return ours()


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data)


@pytest.mark.req("OS-162")
@pytest.mark.parametrize("chunk", CHUNKS)
def test_java_verifies_what_we_write(java: Java, tmp_path: Path, chunk: int) -> None:
    for length in LENGTHS:
        with ours(chunk).create(tmp_path / str(length)) as out:
            out.write(content(length))
        assert java.read(tmp_path / str(length)) == content(length)


@pytest.mark.parametrize("chunk", CHUNKS)
def test_we_verify_what_java_writes(
    spark: Any, fs: LocalFileSystem, tmp_path: Path, chunk: int
) -> None:
    java = Java(spark, chunk)
    for length in LENGTHS:
        java.write(tmp_path / str(length), content(length))
        assert (tmp_path / f".{length}.crc").exists()
        with fs.open(tmp_path / str(length)) as stream:
            assert stream.read() == content(length)


def test_both_write_the_same_bytes(java: Java, fs: LocalFileSystem, tmp_path: Path) -> None:
    for length in LENGTHS:
        java.write(tmp_path / "java", content(length))
        with fs.create(tmp_path / "ours", overwrite=True) as out:
            out.write(content(length))
        assert (tmp_path / ".ours.crc").read_bytes() == (tmp_path / ".java.crc").read_bytes()


def test_java_finds_a_flipped_bit_in_our_file(
    java: Java, fs: LocalFileSystem, tmp_path: Path
) -> None:
    with fs.create(tmp_path / "f") as out:
        out.write(content(2000))
    flip(tmp_path / "f", 1030)
    found = java_class(lambda: java.read(tmp_path / "f"))
    assert found == errors.ChecksumMismatch.java_class


def test_we_find_a_flipped_bit_in_javas_file(
    java: Java, fs: LocalFileSystem, tmp_path: Path
) -> None:
    java.write(tmp_path / "f", content(2000))
    flip(tmp_path / "f", 1030)
    with fs.open(tmp_path / "f") as stream, pytest.raises(errors.ChecksumMismatch, match="at 1024"):
        stream.read()


def test_we_find_a_flipped_bit_in_javas_checksums(
    java: Java, fs: LocalFileSystem, tmp_path: Path
) -> None:
    java.write(tmp_path / "f", content(2000))
    flip(tmp_path / ".f.crc", 8 + 4 * 2)
    with fs.open(tmp_path / "f") as stream, pytest.raises(errors.ChecksumMismatch, match="at 1024"):
        stream.read()


def test_java_reads_what_we_moved(java: Java, fs: LocalFileSystem, tmp_path: Path) -> None:
    java.write(tmp_path / "a", content(700))
    fs.rename(tmp_path / "a", tmp_path / "b")
    assert java.read(tmp_path / "b") == content(700)
    flip(tmp_path / "b", 1)
    assert java_class(lambda: java.read(tmp_path / "b")) == errors.ChecksumMismatch.java_class


def test_java_reads_what_we_wrote_without_checksums_over_its_file(
    java: Java, fs: LocalFileSystem, tmp_path: Path
) -> None:
    java.write(tmp_path / "f", content(700))
    fs.set_write_checksum(False)
    with fs.create(tmp_path / "f", overwrite=True) as out:
        out.write(content(800))
    with fs.append(tmp_path / "f") as out:
        out.write(content(3))
    assert java.read(tmp_path / "f") == content(800) + content(3)


def test_both_list_the_same(java: Java, fs: LocalFileSystem, tmp_path: Path) -> None:
    for name in ("b", "a", ".d", "e.crc"):
        java.write(tmp_path / name, content(10))
    (tmp_path / "dir").mkdir()
    seen = {
        status.getPath().getName(): (status.getLen(), status.isDirectory(), status.getOwner())
        for status in java.fs.listStatus(java.at(tmp_path))
    }
    assert {
        status.name: (status.length, status.is_directory, status.owner)
        for status in fs.list_status(tmp_path)
    } == seen


def test_both_see_the_same_status(java: Java, fs: LocalFileSystem, tmp_path: Path) -> None:
    with fs.create(tmp_path / "f", permission=0o640) as out:
        out.write(content(10))
    fs.set_times(tmp_path / "f", mtime_ms=1_600_000_000_123)
    seen, own = java.fs.getFileStatus(java.at(tmp_path / "f")), fs.get_file_status(tmp_path / "f")
    assert own.length == seen.getLen()
    assert own.modification_time_ms == seen.getModificationTime()
    assert own.permission_string[1:] == seen.getPermission().toString()
    assert (own.owner, own.group) == (seen.getOwner(), seen.getGroup())
    assert (own.replication, own.block_size) == (seen.getReplication(), seen.getBlockSize())


def test_new_files_and_directories_have_the_same_modes(
    java: Java, fs: LocalFileSystem, tmp_path: Path
) -> None:
    java.write(tmp_path / "java" / "f", b"")
    fs.create(tmp_path / "ours" / "f").close()
    for name in ("", "f", ".f.crc"):
        both = [(tmp_path / who / name).stat().st_mode for who in ("java", "ours")]
        assert both[0] == both[1], name


@pytest.mark.req("OS-164")
@pytest.mark.req("OS-165")
@pytest.mark.parametrize("write_checksum", [True, False])
def test_streams_claim_the_same(
    spark: Any, fs: LocalFileSystem, tmp_path: Path, write_checksum: bool
) -> None:
    java = Java(spark)
    java.fs.setWriteChecksum(write_checksum)
    fs.set_write_checksum(write_checksum)
    theirs = java.fs.create(java.at(tmp_path / "java"), True)
    with fs.create(tmp_path / "ours") as out:
        for name in ("hsync", "hflush", "HSYNC", "dropbehind", "unheard-of"):
            assert out.has_capability(name) == theirs.hasCapability(name), name
    theirs.close()


@pytest.mark.parametrize("operation", ["append", "truncate", "concat"])
def test_both_refuse_what_would_spoil_checksums(
    java: Java, fs: LocalFileSystem, tmp_path: Path, operation: str
) -> None:
    java.write(tmp_path / "f", content(10))
    arguments: dict[str, tuple[Any, Any]] = {
        "append": ((), ()),
        "truncate": ((1,), (1,)),
        "concat": (([],), (None,)),
    }
    own, theirs = arguments[operation]
    with pytest.raises(errors.UnsupportedOperation):
        getattr(fs, operation)(tmp_path / "f", *own)
    found = java_class(lambda: getattr(java.fs, operation)(java.at(tmp_path / "f"), *theirs))
    assert found == errors.UnsupportedOperation.java_class
