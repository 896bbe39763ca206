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
from howdah.protocol.sasl.principals import HOST_PLACEHOLDER, Principal
from howdah.runtime.users.access_list import AccessList
from howdah.runtime.users.groups import groups_from
from howdah.security.hosts import host_names
from howdah.security.server_login import ServerLogin
from howdah.security.spnego import SpnegoAcceptor
from howdah.security.web_settings import PRINCIPAL_KEYS, web_security
from howdah.web import image_transfer
from howdah.web.access.guard import Administrators, ClosedGuard, WebGuard
from howdah.web.access.rules import AccessRules, Rule
from howdah.web.http import Guard
from howdah.web.monitoring import health
from howdah.web.pages import cluster, common, explorer, nodes, racks, snapshots
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
    WEBHDFS: Rule.FILES,
    FSCK: Rule.USER,
    image_transfer.PATH: Rule.SERVERS,
}
RULES: Final = AccessRules({**dict.fromkeys(common.ELSEWHERE, Rule.PAGE), **_RULES})
"""Of all that a namenode answers."""


def web_guard(conf: Configuration, login: ServerLogin) -> Guard:
    """Make the guard of a namenode's web ports. `login` is the namenode's.

    Raises InvalidConfiguration, LoginFailed.
    """
    host, _ = conf.get(keys.DFS_NAMENODE_HTTP_ADDRESS)
    found = web_security(conf, host, conf.get(keys.DFS_NAMENODE_KEYTAB_FILE) or "")
    if found is None:
        return ClosedGuard(PRINCIPAL_KEYS[0].name)
    administrators = conf.get(keys.DFS_CLUSTER_ADMINISTRATORS)
    return WebGuard(
        found.negotiation,
        SpnegoAcceptor(found.identity),
        lambda name: login.settings.user_of(name, login.realm),
        RULES,
        Administrators(
            AccessList(administrators, groups_from(conf), (login.user,)),
            lambda principal: is_peer(conf, principal),
        ),
        found.pages_are_open,
        found.figures_need_admin,
    )


def is_peer(conf: Configuration, principal: str) -> bool:
    """Whether a principal is that of a namenode or of the secondary namenode. Waits for name
    servers."""
    return any(
        _is_at(principal, conf.get(key) or "", hosts)
        for key, hosts in (
            (keys.DFS_NAMENODE_KERBEROS_PRINCIPAL, _namenode_hosts(conf)),
            (
                keys.DFS_SECONDARY_NAMENODE_KERBEROS_PRINCIPAL,
                {
                    conf.get(keys.DFS_NAMENODE_SECONDARY_HTTP_ADDRESS)[0],
                    conf.get(keys.DFS_NAMENODE_SECONDARY_HTTPS_ADDRESS)[0],
                },
            ),
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


def _is_at(principal: str, wanted: str, hosts: set[str]) -> bool:
    """Whether a principal is the wanted one, at one of these hosts where it names none."""
    if HOST_PLACEHOLDER not in wanted:
        return bool(wanted) and principal == wanted
    named = Principal.parse(wanted)
    try:
        who = Principal.parse(principal)
    except errors.InvalidConfiguration:
        return False  # A name in parts that no server of Hadoop's has.
    if named.instance != HOST_PLACEHOLDER or (who.primary, who.realm) != (
        named.primary,
        named.realm,
    ):
        return False
    return any(who.instance in host_names(host) for host in hosts)
