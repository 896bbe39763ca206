"""Hadoop's own Java client, call by call, through the JVM that Spark runs in.

What Java says of a path is held against what our client says of it: the two must
not be told apart by anybody who uses either.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from howdah import connect, errors
from howdah.fs.api import FileSystem
from howdah.testing import MiniCluster
from howdah.testing.spark import java_fs_shell
from howdah.testing.waiting import wait_until

pytestmark = pytest.mark.timeout(240)

MIB = 1 << 20
PAGE_ENTRIES = 1000
ODD_SIZES = [
    0,
    1,
    511,
    512,
    513,
    64 * 1024 - 1,
    64 * 1024,
    64 * 1024 + 1,
    MIB - 1,
    MIB,
    MIB + 1,
    3 * MIB,
]


def content(length: int) -> bytes:
    return random.Random(length).randbytes(length)


class Java:
    """A `FileSystem` of Hadoop's in Spark's JVM, with Python's types on this side."""

    def __init__(self, spark: Any, uri: str, **conf: str | int) -> None:
        self.jvm = spark._jvm
        self.gateway = spark.sparkContext._gateway
        self.hadoop = self.jvm.org.apache.hadoop
        self.conf = self.hadoop.conf.Configuration(spark._jsc.hadoopConfiguration())
        for name, value in conf.items():
            self.conf.set(name, str(value))
        # newInstance: get() would find one in its cache, with other settings.
        self.fs = self.hadoop.fs.FileSystem.newInstance(self.jvm.java.net.URI(uri), self.conf)

    def path(self, path: str) -> Any:
        return self.hadoop.fs.Path(path)

    def create(self, path: str, replication: int = 3, block_size: int = MIB) -> Any:
        return self.fs.create(self.path(path), True, 4096, replication, block_size)

    def write(self, path: str, data: bytes, replication: int = 3, block_size: int = MIB) -> None:
        out = self.create(path, replication, block_size)
        out.write(data)
        out.close()

    def read(self, path: str) -> bytes:
        stream = self.fs.open(self.path(path))
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()

    def status(self, path: str) -> Any:
        return self.fs.getFileStatus(self.path(path))

    def names(self, statuses: Any) -> list[str]:
        return [status.getPath().getName() for status in statuses]

    def mode(self, bits: int) -> Any:
        return self.hadoop.fs.permission.FsPermission(f"{bits:03o}")

    def checksum(self, path: str) -> tuple[str, bytes]:
        found = self.fs.getFileChecksum(self.path(path))
        return found.getAlgorithmName(), bytes(found.getBytes())


def error_class(error: Any) -> str:
    """The Java class of what a call through py4j raised, or of what the server raised
    where Hadoop's client hands that on wrapped."""
    name = str(error.java_exception.getClass().getName())
    if name == "org.apache.hadoop.ipc.RemoteException":
        return str(error.java_exception.getClassName())
    return name


@pytest.fixture(scope="module")
def java(spark: Any, howdah_cluster: MiniCluster) -> Iterator[Java]:
    java = Java(spark, howdah_cluster.uri)
    yield java
    java.fs.close()


@pytest.fixture(scope="module")
def JavaError(spark: Any) -> type[Exception]:
    from py4j.protocol import Py4JJavaError

    found: type[Exception] = Py4JJavaError
    return found


@pytest.fixture(scope="module")
def fs(howdah_cluster: MiniCluster) -> Iterator[FileSystem]:
    with howdah_cluster.connect() as fs:
        yield fs


@pytest.fixture
def path(request: pytest.FixtureRequest) -> str:
    name = "".join(c if c.isalnum() else "_" for c in request.node.name)
    return f"/java/{name}"


def read(fs: FileSystem, path: str) -> bytes:
    with fs.open(path) as stream:
        return bytes(stream.read())


def write(fs: FileSystem, path: str, data: bytes, replication: int = 3) -> None:
    with fs.create(path, replication=replication, block_size=MIB) as out:
        out.write(data)


def write_located(fs: FileSystem, path: str, data: bytes) -> None:
    """As `write`, and wait until the namenode knows all replicas: one of each block is
    enough for a file to be complete."""
    write(fs, path, data)
    wait_until(lambda: all(len(b.names) == 3 for b in fs.block_locations(path)))


# -- bytes, in both directions ------------------------------------------------------------


@pytest.mark.req("OS-002", "FS-154", "OS-056")
@pytest.mark.parametrize("size", ODD_SIZES)
def test_file_of_java_is_read_byte_for_byte(
    java: Java, fs: FileSystem, path: str, size: int
) -> None:
    java.write(path, content(size))
    assert java.read(path) == content(size)
    assert read(fs, path) == content(size)
    assert fs.get_file_status(path).length == java.status(path).getLen() == size


@pytest.mark.req("OS-002", "FS-154", "OS-056")
@pytest.mark.parametrize("size", ODD_SIZES)
def test_file_of_ours_is_read_byte_for_byte(
    java: Java, fs: FileSystem, path: str, size: int
) -> None:
    write(fs, path, content(size))
    assert java.read(path) == content(size)
    assert read(fs, path) == content(size)
    assert fs.get_file_status(path).length == java.status(path).getLen() == size


SUMS = [("CRC32C", 512), ("CRC32", 512), ("CRC32C", 4096), ("CRC32", 32), ("CRC32C", 65536)]


@pytest.mark.parametrize(("kind", "chunk"), SUMS)
def test_file_of_java_with_other_checksums_is_read(
    spark: Any,
    howdah_cluster: MiniCluster,
    java: Java,
    fs: FileSystem,
    path: str,
    kind: str,
    chunk: int,
) -> None:
    data = content(2 * MIB + 12345)
    conf: dict[str, str | int] = {"dfs.checksum.type": kind, "dfs.bytes-per-checksum": chunk}
    other = Java(spark, howdah_cluster.uri, **conf)
    other.write(path, data)
    other.fs.close()
    assert read(fs, path) == data
    assert java.read(path) == data


@pytest.mark.parametrize(("kind", "chunk"), SUMS)
def test_file_of_ours_with_other_checksums_is_read_by_java(
    howdah_cluster: MiniCluster, java: Java, path: str, kind: str, chunk: int
) -> None:
    data = content(2 * MIB + 12345)
    conf = {"dfs.checksum.type": kind, "dfs.bytes-per-checksum": str(chunk)}
    with connect(howdah_cluster.uri, conf=howdah_cluster.conf.with_values(conf)) as other:
        write(other, path, data)
        assert read(other, path) == data
    assert java.read(path) == data


@pytest.mark.parametrize("mode", ["MD5MD5CRC", "COMPOSITE_CRC"])
@pytest.mark.parametrize("size", [1, 512, MIB, 2 * MIB + 12345])
def test_checksum_of_a_file_is_the_same_in_java(
    spark: Any, howdah_cluster: MiniCluster, fs: FileSystem, path: str, mode: str, size: int
) -> None:
    write(fs, path, content(size))
    theirs = Java(spark, howdah_cluster.uri, **{"dfs.checksum.combine.mode": mode})
    found = theirs.checksum(path)
    theirs.fs.close()
    ours = fs.get_file_checksum(path, combine_mode=mode)
    assert ours is not None
    assert (ours.algorithm, ours.bytes) == found


def test_composite_checksum_does_not_depend_on_how_a_file_is_cut(
    spark: Any, howdah_cluster: MiniCluster, path: str
) -> None:
    data = content(3 * MIB + 777)
    found = set()
    for number, (block_size, chunk) in enumerate([(MIB, 512), (2 * MIB, 4096), (4 * MIB, 1024)]):
        conf: dict[str, str | int] = {
            "dfs.checksum.combine.mode": "COMPOSITE_CRC",
            "dfs.bytes-per-checksum": chunk,
        }
        theirs = Java(spark, howdah_cluster.uri, **conf)
        theirs.write(f"{path}{number}", data, block_size=block_size)
        found.add(theirs.checksum(f"{path}{number}"))
        theirs.fs.close()
    assert len(found) == 1


# -- a file that is being written -----------------------------------------------------------


@pytest.mark.req("FS-146", "OS-013", "OS-014")
def test_created_file_is_there_and_empty(java: Java, fs: FileSystem, path: str) -> None:
    out = java.create(path)
    assert fs.exists(path)
    assert java.status(path).getLen() == 0
    assert java.read(path) == b""
    out.close()


@pytest.mark.req("FS-147")
def test_flush_of_java_makes_nothing_visible(java: Java, fs: FileSystem, path: str) -> None:
    out = java.create(path)
    out.write(b"content")
    out.flush()
    assert fs.get_file_status(path).length == 0
    out.close()
    assert fs.get_file_status(path).length == 7


@pytest.mark.req("FS-149")
@pytest.mark.parametrize("sync", ["hflush", "hsync"])
@pytest.mark.parametrize("size", [1, 600, MIB // 2 + 1, MIB, MIB + 100])
def test_synced_bytes_of_java_are_seen_by_new_readers(
    java: Java, fs: FileSystem, path: str, sync: str, size: int
) -> None:
    out = java.create(path)
    out.write(content(size))
    getattr(out, sync)()
    assert java.read(path) == content(size)
    assert read(fs, path) == content(size)
    out.write(b"more")
    out.close()
    assert read(fs, path) == content(size) + b"more"


@pytest.mark.req("FS-149")
@pytest.mark.parametrize("sync", ["hflush", "hsync"])
@pytest.mark.parametrize("size", [1, 600, MIB // 2 + 1, MIB, MIB + 100])
def test_synced_bytes_of_ours_are_seen_by_java(
    java: Java, fs: FileSystem, path: str, sync: str, size: int
) -> None:
    with fs.create(path, block_size=MIB) as out:
        out.write(content(size))
        getattr(out, sync)()
        assert java.read(path) == content(size)
        out.write(b"more")
    assert java.read(path) == content(size) + b"more"


@pytest.mark.req("FS-149")
def test_java_sees_each_sync_of_a_growing_file(java: Java, fs: FileSystem, path: str) -> None:
    written = b""
    with fs.create(path, block_size=MIB) as out:
        for step in range(12):
            piece = content(100_003 + step)
            out.write(piece)
            out.hflush()
            written += piece
            assert java.read(path) == written


def test_visible_length_of_an_open_file_is_asked_of_a_datanode(
    java: Java, fs: FileSystem, path: str
) -> None:
    with fs.create(path) as out:
        out.write(content(1000))
        out.hflush()
        stream = java.fs.open(java.path(path))
        assert stream.getVisibleLength() == 1000
        stream.close()


@pytest.mark.req("FS-150")
def test_sync_that_updates_the_length_tells_the_namenode(
    java: Java, fs: FileSystem, path: str
) -> None:
    flags = java.jvm.java.util.EnumSet.of(
        getattr(
            java.jvm.org.apache.hadoop.hdfs.client, "HdfsDataOutputStream$SyncFlag"
        ).UPDATE_LENGTH
    )
    out = java.create(path)
    out.write(content(700))
    out.hsync(flags)
    assert fs.get_file_status(path).length == 700
    out.close()


@pytest.mark.req("FS-005")
def test_second_writer_is_refused(
    java: Java, fs: FileSystem, path: str, JavaError: type[Exception]
) -> None:
    out = java.create(path)
    out.write(b"first")
    with pytest.raises((errors.AlreadyBeingCreated, errors.PathExists)):
        fs.create(path)
    with pytest.raises(errors.AlreadyBeingCreated):
        fs.append(path)
    out.close()
    with fs.create(f"{path}.ours") as ours:
        ours.write(b"x")
        with pytest.raises(JavaError) as refused:
            java.fs.append(java.path(f"{path}.ours"))
        assert error_class(refused.value).endswith("AlreadyBeingCreatedException")
    assert read(fs, path) == b"first"


def test_writer_whose_file_was_deleted_gets_a_clear_error(
    java: Java, fs: FileSystem, path: str, JavaError: type[Exception]
) -> None:
    out = java.create(path)
    out.write(b"x")
    out.hflush()
    assert fs.delete(path)
    with pytest.raises(JavaError, match=r"does not exist|No lease"):
        out.close()


# -- append -----------------------------------------------------------------------------------


@pytest.mark.req("OS-015", "OS-058")
@pytest.mark.parametrize("size", [0, 1, 512, 1000, MIB - 1, MIB, MIB + 513])
def test_append_of_java_goes_on_where_a_file_of_ours_ends(
    java: Java, fs: FileSystem, path: str, size: int
) -> None:
    write(fs, path, content(size))
    out = java.fs.append(java.path(path))
    assert out.getPos() == size
    out.write(content(1234))
    out.close()
    assert read(fs, path) == content(size) + content(1234)
    assert java.read(path) == content(size) + content(1234)


@pytest.mark.req("OS-015", "OS-058")
@pytest.mark.parametrize("size", [0, 1, 512, 1000, MIB - 1, MIB, MIB + 513])
def test_append_of_ours_goes_on_where_a_file_of_java_ends(
    java: Java, fs: FileSystem, path: str, size: int
) -> None:
    java.write(path, content(size))
    with fs.append(path) as out:
        out.write(content(1234))
    assert java.read(path) == content(size) + content(1234)


# -- reading ----------------------------------------------------------------------------------


@pytest.mark.req("FS-091", "FS-095")
def test_seeks_and_positioned_reads_of_java_find_the_right_bytes(
    java: Java, fs: FileSystem, path: str
) -> None:
    data = content(3 * MIB + 99)
    write(fs, path, data)
    stream = java.fs.open(java.path(path))
    chance = random.Random(5)
    offsets = [0, 1, 511, 512, MIB - 1, MIB, 2 * MIB - 10, len(data) - 1]
    offsets += [chance.randrange(len(data)) for _ in range(20)]
    for offset in offsets:
        length = min(chance.choice([1, 20, 70_000]), len(data) - offset)
        stream.seek(offset)
        assert bytes(stream.readNBytes(length)) == data[offset : offset + length]
        assert stream.getPos() == offset + length
        target = java.jvm.java.nio.ByteBuffer.allocate(length)
        stream.readFully(offset, target)
        assert bytes(target.array()) == data[offset : offset + length]
        assert stream.getPos() == offset + length
    stream.seek(len(data))
    assert stream.read() == -1
    stream.close()


def test_seek_behind_the_end_is_refused(
    java: Java, fs: FileSystem, path: str, JavaError: type[Exception]
) -> None:
    write(fs, path, b"short")
    stream = java.fs.open(java.path(path))
    with pytest.raises(JavaError) as refused:
        stream.seek(6)
    assert error_class(refused.value) == "java.io.EOFException"
    stream.close()


def test_open_of_what_is_no_file_is_refused(
    java: Java, path: str, JavaError: type[Exception]
) -> None:
    java.fs.mkdirs(java.path(path))
    for name in (path, f"{path}/missing"):
        with pytest.raises(JavaError) as refused:
            java.fs.open(java.path(name))
        assert error_class(refused.value) == "java.io.FileNotFoundException"


# -- the tree ---------------------------------------------------------------------------------


def test_directory_of_many_pages_is_listed_whole(java: Java, fs: FileSystem, path: str) -> None:
    wanted = [f"{number:05}" for number in range(2 * PAGE_ENTRIES + 50)]
    for name in wanted:
        fs.mkdirs(f"{path}/{name}")
    assert java.names(java.fs.listStatus(java.path(path))) == wanted
    assert [status.name for status in fs.list_status(path)] == wanted
    found = []
    entries = java.fs.listStatusIterator(java.path(path))
    while entries.hasNext():
        found.append(entries.next().getPath().getName())
    assert found == wanted
    fs.delete(path, recursive=True)


def test_files_are_listed_with_their_locations(java: Java, fs: FileSystem, path: str) -> None:
    write_located(fs, f"{path}/below/file", content(2 * MIB + 1))
    entries = java.fs.listFiles(java.path(path), True)
    status = entries.next()
    assert not entries.hasNext()
    blocks = [
        (b.getOffset(), b.getLength(), tuple(b.getNames())) for b in status.getBlockLocations()
    ]
    ours = fs.block_locations(f"{path}/below/file")
    assert [(o, length, set(n)) for o, length, n in blocks] == [
        (b.offset, b.length, set(b.names)) for b in ours
    ]


@pytest.mark.parametrize(
    "pattern", ["*", "a*", "?b", "{ab,b}*", "[a-b]?", "[^a]*", "*/x", "{ab/x,b/*}", "nothing*"]
)
def test_pattern_finds_the_same_in_java(
    java: Java, fs: FileSystem, path: str, pattern: str
) -> None:
    for name in ("ab/x", "b/y", "abc", "bb", "c d", "é"):
        write(fs, f"{path}/{name}", b"")
    theirs = java.fs.globStatus(java.path(f"{path}/{pattern}"))
    found = [s.getPath().toUri().getPath() for s in theirs]
    assert found == [status.path for status in fs.glob_status(f"{path}/{pattern}")]


@pytest.mark.parametrize(
    "name",
    ["with space", "ü ø 漢字 🐘", "per%20cent", "a+b&c=d", "#?*", "semi;colon", "-rf", "'\"`$(x)"],
)
def test_odd_name_of_ours_is_the_same_in_java(
    java: Java, fs: FileSystem, path: str, name: str
) -> None:
    write(fs, f"{path}/{name}", name.encode())
    # A Path made of three parts takes the last one as it is.
    odd = java.hadoop.fs.Path(None, None, f"{path}/{name}")
    assert java.names(java.fs.listStatus(java.path(path))) == [name]
    stream = java.fs.open(odd)
    assert bytes(stream.readAllBytes()) == name.encode()
    stream.close()
    assert java.fs.rename(odd, java.hadoop.fs.Path(None, None, f"{path}/{name}2"))
    assert [status.name for status in fs.list_status(path)] == [f"{name}2"]


def test_status_says_the_same_in_java(java: Java, fs: FileSystem, path: str) -> None:
    write(fs, path, content(1000), replication=2)
    ours, theirs = fs.get_file_status(path), java.status(path)
    assert (
        theirs.getLen(),
        theirs.isDirectory(),
        theirs.getReplication(),
        theirs.getBlockSize(),
        theirs.getModificationTime(),
        theirs.getAccessTime(),
        theirs.getPermission().toShort(),
        theirs.getOwner(),
        theirs.getGroup(),
        theirs.getFileId(),
    ) == (
        ours.length,
        ours.is_directory,
        ours.replication,
        ours.block_size,
        ours.modification_time_ms,
        ours.access_time_ms,
        ours.permission,
        ours.owner,
        ours.group,
        ours.file_id,
    )


def test_attributes_set_by_java_are_seen(java: Java, fs: FileSystem, path: str) -> None:
    write(fs, path, b"x")
    java.fs.setPermission(java.path(path), java.mode(0o640))
    java.fs.setOwner(java.path(path), "somebody", "others")
    java.fs.setTimes(java.path(path), 1_000_000_000_000, 1_100_000_000_000)
    assert java.fs.setReplication(java.path(path), 2)
    status = fs.get_file_status(path)
    assert (status.permission, status.owner, status.group) == (0o640, "somebody", "others")
    assert (status.modification_time_ms, status.access_time_ms) == (10**12, 11 * 10**11)
    assert status.replication == 2


@pytest.mark.parametrize("mode", [0o755, 0o1777, 0o700, 0])
def test_mode_of_a_directory_is_as_java_set_it(
    java: Java, fs: FileSystem, path: str, mode: int
) -> None:
    java.fs.mkdirs(java.path(path))
    java.fs.setPermission(java.path(path), java.mode(mode))
    assert fs.get_file_status(path).permission == mode
    assert java.status(path).getPermission().toExtendedShort() == mode


def test_new_files_and_directories_of_both_have_the_same_mode_and_owner(
    java: Java, fs: FileSystem, path: str
) -> None:
    java.write(f"{path}/theirs/file", b"")
    write(fs, f"{path}/ours/file", b"")

    def seen(name: str) -> list[tuple[int, str, str]]:
        found = (fs.get_file_status(f"{path}/{name}{rest}") for rest in ("", "/file"))
        return [(status.permission, status.owner, status.group) for status in found]

    assert seen("theirs") == seen("ours")


@pytest.mark.req("FS-154")
def test_content_summary_is_the_same_in_java(java: Java, fs: FileSystem, path: str) -> None:
    fs.mkdirs(f"{path}/a/b/c")
    write(fs, f"{path}/a/one", content(1000), replication=1)
    write(fs, f"{path}/a/b/two", content(500), replication=2)
    theirs, ours = java.fs.getContentSummary(java.path(path)), fs.content_summary(path)
    assert (
        theirs.getLength(),
        theirs.getFileCount(),
        theirs.getDirectoryCount(),
        theirs.getSpaceConsumed(),
        theirs.getQuota(),
        theirs.getSpaceQuota(),
    ) == (
        ours.length,
        ours.file_count,
        ours.directory_count,
        ours.space_consumed,
        ours.quota,
        ours.space_quota,
    )
    assert (ours.length, ours.file_count, ours.directory_count) == (1500, 2, 4)
    assert ours.space_consumed == 2000


def test_replicas_go_to_the_nodes_that_java_favors(java: Java, fs: FileSystem, path: str) -> None:
    address = java.jvm.java.net.InetSocketAddress
    write_located(fs, path, b"x")
    for name in fs.block_locations(path)[0].names:
        host, port = name.split(":")
        favored = java.gateway.new_array(address, 1)
        favored[0] = address(host, int(port))
        out = java.fs.create(java.path(path), java.mode(0o644), True, 4096, 1, MIB, None, favored)
        out.write(b"content")
        out.close()
        assert [block.names for block in fs.block_locations(path)] == [(name,)]


@pytest.mark.req("FS-088")
def test_block_locations_are_the_same_in_java(java: Java, fs: FileSystem, path: str) -> None:
    write_located(fs, path, content(3 * MIB + 5))

    def theirs(start: int, length: int) -> list[tuple[Any, ...]]:
        found = java.fs.getFileBlockLocations(java.path(path), start, length)
        return [
            (
                b.getOffset(),
                b.getLength(),
                set(b.getNames()),
                set(b.getHosts()),
                set(b.getTopologyPaths()),
            )
            for b in found
        ]

    def ours(start: int, length: int) -> list[tuple[Any, ...]]:
        return [
            (b.offset, b.length, set(b.names), set(b.hosts), set(b.topology_paths))
            for b in fs.block_locations(path, start, length)
        ]

    for start, length in [(0, 1 << 40), (0, 1), (MIB - 1, 2), (MIB, MIB), (3 * MIB + 4, 100)]:
        assert theirs(start, length) == ours(start, length)
    assert len(ours(0, 1 << 40)) == 4


def test_rename_over_a_file_replaces_it_at_once(java: Java, fs: FileSystem, path: str) -> None:
    """What Structured Streaming commits its checkpoints with."""
    write(fs, f"{path}/new", b"new")
    write(fs, f"{path}/old", b"old")
    context = java.hadoop.fs.FileContext.getFileContext(java.fs.getUri(), java.conf)
    options = java.gateway.new_array(java.jvm.org.apache.hadoop.fs.Options.Rename, 1)
    options[0] = java.jvm.org.apache.hadoop.fs.Options.Rename.OVERWRITE
    context.rename(java.path(f"{path}/new"), java.path(f"{path}/old"), options)
    assert [status.name for status in fs.list_status(path)] == ["old"]
    assert read(fs, f"{path}/old") == b"new"


def test_rename_over_a_file_is_refused_without_overwrite(
    java: Java, fs: FileSystem, path: str, JavaError: type[Exception]
) -> None:
    write(fs, f"{path}/new", b"new")
    write(fs, f"{path}/old", b"old")
    assert not java.fs.rename(java.path(f"{path}/new"), java.path(f"{path}/old"))
    context = java.hadoop.fs.FileContext.getFileContext(java.fs.getUri(), java.conf)
    options = java.gateway.new_array(java.jvm.org.apache.hadoop.fs.Options.Rename, 0)
    with pytest.raises(JavaError) as refused:
        context.rename(java.path(f"{path}/new"), java.path(f"{path}/old"), options)
    assert error_class(refused.value) == "org.apache.hadoop.fs.FileAlreadyExistsException"
    assert read(fs, f"{path}/old") == b"old"


def test_rename_into_a_directory_keeps_the_name(java: Java, fs: FileSystem, path: str) -> None:
    write(fs, f"{path}/file", b"x")
    fs.mkdirs(f"{path}/directory")
    assert java.fs.rename(java.path(f"{path}/file"), java.path(f"{path}/directory"))
    assert [status.path for status in fs.list_status(f"{path}/directory")] == [
        f"{path}/directory/file"
    ]


def test_directory_with_content_is_deleted_only_recursively(
    java: Java, fs: FileSystem, path: str, JavaError: type[Exception]
) -> None:
    write(fs, f"{path}/a/b/file", b"x")
    with pytest.raises(JavaError) as refused:
        java.fs.delete(java.path(path), False)
    assert error_class(refused.value).endswith("PathIsNotEmptyDirectoryException")
    assert java.fs.delete(java.path(path), True)
    assert not java.fs.delete(java.path(path), True)
    assert not fs.exists(path)


def test_create_without_overwrite_refuses_an_existing_file(
    java: Java, fs: FileSystem, path: str, JavaError: type[Exception]
) -> None:
    write(fs, path, b"x")
    with pytest.raises(JavaError) as refused:
        java.fs.create(java.path(path), False)
    assert error_class(refused.value) == "org.apache.hadoop.fs.FileAlreadyExistsException"


def test_builder_makes_no_parents_unless_told(
    java: Java, path: str, JavaError: type[Exception]
) -> None:
    with pytest.raises(JavaError) as refused:
        java.fs.createFile(java.path(f"{path}/a/b")).build()
    assert error_class(refused.value) == "java.io.FileNotFoundException"
    java.fs.createFile(java.path(f"{path}/a/b")).recursive().build().close()
    assert java.fs.exists(java.path(f"{path}/a/b"))


def test_filesystem_tells_its_size(java: Java, fs: FileSystem) -> None:
    theirs, ours = java.fs.getStatus(), fs.get_status()
    assert theirs.getCapacity() == ours.capacity > 0
    assert 0 < theirs.getRemaining() <= theirs.getCapacity()
    assert len(java.fs.getDataNodeStats()) == 3


def test_java_knows_that_no_security_means_no_tokens(java: Java) -> None:
    assert java.fs.getDelegationToken("renewer") is None


def test_file_is_closed_for_java_when_its_writer_has_closed(
    java: Java, fs: FileSystem, path: str
) -> None:
    with fs.create(path) as out:
        out.write(b"x")
        out.hflush()
        assert not java.fs.isFileClosed(java.path(path))
    assert java.fs.isFileClosed(java.path(path))


# -- permissions --------------------------------------------------------------------------------


def test_other_user_of_java_is_refused(
    howdah_cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    write(fs, f"{path}/secret", b"secret")
    fs.set_permission(f"{path}/secret", 0o600)
    done = java_fs_shell(howdah_cluster, "-cat", f"{path}/secret", user="stranger")
    assert done.returncode == 1
    assert "Permission denied: user=stranger, access=READ" in done.stderr
    assert "secret\n" not in done.stdout


def test_owner_of_a_file_of_java_is_the_user_who_wrote_it(
    howdah_cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    fs.mkdirs(path)
    fs.set_permission(path, 0o1777)
    done = java_fs_shell(howdah_cluster, "-touchz", f"{path}/mine", user="stranger")
    assert done.returncode == 0, done.stderr
    assert fs.get_file_status(f"{path}/mine").owner == "stranger"


def test_access_of_java_is_checked_as_ours_is(
    java: Java, howdah_cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    write(fs, path, b"x")
    fs.set_permission(path, 0o640)
    java.fs.access(java.path(path), java.hadoop.fs.permission.FsAction.READ_WRITE)
    with howdah_cluster.connect(user="stranger") as other, pytest.raises(errors.AccessDenied):
        other.access(path, 4)
