"""Datanodes that are killed or frozen while howdah's own client writes to them.

Four datanodes, files of three replicas: whatever fails, the writer gets no exception,
every byte is there, and in the end there are three replicas again.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator

import pytest

from howdah import errors
from howdah.client.dfs import DFSClient
from howdah.client.state.writing.pipeline_rules import Policy, ReplacementPolicy
from howdah.fs.api import FileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.replicas import BEING_WRITTEN, blocks_of, replica_files, replicas_of

pytestmark = pytest.mark.timeout(240)

MIB = 1 << 20
BLOCK = 4 * MIB
PATIENCE_S = 60.0
CONF = {
    "dfs.client.socket-timeout": 2000,
    "dfs.namenode.heartbeat.recheck-interval": 500,
    "dfs.namenode.redundancy.interval.seconds": 1,
    # A datanode that is back with a stale replica refuses a copy until that is deleted;
    # the namenode orders another one after so long.
    "dfs.namenode.reconstruction.pending.timeout-sec": 5,
    # The fourth datanode replaces one of three, also while it gets copies of blocks that earlier
    # tests have left with too few replicas.
    "dfs.namenode.redundancy.considerLoad": False,
    "dfs.blocksize": BLOCK,
}
# A frozen datanode is found by its silence, which takes ten seconds and more.
LONG_0 = pytest.param(0, marks=pytest.mark.torture)
LONG_2 = pytest.param(2, marks=pytest.mark.torture)
NEVER = ReplacementPolicy(Policy.NEVER)
ALWAYS = {"dfs.client.block.write.replace-datanode-on-failure.policy": "ALWAYS"}


class Writer:
    """A file that is written, and the names of the servers of its pipeline."""

    def __init__(self, cluster: MiniCluster, client: DFSClient, path: str) -> None:
        self.path = path
        self.written = b""
        self._cluster = cluster
        self.out = client.create(
            path,
            masked=0o644,
            unmasked=0o666,
            overwrite=False,
            create_parent=True,
            replication=3,
            block_size=BLOCK,
        )

    def append(self, client: DFSClient) -> None:
        self.out = client.append(self.path)

    def write(self, length: int) -> None:
        data = random.Random(len(self.written) + length).randbytes(length)
        self.out.write(data)
        self.written += data

    def pipeline(self) -> list[str]:
        servers = {server.addresses.get("data"): server.name for server in self._cluster.processes}
        return [servers[node.transfer_address] for node in self.out.pipeline]


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=4, conf=CONF) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: MiniCluster) -> Iterator[DFSClient]:
    client = DFSClient.at(cluster.uri.removeprefix("hdfs://"), cluster.conf)
    yield client
    client.close()


@pytest.fixture(scope="module")
def fs(cluster: MiniCluster) -> Iterator[FileSystem]:
    with cluster.connect() as fs:
        yield fs


@pytest.fixture(autouse=True)
def everybody_is_back(cluster: MiniCluster, fs: FileSystem) -> Iterator[None]:
    """Each test begins with four datanodes."""
    yield
    for server in cluster.processes:
        if server.pid is None:
            cluster.restart(server.name)
        else:
            cluster.resume(server.name)
    wait_until(lambda: len(fs.datanode_report("live")) == 4, PATIENCE_S)


@pytest.fixture
def writer(cluster: MiniCluster, client: DFSClient, request: pytest.FixtureRequest) -> Writer:
    name = "".join(c if c.isalnum() else "_" for c in request.node.name)
    return Writer(cluster, client, f"/recovery/{name}")


def read(fs: FileSystem, path: str) -> bytes:
    with fs.open(path) as stream:
        return bytes(stream.read())


def replicated(cluster: MiniCluster, writer: Writer) -> bool:
    """Whether three servers that run have each block as it was written."""
    running = {server.name for server in cluster.processes if server.pid is not None}
    start = 0
    for replicas in replicas_of(cluster, writer.path):
        block = writer.written[start : start + BLOCK]
        good = [r for r in replicas if r.datanode in running and r.read_if_there() == block]
        if len(good) != 3:
            return False
        start += BLOCK
    return start >= len(writer.written)


def check(cluster: MiniCluster, fs: FileSystem, writer: Writer) -> None:
    """The content is right, and every block gets three equal replicas."""
    assert read(fs, writer.path) == writer.written
    wait_until(lambda: replicated(cluster, writer), PATIENCE_S, "three replicas again")


def wait_until_located(fs: FileSystem, path: str) -> None:
    """A file is complete with one replica of each block; an append goes to those known of."""
    wait_until(lambda: all(len(block.names) == 3 for block in fs.block_locations(path)))


def begin(writer: Writer) -> list[str]:
    """Some of a block is on all its datanodes: their names."""
    writer.write(MIB + 1)
    wait_until(lambda: len(writer.out.pipeline) == 3)
    writer.write(MIB)
    return writer.pipeline()


def finish(writer: Writer) -> None:
    """More than what is left of the block, then close."""
    writer.write(2 * BLOCK)
    writer.out.close()


# --- killed ------------------------------------------------------------------------------


@pytest.mark.req("FS-124", "FS-125", "FS-126", "FS-127", "FS-128", "FS-129", "FS-131")
@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_datanode_that_is_killed_in_mid_block_is_not_noticed_by_the_writer(
    cluster: MiniCluster, fs: FileSystem, writer: Writer, position: int
) -> None:
    victim = begin(writer)[position]
    cluster.kill(victim)
    writer.write(2 * BLOCK)
    writer.out.close()
    check(cluster, fs, writer)


@pytest.mark.req("FS-126", "FS-131")
def test_the_stale_partial_replica_of_a_datanode_that_comes_back_is_deleted(
    cluster: MiniCluster, fs: FileSystem, writer: Writer
) -> None:
    begin(writer)
    writer.out.hflush()
    victim = writer.pipeline()[1]
    (block_id,) = blocks_of(cluster, writer.path)
    cluster.kill(victim)
    writer.write(MIB)
    writer.out.close()
    assert victim in {r.datanode for r in replica_files(cluster, [block_id], state=BEING_WRITTEN)}
    cluster.restart(victim)
    wait_until(
        lambda: not replica_files(cluster, [block_id], state=BEING_WRITTEN),
        PATIENCE_S,
        "the stale partial replica is gone",
    )
    check(cluster, fs, writer)


@pytest.mark.req("FS-130")
def test_the_block_after_a_failure_has_a_full_pipeline(
    cluster: MiniCluster, fs: FileSystem, writer: Writer
) -> None:
    cluster.kill(begin(writer)[0])
    writer.write(BLOCK)
    writer.out.hflush()
    assert len(blocks_of(cluster, writer.path)) == 2
    assert len(writer.out.pipeline) == 3
    writer.out.close()
    check(cluster, fs, writer)


@pytest.mark.req("FS-127", "FS-131", "FS-132")
@pytest.mark.parametrize("positions", [(0, 1), (1, 2), (0, 2)])
def test_two_of_three_datanodes_that_are_killed_are_not_noticed_by_the_writer(
    cluster: MiniCluster, fs: FileSystem, writer: Writer, positions: tuple[int, int]
) -> None:
    names = begin(writer)
    cluster.kill(*(names[position] for position in positions))
    writer.write(MIB)
    writer.out.close()
    assert read(fs, writer.path) == writer.written
    for position in positions:
        cluster.restart(names[position])
    check(cluster, fs, writer)


@pytest.mark.req("FS-132")
def test_one_datanode_of_the_whole_cluster_is_enough(
    cluster: MiniCluster, fs: FileSystem, writer: Writer
) -> None:
    first, second, third = begin(writer)
    (spare,) = {s.name for s in cluster.processes} - {first, second, third, "namenode"}
    cluster.kill(first, second, spare)
    writer.write(MIB)
    writer.out.close()
    assert read(fs, writer.path) == writer.written
    for name in (first, second, spare):
        cluster.restart(name)
    check(cluster, fs, writer)


@pytest.mark.req("FS-131")
def test_a_datanode_that_is_dead_before_the_first_packet_is_not_noticed(
    cluster: MiniCluster, fs: FileSystem, writer: Writer
) -> None:
    cluster.kill("datanode1")
    writer.write(2 * BLOCK)
    writer.out.close()
    check(cluster, fs, writer)


@pytest.mark.req("FS-131")
@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_datanode_that_dies_at_the_first_packet_is_not_noticed(
    cluster: MiniCluster, fs: FileSystem, writer: Writer, position: int
) -> None:
    writer.write(64 * 1024)
    wait_until(lambda: len(writer.out.pipeline) == 3)
    cluster.kill(writer.pipeline()[position])
    writer.write(BLOCK)
    writer.out.close()
    check(cluster, fs, writer)


@pytest.mark.torture
@pytest.mark.req("FS-131")
def test_a_datanode_that_is_frozen_before_the_first_packet_is_not_noticed(
    cluster: MiniCluster, fs: FileSystem, writer: Writer
) -> None:
    cluster.pause("datanode1")
    writer.write(2 * BLOCK)
    writer.out.close()
    assert read(fs, writer.path) == writer.written
    cluster.resume("datanode1")
    check(cluster, fs, writer)


def test_all_three_dead_end_in_an_error_that_names_each_in_bounded_time(
    cluster: MiniCluster, writer: Writer
) -> None:
    begin(writer)
    writer.out.hflush()
    nodes = writer.out.pipeline
    # At once: with a moment between two, the client has replaced the first one.
    cluster.kill(*writer.pipeline())
    begun_s = time.monotonic()
    with pytest.raises(errors.PipelineFailed) as caught:
        finish(writer)
    assert time.monotonic() - begun_s < 60
    message = str(caught.value)
    assert writer.path in message
    assert all(str(node) in message for node in nodes)
    with pytest.raises(errors.PipelineFailed):
        writer.out.close()


# --- frozen ------------------------------------------------------------------------------


@pytest.mark.req("FS-127", "FS-131")
@pytest.mark.parametrize("position", [LONG_0, 1, LONG_2])
def test_a_datanode_that_freezes_in_mid_block_is_not_noticed_by_the_writer(
    cluster: MiniCluster, fs: FileSystem, writer: Writer, position: int
) -> None:
    victim = begin(writer)[position]
    cluster.pause(victim)
    writer.write(BLOCK)
    writer.out.close()
    cluster.resume(victim)
    check(cluster, fs, writer)


@pytest.mark.torture
@pytest.mark.req("FS-131")
@pytest.mark.parametrize("position", [0, 2])
def test_a_datanode_that_freezes_before_the_last_packet_is_not_noticed(
    cluster: MiniCluster, fs: FileSystem, writer: Writer, position: int
) -> None:
    begin(writer)
    writer.out.hflush()
    victim = writer.pipeline()[position]
    cluster.pause(victim)
    writer.out.close()
    cluster.resume(victim)
    check(cluster, fs, writer)


@pytest.mark.req("FS-131")
@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_datanode_that_is_killed_before_the_last_packet_is_not_noticed(
    cluster: MiniCluster, fs: FileSystem, writer: Writer, position: int
) -> None:
    begin(writer)
    writer.out.hflush()
    cluster.kill(writer.pipeline()[position])
    writer.out.close()
    check(cluster, fs, writer)


# --- flushes and replacements ----------------------------------------------------------------


@pytest.mark.req("FS-131")
def test_what_was_flushed_is_readable_whatever_two_datanodes_do(
    cluster: MiniCluster, fs: FileSystem, writer: Writer
) -> None:
    for _ in range(3):
        writer.write(10_001)
        writer.out.hflush()
        assert read(fs, writer.path) == writer.written
        if len(writer.written) <= 20_002:
            cluster.kill(writer.pipeline()[0])
    writer.out.close()
    assert read(fs, writer.path) == writer.written


@pytest.mark.torture
def test_a_flush_that_waits_for_a_frozen_datanode_goes_through(
    cluster: MiniCluster, fs: FileSystem, writer: Writer
) -> None:
    cluster.pause(begin(writer)[1])
    done = threading.Event()

    def flush() -> None:
        writer.out.hflush()
        done.set()

    thread = threading.Thread(target=flush)
    thread.start()
    assert done.wait(PATIENCE_S)
    thread.join()
    assert read(fs, writer.path) == writer.written
    writer.out.close()


@pytest.mark.req("LM-031")
def test_a_replacement_copies_what_is_there_and_joins_the_pipeline(
    cluster: MiniCluster, fs: FileSystem
) -> None:
    client = DFSClient.at(cluster.uri.removeprefix("hdfs://"), cluster.conf.with_values(ALWAYS))
    writer = Writer(cluster, client, "/recovery/replacement")
    names = begin(writer)
    cluster.kill(names[0])
    writer.write(MIB)
    writer.out.hflush()
    now = writer.pipeline()
    assert len(now) == 3
    assert names[0] not in now
    writer.out.close()
    client.close()
    assert replicated(cluster, writer)
    check(cluster, fs, writer)


# --- append ------------------------------------------------------------------------------------


@pytest.mark.req("FS-131", "LM-062")
@pytest.mark.parametrize("position", [0, 1, 2])
def test_an_append_goes_on_when_a_datanode_is_killed_on_the_way(
    cluster: MiniCluster, fs: FileSystem, writer: Writer, client: DFSClient, position: int
) -> None:
    writer.write(MIB + 7)
    writer.out.close()
    wait_until_located(fs, writer.path)
    writer.append(client)
    writer.write(100_000)
    writer.out.hflush()
    cluster.kill(writer.pipeline()[position])
    writer.write(MIB)
    writer.out.close()
    check(cluster, fs, writer)


@pytest.mark.req("FS-131")
@pytest.mark.parametrize("position", [0, 2])
def test_an_append_goes_on_when_a_datanode_is_dead_at_its_set_up(
    cluster: MiniCluster, fs: FileSystem, writer: Writer, client: DFSClient, position: int
) -> None:
    begin(writer)
    names = writer.pipeline()
    writer.out.close()
    wait_until_located(fs, writer.path)
    cluster.kill(names[position])
    writer.append(client)
    writer.write(MIB)
    writer.out.close()
    check(cluster, fs, writer)
