"""`howdah secondarynamenode`: merges image and log on another machine (shell; FS-031).

It is no namenode: it takes no calls, and its web port is for those who watch it. A checkpoint
goes so:

1. the namenode ends its segment and begins another one; what came before it is to be
   merged
2. the namenode's newest image is fetched, unless what was merged last is as new
3. the finished segments behind it are fetched
4. their edits are applied, and the image is written beside the older ones, where it
   stays (FS-033)
5. the image is sent to the namenode

The merged namespace is kept in memory for the next time, as much as the namenode has
itself (FS-032). It is dropped when something goes wrong, and when the namenode's log
does not go on where the merge ended: then its past may be another one by now.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys, namenode_address
from howdah.formats.version import NAMENODE_LAYOUT_VERSION, NamenodeVersion
from howdah.namenode.journal.checkpoints.checkpoint import CheckpointSettings
from howdah.namenode.journal.checkpoints.directories import CheckpointDirectories
from howdah.namenode.journal.checkpoints.primary import Primary, Signature
from howdah.namenode.server.nameservice.identity import alone
from howdah.namenode.server.process.secondary_security import security_of
from howdah.namenode.server.process.settings import checkpoints_from
from howdah.namenode.service.monitoring import secondary as watch
from howdah.namenode.state.images.image import read_image, write_image
from howdah.namenode.state.inodes.block_events import EditDoesNotFit
from howdah.namenode.state.tree.namespace import Namespace
from howdah.runtime import serve
from howdah.runtime.process_identity import AskedToEnd
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place, among_servers
from howdah.security.server_checks import takes_simple
from howdah.security.strangers import keep_reminding
from howdah.storage.image_files import (
    WrittenImage,
    check_image,
    discard_unfinished,
    finish_image,
    image_name,
    read_sum,
    write_unfinished,
)
from howdah.storage.segments import Segment, read_segment
from howdah.web.http import Request, Response, text_response
from howdah.web.monitoring.health import Report
from howdah.web.monitoring.pages import Monitoring
from howdah.web.pages.common import Common, configured
from howdah.web.pages.layout import Link
from howdah.web.ports import WebKeys, WebPorts, listen
from howdah.web.server import Exchange, HttpServer

log = logging.getLogger(__name__)

_ANY_HOST: Final = ("0.0.0.0", "::", "")
_WEB_KEYS: Final = WebKeys(
    keys.DFS_NAMENODE_SECONDARY_HTTP_ADDRESS, keys.DFS_NAMENODE_SECONDARY_HTTPS_ADDRESS
)
_WEB_TIMEOUT_S: Final = 60.0
_EDITS_BETWEEN_LOOKS: Final = 1000
# What comes back if the same is tried again.
_BAD_INPUT: Final = (errors.CorruptEditLog, errors.CorruptImage, errors.UnsupportedOperation)


class Stopped(Exception):
    """It was told to end in the middle of something."""


@dataclass(slots=True)
class _Merged:
    namespace: Namespace
    txid: int


class Secondary:
    """Makes checkpoints of one namenode. Everything raises HowdahError or OSError."""

    def __init__(
        self,
        directories: CheckpointDirectories,
        primary: Primary,
        settings: CheckpointSettings,
        stop: threading.Event,
    ) -> None:
        """`stop` ends whatever is under way, by `Stopped`."""
        self._directories = directories
        self._primary = primary
        self._settings = settings
        self._stop = stop
        self._merged: _Merged | None = None
        self.failed_merges = 0
        """In a row."""

    def uncheckpointed(self) -> int:
        """How many transactions the namenode has that no image here covers."""
        last_txid = self._primary.last_txid()
        return last_txid - self._directories.newest_image_txid(last_txid)

    def checkpoint(self) -> int:
        """All five steps; the transaction of the new image."""
        signature = self._primary.roll()
        version = signature.version
        if version.layout_version != NAMENODE_LAYOUT_VERSION:
            raise errors.IncorrectVersion(
                f"the namenode has layout version {version.layout_version}; images of "
                f"{NAMENODE_LAYOUT_VERSION} are of no use to it"
            )
        self._directories.belong_to(version)
        self._directories.set_later_aside(signature.end_txid)
        try:
            merged = self._merge(signature)
        except _BAD_INPUT:
            self._merged = None
            self.failed_merges += 1
            raise
        self.failed_merges = 0
        written = self._save(merged, version)
        self._directories.end_checkpoint(merged.txid, self._settings.retention)
        path = written.directories[0] / image_name(merged.txid)
        if self._primary.send_image(version, merged.txid, path, written.md5):
            log.info("the namenode has the image of transaction %d", merged.txid)
        return merged.txid

    # Steps.

    def _merge(self, signature: Signature) -> _Merged:
        merged = self._merged
        if merged is not None:
            segments = self._primary.finished_segments(merged.txid + 1)
            if not segments or segments[0][0] != merged.txid + 1:
                log.warning("the namenode's log does not go on at %d", merged.txid + 1)
                merged = None
        if merged is None:
            merged = self._merged = self._load(signature)
            segments = self._primary.finished_segments(merged.txid + 1)
        for first_txid, last_txid in segments:
            if merged.txid < signature.end_txid:
                self._apply(merged, self._segment(signature.version, first_txid, last_txid))
        if merged.txid != signature.end_txid:
            raise errors.CheckpointFailed(
                f"the namenode's log should reach transaction {signature.end_txid}, and what "
                f"it has finished ends at {merged.txid}"
            )
        return merged

    def _load(self, signature: Signature) -> _Merged:
        txid = signature.image_txid
        path = self._same_image(signature) or self._fetched_image(signature)
        with open(path, "rb", buffering=0) as file:
            namespace, counters = read_image(file, str(path))
        if counters.txid != txid or counters.namespace_id != signature.version.namespace_id:
            raise errors.CorruptImage(
                f"image {path} is of namespace {counters.namespace_id} after transaction "
                f"{counters.txid}"
            )
        log.info("loaded %s with %d inodes", path, len(namespace.inodes))
        return _Merged(namespace, txid)

    def _same_image(self, signature: Signature) -> Path | None:
        """The namenode's image, if it is here already."""
        for current in self._directories.images:
            path = current / image_name(signature.image_txid)
            try:
                check_image(path)
                md5 = read_sum(path)
            except (errors.CorruptImage, OSError):
                continue  # It is fetched.
            if md5 == self._primary.image_sum(signature.version, signature.image_txid):
                return path
        return None

    def _fetched_image(self, signature: Signature) -> Path:
        txid = signature.image_txid
        sums: list[str | None] = []
        written = write_unfinished(
            self._directories.images,
            txid,
            lambda sink: sums.append(self._primary.fetch_image(signature.version, txid, sink)),
        )
        if sums[0] not in (None, written.md5):
            discard_unfinished(written.directories, written.txid)
            raise errors.CorruptImage(
                f"the image of transaction {txid} was damaged on its way: its sum is "
                f"{written.md5}, and should be {sums[0]}"
            )
        log.info("fetched the image of transaction %d, %d bytes", txid, written.size_bytes)
        return finish_image(written)[0] / image_name(txid)

    def _segment(self, version: NamenodeVersion, first_txid: int, last_txid: int) -> Segment:
        """Fetch a segment, whatever is here under its name: a namenode that was restored from an
        older image, or rolled back, has other edits under the same transactions."""
        log.info("fetching the edits %d to %d", first_txid, last_txid)
        return self._directories.keep_segment(
            first_txid,
            last_txid,
            lambda sink: self._primary.fetch_edits(version, (first_txid, last_txid), sink),
        )

    def _apply(self, merged: _Merged, segment: Segment) -> None:
        try:
            for count, placed in enumerate(read_segment(segment)):
                if count % _EDITS_BETWEEN_LOOKS == 0:
                    self.go_on()
                txid = placed.logged.txid
                if txid <= merged.txid:
                    continue
                try:
                    merged.namespace.apply(placed.logged.edit)
                except (EditDoesNotFit, errors.UnsupportedOperation) as error:
                    raise errors.CorruptEditLog(
                        f"{segment.path}, offset {placed.offset}, transaction {txid}: {error}"
                    ) from error
                merged.txid = txid
        except errors.CorruptEditLog:
            self._directories.drop_segment(segment)
            raise
        # Nothing here has to be quick: what was deleted is gone at once.
        merged.namespace.reap(len(merged.namespace.inodes) * 2 + 1)

    def _save(self, merged: _Merged, version: NamenodeVersion) -> WrittenImage:
        written = write_unfinished(
            self._directories.images,
            merged.txid,
            lambda sink: write_image(
                merged.namespace,
                version.namespace_id,
                merged.txid,
                sink,
                codec=self._settings.codec,
                go_on=self.go_on,
            ),
        )
        for directory, why in written.failed:
            log.error("no image in %s: %s", directory, why)
        done = finish_image(written)
        log.info("merged up to transaction %d: %d bytes", merged.txid, written.size_bytes)
        return WrittenImage(written.txid, written.md5, written.size_bytes, tuple(done))

    def go_on(self) -> None:
        """Raises Stopped."""
        if self._stop.is_set():
            raise Stopped


class SecondaryServer:
    """The process: opened directories, a connection, and a loop."""

    def __init__(self, conf: Configuration, *, format: bool = False) -> None:
        """Raises HowdahError, OSError."""
        self._conf = conf
        security = security_of(conf)
        self._settings = checkpoints_from(conf)
        self._stop = AskedToEnd()
        image_roots = conf.get(keys.DFS_NAMENODE_CHECKPOINT_DIR)
        edits_roots = conf.get(keys.DFS_NAMENODE_CHECKPOINT_EDITS_DIR)
        self._directories = CheckpointDirectories(image_roots, edits_roots)
        self._primary = Primary(
            namenode_address(conf),
            _web_place(conf),
            tls=ClientTls(conf),
            bytes_per_s=conf.get(keys.DFS_IMAGE_TRANSFER_BANDWIDTHPERSEC),
            timeout_s=conf.get(keys.DFS_IMAGE_TRANSFER_TIMEOUT),
            go_on=self._go_on,
            user=None if security is None else security.caller,
        )
        self.secondary = Secondary(self._directories, self._primary, self._settings, self._stop)
        self._facts = watch.SecondaryFacts(
            namenode="{}:{}".format(*namenode_address(conf)),
            image_directories=[root.absolute().as_uri() for root in image_roots],
            edits_directories=[root.absolute().as_uri() for root in edits_roots],
            period_s=self._settings.period_s,
            check_period_s=self._settings.check_period_s,
            transactions=self._settings.transactions,
            started_ms=time.time_ns() // 1_000_000,
            covered_s=time.monotonic(),
        )
        # An image that is here and that the namenode could not take covers nothing.
        self._owes = False
        self.web = WebPorts(None, None)
        """Where its pages are, once it serves."""
        self._http = HttpServer(Pages(conf, lambda: self._facts).answer, timeout_s=_WEB_TIMEOUT_S)
        self._http.guard = None if security is None else security.web
        self._directories.open(format=format)

    @property
    def transactions(self) -> int:
        """So many ask for a checkpoint."""
        return self._settings.transactions

    def close(self) -> None:
        self._http.stop()
        self._primary.close()
        self._directories.close()

    def stop(self) -> None:
        """End soon, whatever is under way."""
        self._stop.set()

    def serve(self, ready_file: Path | None) -> int:
        """Make checkpoints until it is stopped, or merges fail too often; the exit code.

        Raises InvalidConfiguration, OSError where its web port cannot be had.
        """
        self.web = self._listen()
        serve.write_ready_file(ready_file, watch.ROLE, **self.web.addresses())
        last_s = -float("inf")
        retries = self._conf.get(keys.DFS_NAMENODE_CHECKPOINT_MAX_RETRIES)
        while not self._stop.wait(self._settings.check_period_s):
            try:
                began_s = time.monotonic()
                if self._is_due(last_s):
                    self._owes = True
                    txid = self.secondary.checkpoint()
                    self._owes = False
                    last_s = began_s
                    self._facts = replace(
                        self._facts,
                        covered_s=began_s,
                        checkpoint_ms=time.time_ns() // 1_000_000,
                        checkpoint_s=time.monotonic(),
                        checkpoint_txid=txid,
                    )
                if not self._owes:
                    self._facts = replace(self._facts, failure="")
            except Stopped:
                break
            except (errors.HowdahError, OSError) as error:
                log.error("no checkpoint: %s", error)
                self._facts = replace(self._facts, failure=str(error))
                if self.secondary.failed_merges > retries:
                    log.critical("merging failed %d times", self.secondary.failed_merges)
                    return 1
        log.info("stopped")
        return 0

    def _is_due(self, last_s: float) -> bool:
        asked_s = time.monotonic()
        uncovered = self.secondary.uncheckpointed()
        # The record that begins a segment changes nothing.
        if uncovered <= 1 and not self._owes:
            self._facts = replace(self._facts, covered_s=asked_s)
        return (
            self._owes
            or uncovered >= self._settings.transactions
            or (
                (uncovered > 1 or last_s < 0)
                and time.monotonic() - last_s >= self._settings.period_s
            )
        )

    def _go_on(self) -> None:
        self.secondary.go_on()

    def _listen(self) -> WebPorts:
        web = listen(self._http, self._conf, _WEB_KEYS)
        serve.warn_if_exposed("secondary namenode", self._http.bound)
        if takes_simple(self._conf):
            keep_reminding("secondary namenode")
        log.info("pages of the secondary namenode are at %s", web.urls)
        return web


class Pages:
    """Answers requests, on whatever thread asks."""

    def __init__(self, conf: Configuration, facts: Callable[[], watch.SecondaryFacts]) -> None:
        def report() -> Report:
            return watch.report(facts(), time.monotonic())

        self._facts = facts
        self._watch = Monitoring("SecondaryNameNode", alive=report, ready=report)
        self._common = Common(
            "secondary namenode",
            lambda: f"of {facts().namenode}",
            (Link("/", "Overview"),),
            lambda: configured(conf),
        )

    def answer(self, request: Request) -> Response | Exchange:
        if request.method not in ("GET", "HEAD"):
            return text_response(405, "only GET and HEAD are answered")
        response = self._common.answer(request)
        if response is not None:
            return response
        facts, now_s = self._facts(), time.monotonic()
        if self._watch.wants(request):
            return self._watch.answer(request, [watch.bean(facts, now_s)])
        if request.path == "/":
            return self._common.page("/", "Checkpoints", watch.overview(facts, now_s))
        return text_response(404, f"there is no {request.path} here")


def _web_place(conf: Configuration) -> Place:
    """Where the namenode's images are. A host that stands for all is the one of its calls."""
    is_secure = among_servers(conf)
    key = keys.DFS_NAMENODE_HTTPS_ADDRESS if is_secure else keys.DFS_NAMENODE_HTTP_ADDRESS
    host, port = conf.get(key)
    return Place(is_secure, namenode_address(conf)[0] if host in _ANY_HOST else host, port)


def run(conf: Configuration, ready_file: Path | None = None, *, format: bool = False) -> int:
    """Serve until SIGTERM; the exit code."""
    try:
        conf = alone(conf, "a secondary namenode", "standby namenodes make the images there")
        server = SecondaryServer(conf, format=format)
    except (errors.HowdahError, OSError) as error:
        log.critical("the secondary namenode cannot start: %s", error)
        return 1
    serve.on_signals(server.stop)
    try:
        return server.serve(ready_file)
    except (errors.HowdahError, OSError) as error:
        log.critical("the secondary namenode cannot start: %s", error)
        return 1
    finally:
        server.close()
