"""Routers in front of clusters, as processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from howdah.config import Configuration, keys
from howdah.config.nameservices import rpc_addresses
from howdah.fs.api import FileSystem
from howdah.fs.registry import connect
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

TIMEOUT_S = 60.0


class Routers:
    """One or more routers over one mount table; each cluster is a nameservice."""

    def __init__(
        self,
        directory: Path,
        clusters: Mapping[str, MiniCluster],
        conf: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = directory
        self.conf_dir = directory / "conf"
        """Where routers look for site files; it is empty at first."""
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.addresses: dict[str, str] = {}
        self.admin_addresses: dict[str, str] = {}
        self.http_addresses: dict[str, str] = {}
        values = {
            "dfs.nameservices": ",".join(clusters),
            "dfs.federation.router.store.driver.file.directory": str(directory / "store"),
            "dfs.federation.router.rpc-address": "127.0.0.1:0",
            "dfs.federation.router.admin-address": "127.0.0.1:0",
            "dfs.federation.router.http-address": "127.0.0.1:0",
            "dfs.federation.router.cache.ttl": "1s",
            "dfs.federation.router.heartbeat.interval": "1s",
        }
        for name, cluster in clusters.items():
            values |= _addresses(name, cluster)
        self.values = {**values, **(conf or {})}

    def start(self, name: str = "router") -> str:
        """Start one and wait until it serves; its URI."""
        ready = self.directory / f"{name}.ready"
        ready.unlink(missing_ok=True)
        options = [word for key, value in self.values.items() for word in ("-D", f"{key}={value}")]
        self.conf_dir.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "howdah", "router", "--conf", str(self.conf_dir), *options]
        with (self.directory / f"{name}.log").open("ab") as log:
            process = subprocess.Popen([*command, "--ready-file", str(ready)], stderr=log)
        self._processes[name] = process
        wait_until(
            lambda: ready.exists() or process.poll() is not None, TIMEOUT_S, f"{name} serves"
        )
        assert process.poll() is None, self.log(name)
        told = json.loads(ready.read_text())
        self.addresses[name], self.admin_addresses[name] = told["rpc"], told["admin"]
        self.http_addresses[name] = told["http"]
        return self.uri(name)

    def pid(self, name: str = "router") -> int:
        return self._processes[name].pid

    def uri(self, name: str = "router") -> str:
        return f"hdfs://{self.addresses[name]}"

    def admin_conf(self, name: str = "router") -> Configuration:
        """The configuration of administrators of one router."""
        return Configuration(
            {**self.values, "dfs.federation.router.admin-address": self.admin_addresses[name]}
        )

    def connect(
        self, name: str = "router", user: str | None = None, *, real_user: str | None = None
    ) -> FileSystem:
        return connect(self.uri(name), conf=Configuration({}), user=user, real_user=real_user)

    def log(self, name: str = "router") -> str:
        return (self.directory / f"{name}.log").read_text(errors="replace")

    def kill(self, name: str) -> None:
        """`kill -9`; it is gone on return."""
        process = self._processes.pop(name)
        process.kill()
        process.wait(TIMEOUT_S)

    def close(self) -> None:
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.wait(TIMEOUT_S)
        self._processes.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _addresses(name: str, cluster: MiniCluster) -> dict[str, str]:
    """The keys that tell a router where the namenodes of a cluster are."""
    own = cluster.conf.get(keys.DFS_NAMESERVICES)
    found = rpc_addresses(cluster.conf, own[0] if own else None)
    if list(found) == [""]:
        host, port = found[""]
        return {f"dfs.namenode.rpc-address.{name}": f"{host}:{port}"}
    values = {f"dfs.ha.namenodes.{name}": ",".join(found)}
    for namenode, (host, port) in found.items():
        values[f"dfs.namenode.rpc-address.{name}.{namenode}"] = f"{host}:{port}"
    return values
