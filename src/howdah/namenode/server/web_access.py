"""Who may ask a secured namenode over HTTP for what (shell: a keytab, name servers), or one whose
users log in.

Hadoop: NameNodeHttpServer, ImageServlet.isValidRequestor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from howdah.config import Configuration, keys, namenode_address
from howdah.config.nameservices import namenode_ids, rpc_addresses
from howdah.namenode.server.process.fsck_pages import PATH as FSCK
from howdah.namenode.service.monitoring import startup, topology_page
from howdah.security.server_login import ServerLogin
from howdah.security.server_principals import configured, is_at
from howdah.web import image_transfer, status
from howdah.web.access.login_guard import login_guard
from howdah.web.access.rules import AccessRules, Rule
from howdah.web.access.server_guard import server_guard
from howdah.web.http import Guard
from howdah.web.monitoring import health
from howdah.web.pages import cluster, encryption, explorer, nodes, racks, snapshots
from howdah.web.webhdfs.parameters import PREFIX as WEBHDFS

_RULES: Final[Mapping[str, Rule]] = {
    health.ACTIVE_PATH: Rule.OPEN,
    startup.PATH: Rule.PAGE,
    nodes.PATH: Rule.PAGE,
    racks.PATH: Rule.PAGE,
    snapshots.PATH: Rule.USER,
    encryption.PATH: Rule.ADMINISTRATOR,
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
        is_server=peers(conf),
    )


def guard_of_logins(conf: Configuration) -> Guard | None:
    """The same without Kerberos; None where everybody is believed. Raises InvalidConfiguration."""
    return login_guard(conf, "namenode", RULES)


def peers(conf: Configuration) -> Callable[[str, str], bool]:
    """Return what says of a principal whether it is that of a namenode of the same nameservice, or
    of the secondary namenode, at the hosts that are configured for these. Asking waits for name
    servers. `conf` has the namenode's keys plain.

    Raises InvalidConfiguration.
    """
    namenodes = {namenode_address(conf)[0]}
    own = conf.get(keys.DFS_NAMESERVICE_ID)
    if namenode_ids(conf, own):
        namenodes |= {host for host, _ in rpc_addresses(conf, own).values()}
    secondary = {
        conf.get(keys.DFS_NAMENODE_SECONDARY_HTTP_ADDRESS)[0],
        conf.get(keys.DFS_NAMENODE_SECONDARY_HTTPS_ADDRESS)[0],
    }
    wanted = [
        (principal, hosts)
        for key, hosts in (
            (keys.DFS_NAMENODE_KERBEROS_PRINCIPAL, namenodes),
            (keys.DFS_SECONDARY_NAMENODE_KERBEROS_PRINCIPAL, secondary),
        )
        for principal in configured(conf, (key,))
    ]
    return lambda principal, address: any(is_at(principal, each, hosts) for each, hosts in wanted)
