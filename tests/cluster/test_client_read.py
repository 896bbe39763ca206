"""Reading through howdah's own client, on real servers."""

from __future__ import annotations

import concurrent.futures
import functools
import io
import itertools
import multiprocessing
import os
import random
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.client.reading.input import DFSInputStream
from howdah.fs.streams import FSDataInputStream
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

MIB = 1 << 20
DATA = random.Random(2).randbytes(3 * MIB + 77)
_numbers = itertools.count()


@pytest.fixture
def fs(howdah_cluster: MiniCluster) -> Iterator[howdah.FileSystem]:
    with howdah_cluster.connect() as connected:
        yield connected


@pytest.fixture
def path(fs: howdah.FileSystem) -> str:
    """A file of four blocks."""
    name = f"/read/file-{next(_numbers)}"
    with fs.create(name, block_size=MIB) as out:
        out.write(DATA)
    wait_until_reported(fs, name)
    return name


def wait_until_reported(fs: howdah.FileSystem, path: str) -> None:
    """A file is complete with its first replicas; the namenode hears of the others soon."""
    wait_until(lambda: all(len(block.names) == 3 for block in fs.block_locations(path)))


def io_bytes(pid: int | None) -> int:
    """Bytes that a process has moved by system calls."""
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("rchar", "wchar")))


@pytest.mark.req("FS-086", "FS-091")
def test_open_gives_a_seekable_stream_over_the_inner_one(fs: howdah.FileSystem, path: str) -> None:
    with fs.open(path) as stream:
        assert isinstance(stream, FSDataInputStream)
        assert isinstance(stream, io.BufferedIOBase)
        assert isinstance(stream.raw, DFSInputStream)
        assert stream.seekable()


@pytest.mark.req("FS-093", "FS-094")
@pytest.mark.parametrize("size", [1000, 65_536, MIB, 10 * MIB])
def test_a_file_of_several_blocks_is_one_stream(
    fs: howdah.FileSystem, path: str, size: int
) -> None:
    pieces = []
    with fs.open(path) as stream:
        while piece := stream.read(size):
            pieces.append(piece)
    assert b"".join(pieces) == DATA


def test_seeks_and_reads_agree_with_a_file_in_memory(fs: howdah.FileSystem, path: str) -> None:
    randomness = random.Random(5)
    model = io.BytesIO(DATA)
    with fs.open(path) as stream:
        for _ in range(300):
            match randomness.randrange(4):
                case 0:
                    target = randomness.randrange(len(DATA) + 5)
                    assert stream.seek(target) == model.seek(target)
                case 1:
                    step = randomness.randrange(2000)
                    assert stream.seek(step, io.SEEK_CUR) == model.seek(step, io.SEEK_CUR)
                case _:
                    size = randomness.choice([1, 100, 5_000, 200_000])
                    assert stream.read(size) == model.read(size)


@pytest.mark.req("FS-087", "FS-095", "LM-006")
def test_locations_are_fetched_batch_by_batch(howdah_cluster: MiniCluster) -> None:
    conf = howdah_cluster.conf.with_values({"dfs.client.read.prefetch.size": str(2 * MIB)})
    with howdah.connect(howdah_cluster.uri, conf=conf) as fs:
        with fs.create("/read/batches", block_size=MIB, overwrite=True) as out:
            out.write(DATA)
        with fs.open("/read/batches") as stream:
            assert isinstance(stream.raw, DFSInputStream)
            known = stream.raw._locations._map
            assert known.find(MIB) is not None
            assert known.find(2 * MIB) is None
            assert stream.read() == DATA
            assert known.find(2 * MIB) is not None


@pytest.mark.req("FS-088")
def test_the_locations_of_a_block_are_all_datanodes_with_a_copy(
    howdah_cluster: MiniCluster, fs: howdah.FileSystem, path: str
) -> None:
    everybody = {
        process.addresses["data"]
        for process in howdah_cluster.processes
        if process.role == "datanode"
    }
    for block in fs.block_locations(path):
        assert set(block.names) == everybody


@pytest.fixture
def from_address(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let the client's calls come from another address of this machine."""

    def choose(host: str) -> None:
        connect = functools.partial(socket.create_connection, source_address=(host, 0))
        monkeypatch.setattr("howdah.rpc.connection.socket.create_connection", connect)

    return choose


@pytest.mark.req("FS-089", "FS-090")
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_client_on_a_datanode_is_sent_there_first(
    howdah_cluster: MiniCluster, path: str, from_address: Callable[[str], None], number: int
) -> None:
    data = howdah_cluster.process(f"datanode{number}").addresses["data"]
    from_address(data.partition(":")[0])
    with howdah_cluster.connect() as fs:
        for block in fs.block_locations(path):
            assert block.names[0] == data


@pytest.mark.req("FS-092", "FS-090")
def test_the_first_listed_datanode_is_the_one_that_is_read_from(
    howdah_cluster: MiniCluster, path: str, from_address: Callable[[str], None]
) -> None:
    data = howdah_cluster.process("datanode2").addresses["data"]
    from_address(data.partition(":")[0])
    with howdah_cluster.connect() as fs, fs.open(path) as stream:
        stream.read(10)
        assert isinstance(stream.raw, DFSInputStream)
        assert stream.raw._reader is not None
        assert stream.raw._reader.node.transfer_address == data


@pytest.mark.req("FS-101", "FS-102")
def test_no_file_data_goes_through_the_namenode(
    howdah_cluster: MiniCluster, fs: howdah.FileSystem
) -> None:
    pid = howdah_cluster.process("namenode").pid
    before = io_bytes(pid)
    with fs.create("/read/direct", overwrite=True, block_size=8 * MIB) as out:
        for _ in range(32):
            out.write(bytes(MIB))
    with fs.open("/read/direct") as stream:
        assert len(stream.read()) == 32 * MIB
    # A checkpoint or a full block report may fall into this, but not half the data.
    assert io_bytes(pid) - before < 16 * MIB


@pytest.mark.req("FS-096")
def test_a_closed_stream_holds_no_connection(fs: howdah.FileSystem, path: str) -> None:
    stream = fs.open(path)
    stream.read(10)
    raw = stream.raw
    assert isinstance(raw, DFSInputStream)
    stream.close()
    assert raw._reader is None
    with pytest.raises(ValueError, match="closed"):
        stream.read(1)


def test_positioned_reads_of_many_threads(fs: howdah.FileSystem, path: str) -> None:
    randomness = random.Random(4)
    ranges = [(randomness.randrange(len(DATA)), randomness.randrange(200_000)) for _ in range(100)]
    with fs.open(path) as stream, concurrent.futures.ThreadPoolExecutor(8) as pool:
        for (start, length), got in zip(
            ranges, pool.map(lambda each: stream.pread(*each), ranges), strict=True
        ):
            assert got == DATA[start : start + length]
        assert stream.tell() == 0


def test_many_clients_read_at_the_same_time(howdah_cluster: MiniCluster, path: str) -> None:
    def read(_: int) -> bool:
        with howdah_cluster.connect() as fs, fs.open(path) as stream:
            return stream.read() == DATA

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert all(pool.map(read, range(32)))


def _read_in_child(stream: FSDataInputStream, fs: howdah.FileSystem, path: str) -> bool:
    rest = stream.read()
    with fs.open(path) as own:
        mine = own.read()
    with fs.create(f"{path}-{os.getpid()}") as out:
        out.write(mine)
    return mine == DATA and rest == DATA[1000:]


def test_forked_children_read_and_write_with_the_parents_filesystem(
    fs: howdah.FileSystem, path: str
) -> None:
    context = multiprocessing.get_context("fork")
    with fs.open(path) as stream:
        stream.read(1000)
        results = context.SimpleQueue()

        def child() -> None:
            results.put(_read_in_child(stream, fs, path))

        children = [context.Process(target=child) for _ in range(3)]
        for each in children:
            each.start()
        answers = [results.get() for _ in children]
        for each in children:
            each.join(30)
        assert answers == [True, True, True]
        assert stream.read() == DATA[1000:]


def test_a_reader_of_an_open_file_sees_what_was_flushed_before_it_was_opened(
    fs: howdah.FileSystem,
) -> None:
    with fs.create("/read/open", overwrite=True, block_size=MIB) as out:
        out.write(DATA[: MIB + 10])
        out.hflush()
        with fs.open("/read/open") as stream:
            assert stream.size == MIB + 10
            assert stream.read() == DATA[: MIB + 10]
            assert stream.pread(MIB, 100) == DATA[MIB : MIB + 10]


@pytest.mark.parametrize(
    "name",
    [
        "a b",
        "100%",
        "%20",
        "ü-ß-日本-🐘",
        "a?b#c",
        "a+b&c=d;e",
        "[x]{y}*",
        "back\\slash",
        "quote'\"",
        "line\nbreak",
        "..a",
        "-rf",
        "~",
        "x" * 255,
    ],
)
def test_a_name_with_odd_characters_is_just_a_name(fs: howdah.FileSystem, name: str) -> None:
    directory = "/read/odd"
    with fs.create(f"{directory}/{name}", overwrite=True) as out:
        out.write(name.encode())
    assert name in [status.name for status in fs.list_status(directory)]
    with fs.open(f"{directory}/{name}") as stream:
        assert stream.read() == name.encode()
    assert fs.delete(f"{directory}/{name}")


# --- failures, each on a cluster of its own ---------------------------------------------------


@pytest.fixture(scope="module")
def fragile() -> Iterator[MiniCluster]:
    conf = {"dfs.client.retry.window.base": 100, "dfs.client.socket-timeout": 5000}
    with MiniCluster(datanodes=3, conf=conf) as cluster:
        yield cluster


@pytest.fixture
def broken(fragile: MiniCluster) -> Iterator[tuple[MiniCluster, howdah.FileSystem, str]]:
    """A cluster to break, a client, and a file of four blocks with three replicas."""
    name = f"/file-{next(_numbers)}"
    with fragile.connect() as fs:
        with fs.create(name, block_size=MIB) as out:
            out.write(DATA)
        wait_until_reported(fs, name)
        yield fragile, fs, name
    for process in fragile.processes:
        if process.pid is None:
            fragile.start(process.name)
    fragile.wait_ready()


@pytest.mark.req("FS-014", "FS-097")
@pytest.mark.parametrize("victims", [["datanode0"], ["datanode1", "datanode2"]])
def test_a_reader_does_not_notice_dead_datanodes(
    broken: tuple[MiniCluster, howdah.FileSystem, str], victims: list[str]
) -> None:
    cluster, fs, path = broken
    cluster.kill(*victims)
    with fs.open(path) as stream:
        assert stream.read() == DATA


@pytest.mark.req("FS-014")
def test_a_reader_does_not_notice_a_datanode_that_dies_under_it(
    broken: tuple[MiniCluster, howdah.FileSystem, str],
) -> None:
    cluster, fs, path = broken
    with fs.open(path) as stream:
        first = stream.read(1000)
        assert isinstance(stream.raw, DFSInputStream)
        reader = stream.raw._reader
        assert reader is not None
        for process in cluster.processes:
            if process.addresses.get("data") == reader.node.transfer_address:
                cluster.kill(process.name)
        assert first + stream.read() == DATA


@pytest.mark.req("FS-099", "FS-100")
def test_a_flipped_byte_in_a_replica_does_not_reach_the_reader(
    broken: tuple[MiniCluster, howdah.FileSystem, str],
) -> None:
    cluster, fs, path = broken
    with fs.open(path) as stream:
        stream.read(1)
        assert isinstance(stream.raw, DFSInputStream)
        assert stream.raw._reader is not None
        node = stream.raw._reader.node.transfer_address
    victim = next(process for process in cluster.processes if process.addresses.get("data") == node)
    for volume in cluster.data_dirs(victim.name):
        for block in volume.glob("**/finalized/**/blk_*"):
            if block.suffix != ".meta" and DATA.startswith(block.read_bytes()[:1000]):
                with open(block, "r+b") as file:
                    file.seek(5000)
                    file.write(bytes([DATA[5000] ^ 1]))
    with fs.open(path) as stream:
        assert stream.read() == DATA


def test_no_live_replica_is_an_error_that_names_file_block_and_nodes(
    broken: tuple[MiniCluster, howdah.FileSystem, str],
) -> None:
    cluster, fs, path = broken
    names = fs.block_locations(path)[0].names
    cluster.kill(*(f"datanode{number}" for number in range(3)))
    with fs.open(path) as stream, pytest.raises(errors.BlockMissing) as caught:
        stream.read()
    message = str(caught.value)
    assert path in message
    assert "blk_" in message
    assert all(name in message for name in names)


def test_an_open_stream_needs_no_namenode(
    broken: tuple[MiniCluster, howdah.FileSystem, str],
) -> None:
    cluster, fs, path = broken
    with fs.open(path) as stream:
        cluster.kill("namenode")
        assert stream.read() == DATA


def test_a_pipeline_that_breaks_is_an_error_that_names_file_block_and_node(
    broken: tuple[MiniCluster, howdah.FileSystem, str],
) -> None:
    cluster, fs, _ = broken
    out = fs.create(f"/broken-{next(_numbers)}")
    out.write(b"x" * 1000)
    out.hflush()
    cluster.kill(*(f"datanode{number}" for number in range(3)))

    def go_on() -> None:
        out.write(b"y" * 1000)
        out.hflush()

    with pytest.raises(errors.PipelineFailed, match=r"/broken-\d+: the pipeline of blk_\d+_\d+"):
        go_on()
    with pytest.raises(errors.PipelineFailed):
        out.close()
    assert out.closed
