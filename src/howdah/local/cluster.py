"""The servers of a layout as one thing that is started, watched and stopped.

`MiniCluster` and `howdah up` are both made of this; they differ in how processes
are started (`Spawner`) and in what happens to them at the end.

A server can serve when its ready file says so with its own process id. A cluster
can be written to when, in addition, every namenode that runs knows of the datanodes that run,
one namenode of each namespace is active and, where no datanode is missing, has left safe
mode. A namespace none of whose namenodes runs is not waited for.
"""

from __future__ import annotations

import getpass
import json
import shutil
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

from howdah.config import keys
from howdah.config.value_types import Address, parse_address
from howdah.errors import (
    HowdahError,
    InvalidConfiguration,
    RetriableError,
    StandbyError,
    Unreachable,
)
from howdah.formats.version import NamenodeVersion
from howdah.local.kdc import KDC, user_keytab
from howdah.local.layout import Layout, role_of
from howdah.local.processes import (
    POLL_S,
    is_running,
    pause_group,
    signal_group,
    signal_process,
    wait_until_ended,
)
from howdah.local.servers import Server, ServerFailed, Spawner, tail
from howdah.runtime.users.names import ProxyUser
from howdah.storage.layout import StorageDirectory

# What a local cluster asks of its namenodes, and the one thing that it tells them.
#
# Each question goes to one namenode, whatever its role: standbys answer all of these.

CLIENT_PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
HA_PROTOCOL = "org.apache.hadoop.ha.HAServiceProtocol"
LEAST_TIMEOUT_S = 0.5


class NamenodeQuestions:
    """Questions to the namenode at `address`, each answered before `deadline`
    (`time.monotonic()`) or soon after.

    Raises what `RpcClient` does: `Unreachable` where nobody answers.
    """

    def __init__(self, address: Address, deadline: float, user: str) -> None:
        """`user` is the superuser."""
        # Imported here, as the launcher is at work meanwhile.
        from howdah.rpc.client import RpcClient

        self._deadline = deadline
        self._client = RpcClient(address, CLIENT_PROTOCOL, user=user)
        self._ha = RpcClient(address, HA_PROTOCOL, user=user)

    def reported_datanodes(self) -> set[str]:
        """The data addresses, `ip:port`, of live datanodes that have said what they hold."""
        from howdah.proto import client_namenode_pb2 as pb

        answer = self._client.call(
            "getDatanodeReport",
            pb.GetDatanodeReportRequestProto(type=pb.LIVE),
            pb.GetDatanodeReportResponseProto,
            timeout_s=self._timeout_s(),
        )
        return {
            f"{node.id.ipAddr}:{node.id.xferPort}" for node in answer.di if node.lastBlockReportTime
        }

    def in_safe_mode(self) -> bool:
        from howdah.proto import client_namenode_pb2 as pb

        answer = self._client.call(
            "setSafeMode",
            pb.SetSafeModeRequestProto(action=pb.SAFEMODE_GET, checked=False),
            pb.SetSafeModeResponseProto,
            timeout_s=self._timeout_s(),
        )
        return bool(answer.result)

    def ha_state(self) -> str:
        """`active`, `standby`, `observer` or `initializing`."""
        from howdah.proto import ha_pb2 as pb

        answer = self._ha.call(
            "getServiceStatus",
            pb.GetServiceStatusRequestProto(),
            pb.GetServiceStatusResponseProto,
            timeout_s=self._timeout_s(),
        )
        return pb.HAServiceStateProto.Name(answer.state).lower()

    def become_active(self) -> None:
        """Tell it to; for clusters without failover controllers."""
        from howdah.proto import ha_pb2 as pb

        source = pb.HAStateChangeRequestInfoProto(reqSource=pb.REQUEST_BY_USER)
        self._ha.call(
            "transitionToActive",
            pb.TransitionToActiveRequestProto(reqInfo=source),
            pb.TransitionToActiveResponseProto,
            timeout_s=self._timeout_s(),
        )

    def _timeout_s(self) -> float:
        return max(LEAST_TIMEOUT_S, self._deadline - time.monotonic())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        self._ha.close()


# The first start of a layout: an empty filesystem in the directories of its namenodes.
#
# One namenode of each namespace is formatted, and with it the journal that it shares with
# others, if it does. The others get a copy of its image, which is what `namenode
# -bootstrapStandby` brings. What was there before is kept, so a start that was interrupted goes
# on where it ended.

_COPIED = ("fsimage_*", "seen_txid", "VERSION")
"""VERSION comes last: a directory without it counts as new."""


def is_formatted(layout: Layout) -> bool:
    """Whether every namenode has a filesystem."""
    return all(_version_of(layout, node.name) is not None for node in layout.namenodes)


def format_new(layout: Layout) -> None:
    """Format every namenode that has no filesystem. The journal nodes must be running.

    Several nameservices are one cluster: they get the same cluster id.
    """
    versions = [_version_of(layout, node.name) for node in layout.namenodes]
    cluster_id = next((_cluster_id(version) for version in versions if version is not None), None)
    groups = [nameservice.namenodes for nameservice in layout.nameservices] or [layout.namenodes]
    for group in groups:
        cluster_id = _format_group(layout, [node.name for node in group], cluster_id)


def _format_group(layout: Layout, names: Sequence[str], cluster_id: str | None) -> str:
    """Format the new namenodes of one namespace. Return the cluster id."""
    from howdah.namenode.server.process.format import format_namenode

    versions = [_version_of(layout, name) for name in names]
    version = next((version for version in versions if version is not None), None)
    if version is None:
        format_namenode(layout.server_conf(names[0]), cluster_id=cluster_id)
        version = _version_of(layout, names[0])
        assert version is not None, "formatted just now"
    for name in names:
        if _version_of(layout, name) is None:
            for directory in layout.server_conf(name).get(keys.DFS_NAMENODE_NAME_DIR):
                _copy(version.parent, directory / "current")
    return _cluster_id(version)


def _cluster_id(version_file: Path) -> str:
    storage = StorageDirectory(version_file.parent.parent)
    return storage.read_version(NamenodeVersion).cluster_id


def format_election(layout: Layout) -> None:
    """Make what failover controllers want in ZooKeeper, which has to run."""
    from howdah.failover.server import format_zookeeper

    for nameservice in layout.nameservices:
        format_zookeeper(layout.server_conf(nameservice.namenodes[0].name))


def _version_of(layout: Layout, name: str) -> Path | None:
    """The VERSION file of a namenode, None where it is not formatted."""
    for directory in layout.server_conf(name).get(keys.DFS_NAMENODE_NAME_DIR):
        if (directory / "current" / "VERSION").exists():
            return directory / "current" / "VERSION"
    return None


def _copy(current: Path, to: Path) -> None:
    to.mkdir(parents=True, exist_ok=True)
    for pattern in _COPIED:
        for path in current.glob(pattern):
            shutil.copy2(path, to)


READY_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 15.0
KILL_TIMEOUT_S = 60.0
"""A process that is killed within a call of a busy disk ends only when that returns."""
STATE_TIMEOUT_S = 2.0
"""How long a namenode may take to say what it is."""
ACTIVE = "active"
DOWN = "down"
_NAMENODES_TELL_OF = ("namenode", "datanode")
_NOT_YET = (RetriableError, StandbyError, Unreachable, TimeoutError)


class LocalCluster:
    """Runs servers on this machine; `pids` are those of servers that should be running already."""

    def __init__(
        self, layout: Layout, spawner: Spawner, pids: Mapping[str, int] | None = None
    ) -> None:
        self.layout = layout
        self.pids: dict[str, int] = dict(pids or {})
        self._spawner = spawner

    # -- starting ----------------------------------------------------------------------

    def start_all(self, names: Sequence[str], timeout_s: float = READY_TIMEOUT_S) -> None:
        """Start servers that don't run, the first time with an empty filesystem.

        They start all at once, but for namenodes that share a journal: they read it, and the
        first time it has to be formatted, so journal nodes come first.
        """
        if is_formatted(self.layout):
            shared = [name for name in self.layout.shared_names if name in names]
            self.start([name for name in names if name == KDC or name in shared])
            self._wait_for_ready_files(shared, timeout_s)
            self.start(names)
            return
        layout = self.layout
        if not layout.has_roles:
            format_new(layout)
            self.start(names)
            return
        controlled = [node.name for node in layout.namenodes] + layout.controllers
        self.start([name for name in names if name not in controlled])
        self._wait_for_ready_files(layout.shared_names, timeout_s)
        format_new(layout)
        if layout.zookeeper is not None:
            format_election(layout)
        self.start(names)

    def start(self, names: Sequence[str]) -> None:
        """Start servers that don't run, all at once, and don't wait for them; but for a KDC,
        which all others ask."""
        if KDC in names and not self.is_running(KDC):
            self._start_one(KDC)
            self._wait_for_ready_files([KDC], READY_TIMEOUT_S)
        for name in names:
            if not self.is_running(name):
                self._start_one(name)

    def _start_one(self, name: str) -> None:
        self.layout.ready_path(name).unlink(missing_ok=True)
        log = self.layout.log_path(name)
        self.pids[name] = self._spawner.start(name, self.layout.command(name), log)

    def wait_ready(self, names: Sequence[str], timeout_s: float = READY_TIMEOUT_S) -> None:
        """Return when these servers can serve, and the cluster can be written to."""
        deadline = time.monotonic() + timeout_s
        self._wait_for_ready_files(names, timeout_s)
        if any(role_of(name) in _NAMENODES_TELL_OF for name in names):
            self._wait_until_writable(deadline, timeout_s)

    def _wait_for_ready_files(self, names: Sequence[str], timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        waiting = list(names)
        while True:
            waiting = [name for name in waiting if not self.is_ready(name)]
            if not waiting:
                return
            for name in waiting:
                self._fail_if_ended(name)
            if time.monotonic() > deadline:
                raise self._failure(waiting[0], f"was not ready within {timeout_s:g} s")
            time.sleep(POLL_S)

    def is_ready(self, name: str) -> bool:
        pid = self._ready_file(name).get("pid")
        return pid is not None and pid == self.pids.get(name)

    def is_running(self, name: str) -> bool:
        pid = self.pids.get(name)
        return pid is not None and self._spawner.exit_status(pid) is None and is_running(pid)

    def _fail_if_ended(self, name: str) -> None:
        pid = self.pids.get(name)
        if pid is None:
            raise ServerFailed(f"{name} was not started")
        if not self.is_running(name):
            status = self._spawner.exit_status(pid)
            how = "" if status is None else f" with status {status}"
            raise self._failure(name, f"ended{how} before it was ready")

    def _failure(self, name: str, problem: str) -> ServerFailed:
        return ServerFailed(f"{name} {problem}\n{tail(self.layout.log_path(name))}")

    def _wait_until_writable(self, deadline: float, timeout_s: float) -> None:
        """Wait until every running datanode has reported, and one namenode is active and out of
        safe mode.

        A namenode that was restarted alone must receive the reports of its datanodes again. With
        datanodes missing it may rightly stay in safe mode, so that is not waited for.
        """
        namenodes = [node.name for node in self.layout.namenodes]
        while asked := [name for name in namenodes if self._answers(name)]:
            obstacle = self._obstacle(asked, deadline)
            if obstacle is None:
                return
            name, problem = obstacle
            self._fail_if_ended(name)
            if time.monotonic() > deadline:
                raise self._failure(name, f"{problem} for {timeout_s:g} s")
            time.sleep(POLL_S * 5)

    def _answers(self, name: str) -> bool:
        return self.is_ready(name) and self.is_running(name) and not self.server(name).paused

    def _obstacle(self, namenodes: Sequence[str], deadline: float) -> tuple[str, str] | None:
        """Which namenode keeps the cluster from being written to, and how."""
        nodes = [self.server(node.name) for node in self.layout.datanodes]
        # A datanode that has died keeps its ready file.
        running = {n.addresses["data"] for n in nodes if n.alive and n.addresses and not n.paused}
        has_roles = self.layout.has_roles
        states = {}
        for name in namenodes:
            try:
                with self._questions(name, deadline) as ask:
                    missing = running - ask.reported_datanodes()
                    if missing:
                        return name, f"had no report of datanode {', '.join(sorted(missing))}"
                    states[name] = ask.ha_state() if has_roles else ACTIVE
                    serves = states[name] == ACTIVE
                    if serves and len(running) == len(nodes) and ask.in_safe_mode():
                        return name, "was in safe mode"
            except _NOT_YET as error:
                return name, f"did not answer ({error})"
        for nameservice in self.layout.nameservices:
            of_it = [node.name for node in nameservice.namenodes if node.name in states]
            if of_it and ACTIVE not in (states[name] for name in of_it):
                if not nameservice.controllers:
                    self.make_active(of_it[0])
                return of_it[0], f"was not active, nor was another namenode of {nameservice.name}"
        return None

    def ha_states(self) -> dict[str, str]:
        """The role of each namenode of several, `down` where it doesn't say."""
        assert self.layout.has_roles, "asked of a cluster with several namenodes"
        return {node.name: self.ha_state(node.name) for node in self.layout.namenodes}

    def ha_state(self, name: str) -> str:
        """The role of one namenode of several."""
        if not self._answers(name):
            return DOWN
        try:
            with self._questions(name, time.monotonic() + STATE_TIMEOUT_S) as ask:
                return ask.ha_state()
        except _NOT_YET:
            return DOWN

    def make_homes(self, users: Iterable[str]) -> None:
        """Make the home directories of users where they are missing, as the superuser."""
        from howdah.fs.registry import connect

        for uri in self.layout.uris:
            with connect(uri, conf=self.layout.client_conf(), user=self._superuser()) as fs:
                for user in users:
                    home = f"/user/{user}"
                    if not fs.exists(home):
                        fs.mkdirs(home)
                        fs.set_owner(home, user)

    def make_active(self, name: str) -> None:
        """Tell a namenode to become active: where no failover controller does."""
        with self._questions(name, time.monotonic() + READY_TIMEOUT_S) as ask:
            ask.become_active()

    def _questions(self, name: str, deadline: float) -> NamenodeQuestions:
        (node,) = [node for node in self.layout.namenodes if node.name == name]
        return NamenodeQuestions(parse_address(node.rpc), deadline, self._superuser())

    def _superuser(self) -> str:
        """Who asks, whatever user the clients are."""
        realm = self.layout.realm
        return getpass.getuser() if realm is None else self.user(realm.superuser)

    def user(self, name: str, *, acts_for: str | None = None) -> str:
        """A user of a secured cluster, who proves himself by his keytab. With `acts_for` that one
        is who calls are made as.

        Raises InvalidConfiguration for one who has none, and LoginFailed.
        """
        from howdah.security.users import log_in

        realm = self.layout.realm
        assert realm is not None, "asked of a cluster with Kerberos"
        self.layout.check_user(name)
        return log_in(
            self.layout.client_conf(),
            None if acts_for is None else ProxyUser(acts_for, name),
            str(user_keytab(self.layout.kerberos_dir, name)),
            realm.principal(name),
            None,
        )

    # -- stopping ----------------------------------------------------------------------

    def stop(self, names: Sequence[str], timeout_s: float = STOP_TIMEOUT_S) -> list[str]:
        """Stop servers in an orderly way, all at once; those that had to be killed."""
        pids = {self.pids[name]: name for name in names if self.is_running(name)}
        for pid in pids:
            signal_process(pid, signal.SIGTERM)
            signal_group(pid, signal.SIGCONT)  # a paused one must hear it
        left = self._wait_ended(list(pids), timeout_s)
        self.kill([pids[pid] for pid in left])
        for name in names:
            self.pids.pop(name, None)
        return [pids[pid] for pid in left]

    def kill(self, names: Sequence[str]) -> None:
        """SIGKILL servers and all that they started, and wait until they are gone."""
        pids = [self.pids[name] for name in names if self.is_running(name)]
        for pid in pids:
            signal_group(pid, signal.SIGKILL)
        left = self._wait_ended(pids, KILL_TIMEOUT_S)
        if left:
            raise ServerFailed(f"processes {left} don't end although they were killed")

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a running server and all that it started."""
        if not self.is_running(name):
            raise ServerFailed(f"{name} is not running")
        signal_group(self.pids[name], number)

    def pause(self, name: str) -> None:
        """Freeze a running server and all that it started; they stand still when this returns."""
        if not self.is_running(name):
            raise ServerFailed(f"{name} is not running")
        if not pause_group(self.pids[name], STOP_TIMEOUT_S):
            raise ServerFailed(f"{name} still runs {STOP_TIMEOUT_S:g} s after it was paused")

    def _wait_ended(self, pids: list[int], timeout_s: float) -> list[int]:
        left = wait_until_ended(pids, timeout_s)
        for pid in pids:
            self._spawner.exit_status(pid)  # so that a child is reaped
        return left

    # -- looking -----------------------------------------------------------------------

    def server(self, name: str) -> Server:
        """What is known of one server."""
        if name not in self.layout.names:
            raise InvalidConfiguration(
                f"there is no server {name!r}, only {', '.join(self.layout.names)}"
            )
        pid = self.pids.get(name) if self.is_running(name) else None
        facts = self._ready_file(name) if self.is_ready(name) else {}
        addresses = {
            key: value
            for key, value in facts.items()
            if key in ("rpc", "http", "https", "data", "ipc") and isinstance(value, str)
        }
        return Server(name, role_of(name), pid, addresses, self.layout.log_path(name))

    def _ready_file(self, name: str) -> dict[str, object]:
        path: Path = self.layout.ready_path(name)
        try:
            document = json.loads(path.read_text())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise HowdahError(f"{path} is damaged: {error}") from error
        return document if isinstance(document, dict) else {}
