"""Pools and directives go from our namenode to Hadoop's and back, by image and by log."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster

pytestmark = [pytest.mark.timeout(240), pytest.mark.req("FS-041"), pytest.mark.req("FS-042")]


def directives(fs: HdfsFileSystem) -> list[tuple[int, str, int, str]]:
    return [(d.directive_id, d.path, d.replication, d.pool) for d in fs.list_cache_directives()]


@pytest.mark.parametrize("by_image", [True, False], ids=["image", "log"])
def test_pools_and_directives_go_to_hadoops_namenode_and_come_back(
    hadoop_tools: Callable[..., None], tmp_path: Path, by_image: bool
) -> None:
    with MiniCluster(datanodes=1, dir=tmp_path / "cluster") as cluster:
        fs = cluster.connect()
        assert isinstance(fs, HdfsFileSystem)
        fs.add_cache_pool("first", owner="ann", group="staff", mode=0o750, limit_bytes=77)
        fs.add_cache_directive("/gone", "first")
        fs.add_cache_directive("/a", "first", replication=2, ttl_ms=3_600_000)
        fs.modify_cache_directive(2, path="/b", ttl_ms=7_200_000)
        fs.remove_cache_directive(1)
        fs.add_cache_pool("second", owner="bob", group="staff")
        fs.modify_cache_pool("second", mode=0o700)
        fs.add_cache_pool("third", group="staff")
        fs.remove_cache_pool("third")
        if by_image:
            fs.set_safe_mode("enter")
            fs.administration.save_namespace()
            fs.set_safe_mode("leave")
        expiry_ms = fs.list_cache_directives()[0].expiry_ms
        fs.close()
        cluster.kill("namenode")
        cluster.stop("datanode0")
        (name_dir,) = cluster.data_dirs("namenode")
        shutil.copytree(name_dir, tmp_path / "theirs" / "name")
        hadoop_tools("start", tmp_path / "theirs")
        try:
            hadoop_tools("cached", tmp_path / "said", "zeta")
        finally:
            hadoop_tools("stop")
        pools, listed = (
            (tmp_path / "said").read_text().splitlines()[:3],
            [line.split() for line in (tmp_path / "said").read_text().splitlines()[3:]],
        )
        assert [line.split()[0] for line in pools] == ["first", "second", "zeta"]
        assert pools[0] == f"first ann staff {0o750} 77"
        assert pools[1] == f"second bob staff {0o700} {(1 << 63) - 1}"
        assert listed == [["2", "/b", "2", "first"], ["3", "/of/zeta", "3", "zeta"]]

        shutil.rmtree(name_dir)
        shutil.copytree(tmp_path / "theirs" / "name", name_dir)
        (name_dir / "in_use.lock").unlink(missing_ok=True)
        cluster.start("namenode")
        cluster.wait_ready()
        with cluster.connect() as fs:
            assert isinstance(fs, HdfsFileSystem)
            assert directives(fs) == [(2, "/b", 2, "first"), (3, "/of/zeta", 3, "zeta")]
            assert fs.list_cache_directives(directive_id=2)[0].expiry_ms == expiry_ms
            first = fs.list_cache_pools()[0]
            assert (first.owner, first.group, first.mode) == ("ann", "staff", 0o750)
            assert first.limit_bytes == 77
            assert fs.add_cache_directive("/next", "second", force=True) == 4
