"""What the authority of an `hdfs://` URI stands for: one namenode, or a nameservice."""

from __future__ import annotations

from dataclasses import dataclass

from howdah import errors
from howdah.config import DEFAULT_NAMENODE_PORT, Configuration, keys
from howdah.config.nameservices import namenode_ids, nameservices, rpc_addresses, value_of
from howdah.config.value_types import Address


@dataclass(frozen=True, slots=True)
class Target:
    """The namenodes of one namespace by their names; a namenode without one has the name ""."""

    nameservice: str | None
    namenodes: dict[str, Address]

    def display_name(self, namenode: str) -> str:
        """A namenode, as messages have it."""
        host, port = self.namenodes[namenode]
        place = f"{host}:{port}"
        return f"{namenode} ({place})" if namenode else place


def target_of(authority: str, conf: Configuration) -> Target:
    """The namenodes behind `host`, `host:port` or the name of a nameservice.

    Raises IllegalArgument for what is no authority, InvalidConfiguration for a nameservice
    whose namenodes have no address.
    """
    host, _, port = authority.rpartition(":") if ":" in authority else (authority, "", "")
    if not host or (port and not (port.isascii() and port.isdigit())):
        raise errors.IllegalArgument(
            f"hdfs://{authority} names no namenode: it must be hdfs://host:port, or "
            f"hdfs://NAME with a name of {keys.DFS_NAMESERVICES.name}"
        )
    if is_logical(host, conf):
        if port:
            raise errors.IllegalArgument(
                f"hdfs://{authority} has a port, and {host} is a nameservice "
                f"({keys.DFS_NAMESERVICES.name}), whose namenodes are configured: "
                f"write hdfs://{host}"
            )
        return Target(host, rpc_addresses(conf, host))
    return Target(None, {"": (host.strip("[]"), int(port) if port else DEFAULT_NAMENODE_PORT)})


def is_logical(host: str, conf: Configuration) -> bool:
    """Whether it is the name of a nameservice rather than a host.

    A nameservice of which the configuration says no more than its name is a host.
    """
    return host in nameservices(conf) and (
        bool(namenode_ids(conf, host))
        or value_of(conf, keys.DFS_NAMENODE_RPC_ADDRESS, host) is not None
    )
