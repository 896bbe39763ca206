"""What a server says of its protocols."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.proto import client_namenode_pb2, rpc_pb2
from howdah.protocol.rpc import protocol_info
from howdah.protocol.rpc.call import Call, Caller
from howdah.protocol.rpc.service import Registry, Service

ALICE = Caller("alice", b"c" * 16, 3, 1, "10.0.0.1")

CLIENT_PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
INTERFACES = "org.apache.hadoop.hdfs.protocolPB."
METHODS = client_namenode_pb2.DESCRIPTOR.services_by_name["ClientNamenodeProtocol"]
# Of mkdirs, as Hadoop 3.5.0's ProtocolSignature has them.
MKDIRS = 2825336410


class Mkdirs:
    """An implementation of one method."""

    def mkdirs(self, request: object, caller: object) -> client_namenode_pb2.MkdirsResponseProto:
        return client_namenode_pb2.MkdirsResponseProto(result=True)


def never(*call: object) -> None:
    raise errors.StandbyError("nothing is served now")


REGISTRY = Registry(
    [
        Service(
            CLIENT_PROTOCOL,
            1,
            METHODS,
            Mkdirs(),
            refused={each.name for each in METHODS.methods} - {"mkdirs"},
        )
    ],
    never,
)


def signature(
    interface: str, kind: str = "RPC_PROTOCOL_BUFFER"
) -> rpc_pb2.GetProtocolSignatureResponseProto:
    request = rpc_pb2.GetProtocolSignatureRequestProto(protocol=interface, rpcKind=kind)
    answer = asked("getProtocolSignature", request.SerializeToString())
    assert isinstance(answer, rpc_pb2.GetProtocolSignatureResponseProto)
    return answer


def asked(method: str, body: bytes) -> object:
    name = protocol_info.PROTOCOL
    return REGISTRY.dispatch(Call(ALICE, name, 1, method, body))


def test_signature_has_the_methods_that_are_not_refused() -> None:
    (only,) = signature(f"{INTERFACES}ClientNamenodeProtocolPB").protocolSignature
    assert only.version == 1
    assert list(only.methods) == [MKDIRS]


@pytest.mark.parametrize("interface", ["JournalProtocolPB", "ClientDatanodeProtocolPB"])
def test_protocol_that_a_server_does_not_have_has_no_signature(interface: str) -> None:
    assert list(signature(INTERFACES + interface).protocolSignature) == []


def test_protocol_has_no_signature_for_another_kind_of_rpc() -> None:
    found = signature(f"{INTERFACES}ClientNamenodeProtocolPB", "RPC_WRITABLE")
    assert list(found.protocolSignature) == []


def test_signature_of_what_is_no_protocol_is_refused() -> None:
    with pytest.raises(errors.RemoteError, match="a-B is no protocol") as refused:
        signature("a-B")
    assert refused.value.remote_class == "java.lang.ClassNotFoundException"
    with pytest.raises(errors.IllegalArgument, match="RPC_X"):
        signature(f"{INTERFACES}ClientNamenodeProtocolPB", "RPC_X")


def test_versions_of_a_protocol() -> None:
    for interface, versions in (("ClientNamenodeProtocolPB", [1]), ("JournalProtocolPB", [])):
        request = rpc_pb2.GetProtocolVersionsRequestProto(protocol=INTERFACES + interface)
        answer = asked("getProtocolVersions", request.SerializeToString())
        assert isinstance(answer, rpc_pb2.GetProtocolVersionsResponseProto)
        assert [(each.rpcKind, list(each.versions)) for each in answer.protocolVersions] == [
            ("RPC_PROTOCOL_BUFFER", versions)
        ]


def test_calls_are_counted_as_any_others() -> None:
    assert {"getProtocolVersions", "getProtocolSignature"} <= REGISTRY.method_names()


def test_fingerprints_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take as long as a hundred calls, and anybody may ask."""
    first = signature(f"{INTERFACES}ClientNamenodeProtocolPB")
    monkeypatch.setattr(protocol_info, "_fingerprint", pytest.fail)
    assert signature(f"{INTERFACES}ClientNamenodeProtocolPB") == first
