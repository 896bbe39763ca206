"""What the datanode's parts need to know of the configuration, read once.

The parts take these values and never a `Configuration`: a test can build them
by hand, and a typo in a key fails at the start and not in a thread.
"""

from __future__ import annotations

import logging
import resource
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.config import Configuration, check_protection, keys
from howdah.config.settings import read, setting
from howdah.datanode.latency.monitor import LatencySettings
from howdah.datanode.state.disk_balancer.work import DiskBalancerSettings, WorkRules
from howdah.datanode.state.replicas.page_cache import DEFAULT_POLICY, CachePolicy
from howdah.datanode.state.volumes.choosing import AVAILABLE_SPACE, ChoosingPolicy
from howdah.datanode.state.volumes.reserve import Reserve, reserve_of
from howdah.runtime.privileges import is_privileged
from howdah.runtime.tls.http_policy import is_http_served
from howdah.runtime.tracing.settings import OFF, TracingSettings
from howdah.security.confinement import Confinement
from howdah.security.server_checks import (
    THERE_WITH_KERBEROS,
    check_believing,
    check_encryption,
    check_secured,
    is_secured,
)

if TYPE_CHECKING:
    from howdah.datanode.transfer.guard import Guard

log = logging.getLogger(__name__)

SECURE_USER: Final = "HDFS_DATANODE_SECURE_USER"
"""The variable of the environment that says whom a datanode runs as that root starts."""
RECONFIGURABLE: Final = tuple(
    sorted(
        key.name
        for key in (
            keys.DFS_DATANODE_DATA_DIR,
            keys.DFS_DATANODE_BALANCE_BANDWIDTHPERSEC,
            keys.DFS_DISK_BALANCER_ENABLED,
            keys.DFS_DISK_BALANCER_PLAN_VALID_INTERVAL,
        )
    )
)
"""What a running datanode takes from its files when an administrator says so."""


_ENCRYPTS: Final = keys.DFS_ENCRYPT_DATA_TRANSFER
_NEEDED_WITH_KERBEROS: Final = (
    keys.DFS_DATANODE_KERBEROS_PRINCIPAL,
    keys.DFS_DATANODE_KEYTAB_FILE,
    keys.DFS_NAMENODE_KERBEROS_PRINCIPAL,
)


def check_datanode_protection(conf: Configuration) -> None:
    """Raises InvalidConfiguration for a protection that is asked for and that a datanode lacks,
    and for what would leave a door open on a secured cluster."""
    check_encryption(conf)
    if not is_secured(conf):
        check_believing(conf)
        return
    check_secured(conf, _NEEDED_WITH_KERBEROS)
    Confinement.from_configuration(conf)
    journal = keys.DFS_JOURNALNODE_KERBEROS_PRINCIPAL
    if not conf.get(journal):
        log.warning(
            "%s is not set. In a cluster with journal nodes set it at datanodes, too: whoever has "
            "a journal node's keytab can be the superuser at this datanode otherwise",
            journal.name,
        )
    _check_ports(conf)
    _warn_of_plain_data(conf)
    check_protection(conf, THERE_WITH_KERBEROS)


def has_privileged_port(conf: Configuration) -> bool:
    """Whether the data port proves a datanode, since root alone can have opened it."""
    return is_privileged(conf.get(keys.DFS_DATANODE_ADDRESS)[1])


def _check_ports(conf: Configuration) -> None:
    """Raises InvalidConfiguration where clients could not tell whom they give data to. Hadoop:
    DataNode.checkSecureConfig."""
    if conf.get(keys.IGNORE_SECURE_PORTS_FOR_TESTING):
        return
    lacks = []
    if not conf.get(keys.DFS_DATA_TRANSFER_PROTECTION) and not has_privileged_port(conf):
        lacks.append(
            f"set {keys.DFS_DATA_TRANSFER_PROTECTION.name}, or have "
            f"{keys.DFS_DATANODE_ADDRESS.name} end in a port below 1024"
        )
    if is_http_served(conf) and not is_privileged(conf.get(keys.DFS_DATANODE_HTTP_ADDRESS)[1]):
        lacks.append(
            f"set {keys.DFS_HTTP_POLICY.name} = HTTPS_ONLY, or have "
            f"{keys.DFS_DATANODE_HTTP_ADDRESS.name} end in a port below 1024"
        )
    if lacks:
        raise errors.InvalidConfiguration(
            "Cannot start secure DataNode due to incorrect config: " + "; and ".join(lacks)
        )


def _warn_of_plain_data(conf: Configuration) -> None:
    protection = keys.DFS_DATA_TRANSFER_PROTECTION
    if conf.get(protection) and has_privileged_port(conf) and not conf.get(_ENCRYPTS):
        log.warning(
            "data are not protected as %s = %s says: a port below 1024 (%s) proves this datanode, "
            "so clients and datanodes do without a handshake. Take a port from 1024 on, or set "
            "%s = true",
            protection.name,
            conf.raw(protection.name),
            keys.DFS_DATANODE_ADDRESS.name,
            _ENCRYPTS.name,
        )


DEFAULT_LATENCY: Final = LatencySettings()
DEFAULT_DISK_BALANCER: Final = DiskBalancerSettings()


@dataclass(frozen=True, slots=True)
class ReconstructionSettings:
    """For those who make lost internal blocks of block groups anew. Defaults are Hadoop's."""

    threads: int = setting(keys.DFS_DATANODE_EC_RECONSTRUCTION_THREADS)
    """Groups that are worked on at a time."""
    piece_bytes: int = setting(keys.DFS_DATANODE_EC_RECONSTRUCTION_STRIPEDREAD_BUFFER_SIZE)
    """Of each internal block, read at a time."""
    silence_s: float = setting(keys.DFS_DATANODE_EC_RECONSTRUCTION_STRIPEDREAD_TIMEOUT_MILLIS)
    """How long a source may be silent before another is read."""
    weight: float = setting(keys.DFS_DATANODE_EC_RECONSTRUCTION_XMITS_WEIGHT)
    """How many copies a source or target counts for, when the namenode hears of them."""
    validates: bool = setting(keys.DFS_DATANODE_EC_RECONSTRUCTION_VALIDATION)
    read_bytes_per_s: int = setting(keys.DFS_DATANODE_EC_RECONSTRUCT_READ_BANDWIDTHPERSEC)
    """All reconstructions together; 0 is no limit."""
    write_bytes_per_s: int = setting(keys.DFS_DATANODE_EC_RECONSTRUCT_WRITE_BANDWIDTHPERSEC)


DEFAULT_RECONSTRUCTION: Final = ReconstructionSettings()


@dataclass(frozen=True, slots=True)
class DataSettings:
    """For the data process. Defaults are Hadoop's."""

    guard: Guard | None = None
    """None where everybody may do everything."""

    socket_timeout_s: float = setting(keys.DFS_CLIENT_SOCKET_TIMEOUT)
    """Silence that is allowed in an operation, and before the first one."""
    write_timeout_s: float = setting(keys.DFS_DATANODE_SOCKET_WRITE_TIMEOUT)
    keepalive_s: float = setting(keys.DFS_DATANODE_SOCKET_REUSE_KEEPALIVE)
    """How long a connection may wait for its next operation; 0 closes it after each."""
    max_connections: int = setting(keys.DFS_DATANODE_MAX_TRANSFER_THREADS)
    max_packet_bytes: int = setting(keys.DFS_DATA_TRANSFER_MAX_PACKET_SIZE)
    sync_on_close: bool = setting(keys.DFS_DATANODE_SYNCONCLOSE)
    use_hostname: bool = setting(keys.DFS_DATANODE_USE_DATANODE_HOSTNAME)
    """Whether other datanodes are reached by name (else by address)."""
    sendfile: bool = setting(keys.DFS_DATANODE_TRANSFERTO_ALLOWED)
    cache: CachePolicy = DEFAULT_POLICY
    local_socket_path: str | None = None
    """Where readers on this machine connect; `_PORT` in it is still to be replaced."""
    check_timeout_s: float = setting(keys.DFS_DATANODE_DISK_CHECK_TIMEOUT)
    """How long a volume may take to prove itself."""
    balance_bandwidth: int = setting(keys.DFS_DATANODE_BALANCE_BANDWIDTHPERSEC)
    """Bytes a second that balancing may take."""
    balance_moves: int = setting(keys.DFS_DATANODE_BALANCE_MAX_CONCURRENT_MOVES)
    """Replicas that balancing may move at a time, to here and from here."""
    disk_balancer: DiskBalancerSettings = DEFAULT_DISK_BALANCER
    block_pinning: bool = setting(keys.DFS_DATANODE_BLOCK_PINNING_ENABLED)
    """Whether clients may pin replicas to this datanode."""
    stop_timeout_s: float = setting(keys.DFS_DATANODE_XCEIVER_STOP_TIMEOUT_MILLIS)
    """How long whoever takes over a replica waits for its present writer to end."""
    restart_notice_s: float = 1.5
    """How long a client's turn is awaited to tell it of a restart."""
    restart_expiry_s: float = setting(keys.DFS_DATANODE_RESTART_REPLICA_EXPIRATION)
    """How long a replica is kept for its client over a restart."""

    reconstruction: ReconstructionSettings = DEFAULT_RECONSTRUCTION
    latency: LatencySettings = DEFAULT_LATENCY
    tracing: TracingSettings = OFF
    memory_bytes: int = 0
    """What replicas on volumes in memory and cached ones may take together."""
    cache_revocation_timeout_s: float = setting(keys.DFS_DATANODE_CACHE_REVOCATION_TIMEOUT_MS)
    """How long a replica that is uncached waits for its local readers."""
    cache_revocation_polling_s: float = setting(keys.DFS_DATANODE_CACHE_REVOCATION_POLLING_MS)
    lazy_writer_interval_s: float = setting(keys.DFS_DATANODE_LAZYWRITER_INTERVAL_SEC)
    """Between two rounds that save them to disks."""
    non_local_lazy_persist: bool = setting(keys.DFS_DATANODE_NON_LOCAL_LAZY_PERSIST)
    """Whether clients on other machines may write there."""

    @classmethod
    def of(cls, conf: Configuration) -> DataSettings:
        check_datanode_protection(conf)
        local = conf.get(keys.DFS_CLIENT_READ_SHORTCIRCUIT) or conf.get(
            keys.DFS_CLIENT_DOMAIN_SOCKET_DATA_TRAFFIC
        )
        return read(
            cls,
            conf,
            cache=CachePolicy(
                readahead_bytes=conf.get(keys.DFS_DATANODE_READAHEAD_BYTES),
                drop_behind_reads=conf.get(keys.DFS_DATANODE_DROP_CACHE_BEHIND_READS),
                drop_behind_writes=conf.get(keys.DFS_DATANODE_DROP_CACHE_BEHIND_WRITES),
                sync_behind_writes=conf.get(keys.DFS_DATANODE_SYNC_BEHIND_WRITES),
            ),
            local_socket_path=(conf.get(keys.DFS_DOMAIN_SOCKET_PATH) or None) if local else None,
            restart_notice_s=_restart_notice_ms(conf) / 1000,
            disk_balancer=_disk_balancer(conf),
            memory_bytes=_memory_bytes(conf),
            tracing=TracingSettings.of(conf),
            reconstruction=read(ReconstructionSettings, conf),
            latency=read(
                LatencySettings,
                conf,
                sampled_percent=min(
                    conf.get(keys.DFS_DATANODE_FILEIO_PROFILING_SAMPLING_PERCENTAGE), 100
                ),
            ),
        )


@dataclass(frozen=True, slots=True)
class ScanSettings:
    """For those who go over the disks. Defaults are Hadoop's."""

    period_s: float = 504 * 3600.0
    """Every replica is verified once in this; negative: none is."""
    bytes_per_second: int = setting(keys.DFS_BLOCK_SCANNER_VOLUME_BYTES_PER_SECOND)
    """Of each volume; 0 switches verification off."""
    cursor_save_s: float = setting(keys.DFS_BLOCK_SCANNER_CURSOR_SAVE_INTERVAL_MS)
    directory_interval_s: float = setting(keys.DFS_DATANODE_DIRECTORYSCAN_INTERVAL)
    """Between two comparisons of disk and memory; not above 0: there is none."""
    directory_limit_ms_per_s: int = setting(
        keys.DFS_DATANODE_DIRECTORYSCAN_THROTTLE_LIMIT_MS_PER_SEC
    )
    """For how many milliseconds of each second one works; all, if not between 1 and 999."""
    directory_threads: int = setting(keys.DFS_DATANODE_DIRECTORYSCAN_THREADS)
    """Volumes that are compared at a time."""

    @classmethod
    def of(cls, conf: Configuration) -> ScanSettings:
        default = cls()
        # As in Hadoop, 0 is the default and not off.
        return read(
            cls, conf, period_s=conf.get(keys.DFS_DATANODE_SCAN_PERIOD_HOURS) or default.period_s
        )


def choosing_policy(conf: Configuration) -> ChoosingPolicy:
    """How a volume is chosen for a new replica."""
    return ChoosingPolicy(
        by_space=conf.get(keys.DFS_DATANODE_FSDATASET_VOLUME_CHOOSING_POLICY) == AVAILABLE_SPACE,
        additional_bytes=conf.get(
            keys.DFS_DATANODE_ROUND_ROBIN_VOLUME_CHOOSING_POLICY_ADDITIONAL_AVAILABLE_SPACE
        ),
        threshold_bytes=conf.get(
            keys.DFS_DATANODE_AVAILABLE_SPACE_VOLUME_CHOOSING_POLICY_BALANCED_SPACE_THRESHOLD
        ),
        fraction=conf.get(
            keys.DFS_DATANODE_AVAILABLE_SPACE_VOLUME_CHOOSING_POLICY_BALANCED_SPACE_PREFERENCE_FRACTION
        ),
    )


def reserves(conf: Configuration) -> Callable[[str, Path], Reserve]:
    """What a volume leaves to others, by its storage type and directory. Raises
    `InvalidConfiguration` when it is called."""

    def reserve(kind: str, path: Path) -> Reserve:
        return reserve_of(
            conf.raw,
            keys.DFS_DATANODE_DU_RESERVED.name,
            keys.DFS_DATANODE_DU_RESERVED_PCT.name,
            conf.get(keys.DFS_DATANODE_DU_RESERVED_CALCULATOR),
            kind,
            str(path),
        )

    return reserve


def _memory_bytes(conf: Configuration) -> int:
    """Raises `InvalidConfiguration` where this process may not lock so much, as Hadoop does: the
    key says what an administrator granted, and RLIMIT_MEMLOCK what the system did."""
    conf.get(keys.DFS_DATANODE_RAM_DISK_REPLICA_TRACKER)
    persistent = conf.get(keys.DFS_DATANODE_PMEM_CACHE_DIRS)
    if persistent:
        raise errors.InvalidConfiguration(
            f"{keys.DFS_DATANODE_PMEM_CACHE_DIRS.name} = {','.join(persistent)}: a datanode of "
            "howdah caches in locked memory only "
            f"({keys.DFS_DATANODE_MAX_LOCKED_MEMORY.name}), not in persistent memory"
        )
    wanted = conf.get(keys.DFS_DATANODE_MAX_LOCKED_MEMORY)
    granted, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if granted != resource.RLIM_INFINITY and wanted > granted:
        raise errors.InvalidConfiguration(
            "Cannot start datanode because the configured max locked memory size "
            f"({keys.DFS_DATANODE_MAX_LOCKED_MEMORY.name}) of {wanted} bytes is more than the "
            f"datanode's available RLIMIT_MEMLOCK ulimit of {granted} bytes."
        )
    return wanted


def _disk_balancer(conf: Configuration) -> DiskBalancerSettings:
    return DiskBalancerSettings(
        enabled=conf.get(keys.DFS_DISK_BALANCER_ENABLED),
        plan_valid_s=conf.get(keys.DFS_DISK_BALANCER_PLAN_VALID_INTERVAL),
        rules=WorkRules.of(
            conf.get(keys.DFS_DISK_BALANCER_MAX_DISK_THROUGHPUTINMBPERSEC),
            conf.get(keys.DFS_DISK_BALANCER_MAX_DISK_ERRORS),
            conf.get(keys.DFS_DISK_BALANCER_BLOCK_TOLERANCE_PERCENT),
        ),
    )


def _restart_notice_ms(conf: Configuration) -> int:
    """The first of four time-outs, one for each thing that can be said out of band."""
    values = conf.get(keys.DFS_DATANODE_OOB_TIMEOUT_MS)
    if not values or not (values[0].isascii() and values[0].isdigit()):
        raise errors.InvalidConfiguration(
            f"{keys.DFS_DATANODE_OOB_TIMEOUT_MS.name} begins with no number of milliseconds: "
            f"{','.join(values)}"
        )
    return int(values[0])
