"""Snapshots of a running cluster: the bytes of then, from Python and the command line."""

from __future__ import annotations

import re

import pytest

import howdah
from howdah.cli.main import main
from howdah.errors import SnapshotError, SnapshotReadOnly
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.hdfs.snapshot_records import DiffType, SnapshotDiffEntry
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until


@pytest.fixture
def fs(howdah_cluster: MiniCluster) -> HdfsFileSystem:
    found = howdah.connect(howdah_cluster.uri)
    assert isinstance(found, HdfsFileSystem)
    return found


def write(fs: HdfsFileSystem, path: str, data: bytes) -> None:
    with fs.create(path, overwrite=True) as out:
        out.write(data)


def read(fs: HdfsFileSystem, path: str) -> bytes:
    with fs.open(path) as file:
        return file.read()


def test_snapshot_has_the_bytes_of_then(fs: HdfsFileSystem) -> None:
    fs.mkdirs("/kept")
    for name in ("gone", "longer", "cut", "anew"):
        write(fs, f"/kept/{name}", b"before" * 100)
    fs.allow_snapshot("/kept")
    assert fs.create_snapshot("/kept", "s1") == "/kept/.snapshot/s1"
    sums = {n: fs.get_file_checksum(f"/kept/{n}") for n in ("longer", "cut")}
    fs.delete("/kept/gone")
    with fs.append("/kept/longer") as out:
        out.write(b"more")
    if not fs.truncate("/kept/cut", 10):
        wait_until(lambda: fs.is_file_closed("/kept/cut"))
    write(fs, "/kept/anew", b"other")
    assert read(fs, "/kept/cut") == (b"before" * 100)[:10]
    assert read(fs, "/kept/longer") == b"before" * 100 + b"more"
    for name in ("gone", "longer", "cut", "anew"):
        assert read(fs, f"/kept/.snapshot/s1/{name}") == b"before" * 100, name
    for name, expected in sums.items():
        assert fs.get_file_checksum(f"/kept/.snapshot/s1/{name}") == expected
    with pytest.raises(SnapshotReadOnly):
        write(fs, "/kept/.snapshot/s1/gone", b"")
    with pytest.raises(SnapshotError):
        fs.delete("/kept", recursive=True)
    fs.delete_snapshot("/kept", "s1")
    fs.disallow_snapshot("/kept")
    fs.delete("/kept", recursive=True)


def test_snapshots_are_listed_and_compared(fs: HdfsFileSystem) -> None:
    fs.mkdirs("/listed")
    write(fs, "/listed/a", b"a")
    fs.allow_snapshot("/listed")
    fs.create_snapshot("/listed", "s1")
    fs.rename("/listed/a", "/listed/b")
    fs.create_snapshot("/listed")
    newest = max(fs.list_snapshots("/listed"), key=lambda one: one.snapshot_id).name
    assert re.fullmatch(r"s\d{8}-\d{6}\.\d{3}", newest)
    fs.rename_snapshot("/listed", newest, "s2")
    assert [one.path for one in fs.list_snapshots("/listed")] == [
        "/listed/.snapshot/s1",
        "/listed/.snapshot/s2",
    ]
    directories = {one.path: one.snapshot_count for one in fs.list_snapshottable_directories()}
    assert directories["/listed"] == 2
    moved = (
        SnapshotDiffEntry(DiffType.MODIFY, "."),
        SnapshotDiffEntry(DiffType.RENAME, "./a", "./b"),
    )
    assert fs.snapshot_diff("/listed", "s1", "s2").entries == moved
    assert fs.snapshot_diff("/listed", "s1").entries == moved


def test_commands_print_what_hdfs_prints(
    fs: HdfsFileSystem, howdah_cluster: MiniCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(command: str, *words: str) -> str:
        assert main([command, "-fs", howdah_cluster.uri, *words]) == 0
        return capsys.readouterr().out

    fs.mkdirs("/said")
    assert run("dfsadmin", "-allowSnapshot", "/said") == "Allowing snapshot on /said succeeded\n"
    assert run("dfs", "-createSnapshot", "/said", "s1") == ("Created snapshot /said/.snapshot/s1\n")
    fs.mkdirs("/said/new")
    assert run("snapshotDiff", "/said", ".snapshot/s1", ".") == (
        "Difference between snapshot s1 and current directory under directory /said:\n"
        "M\t.\n+\t./new\n\n"
    )
    assert run("dfs", "-renameSnapshot", "/said", "s1", "s2") == (
        f"Renamed snapshot s1 to s2 under {howdah_cluster.uri}/said\n"
    )
    assert re.fullmatch(
        r"drwxr-xr-x 0 \S+ \S+ 0 [-\d]{10} [:\d]{5} \d+ ACTIVE /said/\.snapshot/s2\n",
        run("lsSnapshot", "/said"),
    )
    assert re.search(
        r"drwxr-xr-x 0 \S+ \S+ 0 [-\d]{10} [:\d]{5} 1 65536 /said\n", run("lsSnapshottableDir")
    )
    assert run("dfs", "-deleteSnapshot", "/said", "s2") == (
        f"Deleted snapshot s2 under {howdah_cluster.uri}/said\n"
    )
    assert run("dfsadmin", "-disallowSnapshot", "/said") == (
        "Disallowing snapshot on /said succeeded\n"
    )
    assert main(["lsSnapshot", "-fs", howdah_cluster.uri, "/said"]) == 1
    assert capsys.readouterr().err == (
        "lsSnapshot: Directory is not a snapshottable directory: /said\n"
    )
    assert main(["dfs", "-fs", howdah_cluster.uri, "-deleteSnapshot", "/said"]) == 255
    assert "deleteSnapshot: Incorrect number of arguments." in capsys.readouterr().err
