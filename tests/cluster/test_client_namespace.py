"""The namespace through howdah's own client, on a real namenode."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator

import pytest

import howdah
from howdah import errors
from howdah.testing import MiniCluster
from tests.support.named_failures import make_ground, unnamed

_numbers = itertools.count()


@pytest.fixture
def fs(howdah_cluster: MiniCluster) -> Iterator[howdah.FileSystem]:
    with howdah_cluster.connect() as connected:
        yield connected


@pytest.fixture
def here(fs: howdah.FileSystem) -> str:
    """A directory of one's own."""
    path = f"/namespace/{next(_numbers)}"
    fs.mkdirs(path)
    return path


def touch(fs: howdah.FileSystem, path: str, content: bytes = b"") -> None:
    with fs.create(path) as out:
        out.write(content)


def test_directories_are_made_with_all_above_them(fs: howdah.FileSystem, here: str) -> None:
    assert fs.mkdirs(f"{here}/a/b/c")
    assert fs.mkdirs(f"{here}/a/b/c")
    assert fs.is_directory(f"{here}/a/b")


def test_mkdir_makes_one_directory(fs: howdah.FileSystem, here: str) -> None:
    assert fs.mkdir(f"{here}/a")
    with pytest.raises(FileNotFoundError):
        fs.mkdir(f"{here}/x/y")


def test_a_directory_below_a_file_is_refused(fs: howdah.FileSystem, here: str) -> None:
    touch(fs, f"{here}/file")
    with pytest.raises(NotADirectoryError):
        fs.mkdirs(f"{here}/file/below")


def test_a_status_tells_what_the_namenode_knows(fs: howdah.FileSystem, here: str) -> None:
    with fs.create(f"{here}/f", replication=2, block_size=1 << 20) as out:
        out.write(b"12345")
    status = fs.get_file_status(f"{here}/f")
    assert (status.path, status.name, status.length) == (f"{here}/f", "f", 5)
    assert (status.replication, status.block_size) == (2, 1 << 20)
    assert status.is_file
    assert not status.is_directory
    assert status.permission == 0o644
    assert abs(status.modification_time_ms - time.time() * 1000) < 60_000


def test_nothing_there_is_a_file_not_found_error(fs: howdah.FileSystem, here: str) -> None:
    for call in (fs.get_file_status, fs.list_status, fs.content_summary):
        with pytest.raises(FileNotFoundError, match="none"):
            call(f"{here}/none")


def test_a_listing_is_sorted_and_complete_over_many_pages(fs: howdah.FileSystem, here: str) -> None:
    names = sorted(f"{number:05d}" for number in range(1500))
    for name in names:
        fs.mkdirs(f"{here}/{name}")
    listed = list(fs.list_status_iter(here))
    assert [status.name for status in listed] == names
    assert listed[0].path == f"{here}/00000"


def test_a_listing_of_a_file_is_the_file(fs: howdah.FileSystem, here: str) -> None:
    touch(fs, f"{here}/f", b"x")
    assert fs.list_status(f"{here}/f") == [fs.get_file_status(f"{here}/f")]


def test_rename_moves_a_tree(fs: howdah.FileSystem, here: str) -> None:
    touch(fs, f"{here}/a/b/f", b"content")
    fs.rename(f"{here}/a", f"{here}/z")
    assert fs.exists(f"{here}/z/b/f")
    assert not fs.exists(f"{here}/a")


def test_rename_onto_a_file_needs_overwrite(fs: howdah.FileSystem, here: str) -> None:
    touch(fs, f"{here}/a", b"a")
    touch(fs, f"{here}/b", b"bb")
    with pytest.raises(FileExistsError):
        fs.rename(f"{here}/a", f"{here}/b")
    fs.rename(f"{here}/a", f"{here}/b", overwrite=True)
    assert fs.get_file_status(f"{here}/b").length == 1
    assert not fs.exists(f"{here}/a")


def test_rename_of_nothing_is_a_file_not_found_error(fs: howdah.FileSystem, here: str) -> None:
    with pytest.raises(FileNotFoundError):
        fs.rename(f"{here}/none", f"{here}/x")


def test_delete_says_whether_there_was_something(fs: howdah.FileSystem, here: str) -> None:
    touch(fs, f"{here}/f")
    assert fs.delete(f"{here}/f")
    assert not fs.delete(f"{here}/f")


def test_a_directory_with_content_is_deleted_only_with_recursive(
    fs: howdah.FileSystem, here: str
) -> None:
    touch(fs, f"{here}/d/f")
    with pytest.raises(errors.DirectoryNotEmpty):
        fs.delete(f"{here}/d")
    assert fs.delete(f"{here}/d", recursive=True)


def test_modes_owners_and_times_are_set(fs: howdah.FileSystem, here: str) -> None:
    touch(fs, f"{here}/f")
    fs.set_permission(f"{here}/f", 0o1751)
    fs.set_owner(f"{here}/f", owner="anna", group="readers")
    fs.set_times(f"{here}/f", mtime_ms=1_000_000, atime_ms=2_000_000)
    status = fs.get_file_status(f"{here}/f")
    assert (status.owner, status.group) == ("anna", "readers")
    assert status.permission & 0o777 == 0o751
    assert (status.modification_time_ms, status.access_time_ms) == (1_000_000, 2_000_000)


def test_one_time_can_be_left_alone(fs: howdah.FileSystem, here: str) -> None:
    touch(fs, f"{here}/f")
    fs.set_times(f"{here}/f", mtime_ms=1_000_000, atime_ms=2_000_000)
    fs.set_times(f"{here}/f", atime_ms=3_000_000)
    status = fs.get_file_status(f"{here}/f")
    assert (status.modification_time_ms, status.access_time_ms) == (1_000_000, 3_000_000)


def test_negative_times_leave_a_file_as_it_is(fs: howdah.FileSystem, here: str) -> None:
    touch(fs, f"{here}/f")
    fs.set_times(f"{here}/f", mtime_ms=1_000_000, atime_ms=3_000_000)
    fs.set_times(f"{here}/f", mtime_ms=-315_619_200_000, atime_ms=-2)
    status = fs.get_file_status(f"{here}/f")
    assert (status.modification_time_ms, status.access_time_ms) == (1_000_000, 3_000_000)


def test_a_new_file_has_its_mode_less_the_umask(howdah_cluster: MiniCluster, here: str) -> None:
    conf = howdah_cluster.conf.with_values({"fs.permissions.umask-mode": "027"})
    with howdah.connect(howdah_cluster.uri, conf=conf) as fs:
        fs.create(f"{here}/f").close()
        fs.mkdirs(f"{here}/d")
        assert fs.get_file_status(f"{here}/f").permission == 0o640
        assert fs.get_file_status(f"{here}/d").permission == 0o750


@pytest.mark.req("FS-016")
def test_the_replication_of_a_file_can_be_changed(fs: howdah.FileSystem, here: str) -> None:
    touch(fs, f"{here}/f")
    assert fs.set_replication(f"{here}/f", 1)
    assert fs.get_file_status(f"{here}/f").replication == 1
    assert not fs.set_replication(here, 1)


def test_access_is_asked_for_without_being_used(
    howdah_cluster: MiniCluster, fs: howdah.FileSystem, here: str
) -> None:
    touch(fs, f"{here}/f")
    fs.set_permission(f"{here}/f", 0o640)
    fs.access(f"{here}/f", os.R_OK | os.W_OK)
    with howdah_cluster.connect(user="stranger") as stranger:
        with pytest.raises(PermissionError):
            stranger.access(f"{here}/f", os.R_OK)


def test_a_stranger_may_not_change_what_is_not_his(
    howdah_cluster: MiniCluster, fs: howdah.FileSystem, here: str
) -> None:
    touch(fs, f"{here}/f")
    with howdah_cluster.connect(user="stranger") as stranger:
        for call in (
            lambda: stranger.delete(f"{here}/f"),
            lambda: stranger.set_permission(f"{here}/f", 0o777),
            lambda: stranger.set_owner(f"{here}/f", owner="stranger"),
            lambda: stranger.mkdirs(f"{here}/d"),
            lambda: stranger.rename(f"{here}/f", f"{here}/g"),
        ):
            with pytest.raises(PermissionError):
                call()


def test_content_is_summed_up(fs: howdah.FileSystem, here: str) -> None:
    touch(fs, f"{here}/a", b"123")
    touch(fs, f"{here}/d/b", b"45")
    summary = fs.content_summary(here)
    assert (summary.length, summary.file_count, summary.directory_count) == (5, 2, 2)
    assert summary.space_consumed == 15
    assert fs.du(here) == 5


def test_patterns_find_files(fs: howdah.FileSystem, here: str) -> None:
    for name in ("a1.txt", "a2.txt", "b/c.txt", "b/[d].txt"):
        touch(fs, f"{here}/{name}")
    found = [status.path.removeprefix(here) for status in fs.glob_status(f"{here}/{{a?,b/*}}.txt")]
    assert found == ["/a1.txt", "/a2.txt", "/b/[d].txt", "/b/c.txt"]


def test_a_tree_is_walked(fs: howdah.FileSystem, here: str) -> None:
    for name in ("a", "d/b", "d/e/c"):
        touch(fs, f"{here}/{name}")
    walked = [(path.removeprefix(here), len(files)) for path, _, files in fs.walk(here)]
    assert walked == [("", 1), ("/d", 1), ("/d/e", 1)]


def test_the_filesystem_tells_its_size_and_its_datanodes(fs: howdah.FileSystem) -> None:
    status = fs.get_status()
    assert status.capacity >= status.remaining > 0
    report = fs.datanode_report()
    assert len(report) == 3
    assert {node.rack for node in report} == {"/rack0", "/rack1", "/rack2"}
    assert fs.datanode_report("dead") == []


def test_an_unknown_report_is_refused_with_the_known_ones(fs: howdah.FileSystem) -> None:
    with pytest.raises(errors.IllegalArgument, match="live"):
        fs.datanode_report("sleepy")


def test_relative_paths_start_at_home(howdah_cluster: MiniCluster, fs: howdah.FileSystem) -> None:
    fs.mkdirs("/user/anna")
    fs.set_owner("/user/anna", owner="anna")
    with howdah_cluster.connect(user="anna") as anna:
        touch(anna, "notes/today", b"x")
        assert fs.get_file_status("/user/anna/notes/today").owner == "anna"


@pytest.mark.req("FS-007")
def test_the_default_block_size_is_128_mib(fs: howdah.FileSystem, here: str) -> None:
    touch(fs, f"{here}/f")
    assert fs.get_file_status(f"{here}/f").block_size == 128 << 20


def test_a_client_survives_a_restart_of_the_namenode() -> None:
    with MiniCluster(datanodes=1) as cluster, cluster.connect() as fs:
        touch(fs, "/f", b"content")
        cluster.kill("namenode")
        cluster.restart("namenode")
        with fs.open("/f") as stream:
            assert stream.read() == b"content"
        touch(fs, "/g", b"more")
        assert fs.get_file_status("/g").length == 4


def test_the_web_port_of_a_namenode_is_told_with_its_rpc_port(
    howdah_cluster: MiniCluster,
) -> None:
    with howdah.connect(howdah_cluster.http.replace("http:", "hdfs:")) as fs:
        with pytest.raises(errors.ProtocolViolation, match=f"web port.*{howdah_cluster.uri}$"):
            fs.exists("/")


def test_errors_name_the_paths_that_they_are_about(fs: howdah.FileSystem, here: str) -> None:
    make_ground(fs, here)
    # HDFS takes a directory that is there for made.
    assert list(unnamed(fs, here)) == ["make what is there: no error"]
