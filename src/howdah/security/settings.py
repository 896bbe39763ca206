"""What a client's configuration says of a secured cluster, once it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.nameservices import nameservices, rpc_addresses
from howdah.config.value_types import Address, Key
from howdah.formats.tokens.token import LOGICAL_SERVICE
from howdah.protocol.data_transfer.handshake import known_suites
from howdah.protocol.sasl import digest_md5
from howdah.protocol.sasl.auth_to_local import Rule, parse_rules, short_name
from howdah.protocol.sasl.principals import ServerPrincipals
from howdah.protocol.sasl.protection import Protection, parse_protections

_DATANODE_PROTOCOLS = frozenset(
    (
        "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol",
        "org.apache.hadoop.hdfs.server.protocol.InterDatanodeProtocol",
    )
)
_JOURNAL_PROTOCOLS = frozenset(
    (
        "org.apache.hadoop.hdfs.qjournal.protocol.QJournalProtocol",
        "org.apache.hadoop.hdfs.qjournal.protocol.InterQJournalProtocol",
        "org.howdah.journalnode.ElectionProtocol",
    )
)
_ROUTER_PROTOCOL = "org.apache.hadoop.hdfs.protocolPB.RouterAdminProtocol"
_NAMENODE_PROTOCOLS = frozenset(
    (
        "org.apache.hadoop.hdfs.protocol.ClientProtocol",
        "org.apache.hadoop.hdfs.server.protocol.NamenodeProtocol",
        "org.apache.hadoop.hdfs.server.protocol.DatanodeProtocol",
        "org.apache.hadoop.hdfs.server.protocol.DatanodeLifelineProtocol",
    )
)

_NAMENODE = ServerPrincipals(keys.DFS_NAMENODE_KERBEROS_PRINCIPAL.name)
_DATANODE = ServerPrincipals(keys.DFS_DATANODE_KERBEROS_PRINCIPAL.name)
_JOURNALNODE = ServerPrincipals(keys.DFS_JOURNALNODE_KERBEROS_PRINCIPAL.name)
_ROUTER = ServerPrincipals(keys.DFS_FEDERATION_ROUTER_KERBEROS_PRINCIPAL.name)
_ADMINISTERED = ServerPrincipals(keys.HADOOP_SECURITY_SERVICE_USER_NAME_KEY.name)
_DEFAULT_RULES = (Rule(),)


@dataclass(frozen=True, slots=True)
class SecuritySettings:
    """One client's. Without `is_enabled` a token is used where there is one, and nothing else."""

    is_enabled: bool = False
    fallback_allowed: bool = False
    needs_token: bool = False
    """Whether a name counts for nothing without a token, though Kerberos is not enabled."""
    rpc_protections: tuple[Protection, ...] = (Protection.AUTHENTICATION,)
    data_protections: tuple[Protection, ...] = ()
    cipher_suites: tuple[str, ...] = ()
    token_mechanism: str = digest_md5.MECHANISM
    namenode: ServerPrincipals = _NAMENODE
    datanode: ServerPrincipals = _DATANODE
    journalnode: ServerPrincipals = _JOURNALNODE
    router: ServerPrincipals = _ROUTER
    administered: ServerPrincipals = _ADMINISTERED
    logical_services: Mapping[Address, str] = field(default_factory=dict)
    """How tokens name a nameservice, by the addresses of its namenodes."""
    rules: tuple[Rule, ...] = _DEFAULT_RULES
    rules_mechanism: str = "hadoop"

    def principals_for(self, protocol: str) -> ServerPrincipals:
        """Whom to expect where a protocol is answered."""
        if protocol in _DATANODE_PROTOCOLS:
            return self.datanode
        if protocol in _JOURNAL_PROTOCOLS:
            return self.journalnode
        if protocol == _ROUTER_PROTOCOL:
            return self.router
        if protocol in _NAMENODE_PROTOCOLS or not self.administered.principal:
            return self.namenode
        return self.administered

    def user_of(self, principal: str, default_realm: str) -> str:
        """The user that a principal is. Raises AuthenticationFailed where no rule applies."""
        return short_name(principal, self.rules, default_realm, self.rules_mechanism)

    @classmethod
    def from_configuration(cls, conf: Configuration) -> SecuritySettings:
        """Raises InvalidConfiguration."""
        mechanism = conf.get(keys.HADOOP_SECURITY_SASL_MECHANISM)
        service = conf.get(keys.HADOOP_SECURITY_SERVICE_USER_NAME_KEY) or ""
        return cls(
            is_enabled=conf.get(keys.HADOOP_SECURITY_AUTHENTICATION) != "simple",
            fallback_allowed=conf.get(keys.IPC_CLIENT_FALLBACK_TO_SIMPLE_AUTH_ALLOWED),
            rpc_protections=parsed_protections(conf, keys.HADOOP_RPC_PROTECTION),
            data_protections=parsed_protections(conf, keys.DFS_DATA_TRANSFER_PROTECTION),
            cipher_suites=_cipher_suites(conf),
            token_mechanism=mechanism,
            namenode=_principals(
                conf,
                keys.DFS_NAMENODE_KERBEROS_PRINCIPAL,
                keys.DFS_NAMENODE_KERBEROS_PRINCIPAL_PATTERN,
            ),
            datanode=_principals(
                conf,
                keys.DFS_DATANODE_KERBEROS_PRINCIPAL,
                keys.DFS_DATANODE_KERBEROS_PRINCIPAL_PATTERN,
            ),
            journalnode=_principals(conf, keys.DFS_JOURNALNODE_KERBEROS_PRINCIPAL, None),
            router=_principals(
                conf,
                keys.DFS_FEDERATION_ROUTER_KERBEROS_PRINCIPAL,
                keys.DFS_FEDERATION_ROUTER_KERBEROS_PRINCIPAL_PATTERN,
            ),
            administered=ServerPrincipals(keys.HADOOP_SECURITY_SERVICE_USER_NAME_KEY.name, service),
            logical_services=_logical_services(conf),
            rules=rules_of(conf),
            rules_mechanism=conf.get(keys.HADOOP_SECURITY_AUTH_TO_LOCAL_MECHANISM),
        )


def parsed_protections(conf: Configuration, key: Key[list[str]]) -> tuple[Protection, ...]:
    """Return the protections that a key names. Raises InvalidConfiguration."""
    words: list[str] = conf.get(key)
    try:
        return parse_protections(words)
    except ValueError as error:
        raise errors.InvalidConfiguration(
            f"{key.name} = {conf.raw(key.name)!r} (from {conf.source(key.name)}): {error}"
        ) from error


def _cipher_suites(conf: Configuration) -> tuple[str, ...]:
    name = keys.DFS_ENCRYPT_DATA_TRANSFER_CIPHER_SUITES.name
    words: list[str] = conf.get(keys.DFS_ENCRYPT_DATA_TRANSFER_CIPHER_SUITES)
    try:
        return known_suites(tuple(words))
    except ValueError as error:
        raise errors.InvalidConfiguration(f"{name} (from {conf.source(name)}): {error}") from error


def _principals(
    conf: Configuration, principal: Key[str | None], pattern: Key[str | None] | None
) -> ServerPrincipals:
    glob = None if pattern is None else conf.get(pattern)
    return ServerPrincipals(principal.name, conf.get(principal) or "", glob or "")


def _logical_services(conf: Configuration) -> dict[Address, str]:
    services: dict[Address, str] = {}
    for name in nameservices(conf):
        try:
            addresses = rpc_addresses(conf, name)
        except errors.InvalidConfiguration:
            continue  # One that the client does not talk to may be described in part.
        for address in addresses.values():
            services[address] = f"{LOGICAL_SERVICE}{name}"
    return services


def rules_of(conf: Configuration) -> tuple[Rule, ...]:
    """Return what makes users of principals. Raises InvalidConfiguration."""
    key = keys.HADOOP_SECURITY_AUTH_TO_LOCAL
    try:
        return parse_rules(conf.get(key))
    except ValueError as error:
        raise errors.InvalidConfiguration(
            f"{key.name} (from {conf.source(key.name)}): {error}"
        ) from error
