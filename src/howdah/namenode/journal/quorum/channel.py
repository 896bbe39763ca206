"""One journal node over RPC (shell). Hadoop: QJournalProtocolTranslatorPB, IPCLoggerChannel.

Writers and readers have a channel each, so that a reader who waits holds up no edit. What a
node answers is checked here: `messages` hold nothing that cannot be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import urlsplit

from google.protobuf.message import Message

from howdah import errors
from howdah.config.value_types import Address
from howdah.formats.edits.codec import LAYOUT_VERSION, PREFIX_BYTES, record_length
from howdah.formats.edits.segment_scan import HEADER_BYTES
from howdah.formats.malformed import MalformedRecord
from howdah.formats.version import NamenodeVersion
from howdah.namenode.journal.quorum.settings import QuorumSettings
from howdah.namenode.service.protocols.cluster_identity import ClusterIdentity
from howdah.namenode.state.quorum.messages import (
    MAX_NUMBER,
    AcceptRecovery,
    Answer,
    FinalizeSegment,
    GetState,
    Heartbeat,
    NewEpoch,
    NodeState,
    Prepared,
    PrepareRecovery,
    Promise,
    Purge,
    Request,
    SegmentState,
    SendEdits,
    Stamp,
    StartSegment,
)
from howdah.proto import qjournal_pb2 as pb
from howdah.rpc.client import AnswerType, RpcClient
from howdah.web.segment_transfer import SegmentWanted

M = TypeVar("M")

PROTOCOL: Final = "org.apache.hadoop.hdfs.qjournal.protocol.QJournalProtocol"
_CONNECT_TIMEOUT_S: Final = 5.0
_FENCED: Final = ("is less than the last promised epoch", "<= last promise")
"""What a journal node says to a writer of an epoch that is over; its class is any error's."""


@dataclass(frozen=True, slots=True)
class JournalId:
    """Whose journal it is. `nameservice` is None where it has no name."""

    name: str
    version: NamenodeVersion
    nameservice: str | None = None

    @property
    def message(self) -> pb.JournalIdProto:
        return pb.JournalIdProto(identifier=self.name)


@dataclass(frozen=True, slots=True)
class Listed:
    """The segments of a node, and the last transaction that it knows to be committed."""

    segments: tuple[SegmentState, ...]
    committed_txid: int


class Channel:
    """Calls one node. One call at a time; not thread-safe."""

    def __init__(self, address: Address, journal: JournalId, settings: QuorumSettings) -> None:
        self.name = f"{address[0]}:{address[1]}"
        self._host = address[0]
        self._journal = journal
        self._settings = settings
        self._http_port: int | None = None
        self._scheme = "http"
        self._rpc = RpcClient(
            address,
            PROTOCOL,
            user=settings.user,
            connect_timeout_s=_CONNECT_TIMEOUT_S,
            call_timeout_s=settings.rare_timeout_s,
        )

    def close(self) -> None:
        self._rpc.close()

    # What a writer asks.

    def call(self, request: Request, stamp: Stamp | None) -> Answer:
        """Raises OSError; WriterFenced if a younger writer has been promised."""
        timeout_s = self._settings.timeouts_s[type(request)]
        try:
            return self._request(request, stamp, timeout_s)
        except errors.HowdahError as error:
            if any(said in str(error) for said in _FENCED):
                raise errors.WriterFenced(str(error)) from error
            if not isinstance(error, OSError):
                raise errors.ProtocolViolation(f"{self.name}: {error}") from error
            raise

    def _request(self, request: Request, stamp: Stamp | None, timeout_s: float) -> Answer:
        match request:
            case GetState():
                return self._state(timeout_s)
            case NewEpoch(epoch):
                return self._new_epoch(epoch, timeout_s)
        assert stamp is not None, "the first two requests alone have no stamp"
        info = self._info(stamp)
        match request:
            case PrepareRecovery(segment_txid):
                return self._prepare(info, segment_txid, timeout_s)
            case AcceptRecovery(segment, from_url):
                self._call(
                    "acceptRecovery",
                    pb.AcceptRecoveryRequestProto(
                        reqInfo=info, stateToAccept=_segment_message(segment), fromURL=from_url
                    ),
                    pb.AcceptRecoveryResponseProto,
                    timeout_s,
                )
            case StartSegment(first_txid):
                self._call(
                    "startLogSegment",
                    pb.StartLogSegmentRequestProto(
                        reqInfo=info, txid=first_txid, layoutVersion=LAYOUT_VERSION
                    ),
                    pb.StartLogSegmentResponseProto,
                    timeout_s,
                )
            case SendEdits(segment_txid, first_txid, count, records):
                self._call(
                    "journal",
                    pb.JournalRequestProto(
                        reqInfo=info,
                        firstTxnId=first_txid,
                        numTxns=count,
                        records=records,
                        segmentTxnId=segment_txid,
                    ),
                    pb.JournalResponseProto,
                    timeout_s,
                )
            case FinalizeSegment(first_txid, last_txid):
                self._call(
                    "finalizeLogSegment",
                    pb.FinalizeLogSegmentRequestProto(
                        reqInfo=info, startTxId=first_txid, endTxId=last_txid
                    ),
                    pb.FinalizeLogSegmentResponseProto,
                    timeout_s,
                )
            case Heartbeat(resigns):
                self._call(
                    "heartbeat",
                    pb.HeartbeatRequestProto(reqInfo=info, resigns=resigns),
                    pb.HeartbeatResponseProto,
                    timeout_s,
                )
            case Purge(min_txid):
                self._call(
                    "purgeLogs",
                    pb.PurgeLogsRequestProto(reqInfo=info, minTxIdToKeep=min_txid),
                    pb.PurgeLogsResponseProto,
                    timeout_s,
                )
        return None

    def _state(self, timeout_s: float) -> NodeState:
        request = pb.GetJournalStateRequestProto(
            jid=self._journal.message, nameServiceId=self._journal.nameservice
        )
        answer = self._call("getJournalState", request, pb.GetJournalStateResponseProto, timeout_s)
        self._note_http(answer.httpPort, answer.fromURL)
        return NodeState(_number("epoch", answer.lastPromisedEpoch, MAX_NUMBER - 1))

    def _new_epoch(self, epoch: int, timeout_s: float) -> Promise:
        request = pb.NewEpochRequestProto(
            jid=self._journal.message,
            nsInfo=ClusterIdentity.of(self._journal.version).namespace_info(),
            epoch=epoch,
            nameServiceId=self._journal.nameservice,
        )
        answer = self._call("newEpoch", request, pb.NewEpochResponseProto, timeout_s)
        return Promise(
            _number("transaction", answer.lastSegmentTxId)
            if answer.HasField("lastSegmentTxId")
            else None,
            _number("lease", answer.leaseLeftMillis)
            if answer.HasField("leaseLeftMillis")
            else None,
        )

    def _prepare(self, info: pb.RequestInfoProto, segment_txid: int, timeout_s: float) -> Prepared:
        if self._http_port is None:
            self._state(timeout_s)
        request = pb.PrepareRecoveryRequestProto(reqInfo=info, segmentTxId=segment_txid)
        answer = self._call("prepareRecovery", request, pb.PrepareRecoveryResponseProto, timeout_s)
        segment = None
        if answer.HasField("segmentState"):
            segment = _segment(answer.segmentState)
            if segment.first_txid != segment_txid or segment.last_txid < segment_txid:
                raise errors.ProtocolViolation(
                    f"{self.name} was asked for the segment {segment_txid}, and tells of {segment}"
                )
        return Prepared(
            segment,
            answer.acceptedInEpoch if answer.HasField("acceptedInEpoch") else None,
            answer.lastWriterEpoch,
            answer.lastCommittedTxId if answer.HasField("lastCommittedTxId") else None,
            self.url_of(segment_txid),
        )

    # What a reader asks.

    def manifest(self, since_txid: int, *, unfinished: bool) -> Listed:
        """Return the segments that the node has. Raises OSError, as the others do."""
        request = pb.GetEditLogManifestRequestProto(
            jid=self._journal.message,
            sinceTxId=since_txid,
            inProgressOk=unfinished,
            nameServiceId=self._journal.nameservice,
        )
        answer = self._call(
            "getEditLogManifest",
            request,
            pb.GetEditLogManifestResponseProto,
            self._settings.read_timeout_s,
        )
        self._note_http(answer.httpPort, answer.fromURL)
        segments = [
            SegmentState(
                _number("transaction", entry.startTxId),
                _number("transaction", entry.endTxId),
                entry.isInProgress,
            )
            for entry in answer.manifest.logs
        ]
        return Listed(tuple(segments), answer.manifest.committedTxnId)

    def edits(self, since_txid: int) -> tuple[bytes, ...]:
        """The records from `since_txid` on that the node holds in memory."""
        request = pb.GetJournaledEditsRequestProto(
            jid=self._journal.message,
            sinceTxId=since_txid,
            maxTxns=self._settings.max_edits,
            nameServiceId=self._journal.nameservice,
        )
        answer = self._call(
            "getJournaledEdits",
            request,
            pb.GetJournaledEditsResponseProto,
            self._settings.read_timeout_s,
        )
        if not answer.txnCount:
            return ()
        records = tuple(_records(answer.editLog))
        if len(records) != answer.txnCount:
            raise errors.ProtocolViolation(
                f"{self.name} announces {answer.txnCount} edits, and sends {len(records)}"
            )
        return records

    # What is rare.

    def is_formatted(self) -> bool:
        request = pb.IsFormattedRequestProto(
            jid=self._journal.message, nameServiceId=self._journal.nameservice
        )
        timeout_s = self._settings.rare_timeout_s
        return self._call(
            "isFormatted", request, pb.IsFormattedResponseProto, timeout_s
        ).isFormatted

    def format(self, version: NamenodeVersion) -> None:
        """What the node has of the journal is lost."""
        request = pb.FormatRequestProto(
            jid=self._journal.message,
            nsInfo=ClusterIdentity.of(version).namespace_info(),
            nameServiceId=self._journal.nameservice,
            force=True,
        )
        self._call("format", request, pb.FormatResponseProto, self._settings.rare_timeout_s)

    def discard_from(self, txid: int) -> None:
        """The node gives up every segment from this transaction on."""
        request = pb.DiscardSegmentsRequestProto(
            jid=self._journal.message, nameServiceId=self._journal.nameservice, startTxId=txid
        )
        self._call(
            "discardSegments",
            request,
            pb.DiscardSegmentsResponseProto,
            self._settings.rare_timeout_s,
        )

    def url_of(self, segment_txid: int) -> str:
        """Where the segment is fetched, by us and by the other nodes. The node has answered
        `manifest` or a writer before: it says its port there."""
        version = ClusterIdentity.of(self._journal.version)
        wanted = SegmentWanted(self._journal.name, segment_txid, version.storage_text())
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{self._scheme}://{host}:{self._http_port or 0}{wanted.target()}"

    def _note_http(self, port: int, url: str) -> None:
        """As Hadoop's does it: the node's port, at the host by which we know the node."""
        try:
            parts = urlsplit(url)
            self._http_port = parts.port or port
            self._scheme = "https" if parts.scheme == "https" else "http"
        except ValueError as error:
            raise errors.ProtocolViolation(f"{self.name} is to be found at {url!r}") from error

    def _info(self, stamp: Stamp) -> pb.RequestInfoProto:
        return pb.RequestInfoProto(
            journalId=self._journal.message,
            epoch=stamp.epoch,
            ipcSerialNumber=stamp.serial,
            committedTxId=stamp.committed_txid,
            leaseMillis=stamp.lease_ms,
            nameServiceId=self._journal.nameservice,
        )

    def _call(self, method: str, request: Message, answer: AnswerType[M], timeout_s: float) -> M:
        return self._rpc.call(method, request, answer, timeout_s=timeout_s)


def channels(
    nodes: Sequence[Address], journal: JournalId, settings: QuorumSettings
) -> dict[str, Channel]:
    """By name."""
    made = [Channel(node, journal, settings) for node in nodes]
    return {channel.name: channel for channel in made}


def _number(name: str, number: int, most: int = MAX_NUMBER) -> int:
    if not 0 <= number <= most:
        raise errors.ProtocolViolation(f"a journal node tells of the {name} {number}")
    return number


def _segment(message: pb.SegmentStateProto) -> SegmentState:
    return SegmentState(
        _number("transaction", message.startTxId),
        _number("transaction", message.endTxId),
        message.isInProgress,
    )


def _segment_message(segment: SegmentState) -> pb.SegmentStateProto:
    return pb.SegmentStateProto(
        startTxId=segment.first_txid,
        endTxId=segment.last_txid,
        isInProgress=segment.in_progress,
    )


def _records(log: bytes) -> list[bytes]:
    """The records of edits behind a segment's header."""
    records, at = [], HEADER_BYTES
    try:
        while at < len(log):
            if len(log) - at < PREFIX_BYTES:
                raise MalformedRecord("a record breaks off")
            length = record_length(log, at, limit=len(log) - at)
            records.append(log[at : at + length])
            at += length
    except MalformedRecord as error:
        raise errors.ProtocolViolation(f"a journal node sends no edits: {error}") from error
    return records
