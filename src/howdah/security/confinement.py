"""What the principals of datanodes and journal nodes may do, which is not what their users may
(shell: reads a configuration).

`auth_to_local` makes one user of the servers of a cluster, as Hadoop's guides have it, and that is
the superuser. Hadoop takes whoever has the keytab of any datanode for the superuser, from any
host. Here

1. a datanode speaks the protocols of datanodes, and a journal node that of journal nodes, and
   neither makes any other call, at no server;
2. over HTTP neither reads files, nor is it an administrator;
3. what is for servers (images, segments) has rules of its own.

A configuration names one principal of each kind: those of another cluster are not confined.

A principal that is that of another kind of server as well, or of the balancer or the mover, is not
confined: in a cluster whose servers have one principal nobody can tell them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.value_types import Key
from howdah.protocol.rpc import protocol_info
from howdah.protocol.sasl.principals import HOST_PLACEHOLDER, Principal
from howdah.security.server_principals import configured, is_of_kind

_SERVERS: Final = "org.apache.hadoop.hdfs.server.protocol."
OF_DATANODES: Final = frozenset(
    (
        f"{_SERVERS}DatanodeProtocol",
        f"{_SERVERS}DatanodeLifelineProtocol",
        f"{_SERVERS}InterDatanodeProtocol",
        protocol_info.PROTOCOL,
    )
)
OF_JOURNAL_NODES: Final = frozenset(
    ("org.apache.hadoop.hdfs.qjournal.protocol.InterQJournalProtocol", protocol_info.PROTOCOL)
)
CONFINED: Final[tuple[Key[str | None], ...]] = (
    keys.DFS_DATANODE_KERBEROS_PRINCIPAL,
    keys.DFS_JOURNALNODE_KERBEROS_PRINCIPAL,
)
"""Whose principals are confined. A server that lacks a key confines none of that kind."""
_FREE: Final[Sequence[Key[str | None]]] = (
    keys.DFS_NAMENODE_KERBEROS_PRINCIPAL,
    keys.DFS_SECONDARY_NAMENODE_KERBEROS_PRINCIPAL,
    keys.DFS_FEDERATION_ROUTER_KERBEROS_PRINCIPAL,
    keys.DFS_BALANCER_KERBEROS_PRINCIPAL,
    keys.DFS_MOVER_KERBEROS_PRINCIPAL,
)


@dataclass(frozen=True, slots=True)
class _Kind:
    """Principals of servers, and the protocols that they speak."""

    principal: Principal
    protocols: frozenset[str]


@dataclass(frozen=True, slots=True)
class Confinement:
    """Of the servers of one cluster; without `kinds` nobody is confined."""

    kinds: tuple[_Kind, ...] = ()

    @classmethod
    def from_configuration(cls, conf: Configuration) -> Confinement:
        """Raises InvalidConfiguration for a principal that is none, and for one to confine that
        has no realm: nobody's would be like it."""
        free = configured(conf, _FREE)
        for key in CONFINED:
            for principal in configured(conf, (key,)):
                if not principal.realm:
                    raise errors.InvalidConfiguration(
                        f"{key.name} = {principal} (from {conf.source(key.name)}) names no realm, "
                        "so it would confine nobody: write it as "
                        f"{principal.primary}/{HOST_PLACEHOLDER}@REALM"
                    )
        kinds = [
            _Kind(principal, protocols)
            for key, protocols in zip(CONFINED, (OF_DATANODES, OF_JOURNAL_NODES), strict=True)
            for principal in configured(conf, (key,))
            # A principal without host may be a person's.
            if principal.instance and not any(is_of_kind(str(one), principal) for one in free)
        ]
        return cls(tuple(kinds))

    def confines(self, principal: str) -> bool:
        """Whether a principal is that of a server which makes the calls of its kind alone."""
        return any(is_of_kind(principal, kind.principal) for kind in self.kinds)

    def check(self, principal: str, protocol: str) -> None:
        """Raises AuthorizationFailed for a server that has no business with a protocol."""
        mine = [kind for kind in self.kinds if is_of_kind(principal, kind.principal)]
        if mine and not any(protocol in kind.protocols for kind in mine):
            raise errors.AuthorizationFailed(
                f"User {principal} is not authorized for protocol interface {protocol}: it is the "
                f"principal of a server ({', '.join(str(kind.principal) for kind in mine)}), which "
                "speaks the protocols of its kind alone"
            )
