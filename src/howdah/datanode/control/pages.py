"""What a datanode answers over HTTP: WebHDFS, `/jmx` and `/conf` (shell).

DatanodeHttpServer in Hadoop; its beans are made by `beans`. On threads of the control process: no
page costs the data process its time.
"""

from __future__ import annotations

import logging
import re
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

from howdah.config import Configuration, keys
from howdah.datanode.channel.shared_counters import Gauges
from howdah.datanode.control.replica_index import ReplicaIndex
from howdah.datanode.latency.activity import SHOWN, Work, read_count, read_work
from howdah.datanode.scanners.volume_scanner import VolumeScanners
from howdah.datanode.state.messages import OutliersFound
from howdah.runtime import unexpected_errors
from howdah.runtime.privileges import HeldPorts
from howdah.web import jmx
from howdah.web.http import Guard, Request, Response, text_response
from howdah.web.monitoring.families import Family, Total, one
from howdah.web.monitoring.health import Check, Report
from howdah.web.monitoring.pages import Monitoring
from howdah.web.pages.common import Common, configured
from howdah.web.pages.datanode import (
    LINKS,
    DatanodeFacts,
    NamenodeFacts,
    ScanFacts,
    VolumeFacts,
    overview,
)
from howdah.web.ports import WebKeys, WebPorts, listen
from howdah.web.process_bridge import OtherProcess
from howdah.web.server import Exchange, HttpServer
from howdah.web.webhdfs.parameters import is_webhdfs

log = logging.getLogger(__name__)

_TIMEOUT_S: Final = 60.0
_WEB_KEYS: Final = WebKeys(keys.DFS_DATANODE_HTTP_ADDRESS, keys.DFS_DATANODE_HTTPS_ADDRESS)


def families(gauges: Gauges) -> Iterator[Family]:
    """Yield the families for Prometheus: how often each work was done, and how long it took
    together."""
    yield Family(
        "howdah_datanode_work_seconds",
        "summary",
        "What takes a datanode time, by kind of work.",
        tuple(
            ({"work": work.name}, Total(count, total_ns / 1e9))
            for work in Work
            for count, total_ns in (read_work(gauges.figure, work),)
        ),
    )
    for counter in SHOWN:
        yield one(
            "howdah_datanode_" + re.sub("(?=[A-Z])", "_", counter.name).lower().strip("_"),
            "counter",
            "Since the start of the datanode.",
            read_count(gauges.figure, counter),
        )
    yield one("howdah_datanode_connections", "gauge", "Data connections.", gauges.connections)
    yield one(
        "howdah_datanode_locked_bytes", "gauge", "Memory that replicas take.", gauges.locked_bytes
    )


def facts(
    inventory: ReplicaIndex,
    gauges: Gauges,
    memory_bytes: int,
    uuid: str,
    name: str,
    namenodes: list[tuple[str, str, bool]],
    cached: Callable[[str], list[int]],
    scanners: VolumeScanners,
    slow: OutliersFound,
) -> DatanodeFacts:
    """Return what the page shows. `cached` has the blocks of a pool that are cached."""
    pools = inventory.counts()
    return DatanodeFacts(
        name=name,
        uuid=uuid,
        volumes=[
            VolumeFacts(
                state.volume.path,
                state.volume.storage_type.name,
                *(
                    (
                        usage.capacity_bytes,
                        usage.used_bytes,
                        usage.remaining_bytes,
                        usage.non_dfs_used_bytes,
                    )
                    if (usage := state.usage) is not None
                    else (0, 0, 0, 0)
                ),
                reserved_bytes=state.volume.reserved_bytes,
                failure=state.failure or "",
                hangs=state.hangs,
            )
            for state in inventory.states("")
        ],
        pools=pools,
        namenodes=[NamenodeFacts(*namenode) for namenode in namenodes],
        connections=gauges.connections,
        locked_bytes=gauges.locked_bytes,
        lockable_bytes=memory_bytes,
        cached_blocks=sum(len(cached(pool)) for pool in pools),
        scans=[
            ScanFacts(path, scan.blocks, scan.errors, scan.rounds, recent_bytes)
            for path, (scan, recent_bytes) in scanners.figures().items()
        ]
        if scanners.enabled
        else None,
        slow_peers=[
            f"{peer.name}: {peer.mean_ms:.1f} ms a packet, where {peer.median_ms:.1f} ms are usual"
            for peer in slow.peers
        ],
        slow_disks=[
            f"{disk.path}: "
            + ", ".join(f"{operation} {mean:.1f} ms" for operation, mean in disk.means())
            for disk in slow.disks
        ],
        defects=dict(unexpected_errors.seen),
    )


def monitoring(
    is_data_process_alive: Callable[[], bool],
    namenodes: Callable[[], list[tuple[str, str, bool]]],
) -> Monitoring:
    """Return the checks of a datanode. `namenodes` has the nameservice and the address of each, and
    whether it has registered this datanode."""

    def alive() -> Report:
        lives = is_data_process_alive()
        said = "it lives" if lives else "it has died, and the datanode ends"
        return Report("datanode", [Check("data process", lives, said)])

    def ready() -> Report:
        members = namenodes()
        served = [address for _, address, is_served in members if is_served]
        waits = [address for _, address, is_served in members if not is_served]
        said = f"registered with {', '.join(served) or 'no namenode'}"
        return Report(
            "datanode",
            [*alive().checks, Check("registered", bool(served), said)],
            {"namenodes": served, "waits_for": waits},
        )

    return Monitoring("DataNode", alive=alive, ready=ready)


class Files(Protocol):
    """Answers WebHDFS. It is a client, which servers do not know: whoever starts the datanode
    says how one is made, which happens at the first request."""

    def answer(self, request: Request) -> Exchange: ...
    def close(self) -> None: ...


MakeFiles = Callable[[str, Callable[[], socket.socket], Callable[[int], None]], Files]
"""Gets the uuid of this datanode, what makes a connection to its data process, and whom to tell
how many bytes of a replica were read from its file."""


class Pages:
    """Serves the pages of one datanode."""

    def __init__(
        self,
        conf: Configuration,
        beans: Callable[[], list[jmx.Bean]],
        make_files: Callable[[], Files] | None = None,
        *,
        watch: Monitoring,
        families: Callable[[], Iterable[Family]] = tuple,
        also: OtherProcess | None = None,
        guard: Guard | None = None,
        held: HeldPorts | None = None,
    ) -> None:
        """`also` is the data process; `guard` says who may ask for what, None lets everybody.
        `held` are ports that were taken before."""
        self._families = families
        self.facts: Callable[[], DatanodeFacts] | None = None
        """What the page shows, once there is something; called on any thread."""
        self._name = ""
        self._watch = watch
        self._make_files = make_files
        self._files: Files | None = None
        self._lock = threading.Lock()
        self._common = Common(
            "datanode", lambda: self._name, LINKS, lambda: configured(conf), also=also
        )
        self._beans = beans
        self._server = HttpServer(self.answer, timeout_s=_TIMEOUT_S)
        self._server.guard = guard
        if held is not None:
            self._server.held = held

    def start(self, conf: Configuration) -> WebPorts:
        """Listen. Raises `InvalidConfiguration` where it cannot."""
        ports = listen(self._server, conf, _WEB_KEYS)
        self._name = "{}:{}".format(*ports.first)
        return ports

    def stop(self) -> None:
        """No page is answered any more, and the port is free."""
        self._server.stop()
        with self._lock:
            if self._files is not None:
                self._files.close()

    def answer(self, request: Request) -> Response | Exchange:
        if self._make_files is not None and is_webhdfs(request.path):
            with self._lock:
                if self._files is None:
                    self._files = self._make_files()
            return self._files.answer(request)
        if request.method not in ("GET", "HEAD"):
            return text_response(405, "only GET and HEAD are answered")
        response = self._common.answer(request)
        if response is not None:
            return response
        if request.path == "/":
            if self.facts is None:
                return text_response(503, "this datanode is starting: look again in a moment")
            return self._common.page("/", "Overview", overview(self.facts()))
        if self._watch.wants(request):
            return self._watch.answer(request, self._beans(), self._families)
        return text_response(404, f"there is no {request.path} here")
