"""What was acknowledged is there after anything was killed.

The servers are killed with SIGKILL, which leaves the kernel's page cache alone:
this is about what processes know, not about what power failures do to disks.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from howdah import connect, errors
from howdah.fs.api import FileSystem
from howdah.fs.streams import FSDataOutputStream
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.replicas import BEING_WRITTEN, replica_files, replicas_of

MIB = 1 << 20
SIZES = [0, 1, 511, 512, 513, 64 * 1024 + 1, MIB - 1, MIB, MIB + 1, 3 * MIB]
CONF = {"dfs.blocksize": MIB}
# A client that doesn't wait long for a namenode that is down.
IMPATIENT = {"ipc.client.connect.max.retries": "1", "ipc.client.connect.retry.interval": "100"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=3, racks=["/a", "/b"], conf=CONF) as cluster:
        yield cluster


@pytest.fixture
def fs(cluster: MiniCluster) -> Iterator[FileSystem]:
    with cluster.connect() as fs:
        yield fs


@pytest.fixture
def path(request: pytest.FixtureRequest) -> str:
    return f"/{request.node.name}"


@pytest.fixture(autouse=True)
def all_running(cluster: MiniCluster) -> Iterator[None]:
    """Whatever a test has killed runs again for the next one."""
    yield
    for server in cluster.processes:
        if not server.alive:
            cluster.restart(server.name)


def content(length: int) -> bytes:
    return random.Random(length).randbytes(length)


def write(fs: FileSystem, path: str, data: bytes, replication: int = 3) -> None:
    with fs.create(path, replication=replication) as out:
        out.write(data)


def read(fs: FileSystem, path: str) -> bytes:
    with fs.open(path) as stream:
        return bytes(stream.read())


def impatient(cluster: MiniCluster) -> FileSystem:
    return connect(cluster.uri, conf=cluster.conf.with_values(IMPATIENT))


def kill_everything(cluster: MiniCluster) -> None:
    for name in cluster.names:
        cluster.kill(name)


def edit_bytes(cluster: MiniCluster) -> bytes:
    """All edit logs and images, as they are on disk."""
    (directory,) = cluster.data_dirs("namenode")
    files = sorted((directory / "current").iterdir())
    return b"".join(f.read_bytes() for f in files if f.name.startswith(("edits_", "fsimage_")))


# -- everything is killed -------------------------------------------------------------------


@pytest.mark.req("FS-003", "FS-023", "OS-002")
def test_closed_files_are_there_byte_for_byte_after_everything_was_killed(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    files = {f"{path}/{size}": content(size) for size in SIZES}
    for name, data in files.items():
        write(fs, name, data)
    kill_everything(cluster)
    cluster.restart()
    assert {status.path for status in fs.list_status(path)} == set(files)
    for name, data in files.items():
        assert read(fs, name) == data


@pytest.mark.req("FS-023", "OS-002")
def test_file_is_there_although_everything_was_killed_right_after_its_close(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    data = content(2 * MIB + 7)
    out = fs.create(path)
    out.write(data)
    out.close()
    kill_everything(cluster)
    cluster.restart()
    assert read(fs, path) == data


@pytest.mark.req("FS-023")
def test_every_replica_is_there_after_everything_was_killed(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    data = content(MIB)
    write(fs, path, data)
    kill_everything(cluster)
    cluster.restart()
    (replicas,) = replicas_of(cluster, path)
    assert [replica.read() for replica in replicas] == [data] * 3


@pytest.mark.req("FS-023")
def test_writing_goes_on_after_everything_was_killed(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    write(fs, f"{path}/before", b"before")
    kill_everything(cluster)
    cluster.restart()
    write(fs, f"{path}/after", content(3 * MIB))
    assert read(fs, f"{path}/after") == content(3 * MIB)
    assert read(fs, f"{path}/before") == b"before"


def test_cluster_survives_being_killed_again_and_again(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    for generation in range(3):
        write(fs, f"{path}/{generation}", content(MIB + generation))
        kill_everything(cluster)
        cluster.restart()
    for generation in range(3):
        assert read(fs, f"{path}/{generation}") == content(MIB + generation)


# -- the namenode is killed -------------------------------------------------------------------


@pytest.mark.req("FS-023")
def test_every_kind_of_acknowledged_change_is_there_after_the_namenode_was_killed(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    fs.mkdirs(f"{path}/directory", 0o750)
    for name in ("kept", "deleted", "renamed", "replaced", "old"):
        write(fs, f"{path}/{name}", name.encode())
    fs.delete(f"{path}/deleted")
    fs.rename(f"{path}/renamed", f"{path}/directory/renamed")
    fs.rename(f"{path}/replaced", f"{path}/old", overwrite=True)
    fs.set_permission(f"{path}/kept", 0o640)
    fs.set_owner(f"{path}/kept", "owner", "group")
    fs.set_replication(f"{path}/kept", 2)
    fs.set_times(f"{path}/kept", 1_000_000, 2_000_000)
    before = {s.path: s for top in (path, f"{path}/directory") for s in fs.list_status(top)}
    cluster.kill("namenode")
    cluster.restart("namenode")
    after = {s.path: s for top in (path, f"{path}/directory") for s in fs.list_status(top)}
    assert after == before
    assert read(fs, f"{path}/old") == b"replaced"


@pytest.mark.req("FS-023")
def test_each_of_many_changes_is_durable_when_it_is_acknowledged(
    cluster: MiniCluster, path: str
) -> None:
    """Killed at a moment nobody chose, the namenode knows all that it said yes to."""
    acknowledged: list[str] = []
    with impatient(cluster) as fs:
        stop = threading.Timer(0.3, cluster.kill, ["namenode"])
        stop.start()

        def change_for_ever() -> None:
            while True:
                name = f"{path}/{len(acknowledged)}"
                fs.mkdirs(name)
                acknowledged.append(name)

        with pytest.raises(errors.Unreachable):
            change_for_ever()
        stop.join()
        cluster.restart("namenode")
        there = {status.path for status in fs.list_status(path)}
    assert acknowledged
    assert set(acknowledged) <= there
    # One more may have got to disk before its answer got out.
    assert len(there) <= len(acknowledged) + 1


@pytest.mark.req("FS-024", "FS-028", "LM-007")
def test_locations_are_rebuilt_from_the_reports_of_datanodes(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    write(fs, path, content(3 * MIB))

    def locations() -> list[tuple[int, frozenset[str]]]:
        return [(b.offset, frozenset(b.names)) for b in fs.block_locations(path)]

    # A file is complete with one replica of each block; the others are told of soon.
    wait_until(lambda: all(len(names) == 3 for _, names in locations()))
    before = locations()
    cluster.kill("namenode")
    cluster.restart("namenode")
    wait_until(lambda: locations() == before, what="all locations are known again")


@pytest.mark.req("FS-024")
def test_locations_are_not_on_the_namenodes_disk(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    write(fs, path, content(3 * MIB))
    blocks = fs.block_locations(path)
    on_disk = edit_bytes(cluster)
    assert path.encode() in on_disk
    report = fs.datanode_report()
    told = {node.uuid for node in report} | {storage for b in blocks for storage in b.storage_ids}
    told |= {address for b in blocks for address in (*b.names, *b.hosts)}
    assert not [each for each in told if each.encode() in on_disk]


@pytest.mark.req("FS-028")
def test_replica_that_was_lost_while_the_namenode_was_down_is_missed_and_replaced(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    data = content(MIB)
    write(fs, path, data, replication=2)
    (replicas,) = replicas_of(cluster, path)
    kill_everything(cluster)
    replicas[0].meta_path.unlink()
    replicas[0].path.unlink()
    cluster.restart()

    def good() -> bool:
        (now,) = replicas_of(cluster, path)
        return [replica.read() for replica in now] == [data, data]

    wait_until(good, 30, "two good replicas")


@pytest.mark.req("FS-028")
def test_datanodes_report_all_their_replicas_again_and_again() -> None:
    with MiniCluster(datanodes=1, conf={"dfs.blockreport.intervalMsec": 200}) as cluster:
        with cluster.connect() as fs:
            write(fs, "/file", b"x", replication=1)
        wait_until(lambda: cluster.log("datanode0").count("reported 1 replicas") >= 3)


# -- no namenode ------------------------------------------------------------------------------


@pytest.mark.req("FS-029", "FS-048")
def test_nothing_works_without_the_namenode_and_the_error_says_so(
    cluster: MiniCluster, path: str
) -> None:
    address = cluster.uri.removeprefix("hdfs://")
    with impatient(cluster) as fs:
        write(fs, path, b"x")
        cluster.kill("namenode")
        for act in (
            lambda: fs.list_status("/"),
            lambda: fs.open(path),
            lambda: fs.mkdirs(f"{path}.d"),
            lambda: fs.create(f"{path}.new"),
            lambda: fs.delete(path),
        ):
            started_s = time.monotonic()
            with pytest.raises(errors.Unreachable, match=address):
                act()
            assert time.monotonic() - started_s < 5


@pytest.mark.req("FS-029")
def test_datanodes_wait_for_the_namenode_and_find_it_again(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    write(fs, path, b"x")
    cluster.kill("namenode")
    cluster.restart("namenode")
    wait_until(lambda: len(fs.datanode_report("live")) == 3)
    write(fs, f"{path}.more", content(MIB))
    assert read(fs, f"{path}.more") == content(MIB)


def test_patient_client_waits_until_the_namenode_is_back(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    write(fs, path, b"x")
    cluster.kill("namenode")
    restart = threading.Timer(0.5, cluster.restart, ["namenode"])
    restart.start()
    try:
        # Where its replicas are is told later, by datanodes.
        assert fs.exists(path)
    finally:
        restart.join()
    assert read(fs, path) == b"x"


# -- the namenode is killed while a file is written ------------------------------------------


def finish(out: FSDataOutputStream, data: bytes) -> BaseException | None:
    """Write on and close, in bounded time; the error if it failed."""
    failures: list[BaseException] = []

    def work() -> None:
        try:
            with out:
                out.write(data)
        except BaseException as error:  # noqa: BLE001 - handed to the test
            failures.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), "the writer hangs"
    return failures[0] if failures else None


@pytest.mark.req("FS-003", "FS-029")
def test_write_fails_clearly_when_the_namenode_stays_dead(cluster: MiniCluster, path: str) -> None:
    with impatient(cluster) as fs:
        out = fs.create(path)
        out.write(content(MIB // 2))
        out.hflush()
        cluster.kill("namenode")
        error = finish(out, content(4 * MIB))
        assert isinstance(error, errors.HowdahError | OSError)
        assert cluster.uri.removeprefix("hdfs://") in str(error)
        assert out.closed


@pytest.mark.req("FS-003")
def test_write_goes_on_when_the_namenode_comes_back(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    first, second = content(MIB // 2), content(4 * MIB)
    out = fs.create(path)
    out.write(first)
    out.hflush()
    cluster.kill("namenode")
    restart = threading.Timer(0.3, cluster.restart, ["namenode"])
    restart.start()
    error = finish(out, second)
    restart.join()
    assert error is None
    assert read(fs, path) == first + second


@pytest.mark.req("FS-023", "FS-149")
def test_hflushed_bytes_of_an_open_file_are_readable_after_the_namenode_was_killed(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    data = content(MIB + MIB // 2)
    with fs.create(path) as out:
        out.write(data)
        out.hflush()
        cluster.kill("namenode")
        cluster.restart("namenode")
        wait_until(lambda: read(fs, path)[:MIB] == data[:MIB], what="the first block is readable")


# -- a datanode is killed while a file is written ---------------------------------------------


@pytest.mark.req("FS-003")
def test_finished_files_are_intact_when_a_datanode_dies_during_another_write(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    data = content(3 * MIB)
    write(fs, f"{path}/finished", data)
    out = fs.create(f"{path}/unfinished")
    out.write(content(MIB // 2))
    out.hflush()
    cluster.kill("datanode1")
    assert finish(out, content(3 * MIB)) is None
    assert read(fs, f"{path}/finished") == data
    cluster.restart("datanode1")
    assert read(fs, f"{path}/finished") == data
    (replicas, *_) = replicas_of(cluster, f"{path}/finished")
    assert len(replicas) == 3


def test_half_written_replica_of_a_killed_datanode_does_not_count_as_finished(
    cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    def open_blocks() -> set[int]:
        return {replica.block_id for replica in replica_files(cluster, state=BEING_WRITTEN)}

    before = open_blocks()
    out = fs.create(path)
    out.write(content(MIB // 2))
    out.hflush()
    being_written = open_blocks() - before
    assert being_written
    for name in cluster.names:
        if name != "namenode":
            cluster.kill(name)
    assert finish(out, content(MIB)) is not None
    cluster.restart()
    assert not {r.block_id for r in replica_files(cluster)} & being_written


# -- safe mode ----------------------------------------------------------------------------------


@pytest.fixture
def stopped(tmp_path: Path) -> Iterator[MiniCluster]:
    """A cluster of its own with a file of one replica, everything stopped."""
    # All blocks count: by default one in a thousand may be missing, that is one of one.
    conf: Mapping[str, str | int] = {
        **CONF,
        **IMPATIENT,
        "dfs.namenode.safemode.threshold-pct": "1.0",
    }
    with MiniCluster(datanodes=2, conf=conf) as cluster:
        with cluster.connect() as fs:
            write(fs, "/file", content(MIB), replication=1)
        for name in cluster.names:
            cluster.stop(name)
        yield cluster


def reachable(fs: FileSystem) -> bool:
    try:
        fs.list_status("/")
    except errors.Unreachable:
        return False
    return True


@pytest.mark.req("FS-050")
def test_namenode_without_datanodes_stays_in_safe_mode(stopped: MiniCluster) -> None:
    stopped.start("namenode")
    with stopped.connect() as fs:
        wait_until(lambda: reachable(fs), what="the namenode answers")
        assert [status.path for status in fs.list_status("/")] == ["/file"]
        for act in (
            lambda: fs.mkdirs("/new"),
            lambda: fs.create("/new"),
            lambda: fs.delete("/file"),
            lambda: fs.rename("/file", "/new"),
            lambda: fs.set_permission("/file", 0o600),
            lambda: fs.set_replication("/file", 2),
        ):
            with pytest.raises(errors.SafeMode, match="safe mode"):
                act()


@pytest.mark.req("FS-050")
def test_namenode_leaves_safe_mode_by_itself_when_datanodes_have_reported(
    stopped: MiniCluster,
) -> None:
    stopped.start("namenode")
    with stopped.connect() as fs:
        wait_until(lambda: reachable(fs), what="the namenode answers")
        with pytest.raises(errors.SafeMode):
            fs.mkdirs("/new")
        for name in ("datanode0", "datanode1"):
            stopped.start(name)
        stopped.wait_ready()
        fs.mkdirs("/new")
        assert read(fs, "/file") == content(MIB)


@pytest.mark.req("FS-050")
def test_safe_mode_lasts_while_a_block_is_missing(stopped: MiniCluster) -> None:
    (holder,) = (replica.datanode for replica in replica_files(stopped))
    other = "datanode1" if holder == "datanode0" else "datanode0"
    stopped.start("namenode")
    stopped.start(other)
    with stopped.connect() as fs:
        wait_until(lambda: reachable(fs), what="the namenode answers")
        wait_until(lambda: len(fs.datanode_report("live")) == 1)
        with pytest.raises(errors.SafeMode):
            fs.mkdirs("/new")
        stopped.start(holder)
        stopped.wait_ready()
        assert fs.mkdirs("/new")
