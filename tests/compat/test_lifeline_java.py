"""Hadoop's datanode sends its lifelines to our namenode while its heartbeats wait."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from howdah.local.layout import Layout
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.hadoop.java import hadoop_java

_MAIN = "org.apache.hadoop.hdfs.server.datanode.DataNode"
# At a port that nothing asks for.
_PAGES = ("-D", "dfs.datanode.http.address=127.0.0.1:0")
_START_S = 90.0


class Relay:
    """Passes bytes on between whoever connects and the namenode, until it is told to wait."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._may_pass = threading.Event()
        self._may_pass.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "{}:{}".format(*self._listener.getsockname())
        threading.Thread(target=self._accept, daemon=True).start()

    def wait(self) -> None:
        """Nothing is passed on from now on; connections stay open."""
        self._may_pass.clear()

    def go_on(self) -> None:
        self._may_pass.set()

    def close(self) -> None:
        self._may_pass.set()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                here, _ = self._listener.accept()
            except OSError:
                return
            there = socket.create_connection(self._target)
            for source, sink in ((here, there), (there, here)):
                threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                self._may_pass.wait()
                sink.sendall(data)
        except OSError:
            return
        finally:
            sink.close()


@contextmanager
def hadoops_datanode(cluster: MiniCluster, class_path: str, relay: str) -> Iterator[None]:
    """In the place of the second one, with its heartbeats through the relay."""
    layout = Layout.load(cluster.dir)
    assert layout is not None
    conf_dir = layout.server_conf_dir("datanode1")
    for pages in ("datanode", "static"):
        (conf_dir / "webapps" / pages).mkdir(parents=True)
    site = conf_dir / "hdfs-site.xml"
    setting = "<property><name>dfs.namenode.servicerpc-address</name><value>{}</value></property>"
    site.write_text(
        site.read_text().replace("</configuration>", f"{setting.format(relay)}</configuration>")
    )
    with (cluster.dir / "hadoop.log").open("ab") as output:
        process = subprocess.Popen(
            [*hadoop_java(class_path, conf_dir), _MAIN, *_PAGES], stdout=output, stderr=output
        )
    try:
        yield
    finally:
        process.kill()
        process.wait()


def test_hadoops_datanode_lives_by_its_lifelines(hadoop_classpath: str) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        lifelines = "{}:{}".format(*probe.getsockname())
    conf = {
        "dfs.namenode.lifeline.rpc-address": lifelines,
        "dfs.namenode.heartbeat.recheck-interval": "1000ms",
        "dfs.heartbeat.interval": "1",
        "dfs.datanode.lifeline.interval.seconds": "2",
    }
    with MiniCluster(datanodes=2, conf=conf) as cluster, cluster.connect() as fs:
        address = cluster.process("datanode1").addresses["data"]
        host, _, port = cluster.process("namenode").addresses["rpc"].rpartition(":")
        cluster.stop("datanode1")
        wait_until(lambda: len(fs.datanode_report("dead")) == 1, 60)
        relay = Relay((host, int(port)))
        with hadoops_datanode(cluster, hadoop_classpath, relay.address):
            wait_until(lambda: len(fs.datanode_report("live")) == 2, _START_S)
            # Of late heartbeats there is a line a minute: this one is not to have it.
            cluster.stop("datanode0")
            relay.wait()
            wait_until(
                lambda: f"{address} lives by a lifeline" in cluster.log("namenode"),
                150,
                "a lifeline of Hadoop's datanode",
            )
            relay.go_on()
            live = {f"{node.ip}:{node.transfer_port}" for node in fs.datanode_report("live")}
            assert address in live
        relay.close()
