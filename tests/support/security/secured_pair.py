"""Apache's HDFS in secure mode, highly available: two namenodes and a datanode of Hadoop's.

Its pages are reached over TLS alone, and block tokens are of the protobuf form. Failovers are
manual, and the namenodes share a directory instead of journal nodes.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import howdah
from howdah.config import Configuration
from howdah.errors import HowdahError
from howdah.failover.namenodes import Namenode
from howdah.failover.settings import targets
from howdah.failover.state.service import RequestSource, ServiceState
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.local import certificates
from howdah.security.identity import user_of
from howdah.testing.waiting import wait_until
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.secured_hadoop import (
    client_settings,
    datanode_settings,
    make_homes,
    security_settings,
)
from tests.support.security.servers import (
    DATANODE,
    NAMENODE,
    START_S,
    HadoopServers,
    free_port,
    write_site_files,
)

NAMESERVICE: Final = "ns"
NAMENODES: Final = ("nn1", "nn2")
_CALL_S: Final = 30.0


class SecuredPair:
    """Runs until it is closed; the KDC is the caller's. `nn1` is active at first."""

    def __init__(self, directory: Path, jars: str, kdc: Kdc) -> None:
        self.directory = directory
        self.kdc = kdc
        self.rpc_ports = {name: free_port() for name in NAMENODES}
        self.https_ports = {name: free_port() for name in NAMENODES}
        self._servers = HadoopServers(directory, jars, kdc.environment)
        self.tls = directory / "tls"
        certificates.make(self.tls, ())
        (directory / "secret").write_text("a secret of this test alone\n")
        self.conf = self._settings()
        self.conf_dir = directory / "conf"
        self._write_files()
        try:
            first = self._conf_dir("nn1")
            self._servers.run("format", NAMENODE, first, "-format", "-nonInteractive")
            shutil.copytree(directory / "nn1", directory / "nn2")
            for name in NAMENODES:
                self._servers.start(name, NAMENODE, self._conf_dir(name))
            self._servers.start("datanode", DATANODE, self.conf_dir)
            wait_until(self._is_up, timeout_s=START_S)
        except BaseException:
            self.close()
            raise

    @property
    def uri(self) -> str:
        return f"hdfs://{NAMESERVICE}"

    def log(self, server: str) -> str:
        return self._servers.log(server)

    def client_conf(self, **protection: str) -> dict[str, str]:
        """What a client is given, with how it finds the certificates."""
        mine = client_settings(self.conf, protection)
        return {**mine, **certificates.client_settings(self.tls)}

    def connect(
        self, user: str = "alice", conf: Mapping[str, str] | None = None, **protection: str
    ) -> HdfsFileSystem:
        """A client that logs in by the user's keytab."""
        values = Configuration({**self.client_conf(**protection), **(conf or {})})
        keytab, principal = str(self.kdc.keytab(user)), f"{user}@{REALM}"
        fs = howdah.connect(self.uri, conf=values, keytab=keytab, principal=principal)
        assert isinstance(fs, HdfsFileSystem)
        return fs

    def fail_over(self) -> str:
        """Make the standby active, and return its name."""
        active = self.active()
        other = next(name for name in NAMENODES if name != active)
        self._order(active, ServiceState.STANDBY)
        self._order(other, ServiceState.ACTIVE)
        return other

    def active(self) -> str:
        return next(name for name in NAMENODES if self._state(name) is ServiceState.ACTIVE)

    def close(self) -> None:
        self._servers.close()

    def _namenode(self, name: str) -> Namenode:
        conf = Configuration(self.client_conf())
        user = user_of(conf, keytab=str(self.kdc.keytab("hdfs")), principal=f"hdfs@{REALM}")
        return Namenode(targets(conf, NAMESERVICE)[name], _CALL_S, user)

    def _state(self, name: str) -> ServiceState:
        namenode = self._namenode(name)
        try:
            return namenode.status().state
        finally:
            namenode.close()

    def _order(self, name: str, state: ServiceState) -> None:
        namenode = self._namenode(name)
        try:
            if state is ServiceState.ACTIVE:
                namenode.make_active(RequestSource.USER)
            else:
                namenode.make_standby(RequestSource.USER)
        finally:
            namenode.close()

    def _is_up(self) -> bool:
        self._servers.check()
        try:
            states = [self._state(name) for name in NAMENODES]
            if ServiceState.ACTIVE not in states:
                self._order("nn1", ServiceState.ACTIVE)
            with self.connect("hdfs") as fs:
                if not fs.datanode_report("live") or fs.set_safe_mode("get"):
                    return False
                make_homes(fs)
                return True
        except ConnectionError:
            return False
        except HowdahError as error:
            raise AssertionError(f"{error}\n{self.log('nn1')[-3000:]}") from error

    def _conf_dir(self, name: str) -> Path:
        return self.directory / f"conf-{name}"

    def _write_files(self) -> None:
        own = {name: self._conf_dir(name) for name in NAMENODES}
        for name, conf_dir in own.items():
            mine = {
                "dfs.ha.namenode.id": name,
                "dfs.namenode.name.dir": f"file://{self.directory}/{name}",
            }
            write_site_files(conf_dir, {**self.conf, **mine})
        write_site_files(self.conf_dir, self.conf)
        for conf_dir in (*own.values(), self.conf_dir):
            certificates.lay_beside(self.tls, conf_dir, for_server=True)

    def _settings(self) -> dict[str, str]:
        addresses: dict[str, str] = {}
        for name in NAMENODES:
            whose = f"{NAMESERVICE}.{name}"
            addresses[f"dfs.namenode.rpc-address.{whose}"] = f"localhost:{self.rpc_ports[name]}"
            addresses[f"dfs.namenode.https-address.{whose}"] = f"localhost:{self.https_ports[name]}"
        return {
            "fs.defaultFS": self.uri,
            "dfs.nameservices": NAMESERVICE,
            f"dfs.ha.namenodes.{NAMESERVICE}": ",".join(NAMENODES),
            f"dfs.client.failover.proxy.provider.{NAMESERVICE}": (
                "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
            ),
            **addresses,
            "dfs.namenode.shared.edits.dir": f"file://{self.directory}/shared",
            "dfs.ha.fencing.methods": "shell(/bin/true)",
            "dfs.ha.standby.checkpoints": "false",
            "dfs.ha.tail-edits.period": "1",
            "dfs.http.policy": "HTTPS_ONLY",
            "dfs.block.access.token.protobuf.enable": "true",
            **datanode_settings(self.directory),
            **security_settings(self.kdc, self.directory / "secret"),
        }
