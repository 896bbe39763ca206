"""Replicas read one by one, in a cluster of three datanodes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from howdah import errors
from howdah.client.reading.replica_check import ReplicaChecker
from howdah.client.reading.replica_finding import ReplicaFinding, ReplicaState
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType, checksum_chunks, crc
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.replicas import replicas_of

MIB = 1 << 20
DATA = random.Random(5).randbytes(2 * MIB + 777)
CONF: dict[str, str | int] = {
    "dfs.client.socket-timeout": 5000,
    "dfs.heartbeat.interval": "200ms",
    "dfs.namenode.redundancy.interval.seconds": "200ms",
    # Nobody else finds what a test damages.
    "dfs.datanode.scan.period.hours": -1,
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=3, conf=CONF) as cluster:
        yield cluster


@pytest.fixture
def fs(cluster: MiniCluster) -> Iterator[HdfsFileSystem]:
    with cluster.connect() as connected:
        assert isinstance(connected, HdfsFileSystem)
        yield connected


def put(cluster: MiniCluster, fs: HdfsFileSystem, path: str) -> None:
    """A file of three blocks, all replicas of which are there."""
    with fs.create(path, overwrite=True, block_size=MIB, replication=3) as out:
        out.write(DATA)
    wait_until(lambda: all(len(b) == 3 for b in replicas_of(cluster, path)), 30)
    wait_until(
        lambda: all(len(b.nodes) == 3 for b in checker_of(fs).finished_blocks(path).blocks), 30
    )


def checker_of(fs: HdfsFileSystem) -> ReplicaChecker:
    return fs.client.replica_checker()


def findings(fs: HdfsFileSystem, path: str) -> list[list[ReplicaFinding]]:
    checker = checker_of(fs)
    return [
        [checker.check(path, block, node) for node in block.nodes]
        for block in checker.finished_blocks(path).blocks
    ]


def test_sound_replicas_have_the_crc_of_the_blocks_bytes(
    cluster: MiniCluster, fs: HdfsFileSystem
) -> None:
    put(cluster, fs, "/sound")
    wanted = [
        crc(ChecksumType.CRC32C, DATA[start : start + MIB]) for start in range(0, len(DATA), MIB)
    ]
    assert findings(fs, "/sound") == [
        [ReplicaFinding(ReplicaState.SOUND, each)] * 3 for each in wanted
    ]


@pytest.mark.req("FS-100")
def test_one_damaged_replica_is_found_and_replaced_once_it_is_reported(
    cluster: MiniCluster, fs: HdfsFileSystem
) -> None:
    put(cluster, fs, "/damaged")
    replicas_of(cluster, "/damaged")[1][2].flip(600_000)
    checker = checker_of(fs)
    blocks = checker.finished_blocks("/damaged").blocks
    found = {
        (number, node): checker.check("/damaged", block, node)
        for number, block in enumerate(blocks)
        for node in block.nodes
    }
    ((number, bad),) = [where for where, f in found.items() if f.state is not ReplicaState.SOUND]
    finding = found[number, bad]
    assert (number, finding.state) == (1, ReplicaState.CORRUPT)
    assert "/damaged" in finding.message
    assert "offset 599552" in finding.message  # Where its chunk begins.

    checker.report(blocks[1], bad)
    wait_until(
        lambda: (
            all(
                finding.state is ReplicaState.SOUND
                for block in findings(fs, "/damaged")
                for finding in block
            )
            and all(len(b.nodes) == 3 for b in checker.finished_blocks("/damaged").blocks)
        ),
        60,
    )


def test_replicas_that_differ_though_their_checksums_are_right_have_other_crcs(
    cluster: MiniCluster, fs: HdfsFileSystem
) -> None:
    put(cluster, fs, "/differs")
    replica = replicas_of(cluster, "/differs")[0][0]
    replica.flip(5)
    spec = ChecksumSpec(ChecksumType.CRC32C, 512)
    data = replica.read()
    sums = bytearray(spec.sums_length(len(data)))
    checksum_chunks(spec, data, sums)
    meta = replica.meta_path
    meta.write_bytes(meta.read_bytes()[:7] + bytes(sums))
    first = findings(fs, "/differs")[0]
    assert [finding.state for finding in first] == [ReplicaState.SOUND] * 3
    assert sorted(Counter(finding.crc for finding in first).values()) == [1, 2]


def test_a_replica_that_is_gone_is_unreadable_and_says_where(
    cluster: MiniCluster, fs: HdfsFileSystem
) -> None:
    put(cluster, fs, "/gone")
    replica = replicas_of(cluster, "/gone")[0][0]
    replica.meta_path.unlink()
    replica.path.unlink()
    first = findings(fs, "/gone")[0]
    assert Counter(finding.state for finding in first) == {
        ReplicaState.SOUND: 2,
        ReplicaState.UNREADABLE: 1,
    }
    (message,) = [f.message for f in first if f.state is ReplicaState.UNREADABLE]
    assert "127.0.0.1" in message


def test_the_block_that_is_being_written_is_left_out(
    cluster: MiniCluster, fs: HdfsFileSystem
) -> None:
    with fs.create("/open", block_size=MIB) as out:
        out.write(DATA[: MIB + 5])
        out.hflush()
        assert [block.length_bytes for block in checker_of(fs).finished_blocks("/open").blocks] == [
            MIB
        ]


def test_a_path_that_is_not_there_is_an_error(fs: HdfsFileSystem) -> None:
    with pytest.raises(errors.PathNotFound):
        checker_of(fs).finished_blocks("/nobody")
