"""Keys of failover controllers, of elections and of fencing."""

from __future__ import annotations

from howdah.config.value_types import (
    boolean,
    choice,
    duration,
    integer,
    listing,
    optional_address,
    optional_string,
    string,
    verbatim,
)

DFS_CLUSTER_ADMINISTRATORS = verbatim(
    "dfs.cluster.administrators",
    "",
    "Who may order failover controllers, beside the user who runs them: `user1,user2 group1`; "
    "behind a blank at the beginning stand groups alone; `*` is everybody.",
)
DFS_HA_FENCING_SSH_CONNECT_TIMEOUT = duration(
    "dfs.ha.fencing.ssh.connect-timeout", "30s", "ms", "How long sshfence may take to connect."
)
DFS_HA_FENCING_SSH_PRIVATE_KEY_FILES = listing(
    "dfs.ha.fencing.ssh.private-key-files", "", "Key files that sshfence logs in with."
)
DFS_HA_ZKFC_CLIENT_SSL_ENABLED = boolean(
    "dfs.ha.zkfc.client.ssl.enabled", False, "Whether ZooKeeper is spoken to over TLS."
)
DFS_HA_ZKFC_PORT = integer(
    "dfs.ha.zkfc.port",
    8019,
    "Where a failover controller answers; 0 takes a free port.",
    minimum=0,
    maximum=65535,
)
HA_FAILOVER_CONTROLLER_CLI_CHECK_RPC_TIMEOUT_MS = duration(
    "ha.failover-controller.cli-check.rpc-timeout.ms",
    "20000",
    "ms",
    "How long haadmin waits for a namenode's state.",
)
HA_FAILOVER_CONTROLLER_GRACEFUL_FENCE_CONNECTION_RETRIES = integer(
    "ha.failover-controller.graceful-fence.connection.retries",
    1,
    "Further attempts to reach a namenode that is to become standby.",
    minimum=0,
)
HA_FAILOVER_CONTROLLER_GRACEFUL_FENCE_RPC_TIMEOUT_MS = duration(
    "ha.failover-controller.graceful-fence.rpc-timeout.ms",
    "5000",
    "ms",
    "How long a namenode may take to become standby before it is fenced.",
)
HA_FAILOVER_CONTROLLER_NEW_ACTIVE_RPC_TIMEOUT_MS = duration(
    "ha.failover-controller.new-active.rpc-timeout.ms",
    "60000",
    "ms",
    "How long a namenode may take to become active.",
)
HA_FAILOVER_CONTROLLER_ACTIVE_STANDBY_ELECTOR_ZK_OP_RETRIES = integer(
    "ha.failover-controller.active-standby-elector.zk.op.retries",
    3,
    "How often an operation on ZooKeeper is tried.",
    minimum=1,
)
HA_HEALTH_MONITOR_CHECK_INTERVAL_MS = duration(
    "ha.health-monitor.check-interval.ms", "1000", "ms", "Time between checks of a namenode."
)
HA_HEALTH_MONITOR_CONNECT_RETRY_INTERVAL_MS = duration(
    "ha.health-monitor.connect-retry-interval.ms",
    "1000",
    "ms",
    "Time between checks of a namenode that does not answer.",
)
HA_HEALTH_MONITOR_RPC_TIMEOUT_MS = duration(
    "ha.health-monitor.rpc-timeout.ms", "45000", "ms", "How long a check may take."
)
HA_HEALTH_MONITOR_RPC_CONNECT_MAX_RETRIES = integer(
    "ha.health-monitor.rpc.connect.max.retries",
    1,
    "Further attempts to connect within a check.",
    minimum=0,
)
HA_HEALTH_MONITOR_SLEEP_AFTER_DISCONNECT_MS = duration(
    "ha.health-monitor.sleep-after-disconnect.ms",
    "1000",
    "ms",
    "Pause after a namenode stopped answering.",
)
HA_ZOOKEEPER_ACL = string(
    "ha.zookeeper.acl",
    "world:anyone:rwcda",
    "Who may use the znodes, scheme:id:permissions and so on; @FILE reads it from a file.",
)
HA_ZOOKEEPER_AUTH = string(
    "ha.zookeeper.auth",
    "",
    "What to log in to ZooKeeper with, scheme:credentials and so on; @FILE reads it from a file.",
)
HOWDAH_HA_ZOOKEEPER_SERVER_PRINCIPAL = optional_string(
    "howdah.ha.zookeeper.server.principal",
    "The Kerberos principal of the ZooKeeper servers, as zookeeper/_HOST@REALM. Where it is set, "
    "controllers log in to them by SASL, as their namenode's principal, or not at all.",
)
HA_ZOOKEEPER_PARENT_ZNODE = string(
    "ha.zookeeper.parent-znode", "/hadoop-ha", "The znode below which nameservices have theirs."
)
HA_ZOOKEEPER_QUORUM = optional_string(
    "ha.zookeeper.quorum", "The ZooKeeper servers, host:port and so on."
)
HA_ZOOKEEPER_SESSION_TIMEOUT_MS = duration(
    "ha.zookeeper.session-timeout.ms",
    "10000",
    "ms",
    "How long a controller may be silent before ZooKeeper elects another.",
    minimum_s=0.001,
)
HOWDAH_FAILOVER_CONTROLLER_HTTP_ADDRESS = optional_address(
    "howdah.failover-controller.http-address",
    8018,
    "A failover controller's page and figures; not set: it has no web port. Behind the name may "
    "stand .NAMESERVICE.NAMENODE.",
)
HOWDAH_FAILOVER_CONTROLLER_HTTPS_ADDRESS = optional_address(
    "howdah.failover-controller.https-address",
    8017,
    "A failover controller's page and figures, over TLS; not set: it has no such port.",
)
HOWDAH_HA_FENCING_TIMEOUT_MS = duration(
    "howdah.ha.fencing.timeout.ms",
    "300000",
    "ms",
    "How long a fencing command may take before it is killed and counts as failed; 0: for ever.",
)
HOWDAH_HA_ELECTION = choice(
    "howdah.ha.election",
    "auto",
    ("auto", "zookeeper", "journal"),
    "What the active namenode is elected on; auto: zookeeper where ha.zookeeper.quorum is set, "
    "else the journal nodes.",
)
HOWDAH_HA_ELECTION_LEASE_MS = duration(
    "howdah.ha.election.lease.ms",
    "3000",
    "ms",
    "How long a controller may be silent before the journal nodes elect another.",
    minimum_s=0.1,
)
