"""Nameservices and their namenodes, as the configuration names them.

What DFSUtil and HAUtil in Hadoop read from a configuration:

1. A *nameservice* is one namespace with a logical name. `dfs.nameservices` lists them;
   `dfs.internal.nameservices` those of them that datanodes report to, else they are all.
2. `dfs.ha.namenodes.NS` lists the namenodes of nameservice NS. Without that key NS has one
   namenode, which has no name of its own.
3. A key that belongs to one namenode may stand with `.NS.NN` behind its name, with `.NS` or
   plain; the longest name wins. `specialise` turns the former two into the last, so that a
   server reads plain keys whichever namenode it is.
4. Without nameservices there is one namespace with one namenode, and all keys are plain.
5. A server is the namenode that `dfs.nameservice.id` and `dfs.ha.namenode.id` name, else the
   one whose address is of this machine.

Where a name is None or empty, the nameservice or namenode has no name. This module looks up
no host: who asks for the namenode of this machine says which hosts are this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from howdah.config import Configuration, keys, namenode_address
from howdah.config.value_types import Address, Key
from howdah.errors import InvalidConfiguration

T = TypeVar("T")

NAMENODE_KEYS = (
    "dfs.namenode.rpc-address",
    "dfs.namenode.rpc-bind-host",
    "dfs.namenode.rpc-address.auxiliary-ports",
    "dfs.namenode.name.dir",
    "dfs.namenode.edits.dir",
    "dfs.namenode.shared.edits.dir",
    "dfs.namenode.checkpoint.dir",
    "dfs.namenode.checkpoint.edits.dir",
    "dfs.namenode.lifeline.rpc-address",
    "dfs.namenode.lifeline.rpc-bind-host",
    "dfs.namenode.servicerpc-address",
    "dfs.namenode.servicerpc-bind-host",
    "dfs.namenode.http-address",
    "dfs.namenode.https-address",
    "dfs.namenode.http-bind-host",
    "dfs.namenode.https-bind-host",
    "dfs.namenode.keytab.file",
    "dfs.namenode.secondary.http-address",
    "dfs.namenode.secondary.https-address",
    "dfs.secondary.namenode.keytab.file",
    "dfs.namenode.backup.address",
    "dfs.namenode.backup.http-address",
    "dfs.namenode.backup.dnrpc-address",
    "dfs.namenode.kerberos.principal",
    "dfs.namenode.kerberos.internal.spnego.principal",
    "dfs.ha.fencing.methods",
    "dfs.ha.zkfc.port",
    "dfs.ha.zkfc.nn.http.timeout.ms",
)
"""Keys that a namenode may have for itself: NameNode.NAMENODE_SPECIFIC_KEYS."""

OWN_NAMENODE_KEYS = (
    "howdah.failover-controller.http-address",
    "howdah.failover-controller.https-address",
)
"""Such keys that Hadoop does not have."""

NAMESERVICE_KEYS = ("dfs.ha.automatic-failover.enabled",)
"""Keys that a nameservice may have for itself, a namenode not."""

FAILOVER_KEYS = (
    "ha.zookeeper.quorum",
    "ha.zookeeper.session-timeout.ms",
    "ha.zookeeper.parent-znode",
    "ha.zookeeper.acl",
    "ha.zookeeper.auth",
)
"""Keys that a failover controller may have for itself: ZKFailoverController.ZKFC_CONF_KEYS."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Which namenode of which nameservice a server is; None where that has no name."""

    nameservice: str | None
    namenode: str | None

    def __str__(self) -> str:
        return ".".join(name for name in (self.nameservice, self.namenode) if name)


# -- who there is -------------------------------------------------------------------


def nameservices(conf: Configuration) -> tuple[str, ...]:
    """The names of all nameservices; empty where there is one namespace without a name."""
    listed = conf.get(keys.DFS_NAMESERVICES)
    return tuple(dict.fromkeys(listed))


def internal_nameservices(conf: Configuration) -> tuple[str, ...]:
    """The nameservices that datanodes report to."""
    names = nameservices(conf)
    listed = conf.get(keys.DFS_INTERNAL_NAMESERVICES)
    internal = tuple(dict.fromkeys(listed))
    unknown = [name for name in internal if name not in names]
    if unknown:
        raise InvalidConfiguration(
            f"{keys.DFS_INTERNAL_NAMESERVICES.name} names {', '.join(unknown)}, "
            f"which is not in {keys.DFS_NAMESERVICES.name} ({', '.join(names) or 'empty'})"
        )
    return internal or names


def namenode_ids(conf: Configuration, nameservice: str | None) -> tuple[str, ...]:
    """Return the names of the namenodes of a nameservice; none where it has one without a name."""
    names = value_of(conf, keys.DFS_HA_NAMENODES, nameservice) if nameservice else None
    return tuple(dict.fromkeys(names or ()))


def is_highly_available(conf: Configuration, nameservice: str | None) -> bool:
    """Whether the nameservice has several namenodes."""
    return len(namenode_ids(conf, nameservice)) > 1


# -- where they are -----------------------------------------------------------------


def rpc_addresses(conf: Configuration, nameservice: str | None) -> dict[str, Address]:
    """Where each namenode of a nameservice answers clients, in the order of their names.

    The one namenode without a name has the name "". Raises InvalidConfiguration.
    """
    if not nameservice:
        return {"": namenode_address(conf)}
    return _of_each(conf, nameservice, (keys.DFS_NAMENODE_RPC_ADDRESS,))


def service_addresses(conf: Configuration, nameservice: str | None) -> dict[str, Address]:
    """Where each namenode answers datanodes and other servers: else where it answers clients."""
    if not nameservice:
        return {"": conf.get(keys.DFS_NAMENODE_SERVICERPC_ADDRESS) or namenode_address(conf)}
    service = (keys.DFS_NAMENODE_SERVICERPC_ADDRESS, keys.DFS_NAMENODE_RPC_ADDRESS)
    return _of_each(conf, nameservice, service)


def lifeline_addresses(conf: Configuration) -> dict[Address, Address]:
    """Return where a namenode takes lifelines, by the address at which it answers datanodes.
    Namenodes without such a port are left out."""
    lifelines: dict[Address, Address] = {}
    for nameservice in internal_nameservices(conf) or ("",):
        for name, address in service_addresses(conf, nameservice).items():
            lifeline = (
                value_of(conf, keys.DFS_NAMENODE_LIFELINE_RPC_ADDRESS, nameservice, name)
                if nameservice
                else conf.get(keys.DFS_NAMENODE_LIFELINE_RPC_ADDRESS)
            )
            if lifeline is not None:
                lifelines[address] = lifeline
    return lifelines


def http_addresses(conf: Configuration, nameservice: str | None) -> dict[str, Address]:
    """Where each namenode has its pages and images: else at its host, at the usual port.

    A host that stands for all addresses of its machine is the one of the namenode's calls.
    """
    return _web_addresses(conf, nameservice, keys.DFS_NAMENODE_HTTP_ADDRESS)


def https_addresses(conf: Configuration, nameservice: str | None) -> dict[str, Address]:
    """The same, over TLS."""
    return _web_addresses(conf, nameservice, keys.DFS_NAMENODE_HTTPS_ADDRESS)


def _web_addresses(
    conf: Configuration, nameservice: str | None, key: Key[Address]
) -> dict[str, Address]:
    addresses = {}
    for name, (rpc_host, _) in rpc_addresses(conf, nameservice).items():
        address = value_of(conf, key, nameservice, name)
        usual = conf.get(key)
        if address is None:
            is_plain = not nameservice or conf.is_set(key)
            address = usual if is_plain else (rpc_host, usual[1])
        host, port = address
        addresses[name] = (rpc_host if host in _WILDCARDS else host), port
    return addresses


def datanode_nameservices(conf: Configuration) -> Mapping[str, tuple[Address, ...]]:
    """Return the namenodes that a datanode reports to, by nameservice; the name is "" without any.

    Raises InvalidConfiguration for a name without an address, or an address with two names.
    """
    names = internal_nameservices(conf) or ("",)
    by_nameservice = {name: tuple(service_addresses(conf, name).values()) for name in names}
    owners: dict[Address, str] = {}
    for name, addresses in by_nameservice.items():
        for address in addresses:
            other = owners.setdefault(address, name)
            if other != name or addresses.count(address) > 1:
                raise InvalidConfiguration(
                    f"{address[0]}:{address[1]} is the address of two namenodes: "
                    f"of nameservice {other} and of nameservice {name}"
                )
    return by_nameservice


def value_of(
    conf: Configuration, key: Key[T], nameservice: str | None, namenode: str | None = None
) -> T | None:
    """What is set for a namenode, or for its nameservice, alone; None where nothing is.

    >>> conf = Configuration({"dfs.namenode.rpc-address.east.nn1": "e1"})
    >>> value_of(conf, keys.DFS_NAMENODE_RPC_ADDRESS, "east", "nn1")
    ('e1', 8020)
    """
    for name in _suffixed(key.name, nameservice, namenode):
        text = conf.raw(name)
        if text is not None and text.strip():
            try:
                return key.parse(text)
            except ValueError as error:
                raise InvalidConfiguration(
                    f"{name} = {text!r} (from {conf.source(name)}): {error}"
                ) from error
    return None


# -- which of them a server is --------------------------------------------------------


def this_namenode(conf: Configuration, is_local: Callable[[str], bool]) -> Identity:
    """Which namenode a server is that runs with this configuration on this machine.

    `is_local` says of a host in the configuration whether it is this machine. Raises
    InvalidConfiguration where the configuration leaves it open, or names what isn't there.
    """
    names = nameservices(conf)
    wanted = Identity(conf.get(keys.DFS_NAMESERVICE_ID), conf.get(keys.DFS_HA_NAMENODE_ID))
    if not names:
        if wanted != Identity(None, None):
            raise InvalidConfiguration(
                f"this server is to be {wanted}, and {keys.DFS_NAMESERVICES.name} is not set"
            )
        return wanted
    if wanted.nameservice is None and len(names) == 1:
        wanted = Identity(names[0], wanted.namenode)
    is_listed = wanted.namenode is None and wanted.nameservice in names
    if is_listed and not namenode_ids(conf, wanted.nameservice):
        return wanted
    candidates = _candidates(conf, names, wanted)
    if len(candidates) > 1:
        candidates = {
            identity: address for identity, address in candidates.items() if is_local(address[0])
        }
    if len(candidates) == 1:
        return next(iter(candidates))
    problem = (
        "several namenodes have an address of this machine: " + ", ".join(map(str, candidates))
        if candidates
        else "no namenode has an address of this machine"
    )
    raise InvalidConfiguration(
        f"{problem}. Set {keys.DFS_NAMESERVICE_ID.name} and {keys.DFS_HA_NAMENODE_ID.name} to say "
        "which namenode this server is"
    )


def specialise(conf: Configuration, nameservice: str | None, namenode: str | None) -> Configuration:
    """The configuration in which the keys of this namenode are the plain keys."""
    values: dict[str, str] = {}
    sources: dict[str, str] = {}
    written = dict(conf.items())
    for keys_, name in (
        (NAMENODE_KEYS + OWN_NAMENODE_KEYS + FAILOVER_KEYS, namenode),
        (NAMESERVICE_KEYS, None),
    ):
        for plain in keys_:
            for own in _suffixed(plain, nameservice, name):
                if own in written:
                    values[plain] = written[own]
                    sources[plain] = f"{own} from {conf.source(own)}"
                    break
    for key, value in (
        (keys.DFS_NAMESERVICE_ID, nameservice),
        (keys.DFS_HA_NAMENODE_ID, namenode),
    ):
        if value:
            values[key.name] = value
            sources[key.name] = "which namenode this server is"
    for plain, value in values.items():
        conf = conf.with_values({plain: value}, source=sources[plain])
    return conf


def others(conf: Configuration, identity: Identity) -> dict[str, Configuration]:
    """The specialised configurations of the other namenodes of a nameservice, by their names."""
    return {
        name: specialise(conf, identity.nameservice, name)
        for name in namenode_ids(conf, identity.nameservice)
        if name != identity.namenode
    }


# -- how a name is found --------------------------------------------------------------

_WILDCARDS = ("0.0.0.0", "::", "")


def _suffixed(name: str, nameservice: str | None, namenode: str | None) -> list[str]:
    """The names of a key with suffixes, the longest first."""
    if not nameservice:
        return []
    return [f"{name}.{nameservice}.{namenode}"] * bool(namenode) + [f"{name}.{nameservice}"]


def _of_each(
    conf: Configuration, nameservice: str, choice: tuple[Key[Address | None], ...]
) -> dict[str, Address]:
    """Return for each namenode the first of several keys that is set."""
    addresses = {}
    for name in namenode_ids(conf, nameservice) or ("",):
        values = (value_of(conf, key, nameservice, name) for key in choice)
        address = next((value for value in values if value is not None), None)
        if address is None:
            own = [_suffixed(key.name, nameservice, name)[0] for key in choice]
            suffix = ".".join(part for part in (nameservice, name) if part)
            raise InvalidConfiguration(f"no address of namenode {suffix}: set {' or '.join(own)}")
        addresses[name] = address
    return addresses


def _candidates(
    conf: Configuration, names: tuple[str, ...], wanted: Identity
) -> dict[Identity, Address]:
    """Return the namenodes that a server may be by the names that it was given, and where they
    are."""
    if wanted.nameservice is not None and wanted.nameservice not in names:
        raise InvalidConfiguration(
            f"{keys.DFS_NAMESERVICE_ID.name} = {wanted.nameservice} is not in "
            f"{keys.DFS_NAMESERVICES.name} ({', '.join(names)})"
        )
    candidates = {}
    for nameservice in (wanted.nameservice,) if wanted.nameservice else names:
        for namenode, address in rpc_addresses(conf, nameservice).items():
            if wanted.namenode in (None, namenode):
                candidates[Identity(nameservice, namenode or None)] = address
    if not candidates:
        listed = f"{keys.DFS_HA_NAMENODES.name}.{wanted.nameservice or 'NAMESERVICE'}"
        raise InvalidConfiguration(
            f"{keys.DFS_HA_NAMENODE_ID.name} = {wanted.namenode} is not in {listed}"
        )
    return candidates
