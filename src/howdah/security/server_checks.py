"""What keeps a server from starting with Kerberos, since it would leave a door open; and as whom it
logs in (shell: asks the system for its name)."""

from __future__ import annotations

import socket
from typing import Final

from howdah import errors
from howdah.config import Configuration, check_protection, keys
from howdah.config.value_types import Key
from howdah.protocol.data_transfer.handshake import KEY_BYTES
from howdah.protocol.sasl import digest_md5
from howdah.protocol.sasl.principals import HOST_PLACEHOLDER, Principal
from howdah.security.offered_protections import check_resolvers

_WILDCARDS: Final = ("", "0.0.0.0", "::")

_NO_LOGINS: Final = "none"
OPENID: Final = "oidc"
"""As a value of `howdah.http.authentication`."""
_WEB_TYPES: Final = ("simple", "kerberos")
_WEB_FILTERS: Final = frozenset(
    (
        "AuthenticationFilterInitializer",
        "StaticUserWebFilter",
        "CrossOriginFilterInitializer",
        "HttpCrossOriginFilterInitializer",
    )
)

THERE_WITH_KERBEROS: Final = frozenset(
    {
        keys.HADOOP_SECURITY_AUTHENTICATION.name,
        keys.HADOOP_RPC_PROTECTION.name,
        keys.DFS_DATA_TRANSFER_PROTECTION.name,
        # `check_secured` looks at these.
        "dfs.web.authentication.simple.anonymous.allowed",
        "hadoop.http.authentication.simple.anonymous.allowed",
        "hadoop.http.authentication.type",
        "hadoop.http.filter.initializers",
        "hadoop.security.instrumentation.requires.admin",
    }
)
"""Keys that ask for nothing more than servers do that are secured by Kerberos."""


THERE_WITHOUT_KERBEROS: Final = frozenset(
    {
        keys.HOWDAH_HTTP_AUTHENTICATION.name,
        # With logins it holds, and without these everybody may look at everything.
        "hadoop.security.instrumentation.requires.admin",
    }
)
"""The same of servers at whose web ports users log in."""


def is_secured(conf: Configuration) -> bool:
    """Whether clients have to prove who they are."""
    return conf.get(keys.HADOOP_SECURITY_AUTHENTICATION) == "kerberos"


def takes_simple(conf: Configuration) -> bool:
    """Whether a server that is secured believes those who prove nothing as well, while its cluster
    changes over to Kerberos."""
    return is_secured(conf) and conf.get(keys.HOWDAH_SECURITY_TRANSITION)


def has_logins(conf: Configuration) -> bool:
    """Whether users of web pages and WebHDFS log in, on a cluster without Kerberos."""
    return conf.get(keys.HOWDAH_HTTP_AUTHENTICATION) != _NO_LOGINS


def uses_openid(conf: Configuration) -> bool:
    """Whether they log in by OpenID Connect."""
    return conf.get(keys.HOWDAH_HTTP_AUTHENTICATION) == OPENID


def check_needed(conf: Configuration, needed: tuple[Key[str | None], ...]) -> None:
    """Raises InvalidConfiguration for a key that is needed and not set."""
    for key in needed:
        if not conf.get(key):
            raise errors.InvalidConfiguration(
                f"{key.name} is not set: a server that is secured by Kerberos needs it"
            )


def check_secured(conf: Configuration, needed: tuple[Key[str | None], ...]) -> None:
    """Raises InvalidConfiguration for what would leave a door to data open, and for a key that is
    needed and not set."""
    check_needed(conf, needed)
    if not conf.get(keys.DFS_BLOCK_ACCESS_TOKEN_ENABLE):
        raise errors.InvalidConfiguration(
            "Security is enabled but block access tokens (via "
            f"{keys.DFS_BLOCK_ACCESS_TOKEN_ENABLE.name}) aren't enabled: blocks would be read and "
            "written by everybody"
        )
    check_calls_secured(conf)


def check_encryption(conf: Configuration) -> None:
    """Raises InvalidConfiguration where data is to be encrypted, and cannot be.

    Hadoop's servers start with encryption and without block tokens. Nobody gets a key from them
    then, and no data is written or read.
    """
    if not conf.get(keys.DFS_ENCRYPT_DATA_TRANSFER):
        return
    if not conf.get(keys.DFS_BLOCK_ACCESS_TOKEN_ENABLE):
        raise errors.InvalidConfiguration(
            f"{keys.DFS_ENCRYPT_DATA_TRANSFER.name} = true needs "
            f"{keys.DFS_BLOCK_ACCESS_TOKEN_ENABLE.name} = true: data is encrypted by keys that are "
            "made of those of block tokens"
        )
    aes_key_bytes(conf)


def aes_key_bytes(conf: Configuration) -> int:
    """How long the keys of AES are that data is encrypted by. Raises InvalidConfiguration."""
    key = keys.DFS_ENCRYPT_DATA_TRANSFER_CIPHER_KEY_BITLENGTH
    bits = conf.get(key)
    if bits % 8 or bits // 8 not in KEY_BYTES:
        raise errors.InvalidConfiguration(
            f"{key.name} = {bits} (from {conf.source(key.name)}): a key of AES has "
            f"{', '.join(str(8 * count) for count in KEY_BYTES)} bits"
        )
    return bits // 8


def check_believing(conf: Configuration) -> None:
    """Raises InvalidConfiguration for a protection that is asked for, and that a server lacks
    which knows logins and no Kerberos."""
    check_protection(conf, THERE_WITHOUT_KERBEROS if has_logins(conf) else ())


def check_calls_secured(conf: Configuration) -> None:
    """Raises InvalidConfiguration for what would leave a door open to a server's calls."""
    if has_logins(conf):
        key = keys.HOWDAH_HTTP_AUTHENTICATION
        raise errors.InvalidConfiguration(
            f"{key.name} (from {conf.source(key.name)}) is for clusters without Kerberos: by "
            f"{keys.HADOOP_SECURITY_AUTHENTICATION.name} = kerberos users show their tickets"
        )
    check_resolvers(conf)
    mechanism = conf.get(keys.HADOOP_SECURITY_SASL_MECHANISM)
    if mechanism != digest_md5.MECHANISM:
        raise errors.InvalidConfiguration(
            f"{keys.HADOOP_SECURITY_SASL_MECHANISM.name} = {mechanism} is not supported: tokens "
            f"prove themselves by {digest_md5.MECHANISM}"
        )
    _check_web(conf)


def _check_web(conf: Configuration) -> None:
    """Raises InvalidConfiguration for a proof or a filter that no server here knows."""
    key = keys.HADOOP_HTTP_AUTHENTICATION_TYPE
    kind = conf.get(key)
    if kind not in _WEB_TYPES:
        raise errors.InvalidConfiguration(
            f"{key.name} = {kind} (from {conf.source(key.name)}) is not supported: it is one of "
            f"{', '.join(_WEB_TYPES)}"
        )
    name = "hadoop.http.filter.initializers"
    for filter_class in (conf.raw(name) or "").replace("\n", ",").split(","):
        filter_class = filter_class.strip()
        if filter_class and filter_class.rpartition(".")[2] not in _WEB_FILTERS:
            raise errors.InvalidConfiguration(
                f"{name} = {filter_class} (from {conf.source(name)}) is not supported: web ports "
                "have no filters of Hadoop's classes but for the authentication by Kerberos"
            )


def own_principal(conf: Configuration, key: Key[str | None], host: str) -> Principal:
    """A server's principal, in which `_HOST` stands for `host`; where that is any address, for the
    machine's name. Raises InvalidConfiguration."""
    named = Principal.parse(conf.get(key) or "")
    if not named.instance or not named.realm:
        raise errors.InvalidConfiguration(
            f"{key.name} = {named} names no host or no realm: write it as "
            f"{named.primary}/{HOST_PLACEHOLDER}@REALM"
        )
    if named.instance != HOST_PLACEHOLDER:
        return named
    if host in _WILDCARDS:
        host = socket.getfqdn()
    return Principal(named.primary, host.lower(), named.realm)
