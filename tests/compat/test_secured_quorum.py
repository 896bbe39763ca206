"""Highly available secured clusters: journal nodes, namenodes and controllers that prove who they
are, and failovers in the middle of work."""

from __future__ import annotations

import random
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Final

import pytest

from howdah import errors
from howdah.proto import election_pb2
from howdah.proto import qjournal_pb2 as pb
from howdah.rpc.client import RpcClient
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.secured_quorum import NAMESERVICE, SecuredQuorum

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

DATA: Final = random.Random(36).randbytes((2 << 20) + 700_000)
_QJOURNAL: Final = "org.apache.hadoop.hdfs.qjournal.protocol.QJournalProtocol"
_INTER: Final = "org.apache.hadoop.hdfs.qjournal.protocol.InterQJournalProtocol"
_ELECTION: Final = "org.howdah.journalnode.ElectionProtocol"


@pytest.fixture(scope="module")
def quorum(
    kdc: Kdc, hadoop_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecuredQuorum]:
    """Of this project's servers alone."""
    directory = tmp_path_factory.mktemp("quorum")
    with kdc.in_environment():
        quorum = SecuredQuorum(
            directory, hadoop_classpath, kdc, {"hadoop.rpc.protection": "privacy"}
        )
    yield quorum
    quorum.close()


def test_data_is_written_and_read_at_privacy(quorum: SecuredQuorum) -> None:
    with quorum.connect(rpc="privacy", data="privacy") as fs:
        fs.write_bytes("/user/alice/first", DATA)
        assert fs.read_bytes("/user/alice/first") == DATA


def ask(quorum: SecuredQuorum, protocol: str, user: str) -> None:
    """Ask a journal node what costs nothing. Raises what it is answered."""
    client = RpcClient(("localhost", quorum.ports["jn1"]["rpc"]), protocol, user=user)
    journal = pb.JournalIdProto(identifier=NAMESERVICE)
    try:
        if protocol == _ELECTION:
            client.call(
                "getElection",
                election_pb2.GetElectionRequestProto(electionId=NAMESERVICE),
                election_pb2.GetElectionResponseProto,
            )
        elif protocol == _INTER:
            client.call(
                "getEditLogManifestFromJournal",
                pb.GetEditLogManifestRequestProto(jid=journal, sinceTxId=0),
                pb.GetEditLogManifestResponseProto,
            )
        else:
            client.call(
                "getJournalState",
                pb.GetJournalStateRequestProto(jid=journal),
                pb.GetJournalStateResponseProto,
            )
    finally:
        client.close()


@pytest.mark.parametrize(
    ("protocol", "principal", "others"),
    [
        (_QJOURNAL, "nn", ["alice", "hdfs", "dn/localhost", "jn/localhost"]),
        (_ELECTION, "nn", ["alice", "hdfs", "dn/localhost", "jn/localhost"]),
        (_INTER, "jn", ["alice", "hdfs", "dn/localhost", "nn/localhost"]),
    ],
)
def test_servers_alone_speak_to_journal_nodes(
    quorum: SecuredQuorum, protocol: str, principal: str, others: list[str]
) -> None:
    """Not even the superuser: he has no business there."""
    ask(quorum, protocol, quorum.caller(f"{principal}/localhost"))
    wanted = f"only accessible by {principal}/localhost@{REALM}"
    for user in others:
        with pytest.raises(errors.AuthorizationFailed, match=wanted):
            ask(quorum, protocol, quorum.caller(user))


@pytest.mark.parametrize("protocol", [_QJOURNAL, _ELECTION, _INTER])
def test_who_proves_nothing_is_not_answered_by_a_journal_node(
    quorum: SecuredQuorum, protocol: str
) -> None:
    with pytest.raises(errors.AccessDenied, match="SIMPLE authentication is not enabled"):
        ask(quorum, protocol, "nn")


def test_pages_of_a_journal_node_are_closed(quorum: SecuredQuorum) -> None:
    for path in ("/", "/jmx", "/conf", f"/getJournal?jid={NAMESERVICE}&segmentTxId=1"):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(
                f"http://localhost:{quorum.ports['jn1']['http']}{path}", timeout=20
            )
        assert caught.value.code == 403
