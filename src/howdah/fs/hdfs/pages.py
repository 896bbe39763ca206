"""Where the active namenode has its web pages, as the configuration says."""

from __future__ import annotations

import socket
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.nameservices import nameservices, rpc_addresses
from howdah.config.value_types import Address, Key
from howdah.fs.hdfs.administration import active_of, each_namenode
from howdah.runtime.tls.http_policy import Place, among_servers, namenode_places

_BY_HAND: Final = ("command line", "code")
"""Sources of a configuration that are no files."""


def pages_of_active(authority: str, conf: Configuration, user: str | None = None) -> Place:
    """Where the active namenode has its pages, for `host:port` or a nameservice.

    The address of one namenode of a nameservice is looked up there. Raises RemoteError if no
    namenode of the nameservice is active, InvalidConfiguration where the configured pages are those
    of another namenode.
    """
    if authority in nameservices(conf):
        with each_namenode(authority, conf, user) as namenodes:
            active = active_of(namenodes) if namenodes else ""
        if active is None:
            raise errors.RemoteError(f"no namenode of {authority} is active")
        return namenode_places(conf, authority)[active]
    host, _, port = authority.rpartition(":")
    for nameservice in nameservices(conf):
        for name, address in rpc_addresses(conf, nameservice).items():
            if port.isascii() and port.isdigit() and address == (host.strip("[]"), int(port)):
                return namenode_places(conf, nameservice)[name]
    is_secure = among_servers(conf)
    key = keys.DFS_NAMENODE_HTTPS_ADDRESS if is_secure else keys.DFS_NAMENODE_HTTP_ADDRESS
    web_host, web_port = conf.get(key)
    if web_host in ("0.0.0.0", "::", "") or not conf.is_set(key):
        web_host = (host or authority).strip("[]")
    elif _is_of_another(authority, conf, key):
        raise errors.InvalidConfiguration(
            f"{key.name} = {conf.raw(key.name)} (from {conf.source(key.name)}) is where another "
            f"namenode has its pages, not hdfs://{authority}: -D {key.name}=HOST:PORT says where "
            "this one has them"
        )
    return Place(is_secure, web_host, web_port)


def unreachable(place: Place, conf: Configuration) -> str:
    """What to add to the message where nobody answers at the pages' address."""
    key = keys.DFS_NAMENODE_HTTPS_ADDRESS if place.is_secure else keys.DFS_NAMENODE_HTTP_ADDRESS
    if conf.is_set(key) or nameservices(conf):
        return ""
    return (
        f" ({key.name} is not configured, and {place.port} is its usual port: "
        f"-D {key.name}=HOST:PORT says where the namenode has its pages)"
    )


def _is_of_another(authority: str, conf: Configuration, key: Key[Address]) -> bool:
    """Whether files have an address of pages, and the command line or a program names a namenode
    on another machine. One that files name may have its pages at any name of its own."""
    named = conf.source(keys.FS_DEFAULTFS.name)
    if named == conf.source(key.name) or named not in _BY_HAND or conf.source(key.name) in _BY_HAND:
        return False
    host = authority.rpartition(":")[0].strip("[]") or authority
    web_host, _ = conf.get(key)
    ours, theirs = _addresses(host), _addresses(web_host)
    return bool(ours) and bool(theirs) and not ours & theirs


def _addresses(host: str) -> set[str]:
    try:
        return {str(address_info[4][0]) for address_info in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return set()
