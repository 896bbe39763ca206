"""From Hadoop's keys to the core's settings and permissions (shell: asks the system's users)."""

from __future__ import annotations

import getpass
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

from howdah import keys
from howdah.config import Configuration, check_protection
from howdah.errors import IllegalArgument, InvalidConfiguration, UnsupportedOperation
from howdah.kinds import Key
from howdah.namenode.blocks.placement import LoadRule
from howdah.namenode.blocks.policies import Policy, PolicyFigures, RoomFirst, policy_named
from howdah.namenode.calls.permissions import Permissions
from howdah.namenode.calls.settings import Settings
from howdah.namenode.checkpoints.checkpoint import CheckpointSettings
from howdah.namenode.checkpoints.image_server import TransferSettings
from howdah.namenode.inodes.protected import ProtectedDirectories
from howdah.storage.image.sections import check_codec
from howdah.storage.retention import Retention
from howdah.users.groups import groups_from

HEARTBEATS_OF_A_RECOVERY = 30
"""So many intervals an attempt to recover a block may take, as in Hadoop."""

_HEARTBEATS_OF_A_MOVE, _LEAST_MOVE_S = 3, 3.0
"""After so many intervals without a heartbeat, and so many seconds, a datanode may come back at
another address."""

CHECKSUM_TYPES = {"NULL": 0, "CRC32": 1, "CRC32C": 2}


def settings_from(conf: Configuration, block_pool_id: str) -> Settings:
    """Raises InvalidConfiguration for what this namenode cannot be."""
    check_protection(conf)
    _check_order(
        conf, keys.DFS_NAMENODE_REPLICATION_MIN, keys.DFS_REPLICATION, keys.DFS_REPLICATION_MAX
    )
    _check_order(conf, keys.DFS_NAMENODE_MAINTENANCE_REPLICATION_MIN, keys.DFS_REPLICATION)
    recheck_s = conf.get(keys.DFS_NAMENODE_HEARTBEAT_RECHECK_INTERVAL)
    heartbeat_s = conf.get(keys.DFS_HEARTBEAT_INTERVAL)
    return Settings(
        block_pool_id=block_pool_id,
        default_replication=conf.get(keys.DFS_REPLICATION),
        min_replication=conf.get(keys.DFS_NAMENODE_REPLICATION_MIN),
        max_replication=conf.get(keys.DFS_REPLICATION_MAX),
        block_size_bytes=conf.get(keys.DFS_BLOCKSIZE),
        min_block_size_bytes=conf.get(keys.DFS_NAMENODE_FS_LIMITS_MIN_BLOCK_SIZE),
        max_blocks_per_file=conf.get(keys.DFS_NAMENODE_FS_LIMITS_MAX_BLOCKS_PER_FILE),
        bytes_per_checksum=conf.get(keys.DFS_BYTES_PER_CHECKSUM),
        checksum_type=CHECKSUM_TYPES[conf.get(keys.DFS_CHECKSUM_TYPE)],
        write_packet_bytes=conf.get(keys.DFS_CLIENT_WRITE_PACKET_SIZE),
        file_buffer_bytes=conf.get(keys.IO_FILE_BUFFER_SIZE),
        trash_interval_minutes=int(conf.get(keys.FS_TRASH_INTERVAL) // 60),
        max_component_bytes=conf.get(keys.DFS_NAMENODE_FS_LIMITS_MAX_COMPONENT_LENGTH),
        max_directory_items=conf.get(keys.DFS_NAMENODE_FS_LIMITS_MAX_DIRECTORY_ITEMS),
        protected_directories=_protected(conf),
        protects_subdirectories=conf.get(keys.DFS_PROTECTED_SUBDIRECTORIES_ENABLE),
        acls_enabled=conf.get(keys.DFS_NAMENODE_ACLS_ENABLED),
        posix_acl_inheritance=conf.get(keys.DFS_NAMENODE_POSIX_ACL_INHERITANCE_ENABLED),
        xattrs_enabled=conf.get(keys.DFS_NAMENODE_XATTRS_ENABLED),
        max_xattrs_per_inode=conf.get(keys.DFS_NAMENODE_FS_LIMITS_MAX_XATTRS_PER_INODE),
        max_xattr_bytes=conf.get(keys.DFS_NAMENODE_FS_LIMITS_MAX_XATTR_SIZE),
        max_snapshots=conf.get(keys.DFS_NAMENODE_SNAPSHOT_FILESYSTEM_LIMIT),
        max_snapshots_per_directory=conf.get(keys.DFS_NAMENODE_SNAPSHOT_MAX_LIMIT),
        snapshot_diff_below_root=conf.get(
            keys.DFS_NAMENODE_SNAPSHOTDIFF_ALLOW_SNAP_ROOT_DESCENDANT
        ),
        snapshot_diff_listing_limit=conf.get(keys.DFS_NAMENODE_SNAPSHOTDIFF_LISTING_LIMIT),
        listing_limit=conf.get(keys.DFS_LS_LIMIT),
        batched_listing_limit=conf.get(keys.DFS_BATCHED_LS_LIMIT),
        open_files_limit=conf.get(keys.DFS_NAMENODE_LIST_OPENFILES_NUM_RESPONSES),
        atime_precision_ms=_ms(conf.get(keys.DFS_NAMENODE_ACCESSTIME_PRECISION)),
        heartbeat_expiry_ms=_ms(2 * recheck_s + 10 * heartbeat_s),
        stale_datanode_ms=_ms(conf.get(keys.DFS_NAMENODE_STALE_DATANODE_INTERVAL)),
        datanode_moves_ms=_ms(max(_HEARTBEATS_OF_A_MOVE * heartbeat_s, _LEAST_MOVE_S)),
        lease_soft_limit_ms=_ms(conf.get(keys.HOWDAH_NAMENODE_LEASE_SOFT_LIMIT)),
        lease_hard_limit_ms=_ms(conf.get(keys.DFS_NAMENODE_LEASE_HARD_LIMIT_SEC)),
        lease_recheck_ms=_ms(conf.get(keys.DFS_NAMENODE_LEASE_RECHECK_INTERVAL_MS)),
        block_recovery_timeout_ms=_ms(
            conf.get(keys.HOWDAH_NAMENODE_BLOCK_RECOVERY_TIMEOUT)
            or HEARTBEATS_OF_A_RECOVERY * heartbeat_s
        ),
        deletions_after_ms=_ms(conf.get(keys.DFS_NAMENODE_STARTUP_DELAY_BLOCK_DELETION_SEC)),
        max_objects=conf.get(keys.DFS_NAMENODE_MAX_OBJECTS),
        owners_set_quotas=conf.get(keys.DFS_PERMISSIONS_ALLOW_OWNER_SET_QUOTA),
        policies_are_superusers=conf.get(keys.DFS_STORAGE_POLICY_PERMISSIONS_SUPERUSER_ONLY),
        deletions_per_command=conf.get(keys.DFS_BLOCK_INVALIDATE_LIMIT),
        max_report_leases=conf.get(keys.DFS_NAMENODE_MAX_FULL_BLOCK_REPORT_LEASES),
        report_lease_ms=_ms(conf.get(keys.DFS_NAMENODE_FULL_BLOCK_REPORT_LEASE_LENGTH_MS)),
        placement=_placement(conf),
        load=(
            LoadRule(
                conf.get(keys.DFS_NAMENODE_REDUNDANCY_CONSIDERLOAD_FACTOR),
                conf.get(keys.DFS_NAMENODE_REDUNDANCY_CONSIDERLOADBYSTORAGETYPE),
            )
            if conf.get(keys.DFS_NAMENODE_REDUNDANCY_CONSIDERLOAD)
            else None
        ),
        avoid_slow_for_writing=conf.get(
            keys.DFS_NAMENODE_BLOCK_PLACEMENT_POLICY_EXCLUDE_SLOW_NODES_ENABLED
        ),
        avoid_slow_for_reading=conf.get(keys.DFS_NAMENODE_AVOID_READ_SLOW_DATANODE),
        slow_holds_ms=3 * _ms(conf.get(keys.DFS_DATANODE_OUTLIERS_REPORT_INTERVAL)),
        max_slow_nodes=conf.get(keys.DFS_NAMENODE_MAX_SLOWPEER_COLLECT_NODES),
        copies_per_node=conf.get(keys.DFS_NAMENODE_REPLICATION_WORK_MULTIPLIER_PER_ITERATION),
        identity_ms=_ms(conf.get(keys.HADOOP_SECURITY_GROUPS_CACHE_SECS)),
        storage_policies_enabled=conf.get(keys.DFS_STORAGE_POLICY_ENABLED),
        satisfier_is_external=conf.get(keys.DFS_STORAGE_POLICY_SATISFIER_MODE) == "EXTERNAL",
        max_marks_waiting=conf.get(keys.DFS_STORAGE_POLICY_SATISFIER_MAX_OUTSTANDING_PATHS),
        safe_mode_threshold=conf.get(keys.DFS_NAMENODE_SAFEMODE_THRESHOLD_PCT),
        safe_mode_min_datanodes=conf.get(keys.DFS_NAMENODE_SAFEMODE_MIN_DATANODES),
        safe_mode_extension_ms=_ms(conf.get(keys.DFS_NAMENODE_SAFEMODE_EXTENSION)),
        maintenance_replication=conf.get(keys.DFS_NAMENODE_MAINTENANCE_REPLICATION_MIN),
        leaving_interval_ms=_ms(conf.get(keys.DFS_NAMENODE_DECOMMISSION_INTERVAL)),
        leaving_blocks_per_round=conf.get(keys.DFS_NAMENODE_DECOMMISSION_BLOCKS_PER_INTERVAL),
        leaving_nodes_at_once=conf.get(keys.DFS_NAMENODE_DECOMMISSION_MAX_CONCURRENT_TRACKED_NODES),
        max_streams=conf.get(keys.DFS_NAMENODE_REPLICATION_MAX_STREAMS),
        most_streams=conf.get(keys.DFS_NAMENODE_REPLICATION_MAX_STREAMS_HARD_LIMIT),
        pending_copy_ms=_ms(conf.get(keys.DFS_NAMENODE_RECONSTRUCTION_PENDING_TIMEOUT_SEC)),
        caching_enabled=conf.get(keys.DFS_NAMENODE_CACHING_ENABLED),
        cache_refresh_ms=_ms(conf.get(keys.DFS_NAMENODE_PATH_BASED_CACHE_REFRESH_INTERVAL_MS)),
        cache_retry_ms=_ms(conf.get(keys.DFS_NAMENODE_PATH_BASED_CACHE_RETRY_INTERVAL_MS)),
        cache_pools_limit=conf.get(keys.DFS_NAMENODE_LIST_CACHE_POOLS_NUM_RESPONSES),
        cache_directives_limit=conf.get(keys.DFS_NAMENODE_LIST_CACHE_DIRECTIVES_NUM_RESPONSES),
        cache_adaptive=conf.get(keys.HOWDAH_CACHE_ADAPTIVE),
        cache_half_life_ms=max(_ms(conf.get(keys.HOWDAH_CACHE_ADAPTIVE_HALF_LIFE)), 1),
        cache_reads_per_replica=conf.get(keys.HOWDAH_CACHE_ADAPTIVE_READS),
        retry_cache_expiry_ms=_ms(conf.get(keys.DFS_NAMENODE_RETRYCACHE_EXPIRYTIME_MILLIS)),
    )


def _protected(conf: Configuration) -> ProtectedDirectories:
    """Raises InvalidConfiguration for an entry that would protect nothing."""
    key = keys.FS_PROTECTED_DIRECTORIES
    listed = conf.get(key)
    try:
        return ProtectedDirectories.parse(listed)
    except IllegalArgument as error:
        raise InvalidConfiguration(f"{key.name}: {error.message}") from error


def _placement(conf: Configuration) -> Policy:
    """Raises InvalidConfiguration for a policy that is not here."""
    figures = PolicyFigures(
        RoomFirst(
            _percent(
                conf,
                keys.DFS_NAMENODE_AVAILABLE_SPACE_BLOCK_PLACEMENT_POLICY_BALANCED_SPACE_PREFERENCE_FRACTION,
            ),
            conf.get(
                keys.DFS_NAMENODE_AVAILABLE_SPACE_BLOCK_PLACEMENT_POLICY_BALANCED_SPACE_TOLERANCE
            ),
            conf.get(
                keys.DFS_NAMENODE_AVAILABLE_SPACE_BLOCK_PLACEMENT_POLICY_BALANCED_SPACE_TOLERANCE_LIMIT
            ),
            conf.get(keys.DFS_NAMENODE_AVAILABLE_SPACE_BLOCK_PLACEMENT_POLICY_BALANCE_LOCAL_NODE),
        ),
        RoomFirst(
            _percent(
                conf,
                keys.DFS_NAMENODE_AVAILABLE_SPACE_RACK_FAULT_TOLERANT_BLOCK_PLACEMENT_POLICY_BALANCED_SPACE_PREFERENCE_FRACTION,
            ),
            conf.get(
                keys.DFS_NAMENODE_AVAILABLE_SPACE_RACK_FAULT_TOLERANT_BLOCK_PLACEMENT_POLICY_BALANCED_SPACE_TOLERANCE
            ),
        ),
        conf.get(keys.DFS_NAMENODE_UPGRADE_DOMAIN_FACTOR) or conf.get(keys.DFS_REPLICATION),
    )
    key = keys.DFS_BLOCK_REPLICATOR_CLASSNAME
    return policy_named(conf.get(key), figures, key.name)


def _percent(conf: Configuration, key: Key[float]) -> int:
    """Raises InvalidConfiguration for what is no fraction."""
    fraction = conf.get(key)
    if not 0 <= fraction <= 1:
        raise InvalidConfiguration(f"{key.name} = {fraction:g}: it is a fraction of 1")
    return int(100 * fraction)


def required_directories(conf: Configuration) -> list[Path]:
    """The edits directories without which the namenode ends. Raises
    InvalidConfiguration for one that is no edits directory."""
    required = conf.get(keys.DFS_NAMENODE_EDITS_DIR_REQUIRED)
    for root in required:
        if root not in conf.get(keys.DFS_NAMENODE_EDITS_DIR):
            raise InvalidConfiguration(
                f"{keys.DFS_NAMENODE_EDITS_DIR_REQUIRED.name}: {root} is not among "
                f"{keys.DFS_NAMENODE_EDITS_DIR.name}"
            )
    return required


def image_codec(conf: Configuration) -> str:
    """How images are compressed; empty for not at all. Raises InvalidConfiguration."""
    if not conf.get(keys.DFS_IMAGE_COMPRESS):
        return ""
    codec = conf.get(keys.DFS_IMAGE_COMPRESSION_CODEC)
    try:
        check_codec(codec)
    except UnsupportedOperation as error:
        raise InvalidConfiguration(
            f"{keys.DFS_IMAGE_COMPRESSION_CODEC.name}: {error.message}"
        ) from error
    return codec


def checkpoints_from(conf: Configuration) -> CheckpointSettings:
    """Raises InvalidConfiguration for a codec that is not there."""
    return CheckpointSettings(
        transactions=conf.get(keys.DFS_NAMENODE_CHECKPOINT_TXNS),
        period_s=conf.get(keys.DFS_NAMENODE_CHECKPOINT_PERIOD),
        check_period_s=conf.get(keys.DFS_NAMENODE_CHECKPOINT_CHECK_PERIOD),
        codec=image_codec(conf),
        timeout_s=conf.get(keys.HOWDAH_NAMENODE_CHECKPOINT_TIMEOUT),
        retention=Retention(
            conf.get(keys.DFS_NAMENODE_NUM_CHECKPOINTS_RETAINED),
            conf.get(keys.DFS_NAMENODE_NUM_EXTRA_EDITS_RETAINED),
            conf.get(keys.DFS_NAMENODE_MAX_EXTRA_EDITS_SEGMENTS_RETAINED),
        ),
    )


def transfers_from(conf: Configuration) -> TransferSettings:
    """How fast images move."""
    return TransferSettings(
        conf.get(keys.DFS_IMAGE_TRANSFER_BANDWIDTHPERSEC),
        conf.get(keys.DFS_IMAGE_TRANSFER_BOOTSTRAP_STANDBY_BANDWIDTHPERSEC),
        conf.get(keys.DFS_IMAGE_TRANSFER_TIMEOUT),
    )


def _check_order(conf: Configuration, *ascending: Key[int]) -> None:
    """Raises InvalidConfiguration unless each value is at least the one before."""
    for low, high in itertools.pairwise(ascending):
        if conf.get(low) > conf.get(high):
            raise InvalidConfiguration(
                f"{low.name} = {conf.get(low)} is more than {high.name} = {conf.get(high)}"
            )


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def permissions_from(
    conf: Configuration,
    groups_of: Callable[[str], Sequence[str]] | None = None,
    forget_groups: Callable[[], None] = lambda: None,
) -> Permissions:
    """The superuser is the user of this process. Groups are asked for where they are
    wanted, unless somebody else is to be asked."""
    return Permissions(
        enabled=conf.get(keys.DFS_PERMISSIONS_ENABLED),
        superuser=getpass.getuser(),
        supergroup=conf.get(keys.DFS_PERMISSIONS_SUPERUSERGROUP),
        groups_of=groups_of or groups_from(conf),
        forget_groups=forget_groups,
    )
