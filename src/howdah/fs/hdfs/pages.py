"""Where the active namenode has its web pages, as the configuration says."""

from __future__ import annotations

from howdah import errors, keys
from howdah.config import Configuration
from howdah.fs.hdfs.administration import active_of, each_namenode
from howdah.nameservices import nameservices, rpc_addresses
from howdah.tls.places import Place, among_servers, namenode_places


def pages_of_active(authority: str, conf: Configuration, user: str | None = None) -> Place:
    """Where the active namenode has its pages, for `host:port` or a nameservice.

    The address of one namenode of a nameservice is looked up there. Raises RemoteError if no
    namenode of the nameservice is active.
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
            if port and address == (host.strip("[]"), int(port)):
                return namenode_places(conf, nameservice)[name]
    is_secure = among_servers(conf)
    key = keys.DFS_NAMENODE_HTTPS_ADDRESS if is_secure else keys.DFS_NAMENODE_HTTP_ADDRESS
    web_host, web_port = conf.get(key)
    if web_host in ("0.0.0.0", "::", ""):
        web_host = (host or authority).strip("[]")
    return Place(is_secure, web_host, web_port)
