"""Syncs, flags and leases of howdah's own output streams, on real servers."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

import howdah
from howdah import errors
from howdah.fs.hdfs.filesystem import HdfsDataOutputStream, HdfsFileSystem
from howdah.options import CreateFlag, SyncFlag
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.replicas import BEING_WRITTEN, blocks_of, replica_files

MIB = 1 << 20
DATA = random.Random(9).randbytes(4 * MIB)
PATIENCE_S = 60.0
_numbers = itertools.count()


@pytest.fixture
def fs(howdah_cluster: MiniCluster) -> Iterator[HdfsFileSystem]:
    with howdah_cluster.connect() as connected:
        assert isinstance(connected, HdfsFileSystem)
        yield connected


@pytest.fixture
def other(howdah_cluster: MiniCluster) -> Iterator[HdfsFileSystem]:
    """A second client: it shares nothing with the first."""
    with howdah_cluster.connect() as connected:
        assert isinstance(connected, HdfsFileSystem)
        yield connected


@pytest.fixture
def path() -> str:
    return f"/syncs/file-{next(_numbers)}"


def content(fs: howdah.FileSystem, path: str) -> bytes:
    with fs.open(path) as stream:
        return stream.read()


def block_lengths(fs: howdah.FileSystem, path: str) -> list[int]:
    return [block.length for block in fs.block_locations(path)]


def create(
    fs: HdfsFileSystem, path: str, flags: CreateFlag = CreateFlag.NONE
) -> HdfsDataOutputStream:
    return fs.create(path, block_size=MIB, flags=flags)


# --- syncs ----------------------------------------------------------------------------------


@pytest.mark.req("LM-041")
def test_the_datanodes_sync_blocks_that_were_finished_before_an_hsync(
    fs: HdfsFileSystem, other: HdfsFileSystem, path: str
) -> None:
    with create(fs, path) as out:
        out.write(DATA[: 2 * MIB + 7])
        out.hsync()
        assert out.statistics().blocks_synced_late == 2
        assert content(other, path) == DATA[: 2 * MIB + 7]
        out.write(DATA[2 * MIB + 7 :])
        out.hsync()
        assert out.statistics().blocks_synced_late == 2
    assert content(other, path) == DATA


@pytest.mark.req("OS-153")
@pytest.mark.parametrize("size", [0, 1, MIB, 2 * MIB + 5])
def test_files_with_synced_blocks_hold_what_was_written(
    fs: HdfsFileSystem, path: str, size: int
) -> None:
    with create(fs, path, CreateFlag.SYNC_BLOCK) as out:
        out.write(DATA[:size])
    with fs.append(path, sync_block=True) as out:
        out.write(b"more")
    assert content(fs, path) == DATA[:size] + b"more"


@pytest.mark.req("OS-154", "XC-003")
def test_end_block_begins_a_new_block_and_the_length_is_exact(
    fs: HdfsFileSystem, other: HdfsFileSystem, path: str
) -> None:
    with create(fs, path) as out:
        for end in (700, 701, 5000):
            out.write(DATA[out.get_pos() : end])
            out.hsync(SyncFlag.END_BLOCK | SyncFlag.UPDATE_LENGTH)
            assert other.get_file_status(path).length == end
            assert content(other, path) == DATA[:end]
    assert block_lengths(fs, path) == [700, 1, 4299]


@pytest.mark.req("XC-003", "OS-139")
@pytest.mark.parametrize("sync", ["hflush", "hsync"])
def test_the_length_of_a_file_that_is_appended_to_is_exact_after_a_sync(
    fs: HdfsFileSystem, other: HdfsFileSystem, path: str, sync: str
) -> None:
    with create(fs, path) as out:
        out.write(DATA[: MIB + 100])
    with fs.append(path) as out:
        for end in (MIB + 101, MIB + 700, 2 * MIB, 2 * MIB + 1):
            out.write(DATA[out.get_pos() : end])
            getattr(out, sync)()
            assert other.get_file_status(path).length == end


@pytest.mark.req("OS-158", "OS-141")
def test_the_length_that_is_told_is_never_more_than_can_be_read(
    fs: HdfsFileSystem, other: HdfsFileSystem, path: str
) -> None:
    out = create(fs, path)
    done = threading.Event()

    def write() -> None:
        with out:
            for start in range(0, 2 * MIB, 50_000):
                out.write(DATA[start : start + 50_000])
                if start % 3:
                    out.hflush()
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not done.is_set():
        told = other.get_file_status(path).length
        assert len(content(other, path)) >= told
    writer.join()


@pytest.mark.req("OS-136")
def test_a_stream_is_closed_while_many_threads_sync_it(fs: HdfsFileSystem, path: str) -> None:
    out = create(fs, path)
    out.write(DATA[:MIB])
    unexpected: list[errors.HowdahError] = []
    started = threading.Barrier(5)

    def sync() -> None:
        started.wait(PATIENCE_S)
        try:
            while True:
                out.hsync()
        except errors.ClosedStream:
            return
        except errors.HowdahError as error:
            unexpected.append(error)

    threads = [threading.Thread(target=sync) for _ in range(4)]
    for thread in threads:
        thread.start()
    started.wait(PATIENCE_S)
    out.close()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert unexpected == []
    assert content(fs, path) == DATA[:MIB]


@pytest.mark.req("OS-168", "OS-019")
def test_ten_threads_close_at_once(fs: HdfsFileSystem, path: str) -> None:
    out = create(fs, path)
    out.write(DATA[:1000])
    start = threading.Barrier(10)
    failures: list[errors.HowdahError] = []

    def close() -> None:
        start.wait(PATIENCE_S)
        try:
            out.close()
        except errors.HowdahError as error:
            failures.append(error)

    threads = [threading.Thread(target=close) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert failures == []
    assert fs.is_file_closed(path)
    assert content(fs, path) == DATA[:1000]


# --- flags --------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [0, 1, 700, MIB])
def test_an_append_to_a_new_block_leaves_the_last_one_as_it_is(
    fs: HdfsFileSystem, path: str, before: int
) -> None:
    with create(fs, path) as out:
        out.write(DATA[:before])
    with fs.append(path, new_block=True) as out:
        assert out.get_pos() == before
        out.write(DATA[before : before + 300])
        out.hflush()
        assert fs.get_file_status(path).length == before + 300
    assert content(fs, path) == DATA[: before + 300]
    assert block_lengths(fs, path) == ([before] if before else []) + [300]


def test_an_append_of_nothing_to_a_new_block_leaves_the_file_as_it_was(
    fs: HdfsFileSystem, path: str
) -> None:
    with create(fs, path) as out:
        out.write(b"content")
    fs.append(path, new_block=True).close()
    assert content(fs, path) == b"content"
    assert block_lengths(fs, path) == [7]


@pytest.mark.parametrize(
    "flags",
    [
        CreateFlag.LAZY_PERSIST,
        CreateFlag.SHOULD_REPLICATE,
        CreateFlag.NO_LOCAL_WRITE,
        CreateFlag.IGNORE_CLIENT_LOCALITY,
    ],
)
def test_hints_change_nothing_about_the_content(
    fs: HdfsFileSystem, path: str, flags: CreateFlag
) -> None:
    with create(fs, path, flags) as out:
        out.write(DATA[:1000])
    assert content(fs, path) == DATA[:1000]


def test_a_builder_passes_the_flags_on(fs: HdfsFileSystem, path: str) -> None:
    fs.create_file(path).recursive().sync_block().block_size(MIB).build().close()
    with fs.create_file(path).append().new_block().build() as out:
        out.write(b"built")
    assert content(fs, path) == b"built"


def test_replicas_go_to_the_nodes_that_the_writer_favors(fs: HdfsFileSystem, path: str) -> None:
    nodes = [node.id for node in fs.client.namenode.get_datanode_report("LIVE")]
    for number, node in enumerate(nodes):
        name = f"{node.ipAddr}:{node.xferPort}"
        each = f"{path}{number}"
        if number % 2:
            out = fs.create_file(each).replication(1).favored_nodes([name]).recursive().build()
        else:
            out = fs.create(each, replication=1, block_size=MIB, favored_nodes=[name])
        with out:
            out.write(DATA[: 2 * MIB])
        located = fs.client.namenode.get_block_locations(each, 0, 2 * MIB)
        assert {n.uuid for block in located.blocks for n in block.nodes} == {node.datanodeUuid}


# --- leases ------------------------------------------------------------------------------------


@pytest.mark.req("AP-008", "AP-013")
def test_an_append_is_refused_while_another_client_writes(
    fs: HdfsFileSystem, other: HdfsFileSystem, path: str
) -> None:
    with create(fs, path) as out:
        out.write(b"x")
        out.hflush()
        with pytest.raises(errors.AlreadyBeingCreated, match=path):
            other.append(path)
    with other.append(path) as out:
        out.write(b"y")
    assert content(fs, path) == b"xy"


@pytest.mark.req("LM-059", "LM-049")
def test_a_writer_whose_file_was_taken_away_is_told_with_its_path(
    fs: HdfsFileSystem, other: HdfsFileSystem, path: str
) -> None:
    out = create(fs, path)
    out.write(b"acknowledged")
    out.hflush()
    assert not fs.is_file_closed(path)
    wait_until(lambda: other.recover_lease(path), PATIENCE_S, "the file is closed")
    assert other.is_file_closed(path)

    def write_on() -> None:
        out.write(b" and too late")
        out.hflush()

    for call in (write_on, out.close):
        with pytest.raises(errors.LeaseExpired, match=path):
            call()
    assert content(other, path) == b"acknowledged"


def test_the_namenode_says_whether_it_is_in_safe_mode(fs: HdfsFileSystem) -> None:
    assert fs.set_safe_mode("get") is False
    with pytest.raises(ValueError, match="no safe mode action 'open'"):
        fs.set_safe_mode("open")


@pytest.mark.req("AP-003", "AP-009", "AP-010")
def test_an_append_puts_the_file_under_construction_and_gives_its_last_block(
    fs: HdfsFileSystem, path: str
) -> None:
    with create(fs, path) as out:
        out.write(DATA[:700])
    wait_until(lambda: len(fs.block_locations(path)[0].names) == 3, PATIENCE_S)
    block, status = fs.client.namenode.append(path, fs.client.client_name)
    assert block is not None
    assert status is not None
    assert (block.length_bytes, len(block.nodes), status.length) == (700, 3, 700)
    assert not fs.is_file_closed(path)
    wait_until(lambda: fs.recover_lease(path), PATIENCE_S, "the file is closed")


@pytest.mark.req("AP-011", "AP-017")
def test_an_append_to_an_empty_file_has_no_block_to_go_on_with(
    fs: HdfsFileSystem, path: str
) -> None:
    create(fs, path).close()
    block, _ = fs.client.namenode.append(path, fs.client.client_name)
    assert block is None
    wait_until(lambda: fs.recover_lease(path), PATIENCE_S, "the file is closed")
    with fs.append(path) as out:
        out.write(b"content")
    assert content(fs, path) == b"content"


@pytest.mark.req("AP-032", "AP-039")
def test_every_datanode_reports_each_block_that_is_finished(fs: HdfsFileSystem, path: str) -> None:
    with create(fs, path) as out:
        out.write(DATA[: MIB + 5])
    wait_until(
        lambda: [len(block.names) for block in fs.block_locations(path)] == [3, 3], PATIENCE_S
    )


WRITER = """
import sys, time, howdah
fs = howdah.connect({uri!r})
out = fs.create({path!r}, block_size={block})
out.write(bytes(range(256)) * 2048)
out.write(b"the rest of a packet")
while out.statistics().bytes_acknowledged < 2048 * 256:
    time.sleep(0.005)
print("there", flush=True)
time.sleep(600)
"""


@pytest.mark.req("LM-032", "FS-156")
def test_whole_packets_survive_their_writer_even_if_it_never_synced(
    howdah_cluster: MiniCluster, fs: HdfsFileSystem, path: str
) -> None:
    program = WRITER.format(uri=howdah_cluster.uri, path=path, block=MIB)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"there\n"
        writer.kill()
    wait_until(lambda: fs.recover_lease(path), PATIENCE_S, "the file is closed")
    assert content(fs, path) == bytes(range(256)) * 2048


# --- truncate and concat -------------------------------------------------------------------------


def test_a_file_is_cut_at_the_end_of_a_block_at_once(fs: HdfsFileSystem, path: str) -> None:
    with create(fs, path) as out:
        out.write(DATA[: 2 * MIB + 5])
    assert fs.truncate(path, MIB)
    assert content(fs, path) == DATA[:MIB]


def test_a_file_that_is_cut_within_a_block_can_be_appended_to_when_it_is_recovered(
    fs: HdfsFileSystem, path: str
) -> None:
    with create(fs, path) as out:
        out.write(DATA[: MIB + 500])
    if not fs.truncate(path, MIB + 100):
        wait_until(lambda: fs.is_file_closed(path), PATIENCE_S, "the last block is recovered")
    with fs.append(path) as out:
        out.write(b"more")
    assert content(fs, path) == DATA[: MIB + 100] + b"more"


def test_files_are_joined_without_their_bytes_being_moved(fs: HdfsFileSystem, path: str) -> None:
    parts = [f"{path}-part{number}" for number in range(3)]
    for number, part in enumerate(parts):
        with create(fs, part) as out:
            out.write(DATA[number * MIB : (number + 1) * MIB])
    fs.concat(parts[0], parts[1:])
    assert content(fs, parts[0]) == DATA[: 3 * MIB]
    assert [fs.exists(part) for part in parts] == [True, False, False]


@pytest.mark.parametrize("length", [-1, 100])
def test_a_length_that_no_cut_can_have_is_refused(
    fs: HdfsFileSystem, path: str, length: int
) -> None:
    with create(fs, path) as out:
        out.write(b"content")
    with pytest.raises(ValueError, match="Cannot truncate"):
        fs.truncate(path, length)


# --- pipelines that live long, and those that end ------------------------------------------------


@pytest.mark.timeout(120)
def test_an_idle_pipeline_outlives_the_time_that_datanodes_wait_for_a_packet() -> None:
    conf = {"dfs.client.socket-timeout": 600}
    with MiniCluster(datanodes=3, conf=conf) as cluster, cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        with fs.create("/idle") as out:
            out.write(b"before")
            out.hflush()
            # One each 0.3 s: four times as long as a datanode would wait without them.
            wait_until(lambda: out.statistics().heartbeats_sent >= 8, PATIENCE_S)
            out.write(b" and after")
            out.hflush()
            assert out.statistics().recoveries == 0
        assert content(fs, "/idle") == b"before and after"


def test_a_stream_that_is_aborted_leaves_what_is_acknowledged_to_be_recovered(
    howdah_cluster: MiniCluster, fs: HdfsFileSystem, other: HdfsFileSystem, path: str
) -> None:
    out = fs.client.create(
        path,
        masked=0o644,
        unmasked=0o666,
        overwrite=False,
        create_parent=True,
        replication=3,
        block_size=MIB,
    )
    out.write(b"acknowledged")
    out.hflush()
    out.abort("nobody wants it")
    blocks = blocks_of(howdah_cluster, path)
    assert replica_files(howdah_cluster, blocks, state=BEING_WRITTEN)
    wait_until(lambda: other.recover_lease(path), PATIENCE_S, "the file is closed")
    assert content(other, path) == b"acknowledged"
