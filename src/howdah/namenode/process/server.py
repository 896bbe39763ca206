"""`howdah namenode`: the process around the core (shell).

Start: load, open a journal segment, listen, tick. Every answer waits until what
it may have seen is durable: a read must not show what a crash could take back.
Stop (SIGTERM, SIGINT): end the segment in order. A journal that fails ends the
process at once, with nothing acknowledged that is not on disk.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import random
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import uvloop

from howdah import errors, exposure, keys
from howdah.config import Configuration, namenode_address
from howdah.namenode.calls.core import Core
from howdah.namenode.calls.trash import TrashEmptier
from howdah.namenode.calls.tree import TreeCalls
from howdah.namenode.checkpoints.checkpoint import Checkpoints
from howdah.namenode.checkpoints.image_senders import Senders
from howdah.namenode.checkpoints.image_server import ImageServer
from howdah.namenode.ha.categories import CategoryGate
from howdah.namenode.ha.states import HAContext, HAState
from howdah.namenode.journal.auto_roll import AutoRoll
from howdah.namenode.journal.directories import (
    Directories,
    DirectorySet,
    directory_set,
    failed_directories,
)
from howdah.namenode.journal.edit_log import EditLog
from howdah.namenode.journal.manifest import finished_since
from howdah.namenode.process.aside import AsideFiles, read_hosts, run_aside
from howdah.namenode.process.cluster_log import ClusterLog
from howdah.namenode.process.groups import KnownGroups
from howdah.namenode.process.listening import check, endpoints
from howdah.namenode.process.loading import Loaded, load
from howdah.namenode.process.lookups import Loop
from howdah.namenode.process.racks import rack_map
from howdah.namenode.process.settings import (
    checkpoints_from,
    groups_from,
    permissions_from,
    required_directories,
    settings_from,
    transfers_from,
)
from howdah.namenode.process.status import Surroundings, namenode_status
from howdah.namenode.process.upgrading import finalize
from howdah.namenode.protocols.client import ClientProtocol
from howdah.namenode.protocols.cluster_identity import ClusterIdentity
from howdah.namenode.protocols.datanode import DatanodeProtocol
from howdah.namenode.protocols.namenode import FirstAndLast, NamenodeProtocol
from howdah.namenode.protocols.refresh import refresh_services
from howdah.namenode.rounds import Rounds
from howdah.namenode.writing.block_recovery import BlockRecovery
from howdah.namenode.writing.lease_recovery import LeaseRecovery
from howdah.rpc.server import RpcServer
from howdah.rpc.service import Registry
from howdah.storage.atomic import replace_file
from howdah.storage.edits import edits
from howdah.storage.layout import CURRENT_NAME, PREVIOUS_NAME
from howdah.web import configuration, image_transfer, jmx
from howdah.web.configuration import Property
from howdah.web.http import Request
from howdah.web.server import Exchange, HttpServer
from howdah.web.status import EditsDirectoryStatus, NamenodeStatus, respond

log = logging.getLogger(__name__)

TICK_S = 0.25
_REDUNDANCY, _LEASES, _TRASH = "redundancy work", "lease recovery", "emptying the trash"


class SystemClock:
    """The machine's clocks."""

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000


class DurableBarrier:
    """Holds answers back until the journal has caught up with the core (D5).

    What one turn of the loop commits goes to the journal at the turn's end, as one
    batch. Handed over call by call, the journal's thread syncs for nearly every
    call: with 32 callers 2.5 edits a sync, and the system call, the wake-ups and
    the fight for the interpreter cost more than the calls themselves.
    """

    def __init__(self, core: Core, soon: Callable[[Callable[[], None]], object]) -> None:
        """`soon` calls back when the loop has served all that it found ready."""
        self._core = core
        self._soon = soon
        self._will_hand_over = False
        self._waiting: deque[tuple[int, Callable[[], None]]] = deque()
        self.journal: EditLog | None = None

    def hold(self) -> bool:
        journal = self.journal
        assert journal is not None, "nothing is served before the journal is open"
        if self._core.broken is not None:
            return True  # The process ends; `when_clear` keeps nothing.
        if self._core.outbox and not self._will_hand_over:
            self._will_hand_over = True
            self._soon(self.hand_over)
        return journal.durable_txid < self._core.last_txid

    def hand_over(self) -> None:
        """Give the journal what was committed since the last time."""
        self._will_hand_over = False
        journal = self.journal
        assert journal is not None, "hold came first"
        if self._core.outbox:
            journal.append(self._core.take_outbox())
            assert journal.last_txid == self._core.last_txid, "every edit is in the journal"

    def when_clear(self, send: Callable[[], None]) -> None:
        if self._core.broken is not None:
            return  # What was computed since is never sent.
        self._waiting.append((self._core.last_txid, send))

    def durable(self, txid: int) -> None:
        """The journal has everything up to `txid`."""
        assert self.journal is not None, "only the journal says so"
        # The journal's own end may have overtaken what its thread had to say.
        self.journal.durable_txid = max(txid, self.journal.durable_txid)
        waiting = self._waiting
        try:
            while waiting and waiting[0][0] <= txid:
                waiting.popleft()[1]()
        except BaseException:
            # The loop reports it; those behind it are not to wait for the next edit.
            self._soon(lambda: self.durable(txid))
            raise


class Namenode:
    """One namenode process."""

    def __init__(self, conf: Configuration, loaded: Loaded, stranger_warning: str = "") -> None:
        """`stranger_warning` is shown on the status page."""
        self._conf = conf
        self._stranger_warning = stranger_warning
        self._loaded = loaded
        self._version = loaded.version
        self.context = HAContext()
        loop = asyncio.get_running_loop()
        aside = Loop(loop.call_soon_threadsafe, loop.call_later)
        groups = groups_from(conf)
        known_groups = KnownGroups(
            groups,
            groups.static.__contains__,
            aside,
            fresh_s=conf.get(keys.HADOOP_SECURITY_GROUPS_CACHE_SECS),
            changed=lambda user: self.core.forget_identity(user),
        )
        self.core = Core(
            loaded.namespace,
            settings_from(conf, loaded.version.block_pool_id),
            permissions_from(conf, known_groups, known_groups.forget),
            SystemClock(),
            random.SystemRandom(),
            rack_map(conf, aside),
        )
        now_ms = self.core.clock.monotonic_ms()
        self.core.retry_cache.rebuild(loaded.answered_calls, now_ms)
        self._barrier = DurableBarrier(self.core, loop.call_soon)
        self.core.hosts = read_hosts(conf)
        recovery = BlockRecovery(self.core)
        directories = self._directories = Directories(
            loaded.name_directories, loaded.edits_directories, self._failed_directories
        )
        self._edits: DirectorySet | None = None
        self._upgrade_finalized = not any((root / PREVIOUS_NAME).exists() for root in self._roots())
        self._leases = LeaseRecovery(self.core, recovery)
        self._cluster_log = ClusterLog(self.core)
        self._checkpoints = Checkpoints(
            loaded.namespace,
            self._version.namespace_id,
            directories,
            checkpoints_from(conf),
            image_txid=loaded.image_txid,
            last_txid=lambda: self.core.last_txid,
            roll=self.roll_edits,
            when_durable=self._barrier.when_clear,
        )
        self._client = ClientProtocol(
            self.core,
            self._leases,
            recovery,
            storage=self,
            images=self._checkpoints,
            aside=AsideFiles(conf, directories.edits, lambda: self._journal().durable_txid),
        )
        cluster = ClusterIdentity.of(self._version)
        datanode = DatanodeProtocol(
            self.core,
            cluster,
            recovery,
            self._client.look_at_waiting,
            self.is_upgrade_finalized,
        )
        self._rpc = RpcServer(
            Registry(
                [
                    self._client.service(),
                    datanode.service(),
                    NamenodeProtocol(self.core, cluster, self).service(),
                    *refresh_services(self.core),
                ],
                CategoryGate(self.context),
            ),
            barrier=self._barrier,
            admission=known_groups,
            max_frame_bytes=conf.get(keys.IPC_MAXIMUM_DATA_LENGTH),
            max_connections=conf.get(keys.IPC_SERVER_MAX_CONNECTIONS),
        )
        self._images = ImageServer(
            cluster.storage_text(),
            cluster.namespace_id,
            directories,
            self._checkpoints,
            lambda: self._journal().durable_txid,
            transfers_from(conf),
            Senders(conf),
        )
        self._http = HttpServer(self._answer, timeout_s=conf.get(keys.DFS_IMAGE_TRANSFER_TIMEOUT))
        self._auto_roll = AutoRoll(
            conf.get(keys.DFS_NAMENODE_EDIT_LOG_AUTOROLL_MULTIPLIER_THRESHOLD)
            * conf.get(keys.DFS_NAMENODE_CHECKPOINT_TXNS),
            round(1000 * conf.get(keys.DFS_NAMENODE_EDIT_LOG_AUTOROLL_CHECK_INTERVAL_MS)),
            now_ms,
        )
        self._segment_txid = 0
        self._stop = asyncio.Event()
        self._failure: str | None = None
        self.core.when_broken = self._fail
        self._next_redundancy_s = 0.0
        self._reaping = False
        self._emptier = emptier(self.core, conf)
        self._started_ms = self.core.clock.wall_ms()
        self._port = 0
        self._rounds = Rounds(loop.call_soon, self._barrier.hold)

    async def serve(self, ready_file: Path | None) -> int:
        """Run until told to stop; the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        self._open_journal(loop)
        self.context.enter(HAState.ACTIVE)
        try:
            await self._serve_until_stopped(ready_file)
        finally:
            if self._failure is None:
                self._close_journal()
        if self._failure is not None:
            log.critical("the namenode ends: %s", self._failure)
            return 1
        return 0

    async def _serve_until_stopped(self, ready_file: Path | None) -> None:
        await self._listen(ready_file)
        try:
            while not self._stop.is_set():
                self._tick()
                try:
                    await asyncio.wait_for(self._stop.wait(), TICK_S)
                except TimeoutError:
                    continue
        finally:
            self._http.stop()
            self._checkpoints.stop()
            await self._rpc.stop()

    def roll_edits(self) -> int:
        """Begin a new segment of the log; its first transaction."""
        self._barrier.hand_over()
        journal = self._journal()
        first_txid = journal.roll()
        self.core.last_txid = journal.last_txid
        self._segment_txid = first_txid
        return first_txid

    def _let_join_in(self) -> None:
        """A directory is whole again: it takes part from the next segment on."""
        if not self._stop.is_set():
            log.info("a new segment begins with transaction %d", self.roll_edits())

    def image_txid(self) -> int:
        """The transaction of the newest image."""
        return self._checkpoints.image_txid

    def is_upgrade_finalized(self) -> bool:
        """Whether no directory keeps what was there before an upgrade. Every block report
        asks: no directory is looked at here, as one may hang."""
        return self._upgrade_finalized

    def finalize_upgrade(self, done: Callable[[errors.HowdahError | None], None]) -> None:
        """Delete that, on a thread: it may be much."""

        def finished(outcome: bool | errors.HowdahError) -> None:
            if isinstance(outcome, errors.HowdahError):
                why = outcome.message
                done(errors.RemoteError(f"the upgrade is not finalized everywhere: {why}"))
            else:
                self._upgrade_finalized = True
                done(None)

        run_aside(lambda: finalize(self._roots()), finished)

    def _roots(self) -> list[Path]:
        used = [*self._loaded.name_directories, *self._loaded.edits_directories]
        return [current.parent for current in dict.fromkeys(used)]

    def list_finished(
        self,
        since_txid: int,
        told: Callable[[Sequence[FirstAndLast] | errors.HowdahError], None],
    ) -> None:
        """Tell the finished segments that hold `since_txid` and what follows."""

        def find() -> list[FirstAndLast]:
            found = finished_since(self._directories.edits(), since_txid)
            return [(s.first_txid, s.last_txid) for s in found if s.last_txid is not None]

        run_aside(find, told)

    def restore_failed_storage(self, restores: bool | None) -> bool:
        """Whether failed directories are tried again at the next roll; None leaves it."""
        journals = self._edits
        assert journals is not None, "nothing is served before the journal is open"
        if restores is not None:
            journals.restores = restores
        return journals.restores

    def _failed_directories(self) -> set[Path]:
        return failed_directories(self._edits) if self._edits is not None else set()

    def _journal(self) -> EditLog:
        journal = self._barrier.journal
        assert journal is not None, "nothing is served before the journal is open"
        return journal

    def _close_journal(self) -> None:
        self._barrier.hand_over()
        journal = self._journal()
        journal.close()
        log.info("stopped at transaction %d", journal.last_txid)

    def _open_journal(self, loop: asyncio.AbstractEventLoop) -> None:
        def durable(txid: int) -> None:
            loop.call_soon_threadsafe(self._barrier.durable, txid)

        def failed(why: str) -> None:
            loop.call_soon_threadsafe(self._fail, why)

        def restored() -> None:
            loop.call_soon_threadsafe(self._let_join_in)

        journals = directory_set(
            self._loaded.edits_directories,
            on_restored=restored,
            required=[root / CURRENT_NAME for root in required_directories(self._conf)],
            minimum=self._conf.get(keys.DFS_NAMENODE_EDITS_DIR_MINIMUM),
            restores=self._conf.get(keys.DFS_NAMENODE_NAME_DIR_RESTORE),
        )
        self._barrier.journal = EditLog(
            journals, self._loaded.last_txid, on_durable=durable, on_failure=failed
        )
        self._edits = journals
        self.core.last_txid = self._segment_txid = self._barrier.journal.last_txid
        if not self.core.namespace.root.owner:
            permissions = self.core.permissions
            self.core.commit(edits.SetOwnerOp("/", permissions.superuser, permissions.supergroup))
        self._barrier.hold()

    def _fail(self, why: str) -> None:
        self._failure = why
        self._stop.set()

    async def _listen(self, ready_file: Path | None) -> None:
        host, port = namenode_address(self._conf)
        rpc_bind = self._conf.get(keys.DFS_NAMENODE_RPC_BIND_HOST) or host
        backlog = self._conf.get(keys.IPC_SERVER_LISTEN_QUEUE_SIZE)
        port = await self._rpc.start(rpc_bind, port, backlog=backlog)
        self._port = port
        service = self._conf.get(keys.DFS_NAMENODE_SERVICERPC_ADDRESS)
        if service is not None:
            # Whoever connects there is served the same: the second port keeps datanodes
            # off the first one's queue of new connections.
            bind = self._conf.get(keys.DFS_NAMENODE_SERVICERPC_BIND_HOST) or service[0]
            await self._rpc.start(bind, service[1], backlog=backlog)
        http_host, http_port = self._conf.get(keys.DFS_NAMENODE_HTTP_ADDRESS)
        http_bind = self._conf.get(keys.DFS_NAMENODE_HTTP_BIND_HOST) or http_host
        http_port = await self._http.start(http_bind, http_port)
        log.info(
            "serving hdfs://%s:%d at %s:%d and http://%s:%d at %s:%d",
            *(host, port, rpc_bind, port),
            *(http_host, http_port, http_bind, http_port),
        )
        if ready_file is not None:
            ready = {
                "pid": os.getpid(),
                "role": "namenode",
                "rpc": f"{host}:{port}",
                "http": f"{http_host}:{http_port}",
            }
            replace_file(ready_file, json.dumps(ready).encode())

    def _tick(self) -> None:
        was_safe = self.core.safe_mode.on
        self.core.tick()
        if was_safe and not self.core.safe_mode.on:
            log.info("left safe mode with %d blocks reported", self.core.blocks.safe_count)
        now_s = time.monotonic()
        if now_s >= self._next_redundancy_s and not self._rounds.is_running(_REDUNDANCY):
            self._next_redundancy_s = now_s + self._conf.get(
                keys.DFS_NAMENODE_REDUNDANCY_INTERVAL_SECONDS
            )
            self._rounds.begin(_REDUNDANCY, (() for _ in self.core.redundancy_round()))
        self._client.look_at_waiting()
        if not self._rounds.is_running(_LEASES):
            self._rounds.begin(_LEASES, self._leases.round())
        for line in self._cluster_log.work():
            log.warning("%s", line)
        self._checkpoints.tick()
        if not self.core.safe_mode.on and self._auto_roll.is_due(
            self.core.last_txid - self._segment_txid, self.core.clock.monotonic_ms()
        ):
            log.info("a new segment begins with transaction %d", self.roll_edits())
        self._barrier.hold()
        if not self._rounds.is_running(_TRASH) and self._emptier.is_due():
            self._rounds.begin(_TRASH, ((said,) if said else () for said in self._emptier.round()))
        if self.core.namespace.must_reap and not self._reaping:
            self._reap()

    def _reap(self) -> None:
        """One slice of what was deleted; the next one when others had their turn."""
        self._reaping = self.core.reap()
        if self._reaping:
            asyncio.get_running_loop().call_soon(self._reap)

    def _answer(self, request: Request | None) -> bytes | Exchange:
        if request is not None and request.path == image_transfer.PATH:
            return self._images(request)
        if request is not None and request.method in ("GET", "HEAD"):
            if request.path == jmx.PATH:
                return jmx.respond_jmx(request, self.status())
            if request.path == configuration.PATH:
                return configuration.respond_conf(request, configured(self._conf))
        return respond(request, self.status())

    def status(self) -> NamenodeStatus:
        journal = self._barrier.journal
        age_s = self._checkpoints.image_age_s
        host, port = namenode_address(self._conf)
        return namenode_status(
            self.core,
            Surroundings(
                cluster_id=self._version.cluster_id,
                block_pool_id=self._version.block_pool_id,
                host_and_port=f"{host}:{self._port or port}",
                started_ms=self._started_ms,
                durable_txid=journal.durable_txid if journal else 0,
                image_txid=self._checkpoints.image_txid,
                image_ms=0 if age_s is None else self.core.clock.wall_ms() - round(age_s * 1000),
                upgrade_finalized=self.is_upgrade_finalized(),
                edits_directories=tuple(
                    EditsDirectoryStatus(found.journal.name, found.required, found.failure or "")
                    for found in (self._edits.states() if self._edits else ())
                ),
                warnings=(self._stranger_warning,) if self._stranger_warning else (),
            ),
        )


def configured(conf: Configuration) -> Iterator[Property]:
    """Every key with a value: those that are set, and the defaults of those that are known."""
    for name in keys.KNOWN.keys() | dict(conf.items()).keys():
        value = conf.raw(name)
        if value is not None:
            yield Property(name, value, conf.source(name))


def run(conf: Configuration, ready_file: Path | None = None) -> int:
    """Serve until SIGTERM; the exit code. What hinders the start is logged and gives 1."""
    name_directories = conf.get(keys.DFS_NAMENODE_NAME_DIR)
    edits_directories = conf.get(keys.DFS_NAMENODE_EDITS_DIR)
    gc.disable()  # Nothing that is loaded is rubbish.
    try:
        addresses = [check(endpoint) for endpoint in endpoints(conf)]
        loaded = load(name_directories, edits_directories)
    except (errors.HowdahError, OSError) as error:
        log.critical("the namenode cannot start: %s", error)
        return 1
    gc.freeze()
    gc.enable()
    stranger_warning = exposure.warning("namenode", addresses)
    if stranger_warning:
        log.warning("%s", stranger_warning)
    log.info(
        "loaded %d files and directories and %d blocks up to transaction %d",
        len(loaded.namespace.inodes),
        len(loaded.namespace.blocks),
        loaded.last_txid,
    )
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_serve(conf, loaded, ready_file, stranger_warning))
    except (errors.HowdahError, OSError) as error:
        log.critical("the namenode cannot go on: %s", error)
        return 1
    finally:
        for lock in loaded.locks:
            lock.release()


def emptier(core: Core, conf: Configuration) -> TrashEmptier:
    return TrashEmptier(
        core,
        TreeCalls(core),
        interval_ms=round(conf.get(keys.FS_TRASH_INTERVAL) * 1000),
        checkpoint_interval_ms=round(conf.get(keys.FS_TRASH_CHECKPOINT_INTERVAL) * 1000),
    )


async def _serve(
    conf: Configuration, loaded: Loaded, ready_file: Path | None, stranger_warning: str
) -> int:
    return await Namenode(conf, loaded, stranger_warning).serve(ready_file)
