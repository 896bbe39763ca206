"""A federation whose members come and go for good: a namenode and a datanode that stay dead,
and a namespace that is added to datanodes under load."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from howdah import connect
from howdah.config import Configuration
from howdah.formats.version import NamenodeVersion
from howdah.fs.api import FileSystem
from howdah.local.nameservice import Nameservice
from howdah.local.ports import Ports
from howdah.namenode.server.process.format import format_namenode
from howdah.storage.layout import StorageDirectory
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.failover.writers import Writer

pytestmark = [pytest.mark.req("FS-043", "FS-045", "FS-046"), pytest.mark.timeout(300)]

DATANODES = ("datanode0", "datanode1", "datanode2")
# Dead is who was silent for twice the recheck interval and ten heartbeats.
CONF: dict[str, str | int] = {
    "dfs.replication": 2,
    "dfs.heartbeat.interval": "200ms",
    "dfs.namenode.heartbeat.recheck-interval": "500ms",
    "dfs.namenode.redundancy.interval.seconds": "200ms",
    "dfs.client.retry.window.base": "10",
    "ipc.client.connect.max.retries": 1,
}


@pytest.fixture
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=3, nameservices=["a", "b"], conf=CONF, timeout_s=90) as cluster:
        yield cluster


def names_of(fs: FileSystem, path: str) -> set[str]:
    """Addresses of the datanodes that have the file's one block."""
    (block,) = fs.block_locations(path)
    return set(block.names)


def test_blocks_are_replicated_anew_while_the_namenode_of_another_namespace_stays_dead(
    cluster: MiniCluster,
) -> None:
    dead = cluster.process("datanode0").addresses["data"]
    paths = [f"/kept/{number}" for number in range(10)]

    def is_replicated_anew(fs: FileSystem, path: str) -> bool:
        names = names_of(fs, path)
        return len(names) == 2 and dead not in names

    with cluster.connect(nameservice="b") as other, other.create("/kept") as out:
        out.write(b"b")
    with cluster.connect(nameservice="a") as fs:
        for number, path in enumerate(paths):
            with fs.create(path, favored_nodes=[dead] if number % 2 else ()) as out:
                out.write(path.encode())
        wait_until(lambda: all(len(names_of(fs, path)) == 2 for path in paths), 60)
        had_one_there = [path for path in paths if dead in names_of(fs, path)]
        assert had_one_there
        with Writer(cluster.connect) as writer:
            cluster.kill("namenode1")
            writer.go_on()
            cluster.kill("datanode0")
            for path in had_one_there:
                wait_until(functools.partial(is_replicated_anew, fs, path), 90, path)
            writer.go_on()
        # What was written meanwhile is whole too, and none of it counts on the dead one.
        for path in (*paths, *writer.written):
            wait_until(functools.partial(is_replicated_anew, fs, path), 90, path)
        assert all(fs.read_bytes(path) == path.encode() for path in paths)
    # A datanode that comes back meanwhile is taken in by the namenode that lives.
    cluster.restart("datanode0")
    with cluster.connect(nameservice="a") as fs:
        with fs.create("/again", favored_nodes=[dead]) as out:
            out.write(b"again")
        wait_until(lambda: dead in names_of(fs, "/again"), 60)
    cluster.restart("namenode1")
    with cluster.connect(nameservice="b") as other:
        assert other.read_bytes("/kept") == b"b"


# --- a third namespace ---


@contextlib.contextmanager
def third(cluster: MiniCluster) -> Iterator[dict[str, str]]:
    """The namenode of a new nameservice c, as an operator sets it up: a configuration, a
    format under the cluster's id, a process. What clients and datanodes are to be told."""
    first = StorageDirectory(cluster.data_dirs("namenode0")[0]).read_version(NamenodeVersion)
    (planned,) = Nameservice.plan_all(Ports(), ("c",), 1, zookeeper=False, settings={})
    planned = replace(planned, namenodes=(replace(planned.namenodes[0], name="namenode2"),))
    told = {**planned.client_values(), "dfs.nameservices": "a,b,c"}
    directory = cluster.dir / "namenode2"
    conf = Configuration(
        {
            **dict(cluster._cluster.layout.server_conf("namenode0").items()),
            **told,
            **planned.namenode_values("namenode2"),
            "hadoop.tmp.dir": str(directory / "tmp"),
            "dfs.namenode.name.dir": (directory / "name").as_uri(),
        }
    )
    (directory / "conf").mkdir(parents=True)
    (directory / "conf" / "core-site.xml").write_text(conf.to_xml())
    version = format_namenode(conf, cluster_id=first.cluster_id)
    assert version.block_pool_id != first.block_pool_id
    ready = directory / "ready"
    command = [sys.executable, "-m", "howdah", "namenode", "--conf", str(directory / "conf")]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen([*command, "--ready-file", str(ready)], stderr=log)
    try:
        wait_until(lambda: ready.exists() or process.poll() is not None, 60, "it serves")
        assert process.poll() is None, (directory / "log").read_text(errors="replace")
        assert json.loads(ready.read_text())
        yield told
    finally:
        process.terminate()
        process.wait(60)


def tell(cluster: MiniCluster, datanode: str, values: dict[str, str]) -> None:
    """Add values to the files of a datanode's configuration, and have it look at them."""
    path = cluster.dir / datanode / "conf" / "hdfs-site.xml"
    known = dict(cluster._cluster.layout.server_conf(datanode).items())
    fresh = {**known, **values}
    path.write_text(
        Configuration({k: v for k, v in fresh.items() if k.startswith("dfs.")}).to_xml()
    )
    command = [sys.executable, "-m", "howdah", "dfsadmin", "-refreshNamenodes"]
    done = subprocess.run(
        [*command, cluster.process(datanode).addresses["ipc"]],
        env={**os.environ, "HADOOP_CONF_DIR": str(cluster.conf_dir)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_third_namespace_is_added_to_datanodes_under_load(cluster: MiniCluster) -> None:
    before = [cluster.process(name).pid for name in DATANODES]
    with contextlib.ExitStack() as load:
        writers = [
            load.enter_context(Writer(functools.partial(cluster.connect, nameservice=name)))
            for name in "ab"
        ]
        told = load.enter_context(third(cluster))
        conf = Configuration({**dict(cluster.conf.items()), **told})
        for name in DATANODES:
            tell(cluster, name, told)
            for writer in writers:
                writer.go_on()
        with connect("hdfs://c", conf=conf) as fs:
            for number in range(20):
                with fs.create(f"/third/{number}", replication=3) as out:
                    out.write(f"c{number}".encode())
            for number in range(20):
                assert fs.read_bytes(f"/third/{number}") == f"c{number}".encode()
            addresses = {cluster.process(name).addresses["data"] for name in DATANODES}
            wait_until(lambda: names_of(fs, "/third/0") == addresses, 60)
        for writer in writers:
            writer.go_on()
        assert [cluster.process(name).pid for name in DATANODES] == before
        for name in DATANODES:
            assert len(list((cluster.data_dirs(name)[0] / "current").glob("BP-*"))) == 3
