"""A datanode with several namenodes, all as real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import howdah
from howdah.config import Configuration
from howdah.namenode.server.process.format import format_namenode
from howdah.testing.waiting import wait_until


class Servers:
    """Processes of one test, with their logs."""

    def __init__(self, base: Path, stack: ExitStack) -> None:
        self._base = base
        self._stack = stack
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, role: str, values: dict[str, str]) -> None:
        command = [sys.executable, "-m", "howdah", role]
        command += [part for key, value in values.items() for part in ("-D", f"{key}={value}")]
        command += ["--ready-file", str(self._base / f"{name}.ready")]
        log = self._stack.enter_context((self._base / f"{name}.log").open("wb"))
        environment = {key: value for key, value in os.environ.items() if key != "HADOOP_CONF_DIR"}
        process = subprocess.Popen(command, stderr=log, env=environment)
        self._running[name] = process
        self._stack.callback(process.wait, 30)
        self._stack.callback(process.terminate)

    def stop(self, name: str) -> None:
        self._running[name].terminate()
        self._running[name].wait(30)
        (self._base / f"{name}.ready").unlink()

    def ready(self, name: str) -> dict[str, str]:
        """What the server says of itself, once it can serve."""
        path = self._base / f"{name}.ready"
        wait_until(path.exists, what=f"{name} is ready")
        told: dict[str, str] = json.loads(path.read_text())
        return told

    def log(self, name: str) -> str:
        return (self._base / f"{name}.log").read_text()

    def namenode(self, name: str, cluster_id: str) -> None:
        values = {
            "dfs.namenode.name.dir": (self._base / name).as_uri(),
            "fs.defaultFS": "hdfs://127.0.0.1:0",
            "dfs.namenode.http-address": "127.0.0.1:0",
        }
        format_namenode(Configuration(values), cluster_id=cluster_id)
        self.start(name, "namenode", values)


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    with ExitStack() as stack:
        yield Servers(tmp_path, stack)


def write_and_read(uri: str, data: bytes) -> bytes:
    conf = Configuration({"dfs.replication": "1"})
    with howdah.connect(uri, conf=conf) as fs:
        with fs.create("/file", overwrite=True) as out:
            out.write(data)
        with fs.open("/file") as source:
            return source.read()


def test_one_datanode_serves_two_nameservices_and_is_refused_by_a_third(
    servers: Servers, tmp_path: Path
) -> None:
    clusters = {"east": "CID-1", "west": "CID-1", "north": "CID-2"}
    for name, cluster_id in clusters.items():
        servers.namenode(name, cluster_id)
    addresses = {name: servers.ready(name)["rpc"] for name in clusters}
    datanode = {
        "dfs.nameservices": "east,west",
        "dfs.datanode.data.dir": (tmp_path / "data").as_uri(),
        "dfs.datanode.address": "127.0.0.1:0",
        "dfs.datanode.ipc.address": "127.0.0.1:0",
        "dfs.heartbeat.interval": "1",
    } | {f"dfs.namenode.rpc-address.{name}": rpc for name, rpc in addresses.items()}
    servers.start("datanode", "datanode", datanode)
    servers.ready("datanode")
    for name in ("east", "west"):
        assert write_and_read(f"hdfs://{addresses[name]}", name.encode()) == name.encode()
    # Started anew with a nameservice whose cluster is not the one of its directories.
    servers.stop("datanode")
    servers.start("datanode", "datanode", datanode | {"dfs.nameservices": "north,east,west"})
    servers.ready("datanode")
    wait_until(lambda: "nameservice north is not served" in servers.log("datanode"))
    assert "Incompatible clusterIDs" in servers.log("datanode")
    # It is ready with the first of them; the other one may still send clients to its former port.
    knows = [f"registered with namenode {addresses[name]}" for name in ("east", "west")]
    wait_until(lambda: all(line in servers.log("datanode") for line in knows))
    for name in ("east", "west"):
        assert write_and_read(f"hdfs://{addresses[name]}", b"again") == b"again"
