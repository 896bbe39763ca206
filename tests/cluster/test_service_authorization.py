"""Every server that answers RPC follows the access lists of protocols."""

from __future__ import annotations

import getpass
from collections.abc import Iterator

import pytest

from howdah import errors
from howdah.config.value_types import Address
from howdah.proto import rpc_pb2
from howdah.protocol.rpc import protocol_info
from howdah.rpc.client import RpcClient
from howdah.testing import MiniCluster

OWNER = getpass.getuser()
HADOOP = "org.apache.hadoop."
CONF = {
    "hadoop.security.authorization": "true",
    "security.service.authorization.default.acl": OWNER,
}


def asked(address: Address, protocol: str, user: str) -> str:
    """`ok` for who may speak a protocol, whatever comes of the call."""
    client = RpcClient(address, protocol, user=user)
    try:
        client.call(
            "noSuchCall",
            rpc_pb2.GetProtocolVersionsRequestProto(protocol="x"),
            rpc_pb2.GetProtocolVersionsResponseProto,
        )
    except errors.AuthorizationFailed as error:
        return error.message
    except errors.RpcNoSuchMethod:
        return "ok"
    finally:
        client.close()
    raise AssertionError("no server has that call")


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=1, namenodes=2, conf=CONF) as cluster:
        yield cluster


def addresses(cluster: MiniCluster) -> dict[str, list[Address]]:
    """By a protocol: the servers that have it."""
    layout = cluster._cluster.layout
    service = layout.nameservices[0]

    def parsed(texts: list[str]) -> list[Address]:
        return [(host, int(port)) for host, _, port in (text.rpartition(":") for text in texts)]

    nodes = layout.datanodes
    return {
        f"{HADOOP}hdfs.protocol.ClientProtocol": parsed([n.rpc for n in layout.namenodes]),
        f"{HADOOP}ha.HAServiceProtocol": parsed([n.rpc for n in layout.namenodes]),
        f"{HADOOP}hdfs.protocol.ClientDatanodeProtocol": [(n.host, n.ipc_port) for n in nodes],
        f"{HADOOP}hdfs.qjournal.protocol.QJournalProtocol": parsed(
            [n.rpc for n in service.journalnodes]
        ),
        f"{HADOOP}ha.ZKFCProtocol": [
            (n.rpc.rpartition(":")[0], n.zkfc_port) for n in layout.namenodes if n.zkfc_port
        ],
    }


def test_servers_speak_to_each_other_and_to_nobody_else(cluster: MiniCluster) -> None:
    with cluster.connect(OWNER) as fs:
        fs.write_bytes("/a", b"data")
        assert fs.read_bytes("/a") == b"data"
    seen = 0
    for protocol, servers in addresses(cluster).items():
        for address in servers:
            refused = f"User sue (auth:SIMPLE) is not authorized for protocol interface {protocol}"
            assert asked(address, protocol, "sue") == f"{refused}: denied by configured ACL"
            assert asked(address, protocol, OWNER) == "ok"
            seen += 1
    assert seen >= 8
    said = asked(addresses(cluster)[f"{HADOOP}ha.ZKFCProtocol"][0], protocol_info.PROTOCOL, OWNER)
    assert said == f"Protocol interface {protocol_info.PROTOCOL} is not known."
