"""What the namenode answers over HTTP (shell): Hadoop's NameNodeHttpServer.

WebHDFS, images and segments, `/fsck`, `/topology`, `/jmx`, `/conf`, and the status page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from howdah.config import Configuration, keys, namenode_address
from howdah.formats.version import NamenodeVersion
from howdah.namenode.journal.checkpoints.checkpoint import Checkpoints
from howdah.namenode.journal.checkpoints.image_server import ImageServer
from howdah.namenode.server.ha.log_writer import LogWriter
from howdah.namenode.server.monitoring.metrics_service import MetricsService
from howdah.namenode.server.process import fsck_pages
from howdah.namenode.server.process.fsck_pages import FsckPages
from howdah.namenode.server.web_ui.page_data import Figures
from howdah.namenode.server.web_ui.pages import SitePages
from howdah.namenode.server.webhdfs.pages import WebHdfs
from howdah.namenode.service.calls.reencryption import Reencryptor
from howdah.namenode.service.encryption_status import encryption_status
from howdah.namenode.service.ha.states import SERVED, HAContext
from howdah.namenode.service.monitoring import startup, topology_page
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.status import Surroundings, namenode_status, nodes_shown
from howdah.protocol.client_methods import Category
from howdah.runtime import unexpected_errors
from howdah.web import image_transfer
from howdah.web.http import Request
from howdah.web.monitoring import health
from howdah.web.pages import namenode
from howdah.web.pages.cluster_reading import ClusterReader
from howdah.web.pages.common import Common, configured
from howdah.web.server import WORDS, Answer, Later, Run
from howdah.web.status import (
    EditsDirectoryStatus,
    JournalNodeStatus,
    NamenodeStatus,
    NodeStatus,
    respond,
)
from howdah.web.webhdfs.parameters import is_webhdfs


class Pages:
    """Answers requests. What is shown is collected on the loop, and put into words beside it."""

    def __init__(
        self,
        conf: Configuration,
        namesystem: Namesystem,
        version: NamenodeVersion,
        context: HAContext,
        log_writer: LogWriter,
        checkpoints: Checkpoints,
        images: ImageServer,
        fsck: FsckPages,
        is_upgrade_finalized: Callable[[], bool],
        warnings: Callable[[], tuple[str, ...]],
        lease_trouble: Callable[[], str],
        watch: MetricsService,
        webhdfs: WebHdfs | None,
        loop: asyncio.AbstractEventLoop,
        run: Run,
        caller: str | None = None,
        *,
        reencryptor: Reencryptor,
    ) -> None:
        """`warnings` are shown on the status page; `lease_trouble` says why nobody confirms the
        shared log, "" where it is confirmed. Without `webhdfs` that is switched off. `run`
        does something on the loop. Other namenodes are asked as `caller`."""
        self._conf = conf
        self._namesystem = namesystem
        self._version = version
        self._context = context
        self._log = log_writer
        self._checkpoints = checkpoints
        self._images = images
        self._fsck = fsck
        self._is_upgrade_finalized = is_upgrade_finalized
        self._warnings = warnings
        self._lease_trouble = lease_trouble
        self._watch = watch
        self._webhdfs = webhdfs
        self._reencryptor = reencryptor
        self._started_ms = namesystem.clock.wall_ms()
        self.port = 0
        """Where clients call, once the namenode listens."""
        self._site = SitePages(
            Common("namenode", self._host_and_port, namenode.LINKS, lambda: configured(conf), loop),
            Figures(
                namesystem,
                reencryptor,
                run,
                lambda nodes: nodes_shown(namesystem, nodes),
                self.status,
            ),
            ClusterReader(conf, caller),
            has_webhdfs=webhdfs is not None,
            own_header=conf.get(keys.DFS_WEBHDFS_REST_CSRF_CUSTOM_HEADER),
            standing_by=lambda: (
                None if Category.READ in SERVED[context.state] else context.state.value
            ),
            conf=conf,
        )

    def note_progress(self) -> None:
        """Now and then, on the loop: what is left of long work."""
        self._site.figures.note_progress()

    def answer(self, request: Request) -> Answer:
        if self._webhdfs is not None and is_webhdfs(request.path):
            return self._webhdfs.answer(request)
        if request.path == image_transfer.PATH:
            return self._images(request)
        if request.path == fsck_pages.PATH and request.method == "GET":
            return self._fsck.answer(request)
        if request.path == startup.PATH and request.method in ("GET", "HEAD"):
            return startup.respond(self._watch.startup.see())
        if health.asks_who_is_active(request):
            return health.respond_active(self._context.is_active)
        if topology_page.asks_for_topology(request):
            return topology_page.respond(
                request, self._namesystem.datanode_manager.datanodes.live()
            )
        response = self._site.answer(request)
        if response is not None:
            return response
        figures = self._site.figures
        if self._watch.pages.wants(request):
            return Later(
                self._watch.respond(request, figures.status, lambda: figures.snapshots()[0])
            )
        return Later(lambda: respond(request, figures.status, WORDS))

    def _host_and_port(self) -> str:
        host, port = namenode_address(self._conf)
        return f"{host}:{self.port or port}"

    def status(self, nodes: Sequence[NodeStatus] | None = None) -> NamenodeStatus:
        """Return the status, with these datanodes, or with all; called on the loop."""
        journal = self._log.journal
        age_s = self._checkpoints.image_age_s
        return namenode_status(
            self._namesystem,
            Surroundings(
                encryption=encryption_status(self._namesystem, self._reencryptor),
                cluster_id=self._version.cluster_id,
                block_pool_id=self._version.block_pool_id,
                host_and_port=self._host_and_port(),
                started_ms=self._started_ms,
                durable_txid=self._log.durable_txid,
                image_txid=self._checkpoints.image_txid,
                image_ms=0
                if age_s is None
                else self._namesystem.clock.wall_ms() - round(age_s * 1000),
                upgrade_finalized=self._is_upgrade_finalized(),
                edits_directories=(
                    *(
                        EditsDirectoryStatus(
                            state.journal.name, state.required, state.failure or ""
                        )
                        for state in (journal.states() if journal is not None else ())
                    ),
                    *(
                        EditsDirectoryStatus(
                            shared.name,
                            True,
                            shared.lost or self._lease_trouble(),
                            [
                                JournalNodeStatus(
                                    node.node,
                                    node.acknowledged_txid,
                                    node.out_of_sync or "",
                                    node.queued_bytes,
                                    node.silent,
                                )
                                for node in shared.reports()
                            ],
                        )
                        for shared in (self._log.shared,)
                        if shared is not None
                    ),
                ),
                warnings=self._warnings(),
                ha_state=self._context.state.value,
                last_transition_ms=self._context.last_transition_ms,
                rollback_image=self._checkpoints.has_rollback_image,
                defects=dict(unexpected_errors.seen),
            ),
            nodes,
        )
