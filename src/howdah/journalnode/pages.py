"""What a journal node answers over HTTP (shell): segments, `/jmx`, `/conf` and a page.
Hadoop: JournalNodeHttpServer, GetJournalEditServlet, JournalNodeMXBean."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from howdah import __version__, errors
from howdah.config import Configuration
from howdah.journalnode.journal import Journal
from howdah.journalnode.node import Journals
from howdah.journalnode.state.status import JournalMetrics, Status
from howdah.runtime import unexpected_errors
from howdah.web import jmx, segment_transfer
from howdah.web.channel import Channel
from howdah.web.file_response import FileOut, OutgoingFile
from howdah.web.http import Request, Response, text_response
from howdah.web.monitoring.families import Family
from howdah.web.monitoring.health import Check, Report
from howdah.web.monitoring.pages import Monitoring, Port, no_ports
from howdah.web.pages.common import Common, configured
from howdah.web.pages.journalnode import LINKS, JournalFacts, overview
from howdah.web.segment_transfer import SegmentWanted, parse_wanted
from howdah.web.server import Exchange

_SERVICE: Final = "Hadoop:service=JournalNode,name="


class Pages:
    """Answers requests, on whatever thread asks."""

    def __init__(
        self,
        conf: Configuration,
        journals: Journals,
        bytes_per_s: int,
        timeout_s: float,
        ports: Callable[[], Mapping[int, Port]] = no_ports,
        name: str = "",
    ) -> None:
        """`ports` are those of calls; `name` is the node's address."""
        self._watch = Monitoring(
            "JournalNode",
            alive=lambda: Report("journalnode", [Check("process", True, "it answers")]),
            ready=lambda: ready(journal.status() for journal in journals.all()),
            ports=ports,
        )
        self._common = Common("journal node", lambda: name, LINKS, lambda: configured(conf))
        self._journals = journals
        self._name = name
        self._started_ms = time.time_ns() // 1_000_000
        self._bytes_per_s = bytes_per_s
        self._timeout_s = timeout_s

    def answer(self, request: Request) -> Response | Exchange:
        if request.method not in ("GET", "HEAD"):
            return text_response(405, "only GET and HEAD are answered")
        if request.path == segment_transfer.PATH:
            return self._segment(request)
        response = self._common.answer(request)
        if response is not None:
            return response
        if self._watch.wants(request):
            return self._watch.answer(
                request,
                beans(self._journals.all(), self._name, self._started_ms, time.monotonic()),
                lambda: families(self._journals.all()),
            )
        if request.path == "/":
            body = overview(facts(self._journals.all()), time.time_ns() // 1_000_000)
            return self._common.page("/", "Journals", body)
        return text_response(404, f"there is no {request.path} here")

    def _segment(self, request: Request) -> Response | Exchange:
        if request.method != "GET":
            return text_response(405, "segments are fetched with GET")
        try:
            wanted = parse_wanted(request)
        except errors.IllegalArgument as error:
            return text_response(400, error.message)
        return SegmentOut(request, self._journals, wanted, self._bytes_per_s, self._timeout_s)


class SegmentOut:
    """Sends a segment, or says why not."""

    def __init__(
        self,
        request: Request,
        journals: Journals,
        wanted: SegmentWanted,
        bytes_per_s: int,
        timeout_s: float,
    ) -> None:
        self._journals = journals
        self._wanted = wanted
        self._refusal: Response | None = None
        self._file = FileOut(request, self._find, bytes_per_s, timeout_s, missing_status=404)

    def run(self, channel: Channel) -> None:
        wanted = self._wanted
        try:
            version = self._journals.find(wanted.journal_id).version()
        except errors.IllegalArgument as error:
            self._refusal = text_response(400, error.message)
            return
        except errors.HowdahError as error:
            self._refusal = text_response(404, error.message)
            return
        if not wanted.is_of(version.namespace_id, version.cluster_id):
            self._refusal = text_response(
                403,
                f"This node has namespaceId '{version.namespace_id} and clusterId "
                f"'{version.cluster_id}' but the requesting node expected "
                f"'{wanted.storage_info}'",
            )
            return
        self._file.run(channel)

    def done(self) -> Response | None:
        return self._refusal or self._file.done()

    def _find(self) -> OutgoingFile:
        wanted = self._wanted
        journal = self._journals.find(wanted.journal_id)
        path, length_bytes = journal.segment_file(
            wanted.first_txid, in_progress_ok=wanted.in_progress_ok
        )
        return OutgoingFile(path, length_bytes)


def ready(journals: Iterable[Status]) -> Report:
    """Report whether the node takes edits: it has a journal, and each of them can be used."""
    statuses = list(journals)
    troubles = [f"{status.journal_id}: {status.trouble}" for status in statuses if status.trouble]
    return Report(
        "journalnode",
        [
            Check("formatted", bool(statuses), f"it has {len(statuses)} journals"),
            Check("usable", not troubles, "; ".join(troubles) or "each can be used"),
        ],
        {
            "journals": [status.journal_id for status in statuses],
            "without_vote": [status.journal_id for status in statuses if status.is_joining],
        },
    )


def beans(
    journals: Iterable[Journal], address: str, started_ms: int, now_s: float
) -> list[jmx.Bean]:
    """Return what monitoring of Hadoop's journal nodes asks for."""
    statuses = [(journal.status(), journal.figures) for journal in journals]
    versions = [status.version for status, _ in statuses if status.version is not None]
    formatted = {
        status.journal_id: {"Formatted": str(not status.trouble).lower()} for status, _ in statuses
    }
    return [
        {
            "name": f"{_SERVICE}JournalNodeInfo",
            "modelerType": "org.apache.hadoop.hdfs.qjournal.server.JournalNode",
            "JournalsStatus": json.dumps(formatted),
            "HostAndPort": address,
            "ClusterIds": sorted({version.cluster_id for version in versions}),
            "StorageInfos": [
                f"{{LayoutVersion={version.layout_version}, NamespaceId={version.namespace_id}, "
                f"ClusterId={version.cluster_id}, CreationTime={version.ctime_ms}}}"
                for version in versions
            ],
            "JNStartedTimeInMillis": started_ms,
            "Version": __version__,
        },
        *(_bean(status, figures, now_s) for status, figures in statuses),
        {
            "name": f"{_SERVICE}HowdahDefects",
            "modelerType": "howdah.defects",
            "Total": sum(unexpected_errors.seen.values()),
            "ByPlace": json.dumps(dict(unexpected_errors.seen)),
        },
    ]


def families(journals: Iterable[Journal]) -> Iterator[Family]:
    """For Prometheus, beside the beans."""
    yield Family(
        "howdah_journalnode_sync_seconds",
        "histogram",
        "Writing a batch of edits and having it on the disk.",
        tuple(({"journal": journal.journal_id}, journal.figures.syncs) for journal in journals),
    )


def _bean(status: Status, figures: JournalMetrics, now_s: float) -> jmx.Bean:
    return {
        "name": f"{_SERVICE}Journal-{status.journal_id}",
        "modelerType": f"Journal-{status.journal_id}",
        "tag.JournalId": status.journal_id,
        "tag.Context": "dfs",
        "LastPromisedEpoch": status.promised_epoch,
        "LastWriterEpoch": status.writer_epoch,
        "LastWrittenTxId": status.highest_txid,
        "CurrentLagTxns": max(0, status.committed_txid - status.highest_txid),
        "HowdahMissingTxns": status.missing_count,
        "HowdahHasVote": not status.is_joining,
        "LastJournalTimestamp": figures.last_write_ms,
        "BatchesWritten": figures.batches_written,
        "BatchesWrittenWhileLagging": figures.batches_written_lagging,
        "TxnsWritten": figures.transactions_written,
        "BytesWritten": figures.bytes_written,
        "NumEditLogsSynced": figures.segments_synced,
        "RpcRequestCacheMissAmountNumMisses": figures.cache_misses,
        "RpcRequestCacheMissAmountAvgTxns": figures.missed_transactions / figures.cache_misses
        if figures.cache_misses
        else 0.0,
        "RpcEmptyResponses": figures.empty_answers,
        "TxnsServedViaRpc": figures.transactions_told,
        "BytesServedViaRpc": figures.bytes_told,
        **_percentiles(figures, now_s),
    }


def _percentiles(figures: JournalMetrics, now_s: float) -> jmx.Bean:
    """How long syncs took in the interval of each length that ended last, in microseconds."""
    shown: jmx.Bean = {}
    for latency in figures.latencies:
        count, values = latency.read(now_s)
        name = f"Syncs{latency.interval_s}s"
        shown[f"{name}NumOps"] = count
        for percent, value in values.items():
            shown[f"{name}{percent}thPercentileLatencyMicros"] = value
    return shown


def facts(journals: Iterable[Journal]) -> list[JournalFacts]:
    """What the page shows."""
    return [
        JournalFacts(
            name=status.journal_id,
            highest_txid=status.highest_txid,
            committed_txid=status.committed_txid,
            missing=status.missing_count,
            promised_epoch=status.promised_epoch,
            writer_epoch=status.writer_epoch,
            has_vote=not status.is_joining,
            trouble=status.trouble,
            last_write_ms=figures.last_write_ms,
            transactions_written=figures.transactions_written,
            cache_misses=figures.cache_misses,
        )
        for status, figures in ((journal.status(), journal.figures) for journal in journals)
    ]
