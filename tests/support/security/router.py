"""Hadoop's router in secure mode, before a secured cluster of Hadoop's.

Its delegation tokens are in ZooKeeper, its mount table in files: all of the namespace is the
cluster's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import howdah
from howdah.config import Configuration
from howdah.errors import HowdahError
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.router.state.table.mount_table import Destination, MountEntry
from howdah.router.store.factory import store_at
from howdah.testing.waiting import wait_until
from tests.support.security.kdc import REALM
from tests.support.security.secured_hadoop import SecuredHadoop, client_settings
from tests.support.security.servers import START_S, HadoopServers, free_port, write_site_files
from tests.support.zookeeper import zookeeper_server

_MAIN: Final = "org.apache.hadoop.hdfs.server.federation.router.DFSRouter"
_STORE: Final = "org.apache.hadoop.hdfs.server.federation.store.driver.impl.StateStoreFileImpl"
ROUTER: Final = "dfs.federation.router"
NAMENODE_SETTINGS: Final = {
    # A router asks namenodes how they are, by a protocol that is for namenodes alone else.
    "hadoop.security.authorization": "false",
    "hadoop.proxyuser.router.hosts": "*",
    "hadoop.proxyuser.router.users": "*",
}
"""What the cluster needs that stands behind it."""


class SecuredRouter:
    """Runs until it is closed. It acts for users as router/localhost."""

    def __init__(self, directory: Path, jars: str, hadoop: SecuredHadoop) -> None:
        """Raises NoZooKeeper."""
        self.hadoop = hadoop
        self.rpc_port, self.admin_port = free_port(), free_port()
        self._held = ExitStack()
        self._servers = HadoopServers(directory, jars, hadoop.kdc.environment)
        (directory / "webapps" / "router").mkdir(parents=True)
        try:
            host, port = self._held.enter_context(zookeeper_server(directory / "zookeeper"))
            self.conf = {**hadoop.conf, **self._settings(directory, f"{host}:{port}")}
            store = store_at(directory / "store")
            store.prepare()
            store.add_mount(MountEntry("/", (Destination("ns", "/"),)))
            store.close()
            write_site_files(directory / "conf", self.conf)
            self._servers.start("router", _MAIN, directory / "conf")
            wait_until(self._is_up, timeout_s=START_S)
        except BaseException:
            self.close()
            raise

    @property
    def uri(self) -> str:
        return f"hdfs://localhost:{self.rpc_port}"

    def client_conf(self, **protection: str) -> dict[str, str]:
        """What a client is given: routers and namenodes have principals of their own."""
        own = {
            "fs.defaultFS": self.uri,
            "dfs.namenode.kerberos.principal.pattern": f"router/*@{REALM}",
            f"{ROUTER}.admin-address": f"localhost:{self.admin_port}",
            f"{ROUTER}.kerberos.principal": f"router/_HOST@{REALM}",
        }
        return {**client_settings(self.hadoop.conf, protection), **own}

    def connect(
        self, user: str = "alice", conf: Mapping[str, str] | None = None, **protection: str
    ) -> HdfsFileSystem:
        """A client that logs in by the user's keytab."""
        values = Configuration({**self.client_conf(**protection), **(conf or {})})
        keytab, principal = str(self.hadoop.kdc.keytab(user)), f"{user}@{REALM}"
        fs = howdah.connect(self.uri, conf=values, keytab=keytab, principal=principal)
        assert isinstance(fs, HdfsFileSystem)
        return fs

    def log(self) -> str:
        return self._servers.log("router")

    def close(self) -> None:
        self._servers.close()
        self._held.close()

    def _is_up(self) -> bool:
        self._servers.check()
        with contextlib.suppress(HowdahError, OSError), self.connect() as fs:
            return fs.exists("/user/alice")
        return False

    def _settings(self, directory: Path, zookeeper: str) -> dict[str, str]:
        keytab = str(self.hadoop.kdc.services_keytab)
        namenode = f"localhost:{self.hadoop.rpc_port}"
        return {
            "dfs.nameservices": "ns",
            "dfs.namenode.rpc-address.ns": namenode,
            "dfs.namenode.http-address.ns": f"localhost:{self.hadoop.http_port}",
            f"{ROUTER}.keytab.file": keytab,
            f"{ROUTER}.kerberos.principal": f"router/localhost@{REALM}",
            f"{ROUTER}.rpc-address": f"localhost:{self.rpc_port}",
            f"{ROUTER}.rpc-bind-host": "localhost",
            f"{ROUTER}.admin-address": f"localhost:{self.admin_port}",
            f"{ROUTER}.http.enable": "false",
            f"{ROUTER}.handler.count": "4",
            f"{ROUTER}.monitor.namenode": "ns",
            f"{ROUTER}.heartbeat.interval": "500",
            f"{ROUTER}.cache.ttl": "500",
            f"{ROUTER}.safemode.enable": "false",
            f"{ROUTER}.default.nameserviceId": "ns",
            f"{ROUTER}.store.driver.class": _STORE,
            f"{ROUTER}.store.driver.file.directory": str(directory / "store"),
            "zk-dt-secret-manager.zkConnectionString": zookeeper,
            "zk-dt-secret-manager.zkAuthType": "none",
            "zk-dt-secret-manager.znodeWorkingPath": "zkdtsm",
        }
