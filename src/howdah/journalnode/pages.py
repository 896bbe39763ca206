"""What a journal node answers over HTTP (shell): segments, `/jmx`, `/conf` and a page.
Hadoop: JournalNodeHttpServer, GetJournalEditServlet, JournalNodeMXBean."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from howdah import defects, errors, keys
from howdah.config import Configuration
from howdah.journalnode.journal import Journal
from howdah.journalnode.node import Journals
from howdah.journalnode.status import Figures, Status
from howdah.web import configuration, jmx, segment_transfer
from howdah.web.channel import Channel
from howdah.web.configuration import Property
from howdah.web.file_out import FileOut, OutgoingFile
from howdah.web.http import Request, Response, answer, plain
from howdah.web.monitoring.health import Check, Report
from howdah.web.monitoring.pages import Monitoring, Port, no_ports
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
    ) -> None:
        """`ports` are those of calls."""
        self._watch = Monitoring(
            "JournalNode",
            alive=lambda: Report("journalnode", [Check("process", True, "it answers")]),
            ready=lambda: ready(journal.status() for journal in journals.all()),
            ports=ports,
        )
        self._conf = conf
        self._journals = journals
        self._bytes_per_s = bytes_per_s
        self._timeout_s = timeout_s

    def answer(self, request: Request) -> Response | Exchange:
        if request.method not in ("GET", "HEAD"):
            return plain(405, "only GET and HEAD are answered")
        if request.path == segment_transfer.PATH:
            return self._segment(request)
        if request.path == configuration.PATH:
            return configuration.respond_conf(request, configured(self._conf))
        if self._watch.wants(request):
            return self._watch.answer(request, beans(self._journals.all()))
        if request.path == "/":
            return _page(self._journals.all())
        return plain(404, f"there is no {request.path} here")

    def _segment(self, request: Request) -> Response | Exchange:
        if request.method != "GET":
            return plain(405, "segments are fetched with GET")
        try:
            wanted = parse_wanted(request)
        except errors.IllegalArgument as error:
            return plain(400, error.message)
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
            self._refusal = plain(400, error.message)
            return
        except errors.HowdahError as error:
            self._refusal = plain(404, error.message)
            return
        if not wanted.is_of(version.namespace_id, version.cluster_id):
            self._refusal = plain(
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
    """Whether the node takes edits: it has a journal, and each of them can be used."""
    found = list(journals)
    troubles = [f"{each.journal_id}: {each.trouble}" for each in found if each.trouble]
    return Report(
        "journalnode",
        [
            Check("formatted", bool(found), f"it has {len(found)} journals"),
            Check("usable", not troubles, "; ".join(troubles) or "each can be used"),
        ],
        {
            "journals": [each.journal_id for each in found],
            "without_vote": [each.journal_id for each in found if each.is_joining],
        },
    )


def beans(journals: Iterable[Journal]) -> list[jmx.Bean]:
    """What monitoring of Hadoop's journal nodes asks for."""
    found = [(journal.status(), journal.figures) for journal in journals]
    formatted = {
        status.journal_id: {"Formatted": str(not status.trouble).lower()} for status, _ in found
    }
    return [
        {
            "name": f"{_SERVICE}JournalNodeInfo",
            "modelerType": "org.apache.hadoop.hdfs.qjournal.server.JournalNode",
            "JournalsStatus": json.dumps(formatted),
        },
        *(_bean(status, figures) for status, figures in found),
        {
            "name": f"{_SERVICE}HowdahDefects",
            "modelerType": "howdah.defects",
            "Total": sum(defects.seen.values()),
            "ByPlace": json.dumps(dict(defects.seen)),
        },
    ]


def _bean(status: Status, figures: Figures) -> jmx.Bean:
    return {
        "name": f"{_SERVICE}Journal-{status.journal_id}",
        "modelerType": f"Journal-{status.journal_id}",
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
    }


def _page(journals: Iterable[Journal]) -> Response:
    heads = ("Journal", "Last transaction", "Committed", "Missing", "Promised epoch", "Trouble")
    rows = [heads] + [
        (
            status.journal_id,
            f"{status.highest_txid:,}",
            f"{status.committed_txid:,}",
            f"{status.missing_count:,}",
            str(status.promised_epoch),
            "it has no vote yet" if status.is_joining else status.trouble,
        )
        for status in (journal.status() for journal in journals)
    ]
    table = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    body = (
        "<!doctype html><html lang=en><meta charset=utf-8><title>howdah journal node</title>"
        f"<h1>howdah journal node</h1><table>{table}</table></html>\n"
    )
    return answer(200, body.encode(), "text/html; charset=utf-8")


def configured(conf: Configuration) -> Iterator[Property]:
    """Every key with a value: those that are set, and the defaults of those that are known."""
    for name in keys.KNOWN.keys() | dict(conf.items()).keys():
        value = conf.raw(name)
        if value is not None:
            yield Property(name, value, conf.source(name))
