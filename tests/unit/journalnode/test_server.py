"""A journal node on loopback: both protocols, segments over HTTP, journal sync, and requests
of strangers (FS-055, FS-060)."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message

from howdah import errors
from howdah.config import Configuration
from howdah.journalnode.election_service import PROTOCOL as ELECTION
from howdah.journalnode.pages import ready
from howdah.journalnode.protocol import INTER_QJOURNAL, QJOURNAL
from howdah.journalnode.server import JournalNode
from howdah.journalnode.state.journal_state import SegmentState
from howdah.journalnode.state.status import Status
from howdah.journalnode.sync import Peer, join, sync_journal
from howdah.proto import datanode_namenode_pb2 as server_pb
from howdah.proto import election_pb2
from howdah.proto import qjournal_pb2 as pb
from howdah.rpc.client import RpcClient
from howdah.runtime.users.names import ProxyUser
from tests.support.journal_writer import records, segment_bytes

JOURNAL = "ns1"


def namespace(namespace_id: int = 77, cluster_id: str = "CID-1") -> server_pb.NamespaceInfoProto:
    return server_pb.NamespaceInfoProto(
        buildVersion="x",
        unused=0,
        blockPoolID="BP-1",
        softwareVersion="3.5.0",
        storageInfo=server_pb.StorageInfoProto(
            layoutVersion=(1 << 32) - 66, namespceID=namespace_id, clusterID=cluster_id, cTime=0
        ),
    )


class Running:
    """A node, its event loop on a thread, and a client of it."""

    def __init__(self, directory: Path, **settings: str) -> None:
        conf = Configuration(
            {
                "dfs.journalnode.edits.dir": str(directory),
                "dfs.journalnode.rpc-address": "127.0.0.1:0",
                "dfs.journalnode.http-address": "127.0.0.1:0",
                "dfs.journalnode.sync.interval": "1h",
                **settings,
            }
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.node = JournalNode(conf)
        starting = asyncio.run_coroutine_threadsafe(self.node.start(), self._loop)
        self.rpc, web = starting.result(20)
        self.http = web.first
        self.client = RpcClient(self.rpc, QJOURNAL)
        self.serial = 0
        self._stopped = False

    def stop(self) -> None:
        if self._stopped:
            return
        self._stopped = True
        self.client.close()

        async def stop() -> None:
            self.node.stop()

        asyncio.run_coroutine_threadsafe(stop(), self._loop).result(20)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(20)
        self._loop.close()

    def call(self, method: str, request: Message) -> Any:
        answer = getattr(pb, f"{method[0].upper()}{method[1:]}ResponseProto")
        return self.client.call(method, request, answer)

    def jid(self, name: str = JOURNAL) -> pb.JournalIdProto:
        return pb.JournalIdProto(identifier=name)

    def info(self, epoch: int, committed: int | None = None) -> pb.RequestInfoProto:
        self.serial += 1
        return pb.RequestInfoProto(
            journalId=self.jid(), epoch=epoch, ipcSerialNumber=self.serial, committedTxId=committed
        )

    def format(self) -> None:
        self.call("format", pb.FormatRequestProto(jid=self.jid(), nsInfo=namespace()))

    def promise(self, epoch: int) -> pb.NewEpochResponseProto:
        request = pb.NewEpochRequestProto(jid=self.jid(), nsInfo=namespace(), epoch=epoch)
        answer: pb.NewEpochResponseProto = self.call("newEpoch", request)
        return answer

    def start(self, epoch: int, first: int) -> None:
        request = pb.StartLogSegmentRequestProto(
            reqInfo=self.info(epoch), txid=first, layoutVersion=-66
        )
        self.call("startLogSegment", request)

    def write(
        self, epoch: int, segment: int, first: int, last: int, committed: int | None = None
    ) -> None:
        request = pb.JournalRequestProto(
            reqInfo=self.info(epoch, committed),
            firstTxnId=first,
            numTxns=last + 1 - first,
            records=records(first, last),
            segmentTxnId=segment,
        )
        self.call("journal", request)

    def finish(self, epoch: int, first: int, last: int) -> None:
        request = pb.FinalizeLogSegmentRequestProto(
            reqInfo=self.info(epoch), startTxId=first, endTxId=last
        )
        self.call("finalizeLogSegment", request)

    def get(self, target: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(*self.http, timeout=20)
        try:
            connection.request("GET", target)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


Start = Callable[..., Running]


@pytest.fixture
def start_node(tmp_path: Path) -> Iterator[Start]:
    running: list[Running] = []

    def start(name: str = "jn0", **settings: str) -> Running:
        running.append(Running(tmp_path / name, **settings))
        return running[-1]

    yield start
    for node in running:
        node.stop()


@pytest.fixture
def node(start_node: Start) -> Running:
    found = start_node()
    found.format()
    return found


# The protocols.


def test_a_writer_writes_and_a_reader_reads(node: Running) -> None:
    assert node.promise(1).leaseLeftMillis == 0
    node.start(1, 1)
    node.write(1, 1, 1, 3)
    node.finish(1, 1, 3)
    node.start(1, 4)
    node.write(1, 4, 4, 6, committed=3)
    request = pb.GetEditLogManifestRequestProto(jid=node.jid(), sinceTxId=1, inProgressOk=True)
    answer = node.call("getEditLogManifest", request)
    told = [(log.startTxId, log.endTxId, log.isInProgress) for log in answer.manifest.logs]
    assert told == [(1, 3, False), (4, 6, True)]
    assert (answer.manifest.committedTxnId, answer.httpPort) == (3, node.http[1])
    wanted = pb.GetJournaledEditsRequestProto(jid=node.jid(), sinceTxId=2, maxTxns=10)
    edits = node.call("getJournaledEdits", wanted)
    assert (edits.txnCount, edits.editLog) == (5, segment_bytes(2, 6))
    for first, last in ((1, 3), (4, 6)):
        target = f"/getJournal?jid=ns1&segmentTxId={first}&storageInfo=-66:77:0:CID-1"
        assert node.get(target) == (200, segment_bytes(first, last))


def test_a_fenced_writer_hears_it_in_hadoops_words(node: Running) -> None:
    node.promise(1)
    node.promise(2)
    with pytest.raises(errors.RemoteError, match="epoch 1 is less than the last promised") as told:
        node.start(1, 1)
    assert told.value.remote_class == "java.io.IOException"


def test_a_lagging_writer_hears_that_it_is_out_of_sync(node: Running) -> None:
    node.promise(1)
    node.start(1, 1)
    with pytest.raises(errors.JournalOutOfSync, match="expecting nextTxId=1"):
        node.write(1, 1, 5, 6)


def test_a_decision_is_told_to_the_next_writer(node: Running) -> None:
    node.promise(1)
    node.start(1, 1)
    node.write(1, 1, 1, 3)
    assert node.promise(2).lastSegmentTxId == 1
    state = pb.SegmentStateProto(startTxId=1, endTxId=3, isInProgress=True)
    accept = pb.AcceptRecoveryRequestProto(
        reqInfo=node.info(2), stateToAccept=state, fromURL="http://127.0.0.1:1/getJournal"
    )
    node.call("acceptRecovery", accept)
    node.promise(3)
    prepare = pb.PrepareRecoveryRequestProto(reqInfo=node.info(3), segmentTxId=1)
    answer = node.call("prepareRecovery", prepare)
    assert (answer.acceptedInEpoch, answer.segmentState) == (2, state)


def test_a_node_fetches_from_another_what_it_lacks(node: Running, start_node: Start) -> None:
    node.promise(1)
    node.start(1, 1)
    node.write(1, 1, 1, 5)
    other = start_node("jn1")
    other.format()
    other.promise(1)
    other.start(1, 1)
    other.write(1, 1, 1, 2)
    for each in (node, other):
        each.promise(2)
    url = "http://{}:{}/getJournal?jid=ns1&segmentTxId=1&inProgressOk=true".format(*node.http)
    accept = pb.AcceptRecoveryRequestProto(
        reqInfo=other.info(2),
        stateToAccept=pb.SegmentStateProto(startTxId=1, endTxId=5, isInProgress=True),
        fromURL=url,
    )
    other.call("acceptRecovery", accept)
    other.finish(2, 1, 5)
    assert other.get("/getJournal?jid=ns1&segmentTxId=1") == (200, segment_bytes(1, 5))


def test_elections_are_held_without_any_journal(start_node: Start) -> None:
    node = start_node()
    client = RpcClient(node.rpc, ELECTION)
    request = election_pb2.GetElectionRequestProto(electionId="ns1")
    answer = client.call("getElection", request, election_pb2.GetElectionResponseProto)
    assert answer.state.promisedTerm == 0
    client.close()


def test_upgrades_go_through_the_protocol(node: Running) -> None:
    node.promise(4)
    jid = node.jid()
    node.call("doPreUpgrade", pb.DoPreUpgradeRequestProto(jid=jid))
    info = server_pb.StorageInfoProto(
        layoutVersion=(1 << 32) - 67, namespceID=77, clusterID="CID-1", cTime=99
    )
    node.call("doUpgrade", pb.DoUpgradeRequestProto(jid=jid, sInfo=info))
    asked = pb.GetJournalCTimeRequestProto(jid=jid)
    assert node.call("getJournalCTime", asked).resultCTime == 99
    node.promise(5)
    can = pb.CanRollBackRequestProto(
        jid=jid, storage=info, prevStorage=info, targetLayoutVersion=-66
    )
    assert node.call("canRollBack", can).canRollBack
    node.call("doRollback", pb.DoRollbackRequestProto(jid=jid))
    assert node.call("getJournalCTime", asked).resultCTime == 0
    state = node.call("getJournalState", pb.GetJournalStateRequestProto(jid=jid))
    assert state.lastPromisedEpoch == 5, "a promise outlives a rollback"
    node.call("doPreUpgrade", pb.DoPreUpgradeRequestProto(jid=jid))
    node.call("doUpgrade", pb.DoUpgradeRequestProto(jid=jid, sInfo=info))
    node.call("doFinalize", pb.DoFinalizeRequestProto(jid=jid))
    assert not node.call("canRollBack", can).canRollBack


# Journal sync.


def ended(node: Running) -> None:
    """Segments 1 to 3 and 4 to 6, committed; 7 to 8 is open."""
    node.promise(1)
    for first, last in ((1, 3), (4, 6)):
        node.start(1, first)
        node.write(1, first, first, last)
        node.finish(1, first, last)
    node.start(1, 7)
    node.write(1, 7, 7, 8, committed=6)


def test_a_node_gets_the_segments_that_it_missed(node: Running, start_node: Start) -> None:
    ended(node)
    other = start_node("jn1")
    other.format()
    other.promise(1)
    other.start(1, 7)
    journal = other.node.journals.find(JOURNAL)
    peer = Peer(node.rpc, 20.0)
    assert sync_journal(journal, peer) == 0, "nothing is known to be committed"
    other.write(1, 7, 7, 8, committed=5)
    assert sync_journal(journal, peer) == 1, "what is not all committed stays away"
    heartbeat = pb.HeartbeatRequestProto(reqInfo=other.info(1, 6))
    other.call("heartbeat", heartbeat)
    assert sync_journal(journal, peer) == 1
    assert sync_journal(journal, peer) == 0
    segments, _ = journal.manifest(1, in_progress_ok=False)
    assert segments == [SegmentState(1, 3, False), SegmentState(4, 6, False)]
    assert other.get("/getJournal?jid=ns1&segmentTxId=4") == (200, segment_bytes(4, 6))
    peer.close()


def test_nodes_sync_by_themselves(node: Running, start_node: Start) -> None:
    ended(node)
    uri = "qjournal://{}:{};127.0.0.1:1/ns1".format(*node.rpc)
    other = start_node(
        "jn1",
        **{"dfs.journalnode.sync.interval": "5ms", "dfs.namenode.shared.edits.dir.ns1": uri},
    )
    other.format()
    other.promise(1)
    other.start(1, 7)
    other.write(1, 7, 7, 8, committed=6)
    journal = other.node.journals.find(JOURNAL)
    until(lambda: len(journal.manifest(1, in_progress_ok=False)[0]) == 2)


def test_a_node_of_another_filesystem_is_no_source(node: Running, start_node: Start) -> None:
    ended(node)
    other = start_node("jn1")
    request = pb.FormatRequestProto(jid=other.jid(), nsInfo=namespace(88, "CID-2"))
    other.call("format", request)
    new_epoch = pb.NewEpochRequestProto(jid=other.jid(), nsInfo=namespace(88, "CID-2"), epoch=1)
    other.call("newEpoch", new_epoch)
    other.call("heartbeat", pb.HeartbeatRequestProto(reqInfo=other.info(1, 6)))
    peer = Peer(node.rpc, 20.0)
    assert sync_journal(other.node.journals.find(JOURNAL), peer) == 0
    peer.close()


def test_the_other_protocol_says_whose_journal_it_is(node: Running) -> None:
    client = RpcClient(node.rpc, INTER_QJOURNAL)
    request = pb.GetStorageInfoRequestProto(jid=node.jid())
    answer = client.call("getStorageInfo", request, server_pb.StorageInfoProto)
    assert answer == namespace().storageInfo
    client.close()


def test_the_other_protocol_says_what_was_promised(
    node: Running, start_node: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A secured node tells its state to namenodes alone, and another node needs the promise."""
    ended(node)
    peer = Peer(node.rpc, 20.0)
    node.promise(7)
    with monkeypatch.context() as patch:
        patch.setattr(peer, "_qjournal", None)
        assert peer.promised_epoch(JOURNAL) == 7
    peer.close()
    other = start_node("jn1")
    other.format()
    new = lost_and_replaced(start_node, node, other)
    until(lambda: formatted(new))
    client = RpcClient(new.rpc, INTER_QJOURNAL)
    request = pb.GetEditLogManifestRequestProto(jid=new.jid(), sinceTxId=0)
    answer = client.call(
        "getEditLogManifestFromJournal", request, pb.GetEditLogManifestResponseProto
    )
    assert not answer.HasField("lastPromisedEpoch"), "it has no vote"
    client.close()


def lost_and_replaced(start_node: Start, *others: Running) -> Running:
    """A node of the quorum of `others`, with nothing on its disk."""
    places = ";".join("{}:{}".format(*other.rpc) for other in others)
    missing = ";127.0.0.1:1" if len(others) == 1 else ""
    return start_node(
        "new",
        **{
            "dfs.journalnode.sync.interval": "5ms",
            "dfs.journalnode.enable.sync.format": "true",
            "dfs.namenode.shared.edits.dir": f"qjournal://{places}{missing}/ns1",
        },
    )


def until(condition: Callable[[], bool]) -> None:
    never = threading.Event()
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        never.wait(0.005)


def formatted(node: Running) -> bool:
    request = pb.IsFormattedRequestProto(jid=node.jid())
    answer: pb.IsFormattedResponseProto = node.call("isFormatted", request)
    return answer.isFormatted


@pytest.mark.req("LM-015")
def test_a_node_takes_the_place_of_one_that_was_lost(node: Running, start_node: Start) -> None:
    ended(node)
    other = start_node("jn1")
    other.format()
    other.promise(6)
    new = lost_and_replaced(start_node, node, other)
    until(lambda: formatted(new))
    with pytest.raises(errors.RetriableError, match="no vote until"):
        new.call("getJournalState", pb.GetJournalStateRequestProto(jid=new.jid()))
    with pytest.raises(errors.RetriableError, match="no vote until"):
        new.promise(7)
    with pytest.raises(errors.RemoteError, match="less than the last promised epoch 6"):
        new.start(5, 9)
    new.start(6, 9)
    new.write(6, 9, 9, 9, committed=8)
    assert new.promise(7).lastSegmentTxId == 9
    journal = new.node.journals.find(JOURNAL)
    until(lambda: len(journal.manifest(1, in_progress_ok=False)[0]) == 2)


def test_one_node_is_not_enough_to_replace_another(node: Running, start_node: Start) -> None:
    new = lost_and_replaced(start_node, node)
    peers = [Peer(node.rpc, 20.0), Peer(("127.0.0.1", 1), 20.0)]
    assert not join(new.node.journals, JOURNAL, peers)
    assert not formatted(new)
    for peer in peers:
        peer.close()


# Strangers.


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "/etc", "a/b", ".howdah-elections", "x\0"])
def test_an_id_that_is_a_path_reaches_no_file(start_node: Start, tmp_path: Path, name: str) -> None:
    node = start_node()
    before = sorted(tmp_path.rglob("*"))
    jid = node.jid(name)
    for method, request in (
        ("isFormatted", pb.IsFormattedRequestProto(jid=jid)),
        ("format", pb.FormatRequestProto(jid=jid, nsInfo=namespace(), force=True)),
        ("newEpoch", pb.NewEpochRequestProto(jid=jid, nsInfo=namespace(), epoch=1)),
        ("doPreUpgrade", pb.DoPreUpgradeRequestProto(jid=jid)),
    ):
        with pytest.raises(errors.IllegalArgument, match="bad journal identifier"):
            node.call(method, request)
    assert sorted(tmp_path.rglob("*")) == before
    status, _ = node.get(f"/getJournal?jid={name.replace(chr(0), '%00')}&segmentTxId=1")
    assert status == 400


def test_a_journal_that_is_not_there_makes_no_directory(start_node: Start, tmp_path: Path) -> None:
    node = start_node()
    answer = node.call("isFormatted", pb.IsFormattedRequestProto(jid=node.jid("ns9")))
    assert not answer.isFormatted
    with pytest.raises(errors.JournalNotFormatted):
        node.call("getJournalState", pb.GetJournalStateRequestProto(jid=node.jid("ns9")))
    assert node.get("/getJournal?jid=ns9&segmentTxId=1")[0] == 404
    assert list((tmp_path / "jn0").iterdir()) == []


@pytest.mark.parametrize("who", [(78, "CID-1"), (77, "CID-2")])
def test_another_filesystem_is_refused(node: Running, who: tuple[int, str]) -> None:
    request = pb.NewEpochRequestProto(jid=node.jid(), nsInfo=namespace(*who), epoch=1)
    with pytest.raises(errors.InconsistentStorage, match="Incompatible"):
        node.call("newEpoch", request)
    target = "/getJournal?jid=ns1&segmentTxId=1&storageInfo=-66:{}:0:{}".format(*who)
    assert node.get(target)[0] == 403
    again = pb.FormatRequestProto(jid=node.jid(), nsInfo=namespace(*who))
    with pytest.raises(errors.InconsistentStorage, match="not empty"):
        node.call("format", again)


LARGEST = (1 << 64) - 1


def test_numbers_at_their_extremes_are_refused(node: Running) -> None:
    node.promise(1)
    node.start(1, 1)
    state = pb.SegmentStateProto(startTxId=1, endTxId=LARGEST, isInProgress=True)
    huge = pb.RequestInfoProto(journalId=node.jid(), epoch=LARGEST, ipcSerialNumber=1)
    committed = node.info(1, LARGEST)
    info = node.info
    requests: list[tuple[str, Callable[[], Message]]] = [
        ("heartbeat", lambda: pb.HeartbeatRequestProto(reqInfo=huge)),
        ("heartbeat", lambda: pb.HeartbeatRequestProto(reqInfo=committed)),
        (
            "newEpoch",
            lambda: pb.NewEpochRequestProto(jid=node.jid(), nsInfo=namespace(), epoch=LARGEST),
        ),
        ("startLogSegment", lambda: pb.StartLogSegmentRequestProto(reqInfo=info(1), txid=LARGEST)),
        ("startLogSegment", lambda: pb.StartLogSegmentRequestProto(reqInfo=info(1), txid=0)),
        (
            "startLogSegment",
            lambda: pb.StartLogSegmentRequestProto(reqInfo=info(1), txid=9, layoutVersion=5),
        ),
        (
            "journal",
            lambda: pb.JournalRequestProto(
                reqInfo=info(1), firstTxnId=1, numTxns=(1 << 32) - 1, records=b"", segmentTxnId=1
            ),
        ),
        (
            "acceptRecovery",
            lambda: pb.AcceptRecoveryRequestProto(
                reqInfo=info(1), stateToAccept=state, fromURL="http://127.0.0.1:1/getJournal"
            ),
        ),
        (
            "prepareRecovery",
            lambda: pb.PrepareRecoveryRequestProto(reqInfo=info(1), segmentTxId=LARGEST),
        ),
        (
            "getJournaledEdits",
            lambda: pb.GetJournaledEditsRequestProto(
                jid=node.jid(), sinceTxId=LARGEST, maxTxns=(1 << 32) - 1
            ),
        ),
        (
            "discardSegments",
            lambda: pb.DiscardSegmentsRequestProto(jid=node.jid(), startTxId=LARGEST),
        ),
        ("purgeLogs", lambda: pb.PurgeLogsRequestProto(reqInfo=info(1), minTxIdToKeep=LARGEST)),
    ]
    for method, request in requests:
        with pytest.raises(errors.HowdahError) as refused:
            node.call(method, request())
        assert "internal error" not in str(refused.value), method
    node.write(1, 1, 1, 2)


def test_a_batch_with_a_gap_or_damage_is_refused_and_the_next_is_taken(node: Running) -> None:
    node.promise(1)
    node.start(1, 1)
    request = pb.JournalRequestProto(
        reqInfo=node.info(1), firstTxnId=1, numTxns=2, records=records(1, 1), segmentTxnId=1
    )
    with pytest.raises(errors.RemoteError, match="are not 2 records"):
        node.call("journal", request)
    node.write(1, 1, 1, 2)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/etc/passwd",
        "file:///etc/passwd",
        "",
        "http://[::1/getJournal",
        "http://127.0.0.1:99999/getJournal",
        "ftp://h/getJournal",
        "http:///getJournal",
    ],
)
def test_a_node_is_not_sent_to_any_address(node: Running, url: str) -> None:
    node.promise(1)
    accept = pb.AcceptRecoveryRequestProto(
        reqInfo=node.info(1),
        stateToAccept=pb.SegmentStateProto(startTxId=1, endTxId=5, isInProgress=True),
        fromURL=url,
    )
    with pytest.raises(errors.HowdahError) as refused:
        node.call("acceptRecovery", accept)
    assert "internal error" not in str(refused.value)


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/getJournal", 400),
        ("/getJournal?jid=ns1", 400),
        ("/getJournal?jid=ns1&segmentTxId=-1", 400),
        ("/getJournal?jid=ns1&segmentTxId=99999999999999999999", 400),
        ("/getJournal?jid=ns1&segmentTxId=5", 404),
        ("/getJournal?jid=ns1&segmentTxId=1&storageInfo=x", 403),
        ("/nothing", 404),
    ],
)
def test_requests_over_http_that_make_no_sense(node: Running, target: str, status: int) -> None:
    assert node.get(target)[0] == status


def test_the_pages_say_how_the_journals_are(node: Running) -> None:
    ended(node)
    status, body = node.get("/jmx")
    beans = {bean["name"].partition("name=")[2]: bean for bean in json.loads(body)["beans"]}
    assert status == 200
    assert json.loads(beans["JournalNodeInfo"]["JournalsStatus"]) == {"ns1": {"Formatted": "true"}}
    assert beans["Journal-ns1"]["LastWrittenTxId"] == 8
    assert beans["Journal-ns1"]["TxnsWritten"] == 8
    assert beans["Journal-ns1"]["HowdahMissingTxns"] == 0
    assert beans["Journal-ns1"]["HowdahHasVote"]
    assert b"ns1" in node.get("/")[1]
    assert node.get("/conf")[0] == 200


@pytest.mark.req("FS-261")
@pytest.mark.req("FS-262")
def test_monitoring_is_told_of_journals_and_calls(node: Running) -> None:
    ended(node)
    assert node.get("/health")[0] == 200
    status, body = node.get("/ready")
    assert (status, json.loads(body)["journals"]) == (200, [JOURNAL])
    told = node.get("/prom")[1].decode()
    assert 'journal_node_last_written_tx_id{journal="ns1"} 8.0' in told
    assert re.search(r'rpc_processing_seconds_count{method="journal",port="\d+"} [1-9]', told)


@pytest.mark.req("FS-262")
def test_node_without_a_journal_that_can_be_used_is_not_ready() -> None:
    assert not ready([]).ok
    good = Status("ns1")
    assert ready([good]).ok
    report = ready([good, Status("ns2", trouble="its VERSION is damaged")])
    assert not report.ok
    assert "ns2: its VERSION is damaged" in report.checks[1].said


def test_a_restarted_node_knows_its_journals(node: Running, start_node: Start) -> None:
    ended(node)
    node.stop()
    again = start_node()
    assert [journal.journal_id for journal in again.node.journals.all()] == [JOURNAL]
    assert again.promise(2).lastSegmentTxId == 7


def test_who_acts_for_another_has_a_rule(tmp_path: Path) -> None:
    rules = {"hadoop.proxyuser.hive.users": "joe", "hadoop.proxyuser.hive.hosts": "127.0.0.1"}
    node = Running(tmp_path, **rules)
    try:
        for user, is_allowed in (("joe", True), ("sue", False)):
            node.client.close()
            node.client = RpcClient(node.rpc, QJOURNAL, user=ProxyUser(user, "hive"))
            if is_allowed:
                node.format()
            else:
                with pytest.raises(errors.AuthorizationFailed, match="impersonate sue"):
                    node.format()
    finally:
        node.stop()
