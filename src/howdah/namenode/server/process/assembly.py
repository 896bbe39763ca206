"""Parts of a namenode's process, each made from the configuration and the parts below it (shell).

`howdah.namenode.server.process.server` puts them together.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from howdah.config import Configuration, keys, namenode_address
from howdah.namenode.journal.checkpoints.checkpoint import Checkpoints
from howdah.namenode.journal.directories import Directories, Witnesses, failed_directories
from howdah.namenode.server.ha.active import ActiveParts
from howdah.namenode.server.ha.log_writer import LogWriter
from howdah.namenode.server.ha.transitions import boottime_ms
from howdah.namenode.server.nameservice.high_availability import (
    HighAvailability,
    ha_settings,
    serving_process,
)
from howdah.namenode.server.process.admin_tasks import (
    BackgroundFiles,
    read_hosts,
    reconfiguration,
)
from howdah.namenode.server.process.impersonation import ProtocolRules, ProxyUserRules
from howdah.namenode.server.process.loading import Loaded
from howdah.namenode.server.process.name_directories import EditsDirectories, NameDirectories
from howdah.namenode.server.process.racks import rack_map
from howdah.namenode.server.process.settings import (
    checkpoints_from,
    permissions_from,
    settings_from,
)
from howdah.namenode.service.block_log import ClusterLog
from howdah.namenode.service.calls.namespace_changes import TreeCalls
from howdah.namenode.service.calls.settings import Clock
from howdah.namenode.service.calls.tokens import TokenCalls
from howdah.namenode.service.calls.trash import TrashEmptier
from howdah.namenode.service.ha.categories import CategoryGate
from howdah.namenode.service.ha.durability_barrier import DurableBarrier
from howdah.namenode.service.ha.observer_reads import ObserverReads
from howdah.namenode.service.ha.stall_detection import LeaseWatch
from howdah.namenode.service.ha.states import HAContext
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols.client import ClientProtocol
from howdah.namenode.service.protocols.cluster_identity import ClusterIdentity
from howdah.namenode.service.protocols.datanodes.protocol import DatanodeProtocol
from howdah.namenode.service.protocols.ha_service import HAService
from howdah.namenode.service.protocols.namenode import NamenodeProtocol
from howdah.namenode.service.protocols.refresh import refresh_services
from howdah.namenode.service.writing.block_recovery import BlockRecovery
from howdah.namenode.service.writing.lease_recovery import LeaseRecovery
from howdah.namenode.service.writing.lost_lazy_files import LazyPersistScrubber
from howdah.namenode.state.edit_log.auto_roll import AutoRoll
from howdah.protocol.rpc.service import Observer, Registry
from howdah.rpc.proofs import EvaluatedBeside
from howdah.rpc.server import RpcServer
from howdah.runtime import background_threads
from howdah.runtime.process_identity import this_process
from howdah.runtime.users.async_groups import Loop
from howdah.runtime.users.groups import KnownGroups, groups_from
from howdah.security.user_names import user_names
from howdah.storage.image_files import WrittenImage
from howdah.storage.layout import StorageDirectory
from howdah.storage.retention import Retention

LEASES_OF_PATIENCE = 5
"""For so many lengths of a lease answers wait for one. Each call to a slow log may take two,
and answers leave nevertheless."""


@dataclass(frozen=True, slots=True)
class Users:
    """What is known of those who call."""

    outside: Loop
    groups: KnownGroups
    impersonation: ProxyUserRules
    protocols: ProtocolRules


def make_users(
    conf: Configuration, loop: asyncio.AbstractEventLoop, changed: Callable[[str], None]
) -> Users:
    """`changed` is called with a user whose groups are others now."""
    outside = Loop(loop.call_soon_threadsafe, loop.call_later)
    groups = groups_from(conf)
    known_groups = KnownGroups(
        groups,
        groups.static.__contains__,
        outside,
        fresh_s=conf.get(keys.HADOOP_SECURITY_GROUPS_CACHE_SECS),
        changed=changed,
    )
    return Users(
        outside,
        known_groups,
        ProxyUserRules(conf, known_groups, outside),
        ProtocolRules(conf, known_groups, outside),
    )


def make_namesystem(
    conf: Configuration, loaded: Loaded, users: Users, clock: Clock, superuser: str
) -> Namesystem:
    """The state of a namenode that has loaded, and has no role yet."""
    namesystem = Namesystem(
        loaded.namespace,
        replace(settings_from(conf, loaded.version.block_pool_id), host=namenode_address(conf)[0]),
        permissions_from(conf, users.groups, users.groups.forget, superuser),
        clock,
        random.Random(),  # seeded by the system; of the system each throw is a call
        rack_map(conf, users.outside),
    )
    namesystem.retry_cache.rebuild(loaded.answered_calls, clock.monotonic_ms())
    namesystem.datanode_manager.hosts = read_hosts(conf, at_start=True)
    namesystem.last_txid = loaded.last_txid
    namesystem.role.writable = False
    return namesystem


def _lease_ms(conf: Configuration) -> int:
    return max(1, round(conf.get(keys.HOWDAH_HA_LEASE_MS) * 1000))


def lease_watch(conf: Configuration) -> LeaseWatch:
    """For a namenode that shares its log."""
    lease_ms = _lease_ms(conf)
    # The whole time counts from the last confirmation on, and a lease of it is over then.
    write_ms = round(conf.get(keys.DFS_QJOURNAL_WRITE_TXNS_TIMEOUT_MS) * 1000)
    return LeaseWatch(
        lease_ms=lease_ms,
        patience_ms=LEASES_OF_PATIENCE * lease_ms,
        limit_ms=max(lease_ms, write_ms - lease_ms),
    )


def durable_barrier(
    conf: Configuration, namesystem: Namesystem, loop: asyncio.AbstractEventLoop
) -> DurableBarrier:
    """Between the namesystem, its log and the answers."""
    return DurableBarrier(
        namesystem,
        loop.call_soon,
        later=loop.call_later,
        boottime_ms=boottime_ms,
        patience_ms=LEASES_OF_PATIENCE * _lease_ms(conf),
        early_delay_s=conf.get(keys.HOWDAH_NAMENODE_VISIBLE_LENGTH_DELAY),
    )


@dataclass(frozen=True, slots=True)
class OwnLog:
    """The log of this namenode's own directories."""

    edits: EditsDirectories
    witnesses: Witnesses
    writer: LogWriter


def make_log(
    conf: Configuration,
    loaded: Loaded,
    namesystem: Namesystem,
    barrier: DurableBarrier,
    loop: asyncio.AbstractEventLoop,
    fail: Callable[[str], None],
) -> OwnLog:
    """`fail` ends the namenode, when its log is lost."""
    edits = EditsDirectories(conf, loaded.edits_directories)
    witnesses = Witnesses(
        StorageDirectory(current.parent)
        for current in loaded.name_directories
        if current not in loaded.edits_directories
    )
    writer = LogWriter(
        namesystem,
        barrier,
        edits.journal,
        background_threads.poster(loop),
        fail,
        background_threads.watcher(loop),
        on_segment=witnesses.note,
    )
    return OwnLog(edits, witnesses, writer)


@dataclass(frozen=True, slots=True)
class Storage:
    """Where the namespace is kept: directories, and what is done with them."""

    directories: Directories
    checkpoints: Checkpoints
    names: NameDirectories


def make_storage(
    conf: Configuration,
    loaded: Loaded,
    namesystem: Namesystem,
    barrier: DurableBarrier,
    log: OwnLog,
    ha: HighAvailability | None,
) -> Storage:
    """Images of the namespace, beside the log."""
    writer = log.writer

    def failed() -> set[Path]:
        return failed_directories(writer.journal) if writer.journal is not None else set()

    def end_segment() -> int:
        # A standby does not write the log, and has applied nothing that is not durable.
        return writer.roll() if writer.is_open else namesystem.last_txid + 1

    def image_made(written: WrittenImage) -> None:
        if ha is not None:
            ha.image_made(loaded.version, written)

    def purge_shared(kept_txid: int, retention: Retention) -> None:
        if ha is not None:
            ha.purge(kept_txid, retention)

    directories = Directories(loaded.name_directories, loaded.edits_directories, failed)
    checkpoints = Checkpoints(
        loaded.namespace,
        loaded.version.namespace_id,
        directories,
        checkpoints_from(conf),
        image_txid=loaded.image_txid,
        last_txid=lambda: namesystem.last_txid,
        roll=end_segment,
        when_durable=barrier.when_durable,
        made=image_made,
        purge_shared=purge_shared,
        at_segment_end=lambda: writer.is_open or namesystem.at_segment_end,
    )
    if ha is not None:
        ha.tailing.segment_ended = checkpoints.make_rollback_image
    used = dict.fromkeys([*loaded.name_directories, *loaded.edits_directories])
    names = NameDirectories(
        [current.parent for current in used],
        directories,
        writer,
        checkpoints,
        log.edits,
        shared=loaded.shared is not None,
    )
    return Storage(directories, checkpoints, names)


@dataclass(frozen=True, slots=True)
class Protocols:
    """What answers calls, a protocol each."""

    client: ClientProtocol
    datanode: DatanodeProtocol
    namenode: NamenodeProtocol
    ha: HAService


@dataclass(frozen=True, slots=True)
class Recoveries:
    """How what a writer left open is ended."""

    blocks: BlockRecovery
    leases: LeaseRecovery

    @classmethod
    def of(cls, namesystem: Namesystem) -> Recoveries:
        blocks = BlockRecovery(namesystem)
        return cls(blocks, LeaseRecovery(namesystem, blocks))


def make_protocols(
    conf: Configuration,
    loaded: Loaded,
    namesystem: Namesystem,
    context: HAContext,
    users: Users,
    recoveries: Recoveries,
    storage: Storage,
    log_writer: LogWriter,
    ha: HighAvailability | None,
    health_problem: Callable[[], str],
    tokens: TokenCalls | None,
) -> Protocols:
    """`health_problem` says why this namenode should not be the active one; empty if nothing
    speaks against it."""

    def state() -> str:
        return context.state.name

    def is_upgrade_finalized() -> bool:
        return (
            context.is_active
            and storage.names.is_upgrade_finalized()
            and not loaded.namespace.rolling_upgrade.is_under_way
        )

    cluster = ClusterIdentity.of(loaded.version)
    client = ClientProtocol(
        namesystem,
        recoveries.leases,
        recoveries.blocks,
        storage=storage.names,
        images=storage.checkpoints,
        files=BackgroundFiles(
            conf,
            storage.directories.edits,
            lambda: log_writer.durable_txid,
            None if loaded.shared is None else loaded.shared.source(),
            lambda fresh: rack_map(fresh, users.outside),
        ),
        ha_state=state,
        tokens=tokens,
    )
    datanode = DatanodeProtocol(
        namesystem,
        cluster,
        recoveries.blocks,
        client.look_at_waiting,
        is_upgrade_finalized,
        ha_state=state,
    )
    return Protocols(
        client,
        datanode,
        NamenodeProtocol(namesystem, cluster, storage.names, random.Random()),
        HAService(
            namesystem,
            state,
            health_problem,
            ha,
            ha_settings(conf),
            partial(serving_process, log_writer, this_process()),
        ),
    )


def make_registry(
    conf: Configuration,
    namesystem: Namesystem,
    users: Users,
    protocols: Protocols,
    context: HAContext,
    observer: Observer | None,
) -> Registry:
    """All protocols of a namenode, behind the gate of its role."""
    return Registry(
        [
            protocols.client.service(),
            protocols.datanode.service(),
            protocols.namenode.service(),
            protocols.ha.service(),
            reconfiguration(namesystem, conf).service(),
            *refresh_services(
                namesystem,
                users.groups.once_known,
                users.impersonation.read_again,
                users.protocols.read_again,
            ),
        ],
        CategoryGate(
            context,
            checks_get_blocks=conf.get(keys.DFS_NAMENODE_GET_BLOCKS_CHECK_OPERATION),
        ),
        observer,
        is_open=lambda: context.is_open,
    )


def make_rpc_server(
    conf: Configuration,
    registry: Registry,
    barrier: DurableBarrier,
    users: Users,
    alignment: ObserverReads | None,
    proofs: EvaluatedBeside | None,
) -> RpcServer:
    """`alignment` is None where no log is shared, and `proofs` where everybody is believed."""
    ip_proxy_users = conf.get(keys.DFS_NAMENODE_IP_PROXY_USERS)
    server = RpcServer(
        registry,
        barrier=barrier,
        admission=users.groups,
        alignment=alignment,
        impersonation=users.impersonation,
        authentication=proofs,
        authorization=users.protocols.authorization,
        user_of=user_names(conf),
        ip_proxy_users=frozenset(ip_proxy_users),
        max_frame_bytes=conf.get(keys.IPC_MAXIMUM_DATA_LENGTH),
        max_connections=conf.get(keys.IPC_SERVER_MAX_CONNECTIONS),
    )
    users.protocols.on_change.append(lambda policy: server.judge_again())
    return server


def active_parts(
    conf: Configuration,
    namesystem: Namesystem,
    leases: LeaseRecovery,
    client: ClientProtocol,
    checkpoints: Checkpoints,
    tokens: TokenCalls | None,
) -> ActiveParts:
    """What the duties of an active namenode work with, as it is configured."""
    return ActiveParts(
        leases,
        client,
        checkpoints,
        ClusterLog(namesystem),
        AutoRoll(
            conf.get(keys.DFS_NAMENODE_EDIT_LOG_AUTOROLL_MULTIPLIER_THRESHOLD)
            * conf.get(keys.DFS_NAMENODE_CHECKPOINT_TXNS),
            round(1000 * conf.get(keys.DFS_NAMENODE_EDIT_LOG_AUTOROLL_CHECK_INTERVAL_MS)),
            namesystem.clock.monotonic_ms(),
        ),
        TrashEmptier(
            namesystem,
            TreeCalls(namesystem),
            interval_ms=round(conf.get(keys.FS_TRASH_INTERVAL) * 1000),
            checkpoint_interval_ms=round(conf.get(keys.FS_TRASH_CHECKPOINT_INTERVAL) * 1000),
        ),
        LazyPersistScrubber(
            namesystem,
            TreeCalls(namesystem),
            interval_ms=1000 * conf.get(keys.DFS_NAMENODE_LAZYPERSIST_FILE_SCRUB_INTERVAL_SEC),
        ),
        client.reencryptor,
        round(1000 * conf.get(keys.DFS_NAMENODE_REDUNDANCY_INTERVAL_SECONDS)),
        tokens,
    )
