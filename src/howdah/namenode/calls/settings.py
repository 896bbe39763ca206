"""What the configuration says to the calls, and where they get the time from (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from howdah.namenode.blocks.datanode_claims import SLOW_FOR_MS
from howdah.namenode.blocks.placement import TWICE_THE_MEAN, LoadRule
from howdah.namenode.blocks.policies import BY_DEFAULT, Policy
from howdah.namenode.inodes.protected import NOTHING, ProtectedDirectories


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
    default_replication: int = 3
    min_replication: int = 1
    max_replication: int = 512
    block_size_bytes: int = 128 << 20
    min_block_size_bytes: int = 1 << 20
    max_blocks_per_file: int = 10_000
    bytes_per_checksum: int = 512
    checksum_type: int = 2
    write_packet_bytes: int = 65536
    file_buffer_bytes: int = 4096
    trash_interval_minutes: int = 0
    encrypt_data_transfer: bool = False
    max_component_bytes: int = 255
    max_directory_items: int = 1_048_576
    protected_directories: ProtectedDirectories = NOTHING
    """Directories that nobody deletes or moves while they have entries."""
    protects_subdirectories: bool = False
    """Whether the same holds for every directory below a protected one."""
    acls_enabled: bool = True
    posix_acl_inheritance: bool = True
    xattrs_enabled: bool = True
    max_xattrs_per_inode: int = 32
    max_xattr_bytes: int = 16384
    max_snapshots: int = 65536
    max_snapshots_per_directory: int = 65536
    snapshot_diff_below_root: bool = True
    snapshot_diff_listing_limit: int = 1000
    listing_limit: int = 1000
    batched_listing_limit: int = 100
    open_files_limit: int = 1000
    atime_precision_ms: int = 3_600_000
    heartbeat_expiry_ms: int = 630_000
    stale_datanode_ms: int = 30_000
    datanode_moves_ms: int = 9_000
    """A datanode that was not heard for so long may come back at another address."""
    lease_soft_limit_ms: int = 60_000
    lease_hard_limit_ms: int = 1_200_000
    lease_recheck_ms: int = 2000
    block_recovery_timeout_ms: int = 90_000
    safe_mode_threshold: float = 0.999
    safe_mode_min_datanodes: int = 0
    safe_mode_extension_ms: int = 30_000
    complete_wait_ms: int = 3000
    deletions_per_command: int = 1000
    deletions_after_ms: int = 0
    """So long after its start a namenode has no replica deleted."""
    max_objects: int = 0
    """The most files, directories and blocks; 0: no bound."""
    owners_set_quotas: bool = False
    policies_are_superusers: bool = False
    """Whether only superusers set storage policies."""
    max_report_leases: int = 6
    report_lease_ms: int = 300_000
    placement: Policy = BY_DEFAULT
    load: LoadRule | None = TWICE_THE_MEAN
    """Which nodes are too busy for new replicas; None: load is nothing."""
    avoid_slow_for_writing: bool = False
    avoid_slow_for_reading: bool = False
    slow_holds_ms: int = SLOW_FOR_MS
    """How long a datanode counts as slow after another one has said so."""
    max_slow_nodes: int = 5
    """No more datanodes count as slow, though others find them slow."""
    identity_ms: int = 300_000
    """How long the groups of a user are remembered."""
    storage_policies_enabled: bool = True
    satisfier_is_external: bool = False
    """Whether a storage policy satisfier may ask for marked paths."""
    max_marks_waiting: int = 10_000
    """No path is marked while so many wait for a satisfier."""
    pending_copy_ms: int = 300_000
    max_streams: int = 2
    most_streams: int = 4
    copies_per_node: int = 2
    """Blocks of which a round of repairs orders copies, for each live datanode."""
    maintenance_replication: int = 1
    """So many replicas are live while others are in maintenance."""
    leaving_interval_ms: int = 30_000
    leaving_blocks_per_round: int = 500_000
    leaving_nodes_at_once: int = 100
    retry_cache_expiry_ms: int = 600_000
    caching_enabled: bool = True
    cache_refresh_ms: int = 30_000
    cache_retry_ms: int = 30_000
    cache_pools_limit: int = 100
    cache_directives_limit: int = 100
    cache_adaptive: bool = False
    """Whether hot blocks are cached more often than directives ask for."""
    cache_half_life_ms: int = 60_000
    cache_reads_per_replica: int = 100
