"""Disks that are full or refuse: writes go elsewhere, errors are clear, nothing leaks.

Small disks are filesystems in memory, which only some users may mount; where that
is not allowed, the tests that need one are skipped.
"""

from __future__ import annotations

import os
import random
import resource
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.replicas import BEING_WRITTEN, replica_files, replicas_of
from tests.support.small_disks import MIB, NotMounted, fill, small_disks

CONF: dict[str, str | int] = {"dfs.blocksize": MIB, "dfs.heartbeat.interval": "200ms"}
SMALL_DISK_BYTES = 6 * MIB
EVERYTHING = 1 << 50


def content(length: int) -> bytes:
    return random.Random(length).randbytes(length)


def write(fs: FileSystem, path: str, data: bytes, replication: int = 1) -> None:
    with fs.create(path, replication=replication) as out:
        out.write(data)


def read(fs: FileSystem, path: str) -> bytes:
    with fs.open(path) as stream:
        return bytes(stream.read())


@pytest.fixture
def small_disk() -> Iterator[Callable[[Path], Path]]:
    """Mounts a disk of a few MiB at a path, for the time of the test."""
    with small_disks(SMALL_DISK_BYTES) as mount_disk:

        def mount(path: Path) -> Path:
            try:
                return mount_disk(path)
            except NotMounted as error:
                pytest.skip(str(error))

        yield mount


# -- what must not leak ---------------------------------------------------------------------


def processes_of(cluster: MiniCluster, name: str) -> list[int]:
    """A server's process and those that it started."""
    leader = cluster.process(name).pid
    assert leader is not None
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if _group_of(entry) == leader]


def _group_of(process: Path) -> int | None:
    try:
        return os.getpgid(int(process.name))
    except ProcessLookupError:
        return None


def held(cluster: MiniCluster, name: str) -> tuple[int, int]:
    """How many files (replicas, sockets) and threads a server has."""
    fds = threads = 0
    for pid in processes_of(cluster, name):
        fds += len(os.listdir(f"/proc/{pid}/fd"))
        threads += len(os.listdir(f"/proc/{pid}/task"))
    return fds, threads


def wait_until_as_before(cluster: MiniCluster, name: str, before: tuple[int, int]) -> None:
    def as_before() -> bool:
        now = held(cluster, name)
        return now[0] <= before[0] and now[1] <= before[1]

    wait_until(as_before, what=f"{name} holds no more than {before} (files, threads)")


def failure_of(act: Callable[[], None]) -> errors.HowdahError:
    with pytest.raises(errors.HowdahError) as caught:
        act()
    return caught.value


# -- one disk of several is full --------------------------------------------------------------


@pytest.fixture
def one_small(tmp_path: Path, small_disk: Callable[[Path], Path]) -> Iterator[MiniCluster]:
    """One datanode with a small disk and a large one."""
    small_disk(tmp_path / "datanode0" / "data0")
    with MiniCluster(datanodes=1, volumes=2, conf=CONF, dir=tmp_path) as cluster:
        yield cluster


def test_writes_go_to_the_other_disk_when_one_is_full(one_small: MiniCluster) -> None:
    small, large = one_small.data_dirs("datanode0")
    fill(small)
    with one_small.connect() as fs:
        write(fs, "/file", content(8 * MIB))
        assert {r.volume for block in replicas_of(one_small, "/file") for r in block} == {large}
        assert read(fs, "/file") == content(8 * MIB)


@pytest.mark.req("FS-010")
def test_file_larger_than_a_disk_fills_it_and_goes_on_elsewhere(one_small: MiniCluster) -> None:
    small, large = one_small.data_dirs("datanode0")
    data = content(4 * SMALL_DISK_BYTES)
    with one_small.connect() as fs:
        write(fs, "/file", data)
        volumes = {r.volume for block in replicas_of(one_small, "/file") for r in block}
        assert volumes == {small, large}
        assert read(fs, "/file") == data


def test_full_disk_is_used_again_when_it_has_room(one_small: MiniCluster) -> None:
    small, _ = one_small.data_dirs("datanode0")
    hog = fill(small)
    with one_small.connect() as fs:
        write(fs, "/one", content(2 * MIB))
        hog.unlink()
        write(fs, "/two", content(2 * MIB))
        assert small in {r.volume for block in replicas_of(one_small, "/two") for r in block}


def test_full_disk_keeps_serving_what_it_holds(one_small: MiniCluster) -> None:
    small, _ = one_small.data_dirs("datanode0")
    with one_small.connect() as fs:
        write(fs, "/file", content(4 * MIB))
        assert small in {r.volume for block in replicas_of(one_small, "/file") for r in block}
        fill(small)
        assert read(fs, "/file") == content(4 * MIB)
        fs.delete("/file")
        wait_until(lambda: not replica_files(one_small), what="its replicas are deleted")


# -- every disk is full -----------------------------------------------------------------------


@pytest.fixture
def all_small(tmp_path: Path, small_disk: Callable[[Path], Path]) -> Iterator[MiniCluster]:
    """One datanode with a small disk only."""
    small_disk(tmp_path / "datanode0" / "data0")
    with MiniCluster(datanodes=1, conf=CONF, dir=tmp_path) as cluster:
        yield cluster


def test_write_that_fills_every_disk_fails_clearly_and_nothing_leaks(
    all_small: MiniCluster,
) -> None:
    with all_small.connect() as fs:
        write(fs, "/good", content(MIB))
        before = held(all_small, "datanode0")
        error = failure_of(lambda: write(fs, "/large", content(4 * SMALL_DISK_BYTES)))
        assert "/large" in str(error)
        assert read(fs, "/good") == content(MIB)
        fs.delete("/large")
        wait_until(lambda: len(replica_files(all_small)) == 1, what="room is given back")
        assert not replica_files(all_small, state=BEING_WRITTEN)
        wait_until_as_before(all_small, "datanode0", before)


def test_cluster_can_be_written_again_when_room_was_made(all_small: MiniCluster) -> None:
    with all_small.connect() as fs:
        failure_of(lambda: write(fs, "/large", content(4 * SMALL_DISK_BYTES)))
        fs.delete("/large")
        wait_until(lambda: not replica_files(all_small), what="room is given back")
        wait_until(lambda: fs.get_status().remaining > 3 * MIB, what="the namenode knows it")
        write(fs, "/file", content(2 * MIB))
        assert read(fs, "/file") == content(2 * MIB)


@pytest.mark.req("FS-009")
def test_short_files_take_a_whole_block_of_room_only_while_they_are_written(
    all_small: MiniCluster,
) -> None:
    with all_small.connect() as fs:
        for number in range(3 * SMALL_DISK_BYTES // MIB):
            write(fs, f"/{number}", content(1000))


def test_disk_that_fills_up_under_a_block_being_written_fails_that_write_only(
    all_small: MiniCluster,
) -> None:
    """Room is promised to a block when it begins, but others can take it meanwhile."""
    (disk,) = all_small.data_dirs("datanode0")
    with all_small.connect() as fs:
        write(fs, "/good", content(MIB))
        before = held(all_small, "datanode0")
        out = fs.create("/unlucky", replication=1)
        out.write(content(MIB // 4))
        out.hflush()
        hog = fill(disk)

        def go_on() -> None:
            with out:
                out.write(content(MIB // 2))

        error = failure_of(go_on)
        assert "/unlucky" in str(error)
        assert read(fs, "/good") == content(MIB)
        hog.unlink()
        fs.delete("/unlucky")
        wait_until(lambda: fs.get_status().remaining > 3 * MIB, what="the namenode knows it")
        write(fs, "/next", content(MIB))
        assert read(fs, "/next") == content(MIB)
        wait_until_as_before(all_small, "datanode0", before)


def test_one_full_datanode_of_two_is_passed_over(
    tmp_path: Path, small_disk: Callable[[Path], Path]
) -> None:
    disk = small_disk(tmp_path / "datanode0" / "data0")
    with MiniCluster(datanodes=2, conf=CONF, dir=tmp_path) as cluster, cluster.connect() as fs:
        fill(disk)
        # Before and after the namenode has heard of it.
        for name in range(3):
            write(fs, f"/{name}", content(2 * MIB))
            replicas = [r for block in replicas_of(cluster, f"/{name}") for r in block]
            assert {replica.datanode for replica in replicas} == {"datanode1"}
            assert read(fs, f"/{name}") == content(2 * MIB)


# -- no room by the configuration -------------------------------------------------------------


def test_reserved_room_is_not_written_to() -> None:
    conf = {**CONF, "dfs.datanode.du.reserved": EVERYTHING}
    with MiniCluster(datanodes=1, conf=conf) as cluster, cluster.connect() as fs:
        assert fs.get_status().remaining == 0
        before = held(cluster, "datanode0")
        for number in range(5):
            error = failure_of(partial(write, fs, f"/{number}", b"x"))
            assert "could only be written to 0 of the 1 minReplication nodes" in str(error)
            assert "1 datanode(s) running" in str(error)
        wait_until_as_before(cluster, "datanode0", before)
        assert not replica_files(cluster, state=BEING_WRITTEN)


def test_empty_files_need_no_room() -> None:
    conf = {**CONF, "dfs.datanode.du.reserved": EVERYTHING}
    with MiniCluster(datanodes=1, conf=conf) as cluster, cluster.connect() as fs:
        write(fs, "/empty", b"")
        assert read(fs, "/empty") == b""


# -- a disk that refuses ------------------------------------------------------------------------


def test_write_that_the_system_refuses_halfway_fails_clearly_and_nothing_leaks() -> None:
    with MiniCluster(datanodes=1, conf={**CONF, "dfs.blocksize": 8 * MIB}) as cluster:
        with cluster.connect() as fs:
            write(fs, "/good", content(MIB))
            before = held(cluster, "datanode0")
            for pid in processes_of(cluster, "datanode0"):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (2 * MIB, resource.RLIM_INFINITY))
            error = failure_of(lambda: write(fs, "/large", content(4 * MIB)))
            assert "/large" in str(error)
            write(fs, "/small", content(MIB))
            for path in ("/good", "/small"):
                assert read(fs, path) == content(MIB)
            fs.delete("/large")
            wait_until_as_before(cluster, "datanode0", before)
            wait_until(lambda: not replica_files(cluster, state=BEING_WRITTEN))


@pytest.fixture
def two_disks() -> Iterator[MiniCluster]:
    conf = {**CONF, "dfs.datanode.failed.volumes.tolerated": 1}
    with MiniCluster(datanodes=1, volumes=2, conf=conf) as cluster:
        yield cluster


def can_write(fs: FileSystem, path: str) -> bool:
    try:
        write(fs, path, content(MIB))
    except errors.HowdahError:
        fs.delete(path)
        return False
    return True


@pytest.mark.req("FS-003")
@pytest.mark.parametrize("what", ["the directory", "what is in it"])
def test_datanode_goes_on_without_a_disk_that_is_gone(
    two_disks: MiniCluster, tmp_path: Path, what: str
) -> None:
    """An unplugged disk takes its directory away, or leaves an empty mount point."""
    gone, left = two_disks.data_dirs("datanode0")
    with two_disks.connect() as fs:
        (gone if what == "the directory" else gone / "current").rename(tmp_path / "unplugged")
        # The first one may be sent to the disk that is gone, and then it is known.
        wait_until(lambda: can_write(fs, "/first"), what="a file can be written")
        for number in range(6):
            write(fs, f"/{number}", content(MIB))
            assert read(fs, f"/{number}") == content(MIB)
        assert {replica.volume for replica in replica_files(two_disks)} == {left}
        assert two_disks.process("datanode0").alive


@pytest.mark.req("FS-003", "FS-015")
def test_replicas_of_a_disk_that_is_gone_are_made_again(tmp_path: Path) -> None:
    conf: dict[str, str | int] = {
        **CONF,
        "dfs.datanode.failed.volumes.tolerated": 1,
        "dfs.namenode.redundancy.interval.seconds": "200ms",
    }
    with MiniCluster(datanodes=2, volumes=2, conf=conf) as cluster, cluster.connect() as fs:
        data = content(4 * MIB)
        write(fs, "/file", data, replication=2)
        gone, _ = cluster.data_dirs("datanode0")
        gone.rename(tmp_path / "unplugged")
        assert read(fs, "/file") == data
        wait_until(
            lambda: [len(block) for block in replicas_of(cluster, "/file")] == [2] * 4,
            what="two replicas of each block",
        )
