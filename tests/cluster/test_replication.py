"""Blocks and their replicas: where they lie, what they take, how they are kept many.

One cluster of four datanodes with two volumes each, whose namenode is quick to
believe that a datanode is dead. Tests leave all datanodes running.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah import connect, errors
from howdah.cli.main import main
from howdah.client.reading.input import DFSInputStream
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.streams import FSDataInputStream
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.meta_header import META_HEADER_BYTES
from howdah.rpc.client import RpcClient
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.replicas import (
    BEING_WRITTEN,
    ReplicaFile,
    blocks_of,
    flip,
    replica_files,
    replicas_of,
)

MIB = 1 << 20
DATANODE_PROTOCOL = "org.apache.hadoop.hdfs.server.protocol.DatanodeProtocol"
# Dead is who was silent for twice the recheck interval and ten heartbeats.
CONF: dict[str, str | int] = {
    "dfs.heartbeat.interval": "200ms",
    "dfs.namenode.heartbeat.recheck-interval": "500ms",
    "dfs.namenode.redundancy.interval.seconds": "200ms",
    "dfs.namenode.decommission.interval": "200ms",
    "dfs.blocksize": MIB,
    "ipc.client.connect.max.retries": 1,
}


@pytest.fixture(scope="module")
def excluded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of datanodes that are to be decommissioned."""
    path = tmp_path_factory.mktemp("hosts") / "exclude"
    path.write_text("")
    return path


@pytest.fixture(scope="module")
def cluster(excluded: Path) -> Iterator[MiniCluster]:
    conf = {**CONF, "dfs.hosts.exclude": str(excluded)}
    with MiniCluster(datanodes=4, racks=["/a", "/b"], volumes=2, conf=conf) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def fs(cluster: MiniCluster) -> Iterator[FileSystem]:
    with cluster.connect() as fs:
        yield fs


@pytest.fixture
def path(request: pytest.FixtureRequest) -> str:
    return f"/{request.node.name}"


def content(length: int, seed: int = 0) -> bytes:
    return random.Random(length + seed).randbytes(length)


def write(
    fs: FileSystem, path: str, data: bytes, replication: int = 3, block_size: int = MIB
) -> None:
    with fs.create(path, replication=replication, block_size=block_size) as out:
        out.write(data)


def read(fs: FileSystem, path: str) -> bytes:
    with fs.open(path) as stream:
        return bytes(stream.read())


def only_block(cluster: MiniCluster, path: str) -> list[ReplicaFile]:
    (replicas,) = replicas_of(cluster, path)
    return replicas


def wait_until_located(fs: FileSystem, path: str) -> None:
    """A file is complete with one replica of each block; the others are told of soon."""
    count = fs.get_file_status(path).replication
    wait_until(lambda: all(len(b.names) == count for b in fs.block_locations(path)))


def datanode_at(cluster: MiniCluster, address: str) -> str:
    """The name of the datanode whose data port has this address."""
    (name,) = (s.name for s in cluster.processes if s.addresses.get("data") == address)
    return name


def holder(cluster: MiniCluster, path: str) -> str:
    """A datanode that has a replica of the file's one block."""
    return only_block(cluster, path)[0].datanode


def has_replicas(cluster: MiniCluster, path: str, data: bytes, count: int) -> bool:
    """Whether the one block of the file has so many replicas, all of them right."""
    try:
        contents = [replica.read() for replica in only_block(cluster, path)]
    except FileNotFoundError:  # one was deleted between the look and the read
        return False
    return contents == [data] * count


def wait_for_replicas(cluster: MiniCluster, path: str, data: bytes, count: int) -> None:
    wait_until(
        lambda: has_replicas(cluster, path, data, count), 30, f"{count} good replicas of {path}"
    )


# -- cutting files into blocks ------------------------------------------------------------


@pytest.mark.req("FS-008", "FS-012")
def test_two_and_a_half_blocks_are_three_of_which_the_last_is_half(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    write(fs, path, content(5 * MIB // 2))
    blocks = [(b.offset, b.length) for b in fs.block_locations(path)]
    assert blocks == [(0, MIB), (MIB, MIB), (2 * MIB, MIB // 2)]
    sizes = [{r.path.stat().st_size for r in block} for block in replicas_of(cluster, path)]
    assert sizes == [{MIB}, {MIB}, {MIB // 2}]


@pytest.mark.req("FS-008")
def test_blocks_are_stored_each_by_itself(cluster: MiniCluster, fs: FileSystem, path: str) -> None:
    data = content(2 * MIB + 1)
    write(fs, path, data)
    pieces = [data[:MIB], data[MIB : 2 * MIB], data[2 * MIB :]]
    for piece, block in zip(pieces, replicas_of(cluster, path), strict=True):
        assert {replica.read() for replica in block} == {piece}


@pytest.mark.req("FS-007", "FS-018")
def test_block_size_is_chosen_for_each_file(fs: FileSystem, path: str) -> None:
    write(fs, path, content(4 * MIB), block_size=2 * MIB)
    assert [b.length for b in fs.block_locations(path)] == [2 * MIB, 2 * MIB]


@pytest.mark.req("FS-009", "FS-179")
def test_short_file_takes_its_own_length_on_disk(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    write(fs, path, content(MIB), block_size=128 * MIB)
    for replica in only_block(cluster, path):
        assert replica.path.stat().st_size == MIB
        assert replica.path.stat().st_blocks * 512 <= MIB + 64 * 1024


@pytest.mark.req("FS-009")
def test_used_bytes_of_the_cluster_are_those_of_its_block_and_meta_files(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    write(fs, path, content(MIB), block_size=128 * MIB)

    def on_disk() -> int:
        files = (p for r in replica_files(cluster) for p in (r.path, r.meta_path))
        return sum(file.stat().st_size for file in files)

    def counted() -> bool:
        # What checksums take is reckoned, not measured, which may be one sum too few.
        return abs(fs.get_status().used - on_disk()) <= 4 * len(replica_files(cluster))

    wait_until(counted, what="all bytes are counted")


@pytest.mark.req("FS-010")
def test_blocks_of_a_file_lie_on_several_datanodes_and_disks(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    write(fs, path, content(12 * MIB), replication=1)
    replicas = [replica for block in replicas_of(cluster, path) for replica in block]
    assert len(replicas) == 12
    assert len({replica.datanode for replica in replicas}) > 1
    crowded = max(
        (
            [r.volume for r in replicas if r.datanode == name]
            for name in {r.datanode for r in replicas}
        ),
        key=len,
    )
    assert len(set(crowded)) == 2


@pytest.mark.req("FS-011")
def test_datanodes_hold_nothing_but_content_and_checksums(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    data = content(1000)
    write(fs, path, data)
    for replica in only_block(cluster, path):
        assert replica.read() == data
        assert replica.meta_path.stat().st_size == META_HEADER_BYTES + 2 * 4


@pytest.mark.req("FS-011")
def test_attributes_of_a_file_change_without_its_blocks(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    write(fs, path, content(1000))

    def files() -> set[tuple[Path, int]]:
        replicas = only_block(cluster, path)
        return {(p, p.stat().st_mtime_ns) for r in replicas for p in (r.path, r.meta_path)}

    before = files()
    fs.set_permission(path, 0o600)
    fs.set_owner(path, "somebody", "others")
    fs.set_times(path, 1_000, 2_000)
    fs.rename(path, f"{path}.renamed")
    fs.rename(f"{path}.renamed", path)
    assert files() == before


@pytest.mark.req("FS-135")
def test_nothing_is_left_in_the_making_after_a_close(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    write(fs, path, content(3 * MIB))
    assert replica_files(cluster, blocks_of(cluster, path), state=BEING_WRITTEN) == []


# -- many replicas ------------------------------------------------------------------------


@pytest.mark.req("FS-013", "FS-144")
def test_every_replica_is_on_a_datanode_of_its_own(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    data = content(4 * MIB)
    write(fs, path, data)
    for block in replicas_of(cluster, path):
        assert len({replica.datanode for replica in block}) == len(block) == 3
        assert len({replica.read() for replica in block}) == 1


@pytest.mark.req("FS-013", "FS-143")
def test_replicas_are_on_both_racks(fs: FileSystem, path: str) -> None:
    write(fs, path, content(8 * MIB))
    wait_until_located(fs, path)
    for block in fs.block_locations(path):
        assert {p.split("/")[1] for p in block.topology_paths} == {"a", "b"}


@pytest.mark.req("FS-024")
def test_locations_are_those_of_the_block_files(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    write(fs, path, content(2 * MIB))
    wait_until_located(fs, path)
    told = [{datanode_at(cluster, n) for n in b.names} for b in fs.block_locations(path)]
    there = [{replica.datanode for replica in block} for block in replicas_of(cluster, path)]
    assert told == there


@pytest.mark.req("FS-016")
def test_more_replicas_are_made_when_asked_for(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    data = content(MIB)
    write(fs, path, data, replication=1)
    assert len(only_block(cluster, path)) == 1
    assert fs.set_replication(path, 4)
    wait_for_replicas(cluster, path, data, 4)
    wait_until(lambda: len(fs.block_locations(path)[0].names) == 4)


@pytest.mark.req("FS-016")
def test_replicas_too_many_are_deleted(cluster: MiniCluster, fs: FileSystem, path: str) -> None:
    data = content(MIB)
    write(fs, path, data, replication=4)
    assert len(only_block(cluster, path)) == 4
    assert fs.set_replication(path, 2)
    wait_for_replicas(cluster, path, data, 2)
    assert fs.get_file_status(path).replication == 2
    assert read(fs, path) == data


def test_blocks_of_a_deleted_file_are_deleted(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    write(fs, path, content(3 * MIB))
    ids = blocks_of(cluster, path)
    assert len(replica_files(cluster, ids)) == 9
    fs.delete(path)
    wait_until(lambda: not replica_files(cluster, ids), what="no block file is left")


def test_blocks_of_an_overwritten_file_are_deleted(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    write(fs, path, content(MIB))
    ids = blocks_of(cluster, path)
    with fs.create(path, overwrite=True) as out:
        out.write(b"new")
    wait_until(lambda: not replica_files(cluster, ids), what="no old block file is left")
    assert read(fs, path) == b"new"


# -- datanodes that fail ------------------------------------------------------------------


@pytest.fixture
def casualty(cluster: MiniCluster, fs: FileSystem) -> Iterator[list[str]]:
    """Names that a test puts here run again at its end."""
    names: list[str] = []
    yield names
    for name in names:
        cluster.restart(name)
    wait_until(lambda: len(fs.datanode_report("live")) == 4)


@pytest.mark.req("FS-003", "FS-014", "FS-097")
def test_reader_does_not_notice_that_a_datanode_is_gone(
    cluster: MiniCluster, fs: FileSystem, path: str, casualty: list[str]
) -> None:
    data = content(4 * MIB)
    write(fs, path, data)
    casualty.append(replicas_of(cluster, path)[0][0].datanode)
    cluster.kill(casualty[0])
    assert read(fs, path) == data


def node_that_serves(stream: FSDataInputStream) -> str:
    """The address of the datanode that a stream is reading from just now."""
    assert isinstance(stream.raw, DFSInputStream)
    assert stream.raw._reader is not None
    return str(stream.raw._reader.node.transfer_address)


@pytest.mark.req("FS-003", "FS-014")
def test_reader_goes_on_when_its_datanode_dies_under_it(
    cluster: MiniCluster, fs: FileSystem, path: str, casualty: list[str]
) -> None:
    data = content(24 * MIB)
    write(fs, path, data, block_size=32 * MIB)
    with fs.open(path) as stream:
        start = stream.read(1000)
        casualty.append(datanode_at(cluster, node_that_serves(stream)))
        cluster.kill(casualty[0])
        rest = stream.read()
    assert start + rest == data


@pytest.mark.req("FS-003", "FS-015")
def test_replicas_of_a_dead_datanode_are_made_again_elsewhere(
    cluster: MiniCluster, fs: FileSystem, path: str, casualty: list[str]
) -> None:
    data = content(MIB)
    write(fs, path, data)
    dead = holder(cluster, path)
    casualty.append(dead)
    cluster.kill(dead)

    def living() -> list[bytes]:
        return [r.read() for r in only_block(cluster, path) if r.datanode != dead]

    wait_until(lambda: living() == [data] * 3, 30, "three replicas on live datanodes")
    assert [node.ip for node in fs.datanode_report("dead")] != []


@pytest.mark.req("FS-015")
def test_replica_too_many_is_dropped_when_a_dead_datanode_comes_back(
    cluster: MiniCluster, fs: FileSystem, path: str, casualty: list[str]
) -> None:
    data = content(MIB)
    write(fs, path, data)
    dead = holder(cluster, path)
    casualty.append(dead)
    cluster.kill(dead)
    wait_until(lambda: len(only_block(cluster, path)) == 4, 30, "the fourth replica")
    cluster.restart(dead)
    wait_for_replicas(cluster, path, data, 3)
    wait_until(lambda: len(fs.block_locations(path)[0].names) == 3)


@pytest.mark.req("FS-015", "FS-143")
def test_replicas_on_one_rack_are_spread_when_the_other_rack_is_back(
    cluster: MiniCluster, fs: FileSystem, path: str, casualty: list[str]
) -> None:
    casualty += ["datanode1", "datanode3"]
    cluster.kill(*casualty)
    wait_until(lambda: len(fs.datanode_report("dead")) == 2)
    data = content(MIB)
    write(fs, path, data, replication=2)
    assert {r.datanode for r in only_block(cluster, path)} == {"datanode0", "datanode2"}
    while casualty:
        cluster.restart(casualty.pop())

    def racks() -> list[str]:
        (block,) = fs.block_locations(path)
        return sorted(place.split("/")[1] for place in block.topology_paths)

    wait_until(lambda: racks() == ["a", "b"], 30, "a replica on each rack")
    wait_for_replicas(cluster, path, data, 2)
    assert read(fs, path) == data


@pytest.mark.req("FS-003", "FS-013")
def test_two_of_three_datanodes_may_die_at_once(
    cluster: MiniCluster, fs: FileSystem, path: str, casualty: list[str]
) -> None:
    data = content(2 * MIB)
    write(fs, path, data, block_size=4 * MIB)
    holders = [r.datanode for r in only_block(cluster, path)]
    casualty += holders[:2]
    cluster.kill(*casualty)
    assert read(fs, path) == data


@pytest.mark.req("FS-003")
def test_writes_go_to_the_datanodes_that_are_left(
    cluster: MiniCluster, fs: FileSystem, path: str, casualty: list[str]
) -> None:
    casualty += ["datanode0", "datanode3"]
    cluster.kill(*casualty)
    data = content(2 * MIB)
    write(fs, path, data, replication=2)
    assert read(fs, path) == data


def test_file_on_no_living_datanode_is_a_clear_error(
    cluster: MiniCluster, fs: FileSystem, path: str, casualty: list[str]
) -> None:
    write(fs, path, content(MIB), replication=1)
    casualty.append(holder(cluster, path))
    cluster.kill(casualty[0])
    conf = cluster.conf.with_values({"dfs.client.retry.window.base": "10"})
    with connect(cluster.uri, conf=conf) as quick, quick.open(path) as stream:
        with pytest.raises(errors.BlockMissing, match=path):
            stream.read()


@pytest.mark.req("FS-014", "FS-097")
def test_reader_leaves_datanodes_that_say_nothing(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    data = content(MIB)
    write(fs, path, data)
    wait_until_located(fs, path)
    silent = [replica.datanode for replica in only_block(cluster, path)[1:]]
    conf = cluster.conf.with_values({"dfs.client.socket-timeout": "300"})
    for name in silent:
        cluster.pause(name)
    try:
        with connect(cluster.uri, conf=conf) as hasty:
            assert read(hasty, path) == data
    finally:
        for name in silent:
            cluster.resume(name)
    wait_until(lambda: len(fs.datanode_report("live")) == 4)


# -- disks that fail ----------------------------------------------------------------------


# Which replica a reader is sent to is chance, so all but one are made bad: most readers
# meet a bad one first.


def all_but_one(cluster: MiniCluster, fs: FileSystem, path: str) -> list[ReplicaFile]:
    wait_until_located(fs, path)
    return only_block(cluster, path)[1:]


@pytest.mark.req("FS-014", "FS-099", "FS-100")
def test_reader_gets_right_data_where_replicas_are_corrupt(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    data = content(MIB)
    write(fs, path, data)
    for replica in all_but_one(cluster, fs, path):
        replica.flip(MIB // 2)
    assert read(fs, path) == data


@pytest.mark.req("FS-014", "FS-099")
def test_reader_gets_right_data_where_checksums_are_corrupt(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    data = content(MIB)
    write(fs, path, data)
    for replica in all_but_one(cluster, fs, path):
        flip(replica.meta_path, META_HEADER_BYTES + 100)
    assert read(fs, path) == data


@pytest.mark.req("FS-014")
def test_reader_gets_right_data_where_the_header_of_checksums_is_corrupt(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    data = content(MIB)
    write(fs, path, data)
    for replica in all_but_one(cluster, fs, path):
        flip(replica.meta_path, 2)
    assert read(fs, path) == data


@pytest.mark.req("FS-014")
def test_reader_gets_right_data_where_block_files_were_cut(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    data = content(MIB)
    write(fs, path, data)
    for replica in all_but_one(cluster, fs, path):
        with replica.path.open("r+b") as file:
            file.truncate(MIB // 3)
    assert read(fs, path) == data


@pytest.mark.req("FS-015", "FS-100")
@pytest.mark.parametrize("replication", [2, 4])
def test_corrupt_replicas_that_readers_find_are_replaced(
    cluster: MiniCluster, fs: FileSystem, path: str, replication: int
) -> None:
    """With four replicas on four datanodes, there is no other place than the bad ones'."""
    data = content(MIB)
    write(fs, path, data, replication=replication)
    for replica in all_but_one(cluster, fs, path):
        replica.flip(1000)

    def mended() -> bool:
        assert read(fs, path) == data
        return has_replicas(cluster, path, data, replication)

    wait_until(mended, 30)


@pytest.mark.req("FS-014", "FS-015")
def test_replicas_whose_files_readers_miss_are_made_again(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    data = content(MIB)
    write(fs, path, data)
    for replica in all_but_one(cluster, fs, path):
        replica.path.unlink()

    def mended() -> bool:
        assert read(fs, path) == data
        return has_replicas(cluster, path, data, 3)

    wait_until(mended, 30)


@pytest.mark.req("FS-015")
def test_replica_that_lost_bytes_is_replaced_when_its_datanode_starts(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    data = content(MIB)
    write(fs, path, data)
    replica = only_block(cluster, path)[0]
    cluster.stop(replica.datanode)
    with replica.path.open("r+b") as file:
        file.truncate(MIB // 3)
    cluster.restart(replica.datanode)
    wait_for_replicas(cluster, path, data, 3)
    assert read(fs, path) == data


@pytest.mark.req("FS-099")
def test_corruption_of_every_replica_is_told_and_no_bad_byte_is_given(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    write(fs, path, content(MIB), replication=2)
    for replica in only_block(cluster, path):
        replica.flip(0)
    with fs.open(path) as stream, pytest.raises(errors.ChecksumMismatch, match=path):
        stream.read()


@pytest.mark.req("FS-099")
def test_good_part_of_a_corrupt_file_can_be_read(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    data = content(MIB)
    write(fs, path, data, replication=1)
    for replica in only_block(cluster, path):
        replica.flip(MIB - 1)
    with fs.open(path) as stream:
        assert stream.pread(0, 1000) == data[:1000]


# A datanode leaves.


@pytest.mark.req("FS-003", "FS-015")
def test_a_datanode_is_decommissioned_while_a_writer_goes_on_and_nothing_is_lost(
    cluster: MiniCluster, fs: FileSystem, path: str, excluded: Path
) -> None:
    address = cluster.process("datanode0").addresses["data"]

    def states() -> dict[str, str]:
        return {node.name: node.admin_state for node in fs.datanode_report("all")}

    def refresh(text: str) -> None:
        excluded.write_text(text)
        assert main(["-fs", cluster.uri, "dfsadmin", "-refreshNodes"]) == 0

    data = content(3 * MIB)
    for number in range(8):
        write(fs, f"{path}/single{number}", data[:MIB], replication=1)
    write(fs, f"{path}/triple", data)
    with fs.create(f"{path}/open", replication=3, block_size=MIB) as out:
        out.write(data[: MIB // 2])
        out.hflush()
        refresh(f"{address}\n")
        written = MIB // 2

        def has_left() -> bool:
            nonlocal written
            if written < 2 * MIB:
                out.write(data[written : written + 4096])
                out.hflush()
                written += 4096
            return states()[address] == "DECOMMISSIONED"

        wait_until(has_left, 60, "the datanode has left")
        cluster.kill("datanode0")
        out.write(data[written:])
    for number in range(8):
        assert read(fs, f"{path}/single{number}") == data[:MIB]
    assert read(fs, f"{path}/triple") == read(fs, f"{path}/open") == data
    cluster.restart("datanode0")
    wait_until(lambda: len(fs.datanode_report("live")) == 4)
    refresh("")
    assert states()[address] == "NORMAL"
    wait_until(
        lambda: [len(block) for block in replicas_of(cluster, f"{path}/triple")] == [3, 3, 3]
    )


@pytest.mark.req("FS-015")
def test_a_datanode_that_has_nothing_to_delete_gets_a_copy_again(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    """The namenode believes in a corrupt replica that is not there. Its datanode says so when it
    is told to delete it, and not with its next full report, in six hours."""
    data = content(5000)
    write(fs, path, data, replication=3)
    wait_for_replicas(cluster, path, data, 3)
    holders = {replica.datanode for replica in only_block(cluster, path)}
    (other,) = {s.name for s in cluster.processes if s.role == "datanode"} - holders
    say_received(cluster, fs, path, other, length_bytes=7)
    fs.set_replication(path, 4)
    wait_for_replicas(cluster, path, data, 4)


def test_a_lazily_persisted_file_is_on_disks_where_none_has_memory_for_it(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    assert isinstance(fs, HdfsFileSystem)
    fs.mkdirs(path)
    fs.set_storage_policy(path, "LAZY_PERSIST")
    data = content(5000)
    write(fs, f"{path}/f", data, replication=2)
    wait_until_located(fs, f"{path}/f")
    wait_for_replicas(cluster, f"{path}/f", data, 2)
    (block,) = fs.block_locations(f"{path}/f")
    assert list(block.storage_types) == ["DISK", "DISK"]


def say_received(
    cluster: MiniCluster, fs: FileSystem, path: str, datanode: str, length_bytes: int
) -> None:
    """In the name of that datanode: it has a replica of the file's block, which is that long."""
    replica = replicas_of(cluster, path)[0][0]
    version = (cluster.data_dirs(datanode)[0] / "current" / "VERSION").read_text()
    address = cluster.process(datanode).addresses["data"]
    (node,) = (report for report in fs.datanode_report() if report.name == address)
    (pool,) = (part for part in replica.path.parts if part.startswith("BP-"))
    host, _, port = cluster.process("namenode").addresses["rpc"].rpartition(":")
    client = RpcClient((host, int(port)), DATANODE_PROTOCOL)
    info = client.call("versionRequest", pb.VersionRequestProto(), pb.VersionResponseProto).info
    received = pb.BlockReceivedAndDeletedRequestProto(
        registration=pb.DatanodeRegistrationProto(
            datanodeID=types_pb2.DatanodeIDProto(
                ipAddr=node.ip,
                hostName=node.hostname,
                datanodeUuid=node.uuid,
                xferPort=node.transfer_port,
                infoPort=node.info_port,
                ipcPort=node.ipc_port,
            ),
            storageInfo=info.storageInfo,
            keys=pb.ExportedBlockKeysProto(
                isBlockTokenEnabled=False,
                keyUpdateInterval=0,
                tokenLifeTime=0,
                currentKey=pb.BlockKeyProto(keyId=0, expiryDate=0),
            ),
            softwareVersion="3.5.0",
        ),
        blockPoolId=pool,
    )
    part = received.blocks.add(storageUuid=version.partition("storageID=")[2].partition("\n")[0])
    part.blocks.add(
        block=types_pb2.BlockProto(
            blockId=replica.block_id,
            genStamp=int(replica.meta_path.stem.rpartition("_")[2]),
            numBytes=length_bytes,
        ),
        status=pb.ReceivedDeletedBlockInfoProto.RECEIVED,
    )
    client.call("blockReceivedAndDeleted", received, pb.BlockReceivedAndDeletedResponseProto)
