"""What WebHDFS takes for names, from the configuration."""

from __future__ import annotations

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.value_types import Key
from howdah.web.webhdfs.patterns import Domain, Patterns


def patterns_of(conf: Configuration) -> Patterns:
    """Raises InvalidConfiguration."""

    def domain(key: Key[str]) -> Domain:
        try:
            return Domain.of(conf.get(key))
        except ValueError as error:
            where = conf.source(key.name)
            raise errors.InvalidConfiguration(f"{key.name} (from {where}): {error}") from error

    return Patterns(
        domain(keys.DFS_WEBHDFS_USER_PROVIDER_USER_PATTERN),
        domain(keys.DFS_WEBHDFS_ACL_PROVIDER_PERMISSION_PATTERN),
    )
