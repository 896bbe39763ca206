"""Short-circuit reads between real processes."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import howdah
from howdah.client.reading.input import DFSInputStream
from howdah.client.reading.statistics import ReadStatistics
from howdah.fs.streams import FSDataInputStream
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

MIB = 1 << 20
DATA = random.Random(8).randbytes(3 * MIB + 77)


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with tempfile.TemporaryDirectory(prefix="howdah-") as sockets:
        conf: dict[str, str | int] = {
            "dfs.client.read.shortcircuit": True,
            "dfs.domain.socket.path": f"{sockets}/datanode._PORT",
            "dfs.domain.socket.disable.interval.seconds": 0,
            "dfs.client.retry.window.base": 50,
        }
        with MiniCluster(datanodes=2, conf=conf) as started:
            yield started


@pytest.fixture
def fs(cluster: MiniCluster) -> Iterator[howdah.FileSystem]:
    with cluster.connect() as connected:
        yield connected


@pytest.fixture
def path(fs: howdah.FileSystem, request: pytest.FixtureRequest) -> str:
    """A file of four blocks."""
    name = f"/{request.node.name}"
    with fs.create(name, block_size=MIB, overwrite=True) as out:
        out.write(DATA)
    return name


def counts(stream: FSDataInputStream) -> ReadStatistics:
    found = stream.statistics()
    assert isinstance(found, ReadStatistics)
    return found


@pytest.mark.req("FS-090", "LM-001")
def test_a_client_on_a_datanode_reads_its_replicas_past_it(
    fs: howdah.FileSystem, path: str
) -> None:
    with fs.open(path) as stream:
        assert stream.read() == DATA
        assert counts(stream).short_circuit_bytes == len(DATA)


@pytest.mark.req("OS-111", "OS-112")
def test_buffers_of_the_caller_are_filled_past_the_datanode(
    fs: howdah.FileSystem, path: str
) -> None:
    buffer = bytearray(1000)
    with fs.open(path) as stream:
        assert stream.has_capability("in:readbytebuffer")
        assert stream.has_capability("in:preadbytebuffer")
        assert stream.readinto(buffer) == 1000
        assert buffer == DATA[:1000]
        assert stream.pread_into(MIB - 500, buffer) == 1000
        assert buffer == DATA[MIB - 500 : MIB + 500]
        assert counts(stream).remote_bytes == 0


def test_a_view_is_the_memory_of_the_file(fs: howdah.FileSystem, path: str) -> None:
    with fs.open(path) as stream:
        view = stream.pread_view(MIB + 5, 5000)
        assert counts(stream).short_circuit_bytes == 5000
    assert view.readonly
    assert view == DATA[MIB + 5 : MIB + 5005]


def test_a_view_over_two_blocks_is_put_together(fs: howdah.FileSystem, path: str) -> None:
    with fs.open(path) as stream:
        assert stream.pread_view(MIB - 5, 10) == DATA[MIB - 5 : MIB + 5]


def test_a_view_ends_with_the_file(fs: howdah.FileSystem, path: str) -> None:
    with fs.open(path) as stream:
        assert stream.pread_view(len(DATA) - 5, 10) == DATA[-5:]
        assert stream.pread_view(len(DATA), 10).tobytes() == b""


def test_a_file_that_is_being_written_is_read_all_the_same(fs: howdah.FileSystem) -> None:
    with fs.create("/growing", overwrite=True) as out:
        out.write(b"so far")
        out.hflush()
        with fs.open("/growing") as stream:
            assert stream.read() == b"so far"
            assert counts(stream).short_circuit_bytes == 0


def test_a_stream_that_was_opened_before_an_append_reads_what_it_saw(
    fs: howdah.FileSystem, path: str
) -> None:
    with fs.open(path) as stream:
        assert stream.pread(len(DATA) - 10, 10) == DATA[-10:]
        with fs.append(path) as out:
            out.write(b"more")
        assert stream.pread(len(DATA) - 10, 20) == DATA[-10:]
    with fs.open(path) as stream:
        assert stream.pread(len(DATA) - 10, 20) == DATA[-10:] + b"more"


def held_blocks(cluster: MiniCluster) -> list[str]:
    """Block files under the cluster's directories that this process has open."""
    found = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{descriptor}")
        except FileNotFoundError:
            continue
        if target.startswith(str(cluster.dir)) and "/blk_" in target:
            found.append(target)
    return found


def test_the_room_of_a_deleted_file_is_given_back(
    cluster: MiniCluster, fs: howdah.FileSystem, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("howdah.client.shortcircuit.cache._SWEEP_S", 0.05)
    with fs.open(path) as stream:
        stream.read()
    assert held_blocks(cluster)
    fs.delete(path)
    wait_until(lambda: not held_blocks(cluster), what="the client lets go of deleted blocks")


def test_a_view_outlives_a_truncate(fs: howdah.FileSystem, path: str) -> None:
    with fs.open(path) as stream:
        view = stream.pread_view(0, MIB)
    if not fs.truncate(path, 100_000):
        wait_until(lambda: fs.is_file_closed(path), what="the last block is recovered")
    assert fs.get_file_status(path).length == 100_000
    # Memory that its file no longer has kills whoever looks at it.
    pid = os.fork()
    if pid == 0:
        os._exit(0 if view == DATA[:MIB] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    with fs.open(path) as stream:
        assert stream.read() == DATA[:100_000]


def test_a_closed_filesystem_holds_no_blocks(cluster: MiniCluster, path: str) -> None:
    with cluster.connect() as other:
        with other.open(path) as stream:
            stream.read()
        before = len(held_blocks(cluster))
    assert len(held_blocks(cluster)) < before


def test_a_forked_child_reads_past_the_datanode_too(fs: howdah.FileSystem, path: str) -> None:
    with fs.open(path) as stream:
        stream.pread(0, 100)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                with fs.open(path) as own:
                    right = own.read() == DATA and stream.pread(5, 100) == DATA[5:105]
                    local = counts(own).short_circuit_bytes == len(DATA)
                status = 0 if right and local else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert stream.pread(5, 100) == DATA[5:105]


def test_without_the_socket_the_datanode_reads(
    cluster: MiniCluster, path: str, tmp_path: Path
) -> None:
    conf = cluster.conf.with_values({"dfs.domain.socket.path": str(tmp_path / "none")})
    with howdah.connect(cluster.uri, conf=conf) as other, other.open(path) as stream:
        assert stream.read() == DATA
        assert counts(stream).short_circuit_bytes == 0


def test_a_datanode_that_dies_costs_a_reader_nothing_but_time(
    cluster: MiniCluster, fs: howdah.FileSystem, path: str
) -> None:
    with fs.open(path) as stream:
        assert isinstance(stream.raw, DFSInputStream)
        first = stream.read(MIB // 2)
        block = stream.raw._locations.block_at(0)
        name = next(
            process.name
            for process in cluster.processes
            if process.addresses.get("data") == block.nodes[0].transfer_address
        )
        cluster.kill(name)
        try:
            assert first + stream.read() == DATA
        finally:
            cluster.restart(name)
            cluster.wait_ready()
