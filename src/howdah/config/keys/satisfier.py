"""Keys of the storage policy satisfier: the namenode's first, then those of `howdah sps`."""

from __future__ import annotations

from howdah.config.value_types import choice, duration, integer, string

DFS_STORAGE_POLICY_SATISFIER_MODE = choice(
    "dfs.storage.policy.satisfier.mode",
    "NONE",
    ("NONE", "EXTERNAL"),
    "Whether paths may be marked for a satisfier, which is a process of its own.",
)
DFS_STORAGE_POLICY_SATISFIER_MAX_OUTSTANDING_PATHS = integer(
    "dfs.storage.policy.satisfier.max.outstanding.paths",
    10_000,
    "While so many marked paths wait for a satisfier, no further one is marked.",
    minimum=1,
)
DFS_STORAGE_POLICY_SATISFIER_QUEUE_LIMIT = integer(
    "dfs.storage.policy.satisfier.queue.limit",
    1000,
    "Files that a satisfier has in hand; while there are so many, it lists no further ones.",
    minimum=1,
)
DFS_STORAGE_POLICY_SATISFIER_WORK_MULTIPLIER_PER_ITERATION = integer(
    "dfs.storage.policy.satisfier.work.multiplier.per.iteration",
    1,
    "Moves that a satisfier begins for each live datanode before it pauses for 3 s.",
    minimum=1,
)
DFS_STORAGE_POLICY_SATISFIER_RECHECK_TIMEOUT_MILLIS = duration(
    "dfs.storage.policy.satisfier.recheck.timeout.millis",
    "60000",
    "ms",
    "How long after its moves a file is looked at again; no more than a minute.",
)
DFS_STORAGE_POLICY_SATISFIER_SELF_RETRY_TIMEOUT_MILLIS = duration(
    "dfs.storage.policy.satisfier.self.retry.timeout.millis",
    "300000",
    "ms",
    "A file whose moves have not ended by then is looked at again.",
)
DFS_STORAGE_POLICY_SATISFIER_RETRY_MAX_ATTEMPTS = integer(
    "dfs.storage.policy.satisfier.retry.max.attempts",
    3,
    "After so many attempts at moving its blocks a file is given up.",
    minimum=1,
)
DFS_STORAGE_POLICY_SATISFIER_MOVE_TASK_RETRY_MAX_ATTEMPTS = integer(
    "dfs.storage.policy.satisfier.move.task.retry.max.attempts",
    3,
    "How often a move that fails is tried once more.",
    minimum=0,
)
DFS_STORAGE_POLICY_SATISFIER_DATANODE_CACHE_REFRESH_INTERVAL_MS = duration(
    "dfs.storage.policy.satisfier.datanode.cache.refresh.interval.ms",
    "300000",
    "ms",
    "How long a satisfier goes by what the namenode last said of datanodes and their room.",
)
DFS_STORAGE_POLICY_SATISFIER_ADDRESS = string(
    "dfs.storage.policy.satisfier.address", "0.0.0.0:0", "The host that a satisfier logs in as."
)
