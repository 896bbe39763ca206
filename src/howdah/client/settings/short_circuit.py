"""Whether and how a client reads past datanodes, as configured."""

from __future__ import annotations

from dataclasses import dataclass

from howdah import errors, keys
from howdah.config import Configuration


@dataclass(frozen=True, slots=True)
class ShortCircuitSettings:
    """Defaults are Hadoop's."""

    socket_path: str = ""
    """Empty: not at all. `_PORT` in it stands for the datanode's data port."""
    skip_checksum: bool = False
    cache_size: int = 256
    cache_expiry_s: float = 300.0
    disable_interval_s: float = 600.0
    mmap: bool = True

    @classmethod
    def from_configuration(cls, conf: Configuration) -> ShortCircuitSettings:
        """`InvalidConfiguration` where it is switched on and no socket is named."""
        path = ""
        if conf.get(keys.DFS_CLIENT_READ_SHORTCIRCUIT):
            path = conf.get(keys.DFS_DOMAIN_SOCKET_PATH) or ""
            if not path:
                raise errors.InvalidConfiguration(
                    "The short-circuit local reads feature is enabled "
                    "(dfs.client.read.shortcircuit) but dfs.domain.socket.path is not set."
                )
        return cls(
            socket_path=path,
            skip_checksum=conf.get(keys.DFS_CLIENT_READ_SHORTCIRCUIT_SKIP_CHECKSUM),
            cache_size=conf.get(keys.DFS_CLIENT_READ_SHORTCIRCUIT_STREAMS_CACHE_SIZE),
            cache_expiry_s=conf.get(keys.DFS_CLIENT_READ_SHORTCIRCUIT_STREAMS_CACHE_EXPIRY_MS),
            disable_interval_s=conf.get(keys.DFS_DOMAIN_SOCKET_DISABLE_INTERVAL_SECONDS),
            mmap=conf.get(keys.DFS_CLIENT_MMAP_ENABLED),
        )


NEVER = ShortCircuitSettings()
