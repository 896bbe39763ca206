"""What the namenode counts of itself, and its pages for monitoring (shell: it reads clocks).

Once a second the loop takes the users' counts out of the calls' figures and puts them into the
windows of `nntop`; a call itself adds to plain integers only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from howdah.config import Configuration, keys
from howdah.namenode.server.ha.log_writer import LogWriter
from howdah.namenode.service.ha.states import HAContext, HAState
from howdah.namenode.service.monitoring.activity_bean import (
    Counted,
    LogFacts,
    activity,
    journal_families,
    namesystem_extras,
    operation_of,
    retry_cache,
)
from howdah.namenode.service.monitoring.families import of_status, of_top
from howdah.namenode.service.monitoring.startup import Phase, StartupProgress, bean
from howdah.namenode.service.namesystem import Namesystem
from howdah.rpc.server import RpcServer
from howdah.runtime.metrics.histogram import Rates
from howdah.runtime.metrics.top_users import TopUsers, TopWindow
from howdah.web import jmx
from howdah.web.http import Request, Response
from howdah.web.monitoring.health import HEALTH_PATH, READY_PATH, Check, Pulse, Report
from howdah.web.monitoring.namenode_beans import (
    beans,
    snapshot_info,
    tells_nodes,
    tells_snapshots,
)
from howdah.web.monitoring.pages import Monitoring, Port
from howdah.web.monitoring.process import thread_count
from howdah.web.server import WORDS
from howdah.web.status import NamenodeStatus, SnapshotsOf

_TAKE_S: Final = 1.0
_SERVING: Final = (HAState.ACTIVE, HAState.STANDBY, HAState.OBSERVER)


class MetricsService:
    """Measures one namenode. All is called on its loop, but `health` and what `respond` returns."""

    def __init__(
        self,
        conf: Configuration,
        namesystem: Namesystem,
        context: HAContext,
        log_writer: LogWriter,
        trouble: Callable[[], str],
        startup: StartupProgress,
        counted: Callable[[], Counted],
    ) -> None:
        """`trouble` says why the namenode should not be the active one, `counted` what others
        have counted."""
        self.startup = startup
        startup.counts(
            Phase.SAFE_MODE,
            lambda: namesystem.safe_mode.safe_blocks,
            lambda: namesystem.safe_mode.needed_blocks,
        )
        self._log_writer = log_writer
        self._log = log_writer.figures
        self._counted = counted
        self._rates = Rates()
        self._namesystem = namesystem
        self._context = context
        self._trouble = trouble
        self._rpc: RpcServer | None = None
        self._take_at_s = 0.0
        self.pulse = Pulse(time.monotonic())
        self.top = (
            TopUsers(
                [60_000 * minutes for minutes in conf.get(keys.DFS_NAMENODE_TOP_WINDOWS_MINUTES)],
                conf.get(keys.DFS_NAMENODE_TOP_WINDOW_NUM_BUCKETS),
                conf.get(keys.DFS_NAMENODE_TOP_NUM_USERS),
            )
            if conf.get(keys.DFS_NAMENODE_TOP_ENABLED)
            else None
        )
        self.pages = Monitoring("NameNode", alive=self._alive, ready=self._ready, ports=self._ports)

    def serve(self, rpc: RpcServer) -> None:
        """Whose calls are counted."""
        self._rpc = rpc

    def tick(self) -> None:
        """The loop turns."""
        now_s = time.monotonic()
        self.pulse.beat(now_s)
        if self.top is not None and now_s >= self._take_at_s:
            self._take_at_s = now_s + _TAKE_S
            self._snapshot(self.top)

    def respond(
        self,
        request: Request,
        status: Callable[[], NamenodeStatus],
        snapshots: Callable[[], Sequence[SnapshotsOf]],
    ) -> Callable[[], Response]:
        """Return a function that makes the answer to what `pages` wants, on any thread, where
        `status` and `snapshots` are called too."""
        if request.path in (HEALTH_PATH, READY_PATH):
            # Asked for every few seconds, and not about datanodes.
            return lambda: self.pages.answer(request, ())
        windows = self.windows()
        wall_ms = self._namesystem.clock.wall_ms()
        counted, log = self._counted(), self._log_facts()

        def make() -> Response:
            current = status()
            directories = snapshots() if tells_snapshots(request) else None
            with WORDS:
                made = self._beans(
                    current, windows, counted, log, wall_ms, with_nodes=tells_nodes(request)
                )
                if directories is not None:
                    made.append(snapshot_info(directories))
                return self.pages.answer(
                    request,
                    made,
                    lambda: [
                        *of_status(current),
                        of_top(windows),
                        *journal_families(self._log.transactions, self._log.syncs),
                    ],
                )

        return make

    def _log_facts(self) -> LogFacts:
        writer, namesystem = self._log_writer, self._namesystem
        counted = self._counted()
        age_ms = 0
        if not self._context.is_active and counted.tail is not None and counted.tail.loaded_ms:
            age_ms = namesystem.clock.monotonic_ms() - counted.tail.loaded_ms
        return LogFacts(
            pending=namesystem.last_txid - writer.durable_txid,
            in_segment=writer.edits_in_segment + 1 if writer.is_open else 0,
            writers=len(namesystem.leases),
            tail_age_ms=age_ms,
        )

    def _beans(
        self,
        status: NamenodeStatus,
        windows: list[TopWindow],
        counted: Counted,
        log: LogFacts,
        wall_ms: int,
        *,
        with_nodes: bool,
    ) -> list[jmx.Bean]:
        startup = self.startup.see()
        all_beans = [*beans(status, with_nodes=with_nodes), bean(startup), retry_cache(counted)]
        extras = namesystem_extras(windows, self._log.syncs, log, wall_ms=wall_ms)
        for entry in all_beans:
            name = str(entry["name"]).partition("name=")[2]
            if name in ("FSNamesystem", "FSNamesystemState"):
                entry |= extras
            elif name == "NameNodeInfo":
                entry["Threads"] = thread_count()
        rpc = self._rpc
        all_beans.append(
            activity(
                [] if rpc is None else list(rpc.figures.values()),
                self._log.transactions,
                self._log.syncs,
                self._rates,
                counted,
                log.pending,
                startup,
                started_ms=status.started_ms,
                now_ns=time.monotonic_ns(),
            )
        )
        return all_beans

    def windows(self) -> list[TopWindow]:
        """Who called most, as of now."""
        if self.top is None:
            return []
        self._snapshot(self.top)
        return self.top.top(self._namesystem.clock.monotonic_ms())

    def _snapshot(self, top: TopUsers) -> None:
        counts: dict[str, dict[str, int]] = {}
        for figures in () if self._rpc is None else self._rpc.figures.values():
            for method, method_figures in figures.methods.items():
                if not method_figures.users:
                    continue
                users, method_figures.users = method_figures.users, {}
                operation = operation_of(method)
                if operation is not None:
                    into = counts.setdefault(operation, {})
                    for user, count in users.items():
                        into[user] = into.get(user, 0) + count
        top.add(self._namesystem.clock.monotonic_ms(), counts)

    def _ports(self) -> Mapping[int, Port]:
        rpc = self._rpc
        if rpc is None:
            return {}
        return {
            port: Port(figures, len(rpc.connections), rpc.waiting_calls)
            for port, figures in list(rpc.figures.items())
        }

    def _alive(self) -> Report:
        return Report("namenode", [self.pulse.check(time.monotonic())])

    def _ready(self) -> Report:
        state = self._context.state
        safe_mode = self._namesystem.safe_mode
        trouble = self._trouble()
        return Report(
            "namenode",
            [
                Check("serves", state in _SERVING, f"it is {state.value}"),
                Check("resources", not trouble, trouble or "there is room for edits"),
            ],
            {
                "ha_state": state.value,
                "safe_mode": safe_mode.on,
                "safe_mode_status": safe_mode.status() if safe_mode.on else "",
            },
        )
