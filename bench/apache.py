"""Hadoop's own namenode and datanodes, as the peer of ours.

They run from the jars of `tests.support.hadoop.jars`, each its own Java process, on
the configuration files that a cluster of ours of the same shape would have: same
ports, same directories, same replication. Everything else is as Hadoop has it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from harness import CACHE, progress

from howdah.config import Configuration, namenode_address
from howdah.errors import HowdahError
from howdah.java import NoJava, find_java_home
from howdah.local.layout import Layout, role_of
from howdah.local.ports import LOOPBACK
from howdah.local.servers import tail
from howdah.proto import client_namenode_pb2 as pb
from howdah.rpc.client import RpcClient
from tests.support.hadoop.jars import NoHadoop, hadoop_class_path

PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
_START_TIMEOUT_S = 120.0
# Else Hadoop says nothing at all, not even why it ends.
_LOGGING = """\
log4j.rootLogger=WARN,err
log4j.appender.err=org.apache.log4j.ConsoleAppender
log4j.appender.err.target=System.err
log4j.appender.err.layout=org.apache.log4j.PatternLayout
log4j.appender.err.layout.ConversionPattern=%d %p %c{1}: %m%n
"""
_MAIN = {
    "namenode": "org.apache.hadoop.hdfs.server.namenode.NameNode",
    "datanode": "org.apache.hadoop.hdfs.server.datanode.DataNode",
}

# A datanode's pages are at a port that nothing asks for, and not at the same one for all.
_ARGUMENTS = {"datanode": ["-D", "dfs.datanode.http.address=127.0.0.1:0"]}


class NoPeer(Exception):
    """There is no Hadoop here to measure against; the message says why."""


def require() -> None:
    """Raise NoPeer where Hadoop's servers cannot run."""
    try:
        hadoop_class_path(CACHE)
        find_java_home()
    except (NoHadoop, NoJava) as error:
        raise NoPeer(error.message) from None


class ApacheCluster:
    """A namenode of Hadoop's and `datanodes` datanodes, as a context manager."""

    def __init__(
        self,
        base: Path,
        datanodes: int,
        *,
        heap: str = "1g",
        values: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
    ) -> None:
        """`heap` bounds each of its processes, `values` are put into its configuration, and
        `options` are Java's, beside."""
        self._options = options
        require()
        self._datanodes = datanodes
        self._heap = heap
        self._java = str(find_java_home() / "bin" / "java")
        self._jars = hadoop_class_path(CACHE)
        planned = Layout.plan(base, datanodes=max(datanodes, 1), values=values)
        # A datanode of Hadoop's is known by the address that it calls from.
        nodes = tuple(replace(node, host=LOOPBACK) for node in planned.datanodes)
        self.layout = replace(planned, datanodes=nodes)
        self.layout.save()
        for name in self.layout.names:
            on_class_path = self.layout.server_conf_dir(name)
            (on_class_path / "log4j.properties").write_text(_LOGGING)
            for pages in ("hdfs", "datanode", "static"):
                # Its web server doesn't start without; the jars don't have the pages.
                (on_class_path / "webapps" / pages).mkdir(parents=True)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def uri(self) -> str:
        return self.layout.uri

    @property
    def conf(self) -> Configuration:
        return self.layout.client_conf()

    @property
    def address(self) -> tuple[str, int]:
        return namenode_address(self.conf)

    def pid(self, name: str) -> int:
        return self._processes[name].pid

    def __enter__(self) -> Self:
        try:
            self._run("namenode", ["-format", "-nonInteractive"]).wait(_START_TIMEOUT_S)
            self.start()
            self._wait()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start the servers on what their directories hold, and do not wait for them."""
        names = self.layout.names[: self._datanodes + 1]
        self._processes = {
            name: self._run(name, _ARGUMENTS.get(role_of(name), [])) for name in names
        }

    def kill(self) -> None:
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait()

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.layout.dir, ignore_errors=True)

    def _run(self, name: str, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        classes = f"{self.layout.server_conf_dir(name)}:{self._jars}"
        with self.layout.log_path(name).open("ab") as output:
            return subprocess.Popen(
                [
                    *(self._java, f"-Xmx{self._heap}", *self._options, "-cp", classes),
                    *(_MAIN[role_of(name)], *arguments),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={k: v for k, v in os.environ.items() if k != "HADOOP_CONF_DIR"},
                start_new_session=True,
            )

    def _wait(self) -> None:
        """Until files can be written: all datanodes are there, and safe mode is over."""
        deadline_s = time.monotonic() + _START_TIMEOUT_S
        client = RpcClient(self.address, PROTOCOL)
        live = pb.GetDatanodeReportRequestProto(type=pb.LIVE)
        safe = pb.SetSafeModeRequestProto(action=pb.SAFEMODE_GET, checked=False)
        try:
            while True:
                try:
                    nodes = client.call(
                        "getDatanodeReport", live, pb.GetDatanodeReportResponseProto
                    ).di
                    in_safe_mode = client.call(
                        "setSafeMode", safe, pb.SetSafeModeResponseProto
                    ).result
                except HowdahError as error:
                    state = str(error)
                else:
                    if len(nodes) >= self._datanodes and not in_safe_mode:
                        return
                    state = f"{len(nodes)} datanodes, safe mode {in_safe_mode}"
                for name, process in self._processes.items():
                    if process.poll() is not None:
                        progress(tail(self.layout.log_path(name)))
                        raise NoPeer(f"Hadoop's {name} ended, its log is above")
                if time.monotonic() > deadline_s:
                    raise NoPeer(f"Hadoop was not ready within {_START_TIMEOUT_S:g} s: {state}")
                time.sleep(0.01)
        finally:
            client.close()
