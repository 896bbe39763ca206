"""A secondary namenode and its namenode, over real sockets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from howdah.config import Configuration
from howdah.namenode.secondary import SecondaryServer
from howdah.testing import MiniCluster

CONF = {"dfs.namenode.num.extra.edits.retained": "0"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=1, conf=CONF) as cluster:
        yield cluster


def namenode_current(cluster: MiniCluster) -> Path:
    return cluster.data_dirs("namenode")[0] / "current"


def images(current: Path) -> list[str]:
    return sorted(path.name for path in current.glob("fsimage_*") if not path.suffix)


def conf_of(cluster: MiniCluster, where: Path, **more: str) -> Configuration:
    values = {
        **dict(cluster.conf.items()),
        **CONF,
        "dfs.namenode.http-address": cluster.http.removeprefix("http://"),
        "dfs.namenode.checkpoint.dir": (where / "2nn").as_uri(),
        **more,
    }
    return Configuration(values)


@contextmanager
def secondary(cluster: MiniCluster, where: Path, **more: str) -> Iterator[SecondaryServer]:
    server = SecondaryServer(conf_of(cluster, where, **more))
    try:
        yield server
    finally:
        server.close()


@pytest.mark.req("FS-031", "FS-033")
def test_merged_image_is_kept_and_is_the_namenodes(cluster: MiniCluster, tmp_path: Path) -> None:
    with cluster.connect() as fs, secondary(cluster, tmp_path) as server:
        for number in range(3):
            fs.mkdirs(f"/kept/{number}")
            txid = server.secondary.checkpoint()
        name = f"fsimage_{txid:019d}"
        ours, theirs = tmp_path / "2nn" / "current", namenode_current(cluster)
        assert images(ours)[-1] == images(theirs)[-1] == name
        assert (ours / name).read_bytes() == (theirs / name).read_bytes()
        cluster.restart("namenode")
        assert len(list(fs.list_status("/kept"))) == 3
