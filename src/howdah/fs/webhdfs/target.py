"""Where the namenodes behind an authority answer HTTP."""

from __future__ import annotations

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.nameservices import (
    http_addresses,
    https_addresses,
    namenode_ids,
    nameservices,
    value_of,
)
from howdah.runtime.tls.http_policy import Place

_DEFAULT_PORTS = {"webhdfs": 9870, "swebhdfs": 9871}


def namenodes_of(scheme: str, authority: str, conf: Configuration) -> dict[str, Place]:
    """By name; one that is given as `host` or `host:port` has the name "". Raises
    IllegalArgument for what is no authority, InvalidConfiguration for a nameservice whose
    namenodes have no address."""
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        host, port = authority, ""
    if not host or "@" in host or (port and not (port.isascii() and port.isdigit())):
        raise errors.IllegalArgument(
            f"{scheme}://{authority} names no namenode: it must be {scheme}://host:port, or "
            f"{scheme}://NAME with a name of {keys.DFS_NAMESERVICES.name}"
        )
    is_secure = scheme == "swebhdfs"
    if not port and host in nameservices(conf) and _is_configured(host, conf):
        found = (https_addresses if is_secure else http_addresses)(conf, host)
        return {name: Place(is_secure, *address) for name, address in found.items()}
    number = int(port) if port else _DEFAULT_PORTS[scheme]
    return {"": Place(is_secure, host.strip("[]"), number)}


def _is_configured(name: str, conf: Configuration) -> bool:
    own = value_of(conf, keys.DFS_NAMENODE_RPC_ADDRESS, name)
    return bool(namenode_ids(conf, name)) or own is not None
