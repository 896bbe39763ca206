"""How clients prove who they are at a namenode, by its configuration (shell: a keytab, dice).

Without Kerberos everybody is believed, but for who shows a delegation token, where these are issued
nevertheless (`dfs.namenode.delegation.token.always-use`). With Kerberos a namenode

1. logs in by its keytab, and its superuser is the user of its principal; by the same login it
   calls journal nodes and the other namenodes of its nameservice;
2. takes tickets and delegation tokens at each RPC port, with the protections of
   `hadoop.rpc.protection`, and lets datanodes alone speak their protocols;
3. signs blocks, since datanodes ask for that, and gives out the keys by which data is encrypted
   (`dfs.encrypt.data.transfer`), both of which it does without Kerberos as well;
4. asks by SPNEGO who comes over HTTP (`web_access`); where no principal is configured for
   that, it says no more there than whether it lives, and does not start if it shares its log with
   others, which send and fetch images there.

Where users log in at its web ports without Kerberos (`howdah.http.authentication`), it issues
tokens to them, by which datanodes know who was sent to them, and takes these at its RPC ports, as
long as their users can log in.

What would leave a door open keeps it from starting (`howdah.security.server_checks`).
"""

from __future__ import annotations

import getpass
import logging
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from howdah import errors
from howdah.config import Configuration, check_protection, keys
from howdah.config.nameservices import is_highly_available, namenode_ids, nameservices
from howdah.config.settings import read
from howdah.namenode.server import lifeline
from howdah.namenode.server.web_access import guard_of_logins, web_guard
from howdah.namenode.server.webhdfs.proofs import Proofs
from howdah.namenode.service.block_tokens import BlockTokens, KeyTimes
from howdah.namenode.service.calls.tokens import TokenCalls
from howdah.namenode.service.delegation_tokens import TokenTimes
from howdah.namenode.service.ha.states import HAContext
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols.datanodes.protocol import DatanodeProtocol
from howdah.protocol.client_methods import Category
from howdah.protocol.rpc.negotiation import ServerMethods
from howdah.protocol.rpc.proven import KERBEROS, LOGINS
from howdah.protocol.sasl.offered_protections import SameForAll
from howdah.rpc.proofs import EvaluatedBeside
from howdah.security.login_tokens import TokensOfUsers
from howdah.security.passwords import KnownPasswords
from howdah.security.server_checks import (
    THERE_WITH_KERBEROS,
    check_believing,
    check_encryption,
    check_secured,
    is_secured,
)
from howdah.security.server_cookies import (
    SigningServer,
    check_secret_shared,
    signing_caller,
)
from howdah.security.server_login import ServerLogin, log_in_namenode
from howdah.security.server_methods import IssuedTokens, MethodsAtServer, ServerIdentity
from howdah.security.settings import SecuritySettings
from howdah.security.web_settings import check_web_principal
from howdah.web.access.login_guard import known_users
from howdah.web.http import Guard
from howdah.web.server import Run

log = logging.getLogger(__name__)

_KEY_BYTES: Final = 20
"""Of a key of delegation tokens: as many as a password has."""


def check_namenode_protection(conf: Configuration) -> None:
    """Raises InvalidConfiguration for a protection that is asked for and that a namenode lacks."""
    check_encryption(conf)
    if is_secured(conf):
        needed = (
            keys.DFS_NAMENODE_KERBEROS_PRINCIPAL,
            keys.DFS_NAMENODE_KEYTAB_FILE,
            keys.DFS_DATANODE_KERBEROS_PRINCIPAL,
        )
        check_secured(conf, needed)
        if is_highly_available(conf, conf.get(keys.DFS_NAMESERVICE_ID)):
            check_web_principal(
                conf,
                keys.DFS_NAMENODE_KERBEROS_INTERNAL_SPNEGO_PRINCIPAL,
                "a standby could neither send its images nor be made of another namenode's",
            )
        check_protection(conf, THERE_WITH_KERBEROS)
    else:
        check_believing(conf)


@dataclass(frozen=True, slots=True)
class Security:
    """What a namenode knows of those who prove who they are."""

    settings: SecuritySettings
    superuser: str
    login: ServerLogin | None = None
    """None without Kerberos."""
    required: Mapping[str, str] = field(default_factory=dict)
    """By protocols: who alone speaks them."""
    signing: SigningServer | None = None
    """As whom it asks web ports of other servers without Kerberos, where users log in."""
    users: KnownPasswords | None = None
    """Whose tokens are good, where only users who log in get some."""
    web: Guard | None = None
    """Who may ask the web ports for what; None where everybody is believed."""

    @property
    def identity(self) -> ServerIdentity | None:
        return None if self.login is None else self.login.identity

    @property
    def takes_simple(self) -> bool:
        """Whether those who prove nothing are believed beside those who show a ticket."""
        return self.login is not None and self.login.takes_simple

    @property
    def caller(self) -> str | None:
        """As whom it calls other namenodes; None is the process's user."""
        return self.signing if self.login is None else self.login.caller

    def short_name(self, principal: str) -> str:
        """The user of a principal. Raises AuthenticationFailed where it has none."""
        return self.settings.user_of(principal, "" if self.login is None else self.login.realm)

    def methods(self, tokens: IssuedTokens | None = None) -> MethodsAtServer:
        """How clients prove themselves at a port, where tokens are taken if there are some."""
        if self.login is not None:
            return self.login.methods(self.required, tokens)
        return MethodsAtServer(
            None, SameForAll(self.settings.rpc_protections), self.short_name, tokens, self.required
        )

    @property
    def lifeline_methods(self) -> ServerMethods | None:
        """The same at the port of lifelines, where datanodes come, by tickets; None where
        everybody is believed."""
        return None if self.login is None else self.methods()


def security_of(conf: Configuration) -> Security:
    """Raises InvalidConfiguration, and LoginFailed for a keytab by which nobody can log in."""
    check_namenode_protection(conf)
    login = log_in_namenode(conf)
    if login is None:
        settings = SecuritySettings.from_configuration(conf)
        if namenode_ids(conf, conf.get(keys.DFS_NAMESERVICE_ID)):
            check_secret_shared(conf)
        for_everybody = conf.get(keys.DFS_NAMENODE_DELEGATION_TOKEN_ALWAYS_USE)
        return Security(
            settings,
            getpass.getuser(),
            signing=signing_caller(conf),
            users=None if for_everybody else known_users(conf),
            web=guard_of_logins(conf),
        )
    if login.takes_simple:
        _check_one_superuser(login)
    datanodes = login.settings.datanode.principal
    return Security(
        login.settings,
        login.user,
        login,
        # NamenodeProtocol is for the superuser, whom a balancer may log in as.
        {DatanodeProtocol.PROTOCOL: datanodes, lifeline.PROTOCOL: datanodes},
        web=web_guard(conf, login),
    )


def _check_one_superuser(login: ServerLogin) -> None:
    """Raises InvalidConfiguration where the namenodes of a cluster that changes over would not obey
    each other: one without Kerberos has the user of its process as its superuser."""
    user = getpass.getuser()
    if login.user != user:
        key = keys.HADOOP_SECURITY_AUTH_TO_LOCAL
        raise errors.InvalidConfiguration(
            f"{keys.HOWDAH_SECURITY_TRANSITION.name} = true: {key.name} makes {login.user} of "
            f"{login.identity.principal}, and this namenode runs as {user}, which is the superuser "
            "of those without Kerberos. Have the rules make the same user of it until all servers "
            f"have changed, such as RULE:[2:$1@$0]({login.identity.principal.primary}@"
            f"{login.identity.principal.realm})s/.*/{user}/"
        )


def make_tokens(
    conf: Configuration, namesystem: Namesystem, security: Security
) -> TokenCalls | None:
    """None where no delegation tokens are issued."""
    has_kerberos = security.identity is not None
    proofs = {KERBEROS} if has_kerberos else LOGINS
    for_everybody = conf.get(keys.DFS_NAMENODE_DELEGATION_TOKEN_ALWAYS_USE) and not has_kerberos
    if not has_kerberos and security.web is None and not for_everybody:
        kept = len(namesystem.namespace.tokens)
        if kept:
            log.warning(
                "the namespace has %d delegation tokens of a cluster that is secured by Kerberos. "
                "This namenode keeps them, and is not secured itself",
                kept,
            )
        return None
    return TokenCalls(
        namesystem,
        read(TokenTimes, conf),
        security.short_name,
        lambda: os.urandom(_KEY_BYTES),
        proofs=None if for_everybody else proofs,
        believes_strangers=security.takes_simple or not (has_kerberos or for_everybody),
    )


def make_block_tokens(
    conf: Configuration, namesystem: Namesystem, others: Collection[str]
) -> BlockTokens | None:
    """None where datanodes ask for no tokens. `others` are the namenodes that share the log."""
    if not conf.get(keys.DFS_BLOCK_ACCESS_TOKEN_ENABLE):
        return None
    index, namenodes = _place_among(conf, others)
    return BlockTokens(
        namesystem.settings.block_pool_id,
        read(KeyTimes, conf),
        namesystem.clock.wall_ms,
        os.urandom,
        index=index,
        namenodes=namenodes,
    )


def _place_among(conf: Configuration, others: Collection[str]) -> tuple[int, int]:
    """Which of how many namenodes this one is, in the order of `dfs.ha.namenodes.*`."""
    if not others:
        return 0, 1
    for nameservice in nameservices(conf):
        names = namenode_ids(conf, nameservice)
        own = [name for name in names if name not in others]
        if len(own) == 1 and len(names) == len(others) + 1:
            return names.index(own[0]), len(names)
    raise errors.InvalidConfiguration(
        f"no nameservice has this namenode beside {', '.join(others)} (dfs.ha.namenodes.*)"
    )


def make_proofs(
    tokens: TokenCalls | None, context: HAContext, security: Security
) -> EvaluatedBeside | None:
    """None where everybody is believed."""
    if security.identity is None and tokens is None:
        return None
    issued = None if tokens is None else _issued(tokens, context, security)
    return EvaluatedBeside(security.methods(issued))


def make_web_proofs(
    tokens: TokenCalls | None, context: HAContext, security: Security, run: Run
) -> Proofs | None:
    """The same for WebHDFS; `run` does something on the loop."""
    if tokens is None:
        return None
    issued = _issued(tokens, context, security)
    needs_proof = (security.identity is not None or security.web is not None) and (
        not security.takes_simple
    )
    return Proofs(issued, security.methods(issued), run, needs_proof=needs_proof)


def _issued(tokens: TokenCalls, context: HAContext, security: Security) -> IssuedTokens:
    issued = _Issued(tokens, context)
    return issued if security.users is None else TokensOfUsers(issued, security.users)


@dataclass(frozen=True, slots=True)
class _Issued(IssuedTokens):
    """The tokens of this namenode, on its loop."""

    tokens: TokenCalls
    context: HAContext

    def password_of(self, identifier: bytes) -> bytes:
        return self.tokens.password_of(
            identifier,
            lambda: self.context.check(Category.READ),
            is_active=self.context.is_active,
        )
