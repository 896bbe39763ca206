"""Checkpoints of a running namenode: by fork, on request and by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

CONF = {
    "dfs.namenode.checkpoint.txns": "20",
    "dfs.namenode.checkpoint.check.period": "1s",
    "dfs.namenode.num.extra.edits.retained": "0",
}


def images(cluster: MiniCluster) -> list[str]:
    return sorted(path.name for path in current(cluster).glob("fsimage_*[0-9]"))


def current(cluster: MiniCluster) -> Path:
    (directory,) = cluster.dir.glob("namenode/*/current")
    return directory


@pytest.mark.req("FS-031")
def test_a_namenode_starts_from_the_image_that_it_made_by_itself(tmp_path: Path) -> None:
    with MiniCluster(datanodes=1, dir=tmp_path, conf=CONF) as cluster, cluster.connect() as fs:
        for number in range(30):
            fs.mkdirs(f"/d{number}")
        wait_until(lambda: images(cluster)[-1] > "fsimage_0000000000000000020", timeout_s=60)
        fs.mkdirs("/after")
        cluster.restart("namenode")
        assert len(list(fs.list_status("/"))) == 31
