from howdah.proto import datanode_namenode_pb2 as _datanode_namenode_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class JournalIdProto(_message.Message):
    __slots__ = ("identifier",)
    IDENTIFIER_FIELD_NUMBER: _ClassVar[int]
    identifier: str
    def __init__(self, identifier: _Optional[str] = ...) -> None: ...

class RequestInfoProto(_message.Message):
    __slots__ = ("journalId", "epoch", "ipcSerialNumber", "committedTxId", "nameServiceId", "leaseMillis")
    JOURNALID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    IPCSERIALNUMBER_FIELD_NUMBER: _ClassVar[int]
    COMMITTEDTXID_FIELD_NUMBER: _ClassVar[int]
    NAMESERVICEID_FIELD_NUMBER: _ClassVar[int]
    LEASEMILLIS_FIELD_NUMBER: _ClassVar[int]
    journalId: JournalIdProto
    epoch: int
    ipcSerialNumber: int
    committedTxId: int
    nameServiceId: str
    leaseMillis: int
    def __init__(self, journalId: _Optional[_Union[JournalIdProto, _Mapping]] = ..., epoch: _Optional[int] = ..., ipcSerialNumber: _Optional[int] = ..., committedTxId: _Optional[int] = ..., nameServiceId: _Optional[str] = ..., leaseMillis: _Optional[int] = ...) -> None: ...

class SegmentStateProto(_message.Message):
    __slots__ = ("startTxId", "endTxId", "isInProgress")
    STARTTXID_FIELD_NUMBER: _ClassVar[int]
    ENDTXID_FIELD_NUMBER: _ClassVar[int]
    ISINPROGRESS_FIELD_NUMBER: _ClassVar[int]
    startTxId: int
    endTxId: int
    isInProgress: bool
    def __init__(self, startTxId: _Optional[int] = ..., endTxId: _Optional[int] = ..., isInProgress: bool = ...) -> None: ...

class PersistedRecoveryPaxosData(_message.Message):
    __slots__ = ("segmentState", "acceptedInEpoch")
    SEGMENTSTATE_FIELD_NUMBER: _ClassVar[int]
    ACCEPTEDINEPOCH_FIELD_NUMBER: _ClassVar[int]
    segmentState: SegmentStateProto
    acceptedInEpoch: int
    def __init__(self, segmentState: _Optional[_Union[SegmentStateProto, _Mapping]] = ..., acceptedInEpoch: _Optional[int] = ...) -> None: ...

class JournalRequestProto(_message.Message):
    __slots__ = ("reqInfo", "firstTxnId", "numTxns", "records", "segmentTxnId", "nameServiceId")
    REQINFO_FIELD_NUMBER: _ClassVar[int]
    FIRSTTXNID_FIELD_NUMBER: _ClassVar[int]
    NUMTXNS_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    SEGMENTTXNID_FIELD_NUMBER: _ClassVar[int]
    NAMESERVICEID_FIELD_NUMBER: _ClassVar[int]
    reqInfo: RequestInfoProto
    firstTxnId: int
    numTxns: int
    records: bytes
    segmentTxnId: int
    nameServiceId: str
    def __init__(self, reqInfo: _Optional[_Union[RequestInfoProto, _Mapping]] = ..., firstTxnId: _Optional[int] = ..., numTxns: _Optional[int] = ..., records: _Optional[bytes] = ..., segmentTxnId: _Optional[int] = ..., nameServiceId: _Optional[str] = ...) -> None: ...

class JournalResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class HeartbeatRequestProto(_message.Message):
    __slots__ = ("reqInfo", "resigns")
    REQINFO_FIELD_NUMBER: _ClassVar[int]
    RESIGNS_FIELD_NUMBER: _ClassVar[int]
    reqInfo: RequestInfoProto
    resigns: bool
    def __init__(self, reqInfo: _Optional[_Union[RequestInfoProto, _Mapping]] = ..., resigns: bool = ...) -> None: ...

class HeartbeatResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StartLogSegmentRequestProto(_message.Message):
    __slots__ = ("reqInfo", "txid", "layoutVersion")
    REQINFO_FIELD_NUMBER: _ClassVar[int]
    TXID_FIELD_NUMBER: _ClassVar[int]
    LAYOUTVERSION_FIELD_NUMBER: _ClassVar[int]
    reqInfo: RequestInfoProto
    txid: int
    layoutVersion: int
    def __init__(self, reqInfo: _Optional[_Union[RequestInfoProto, _Mapping]] = ..., txid: _Optional[int] = ..., layoutVersion: _Optional[int] = ...) -> None: ...

class StartLogSegmentResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class FinalizeLogSegmentRequestProto(_message.Message):
    __slots__ = ("reqInfo", "startTxId", "endTxId")
    REQINFO_FIELD_NUMBER: _ClassVar[int]
    STARTTXID_FIELD_NUMBER: _ClassVar[int]
    ENDTXID_FIELD_NUMBER: _ClassVar[int]
    reqInfo: RequestInfoProto
    startTxId: int
    endTxId: int
    def __init__(self, reqInfo: _Optional[_Union[RequestInfoProto, _Mapping]] = ..., startTxId: _Optional[int] = ..., endTxId: _Optional[int] = ...) -> None: ...

class FinalizeLogSegmentResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PurgeLogsRequestProto(_message.Message):
    __slots__ = ("reqInfo", "minTxIdToKeep")
    REQINFO_FIELD_NUMBER: _ClassVar[int]
    MINTXIDTOKEEP_FIELD_NUMBER: _ClassVar[int]
    reqInfo: RequestInfoProto
    minTxIdToKeep: int
    def __init__(self, reqInfo: _Optional[_Union[RequestInfoProto, _Mapping]] = ..., minTxIdToKeep: _Optional[int] = ...) -> None: ...

class PurgeLogsResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class IsFormattedRequestProto(_message.Message):
    __slots__ = ("jid", "nameServiceId")
    JID_FIELD_NUMBER: _ClassVar[int]
    NAMESERVICEID_FIELD_NUMBER: _ClassVar[int]
    jid: JournalIdProto
    nameServiceId: str
    def __init__(self, jid: _Optional[_Union[JournalIdProto, _Mapping]] = ..., nameServiceId: _Optional[str] = ...) -> None: ...

class IsFormattedResponseProto(_message.Message):
    __slots__ = ("isFormatted",)
    ISFORMATTED_FIELD_NUMBER: _ClassVar[int]
    isFormatted: bool
    def __init__(self, isFormatted: bool = ...) -> None: ...

class GetJournalCTimeRequestProto(_message.Message):
    __slots__ = ("jid", "nameServiceId")
    JID_FIELD_NUMBER: _ClassVar[int]
    NAMESERVICEID_FIELD_NUMBER: _ClassVar[int]
    jid: JournalIdProto
    nameServiceId: str
    def __init__(self, jid: _Optional[_Union[JournalIdProto, _Mapping]] = ..., nameServiceId: _Optional[str] = ...) -> None: ...

class GetJournalCTimeResponseProto(_message.Message):
    __slots__ = ("resultCTime",)
    RESULTCTIME_FIELD_NUMBER: _ClassVar[int]
    resultCTime: int
    def __init__(self, resultCTime: _Optional[int] = ...) -> None: ...

class DoPreUpgradeRequestProto(_message.Message):
    __slots__ = ("jid",)
    JID_FIELD_NUMBER: _ClassVar[int]
    jid: JournalIdProto
    def __init__(self, jid: _Optional[_Union[JournalIdProto, _Mapping]] = ...) -> None: ...

class DoPreUpgradeResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DoUpgradeRequestProto(_message.Message):
    __slots__ = ("jid", "sInfo")
    JID_FIELD_NUMBER: _ClassVar[int]
    SINFO_FIELD_NUMBER: _ClassVar[int]
    jid: JournalIdProto
    sInfo: _datanode_namenode_pb2.StorageInfoProto
    def __init__(self, jid: _Optional[_Union[JournalIdProto, _Mapping]] = ..., sInfo: _Optional[_Union[_datanode_namenode_pb2.StorageInfoProto, _Mapping]] = ...) -> None: ...

class DoUpgradeResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DoFinalizeRequestProto(_message.Message):
    __slots__ = ("jid", "nameServiceId")
    JID_FIELD_NUMBER: _ClassVar[int]
    NAMESERVICEID_FIELD_NUMBER: _ClassVar[int]
    jid: JournalIdProto
    nameServiceId: str
    def __init__(self, jid: _Optional[_Union[JournalIdProto, _Mapping]] = ..., nameServiceId: _Optional[str] = ...) -> None: ...

class DoFinalizeResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CanRollBackRequestProto(_message.Message):
    __slots__ = ("jid", "storage", "prevStorage", "targetLayoutVersion", "nameServiceId")
    JID_FIELD_NUMBER: _ClassVar[int]
    STORAGE_FIELD_NUMBER: _ClassVar[int]
    PREVSTORAGE_FIELD_NUMBER: _ClassVar[int]
    TARGETLAYOUTVERSION_FIELD_NUMBER: _ClassVar[int]
    NAMESERVICEID_FIELD_NUMBER: _ClassVar[int]
    jid: JournalIdProto
    storage: _datanode_namenode_pb2.StorageInfoProto
    prevStorage: _datanode_namenode_pb2.StorageInfoProto
    targetLayoutVersion: int
    nameServiceId: str
    def __init__(self, jid: _Optional[_Union[JournalIdProto, _Mapping]] = ..., storage: _Optional[_Union[_datanode_namenode_pb2.StorageInfoProto, _Mapping]] = ..., prevStorage: _Optional[_Union[_datanode_namenode_pb2.StorageInfoProto, _Mapping]] = ..., targetLayoutVersion: _Optional[int] = ..., nameServiceId: _Optional[str] = ...) -> None: ...

class CanRollBackResponseProto(_message.Message):
    __slots__ = ("canRollBack",)
    CANROLLBACK_FIELD_NUMBER: _ClassVar[int]
    canRollBack: bool
    def __init__(self, canRollBack: bool = ...) -> None: ...

class DoRollbackRequestProto(_message.Message):
    __slots__ = ("jid", "nameserviceId")
    JID_FIELD_NUMBER: _ClassVar[int]
    NAMESERVICEID_FIELD_NUMBER: _ClassVar[int]
    jid: JournalIdProto
    nameserviceId: str
    def __init__(self, jid: _Optional[_Union[JournalIdProto, _Mapping]] = ..., nameserviceId: _Optional[str] = ...) -> None: ...

class DoRollbackResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DiscardSegmentsRequestProto(_message.Message):
    __slots__ = ("jid", "startTxId", "nameServiceId")
    JID_FIELD_NUMBER: _ClassVar[int]
    STARTTXID_FIELD_NUMBER: _ClassVar[int]
    NAMESERVICEID_FIELD_NUMBER: _ClassVar[int]
    jid: JournalIdProto
    startTxId: int
    nameServiceId: str
    def __init__(self, jid: _Optional[_Union[JournalIdProto, _Mapping]] = ..., startTxId: _Optional[int] = ..., nameServiceId: _Optional[str] = ...) -> None: ...

class DiscardSegmentsResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetJournalStateRequestProto(_message.Message):
    __slots__ = ("jid", "nameServiceId")
    JID_FIELD_NUMBER: _ClassVar[int]
    NAMESERVICEID_FIELD_NUMBER: _ClassVar[int]
    jid: JournalIdProto
    nameServiceId: str
    def __init__(self, jid: _Optional[_Union[JournalIdProto, _Mapping]] = ..., nameServiceId: _Optional[str] = ...) -> None: ...

class GetJournalStateResponseProto(_message.Message):
    __slots__ = ("lastPromisedEpoch", "httpPort", "fromURL")
    LASTPROMISEDEPOCH_FIELD_NUMBER: _ClassVar[int]
    HTTPPORT_FIELD_NUMBER: _ClassVar[int]
    FROMURL_FIELD_NUMBER: _ClassVar[int]
    lastPromisedEpoch: int
    httpPort: int
    fromURL: str
    def __init__(self, lastPromisedEpoch: _Optional[int] = ..., httpPort: _Optional[int] = ..., fromURL: _Optional[str] = ...) -> None: ...

class FormatRequestProto(_message.Message):
    __slots__ = ("jid", "nsInfo", "nameServiceId", "force")
    JID_FIELD_NUMBER: _ClassVar[int]
    NSINFO_FIELD_NUMBER: _ClassVar[int]
    NAMESERVICEID_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    jid: JournalIdProto
    nsInfo: _datanode_namenode_pb2.NamespaceInfoProto
    nameServiceId: str
    force: bool
    def __init__(self, jid: _Optional[_Union[JournalIdProto, _Mapping]] = ..., nsInfo: _Optional[_Union[_datanode_namenode_pb2.NamespaceInfoProto, _Mapping]] = ..., nameServiceId: _Optional[str] = ..., force: bool = ...) -> None: ...

class FormatResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class NewEpochRequestProto(_message.Message):
    __slots__ = ("jid", "nsInfo", "epoch", "nameServiceId")
    JID_FIELD_NUMBER: _ClassVar[int]
    NSINFO_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    NAMESERVICEID_FIELD_NUMBER: _ClassVar[int]
    jid: JournalIdProto
    nsInfo: _datanode_namenode_pb2.NamespaceInfoProto
    epoch: int
    nameServiceId: str
    def __init__(self, jid: _Optional[_Union[JournalIdProto, _Mapping]] = ..., nsInfo: _Optional[_Union[_datanode_namenode_pb2.NamespaceInfoProto, _Mapping]] = ..., epoch: _Optional[int] = ..., nameServiceId: _Optional[str] = ...) -> None: ...

class NewEpochResponseProto(_message.Message):
    __slots__ = ("lastSegmentTxId", "leaseLeftMillis")
    LASTSEGMENTTXID_FIELD_NUMBER: _ClassVar[int]
    LEASELEFTMILLIS_FIELD_NUMBER: _ClassVar[int]
    lastSegmentTxId: int
    leaseLeftMillis: int
    def __init__(self, lastSegmentTxId: _Optional[int] = ..., leaseLeftMillis: _Optional[int] = ...) -> None: ...

class GetEditLogManifestRequestProto(_message.Message):
    __slots__ = ("jid", "sinceTxId", "inProgressOk", "nameServiceId")
    JID_FIELD_NUMBER: _ClassVar[int]
    SINCETXID_FIELD_NUMBER: _ClassVar[int]
    INPROGRESSOK_FIELD_NUMBER: _ClassVar[int]
    NAMESERVICEID_FIELD_NUMBER: _ClassVar[int]
    jid: JournalIdProto
    sinceTxId: int
    inProgressOk: bool
    nameServiceId: str
    def __init__(self, jid: _Optional[_Union[JournalIdProto, _Mapping]] = ..., sinceTxId: _Optional[int] = ..., inProgressOk: bool = ..., nameServiceId: _Optional[str] = ...) -> None: ...

class GetEditLogManifestResponseProto(_message.Message):
    __slots__ = ("manifest", "httpPort", "fromURL", "lastPromisedEpoch")
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    HTTPPORT_FIELD_NUMBER: _ClassVar[int]
    FROMURL_FIELD_NUMBER: _ClassVar[int]
    LASTPROMISEDEPOCH_FIELD_NUMBER: _ClassVar[int]
    manifest: _datanode_namenode_pb2.RemoteEditLogManifestProto
    httpPort: int
    fromURL: str
    lastPromisedEpoch: int
    def __init__(self, manifest: _Optional[_Union[_datanode_namenode_pb2.RemoteEditLogManifestProto, _Mapping]] = ..., httpPort: _Optional[int] = ..., fromURL: _Optional[str] = ..., lastPromisedEpoch: _Optional[int] = ...) -> None: ...

class GetJournaledEditsRequestProto(_message.Message):
    __slots__ = ("jid", "sinceTxId", "maxTxns", "nameServiceId")
    JID_FIELD_NUMBER: _ClassVar[int]
    SINCETXID_FIELD_NUMBER: _ClassVar[int]
    MAXTXNS_FIELD_NUMBER: _ClassVar[int]
    NAMESERVICEID_FIELD_NUMBER: _ClassVar[int]
    jid: JournalIdProto
    sinceTxId: int
    maxTxns: int
    nameServiceId: str
    def __init__(self, jid: _Optional[_Union[JournalIdProto, _Mapping]] = ..., sinceTxId: _Optional[int] = ..., maxTxns: _Optional[int] = ..., nameServiceId: _Optional[str] = ...) -> None: ...

class GetJournaledEditsResponseProto(_message.Message):
    __slots__ = ("txnCount", "editLog")
    TXNCOUNT_FIELD_NUMBER: _ClassVar[int]
    EDITLOG_FIELD_NUMBER: _ClassVar[int]
    txnCount: int
    editLog: bytes
    def __init__(self, txnCount: _Optional[int] = ..., editLog: _Optional[bytes] = ...) -> None: ...

class PrepareRecoveryRequestProto(_message.Message):
    __slots__ = ("reqInfo", "segmentTxId")
    REQINFO_FIELD_NUMBER: _ClassVar[int]
    SEGMENTTXID_FIELD_NUMBER: _ClassVar[int]
    reqInfo: RequestInfoProto
    segmentTxId: int
    def __init__(self, reqInfo: _Optional[_Union[RequestInfoProto, _Mapping]] = ..., segmentTxId: _Optional[int] = ...) -> None: ...

class PrepareRecoveryResponseProto(_message.Message):
    __slots__ = ("segmentState", "acceptedInEpoch", "lastWriterEpoch", "lastCommittedTxId")
    SEGMENTSTATE_FIELD_NUMBER: _ClassVar[int]
    ACCEPTEDINEPOCH_FIELD_NUMBER: _ClassVar[int]
    LASTWRITEREPOCH_FIELD_NUMBER: _ClassVar[int]
    LASTCOMMITTEDTXID_FIELD_NUMBER: _ClassVar[int]
    segmentState: SegmentStateProto
    acceptedInEpoch: int
    lastWriterEpoch: int
    lastCommittedTxId: int
    def __init__(self, segmentState: _Optional[_Union[SegmentStateProto, _Mapping]] = ..., acceptedInEpoch: _Optional[int] = ..., lastWriterEpoch: _Optional[int] = ..., lastCommittedTxId: _Optional[int] = ...) -> None: ...

class AcceptRecoveryRequestProto(_message.Message):
    __slots__ = ("reqInfo", "stateToAccept", "fromURL")
    REQINFO_FIELD_NUMBER: _ClassVar[int]
    STATETOACCEPT_FIELD_NUMBER: _ClassVar[int]
    FROMURL_FIELD_NUMBER: _ClassVar[int]
    reqInfo: RequestInfoProto
    stateToAccept: SegmentStateProto
    fromURL: str
    def __init__(self, reqInfo: _Optional[_Union[RequestInfoProto, _Mapping]] = ..., stateToAccept: _Optional[_Union[SegmentStateProto, _Mapping]] = ..., fromURL: _Optional[str] = ...) -> None: ...

class AcceptRecoveryResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetStorageInfoRequestProto(_message.Message):
    __slots__ = ("jid", "nameServiceId")
    JID_FIELD_NUMBER: _ClassVar[int]
    NAMESERVICEID_FIELD_NUMBER: _ClassVar[int]
    jid: JournalIdProto
    nameServiceId: str
    def __init__(self, jid: _Optional[_Union[JournalIdProto, _Mapping]] = ..., nameServiceId: _Optional[str] = ...) -> None: ...
