"""Datanodes that hang, vanish and lie under howdah's own readers, in a cluster of two racks.

Tests leave all servers running.
"""

from __future__ import annotations

import functools
import itertools
import random
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import howdah
from howdah import errors
from howdah.client.reading.input import DFSInputStream
from howdah.fs.streams import FSDataInputStream
from howdah.protocol.data_transfer.blocks import DatanodeAddress
from howdah.runtime import sockets
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.replicas import blocks_of, flip, replica_files, replicas_of

pytestmark = pytest.mark.timeout(240)

MIB = 1 << 20
PATIENCE_S = 60.0
CONF: dict[str, str | int] = {
    "dfs.client.socket-timeout": 2000,
    "dfs.client.retry.window.base": 100,
    "dfs.client.retry.interval-ms.get-last-block-length": 10,
    "dfs.heartbeat.interval": "200ms",
    "dfs.namenode.heartbeat.recheck-interval": "500ms",
    "dfs.namenode.redundancy.interval.seconds": "200ms",
    "ipc.client.connect.max.retries": 1,
}
DFS = [sys.executable, "-m", "howdah", "dfs"]
DATA = random.Random(2).randbytes(10 * MIB)
_numbers = itertools.count()


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    # datanode0 and datanode2 are in /a, the others in /b.
    with MiniCluster(datanodes=4, racks=["/a", "/b"], conf=CONF) as cluster:
        yield cluster


@pytest.fixture
def fs(cluster: MiniCluster) -> Iterator[howdah.FileSystem]:
    with cluster.connect() as connected:
        yield connected


@pytest.fixture
def path() -> str:
    return f"/file-{next(_numbers)}"


@pytest.fixture
def all_run_again(cluster: MiniCluster, fs: howdah.FileSystem) -> Iterator[None]:
    """Whatever a test has done to them."""
    yield
    for process in cluster.processes:
        if process.pid is None:
            cluster.start(process.name)
        elif process.paused:
            cluster.resume(process.name)
    cluster.wait_ready()
    wait_until(lambda: len(fs.datanode_report("live")) == 4, PATIENCE_S)


def put(
    fs: howdah.FileSystem,
    path: str,
    data: bytes = DATA,
    *,
    block_size: int = MIB,
    replication: int = 3,
) -> None:
    with fs.create(path, block_size=block_size, replication=replication) as out:
        out.write(data)
    # A file is complete with its first replicas; the namenode hears of the others soon.
    wait_until(
        lambda: all(len(block.names) == replication for block in fs.block_locations(path)),
        PATIENCE_S,
    )


def name_at(cluster: MiniCluster, address: str) -> str:
    """The datanode whose data address this is."""
    (name,) = [each.name for each in cluster.processes if each.addresses.get("data") == address]
    return name


def serving(cluster: MiniCluster, stream: FSDataInputStream) -> str:
    """The datanode that a stream is reading from."""
    raw = stream.raw
    assert isinstance(raw, DFSInputStream)
    assert raw._reader is not None
    return name_at(cluster, raw._reader.node.transfer_address)


def nodes_of(stream: FSDataInputStream, offset: int) -> tuple[DatanodeAddress, ...]:
    """The datanodes of the block at `offset`, as the stream knows them."""
    raw = stream.raw
    assert isinstance(raw, DFSInputStream)
    return raw._locations.block_at(offset).nodes


# --- who is nearest -----------------------------------------------------------------------

From = Callable[[str], None]


@pytest.fixture
def from_host(cluster: MiniCluster, monkeypatch: pytest.MonkeyPatch) -> From:
    """Let this process' calls come from where a datanode is."""

    def choose(name: str) -> None:
        host = cluster.process(name).addresses["data"].partition(":")[0]
        connect = functools.partial(socket.create_connection, source_address=(host, 0))
        monkeypatch.setattr("howdah.rpc.connection.socket.create_connection", connect)

    return choose


@pytest.mark.req("FS-089")
def test_a_replica_in_the_readers_rack_is_before_one_in_another(
    cluster: MiniCluster, from_host: From, path: str
) -> None:
    from_host("datanode1")
    with cluster.connect() as writer:
        # The writer's own node has one replica, a node of the other rack the other.
        put(writer, path, replication=2, block_size=16 * MIB)
        (block,) = replicas_of(cluster, path)
        holders = {replica.datanode for replica in block}
        (in_a,) = holders - {"datanode1"}
    # A reader at the node of rack a that has no replica.
    from_host("datanode2" if in_a == "datanode0" else "datanode0")
    with cluster.connect() as reader, reader.open(path) as stream:
        names = [name_at(cluster, name) for name in reader.block_locations(path)[0].names]
        assert names == [in_a, "datanode1"]
        stream.read(10)
        assert serving(cluster, stream) == in_a
    # One in rack b, at another node than the holder.
    from_host("datanode3")
    with cluster.connect() as reader:
        names = [name_at(cluster, name) for name in reader.block_locations(path)[0].names]
        assert names == ["datanode1", in_a]


# --- datanodes that are gone ------------------------------------------------------------------


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Attempts to connect to datanodes, by address."""
    counted: Counter[str] = Counter()
    connect = sockets.connect

    def counting(address: tuple[str, int], **timeouts: Any) -> sockets.Connection:
        counted[f"{address[0]}:{address[1]}"] += 1
        return connect(address, **timeouts)

    monkeypatch.setattr(sockets, "connect", counting)
    return counted


@pytest.mark.req("FS-098")
@pytest.mark.usefixtures("all_run_again")
def test_a_dead_datanode_is_tried_once_by_the_reader_of_ten_blocks(
    cluster: MiniCluster, fs: howdah.FileSystem, path: str, attempts: Counter[str]
) -> None:
    put(fs, path)
    with fs.open(path) as stream:
        # With the locations of all blocks, before the namenode knows of the death.
        firsts = Counter(nodes_of(stream, number * MIB)[0] for number in range(10))
        ((victim, _),) = firsts.most_common(1)
        cluster.kill(name_at(cluster, victim.transfer_address))
        attempts.clear()
        assert stream.read() == DATA
    assert attempts[victim.transfer_address] == 1


@pytest.mark.usefixtures("all_run_again")
def test_replicas_that_moved_away_under_a_reader_are_found(
    cluster: MiniCluster, fs: howdah.FileSystem, path: str
) -> None:
    put(fs, path, replication=2)
    with fs.open(path) as stream:
        begin = stream.read(10)
        last = [replica.datanode for replica in replicas_of(cluster, path)[-1]]
        fs.set_replication(path, 4)
        wait_until(
            lambda: all(len(each.names) == 4 for each in fs.block_locations(path)), PATIENCE_S
        )
        # All that the stream knows of for its last block.
        for name in last:
            cluster.kill(name)
        assert begin + stream.read() == DATA


@pytest.mark.req("FS-099", "FS-100")
def test_a_corrupt_replica_is_reported_and_replaced(
    cluster: MiniCluster, fs: howdah.FileSystem, path: str
) -> None:
    put(fs, path, DATA[:MIB])
    (replicas,) = replicas_of(cluster, path)
    with fs.open(path) as stream:
        first = name_at(cluster, nodes_of(stream, 0)[0].transfer_address)
        (bad,) = [each for each in replicas if each.datanode == first]
        flip(bad.path, 5000)
        assert stream.read() == DATA[:MIB]
        assert stream.statistics().retries >= 1

    def sound() -> bool:
        contents = [
            each.read_if_there() for each in replica_files(cluster, blocks_of(cluster, path))
        ]
        return len(contents) >= 3 and all(each == DATA[:MIB] for each in contents)

    wait_until(sound, PATIENCE_S)


# --- datanodes that hang ------------------------------------------------------------------------


@pytest.mark.usefixtures("all_run_again")
def test_a_stream_goes_on_elsewhere_when_its_datanode_freezes(
    cluster: MiniCluster, fs: howdah.FileSystem, path: str
) -> None:
    data = DATA * 3
    put(fs, path, data, block_size=32 * MIB)
    with fs.open(path) as stream:
        begin = stream.read(200_000)
        frozen = serving(cluster, stream)
        cluster.pause(frozen)
        assert begin + stream.read() == data
        assert stream.statistics().retries >= 1


@pytest.mark.usefixtures("all_run_again")
def test_a_hedged_read_of_a_frozen_datanode_is_won_by_another(
    cluster: MiniCluster, path: str
) -> None:
    hedged = {
        "dfs.client.hedged.read.threadpool.size": "8",
        "dfs.client.hedged.read.threshold.millis": "50",
        # Without hedging it would take so long.
        "dfs.client.socket-timeout": "100000",
    }
    with howdah.connect(cluster.uri, conf=cluster.conf.with_values(hedged)) as fs:
        put(fs, path)
        with fs.open(path) as stream:
            cluster.pause(name_at(cluster, nodes_of(stream, 0)[0].transfer_address))
            for offset in (0, 100_000, 5 * MIB - 10, 9 * MIB):
                assert stream.pread(offset, 5000) == DATA[offset : offset + 5000]
            statistics = stream.statistics()
    assert statistics.hedged_reads >= statistics.hedged_wins >= 2
    assert statistics.retries == 0


@pytest.mark.usefixtures("all_run_again")
def test_positioned_reads_of_a_frozen_datanode_cost_the_timeout_once(
    cluster: MiniCluster, fs: howdah.FileSystem, path: str, attempts: Counter[str]
) -> None:
    put(fs, path)
    with fs.open(path) as stream:
        frozen = nodes_of(stream, 0)[0].transfer_address
        cluster.pause(name_at(cluster, frozen))
        attempts.clear()
        for offset in range(0, 10 * MIB, MIB):
            assert stream.pread(offset, 100) == DATA[offset : offset + 100]
    assert attempts[frozen] == 1


# --- files whose writer is gone -----------------------------------------------------------------


@pytest.mark.usefixtures("all_run_again")
def test_the_length_of_an_open_file_is_an_error_where_no_datanode_tells_it(
    cluster: MiniCluster, fs: howdah.FileSystem, path: str
) -> None:
    out = fs.create(path)
    out.write(b"flushed")
    out.hflush()
    addresses = [each.addresses["data"] for each in cluster.processes if "data" in each.addresses]
    cluster.kill(*(f"datanode{number}" for number in range(4)))
    with pytest.raises(errors.CannotObtainBlockLength) as caught:
        fs.open(path)
    message = str(caught.value)
    assert path in message
    assert "blk_" in message
    # Three, and a fourth if the writer was quick enough to look for another one.
    assert sum(address in message for address in addresses) >= 3
    with pytest.raises(errors.HowdahError):
        out.close()


@pytest.mark.usefixtures("all_run_again")
def test_replicas_that_wait_for_recovery_have_no_length(
    cluster: MiniCluster, fs: howdah.FileSystem, path: str
) -> None:
    out = fs.create(path)
    out.write(b"flushed")
    out.hflush()
    cluster.kill(*(f"datanode{number}" for number in range(4)))
    with pytest.raises(errors.HowdahError):
        out.close()
    for number in range(4):
        cluster.start(f"datanode{number}")
    cluster.wait_ready()

    def complaint() -> str:
        try:
            fs.open(path).close()
        except errors.CannotObtainBlockLength as error:
            return str(error)
        return ""

    # Until all three have told the namenode of what they found after the restart.
    wait_until(lambda: "its replica waits for recovery" in complaint(), PATIENCE_S)
    assert path in complaint()


# --- the command ----------------------------------------------------------------------------


@pytest.mark.req("OS-159")
def test_tail_f_prints_the_end_then_what_comes_and_ends_by_an_interrupt(
    cluster: MiniCluster, fs: howdah.FileSystem, path: str
) -> None:
    with fs.create(path) as out:
        out.write(b"x" * 5000)
        out.hflush()
        with subprocess.Popen(
            [*DFS, "-fs", cluster.uri, "-tail", "-f", "-s", "20", path],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            try:
                assert process.stdout.read(1024) == b"x" * 1024
                for word in (b"flushed ", b"again "):
                    out.write(word)
                    out.hflush()
                    assert process.stdout.read(len(word)) == word
                out.close()
                with fs.append(path) as more:
                    more.write(b"appended")
                assert process.stdout.read(8) == b"appended"
            finally:
                process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
            assert process.stdout.read() == b""
            assert process.stderr.read() == b"tail: Interrupted\n"
