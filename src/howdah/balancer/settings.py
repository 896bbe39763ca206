"""What the balancer's shells need of the configuration, read once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from howdah.balancer.state.iteration import Limits
from howdah.config import Configuration, keys
from howdah.config.settings import milliseconds, read, setting


@dataclass(frozen=True, slots=True)
class BalancerSettings:
    """Defaults are Hadoop's."""

    limits: Limits = field(default_factory=Limits)
    most_bytes: int = setting(keys.DFS_BALANCER_MAX_SIZE_TO_MOVE)
    min_block_bytes: int = setting(keys.DFS_BALANCER_GETBLOCKS_MIN_BLOCK_SIZE)
    hot_interval_ms: int = setting(keys.DFS_BALANCER_GETBLOCKS_HOT_TIME_INTERVAL, milliseconds)
    moved_window_ms: int = setting(keys.DFS_BALANCER_MOVEDWINWIDTH, milliseconds)
    listings: int = setting(keys.DFS_BALANCER_DISPATCHERTHREADS)
    """Lists of blocks that are asked for at a time."""
    lists_per_s: int = setting(keys.DFS_NAMENODE_GET_BLOCKS_MAX_QPS)
    """0 is no limit."""
    move_timeout_s: float = setting(keys.DFS_BALANCER_BLOCK_MOVE_TIMEOUT)
    """How long one move is waited for; 0 is no limit."""
    pause_s: float = 9.0
    """Between two iterations: until datanodes have reported, and the namenode has had replicas in
    excess deleted."""
    service_interval_s: float = setting(keys.DFS_BALANCER_SERVICE_INTERVAL)
    service_retries: int = setting(keys.DFS_BALANCER_SERVICE_RETRIES_ON_EXCEPTION)
    mover_retries: int = setting(keys.DFS_MOVER_RETRY_MAX_ATTEMPTS)
    """Iterations of a mover of which every move failed, one after the other, before it ends."""
    socket_timeout_s: float = setting(keys.DFS_CLIENT_SOCKET_TIMEOUT)
    use_hostname: bool = setting(keys.DFS_CLIENT_USE_DATANODE_HOSTNAME)

    @classmethod
    def of_mover(cls, conf: Configuration) -> BalancerSettings:
        """The mover has a limit of moves of its own."""
        settings = cls.of(conf)
        moves = conf.get(keys.DFS_MOVER_MOVERTHREADS)
        return replace(settings, limits=replace(settings.limits, moves=moves))

    @classmethod
    def of(cls, conf: Configuration) -> BalancerSettings:
        return read(
            cls,
            conf,
            limits=Limits(
                moves_per_node=conf.get(keys.DFS_DATANODE_BALANCE_MAX_CONCURRENT_MOVES),
                moves=conf.get(keys.DFS_BALANCER_MOVERTHREADS),
                list_bytes=conf.get(keys.DFS_BALANCER_GETBLOCKS_SIZE),
                iteration_ms=int(conf.get(keys.DFS_BALANCER_MAX_ITERATION_TIME) * 1000),
                no_move_ms=int(conf.get(keys.DFS_BALANCER_MAX_NO_MOVE_INTERVAL) * 1000),
            ),
            pause_s=2 * conf.get(keys.DFS_HEARTBEAT_INTERVAL)
            + conf.get(keys.DFS_NAMENODE_REDUNDANCY_INTERVAL_SECONDS),
        )
