"""Who may ask a secured router over HTTP for what (shell: a keytab).

A router has no WebHDFS, and nothing that other servers fetch. Hadoop: RouterHttpServer.
"""

from __future__ import annotations

from typing import Final

from howdah.config import Configuration, keys
from howdah.security.server_login import ServerLogin
from howdah.web.access.rules import AccessRules, Rule
from howdah.web.access.server_guard import server_guard
from howdah.web.http import Guard
from howdah.web.monitoring import health
from howdah.web.pages import cluster

RULES: Final = AccessRules({health.ACTIVE_PATH: Rule.OPEN, cluster.PATH: Rule.PAGE})
"""Of all that a router answers."""


def web_guard(conf: Configuration, login: ServerLogin) -> Guard:
    """Make the guard of a router's web ports. `login` is the router's.

    Raises InvalidConfiguration, LoginFailed.
    """
    host = conf.get(keys.DFS_FEDERATION_ROUTER_KERBEROS_PRINCIPAL_HOSTNAME)
    return server_guard(
        conf,
        login,
        host or conf.get(keys.DFS_FEDERATION_ROUTER_HTTP_ADDRESS)[0],
        RULES,
        own_key=keys.DFS_FEDERATION_ROUTER_KERBEROS_INTERNAL_SPNEGO_PRINCIPAL,
    )
