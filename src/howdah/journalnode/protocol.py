"""QJournalProtocol and InterQJournalProtocol of a journal node (shell). Hadoop:
JournalNodeRpcServer.

Requests are checked here (`messages`) before a journal sees them; the journal says what may
be done. Who calls was asked before (`howdah.journalnode.security`); without Kerberos everybody is
answered, as by Hadoop's journal nodes, and the network has to keep strangers away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from howdah.journalnode.journal import Journal
from howdah.journalnode.node import Journals
from howdah.journalnode.state import messages
from howdah.journalnode.state.messages import number, request_info
from howdah.proto import datanode_namenode_pb2 as server_pb
from howdah.proto import qjournal_pb2 as pb
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Service
from howdah.runtime.tls.http_policy import Place

QJOURNAL: Final = "org.apache.hadoop.hdfs.qjournal.protocol.QJournalProtocol"
INTER_QJOURNAL: Final = "org.apache.hadoop.hdfs.qjournal.protocol.InterQJournalProtocol"


@dataclass(slots=True)
class WebPlace:
    """Where the node hands out segments, once it listens."""

    host: str = ""
    port: int = 0
    is_secure: bool = False

    @property
    def url(self) -> str:
        return str(Place(self.is_secure, self.host, self.port))


class JournalCalls:
    """The calls of both protocols."""

    def __init__(self, journals: Journals, web: WebPlace) -> None:
        self._journals = journals
        self._web = web

    def services(self) -> list[Service]:
        by_name = pb.DESCRIPTOR.services_by_name
        return [
            Service(QJOURNAL, 1, by_name["QJournalProtocolService"], self),
            Service(INTER_QJOURNAL, 1, by_name["InterQJournalProtocolService"], self),
        ]

    def _of(self, info: pb.RequestInfoProto) -> Journal:
        return self._journals.find(info.journalId.identifier, info.nameServiceId)

    # What a node is asked before anything else.

    def is_formatted(
        self, request: pb.IsFormattedRequestProto, caller: Caller
    ) -> pb.IsFormattedResponseProto:
        formatted = self._journals.is_formatted(request.jid.identifier, request.nameServiceId)
        return pb.IsFormattedResponseProto(isFormatted=formatted)

    def format(self, request: pb.FormatRequestProto, caller: Caller) -> pb.FormatResponseProto:
        journal = self._journals.to_format(request.jid.identifier, request.nameServiceId)
        journal.format(messages.version(request.nsInfo.storageInfo), force=request.force)
        return pb.FormatResponseProto()

    def get_journal_state(
        self, request: pb.GetJournalStateRequestProto, caller: Caller
    ) -> pb.GetJournalStateResponseProto:
        journal = self._journals.find(request.jid.identifier, request.nameServiceId)
        return pb.GetJournalStateResponseProto(
            lastPromisedEpoch=journal.promised_epoch,
            httpPort=self._web.port,
            fromURL=self._web.url,
        )

    # Writers.

    def new_epoch(
        self, request: pb.NewEpochRequestProto, caller: Caller
    ) -> pb.NewEpochResponseProto:
        journal = self._journals.find(request.jid.identifier, request.nameServiceId)
        version = messages.version(request.nsInfo.storageInfo)
        answer = journal.new_epoch(version, number("epoch", request.epoch, 1))
        return pb.NewEpochResponseProto(
            lastSegmentTxId=answer.last_segment_txid,
            leaseLeftMillis=answer.lease_left_ms,
        )

    def start_log_segment(
        self, request: pb.StartLogSegmentRequestProto, caller: Caller
    ) -> pb.StartLogSegmentResponseProto:
        self._of(request.reqInfo).start_segment(
            request_info(request.reqInfo),
            number("transaction", request.txid, 1),
            messages.layout_version(request),
        )
        return pb.StartLogSegmentResponseProto()

    def journal(self, request: pb.JournalRequestProto, caller: Caller) -> pb.JournalResponseProto:
        self._of(request.reqInfo).journal(
            request_info(request.reqInfo),
            number("transaction", request.segmentTxnId),
            number("transaction", request.firstTxnId),
            request.numTxns,
            request.records,
        )
        return pb.JournalResponseProto()

    def heartbeat(
        self, request: pb.HeartbeatRequestProto, caller: Caller
    ) -> pb.HeartbeatResponseProto:
        journal = self._of(request.reqInfo)
        journal.heartbeat(request_info(request.reqInfo), resigns=request.resigns)
        return pb.HeartbeatResponseProto()

    def finalize_log_segment(
        self, request: pb.FinalizeLogSegmentRequestProto, caller: Caller
    ) -> pb.FinalizeLogSegmentResponseProto:
        self._of(request.reqInfo).finalize_segment(
            request_info(request.reqInfo),
            number("transaction", request.startTxId, 1),
            number("transaction", request.endTxId, 1),
        )
        return pb.FinalizeLogSegmentResponseProto()

    def purge_logs(
        self, request: pb.PurgeLogsRequestProto, caller: Caller
    ) -> pb.PurgeLogsResponseProto:
        min_txid = number("transaction", request.minTxIdToKeep)
        self._of(request.reqInfo).purge(request_info(request.reqInfo), min_txid)
        return pb.PurgeLogsResponseProto()

    # Recovery.

    def prepare_recovery(
        self, request: pb.PrepareRecoveryRequestProto, caller: Caller
    ) -> pb.PrepareRecoveryResponseProto:
        prepared = self._of(request.reqInfo).prepare_recovery(
            request_info(request.reqInfo), number("transaction", request.segmentTxId, 1)
        )
        answer = pb.PrepareRecoveryResponseProto(
            acceptedInEpoch=prepared.accepted_epoch,
            lastWriterEpoch=prepared.writer_epoch,
            lastCommittedTxId=prepared.committed_txid,
        )
        if prepared.segment is not None:
            answer.segmentState.CopyFrom(messages.segment_message(prepared.segment))
        return answer

    def accept_recovery(
        self, request: pb.AcceptRecoveryRequestProto, caller: Caller
    ) -> pb.AcceptRecoveryResponseProto:
        self._of(request.reqInfo).accept_recovery(
            request_info(request.reqInfo),
            messages.segment_state(request.stateToAccept),
            request.fromURL,
        )
        return pb.AcceptRecoveryResponseProto()

    # Readers.

    def get_edit_log_manifest(
        self, request: pb.GetEditLogManifestRequestProto, caller: Caller
    ) -> pb.GetEditLogManifestResponseProto:
        journal = self._journals.find(request.jid.identifier, request.nameServiceId)
        segments, committed_txid = journal.manifest(
            request.sinceTxId, in_progress_ok=request.inProgressOk
        )
        return pb.GetEditLogManifestResponseProto(
            manifest=messages.manifest(segments, committed_txid),
            httpPort=self._web.port,
            fromURL=self._web.url,
        )

    def get_edit_log_manifest_from_journal(
        self, request: pb.GetEditLogManifestRequestProto, caller: Caller
    ) -> pb.GetEditLogManifestResponseProto:
        """The same for another node, which may have to make a journal that it lost. It learns the
        promise here, since namenodes alone may ask for the state."""
        answer = self.get_edit_log_manifest(request, caller)
        status = self._journals.find(request.jid.identifier, request.nameServiceId).status()
        if not status.is_joining and not status.trouble:
            answer.lastPromisedEpoch = status.promised_epoch
        return answer

    def get_storage_info(
        self, request: pb.GetStorageInfoRequestProto, caller: Caller
    ) -> server_pb.StorageInfoProto:
        journal = self._journals.find(request.jid.identifier, request.nameServiceId)
        return messages.storage_info(journal.version())

    def get_journaled_edits(
        self, request: pb.GetJournaledEditsRequestProto, caller: Caller
    ) -> pb.GetJournaledEditsResponseProto:
        journal = self._journals.find(request.jid.identifier, request.nameServiceId)
        edits = journal.edits(number("transaction", request.sinceTxId, 1), request.maxTxns)
        if not edits.count:
            return pb.GetJournaledEditsResponseProto(txnCount=0)
        return pb.GetJournaledEditsResponseProto(txnCount=edits.count, editLog=edits.log)

    # Upgrades.

    def get_journal_ctime(
        self, request: pb.GetJournalCTimeRequestProto, caller: Caller
    ) -> pb.GetJournalCTimeResponseProto:
        journal = self._journals.find(request.jid.identifier, request.nameServiceId)
        return pb.GetJournalCTimeResponseProto(resultCTime=journal.ctime_ms())

    def do_pre_upgrade(
        self, request: pb.DoPreUpgradeRequestProto, caller: Caller
    ) -> pb.DoPreUpgradeResponseProto:
        self._journals.find(request.jid.identifier).pre_upgrade()
        return pb.DoPreUpgradeResponseProto()

    def do_upgrade(
        self, request: pb.DoUpgradeRequestProto, caller: Caller
    ) -> pb.DoUpgradeResponseProto:
        version = messages.version(request.sInfo)
        journal = self._journals.find(request.jid.identifier)
        journal.upgrade(version.ctime_ms, version.layout_version)
        return pb.DoUpgradeResponseProto()

    def do_finalize(
        self, request: pb.DoFinalizeRequestProto, caller: Caller
    ) -> pb.DoFinalizeResponseProto:
        self._journals.find(request.jid.identifier, request.nameServiceId).finalize()
        return pb.DoFinalizeResponseProto()

    def can_roll_back(
        self, request: pb.CanRollBackRequestProto, caller: Caller
    ) -> pb.CanRollBackResponseProto:
        journal = self._journals.find(request.jid.identifier, request.nameServiceId)
        target = request.targetLayoutVersion
        return pb.CanRollBackResponseProto(canRollBack=journal.can_roll_back(target))

    def do_rollback(
        self, request: pb.DoRollbackRequestProto, caller: Caller
    ) -> pb.DoRollbackResponseProto:
        self._journals.find(request.jid.identifier, request.nameserviceId).roll_back()
        return pb.DoRollbackResponseProto()

    def discard_segments(
        self, request: pb.DiscardSegmentsRequestProto, caller: Caller
    ) -> pb.DiscardSegmentsResponseProto:
        journal = self._journals.find(request.jid.identifier, request.nameServiceId)
        journal.discard_segments(number("transaction", request.startTxId, 1))
        return pb.DiscardSegmentsResponseProto()
