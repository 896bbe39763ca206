"""Where the active namenode has its web pages, as the configuration says."""

from __future__ import annotations

from howdah import errors, keys
from howdah.config import Configuration
from howdah.fs.hdfs.administration import active_of, each_namenode
from howdah.kinds import Address
from howdah.nameservices import http_addresses, nameservices, rpc_addresses


def pages_of_active(authority: str, conf: Configuration, user: str | None = None) -> Address:
    """Host and port of the active namenode's pages, for `host:port` or a nameservice.

    The address of one namenode of a nameservice is looked up there. Raises RemoteError if no
    namenode of the nameservice is active.
    """
    if authority in nameservices(conf):
        with each_namenode(authority, conf, user) as namenodes:
            active = active_of(namenodes) if namenodes else ""
        if active is None:
            raise errors.RemoteError(f"no namenode of {authority} is active")
        return http_addresses(conf, authority)[active]
    host, _, port = authority.rpartition(":")
    for nameservice in nameservices(conf):
        for name, address in rpc_addresses(conf, nameservice).items():
            if port and address == (host.strip("[]"), int(port)):
                return http_addresses(conf, nameservice)[name]
    http_host, http_port = conf.get(keys.DFS_NAMENODE_HTTP_ADDRESS)
    if http_host in ("0.0.0.0", "::", ""):
        http_host = (host or authority).strip("[]")
    return http_host, http_port
