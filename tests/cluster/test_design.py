"""What the design promises as a whole, on real servers: who does what, and where."""

from __future__ import annotations

import io
import itertools
import random
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.replicas import replicas_of

MIB = 1 << 20
_numbers = itertools.count()


@pytest.fixture
def fs(howdah_cluster: MiniCluster) -> Iterator[howdah.FileSystem]:
    with howdah_cluster.connect() as connected:
        yield connected


@pytest.fixture
def path(fs: howdah.FileSystem) -> str:
    return f"/design/{next(_numbers)}"


@pytest.mark.req("FS-021")
def test_a_cluster_is_one_namenode_and_its_datanodes(
    howdah_cluster: MiniCluster, fs: howdah.FileSystem
) -> None:
    assert [name for name in howdah_cluster.names if name == "namenode"] == ["namenode"]
    assert len(fs.datanode_report("live")) == len(howdah_cluster.names) - 1 == 3


@pytest.mark.req("FS-022")
def test_the_namenode_has_tree_and_metadata_with_no_datanode_alive() -> None:
    with MiniCluster(datanodes=1, conf={"dfs.replication": 1}) as cluster, cluster.connect() as fs:
        with fs.create("/a/b/file", permission=0o640) as out:
            out.write(b"x" * 10)
        cluster.kill("datanode0")
        assert [status.path for status in fs.list_status("/a/b")] == ["/a/b/file"]
        status = fs.get_file_status("/a/b/file")
        assert (status.length, status.permission) == (10, 0o640)
        fs.rename("/a/b", "/c")
        assert fs.exists("/c/file")


@pytest.mark.req("FS-025")
def test_the_namespace_is_in_memory_and_no_look_up_goes_to_disk(tmp_path: Path) -> None:
    with MiniCluster(datanodes=1, dir=tmp_path / "cluster") as cluster, cluster.connect() as fs:
        for number in range(50):
            fs.mkdirs(f"/tree/{number}")
        name_dir = tmp_path / "cluster" / "namenode" / "name"
        name_dir.rename(tmp_path / "elsewhere")
        try:
            assert len(fs.list_status("/tree")) == 50
            assert fs.get_file_status("/tree/7").is_directory
        finally:
            (tmp_path / "elsewhere").rename(name_dir)


@pytest.mark.req("FS-026")
def test_user_code_sees_files_and_no_servers(fs: howdah.FileSystem, path: str) -> None:
    lines = [f"line {number}\n" for number in range(20_000)]
    with io.TextIOWrapper(fs.create(path), encoding="utf-8") as text:
        text.writelines(lines)
    with fs.open(path) as source, fs.create(path + ".copy") as target:
        shutil.copyfileobj(source, target)
    with io.TextIOWrapper(fs.open(path + ".copy"), encoding="utf-8") as text:
        assert list(text) == lines


@pytest.mark.req("FS-027")
def test_datanodes_store_for_clients_and_copy_for_the_namenode(
    howdah_cluster: MiniCluster, fs: howdah.FileSystem, path: str
) -> None:
    with fs.create(path, replication=1) as out:
        out.write(b"once" * 1000)
    assert len(replicas_of(howdah_cluster, path)[0]) == 1
    fs.set_replication(path, 3)
    wait_until(lambda: len(replicas_of(howdah_cluster, path)[0]) == 3, timeout_s=30)
    contents = {replica.read() for replica in replicas_of(howdah_cluster, path)[0]}
    assert contents == {b"once" * 1000}


@pytest.mark.req("FS-017", "FS-018", "LM-005")
def test_the_block_size_is_a_setting_and_a_choice_of_each_file() -> None:
    with (
        MiniCluster(datanodes=1, conf={"dfs.blocksize": "2m", "dfs.replication": 1}) as cluster,
        cluster.connect() as fs,
    ):
        content = b"b" * (4 * MIB + 1)
        for name, block_size in (("/default", None), ("/own", MIB)):
            with fs.create(name, block_size=block_size) as out:
                out.write(content)
        assert [place.length for place in fs.block_locations("/default")] == [2 * MIB, 2 * MIB, 1]
        assert [place.length for place in fs.block_locations("/own")] == [MIB] * 4 + [1]


@pytest.mark.req("FS-006")
def test_unlike_posix_what_is_written_and_flushed_is_not_yet_visible(
    fs: howdah.FileSystem, path: str
) -> None:
    with fs.create(path) as out:
        out.write(b"content")
        out.flush()
        assert fs.get_file_status(path).length == 0
        with fs.open(path) as reader:
            assert reader.read() == b""
    assert fs.get_file_status(path).length == len(b"content")


@pytest.mark.req("FS-006", "FS-005")
def test_unlike_posix_a_file_has_one_writer(
    howdah_cluster: MiniCluster, fs: howdah.FileSystem, path: str
) -> None:
    with fs.create(path) as out, howdah_cluster.connect() as second:
        out.write(b"mine")
        with pytest.raises(errors.AlreadyBeingCreated):
            second.append(path)


@pytest.mark.req("OS-045")
def test_a_buffer_that_changes_during_write_spoils_nothing_but_its_own_bytes(
    fs: howdah.FileSystem, path: str
) -> None:
    """The bytes of such a write are undefined; the file around them is not."""
    before, after = b"<" * 100_000, b">" * 100_000
    buffer = bytearray(random.Random(5).randbytes(MIB))
    stop = threading.Event()

    def scribble() -> None:
        while not stop.is_set():
            buffer[::4096] = bytes(len(buffer) // 4096)
            buffer[::4096] = b"\xff" * (len(buffer) // 4096)

    scribbler = threading.Thread(target=scribble)
    scribbler.start()
    try:
        with fs.create(path) as out:
            out.write(before)
            for _ in range(8):
                out.write(buffer)
            out.write(after)
    finally:
        stop.set()
        scribbler.join()
    with fs.open(path) as stream:
        content = stream.read()
    assert len(content) == len(before) + 8 * MIB + len(after)
    assert content.startswith(before)
    assert content.endswith(after)
