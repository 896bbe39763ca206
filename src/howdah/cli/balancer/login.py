"""The login of a balancer or a mover on a secured cluster, where it has one of its own (shell)."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from howdah import errors
from howdah.config import keys

if TYPE_CHECKING:
    from howdah.config import Configuration
    from howdah.config.value_types import Key


def as_balancer(conf: Configuration) -> Configuration:
    """The configuration of a client that logs in as `dfs.balancer.*` says."""
    return _with_login(
        conf,
        keys.DFS_BALANCER_KEYTAB_ENABLED,
        keys.DFS_BALANCER_KEYTAB_FILE,
        keys.DFS_BALANCER_KERBEROS_PRINCIPAL,
    )


def as_mover(conf: Configuration) -> Configuration:
    """The configuration of a client that logs in as `dfs.mover.*` says."""
    return _with_login(
        conf,
        keys.DFS_MOVER_KEYTAB_ENABLED,
        keys.DFS_MOVER_KEYTAB_FILE,
        keys.DFS_MOVER_KERBEROS_PRINCIPAL,
    )


def _with_login(
    conf: Configuration,
    enabled: Key[bool],
    file: Key[str | None],
    principal: Key[str | None],
) -> Configuration:
    """Raises InvalidConfiguration where a login is enabled and not described."""
    if not conf.get(enabled) or conf.get(keys.HADOOP_SECURITY_AUTHENTICATION) == "simple":
        return conf
    keytab, name = conf.get(file), conf.get(principal)
    if not keytab or not name:
        missing = principal.name if keytab else file.name
        raise errors.InvalidConfiguration(f"{enabled.name} is true, and {missing} is not set")
    own = {
        keys.HOWDAH_CLIENT_KEYTAB_FILE.name: keytab,
        keys.HOWDAH_CLIENT_KERBEROS_PRINCIPAL.name: name.replace(
            "/_HOST@", f"/{socket.getfqdn().lower()}@"
        ),
    }
    return conf.with_values(own, source=enabled.name)
