"""A highly available HDFS in secure mode, whose namenodes share a log on journal nodes. The servers
of each kind are this project's or Hadoop's."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

import howdah
from howdah.config import Configuration
from howdah.errors import HowdahError, NoDatanodes
from howdah.failover.namenodes import Controller, Namenode
from howdah.failover.settings import targets
from howdah.failover.state.service import RequestSource, ServiceState
from howdah.fs.hdfs.filesystem import HdfsFileSystem
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
    CONTROLLER,
    DATANODE,
    JOURNALNODE,
    NAMENODE,
    START_S,
    HadoopServers,
    free_port,
    write_site_files,
)

NAMESERVICE: Final = "ns"
NAMENODES: Final = ("nn1", "nn2")
KINDS: Final = frozenset({"namenode", "journalnode", "datanode"})
_CALL_S: Final = 30.0
_MAIN: Final = {
    "namenode": NAMENODE,
    "journalnode": JOURNALNODE,
    "datanode": DATANODE,
    "zkfc": CONTROLLER,
}


class SecuredQuorum:
    """Runs until it is closed; the KDC is the caller's. `nn1` is active at first."""

    def __init__(
        self,
        directory: Path,
        jars: str,
        kdc: Kdc,
        conf: Mapping[str, str] | None = None,
        *,
        hadoops: Collection[str] = (),
        journal_nodes: int = 3,
        datanodes: int = 1,
        has_controllers: bool = False,
        java_options: Sequence[str] = (),
    ) -> None:
        """`hadoops` are the kinds of servers that are Hadoop's. Controllers are ours unless `zkfc`
        is among these, and are elected on journal nodes, or on the ZooKeeper of `conf`, which
        Hadoop's need. Without journal nodes namenodes share a directory. `java_options` are those
        of Hadoop's servers, beside the usual ones."""
        self.directory = directory
        self.kdc = kdc
        self.hadoops = frozenset(hadoops)
        self.journal_nodes = tuple(f"jn{number + 1}" for number in range(journal_nodes))
        self.datanodes = tuple(f"dn{number + 1}" for number in range(datanodes))
        self.has_controllers = has_controllers
        self.ports = {
            name: {what: free_port() for what in ("rpc", "http", "zkfc")}
            for name in (*NAMENODES, *self.journal_nodes)
        }
        self.servers = HadoopServers(directory, jars, kdc.environment, java_options)
        (directory / "secret").write_text("a secret of this test alone\n")
        self.conf = {**self._settings(), **(conf or {})}
        self.conf_dir = directory / "conf"
        self._write_files()
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def _make(self) -> None:
        for name in self.journal_nodes:
            self.start(name)
        wait_until(lambda: all(map(self.listens, self.journal_nodes)), timeout_s=START_S)
        first = self.conf_dir_of("nn1")
        if "namenode" in self.hadoops:
            self.servers.run("format", NAMENODE, first, "-format", "-nonInteractive")
        else:
            self.servers.run_ours("format", "namenode", first, "-format")
        shutil.copytree(self.directory / "nn1", self.directory / "nn2")
        for name in (*NAMENODES, *self.datanodes):
            self.start(name)
        if self.has_controllers:
            wait_until(self._namenodes_answer, timeout_s=START_S)
            if "ha.zookeeper.quorum" in self.conf:
                self.servers.run_ours("formatzk", "zkfc", first, "-formatZK", "-nonInteractive")
            self.start("zkfc1")
            wait_until(lambda: self.active() == "nn1", timeout_s=START_S)
            self.start("zkfc2")
            wait_until(
                lambda: all(self.listens(name, "zkfc") for name in NAMENODES), timeout_s=START_S
            )
        wait_until(self._is_up, timeout_s=START_S)

    # -- servers -----------------------------------------------------------------------

    def start(self, name: str) -> None:
        """Start a server: `nn1`, `jn1`, `dn1`, `zkfc1` and so on."""
        kind = {"nn": "namenode", "jn": "journalnode", "dn": "datanode", "zk": "zkfc"}[name[:2]]
        if kind in self.hadoops:
            self.servers.start(name, _MAIN[kind], self.conf_dir_of(name))
        else:
            self.servers.start_ours(name, kind, self.conf_dir_of(name))

    def kill(self, name: str) -> None:
        self.servers.kill(name)

    def restart_ended(self, name: str) -> None:
        """Start a server again that ends by itself."""
        self.servers.wait(name)
        self.start(name)

    def log(self, name: str) -> str:
        return self.servers.log(name)

    def close(self) -> None:
        self.servers.close()

    def conf_dir_of(self, name: str) -> Path:
        """A controller has the configuration of its namenode."""
        return self.directory / f"conf-{name.replace('zkfc', 'nn')}"

    # -- clients -----------------------------------------------------------------------

    @property
    def uri(self) -> str:
        return f"hdfs://{NAMESERVICE}"

    def client_conf(self, **protection: str) -> dict[str, str]:
        """What a client is given; see `client_settings`."""
        return client_settings(self.conf, protection)

    def connect(
        self, user: str = "alice", conf: Mapping[str, str] | None = None, **protection: str
    ) -> HdfsFileSystem:
        """A client that logs in by the user's keytab."""
        values = Configuration({**self.client_conf(**protection), **(conf or {})})
        keytab, principal = str(self.kdc.keytab(user)), f"{user}@{REALM}"
        fs = howdah.connect(self.uri, conf=values, keytab=keytab, principal=principal)
        assert isinstance(fs, HdfsFileSystem)
        return fs

    # -- roles -------------------------------------------------------------------------

    def active(self) -> str | None:
        return next((n for n in NAMENODES if self.state(n) is ServiceState.ACTIVE), None)

    def state(self, name: str) -> ServiceState | None:
        """None of one that does not answer."""
        namenode = self.namenode(name)
        try:
            return namenode.status().state
        except ConnectionError:
            return None
        finally:
            namenode.close()

    def order(self, name: str, state: ServiceState) -> None:
        """As an administrator does where no controllers decide."""
        namenode = self.namenode(name)
        try:
            if state is ServiceState.ACTIVE:
                namenode.make_active(RequestSource.USER)
            else:
                namenode.make_standby(RequestSource.USER)
        finally:
            namenode.close()

    def fail_over(self) -> str:
        """Make the standby active, and return its name."""
        active = self.active()
        assert active is not None
        other = next(name for name in NAMENODES if name != active)
        self.order(active, ServiceState.STANDBY)
        self.order(other, ServiceState.ACTIVE)
        return other

    def kill_active(self) -> str:
        """Kill the active, and return the name of the other one, which is active then."""
        active = self.active()
        assert active is not None
        other = next(name for name in NAMENODES if name != active)
        self.kill(active)
        if self.has_controllers:
            wait_until(lambda: self.state(other) is ServiceState.ACTIVE, timeout_s=60)
        else:
            self.order(other, ServiceState.ACTIVE)
        return other

    def namenode(self, name: str, user: str = "hdfs") -> Namenode:
        conf = Configuration(self.client_conf(rpc="privacy"))
        return Namenode(targets(conf, NAMESERVICE)[name], _CALL_S, self.caller(user))

    def controller(self, name: str, user: str = "hdfs") -> Controller:
        conf = Configuration(self.client_conf(rpc="privacy"))
        return Controller(targets(conf, NAMESERVICE)[name], _CALL_S, self.caller(user))

    def caller(self, user: str) -> str:
        """A user, or `nn/localhost` and its like, who makes calls of his own by a ticket."""
        conf = Configuration(self.client_conf(rpc="privacy"))
        keytab = self.kdc.services_keytab if "/" in user else self.kdc.keytab(user)
        return user_of(conf, keytab=str(keytab), principal=f"{user}@{REALM}")

    # -- how it is made ----------------------------------------------------------------

    def _namenodes_answer(self) -> bool:
        self.servers.check()
        return all(self.state(name) is not None for name in NAMENODES)

    def listens(self, name: str, what: str = "rpc") -> bool:
        """Whether somebody listens at a port of a server."""
        self.servers.check()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.ports[name][what])) == 0

    def _is_up(self) -> bool:
        self.servers.check()
        try:
            if self.active() is None:
                if not self.has_controllers:
                    self.order("nn1", ServiceState.ACTIVE)
                return False
            with self.connect("hdfs", rpc="privacy", data="privacy") as fs:
                live = fs.datanode_report("live")
                are_there = sum(bool(node.capacity) for node in live) == len(self.datanodes)
                if not are_there or fs.set_safe_mode("get"):
                    return False
                make_homes(fs)
                # A standby tells of datanodes, too, which the active may not have heard of.
                fs.write_bytes("/is-up", b"data", overwrite=True)
                return True
        except (ConnectionError, NoDatanodes):
            return False
        except HowdahError as error:
            raise AssertionError(f"{error}\n{self.log('nn1')[-3000:]}") from error

    def _write_files(self) -> None:
        write_site_files(self.conf_dir, self.conf)
        for name in (*NAMENODES, *self.journal_nodes, *self.datanodes):
            self._write_files_of(name)

    def _write_files_of(self, name: str) -> None:
        mine = {**self._conf_of(name), **self._own_settings(name)}
        write_site_files(self.conf_dir_of(name), mine)

    def _conf_of(self, name: str) -> Mapping[str, str]:
        """What a server shares with others."""
        return self.conf

    def _own_settings(self, name: str) -> dict[str, str]:
        if name in NAMENODES:
            return {
                "dfs.ha.namenode.id": name,
                "dfs.namenode.name.dir": f"file://{self.directory}/{name}",
            }
        if name in self.journal_nodes:
            return {
                "dfs.journalnode.edits.dir": f"{self.directory}/{name}",
                "dfs.journalnode.rpc-address": f"localhost:{self.ports[name]['rpc']}",
                "dfs.journalnode.http-address": f"localhost:{self.ports[name]['http']}",
            }
        return {"dfs.datanode.data.dir": f"file://{self.directory}/{name}"}

    def _settings(self) -> dict[str, str]:
        addresses: dict[str, str] = {}
        for name in NAMENODES:
            whose, ports = f"{NAMESERVICE}.{name}", self.ports[name]
            addresses[f"dfs.namenode.rpc-address.{whose}"] = f"localhost:{ports['rpc']}"
            addresses[f"dfs.namenode.http-address.{whose}"] = f"localhost:{ports['http']}"
            addresses[f"dfs.ha.zkfc.port.{whose}"] = str(ports["zkfc"])
        keytab = str(self.kdc.services_keytab)
        nodes = ";".join(f"localhost:{self.ports[name]['rpc']}" for name in self.journal_nodes)
        shared = f"qjournal://{nodes}/{NAMESERVICE}" if nodes else f"file://{self.directory}/shared"
        return {
            "fs.defaultFS": self.uri,
            "dfs.nameservices": NAMESERVICE,
            f"dfs.ha.namenodes.{NAMESERVICE}": ",".join(NAMENODES),
            f"dfs.client.failover.proxy.provider.{NAMESERVICE}": (
                "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
            ),
            **addresses,
            "dfs.namenode.shared.edits.dir": shared,
            "dfs.ha.automatic-failover.enabled": str(self.has_controllers).lower(),
            "dfs.ha.fencing.methods": "shell(/bin/true)",
            "dfs.ha.standby.checkpoints": "false",
            "dfs.ha.tail-edits.in-progress": "true",
            "dfs.ha.tail-edits.period": "100ms",
            "dfs.client.failover.sleep.base.millis": "100",
            "dfs.client.failover.sleep.max.millis": "1000",
            **datanode_settings(self.directory),
            **security_settings(self.kdc, self.directory / "secret"),
            "dfs.journalnode.kerberos.principal": f"jn/_HOST@{REALM}",
            "dfs.journalnode.keytab.file": keytab,
            "dfs.journalnode.kerberos.internal.spnego.principal": f"HTTP/_HOST@{REALM}",
            "dfs.namenode.kerberos.internal.spnego.principal": f"HTTP/_HOST@{REALM}",
            # Its pages need no TLS then.
            "ignore.secure.ports.for.testing": "true",
        }
