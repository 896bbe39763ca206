"""Who may ask a secured datanode over HTTP for what (shell: a keytab), or one whose users log in.
Hadoop: DatanodeHttpServer, whose WebHDFS takes tokens alone."""

from __future__ import annotations

from typing import Final

from howdah.config import Configuration, keys
from howdah.security.server_login import ServerLogin
from howdah.web.access.login_guard import login_guard
from howdah.web.access.rules import AccessRules, Rule
from howdah.web.access.server_guard import server_guard
from howdah.web.http import Guard
from howdah.web.webhdfs.parameters import PREFIX as WEBHDFS

RULES: Final = AccessRules({WEBHDFS: Rule.TOKEN})
"""Of all that a datanode answers."""


def web_guard(conf: Configuration, login: ServerLogin) -> Guard:
    """Make the guard of a datanode's web ports. `login` is the datanode's.

    Raises InvalidConfiguration, LoginFailed.
    """
    host = conf.get(keys.DFS_DATANODE_HOSTNAME) or conf.get(keys.DFS_DATANODE_HTTP_ADDRESS)[0]
    return server_guard(conf, login, host, RULES)


def guard_of_logins(conf: Configuration) -> Guard | None:
    """The same without Kerberos; None where everybody is believed. Raises InvalidConfiguration."""
    return login_guard(conf, "datanode", RULES)
