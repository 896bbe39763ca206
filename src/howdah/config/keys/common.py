"""Keys of all programs: filesystem, umask, trash, users, racks."""

from __future__ import annotations

from howdah.config.value_types import (
    boolean,
    choice,
    default_filesystem,
    duration,
    integer,
    listing,
    optional_boolean,
    optional_decimal,
    optional_string,
    size,
    string,
)

FS_DEFAULTFS = default_filesystem(
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
FS_VIEWFS_MOUNTTABLE_DEFAULT_NAME_KEY = string(
    "fs.viewfs.mounttable.default.name.key", "default", "The mount table of viewfs:/// URIs."
)
FS_VIEWFS_MOUNTTABLE_PATH = optional_string(
    "fs.viewfs.mounttable.path",
    "A file with a mount table, or a directory of NAME.NUMBER.xml; for schemes laid over alone.",
)
FS_VIEWFS_MOUNTTABLE_NESTED_MOUNT_POINT_SUPPORTED = boolean(
    "fs.viewfs.mounttable.nested.mount.point.supported",
    True,
    "Whether a mount point may lie below another.",
)
FS_VIEWFS_MOUNT_LINKS_AS_SYMLINKS = optional_boolean(
    "fs.viewfs.mount.links.as.symlinks",
    "Whether mount points are listed as symbolic links; else viewfs:// does, others don't.",
)
FS_VIEWFS_IGNORE_PORT_IN_MOUNT_TABLE_NAME = optional_boolean(
    "fs.viewfs.ignore.port.in.mount.table.name",
    "Whether host:port has the table of the host; else viewfs:// doesn't, others do.",
)
FS_VIEWFS_RENAME_STRATEGY = choice(
    "fs.viewfs.rename.strategy",
    "SAME_MOUNTPOINT",
    (
        "SAME_MOUNTPOINT",
        "SAME_TARGET_URI_ACROSS_MOUNTPOINT",
        "SAME_FILESYSTEM_ACROSS_MOUNTPOINT",
    ),
    "Which mount points a rename may cross; none copies data.",
)
FS_VIEWFS_TRASH_FORCE_INSIDE_MOUNT_POINT = boolean(
    "fs.viewfs.trash.force-inside-mount-point",
    False,
    "Whether each mount point has a trash of its own.",
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
HADOOP_SECURITY_SENSITIVE_CONFIG_KEYS = optional_string(
    "hadoop.security.sensitive-config-keys",
    "More patterns of keys whose values /conf does not show, by commas or blanks.",
)
HADOOP_SECURITY_IMPERSONATION_PROVIDER_CLASS = optional_string(
    "hadoop.security.impersonation.provider.class",
    "Who says who may act for whom; DefaultImpersonationProvider is all that there is.",
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
DFS_WEBHDFS_ENABLED = boolean(
    "dfs.webhdfs.enabled", True, "Whether namenodes and datanodes answer WebHDFS."
)
DFS_WEBHDFS_USER_PROVIDER_USER_PATTERN = string(
    "dfs.webhdfs.user.provider.user.pattern",
    "^[A-Za-z_][A-Za-z0-9._-]*[$]?$",
    "What `user.name` of WebHDFS may look like.",
)
DFS_WEBHDFS_ACL_PROVIDER_PERMISSION_PATTERN = string(
    "dfs.webhdfs.acl.provider.permission.pattern",
    "^(default:)?(user|group|mask|other):[[A-Za-z_][A-Za-z0-9._-]]*:([rwx-]{3})?"
    "(,(default:)?(user|group|mask|other):[[A-Za-z_][A-Za-z0-9._-]]*:([rwx-]{3})?)*$",
    "What `aclspec` of WebHDFS may look like.",
)
DFS_WEBHDFS_REST_CSRF_ENABLED = boolean(
    "dfs.webhdfs.rest-csrf.enabled",
    False,
    "Whether a browser's request that changes something must have a header that no form sends.",
)
DFS_WEBHDFS_REST_CSRF_CUSTOM_HEADER = string(
    "dfs.webhdfs.rest-csrf.custom-header", "X-XSRF-HEADER", "The name of that header."
)
DFS_WEBHDFS_REST_CSRF_METHODS_TO_IGNORE = listing(
    "dfs.webhdfs.rest-csrf.methods-to-ignore",
    "GET,OPTIONS,HEAD,TRACE",
    "Methods of HTTP that need no such header.",
)
DFS_WEBHDFS_REST_CSRF_BROWSER_USERAGENTS_REGEX = listing(
    "dfs.webhdfs.rest-csrf.browser-useragents-regex",
    "^Mozilla.*,^Opera.*",
    "Which User-Agents are browsers.",
)
DFS_WEBHDFS_SOCKET_CONNECT_TIMEOUT = duration(
    "dfs.webhdfs.socket.connect-timeout",
    "60s",
    "ms",
    "How long a client over HTTP waits for a connection; 0 is for ever.",
)
DFS_WEBHDFS_SOCKET_READ_TIMEOUT = duration(
    "dfs.webhdfs.socket.read-timeout",
    "60s",
    "ms",
    "How long a client over HTTP waits for an answer, or for more of it; 0 is for ever.",
)
HTTPFS_HTTP_PORT = integer(
    "httpfs.http.port", 14000, "Where a gateway listens.", minimum=0, maximum=65535
)
HTTPFS_HTTP_HOSTNAME = string(
    "httpfs.http.hostname", "127.0.0.1", "The address that a gateway listens at."
)
HTTPFS_ACCESS_MODE = choice(
    "httpfs.access.mode",
    "read-write",
    ("read-write", "read-only", "write-only"),
    "What a gateway does; write-only also shows what is there.",
)
HOWDAH_HTTPFS_IMPERSONATION = optional_boolean(
    "howdah.httpfs.impersonation",
    "Whether a gateway connects to namenodes under its own name and acts for its users there, as "
    "Hadoop's HttpFS does; without a value, if hadoop.proxyuser.* has rules for that name.",
)
HTTPFS_HADOOP_FILESYSTEM_CACHE_PURGE_TIMEOUT = duration(
    "httpfs.hadoop.filesystem.cache.purge.timeout",
    "60",
    "s",
    "How long a gateway keeps the client of a user who asks for nothing.",
)
DFS_XFRAME_ENABLED = boolean(
    "dfs.xframe.enabled",
    True,
    "Whether the pages of other servers are kept from showing ours within theirs.",
)
DFS_XFRAME_VALUE = choice(
    "dfs.xframe.value",
    "SAMEORIGIN",
    ("SAMEORIGIN", "DENY", "ALLOW-FROM"),
    "Who may nevertheless: pages of the same server, nobody, or everybody, as browsers take the "
    "last one today.",
)
HADOOP_HTTP_IDLE_TIMEOUT_MS = duration(
    "hadoop.http.idle_timeout.ms",
    "60000",
    "ms",
    "How long the web of a server waits for the next request of a connection, and a gateway also "
    "for the other side within one.",
)
HADOOP_HTTP_MAX_THREADS = integer(
    "hadoop.http.max.threads", 1000, "Connections that a gateway serves at once.", minimum=1
)
DFS_HTTP_CLIENT_FAILOVER_MAX_ATTEMPTS = integer(
    "dfs.http.client.failover.max.attempts",
    15,
    "Rounds over all namenodes, after the first one, before a call over HTTP gives up.",
    minimum=0,
)
DFS_HTTP_CLIENT_RETRY_MAX_ATTEMPTS = integer(
    "dfs.http.client.retry.max.attempts",
    10,
    "How often a namenode is asked again over HTTP that asks for it.",
    minimum=0,
)
DFS_HTTP_CLIENT_FAILOVER_SLEEP_BASE_MILLIS = duration(
    "dfs.http.client.failover.sleep.base.millis",
    "500",
    "ms",
    "The first pause of a call over HTTP, doubled each time.",
)
DFS_HTTP_CLIENT_FAILOVER_SLEEP_MAX_MILLIS = duration(
    "dfs.http.client.failover.sleep.max.millis",
    "15000",
    "ms",
    "The longest pause of a call over HTTP.",
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
HOWDAH_HTTP_HOSTS = listing(
    "howdah.http.hosts",
    "",
    "Names by which web ports are asked for, besides this machine's and those in the addresses of "
    "the configuration: of proxies and aliases; `*.DOMAIN` for all below, `*` for any.",
)
HOWDAH_TRACING_ENABLED = boolean(
    "howdah.tracing.enabled",
    False,
    "Whether traces of OpenTelemetry are made; where they go is said by `OTEL_*` variables.",
)
HOWDAH_TRACING_SAMPLE_RATIO = optional_decimal(
    "howdah.tracing.sample.ratio",
    "Which part of the traces that begin here is recorded; else as `OTEL_TRACES_SAMPLER` says.",
    minimum=0,
    maximum=1,
)
