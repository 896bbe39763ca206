"""A highly available HDFS of this project's servers that changes from SIMPLE to Kerberos, server by
server."""

from __future__ import annotations

import enum
import getpass
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import howdah
from howdah.config import Configuration
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.secured_hadoop import WITHOUT_KERBEROS
from tests.support.security.secured_quorum import NAMENODES, SecuredQuorum


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
    ) -> None:
        self.phases: dict[str, Phase] = {}
        super().__init__(
            directory,
            "",
            kdc,
            {"hadoop.security.auth_to_local": _RULES, **(conf or {})},
            journal_nodes=journal_nodes,
            datanodes=datanodes,
            has_controllers=has_controllers,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """All servers, in the order in which they change: those that others call go first."""
        controllers = ("zkfc1", "zkfc2") if self._has_controllers else ()
        return (*self.journal_nodes, *self.datanodes, *NAMENODES, *controllers)

    def change(self, name: str, phase: Phase) -> None:
        """Restart a server with another configuration."""
        self.servers.stop(name)
        if not name.startswith("zkfc"):  # It has the configuration of its namenode.
            self.phases[name] = phase
            self._write_files_of(name)
        self.start(name)

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

    def _conf_of(self, name: str) -> Mapping[str, str]:
        phase = self.phases.get(name.replace("zkfc", "nn"), Phase.SIMPLE)
        if phase is Phase.SIMPLE:
            return simple_part(self.conf)
        return {**self.conf, TRANSITION: str(phase is Phase.BOTH).lower()}
