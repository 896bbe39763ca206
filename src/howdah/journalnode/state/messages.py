"""Messages of the journal protocols, checked and turned into values, and back (pure)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from howdah import errors
from howdah.formats.version import NAMENODE_LAYOUT_VERSION, JournalVersion
from howdah.journalnode.state.acceptor import RequestInfo
from howdah.journalnode.state.journal_state import MAX_NUMBER, SegmentState
from howdah.proto import datanode_namenode_pb2 as server_pb
from howdah.proto import qjournal_pb2 as pb

_SIGN: Final = 1 << 31
_WRAP: Final = 1 << 32
MAX_FETCHED_URL: Final = 4096


def number(name: str, value: int, least: int = 0) -> int:
    """Return a number that Java's long has. Raises IllegalArgument."""
    if not least <= value <= MAX_NUMBER:
        raise errors.IllegalArgument(
            f"{value} is no {name}: it is from {least} to {MAX_NUMBER}",
            java_class="java.lang.IllegalArgumentException",
        )
    return value


def request_info(message: pb.RequestInfoProto) -> RequestInfo:
    committed = message.committedTxId if message.HasField("committedTxId") else None
    return RequestInfo(
        number("epoch", message.epoch),
        number("serial number", message.ipcSerialNumber),
        None if committed is None else number("transaction", committed),
        number("lease", message.leaseMillis),
    )


def segment_state(message: pb.SegmentStateProto) -> SegmentState:
    return SegmentState(
        number("transaction", message.startTxId, 1),
        number("transaction", message.endTxId),
        message.isInProgress,
    )


def segment_message(segment: SegmentState) -> pb.SegmentStateProto:
    return pb.SegmentStateProto(
        startTxId=segment.first_txid,
        endTxId=segment.last_txid,
        isInProgress=segment.in_progress,
    )


def signed(value: int) -> int:
    """A layout version travels as an unsigned number."""
    return value - _WRAP if value >= _SIGN else value


def version(message: server_pb.StorageInfoProto) -> JournalVersion:
    """Raises IllegalArgument for a namespace that has no id yet."""
    namespace_id = signed(message.namespceID)
    if namespace_id == 0:
        raise errors.IllegalArgument("the namespace has no id: format the namenode first")
    return JournalVersion(
        namespace_id,
        message.clusterID,
        number("time", message.cTime),
        signed(message.layoutVersion),
    )


def storage_info(journal_version: JournalVersion) -> server_pb.StorageInfoProto:
    return server_pb.StorageInfoProto(
        layoutVersion=journal_version.layout_version % _WRAP,
        namespceID=journal_version.namespace_id % _WRAP,
        clusterID=journal_version.cluster_id,
        cTime=journal_version.ctime_ms,
    )


def layout_version(message: pb.StartLogSegmentRequestProto) -> int:
    """Return the layout version of the segment that begins; old writers do not send it. Raises
    IllegalArgument."""
    if not message.HasField("layoutVersion"):
        return NAMENODE_LAYOUT_VERSION
    layout = message.layoutVersion
    if layout >= 0:
        raise errors.IllegalArgument(f"{layout} is no layout version: those are negative")
    return int(layout)


def manifest(
    segments: Iterable[SegmentState], committed_txid: int | None
) -> server_pb.RemoteEditLogManifestProto:
    return server_pb.RemoteEditLogManifestProto(
        logs=[
            server_pb.RemoteEditLogProto(
                startTxId=segment.first_txid,
                endTxId=segment.last_txid,
                isInProgress=segment.in_progress,
            )
            for segment in segments
        ],
        committedTxnId=committed_txid,
    )


def offered_segments(message: server_pb.RemoteEditLogManifestProto) -> list[SegmentState]:
    """What another node says that it has."""
    return [
        SegmentState(
            number("transaction", log.startTxId, 1),
            number("transaction", log.endTxId, 1),
            log.isInProgress,
        )
        for log in message.logs
    ]
