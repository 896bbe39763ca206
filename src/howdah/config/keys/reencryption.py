"""Keys of re-encryption: how fast a namenode has the keys of files encrypted anew."""

from __future__ import annotations

from howdah.config.value_types import decimal, duration, integer

_LEAST_SHARE = 0.001

DFS_NAMENODE_REENCRYPT_BATCH_SIZE = integer(
    "dfs.namenode.reencrypt.batch.size",
    1000,
    "Keys of files that a key server encrypts anew in one call.",
    minimum=1,
    maximum=10_000,
)
DFS_NAMENODE_REENCRYPT_EDEK_THREADS = integer(
    "dfs.namenode.reencrypt.edek.threads",
    10,
    "Calls for re-encryption that are under way at key servers at a time.",
    minimum=1,
    maximum=100,
)
DFS_NAMENODE_REENCRYPT_SLEEP_INTERVAL = duration(
    "dfs.namenode.reencrypt.sleep.interval",
    "1m",
    "ms",
    "What passes before a call for re-encryption is made again that no key server has answered.",
)
DFS_NAMENODE_REENCRYPT_THROTTLE_LIMIT_HANDLER_RATIO = decimal(
    "dfs.namenode.reencrypt.throttle.limit.handler.ratio",
    "1.0",
    "The share of its time that a namenode may look for files to re-encrypt.",
    minimum=_LEAST_SHARE,
)
DFS_NAMENODE_REENCRYPT_THROTTLE_LIMIT_UPDATER_RATIO = decimal(
    "dfs.namenode.reencrypt.throttle.limit.updater.ratio",
    "1.0",
    "The share of its time that a namenode may give files the keys that were encrypted anew.",
    minimum=_LEAST_SHARE,
)
DFS_NAMENODE_LIST_REENCRYPTION_STATUS_NUM_RESPONSES = integer(
    "dfs.namenode.list.reencryption.status.num.responses",
    100,
    "Zones in an answer about re-encryption.",
    minimum=1,
)
DFS_NAMENODE_LIST_ENCRYPTION_ZONES_NUM_RESPONSES = integer(
    "dfs.namenode.list.encryption.zones.num.responses",
    100,
    "Zones in an answer that lists them.",
    minimum=1,
)
