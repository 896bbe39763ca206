"""The namenode's machine is lost: what is left elsewhere, and what can be started from it."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from howdah.config import Configuration
from howdah.fs.api import FileSystem
from howdah.local.nameservice import Namenode
from howdah.namenode.server.process.checkpoint_import import import_checkpoint
from howdah.namenode.server.process.loading import load
from howdah.namenode.server.process.secondary import SecondaryServer
from howdah.testing import MiniCluster


@dataclass
class Lost:
    """A cluster whose namenode is gone with its machine. Before, `/before` was written,
    the secondary made a checkpoint, and `/after` was written."""

    cluster: MiniCluster
    remote: Path
    checkpoints: Path


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lost]:
    tmp = tmp_path_factory.mktemp("takeover")
    local, remote, checkpoints = tmp / "local", tmp / "nfs", tmp / "2nn"
    conf = {"dfs.namenode.name.dir": f"{local.as_uri()},{remote.as_uri()}"}
    with MiniCluster(datanodes=1, conf=conf) as cluster:
        with cluster.connect() as fs:
            write(fs, "/before")
            merge(cluster, checkpoints)
            write(fs, "/after")
        cluster.kill("namenode")
        shutil.rmtree(local)
        yield Lost(cluster, remote, checkpoints)


def write(fs: FileSystem, path: str) -> None:
    with fs.create(path, replication=1) as out:
        out.write(path.encode() * 1000)


def merge(cluster: MiniCluster, checkpoints: Path) -> None:
    """On a machine of its own, with nothing of the namenode's but its addresses."""
    server = SecondaryServer(
        Configuration(
            {
                "fs.defaultFS": cluster.uri,
                "dfs.namenode.http-address": cluster.http.removeprefix("http://"),
                "dfs.namenode.secondary.http-address": "127.0.0.1:0",
                "dfs.namenode.checkpoint.dir": checkpoints.as_uri(),
            }
        )
    )
    try:
        server.secondary.checkpoint()
    finally:
        server.close()


@pytest.mark.req("FS-032", "FS-033", "FS-034")
def test_checkpoint_of_the_secondary_starts_and_lacks_what_came_after(
    lost: Lost, tmp_path: Path
) -> None:
    fresh = tmp_path / "name"
    import_checkpoint(
        Configuration(
            {
                "dfs.namenode.name.dir": fresh.as_uri(),
                "dfs.namenode.checkpoint.dir": lost.checkpoints.as_uri(),
            }
        )
    )
    loaded = load([fresh], [fresh])
    for lock in loaded.locks:
        lock.release()
    names = loaded.namespace.root.sorted_names()
    assert "before" in names
    assert "after" not in names


@pytest.mark.req("FS-029", "FS-030", "FS-035", "FS-049", "LM-009")
def test_namenode_starts_elsewhere_from_a_copy_and_datanodes_and_clients_are_pointed_at_it(
    lost: Lost, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "another machine" / "name"
    shutil.copytree(lost.remote, elsewhere)
    shutil.rmtree(lost.remote)
    cluster = lost.cluster._cluster
    cluster.layout = replace(
        cluster.layout,
        served_by=Namenode("namenode", free_address(), free_address()),
        values={"dfs.namenode.name.dir": elsewhere.as_uri()},
    )
    cluster.layout.save()
    lost.cluster.restart()
    with lost.cluster.connect() as fs:
        for path in ("/before", "/after"):
            with fs.open(path) as file:
                assert file.read() == path.encode() * 1000
        write(fs, "/new")


def free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"
