"""The services of delegation tokens: the names by which clients find the token for a server.

A namenode does not say by which name its clients call it, so its token has no service. Clients give
the token that of a nameservice, or the address and port, as Hadoop's clients look for it.
"""

from __future__ import annotations

import socket

from howdah.client.namenodes.target import target_of
from howdah.config import Configuration, keys
from howdah.config.value_types import Address
from howdah.formats.tokens.token import LOGICAL_SERVICE


def rpc_service(authority: str, conf: Configuration) -> str:
    """Return the service of a token of `hdfs://AUTHORITY`."""
    target = target_of(authority, conf)
    if target.nameservice is not None:
        return f"{LOGICAL_SERVICE}{target.nameservice}"
    (address,) = target.namenodes.values()
    return service_at(address, conf)


def service_at(address: Address, conf: Configuration) -> str:
    """Return the service of a token for one server: its IP address and port, or its name."""
    host, port = address
    if not conf.get(keys.HADOOP_SECURITY_TOKEN_SERVICE_USE_IP):
        return f"{host.lower()}:{port}"
    try:
        host = str(socket.getaddrinfo(host, port, socket.AF_INET)[0][4][0])
    except OSError:
        pass  # What has no address now was called by its name.
    return f"{host}:{port}"
