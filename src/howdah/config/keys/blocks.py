"""Keys of files and blocks, by which every server and client goes."""

from __future__ import annotations

from howdah.config.value_types import boolean, choice, integer, size, string

DFS_REPLICATION = integer("dfs.replication", 3, "Replicas of new files.", minimum=1)
DFS_REPLICATION_MAX = integer(
    "dfs.replication.max",
    512,
    "The most replicas that may be asked for, and never more than 2047, as Hadoop has it.",
    minimum=1,
    maximum=32767,
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
    "dfs.encrypt.data.transfer",
    False,
    "Whether all block data is encrypted on the wire, by keys that the namenode gives out. "
    "Namenodes and datanodes need it alike, and dfs.block.access.token.enable.",
)
DFS_BLOCK_ACCESS_TOKEN_ENABLE = boolean(
    "dfs.block.access.token.enable", False, "Whether datanodes ask for block tokens."
)
DFS_NAMENODE_EC_SYSTEM_DEFAULT_POLICY = string(
    "dfs.namenode.ec.system.default.policy",
    "RS-6-3-1024k",
    "The erasure coding policy that is enabled from the start on, and that directories get where "
    "none is named; empty for none.",
)
DFS_NAMENODE_EC_USERDEFINED_POLICY_ALLOWED = boolean(
    "dfs.namenode.ec.userdefined.policy.allowed",
    True,
    "Whether superusers may add erasure coding policies.",
)
DFS_NAMENODE_EC_POLICIES_MAX_CELLSIZE = size(
    "dfs.namenode.ec.policies.max.cellsize",
    "4194304",
    "The largest cell of an erasure coding policy that is added.",
    minimum=1024,
)
DFS_STORAGE_POLICY_ENABLED = boolean(
    "dfs.storage.policy.enabled", True, "Whether storage policies work."
)
