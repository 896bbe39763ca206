"""Keys of centralised caching: the namenode's, then the datanode's."""

from __future__ import annotations

from howdah.kinds import boolean, duration, integer

DFS_NAMENODE_CACHING_ENABLED = boolean(
    "dfs.namenode.caching.enabled",
    True,
    "Whether blocks are cached for directives; without it these are only kept.",
)
DFS_NAMENODE_PATH_BASED_CACHE_REFRESH_INTERVAL_MS = duration(
    "dfs.namenode.path.based.cache.refresh.interval.ms",
    "30000",
    "ms",
    "How often all directives are looked at again; besides after each change of one.",
)
DFS_NAMENODE_PATH_BASED_CACHE_RETRY_INTERVAL_MS = duration(
    "dfs.namenode.path.based.cache.retry.interval.ms",
    "30000",
    "ms",
    "When a datanode is told again what it has not cached, or not given up.",
)
DFS_NAMENODE_LIST_CACHE_POOLS_NUM_RESPONSES = integer(
    "dfs.namenode.list.cache.pools.num.responses",
    100,
    "Cache pools in one answer to a listing.",
    minimum=1,
)
DFS_NAMENODE_LIST_CACHE_DIRECTIVES_NUM_RESPONSES = integer(
    "dfs.namenode.list.cache.directives.num.responses",
    100,
    "Cache directives in one answer to a listing.",
    minimum=1,
)
