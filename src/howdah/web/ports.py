"""The ports of a server's HTTP, as `dfs.http.policy` has them (shell)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.value_types import Address, Key
from howdah.runtime.tls.http_policy import is_http_served, is_https_served
from howdah.runtime.tls.server import ServerTls
from howdah.web.channel import Patience
from howdah.web.http import Framing
from howdah.web.own_hosts import hosts_of
from howdah.web.server import HttpServer


@dataclass(frozen=True, slots=True)
class WebKeys:
    """The settings of a server's two ports, which it does not have where they are not set; the
    other two say where to listen instead."""

    http: Key[Address] | Key[Address | None]
    https: Key[Address] | Key[Address | None]
    http_bind: Key[str | None] | None = None
    https_bind: Key[str | None] | None = None


@dataclass(frozen=True, slots=True)
class WebPorts:
    """Says where a server listens, host as it is configured; None where the policy has no such
    port, or none is set."""

    http: Address | None
    https: Address | None

    @property
    def first(self) -> Address:
        """Return the address by which servers reach each other: HTTP where there is both."""
        address = self.http or self.https
        assert address is not None, "there is no policy without both"
        return address

    @property
    def is_secure(self) -> bool:
        """Whether that is over TLS."""
        return self.http is None

    @property
    def urls(self) -> str:
        """For a log."""
        places = (("http", self.http), ("https", self.https))
        return " and ".join(f"{scheme}://{at[0]}:{at[1]}" for scheme, at in places if at)

    def addresses(self) -> dict[str, str]:
        """For a file that says where a server is."""
        places = (("http", self.http), ("https", self.https))
        return {scheme: f"{at[0]}:{at[1]}" for scheme, at in places if at}


def tls_of(conf: Configuration) -> ServerTls | None:
    """None where the policy has no HTTPS. Raises InvalidConfiguration."""
    return ServerTls.of(conf) if is_https_served(conf) else None


def listen(server: HttpServer, conf: Configuration, web: WebKeys) -> WebPorts:
    """With the patience, the names and the frames that are configured. Raises InvalidConfiguration,
    OSError."""
    server.patience = Patience.of(conf.get(keys.HADOOP_HTTP_IDLE_TIMEOUT_MS))
    server.hosts = hosts_of(conf)
    is_framed = conf.get(keys.DFS_XFRAME_ENABLED)
    server.framing = Framing(conf.get(keys.DFS_XFRAME_VALUE) if is_framed else None)
    tls = tls_of(conf)
    http = _listen(server, conf, web.http, web.http_bind, None) if is_http_served(conf) else None
    https = None if tls is None else _listen(server, conf, web.https, web.https_bind, tls)
    return WebPorts(http, https)


def _listen(
    server: HttpServer,
    conf: Configuration,
    key: Key[Address] | Key[Address | None],
    bind: Key[str | None] | None,
    tls: ServerTls | None,
) -> Address | None:
    address = conf.get(cast("Key[Address | None]", key))
    if address is None:
        return None
    host, port = address
    at = (conf.get(bind) if bind is not None else None) or host
    try:
        return host, server.start(at, port, tls)
    except OSError as error:
        raise errors.InvalidConfiguration(f"{key.name}: {at}:{port}: {error}") from error
