"""Who may speak which protocol: the same policy at Hadoop's namenode and at ours, asked by our
client and by Java's."""

from __future__ import annotations

import getpass
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pytest
from google.protobuf.message import Message

from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.config.value_types import parse_address
from howdah.proto import client_datanode_pb2, client_namenode_pb2, refresh_pb2, rpc_pb2
from howdah.proto import datanode_namenode_pb2 as datanode_pb
from howdah.protocol.rpc import protocol_info
from howdah.rpc.client import RpcClient
from howdah.runtime.users.names import ProxyUser
from tests.support.hadoop.java import hadoop_java
from tests.support.hadoop.mixed import MixedCluster

OWNER = getpass.getuser()
HADOOP = "org.apache.hadoop."
CLIENT = f"{HADOOP}hdfs.protocol.ClientProtocol"
POLICY = {
    "security.client.protocol.acl": f"{OWNER},joe,hive staff",
    "security.client.protocol.acl.blocked": "eve blocked",
    "security.datanode.protocol.acl": OWNER,
    "security.namenode.protocol.acl": " ",
    "security.refresh.user.mappings.protocol.hosts": "192.0.2.0/24,no.such.machine.invalid",
    "security.get.user.mappings.protocol.hosts.blocked": "localhost",
    "security.reconfiguration.protocol.hosts": "localhost,10.0.0.0/8",
    "security.service.authorization.default.acl": f"{OWNER},joe,hive",
}
CHANGED = {**POLICY, "security.client.protocol.acl": "sue," + OWNER}
CONF = {
    "hadoop.security.authorization": "true",
    "hadoop.user.group.static.mapping.overrides": (
        f"joe=;hive=;ann=staff;eve=staff;bob=staff,blocked;sue=admins;{OWNER}="
    ),
    "hadoop.proxyuser.hive.users": "*",
    "hadoop.proxyuser.hive.hosts": "*",
}
CALLS: Mapping[str, tuple[str, Message, type[Message]]] = {
    CLIENT: (
        "getServerDefaults",
        client_namenode_pb2.GetServerDefaultsRequestProto(),
        client_namenode_pb2.GetServerDefaultsResponseProto,
    ),
    f"{HADOOP}hdfs.server.protocol.DatanodeProtocol": (
        "versionRequest",
        datanode_pb.VersionRequestProto(),
        datanode_pb.VersionResponseProto,
    ),
    f"{HADOOP}hdfs.server.protocol.NamenodeProtocol": (
        "versionRequest",
        datanode_pb.VersionRequestProto(),
        datanode_pb.VersionResponseProto,
    ),
    f"{HADOOP}security.RefreshUserMappingsProtocol": (
        "refreshUserToGroupsMappings",
        refresh_pb2.RefreshUserToGroupsMappingsRequestProto(),
        refresh_pb2.RefreshUserToGroupsMappingsResponseProto,
    ),
    f"{HADOOP}tools.GetUserMappingsProtocol": (
        "getGroupsForUser",
        refresh_pb2.GetGroupsForUserRequestProto(user="joe"),
        refresh_pb2.GetGroupsForUserResponseProto,
    ),
    f"{HADOOP}hdfs.protocol.ReconfigurationProtocol": (
        "listReconfigurableProperties",
        client_datanode_pb2.ListReconfigurablePropertiesRequestProto(),
        client_datanode_pb2.ListReconfigurablePropertiesResponseProto,
    ),
    protocol_info.PROTOCOL: (
        "getProtocolVersions",
        rpc_pb2.GetProtocolVersionsRequestProto(protocol=f"{HADOOP}ha.protocolPB.ZKFCProtocolPB"),
        rpc_pb2.GetProtocolVersionsResponseProto,
    ),
}
USERS = [OWNER, "joe", "ann", "eve", "bob", "sue"]


@dataclass
class Transcript:
    """What was said to whom, by the user and the protocol."""

    at_first: dict[tuple[str, str], str] = field(default_factory=dict)
    refused_refresh: str = ""
    after_refresh: dict[str, str] = field(default_factory=dict)
    javas: list[str] = field(default_factory=list)


def said(cluster: MixedCluster, user: str, protocol: str = CLIENT) -> str:
    """`ok` for who may speak a protocol, whatever comes of the call."""
    method, request, answer = CALLS[protocol]
    address = parse_address(cluster.uri)
    client = RpcClient(address, protocol, user=user)
    try:
        client.call(method, request, answer)
    except errors.AuthorizationFailed as error:
        return error.message
    except (errors.RemoteError, errors.AccessDenied, errors.UnsupportedOperation):
        pass  # Hadoop's superuser alone may have that answered.
    finally:
        client.close()
    return "ok"


def follow(cluster: MixedCluster, policy: Mapping[str, str]) -> None:
    text = Configuration(dict(policy)).to_xml()
    (cluster.conf_dir.parent / "namenode" / "conf" / "hadoop-policy.xml").write_text(text)


def java(classpath: str, cluster: MixedCluster, user: str) -> str:
    """The line that Java's shell ends with."""
    done = subprocess.run(
        [
            *hadoop_java(classpath, cluster.conf_dir),
            f"{HADOOP}fs.FsShell",
            *("-D", f"fs.defaultFS={cluster.uri}"),
            *("-ls", "-d", "/"),
        ],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, "HADOOP_USER_NAME": user},
    )
    lines = (done.stdout + done.stderr).splitlines()
    return next((line for line in lines if "not authorized" in line), lines[-1]).split("/")[0]


def refresh(cluster: MixedCluster) -> int:
    return main(["dfsadmin", "--conf", str(cluster.conf_dir), "-refreshServiceAcl"])


def ask_all(classpath: str, cluster: MixedCluster, monkeypatch: pytest.MonkeyPatch) -> Transcript:
    found = Transcript()
    for protocol in CALLS:
        for user in USERS:
            found.at_first[user, protocol] = said(cluster, user, protocol)
    for acted_for in ("sue", "ann"):
        user = ProxyUser(acted_for, "hive")
        found.at_first[f"{acted_for} by hive", CLIENT] = said(cluster, user)
    found.javas = [java(classpath, cluster, user) for user in ("joe", "sue")]
    follow(cluster, CHANGED)
    monkeypatch.setenv("HADOOP_USER_NAME", "sue")
    assert refresh(cluster) == 255
    assert said(cluster, "sue") != "ok"
    monkeypatch.delenv("HADOOP_USER_NAME")
    assert refresh(cluster) == 0
    found.after_refresh = {user: said(cluster, user) for user in USERS}
    return found


@pytest.fixture(scope="module")
def transcripts(
    hadoop_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Transcript, Transcript]]:
    """Of Hadoop's namenode, and of ours in its place."""
    with (
        pytest.MonkeyPatch.context() as monkeypatch,
        MixedCluster(hadoop_classpath, [], namenodes=1, datanodes=1, conf=CONF) as cluster,
    ):
        found = []
        for is_hadoops in (True, False):
            follow(cluster, POLICY)
            cluster.exchange("namenode", is_hadoops=is_hadoops)
            cluster.wait_ready()
            found.append(ask_all(hadoop_classpath, cluster, monkeypatch))
        yield found[0], found[1]


@pytest.mark.timeout(400)
def test_a_policy_lets_the_same_users_in_and_refuses_others_in_the_same_words(
    transcripts: tuple[Transcript, Transcript],
) -> None:
    hadoops, ours = transcripts
    assert ours.at_first == hadoops.at_first
    denied = f"is not authorized for protocol interface {CLIENT}: denied by configured ACL"
    verdicts = {user: ours.at_first[user, CLIENT] for user in USERS}
    assert verdicts == {
        **dict.fromkeys((OWNER, "joe", "ann"), "ok"),
        **{user: f"User {user} (auth:SIMPLE) {denied}" for user in ("eve", "bob", "sue")},
    }
    assert {each for each in ours.at_first.values() if "Host" in each}


def test_javas_client_reads_the_same(transcripts: tuple[Transcript, Transcript]) -> None:
    hadoops, ours = transcripts
    assert ours.javas == hadoops.javas
    assert "User sue (auth:SIMPLE) is not authorized" in ours.javas[1]
    assert "not authorized" not in ours.javas[0]


def test_the_policy_is_read_anew_for_who_may_ask_for_that(
    transcripts: tuple[Transcript, Transcript],
) -> None:
    hadoops, ours = transcripts
    assert ours.after_refresh == hadoops.after_refresh
    assert [user for user, each in ours.after_refresh.items() if each == "ok"] == [OWNER, "sue"]
