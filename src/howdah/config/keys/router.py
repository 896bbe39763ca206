"""Keys of routers: addresses, the state store, heartbeats, quotas."""

from __future__ import annotations

from howdah.config.value_types import (
    address,
    boolean,
    duration,
    integer,
    listing,
    optional_string,
    string,
)

DFS_FEDERATION_ROUTER_RPC_ADDRESS = address(
    "dfs.federation.router.rpc-address", "127.0.0.1:8888", "Where a router answers clients."
)
DFS_FEDERATION_ROUTER_RPC_BIND_HOST = optional_string(
    "dfs.federation.router.rpc-bind-host", "The address to bind instead, with the port above."
)
DFS_FEDERATION_ROUTER_HTTP_ADDRESS = address(
    "dfs.federation.router.http-address", "127.0.0.1:50071", "A router's web port: its figures."
)
DFS_FEDERATION_ROUTER_HTTP_BIND_HOST = optional_string(
    "dfs.federation.router.http-bind-host", "The address to bind instead, with the port above."
)
DFS_FEDERATION_ROUTER_HTTP_ENABLE = boolean(
    "dfs.federation.router.http.enable", True, "Whether a router has a web port."
)
DFS_FEDERATION_ROUTER_ADMIN_ADDRESS = address(
    "dfs.federation.router.admin-address",
    "127.0.0.1:8111",
    "Where a router answers administrators, who manage its mount table.",
)
DFS_FEDERATION_ROUTER_ADMIN_BIND_HOST = optional_string(
    "dfs.federation.router.admin-bind-host", "The address to bind instead, with the port above."
)
DFS_FEDERATION_ROUTER_ADMIN_ENABLE = boolean(
    "dfs.federation.router.admin.enable", True, "Whether a router answers administrators."
)
DFS_FEDERATION_ROUTER_DEFAULT_NAMESERVICEID = optional_string(
    "dfs.federation.router.default.nameserviceId",
    "The nameservice of all paths that no mount point covers.",
)
DFS_FEDERATION_ROUTER_DEFAULT_NAMESERVICE_ENABLE = boolean(
    "dfs.federation.router.default.nameservice.enable",
    True,
    "Whether there is such a nameservice: the one named, or else the only one, or that of this "
    "machine's namenode (`dfs.nameservice.id`).",
)
DFS_FEDERATION_ROUTER_STORE_DRIVER_CLASS = string(
    "dfs.federation.router.store.driver.class",
    "org.apache.hadoop.hdfs.server.federation.store.driver.impl.StateStoreFileImpl",
    "What keeps the mount table: a directory of files, or ZooKeeper (StateStoreZooKeeperImpl).",
)
DFS_FEDERATION_ROUTER_STORE_DRIVER_FILE_DIRECTORY = optional_string(
    "dfs.federation.router.store.driver.file.directory",
    "The directory of the mount table, which all routers of a federation share.",
)
DFS_FEDERATION_ROUTER_STORE_DRIVER_ZK_PARENT_PATH = string(
    "dfs.federation.router.store.driver.zk.parent-path",
    "/hdfs-federation",
    "The znode of the mount table, which all routers of a federation share.",
)
HADOOP_ZK_ADDRESS = optional_string(
    "hadoop.zk.address", "The ZooKeeper servers of the mount table, host:port and so on."
)
HADOOP_ZK_ACL = string(
    "hadoop.zk.acl",
    "world:anyone:rwcda",
    "Who may use those znodes, scheme:id:permissions and so on; @FILE reads it from a file.",
)
HADOOP_ZK_AUTH = string(
    "hadoop.zk.auth",
    "",
    "What to log in to ZooKeeper with, scheme:credentials and so on; @FILE reads it from a file.",
)
HADOOP_ZK_SERVER_PRINCIPAL = optional_string(
    "hadoop.zk.server.principal",
    "The Kerberos principal of those ZooKeeper servers, as zookeeper/_HOST@REALM. Where it is set, "
    "a router logs in to them by SASL, as its own principal, or not at all.",
)
HADOOP_ZK_TIMEOUT_MS = duration(
    "hadoop.zk.timeout-ms",
    "10000",
    "ms",
    "How long a router waits for ZooKeeper.",
    minimum_s=0.001,
)
DFS_FEDERATION_ROUTER_CACHE_TTL = duration(
    "dfs.federation.router.cache.ttl",
    "60000",
    "ms",
    "How often a router reads the mount table again.",
)
DFS_FEDERATION_ROUTER_SAFEMODE_ENABLE = boolean(
    "dfs.federation.router.safemode.enable",
    True,
    "Whether a router that cannot read the mount table any more refuses to change anything.",
)
DFS_FEDERATION_ROUTER_SAFEMODE_EXPIRATION = duration(
    "dfs.federation.router.safemode.expiration",
    "180000",
    "ms",
    "For so long the mount table may be unreadable before that.",
)
DFS_FEDERATION_ROUTER_HEARTBEAT_INTERVAL = duration(
    "dfs.federation.router.heartbeat.interval",
    "5000",
    "ms",
    "How often a router asks every namenode how it is.",
)
DFS_FEDERATION_ROUTER_ROUTER_RESOLVER_UPDATE_PERIOD = duration(
    "dfs.federation.router.router-resolver.update-period",
    "10s",
    "ms",
    "How often a router looks where namenodes and datanodes are, while a mount point has the "
    "order LOCAL.",
)
DFS_FEDERATION_ROUTER_HEALTH_MONITOR_TIMEOUT = duration(
    "dfs.federation.router.health.monitor.timeout",
    "30000",
    "ms",
    "How long it waits for that answer.",
)
DFS_FEDERATION_ROUTER_MONITOR_NAMENODE = listing(
    "dfs.federation.router.monitor.namenode",
    "",
    "Nameservices, or namenodes as NAMESERVICE.NAMENODE, that a router serves; those of "
    "`dfs.nameservices` if it is empty.",
)
DFS_FEDERATION_ROUTER_CONNECT_TIMEOUT = duration(
    "dfs.federation.router.connect.timeout",
    "2000",
    "ms",
    "How long a router waits for a namenode to accept a connection.",
)
DFS_FEDERATION_ROUTER_CONNECTION_POOL_CLEAN_MS = duration(
    "dfs.federation.router.connection.pool.clean.ms",
    "60000",
    "ms",
    "A connection to a namenode that nobody used for so long is closed.",
)
DFS_FEDERATION_ROUTER_CLIENT_ALLOW_PARTIAL_LISTING = boolean(
    "dfs.federation.router.client.allow-partial-listing",
    True,
    "Whether a directory is listed without the nameservices that cannot be reached.",
)
DFS_FEDERATION_ROUTER_CLIENT_MOUNT_STATUS_TIME_OUT = duration(
    "dfs.federation.router.client.mount-status.time-out",
    "1000",
    "ms",
    "How long a listing waits for the owner and mode of a mount point's destination.",
)
DFS_FEDERATION_ROUTER_OBSERVER_READ_DEFAULT = boolean(
    "dfs.federation.router.observer.read.default",
    False,
    "Whether reads of callers who say what they have seen go to observers.",
)
DFS_FEDERATION_ROUTER_OBSERVER_READ_OVERRIDES = listing(
    "dfs.federation.router.observer.read.overrides",
    "",
    "Nameservices in which that is the other way round.",
)
DFS_FEDERATION_ROUTER_OBSERVER_FEDERATED_STATE_PROPAGATION_MAXSIZE = integer(
    "dfs.federation.router.observer.federated.state.propagation.maxsize",
    5,
    "Of how many nameservices an answer says where their logs are; with more of them that have "
    "observers, all reads go to active namenodes.",
    minimum=0,
)
DFS_FEDERATION_ROUTER_OBSERVER_STATE_ID_REFRESH_PERIOD = duration(
    "dfs.federation.router.observer.state.id.refresh.period",
    "15s",
    "ms",
    "After how long without an answer of the active namenode reads go there; below 0 never.",
    minimum_s=None,
)
DFS_FEDERATION_ROUTER_FEDERATION_RENAME_OPTION = string(
    "dfs.federation.router.federation.rename.option",
    "NONE",
    "What becomes of a rename between nameservices. Such a rename is refused (NONE); a router "
    "that is to copy (DISTCP) does not start.",
)
DFS_FEDERATION_ROUTER_QUOTA_ENABLE = boolean(
    "dfs.federation.router.quota.enable", False, "Whether mount points may have quotas."
)
DFS_FEDERATION_ROUTER_QUOTA_CACHE_UPDATE_INTERVAL = duration(
    "dfs.federation.router.quota-cache.update.interval",
    "60000",
    "ms",
    "How often a router asks what the destinations of mount points with a quota use.",
)
