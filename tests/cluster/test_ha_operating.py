"""What docs/operating.md says of several namenodes, done while clients work."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from howdah import connect
from howdah.cli.main import main
from howdah.fs.api import FileSystem
from howdah.local.cluster import LocalCluster
from howdah.local.layout import Layout
from howdah.local.nameservice import Nameservice
from howdah.local.ports import Ports
from howdah.testing import MiniCluster
from howdah.testing.forked import Forked
from howdah.testing.waiting import wait_until
from tests.support.failover import server_faults
from tests.support.failover.write_ledger import MOST_CHUNKS, FileWriter, LogWriter, Manifest, Reader

TIMEOUT_S = 60.0
WRITERS = 2
A_FILE = MOST_CHUNKS + 4
"""Acknowledgements of one file at most, from its creation to its deletion."""
# Clients that wait for the restart of a namenode, or of a datanode that says that it comes back,
# as long as the test does, on a busy machine.
PATIENT = {
    "ipc.client.connect.max.retries": round(TIMEOUT_S),
    "dfs.client.datanode-restart.timeout": round(TIMEOUT_S),
}


@contextmanager
def working(connect: Callable[[], FileSystem], directory: str) -> Iterator[Manifest]:
    """Writers and readers at work meanwhile, who lose nothing and fail at nothing."""
    manifest = Manifest()
    clients = [
        FileWriter("writer", connect, manifest, 1, directory),
        LogWriter("log", connect, manifest, 1, f"{directory}/log"),
        Reader("reader", connect, manifest, 1),
    ]
    for client in clients:
        client.start()
    try:
        wait_until(
            lambda: len(manifest.by_client()) == WRITERS, TIMEOUT_S, "all writers have begun"
        )
        yield manifest
        go_on(manifest)
    finally:
        for client in clients:
            client.stop()
        for client in clients:
            client.join(TIMEOUT_S)
    assert manifest.failures == []
    with connect() as fs:
        manifest.verify(fs)


def go_on(manifest: Manifest) -> None:
    """Return when each writer has been answered again, and has finished the file that it was at:
    while one goes on, another may still be looking for a place for its block, and asks only for
    datanodes that it was not refused by."""
    before = manifest.by_client()

    def have_gone_on() -> bool:
        now = manifest.by_client()
        return all(now[name] > count + A_FILE for name, count in before.items())

    wait_until(lambda: have_gone_on() or manifest.failures, TIMEOUT_S, "clients go on")
    assert manifest.failures == []


def has_ended(servers: LocalCluster, name: str) -> bool:
    return not servers.is_running(name)


def run(layout: Layout, name: str, *arguments: str) -> None:
    conf_dir = str(layout.server_conf_dir(name))
    assert main([arguments[0], "--conf", conf_dir, *arguments[1:]]) == 0


@pytest.mark.req("FS-049", "FS-052", "LM-008", "LM-012")
def test_one_namenode_becomes_three_while_clients_work(tmp_path: Path) -> None:
    with MiniCluster(datanodes=2, dir=tmp_path, conf=PATIENT) as single:
        before = single._cluster.layout
        ports = Ports()
        planned = Nameservice.plan(ports, 3, zookeeper=False, settings={})
        (old,) = before.namenodes
        first = replace(planned.namenodes[0], rpc=old.rpc, http=old.http)
        nameservice = replace(planned, namenodes=(first, *planned.namenodes[1:]))
        layout = replace(before, served_by=nameservice)
        pids = {node.name: single._cluster.pids[node.name] for node in before.datanodes}
        servers = LocalCluster(layout, Forked.shared(), pids)
        with working(single.connect, "/to-three") as manifest:
            try:
                # 1. The journal nodes.
                shutil.copytree(tmp_path / "conf", tmp_path / "old-conf")
                layout.save()
                servers.start(nameservice.shared_names)
                servers.wait_ready(nameservice.shared_names)
                # 2. The namenode is the first of a nameservice now.
                single.stop("namenode")
                (tmp_path / "namenode" / "name").rename(tmp_path / "namenode0" / "name")
                run(layout, "namenode0", "namenode", "-initializeSharedEdits")
                servers.start(["namenode0", "zkfc0"])
                go_on(manifest)
                # 3. The others.
                for number in (1, 2):
                    run(layout, f"namenode{number}", "namenode", "-bootstrapStandby")
                    servers.start([f"namenode{number}", f"zkfc{number}"])
                # 4. Datanodes, one after the other.
                for node in layout.datanodes:
                    # Writers wait for one that says that it comes back.
                    ipc = f"{node.host}:{node.ipc_port}"
                    run(layout, "namenode0", "dfsadmin", "-shutdownDatanode", ipc, "upgrade")
                    wait_until(partial(has_ended, servers, node.name), TIMEOUT_S)
                    servers.start([node.name])
                    wait_until(partial(servers.is_ready, node.name), TIMEOUT_S)
                    # A writer that was refused by this one asks only for others until its
                    # block has its place: it must have that before the other one goes.
                    go_on(manifest)
                servers.wait_ready(layout.names)
                assert sorted(servers.ha_states().values()) == ["active", "standby", "standby"]
            except BaseException:
                servers.stop(list(servers.pids))
                raise
        # 5. Clients with the new files, to whom a failover is nothing.
        try:
            with connect(layout.uri, conf=layout.client_conf()) as fs:
                servers.kill(["namenode0"])
                manifest.verify(fs)
                fs.mkdirs("/on-three")
        finally:
            servers.stop(list(servers.pids))


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=2, namenodes=2) as cluster:
        yield cluster


@pytest.mark.req("FS-052", "LM-012")
def test_everything_is_restarted_in_turn_while_clients_work(cluster: MiniCluster) -> None:
    with working(cluster.connect, "/rolling") as manifest:
        for number in range(3):
            cluster.restart(f"journalnode{number}")
            assert main(["dfsadmin", "--conf", str(cluster.conf_dir), "-rollEdits"]) == 0
            go_on(manifest)
        for number in range(2):
            cluster.restart(f"zkfc{number}")
        for _ in range(2):
            (standby,) = set(cluster.ha_states()) - {cluster.active()}
            cluster.restart(standby)
            server_faults.fail_over(cluster, standby)
            go_on(manifest)


@pytest.mark.req("FS-061", "FS-172", "LM-015")
def test_a_journal_node_whose_disk_is_lost_is_replaced(cluster: MiniCluster) -> None:
    lost, other = (cluster.data_dirs(f"journalnode{n}")[0] / "howdah/current" for n in (2, 0))
    with working(cluster.connect, "/replaced") as manifest:
        cluster.kill("journalnode2")
        shutil.rmtree(cluster.data_dirs("journalnode2")[0])
        go_on(manifest)
        # By hand, as for nodes of Hadoop's.
        (lost / "paxos").mkdir(parents=True)
        for name in ("VERSION", "last-promised-epoch"):
            shutil.copy(other / name, lost / name)
        cluster.restart("journalnode2")
        assert main(["dfsadmin", "--conf", str(cluster.conf_dir), "-rollEdits"]) == 0
        wait_until(lambda: list(lost.glob("edits_inprogress_*")), TIMEOUT_S)
        # It is one of a majority from now on.
        cluster.kill("journalnode1")
        go_on(manifest)
        cluster.restart("journalnode1")
