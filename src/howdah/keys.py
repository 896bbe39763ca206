"""Every configuration key that howdah knows, declared once.

A constant is named after its key: upper case, `.` and `-` turned to `_`, so
`dfs.namenode.rpc-address` is `DFS_NAMENODE_RPC_ADDRESS`. Names, units and
defaults are those of Hadoop 3.5 (core-default.xml, hdfs-default.xml), with two
differences: what Hadoop binds to 0.0.0.0 binds to 127.0.0.1 here, nobody comes
in by accident; and a writer goes on with one datanode where no other is found.

Keys that are not in this file can still be set and read as text
(`Configuration.raw`); they have no type and no default.
"""

from __future__ import annotations

from typing import Any

from howdah.kinds import (
    Key,
    address,
    boolean,
    choice,
    decimal,
    dirs,
    duration,
    integer,
    listing,
    optional_address,
    optional_boolean,
    optional_integer,
    optional_size,
    optional_string,
    size,
    storage_dirs,
    string,
)

# -- common ---------------------------------------------------------------------

FS_DEFAULTFS = string(
    "fs.defaultFS", "file:///", "The filesystem that a path without a scheme belongs to."
)
HADOOP_TMP_DIR = string(
    "hadoop.tmp.dir", "/tmp/hadoop-${user.name}", "The base of directories that have no own key."
)
IO_FILE_BUFFER_SIZE = size(
    "io.file.buffer.size", "4096", "Buffer of streams that don't say otherwise.", minimum=1
)
FILE_BYTES_PER_CHECKSUM = size(
    "file.bytes-per-checksum", "512", "Bytes a checksum of a local file covers.", minimum=1
)
FS_PERMISSIONS_UMASK_MODE = string(
    "fs.permissions.umask-mode", "022", "Bits a client takes off new modes: octal, or u=rwx,g=…."
)
FS_CLIENT_RESOLVE_REMOTE_SYMLINKS = boolean(
    "fs.client.resolve.remote.symlinks", True, "Whether clients follow symbolic links."
)
FS_TRASH_INTERVAL = duration(
    "fs.trash.interval", "0", "m", "How long deleted files stay in the trash; 0 switches it off."
)
FS_TRASH_CHECKPOINT_INTERVAL = duration(
    "fs.trash.checkpoint.interval", "0", "m", "Time between trash checkpoints; 0: the interval."
)
HADOOP_SHELL_DELETE_LIMIT_NUM_FILES = integer(
    "hadoop.shell.delete.limit.num.files",
    100,
    "Directories with more files than this need a yes under `dfs -rm -safely`.",
    minimum=0,
)
HADOOP_SECURITY_AUTHENTICATION = choice(
    "hadoop.security.authentication",
    "simple",
    ("simple", "kerberos", "token"),
    "How callers prove who they are; simple is to believe them.",
)
HADOOP_SECURITY_AUTHORIZATION = boolean(
    "hadoop.security.authorization", False, "Whether service-level access lists are checked."
)
HADOOP_USER_GROUP_STATIC_MAPPING_OVERRIDES = string(
    "hadoop.user.group.static.mapping.overrides",
    "dr.who=;",
    "Groups of users that the system isn't asked about: user1=group1,group2;user2=….",
)
HADOOP_SECURITY_GROUPS_CACHE_SECS = duration(
    "hadoop.security.groups.cache.secs", "300", "s", "How long a user's groups are remembered."
)
HADOOP_HTTP_STATICUSER_USER = string(
    "hadoop.http.staticuser.user", "dr.who", "Who a nameless visitor of the web pages is."
)
NET_TOPOLOGY_NODE_SWITCH_MAPPING_IMPL = string(
    "net.topology.node.switch.mapping.impl",
    "org.apache.hadoop.net.ScriptBasedMapping",
    "How addresses become racks: Hadoop's ScriptBasedMapping or TableMapping class name.",
)
NET_TOPOLOGY_SCRIPT_FILE_NAME = optional_string(
    "net.topology.script.file.name", "A program that prints a rack for each address it is given."
)
NET_TOPOLOGY_SCRIPT_NUMBER_ARGS = integer(
    "net.topology.script.number.args", 100, "Addresses given to the program at once.", minimum=1
)
NET_TOPOLOGY_TABLE_FILE_NAME = optional_string(
    "net.topology.table.file.name", "A file of lines `address rack`."
)

# -- RPC --------------------------------------------------------------------------

IPC_MAXIMUM_DATA_LENGTH = size(
    "ipc.maximum.data.length", "134217728", "The longest request that a server reads.", minimum=1
)
IPC_MAXIMUM_RESPONSE_LENGTH = size(
    "ipc.maximum.response.length", "134217728", "The longest answer that a client reads."
)
IPC_PING_INTERVAL = duration(
    "ipc.ping.interval", "60000", "ms", "Time between pings of a client that waits."
)
IPC_CLIENT_PING = boolean("ipc.client.ping", True, "Whether a client that waits sends pings.")
IPC_CLIENT_RPC_TIMEOUT_MS = duration(
    "ipc.client.rpc-timeout.ms", "120000", "ms", "How long a call may take; 0: for ever."
)
IPC_CLIENT_CONNECT_TIMEOUT = duration(
    "ipc.client.connect.timeout", "20000", "ms", "How long one attempt to connect may take."
)
IPC_CLIENT_CONNECT_MAX_RETRIES = integer(
    "ipc.client.connect.max.retries", 10, "Further attempts after a refused one.", minimum=0
)
IPC_CLIENT_CONNECT_MAX_RETRIES_ON_TIMEOUTS = integer(
    "ipc.client.connect.max.retries.on.timeouts",
    45,
    "Further attempts after one that timed out.",
    minimum=0,
)
IPC_CLIENT_CONNECT_RETRY_INTERVAL = duration(
    "ipc.client.connect.retry.interval", "1000", "ms", "Pause between attempts to connect."
)
IPC_CLIENT_CONNECTION_MAXIDLETIME = duration(
    "ipc.client.connection.maxidletime", "10000", "ms", "When an idle connection is closed."
)
IPC_CLIENT_IDLETHRESHOLD = integer(
    "ipc.client.idlethreshold", 4000, "Connections above which a server looks for idle ones."
)
IPC_CLIENT_TCPNODELAY = boolean(
    "ipc.client.tcpnodelay", True, "Whether a client switches Nagle's algorithm off."
)
IPC_SERVER_LISTEN_QUEUE_SIZE = integer(
    "ipc.server.listen.queue.size", 256, "The listen backlog of a server.", minimum=1
)
IPC_SERVER_MAX_CONNECTIONS = integer(
    "ipc.server.max.connections", 0, "Connections a server takes at once; 0: any number."
)

# -- namenode ---------------------------------------------------------------------

DFS_NAMENODE_RPC_ADDRESS = optional_address(
    "dfs.namenode.rpc-address", 8020, "Where the namenode answers clients; else fs.defaultFS."
)
DFS_NAMENODE_RPC_BIND_HOST = optional_string(
    "dfs.namenode.rpc-bind-host", "The address to bind instead, with the port above."
)
DFS_NAMENODE_SERVICERPC_ADDRESS = optional_address(
    "dfs.namenode.servicerpc-address", 8021, "A second port, for datanodes and other servers."
)
DFS_NAMENODE_SERVICERPC_BIND_HOST = optional_string(
    "dfs.namenode.servicerpc-bind-host", "The address to bind instead, for the service port."
)
DFS_NAMENODE_HTTP_ADDRESS = address(
    "dfs.namenode.http-address", "127.0.0.1:9870", "The namenode's web pages and WebHDFS."
)
DFS_NAMENODE_HTTP_BIND_HOST = optional_string(
    "dfs.namenode.http-bind-host", "The address to bind instead, with the web port."
)
DFS_NAMENODE_NAME_DIR = dirs(
    "dfs.namenode.name.dir",
    "file://${hadoop.tmp.dir}/dfs/name",
    "Where images are kept; each directory holds everything.",
)
DFS_NAMENODE_EDITS_DIR = dirs(
    "dfs.namenode.edits.dir",
    "${dfs.namenode.name.dir}",
    "Where the edit log is kept; each directory holds everything.",
)
DFS_NAMENODE_EDITS_DIR_REQUIRED = dirs(
    "dfs.namenode.edits.dir.required",
    "",
    "Edit directories without which the namenode must not go on.",
)
DFS_NAMENODE_NAME_DIR_RESTORE = boolean(
    "dfs.namenode.name.dir.restore", False, "Whether a failed directory is tried again."
)
DFS_NAMENODE_EDITS_DIR_MINIMUM = integer(
    "dfs.namenode.edits.dir.minimum", 1, "Edit directories that have to work.", minimum=1
)
DFS_NAMENODE_MAX_OP_SIZE = size(
    "dfs.namenode.max.op.size", "52428800", "The longest edit that is believed at replay."
)
DFS_NAMENODE_SUPPORT_ALLOW_FORMAT = boolean(
    "dfs.namenode.support.allow.format", True, "Whether -format may erase what there is."
)
DFS_NAMENODE_HANDLER_COUNT = integer(
    "dfs.namenode.handler.count", 10, "Threads that answer the namenode's RPC.", minimum=1
)
DFS_NAMENODE_CHECKPOINT_DIR = dirs(
    "dfs.namenode.checkpoint.dir",
    "file://${hadoop.tmp.dir}/dfs/namesecondary",
    "Where a secondary namenode keeps its images.",
)
DFS_NAMENODE_CHECKPOINT_PERIOD = duration(
    "dfs.namenode.checkpoint.period", "3600", "s", "The longest time between checkpoints."
)
HOWDAH_NAMENODE_CHECKPOINT_TIMEOUT = duration(
    "howdah.namenode.checkpoint.timeout",
    "1h",
    "s",
    "When the process that writes a checkpoint is killed, as on a dead mount; 0: never.",
)
DFS_NAMENODE_MISSING_CHECKPOINT_PERIODS_BEFORE_SHUTDOWN = integer(
    "dfs.namenode.missing.checkpoint.periods.before.shutdown",
    3,
    "So many periods old may the newest image be at `-saveNamespace -beforeShutdown`.",
    minimum=0,
)
DFS_NAMENODE_CHECKPOINT_TXNS = integer(
    "dfs.namenode.checkpoint.txns", 1000000, "Transactions that ask for a checkpoint.", minimum=1
)
DFS_NAMENODE_CHECKPOINT_CHECK_PERIOD = duration(
    "dfs.namenode.checkpoint.check.period", "60", "s", "How often the two above are looked at."
)
DFS_NAMENODE_NUM_CHECKPOINTS_RETAINED = integer(
    "dfs.namenode.num.checkpoints.retained", 2, "Images that are kept.", minimum=1
)
DFS_NAMENODE_NUM_EXTRA_EDITS_RETAINED = integer(
    "dfs.namenode.num.extra.edits.retained",
    1000000,
    "Transactions kept beyond what the oldest image needs.",
    minimum=0,
)
DFS_NAMENODE_MAX_EXTRA_EDITS_SEGMENTS_RETAINED = integer(
    "dfs.namenode.max.extra.edits.segments.retained",
    10000,
    "The most segments in which those transactions are kept.",
    minimum=0,
)
DFS_NAMENODE_CHECKPOINT_EDITS_DIR = dirs(
    "dfs.namenode.checkpoint.edits.dir",
    "${dfs.namenode.checkpoint.dir}",
    "Where a secondary namenode keeps its edits.",
)
DFS_NAMENODE_CHECKPOINT_MAX_RETRIES = integer(
    "dfs.namenode.checkpoint.max-retries",
    3,
    "Merges in a row that may fail before a secondary namenode ends.",
    minimum=0,
)
DFS_IMAGE_TRANSFER_BANDWIDTHPERSEC = size(
    "dfs.image.transfer.bandwidthPerSec",
    "52428800",
    "Bytes a second of an image or log on its way to or from a secondary; 0: no limit.",
)
DFS_IMAGE_TRANSFER_BOOTSTRAP_STANDBY_BANDWIDTHPERSEC = size(
    "dfs.image.transfer-bootstrap-standby.bandwidthPerSec",
    "0",
    "The same on the way to a new standby.",
)
DFS_IMAGE_TRANSFER_TIMEOUT = duration(
    "dfs.image.transfer.timeout", "60000", "ms", "Silence that ends such a transfer."
)
DFS_NAMENODE_EDIT_LOG_AUTOROLL_MULTIPLIER_THRESHOLD = decimal(
    "dfs.namenode.edit.log.autoroll.multiplier.threshold",
    "0.5",
    "A segment with this many times dfs.namenode.checkpoint.txns edits is ended.",
    minimum=0,
)
DFS_NAMENODE_EDIT_LOG_AUTOROLL_CHECK_INTERVAL_MS = duration(
    "dfs.namenode.edit.log.autoroll.check.interval.ms",
    "300000",
    "ms",
    "How often that is looked at.",
)
DFS_IMAGE_COMPRESS = boolean("dfs.image.compress", False, "Whether images are compressed.")
DFS_IMAGE_COMPRESSION_CODEC = string(
    "dfs.image.compression.codec",
    "org.apache.hadoop.io.compress.DefaultCodec",
    "How images are compressed: DefaultCodec or GzipCodec.",
)
DFS_NAMENODE_ACCESSTIME_PRECISION = duration(
    "dfs.namenode.accesstime.precision",
    "3600000",
    "ms",
    "How coarse access times are; 0 leaves them alone.",
)
DFS_NAMENODE_ENABLE_RETRYCACHE = boolean(
    "dfs.namenode.enable.retrycache", True, "Whether answers are kept for calls sent again."
)
DFS_NAMENODE_RETRYCACHE_EXPIRYTIME_MILLIS = duration(
    "dfs.namenode.retrycache.expirytime.millis", "600000", "ms", "How long answers are kept."
)
DFS_NAMENODE_RETRYCACHE_HEAP_PERCENT = decimal(
    "dfs.namenode.retrycache.heap.percent",
    "0.03f",
    "The share of memory that kept answers may take, in percent.",
    minimum=0,
    maximum=100,
)
DFS_NAMENODE_LEASE_RECHECK_INTERVAL_MS = duration(
    "dfs.namenode.lease-recheck-interval-ms", "2000", "ms", "How often leases are looked at."
)
DFS_NAMENODE_LEASE_HARD_LIMIT_SEC = duration(
    "dfs.namenode.lease-hard-limit-sec",
    "1200",
    "s",
    "When the namenode takes a silent writer's files back by itself.",
)
HOWDAH_NAMENODE_LEASE_SOFT_LIMIT = duration(
    "howdah.namenode.lease-soft-limit",
    "60",
    "s",
    "When another client may take a silent writer's file; Hadoop's clients count on 60 s.",
)
HOWDAH_NAMENODE_BLOCK_RECOVERY_TIMEOUT = duration(
    "howdah.namenode.block-recovery-timeout",
    "0",
    "s",
    "When a block's recovery is tried by another datanode; 0: after 30 heartbeat intervals.",
)
DFS_NAMENODE_FS_LIMITS_MAX_COMPONENT_LENGTH = integer(
    "dfs.namenode.fs-limits.max-component-length",
    255,
    "Bytes of UTF-8 in a name; 0: any number.",
    minimum=0,
)
DFS_NAMENODE_FS_LIMITS_MAX_DIRECTORY_ITEMS = integer(
    "dfs.namenode.fs-limits.max-directory-items",
    1048576,
    "Names in a directory.",
    minimum=1,
    maximum=6400000,
)
DFS_NAMENODE_FS_LIMITS_MIN_BLOCK_SIZE = size(
    "dfs.namenode.fs-limits.min-block-size", "1048576", "The smallest block size of new files."
)
DFS_NAMENODE_FS_LIMITS_MAX_BLOCKS_PER_FILE = integer(
    "dfs.namenode.fs-limits.max-blocks-per-file", 10000, "Blocks in a file.", minimum=0
)
DFS_NAMENODE_FS_LIMITS_MAX_XATTRS_PER_INODE = integer(
    "dfs.namenode.fs-limits.max-xattrs-per-inode", 32, "Extended attributes of a file.", minimum=0
)
DFS_NAMENODE_FS_LIMITS_MAX_XATTR_SIZE = size(
    "dfs.namenode.fs-limits.max-xattr-size", "16384", "Bytes in an attribute, name included."
)
DFS_NAMENODE_SNAPSHOT_MAX_LIMIT = integer(
    "dfs.namenode.snapshot.max.limit", 65536, "Snapshots of one directory.", minimum=0
)
DFS_NAMENODE_SNAPSHOT_FILESYSTEM_LIMIT = integer(
    "dfs.namenode.snapshot.filesystem.limit", 65536, "Snapshots of all directories.", minimum=0
)
DFS_NAMENODE_SNAPSHOT_CAPTURE_OPENFILES = boolean(
    "dfs.namenode.snapshot.capture.openfiles",
    False,
    "Whether a snapshot has all that was synced of the files that are being written.",
)
DFS_NAMENODE_SNAPSHOTDIFF_ALLOW_SNAP_ROOT_DESCENDANT = boolean(
    "dfs.namenode.snapshotdiff.allow.snap-root-descendant",
    True,
    "Whether directories below a snapshottable one can be compared, too.",
)
DFS_NAMENODE_SNAPSHOTDIFF_LISTING_LIMIT = integer(
    "dfs.namenode.snapshotdiff.listing.limit", 1000, "Entries of a difference in one answer."
)
DFS_LS_LIMIT = integer("dfs.ls.limit", 1000, "Entries in one answer to a listing.", minimum=1)
DFS_NAMENODE_INOTIFY_MAX_EVENTS_PER_RPC = integer(
    "dfs.namenode.inotify.max.events.per.rpc",
    1000,
    "Events in one answer to who watches the namespace.",
    minimum=1,
)
DFS_BATCHED_LS_LIMIT = integer(
    "dfs.batched.ls.limit", 100, "Paths in one call that lists several.", minimum=1
)
DFS_NAMENODE_LIST_OPENFILES_NUM_RESPONSES = integer(
    "dfs.namenode.list.openfiles.num.responses",
    1000,
    "Entries in one answer about open files.",
    minimum=1,
)
DFS_CONTENT_SUMMARY_LIMIT = integer(
    "dfs.content-summary.limit", 5000, "Inodes a summary counts before others get their turn."
)
DFS_PERMISSIONS_ENABLED = boolean(
    "dfs.permissions.enabled", True, "Whether permissions are checked."
)
DFS_PERMISSIONS_SUPERUSERGROUP = string(
    "dfs.permissions.superusergroup", "supergroup", "The group whose members are superusers."
)
DFS_NAMENODE_ACLS_ENABLED = boolean("dfs.namenode.acls.enabled", True, "Whether ACLs work.")
DFS_NAMENODE_POSIX_ACL_INHERITANCE_ENABLED = boolean(
    "dfs.namenode.posix.acl.inheritance.enabled",
    True,
    "Whether a default ACL takes the place of the client's umask.",
)
DFS_NAMENODE_XATTRS_ENABLED = boolean(
    "dfs.namenode.xattrs.enabled", True, "Whether extended attributes work."
)
DFS_NAMENODE_SAFEMODE_THRESHOLD_PCT = decimal(
    "dfs.namenode.safemode.threshold-pct",
    "0.999f",
    "The share of blocks that must be reported before safe mode ends.",
)
DFS_NAMENODE_SAFEMODE_EXTENSION = duration(
    "dfs.namenode.safemode.extension", "30000", "ms", "Time in safe mode after the threshold."
)
DFS_NAMENODE_SAFEMODE_MIN_DATANODES = integer(
    "dfs.namenode.safemode.min.datanodes", 0, "Datanodes that must live before safe mode ends."
)
DFS_NAMENODE_SAFEMODE_REPLICATION_MIN = optional_integer(
    "dfs.namenode.safemode.replication.min", "Replicas that make a block count; else the minimum."
)
DFS_NAMENODE_HEARTBEAT_RECHECK_INTERVAL = duration(
    "dfs.namenode.heartbeat.recheck-interval",
    "300000",
    "ms",
    "How often dead datanodes are looked for; one is dead after twice this and ten heartbeats.",
)
DFS_NAMENODE_STALE_DATANODE_INTERVAL = duration(
    "dfs.namenode.stale.datanode.interval", "30000", "ms", "Silence that makes a datanode stale."
)
DFS_NAMENODE_AVOID_READ_STALE_DATANODE = boolean(
    "dfs.namenode.avoid.read.stale.datanode", False, "Whether stale datanodes are offered last."
)
DFS_NAMENODE_AVOID_WRITE_STALE_DATANODE = boolean(
    "dfs.namenode.avoid.write.stale.datanode", False, "Whether stale datanodes get no new blocks."
)
DFS_NAMENODE_REDUNDANCY_INTERVAL_SECONDS = duration(
    "dfs.namenode.redundancy.interval.seconds", "3", "s", "How often repair work is given out."
)
DFS_NAMENODE_REDUNDANCY_CONSIDERLOAD = boolean(
    "dfs.namenode.redundancy.considerLoad", True, "Whether busy datanodes are passed over."
)
DFS_NAMENODE_REDUNDANCY_CONSIDERLOAD_FACTOR = decimal(
    "dfs.namenode.redundancy.considerLoad.factor", "2.0", "Load over the average that is busy."
)
DFS_NAMENODE_RECONSTRUCTION_PENDING_TIMEOUT_SEC = duration(
    "dfs.namenode.reconstruction.pending.timeout-sec", "300", "s", "When a repair is given up."
)
DFS_NAMENODE_REPLICATION_MAX_STREAMS = integer(
    "dfs.namenode.replication.max-streams", 2, "Repairs a datanode sends at once.", minimum=1
)
DFS_NAMENODE_REPLICATION_MAX_STREAMS_HARD_LIMIT = integer(
    "dfs.namenode.replication.max-streams-hard-limit", 4, "The same for the most urgent repairs."
)
DFS_NAMENODE_REPLICATION_WORK_MULTIPLIER_PER_ITERATION = integer(
    "dfs.namenode.replication.work.multiplier.per.iteration",
    2,
    "Blocks per live datanode in one round of repairs.",
    minimum=1,
)
DFS_BLOCK_INVALIDATE_LIMIT = integer(
    "dfs.block.invalidate.limit", 1000, "Blocks in one command to delete.", minimum=1
)
DFS_NAMENODE_DATANODE_REGISTRATION_IP_HOSTNAME_CHECK = boolean(
    "dfs.namenode.datanode.registration.ip-hostname-check",
    True,
    "Whether a datanode's address must have a host name.",
)
DFS_HOSTS = optional_string("dfs.hosts", "A file of datanodes that may register; else all may.")
DFS_HOSTS_EXCLUDE = optional_string(
    "dfs.hosts.exclude", "A file of datanodes that are taken out of service."
)

# -- files and blocks -------------------------------------------------------------

DFS_REPLICATION = integer("dfs.replication", 3, "Replicas of new files.", minimum=1)
DFS_REPLICATION_MAX = integer(
    "dfs.replication.max", 512, "The most replicas that may be asked for.", minimum=1, maximum=32767
)
DFS_NAMENODE_REPLICATION_MIN = integer(
    "dfs.namenode.replication.min", 1, "Replicas that make a written block good.", minimum=1
)
DFS_BLOCKSIZE = size("dfs.blocksize", "134217728", "Block size of new files.", minimum=1)
DFS_BYTES_PER_CHECKSUM = size(
    "dfs.bytes-per-checksum", "512", "Bytes that one checksum covers.", minimum=1
)
DFS_CHECKSUM_TYPE = choice(
    "dfs.checksum.type", "CRC32C", ("NULL", "CRC32", "CRC32C"), "The checksum of new files."
)
DFS_CHECKSUM_COMBINE_MODE = choice(
    "dfs.checksum.combine.mode",
    "MD5MD5CRC",
    ("MD5MD5CRC", "COMPOSITE_CRC"),
    "How a file's checksum is made of its blocks'.",
)
DFS_STREAM_BUFFER_SIZE = size("dfs.stream-buffer-size", "4096", "Buffer of data streams.")
DFS_ENCRYPT_DATA_TRANSFER = boolean(
    "dfs.encrypt.data.transfer", False, "Whether block data is encrypted on the wire."
)
DFS_BLOCK_ACCESS_TOKEN_ENABLE = boolean(
    "dfs.block.access.token.enable", False, "Whether datanodes ask for block tokens."
)
DFS_STORAGE_POLICY_ENABLED = boolean(
    "dfs.storage.policy.enabled", True, "Whether storage policies work."
)

# -- datanode ---------------------------------------------------------------------

DFS_DATANODE_ADDRESS = address(
    "dfs.datanode.address", "127.0.0.1:9866", "Where a datanode moves block data."
)
DFS_DATANODE_IPC_ADDRESS = address(
    "dfs.datanode.ipc.address", "127.0.0.1:9867", "Where a datanode answers RPC."
)
DFS_DATANODE_HTTP_ADDRESS = address(
    "dfs.datanode.http.address", "127.0.0.1:9864", "A datanode's web pages and WebHDFS."
)
DFS_DATANODE_HOSTNAME = optional_string(
    "dfs.datanode.hostname", "The name that a datanode registers under; else the system's."
)
DFS_DATANODE_DATA_DIR = storage_dirs(
    "dfs.datanode.data.dir",
    "file://${hadoop.tmp.dir}/dfs/data",
    "A datanode's volumes, each with an optional [SSD] or the like in front.",
)
DFS_DATANODE_DATA_DIR_PERM = string(
    "dfs.datanode.data.dir.perm", "700", "The mode of those directories, octal."
)
DFS_DATANODE_DU_RESERVED = size(
    "dfs.datanode.du.reserved", "0", "Bytes on each volume that are left to others."
)
DFS_DATANODE_FAILED_VOLUMES_TOLERATED = integer(
    "dfs.datanode.failed.volumes.tolerated",
    0,
    "Volumes that may fail before the datanode stops; -1: all but one.",
    minimum=-1,
)
DFS_DATANODE_MAX_TRANSFER_THREADS = integer(
    "dfs.datanode.max.transfer.threads", 4096, "Data connections served at once.", minimum=1
)
DFS_DATANODE_HANDLER_COUNT = integer(
    "dfs.datanode.handler.count", 10, "Threads that answer a datanode's RPC.", minimum=1
)
DFS_DATANODE_SYNCONCLOSE = boolean(
    "dfs.datanode.synconclose", False, "Whether closing a file waits for the disks."
)
DFS_DATANODE_OOB_TIMEOUT_MS = listing(
    "dfs.datanode.oob.timeout-ms",
    "1500,0,0,0",
    "How long a client's turn is awaited to tell it of a restart; the others are not in use.",
)
DFS_DATANODE_RESTART_REPLICA_EXPIRATION = duration(
    "dfs.datanode.restart.replica.expiration",
    "50",
    "s",
    "How long a restarting datanode keeps replicas for the clients that write them.",
)
DFS_DATANODE_XCEIVER_STOP_TIMEOUT_MILLIS = duration(
    "dfs.datanode.xceiver.stop.timeout.millis",
    "60000",
    "ms",
    "How long whoever takes over a replica waits for its present writer to end.",
)
DFS_DATANODE_SOCKET_REUSE_KEEPALIVE = duration(
    "dfs.datanode.socket.reuse.keepalive", "4000", "ms", "How long an idle data connection lives."
)
DFS_DATANODE_SOCKET_WRITE_TIMEOUT = duration(
    "dfs.datanode.socket.write.timeout", "480000", "ms", "How long sending data may block."
)
DFS_DATANODE_TRANSFERTO_ALLOWED = boolean(
    "dfs.datanode.transferTo.allowed", True, "Whether reads go out by sendfile."
)
DFS_DATANODE_READAHEAD_BYTES = size(
    "dfs.datanode.readahead.bytes", "4194304", "How far a sequential read is fetched ahead."
)
DFS_DATANODE_DROP_CACHE_BEHIND_READS = boolean(
    "dfs.datanode.drop.cache.behind.reads",
    False,
    "Whether long reads leave nothing in the page cache.",
)
DFS_DATANODE_DROP_CACHE_BEHIND_WRITES = boolean(
    "dfs.datanode.drop.cache.behind.writes",
    False,
    "Whether writes leave nothing in the page cache.",
)
DFS_DATANODE_SYNC_BEHIND_WRITES = boolean(
    "dfs.datanode.sync.behind.writes",
    False,
    "Whether the disk is set to work on what was written at once.",
)
DFS_DATANODE_USE_DATANODE_HOSTNAME = boolean(
    "dfs.datanode.use.datanode.hostname", False, "Whether datanodes reach each other by name."
)
DFS_DATANODE_DIRECTORYSCAN_INTERVAL = duration(
    "dfs.datanode.directoryscan.interval", "21600", "s", "How often disk and memory are compared."
)
DFS_DATANODE_SCAN_PERIOD_HOURS = integer(
    "dfs.datanode.scan.period.hours", 504, "Every block is verified once in this; negative: never."
)
DFS_BLOCK_SCANNER_VOLUME_BYTES_PER_SECOND = size(
    "dfs.block.scanner.volume.bytes.per.second", "1048576", "How fast; 0 switches it off."
)
DFS_DATANODE_BALANCE_BANDWIDTHPERSEC = size(
    "dfs.datanode.balance.bandwidthPerSec", "100m", "Bytes a second that balancing may take."
)
DFS_DATANODE_BALANCE_MAX_CONCURRENT_MOVES = integer(
    "dfs.datanode.balance.max.concurrent.moves", 100, "Balancing moves at once.", minimum=1
)
DFS_HEARTBEAT_INTERVAL = duration(
    "dfs.heartbeat.interval", "3", "s", "Time between a datanode's heartbeats.", minimum_s=1e-3
)
DFS_BLOCKREPORT_INTERVALMSEC = duration(
    "dfs.blockreport.intervalMsec", "21600000", "ms", "Time between full block reports."
)
DFS_BLOCKREPORT_INITIALDELAY = duration(
    "dfs.blockreport.initialDelay", "0", "s", "The first report waits for up to this."
)
DFS_BLOCKREPORT_SPLIT_THRESHOLD = integer(
    "dfs.blockreport.split.threshold", 1000000, "Blocks above which volumes report one by one."
)
DFS_BLOCKREPORT_INCREMENTAL_INTERVALMSEC = duration(
    "dfs.blockreport.incremental.intervalMsec", "0", "ms", "How long news of blocks is gathered."
)
DFS_DATA_TRANSFER_MAX_PACKET_SIZE = size(
    "dfs.data.transfer.max.packet.size", "16777216", "The largest packet that is read."
)
DFS_DATA_TRANSFER_SERVER_TCPNODELAY = boolean(
    "dfs.data.transfer.server.tcpnodelay", True, "Nagle's algorithm off on data connections."
)

# -- client -----------------------------------------------------------------------

DFS_CLIENT_WRITE_PACKET_SIZE = size(
    "dfs.client-write-packet-size", "65536", "Bytes in a packet that a client writes.", minimum=1
)
DFS_CLIENT_WRITE_MAX_PACKETS_IN_FLIGHT = integer(
    "dfs.client.write.max-packets-in-flight", 80, "Packets that wait for acks.", minimum=1
)
DFS_CLIENT_WRITE_EXCLUDE_NODES_CACHE_EXPIRY_INTERVAL_MILLIS = duration(
    "dfs.client.write.exclude.nodes.cache.expiry.interval.millis",
    "600000",
    "ms",
    "How long a writer avoids a datanode that failed.",
)
DFS_CLIENT_USE_DATANODE_HOSTNAME = boolean(
    "dfs.client.use.datanode.hostname", False, "Whether clients reach datanodes by name."
)
DFS_CLIENT_SOCKET_TIMEOUT = duration(
    "dfs.client.socket-timeout", "60000", "ms", "How long a data connection may be silent."
)
DFS_CLIENT_SOCKETCACHE_CAPACITY = integer(
    "dfs.client.socketcache.capacity", 16, "Idle data connections that are kept.", minimum=0
)
DFS_CLIENT_SOCKETCACHE_EXPIRYMSEC = duration(
    "dfs.client.socketcache.expiryMsec", "3000", "ms", "How long they are kept."
)
DFS_DATA_TRANSFER_CLIENT_TCPNODELAY = boolean(
    "dfs.data.transfer.client.tcpnodelay", True, "Nagle's algorithm off on the client's side."
)
DFS_CLIENT_READ_PREFETCH_SIZE = optional_size(
    "dfs.client.read.prefetch.size", "Bytes whose locations are fetched at once; else ten blocks."
)
DFS_CLIENT_READ_SHORTCIRCUIT = boolean(
    "dfs.client.read.shortcircuit", False, "Whether local replicas are read past the datanode."
)
DFS_CLIENT_READ_SHORTCIRCUIT_SKIP_CHECKSUM = boolean(
    "dfs.client.read.shortcircuit.skip.checksum", False, "Whether such reads check nothing."
)
DFS_CLIENT_READ_SHORTCIRCUIT_STREAMS_CACHE_SIZE = integer(
    "dfs.client.read.shortcircuit.streams.cache.size",
    256,
    "How many local replicas stay open while nobody reads them.",
    minimum=0,
)
DFS_CLIENT_READ_SHORTCIRCUIT_STREAMS_CACHE_EXPIRY_MS = duration(
    "dfs.client.read.shortcircuit.streams.cache.expiry.ms",
    "300000",
    "ms",
    "How long a local replica stays open while nobody reads it.",
)
DFS_CLIENT_MMAP_ENABLED = boolean(
    "dfs.client.mmap.enabled", True, "Whether local replicas may be read without copying."
)
DFS_CLIENT_DOMAIN_SOCKET_DATA_TRAFFIC = boolean(
    "dfs.client.domain.socket.data.traffic",
    False,
    "Whether datanodes listen at dfs.domain.socket.path even without short-circuit reads.",
)
DFS_DOMAIN_SOCKET_PATH = optional_string(
    "dfs.domain.socket.path",
    "The Unix socket by which local readers get their files; _PORT is the data port.",
)
DFS_DOMAIN_SOCKET_DISABLE_INTERVAL_SECONDS = duration(
    "dfs.domain.socket.disable.interval.seconds",
    "600",
    "s",
    "How long a client leaves a socket alone that failed it.",
)
DFS_CLIENT_CACHE_DROP_BEHIND_READS = optional_boolean(
    "dfs.client.cache.drop.behind.reads",
    "Whether datanodes drop what was read from their caches; else as they have it.",
)
DFS_CLIENT_CACHE_DROP_BEHIND_WRITES = optional_boolean(
    "dfs.client.cache.drop.behind.writes",
    "Whether datanodes drop what was written from their caches; else as they have it.",
)
DFS_CLIENT_CACHE_READAHEAD = optional_size(
    "dfs.client.cache.readahead", "How far datanodes read ahead; else as they have it."
)
DFS_CLIENT_MAX_BLOCK_ACQUIRE_FAILURES = integer(
    "dfs.client.max.block.acquire.failures", 3, "Rounds over a block's replicas.", minimum=0
)
DFS_CLIENT_RETRY_WINDOW_BASE = duration(
    "dfs.client.retry.window.base", "3000", "ms", "The base of the pause between those rounds."
)
DFS_CLIENT_RETRY_TIMES_GET_LAST_BLOCK_LENGTH = integer(
    "dfs.client.retry.times.get-last-block-length", 3, "Attempts at an open block's length."
)
DFS_CLIENT_RETRY_INTERVAL_MS_GET_LAST_BLOCK_LENGTH = duration(
    "dfs.client.retry.interval-ms.get-last-block-length", "4000", "ms", "Pause between them."
)
DFS_CLIENT_BLOCK_WRITE_RETRIES = integer(
    "dfs.client.block.write.retries", 3, "Attempts to set up the pipeline of a block.", minimum=0
)
DFS_CLIENT_BLOCK_WRITE_LOCATEFOLLOWINGBLOCK_RETRIES = integer(
    "dfs.client.block.write.locateFollowingBlock.retries",
    5,
    "Attempts to get a next block or to complete a file.",
    minimum=0,
)
DFS_CLIENT_BLOCK_WRITE_LOCATEFOLLOWINGBLOCK_INITIAL_DELAY_MS = duration(
    "dfs.client.block.write.locateFollowingBlock.initial.delay.ms",
    "400",
    "ms",
    "The first pause between those, doubled each time.",
)
DFS_CLIENT_BLOCK_WRITE_LOCATEFOLLOWINGBLOCK_MAX_DELAY_MS = duration(
    "dfs.client.block.write.locateFollowingBlock.max.delay.ms",
    "60000",
    "ms",
    "The longest pause between those.",
)
DFS_CLIENT_BLOCK_WRITE_REPLACE_DATANODE_ON_FAILURE_ENABLE = boolean(
    "dfs.client.block.write.replace-datanode-on-failure.enable",
    True,
    "Whether a broken pipeline asks for another datanode.",
)
DFS_CLIENT_BLOCK_WRITE_REPLACE_DATANODE_ON_FAILURE_POLICY = choice(
    "dfs.client.block.write.replace-datanode-on-failure.policy",
    "DEFAULT",
    ("ALWAYS", "NEVER", "DEFAULT"),
    "When it does.",
)
DFS_CLIENT_BLOCK_WRITE_REPLACE_DATANODE_ON_FAILURE_BEST_EFFORT = boolean(
    "dfs.client.block.write.replace-datanode-on-failure.best-effort",
    False,
    "Whether it goes on without one.",
)
# Hadoop's default is 0, by which a write ends though a replica is left.
DFS_CLIENT_BLOCK_WRITE_REPLACE_DATANODE_ON_FAILURE_MIN_REPLICATION = integer(
    "dfs.client.block.write.replace-datanode-on-failure.min-replication",
    1,
    "With how many datanodes it goes on all the same.",
    minimum=0,
)
DFS_CLIENT_PIPELINE_RECOVERY_MAX_RETRIES = integer(
    "dfs.client.pipeline.recovery.max-retries", 5, "Recoveries without progress.", minimum=0
)
DFS_CLIENT_DATANODE_RESTART_TIMEOUT = duration(
    "dfs.client.datanode-restart.timeout", "30", "s", "How long a restarting datanode is awaited."
)
HOWDAH_CLIENT_SYMLINKS_ENABLED = boolean(
    "howdah.client.symlinks.enabled",
    False,
    "Whether clients make symbolic links; Hadoop's namenode does not open a log that has them.",
)
HOWDAH_CLIENT_HFLUSH_TO_DISK = boolean(
    "howdah.client.hflush.to-disk",
    False,
    "Whether hflush does what hsync does, for programs that rely on the weaker one.",
)
DFS_CLIENT_MARK_SLOWNODE_AS_BADNODE_THRESHOLD = integer(
    "dfs.client.mark.slownode.as.badnode.threshold",
    10,
    "In how many acks in a row a datanode may say that it is slow; 0 is any number.",
    minimum=0,
)
DFS_CLIENT_SLOW_IO_WARNING_THRESHOLD_MS = duration(
    "dfs.client.slow.io.warning.threshold.ms", "30000", "ms", "When slow I/O is logged."
)
DFS_CLIENT_RETRY_MAX_ATTEMPTS = integer(
    "dfs.client.retry.max.attempts", 10, "Attempts of a namenode call.", minimum=0
)
DFS_CLIENT_FAILOVER_MAX_ATTEMPTS = integer(
    "dfs.client.failover.max.attempts", 15, "Failovers in one call.", minimum=0
)
DFS_CLIENT_FAILOVER_SLEEP_BASE_MILLIS = duration(
    "dfs.client.failover.sleep.base.millis", "500", "ms", "The first pause, doubled each time."
)
DFS_CLIENT_FAILOVER_SLEEP_MAX_MILLIS = duration(
    "dfs.client.failover.sleep.max.millis", "15000", "ms", "The longest pause."
)
DFS_CLIENT_CONTEXT = string("dfs.client.context", "default", "Clients that share connections.")
DFS_CLIENT_HEDGED_READ_THREADPOOL_SIZE = integer(
    "dfs.client.hedged.read.threadpool.size",
    0,
    "Threads of a client's hedged reads; 0 switches them off.",
    minimum=0,
)
DFS_CLIENT_HEDGED_READ_THRESHOLD_MILLIS = duration(
    "dfs.client.hedged.read.threshold.millis", "500", "ms", "When a second read is started."
)
FS_HDFS_VECTORED_READ_MIN_SEEK_SIZE = size(
    "fs.hdfs.vectored.read.min.seek.size",
    "64k",
    "Ranges of a vectored read with a smaller gap between them are read as one.",
)
FS_HDFS_VECTORED_READ_MAX_MERGED_SIZE = size(
    "fs.hdfs.vectored.read.max.merged.size", "4m", "The most that they are merged to; 0: never."
)

# -- high availability and federation ---------------------------------------------

DFS_NAMESERVICES = listing("dfs.nameservices", "", "The logical names of the namespaces.")
DFS_NAMESERVICE_ID = optional_string("dfs.nameservice.id", "Which of them this server belongs to.")
DFS_HA_NAMENODE_ID = optional_string("dfs.ha.namenode.id", "Which namenode of it this server is.")

KNOWN: dict[str, Key[Any]] = {
    value.name: value for value in list(globals().values()) if isinstance(value, Key)
}

WITHOUT_EFFECT: dict[str, str] = {
    key.name: reason
    for reason, of in {
        "there is one namenode, and clients know its address": (
            DFS_NAMESERVICE_ID,
            DFS_HA_NAMENODE_ID,
            DFS_CLIENT_FAILOVER_MAX_ATTEMPTS,
            DFS_CLIENT_FAILOVER_SLEEP_BASE_MILLIS,
            DFS_CLIENT_FAILOVER_SLEEP_MAX_MILLIS,
        ),
        "a connection costs no thread, and needs neither pings nor sweeps": (
            IPC_PING_INTERVAL,
            IPC_CLIENT_PING,
            IPC_CLIENT_IDLETHRESHOLD,
        ),
        "connections are never shared between clients": (DFS_CLIENT_CONTEXT,),
        "a time-out counts like a refusal, see ipc.client.connect.max.retries": (
            IPC_CLIENT_CONNECT_MAX_RETRIES_ON_TIMEOUTS,
        ),
        "Nagle's algorithm is always off": (
            IPC_CLIENT_TCPNODELAY,
            DFS_DATA_TRANSFER_SERVER_TCPNODELAY,
            DFS_DATA_TRANSFER_CLIENT_TCPNODELAY,
        ),
        "calls are served without a pool of threads": (
            DFS_NAMENODE_HANDLER_COUNT,
            DFS_DATANODE_HANDLER_COUNT,
        ),
        "the retry cache is always on, and bounded by time alone": (
            DFS_NAMENODE_ENABLE_RETRYCACHE,
            DFS_NAMENODE_RETRYCACHE_HEAP_PERCENT,
        ),
        "an edit has at most 50 MiB": (DFS_NAMENODE_MAX_OP_SIZE,),
        "the topology script is asked for one address at a time": (
            NET_TOPOLOGY_SCRIPT_NUMBER_ARGS,
        ),
        "others get their turn after 5,000 inodes": (DFS_CONTENT_SUMMARY_LIMIT,),
        "it is always so": (
            DFS_NAMENODE_AVOID_READ_STALE_DATANODE,
            DFS_NAMENODE_AVOID_WRITE_STALE_DATANODE,
        ),
        "safe mode counts dfs.namenode.replication.min": (DFS_NAMENODE_SAFEMODE_REPLICATION_MIN,),
        "a round of repairs orders up to 1,000 copies, spread over the datanodes": (
            DFS_NAMENODE_REPLICATION_MAX_STREAMS,
            DFS_NAMENODE_REPLICATION_MAX_STREAMS_HARD_LIMIT,
            DFS_NAMENODE_REPLICATION_WORK_MULTIPLIER_PER_ITERATION,
        ),
        "names of datanodes are not looked up": (
            DFS_NAMENODE_DATANODE_REGISTRATION_IP_HOSTNAME_CHECK,
        ),
        "buffers are as large as packets": (DFS_STREAM_BUFFER_SIZE,),
        "`current` in a data directory is its user's alone (700), whatever is around it": (
            DFS_DATANODE_DATA_DIR_PERM,
        ),
        "a datanode reports when it registers, and tells of new blocks at once": (
            DFS_BLOCKREPORT_INITIALDELAY,
            DFS_BLOCKREPORT_INCREMENTAL_INTERVALMSEC,
        ),
        "slow reads and writes are not logged": (DFS_CLIENT_SLOW_IO_WARNING_THRESHOLD_MS,),
        "datanodes have no pages, and those of the namenode ask for no name": (
            DFS_DATANODE_HTTP_ADDRESS,
            HADOOP_HTTP_STATICUSER_USER,
        ),
        "datanodes do not go over their disks by themselves": (
            DFS_DATANODE_DIRECTORYSCAN_INTERVAL,
            DFS_DATANODE_SCAN_PERIOD_HOURS,
            DFS_BLOCK_SCANNER_VOLUME_BYTES_PER_SECOND,
        ),
        "a datanode takes all moves that it is asked for": (
            DFS_DATANODE_BALANCE_MAX_CONCURRENT_MOVES,
        ),
    }.items()
    for key in of
}
"""Known keys that nothing reads, with the reason; a server that starts names those that are set."""

DEPRECATED: dict[str, str] = {
    "dfs.access.time.precision": "dfs.namenode.accesstime.precision",
    "dfs.balance.bandwidthPerSec": "dfs.datanode.balance.bandwidthPerSec",
    "dfs.block.size": "dfs.blocksize",
    "dfs.data.dir": "dfs.datanode.data.dir",
    "dfs.datanode.max.xcievers": "dfs.datanode.max.transfer.threads",
    "dfs.http.address": "dfs.namenode.http-address",
    "dfs.max-repl-streams": "dfs.namenode.replication.max-streams",
    "dfs.name.dir": "dfs.namenode.name.dir",
    "dfs.name.dir.restore": "dfs.namenode.name.dir.restore",
    "dfs.name.edits.dir": "dfs.namenode.edits.dir",
    "dfs.namenode.replication.considerLoad": "dfs.namenode.redundancy.considerLoad",
    "dfs.namenode.replication.interval": "dfs.namenode.redundancy.interval.seconds",
    "dfs.namenode.replication.pending.timeout-sec": (
        "dfs.namenode.reconstruction.pending.timeout-sec"
    ),
    "dfs.permissions": "dfs.permissions.enabled",
    "dfs.permissions.supergroup": "dfs.permissions.superusergroup",
    "dfs.read.prefetch.size": "dfs.client.read.prefetch.size",
    "dfs.replication.considerLoad": "dfs.namenode.redundancy.considerLoad",
    "dfs.replication.interval": "dfs.namenode.redundancy.interval.seconds",
    "dfs.replication.min": "dfs.namenode.replication.min",
    "dfs.replication.pending.timeout.sec": "dfs.namenode.reconstruction.pending.timeout-sec",
    "dfs.safemode.extension": "dfs.namenode.safemode.extension",
    "dfs.safemode.threshold.pct": "dfs.namenode.safemode.threshold-pct",
    "dfs.socket.timeout": "dfs.client.socket-timeout",
    "dfs.write.packet.size": "dfs.client-write-packet-size",
    "fs.checkpoint.dir": "dfs.namenode.checkpoint.dir",
    "fs.checkpoint.period": "dfs.namenode.checkpoint.period",
    "fs.default.name": "fs.defaultFS",
    "heartbeat.recheck.interval": "dfs.namenode.heartbeat.recheck-interval",
    "io.bytes.per.checksum": "dfs.bytes-per-checksum",
    "slave.host.name": "dfs.datanode.hostname",
    "topology.node.switch.mapping.impl": "net.topology.node.switch.mapping.impl",
    "topology.script.file.name": "net.topology.script.file.name",
    "topology.script.number.args": "net.topology.script.number.args",
}
