"""The settings of a client, read once from the configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from howdah.client.settings.short_circuit import NEVER, ShortCircuitSettings
from howdah.client.state.writing.pipeline_rules import (
    DEFAULT_POLICY,
    PipelineRules,
    Policy,
    ReplacementPolicy,
)
from howdah.config import Configuration, keys
from howdah.config.settings import read, setting
from howdah.config.value_types import Key
from howdah.protocol.data_transfer import MAX_PACKET_BYTES
from howdah.protocol.data_transfer.blocks import DatanodeAddress


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """What the streams and calls of one client go by. None: as the namenode says."""

    use_datanode_hostname: bool = setting(keys.DFS_CLIENT_USE_DATANODE_HOSTNAME)
    socket_timeout_s: float = setting(keys.DFS_CLIENT_SOCKET_TIMEOUT)
    write_timeout_s: float = setting(keys.DFS_DATANODE_SOCKET_WRITE_TIMEOUT)
    timeout_per_node_s: float = 5.0
    packet_data_bytes: int = 64 * 1024
    max_packets_in_flight: int = setting(keys.DFS_CLIENT_WRITE_MAX_PACKETS_IN_FLIGHT)
    block_write_retries: int = setting(keys.DFS_CLIENT_BLOCK_WRITE_RETRIES)
    pipeline_recovery_retries: int = setting(keys.DFS_CLIENT_PIPELINE_RECOVERY_MAX_RETRIES)
    replacement: ReplacementPolicy = DEFAULT_POLICY
    exclude_nodes_s: float = setting(
        keys.DFS_CLIENT_WRITE_EXCLUDE_NODES_CACHE_EXPIRY_INTERVAL_MILLIS
    )
    restart_timeout_s: float = setting(keys.DFS_CLIENT_DATANODE_RESTART_TIMEOUT)
    slow_acks: int = setting(keys.DFS_CLIENT_MARK_SLOWNODE_AS_BADNODE_THRESHOLD)
    hflush_to_disk: bool = setting(keys.HOWDAH_CLIENT_HFLUSH_TO_DISK)
    lease_renewal_s: float = 30.0
    lease_hard_limit_s: float = setting(keys.DFS_NAMENODE_LEASE_HARD_LIMIT_SEC)
    next_block_retries: int = setting(keys.DFS_CLIENT_BLOCK_WRITE_LOCATEFOLLOWINGBLOCK_RETRIES)
    next_block_first_delay_s: float = setting(
        keys.DFS_CLIENT_BLOCK_WRITE_LOCATEFOLLOWINGBLOCK_INITIAL_DELAY_MS
    )
    next_block_max_delay_s: float = setting(
        keys.DFS_CLIENT_BLOCK_WRITE_LOCATEFOLLOWINGBLOCK_MAX_DELAY_MS
    )
    data_cipher_suites: tuple[str, ...] = ()
    """How data is encrypted where the namenode says that it is, without security as well."""
    kept_connections: int = setting(keys.DFS_CLIENT_SOCKETCACHE_CAPACITY)
    keep_connections_s: float = setting(keys.DFS_CLIENT_SOCKETCACHE_EXPIRYMSEC)
    prefetch_bytes: int | None = setting(keys.DFS_CLIENT_READ_PREFETCH_SIZE)
    prefers_cached: bool = setting(keys.DFS_CLIENT_READ_USE_CACHE_PRIORITY)
    max_acquire_failures: int = setting(keys.DFS_CLIENT_MAX_BLOCK_ACQUIRE_FAILURES)
    retry_window_s: float = setting(keys.DFS_CLIENT_RETRY_WINDOW_BASE)
    dead_node_memory_s: float = 600.0
    short_circuit: ShortCircuitSettings = NEVER
    drop_behind_reads: bool | None = setting(keys.DFS_CLIENT_CACHE_DROP_BEHIND_READS)
    drop_behind_writes: bool | None = setting(keys.DFS_CLIENT_CACHE_DROP_BEHIND_WRITES)
    readahead_bytes: int | None = setting(keys.DFS_CLIENT_CACHE_READAHEAD)
    hedged_read_threads: int = setting(keys.DFS_CLIENT_HEDGED_READ_THREADPOOL_SIZE)
    hedged_read_threshold_s: float = setting(keys.DFS_CLIENT_HEDGED_READ_THRESHOLD_MILLIS)
    failed_internal_blocks_tolerated: int = setting(
        keys.DFS_CLIENT_EC_WRITE_FAILED_BLOCKS_TOLERATED
    )
    striped_read_threads: int = setting(keys.DFS_CLIENT_READ_STRIPED_THREADPOOL_SIZE)
    vectored_min_seek_bytes: int = setting(keys.FS_HDFS_VECTORED_READ_MIN_SEEK_SIZE)
    vectored_max_merged_bytes: int = setting(keys.FS_HDFS_VECTORED_READ_MAX_MERGED_SIZE)
    last_block_length_retries: int = setting(keys.DFS_CLIENT_RETRY_TIMES_GET_LAST_BLOCK_LENGTH)
    last_block_length_delay_s: float = setting(
        keys.DFS_CLIENT_RETRY_INTERVAL_MS_GET_LAST_BLOCK_LENGTH
    )
    connect_timeout_s: float = setting(keys.IPC_CLIENT_CONNECT_TIMEOUT)
    call_timeout_s: float = 60.0
    connect_retries: int = setting(keys.IPC_CLIENT_CONNECT_MAX_RETRIES)
    connect_retry_delay_s: float = setting(keys.IPC_CLIENT_CONNECT_RETRY_INTERVAL)
    retriable_retries: int = setting(keys.DFS_CLIENT_RETRY_MAX_ATTEMPTS)
    idle_limit_s: float = setting(keys.IPC_CLIENT_CONNECTION_MAXIDLETIME)
    max_response_bytes: int = setting(keys.IPC_MAXIMUM_RESPONSE_LENGTH)
    replication: int | None = None
    block_size: int | None = None
    bytes_per_checksum: int | None = None
    checksum_type: str | None = None
    checksum_combine_mode: str = setting(keys.DFS_CHECKSUM_COMBINE_MODE)

    def pipeline_rules(self, is_local: Callable[[DatanodeAddress], bool]) -> PipelineRules:
        """What a pipeline goes by; `is_local` tells the nodes on this machine."""
        return PipelineRules(
            setup_retries=self.block_write_retries,
            recovery_retries=self.pipeline_recovery_retries,
            replacement=self.replacement,
            exclude_s=self.exclude_nodes_s,
            heartbeat_interval_s=self.socket_timeout_s / 2,
            restart_timeout_s=self.restart_timeout_s,
            is_local=is_local,
            slow_acks=self.slow_acks,
        )

    def next_block_delays_s(self) -> Iterator[float]:
        """The pauses between attempts that wait for a block to reach its replicas.

        Hadoop waits 0.4 s, 0.8 s and so on, though a datanode's report is often only
        milliseconds behind. So the first of those pauses is cut into short, growing ones.
        """
        longest_s = self.next_block_first_delay_s
        short_s = longest_s / 128
        while short_s < longest_s / 2:
            yield short_s
            short_s *= 2
        for _ in range(self.next_block_retries):
            yield longest_s
            longest_s = min(longest_s * 2, self.next_block_max_delay_s)

    @classmethod
    def from_configuration(cls, conf: Configuration) -> ClientSettings:
        """Hadoop's client keys; what nobody has set is left to the namenode's defaults."""

        def own(key: Key[int]) -> int | None:
            return conf.get(key) if conf.is_set(key) else None

        call_timeout_s = (
            conf.get(keys.IPC_CLIENT_RPC_TIMEOUT_MS)
            if conf.is_set(keys.IPC_CLIENT_RPC_TIMEOUT_MS)
            else 60.0
        )
        suites: list[str] = conf.get(keys.DFS_ENCRYPT_DATA_TRANSFER_CIPHER_SUITES)
        return read(
            cls,
            conf,
            # A packet with its header and sums must stay under what datanodes take.
            packet_data_bytes=min(
                conf.get(keys.DFS_CLIENT_WRITE_PACKET_SIZE), MAX_PACKET_BYTES // 2
            ),
            replacement=_replacement(conf),
            data_cipher_suites=tuple(suites),
            lease_renewal_s=min(conf.get(keys.HOWDAH_NAMENODE_LEASE_SOFT_LIMIT) / 2, 30.0),
            short_circuit=ShortCircuitSettings.from_configuration(conf),
            # 0 is for ever in Hadoop; nothing waits for ever here.
            call_timeout_s=call_timeout_s or 3600.0,
            replication=own(keys.DFS_REPLICATION),
            block_size=own(keys.DFS_BLOCKSIZE),
            bytes_per_checksum=own(keys.DFS_BYTES_PER_CHECKSUM),
            checksum_type=conf.get(keys.DFS_CHECKSUM_TYPE)
            if conf.is_set(keys.DFS_CHECKSUM_TYPE)
            else None,
        )


def _replacement(conf: Configuration) -> ReplacementPolicy:
    enabled = conf.get(keys.DFS_CLIENT_BLOCK_WRITE_REPLACE_DATANODE_ON_FAILURE_ENABLE)
    policy = conf.get(keys.DFS_CLIENT_BLOCK_WRITE_REPLACE_DATANODE_ON_FAILURE_POLICY)
    return ReplacementPolicy(
        Policy(policy) if enabled else Policy.NEVER,
        conf.get(keys.DFS_CLIENT_BLOCK_WRITE_REPLACE_DATANODE_ON_FAILURE_BEST_EFFORT),
        conf.get(keys.DFS_CLIENT_BLOCK_WRITE_REPLACE_DATANODE_ON_FAILURE_MIN_REPLICATION),
    )
