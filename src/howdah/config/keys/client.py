"""Keys of clients: writing, reading, short circuit, retries."""

from __future__ import annotations

from howdah.config.value_types import (
    boolean,
    choice,
    duration,
    integer,
    optional_boolean,
    optional_size,
    optional_string,
    size,
    string,
)

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
DFS_CLIENT_READ_USE_CACHE_PRIORITY = boolean(
    "dfs.client.read.use.cache.priority",
    False,
    "Whether a replica that its datanode has in memory goes before a nearer one.",
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
    "Whether clients make symbolic links, and a namenode makes them over HTTP; Hadoop's namenode "
    "does not open a log that has them.",
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
    "dfs.client.failover.max.attempts",
    15,
    "How often a call asks all namenodes again that it has asked in vain.",
    minimum=0,
)
DFS_CLIENT_FAILOVER_PROXY_PROVIDER = optional_string(
    "dfs.client.failover.proxy.provider",
    "With the name of a nameservice appended: how clients find its active namenode.",
)
DFS_CLIENT_FAILOVER_RANDOM_ORDER = boolean(
    "dfs.client.failover.random.order",
    True,
    "Whether each client asks the namenodes in an order of its own.",
)
DFS_CLIENT_FAILOVER_CONNECTION_RETRIES = integer(
    "dfs.client.failover.connection.retries",
    0,
    "Further attempts to connect to a namenode before the next one is asked.",
    minimum=0,
)
DFS_CLIENT_FAILOVER_CONNECTION_RETRIES_ON_TIMEOUTS = integer(
    "dfs.client.failover.connection.retries.on.timeouts",
    0,
    "The same for a namenode that did not accept in time.",
    minimum=0,
)
DFS_CLIENT_FAILOVER_RESOLVE_NEEDED = boolean(
    "dfs.client.failover.resolve-needed",
    False,
    "With the name of a nameservice appended: whether each host stands for several namenodes, "
    "one for each of its addresses; not supported.",
)
DFS_CLIENT_FAILOVER_OBSERVER_AUTO_MSYNC_PERIOD = duration(
    "dfs.client.failover.observer.auto-msync-period",
    "-1",
    "ms",
    "With the name of a nameservice appended: after how long without the active namenode a read "
    "asks it where the log is; 0 is each time, below 0 never.",
    minimum_s=None,
)
DFS_CLIENT_FAILOVER_OBSERVER_PROBE_RETRY_PERIOD = duration(
    "dfs.client.failover.observer.probe.retry.period",
    "10m",
    "ms",
    "When a client that found no observer looks for one again.",
)
DFS_CLIENT_RBF_OBSERVER_READ_ENABLE = boolean(
    "dfs.client.rbf.observer.read.enable",
    False,
    "Whether a client tells routers what it has seen, so that they may let observers answer its "
    "reads.",
)
DFS_CLIENT_FAILOVER_NAMENODE_HA_STATE_PROBE_TIMEOUT = duration(
    "dfs.client.failover.namenode.ha-state.probe.timeout",
    "25s",
    "ms",
    "How long a namenode may take to say whether it is an observer.",
)
HOWDAH_CLIENT_FAILOVER_PROBE_INTERVAL_MS = duration(
    "howdah.client.failover.probe.interval.ms",
    "2s",
    "ms",
    "When a namenode of a nameservice has not answered a call for so long, and so on, the others "
    "are asked whether one of them is active meanwhile; 0 waits for the answer.",
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
DFS_CLIENT_EC_WRITE_FAILED_BLOCKS_TOLERATED = integer(
    "dfs.client.ec.write.failed.blocks.tolerated",
    2**31 - 1,
    "Internal blocks of a group that may fail while an erasure coded file is written; never more "
    "than its policy has parity.",
    minimum=0,
)
DFS_CLIENT_READ_STRIPED_THREADPOOL_SIZE = integer(
    "dfs.client.read.striped.threadpool.size",
    18,
    "Threads of a client that read internal blocks of erasure coded files at the same time.",
    minimum=1,
)
FS_HDFS_VECTORED_READ_MIN_SEEK_SIZE = size(
    "fs.hdfs.vectored.read.min.seek.size",
    "64k",
    "Ranges of a vectored read with a smaller gap between them are read as one.",
)
FS_HDFS_VECTORED_READ_MAX_MERGED_SIZE = size(
    "fs.hdfs.vectored.read.max.merged.size", "4m", "The most that they are merged to; 0: never."
)
DFS_CLIENT_FSCK_CONNECT_TIMEOUT = duration(
    "dfs.client.fsck.connect.timeout",
    "60000",
    "ms",
    "So long fsck waits for the namenode's pages to take its connection.",
)
DFS_CLIENT_FSCK_READ_TIMEOUT = duration(
    "dfs.client.fsck.read.timeout",
    "60000",
    "ms",
    "So long fsck waits for the next part of the answer.",
)
