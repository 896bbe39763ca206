"""Who clients of a router are, and who a router is for namenodes (shell: reads a keytab).

Without Kerberos everybody is believed, at the router and behind it. With Kerberos a router

1. logs in by its keytab, and its superuser is the user of its principal;
2. takes tickets at both of its RPC ports, with the protections of `hadoop.rpc.protection`, and at
   the port for clients the delegation tokens of all routers that share its state store;
3. calls namenodes as itself for the user who called it. They have to let it
   (`hadoop.proxyuser.*` there). Whoever acted for the user at the router does not count there, as
   with Hadoop's: the router has judged that, and the namenode reads who it was in the context of
   the call;
4. asks by SPNEGO who comes over HTTP (`web_access`).

Data and block tokens go between clients and datanodes: a router sees none of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.config import Configuration, check_protection, keys, nameservices
from howdah.router.store.factory import store_place
from howdah.router.store.zookeeper import ZooKeeperPlace
from howdah.router.web_access import web_guard
from howdah.security.confinement import CONFINED, Confinement
from howdah.security.server_checks import (
    THERE_WITH_KERBEROS,
    check_calls_secured,
    check_needed,
    is_secured,
)
from howdah.security.server_login import ServerLogin, log_in_router
from howdah.web.http import Guard

log = logging.getLogger(__name__)

_OF_HADOOPS_TOKENS: Final = "zk-dt-secret-manager."
_NEEDED: Final = (
    keys.DFS_FEDERATION_ROUTER_KERBEROS_PRINCIPAL,
    keys.DFS_FEDERATION_ROUTER_KEYTAB_FILE,
    keys.DFS_NAMENODE_KERBEROS_PRINCIPAL,
    # Whose keytabs are no superuser's here, though `auth_to_local` makes them one.
    *CONFINED,
)


def check_router_protection(conf: Configuration) -> None:
    """Raises InvalidConfiguration for a protection that is asked for and that a router lacks."""
    _warn_of_keys(conf)
    if not is_secured(conf):
        check_protection(conf)
        return
    check_needed(conf, _NEEDED)
    Confinement.from_configuration(conf)
    check_calls_secured(conf)
    _check_tokens(conf)
    check_protection(conf, THERE_WITH_KERBEROS)


def _warn_of_keys(conf: Configuration) -> None:
    several = nameservices.nameservices(conf)
    if conf.get(keys.DFS_ENCRYPT_DATA_TRANSFER) and len(several) > 1:
        log.warning(
            "%s: a client gets one encryption key from a router, which is good at the datanodes of "
            "one nameservice. Behind this router are %s: clients read and write the data of the "
            "others by their namenodes only",
            keys.DFS_ENCRYPT_DATA_TRANSFER.name,
            ", ".join(several),
        )


def _check_tokens(conf: Configuration) -> None:
    key = keys.DFS_FEDERATION_ROUTER_SECRET_MANAGER_CLASS
    manager = conf.get(key)
    if manager:
        raise errors.InvalidConfiguration(
            f"{key.name} = {manager} (from {conf.source(key.name)}) is not supported: a router of "
            "howdah keeps delegation tokens in its state store, where all routers that share it "
            "find them. Leave the key out"
        )
    ignored = sorted(name for name, _ in conf.items() if name.startswith(_OF_HADOOPS_TOKENS))
    if ignored:
        log.warning(
            "%s: a router of howdah keeps delegation tokens in its state store. Tokens that "
            "Hadoop's routers have issued are not good here, nor this router's there",
            ", ".join(ignored),
        )
    place = store_place(conf)
    if isinstance(place, ZooKeeperPlace):
        open_to = [
            f"{scheme}:{name}" for scheme, name, _ in place.ensemble.acls if scheme == "world"
        ]
        if open_to:
            name = keys.HADOOP_ZK_ACL.name
            raise errors.InvalidConfiguration(
                f"{name} (from {conf.source(name)}) opens the state store to "
                f"{', '.join(open_to)}, and with it what delegation tokens are made by: name who "
                "may, such as digest:NAME:HASH:cdrwa, and give the proof in "
                f"{keys.HADOOP_ZK_AUTH.name}"
            )


@dataclass(frozen=True, slots=True)
class Security:
    """Of one router."""

    login: ServerLogin
    caller_for: Callable[[str], str]
    """As whom to call namenodes for a user."""
    web: Guard
    """Who may ask its web ports for what."""


def security_of(conf: Configuration) -> Security | None:
    """None where everybody is believed.

    Raises InvalidConfiguration, and LoginFailed for a keytab by which nobody can log in.
    """
    login = log_in_router(conf)
    if login is None:
        return None
    # Loads the library of Kerberos, as the login has.
    from howdah.security.users import SecuredUser

    own = login.caller
    assert isinstance(own, SecuredUser), "a server that is secured calls others so"
    return Security(
        login,
        lambda user: own if user == own else own.acting_for(str(user)),
        web_guard(conf, login),
    )
