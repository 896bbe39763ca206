"""The data process: serves the data port and the IPC port, obeys the control process.

Forked by the control process before either has a thread, with the listening sockets, the
volumes and the scanned replicas. Ends with the control process: when the channel closes,
the control process is gone, and a data process without one would serve blocks that nobody
answers for.
"""

from __future__ import annotations

import gc
import getpass
import logging
import os
import signal
import socket
from dataclasses import dataclass, replace
from typing import NoReturn

from howdah.datanode.caching.block_cache import BlockCache
from howdah.datanode.channel import introspection
from howdah.datanode.channel.connection_passing import Dialed
from howdah.datanode.channel.frames import Link, LinkClosed
from howdah.datanode.channel.shared_counters import Gauges
from howdah.datanode.disk_balancer.worker import DiskBalancer
from howdah.datanode.latency.activity import Activity
from howdah.datanode.latency.monitor import DiskOp, OutlierReports, PeerMeter
from howdah.datanode.lazy_persist.lazy_writer import LazyWriter
from howdah.datanode.process import reconfiguration
from howdah.datanode.process.hot_swap import add_volume, connect_gauge, measure, remove_volume
from howdah.datanode.process.ipc import ClientDatanodeProtocol, service
from howdah.datanode.process.volume_workers import VolumeWorkers
from howdah.datanode.recovery import inter_datanode
from howdah.datanode.recovery.inter_datanode import InterDatanodeProtocol
from howdah.datanode.recovery.worker import RecoveryWorker
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.messages import (
    AddVolume,
    BalanceBandwidth,
    Cache,
    CheckVolumes,
    Command,
    CopiesCounted,
    Event,
    Identity,
    Invalidate,
    KeepDeleted,
    KeysTold,
    LeavePool,
    LeaveVolume,
    LogLevel,
    Message,
    NamenodesRefreshed,
    NameservicesAwaited,
    PlansTaken,
    PoolServed,
    Recheck,
    Reconcile,
    Reconfigured,
    Reconstruct,
    RecoverBlock,
    RecoverGroup,
    RemoveVolume,
    ReplicaOpened,
    ReplicaReceived,
    ServePool,
    Stop,
    Subject,
    Transfer,
)
from howdah.datanode.state.replicas.replicas import ReplicaMap
from howdah.datanode.transfer.copies import Copies
from howdah.datanode.transfer.data_server import DataServer
from howdah.datanode.transfer.reconstruction import Reconstructions
from howdah.datanode.transfer.restart import announce_restart
from howdah.datanode.volumes.volumes import Volume, VolumeSet
from howdah.protocol.rpc.server_hooks import ServiceAuthorization
from howdah.protocol.rpc.service import Registry
from howdah.protocol.sasl.auth_to_local import UserOf, simple_user
from howdah.rpc.threaded_server import MayAct, ThreadedRpcServer
from howdah.runtime.tracing import spans
from howdah.web.pages import stacks
from howdah.web.pages.logs import Log

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Inheritance:
    """What the control process has ready when it forks."""

    data_listener: socket.socket
    local_listener: socket.socket | None
    """The Unix domain socket for readers on this machine, where it is configured."""
    dialed: Dialed
    """How the control process reaches this process, to read replicas for those who ask over
    HTTP."""
    ipc_listener: socket.socket
    questions: Link
    """On which the control process asks how this process is."""
    volumes: VolumeSet
    replicas: ReplicaMap
    gauges: Gauges
    settings: DataSettings
    may_act: MayAct
    """Who may act for whom at the IPC port."""
    authorization: ServiceAuthorization | None
    """Who may speak which protocol; None where everybody may speak all."""
    user_of: UserOf = simple_user
    """The user of a name that a client gives."""


def be_data_process(start: tuple[Inheritance, Link]) -> NoReturn:
    """What a forked child begins with."""
    inheritance, link = start
    DataProcess(inheritance, link).run()


class DataProcess:
    """The life of the child process."""

    def __init__(self, inheritance: Inheritance, link: Link) -> None:
        self._link = link
        self._questions = inheritance.questions
        self._settings = inheritance.settings
        self._store = BlockStore(
            inheritance.volumes,
            inheritance.replicas,
            self._send_event,
            inheritance.settings.stop_timeout_s,
            inheritance.settings.memory_bytes,
        )
        self._store.in_memory.on_copy_bytes = self._count_copies
        self._store.in_memory.connect(
            inheritance.gauges.add_to_figure, inheritance.gauges.set_locked_bytes
        )
        self._store.activity = Activity(
            inheritance.gauges.add_to_figure, inheritance.gauges.add_to_figures
        )
        self._lazy_writer = LazyWriter(self._store, inheritance.settings.lazy_writer_interval_s)
        self._cache = BlockCache(
            self._store,
            revocation_timeout_s=inheritance.settings.cache_revocation_timeout_s,
            polling_s=inheritance.settings.cache_revocation_polling_s,
        )
        self._copies = Copies(self._store, inheritance.settings)
        self._reconstructions = Reconstructions(
            inheritance.settings, self._send_event, self._copies.count
        )
        self._server = DataServer(inheritance.data_listener, self._store, inheritance.settings)
        self._local_server: DataServer | None = None
        if inheritance.local_listener is not None:
            self._store.short_circuit.gives_files = True
            # Idle segments keep a connection each: it has a limit, and a count, of its own.
            self._local_server = DataServer(
                inheritance.local_listener,
                self._store,
                inheritance.settings,
                self._server.balancing,
            )
        # Its reads are short, and map no file: what is cut need not be copied for it.
        # Nobody but the control process gets there, which asks for whom it has proven.
        self._control_server = DataServer(
            inheritance.dialed,
            self._store,
            replace(inheritance.settings, guard=None),
            self._server.balancing,
        )
        self._disk_balancer = DiskBalancer(
            self._store,
            inheritance.settings.disk_balancer,
            lambda: self._server.balancing.uuid,
        )
        guard = self._guard = inheritance.settings.guard
        self._protocol = ClientDatanodeProtocol(
            self._store,
            self._send_event,
            getpass.getuser() if guard is None else guard.user,
            balance_bandwidth=lambda: self._server.balancing.bytes_per_s,
            disk_balancer=self._disk_balancer,
            guard=guard,
        )
        self._gauges = inheritance.gauges
        self._recoveries = RecoveryWorker(self._store, inheritance.settings, self._send_event)
        services = [
            service(self._protocol),
            reconfiguration.service(self._protocol),
            inter_datanode.service(InterDatanodeProtocol(self._store)),
        ]
        self._ipc = ThreadedRpcServer(
            inheritance.ipc_listener,
            Registry(services),
            may_act=inheritance.may_act,
            methods=None if guard is None else guard.rpc_methods,
            authorization=inheritance.authorization,
            user_of=inheritance.user_of,
        )
        self._workers = VolumeWorkers(self._store, inheritance.settings.check_timeout_s)
        self._store.trouble.on_leave.append(self._workers.volume_left)
        self._store.volumes.on_hang = lambda: self._begin(CheckVolumes())
        self._connect_gauges(inheritance.gauges)
        latency = inheritance.settings.latency
        if latency.measures_peers:
            self._store.peers = PeerMeter()
        self._outliers = OutlierReports(
            latency, self._store.peers, self._disk_means, self._send_event
        )
        for volume in self._store.volumes.all:
            measure(volume, latency.sampled_percent, inheritance.gauges)

    def _disk_means(self) -> dict[tuple[str, str], dict[DiskOp, float]]:
        return {
            (volume.storage_type.name, volume.path): volume.meter.take_means()
            for volume in self._store.volumes.working()
            if volume.meter is not None
        }

    def _count_copies(self, pool_id: str, volume: Volume, change_bytes: int) -> None:
        self._send_event(CopiesCounted(pool_id, volume.storage_id, change_bytes))

    def _connect_gauges(self, gauges: Gauges) -> None:
        self._server.on_count = gauges.set_connections
        self._copies.on_count = gauges.set_copies
        for volume in self._store.volumes.all:
            connect_gauge(volume, gauges)

    def run(self) -> NoReturn:
        """Until the control process says so, or is gone."""
        # The control process decides about signals that the terminal sends to both.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        # In this process and not before the fork: it has a thread that sends.
        spans.provide(self._settings.tracing, "howdah-datanode", begins=False)
        last_lines = Log()
        introspection.serve(
            self._questions,
            lambda subject: stacks.dump() if subject is Subject.STACKS else last_lines.tail()[0],
        )
        gc.freeze()  # what was inherited stays: no need to visit it, nor to unshare its pages
        self._workers.start()
        self._server.start()
        if self._local_server is not None:
            self._local_server.start()
        self._control_server.start()
        self._ipc.start()
        self._outliers.start()
        self._lazy_writer.start()
        try:
            while True:
                for message in self._link.receive():
                    self._try_to_obey(message)
        except LinkClosed:
            self._orphaned()

    def _try_to_obey(self, message: Message) -> None:
        try:
            self._obey(message)
        except LinkClosed:
            raise
        except Exception:
            # This is the only thread that obeys. A system that has no thread left for one order
            # is no reason to serve nothing any more, nor is one order's defect.
            log.exception("the control process's %s is not carried out", type(message).__name__)

    def _obey(self, message: Message) -> None:
        command: Command | Event = message
        match command:
            case ServePool(pool_id):
                self._store.serve_pool(pool_id)
                self._send_event(PoolServed(pool_id))
            case LeavePool(pool_id):
                self._store.leave_pool(pool_id)
                self._cache.leave_pool(pool_id)
                if self._guard is not None:
                    self._guard.forget_pool(pool_id)
            case KeysTold(pool_id, keys):
                if self._guard is not None:
                    self._guard.update_keys(pool_id, keys)
            case NameservicesAwaited(names):
                self._protocol.awaited = names
            case NamenodesRefreshed(problem, number):
                self._protocol.refresh.ended(problem, number)
            case Identity(pool_id, node):
                self._copies.sources[pool_id] = node
                self._recoveries.uuid = self._server.balancing.uuid = node.uuid
            case RecoverBlock() | RecoverGroup() | Transfer() | Reconstruct() | CheckVolumes():
                self._begin(command)
            case Invalidate(blocks):
                self._workers.invalidate(blocks)
            case Cache(pool_id, block_ids, is_over):
                (self._cache.uncache if is_over else self._cache.cache)(pool_id, block_ids)
            case KeepDeleted(pool_id, keeps):
                self._store.keep_deleted(pool_id, keeps=keeps)
            case Recheck():
                self._workers.verify_again(command)
            case Reconcile():
                self._workers.reconcile(command)
            case AddVolume():
                volume = add_volume(self._store, self._workers, self._gauges, command)
                measure(volume, self._settings.latency.sampled_percent, self._gauges)
            case RemoveVolume(storage_id, number):
                remove_volume(self._store, self._workers, storage_id, number)
            case Reconfigured(changes):
                self._protocol.reconfiguration.ended(changes)
            case LeaveVolume(storage_id, reason):
                self._store.trouble.remove_volume(self._store.volumes[storage_id], reason)
            case BalanceBandwidth(bytes_per_second):
                self._server.balancing.set_bandwidth(bytes_per_second)
            case LogLevel(name, level):
                logging.getLogger(name).setLevel(level)
            case PlansTaken(enabled, valid_s):
                self._disk_balancer.configure(enabled=enabled, plan_valid_s=valid_s)
            case Stop(for_restart):
                try:
                    if for_restart:
                        announce_restart(self._store, self._settings)
                finally:
                    self._stop()
            case _:
                log.error(
                    "the control process sent %s, which is no command", type(command).__name__
                )

    def _begin(
        self, command: RecoverBlock | RecoverGroup | Transfer | Reconstruct | CheckVolumes
    ) -> None:
        """What has a thread of its own. Where there are no more, it is ordered again later."""
        try:
            match command:
                case RecoverBlock() | RecoverGroup():
                    self._recoveries.start(command)
                case Transfer():
                    self._copies.start(command)
                case Reconstruct():
                    self._reconstructions.start(command)
                case CheckVolumes():
                    self._workers.check()
        except RuntimeError as error:
            log.error("%s is not carried out: %s", type(command).__name__, error)

    def _send_event(self, event: Event) -> None:
        if isinstance(event, ReplicaOpened | ReplicaReceived):
            self._workers.arrived(event.block, event.storage_id)
        try:
            self._link.send(event)
        except LinkClosed:
            self._orphaned()

    def _stop(self) -> NoReturn:
        self._server.close()
        if self._local_server is not None:
            self._local_server.close()
        self._control_server.close()
        self._ipc.close()
        spans.stop()
        _exit(0)

    def _orphaned(self) -> NoReturn:
        log.error("the control process of this datanode is gone; its data process ends")
        _exit(1)


def _exit(status: int) -> NoReturn:
    """At once: other threads may be in the middle of a write, and files survive that."""
    for handler in logging.getLogger().handlers:
        handler.flush()
    os._exit(status)
