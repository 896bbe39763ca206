"""Who may ask a secured journal node over HTTP for what (shell: a keytab, name servers).

Segments are for namenodes, the secondary namenode and journal nodes, at the hosts that their
connections come from. Hadoop: GetJournalEditServlet.isValidRequestor, which takes any user of the
journal node's own name for another journal node.
"""

from __future__ import annotations

from typing import Final

from howdah.config import Configuration, keys
from howdah.security.server_login import ServerLogin
from howdah.security.server_principals import comes_from_its_host, configured
from howdah.web import segment_transfer
from howdah.web.access.login_guard import login_guard
from howdah.web.access.rules import AccessRules, Rule
from howdah.web.access.server_guard import server_guard
from howdah.web.http import Guard

RULES: Final = AccessRules({segment_transfer.PATH: Rule.SERVERS})
"""Of all that a journal node answers."""
_SERVERS: Final = (
    keys.DFS_NAMENODE_KERBEROS_PRINCIPAL,
    keys.DFS_SECONDARY_NAMENODE_KERBEROS_PRINCIPAL,
    keys.DFS_JOURNALNODE_KERBEROS_PRINCIPAL,
)


def web_guard(conf: Configuration, login: ServerLogin) -> Guard:
    """Make the guard of a journal node's web ports. `login` is the journal node's.

    Raises InvalidConfiguration, LoginFailed.
    """
    wanted = configured(conf, _SERVERS)
    return server_guard(
        conf,
        login,
        conf.get(keys.DFS_JOURNALNODE_HTTP_ADDRESS)[0],
        RULES,
        own_key=keys.DFS_JOURNALNODE_KERBEROS_INTERNAL_SPNEGO_PRINCIPAL,
        is_server=lambda principal, address: any(
            comes_from_its_host(principal, each, address) for each in wanted
        ),
    )


def guard_of_logins(conf: Configuration) -> Guard | None:
    """The same without Kerberos; None where everybody is believed. Raises InvalidConfiguration."""
    return login_guard(conf, "journal node", RULES)
