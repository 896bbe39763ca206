"""Keys of a gateway over HTTP where users prove who they are: those of Hadoop's httpfs-site.xml.

What is not set here is what `hadoop.http.authentication.*` says for all servers.
"""

from __future__ import annotations

from howdah.config.value_types import boolean, integer, optional_integer, optional_string, string

HTTPFS_HADOOP_AUTHENTICATION_TYPE = optional_string(
    "httpfs.hadoop.authentication.type",
    "How a gateway proves itself to HDFS: simple or kerberos; else as "
    "hadoop.security.authentication says.",
)
HTTPFS_HADOOP_AUTHENTICATION_KERBEROS_PRINCIPAL = optional_string(
    "httpfs.hadoop.authentication.kerberos.principal",
    "As whom a gateway logs in, and acts for its users; _HOST stands for httpfs.http.hostname.",
)
HTTPFS_HADOOP_AUTHENTICATION_KERBEROS_KEYTAB = optional_string(
    "httpfs.hadoop.authentication.kerberos.keytab", "The keytab by which a gateway logs in."
)
HTTPFS_AUTHENTICATION_TYPE = optional_string(
    "httpfs.authentication.type",
    "How users prove themselves at a gateway: simple, which believes them, or kerberos.",
)
HTTPFS_AUTHENTICATION_KERBEROS_PRINCIPAL = optional_string(
    "httpfs.authentication.kerberos.principal",
    "The principal of a gateway's port, HTTP/_HOST@REALM.",
)
HTTPFS_AUTHENTICATION_KERBEROS_KEYTAB = optional_string(
    "httpfs.authentication.kerberos.keytab",
    "The keytab that has the key of that principal.",
)
HTTPFS_AUTHENTICATION_SIGNATURE_SECRET_FILE = optional_string(
    "httpfs.authentication.signature.secret.file",
    "What a gateway's cookies are signed by, which several gateways may share.",
)
HTTPFS_AUTHENTICATION_TOKEN_VALIDITY = optional_integer(
    "httpfs.authentication.token.validity",
    "For how many seconds a gateway's cookie counts.",
    minimum=1,
)
HTTPFS_AUTHENTICATION_COOKIE_DOMAIN = optional_string(
    "httpfs.authentication.cookie.domain",
    "The domain to whose servers browsers send a gateway's cookie.",
)
HTTPFS_AUTHENTICATION_COOKIE_PATH = optional_string(
    "httpfs.authentication.cookie.path",
    "The part of a gateway to which browsers send the cookie.",
)
HTTPFS_AUTHENTICATION_DELEGATION_TOKEN_RENEW_INTERVAL_SEC = integer(
    "httpfs.authentication.delegation-token.renew-interval.sec",
    24 * 60 * 60,
    "For how many seconds a gateway's delegation token is good when it was issued or renewed.",
    minimum=1,
)
HTTPFS_AUTHENTICATION_DELEGATION_TOKEN_MAX_LIFETIME_SEC = integer(
    "httpfs.authentication.delegation-token.max-lifetime.sec",
    7 * 24 * 60 * 60,
    "For how many seconds a gateway's delegation token can be renewed.",
    minimum=1,
)
HTTPFS_AUTHENTICATION_DELEGATION_TOKEN_UPDATE_INTERVAL_SEC = integer(
    "httpfs.authentication.delegation-token.update-interval.sec",
    24 * 60 * 60,
    "After how many seconds a gateway makes delegation tokens by another key.",
    minimum=1,
)
HTTPFS_AUTHENTICATION_DELEGATION_TOKEN_REMOVAL_SCAN_INTERVAL_SEC = integer(
    "httpfs.authentication.delegation-token.removal-scan-interval.sec",
    60 * 60,
    "After how many seconds, at least, a gateway's delegation tokens that are over are removed.",
    minimum=1,
)
HTTPFS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ENABLE = boolean(
    "httpfs.authentication.zk-dt-secret-manager.enable",
    False,
    "Whether gateways keep their delegation tokens in ZooKeeper, and so have the same ones.",
)
HTTPFS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ZKCONNECTIONSTRING = optional_string(
    "httpfs.authentication.zk-dt-secret-manager.zkConnectionString",
    "The ZooKeeper servers for that, as host:port,….",
)
HTTPFS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ZNODEWORKINGPATH = string(
    "httpfs.authentication.zk-dt-secret-manager.znodeWorkingPath",
    "zkdtsm",
    "The znode below which they are.",
)
HTTPFS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ZKAUTHTYPE = optional_string(
    "httpfs.authentication.zk-dt-secret-manager.zkAuthType",
    "How to log in there: sasl.",
)
HTTPFS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_KERBEROS_PRINCIPAL = optional_string(
    "httpfs.authentication.zk-dt-secret-manager.kerberos.principal",
    "As whom; its first part is who may read and write the znodes.",
)
HTTPFS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_KERBEROS_KEYTAB = optional_string(
    "httpfs.authentication.zk-dt-secret-manager.kerberos.keytab",
    "The keytab of that principal.",
)
HTTPFS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ZKSESSIONTIMEOUT = integer(
    "httpfs.authentication.zk-dt-secret-manager.zkSessionTimeout",
    10000,
    "After how many milliseconds without an answer ZooKeeper counts as gone.",
    minimum=100,
)
HTTPFS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ZKNUMRETRIES = integer(
    "httpfs.authentication.zk-dt-secret-manager.zkNumRetries",
    3,
    "How often a call to ZooKeeper is tried again.",
    minimum=0,
)
HTTPFS_HTTP_ADMINISTRATORS = optional_string(
    "httpfs.http.administrators",
    "Users and groups who see a gateway's logs and stacks; else dfs.cluster.administrators.",
)
