"""Keys of secured clusters: how a client proves who it is, and what is protected how."""

from __future__ import annotations

from howdah.config.value_types import (
    boolean,
    choice,
    integer,
    listing,
    optional_string,
    ports,
    string,
    verbatim,
)

HADOOP_RPC_PROTECTION = listing(
    "hadoop.rpc.protection",
    "authentication",
    "How calls are protected on a secured cluster, by preference: authentication, integrity, "
    "privacy.",
)
DFS_DATA_TRANSFER_PROTECTION = listing(
    "dfs.data.transfer.protection",
    "",
    "How data is protected on a secured cluster, by preference: authentication, integrity, "
    "privacy; empty: datanodes prove themselves by privileged ports.",
)
HADOOP_SECURITY_SASLPROPERTIES_RESOLVER_CLASS = optional_string(
    "hadoop.security.saslproperties.resolver.class",
    "By what a server decides which protections it offers to a client: Hadoop's class "
    "SaslPropertiesResolver (the same to all), WhitelistBasedResolver (by the client's address), "
    "IngressPortBasedResolver (by the server's port).",
)
DFS_DATA_TRANSFER_SASLPROPERTIES_RESOLVER_CLASS = optional_string(
    "dfs.data.transfer.saslproperties.resolver.class",
    "The same at data ports; else that of hadoop.security.saslproperties.resolver.class.",
)
HADOOP_SECURITY_SASL_FIXEDWHITELIST_FILE = string(
    "hadoop.security.sasl.fixedwhitelist.file",
    "/etc/hadoop/fixedwhitelist",
    "IP addresses and ranges that WhitelistBasedResolver trusts, read once.",
)
HADOOP_SECURITY_SASL_VARIABLEWHITELIST_ENABLE = boolean(
    "hadoop.security.sasl.variablewhitelist.enable",
    False,
    "Whether WhitelistBasedResolver trusts the addresses of a second file, too.",
)
HADOOP_SECURITY_SASL_VARIABLEWHITELIST_FILE = string(
    "hadoop.security.sasl.variablewhitelist.file",
    "/etc/hadoop/whitelist",
    "That file, which is read again while the server runs.",
)
HADOOP_SECURITY_SASL_VARIABLEWHITELIST_CACHE_SECS = integer(
    "hadoop.security.sasl.variablewhitelist.cache.secs",
    3600,
    "For how many seconds it is used before it is read again; never below 0.",
)
HADOOP_RPC_PROTECTION_NON_WHITELIST = listing(
    "hadoop.rpc.protection.non-whitelist",
    "privacy",
    "What WhitelistBasedResolver offers to clients whose addresses it does not trust.",
)
INGRESS_PORT_SASL_CONFIGURED_PORTS = ports(
    "ingress.port.sasl.configured.ports",
    "The ports for which IngressPortBasedResolver has protections of their own: those of "
    "ingress.port.sasl.prop.PORT, else privacy.",
)
DFS_ENCRYPT_DATA_TRANSFER_CIPHER_SUITES = listing(
    "dfs.encrypt.data.transfer.cipher.suites",
    "",
    "How data is encrypted where that is agreed: AES/CTR/NoPadding; empty: by the handshake's "
    "own, slower ciphers.",
)
DFS_ENCRYPT_DATA_TRANSFER_CIPHER_KEY_BITLENGTH = integer(
    "dfs.encrypt.data.transfer.cipher.key.bitlength",
    128,
    "How many bits the keys of AES have by which data is encrypted: 128, 192 or 256.",
    minimum=128,
    maximum=256,
)
DFS_ENCRYPT_DATA_TRANSFER_ALGORITHM = choice(
    "dfs.encrypt.data.transfer.algorithm",
    "",
    ("", "3des", "rc4"),
    "The handshake's cipher where a namenode has all data encrypted, which protects the keys of "
    "AES, or without AES all data; empty: the client picks.",
)
IGNORE_SECURE_PORTS_FOR_TESTING = boolean(
    "ignore.secure.ports.for.testing",
    False,
    "Whether a secured datanode starts though neither its ports nor SASL and TLS prove it.",
)
HADOOP_SECURITY_AUTH_TO_LOCAL = verbatim(
    "hadoop.security.auth_to_local", "DEFAULT", "Which user a Kerberos principal is."
)
HADOOP_SECURITY_AUTH_TO_LOCAL_MECHANISM = choice(
    "hadoop.security.auth_to_local.mechanism",
    "hadoop",
    ("hadoop", "mit"),
    "Whether a principal that no rule fits is refused (hadoop), or is its own user (mit).",
)
HADOOP_SECURITY_KERBEROS_TICKET_CACHE_PATH = optional_string(
    "hadoop.security.kerberos.ticket.cache.path",
    "The ticket cache of a client; else KRB5CCNAME, else the system's.",
)
HADOOP_SECURITY_SASL_MECHANISM = string(
    "hadoop.security.sasl.mechanism", "DIGEST-MD5", "How tokens prove themselves."
)
HADOOP_SECURITY_TOKEN_SERVICE_USE_IP = boolean(
    "hadoop.security.token.service.use_ip",
    True,
    "Tokens that a client gets name their server by its IP address, not by its host name.",
)
HADOOP_SECURITY_SERVICE_USER_NAME_KEY = optional_string(
    "hadoop.security.service.user.name.key",
    "The principal of a server that is administered; else that of namenodes.",
)
IPC_CLIENT_FALLBACK_TO_SIMPLE_AUTH_ALLOWED = boolean(
    "ipc.client.fallback-to-simple-auth-allowed",
    False,
    "Whether a client of a secured configuration talks to servers that ask for no proof.",
)
HOWDAH_SECURITY_TRANSITION = boolean(
    "howdah.security.transition",
    False,
    "Whether a server that is secured by Kerberos believes those who show no proof, too, and takes "
    "servers that ask for none: for the time in which a cluster changes over.",
)
DFS_NAMENODE_KERBEROS_PRINCIPAL = optional_string(
    "dfs.namenode.kerberos.principal",
    "The Kerberos principal of namenodes; _HOST stands for the host.",
)
DFS_NAMENODE_KERBEROS_PRINCIPAL_PATTERN = optional_string(
    "dfs.namenode.kerberos.principal.pattern",
    "A glob that the principals of namenodes match; it takes the place of the principal.",
)
DFS_NAMENODE_KEYTAB_FILE = optional_string("dfs.namenode.keytab.file", "The keytab of a namenode.")
DFS_DATANODE_KEYTAB_FILE = optional_string("dfs.datanode.keytab.file", "The keytab of a datanode.")
DFS_DATANODE_KERBEROS_PRINCIPAL = optional_string(
    "dfs.datanode.kerberos.principal",
    "The Kerberos principal of datanodes; _HOST stands for the host.",
)
DFS_DATANODE_KERBEROS_PRINCIPAL_PATTERN = optional_string(
    "dfs.datanode.kerberos.principal.pattern",
    "A glob that the principals of datanodes match; it takes the place of the principal.",
)
DFS_JOURNALNODE_KERBEROS_PRINCIPAL = optional_string(
    "dfs.journalnode.kerberos.principal",
    "The Kerberos principal of journal nodes; _HOST stands for the host.",
)
DFS_JOURNALNODE_KEYTAB_FILE = optional_string(
    "dfs.journalnode.keytab.file", "The keytab of a journal node."
)
DFS_FEDERATION_ROUTER_KERBEROS_PRINCIPAL = optional_string(
    "dfs.federation.router.kerberos.principal",
    "The Kerberos principal of routers; _HOST stands for the host.",
)
DFS_FEDERATION_ROUTER_KEYTAB_FILE = optional_string(
    "dfs.federation.router.keytab.file", "The keytab of a router."
)
DFS_FEDERATION_ROUTER_KERBEROS_PRINCIPAL_HOSTNAME = optional_string(
    "dfs.federation.router.kerberos.principal.hostname",
    "The host that _HOST stands for in a router's principals; else that of its RPC address.",
)
DFS_FEDERATION_ROUTER_SECRET_MANAGER_CLASS = optional_string(
    "dfs.federation.router.secret.manager.class",
    "Not to be set: a router keeps delegation tokens in its state store.",
)
DFS_FEDERATION_ROUTER_KERBEROS_PRINCIPAL_PATTERN = optional_string(
    "dfs.federation.router.kerberos.principal.pattern",
    "A glob that the principals of routers match.",
)
DFS_BALANCER_KEYTAB_ENABLED = boolean(
    "dfs.balancer.keytab.enabled",
    False,
    "Whether a balancer logs in by a keytab of its own, instead of by who started it.",
)
DFS_BALANCER_KEYTAB_FILE = optional_string("dfs.balancer.keytab.file", "The keytab of a balancer.")
DFS_BALANCER_KERBEROS_PRINCIPAL = optional_string(
    "dfs.balancer.kerberos.principal",
    "The Kerberos principal of a balancer; _HOST stands for this host.",
)
DFS_MOVER_KEYTAB_ENABLED = boolean(
    "dfs.mover.keytab.enabled",
    False,
    "Whether a mover logs in by a keytab of its own, instead of by who started it.",
)
DFS_MOVER_KEYTAB_FILE = optional_string("dfs.mover.keytab.file", "The keytab of a mover.")
DFS_MOVER_KERBEROS_PRINCIPAL = optional_string(
    "dfs.mover.kerberos.principal", "The Kerberos principal of a mover; _HOST stands for this host."
)
HOWDAH_CLIENT_KEYTAB_FILE = optional_string(
    "howdah.client.keytab.file",
    "A keytab that a client logs in from, and renews its tickets by; else KRB5KEYTAB.",
)
HOWDAH_CLIENT_KERBEROS_PRINCIPAL = optional_string(
    "howdah.client.kerberos.principal",
    "The principal of that keytab, or of the ticket cache; else KRB5PRINCIPAL.",
)
DFS_NAMENODE_DELEGATION_TOKEN_RENEW_INTERVAL = integer(
    "dfs.namenode.delegation.token.renew-interval",
    24 * 60 * 60 * 1000,
    "For how many milliseconds a delegation token is good when it was issued or renewed.",
    minimum=1,
)
DFS_NAMENODE_DELEGATION_TOKEN_MAX_LIFETIME = integer(
    "dfs.namenode.delegation.token.max-lifetime",
    7 * 24 * 60 * 60 * 1000,
    "For how many milliseconds a delegation token can be renewed.",
    minimum=1,
)
DFS_NAMENODE_DELEGATION_KEY_UPDATE_INTERVAL = integer(
    "dfs.namenode.delegation.key.update-interval",
    24 * 60 * 60 * 1000,
    "After how many milliseconds delegation tokens are made by another key.",
    minimum=1,
)
DFS_NAMENODE_DELEGATION_TOKEN_ALWAYS_USE = boolean(
    "dfs.namenode.delegation.token.always-use",
    False,
    "Whether a namenode issues delegation tokens without Kerberos, too.",
)
DELEGATION_TOKEN_RENEW_INTERVAL_SEC = integer(
    "delegation-token.renew-interval.sec",
    24 * 60 * 60,
    "For how many seconds a router's delegation token is good when it was issued or renewed.",
    minimum=1,
)
DELEGATION_TOKEN_MAX_LIFETIME_SEC = integer(
    "delegation-token.max-lifetime.sec",
    7 * 24 * 60 * 60,
    "For how many seconds a router's delegation token can be renewed.",
    minimum=1,
)
DELEGATION_TOKEN_UPDATE_INTERVAL_SEC = integer(
    "delegation-token.update-interval.sec",
    24 * 60 * 60,
    "After how many seconds routers make delegation tokens by another key.",
    minimum=1,
)
DELEGATION_TOKEN_REMOVAL_SCAN_INTERVAL_SEC = integer(
    "delegation-token.removal-scan-interval.sec",
    60 * 60,
    "After how many seconds routers look for delegation tokens that are over.",
    minimum=1,
)
DFS_BLOCK_ACCESS_KEY_UPDATE_INTERVAL = integer(
    "dfs.block.access.key.update.interval",
    600,
    "After how many minutes block tokens are made by another key.",
    minimum=1,
)
DFS_BLOCK_ACCESS_TOKEN_LIFETIME = integer(
    "dfs.block.access.token.lifetime",
    600,
    "For how many minutes a block token is good.",
    minimum=1,
)
DFS_BLOCK_ACCESS_TOKEN_PROTOBUF_ENABLE = boolean(
    "dfs.block.access.token.protobuf.enable",
    False,
    "Whether block tokens are written as protobuf, which datanodes before Hadoop 3.0 cannot read.",
)
