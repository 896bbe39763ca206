"""As whom a server stands and calls that is secured by Kerberos (shell: reads its keytab).

One principal serves for both: clients get tickets for it, and other servers know their caller by
it. A failover controller has that of its namenode, as Hadoop's has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from howdah.config import Configuration, keys, namenode_address
from howdah.config.value_types import Key
from howdah.protocol.sasl.offered_protections import OfferedProtections
from howdah.security.confinement import Confinement
from howdah.security.offered_protections import offered_for_calls
from howdah.security.server_checks import (
    check_needed,
    is_secured,
    own_principal,
    takes_simple,
)
from howdah.security.server_cookies import signing_caller
from howdah.security.server_methods import IssuedTokens, MethodsAtServer, ServerIdentity
from howdah.security.settings import SecuritySettings


@dataclass(frozen=True, slots=True)
class ServerLogin:
    """One server's."""

    settings: SecuritySettings
    identity: ServerIdentity
    realm: str
    user: str
    """The short name of its principal."""
    caller: str
    """As whom it calls other servers: `user`, with the login that proves it."""
    protections: OfferedProtections
    """What its RPC ports offer."""
    confinement: Confinement = field(default_factory=Confinement)
    """Of which servers the calls are confined to those of their kind."""
    takes_simple: bool = False
    """Whether the server believes those who prove nothing, too (`howdah.security.transition`)."""

    def short_name(self, principal: str) -> str:
        """The user of a principal. Raises AuthenticationFailed where it has none."""
        return self.settings.user_of(principal, self.realm)

    def methods(
        self, required: Mapping[str, str], tokens: IssuedTokens | None = None
    ) -> MethodsAtServer:
        """How clients prove themselves at a port of this server. `required` has, by the Java names
        of protocols, who alone speaks them."""
        return MethodsAtServer(
            self.identity,
            self.protections,
            self.short_name,
            tokens,
            required,
            confinement=self.confinement,
            takes_simple=self.takes_simple,
        )


def log_in_server(
    conf: Configuration, principal: Key[str | None], keytab: Key[str | None], host: str
) -> ServerLogin:
    """The login of a server that is secured. `host` is where it listens.

    Raises InvalidConfiguration, and LoginFailed for a keytab by which nobody can log in.
    """
    check_needed(conf, (principal, keytab))
    # These load the library of Kerberos, which most servers never need.
    from howdah.security.login import LoginSource, default_realm
    from howdah.security.users import Identity, SecuredUser

    settings = SecuritySettings.from_configuration(conf)
    is_changing = takes_simple(conf)
    if is_changing:
        # Not all the servers that it calls have changed over.
        settings = replace(settings, fallback_allowed=True)
    whose = own_principal(conf, principal, host)
    identity = ServerIdentity(whose, conf.get(keytab) or "")
    identity.check()
    realm = default_realm()
    user = settings.user_of(str(whose), realm)
    login = LoginSource(identity.keytab, str(whose))
    proven = Identity(settings, login, has_own_tokens_alone=True)
    return ServerLogin(
        settings,
        identity,
        realm,
        user,
        SecuredUser(user, proven, str(whose)),
        offered_for_calls(conf),
        Confinement.from_configuration(conf),
        is_changing,
    )


def log_in_namenode(conf: Configuration) -> ServerLogin | None:
    """The login of a namenode, and of its failover controller; `conf` has its keys plain. None
    without Kerberos. Raises as `log_in_server`."""
    if not is_secured(conf):
        return None
    return log_in_server(
        conf,
        keys.DFS_NAMENODE_KERBEROS_PRINCIPAL,
        keys.DFS_NAMENODE_KEYTAB_FILE,
        namenode_address(conf)[0],
    )


def log_in_journalnode(conf: Configuration) -> ServerLogin | None:
    """The same of a journal node."""
    if not is_secured(conf):
        return None
    return log_in_server(
        conf,
        keys.DFS_JOURNALNODE_KERBEROS_PRINCIPAL,
        keys.DFS_JOURNALNODE_KEYTAB_FILE,
        conf.get(keys.DFS_JOURNALNODE_RPC_ADDRESS)[0],
    )


def log_in_secondary(conf: Configuration) -> ServerLogin | None:
    """The same of a secondary namenode, whose host is that of its web port; `conf` has its keys
    plain."""
    if not is_secured(conf):
        return None
    return log_in_server(
        conf,
        keys.DFS_SECONDARY_NAMENODE_KERBEROS_PRINCIPAL,
        keys.DFS_SECONDARY_NAMENODE_KEYTAB_FILE,
        conf.get(keys.DFS_NAMENODE_SECONDARY_HTTP_ADDRESS)[0],
    )


def log_in_router(conf: Configuration) -> ServerLogin | None:
    """The same of a router."""
    if not is_secured(conf):
        return None
    return log_in_server(
        conf,
        keys.DFS_FEDERATION_ROUTER_KERBEROS_PRINCIPAL,
        keys.DFS_FEDERATION_ROUTER_KEYTAB_FILE,
        conf.get(keys.DFS_FEDERATION_ROUTER_KERBEROS_PRINCIPAL_HOSTNAME)
        or conf.get(keys.DFS_FEDERATION_ROUTER_RPC_ADDRESS)[0],
    )


def check_journal_nodes_known(conf: Configuration) -> None:
    """Raises InvalidConfiguration where nothing says who secured journal nodes are."""
    if is_secured(conf):
        check_needed(conf, (keys.DFS_JOURNALNODE_KERBEROS_PRINCIPAL,))


def namenode_caller(conf: Configuration) -> str | None:
    """As whom a namenode and its controller call other servers; None, which is the process's user,
    where it proves itself by nothing. Raises as `log_in_server`."""
    login = log_in_namenode(conf)
    return signing_caller(conf) if login is None else login.caller
