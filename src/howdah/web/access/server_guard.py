"""The guard of a server's web ports, as it is configured (shell: reads a keytab)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from howdah.config import Configuration, keys
from howdah.config.value_types import Key
from howdah.runtime.users.access_list import AccessList
from howdah.runtime.users.groups import groups_from
from howdah.security.server_login import ServerLogin
from howdah.security.server_principals import configured, is_of_kind
from howdah.security.spnego import SpnegoAcceptor
from howdah.security.web_settings import PRINCIPAL_KEY, web_security
from howdah.web.access.guard import Administrators, ClosedGuard, WebGuard
from howdah.web.access.rules import AccessRules, Rule
from howdah.web.access.tickets import TicketProver
from howdah.web.http import Guard

log = logging.getLogger(__name__)

_SERVERS: Final = (
    keys.DFS_NAMENODE_KERBEROS_PRINCIPAL,
    keys.DFS_SECONDARY_NAMENODE_KERBEROS_PRINCIPAL,
    keys.DFS_DATANODE_KERBEROS_PRINCIPAL,
    keys.DFS_JOURNALNODE_KERBEROS_PRINCIPAL,
)


def server_guard(
    conf: Configuration,
    login: ServerLogin,
    host: str,
    rules: AccessRules,
    *,
    own_key: Key[str | None] | None = None,
    is_server: Callable[[str, str], bool] = lambda principal, address: False,
) -> Guard:
    """Make the guard of web ports at `host` of a server that is secured. `own_key` names their
    principal for this kind of server. `is_server` says of a principal, and of the IP address that
    it comes from, whether it is one that may fetch what is for servers.

    Raises InvalidConfiguration, LoginFailed.
    """
    found = web_security(conf, host, login.identity.keytab, own_key)
    if found is None:
        log.warning(
            "%s is not set: the web port of this secured server can prove nobody and is closed, "
            "also to other servers that come for images and segments",
            PRINCIPAL_KEY.name,
        )
        return ClosedGuard(PRINCIPAL_KEY.name, rules)
    users = AccessList(conf.get(keys.DFS_CLUSTER_ADMINISTRATORS), groups_from(conf))
    return WebGuard(
        TicketProver(found.negotiation, SpnegoAcceptor(found.identity), login.short_name),
        rules,
        Administrators(
            users,
            login.user,
            is_server,
            _any_server(conf, rules),
            login.confinement.confines,
        ),
        found.pages_are_open,
        found.figures_need_admin,
        login.takes_simple,
    )


def _any_server(conf: Configuration, rules: AccessRules) -> Callable[[str], bool]:
    """Return what says of a principal whether it is that of any server of the cluster. Where
    nothing says who datanodes are, each principal with an instance may be one's.

    Raises InvalidConfiguration.
    """
    kinds = configured(conf, _SERVERS)
    datanodes = keys.DFS_DATANODE_KERBEROS_PRINCIPAL
    if conf.get(datanodes):
        return lambda principal: any(is_of_kind(principal, kind) for kind in kinds)
    if Rule.SERVERS in rules.table.values():
        log.warning(
            "%s is not set: this server cannot tell datanodes from administrators whose principals "
            "have an instance, such as hdfs/admin@REALM, and gives neither what is for servers",
            datanodes.name,
        )
    return lambda principal: "/" in principal
