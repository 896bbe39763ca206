"""Highly available secured clusters: journal nodes, namenodes and controllers that prove who they
are, and failovers in the middle of work."""

from __future__ import annotations

import base64
import hashlib
import itertools
import os
import random
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.failover.state.service import RequestSource, ServiceState
from howdah.failover.zookeeper import ZooKeeperSettings
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.token import Token
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.namenode.server.nameservice.identity import place_of
from howdah.namenode.server.nameservice.peers import Peers
from howdah.namenode.service.protocols.namenode import NamenodeProtocol
from howdah.proto import datanode_namenode_pb2, election_pb2, namenode_pb2
from howdah.proto import qjournal_pb2 as pb
from howdah.protocol.zookeeper import Session
from howdah.rpc.client import RpcClient
from howdah.security.server_login import namenode_caller
from howdah.testing.waiting import wait_until
from tests.support.failover.java_client import JavaRounds
from tests.support.failover.workload import wait_until_they_go_on, working_by
from tests.support.failover.write_ledger import Manifest
from tests.support.hadoop.programs import hadoop_program
from tests.support.security.fixtures import ENCRYPTED
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.secured_hadoop import AES
from tests.support.security.secured_quorum import NAMENODES, NAMESERVICE, SecuredQuorum
from tests.support.security.servers import write_site_files
from tests.support.zookeeper import zookeeper_server

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

DATA: Final = random.Random(36).randbytes((2 << 20) + 700_000)
OBSERVED: Final = {
    f"dfs.client.failover.proxy.provider.{NAMESERVICE}": (
        "org.apache.hadoop.hdfs.server.namenode.ha.ObserverReadProxyProvider"
    )
}
_JAVA: Final = Path(__file__).with_name("FailoverClient.java")
_QJOURNAL: Final = "org.apache.hadoop.hdfs.qjournal.protocol.QJournalProtocol"
_INTER: Final = "org.apache.hadoop.hdfs.qjournal.protocol.InterQJournalProtocol"
_ELECTION: Final = "org.howdah.journalnode.ElectionProtocol"


@pytest.fixture(
    scope="module",
    params=["privacy", pytest.param("integrity,privacy", marks=pytest.mark.torture)],
)
def quorum(
    request: pytest.FixtureRequest,
    kdc: Kdc,
    hadoop_classpath: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SecuredQuorum]:
    """Of this project's servers alone, which protect calls of theirs in one way."""
    conf = {
        "hadoop.rpc.protection": request.param,
        "dfs.ha.standby.checkpoints": "true",
        "dfs.namenode.checkpoint.txns": "30",
        "dfs.namenode.checkpoint.check.period": "1",
    }
    directory = tmp_path_factory.mktemp("quorum")
    with kdc.in_environment():
        quorum = SecuredQuorum(directory, hadoop_classpath, kdc, conf)
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


def test_a_journal_node_asks_who_comes_over_http(quorum: SecuredQuorum) -> None:
    for path in ("/", "/jmx", "/conf", f"/getJournal?jid={NAMESERVICE}&segmentTxId=1"):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(
                f"http://localhost:{quorum.ports['jn1']['http']}{path}", timeout=20
            )
        assert caught.value.code == 401


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


def by_token(
    quorum: SecuredQuorum, token: Token, file: Path, conf: Mapping[str, str] | None = None
) -> HdfsFileSystem:
    """A client that has the token, and no ticket."""
    file.write_bytes(Credentials({token.service: token}).encode())
    values = Configuration({**quorum.client_conf(rpc="privacy", data="privacy"), **(conf or {})})
    fs = howdah.connect(quorum.uri, conf=values, token_file=str(file))
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


def test_each_namenode_has_block_keys_of_its_own(quorum: SecuredQuorum) -> None:
    """Datanodes have those of both, and know by their ids whose they are."""
    ids = {name: {key.keyId for key in block_keys(quorum, name).allKeys} for name in NAMENODES}
    half = ((1 << 31) - 1) // 2
    assert all(0 <= key_id < half for key_id in ids["nn1"])
    assert all(half <= key_id < 2 * half for key_id in ids["nn2"])


def block_keys(quorum: SecuredQuorum, name: str) -> datanode_namenode_pb2.ExportedBlockKeysProto:
    client = RpcClient(
        ("localhost", quorum.ports[name]["rpc"]),
        NamenodeProtocol.PROTOCOL,
        user=quorum.caller("hdfs"),
    )
    try:
        return client.call(
            "getBlockKeys",
            namenode_pb2.GetBlockKeysRequestProto(),
            namenode_pb2.GetBlockKeysResponseProto,
        ).keys
    finally:
        client.close()


def test_no_key_is_in_a_log_of_a_server_or_can_be_read_by_others(quorum: SecuredQuorum) -> None:
    """Master keys of delegation tokens are in the edits, which journal nodes keep."""
    token = issued(quorum)
    secrets = [token.password]
    for name in NAMENODES:
        secrets += [key.keyBytes for key in block_keys(quorum, name).allKeys if key.keyBytes]
    logs = b"".join(path.read_bytes() for path in quorum.directory.glob("*.log"))
    assert logs
    for secret in secrets:
        for shown in (
            secret,
            secret.hex().encode(),
            base64.b64encode(secret),
            repr(secret).encode(),
        ):
            assert shown not in logs
    kept = [f"{name}/current" for name in NAMENODES] + list(quorum.journal_nodes)
    for path in kept:
        assert not (quorum.directory / path).stat().st_mode & 0o077, path


def test_a_standby_has_the_active_begin_a_segment(quorum: SecuredQuorum) -> None:
    """It is asked as a namenode; who is none, and no superuser, is not obeyed."""
    before = finished_segments(quorum)
    roll(quorum, quorum.caller("nn/localhost"))
    wait_until(lambda: finished_segments(quorum) > before)
    with pytest.raises(errors.RemoteError, match="alice"):
        roll(quorum, quorum.caller("alice"))


def finished_segments(quorum: SecuredQuorum) -> int:
    """How many the first journal node has."""
    directory = quorum.directory / "jn1" / NAMESERVICE / "current"
    return sum("inprogress" not in path.name for path in directory.glob("edits_*"))


def test_a_standby_gives_the_active_its_images(quorum: SecuredQuorum) -> None:
    active = quorum.active()
    assert active is not None
    current = quorum.directory / active / "current"
    before = {path.name for path in current.glob("fsimage_*")}
    with quorum.connect(rpc="privacy") as fs:
        for number in range(40):
            fs.mkdirs(f"/user/alice/images/{number}")
    roll(quorum)
    wait_until(lambda: {path.name for path in current.glob("fsimage_*")} - before, 60)


def test_a_lost_namenode_is_made_anew_of_what_the_others_have(quorum: SecuredQuorum) -> None:
    """An image of the active, and segments of journal nodes that have nothing in memory: both come
    over HTTP, where a namenode proves itself by its keytab."""
    with quorum.connect(rpc="privacy", data="privacy") as fs:
        fs.write_bytes("/user/alice/kept", DATA)
    for name in quorum.journal_nodes:
        quorum.kill(name)
        quorum.start(name)
        wait_until(lambda: quorum.listens(name), 60)  # noqa: B023 - it is called at once
        roll(quorum)
        wait_until(lambda: is_written(quorum, name), 60)  # noqa: B023 - it is called at once
    active = quorum.active()
    assert active is not None
    lost = next(name for name in NAMENODES if name != active)
    quorum.kill(lost)
    shutil.rmtree(quorum.directory / lost)
    conf_dir = quorum.conf_dir_of(lost)
    quorum.servers.run_ours("bootstrap", "namenode", conf_dir, "-bootstrapStandby")
    quorum.start(lost)
    wait_until(lambda: quorum.state(lost) is ServiceState.STANDBY, 60)
    assert quorum.fail_over() == lost
    with quorum.connect(rpc="privacy", data="privacy") as fs:
        assert fs.read_bytes("/user/alice/kept") == DATA


def roll(quorum: SecuredQuorum, user: str | None = None) -> None:
    """Have the active begin another segment, as its standby does, by the standby's login if no
    `user` is given."""
    active = quorum.active()
    standby = next(name for name in NAMENODES if name != active)
    place = place_of(Configuration.load(quorum.conf_dir_of(standby), environment=False))
    Peers(place.others, user or namenode_caller(place.conf)).roll_active()


def is_written(quorum: SecuredQuorum, name: str) -> bool:
    """Whether a journal node takes edits."""
    return bool(list((quorum.directory / name / NAMESERVICE / "current").glob("*inprogress*")))


def test_an_observer_answers_who_has_a_token(quorum: SecuredQuorum, tmp_path: Path) -> None:
    """At once: it may not have read of the token yet, and the client asks again."""
    active = quorum.active()
    assert active is not None
    other = next(name for name in NAMENODES if name != active)
    observer = quorum.namenode(other)
    observer.make_observer(RequestSource.USER)
    try:
        with by_token(quorum, issued(quorum), tmp_path / "token", OBSERVED) as fs:
            assert fs.get_file_status("/user/alice").owner == "alice"
            fs.mkdirs("/user/alice/observed")
            assert fs.exists("/user/alice/observed")
        with quorum.connect("bob", OBSERVED, rpc="privacy") as fs:
            with pytest.raises(errors.AccessDenied):
                fs.mkdirs("/user/alice/not-bobs")
            assert fs.exists("/user/alice/observed")
    finally:
        observer.make_standby(RequestSource.USER)
        observer.close()


def test_haadmin_asks_and_orders_by_a_ticket(
    quorum: SecuredQuorum,
    kerberos_environment: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    active = quorum.active()
    assert active is not None
    other = next(name for name in NAMENODES if name != active)
    conf = quorum.client_conf(rpc="privacy").items()
    words = [word for name, value in conf for word in ("-D", f"{name}={value}")]
    quorum.kdc.kinit("alice", kerberos_environment)
    assert main(["haadmin", *words, "-failover", active, other]) != 0
    quorum.kdc.kinit("hdfs", kerberos_environment)
    assert main(["haadmin", *words, "-getServiceState", other]) == 0
    assert "standby" in capsys.readouterr().out
    assert main(["haadmin", *words, "-failover", active, other]) == 0
    assert quorum.active() == other


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
        killed = quorum.active()
        assert killed is not None
        quorum.kill_active()
        with by_token(quorum, token, tmp_path / "token") as fs:
            assert fs.read_bytes("/user/alice/by-ticket") == DATA + b"more"
            fs.write_bytes("/user/alice/by-token", DATA)
            assert fs.read_bytes("/user/alice/by-token") == DATA
            # Its past comes in segments, over HTTP.
            quorum.start(killed)
            wait_until(lambda: quorum.state(killed) is ServiceState.STANDBY, 60)
            assert quorum.fail_over() == killed
            assert fs.read_bytes("/user/alice/by-token") == DATA
    finally:
        quorum.close()


@pytest.mark.torture
def test_controllers_fail_hadoops_namenodes_over(
    kdc: Kdc, hadoop_classpath: str, tmp_path: Path
) -> None:
    """By the principal of the namenodes, as Hadoop's controllers do."""
    quorum = SecuredQuorum(
        tmp_path / "cluster", hadoop_classpath, kdc, hadoops=["namenode"], has_controllers=True
    )
    try:
        token = issued(quorum)
        with quorum.connect(rpc="privacy", data="privacy") as fs:
            fs.write_bytes("/user/alice/kept", DATA)
        controller = quorum.controller("nn2")
        controller.fail_over_to_it()
        controller.close()
        assert quorum.active() == "nn2"
        assert quorum.kill_active() == "nn1"
        with by_token(quorum, token, tmp_path / "token") as fs:
            assert fs.read_bytes("/user/alice/kept") == DATA
    finally:
        quorum.close()


@pytest.mark.torture
def test_controllers_alone_use_what_they_have_on_zookeeper(
    kdc: Kdc, hadoop_classpath: str, tmp_path: Path
) -> None:
    """Each shows the password of a digest, and lets nobody in without it."""
    secret = tmp_path / "zookeeper-auth"
    secret.write_text("digest:hdfs:of-this-test-alone\n")
    digest = base64.b64encode(hashlib.sha1(b"hdfs:of-this-test-alone").digest()).decode()
    with zookeeper_server(tmp_path / "zookeeper") as (host, port):
        conf = {
            "ha.zookeeper.quorum": f"{host}:{port}",
            "ha.zookeeper.session-timeout.ms": "4000",
            "ha.zookeeper.acl": f"digest:hdfs:{digest}:rwcda",
            "ha.zookeeper.auth": f"@{secret}",
        }
        quorum = SecuredQuorum(
            tmp_path / "cluster", hadoop_classpath, kdc, conf, has_controllers=True
        )
        try:
            assert quorum.kill_active() == "nn2"
            lock = f"/hadoop-ha/{NAMESERVICE}/ActiveStandbyElectorLock"
            ensemble = ZooKeeperSettings.of(Configuration(quorum.conf), NAMESERVICE).ensemble
            with closing(Session(ensemble)) as session:
                assert session.read(lock) is not None
            with closing(Session(replace(ensemble, auths=()))) as session:
                with pytest.raises(errors.HowdahError, match="NoAuth"):
                    session.read(lock)
                with pytest.raises(errors.HowdahError, match="NoAuth"):
                    session.remove(lock, 0)
        finally:
            quorum.close()


@pytest.mark.torture
@pytest.mark.timeout(900)
@pytest.mark.parametrize("data", [{}, ENCRYPTED], ids=["tokens", "encrypted"])
def test_all_goes_on_while_servers_are_killed_and_keys_are_rolled(
    kdc: Kdc, hadoop_classpath: str, tmp_path: Path, data: dict[str, str]
) -> None:
    """Controllers decide. Block keys are rolled each minute and block tokens are good for one;
    delegation tokens are made by another key every ten seconds. Our clients have tickets, Java's a
    token that was issued before."""
    conf = {
        **data,
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
            for journal_node in itertools.cycle(quorum.journal_nodes):
                kill_and_start(quorum, journal_node, manifest, java)
                if time.monotonic() > until_s:
                    break
        java.finish()
        with by_token(quorum, token, tmp_path / "token") as fs:
            assert fs.list_status("/user/alice/java")
    finally:
        if java is not None:
            java.kill()
        quorum.close()


@pytest.mark.torture
def test_a_shared_directory_takes_the_place_of_journal_nodes(
    kdc: Kdc, hadoop_classpath: str, tmp_path: Path
) -> None:
    quorum = SecuredQuorum(tmp_path / "cluster", hadoop_classpath, kdc, journal_nodes=0)
    try:
        token = issued(quorum)
        with by_token(quorum, token, tmp_path / "token") as fs:
            work_through_a_failover(quorum, fs, "/user/alice/by-token")
        assert not (quorum.directory / "shared" / "current").stat().st_mode & 0o077
        killed = quorum.active()
        assert killed is not None
        quorum.kill_active()
        quorum.start(killed)
        wait_until(lambda: quorum.state(killed) is not None, 60)
        with by_token(quorum, token, tmp_path / "token") as fs:
            assert fs.read_bytes("/user/alice/by-token") == DATA + b"more"
            quorum.fail_over()
            assert fs.read_bytes("/user/alice/by-token") == DATA + b"more"
    finally:
        quorum.close()


@pytest.mark.torture
def test_administrators_alone_order_controllers(
    kdc: Kdc, hadoop_classpath: str, tmp_path: Path
) -> None:
    """A graceful failover goes by both controllers, of which one asks the other to cede."""
    quorum = SecuredQuorum(tmp_path / "cluster", hadoop_classpath, kdc, has_controllers=True)
    try:
        controller = quorum.controller("nn2", "alice")
        with pytest.raises(errors.AccessDenied, match="Disallowed RPC access from alice"):
            controller.fail_over_to_it()
        with pytest.raises(errors.AccessDenied, match="Disallowed RPC access from alice"):
            controller.cede(1000)
        controller.close()
        assert quorum.active() == "nn1"
        controller = quorum.controller("nn2")
        controller.fail_over_to_it()
        controller.close()
        assert quorum.active() == "nn2"
    finally:
        quorum.close()


def kill_and_start(
    quorum: SecuredQuorum, journal_node: str, manifest: Manifest, java: JavaRounds
) -> None:
    """Kill the active namenode, and then a journal node, and start both again."""
    killed = quorum.active()
    assert killed is not None
    quorum.kill_active()
    wait_until_they_go_on(manifest)
    java.wait_for(1)
    quorum.kill(journal_node)
    wait_until_they_go_on(manifest)
    quorum.start(journal_node)
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
        [*hadoop_program(_JAVA, jars, conf_dir, options=options), f"{quorum.uri}{path}"],
        directory / "javas-output",
        {"HADOOP_TOKEN_FILE_LOCATION": str(tokens)},
    )
