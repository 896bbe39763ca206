"""How a datanode proves itself, and others prove themselves at it, by its configuration (shell).

Without Kerberos everybody may do everything. With Kerberos a datanode

1. logs in by its keytab, and calls namenodes and other datanodes so;
2. asks for block tokens at its data port, behind a handshake with the protections of
   `dfs.data.transfer.protection`;
3. takes tickets and block tokens at its RPC port; other datanodes alone speak theirs;
4. answers nothing over HTTP, where who comes proves nothing yet.
"""

from __future__ import annotations

from howdah.config import Configuration, keys
from howdah.datanode.recovery import inter_datanode
from howdah.datanode.settings import check_datanode_protection
from howdah.datanode.state.block_tokens import KnownKeys
from howdah.datanode.transfer.guard import Guard
from howdah.protocol.rpc.negotiation import ServerMethods
from howdah.security.server_checks import is_secured, own_principal
from howdah.security.server_methods import IssuedTokens, MethodsAtDatanode, ServerIdentity
from howdah.security.settings import SecuritySettings


def guard_of(conf: Configuration) -> Guard | None:
    """None where everybody may do everything.

    Raises InvalidConfiguration, and LoginFailed for a keytab by which nobody can log in.
    """
    check_datanode_protection(conf)
    if not is_secured(conf):
        return None
    # These load the library of Kerberos, which most datanodes never need.
    from howdah.security.login import LoginSource, default_realm
    from howdah.security.users import Identity, SecuredUser

    settings = SecuritySettings.from_configuration(conf)
    keytab = conf.get(keys.DFS_DATANODE_KEYTAB_FILE) or ""
    host = conf.get(keys.DFS_DATANODE_HOSTNAME) or ""
    principal = own_principal(conf, keys.DFS_DATANODE_KERBEROS_PRINCIPAL, host)
    identity = ServerIdentity(principal, keytab)
    identity.check()
    realm = default_realm()
    user = settings.user_of(str(principal), realm)
    login = Identity(settings, LoginSource(keytab, str(principal)), has_own_tokens_alone=True)

    def methods(tokens: IssuedTokens) -> ServerMethods:
        return MethodsAtDatanode(
            identity,
            settings.rpc_protections,
            lambda name: settings.user_of(name, realm),
            tokens,
            {inter_datanode.PROTOCOL: settings.datanode.principal},
        )

    return Guard(
        KnownKeys(),
        user,
        settings.data_protections,
        settings.cipher_suites,
        rpc_user=SecuredUser(user, login, str(principal)),
        methods=methods,
    )
