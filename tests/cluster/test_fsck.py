"""`howdah fsck` and a running cluster, which has the answer at its web port."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any
from urllib.request import urlopen

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster

BLOCK = 1 << 20
HOME = "/fsck"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def fs(howdah_cluster: MiniCluster) -> Iterator[HdfsFileSystem]:
    with howdah_cluster.connect() as connected:
        assert isinstance(connected, HdfsFileSystem)
        connected.mkdirs(HOME)
        yield connected
        connected.delete(HOME, recursive=True)
        connected.delete(f"/lost+found{HOME}", recursive=True)


@pytest.fixture
def run(howdah_cluster: MiniCluster, capsys: pytest.CaptureFixture[str]) -> Run:
    """One command: exit code, output, complaints."""
    http = howdah_cluster.http.removeprefix("http://")

    def command(*words: str) -> tuple[int, str, str]:
        options = ["-fs", howdah_cluster.uri, "-D", f"dfs.namenode.http-address={http}"]
        code = main([*options, "fsck", *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


def write(fs: HdfsFileSystem, path: str, data: bytes) -> None:
    with fs.create(path, replication=1, block_size=BLOCK) as out:
        out.write(data)


def spoil(cluster: MiniCluster, fs: HdfsFileSystem, path: str, place: int) -> None:
    """Break the one replica of the block at that place of the file, and read it: the reader
    tells the namenode."""
    block = fs.client.namenode.get_block_locations(path, place * BLOCK, 1).blocks[0]
    (file,) = cluster.dir.rglob(f"blk_{block.block.block_id}")
    with open(file, "r+b") as replica:
        replica.write(os.urandom(100))
    with fs.open(path) as source:
        source.seek(place * BLOCK)
        with pytest.raises(errors.HowdahError):
            source.read(1)


def bean(cluster: MiniCluster, name: str) -> dict[str, Any]:
    query = f"qry=Hadoop:service=NameNode,name={name}"
    with urlopen(f"{cluster.http}/jmx?{query}", timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)["beans"][0]
        return found


@pytest.mark.req("FS-020", "FS-078")
def test_blocks_of_files_are_listed(run: Run, fs: HdfsFileSystem) -> None:
    write(fs, f"{HOME}/f", bytes(BLOCK + 10))
    code, out, err = run(HOME, "-files", "-blocks", "-racks")
    assert code == 0
    assert f"{HOME}/f {BLOCK + 10} bytes, replicated: replication=1, 2 block(s):  OK\n" in out
    assert f" len={BLOCK} Live_repl=1  [/rack" in out
    assert out.endswith(f"\n\n\nThe filesystem under path '{HOME}' is HEALTHY\n")
    assert err.startswith("Connecting to namenode via http://")
    assert err.endswith("&files=1&blocks=1&racks=1&path=%2Ffsck\n")
    code, out, _ = run("--json", HOME)
    found = json.loads(out)
    assert (code, found["exitCode"], found["status"]) == (0, 0, "HEALTHY")
    assert found["replicatedBlocks"]["Total blocks (validated)"] == 2


def test_what_is_not_there_is_no_damage(run: Run) -> None:
    code, out, err = run("/nowhere")
    assert (code, out) == (0, "")
    assert "java.io.FileNotFoundException: File does not exist: hdfs://" in err
    assert err.endswith("/nowhere\nDFSck exiting.\n")


def test_a_namenode_without_pages_is_a_failure(
    howdah_cluster: MiniCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["-fs", howdah_cluster.uri, "-D", "dfs.namenode.http-address=127.0.0.1:1"]
    assert main([*options, "fsck", "/"]) == 255
    assert "Connection refused" in capsys.readouterr().err


@pytest.mark.req("FS-100", "FS-260")
def test_what_is_left_of_a_damaged_file_is_moved_and_the_file_deleted(
    run: Run, fs: HdfsFileSystem, howdah_cluster: MiniCluster
) -> None:
    data = os.urandom(3 * BLOCK + 10)
    write(fs, f"{HOME}/d/f", data)
    spoil(howdah_cluster, fs, f"{HOME}/d/f", 1)
    code, out, _ = run(HOME)
    assert code == 1
    assert f"\n{HOME}/d/f: CORRUPT 1 blocks of total size {BLOCK} B." in out
    code, out, _ = run(HOME, "-list-corruptfileblocks")
    assert code == 255
    assert out.startswith(f"The list of corrupt blocks under path '{HOME}' are:\nblk_")
    assert out.endswith(f"\t{HOME}/d/f\nThe filesystem under path '{HOME}' has 1 CORRUPT blocks\n")
    info = bean(howdah_cluster, "NameNodeInfo")
    (line,) = (each for each in json.loads(info["CorruptFiles"]) if each.endswith(f"\t{HOME}/d/f"))
    assert line.split("\t")[:2] == [out.splitlines()[1].split("\t")[0], "1"]
    assert info["CorruptFilesCount"] == info["NumberOfMissingBlocks"]
    assert run(HOME, "-move", "-delete")[0] == 1
    found = f"/lost+found{HOME}/d/f"
    assert [status.path.rpartition("/")[2] for status in fs.list_status(found)] == ["0", "1"]
    with fs.open(f"{found}/0") as first, fs.open(f"{found}/1") as second:
        assert first.read() == data[:BLOCK]
        assert second.read() == data[2 * BLOCK :]
    assert not fs.exists(f"{HOME}/d/f")
    assert run(HOME, "-list-corruptfileblocks")[:2] == (
        0,
        f"The filesystem under path '{HOME}' has 0 CORRUPT blocks\n",
    )


def test_damaged_files_are_deleted_by_the_namenode(
    run: Run, fs: HdfsFileSystem, howdah_cluster: MiniCluster
) -> None:
    for name in ("bad", "good"):
        write(fs, f"{HOME}/{name}", bytes(10))
    spoil(howdah_cluster, fs, f"{HOME}/bad", 0)
    assert run(HOME, "-delete")[0] == 1
    assert [status.path.rpartition("/")[2] for status in fs.list_status(HOME)] == ["good"]
    assert run(HOME)[0] == 0
