"""Keys of centralised caching: the namenode's, then the datanode's."""

from __future__ import annotations

from howdah.config.value_types import boolean, duration, integer, listing

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
HOWDAH_CACHE_ADAPTIVE = boolean(
    "howdah.cache.adaptive",
    False,
    "Whether cached blocks that are read much get more cached replicas than directives ask for.",
)
HOWDAH_CACHE_ADAPTIVE_READS = integer(
    "howdah.cache.adaptive.reads",
    100,
    "So many reads, each worth half after a half-life, are one cached replica's share.",
    minimum=1,
)
HOWDAH_CACHE_ADAPTIVE_HALF_LIFE = duration(
    "howdah.cache.adaptive.half-life",
    "60",
    "s",
    "After this time half of the reads are forgotten that make a block hot.",
)
DFS_CACHEREPORT_INTERVALMSEC = duration(
    "dfs.cachereport.intervalMsec",
    "10000",
    "ms",
    "How often a datanode reports all that it caches; changes besides with the next heartbeat.",
)
DFS_DATANODE_CACHE_REVOCATION_TIMEOUT_MS = duration(
    "dfs.datanode.cache.revocation.timeout.ms",
    "900000",
    "ms",
    "How long a replica that is uncached waits for local readers that are in the middle of it.",
)
DFS_DATANODE_CACHE_REVOCATION_POLLING_MS = duration(
    "dfs.datanode.cache.revocation.polling.ms",
    "500",
    "ms",
    "How often those readers are looked at.",
)
DFS_DATANODE_PMEM_CACHE_DIRS = listing(
    "dfs.datanode.pmem.cache.dirs",
    "",
    "Persistent memory to cache in. A datanode that is given some does not start: it caches in "
    "locked memory only.",
)
