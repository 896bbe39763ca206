"""Keys of the namenode: addresses, directories, checkpoints, limits, safe mode, repair."""

from __future__ import annotations

from howdah.config.value_types import (
    address,
    boolean,
    decimal,
    dirs,
    duration,
    integer,
    listing,
    optional_address,
    optional_integer,
    optional_string,
    ports,
    size,
    string,
)

DFS_NAMENODE_RPC_ADDRESS = optional_address(
    "dfs.namenode.rpc-address", 8020, "Where the namenode answers clients; else fs.defaultFS."
)
DFS_NAMENODE_RPC_BIND_HOST = optional_string(
    "dfs.namenode.rpc-bind-host", "The address to bind instead, with the port above."
)
DFS_NAMENODE_RPC_ADDRESS_AUXILIARY_PORTS = ports(
    "dfs.namenode.rpc-address.auxiliary-ports",
    "More ports, of the same address, at which the namenode answers clients.",
)
DFS_NAMENODE_SERVICERPC_ADDRESS = optional_address(
    "dfs.namenode.servicerpc-address", 8021, "A second port, for datanodes and other servers."
)
DFS_NAMENODE_SERVICERPC_BIND_HOST = optional_string(
    "dfs.namenode.servicerpc-bind-host", "The address to bind instead, for the service port."
)
DFS_NAMENODE_IP_PROXY_USERS = listing(
    "dfs.namenode.ip-proxy-users",
    "",
    "Users, of routers, who may say where their client is. A router that has the key acts as its "
    "own user for its client's, which `hadoop.proxyuser.*` must allow at the namenode.",
)
DFS_NAMENODE_LIFELINE_RPC_ADDRESS = optional_address(
    "dfs.namenode.lifeline.rpc-address",
    8020,
    "Where datanodes send a sign of life when their heartbeats are late; none without it.",
)
DFS_NAMENODE_LIFELINE_RPC_BIND_HOST = optional_string(
    "dfs.namenode.lifeline.rpc-bind-host", "The address to bind instead, for the lifeline port."
)
DFS_NAMENODE_LIFELINE_HANDLER_COUNT = integer(
    "dfs.namenode.lifeline.handler.count", 0, "Handlers of the lifeline port."
)
DFS_NAMENODE_LIFELINE_HANDLER_RATIO = decimal(
    "dfs.namenode.lifeline.handler.ratio", "0.1", "Handlers of the lifeline port, as a part."
)
DFS_NAMENODE_HTTP_ADDRESS = address(
    "dfs.namenode.http-address", "127.0.0.1:9870", "The namenode's web pages and WebHDFS."
)
DFS_NAMENODE_SECONDARY_HTTP_ADDRESS = address(
    "dfs.namenode.secondary.http-address",
    "127.0.0.1:9868",
    "The secondary namenode's page and figures; from its host the namenode takes images.",
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
DFS_NAMENODE_RESOURCE_DU_RESERVED = size(
    "dfs.namenode.resource.du.reserved",
    "104857600",
    "Bytes that have to be free on the volumes of the edit log, or a namenode of several is not "
    "well.",
)
DFS_NAMENODE_RESOURCE_CHECK_INTERVAL = duration(
    "dfs.namenode.resource.check.interval", "5000", "ms", "How often that is looked at."
)
DFS_NAMENODE_RESOURCE_CHECKED_VOLUMES = dirs(
    "dfs.namenode.resource.checked.volumes", "", "Further directories that need as much room."
)
DFS_NAMENODE_RESOURCE_CHECKED_VOLUMES_MINIMUM = integer(
    "dfs.namenode.resource.checked.volumes.minimum",
    1,
    "Volumes of edits directories that need it, of those that are not required.",
    minimum=1,
)
DFS_NAMENODE_MAX_OP_SIZE = size(
    "dfs.namenode.max.op.size", "52428800", "The longest edit that is believed at replay."
)
FS_PROTECTED_DIRECTORIES = listing(
    "fs.protected.directories",
    "",
    "Directories that nobody, the superuser included, deletes or moves unless they are empty.",
)
DFS_PROTECTED_SUBDIRECTORIES_ENABLE = boolean(
    "dfs.protected.subdirectories.enable",
    False,
    "Whether directories below those of fs.protected.directories are protected as well.",
)
DFS_REFORMAT_DISABLED = boolean(
    "dfs.reformat.disabled", False, "Whether -format refuses directories that hold something."
)
DFS_NAMENODE_STARTUP_DELAY_BLOCK_DELETION_SEC = duration(
    "dfs.namenode.startup.delay.block.deletion.sec",
    "0",
    "s",
    "How long after its start a namenode has no replica deleted.",
)
DFS_NAMENODE_MAX_OBJECTS = integer(
    "dfs.namenode.max.objects",
    0,
    "The most files, directories and blocks; 0: as many as memory holds.",
    minimum=0,
)
DFS_PERMISSIONS_ALLOW_OWNER_SET_QUOTA = boolean(
    "dfs.permissions.allow.owner.set.quota",
    False,
    "Whether the owner of the directory above sets quotas, too.",
)
DFS_STORAGE_POLICY_PERMISSIONS_SUPERUSER_ONLY = boolean(
    "dfs.storage.policy.permissions.superuser-only",
    False,
    "Whether storage policies are set by superusers only.",
)
DFS_PERMISSIONS_CONTENTSUMMARY_SUBACCESS = boolean(
    "dfs.permissions.ContentSummary.subAccess",
    False,
    "Whether a content summary first checks the access to all directories.",
)
DFS_NAMENODE_STORAGE_DIR_PERM = string(
    "dfs.namenode.storage.dir.perm", "700", "The permissions of the metadata directories."
)
DFS_JOURNALNODE_EDITS_DIR_PERM = string(
    "dfs.journalnode.edits.dir.perm", "700", "The permissions of a journal node's directory."
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
HOWDAH_NAMENODE_VISIBLE_LENGTH_DELAY = duration(
    "howdah.namenode.visible-length.delay",
    "5",
    "ms",
    "So long at most, and never more than 100 ms, the length that an hflush told may wait for its "
    "sync of the log where nobody has asked for it; 0: it is synced at once.",
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
    "dfs.namenode.replication.max-streams",
    2,
    "Repairs a datanode sends at once; 0: none.",
    minimum=0,
)
DFS_NAMENODE_REPLICATION_MAX_STREAMS_HARD_LIMIT = integer(
    "dfs.namenode.replication.max-streams-hard-limit",
    4,
    "The same for the most urgent repairs, and for datanodes that are about to leave.",
    minimum=0,
)
DFS_NAMENODE_REPLICATION_WORK_MULTIPLIER_PER_ITERATION = integer(
    "dfs.namenode.replication.work.multiplier.per.iteration",
    2,
    "Of so many blocks for each live datanode a round of repairs orders copies.",
    minimum=1,
)
DFS_BLOCK_INVALIDATE_LIMIT = integer(
    "dfs.block.invalidate.limit", 1000, "Blocks in one command to delete.", minimum=1
)
DFS_NAMENODE_MAX_FULL_BLOCK_REPORT_LEASES = integer(
    "dfs.namenode.max.full.block.report.leases",
    6,
    "Datanodes that may send their full block reports at a time.",
    minimum=1,
)
DFS_NAMENODE_FULL_BLOCK_REPORT_LEASE_LENGTH_MS = duration(
    "dfs.namenode.full.block.report.lease.length.ms",
    "300000",
    "ms",
    "How long a datanode that may send its full block report has for it.",
    minimum_s=1e-3,
)
DFS_NAMENODE_DATANODE_REGISTRATION_IP_HOSTNAME_CHECK = boolean(
    "dfs.namenode.datanode.registration.ip-hostname-check",
    True,
    "Whether a datanode's address must have a host name.",
)
DFS_HOSTS = optional_string("dfs.hosts", "A file of datanodes that may register; else all may.")
DFS_HOSTS_EXCLUDE = optional_string(
    "dfs.hosts.exclude", "A file of datanodes that are to be decommissioned."
)
DFS_NAMENODE_HOSTS_PROVIDER_CLASSNAME = string(
    "dfs.namenode.hosts.provider.classname",
    "org.apache.hadoop.hdfs.server.blockmanagement.HostFileManager",
    "HostFileManager for two text files, CombinedHostFileManager for one JSON file in dfs.hosts.",
)
DFS_NAMENODE_DECOMMISSION_INTERVAL = duration(
    "dfs.namenode.decommission.interval",
    "30",
    "s",
    "How often datanodes that are to leave are looked at.",
)
DFS_NAMENODE_DECOMMISSION_BLOCKS_PER_INTERVAL = integer(
    "dfs.namenode.decommission.blocks.per.interval",
    500_000,
    "Blocks after which such a look ends, at the next datanode.",
    minimum=1,
)
DFS_NAMENODE_DECOMMISSION_MAX_CONCURRENT_TRACKED_NODES = integer(
    "dfs.namenode.decommission.max.concurrent.tracked.nodes",
    100,
    "Datanodes that are looked at in turns until they have left; 0 for all.",
    minimum=0,
)
DFS_NAMENODE_MAINTENANCE_REPLICATION_MIN = integer(
    "dfs.namenode.maintenance.replication.min",
    1,
    "Replicas on other datanodes that a block needs while some are in maintenance.",
    minimum=0,
)
DFS_NAMENODE_LAZYPERSIST_FILE_SCRUB_INTERVAL_SEC = integer(
    "dfs.namenode.lazypersist.file.scrub.interval.sec",
    300,
    "How often files of LAZY_PERSIST that were lost are deleted; 0: never.",
    minimum=0,
)
