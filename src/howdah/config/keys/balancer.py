"""Keys of the balancer and the mover."""

from __future__ import annotations

from howdah.config.value_types import duration, integer, size

DFS_BALANCER_MOVEDWINWIDTH = duration(
    "dfs.balancer.movedWinWidth", "5400000", "ms", "For so long a block is not moved once more."
)
DFS_BALANCER_MOVERTHREADS = integer(
    "dfs.balancer.moverThreads", 1000, "Moves at a time, over all datanodes.", minimum=1
)
DFS_BALANCER_DISPATCHERTHREADS = integer(
    "dfs.balancer.dispatcherThreads",
    200,
    "Lists of blocks that are asked for at a time.",
    minimum=1,
)
DFS_BALANCER_MAX_SIZE_TO_MOVE = size(
    "dfs.balancer.max-size-to-move",
    "10737418240",
    "Bytes that the storages of a datanode give away, or take, in one iteration.",
    minimum=1,
)
DFS_BALANCER_GETBLOCKS_SIZE = size(
    "dfs.balancer.getBlocks.size", "2147483648", "Bytes of blocks in one list.", minimum=1
)
DFS_BALANCER_GETBLOCKS_MIN_BLOCK_SIZE = size(
    "dfs.balancer.getBlocks.min-block-size", "10485760", "Shorter blocks are not moved.", minimum=1
)
DFS_BALANCER_GETBLOCKS_HOT_TIME_INTERVAL = duration(
    "dfs.balancer.getBlocks.hot-time-interval",
    "0",
    "ms",
    "Blocks of files that were read in the last so much time are moved last; 0 is for no file.",
)
DFS_BALANCER_MAX_NO_MOVE_INTERVAL = duration(
    "dfs.balancer.max-no-move-interval",
    "60000",
    "ms",
    "A datanode that could give away nothing for so long does not in this iteration.",
)
DFS_BALANCER_MAX_ITERATION_TIME = duration(
    "dfs.balancer.max-iteration-time", "1200000", "ms", "How long one iteration begins moves."
)
DFS_BALANCER_BLOCK_MOVE_TIMEOUT = duration(
    "dfs.balancer.block-move.timeout", "0", "ms", "How long one move is waited for; 0 is no limit."
)
DFS_BALANCER_SERVICE_INTERVAL = duration(
    "dfs.balancer.service.interval", "5m", "s", "The pause between two runs as a service."
)
DFS_BALANCER_SERVICE_RETRIES_ON_EXCEPTION = integer(
    "dfs.balancer.service.retries.on.exception",
    5,
    "Runs that fail one after the other before the service ends.",
    minimum=0,
)
DFS_NAMENODE_GET_BLOCKS_MAX_QPS = integer(
    "dfs.namenode.get-blocks.max-qps",
    20,
    "Lists of blocks that a balancer asks for in a second; 0 is no limit.",
    minimum=0,
)
DFS_MOVER_MOVERTHREADS = integer(
    "dfs.mover.moverThreads", 1000, "Moves of the mover at a time, over all datanodes.", minimum=1
)
DFS_MOVER_RETRY_MAX_ATTEMPTS = integer(
    "dfs.mover.retry.max.attempts",
    10,
    "Iterations of the mover that move nothing but fail, one after the other, before it ends.",
    minimum=0,
)
