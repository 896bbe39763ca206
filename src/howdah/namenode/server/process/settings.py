"""From Hadoop's keys to settings and permissions of the namesystem (shell: asks for users)."""

from __future__ import annotations

import getpass
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

from howdah.config import Configuration, keys
from howdah.config.settings import milliseconds, read
from howdah.config.value_types import Key
from howdah.errors import IllegalArgument, InvalidConfiguration, UnsupportedOperation
from howdah.formats.image.sections import check_codec
from howdah.namenode.journal.checkpoints.checkpoint import CheckpointSettings
from howdah.namenode.journal.checkpoints.image_server import TransferSettings
from howdah.namenode.server.security import check_namenode_protection
from howdah.namenode.service.calls.permissions import Permissions
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.blocks.placement import LoadRule
from howdah.namenode.state.blocks.policies import Policy, PolicyFigures, RoomFirst, policy_named
from howdah.namenode.state.inodes.protected import ProtectedDirectories
from howdah.runtime.users.groups import groups_from
from howdah.storage.retention import Retention

HEARTBEATS_OF_A_RECOVERY = 30
"""So many intervals an attempt to recover a block may take, as in Hadoop."""

_HEARTBEATS_OF_A_MOVE, _LEAST_MOVE_S = 3, 3.0
"""After so many intervals without a heartbeat, and so many seconds, a datanode may come back at
another address."""


def settings_from(conf: Configuration, block_pool_id: str) -> Settings:
    """Raises InvalidConfiguration for what this namenode cannot be."""
    check_namenode_protection(conf)
    _check_order(
        conf, keys.DFS_NAMENODE_REPLICATION_MIN, keys.DFS_REPLICATION, keys.DFS_REPLICATION_MAX
    )
    _check_order(conf, keys.DFS_NAMENODE_MAINTENANCE_REPLICATION_MIN, keys.DFS_REPLICATION)
    recheck_s = conf.get(keys.DFS_NAMENODE_HEARTBEAT_RECHECK_INTERVAL)
    heartbeat_s = conf.get(keys.DFS_HEARTBEAT_INTERVAL)
    return read(
        Settings,
        conf,
        block_pool_id=block_pool_id,
        protected_directories=_protected(conf),
        heartbeat_expiry_ms=milliseconds(2 * recheck_s + 10 * heartbeat_s),
        datanode_moves_ms=milliseconds(max(_HEARTBEATS_OF_A_MOVE * heartbeat_s, _LEAST_MOVE_S)),
        block_recovery_timeout_ms=milliseconds(
            conf.get(keys.HOWDAH_NAMENODE_BLOCK_RECOVERY_TIMEOUT)
            or HEARTBEATS_OF_A_RECOVERY * heartbeat_s
        ),
        placement=_placement(conf, keys.DFS_BLOCK_REPLICATOR_CLASSNAME),
        group_placement=_placement(conf, keys.DFS_BLOCK_PLACEMENT_EC_CLASSNAME),
        load=LoadRule(
            conf.get(keys.DFS_NAMENODE_REDUNDANCY_CONSIDERLOAD_FACTOR),
            conf.get(keys.DFS_NAMENODE_REDUNDANCY_CONSIDERLOADBYSTORAGETYPE),
        )
        if conf.get(keys.DFS_NAMENODE_REDUNDANCY_CONSIDERLOAD)
        else None,
    )


def _protected(conf: Configuration) -> ProtectedDirectories:
    """Raises InvalidConfiguration for an entry that would protect nothing."""
    key = keys.FS_PROTECTED_DIRECTORIES
    listed = conf.get(key)
    try:
        return ProtectedDirectories.parse(listed)
    except IllegalArgument as error:
        raise InvalidConfiguration(f"{key.name}: {error.message}") from error


def _placement(conf: Configuration, key: Key[str]) -> Policy:
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


def permissions_from(
    conf: Configuration,
    groups_of: Callable[[str], Sequence[str]] | None = None,
    forget_groups: Callable[[], None] = lambda: None,
    superuser: str | None = None,
) -> Permissions:
    """The superuser is the user of this process, unless it is another one. Groups are asked for
    where they are wanted, unless somebody else is to be asked."""
    return Permissions(
        enabled=conf.get(keys.DFS_PERMISSIONS_ENABLED),
        superuser=superuser or getpass.getuser(),
        supergroup=conf.get(keys.DFS_PERMISSIONS_SUPERUSERGROUP),
        groups_of=groups_of or groups_from(conf),
        forget_groups=forget_groups,
    )
