"""Symbolic links through howdah's own client: made, shown, followed."""

from __future__ import annotations

import errno
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.fs.registry import connect
from howdah.fsspec import HowdahFileSystem
from howdah.testing import MiniCluster

ENABLED = "howdah.client.symlinks.enabled"
_numbers = itertools.count()


@pytest.fixture
def fs(howdah_cluster: MiniCluster) -> Iterator[howdah.FileSystem]:
    with connected(howdah_cluster) as fs:
        yield fs


@pytest.fixture
def here(fs: howdah.FileSystem) -> str:
    """A directory of one's own, with a file in a directory."""
    path = f"/symlinks/{next(_numbers)}"
    fs.mkdirs(f"{path}/d")
    touch(fs, f"{path}/d/f", b"content")
    return path


def connected(cluster: MiniCluster, **conf: str) -> howdah.FileSystem:
    values = {ENABLED: "true", **conf}
    return connect(cluster.uri, conf=Configuration.load(cluster.conf_dir, values))


def touch(fs: howdah.FileSystem, path: str, content: bytes = b"") -> None:
    with fs.create(path) as out:
        out.write(content)


def read(fs: howdah.FileSystem, path: str) -> bytes:
    with fs.open(path) as file:
        return bytes(file.read())


def test_links_are_not_made_unless_that_is_enabled(howdah_cluster: MiniCluster, here: str) -> None:
    with howdah_cluster.connect() as fs:
        assert not fs.supports_symlinks()
        assert not fs.has_path_capability("/", "fs.capability.paths.symlinks")
        with pytest.raises(errors.UnsupportedOperation, match=ENABLED):
            fs.create_symlink("f", f"{here}/l")


def test_a_link_is_shown_as_what_it_is_and_as_what_is_behind(
    fs: howdah.FileSystem, here: str
) -> None:
    assert fs.has_path_capability("/", "fs.capability.paths.symlinks")
    fs.create_symlink("d/f", f"{here}/l")
    link = fs.get_file_link_status(f"{here}/l")
    assert (link.path, link.is_symlink, link.symlink) == (f"{here}/l", True, "d/f")
    assert link.permission_string == "lrwxrwxrwx"
    assert fs.get_link_target(f"{here}/l") == "d/f"
    behind = fs.get_file_status(f"{here}/l")
    assert (behind.path, behind.is_file, behind.length) == (f"{here}/l", True, 7)
    assert behind.file_id == fs.get_file_status(f"{here}/d/f").file_id
    assert [each.is_symlink for each in fs.list_status(here)] == [False, True]
    with pytest.raises(OSError, match="is not a symbolic link"):
        fs.get_link_target(here)


@pytest.mark.parametrize("target", ["d", "{here}/d", "{uri}{here}/d", "../{name}/./d", "d/."])
def test_every_call_goes_through_links(fs: howdah.FileSystem, here: str, target: str) -> None:
    name = here.rpartition("/")[2]
    fs.create_symlink(target.format(here=here, uri=fs.uri, name=name), f"{here}/l")
    below = f"{here}/l"
    assert read(fs, f"{below}/f") == b"content"
    assert [each.path for each in fs.list_status(below)] == [f"{below}/f"]
    assert [each.path for each in fs.glob_status(f"{here}/*/f")] == [f"{here}/d/f", f"{below}/f"]
    assert fs.is_directory(below)
    fs.mkdirs(f"{below}/sub/dir")
    touch(fs, f"{below}/sub/g", b"1")
    with fs.append(f"{below}/sub/g") as out:
        out.write(b"23")
    assert read(fs, f"{here}/d/sub/g") == b"123"
    fs.set_permission(f"{below}/sub/g", 0o600)
    fs.set_xattr(f"{below}/sub/g", "user.a", b"x")
    assert fs.get_xattr(f"{here}/d/sub/g", "user.a") == b"x"
    assert fs.block_locations(f"{below}/f")[0].length == 7
    assert fs.get_file_checksum(f"{below}/f") == fs.get_file_checksum(f"{here}/d/f")
    fs.rename(f"{below}/sub/g", f"{below}/g")
    touch(fs, f"{below}/h", b"4")
    fs.concat(f"{below}/g", [f"{here}/d/h"])
    assert read(fs, f"{here}/d/g") == b"1234"
    assert fs.delete(f"{below}/g")
    assert fs.content_summary(f"{below}/sub").directory_count == 2
    fs.create_symlink("f", f"{below}/m")
    assert fs.get_link_target(f"{here}/d/m") == "f"
    assert read(fs, f"{below}/m") == b"content"


def test_a_file_is_made_behind_a_link_that_leads_to_none_yet(
    fs: howdah.FileSystem, here: str
) -> None:
    fs.create_symlink("new", f"{here}/l")
    assert not fs.exists(f"{here}/l")
    touch(fs, f"{here}/l", b"x")
    assert read(fs, f"{here}/new") == b"x"
    assert fs.get_file_link_status(f"{here}/l").is_symlink


def test_ls_shows_a_link_as_hadoops_does(
    howdah_cluster: MiniCluster,
    fs: howdah.FileSystem,
    here: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fs.create_symlink("d", f"{here}/l")
    assert main(["dfs", "--config", str(howdah_cluster.conf_dir), "-ls", here]) == 0
    link = capsys.readouterr().out.splitlines()[-1]
    assert link.startswith("-rwxrwxrwx   - ")
    assert link.endswith(f" {here}/l")


def test_delete_and_rename_are_about_the_link(fs: howdah.FileSystem, here: str) -> None:
    fs.create_symlink("d", f"{here}/l")
    fs.rename(f"{here}/l", f"{here}/m")
    assert fs.delete(f"{here}/m")
    assert [each.name for each in fs.list_status(here)] == ["d"]
    assert read(fs, f"{here}/d/f") == b"content"


def test_a_loop_of_links_is_given_up(fs: howdah.FileSystem, here: str) -> None:
    fs.create_symlink("b", f"{here}/a")
    fs.create_symlink("a", f"{here}/b")
    for call in (fs.open, fs.get_file_status, fs.list_status, fs.mkdirs):
        with pytest.raises(OSError, match=f"Possible cyclic loop.* {here}/a") as caught:
            call(f"{here}/a")
        assert caught.value.errno == errno.ELOOP
    assert fs.get_link_target(f"{here}/a") == "b"


def test_so_many_links_are_followed_and_no_more(fs: howdah.FileSystem, here: str) -> None:
    for number in range(33):
        fs.create_symlink(f"l{number}" if number else "d", f"{here}/l{number + 1}")
    assert read(fs, f"{here}/l32/f") == b"content"
    with pytest.raises(errors.LinkLoop):
        read(fs, f"{here}/l33/f")


def test_a_link_leads_to_another_filesystem(
    fs: howdah.FileSystem, here: str, tmp_path: Path
) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_bytes(b"local")
    fs.create_symlink(f"file://{tmp_path}", f"{here}/l")
    assert read(fs, f"{here}/l/d/f") == b"local"
    assert [each.path for each in fs.list_status(f"{here}/l/d")] == [f"{here}/l/d/f"]
    touch(fs, f"{here}/l/g", b"to disk")
    assert (tmp_path / "g").read_bytes() == b"to disk"
    fs.rename(f"{here}/l/g", f"{here}/l/h")
    assert (tmp_path / "h").exists()
    with pytest.raises(errors.IllegalArgument, match="file:"):
        fs.rename(f"{here}/d/f", f"{here}/l/f")
    assert fs.delete(f"{here}/l")
    assert (tmp_path / "h").exists()


def test_links_can_be_left_alone(
    howdah_cluster: MiniCluster, fs: howdah.FileSystem, here: str
) -> None:
    fs.create_symlink("d", f"{here}/l")
    with connected(howdah_cluster, **{"fs.client.resolve.remote.symlinks": "false"}) as other:
        assert other.get_link_target(f"{here}/l") == "d"
        with pytest.raises(errors.UnresolvedLink, match=r"fs\.client\.resolve\.remote\.symlinks"):
            other.get_file_status(f"{here}/l/f")


def test_fsspec_shows_links_and_follows_them(
    howdah_cluster: MiniCluster, fs: howdah.FileSystem, here: str
) -> None:
    fs.create_symlink("d/f", f"{here}/l")
    host, _, port = howdah_cluster.uri.removeprefix("hdfs://").partition(":")
    other = HowdahFileSystem(host, int(port))
    listed = {each["name"]: each for each in other.ls(here)}
    assert (listed[f"{here}/l"]["type"], listed[f"{here}/l"]["destination"]) == ("link", "d/f")
    assert other.info(f"{here}/l")["type"] == "file"
    assert other.cat_file(f"{here}/l") == b"content"


def test_the_shell_removes_a_link_to_nothing(
    howdah_cluster: MiniCluster, fs: howdah.FileSystem, here: str
) -> None:
    fs.create_symlink("nothing", f"{here}/l")
    assert main(["dfs", "-fs", howdah_cluster.uri, "-rm", f"{here}/l"]) == 0
    assert [status.path for status in fs.list_status(here)] == [f"{here}/d"]
