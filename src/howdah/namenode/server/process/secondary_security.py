"""How a secondary namenode proves itself, and who may ask it, by its configuration (shell: reads a
keytab).

With Kerberos it logs in by its keytab, and calls its namenode and fetches and sends files by that
login. The namenode answers a superuser's calls: `hadoop.security.auth_to_local` has to make the
namenode's user of its principal. Hadoop's namenode with `hadoop.security.authorization` answers
nobody but the principal of namenodes.

It takes no calls. Over HTTP it asks by SPNEGO who comes, or has users log in without Kerberos.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from howdah.config import Configuration, check_protection, keys
from howdah.security.server_checks import (
    THERE_WITH_KERBEROS,
    check_believing,
    check_calls_secured,
    check_needed,
    is_secured,
)
from howdah.security.server_cookies import check_secret_shared, signing_caller
from howdah.security.server_login import log_in_secondary
from howdah.web.access.login_guard import login_guard
from howdah.web.access.rules import AccessRules
from howdah.web.access.server_guard import server_guard
from howdah.web.http import Guard

_NEEDED: Final = (
    keys.DFS_SECONDARY_NAMENODE_KERBEROS_PRINCIPAL,
    keys.DFS_SECONDARY_NAMENODE_KEYTAB_FILE,
    keys.DFS_NAMENODE_KERBEROS_PRINCIPAL,
)
RULES: Final = AccessRules({})
"""Of all that a secondary namenode answers."""


def check_secondary_protection(conf: Configuration) -> None:
    """Raises InvalidConfiguration for a protection that is asked for and that a secondary namenode
    lacks."""
    if not is_secured(conf):
        check_believing(conf)
        return
    check_needed(conf, _NEEDED)
    check_calls_secured(conf)
    check_protection(conf, THERE_WITH_KERBEROS)


@dataclass(frozen=True, slots=True)
class Security:
    """As whom a secondary namenode calls its namenode, and who may ask its web ports for what."""

    caller: str
    web: Guard


def security_of(conf: Configuration) -> Security | None:
    """None where everybody is believed. `conf` has the namenode's keys plain.

    Raises InvalidConfiguration, and LoginFailed for a keytab by which nobody can log in.
    """
    check_secondary_protection(conf)
    login = log_in_secondary(conf)
    if login is None:
        check_secret_shared(conf)
        caller = signing_caller(conf)
        guard = login_guard(conf, "secondary namenode", RULES)
        return None if guard is None or caller is None else Security(caller, guard)
    guard = server_guard(
        conf,
        login,
        conf.get(keys.DFS_NAMENODE_SECONDARY_HTTP_ADDRESS)[0],
        RULES,
        own_key=keys.DFS_SECONDARY_NAMENODE_KERBEROS_INTERNAL_SPNEGO_PRINCIPAL,
    )
    return Security(login.caller, guard)
