"""What a journal node answers is checked before anybody believes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from google.protobuf.message import Message

from howdah import errors
from howdah.config import Configuration
from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.formats.edits.segment_scan import encode_header
from howdah.namenode.journal.quorum.channel import PROTOCOL, Channel, JournalId
from howdah.namenode.journal.quorum.settings import QuorumSettings
from howdah.namenode.state.quorum.messages import (
    FinalizeSegment,
    GetState,
    Heartbeat,
    NewEpoch,
    NodeState,
    Prepared,
    PrepareRecovery,
    Promise,
    SegmentState,
    SendEdits,
    Stamp,
)
from howdah.proto import qjournal_pb2 as pb
from howdah.rpc.client import RpcClient
from tests.support.journals.quorum import VERSION

STAMP = Stamp(5, 7, 40, 1500)
MAX = (1 << 64) - 1


class Wire:
    """In the place of an RpcClient: answers by method, as decoded from their bytes."""

    def __init__(self) -> None:
        self.answers: dict[str, Message | Exception] = {
            "getJournalState": pb.GetJournalStateResponseProto(lastPromisedEpoch=4, httpPort=8480)
        }
        self.asked: list[tuple[str, Any]] = []

    def call(
        self, method: str, request: Message, answer: type[Message], *, timeout_s: float
    ) -> Message:
        self.asked.append((method, type(request).FromString(request.SerializeToString())))
        told = self.answers.get(method, answer())
        if isinstance(told, Exception):
            raise told
        return answer.FromString(told.SerializeToString())


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
def channel(wire: Wire) -> Channel:
    settings = QuorumSettings.of(Configuration({}), None)
    made = Channel(("jn1.example", 8485), JournalId("ns", VERSION, "ns"), settings)
    made._rpc = cast(RpcClient, wire)
    return made


def test_requests_say_whose_they_are(channel: Channel, wire: Wire) -> None:
    assert PROTOCOL.endswith(".QJournalProtocol")
    assert channel.call(GetState(), None) == NodeState(4)
    channel.call(NewEpoch(5), None)
    channel.call(SendEdits(41, 42, 2, b"xy"), STAMP)
    channel.call(FinalizeSegment(41, 43), Stamp(5, 8, None))
    channel.call(Heartbeat(resigns=True), STAMP)
    by_method = dict(wire.asked)
    assert by_method["newEpoch"].nsInfo.storageInfo.namespceID == VERSION.namespace_id
    assert by_method["newEpoch"].epoch == 5
    sent = by_method["journal"]
    assert (sent.segmentTxnId, sent.firstTxnId, sent.numTxns, sent.records) == (41, 42, 2, b"xy")
    info = sent.reqInfo
    assert (info.journalId.identifier, info.nameServiceId) == ("ns", "ns")
    assert (info.epoch, info.ipcSerialNumber, info.committedTxId) == (5, 7, 40)
    assert info.leaseMillis == 1500
    assert not by_method["finalizeLogSegment"].reqInfo.HasField("committedTxId")
    assert by_method["heartbeat"].resigns


def test_a_promise_of_hadoops_says_nothing_about_the_former_writer(
    channel: Channel, wire: Wire
) -> None:
    assert channel.call(NewEpoch(5), None) == Promise(None, None)
    wire.answers["newEpoch"] = pb.NewEpochResponseProto(lastSegmentTxId=3, leaseLeftMillis=700)
    assert channel.call(NewEpoch(5), None) == Promise(3, 700)


def test_a_segment_is_fetched_from_the_node_by_the_name_that_we_know(
    channel: Channel, wire: Wire
) -> None:
    wire.answers["getJournalState"] = pb.GetJournalStateResponseProto(
        lastPromisedEpoch=4, httpPort=1, fromURL="http://0.0.0.0:8481"
    )
    wire.answers["prepareRecovery"] = pb.PrepareRecoveryResponseProto(
        segmentState=pb.SegmentStateProto(startTxId=41, endTxId=45, isInProgress=True),
        acceptedInEpoch=3,
        lastWriterEpoch=2,
        lastCommittedTxId=44,
    )
    prepared = channel.call(PrepareRecovery(41), STAMP)
    assert isinstance(prepared, Prepared)
    assert prepared.segment == SegmentState(41, 45, True)
    assert (prepared.accepted_epoch, prepared.writer_epoch, prepared.committed_txid) == (3, 2, 44)
    assert prepared.url.startswith("http://jn1.example:8481/getJournal?jid=ns&segmentTxId=41&")


@pytest.mark.req("FS-070", "FS-071")
@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("IPC's epoch 5 is less than the last promised epoch 6 ; journal id: ns", "WriterFenced"),
        ("Proposed epoch 5 <= last promise 6 ; journal id: ns", "WriterFenced"),
        ("IPC's epoch 5 is not the current writer epoch  4 ; journal id: ns", "RemoteError"),
        ("No space left on device", "RemoteError"),
    ],
)
def test_a_writer_learns_from_the_words_that_its_epoch_is_over(
    channel: Channel, wire: Wire, said: str, kind: str
) -> None:
    wire.answers["heartbeat"] = errors.RemoteError(said)
    with pytest.raises(OSError, match=said[:20]) as failure:
        channel.call(Heartbeat(), STAMP)
    assert type(failure.value).__name__ == kind


def _prepared(first_txid: int, last_txid: int) -> Message:
    return pb.PrepareRecoveryResponseProto(
        lastWriterEpoch=1,
        segmentState=pb.SegmentStateProto(
            startTxId=first_txid, endTxId=last_txid, isInProgress=True
        ),
    )


HOSTILE: list[tuple[str, Message, Callable[[Channel], object]]] = [
    (
        "getJournalState",
        pb.GetJournalStateResponseProto(lastPromisedEpoch=MAX, httpPort=1),
        lambda channel: channel.call(GetState(), None),
    ),
    (
        "getJournalState",
        pb.GetJournalStateResponseProto(lastPromisedEpoch=1, httpPort=1, fromURL="http://a:99999"),
        lambda channel: channel.call(GetState(), None),
    ),
    (
        "newEpoch",
        pb.NewEpochResponseProto(lastSegmentTxId=MAX),
        lambda channel: channel.call(NewEpoch(5), None),
    ),
    *(
        ("prepareRecovery", answer, lambda channel: channel.call(PrepareRecovery(41), STAMP))
        for answer in (_prepared(40, 45), _prepared(41, 40), _prepared(41, MAX))
    ),
    *(
        ("getJournaledEdits", answer, lambda channel: channel.edits(1))
        for answer in (
            pb.GetJournaledEditsResponseProto(txnCount=1, editLog=b"no edits at all"),
            pb.GetJournaledEditsResponseProto(txnCount=1, editLog=encode_header() + b"\0\0"),
            pb.GetJournaledEditsResponseProto(txnCount=1, editLog=b""),
            pb.GetJournaledEditsResponseProto(
                txnCount=2, editLog=encode_header() + encode_record(1, edits.StartLogSegmentOp())
            ),
        )
    ),
]


@pytest.mark.parametrize(("method", "answer", "ask"), HOSTILE)
def test_an_answer_that_makes_no_sense_counts_as_none(
    channel: Channel,
    wire: Wire,
    method: str,
    answer: Message,
    ask: Callable[[Channel], object],
) -> None:
    wire.answers[method] = answer
    with pytest.raises(errors.ProtocolViolation):
        ask(channel)
