"""What the configuration says to the calls, and where they get the time from (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from howdah.config import keys
from howdah.config.settings import milliseconds, setting
from howdah.namenode.state.blocks.placement import TWICE_THE_MEAN, LoadRule
from howdah.namenode.state.blocks.policies import BY_DEFAULT, SPREAD, Policy
from howdah.namenode.state.inodes.protected import NOTHING, ProtectedDirectories

CHECKSUM_TYPES: Final = {"NULL": 0, "CRC32": 1, "CRC32C": 2}


def _minutes(seconds: float) -> int:
    return int(seconds // 60)


def _three_intervals_ms(seconds: float) -> int:
    return 3 * milliseconds(seconds)


def _some_milliseconds(seconds: float) -> int:
    return max(milliseconds(seconds), 1)


def _given(text: str | None) -> str:
    return text or ""


class Clock(Protocol):
    """Wall time for times that people read, monotonic time for waiting."""

    def wall_ms(self) -> int: ...

    def monotonic_ms(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Settings:
    """What the configuration says, in the units that the code uses."""

    block_pool_id: str
    host: str = ""
    """The name of this namenode's machine, as its address is configured."""
    default_replication: int = setting(keys.DFS_REPLICATION)
    min_replication: int = setting(keys.DFS_NAMENODE_REPLICATION_MIN)
    max_replication: int = setting(keys.DFS_REPLICATION_MAX)
    block_size_bytes: int = setting(keys.DFS_BLOCKSIZE)
    min_block_size_bytes: int = setting(keys.DFS_NAMENODE_FS_LIMITS_MIN_BLOCK_SIZE)
    max_blocks_per_file: int = setting(keys.DFS_NAMENODE_FS_LIMITS_MAX_BLOCKS_PER_FILE)
    bytes_per_checksum: int = setting(keys.DFS_BYTES_PER_CHECKSUM)
    checksum_type: int = setting(keys.DFS_CHECKSUM_TYPE, CHECKSUM_TYPES.__getitem__)
    write_packet_bytes: int = setting(keys.DFS_CLIENT_WRITE_PACKET_SIZE)
    file_buffer_bytes: int = setting(keys.IO_FILE_BUFFER_SIZE)
    trash_interval_minutes: int = setting(keys.FS_TRASH_INTERVAL, _minutes)
    encrypt_data_transfer: bool = setting(keys.DFS_ENCRYPT_DATA_TRANSFER)
    """Whether data connections are encrypted by keys that this namenode gives out."""
    encryption_algorithm: str = setting(keys.DFS_ENCRYPT_DATA_TRANSFER_ALGORITHM)
    key_provider_uri: str = setting(keys.HADOOP_SECURITY_KEY_PROVIDER_PATH, _given)
    """Where clients find the keys of encryption zones; "" is nowhere."""
    zones_limit: int = setting(keys.DFS_NAMENODE_LIST_ENCRYPTION_ZONES_NUM_RESPONSES)
    reencryption_limit: int = setting(keys.DFS_NAMENODE_LIST_REENCRYPTION_STATUS_NUM_RESPONSES)
    reencryption_batch: int = setting(keys.DFS_NAMENODE_REENCRYPT_BATCH_SIZE)
    reencryption_calls: int = setting(keys.DFS_NAMENODE_REENCRYPT_EDEK_THREADS)
    reencryption_retry_ms: int = setting(keys.DFS_NAMENODE_REENCRYPT_SLEEP_INTERVAL, milliseconds)
    reencryption_walk_share: float = setting(
        keys.DFS_NAMENODE_REENCRYPT_THROTTLE_LIMIT_HANDLER_RATIO
    )
    reencryption_change_share: float = setting(
        keys.DFS_NAMENODE_REENCRYPT_THROTTLE_LIMIT_UPDATER_RATIO
    )
    max_component_bytes: int = setting(keys.DFS_NAMENODE_FS_LIMITS_MAX_COMPONENT_LENGTH)
    max_directory_items: int = setting(keys.DFS_NAMENODE_FS_LIMITS_MAX_DIRECTORY_ITEMS)
    protected_directories: ProtectedDirectories = NOTHING
    """Directories that nobody deletes or moves while they have entries."""
    protects_subdirectories: bool = setting(keys.DFS_PROTECTED_SUBDIRECTORIES_ENABLE)
    """Whether the same holds for every directory below a protected one."""
    acls_enabled: bool = setting(keys.DFS_NAMENODE_ACLS_ENABLED)
    posix_acl_inheritance: bool = setting(keys.DFS_NAMENODE_POSIX_ACL_INHERITANCE_ENABLED)
    xattrs_enabled: bool = setting(keys.DFS_NAMENODE_XATTRS_ENABLED)
    max_xattrs_per_inode: int = setting(keys.DFS_NAMENODE_FS_LIMITS_MAX_XATTRS_PER_INODE)
    max_xattr_bytes: int = setting(keys.DFS_NAMENODE_FS_LIMITS_MAX_XATTR_SIZE)
    max_snapshots: int = setting(keys.DFS_NAMENODE_SNAPSHOT_FILESYSTEM_LIMIT)
    max_snapshots_per_directory: int = setting(keys.DFS_NAMENODE_SNAPSHOT_MAX_LIMIT)
    snapshot_diff_below_root: bool = setting(
        keys.DFS_NAMENODE_SNAPSHOTDIFF_ALLOW_SNAP_ROOT_DESCENDANT
    )
    snapshot_diff_listing_limit: int = setting(keys.DFS_NAMENODE_SNAPSHOTDIFF_LISTING_LIMIT)
    listing_limit: int = setting(keys.DFS_LS_LIMIT)
    batched_listing_limit: int = setting(keys.DFS_BATCHED_LS_LIMIT)
    open_files_limit: int = setting(keys.DFS_NAMENODE_LIST_OPENFILES_NUM_RESPONSES)
    atime_precision_ms: int = setting(keys.DFS_NAMENODE_ACCESSTIME_PRECISION, milliseconds)
    heartbeat_expiry_ms: int = 630_000
    stale_datanode_ms: int = setting(keys.DFS_NAMENODE_STALE_DATANODE_INTERVAL, milliseconds)
    datanode_moves_ms: int = 9_000
    """A datanode that was not heard for so long may come back at another address."""
    lease_soft_limit_ms: int = setting(keys.HOWDAH_NAMENODE_LEASE_SOFT_LIMIT, milliseconds)
    lease_hard_limit_ms: int = setting(keys.DFS_NAMENODE_LEASE_HARD_LIMIT_SEC, milliseconds)
    lease_recheck_ms: int = setting(keys.DFS_NAMENODE_LEASE_RECHECK_INTERVAL_MS, milliseconds)
    block_recovery_timeout_ms: int = 90_000
    safe_mode_threshold: float = setting(keys.DFS_NAMENODE_SAFEMODE_THRESHOLD_PCT)
    safe_mode_min_datanodes: int = setting(keys.DFS_NAMENODE_SAFEMODE_MIN_DATANODES)
    safe_mode_extension_ms: int = setting(keys.DFS_NAMENODE_SAFEMODE_EXTENSION, milliseconds)
    complete_wait_ms: int = 3000
    deletions_per_command: int = setting(keys.DFS_BLOCK_INVALIDATE_LIMIT)
    deletions_after_ms: int = setting(
        keys.DFS_NAMENODE_STARTUP_DELAY_BLOCK_DELETION_SEC, milliseconds
    )
    """So long after its start a namenode has no replica deleted."""
    max_objects: int = setting(keys.DFS_NAMENODE_MAX_OBJECTS)
    """The most files, directories and blocks; 0: no bound."""
    owners_set_quotas: bool = setting(keys.DFS_PERMISSIONS_ALLOW_OWNER_SET_QUOTA)
    policies_are_superusers: bool = setting(keys.DFS_STORAGE_POLICY_PERMISSIONS_SUPERUSER_ONLY)
    """Whether only superusers set storage policies."""
    max_report_leases: int = setting(keys.DFS_NAMENODE_MAX_FULL_BLOCK_REPORT_LEASES)
    report_lease_ms: int = setting(
        keys.DFS_NAMENODE_FULL_BLOCK_REPORT_LEASE_LENGTH_MS, milliseconds
    )
    placement: Policy = BY_DEFAULT
    group_placement: Policy = SPREAD
    """The same of internal blocks of groups."""
    load: LoadRule | None = TWICE_THE_MEAN
    """Which nodes are too busy for new replicas; None: load is nothing."""
    avoid_slow_for_writing: bool = setting(
        keys.DFS_NAMENODE_BLOCK_PLACEMENT_POLICY_EXCLUDE_SLOW_NODES_ENABLED
    )
    avoid_slow_for_reading: bool = setting(keys.DFS_NAMENODE_AVOID_READ_SLOW_DATANODE)
    slow_holds_ms: int = setting(keys.DFS_DATANODE_OUTLIERS_REPORT_INTERVAL, _three_intervals_ms)
    """How long a datanode counts as slow after another one has said so."""
    max_slow_nodes: int = setting(keys.DFS_NAMENODE_MAX_SLOWPEER_COLLECT_NODES)
    """No more datanodes count as slow, though others find them slow."""
    identity_ms: int = setting(keys.HADOOP_SECURITY_GROUPS_CACHE_SECS, milliseconds)
    """How long the groups of a user are remembered."""
    default_coding_policy: str = setting(keys.DFS_NAMENODE_EC_SYSTEM_DEFAULT_POLICY)
    """The erasure coding policy that is enabled from the start on; "" is none."""
    users_add_coding_policies: bool = setting(keys.DFS_NAMENODE_EC_USERDEFINED_POLICY_ALLOWED)
    max_coding_cell_bytes: int = setting(keys.DFS_NAMENODE_EC_POLICIES_MAX_CELLSIZE)
    storage_policies_enabled: bool = setting(keys.DFS_STORAGE_POLICY_ENABLED)
    satisfier_is_external: bool = setting(keys.DFS_STORAGE_POLICY_SATISFIER_MODE, "EXTERNAL".__eq__)
    """Whether a storage policy satisfier may ask for marked paths."""
    max_marks_waiting: int = setting(keys.DFS_STORAGE_POLICY_SATISFIER_MAX_OUTSTANDING_PATHS)
    """No path is marked while so many wait for a satisfier."""
    pending_copy_ms: int = setting(
        keys.DFS_NAMENODE_RECONSTRUCTION_PENDING_TIMEOUT_SEC, milliseconds
    )
    max_streams: int = setting(keys.DFS_NAMENODE_REPLICATION_MAX_STREAMS)
    most_streams: int = setting(keys.DFS_NAMENODE_REPLICATION_MAX_STREAMS_HARD_LIMIT)
    copies_per_node: int = setting(keys.DFS_NAMENODE_REPLICATION_WORK_MULTIPLIER_PER_ITERATION)
    """Blocks of which a round of repairs orders copies, for each live datanode."""
    maintenance_replication: int = setting(keys.DFS_NAMENODE_MAINTENANCE_REPLICATION_MIN)
    """So many replicas are live while others are in maintenance."""
    leaving_interval_ms: int = setting(keys.DFS_NAMENODE_DECOMMISSION_INTERVAL, milliseconds)
    leaving_blocks_per_round: int = setting(keys.DFS_NAMENODE_DECOMMISSION_BLOCKS_PER_INTERVAL)
    leaving_nodes_at_once: int = setting(
        keys.DFS_NAMENODE_DECOMMISSION_MAX_CONCURRENT_TRACKED_NODES
    )
    retry_cache_expiry_ms: int = setting(
        keys.DFS_NAMENODE_RETRYCACHE_EXPIRYTIME_MILLIS, milliseconds
    )
    caching_enabled: bool = setting(keys.DFS_NAMENODE_CACHING_ENABLED)
    cache_refresh_ms: int = setting(
        keys.DFS_NAMENODE_PATH_BASED_CACHE_REFRESH_INTERVAL_MS, milliseconds
    )
    cache_retry_ms: int = setting(
        keys.DFS_NAMENODE_PATH_BASED_CACHE_RETRY_INTERVAL_MS, milliseconds
    )
    cache_pools_limit: int = setting(keys.DFS_NAMENODE_LIST_CACHE_POOLS_NUM_RESPONSES)
    cache_directives_limit: int = setting(keys.DFS_NAMENODE_LIST_CACHE_DIRECTIVES_NUM_RESPONSES)
    cache_adaptive: bool = setting(keys.HOWDAH_CACHE_ADAPTIVE)
    """Whether hot blocks are cached more often than directives ask for."""
    cache_half_life_ms: int = setting(keys.HOWDAH_CACHE_ADAPTIVE_HALF_LIFE, _some_milliseconds)
    cache_reads_per_replica: int = setting(keys.HOWDAH_CACHE_ADAPTIVE_READS)
