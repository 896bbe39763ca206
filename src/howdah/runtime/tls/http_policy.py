"""Where servers answer HTTP, and whether over TLS: `dfs.http.policy`. Hadoop: HttpConfig,
DFSUtil.getHttpClientScheme."""

from __future__ import annotations

from dataclasses import dataclass

from howdah.config import Configuration, keys
from howdah.config.nameservices import http_addresses, https_addresses


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server listens."""

    is_secure: bool
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{self.header}"

    @property
    def scheme(self) -> str:
        return "https" if self.is_secure else "http"

    @property
    def header(self) -> str:
        """As the header Host has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def is_http_served(conf: Configuration) -> bool:
    return conf.get(keys.DFS_HTTP_POLICY) != "HTTPS_ONLY"


def is_https_served(conf: Configuration) -> bool:
    return conf.get(keys.DFS_HTTP_POLICY) != "HTTP_ONLY"


def among_servers(conf: Configuration) -> bool:
    """Whether servers and commands reach a server over TLS: where there is nothing else."""
    return not is_http_served(conf)


def namenode_places(conf: Configuration, nameservice: str | None) -> dict[str, Place]:
    """Return where each namenode of a nameservice has its pages and images, by its name; the one
    without a name has the name "". Raises InvalidConfiguration."""
    is_secure = among_servers(conf)
    addresses = (https_addresses if is_secure else http_addresses)(conf, nameservice)
    return {name: Place(is_secure, *address) for name, address in addresses.items()}
