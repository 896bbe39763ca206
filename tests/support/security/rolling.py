"""A highly available HDFS of this project's servers that changes from SIMPLE to Kerberos, server by
server."""

from __future__ import annotations

import enum
import getpass
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

import howdah
from howdah.config import Configuration
from howdah.failover.state.service import ServiceState
from howdah.fs.hdfs.administration import DatanodeAdministration
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing.waiting import wait_until
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.secured_hadoop import WITHOUT_KERBEROS
from tests.support.security.secured_quorum import NAMENODES, SecuredQuorum
from tests.support.security.servers import START_S, free_port


class Phase(enum.Enum):
    """What a server of such a cluster is configured for."""

    SIMPLE = "simple"
    BOTH = "both"
    KERBEROS = "kerberos"


TRANSITION: Final = "howdah.security.transition"
_FALLBACK: Final = {"ipc.client.fallback-to-simple-auth-allowed": "true"}
_SUPERUSER: Final = getpass.getuser()
_RULES: Final = " ".join(
    [
        *(f"RULE:[2:$1@$0]({name}@{REALM})s/.*/{_SUPERUSER}/" for name in ("nn", "dn", "jn")),
        f"RULE:[1:$1@$0](hdfs@{REALM})s/.*/{_SUPERUSER}/",
        "DEFAULT",
    ]
)
"""All servers are the user who runs them, who is the superuser without Kerberos. So is `hdfs`."""
_OF_KERBEROS: Final = {
    **WITHOUT_KERBEROS,
    "hadoop.rpc.protection": "authentication",
    "dfs.block.access.token.enable": "false",
}
"""What servers and clients without Kerberos have in place of what others have."""


def simple_part(conf: Mapping[str, str]) -> dict[str, str]:
    """The configuration of a server or a client that has not changed yet."""
    return {**conf, **_OF_KERBEROS}


class RollingQuorum(SecuredQuorum):
    """Begins without Kerberos. `change` restarts a server for another phase."""

    def __init__(
        self,
        directory: Path,
        kdc: Kdc,
        conf: Mapping[str, str] | None = None,
        *,
        journal_nodes: int = 3,
        datanodes: int = 3,
        has_controllers: bool = False,
        phases: Mapping[str, Phase] | None = None,
    ) -> None:
        """`phases` are those of the servers that begin with another one than SIMPLE."""
        self.phases = dict(phases or {})
        self._data_ports: dict[str, tuple[int, int]] = {}
        super().__init__(
            directory,
            "",
            kdc,
            {"hadoop.security.auth_to_local": _RULES, **(conf or {})},
            journal_nodes=journal_nodes,
            datanodes=datanodes,
            has_controllers=has_controllers,
        )

    def change(self, name: str, phase: Phase) -> None:
        """Restart a server with another configuration."""
        if name in self.datanodes:
            self._stop_for_restart(name)
        else:
            self.servers.stop(name)
        if not name.startswith("zkfc"):  # It has the configuration of its namenode.
            self.phases[name] = phase
            self._write_files_of(name)
        is_back = self._sign_of(name)
        self.start(name)
        wait_until(is_back, START_S, f"{name} is back")
        self.servers.check()

    def change_all(self, phase: Phase, each: Callable[[], object] = lambda: None) -> None:
        """One after the other, in the order of the guide; `each` is called behind each."""
        for name in (*self.journal_nodes, *self.datanodes):
            self.change(name, phase)
            each()
        active = self.active()
        assert active is not None
        standby = next(name for name in NAMENODES if name != active)
        self._change_namenode(standby, phase)
        each()
        self._make_active(standby)
        each()
        self._change_namenode(active, phase)
        each()

    def _change_namenode(self, name: str, phase: Phase) -> None:
        self.change(name, phase)
        if self.has_controllers:
            self.change(name.replace("nn", "zkfc"), phase)

    def _make_active(self, name: str) -> None:
        if not self.has_controllers:
            self.fail_over()
            return
        controller = self.controller(name)
        try:
            controller.fail_over_to_it()
        finally:
            controller.close()
        wait_until(lambda: self.state(name) is ServiceState.ACTIVE, START_S, f"{name} is active")

    def _sign_of(self, name: str) -> Callable[[], bool]:
        """What is true when a server that is about to start takes part again."""
        if name in self.journal_nodes:
            # A namenode writes to it again.
            before_s = time.time()
            return lambda: any(
                path.stat().st_mtime > before_s
                for path in (self.directory / name).rglob("edits_inprogress_*")
            )
        if name in self.datanodes:
            registered = "registered with namenode"
            before = self.log(name).count(registered)
            return lambda: self.log(name).count(registered) >= before + len(NAMENODES)
        if name in NAMENODES:
            return lambda: self.state(name) is ServiceState.STANDBY
        return lambda: self.listens(name.replace("zkfc", "nn"), "zkfc")

    # -- clients -----------------------------------------------------------------------

    def simple_client(self, user: str = "alice") -> HdfsFileSystem:
        """A client that never heard of Kerberos."""
        conf = Configuration(simple_part(self.conf))
        fs = howdah.connect(self.uri, conf=conf, user=user)
        assert isinstance(fs, HdfsFileSystem)
        return fs

    def changing_client(self, user: str = "alice") -> HdfsFileSystem:
        """A client that shows a ticket where one is asked for."""
        return self.connect(user, rpc="privacy", data="privacy")

    def secured_client(self, user: str = "alice") -> HdfsFileSystem:
        """A client that calls no server without Kerberos."""
        never = dict.fromkeys(_FALLBACK, "false")
        return self.connect(user, never, rpc="privacy", data="privacy")

    def client_conf(self, **protection: str) -> dict[str, str]:
        return {**super().client_conf(**protection), **_FALLBACK}

    # -- how it is made ----------------------------------------------------------------

    def _stop_for_restart(self, datanode: str) -> None:
        """Writers are told that it comes back."""
        address = "localhost", self._data_ports[datanode][1]
        with closing(DatanodeAdministration(address, self.caller("hdfs"))) as administration:
            administration.shutdown(for_upgrade=True)
        self.servers.wait(datanode)

    def _own_settings(self, name: str) -> dict[str, str]:
        mine = super()._own_settings(name)
        if name not in self.datanodes:
            return mine
        # It is where it was when it comes back.
        data, ipc = self._data_ports.setdefault(name, (free_port(), free_port()))
        return {
            **mine,
            "dfs.datanode.address": f"localhost:{data}",
            "dfs.datanode.ipc.address": f"localhost:{ipc}",
        }

    def _conf_of(self, name: str) -> Mapping[str, str]:
        phase = self.phases.get(name.replace("zkfc", "nn"), Phase.SIMPLE)
        if phase is Phase.SIMPLE:
            return simple_part(self.conf)
        return {**self.conf, TRANSITION: str(phase is Phase.BOTH).lower()}
