"""Clusters in which some servers are Hadoop's and the others ours.

`MixedCluster` is a `MiniCluster`; a highly available one has a ZooKeeper, as Hadoop's failover
controllers want one. Servers of either kind have the same configuration files, ports and
directories, so one can take the place of the other.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from howdah.config.value_types import parse_address
from howdah.local.layout import Layout, role_of
from howdah.local.ports import LOOPBACK, Ports
from howdah.local.servers import Spawner
from howdah.runtime.atomic_files import replace_file
from howdah.testing.forked import Forked
from howdah.testing.minicluster import MiniCluster
from howdah.testing.orphan_killer import Guard
from tests.support.hadoop.java import hadoop_java

START_TIMEOUT_S = 120.0
_POLL_S = 0.05
_MAIN = {
    "namenode": "org.apache.hadoop.hdfs.server.namenode.NameNode",
    "datanode": "org.apache.hadoop.hdfs.server.datanode.DataNode",
    "journalnode": "org.apache.hadoop.hdfs.qjournal.server.JournalNode",
    "zkfc": "org.apache.hadoop.hdfs.tools.DFSZKFailoverController",
}
HAADMIN = "org.apache.hadoop.hdfs.tools.DFSHAAdmin"
# Its web servers don't start without these; the jars don't have the pages.
WEB_APPS = ("hdfs", "datanode", "journal", "static")
# A datanode's pages are at a port that nothing asks for.
_ARGUMENTS = {"datanode": ("-D", "dfs.datanode.http.address=127.0.0.1:0")}
LOGGING = """\
log4j.rootLogger=INFO,err
log4j.appender.err=org.apache.log4j.ConsoleAppender
log4j.appender.err.target=System.err
log4j.appender.err.layout=org.apache.log4j.PatternLayout
log4j.appender.err.layout.ConversionPattern=%d %p %c{1}: %m%n
"""


class HadoopSpawner:
    """Starts Hadoop's program for the servers in `hadoop`, and ours for the others.

    A ready file is written for Hadoop's when its port takes connections.
    """

    def __init__(
        self,
        layout: Layout,
        hadoop: Collection[str],
        class_path: str,
        ours: Spawner,
        java_options: Callable[[str], Sequence[str]],
    ) -> None:
        """`java_options` are a server's, by its name, beside the usual ones."""
        self.hadoop = set(hadoop)
        self._java_options = java_options
        self._layout = layout
        self._class_path = class_path
        self._ours = ours
        self._guard = Guard()
        self._started: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, name: str, arguments: Sequence[str], log: Path) -> int:
        if name not in self.hadoop:
            pid = self._ours.start(name, arguments, log)
            self._started.pop(pid, None)  # the number of one that was before
            return pid
        conf_dir = self._layout.server_conf_dir(name)
        (conf_dir / "log4j.properties").write_text(LOGGING)
        for pages in WEB_APPS:
            (conf_dir / "webapps" / pages).mkdir(parents=True, exist_ok=True)
        role = role_of(name)
        command = self.java(name, conf_dir, _MAIN[role], *_ARGUMENTS.get(role, ()))
        with log.open("ab") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={k: v for k, v in os.environ.items() if k != "HADOOP_CONF_DIR"},
                start_new_session=True,
            )
        self._guard.watch(process.pid)
        self._started[process.pid] = process
        threading.Thread(target=self._tell_when_ready, args=(name, process), daemon=True).start()
        return process.pid

    def java(self, name: str, conf_dir: Path, main_class: str, *arguments: str) -> list[str]:
        """The command that runs a class of Hadoop's, for the server or tool `name`."""
        options = self._java_options(name)
        return [*hadoop_java(self._class_path, conf_dir, options=options), main_class, *arguments]

    def exit_status(self, pid: int) -> int | None:
        process = self._started.get(pid)
        return self._ours.exit_status(pid) if process is None else process.poll()

    def close(self) -> None:
        self._guard.close()
        for process in self._started.values():
            process.wait()

    def _tell_when_ready(self, name: str, process: subprocess.Popen[bytes]) -> None:
        addresses = self._addresses(name)
        asked = addresses.get("rpc") or addresses["ipc"]
        deadline = time.monotonic() + START_TIMEOUT_S
        while process.poll() is None and time.monotonic() < deadline:
            try:
                socket.create_connection(parse_address(asked), START_TIMEOUT_S).close()
            except OSError:
                time.sleep(_POLL_S)
                continue
            facts = {"pid": process.pid, "role": role_of(name), **addresses}
            replace_file(self._layout.ready_path(name), json.dumps(facts).encode())
            return

    def _addresses(self, name: str) -> dict[str, str]:
        role = role_of(name)
        if role == "datanode":
            node = self._layout.datanode(name)
            return {"data": f"{node.host}:{node.data_port}", "ipc": f"{node.host}:{node.ipc_port}"}
        if role == "journalnode":
            journal = self._layout.nameservices[0].journalnode(name)
            return {"rpc": journal.rpc, "http": journal.http}
        for namenode in self._layout.namenodes:
            if name == namenode.name:
                return {"rpc": namenode.rpc, "http": namenode.http}
            if name == namenode.controller:
                return {"rpc": f"{namenode.rpc.rpartition(':')[0]}:{namenode.zkfc_port}"}
        raise AssertionError(f"{name} is no server of this layout")


class MixedCluster(MiniCluster):
    """A namenode, or several with a ZooKeeper; `hadoop` names the servers that are Hadoop's."""

    def __init__(
        self,
        class_path: str,
        hadoop: Collection[str],
        *,
        namenodes: int = 2,
        nameservices: Sequence[str] | None = None,
        datanodes: int = 1,
        volumes: int | Sequence[str] = 1,
        conf: Mapping[str, str | int | float | bool] | None = None,
        java_options: Callable[[str], Sequence[str]] = lambda name: (),
        dir: Path | None = None,
        https: bool = False,
    ) -> None:
        self._class_path = class_path
        self._java_options = java_options
        self._hadoop = set(hadoop)
        super().__init__(
            datanodes=datanodes,
            volumes=volumes,
            namenodes=namenodes,
            nameservices=nameservices,
            zookeeper=namenodes > 1,
            conf=conf,
            dir=dir,
            https=https,
            timeout_s=START_TIMEOUT_S,
        )

    def _prepare(self, layout: Layout) -> Layout:
        return on_loopback(layout)

    def _spawner(self, layout: Layout) -> Spawner:
        unknown = self._hadoop - set(layout.names)
        assert not unknown, f"there are no servers {unknown}"
        self._servers = HadoopSpawner(
            layout, self._hadoop, self._class_path, Forked.shared(), self._java_options
        )
        return self._servers

    def exchange(self, name: str, *, is_hadoops: bool) -> None:
        """Stop a server, and start the other kind in its place: same ports, same directories."""
        self.stop(name)
        (self._servers.hadoop.add if is_hadoops else self._servers.hadoop.discard)(name)
        self.start(name)

    def close(self) -> None:
        """Stop everything."""
        super().close()
        self._servers.close()

    def hadoops_haadmin(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Hadoop's `haadmin`; the exit status is not checked."""
        conf_dir = self._cluster.layout.server_conf_dir("namenode0")
        return subprocess.run(
            self._servers.java("haadmin", conf_dir, HAADMIN, *arguments),
            capture_output=True,
            text=True,
            timeout=START_TIMEOUT_S,
            check=False,
        )


def on_loopback(layout: Layout) -> Layout:
    """All datanodes at the one address from which a datanode of Hadoop's calls, and by which its
    namenode knows it; at other ports, since those planned were free at another address."""
    ports = Ports()
    moved = {node.name for node in layout.datanodes if node.host != LOOPBACK}
    return replace(
        layout,
        datanodes=tuple(
            replace(
                node,
                host=LOOPBACK,
                data_port=ports.free(LOOPBACK),
                ipc_port=ports.free(LOOPBACK),
                http_port=ports.free(LOOPBACK),
            )
            if node.name in moved
            else node
            for node in layout.datanodes
        ),
        https={
            name: ports.free(LOOPBACK) if name in moved else port
            for name, port in layout.https.items()
        },
    )
