"""`howdah mount` of a real cluster, by the real kernel, with the programs that people use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from tests.support.mounts import Mount, mounted, need_fuse

ROOT = "/mounted"
MIB = 1 << 20


@pytest.fixture(scope="module")
def fs(howdah_cluster: MiniCluster) -> Iterator[HdfsFileSystem]:
    with howdah_cluster.connect() as found:
        assert isinstance(found, HdfsFileSystem)
        found.mkdirs(ROOT)
        yield found
        found.delete(ROOT, recursive=True)


@pytest.fixture(scope="module")
def mount(
    howdah_cluster: MiniCluster, fs: HdfsFileSystem, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mount]:
    need_fuse()
    directory = tmp_path_factory.mktemp("mount") / "hdfs"
    with mounted(f"{howdah_cluster.uri}{ROOT}", directory) as found:
        yield found


def test_files_come_in_and_out_whole(mount: Mount, fs: HdfsFileSystem, tmp_path: Path) -> None:
    content = os.urandom(9 * MIB + 17)
    (tmp_path / "source").write_bytes(content)
    mount.run("cp", tmp_path / "source", "copied")
    assert fs.read_bytes(f"{ROOT}/copied") == content
    mount.run("cp", "copied", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == content
    assert mount.run("cat", "copied").stdout == content


def test_a_listing_shows_what_there_is(mount: Mount, fs: HdfsFileSystem) -> None:
    fs.mkdirs(f"{ROOT}/listed/below")
    for number in range(120):
        fs.write_bytes(f"{ROOT}/listed/{number:03}", b"x" * number)
    lines = mount.shell("ls -l listed").splitlines()[1:]
    assert [line.split()[4] for line in lines] == [*map(str, range(120)), "0"]
    assert lines[-1].startswith("drwx")
