"""The servers of a layout as one thing that is started, watched and stopped.

`MiniCluster` and `howdah up` are both made of this; they differ in how processes
are started (`Spawner`) and in what happens to them at the end.

A server can serve when its ready file says so with its own process id. A cluster
can be written to when, in addition, the namenode knows of the datanodes that run
and, where none is missing, has left safe mode.
"""

from __future__ import annotations

import getpass
import json
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from howdah.config import namenode_address
from howdah.errors import HowdahError, InvalidConfiguration
from howdah.kinds import Address
from howdah.local.layout import Layout, role_of
from howdah.local.processes import (
    POLL_S,
    is_running,
    signal_group,
    signal_process,
    wait_until_ended,
)
from howdah.local.servers import Server, ServerFailed, Spawner, tail

READY_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 15.0


class LocalCluster:
    """Servers on this machine; `pids` are those that are said to run already."""

    def __init__(
        self, layout: Layout, spawner: Spawner, pids: Mapping[str, int] | None = None
    ) -> None:
        self.layout = layout
        self.pids: dict[str, int] = dict(pids or {})
        self._spawner = spawner

    def format_if_new(self) -> None:
        """Make the namenode's directories, unless they were made before."""
        from howdah import keys
        from howdah.namenode.process.format import format_namenode

        conf = self.layout.server_conf("namenode")
        if not any(
            (d / "current" / "VERSION").exists() for d in conf.get(keys.DFS_NAMENODE_NAME_DIR)
        ):
            format_namenode(conf)

    # -- starting ----------------------------------------------------------------------

    def start(self, names: Sequence[str]) -> None:
        """Start servers that don't run, all at once, and don't wait for them."""
        for name in names:
            if self.is_running(name):
                continue
            self.layout.ready_path(name).unlink(missing_ok=True)
            log = self.layout.log_path(name)
            self.pids[name] = self._spawner.start(name, self.layout.command(name), log)

    def wait_ready(self, names: Sequence[str], timeout_s: float = READY_TIMEOUT_S) -> None:
        """Return when these servers can serve, and the cluster can be written to."""
        deadline = time.monotonic() + timeout_s
        waiting = list(names)
        while True:
            waiting = [name for name in waiting if not self.is_ready(name)]
            if not waiting:
                break
            for name in waiting:
                self._fail_if_ended(name)
            if time.monotonic() > deadline:
                raise self._failure(waiting[0], f"was not ready within {timeout_s:g} s")
            time.sleep(POLL_S)
        if self.is_ready("namenode"):
            self._wait_until_writable(deadline, timeout_s)

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

    def _failure(self, name: str, what: str) -> ServerFailed:
        return ServerFailed(f"{name} {what}\n{tail(self.layout.log_path(name))}")

    def _wait_until_writable(self, deadline: float, timeout_s: float) -> None:
        """Until the namenode knows every datanode that runs, and has left safe mode.

        A namenode that was restarted alone has to hear from its datanodes again. With
        datanodes missing it may rightly stay in safe mode, so that isn't waited for.
        """
        datanodes = [self.server(node.name) for node in self.layout.datanodes]
        running = {n.addresses["data"] for n in datanodes if n.addresses and not n.paused}
        with _Namenode(namenode_address(self.layout.client_conf()), deadline) as namenode:
            while not running <= namenode.live_datanodes():
                if time.monotonic() > deadline:
                    missing = ", ".join(sorted(running - namenode.live_datanodes()))
                    raise self._failure(
                        "namenode", f"did not hear from datanode {missing} within {timeout_s:g} s"
                    )
                time.sleep(POLL_S * 5)
            while len(running) == len(datanodes) and namenode.in_safe_mode():
                if time.monotonic() > deadline:
                    raise self._failure("namenode", f"was in safe mode for {timeout_s:g} s")
                time.sleep(POLL_S * 5)

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
        left = self._wait_ended(pids, STOP_TIMEOUT_S)
        if left:
            raise ServerFailed(f"processes {left} don't end although they were killed")

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a running server and all that it started."""
        if not self.is_running(name):
            raise ServerFailed(f"{name} is not running")
        signal_group(self.pids[name], number)

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
            if key in ("rpc", "http", "data", "ipc") and isinstance(value, str)
        }
        return Server(name, role_of(name), pid, addresses, self.layout.log_path(name))

    def _ready_file(self, name: str) -> dict[str, object]:
        path: Path = self.layout.ready_path(name)
        try:
            found = json.loads(path.read_text())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise HowdahError(f"{path} is damaged: {error}") from error
        return found if isinstance(found, dict) else {}


class _Namenode:
    """The two questions that readiness asks of a namenode."""

    def __init__(self, address: Address, deadline: float) -> None:
        # Imported here, as the launcher is at work meanwhile.
        from howdah.proto import client_namenode_pb2
        from howdah.rpc.client import RpcClient

        self._messages = client_namenode_pb2
        self._deadline = deadline
        self._client = RpcClient(
            address,
            "org.apache.hadoop.hdfs.protocol.ClientProtocol",
            # The superuser, whatever user the tests' clients are.
            user=getpass.getuser(),
        )

    def live_datanodes(self) -> set[str]:
        """Their data addresses, `ip:port`."""
        request = self._messages.GetDatanodeReportRequestProto(type=self._messages.LIVE)
        answer = self._client.call(
            "getDatanodeReport",
            request,
            self._messages.GetDatanodeReportResponseProto,
            timeout_s=self._timeout_s(),
        )
        return {f"{node.id.ipAddr}:{node.id.xferPort}" for node in answer.di}

    def in_safe_mode(self) -> bool:
        request = self._messages.SetSafeModeRequestProto(
            action=self._messages.SAFEMODE_GET, checked=False
        )
        answer = self._client.call(
            "setSafeMode",
            request,
            self._messages.SetSafeModeResponseProto,
            timeout_s=self._timeout_s(),
        )
        return bool(answer.result)

    def _timeout_s(self) -> float:
        return max(1.0, self._deadline - time.monotonic())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
