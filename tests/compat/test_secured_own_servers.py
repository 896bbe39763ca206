"""Secured servers of this project, beside those of Hadoop: who gets in, and how data is written and
read through them."""

from __future__ import annotations

import base64
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.formats.tokens.token import Token
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.namenode.service.protocols.datanodes.protocol import DatanodeProtocol
from howdah.namenode.service.protocols.namenode import NamenodeProtocol
from howdah.proto import (
    client_datanode_pb2,
    datanode_namenode_pb2,
    inter_datanode_pb2,
    namenode_pb2,
    types_pb2,
)
from howdah.rpc.client import RpcClient
from howdah.runtime.users.names import ProxyUser
from howdah.security.users import log_in
from howdah.testing.waiting import wait_until
from tests.support.hadoop.java import hadoop_java
from tests.support.security.fixtures import ENCRYPTED
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.our_servers import (
    OurSecuredCluster,
    OurSecuredDatanodes,
    OurSecuredNamenode,
)
from tests.support.security.secured_hadoop import AES, SecuredHadoop
from tests.support.security.servers import write_site_files

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]
PROTECTIONS: Final[dict[str, dict[str, str]]] = {
    "authentication": {"rpc": "authentication", "data": "authentication"},
    "integrity": {"rpc": "integrity", "data": "integrity"},
    "privacy": {"rpc": "privacy", "data": "privacy"},
    "aes": {"rpc": "privacy", "data": "privacy", "suites": AES},
}
DATA: Final = bytes(range(256)) * 10_000
"""Three blocks."""


_OUR_NAMENODES: Final = [
    pytest.param((OurSecuredNamenode, "writable"), id="namenode"),
    pytest.param((OurSecuredNamenode, "protobuf"), id="protobuf", marks=pytest.mark.torture),
]
_OUR_DATANODES: Final = [
    pytest.param((OurSecuredDatanodes, "writable"), id="datanodes"),
    pytest.param((OurSecuredCluster, "writable"), id="ours"),
    pytest.param((OurSecuredCluster, "encrypted"), id="encrypted", marks=pytest.mark.torture),
]


@pytest.fixture(scope="module", params=[*_OUR_NAMENODES, *_OUR_DATANODES])
def cluster(
    request: pytest.FixtureRequest,
    kdc: Kdc,
    hadoop_classpath: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SecuredHadoop]:
    """Servers of this project beside Hadoop's, with both ways to write block tokens, and with keys
    by which all data is encrypted."""
    kind, form = request.param
    directory = tmp_path_factory.mktemp("secured")
    conf = {
        "dfs.block.access.token.protobuf.enable": str(form == "protobuf").lower(),
        "dfs.encrypt.data.transfer": str(form == "encrypted").lower(),
        "howdah.namenode.audit.log.file": str(directory / "audit.log"),
    }
    with kdc.in_environment():
        cluster: SecuredHadoop = kind(directory, hadoop_classpath, kdc, conf)
    yield cluster
    cluster.close()


@pytest.mark.parametrize("protection", PROTECTIONS)
def test_data_is_written_and_read(cluster: SecuredHadoop, protection: str) -> None:
    chosen = PROTECTIONS[protection]
    with cluster.connect(conf=cluster.client_conf(**chosen)) as fs:
        path = f"/user/alice/{protection}"
        with fs.create(path) as out:
            out.write(DATA)
        with fs.open(path) as file:
            assert file.read() == DATA
        with fs.append(path) as out:
            out.write(b"more")
        with fs.open(path) as file:
            file.seek(len(DATA))
            assert file.read() == b"more"
        assert fs.get_file_status(path).owner == "alice"


def logged_in(cluster: SecuredHadoop, user: str) -> str:
    """Who makes calls of his own, by a ticket."""
    conf, keytab = Configuration(cluster.client_conf()), str(cluster.kdc.keytab(user))
    return log_in(conf, None, keytab, f"{user}@{REALM}", None)


def issued(cluster: SecuredHadoop, renewer: str = "alice") -> Token:
    with cluster.connect() as fs:
        token = fs.get_delegation_token(renewer)
    assert token is not None
    return token


def by_token(cluster: SecuredHadoop, token: Token, file: Path) -> HdfsFileSystem:
    file.write_bytes(Credentials({token.service: token}).encode())
    conf = Configuration(cluster.client_conf(rpc="privacy", data="privacy"))
    fs = howdah.connect(cluster.uri, conf=conf, token_file=str(file))
    assert isinstance(fs, HdfsFileSystem)
    return fs


def test_a_token_is_its_owner_until_it_is_cancelled(cluster: SecuredHadoop, tmp_path: Path) -> None:
    token = issued(cluster)
    assert DelegationTokenIdentifier.decode(token.identifier).owner == f"alice@{REALM}"
    with by_token(cluster, token, tmp_path / "token") as fs:
        with fs.create("/user/alice/by-token") as out:
            out.write(b"data")
        assert fs.get_file_status("/user/alice/by-token").owner == "alice"
        with pytest.raises(errors.HowdahError, match="only with kerberos or web authentication"):
            fs.get_delegation_token("alice")
        with pytest.raises(errors.AccessDenied):
            fs.mkdirs("/not-alices")
    with cluster.connect() as fs:
        fs.renew_delegation_token(token)
        fs.cancel_delegation_token(token)
    with (
        by_token(cluster, token, tmp_path / "token") as fs,
        pytest.raises(errors.InvalidToken, match="can't be found in cache"),
    ):
        fs.exists("/")


def test_who_proves_nothing_gets_nowhere(cluster: SecuredHadoop) -> None:
    simple = Configuration({"hadoop.security.authentication": "simple"})
    with (
        howdah.connect(cluster.uri, conf=simple, user="hdfs") as fs,
        pytest.raises(errors.AccessDenied, match="SIMPLE authentication is not enabled"),
    ):
        fs.exists("/")
    for path in (
        "/",
        "/jmx",
        "/conf",
        "/webhdfs/v1/?op=LISTSTATUS&user.name=hdfs",
        "/fsck?ugi=hdfs",
    ):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"http://localhost:{cluster.http_port}{path}", timeout=20)
        assert caught.value.code == 401


def test_the_user_of_the_namenodes_principal_is_superuser_and_nobody_else(
    cluster: SecuredHadoop,
) -> None:
    with cluster.connect("hdfs") as fs:
        assert fs.set_safe_mode("get") is False
        fs.set_owner("/user/bob", "bob", "users")
    with cluster.connect("bob") as fs, pytest.raises(errors.AccessDenied):
        fs.set_owner("/user/alice", "bob", "users")


def test_nobody_is_given_block_keys_who_is_no_datanode(cluster: SecuredHadoop) -> None:
    pb = datanode_namenode_pb2
    whose = logged_in(cluster, "alice")
    client = RpcClient(("localhost", cluster.rpc_port), DatanodeProtocol.PROTOCOL, user=whose)
    try:
        with pytest.raises(errors.AuthorizationFailed) as caught:
            client.call("versionRequest", pb.VersionRequestProto(), pb.VersionResponseProto)
    finally:
        client.close()
    assert f"is only accessible by dn/localhost@{REALM}" in str(caught.value)


@pytest.mark.parametrize("cluster", _OUR_DATANODES, indirect=True)
@pytest.mark.parametrize("name", ["InterDatanodeProtocol", "ClientDatanodeProtocol"])
def test_nobody_learns_from_a_datanodes_rpc_port_what_is_not_his(
    cluster: SecuredHadoop, name: str
) -> None:
    """A user with a ticket is no datanode, and has no token to any block by it."""
    with cluster.connect() as fs:
        fs.write_bytes("/user/alice/asked", b"data")
        (block,) = fs.block_locations("/user/alice/asked")
    with cluster.connect("hdfs") as admin:
        node = next(n for n in admin.datanode_report("live") if n.name in block.names)
    whose = logged_in(cluster, "alice")
    package = "server.protocol" if name == "InterDatanodeProtocol" else "protocol"
    protocol = f"org.apache.hadoop.hdfs.{package}.{name}"
    client = RpcClient(("localhost", node.ipc_port), protocol, user=whose)
    asked = types_pb2.ExtendedBlockProto(poolId="BP", blockId=1, generationStamp=1)
    try:
        if name == "ClientDatanodeProtocol":
            with pytest.raises(errors.AccessDenied, match="by no block token"):
                client.call(
                    "getReplicaVisibleLength",
                    client_datanode_pb2.GetReplicaVisibleLengthRequestProto(block=asked),
                    client_datanode_pb2.GetReplicaVisibleLengthResponseProto,
                )
            with pytest.raises(errors.AccessDenied, match="who runs this datanode"):
                client.call(
                    "shutdownDatanode",
                    client_datanode_pb2.ShutdownDatanodeRequestProto(forUpgrade=False),
                    client_datanode_pb2.ShutdownDatanodeResponseProto,
                )
        else:
            with pytest.raises(errors.AuthorizationFailed, match="only accessible by dn/"):
                client.call(
                    "updateReplicaUnderRecovery",
                    inter_datanode_pb2.UpdateReplicaUnderRecoveryRequestProto(
                        block=asked, recoveryId=2, newLength=0
                    ),
                    inter_datanode_pb2.UpdateReplicaUnderRecoveryResponseProto,
                )
    finally:
        client.close()


def test_who_may_acts_for_another_and_the_audit_log_says_so(cluster: SecuredHadoop) -> None:
    conf = Configuration(cluster.client_conf())
    keytab, principal = str(cluster.kdc.keytab("oozie")), f"oozie@{REALM}"

    def acting(user: str) -> HdfsFileSystem:
        whose = log_in(conf, ProxyUser(user, "oozie"), keytab, principal, None)
        fs = howdah.connect(cluster.uri, conf=conf, user=whose)
        assert isinstance(fs, HdfsFileSystem)
        return fs

    with acting("bob") as fs:
        fs.mkdirs("/user/bob/by-oozie")
    with acting("alice") as fs, pytest.raises(errors.AuthorizationFailed, match="impersonate"):
        fs.mkdirs("/user/alice/by-oozie")
    if not isinstance(cluster, OurSecuredNamenode):
        return  # Apache's has no audit log here.
    audit = cluster.directory / "audit.log"
    wait_until(lambda: "src=/user/bob/by-oozie" in audit.read_text())
    (line,) = [line for line in audit.read_text().splitlines() if "/user/bob/by-oozie" in line]
    assert f"ugi=bob (auth:PROXY) via oozie@{REALM} (auth:KERBEROS)\t" in line


def test_tokens_and_datanodes_outlive_the_namenode(cluster: SecuredHadoop, tmp_path: Path) -> None:
    token = issued(cluster)
    with cluster.connect() as fs, fs.create("/user/alice/before") as out:
        out.write(DATA)
    cluster.restart_namenode()
    cluster.wait_until_up()
    with by_token(cluster, token, tmp_path / "token") as fs, fs.open("/user/alice/before") as file:
        assert file.read() == DATA


def test_no_secret_is_in_a_log_or_can_be_read_by_others(
    cluster: SecuredHadoop, tmp_path: Path
) -> None:
    """Of tokens that were taken, refused and cancelled, of keys, and of what is on the disk."""
    token = issued(cluster)
    forged = replace(token, password=b"a-planted-secret-of-a-token")
    with by_token(cluster, token, tmp_path / "token") as fs:
        fs.write_bytes("/user/alice/secret", b"data")
    with (
        by_token(cluster, forged, tmp_path / "forged") as fs,
        pytest.raises(errors.AuthenticationFailed),
    ):
        fs.exists("/")
    with cluster.connect() as fs:
        fs.cancel_delegation_token(token)
    client = RpcClient(
        ("localhost", cluster.rpc_port), NamenodeProtocol.PROTOCOL, user=logged_in(cluster, "hdfs")
    )
    answer = client.call(
        "getBlockKeys",
        namenode_pb2.GetBlockKeysRequestProto(),
        namenode_pb2.GetBlockKeysResponseProto,
    )
    client.close()
    secrets = [token.password, forged.password, *[key.keyBytes for key in answer.keys.allKeys]]
    logs = b"".join(path.read_bytes() for path in cluster.directory.glob("*.log"))
    assert logs
    for secret in secrets:
        for shown in (
            secret,
            secret.hex().encode(),
            base64.b64encode(secret),
            repr(secret).encode(),
        ):
            assert shown not in logs
    if isinstance(cluster, OurSecuredNamenode):
        assert not (cluster.name_directory / "current").stat().st_mode & 0o077


# -- datanodes among themselves ----------------------------------------------------


def places(fs: HdfsFileSystem, path: str) -> int:
    """How many replicas each block of a file has, of that with the fewest."""
    return min(len(block.hosts) for block in fs.block_locations(path))


def have_two_datanodes(cluster: SecuredHadoop) -> None:
    if not cluster.is_running("datanode2"):
        cluster.add_datanode("datanode2", cluster.directory / "data2")
    with cluster.connect("hdfs") as admin:
        wait_until(lambda: sum(bool(n.capacity) for n in admin.datanode_report("live")) >= 2, 60)


def test_a_reader_learns_how_long_an_open_file_is_and_leases_are_recovered(
    cluster: SecuredHadoop,
) -> None:
    """The datanode's RPC port takes a block token, and datanodes prove themselves there."""
    have_two_datanodes(cluster)
    with cluster.connect(rpc="privacy") as fs, cluster.connect() as other:
        out = fs.create("/user/alice/open", replication=2)
        out.write(b"so far")
        out.hflush()
        with other.open("/user/alice/open") as file:
            assert file.read() == b"so far"
        wait_until(lambda: other.recover_lease("/user/alice/open"), 60)
        assert other.read_bytes("/user/alice/open") == b"so far"
        with suppress(errors.HowdahError):
            out.close()


def test_datanodes_copy_replicas_by_tokens_of_their_own(cluster: SecuredHadoop) -> None:
    """By the keys that this namenode has told them, and along a pipeline by the client's."""
    have_two_datanodes(cluster)
    with cluster.connect(rpc="privacy", data="integrity") as fs:
        fs.write_bytes("/user/alice/copied", DATA)
        fs.set_replication("/user/alice/copied", 2)
        with fs.create("/user/alice/pipelined", replication=2) as out:
            out.write(DATA)
        paths = "/user/alice/copied", "/user/alice/pipelined"
        wait_until(lambda: all(places(fs, path) == 2 for path in paths), 60)
        for path in paths:
            assert fs.read_bytes(path) == DATA


def test_another_datanode_takes_the_place_of_a_failed_one(cluster: SecuredHadoop) -> None:
    """It gets what was written so far from one that is left, by the right to copy."""
    for name in ("datanode3", "datanode4"):
        cluster.add_datanode(name, cluster.directory / name)
    replacing = "dfs.client.block.write.replace-datanode-on-failure"
    conf = {f"{replacing}.enable": "true", f"{replacing}.policy": "ALWAYS"}
    with cluster.connect("hdfs") as admin:
        wait_until(lambda: sum(bool(n.capacity) for n in admin.datanode_report("live")) >= 3, 60)
    with cluster.connect(conf=conf, rpc="integrity", data="privacy", suites=AES) as fs:
        with fs.create("/user/alice/replaced", replication=2) as out:
            out.write(DATA[:100_000])
            out.hflush()
            (block,) = fs.block_locations("/user/alice/replaced")
            kept, killed = block.names
            cluster.kill_datanode_at(killed)
            out.write(DATA[100_000:200_000])
            out.hflush()
            (block,) = fs.block_locations("/user/alice/replaced")
            assert kept in block.names
            told = f"{killed} is dead: {cluster.log('namenode')[-6000:]}"
            assert len({*block.names} - {killed}) == 2, f"another one has it, too; {told}"
            out.write(DATA[200_000:])
        assert fs.read_bytes("/user/alice/replaced") == DATA


@pytest.mark.torture
@pytest.mark.parametrize("data", [{}, ENCRYPTED], ids=["tokens", "encrypted"])
@pytest.mark.parametrize("kind", [OurSecuredNamenode, OurSecuredDatanodes, OurSecuredCluster])
def test_keys_and_tokens_that_are_over_cost_no_call(
    kdc: Kdc,
    hadoop_classpath: str,
    tmp_path: Path,
    kind: type[SecuredHadoop],
    data: dict[str, str],
) -> None:
    """Keys are rolled each minute, and tokens are good for one."""
    conf = {
        **data,
        "dfs.block.access.key.update.interval": "1",
        "dfs.block.access.token.lifetime": "1",
        "dfs.namenode.delegation.key.update-interval": "10000",
        "dfs.namenode.redundancy.interval.seconds": "1",
    }
    cluster = kind(tmp_path / "cluster", hadoop_classpath, kdc, conf)
    try:
        token = issued(cluster)
        with cluster.connect() as fs:
            fs.write_bytes("/user/alice/early", DATA)
            with fs.open("/user/alice/early") as reader, fs.create("/user/alice/slow") as out:
                assert reader.read(10) == DATA[:10]
                out.write(DATA)
                out.hflush()
                until_s = time.monotonic() + 125
                wait_until(lambda: time.monotonic() > until_s, 150)
                reader.seek(len(DATA) - 10)
                assert reader.read(10) == DATA[-10:], "by a token that it asked for anew"
                out.write(b"late")
            assert fs.read_bytes("/user/alice/slow") == DATA + b"late"
        cluster.add_datanode("datanode2", tmp_path / "data2")
        with by_token(cluster, token, tmp_path / "token") as fs:
            fs.set_replication("/user/alice/early", 2)
            wait_until(lambda: places(fs, "/user/alice/early") == 2, 60)
    finally:
        cluster.close()


# -- Java's client -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("proof", "protection"),
    [
        ("ticket", "integrity"),
        ("token", "aes"),
        *[
            pytest.param(proof, protection, marks=pytest.mark.torture)
            for proof in ("ticket", "token")
            for protection in PROTECTIONS
        ],
    ],
)
def test_javas_client_writes_and_reads(
    cluster: SecuredHadoop,
    hadoop_classpath: str,
    tmp_path: Path,
    proof: str,
    protection: str,
) -> None:
    local, back = tmp_path / "local", tmp_path / "back"
    local.write_bytes(DATA)
    environment = {
        "KRB5KEYTAB": str(cluster.kdc.keytab("alice")),
        "KRB5PRINCIPAL": f"alice@{REALM}",
    }
    if proof == "token":
        token = issued(cluster)
        tokens = tmp_path / "tokens"
        tokens.write_bytes(Credentials({token.service: token}).encode())
        environment = {"HADOOP_TOKEN_FILE_LOCATION": str(tokens)}
    conf_dir = tmp_path / "conf"
    write_site_files(conf_dir, cluster.client_conf(**PROTECTIONS[protection]))
    path = f"/user/alice/java-{proof}-{protection}"
    options = [f"-Djava.security.krb5.conf={os.environ['KRB5_CONFIG']}"]
    for arguments in (("-put", "-f", str(local), path), ("-get", path, str(back))):
        done = subprocess.run(
            [
                *hadoop_java(hadoop_classpath, conf_dir, options=options),
                "org.apache.hadoop.fs.FsShell",
                *arguments,
            ],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert back.read_bytes() == DATA
    with cluster.connect() as fs, fs.open(path) as file:
        assert file.read() == DATA
