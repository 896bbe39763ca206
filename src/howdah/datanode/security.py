"""How a datanode proves itself, and others prove themselves at it, by its configuration (shell).

Without Kerberos everybody may do everything, but for what takes block tokens
(`dfs.block.access.token.enable`) and keys for encryption (`dfs.encrypt.data.transfer`): a datanode
asks for these as with Kerberos, and a namenode gives them to whoever asks. With Kerberos a datanode

1. logs in by its keytab, and calls namenodes and other datanodes so;
2. asks for block tokens at its data port, behind a handshake with the protections of
   `dfs.data.transfer.protection`, or with encryption where all data is encrypted; without one at a
   port below 1024, which proves it to clients;
3. takes tickets and block tokens at its RPC port; other datanodes alone speak theirs;
4. asks by SPNEGO who comes over HTTP for a page (`web_access`), and takes delegation tokens for
   WebHDFS, by which it asks a namenode as their owner.
"""

from __future__ import annotations

import getpass

from howdah.config import Configuration, keys
from howdah.datanode.recovery import inter_datanode
from howdah.datanode.settings import check_datanode_protection, has_privileged_port
from howdah.datanode.state.block_tokens import KnownKeys
from howdah.datanode.transfer.guard import Encryption, Guard
from howdah.datanode.web_access import web_guard
from howdah.protocol.rpc.negotiation import ServerMethods
from howdah.protocol.sasl.offered_protections import SameForAll
from howdah.security.offered_protections import offered_for_data
from howdah.security.server_checks import aes_key_bytes, is_secured
from howdah.security.server_login import log_in_server
from howdah.security.server_methods import IssuedTokens, MethodsAtDatanode
from howdah.security.settings import SecuritySettings


def guard_of(conf: Configuration) -> Guard | None:
    """None where everybody may do everything.

    Raises InvalidConfiguration, and LoginFailed for a keytab by which nobody can log in.
    """
    check_datanode_protection(conf)
    encryption = None
    if conf.get(keys.DFS_ENCRYPT_DATA_TRANSFER):
        encryption = Encryption(conf.get(keys.DFS_ENCRYPT_DATA_TRANSFER_ALGORITHM))
    if is_secured(conf):
        return _with_kerberos(conf, encryption)
    if conf.get(keys.DFS_BLOCK_ACCESS_TOKEN_ENABLE):
        return _without_kerberos(conf, encryption)
    return None


def _without_kerberos(conf: Configuration, encryption: Encryption | None) -> Guard:
    """Asks for block tokens, and believes everybody who asks for no block."""
    settings = SecuritySettings.from_configuration(conf)

    def methods(tokens: IssuedTokens) -> ServerMethods:
        return MethodsAtDatanode(None, SameForAll(settings.rpc_protections), str, tokens)

    return Guard(
        KnownKeys(),
        getpass.getuser(),
        (),
        settings.cipher_suites,
        methods=methods,
        encryption=encryption,
        aes_key_bytes=aes_key_bytes(conf),
    )


def _with_kerberos(conf: Configuration, encryption: Encryption | None) -> Guard:
    login = log_in_server(
        conf,
        keys.DFS_DATANODE_KERBEROS_PRINCIPAL,
        keys.DFS_DATANODE_KEYTAB_FILE,
        conf.get(keys.DFS_DATANODE_HOSTNAME) or "",
    )
    settings = login.settings

    def methods(tokens: IssuedTokens) -> ServerMethods:
        return MethodsAtDatanode(
            login.identity,
            login.protections,
            login.short_name,
            tokens,
            {inter_datanode.PROTOCOL: settings.datanode.principal},
            confinement=login.confinement,
            takes_simple=login.takes_simple,
        )

    return Guard(
        KnownKeys(),
        login.user,
        settings.data_protections,
        settings.cipher_suites,
        offered=offered_for_data(conf),
        rpc_user=login.caller,
        methods=methods,
        web=web_guard(conf, login),
        encryption=encryption,
        aes_key_bytes=aes_key_bytes(conf),
        is_privileged=has_privileged_port(conf),
        takes_simple=login.takes_simple,
    )
