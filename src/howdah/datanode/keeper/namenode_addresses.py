"""Which nameservices a datanode reports to, and where their namenodes are.

As DFSUtil.getNNServiceRpcAddressesForCluster in Hadoop reads the configuration:

1. The nameservices are `dfs.internal.nameservices`, else `dfs.nameservices`.
2. The namenodes of nameservice X are `dfs.ha.namenodes.X`; without that key it has one.
3. Namenode Y of X takes calls from datanodes at `dfs.namenode.servicerpc-address.X.Y`, else
   at `dfs.namenode.rpc-address.X.Y`. The one namenode of X has keys that end in `.X`.
4. Without nameservices there is one namespace with one namenode: the same two keys with
   nothing appended, else `fs.defaultFS`.
"""

from __future__ import annotations

from collections.abc import Mapping

from howdah import keys
from howdah.config import Configuration, namenode_address
from howdah.errors import InvalidConfiguration
from howdah.kinds import Address

Nameservices = Mapping[str, tuple[Address, ...]]
"""The addresses of its namenodes for each nameservice; the name is empty where there is none."""

_ADDRESS_KEYS = (keys.DFS_NAMENODE_SERVICERPC_ADDRESS, keys.DFS_NAMENODE_RPC_ADDRESS)


def configured_nameservices(conf: Configuration) -> Nameservices:
    """Raises InvalidConfiguration for a name without an address, or an address with two names."""
    names = conf.get(keys.DFS_NAMESERVICES)
    internal = conf.get(keys.DFS_INTERNAL_NAMESERVICES)
    unknown = [name for name in internal if name not in names]
    if unknown:
        raise InvalidConfiguration(
            f"{keys.DFS_INTERNAL_NAMESERVICES.name} names {', '.join(unknown)}, "
            f"which is not in {keys.DFS_NAMESERVICES.name} ({', '.join(names) or 'empty'})"
        )
    if not names:
        service = conf.get(keys.DFS_NAMENODE_SERVICERPC_ADDRESS)
        return {"": (service or namenode_address(conf),)}
    found = {name: _addresses(conf, name) for name in internal or names}
    owners: dict[Address, str] = {}
    for name, addresses in found.items():
        for address in addresses:
            other = owners.setdefault(address, name)
            if other != name or addresses.count(address) > 1:
                raise InvalidConfiguration(
                    f"{address[0]}:{address[1]} is the address of two namenodes: "
                    f"of nameservice {other} and of nameservice {name}"
                )
    return found


def _addresses(conf: Configuration, nameservice: str) -> tuple[Address, ...]:
    listed = conf.raw(f"{keys.DFS_HA_NAMENODES.name}.{nameservice}")
    namenodes = keys.DFS_HA_NAMENODES.parse(listed) if listed else []
    suffixes = [f"{nameservice}.{namenode}" for namenode in namenodes] or [nameservice]
    return tuple(_address(conf, suffix) for suffix in suffixes)


def _address(conf: Configuration, suffix: str) -> Address:
    for key in _ADDRESS_KEYS:
        name = f"{key.name}.{suffix}"
        written = conf.raw(name)
        try:
            address = key.parse(written) if written else None
        except ValueError as error:
            raise InvalidConfiguration(
                f"{name} = {written!r} (from {conf.source(name)}): {error}"
            ) from error
        if address is not None:
            return address
    raise InvalidConfiguration(
        f"no address of namenode {suffix}: set "
        + " or ".join(f"{key.name}.{suffix}" for key in _ADDRESS_KEYS)
    )
