"""`verify` on a cluster: replicas that are damaged on disk are found by Spark's executors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from howdah import errors
from howdah.cli import verify as command
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType, checksum_chunks
from howdah.spark import verify
from howdah.spark.verification.manifest import ChangeCounts, changes_between, with_last_crcs
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.replicas import replica_files, replicas_of

pytestmark = pytest.mark.timeout(240)

MIB = 1 << 20
DATA = bytes(range(256)) * 8192
ROTS = "/kept/[x]\n'ü"
NAMES = ["plain", "two words", "50%20", "a\nb", "ünï→"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    conf: dict[str, str | int] = {
        "dfs.heartbeat.interval": "200ms",
        "dfs.namenode.redundancy.interval.seconds": "200ms",
        # Nobody else finds what a test damages.
        "dfs.datanode.scan.period.hours": -1,
    }
    with MiniCluster(datanodes=3, conf=conf) as cluster:
        yield cluster


def put(cluster: MiniCluster, path: str, data: bytes) -> None:
    """A file in blocks of a MiB, all three replicas of each of which are there."""
    with cluster.connect() as fs:
        with fs.create(path, overwrite=True, block_size=MIB, replication=3) as out:
            out.write(data)
        blocks = -(-len(data) // MIB)

        def is_whole() -> bool:
            located = fs.block_locations(path, 0, len(data))
            return len(located) == blocks and all(len(each.names) == 3 for each in located)

        wait_until(is_whole, 30)


def test_sound_tree_with_any_names_is_healthy(cluster: MiniCluster, spark: Any) -> None:
    for name in NAMES:
        put(cluster, f"/sound/d/{name}", name.encode() * 9)
    put(cluster, "/sound/big", bytes(2 * MIB + 1))
    with cluster.connect() as fs, fs.create("/sound/empty"):
        pass
    with verify(spark, "/sound", conf=cluster.conf) as found:
        assert found.sums.is_healthy
        assert found.sums.files == len(NAMES) + 1
        assert found.sums.blocks == len(NAMES) + 3
        assert found.sums.replicas == {"sound": 3 * (len(NAMES) + 3)}
        assert found.sums.short == 0
        assert found.problems(10) == []


@pytest.mark.req("FS-100")
def test_command_finds_a_damaged_replica_and_has_it_replaced(
    cluster: MiniCluster, spark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    put(cluster, "/damaged/file", DATA)
    replicas_of(cluster, "/damaged/file")[1][0].flip(70_000)
    assert command.main(["/damaged", "--json"], cluster.conf) == 1
    seen = json.loads(capsys.readouterr().out)
    assert seen["replicas"] == {"corrupt": 1, "sound": 5}
    (problem,) = seen["problems"]
    assert (problem["path"], problem["offset"]) == ("/damaged/file", MIB)
    assert (problem["verdict"], problem["marked"]) == ("corrupt", False)

    assert command.main(["/damaged", "--mark"], cluster.conf) == 1
    told = capsys.readouterr().out
    assert f"{problem['block']} at {problem['node']} is corrupt, reported to the namenode" in told

    def is_replaced() -> bool:
        replicas = replicas_of(cluster, "/damaged/file")[1]
        contents = [replica.read_if_there() for replica in replicas]
        return contents == [DATA[MIB:]] * 3

    wait_until(is_replaced, 60)
    with cluster.connect() as fs:
        wait_until(lambda: len(fs.block_locations("/damaged/file", MIB, 1)[0].names) == 3, 60)
    with verify(spark, "/damaged", conf=cluster.conf) as found:
        assert found.sums.is_healthy
        assert found.sums.short == 0


def test_file_that_changed_though_nobody_wrote_it_is_rotten(
    cluster: MiniCluster, spark: Any
) -> None:
    put(cluster, ROTS, b"r" * 5000)
    put(cluster, '/kept/a\n"b', b"s" * 5000)
    put(cluster, "/kept/50% {é}", b"g" * 5000)
    manifest = f"{cluster.uri}/manifest"
    with verify(spark, "/kept", manifest=manifest, conf=cluster.conf) as found:
        assert found.sums.changes is not None
        assert found.sums.changes.added == 3
    with cluster.connect() as fs:
        fs.delete("/kept/50% {é}")
        put(cluster, "/kept/new", b"n")
    # All replicas, and their checksums: what a reader has no way to see.
    for replica in replicas_of(cluster, ROTS)[0]:
        replica.flip(7)
        data = replica.read()
        spec = ChecksumSpec(ChecksumType.CRC32C, 512)
        sums = bytearray(spec.sums_length(len(data)))
        checksum_chunks(spec, data, sums)
        replica.meta_path.write_bytes(replica.meta_path.read_bytes()[:7] + bytes(sums))
    with verify(spark, "/kept", manifest=manifest, conf=cluster.conf) as found:
        assert not found.sums.is_healthy
        changes = found.sums.changes
        assert changes is not None
        assert (changes.added, changes.gone, changes.unchanged, changes.rotten) == (1, 1, 1, 1)
        assert found.rotten(10) == [ROTS.encode()]


ROW = "path string, length long, modification_time_ms long, crc long"


@pytest.mark.parametrize(
    ("runs", "changes"),
    [
        # A file that cannot be read was there, and is not forgotten.
        ([(1, 1, 5), (1, 1, None), (1, 1, 5)], ["added", "unchanged", "unchanged"]),
        ([(1, 1, 5), *[(1, 1, None)] * 2, (1, 1, 6)], ["added", *["unchanged"] * 2, "rotten"]),
        ([(1, 1, 5), (1, 2, None), (1, 2, 6)], ["added", "modified", "unchanged"]),
        ([(1, 1, None), (1, 1, 5), (1, 1, 6)], ["added", "unchanged", "rotten"]),
        ([(1, 1, None), (2, 2, 5), None], ["added", "modified", "gone"]),
        ([(1, 1, 5), (1, 1, None), None, (1, 1, 5)], ["added", "unchanged", "gone", "added"]),
    ],
)
def test_each_change_of_a_file_is_said_once(
    spark: Any, runs: list[tuple[int, int, int | None] | None], changes: list[str]
) -> None:
    before = spark.createDataFrame([], ROW)
    found = []
    for run in runs:
        digests = spark.createDataFrame([("/f", *run)] if run else [], ROW)
        now = with_last_crcs(before, digests)
        found += [row["change"] for row in changes_between(before, now).collect()]
        before = spark.createDataFrame([tuple(row) for row in now.collect()], ROW)
    assert found == changes


def test_file_that_could_not_be_read_for_a_while_is_rotten_none_the_less(
    cluster: MiniCluster, spark: Any
) -> None:
    put(cluster, "/while/f", b"r" * 5000)
    manifest = f"{cluster.uri}/manifest-while"

    def changes() -> ChangeCounts:
        with verify(spark, "/while", manifest=manifest, conf=cluster.conf) as found:
            assert found.sums.changes is not None
            return found.sums.changes

    assert changes() == ChangeCounts(added=1)
    sums = {}
    for replica in replicas_of(cluster, "/while/f")[0]:
        replica.flip(7)
        sums[replica.meta_path] = replica.meta_path.read_bytes()
        replica.meta_path.write_bytes(sums[replica.meta_path][:-1] + b"?")
    assert changes() == ChangeCounts(unchanged=1)
    for replica in replicas_of(cluster, "/while/f")[0]:
        found = bytearray(ChecksumSpec(ChecksumType.CRC32C, 512).sums_length(5000))
        checksum_chunks(ChecksumSpec(ChecksumType.CRC32C, 512), replica.read(), found)
        replica.meta_path.write_bytes(sums[replica.meta_path][:7] + bytes(found))
    assert changes() == ChangeCounts(rotten=1)


@pytest.mark.parametrize("target", ["/nobody", "file:///tmp"])
def test_what_has_no_replicas_is_refused(cluster: MiniCluster, spark: Any, target: str) -> None:
    with (
        pytest.raises((errors.PathNotFound, errors.UnsupportedOperation)),
        verify(spark, target, conf=cluster.conf),
    ):
        pytest.fail("nothing was to be verified")


def test_file_that_may_not_be_read_is_told_as_what_it_is(cluster: MiniCluster, spark: Any) -> None:
    put(cluster, "/closed/file", b"c")
    with cluster.connect() as fs:
        fs.set_permission("/closed/file", 0o600)
    with (
        pytest.raises(errors.AccessDenied, match="user=eve, access=READ"),
        verify(spark, "/closed", conf=cluster.conf, user="eve"),
    ):
        pytest.fail("nobody but the owner may see where its blocks are")


@pytest.mark.req("FS-100")
def test_internal_blocks_of_coded_files_are_compared(
    cluster: MiniCluster, spark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        fs.client.namenode.enable_erasure_coding_policy("XOR-2-1-1024k")
        for name in ("sound", "wrong", "gone"):
            with fs.create(f"/coded/{name}", ec_policy="XOR-2-1-1024k") as out:
                out.write(DATA + b"more")
        groups = {
            name: fs.client.replica_checker().finished_blocks(f"/coded/{name}").blocks[0].block
            for name in ("sound", "wrong", "gone")
        }
        wait_until(
            lambda: all(
                len(replica_files(cluster, range(g.block_id, g.block_id + 3))) == 3
                for g in groups.values()
            ),
            30,
        )
    manifest = f"{cluster.uri}/manifest-of-coded"
    with verify(spark, "/coded", manifest=manifest, conf=cluster.conf) as found:
        assert found.sums.is_healthy
        assert found.sums.replicas == {"sound": 9}
        assert (found.sums.blocks, found.sums.short) == (3, 0)
    (replica,) = replica_files(cluster, [groups["wrong"].block_id + 1])
    replica.change(9)
    (replica,) = replica_files(cluster, [groups["gone"].block_id + 2])
    replica.path.unlink()
    assert command.main(["/coded", "--json"], cluster.conf) == 1
    seen = json.loads(capsys.readouterr().out)
    # With one parity nobody knows which one is wrong.
    assert seen["replicas"] == {"doubtful": 3, "sound": 5, "unreadable": 1}
    names = {problem["block"] for problem in seen["problems"] if problem["path"] == "/coded/gone"}
    assert names == {f"blk_{groups['gone'].block_id + 2}_{groups['gone'].generation_stamp}"}
    assert any("index 2: " in problem["message"] for problem in seen["problems"])
    with verify(spark, "/coded/sound", manifest=manifest, conf=cluster.conf) as found:
        assert found.sums.changes is not None
        assert found.sums.changes.unchanged == 1
