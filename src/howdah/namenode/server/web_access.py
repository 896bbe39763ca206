"""Who may ask a secured namenode over HTTP for what (shell: a keytab, name servers).

Hadoop: NameNodeHttpServer, ImageServlet.isValidRequestor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys, namenode_address
from howdah.config.nameservices import nameservices, rpc_addresses
from howdah.namenode.server.process.fsck_pages import PATH as FSCK
from howdah.namenode.service.monitoring import startup, topology_page
from howdah.security.server_login import ServerLogin
from howdah.security.server_principals import is_at
from howdah.web import image_transfer, status
from howdah.web.access.rules import AccessRules, Rule
from howdah.web.access.server_guard import server_guard
from howdah.web.http import Guard
from howdah.web.monitoring import health
from howdah.web.pages import cluster, explorer, nodes, racks, snapshots
from howdah.web.webhdfs.parameters import PREFIX as WEBHDFS

_RULES: Final[Mapping[str, Rule]] = {
    health.ACTIVE_PATH: Rule.OPEN,
    startup.PATH: Rule.PAGE,
    nodes.PATH: Rule.PAGE,
    racks.PATH: Rule.PAGE,
    snapshots.PATH: Rule.USER,
    explorer.PATH: Rule.PAGE,
    explorer.BLOCKS_PATH: Rule.ADMINISTRATOR,
    cluster.PATH: Rule.PAGE,
    topology_page.PATH: Rule.PAGE,
    status.PATH: Rule.FIGURES,
    WEBHDFS: Rule.FILES,
    FSCK: Rule.USER,
    image_transfer.PATH: Rule.SERVERS,
}
RULES: Final = AccessRules(_RULES)
"""Of all that a namenode answers."""


def web_guard(conf: Configuration, login: ServerLogin) -> Guard:
    """Make the guard of a namenode's web ports. `login` is the namenode's.

    Raises InvalidConfiguration, LoginFailed.
    """
    return server_guard(
        conf,
        login,
        conf.get(keys.DFS_NAMENODE_HTTP_ADDRESS)[0],
        RULES,
        own_key=keys.DFS_NAMENODE_KERBEROS_INTERNAL_SPNEGO_PRINCIPAL,
        is_server=lambda principal, address: is_peer(conf, principal),
    )


def is_peer(conf: Configuration, principal: str) -> bool:
    """Whether a principal is that of a namenode or of the secondary namenode, at the hosts that
    are configured for these. Waits for name servers."""
    secondary = {
        conf.get(keys.DFS_NAMENODE_SECONDARY_HTTP_ADDRESS)[0],
        conf.get(keys.DFS_NAMENODE_SECONDARY_HTTPS_ADDRESS)[0],
    }
    return any(
        is_at(principal, conf.get(key) or "", hosts)
        for key, hosts in (
            (keys.DFS_NAMENODE_KERBEROS_PRINCIPAL, _namenode_hosts(conf)),
            (keys.DFS_SECONDARY_NAMENODE_KERBEROS_PRINCIPAL, secondary),
        )
    )


def _namenode_hosts(conf: Configuration) -> set[str]:
    hosts = {namenode_address(conf)[0]}
    for name in nameservices(conf):
        try:
            hosts |= {host for host, _ in rpc_addresses(conf, name).values()}
        except errors.InvalidConfiguration:
            continue  # One that this namenode does not belong to may be described in part.
    return hosts
