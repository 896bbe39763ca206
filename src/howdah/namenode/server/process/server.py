"""`howdah namenode`: the process around `Namesystem` (shell). Hadoop: NameNode, NameNodeRpcServer.

Start: load, become active, listen, tick. Every answer waits until what it may have seen is
durable: a read must not show what a crash could take back. Stop (SIGTERM, SIGINT): end the
role in order. A log that fails ends the process at once, with nothing acknowledged that is
not on disk.

The parts are made in `assembly`, put together here, and belong to others: what is served in
which role to `ha`, answers over HTTP to `pages`, directories to `name_directories`.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path

import uvloop

from howdah import errors
from howdah.config import Configuration, keys, namenode_address
from howdah.namenode.journal.checkpoints.image_senders import Senders
from howdah.namenode.journal.checkpoints.image_server import ImageServer
from howdah.namenode.server.audit.factory import audit_log
from howdah.namenode.server.ha.active import Active
from howdah.namenode.server.ha.transitions import boottime_ms
from howdah.namenode.server.lifeline import LifelineServer
from howdah.namenode.server.monitoring.metrics_service import MetricsService
from howdah.namenode.server.monitoring.startup_http import Starting
from howdah.namenode.server.nameservice.bound_addresses import check, endpoints
from howdah.namenode.server.nameservice.high_availability import (
    HighAvailability,
)
from howdah.namenode.server.nameservice.identity import place_of, shared_log_of
from howdah.namenode.server.nameservice.peers import Peers
from howdah.namenode.server.process.assembly import (
    Recoveries,
    Storage,
    Users,
    active_parts,
    durable_barrier,
    lease_watch,
    make_log,
    make_namesystem,
    make_protocols,
    make_registry,
    make_rpc_server,
    make_storage,
    make_users,
)
from howdah.namenode.server.process.fsck_pages import FsckPages
from howdah.namenode.server.process.loading import Loaded, load
from howdah.namenode.server.process.pages import Pages
from howdah.namenode.server.process.resources import Resources
from howdah.namenode.server.process.settings import (
    transfers_from,
)
from howdah.namenode.server.security import (
    Security,
    make_block_tokens,
    make_proofs,
    make_tokens,
    make_web_proofs,
    security_of,
)
from howdah.namenode.server.webhdfs.pages import webhdfs_of
from howdah.namenode.server.zone_keys import zone_keys_of
from howdah.namenode.service.audit.line_format import Shown
from howdah.namenode.service.fsck.report import Fsck
from howdah.namenode.service.ha.durability_barrier import DurableBarrier
from howdah.namenode.service.ha.observer_reads import ObserverReads
from howdah.namenode.service.ha.periodic_tasks import PeriodicTask, PeriodicTasks
from howdah.namenode.service.ha.roles import Role, Roles
from howdah.namenode.service.ha.stall_detection import LeaseChange, StalledLog
from howdah.namenode.service.ha.standby import Standby
from howdah.namenode.service.ha.states import HAContext, HAState
from howdah.namenode.service.incremental_tasks import Round
from howdah.namenode.service.monitoring.activity_bean import Counted
from howdah.namenode.service.monitoring.startup import Phase
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols.cluster_identity import ClusterIdentity
from howdah.protocol.client_methods import Category
from howdah.runtime import background_threads, serve
from howdah.runtime.users import service_authorization
from howdah.security.strangers import keep_reminding
from howdah.security.user_names import user_names
from howdah.web.monitoring.health import HEALTH_PATH
from howdah.web.server import on_loop

# The clocks of a namenode.


class SystemClock:
    """The machine's clocks."""

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000


log = logging.getLogger(__name__)

TICK_S = 0.25
WITNESSES_S = 1.0
"""So long a stop waits for directories of images to learn how far the log has reached."""
SWITCH_S = 0.0005
"""So long a thread that makes a page keeps the loop from its turn. Beside one that makes JSON, on
a busy machine, a turn was 9.7 ms late with Python's 5 ms, and 3.3 ms with this."""
YOUNG_ONLY = (700, 10, 1 << 30)
"""Never all objects: with a million missing blocks that stops all for 85 ms of a processor."""


def audited_inode(namesystem: Namesystem, path: str) -> Shown | None:
    """Return what the audit log shows of the inode at a path."""
    try:
        inode = namesystem.resolver.resolve(path).inode
    except errors.HowdahError:
        return None  # gone by its number, or no path at all
    return None if inode is None else Shown(inode.owner, inode.group, inode.mode)


class Namenode:
    """One namenode process: its parts, put together."""

    def __init__(
        self,
        conf: Configuration,
        loaded: Loaded,
        stranger_warning: str = "",
        peers: Peers | None = None,
        starting: Starting | None = None,
        security: Security | None = None,
    ) -> None:
        """`conf` has the keys of this namenode plain. `stranger_warning` is shown on the
        status page. `peers` are the other namenodes of a shared log. `starting` has the web
        port; without it that is opened when calls are taken. `security` is that of `conf` if it
        is not given."""
        self._security = security = security or security_of(conf)
        self.starting = starting = starting or Starting(conf, security.web)
        self._conf = conf
        self._loop = loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self._failure: str | None = None
        self._lifeline: LifelineServer | None = None
        self._on_loop = on_loop(background_threads.poster(loop))
        clock = SystemClock()
        self.context = HAContext(clock.wall_ms)
        users = make_users(conf, loop, lambda user: self.namesystem.identities.forget(user))
        self._protocol_rules = users.protocols
        self.namesystem = namesystem = make_namesystem(
            conf, loaded, users, clock, security.superuser
        )
        namesystem.when_broken = self._fail
        barrier = durable_barrier(conf, namesystem, loop)

        # The log, images and directories.
        self._stalled = StalledLog()
        self._lease = lease_watch(conf)
        self.resources = Resources.of(conf, clock.monotonic_ms)
        log = make_log(conf, loaded, namesystem, barrier, loop, self._fail)
        self.log_writer, self._witnesses = log.writer, log.witnesses
        self._observer_reads = ObserverReads(
            self.context, lambda: namesystem.last_txid, clock.monotonic_ms
        )
        namesystem.on_role.append(self._observer_reads.role_changed)
        peers = peers or Peers({})
        namesystem.block_tokens = make_block_tokens(conf, namesystem, peers.names)
        namesystem.zone_keys = zone_keys_of(
            conf, namesystem, security.caller or security.superuser, background_threads.poster(loop)
        )
        self.ha = self._high_availability(loaded, peers)
        storage = make_storage(conf, loaded, namesystem, barrier, log, self.ha)
        self.checkpoints = storage.checkpoints

        # What is served.
        recoveries = Recoveries.of(namesystem)
        tokens = make_tokens(conf, namesystem, security)
        self._proofs = make_proofs(tokens, self.context, security)
        self._web_proofs = make_web_proofs(tokens, self.context, security, self._on_loop)
        protocols = make_protocols(
            conf,
            loaded,
            namesystem,
            self.context,
            users,
            recoveries,
            storage,
            self.log_writer,
            self.ha,
            self._health_problem,
            tokens,
        )
        self.client, self.datanode = protocols.client, protocols.datanode
        self._audit = audit_log(
            conf, self.client.PROTOCOL, clock.wall_ms, lambda path: audited_inode(namesystem, path)
        )
        self.registry = make_registry(conf, namesystem, users, protocols, self.context, self._audit)
        alignment = None if self.ha is None else self._observer_reads
        self._rpc = make_rpc_server(conf, self.registry, barrier, users, alignment, self._proofs)
        self._watch = MetricsService(
            conf,
            namesystem,
            self.context,
            self.log_writer,
            self._health_problem,
            starting.progress,
            self._counted,
        )
        self._watch.serve(self._rpc)
        senders = Senders(conf, *peers.confs)
        self._pages = self._make_pages(
            loaded, users, barrier, storage, senders, lambda: self._warnings(stranger_warning)
        )

        # What happens by itself: in every role, and in each.
        self.duties = PeriodicTasks(
            [
                PeriodicTask("heartbeat check", self._check_datanodes),
                PeriodicTask("deletion", self._reap),
                PeriodicTask("decommission and maintenance", self._membership),
            ],
            loop.call_soon,
            clock.monotonic_ms,
        )
        parts = active_parts(
            conf, namesystem, recoveries.leases, self.client, self.checkpoints, tokens
        )
        self.active = Active(
            namesystem, self.log_writer, parts, soon=loop.call_soon, later=loop.call_later
        )
        standbys: list[Role] = [Standby(s, namesystem) for s in (HAState.STANDBY, HAState.OBSERVER)]
        if self.ha is not None:
            standbys = self.ha.standbys(self.checkpoints)
        self.roles = Roles(self.context, [self.active, *standbys])
        if self.ha is not None:
            self.ha.changes(self.roles)

    def _make_pages(
        self,
        loaded: Loaded,
        users: Users,
        barrier: DurableBarrier,
        storage: Storage,
        senders: Senders,
        warnings: Callable[[], tuple[str, ...]],
    ) -> Pages:
        """All that is answered over HTTP."""
        conf, namesystem, loop = self._conf, self.namesystem, self._loop
        cluster = ClusterIdentity.of(loaded.version)
        return Pages(
            conf,
            namesystem,
            loaded.version,
            self.context,
            self.log_writer,
            self.checkpoints,
            ImageServer(
                cluster.storage_text(),
                cluster.namespace_id,
                storage.directories,
                self.checkpoints,
                lambda: self.log_writer.durable_txid,
                transfers_from(conf),
                senders,
                lambda: self.context.state is HAState.STANDBY,
                background_threads.poster(loop),
            ),
            FsckPages(
                Fsck(namesystem, lambda: self.context.check(Category.READ)),
                loop.call_soon,
                barrier.when_durable,
                users.groups.once_known,
                users.impersonation,
                None if self._audit is None else self._audit.fsck_ended,
                user_names(conf),
            ),
            storage.names.is_upgrade_finalized,
            warnings,
            lambda: self._lease.trouble,
            self._watch,
            webhdfs_of(
                conf,
                namesystem,
                self.registry,
                users.groups,
                barrier,
                background_threads.poster(loop),
                loop.call_soon,
                self._on_loop,
                users.impersonation,
                port=lambda: self._pages.port,
                proofs=self._web_proofs,
            ),
            loop,
            self._on_loop,
            self._security.caller,
            reencryptor=self.client.reencryptor,
        )

    async def serve(self, ready_file: Path | None) -> int:
        """Run until told to stop; the exit code."""
        loop = self._loop
        for number in serve.SIGNALS:
            loop.add_signal_handler(number, self._stop.set)
        loop.set_exception_handler(background_threads.note_defect)
        if self._audit is not None:
            self._audit.start()
        self.roles.become(HAState.ACTIVE if self.ha is None else HAState.STANDBY)
        try:
            await self._serve_until_stopped(ready_file)
        finally:
            self._end_role()
            await self._rpc.stop()
            if self._proofs is not None:
                self._proofs.close()
            if self._audit is not None:
                self._audit.close()
            await asyncio.to_thread(self._witnesses.wait, WITNESSES_S)
        if self._failure is not None:
            log.critical("the namenode ends: %s", self._failure)
            return 1
        return 0

    async def _serve_until_stopped(self, ready_file: Path | None) -> None:
        await self._listen(ready_file)
        try:
            while not self._stop.is_set():
                self.tick()
                try:
                    await asyncio.wait_for(self._stop.wait(), TICK_S)
                except TimeoutError:
                    continue
        finally:
            self.starting.http.stop()
            if self._lifeline is not None:
                self._lifeline.stop()

    def tick(self) -> None:
        """What is due by itself."""
        self._watch.tick()
        self.duties.tick()
        self.roles.tick()
        self._observer_reads.tick()
        self.resources.tick()
        self._watch_log()
        self.namesystem.note_room(self.resources.trouble)
        if not self.namesystem.safe_mode.on:
            self.starting.progress.end(Phase.SAFE_MODE)
        self._watch_lease()

    def _watch_log(self) -> None:
        namesystem, writer = self.namesystem, self.log_writer
        if not writer.is_open:
            self._stalled.reset()
        elif self._stalled.check(
            namesystem.last_txid, writer.durable_txid, namesystem.clock.monotonic_ms()
        ):
            log.warning("the edit log stalls: %s", self._stalled.trouble)

    def _watch_lease(self) -> None:
        shared = self.log_writer.shared
        if shared is not None and shared.lost is not None:
            self._fail(f"another namenode writes the shared log: {shared.lost}")
            return
        watch, until_ms, silence = self._lease, None, None
        if shared is not None and self.context.is_active:
            now_ms = boottime_ms()
            until_ms = shared.lease_until_ms()
            if until_ms is not None and now_ms >= until_ms:
                silence = shared.silence()
        else:
            now_ms = 0
        match watch.check(until_ms, silence, now_ms):
            case LeaseChange.LOST:
                log.warning("the lease on the shared log has ended: %s", watch.trouble)
            case LeaseChange.REGAINED:
                log.info("a majority of the journal nodes confirms this namenode again")
            case LeaseChange.EXPIRED:
                self._fail(watch.trouble)
            case LeaseChange.NONE:
                pass
        self.context.doubt(watch.trouble if watch.refuses else "")

    def _counted(self) -> Counted:
        """For monitoring."""
        namesystem = self.namesystem
        return Counted(
            deleted=namesystem.namespace.reaped,
            listed=self.client.entries_listed,
            timed_out_copies=namesystem.block_manager.reconstruction.timed_out,
            retries=namesystem.retry_cache.hits,
            retry_answers=namesystem.retry_cache.updates,
            retry_answers_gone=namesystem.retry_cache.cleared,
            resource_looks=self.resources.check_times,
            tail=None if self.ha is None else self.ha.tailing.figures,
        )

    def _health_problem(self) -> str:
        """Why this namenode should not be the active one; empty if nothing speaks against it."""
        if self._failure is not None:
            return self._failure
        if self._lease.refuses:
            return self._lease.trouble
        if self._stalled.trouble:
            return self._stalled.trouble
        trouble = self.resources.trouble
        return trouble and f"The NameNode has no resources available: {trouble}"

    def _warnings(self, stranger_warning: str) -> tuple[str, ...]:
        """Return for the status page what an operator should know, and no figure says."""
        ha = self.ha
        unread = "" if ha is None or self.context.is_active else ha.tailing.failure
        unread = unread and f"the shared log cannot be read: {unread}"
        warnings = (
            stranger_warning,
            unread,
            self._stalled.trouble,
            self.resources.trouble,
            self.namesystem.key_provider_trouble,
        )
        return tuple(warning for warning in warnings if warning)

    def _end_role(self) -> None:
        """In order; after a failure nothing is written any more."""
        self.duties.stop()
        if self._failure is None:
            self.roles.become(HAState.STOPPING)
            log.info("stopped at transaction %d", self.namesystem.last_txid)
        else:
            self.active.duties.stop()
            self.checkpoints.stop()

    def _fail(self, why: str) -> None:
        self._failure = why
        self._stop.set()

    def _high_availability(self, loaded: Loaded, peers: Peers) -> HighAvailability | None:
        if loaded.shared is None:
            return None
        return HighAvailability(
            self._conf,
            self.namesystem,
            loaded.shared,
            self.log_writer,
            loaded.edits_directories,
            peers=peers,
            applied=self._observer_reads.advanced,
            fail=self._fail,
        )

    # Duties of every role.

    def _check_datanodes(self) -> None:
        namesystem = self.namesystem
        was_safe = namesystem.safe_mode.on
        namesystem.tick()
        self._pages.note_progress()
        if was_safe and not namesystem.safe_mode.on:
            log.info(
                "left safe mode with %d blocks reported", namesystem.block_manager.blocks.safe_count
            )

    def _reap(self) -> Round | None:
        """What was deleted is freed in slices."""
        if not self.namesystem.namespace.must_reap:
            return None

        def slices() -> Round:
            while self.namesystem.reap():
                yield ()

        return slices()

    def _membership(self) -> Round | None:
        slices = self.namesystem.datanode_manager.membership_round()
        return None if slices is None else (() for _ in slices)

    async def _listen(self, ready_file: Path | None) -> None:
        host, port = namenode_address(self._conf)
        rpc_bind = self._conf.get(keys.DFS_NAMENODE_RPC_BIND_HOST) or host
        backlog = self._conf.get(keys.IPC_SERVER_LISTEN_QUEUE_SIZE)
        port = await self._rpc.start(rpc_bind, port, backlog=backlog)
        self._pages.port = port
        for auxiliary in self._conf.get(keys.DFS_NAMENODE_RPC_ADDRESS_AUXILIARY_PORTS):
            bound = await self._rpc.start(rpc_bind, auxiliary, backlog=backlog)
            log.info("answering clients at %s:%d, too", rpc_bind, bound)
        service = self._conf.get(keys.DFS_NAMENODE_SERVICERPC_ADDRESS)
        if service is not None:
            # Whoever connects there is served the same: the second port keeps datanodes
            # off the first one's queue of new connections.
            bind = self._conf.get(keys.DFS_NAMENODE_SERVICERPC_BIND_HOST) or service[0]
            await self._rpc.start(bind, service[1], backlog=backlog)
        lifeline = self._conf.get(keys.DFS_NAMENODE_LIFELINE_RPC_ADDRESS)
        if lifeline is not None:
            bind = self._conf.get(keys.DFS_NAMENODE_LIFELINE_RPC_BIND_HOST) or lifeline[0]
            self._lifeline = LifelineServer(
                (bind, lifeline[1]),
                self.namesystem.datanode_manager.lifelines,
                self.namesystem.clock.monotonic_ms,
                backlog,
                self._security.lifeline_methods,
                service_authorization.OnThread.of(self._conf),
            )
            self._protocol_rules.on_change.append(self._lifeline.authorize_by)
            log.info("taking lifelines of datanodes at %s:%d", bind, self._lifeline.port)
        self.starting.listen()
        beside = {HEALTH_PATH: self._watch.pages.health}
        self.starting.http.serve_by(self._pages.answer, self._on_loop, beside)
        web = self.starting.web
        log.info("serving hdfs://%s:%d at %s:%d, and %s", host, port, rpc_bind, port, web.urls)
        serve.write_ready_file(ready_file, "namenode", rpc=f"{host}:{port}", **web.addresses())


def run(conf: Configuration, ready_file: Path | None = None) -> int:
    """Serve until SIGTERM; the exit code. What hinders the start is logged and gives 1."""
    sys.setswitchinterval(SWITCH_S)
    gc.disable()  # Nothing that is loaded is rubbish.
    try:
        place = place_of(conf)
        conf = place.conf
        addresses = [check(endpoint) for endpoint in endpoints(conf)]
        name_directories = conf.get(keys.DFS_NAMENODE_NAME_DIR)
        edits_directories = conf.get(keys.DFS_NAMENODE_EDITS_DIR)
        security = security_of(conf)
        starting = Starting(conf, security.web)
        starting.listen()
        shared_log, progress = shared_log_of(place, lambda: security.caller), starting.progress
        loaded = load(name_directories, edits_directories, shared_log=shared_log, progress=progress)
    except (errors.HowdahError, OSError) as error:
        log.critical("the namenode cannot start: %s", error)
        return 1

    peers = Peers(place.others, security.caller)

    async def run_namenode() -> int:
        parts = conf, loaded, stranger_warning, peers, starting, security
        return await Namenode(*parts).serve(ready_file)

    gc.freeze()
    gc.set_threshold(*YOUNG_ONLY)
    gc.enable()
    stranger_warning = ""
    if security.identity is None:
        stranger_warning = serve.warn_if_exposed("namenode", addresses)
    else:
        log.info("clients prove who they are; this namenode is %s", security.identity.principal)
        if security.takes_simple:
            stranger_warning = keep_reminding("namenode")
    log.info(
        "loaded %d files and directories and %d blocks up to transaction %d",
        len(loaded.namespace.inodes),
        len(loaded.namespace.blocks),
        loaded.last_txid,
    )
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(run_namenode())
    except (errors.HowdahError, OSError) as error:
        log.critical("the namenode cannot go on: %s", error)
        return 1
    finally:
        if loaded.shared is not None:
            loaded.shared.close()
        for lock in loaded.locks:
            lock.release()
