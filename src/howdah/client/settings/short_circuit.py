"""Whether and how a client reads past datanodes, as configured."""

from __future__ import annotations

from dataclasses import dataclass

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.settings import read, setting


@dataclass(frozen=True, slots=True)
class ShortCircuitSettings:
    """Defaults are Hadoop's."""

    socket_path: str = ""
    """Empty: not at all. `_PORT` in it stands for the datanode's data port."""
    skip_checksum: bool = setting(keys.DFS_CLIENT_READ_SHORTCIRCUIT_SKIP_CHECKSUM)
    cache_size: int = setting(keys.DFS_CLIENT_READ_SHORTCIRCUIT_STREAMS_CACHE_SIZE)
    cache_expiry_s: float = setting(keys.DFS_CLIENT_READ_SHORTCIRCUIT_STREAMS_CACHE_EXPIRY_MS)
    disable_interval_s: float = setting(keys.DFS_DOMAIN_SOCKET_DISABLE_INTERVAL_SECONDS)
    mmap: bool = setting(keys.DFS_CLIENT_MMAP_ENABLED)

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
        return read(cls, conf, socket_path=path)


NEVER = ShortCircuitSettings()
