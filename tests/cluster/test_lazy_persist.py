"""Files of the storage policy LAZY_PERSIST: in memory first, on a disk later."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.request import urlopen

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.datanode.state.fault_points import Point
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.options import CreateFlag
from howdah.testing import MiniCluster
from howdah.testing.faults import Action, Fault
from howdah.testing.waiting import wait_until
from tests.support.replicas import found_below
from tests.support.volumes import set_volumes

MIB = 1 << 20
BLOCK = 256 << 10
DATA = random.Random(29).randbytes(BLOCK + 777)
CONF: dict[str, str | int | bool] = {
    "dfs.heartbeat.interval": "200ms",
    "dfs.namenode.redundancy.interval.seconds": "200ms",
    "dfs.namenode.fs-limits.min-block-size": 4096,
    "dfs.blocksize": BLOCK,
    "dfs.replication": 1,
    "dfs.datanode.max.locked.memory": MIB,
    "dfs.datanode.lazywriter.interval.sec": 1,
}
VOLUMES = ["DISK", "RAM_DISK"]

pytestmark = pytest.mark.req("FS-211")


def started(tmp_path: Path, **conf: str | int | bool) -> MiniCluster:
    return MiniCluster(
        datanodes=1, conf={**CONF, **conf}, volumes=VOLUMES, dir=tmp_path, faults=True
    )


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MiniCluster]:
    with started(tmp_path) as cluster:
        yield cluster


def connected(cluster: MiniCluster) -> HdfsFileSystem:
    fs = cluster.connect()
    assert isinstance(fs, HdfsFileSystem)
    return fs


def put(fs: HdfsFileSystem, path: str, data: bytes = DATA) -> None:
    with fs.create(path, flags=CreateFlag.LAZY_PERSIST) as out:
        out.write(data)


def read(fs: HdfsFileSystem, path: str) -> bytes:
    with fs.open(path) as stream:
        return stream.read()


def kinds(fs: HdfsFileSystem, path: str) -> list[str]:
    """The storage type of the one replica of each block."""
    return [
        location.storage_types[0] if location.storage_types else "NONE"
        for location in fs.block_locations(path)
    ]


def is_found(fs: HdfsFileSystem, path: str) -> bool:
    return kinds(fs, path) != ["NONE"]


def files_in(cluster: MiniCluster, volume: int, kind: str) -> list[Path]:
    """Block files on data<volume> of the datanode, in `finalized`, `rbw` or `lazypersist`."""
    root = cluster.data_dirs("datanode0")[volume]
    return sorted(
        path
        for path in found_below(root, f"current/BP-*/current/{kind}/**/blk_*")
        if not path.name.endswith(".meta")
    )


def wait_until_saved(cluster: MiniCluster, count: int) -> None:
    wait_until(lambda: len(files_in(cluster, 0, "lazypersist")) == count, 20)


def test_a_file_is_in_memory_and_is_saved_and_is_read_after_a_restart(
    cluster: MiniCluster,
) -> None:
    fs = connected(cluster)
    put(fs, "/f")
    assert kinds(fs, "/f") == ["RAM_DISK"] * 2
    assert fs.get_storage_policy("/f").name == "LAZY_PERSIST"
    assert read(fs, "/f") == DATA
    wait_until_saved(cluster, 2)
    assert read(fs, "/f") == DATA
    cluster.restart("datanode0")
    wait_until(lambda: kinds(fs, "/f") == ["DISK"] * 2, 20)
    assert read(fs, "/f") == DATA
    assert not files_in(cluster, 1, "finalized")
    assert not files_in(cluster, 0, "lazypersist")


def wipe_memory(cluster: MiniCluster) -> None:
    """The machine of the datanode, which is down, starts anew."""
    (memory,) = cluster.data_dirs("datanode0")[1:]
    shutil.rmtree(memory)


def bytes_in_memory(cluster: MiniCluster) -> int:
    return sum(
        path.stat().st_size
        for kind in ("finalized", "rbw")
        for path in files_in(cluster, 1, kind)
        if path.exists()
    )


@pytest.mark.req("FS-213")
def test_what_is_saved_leaves_the_memory_when_room_is_short(cluster: MiniCluster) -> None:
    fs = connected(cluster)
    files = {f"/f{n}": random.Random(n).randbytes(BLOCK) for n in range(4)}
    for path, data in files.items():
        put(fs, path, data)
    assert [kinds(fs, path) for path in files] == [["RAM_DISK"]] * 4
    wait_until_saved(cluster, 4)
    assert read(fs, "/f0") == files["/f0"]  # It is not the least recently used any more.
    # Its memory is given back before the writer of the next one goes on.
    put(fs, "/new", DATA[:BLOCK])
    assert kinds(fs, "/new") == ["RAM_DISK"]
    wait_until(lambda: kinds(fs, "/f1") == ["DISK"], 20)
    assert [kinds(fs, path) for path in ("/f0", "/f2", "/f3")] == [["RAM_DISK"]] * 3
    assert bytes_in_memory(cluster) <= MIB
    assert all(read(fs, path) == data for path, data in files.items())
    # What has left is a replica as any other, which a restart finds where it is.
    cluster.restart("datanode0")
    wait_until(lambda: kinds(fs, "/f1") == ["DISK"], 20)
    assert all(read(fs, path) == data for path, data in files.items())


@pytest.mark.req("FS-213")
def test_what_has_no_room_in_memory_goes_to_a_disk(tmp_path: Path) -> None:
    with started(tmp_path, **{"dfs.datanode.lazywriter.interval.sec": 3600}) as cluster:
        fs = connected(cluster)
        data = random.Random(3).randbytes(6 * BLOCK)
        put(fs, "/large", data)
        assert kinds(fs, "/large") == ["RAM_DISK"] * 4 + ["DISK"] * 2
        assert read(fs, "/large") == data
        # A deletion before the save gives the room back, and leaves nothing anywhere.
        fs.delete("/large")
        wait_until(lambda: not files_in(cluster, 1, "finalized"), 20)
        assert not files_in(cluster, 0, "lazypersist")
        put(fs, "/again", data[: 4 * BLOCK])
        assert kinds(fs, "/again") == ["RAM_DISK"] * 4


@pytest.mark.req("FS-213")
@pytest.mark.parametrize("limit", [0, BLOCK // 2])
def test_without_memory_for_one_block_all_is_on_disks(tmp_path: Path, limit: int) -> None:
    with started(tmp_path, **{"dfs.datanode.max.locked.memory": limit}) as cluster:
        fs = connected(cluster)
        put(fs, "/f")
        assert kinds(fs, "/f") == ["DISK"] * 2
        assert read(fs, "/f") == DATA


def test_what_is_not_saved_stays_in_memory_over_a_restart_and_is_saved_then(
    tmp_path: Path,
) -> None:
    with started(tmp_path, **{"dfs.datanode.lazywriter.interval.sec": 3600}) as cluster:
        put(connected(cluster), "/f")
    with started(tmp_path, **{"dfs.datanode.lazywriter.interval.sec": 1}) as cluster:
        fs = connected(cluster)
        wait_until(lambda: kinds(fs, "/f") == ["RAM_DISK"] * 2, 20)
        assert read(fs, "/f") == DATA
        wait_until_saved(cluster, 2)


@pytest.mark.req("FS-212", "FS-214")
def test_what_was_saved_outlives_the_machine_and_what_was_not_is_deleted_in_the_end(
    tmp_path: Path,
) -> None:
    scrub = "dfs.namenode.lazypersist.file.scrub.interval.sec"
    with started(tmp_path, **{scrub: 0}) as cluster:
        fs = connected(cluster)
        put(fs, "/saved")
        wait_until_saved(cluster, 2)
    with started(tmp_path, **{"dfs.datanode.lazywriter.interval.sec": 3600}) as cluster:
        fs = connected(cluster)
        put(fs, "/lost")
        with fs.create("/ordinary") as out:
            out.write(DATA)
        cluster.kill("datanode0")
        wipe_memory(cluster)
    conf: dict[str, str | int | bool] = {scrub: 1, "dfs.namenode.safemode.threshold-pct": "0.5"}
    with started(tmp_path, **conf) as cluster:
        fs = connected(cluster)
        wait_until(lambda: kinds(fs, "/saved") == ["DISK"] * 2, 20)
        assert read(fs, "/saved") == DATA
        wait_until(lambda: not fs.exists("/lost"), 30)
        assert read(fs, "/ordinary") == DATA
        assert read(fs, "/saved") == DATA
    assert "Removing lazyPersist file /lost with no replicas" in log_of(tmp_path, "namenode")


def log_of(directory: Path, server: str) -> str:
    return "".join(path.read_text() for path in directory.rglob(f"{server}*.log"))


POINTS = [
    Point.SAVE_BEGUN,
    Point.SAVE_COPIED,
    Point.SAVE_NAMED,
    Point.SAVED,
    Point.EVICT,
    Point.EVICT_PLACED,
]


def is_begun_or_done(cluster: MiniCluster, fault: Fault) -> bool:
    """A save, that the fault is to interrupt."""
    return bool(fault.victims() or files_in(cluster, 0, "lazypersist"))


def killed_in_a_save(cluster: MiniCluster, fs: HdfsFileSystem, point: Point) -> Fault:
    """Of /f0, whose writer has heard that it is whole: else it would wait for the datanode."""
    for _ in range(10):
        put(fs, "/f0", DATA[:BLOCK])
        fault = cluster.faults.arm(point, Action.KILL)
        wait_until(partial(is_begun_or_done, cluster, fault), 20)
        with contextlib.suppress(AssertionError):
            wait_until(fault.victims, 2)
            return fault
        # It was saved before the fault was armed.
        cluster.faults.heal()
        fs.delete("/f0")
        wait_until(lambda: not files_in(cluster, 0, "lazypersist"), 20)
    raise AssertionError(f"it was always saved before the fault at {point} was armed")


@pytest.mark.req("FS-212")
@pytest.mark.parametrize("wiped", [False, True], ids=["memory-stays", "memory-is-lost"])
@pytest.mark.parametrize("point", POINTS)
def test_a_datanode_killed_in_a_copy_loses_nothing_saved_and_serves_no_half(
    cluster: MiniCluster, point: Point, wiped: bool
) -> None:
    fs = connected(cluster)
    evicts = point in (Point.EVICT, Point.EVICT_PLACED)
    data = DATA[:BLOCK]
    if evicts:
        for number in range(4):
            put(fs, f"/f{number}", data)
        wait_until_saved(cluster, 4)
        fault = cluster.faults.arm(point, Action.KILL)
        with contextlib.suppress(errors.HowdahError, OSError):
            put(fs, "/new", data)
        wait_until(fault.victims, 20)
    else:
        fault = killed_in_a_save(cluster, fs, point)
    cluster.kill("datanode0")
    if wiped:
        wipe_memory(cluster)
    cluster.restart("datanode0")
    is_saved = evicts or point in (Point.SAVE_NAMED, Point.SAVED)
    if wiped and not is_saved:
        wait_until(lambda: kinds(fs, "/f0") == ["NONE"], 20)
        # Nothing of what was copied is served, nor left.
        assert not files_in(cluster, 0, "finalized")
        assert not files_in(cluster, 0, "lazypersist")
        return
    for number in range(4 if evicts else 1):
        path = f"/f{number}"
        wait_until(partial(is_found, fs, path), 20)
        assert read(fs, path) == data
    if not wiped:
        wait_until(lambda: kinds(fs, "/f0") == (["DISK"] if is_saved else ["RAM_DISK"]), 20)


@pytest.mark.req("FS-212")
def test_memory_that_is_taken_out_and_put_back_costs_nothing_that_was_saved(
    cluster: MiniCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    fs = connected(cluster)
    put(fs, "/f")
    wait_until_saved(cluster, 2)
    disk, memory = cluster.data_dirs("datanode0")
    place = cluster.process("datanode0").addresses["ipc"]

    def reconfigure(volumes: str) -> None:
        set_volumes(cluster, "datanode0", volumes)
        words = ["-fs", cluster.uri, "dfsadmin", "-reconfig", "datanode", place]
        assert main([*words, "start"]) == 0
        capsys.readouterr()

        def is_over() -> bool:
            assert main([*words, "status"]) == 0
            return " and finished at " in capsys.readouterr().out

        wait_until(is_over, 60)

    reconfigure(f"[DISK]{disk.as_uri()}")
    wait_until(lambda: kinds(fs, "/f") == ["DISK"] * 2, 20)
    assert read(fs, "/f") == DATA
    put(fs, "/g")
    assert kinds(fs, "/g") == ["DISK"] * 2
    shutil.rmtree(memory)
    reconfigure(f"[DISK]{disk.as_uri()},[RAM_DISK]{memory.as_uri()}")
    put(fs, "/h")
    assert kinds(fs, "/h") == ["RAM_DISK"] * 2
    wait_until_saved(cluster, 2)
    assert read(fs, "/h") == DATA


def bean(cluster: MiniCluster, name: str) -> dict[str, object]:
    """Of the datanode's `/jmx`."""
    place = cluster.process("datanode0").addresses["http"]
    url = f"http://{place}/jmx?qry=Hadoop:service=DataNode,name={name}"
    with urlopen(url, timeout=20) as answer:
        (found,) = json.load(answer)["beans"]
    return dict(found)


def test_figures_of_replicas_in_memory_are_shown_as_hadoop_names_them(
    cluster: MiniCluster,
) -> None:
    fs = connected(cluster)

    def activity() -> dict[str, object]:
        return {
            name.removeprefix("RamDisk"): value
            for name, value in bean(cluster, "DataNodeActivity-*").items()
            if name.startswith("RamDisk") and "Window" not in name
        }

    nothing = {
        "BlocksWrite": 0,
        "BlocksWriteFallback": 0,
        "BytesWrite": 0,
        "BlocksReadHits": 0,
        "BlocksEvicted": 0,
        "BlocksEvictedWithoutRead": 0,
        "BlocksLazyPersisted": 0,
        "BytesLazyPersisted": 0,
        "BlocksDeletedBeforeLazyPersisted": 0,
    }
    assert activity() == nothing
    put(fs, "/f", DATA[:BLOCK])
    assert read(fs, "/f") == DATA[:BLOCK]
    written = nothing | {"BlocksWrite": 1, "BytesWrite": BLOCK, "BlocksReadHits": 1}
    state = bean(cluster, "FSDatasetState")
    assert (state["CacheUsed"], state["CacheCapacity"]) == (BLOCK, MIB)
    saved = written | {"BlocksLazyPersisted": 1, "BytesLazyPersisted": BLOCK}
    wait_until(lambda: activity() == saved, 20)
    put(fs, "/more", DATA[:BLOCK] * 4)
    # The one that is saved has left; whether others have depends on when rounds come.
    now = activity()
    assert 0 < int(str(now["BlocksEvicted"])) <= 4
    assert int(str(now["BlocksEvictedWithoutRead"])) == int(str(now["BlocksEvicted"])) - 1
    shown = bean(cluster, "DataNodeActivity-*")
    assert shown["RamDiskBlocksLazyPersistWindowMsNumOps"] == shown["RamDiskBlocksLazyPersisted"]


def test_put_with_l_writes_to_memory_and_cat_reads_it(
    cluster: MiniCluster, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    source = tmp_path / "local"
    source.write_bytes(DATA)
    fs = connected(cluster)
    assert main(["-fs", cluster.uri, "dfs", "-put", "-l", str(source), "/put"]) == 0
    assert main(["-fs", cluster.uri, "dfs", "-copyFromLocal", "-l", str(source), "/copied"]) == 0
    for path in ("/put", "/copied"):
        assert kinds(fs, path) == ["RAM_DISK"] * 2
        assert fs.get_file_status(path).replication == 1
        assert fs.get_storage_policy(path).name == "LAZY_PERSIST"
    capfdbinary.readouterr()
    assert main(["-fs", cluster.uri, "dfs", "-cat", "/put"]) == 0
    assert capfdbinary.readouterr().out == DATA


def test_files_below_a_directory_of_the_policy_are_in_memory_too(cluster: MiniCluster) -> None:
    fs = connected(cluster)
    fs.mkdirs("/memory")
    fs.set_storage_policy("/memory", "LAZY_PERSIST")
    with fs.create("/memory/f") as out:
        out.write(DATA)
    assert kinds(fs, "/memory/f") == ["RAM_DISK"] * 2
    fs.rename("/memory/f", "/f")
    assert fs.get_storage_policy("/f").name == "LAZY_PERSIST"


@pytest.mark.req("FS-215")
def test_lazy_persist_files_are_neither_appended_to_nor_cut(cluster: MiniCluster) -> None:
    fs = connected(cluster)
    put(fs, "/f")
    with pytest.raises(errors.UnsupportedOperation, match="Cannot append to lazy persist file /f"):
        fs.append("/f")
    with pytest.raises(errors.UnsupportedOperation, match="Cannot truncate lazy persist file /f"):
        fs.truncate("/f", 5)
    assert read(fs, "/f") == DATA
