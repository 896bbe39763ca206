"""Keys of the namenode's audit log, and of who calls most (`nntop`)."""

from __future__ import annotations

from howdah.config.value_types import (
    boolean,
    integer,
    listing,
    numbers,
    optional_string,
    size,
    string,
)

HOWDAH_NAMENODE_AUDIT_LOG_FILE = optional_string(
    "howdah.namenode.audit.log.file",
    "The absolute path of the audit log, a line for each call of a client; without it there is "
    "none.",
)
HOWDAH_NAMENODE_AUDIT_LOG_MAX_SIZE = size(
    "howdah.namenode.audit.log.max-size",
    "256m",
    "With so many bytes the audit log gets a number, and a new one begins.",
    minimum=1 << 16,
)
HOWDAH_NAMENODE_AUDIT_LOG_BACKUPS = integer(
    "howdah.namenode.audit.log.backups", 20, "So many older audit logs are kept.", minimum=0
)
DFS_NAMENODE_AUDIT_LOG_DEBUG_CMDLIST = listing(
    "dfs.namenode.audit.log.debug.cmdlist",
    "",
    "Commands that are not in the audit log, such as getfileinfo.",
)
DFS_NAMENODE_AUDIT_LOG_TOKEN_TRACKING_ID = boolean(
    "dfs.namenode.audit.log.token.tracking.id",
    False,
    "Whether lines have `trackingId`, which is null without tokens.",
)
DFS_NAMENODE_AUDIT_LOG_WITH_REMOTE_PORT = boolean(
    "dfs.namenode.audit.log.with.remote.port",
    False,
    "Whether `callerContext` has the client's port.",
)
HADOOP_CALLER_CONTEXT_ENABLED = boolean(
    "hadoop.caller.context.enabled",
    False,
    "Whether the audit log has `callerContext`, what a client says of itself.",
)
HADOOP_CALLER_CONTEXT_MAX_SIZE = integer(
    "hadoop.caller.context.max.size", 128, "The most characters of it that are logged.", minimum=0
)
HADOOP_CALLER_CONTEXT_SIGNATURE_MAX_SIZE = integer(
    "hadoop.caller.context.signature.max.size",
    40,
    "The longest signature of it that is logged, in bytes.",
    minimum=0,
)
HADOOP_CALLER_CONTEXT_SEPARATOR = string(
    "hadoop.caller.context.separator", ",", "What stands before the port."
)

DFS_NAMENODE_TOP_ENABLED = boolean(
    "dfs.namenode.top.enabled", True, "Whether the namenode tells who calls most (`nntop`)."
)
DFS_NAMENODE_TOP_WINDOWS_MINUTES = numbers(
    "dfs.namenode.top.windows.minutes",
    "1,5,25",
    "The lengths of the windows that are looked back, in minutes.",
    minimum=1,
)
DFS_NAMENODE_TOP_WINDOW_NUM_BUCKETS = integer(
    "dfs.namenode.top.window.num.buckets",
    10,
    "Parts of a window: the oldest one leaves it at a time.",
    minimum=1,
    maximum=1000,
)
DFS_NAMENODE_TOP_NUM_USERS = integer(
    "dfs.namenode.top.num.users", 10, "So many users of an operation are told.", minimum=1
)
