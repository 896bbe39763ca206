"""Where a namenode listens, looked at before anything is loaded (shell).

An address that cannot be listened at, or is no address of this machine, stops the start
at once and is told with its key; loading a large image first would be a waste.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass

from howdah.config import Configuration, keys, namenode_address
from howdah.errors import InvalidConfiguration
from howdah.runtime.tls.http_policy import is_http_served, is_https_served


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address to listen at; `key` says which setting it comes from."""

    key: str
    host: str
    port: int


def endpoints(conf: Configuration) -> Iterator[Endpoint]:
    """The addresses for RPC, with its auxiliary ports, for the RPC of datanodes and their
    lifelines (if set apart), and for HTTP, with and without TLS."""
    host, port = namenode_address(conf)
    own = keys.DFS_NAMENODE_RPC_ADDRESS.name
    from_uri = keys.FS_DEFAULTFS.name
    rpc_key = own if conf.is_set(keys.DFS_NAMENODE_RPC_ADDRESS) else from_uri
    yield _bound(conf, rpc_key, keys.DFS_NAMENODE_RPC_BIND_HOST.name, host, port)
    for auxiliary in conf.get(keys.DFS_NAMENODE_RPC_ADDRESS_AUXILIARY_PORTS):
        key = keys.DFS_NAMENODE_RPC_ADDRESS_AUXILIARY_PORTS.name
        bind_host = conf.get(keys.DFS_NAMENODE_RPC_BIND_HOST) or host
        yield Endpoint(key, bind_host, auxiliary)
    service = conf.get(keys.DFS_NAMENODE_SERVICERPC_ADDRESS)
    if service is not None:
        key = keys.DFS_NAMENODE_SERVICERPC_ADDRESS.name
        yield _bound(conf, key, keys.DFS_NAMENODE_SERVICERPC_BIND_HOST.name, *service)
    lifeline = conf.get(keys.DFS_NAMENODE_LIFELINE_RPC_ADDRESS)
    if lifeline is not None:
        key = keys.DFS_NAMENODE_LIFELINE_RPC_ADDRESS.name
        yield _bound(conf, key, keys.DFS_NAMENODE_LIFELINE_RPC_BIND_HOST.name, *lifeline)
    if is_http_served(conf):
        http = conf.get(keys.DFS_NAMENODE_HTTP_ADDRESS)
        key = keys.DFS_NAMENODE_HTTP_ADDRESS.name
        yield _bound(conf, key, keys.DFS_NAMENODE_HTTP_BIND_HOST.name, *http)
    if is_https_served(conf):
        https = conf.get(keys.DFS_NAMENODE_HTTPS_ADDRESS)
        key = keys.DFS_NAMENODE_HTTPS_ADDRESS.name
        yield _bound(conf, key, keys.DFS_NAMENODE_HTTPS_BIND_HOST.name, *https)


def _bound(conf: Configuration, key: str, bind_key: str, host: str, port: int) -> Endpoint:
    bind_host = conf.raw(bind_key)
    return Endpoint(bind_key, bind_host, port) if bind_host else Endpoint(key, host, port)


def check(endpoint: Endpoint) -> tuple[str, int]:
    """Return the IP address and port that it stands for.

    Raises InvalidConfiguration with the key where nobody can listen there.
    """
    try:
        infos = socket.getaddrinfo(
            endpoint.host, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, kind, protocol, _, address = infos[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise InvalidConfiguration(
            f"{endpoint.key}: cannot listen at {endpoint.host}:{endpoint.port}: "
            f"{error.strerror or error}"
        ) from error
    return str(address[0]), int(address[1])
