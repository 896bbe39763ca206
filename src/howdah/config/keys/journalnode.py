"""Keys of journal nodes: addresses, directories, the cache, journal sync."""

from __future__ import annotations

from howdah.config.value_types import (
    address,
    boolean,
    dirs,
    duration,
    optional_size,
    optional_string,
    size,
)

DFS_JOURNALNODE_RPC_ADDRESS = address(
    "dfs.journalnode.rpc-address",
    "127.0.0.1:8485",
    "Where a journal node answers namenodes.",
)
DFS_JOURNALNODE_RPC_BIND_HOST = optional_string(
    "dfs.journalnode.rpc-bind-host", "The address to bind instead, with the port above."
)
DFS_JOURNALNODE_HTTP_ADDRESS = address(
    "dfs.journalnode.http-address",
    "127.0.0.1:8480",
    "Where a journal node hands out segments, and shows its pages.",
)
DFS_JOURNALNODE_HTTP_BIND_HOST = optional_string(
    "dfs.journalnode.http-bind-host", "The address to bind instead, with the web port."
)
DFS_JOURNALNODE_EDITS_DIR = dirs(
    "dfs.journalnode.edits.dir",
    "/tmp/hadoop/dfs/journalnode/",
    "Where a journal node keeps its journals, one directory each; with the name of a "
    "nameservice appended, those of that nameservice.",
)
DFS_JOURNALNODE_EDIT_CACHE_SIZE_BYTES = optional_size(
    "dfs.journalnode.edit-cache-size.bytes",
    "How many bytes of the edits that came last are kept in memory, for standbys that tail; "
    "64 MiB where it is not set.",
    minimum=1,
)
DFS_JOURNALNODE_ENABLE_SYNC = boolean(
    "dfs.journalnode.enable.sync",
    True,
    "Whether a journal node fetches finished segments that it missed from the others.",
)
DFS_JOURNALNODE_SYNC_INTERVAL = duration(
    "dfs.journalnode.sync.interval", "120000", "ms", "How often it looks for them."
)
DFS_JOURNALNODE_ENABLE_SYNC_FORMAT = boolean(
    "dfs.journalnode.enable.sync.format",
    False,
    "Whether a journal that is not formatted here, and is at the other nodes, is made: for a "
    "node that takes the place of one that was lost.",
)
DFS_EDIT_LOG_TRANSFER_TIMEOUT = duration(
    "dfs.edit.log.transfer.timeout",
    "30000",
    "ms",
    "How long journal nodes wait for each other when a segment is fetched.",
)
DFS_EDIT_LOG_TRANSFER_BANDWIDTHPERSEC = size(
    "dfs.edit.log.transfer.bandwidthPerSec",
    "0",
    "Bytes a second of segments that journal sync fetches; 0 is without a limit.",
)
