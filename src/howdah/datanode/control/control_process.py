"""The control process: the datanode's first process, which talks to namenodes.

DataNode in Hadoop.

    open the data directories -> listen -> scan -> fork the data process
    -> an actor for each namenode of each nameservice
    -> pass events and commands on, until told to stop

Everything that computes belongs here and not into the data process (reports, scanners,
later web pages): one busy Python thread beside the data path costs it nearly
all of its speed. When the data process dies, the control process ends: a datanode that can't
serve must not say that it lives.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.nameservices import datanode_nameservices, lifeline_addresses
from howdah.config.value_types import Address, Key
from howdah.datanode.channel import connection_passing
from howdah.datanode.channel.frames import Link, LinkClosed, wait_readable
from howdah.datanode.channel.introspection import IntrospectionClient
from howdah.datanode.channel.shared_counters import Gauges
from howdah.datanode.control.beans import Known, beans
from howdah.datanode.control.cache_reports import CachedBlocks
from howdah.datanode.control.directories import DataDirectories
from howdah.datanode.control.lifeline import lifeline_interval_s
from howdah.datanode.control.namenode_actor import ActorSettings
from howdah.datanode.control.nameservices import Nameservices
from howdah.datanode.control.pages import Files, MakeFiles, Pages, facts, families, monitoring
from howdah.datanode.control.reconfiguration import Reconfiguration
from howdah.datanode.control.replica_index import ReplicaIndex
from howdah.datanode.latency.activity import Activity, Count
from howdah.datanode.process.data_process import Inheritance, be_data_process
from howdah.datanode.replicas.startup_scan import scan_all
from howdah.datanode.scanners.directory_scanner import DirectoryScanner
from howdah.datanode.scanners.volume_scanner import VolumeScanners
from howdah.datanode.security import guard_of
from howdah.datanode.settings import (
    SECURE_USER,
    DataSettings,
    ScanSettings,
    choosing_policy,
    reserves,
)
from howdah.datanode.state.messages import (
    BlockSynchronized,
    CacheChanged,
    Command,
    CopiesCounted,
    CorruptFound,
    DeletionEnded,
    LeavePool,
    LogLevel,
    Message,
    NamenodesAsked,
    NamenodesRefreshed,
    OutliersFound,
    PoolDeleted,
    PoolServed,
    ReconfigurationAsked,
    ReplicaDeleted,
    ReplicaOpened,
    ReplicaReceived,
    ReplicaSuspect,
    ReportAsked,
    ShutdownAsked,
    Stop,
    Subject,
    VolumeFailed,
    VolumeRemoved,
)
from howdah.datanode.state.replicas.replicas import ReplicaMap
from howdah.datanode.transfer.data_server import BACKLOG, listen
from howdah.datanode.transfer.short_circuit_socket import effective_path, listen_local
from howdah.datanode.volumes.volumes import VolumeSet
from howdah.datanode.web_access import guard_of_logins
from howdah.protocol.data_transfer.blocks import DatanodeAddress
from howdah.runtime import serve
from howdah.runtime.forked_child import fork_child
from howdah.runtime.metrics.histogram import Rates
from howdah.runtime.privileges import HeldPorts, is_privileged
from howdah.runtime.users import service_authorization
from howdah.runtime.users.impersonation import OnThread
from howdah.security.server_checks import is_secured, takes_simple
from howdah.security.strangers import keep_reminding
from howdah.security.user_names import user_names
from howdah.web.pages.datanode import DatanodeFacts
from howdah.web.process_bridge import OtherProcess

log = logging.getLogger(__name__)

STOP_TIMEOUT_S = 8.0
AGAIN: Final = -1
"""No exit status: the datanode is to be started once more."""
_WILDCARDS = ("0.0.0.0", "::", "")


@dataclass(frozen=True, slots=True)
class Listeners:
    """The sockets at which the data process accepts connections."""

    data: socket.socket
    ipc: socket.socket
    local: socket.socket | None
    """For readers on the same machine, where these are configured."""

    def close(self) -> None:
        self.data.close()
        self.ipc.close()
        if self.local is not None:
            self.local.close()


class ControlProcess:
    """One datanode, seen from its parent process."""

    def __init__(
        self,
        conf: Configuration,
        ready_file: Path | None,
        *,
        rolls_back: bool = False,
        make_files: MakeFiles | None = None,
        held: HeldPorts | None = None,
    ) -> None:
        """`held` are ports that were taken while the process had the right to."""
        self._conf = conf
        self._held = held or HeldPorts()
        self._make_files = make_files
        self._rolls_back = rolls_back
        self._ready_file = ready_file
        guard = guard_of(conf)
        self._web_guard = (None if guard is None else guard.web) or guard_of_logins(conf)
        self._settings = replace(DataSettings.of(conf), guard=guard)
        self._tolerated = conf.get(keys.DFS_DATANODE_FAILED_VOLUMES_TOLERATED)
        self._started_ms = time.time_ns() // 1_000_000
        self._is_begun = False
        self._stop_reason = ""
        self._status = 0
        self._data_pid = 0
        self._for_restart = False
        self._namenodes: Callable[[], list[tuple[str, str, bool]]] = list
        """As `Nameservices.states`, once there are any."""
        self._slow = OutliersFound((), ())
        """Peers and disks that were slow at the last look."""

    def run(self) -> int:
        """Start, serve, stop; the exit status, or `AGAIN`."""
        self._wake_reader, self._wake_writer = os.pipe()
        os.set_blocking(self._wake_writer, False)
        paths = self._conf.get(keys.DFS_DATANODE_DATA_DIR)
        directories = DataDirectories.open(
            paths,
            reserve=reserves(self._conf),
            policy=choosing_policy(self._conf),
            tolerated=self._tolerated,
            rolls_back=self._rolls_back,
        )
        directories.when_rolled_back = self._start_anew
        try:
            directories.settle_trash()
            self._begin(directories)
            self._loop()
            return self._end()
        finally:
            directories.close()

    def _start_anew(self) -> None:
        """What was found at the start is not what is there."""
        self.stop("its directories were rolled back; it starts anew with what is there now", AGAIN)

    # --- starting ---

    def _begin(self, directories: DataDirectories) -> None:
        addresses = datanode_nameservices(self._conf)
        volumes = directories.volumes
        self._failed_at_start = len(directories.unusable)
        self._uuid = directories.uuid
        listeners = self._open_listeners()
        replicas = self._scan(volumes)
        gauges = Gauges(len(volumes.all))
        self._activity = Activity(gauges.add_to_figure)
        self._inventory = ReplicaIndex(
            volumes,
            replicas,
            gauges,
            [reason.partition(": ")[0] for reason in directories.unusable],
        )
        self._fork_data_process(listeners, volumes, replicas, gauges)
        self._handle_signals()
        self._start_pages(gauges)
        if takes_simple(self._conf):
            keep_reminding("datanode")
        self._nameservices = self._make_nameservices(addresses, directories, gauges)
        self._namenodes = self._nameservices.states
        self._make_scanners(volumes)
        self._reconfiguration = self._make_reconfiguration(directories, gauges)
        self._pages.facts = self._facts(gauges)
        self._is_begun = True
        self._nameservices.start()
        self._directory_scanner.start()

    def _open_listeners(self) -> Listeners:
        data = self._listen(keys.DFS_DATANODE_ADDRESS)
        ipc = self._listen(keys.DFS_DATANODE_IPC_ADDRESS)
        self._data_address, self._ipc_address = data.getsockname(), ipc.getsockname()
        if not is_secured(self._conf):
            serve.warn_if_exposed("datanode", [self._data_address[:2], self._ipc_address[:2]])
        return Listeners(data, ipc, self._listen_locally())

    def _scan(self, volumes: VolumeSet) -> ReplicaMap:
        """The replicas that are on the disks. Raises InconsistentStorage where too many volumes
        have failed."""
        replicas = ReplicaMap()
        started_s = time.monotonic()
        scan_all(volumes, replicas)
        too_many = self._too_many_failures(volumes)
        if too_many:
            raise errors.InconsistentStorage(too_many)
        log.info(
            "found %d replicas on %d volumes in %.2f s",
            len(replicas),
            len(volumes.all),
            time.monotonic() - started_s,
        )
        return replicas

    def _fork_data_process(
        self, listeners: Listeners, volumes: VolumeSet, replicas: ReplicaMap, gauges: Gauges
    ) -> None:
        """Fork it, and keep this process' ends of the channels alone."""
        self._link, data_end = Link.pair()
        self._dialer, dialed = connection_passing.pair()
        asking, answering = Link.pair()
        self._questions = IntrospectionClient(asking)
        inheritance = Inheritance(
            listeners.data,
            listeners.local,
            dialed,
            listeners.ipc,
            answering,
            volumes,
            replicas,
            gauges,
            self._settings,
            OnThread.of(self._conf).check,
            service_authorization.OnThread.of(self._conf),
            user_names(self._conf),
        )
        self._data_pid = fork_child(
            be_data_process,
            (inheritance, data_end),
            closes=(
                *(self._link.fileno(), self._dialer.fileno(), asking.fileno()),
                *(self._wake_reader, self._wake_writer),
                *self._held.filenos(),
            ),
        )
        data_end.close()
        dialed.close()
        answering.close()
        listeners.close()

    def _start_pages(self, gauges: Gauges) -> None:
        rates = Rates()
        self._pages = Pages(
            self._conf,
            # It is asked from the moment on in which it listens.
            lambda: beans(self._inventory, gauges, self._known(), rates) if self._is_begun else [],
            None if self._make_files is None else partial(self._files, self._make_files),
            watch=monitoring(self._data_process_lives, lambda: self._namenodes()),
            families=lambda: families(gauges),
            guard=self._web_guard,
            held=self._held,
            also=OtherProcess(
                "the data process of this datanode",
                set_level=lambda name, level: self._command(LogLevel(name, level)),
                stacks=lambda: self._questions.request(Subject.STACKS),
                log=lambda: self._questions.request(Subject.LOG),
            ),
        )
        self._web = self._pages.start(self._conf)

    def _make_nameservices(
        self,
        addresses: Mapping[str, tuple[Address, ...]],
        directories: DataDirectories,
        gauges: Gauges,
    ) -> Nameservices:
        conf, guard = self._conf, self._settings.guard
        self._cached = CachedBlocks()
        return Nameservices(
            addresses,
            self._node,
            directories,
            self._inventory,
            gauges,
            self._cached,
            ActorSettings(
                conf.get(keys.DFS_HEARTBEAT_INTERVAL),
                conf.get(keys.DFS_BLOCKREPORT_INTERVALMSEC),
                conf.get(keys.DFS_BLOCKREPORT_SPLIT_THRESHOLD),
                memory_bytes=self._settings.memory_bytes,
                cache_report_s=conf.get(keys.DFS_CACHEREPORT_INTERVALMSEC),
                lifelines=lifeline_addresses(conf),
                lifeline_s=lifeline_interval_s(
                    conf.get(keys.DFS_DATANODE_LIFELINE_INTERVAL_SECONDS),
                    conf.get(keys.DFS_HEARTBEAT_INTERVAL),
                ),
                user=None if guard is None else guard.rpc_user,
                wants_tokens=guard is not None,
                may_lack_tokens=guard is not None and guard.takes_simple,
            ),
            command=self._command,
            ready=self._write_ready,
            stop=self.stop,
            left=self._pool_left,
        )

    def _make_scanners(self, volumes: VolumeSet) -> None:
        scans = ScanSettings.of(self._conf)
        self._scanners = VolumeScanners(scans, self._inventory.finalized, self._command)
        self._directory_scanner = DirectoryScanner(
            scans, volumes.on_disks, self._inventory, self._command
        )
        for volume in volumes.on_disks():
            self._scanners.add(volume)

    def _make_reconfiguration(
        self, directories: DataDirectories, gauges: Gauges
    ) -> Reconfiguration:
        return Reconfiguration(
            self._conf,
            directories,
            self._inventory,
            self._scanners,
            gauges=gauges.volumes,
            namespaces=self._nameservices.namespaces,
            command=self._command,
            report=lambda: self._nameservices.report_now(full=True),
        )

    def _facts(self, gauges: Gauges) -> Callable[[], DatanodeFacts]:
        """What the pages show, collected when one is asked for."""
        return lambda: facts(
            self._inventory,
            gauges,
            self._settings.memory_bytes,
            self._uuid,
            self._name(),
            self._namenodes(),
            self._cached.of_pool,
            self._scanners,
            self._slow,
        )

    def _listen(self, key: Key[Address]) -> socket.socket:
        host, port = self._conf.get(key)
        held = self._held.listening(host, port, BACKLOG)
        if held is not None:
            return held
        try:
            return listen((host, port))
        except errors.Unreachable as error:
            hint = ""
            if is_privileged(port) and isinstance(error.__cause__, PermissionError):
                hint = (
                    f"; a port below 1024 is for root, who may name in {SECURE_USER} whom the "
                    "datanode runs as then, and for who has CAP_NET_BIND_SERVICE"
                )
            raise errors.InvalidConfiguration(f"{key.name}: {error.message}{hint}") from error

    def _listen_locally(self) -> socket.socket | None:
        path = self._settings.local_socket_path
        if path is None:
            if self._conf.get(keys.DFS_CLIENT_READ_SHORTCIRCUIT):
                log.warning(
                    "short-circuit reads are configured (dfs.client.read.shortcircuit) but "
                    "stay off: dfs.domain.socket.path is not set"
                )
            return None
        path = effective_path(path, self._data_address[1])
        log.info("readers on this machine connect to %s", path)
        return listen_local(path)

    def _handle_signals(self) -> None:
        for number in serve.SIGNALS:
            signal.signal(
                number, lambda received, _: self.stop(f"got {signal.Signals(received).name}", 0)
            )
        # Written to by the interpreter, so that a signal ends the wait of the loop.
        signal.set_wakeup_fd(self._wake_writer, warn_on_full_buffer=False)

    def _node(self, namenode: tuple[str, int]) -> DatanodeAddress:
        """How others reach this datanode."""
        host, port = self._data_address[:2]
        if host in _WILDCARDS:
            host = _address_towards(namenode)
        name = self._conf.get(keys.DFS_DATANODE_HOSTNAME)
        if not name:
            name = "localhost" if host.startswith("127.") or host == "::1" else socket.getfqdn()
        return DatanodeAddress(
            host,
            name,
            self._uuid,
            port,
            info_port=self._web.http[1] if self._web.http else 0,
            ipc_port=self._ipc_address[1],
            info_secure_port=self._web.https[1] if self._web.https else 0,
        )

    def _name(self) -> str:
        """As Hadoop's figures are named by it: `host:port` of the data port."""
        host, port = self._data_address[:2]
        return f"{self._conf.get(keys.DFS_DATANODE_HOSTNAME) or host}:{port}"

    def _write_ready(self) -> None:
        serve.write_ready_file(
            self._ready_file,
            "datanode",
            data="{}:{}".format(*self._data_address[:2]),
            ipc="{}:{}".format(*self._ipc_address[:2]),
            **self._web.addresses(),
            uuid=self._uuid,
        )

    def _known(self) -> Known:
        """Return what monitoring shows."""
        nameservices, scanners = self._nameservices, self._scanners
        pools = nameservices.namespaces()
        scans = [scan for scan, _ in scanners.figures().values()]
        return Known(
            uuid=self._uuid,
            name=self._name(),
            ipc_port=self._ipc_address[1],
            http_port=self._web.first[1],
            started_ms=self._started_ms,
            memory_bytes=self._settings.memory_bytes,
            cluster_id=next((pool.cluster_id for pool in pools), ""),
            namenodes=nameservices.facts(time.monotonic()),
            cached_blocks=sum(len(self._cached.of_pool(pool.pool_id)) for pool in pools),
            verified=sum(scan.blocks for scan in scans),
            damaged=sum(scan.errors for scan in scans),
            scanned_ms=self._directory_scanner.ended_ms,
            slow=self._slow,
        )

    def _files(self, make: MakeFiles) -> Files:
        return make(self._uuid, self._dialer.dial, self._has_read)

    def _has_read(self, length_bytes: int) -> None:
        self._activity.count(Count.ControlBytesRead, length_bytes)
        self._activity.count(Count.ControlBlocksRead)

    # --- serving ---

    def stop(self, reason: str, status: int) -> None:
        """Ask the main thread to end the datanode; from any thread."""
        if not self._stop_reason:
            self._stop_reason, self._status = reason, status
        os.write(self._wake_writer, b"\0")

    def _command(self, command: Command) -> None:
        try:
            self._link.send(command)
        except LinkClosed as error:
            self.stop(f"the data process is gone: {error}", 1)

    def _loop(self) -> None:
        while not self._stop_reason:
            link = self._link.fileno()
            if link not in wait_readable(link, self._wake_reader):
                continue
            try:
                messages = self._link.receive()
            except LinkClosed:
                log.error("the data process %d of this datanode has died", self._data_pid)
                self.stop("the data process has died", 1)
                return
            for message in messages:
                self._handle(message)

    def _handle(self, message: Message) -> None:
        match message:
            case ReplicaOpened() | ReplicaReceived() | ReplicaDeleted():
                self._inventory.apply(message)
                if isinstance(message, ReplicaDeleted):
                    self._activity.count(Count.BlocksRemoved)
                self._nameservices.enqueue(message)
            case DeletionEnded() | CopiesCounted():
                self._inventory.apply(message)
            case CorruptFound() | BlockSynchronized():
                self._nameservices.enqueue(message)
            case VolumeFailed():
                self._activity.count(Count.VolumeFailures)
                self._inventory.apply(message)
                self._nameservices.volume_failed()
                too_many = self._too_many_failures(self._inventory.volumes)
                if too_many:
                    self.stop(too_many, 1)
            case ReportAsked(incremental, namenode):
                self._nameservices.report_now(full=not incremental, namenode=namenode)
            case ReconfigurationAsked():
                self._reconfiguration.start()
            case NamenodesAsked(number):
                self._begin_refresh(number)
            case PoolDeleted(pool_id):
                self._inventory.pool_deleted(pool_id)
            case VolumeRemoved(_, number):
                self._reconfiguration.removed(number)
            case PoolServed(pool_id):
                self._nameservices.pool_served(pool_id)
                self._scanners.pool_served(pool_id)
                self._directory_scanner.pool_served(pool_id)
            case ReplicaSuspect(block, storage_id):
                self._scanners.suspect(block, storage_id)
            case CacheChanged(_, cached, uncached):
                self._cached.apply(message)
                self._activity.count(Count.BlocksCached, len(cached))
                self._activity.count(Count.BlocksUncached, len(uncached))
            case OutliersFound():
                self._slow = message
                self._nameservices.found_slow(message)
            case ShutdownAsked(for_upgrade):
                self._for_restart = for_upgrade
                self.stop("an administrator asks for it", 0)
            case _:
                log.error("the data process sent %s, which is no event", type(message).__name__)

    def _begin_refresh(self, number: int) -> None:
        refresh = threading.Thread(
            target=self._refresh, args=(number,), name="refresh", daemon=True
        )
        try:
            refresh.start()
        except RuntimeError as error:
            log.error("the namenodes stay as they are: %s", error)
            self._command(NamenodesRefreshed(str(error), number))

    def _refresh(self, number: int) -> None:
        """An administrator asks for the namenodes that the configuration names by now."""
        problem = ""
        try:
            fresh = self._conf.reloaded()
            self._nameservices.refresh(datanode_nameservices(fresh), lifeline_addresses(fresh))
        except (errors.HowdahError, OSError) as error:
            log.error("the namenodes stay as they are: %s", error)
            problem = str(error)
        except Exception as error:
            log.exception("the refresh of the namenodes failed on a defect")
            problem = repr(error)
        self._command(NamenodesRefreshed(problem, number))

    def _pool_left(self, pool_id: str) -> None:
        self._scanners.pool_left(pool_id)
        self._directory_scanner.pool_left(pool_id)
        self._command(LeavePool(pool_id))

    def _data_process_lives(self) -> bool:
        """Asked from any thread; the main thread takes its exit status when it ends."""
        try:
            how = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self._data_pid, how) is None
        except ChildProcessError:
            return False

    def _too_many_failures(self, volumes: VolumeSet) -> str:
        """Why the datanode has to stop, or nothing."""
        working = len(volumes.working())
        failed = len(volumes.all) - working + self._failed_at_start
        if working and (self._tolerated < 0 or failed <= self._tolerated):
            return ""
        reasons = "; ".join(f"{v}: {v.failure}" for v in volumes.all if v.failure is not None)
        return (
            f"{failed} volumes have failed and dfs.datanode.failed.volumes.tolerated is "
            f"{self._tolerated}: {reasons}"
        )

    # --- stopping ---

    def _end(self) -> int:
        log.info("the datanode stops: %s", self._stop_reason)
        self._directory_scanner.stop()
        self._scanners.stop()
        self._nameservices.stop()
        self._pages.stop()
        try:
            self._link.send(Stop(self._for_restart))
        except LinkClosed:
            log.info("the data process is gone already")
        deadline_s = time.monotonic() + STOP_TIMEOUT_S
        while os.waitpid(self._data_pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > deadline_s:
                log.error("the data process %d does not stop; it is killed", self._data_pid)
                os.kill(self._data_pid, signal.SIGKILL)
                os.waitpid(self._data_pid, 0)
                break
            time.sleep(0.005)
        self._link.close()
        self._dialer.close()
        self._questions.close()
        return self._status


def _address_towards(namenode: tuple[str, int]) -> str:
    """The address of this machine by which the namenode would see it."""
    # A datagram socket that is connected sends nothing; it just picks a route.
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(namenode)
            host: str = probe.getsockname()[0]
            return host
    except OSError as error:
        raise errors.Unreachable(
            f"no route from here to the namenode {namenode[0]}:{namenode[1]}: {error}"
        ) from error
