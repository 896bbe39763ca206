"""Highly available secured clusters: journal nodes, namenodes and controllers that prove who they
are, and failovers in the middle of work."""

from __future__ import annotations

import os
import random
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.failover.state.service import RequestSource
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.token import Token
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.proto import election_pb2
from howdah.proto import qjournal_pb2 as pb
from howdah.rpc.client import RpcClient
from howdah.testing.waiting import wait_until
from tests.support.failover.java_client import JavaRounds
from tests.support.failover.workload import wait_until_they_go_on, working_by
from tests.support.failover.write_ledger import Manifest
from tests.support.hadoop.java import hadoop_java
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.secured_hadoop import AES
from tests.support.security.secured_quorum import NAMESERVICE, SecuredQuorum
from tests.support.security.servers import write_site_files

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

DATA: Final = random.Random(36).randbytes((2 << 20) + 700_000)
_JAVA: Final = Path(__file__).with_name("FailoverClient.java")
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


# -- failovers ---------------------------------------------------------------------


def work_through_a_failover(quorum: SecuredQuorum, fs: HdfsFileSystem, path: str) -> None:
    """Write, append and read, with a failover within each."""
    with fs.create(path, overwrite=True) as out:
        out.write(DATA[:1_500_000])
        out.hflush()
        quorum.fail_over()
        out.write(DATA[1_500_000:])
    with fs.open(path) as reader:
        assert reader.read(1000) == DATA[:1000]
        quorum.fail_over()
        assert reader.read() == DATA[1000:]
    with fs.append(path) as out:
        out.write(b"more")
    assert fs.get_file_status(path).length == len(DATA) + 4
    assert fs.get_file_status(path).owner == "alice"


def test_with_a_ticket_work_goes_on_through_a_failover(quorum: SecuredQuorum) -> None:
    with quorum.connect(rpc="privacy", data="privacy", suites=AES) as fs:
        work_through_a_failover(quorum, fs, "/user/alice/by-ticket")


def issued(quorum: SecuredQuorum) -> Token:
    with quorum.connect(rpc="privacy") as fs:
        token = fs.get_delegation_token("alice")
    assert token is not None
    assert token.service == f"ha-hdfs:{NAMESERVICE}"
    return token


def by_token(quorum: SecuredQuorum, token: Token, file: Path) -> HdfsFileSystem:
    """A client that has the token, and no ticket."""
    file.write_bytes(Credentials({token.service: token}).encode())
    conf = Configuration(quorum.client_conf(rpc="privacy", data="privacy"))
    fs = howdah.connect(quorum.uri, conf=conf, token_file=str(file))
    assert isinstance(fs, HdfsFileSystem)
    return fs


def test_a_token_is_good_at_both_namenodes_until_it_is_cancelled(
    quorum: SecuredQuorum, tmp_path: Path
) -> None:
    token = issued(quorum)
    with by_token(quorum, token, tmp_path / "token") as fs:
        assert fs.user == "alice"
        work_through_a_failover(quorum, fs, "/user/alice/by-token")
    quorum.fail_over()
    with quorum.connect(rpc="privacy") as fs:
        fs.renew_delegation_token(token)
    quorum.fail_over()
    with quorum.connect(rpc="privacy") as fs:
        fs.cancel_delegation_token(token)
    quorum.fail_over()
    with (
        by_token(quorum, token, tmp_path / "token") as fs,
        pytest.raises(errors.InvalidToken, match="can't be found in cache"),
    ):
        fs.exists("/")


def test_the_superuser_alone_asks_for_roles_and_changes_them(quorum: SecuredQuorum) -> None:
    namenode = quorum.namenode("nn1", "alice")
    try:
        with pytest.raises(errors.AccessDenied, match="alice"):
            namenode.status()
        with pytest.raises(errors.AccessDenied, match="alice"):
            namenode.make_standby(RequestSource.USER)
    finally:
        namenode.close()


@pytest.mark.torture
@pytest.mark.parametrize("kind", ["journalnode", "namenode", "datanode"])
def test_beside_hadoops_servers_work_goes_on_through_failovers(
    kdc: Kdc, hadoop_classpath: str, tmp_path: Path, kind: str
) -> None:
    """All servers of one kind are Hadoop's."""
    quorum = SecuredQuorum(tmp_path / "cluster", hadoop_classpath, kdc, hadoops=[kind])
    try:
        token = issued(quorum)
        with quorum.connect(rpc="privacy", data="privacy", suites=AES) as fs:
            work_through_a_failover(quorum, fs, "/user/alice/by-ticket")
        quorum.kill_active()
        with by_token(quorum, token, tmp_path / "token") as fs:
            assert fs.read_bytes("/user/alice/by-ticket") == DATA + b"more"
            fs.write_bytes("/user/alice/by-token", DATA)
            assert fs.read_bytes("/user/alice/by-token") == DATA
    finally:
        quorum.close()


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_all_goes_on_while_servers_are_killed_and_keys_are_rolled(
    kdc: Kdc, hadoop_classpath: str, tmp_path: Path
) -> None:
    """Controllers decide. Block keys are rolled each minute and block tokens are good for one;
    delegation tokens are made by another key every ten seconds. Our clients have tickets, Java's a
    token that was issued before."""
    conf = {
        "dfs.replication": "2",
        "dfs.block.access.key.update.interval": "1",
        "dfs.block.access.token.lifetime": "1",
        "dfs.namenode.delegation.key.update-interval": "10000",
        "howdah.ha.election.lease.ms": "3000",
    }
    quorum = SecuredQuorum(
        tmp_path / "cluster", hadoop_classpath, kdc, conf, datanodes=3, has_controllers=True
    )
    java: JavaRounds | None = None
    try:
        token = issued(quorum)
        with quorum.connect(rpc="privacy") as fs:
            for name in ("ours", "java"):
                fs.mkdirs(f"/user/alice/{name}")
        java = javas_client(quorum, hadoop_classpath, token, "/user/alice/java", tmp_path)
        java.wait_for(2)
        until_s = time.monotonic() + 130
        with working_by(
            lambda: quorum.connect(rpc="privacy", data="privacy", suites=AES), "/user/alice/ours"
        ) as manifest:
            while time.monotonic() < until_s:
                kill_and_start(quorum, manifest, java)
        java.finish()
        with by_token(quorum, token, tmp_path / "token") as fs:
            assert fs.list_status("/user/alice/java")
    finally:
        if java is not None:
            java.kill()
        quorum.close()


def kill_and_start(quorum: SecuredQuorum, manifest: Manifest, java: JavaRounds) -> None:
    """Kill the active namenode, and then a journal node, and start both again."""
    killed = quorum.active()
    assert killed is not None
    quorum.kill_active()
    wait_until_they_go_on(manifest)
    java.wait_for(1)
    quorum.kill("jn1")
    wait_until_they_go_on(manifest)
    quorum.start("jn1")
    quorum.start(killed)
    wait_until(lambda: quorum.state(killed) is not None, 60)
    java.wait_for(1)


def javas_client(
    quorum: SecuredQuorum, jars: str, token: Token, path: str, directory: Path
) -> JavaRounds:
    """Hadoop's client at work at privacy, by a token alone."""
    conf_dir = directory / "java"
    write_site_files(conf_dir, quorum.client_conf(rpc="privacy", data="privacy", suites=AES))
    tokens = directory / "javas-tokens"
    tokens.write_bytes(Credentials({token.service: token}).encode())
    options = [f"-Djava.security.krb5.conf={os.environ['KRB5_CONFIG']}"]
    return JavaRounds(
        [*hadoop_java(jars, conf_dir, options=options), str(_JAVA), f"{quorum.uri}{path}"],
        directory / "javas-output",
        {"HADOOP_TOKEN_FILE_LOCATION": str(tokens)},
    )
