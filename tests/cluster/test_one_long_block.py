"""A writer that puts everything into one block, and never looks at the file's block size.

HBase's write-ahead log is such a one: while the namenode is away it cannot roll, and goes
on in the block that it has. What its pipeline acknowledged is to be read, whoever closes
the file.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from howdah.client.dfs import DFSClient
from howdah.client.writing.pipeline_setup import PipelineSetup
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.options import CreateFlag
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType, checksum_chunks
from howdah.protocol.data_transfer.op_requests import Stage
from howdah.protocol.data_transfer.packets import PacketHeader, decode_ack, encode_packet
from howdah.protocol.varint import read_delimited
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

pytestmark = pytest.mark.timeout(120)

BLOCK = 1 << 20
PACKET = 1 << 18
DATA = random.Random(9).randbytes(7 * BLOCK + 77)
SPEC = ChecksumSpec(ChecksumType.CRC32C, 512)
CONF: dict[str, str | int] = {
    "dfs.blocksize": BLOCK,
    "dfs.heartbeat.interval": 1,
    "howdah.namenode.block-recovery-timeout": "3s",
    "dfs.namenode.lease-recheck-interval-ms": 100,
}


class OneBlockWriter:
    """A file with one block, to whose pipeline packets are sent by hand."""

    def __init__(self, client: DFSClient, path: str) -> None:
        self.path = path
        self._namenode = client.namenode
        self._name = f"one-block-writer-of-{path}"
        status = self._namenode.create(
            path,
            self._name,
            masked=0o644,
            unmasked=0o666,
            flags=CreateFlag.CREATE,
            create_parent=True,
            replication=3,
            block_size=BLOCK,
        )
        self._file_id = status.fileId
        self._block = self._namenode.add_block(path, self._name, None, (), status.fileId)
        setup = PipelineSetup(client.settings, self._name, SPEC, BLOCK)
        stage = Stage.PIPELINE_SETUP_CREATE
        self._pipeline = setup.open(self._block, self._block.block, stage, 0)
        self._seqno = 0
        self.acked_bytes = 0

    def write(self, end: int) -> None:
        """DATA up to there; every packet is acknowledged by all three datanodes."""
        while self.acked_bytes < end:
            start = self.acked_bytes - self.acked_bytes % SPEC.bytes_per_checksum
            data = DATA[start : min(start + PACKET, end)]
            self._send(start, data)
            self.acked_bytes = start + len(data)

    def _send(self, offset: int, data: bytes, *, last: bool = False) -> None:
        sums = bytearray(SPEC.sums_length(len(data)))
        checksum_chunks(SPEC, data, sums)
        header = PacketHeader(offset, self._seqno, last, len(data), False)
        self._pipeline.send_all(encode_packet(header, sums, data))
        self._seqno += 1
        assert decode_ack(read_delimited(self._pipeline)).is_success

    def complete(self) -> None:
        self._send(self.acked_bytes, b"", last=True)
        last = self._block.block.with_length(self.acked_bytes)
        wait_until(
            lambda: self._namenode.complete(self.path, self._name, last, self._file_id),
            30,
            f"{self.path} is closed",
        )

    def die(self) -> None:
        self._pipeline.close()


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=3, conf=CONF) as cluster:
        yield cluster


@pytest.fixture
def fs(cluster: MiniCluster) -> Iterator[HdfsFileSystem]:
    with cluster.connect() as connected:
        assert isinstance(connected, HdfsFileSystem)
        yield connected


@pytest.fixture
def client(cluster: MiniCluster) -> Iterator[DFSClient]:
    client = DFSClient.at(cluster.uri.removeprefix("hdfs://"), cluster.conf)
    yield client
    client.close()


def write_while_the_namenode_is_away(
    cluster: MiniCluster, client: DFSClient, path: str
) -> OneBlockWriter:
    writer = OneBlockWriter(client, path)
    writer.write(1000)
    cluster.kill("namenode")
    writer.write(len(DATA))
    cluster.restart("namenode")
    cluster.wait_ready()
    return writer


def content(fs: HdfsFileSystem, path: str) -> bytes:
    with fs.open(path) as stream:
        return stream.read()


def test_a_block_far_beyond_the_block_size_is_closed_by_its_writer(
    cluster: MiniCluster, client: DFSClient, fs: HdfsFileSystem
) -> None:
    writer = write_while_the_namenode_is_away(cluster, client, "/wal/closed")
    writer.complete()
    assert fs.get_file_status(writer.path).length == len(DATA)
    assert content(fs, writer.path) == DATA
    with fs.open(writer.path) as stream:
        stream.seek(3 * BLOCK + 5)
        assert stream.read(100) == DATA[3 * BLOCK + 5 : 3 * BLOCK + 105]
    with fs.append(writer.path) as out:
        out.write(b"more")
    assert content(fs, writer.path) == DATA + b"more"


def test_a_block_far_beyond_the_block_size_is_recovered_with_all_that_was_acknowledged(
    cluster: MiniCluster, client: DFSClient, fs: HdfsFileSystem
) -> None:
    writer = write_while_the_namenode_is_away(cluster, client, "/wal/left")
    writer.die()
    wait_until(lambda: fs.recover_lease(writer.path), 60, f"{writer.path} is closed")
    assert content(fs, writer.path) == DATA
