"""Keys of encryption zones: where key servers are, and how they are asked."""

from __future__ import annotations

from howdah.config.value_types import (
    boolean,
    decimal,
    duration,
    integer,
    optional_integer,
    optional_string,
    string,
)

HADOOP_SECURITY_KEY_PROVIDER_PATH = optional_string(
    "hadoop.security.key.provider.path",
    "The key servers of encryption zones, as kms://https@host1;host2:9600/kms; clients ask those "
    "that their namenode names, and these where it names none.",
)
DFS_CLIENT_IGNORE_NAMENODE_DEFAULT_KMS_URI = boolean(
    "dfs.client.ignore.namenode.default.kms.uri",
    False,
    "Whether a client asks its own key servers, whatever the namenode says.",
)
HADOOP_SECURITY_KMS_CLIENT_TIMEOUT = duration(
    "hadoop.security.kms.client.timeout",
    "60s",
    "s",
    "For how long a key server may be silent.",
)
HADOOP_SECURITY_KMS_CLIENT_FAILOVER_MAX_RETRIES = optional_integer(
    "hadoop.security.kms.client.failover.max.retries",
    "How often a call is made again where key servers do not answer; else once for each of them.",
    minimum=0,
)
HADOOP_SECURITY_KMS_CLIENT_FAILOVER_SLEEP_BASE_MILLIS = duration(
    "hadoop.security.kms.client.failover.sleep.base.millis",
    "100",
    "ms",
    "What passes before all key servers are asked once more; twice as much the next time.",
)
HADOOP_SECURITY_KMS_CLIENT_FAILOVER_SLEEP_MAX_MILLIS = duration(
    "hadoop.security.kms.client.failover.sleep.max.millis",
    "2000",
    "ms",
    "What passes at most before key servers are asked once more.",
)
HADOOP_KMS_HTTP_HOST = string(
    "hadoop.kms.http.host", "127.0.0.1", "Where a key server listens (howdah kms)."
)
HADOOP_KMS_HTTP_PORT = integer("hadoop.kms.http.port", 9600, "The port of a key server.", minimum=0)
HADOOP_KMS_SSL_ENABLED = boolean(
    "hadoop.kms.ssl.enabled", False, "Whether a key server speaks HTTP over TLS, and nothing else."
)
HADOOP_KMS_AUTHENTICATION_TYPE = optional_string(
    "hadoop.kms.authentication.type",
    "How users prove themselves at a key server: simple or kerberos; else as "
    "hadoop.http.authentication.type says.",
)
HADOOP_KMS_AUTHENTICATION_KERBEROS_PRINCIPAL = optional_string(
    "hadoop.kms.authentication.kerberos.principal",
    "The principal that users of a key server have tickets for, as HTTP/_HOST@REALM.",
)
HADOOP_KMS_AUTHENTICATION_KERBEROS_KEYTAB = optional_string(
    "hadoop.kms.authentication.kerberos.keytab", "The keytab with its key."
)
HADOOP_KMS_AUTHENTICATION_KERBEROS_NAME_RULES = optional_string(
    "hadoop.kms.authentication.kerberos.name.rules",
    "Which user of a key server a principal is; else as hadoop.security.auth_to_local says.",
)
HADOOP_KMS_AUTHENTICATION_SIGNATURE_SECRET_FILE = optional_string(
    "hadoop.kms.authentication.signature.secret.file",
    "The file of the secret by which a key server signs cookies.",
)
HADOOP_KMS_AUTHENTICATION_TOKEN_VALIDITY = optional_integer(
    "hadoop.kms.authentication.token.validity",
    "For how many seconds the cookies of a key server count.",
    minimum=1,
)
HADOOP_KMS_AUTHENTICATION_DELEGATION_TOKEN_RENEW_INTERVAL_SEC = integer(
    "hadoop.kms.authentication.delegation-token.renew-interval.sec",
    24 * 60 * 60,
    "For how many seconds a key server's delegation token is good when it was issued or renewed.",
    minimum=1,
)
HADOOP_KMS_AUTHENTICATION_DELEGATION_TOKEN_MAX_LIFETIME_SEC = integer(
    "hadoop.kms.authentication.delegation-token.max-lifetime.sec",
    7 * 24 * 60 * 60,
    "For how many seconds it can be renewed.",
    minimum=1,
)
HADOOP_KMS_AUTHENTICATION_DELEGATION_TOKEN_UPDATE_INTERVAL_SEC = integer(
    "hadoop.kms.authentication.delegation-token.update-interval.sec",
    24 * 60 * 60,
    "For how many seconds key servers make tokens by one secret.",
    minimum=1,
)
HADOOP_KMS_AUTHENTICATION_DELEGATION_TOKEN_REMOVAL_SCAN_INTERVAL_SEC = integer(
    "hadoop.kms.authentication.delegation-token.removal-scan-interval.sec",
    60 * 60,
    "After how many seconds, at least, tokens that are over are removed.",
    minimum=1,
)
HADOOP_KMS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ENABLE = boolean(
    "hadoop.kms.authentication.zk-dt-secret-manager.enable",
    False,
    "Whether key servers keep their delegation tokens in ZooKeeper, and so have the same ones.",
)
HADOOP_KMS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ZKCONNECTIONSTRING = optional_string(
    "hadoop.kms.authentication.zk-dt-secret-manager.zkConnectionString",
    "The ZooKeeper servers for that, as host:port,….",
)
HADOOP_KMS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ZNODEWORKINGPATH = string(
    "hadoop.kms.authentication.zk-dt-secret-manager.znodeWorkingPath",
    "hadoop-kms/zkdtsm",
    "The znode below which they are.",
)
HADOOP_KMS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ZKAUTHTYPE = optional_string(
    "hadoop.kms.authentication.zk-dt-secret-manager.zkAuthType",
    "How to log in there: sasl.",
)
HADOOP_KMS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_KERBEROS_PRINCIPAL = optional_string(
    "hadoop.kms.authentication.zk-dt-secret-manager.kerberos.principal",
    "As whom; its first part is who may read and write the znodes.",
)
HADOOP_KMS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_KERBEROS_KEYTAB = optional_string(
    "hadoop.kms.authentication.zk-dt-secret-manager.kerberos.keytab",
    "The keytab of that principal.",
)
HADOOP_KMS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ZKSESSIONTIMEOUT = integer(
    "hadoop.kms.authentication.zk-dt-secret-manager.zkSessionTimeout",
    10000,
    "After how many milliseconds without an answer ZooKeeper counts as gone.",
    minimum=100,
)
HADOOP_KMS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ZKNUMRETRIES = integer(
    "hadoop.kms.authentication.zk-dt-secret-manager.zkNumRetries",
    3,
    "How often a call to ZooKeeper is tried again.",
    minimum=0,
)
HADOOP_KMS_AUDIT_AGGREGATION_WINDOW_MS = integer(
    "hadoop.kms.audit.aggregation.window.ms",
    10_000,
    "For how many milliseconds calls of one user with the keys of files, by one key, are counted "
    "in one line of a key server's audit log; 0 for a line each.",
    minimum=0,
)
HOWDAH_KMS_KEYS_FILE = optional_string(
    "howdah.kms.keys.file",
    "The file in which a key server keeps its keys, encrypted by a passphrase.",
)
HOWDAH_KMS_PASSPHRASE_FILE = optional_string(
    "howdah.kms.passphrase.file",
    "The file whose first line is that passphrase; only its owner may read it.",
)
HOWDAH_KMS_VAULT_ADDRESS = optional_string(
    "howdah.kms.vault.address",
    "Where HashiCorp Vault is (https://host:8200), if it has encrypted the passphrase.",
)
HOWDAH_KMS_VAULT_KEY = string(
    "howdah.kms.vault.key", "howdah", "The key of Vault's transit engine that decrypts it."
)
HOWDAH_KMS_VAULT_MOUNT = string(
    "howdah.kms.vault.mount", "transit", "Where that engine is mounted in Vault."
)
HOWDAH_KMS_VAULT_TOKEN_FILE = optional_string(
    "howdah.kms.vault.token.file",
    "The file with the token for Vault, such as an agent of Vault's keeps it; only its owner may "
    "read it.",
)
HOWDAH_KMS_VAULT_CA_FILE = optional_string(
    "howdah.kms.vault.ca.file",
    "The certificates of authorities that may vouch for Vault; those of the system by default.",
)
HADOOP_SECURITY_KMS_CLIENT_ENCRYPTED_KEY_CACHE_SIZE = integer(
    "hadoop.security.kms.client.encrypted.key.cache.size",
    500,
    "How many keys for new files a namenode has ready of each key of an encryption zone.",
    minimum=1,
    maximum=10_000,
)
HADOOP_SECURITY_KMS_CLIENT_ENCRYPTED_KEY_CACHE_LOW_WATERMARK = decimal(
    "hadoop.security.kms.client.encrypted.key.cache.low-watermark",
    "0.3",
    "Which share of them is left when more are asked for.",
    minimum=0,
    maximum=1,
)
HADOOP_SECURITY_KMS_CLIENT_ENCRYPTED_KEY_CACHE_EXPIRY = duration(
    "hadoop.security.kms.client.encrypted.key.cache.expiry",
    "43200000",
    "ms",
    "After what time those that no file has taken are dropped.",
)
