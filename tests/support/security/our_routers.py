"""Routers of this project's in secure mode, before a secured cluster of anybody's.

They share one state store: a directory, or what a configuration says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

import howdah
from howdah.config import Configuration
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.router.state.table.mount_table import Destination, MountEntry
from howdah.router.store.factory import store_at, store_place
from howdah.testing.waiting import wait_until
from tests.support.security.kdc import REALM
from tests.support.security.secured_hadoop import SecuredHadoop, client_settings
from tests.support.security.secured_pair import SecuredPair
from tests.support.security.secured_quorum import SecuredQuorum
from tests.support.security.servers import START_S, HadoopServers, free_port, write_site_files

ROUTER: Final = "dfs.federation.router"


class OurRouters:
    """They run until they are closed, and act for users as router/localhost."""

    def __init__(
        self,
        directory: Path,
        cluster: SecuredHadoop | SecuredPair | SecuredQuorum,
        conf: Mapping[str, str] | None = None,
    ) -> None:
        """`conf` is the routers' beside the usual."""
        self.directory = directory
        self.cluster = cluster
        self._servers = HadoopServers(directory, "", cluster.kdc.environment)
        self.ports: dict[str, int] = {}
        self.admin_ports: dict[str, int] = {}
        self.conf = {**cluster.conf, **self._settings(), **(conf or {})}
        store = store_at(store_place(Configuration(self.conf)))
        store.prepare()
        store.add_mount(MountEntry("/", (Destination("ns", "/"),)))
        store.close()

    def conf_dir(self, name: str) -> Path:
        return self.directory / f"conf-{name}"

    def start(self, name: str = "router", conf: Mapping[str, str] | None = None) -> Self:
        """Start one, and wait until it serves. Raises AssertionError where it ends."""
        self.begin(name, conf)
        ready = self.conf_dir(name) / "ready"
        wait_until(lambda: self._is_ready(ready), timeout_s=START_S)
        return self

    def begin(self, name: str = "router", conf: Mapping[str, str] | None = None) -> None:
        """Start one at the ports that it had, if it had any."""
        self.ports.setdefault(name, free_port())
        self.admin_ports.setdefault(name, free_port())
        own = {
            f"{ROUTER}.rpc-address": f"localhost:{self.ports[name]}",
            f"{ROUTER}.admin-address": f"localhost:{self.admin_ports[name]}",
        }
        write_site_files(self.conf_dir(name), {**self.conf, **own, **(conf or {})})
        ready = self.conf_dir(name) / "ready"
        ready.unlink(missing_ok=True)
        self._servers.start_ours(name, "router", self.conf_dir(name), "--ready-file", str(ready))

    def kill(self, name: str) -> None:
        self._servers.kill(name)

    def log(self, name: str = "router") -> str:
        return self._servers.log(name)

    def has_ended(self) -> bool:
        """Whether one that was started has ended by itself."""
        try:
            self._servers.check()
        except AssertionError:
            return True
        return False

    def uri(self, name: str = "router") -> str:
        return f"hdfs://localhost:{self.ports[name]}"

    def http_address(self, name: str = "router") -> str:
        told = json.loads((self.conf_dir(name) / "ready").read_text())
        return str(told["http"])

    def client_conf(self, name: str = "router", **protection: str) -> dict[str, str]:
        """What a client is given: routers and namenodes have principals of their own."""
        own = {
            "fs.defaultFS": self.uri(name),
            "dfs.namenode.kerberos.principal.pattern": f"router/*@{REALM}",
            f"{ROUTER}.admin-address": f"localhost:{self.admin_ports[name]}",
            f"{ROUTER}.kerberos.principal": f"router/_HOST@{REALM}",
        }
        return {**client_settings(self.cluster.conf, protection), **own}

    def connect(
        self,
        user: str = "alice",
        name: str = "router",
        conf: Mapping[str, str] | None = None,
        **protection: str,
    ) -> HdfsFileSystem:
        """A client that logs in by the user's keytab."""
        values = Configuration({**self.client_conf(name, **protection), **(conf or {})})
        keytab, principal = str(self.cluster.kdc.keytab(user)), f"{user}@{REALM}"
        fs = howdah.connect(self.uri(name), conf=values, keytab=keytab, principal=principal)
        assert isinstance(fs, HdfsFileSystem)
        return fs

    def close(self) -> None:
        self._servers.close()

    def _is_ready(self, ready: Path) -> bool:
        self._servers.check()
        return ready.exists()

    def _settings(self) -> dict[str, str]:
        cluster, namenodes = self.cluster, dict[str, str]()
        if isinstance(cluster, SecuredHadoop):
            namenodes = {
                "dfs.nameservices": "ns",
                "dfs.namenode.rpc-address.ns": f"localhost:{cluster.rpc_port}",
                "dfs.namenode.http-address.ns": f"localhost:{cluster.http_port}",
            }
        return {
            **namenodes,
            "dfs.journalnode.kerberos.principal": f"jn/_HOST@{REALM}",
            f"{ROUTER}.keytab.file": str(self.cluster.kdc.services_keytab),
            f"{ROUTER}.kerberos.principal": f"router/_HOST@{REALM}",
            f"{ROUTER}.http-address": "localhost:0",
            f"{ROUTER}.heartbeat.interval": "500ms",
            f"{ROUTER}.cache.ttl": "500ms",
            f"{ROUTER}.store.driver.file.directory": str(self.directory / "store"),
        }
