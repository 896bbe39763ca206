"""Who may speak to a journal node, by its configuration (shell: reads a keytab).

Without Kerberos everybody may. With Kerberos a journal node

1. logs in by its keytab, takes tickets with the protections of `hadoop.rpc.protection`, and calls
   the other journal nodes so;
2. lets namenodes alone write and read journals, and other journal nodes alone ask what they miss;
3. lets failover controllers alone elect, which have the principal of their namenode.

Users have no business at its RPC port, and administrators neither: not even they are answered.
Over HTTP it asks by SPNEGO who comes (`web_access`).
"""

from __future__ import annotations

from dataclasses import dataclass

from howdah.config import Configuration, check_protection, keys
from howdah.journalnode import election_service
from howdah.journalnode.protocol import INTER_QJOURNAL, QJOURNAL
from howdah.journalnode.web_access import web_guard
from howdah.protocol.rpc.negotiation import ServerMethods
from howdah.security.server_checks import (
    THERE_WITH_KERBEROS,
    check_believing,
    check_calls_secured,
    check_needed,
    is_secured,
)
from howdah.security.server_login import log_in_journalnode
from howdah.security.web_settings import check_web_principal
from howdah.web.http import Guard

_NEEDED = (
    keys.DFS_JOURNALNODE_KERBEROS_PRINCIPAL,
    keys.DFS_JOURNALNODE_KEYTAB_FILE,
    keys.DFS_NAMENODE_KERBEROS_PRINCIPAL,
)


def check_journalnode_protection(conf: Configuration) -> None:
    """Raises InvalidConfiguration for a protection that is asked for and that a journal node
    lacks."""
    if not is_secured(conf):
        check_believing(conf)
        return
    check_needed(conf, _NEEDED)
    check_calls_secured(conf)
    check_web_principal(
        conf,
        keys.DFS_JOURNALNODE_KERBEROS_INTERNAL_SPNEGO_PRINCIPAL,
        "neither namenodes nor other journal nodes could read its segments",
    )
    check_protection(conf, THERE_WITH_KERBEROS)


@dataclass(frozen=True, slots=True)
class Security:
    """How others prove themselves at a journal node, and as whom it calls others."""

    methods: ServerMethods
    caller: str
    web: Guard
    """Who may ask its web ports for what."""


def security_of(conf: Configuration) -> Security | None:
    """None where everybody is believed.

    Raises InvalidConfiguration, and LoginFailed for a keytab by which nobody can log in.
    """
    login = log_in_journalnode(conf)
    if login is None:
        return None
    namenodes = login.settings.namenode.principal
    required = {
        QJOURNAL: namenodes,
        INTER_QJOURNAL: login.settings.journalnode.principal,
        election_service.PROTOCOL: namenodes,
    }
    return Security(login.methods(required), login.caller, web_guard(conf, login))
